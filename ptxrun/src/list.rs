//! What a PTX file holds: its entries with their parameters, and a command that would run each.

use std::fmt::Write;
use std::path::Path;

use ptx_runtime::declaration;
use ptx_runtime::isa::Ty;
use ptx_runtime::parse::module::{Func, Module, Param};
use serde_json::{Value, json};

use crate::cc::is_opencl;

/// Threads per block that the suggestion takes where the kernel leaves it open.
const BLOCK: u32 = 128;

/// The kernels of a module.
pub fn entries(module: &Module) -> impl Iterator<Item = &Func> {
    module.functions.iter().filter(|f| f.entry && f.body.is_some())
}

/// True when the parameter may hold an address: declared so, or as wide as one and of an integer type.
fn may_point(module: &Module, param: &Param) -> bool {
    let width = u32::from(module.info.address_bits) / 8;
    let untyped = matches!(param.ty, Ty::U64 | Ty::B64 | Ty::S64);
    param.ptr.is_some() || !param.array && param.size == width && untyped
}

/// The threads per block that a kernel asks for.
fn block(func: &Func) -> [u32; 3] {
    func.tuning.req_ntid.unwrap_or([
        func.tuning.max_ntid.map_or(BLOCK, |m| m[0].clamp(1, BLOCK)),
        1,
        1,
    ])
}

/// An argument that fits the parameter. Without knowledge of the program, pointers get a zeroed buffer, counts the
/// number of threads.
fn suggestion(module: &Module, func: &Func, param: &Param) -> String {
    if may_point(module, param) {
        return "buf:4096".into();
    }
    if param.array {
        return format!("bytes:{}", "00".repeat(param.size as usize));
    }
    let threads: u32 = block(func).iter().product();
    match param.ty {
        Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64 => format!("{}:1", param.ty.name()),
        Ty::U32 | Ty::S32 | Ty::B32 | Ty::U16 | Ty::S16 | Ty::B16 => {
            format!("{}:{threads}", param.ty.name())
        }
        ty if ty.bits() >= 8 && ty.bits() <= 64 => format!("b{}:0", ty.bits()),
        _ => format!("bytes:{}", "00".repeat(param.size as usize)),
    }
}

/// Quotes a word for the shell where it needs it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@=,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The command that would run an entry.
fn command(module: &Module, file: &str, build: Option<&str>, func: &Func) -> String {
    let mut out = format!("ptxrun {}", quoted(file));
    if let Some(build) = build {
        let _ = write!(out, " --build {}", quoted(build));
    }
    if entries(module).count() > 1 {
        let _ = write!(out, " --entry {}", quoted(&func.name));
    }
    let extent: Vec<String> = block(func).iter().map(u32::to_string).collect();
    let extent = extent.join(",");
    let extent = extent.strip_suffix(",1,1").or(extent.strip_suffix(",1")).unwrap_or(&extent);
    let _ = write!(out, " --grid 1 --block {extent}");
    for param in &func.params {
        let _ = write!(out, " --arg {}", suggestion(module, func, param));
    }
    if let Some(last) = func.params.iter().rposition(|p| may_point(module, p)) {
        let _ = write!(out, " --print {last}:b32:8");
    }
    out
}

/// Where the entry stands in its file; unknown where the file is OpenCL C and the module its PTX.
fn line(module: &Module, file: &str, func: &Func) -> Option<usize> {
    if is_opencl(Path::new(file)) {
        return None;
    }
    let before = module.source.get(..func.span.start as usize).unwrap_or("");
    Some(before.bytes().filter(|&b| b == b'\n').count() + 1)
}

/// The listing as text; `build` holds the options with which `file` was compiled, if there are any.
pub fn text(module: &Module, file: &str, build: Option<&str>) -> String {
    let mut out = String::new();
    for func in entries(module) {
        let place = line(module, file, func).map_or(String::new(), |n| format!(" (line {n})"));
        let _ = writeln!(out, "{}{place}", func.name);
        let width = func.params.iter().map(|p| p.name.len()).max().unwrap_or(0);
        for (index, param) in func.params.iter().enumerate() {
            let pointer = match param.ptr {
                Some((space, _)) => format!(" pointer to {}", format!("{space:?}").to_lowercase()),
                None if may_point(module, param) => " pointer?".into(),
                None => String::new(),
            };
            let _ = writeln!(
                out,
                "    {index}  {:width$}  {}{pointer}",
                param.name,
                declaration(param)
            );
        }
        for (name, extent) in [("at most", func.tuning.max_ntid), ("exactly", func.tuning.req_ntid)]
        {
            if let Some([x, y, z]) = extent {
                let _ = writeln!(out, "    {name} {x} x {y} x {z} threads per block");
            }
        }
        let _ = writeln!(out, "    {}\n", command(module, file, build, func));
    }
    if out.is_empty() {
        out.push_str("no kernel: the file defines no .entry\n");
    }
    out
}

/// The listing as JSON.
pub fn json(module: &Module, file: &str, build: Option<&str>) -> Value {
    let entries: Vec<Value> = entries(module)
        .map(|func| {
            let params: Vec<Value> = func
                .params
                .iter()
                .map(|p| {
                    json!({
                        "name": &*p.name,
                        "type": declaration(p),
                        "bytes": p.size,
                        "align": p.align,
                        "pointer": may_point(module, p),
                    })
                })
                .collect();
            json!({
                "entry": func.name.as_str(),
                "line": line(module, file, func),
                "params": params,
                "max_threads": func.tuning.max_ntid,
                "required_threads": func.tuning.req_ntid,
                "command": command(module, file, build, func),
            })
        })
        .collect();
    json!({ "file": file, "entries": entries })
}
