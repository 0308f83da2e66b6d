//! Modules that a program has loaded, by number.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use ptx_runtime::opencl::Options;
use ptx_runtime::{Context, DeviceOptions, Module, declaration};
use ptxrun::cc;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::request::error;

/// A request to load a text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Load {
    /// What the text is.
    kind: Kind,
    /// PTX or OpenCL C.
    text: String,
    /// What the text is called in messages.
    name: String,
    /// Options for OpenCL C, as `clBuildProgram` takes them.
    #[serde(default)]
    options: String,
    /// Take forms outside PTX.
    #[serde(default)]
    lenient: bool,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Ptx,
    Opencl,
}

/// A module on a device of its own, so that its memory goes when it does.
pub(crate) struct Loaded {
    /// What the text is called.
    pub(crate) name: String,
    /// The device.
    pub(crate) context: Context,
    /// The module.
    pub(crate) module: Module,
    /// Held by a launch: the arrays of two would have to be lent twice.
    pub(crate) turn: Mutex<()>,
}

type Table = HashMap<u64, Arc<Loaded>>;

fn table() -> MutexGuard<'static, Table> {
    static MODULES: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);
    MODULES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The module of a number.
pub(crate) fn module(number: u64) -> Option<Arc<Loaded>> {
    table().get(&number).cloned()
}

/// Forgets a module; launches under way keep it.
pub(crate) fn unload(number: u64) {
    // The table is free again before the module goes.
    let gone = table().remove(&number);
    drop(gone);
}

/// Verifies a text and keeps it as a module.
pub(crate) fn load(load: &Load) -> Value {
    if let Err(wrong) = environment::check("ptxrun") {
        return error("environment", &wrong.to_string());
    }
    // The ending of the name decides how the text is read.
    let path = Path::new(if load.kind == Kind::Opencl { "kernel.cl" } else { "kernel.ptx" });
    let options = match Options::parse(&load.options) {
        Ok(options) => options,
        Err(diag) => return error("option", &cc::one_line(&diag)),
    };
    let source = match cc::verify_with(path, &load.text, &load.name, &options, load.lenient) {
        Ok(source) => source,
        Err(refused) => {
            let message = refused.render(false);
            let mut reply = error("invalid", message.trim_end());
            reply["findings"] = refused.to_json();
            return reply;
        }
    };
    let mut findings = source.warnings.to_json();
    if let (Value::Array(all), Value::Array(more)) =
        (&mut findings, source.verified.warnings().to_json())
    {
        all.extend(more);
    }
    // Most of it is never touched: address space only.
    let context = match Context::new(&DeviceOptions::default()) {
        Ok(context) => context,
        Err(e) => return error("memory", &e.to_string()),
    };
    let module = match Module::from_verified(&context, &source.verified) {
        Ok(module) => module,
        Err(e) => return error("load", &e.to_string()),
    };
    let kernels: Vec<Value> = module
        .entries()
        .map(|kernel| {
            let params = kernel.params.iter().map(|p| {
                json!({
                    "name": p.name.as_str(), "declaration": declaration(p), "bytes": p.size,
                    "type": p.ty.name(), "array": p.array, "pointer": p.ptr.is_some(),
                })
            });
            json!({
                "name": kernel.name.as_str(), "params": params.collect::<Vec<_>>(),
                "max_block": kernel.tuning.max_ntid, "block": kernel.tuning.req_ntid,
            })
        })
        .collect();
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let ptx = source.verified.module().source.to_string();
    let name = load.name.clone();
    let loaded = Loaded { name, context, module, turn: Mutex::default() };
    table().insert(number, Arc::new(loaded));
    json!({"ok": true, "module": number, "ptx": ptx, "kernels": kernels, "findings": findings})
}
