//! Replays the recorded instruction forms through parser, verifier, lowering and interpreter.
//!
//! Another folder of recordings can be replayed with `GOLDEN_DIR=…`, some groups only with
//! `GOLDEN_GROUPS=mma,wgmma`.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use golden::{Form, Golden};
use ptx_interp::{Access, Isa, Kernel, LaunchParams, Memory, launch};
use ptx_isa::types::Space;
use ptx_parse::lower::lower;
use ptx_parse::module::Symbol;

/// The kernel and the module variables it may use.
fn kernel(text: &str, name: &str) -> Result<(Kernel, Vec<Symbol>), String> {
    let (module, diags) = ptx_parse::parse_and_verify(text, "form.ptx");
    if let Some(e) = diags.iter().find(|d| d.is_error()) {
        return Err(format!("{e:?}"));
    }
    let module = module.ok_or("no module")?;
    let entry = module.functions.iter().position(|f| f.name == name).ok_or("no entry")?;
    let program = lower(&module, entry as u32).map_err(|r| r.to_string())?;
    Ok((Kernel::decode_for(Arc::new(program), Isa::Avx512), module.symbols.clone()))
}

fn replay(form: &Form<'_>, block: u32) -> Result<(), String> {
    let text = form.module_text().map_err(|e| e.to_string())?;
    let (kernel, symbols) = kernel(&text, form.name())?;
    let memory = Memory::new(1 << 26).map_err(|e| format!("{e:?}"))?;
    let table: Vec<u8> = form.table().iter().flat_map(|v| v.to_le_bytes()).collect();
    let image = form.output_image();
    let alloc = |bytes: usize, name: &str| {
        memory.alloc(bytes as u64, 256, name, Access::ReadWrite).map_err(|e| format!("{e:?}"))
    };
    let input = alloc(table.len(), "input")?;
    let output = alloc(image.len(), "output")?;
    memory.write(input, &table).map_err(|e| format!("{e:?}"))?;
    memory.write(output, &vec![0xa5; image.len()]).map_err(|e| format!("{e:?}"))?;
    let mut params = LaunchParams { threads: 1, ..LaunchParams::default() };
    params.grid[0] = form.rows() as u32 / block;
    params.block[0] = block;
    for s in &symbols {
        let mut bytes = s.init.clone();
        bytes.resize(s.size as usize, 0);
        let at = if matches!(s.space, Space::Global | Space::Const) {
            let at = alloc(bytes.len(), &s.name)?;
            memory.write(at, &bytes).map_err(|e| format!("{e:?}"))?;
            at
        } else {
            0
        };
        params.symbols.push(at);
    }
    params.params = [input.to_le_bytes(), output.to_le_bytes()].concat();
    launch(&kernel, &memory, &params).map_err(|e| e.to_string())?;
    let mut got = vec![0; image.len()];
    memory.read(output, &mut got).map_err(|e| format!("{e:?}"))?;
    let words = |b: &[u8]| -> Vec<u64> {
        b.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("eight bytes"))).collect()
    };
    let (got, want) = (words(&got), words(&image));
    let slots = form.info().outs.len().max(1);
    match (0..got.len()).find(|&i| got[i] != want[i]) {
        None => Ok(()),
        Some(i) => Err(format!(
            "{} of {} results differ; row {} output {}: got {:#x} recorded {:#x}",
            (0..got.len()).filter(|&i| got[i] != want[i]).count(),
            got.len(),
            i / slots,
            i % slots,
            got[i],
            want[i],
        )),
    }
}

fn replay_all(golden: &Golden) {
    let groups = std::env::var("GOLDEN_GROUPS").unwrap_or_else(|_| "all".into());
    let chosen = |g: &str| groups == "all" || groups.split(',').any(|x| x == g);
    let mut tally: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for form in golden.forms().filter(|f| chosen(f.group())) {
        let result = catch_unwind(AssertUnwindSafe(|| replay(&form, golden.block())))
            .unwrap_or_else(|_| Err("panic".into()));
        let counts = tally.entry(form.group()).or_default();
        counts[usize::from(result.is_err())] += 1;
        if let Err(why) = result {
            println!("MISMATCH {}: {why}", form.name());
        }
    }
    for (group, [passed, failed]) in &tally {
        println!("{group}: {passed} passed, {failed} failed");
    }
    let passed: usize = tally.values().map(|c| c[0]).sum();
    let failed: usize = tally.values().map(|c| c[1]).sum();
    println!("{passed} passed, {failed} failed");
    assert!(failed == 0);
}

#[test]
fn recorded_forms() {
    let golden = match std::env::var_os("GOLDEN_DIR") {
        Some(dir) => Some(Golden::load(dir.as_ref()).expect("recordings in GOLDEN_DIR")),
        None => Golden::shared(),
    };
    replay_all(&golden.expect("the repository holds recordings"));
}

#[test]
fn embedded_forms() {
    replay_all(&Golden::embedded());
}
