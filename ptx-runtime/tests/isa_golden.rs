//! Every recorded instruction form through the whole pipeline: parse, verify, lower, interpret,
//! compare with the bits that the hardware returned.
//!
//! `PTXRUN_GOLDEN=DIR` takes recordings of one's own; `PTXRUN_GOLDEN_FORM=NAME` runs one form.

use std::collections::BTreeMap;
use std::path::Path;

use golden::{Form, Golden};
use ptx_runtime::{Backend, Context, DeviceOptions, Engine, KernelArg, LaunchConfig, Module};

fn recordings() -> Option<Golden> {
    match std::env::var_os("PTXRUN_GOLDEN") {
        Some(dir) => Some(Golden::load(Path::new(&dir)).expect("readable recordings")),
        None => Golden::shared(),
    }
}

/// Runs one form; what ran it, or what went wrong.
fn replay(
    context: &Context,
    module: &Module,
    form: &Form,
    backend: Backend,
) -> Result<Engine, String> {
    let table: Vec<u8> = form.table().iter().flat_map(|v| v.to_le_bytes()).collect();
    let want = form.output_image();
    let input = context.alloc(table.len() as u64).map_err(|e| e.to_string())?;
    let output = context.alloc(want.len() as u64).map_err(|e| e.to_string())?;
    context.copy_to_device(input, &table).map_err(|e| e.to_string())?;
    context.copy_to_device(output, &vec![0xa5; want.len()]).map_err(|e| e.to_string())?;
    let rows = form.rows() as u32;
    let launched = context.launch(
        module,
        form.name(),
        LaunchConfig {
            grid: [rows / 128, 1, 1],
            block: [128, 1, 1],
            args: vec![KernelArg::Pointer(input), KernelArg::Pointer(output)],
            backend,
            ..LaunchConfig::default()
        },
    );
    let mut got = vec![0; want.len()];
    let read = context.copy_from_device(output, &mut got);
    context.free(input).map_err(|e| e.to_string())?;
    context.free(output).map_err(|e| e.to_string())?;
    let stats = launched.map_err(|e| e.to_string())?;
    read.map_err(|e| e.to_string())?;
    if got == want {
        return Ok(stats.engine);
    }
    let slots = want.len() / 8 / form.rows();
    let differs =
        |row: &usize| got[row * slots * 8..][..slots * 8] != want[row * slots * 8..][..slots * 8];
    let count = (0..form.rows()).filter(differs).count();
    let row = (0..form.rows()).find(differs).unwrap_or(0);
    let words = |image: &[u8]| -> Vec<String> {
        let words = image[row * slots * 8..][..slots * 8].chunks(8);
        words
            .map(|w| format!("{:x}", u64::from_le_bytes(w.try_into().unwrap_or_default())))
            .collect()
    };
    Err(format!(
        "{count} of {} rows; row {row}: operands {:x?}, got {:?}, recorded {:?}",
        form.rows(),
        form.row(row),
        words(&got),
        words(&want)
    ))
}

#[test]
fn recorded_forms_return_the_recorded_bits() {
    all(Backend::Interp);
}

/// Compiled code returns the recorded bits too; few forms run in the interpreter instead.
#[test]
fn recorded_forms_compiled_return_the_recorded_bits() {
    let [compiled, interpreted] = all(Backend::Jit);
    assert!(interpreted * 10 < compiled || compiled + interpreted < 100);
}

/// Replays every form; how many ran compiled code, and how many the interpreter.
fn all(backend: Backend) -> [u32; 2] {
    let golden = recordings().expect("the repository holds recordings");
    let mut ran = [0; 2];
    let mut why: BTreeMap<String, u32> = BTreeMap::new();
    let only = std::env::var("PTXRUN_GOLDEN_FORM").ok();
    let context = Context::new(&DeviceOptions::default()).expect("a context");
    let mut modules: BTreeMap<String, Result<Module, String>> = BTreeMap::new();
    let mut groups: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for form in golden.forms() {
        if only.as_ref().is_some_and(|o| o != form.name()) {
            continue;
        }
        let name = &form.info().module;
        let module = modules.entry(name.clone()).or_insert_with(|| {
            let text = golden.module_text(name).map_err(|e| e.to_string())?;
            Module::load(&context, &text, name).map_err(|e| e.to_string())
        });
        let outcome = match module {
            Ok(m) => replay(&context, m, &form, backend),
            Err(e) => Err(format!("the module does not load: {e}")),
        };
        let count = groups.entry(form.group().to_string()).or_default();
        match outcome {
            Ok(engine) => {
                count.0 += 1;
                ran[usize::from(!matches!(engine, Engine::Compiled(_)))] += 1;
                if let Engine::Fallback(reason) = engine {
                    *why.entry(reason.split(": ").nth(1).unwrap_or("").into()).or_default() += 1;
                }
            }
            Err(why) => {
                count.1 += 1;
                println!("{}: {why}", form.name());
            }
        }
    }
    let (mut passed, mut failed) = (0, 0);
    for (group, (p, f)) in &groups {
        println!("{group:<14} {p:>5} passed {f:>5} failed");
        passed += p;
        failed += f;
    }
    println!("{passed} passed, {failed} failed");
    assert!(passed > 0);
    assert_eq!(failed, 0);
    println!("{} compiled, {} interpreted: {why:?}", ran[0], ran[1]);
    ran
}
