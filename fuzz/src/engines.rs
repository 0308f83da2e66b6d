//! The interpreter and compiled code do the same.
//!
//! Compiled code has the width of the process (`PTXRUN_JIT_BITS`): each width needs a process of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ptx_runtime::{
    Backend, Context, DeviceOptions, Engine, KernelArg, LaunchConfig, LaunchError, Module, Verified,
};

use crate::texts::entries;

/// What a launch left behind.
#[derive(PartialEq, Debug)]
struct Came {
    /// The kind of fault, if there was one.
    fault: Option<String>,
    buffer: Vec<u8>,
    printed: Vec<u8>,
}

/// A launch on one engine.
pub struct Case<'a> {
    /// The module.
    pub verified: &'a Verified,
    /// The kernel.
    pub entry: &'a str,
    /// Threads of the one block.
    pub threads: u32,
    /// What the buffer holds, to which every parameter points.
    pub buffer: &'a [u8],
}

/// Most warp instructions of a launch in the interpreter.
const STEPS: u64 = 20_000;

impl Case<'_> {
    /// What came of it; `None` where it did not end by itself or this engine does not run it.
    fn on(&self, backend: Backend) -> Option<Came> {
        let options = DeviceOptions { memory: 1 << 26, ..DeviceOptions::default() };
        let context = Context::new(&options).expect("address space");
        let module = Module::from_verified(&context, self.verified).ok()?;
        let buffer = context.alloc(self.buffer.len() as u64).ok()?;
        context.copy_to_device(buffer, self.buffer).expect("room");
        let bytes = match module.resources(self.entry)? {
            Ok(needs) => needs.param_bytes,
            Err(_) => return None,
        };
        let mut params = buffer.0.to_le_bytes().repeat(bytes as usize / 8 + 1);
        params.truncate(bytes as usize);
        let printed: Arc<Mutex<Vec<u8>>> = Arc::default();
        let sink = Arc::clone(&printed);
        let config = LaunchConfig {
            block: [self.threads, 1, 1],
            args: Vec::<KernelArg>::new(),
            params: Some(params),
            threads: Some(1),
            timeout: Some(Duration::from_secs(5)),
            step_limit: (backend == Backend::Interp).then_some(STEPS),
            backend,
            print: Some(Box::new(move |bytes| {
                sink.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
            })),
            ..LaunchConfig::default()
        };
        let fault = match context.launch(&module, self.entry, config) {
            Ok(stats)
                if backend == Backend::Jit && !matches!(stats.engine, Engine::Compiled(_)) =>
            {
                return None;
            }
            Ok(_) => None,
            Err(LaunchError::Fault(report)) => Some(format!("{:?}", report.kind)),
            Err(_) => return None,
        };
        if fault.as_deref().is_some_and(|kind| kind == "Timeout" || kind == "StepLimit") {
            assert!(backend == Backend::Interp, "compiled code does not end");
            return None;
        }
        let mut after = vec![0; self.buffer.len()];
        context.copy_from_device(buffer, &mut after).expect("the buffer");
        let printed = printed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // How far others were when one faulted is not promised.
        if fault.is_some() {
            after.clear();
        }
        Some(Came { fault, buffer: after, printed })
    }

    /// Runs it on both.
    pub fn check(&self) {
        let Some(interpreted) = self.on(Backend::Interp) else { return };
        let Some(compiled) = self.on(Backend::Jit) else { return };
        assert!(interpreted == compiled, "{}", self.difference(&interpreted, &compiled));
    }

    fn difference(&self, interpreted: &Came, compiled: &Came) -> String {
        let source = &self.verified.module().source;
        let pairs = interpreted.buffer.chunks(8).zip(compiled.buffer.chunks(8)).enumerate();
        let words: Vec<String> = pairs
            .filter(|(_, (a, b))| a != b)
            .take(8)
            .map(|(n, (a, b))| format!("word {n}: interpreted {a:02x?}, compiled {b:02x?}"))
            .collect();
        format!(
            "{}, {} lanes of 32 bits: faults {:?} and {:?}\n{}\n{source}",
            self.entry,
            ptx_runtime::vector_bits() / 32,
            interpreted.fault,
            compiled.fault,
            words.join("\n")
        )
    }
}

/// Words that make results depend on time or on addresses of the host, or on lanes that are not there: with one thread
/// a warp has one lane, and what a shuffle or a matrix finds in others is undefined.
const UNSTEADY: &[&str] = &[
    "clock",
    "timer",
    "malloc",
    "nanosleep",
    "pm0",
    "smid",
    "warpid",
    "gridid",
    "shfl",
    "matrix",
    "mma",
];

/// PTX text: every kernel that ends does the same on both engines, with one thread (more of them might race).
pub fn differential(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if UNSTEADY.iter().any(|word| text.contains(word)) {
        return;
    }
    let Ok(verified) = Verified::new(&text, "fuzz") else { return };
    if verified.module().symbols.iter().any(|s| s.size > 1 << 16) || verified.undefined().is_some()
    {
        return;
    }
    let names: Vec<String> = entries(verified.module())
        .map(|id| verified.module().functions[id as usize].name.to_string())
        .take(2)
        .collect();
    let buffer: Vec<u8> = (0..4096u32).map(|i| (i * 37 >> 3) as u8).collect();
    for entry in &names {
        Case { verified: &verified, entry, threads: 1, buffer: &buffer }.check();
    }
}
