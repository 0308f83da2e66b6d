//! What a PTX file holds: its entries with their parameters, and a command that would run each.

use std::fmt::Write;
use std::path::Path;

use ptx_runtime::declaration;
use ptx_runtime::isa::Ty;
use ptx_runtime::opencl::info::{ArgInfo, ArgKind, KernelInfo};
use ptx_runtime::parse::module::{Func, Module, Param};
use serde_json::{Value, json};

use crate::cc::is_opencl;
use crate::values::ElementType;

/// Threads per block that the suggestion takes where the kernel leaves it open.
const BLOCK: u32 = 128;
/// Bytes of shared memory that a `__local` argument is suggested.
const LOCAL: u64 = 4096;

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

/// The text of a kernel, up to the next one.
fn body<'m>(module: &'m Module, func: &Func) -> &'m str {
    let text = module.source.get(func.span.start as usize..).unwrap_or("");
    let rest = text.split_once('{').map_or("", |(_, rest)| rest);
    rest.split(".entry").next().unwrap_or_default()
}

/// The threads per block that a kernel asks for, or that are likely to fit it: OpenCL C with arrays in local memory is
/// written for groups of one size as a rule, and small ones fit most.
fn block(module: &Module, func: &Func, info: Option<&KernelInfo>) -> [u32; 3] {
    if let Some(required) = func.tuning.req_ntid {
        return required;
    }
    if info.is_some_and(|kernel| kernel.local_bytes > 0) {
        let square = body(module, func).contains("%tid.y");
        return if square { [16, 8, 1] } else { [64, 1, 1] };
    }
    [func.tuning.max_ntid.map_or(BLOCK, |m| m[0].clamp(1, BLOCK)), 1, 1]
}

/// Elements of a suggested buffer: room for a square of the counts that are suggested, up to 256.
const ELEMENTS: usize = 1 << 16;

/// What the command that is suggested gives for a parameter.
struct Suggestion {
    /// The argument.
    arg: String,
    /// What shows the result, where the kernel may write it.
    print: Option<String>,
}

/// The element type of a C type such as `float4*`; untyped bytes for structures.
fn element(type_name: &str) -> Option<ElementType> {
    use ElementType::{F16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
    let base = type_name.trim_end_matches('*').trim_end_matches(|c: char| c.is_ascii_digit());
    Some(match base {
        "char" => S8,
        "uchar" => U8,
        "short" => S16,
        "ushort" => U16,
        "int" => S32,
        "uint" => U32,
        "long" => S64,
        "ulong" => U64,
        "half" => F16,
        "float" => F32,
        "double" => F64,
        _ => return None,
    })
}

/// The element type of most global accesses in a kernel's text, if there are any.
fn accessed(module: &Module, func: &Func) -> Option<ElementType> {
    let global =
        body(module, func).lines().filter(|line| line.contains(".global.") && line.contains('['));
    let mut seen: Vec<(ElementType, usize)> = Vec::new();
    for line in global {
        let opcode = line.split('[').next().unwrap_or_default();
        let opcode = opcode.split_whitespace().find(|word| word.contains(".global."));
        let last = opcode.and_then(|opcode| opcode.rsplit('.').next());
        let Some(ty) = last.and_then(|word| word.parse().ok()) else { continue };
        match seen.iter_mut().find(|(known, _)| *known == ty) {
            Some((_, n)) => *n += 1,
            None => seen.push((ty, 1)),
        }
    }
    seen.into_iter().max_by_key(|(_, n)| *n).map(|(ty, _)| ty)
}

/// A buffer with contents that show what a kernel does: fractions for floats, so that sums stay small, and numbers in
/// order for integers, so that indices stay inside.
fn filled(ty: ElementType) -> String {
    let how = if ty.is_float() { "random:1" } else { "iota" };
    format!("{ty}[{ELEMENTS}]:{how}")
}

/// An argument that fits the parameter, and what shows it afterwards. Pointers get a buffer, counts the number of
/// threads. `info` is what OpenCL C says about the argument.
fn suggestion(
    module: &Module,
    func: &Func,
    index: usize,
    info: Option<&ArgInfo>,
    threads: u32,
    shared: &mut u64,
) -> Result<Suggestion, &'static str> {
    let param = &func.params[index];
    let only = |arg| Ok(Suggestion { arg, print: None });
    match info.map(|info| info.kind) {
        Some(
            ArgKind::ReadImage | ArgKind::WriteImage | ArgKind::ReadWriteImage | ArgKind::Sampler,
        ) => {
            return Err(
                "it takes images: run it from an OpenCL program (ptxrun exec), or with a launch file",
            );
        }
        Some(ArgKind::Local { align }) => {
            let at = shared.next_multiple_of(align.max(1));
            *shared = at + LOCAL;
            return only(format!("b64:{at}"));
        }
        _ => {}
    }
    if may_point(module, param) {
        let ty = match info {
            Some(info) => element(&info.type_name),
            None => accessed(module, func),
        };
        let arg = ty.map_or_else(|| format!("buf:{}", 4 * ELEMENTS), filled);
        let which = info.map_or_else(|| index.to_string(), |info| info.name.clone());
        let written = info.is_none_or(|i| !i.is_const && i.kind == ArgKind::Global);
        let shown = ty.unwrap_or(ElementType::B32);
        let print = written.then(|| format!("{which}:{shown}:8"));
        return Ok(Suggestion { arg, print });
    }
    if param.array {
        return only(format!("bytes:{}", "00".repeat(param.size as usize)));
    }
    only(match param.ty {
        Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64 => format!("{}:1", param.ty.name()),
        Ty::U32 | Ty::S32 | Ty::B32 | Ty::U16 | Ty::S16 | Ty::B16 => {
            format!("{}:{threads}", param.ty.name())
        }
        ty if ty.bits() >= 8 && ty.bits() <= 64 => format!("b{}:0", ty.bits()),
        _ => format!("bytes:{}", "00".repeat(param.size as usize)),
    })
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

/// The command that would run an entry, or why there is none.
fn command(listing: &Listing<'_>, func: &Func) -> Result<String, &'static str> {
    let Listing { module, file, build, .. } = listing;
    let mut out = format!("ptxrun {}", quoted(file));
    if let Some(build) = build {
        let _ = write!(out, " --build {}", quoted(build));
    }
    if entries(module).count() > 1 {
        let _ = write!(out, " --entry {}", quoted(&func.name));
    }
    let info = listing.info(func);
    let block = block(module, func, info);
    let threads: u32 = block.iter().product();
    let extent: Vec<String> = block.iter().map(u32::to_string).collect();
    let extent = extent.join(",");
    let extent = extent.strip_suffix(",1,1").or(extent.strip_suffix(",1")).unwrap_or(&extent);
    let _ = write!(out, " --grid 1 --block {extent}");
    let local = info.map_or(0, |kernel| kernel.local_bytes);
    let mut shared = local;
    let mut shown = Vec::new();
    for index in 0..func.params.len() {
        let info = info.and_then(|kernel| kernel.args.get(index));
        let suggestion = suggestion(module, func, index, info, threads, &mut shared)?;
        let _ = write!(out, " --arg {}", suggestion.arg);
        shown.extend(suggestion.print);
    }
    if shared > local {
        let _ = write!(out, " --shared {}", shared - local);
    }
    // Of PTX it is not known which pointers lead to results; those come last as a rule.
    let last = if info.is_some() { 0 } else { shown.len().saturating_sub(1) };
    for print in &shown[last..] {
        let _ = write!(out, " --print {print}");
    }
    Ok(out)
}

/// Where the entry stands in its file; unknown where the file is OpenCL C and the module its PTX.
fn line(module: &Module, file: &str, func: &Func) -> Option<usize> {
    if is_opencl(Path::new(file)) {
        return None;
    }
    let before = module.source.get(..func.span.start as usize).unwrap_or("");
    Some(before.bytes().filter(|&b| b == b'\n').count() + 1)
}

/// What is listed.
pub struct Listing<'a> {
    /// The module.
    pub module: &'a Module,
    /// Its file.
    pub file: &'a str,
    /// The options with which it was compiled, if there are any.
    pub build: Option<&'a str>,
    /// What OpenCL C says about its kernels.
    pub kernels: &'a [KernelInfo],
}

impl Listing<'_> {
    fn info(&self, func: &Func) -> Option<&KernelInfo> {
        self.kernels.iter().find(|kernel| func.name == kernel.name)
    }

    /// The name of a parameter, in OpenCL C if the file is that.
    fn name<'s>(&'s self, func: &'s Func, index: usize) -> &'s str {
        let info = self.info(func).and_then(|kernel| kernel.args.get(index));
        info.map_or(&*func.params[index].name, |info| &info.name)
    }
}

/// The listing as text.
pub fn text(listing: &Listing<'_>) -> String {
    let Listing { module, file, .. } = *listing;
    let mut out = String::new();
    for func in entries(module) {
        let place = line(module, file, func).map_or(String::new(), |n| format!(" (line {n})"));
        let _ = writeln!(out, "{}{place}", func.name);
        let names = (0..func.params.len()).map(|i| listing.name(func, i));
        let width = names.map(str::len).max().unwrap_or(0);
        for (index, param) in func.params.iter().enumerate() {
            let pointer = match param.ptr {
                Some((space, _)) => format!(" pointer to {}", format!("{space:?}").to_lowercase()),
                None if may_point(module, param) => " pointer?".into(),
                None => String::new(),
            };
            let _ = writeln!(
                out,
                "    {index}  {:width$}  {}{pointer}",
                listing.name(func, index),
                declaration(param)
            );
        }
        for (name, extent) in [("at most", func.tuning.max_ntid), ("exactly", func.tuning.req_ntid)]
        {
            if let Some([x, y, z]) = extent {
                let _ = writeln!(out, "    {name} {x} x {y} x {z} threads per block");
            }
        }
        let _ = match command(listing, func) {
            Ok(command) => writeln!(out, "    {command}\n"),
            Err(why) => writeln!(out, "    {why}\n"),
        };
    }
    if out.is_empty() {
        out.push_str("no kernel: the file defines no .entry\n");
    }
    out
}

/// The listing as JSON.
pub fn json(listing: &Listing<'_>) -> Value {
    let Listing { module, file, .. } = *listing;
    let entries: Vec<Value> = entries(module)
        .map(|func| {
            let params: Vec<Value> = func
                .params
                .iter()
                .enumerate()
                .map(|(index, p)| {
                    json!({
                        "name": listing.name(func, index),
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
                "command": command(listing, func).ok(),
            })
        })
        .collect();
    json!({ "file": file, "entries": entries })
}
