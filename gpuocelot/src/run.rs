//! From a text and values to a launch.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use ptx_runtime::{Backend, Context, KernelArg, LaunchConfig, Module, Verified, declaration};

/// The arguments of `ptx_run` but the text.
pub(crate) struct Call<'a> {
    pub args: &'a [u64],
    pub block: [i32; 3],
    pub grid: [i32; 3],
    pub shared: i32,
    pub backend: Backend,
    pub timeout: Option<Duration>,
}

/// Runs the only kernel of `text`; the error is the report.
pub(crate) fn run(context: &Context, text: &[u8], call: &Call) -> Result<(), String> {
    let module = module(context, text)?;
    let mut entries = module.entries();
    let (Some(kernel), None) = (entries.next(), entries.next()) else {
        let n = module.entries().count();
        return Err(format!("ptx_run: the text has {n} kernels; it must have one"));
    };
    let size = |n: i32| u32::try_from(n).unwrap_or(0);
    if kernel.params.len() != call.args.len() {
        return Err(format!(
            "ptx_run: kernel `{}` takes {} arguments, {} given",
            kernel.name,
            kernel.params.len(),
            call.args.len()
        ));
    }
    let mut args = Vec::with_capacity(call.args.len());
    for (n, (param, value)) in kernel.params.iter().zip(call.args).enumerate() {
        let bytes = value.to_le_bytes();
        let Some(bytes) = bytes.get(..param.size as usize) else {
            return Err(format!(
                "ptx_run: parameter {n} of kernel `{}` is {}; a value of at most 8 bytes can be given",
                kernel.name,
                declaration(param)
            ));
        };
        args.push(KernelArg::Bytes(bytes.to_vec()));
    }
    let config = LaunchConfig {
        grid: call.grid.map(size),
        block: call.block.map(size),
        shared: u32::try_from(call.shared)
            .map_err(|_| format!("ptx_run: {} bytes of shared memory", call.shared))?,
        args,
        backend: call.backend,
        timeout: call.timeout,
        ..LaunchConfig::default()
    };
    let result = context.launch(&module, &kernel.name, config);
    result.map(|_| ()).map_err(|e| format!("ptx_run: {}", e.render(module.verified(), false)))
}

/// Loaded modules by their text.
type Modules = HashMap<Box<[u8]>, Arc<Module>>;

/// The loaded module of a text, from an earlier call if there was one.
fn module(context: &Context, text: &[u8]) -> Result<Arc<Module>, String> {
    // The text itself is the key, so that equal hashes of different texts do no harm.
    static MODULES: LazyLock<Mutex<Modules>> = LazyLock::new(Mutex::default);
    let mut modules = MODULES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(module) = modules.get(text) {
        return Ok(Arc::clone(module));
    }
    let verified = Verified::lenient(&String::from_utf8_lossy(text), "ptx_run")
        .map_err(|e| format!("ptx_run: the PTX is not valid\n{e}"))?;
    let module = Module::from_verified(context, &verified).map_err(|e| format!("ptx_run: {e}"))?;
    let module = Arc::new(module);
    modules.insert(text.into(), Arc::clone(&module));
    Ok(module)
}
