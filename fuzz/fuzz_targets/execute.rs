//! Any text: a kernel of a module without findings runs or faults within its limits; the
//! interpreter never panics, hangs or leaves its memory.
#![no_main]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptx_interp::{Access, Kernel, LaunchParams, Memory, launch};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (Some(module), _) = ptx_parse::parse_and_verify(&text, "fuzz") else { return };
    let memory = Memory::new(1 << 24).expect("address space");
    let buffer = memory.alloc(4096, 1, "buffer", Access::ReadWrite).expect("a buffer");
    let symbols: Vec<u64> = module
        .symbols
        .iter()
        .map(|s| match s.size {
            1..0x10000 => memory.alloc(s.size, u64::from(s.align.max(1)), &s.name, Access::ReadWrite).unwrap_or(0),
            _ => 0,
        })
        .collect();
    for (id, f) in module.functions.iter().enumerate() {
        if !f.entry || f.body.is_none() {
            continue;
        }
        let Ok(program) = ptx_parse::lower::lower(&module, id as u32) else { continue };
        if program.shared_bytes > 1 << 16 || program.functions.iter().any(|f| f.frame_bytes > 1 << 16) {
            continue;
        }
        // Every parameter is the buffer's address, which is also some number.
        let mut params = buffer.to_le_bytes().repeat(program.param_bytes as usize / 8 + 1);
        params.truncate(program.param_bytes as usize);
        let kernel = Kernel::decode(Arc::new(program));
        let output: Arc<Mutex<Vec<u8>>> = Arc::default();
        let _ = launch(
            &kernel,
            &memory,
            &LaunchParams {
                grid: [2, 1, 1],
                block: [40, 1, 1],
                shared_bytes: 256,
                params,
                symbols: symbols.clone(),
                threads: 1,
                timeout: Some(Duration::from_secs(2)),
                step_limit: Some(5000),
                output: Some(output),
                ..LaunchParams::default()
            },
        );
    }
});
