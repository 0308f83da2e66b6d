//! Targets whose bytes are source text.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use opencl_frontend::{Options, compile};
use ptx_interp::{Access, Kernel, LaunchParams, Memory};
use ptx_parse::link::Input;
use ptx_parse::module::Module;

/// Most findings that `check` shows.
const SHOWN: usize = 1000;

/// Lexer and parser never panic, findings can be shown, and a text without findings keeps its tree through the printer.
pub fn parse(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (ast, diags) = ptx_parse::parse(&text);
    let reporter = ptx_parse::Reporter::new("fuzz", &text);
    for d in diags.iter().take(SHOWN) {
        assert!(!reporter.plain(d).is_empty());
    }
    if diags.is_empty() {
        let (by_grammar, found) = ptx_parse::parse_by_grammar(&text);
        assert!(found.is_empty(), "the fast lane takes what the grammar refuses");
        assert_eq!(ast.difference(&by_grammar), None);
        let printed = ptx_parse::print::print(&ast);
        let (again, diags) = ptx_parse::parse(&printed);
        assert!(diags.is_empty(), "{printed}");
        assert_eq!(ast.difference(&again), None, "{printed}");
    }
}

/// Entries of a module that have a body.
pub fn entries(module: &Module) -> impl Iterator<Item = u32> {
    let entry = |(id, f): (usize, &ptx_parse::module::Func)| {
        (f.entry && f.body.is_some()).then_some(id as u32)
    };
    module.functions.iter().enumerate().filter_map(entry)
}

/// The verifier never panics, also on trees with gaps; a module without findings is lowered or refused by name.
pub fn verify(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (ast, diags) = ptx_parse::parse(&text);
    let (module, more) = ptx_parse::verify::verify(&ast, "fuzz");
    let reporter = ptx_parse::Reporter::new("fuzz", &text);
    for d in more.iter().take(SHOWN) {
        assert!(!reporter.plain(d).is_empty());
    }
    if let Some(module) = module.filter(|_| diags.is_empty()) {
        for id in entries(&module) {
            let _ = ptx_parse::lower::lower(&module, id);
        }
    }
}

/// A kernel of a module without findings runs or faults within its limits.
pub fn execute(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (Some(module), _) = ptx_parse::parse_and_verify(&text, "fuzz") else { return };
    let memory = Memory::new(1 << 24).expect("address space");
    let buffer = memory.alloc(4096, 1, "buffer", Access::ReadWrite).expect("a buffer");
    let symbols: Vec<u64> = module
        .symbols
        .iter()
        .map(|s| match s.size {
            1..0x10000 => memory
                .alloc(s.size, u64::from(s.align.max(1)), &s.name, Access::ReadWrite)
                .unwrap_or(0),
            _ => 0,
        })
        .collect();
    for id in entries(&module) {
        let Ok(program) = ptx_parse::lower::lower(&module, id) else { continue };
        if program.shared_bytes > 1 << 16
            || program.functions.iter().any(|f| f.frame_bytes > 1 << 16)
        {
            continue;
        }
        // Every parameter is the buffer's address, which is also some number.
        let mut params = buffer.to_le_bytes().repeat(program.param_bytes as usize / 8 + 1);
        params.truncate(program.param_bytes as usize);
        let kernel = Kernel::decode(Arc::new(program));
        let output: Arc<Mutex<Vec<u8>>> = Arc::default();
        let _ = ptx_interp::launch(
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
}

/// Texts, cut at zero bytes, link to a text that verifies, or are refused with a reason.
pub fn link(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let inputs: Vec<Input<'_>> =
        text.split('\0').take(4).map(|text| Input { name: "fuzz", text }).collect();
    match ptx_parse::link::link(&inputs) {
        Ok(linked) => {
            let (_, diags) = ptx_parse::parse(&linked);
            assert!(!diags.iter().any(|d| d.is_error()), "{diags:?}\n{linked}");
            let _ = ptx_parse::parse_and_verify(&linked, "linked");
        }
        Err(errors) => {
            assert!(!errors.is_empty() && errors.iter().all(|e| !e.to_string().is_empty()))
        }
    }
}

/// Any text ends in PTX or in diagnostics, and PTX that comes out is PTX.
pub fn opencl(data: &[u8]) {
    let Some((&mode, text)) = data.split_first() else { return };
    let sm = [10, 13, 20, 35, 53, 70, 75, 90][usize::from(mode & 7)];
    let options = Options {
        sm,
        cl_std: [300, 120, 200, 100][usize::from(mode >> 3 & 3)],
        opt_disable: mode & 0x20 != 0,
        debug: mode & 0x40 != 0,
        fast_relaxed_math: mode & 0x80 != 0,
        // The disk is not part of the input.
        headers_only: true,
        headers: vec![("h.h".into(), "#include \"h.h\"\n".into())],
        ..Options::default()
    };
    match compile("fuzz.cl", &String::from_utf8_lossy(text), &options) {
        Ok(out) => {
            let (module, diags) = ptx_parse::parse_and_verify(&out.ptx, "fuzz.ptx");
            let errors: Vec<_> = diags.iter().filter(|d| d.is_error()).collect();
            // What stands in assembly is the programmer's.
            let own = String::from_utf8_lossy(text).contains("asm");
            assert!(own || module.is_some() && errors.is_empty(), "{errors:?}\n{}", out.ptx);
        }
        Err(failure) => {
            assert!(!failure.diags.is_empty());
            assert!(
                failure.diags.iter().all(|d| d.code.name() != "internal"),
                "{}",
                failure.rendered
            );
        }
    }
}
