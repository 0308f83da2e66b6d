//! Programs as text: PTX with what hosts need to know about its kernels, and compiled objects.
//!
//! A program binary is PTX. Comments at its end tell what PTX cannot: types and qualifiers of arguments, and which
//! of them are images and samplers. PTX without them is as good; then the arguments are what the parameters of its
//! entries say. Objects of `clCompileProgram` are sources with their options and headers.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hasher};

use ptx_runtime::isa::Space;
use ptx_runtime::opencl::info::{ArgInfo, ArgKind, KernelInfo};
use ptx_runtime::parse::module::{Func, Param};

/// A kernel as hosts see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Arguments and attributes.
    pub info: KernelInfo,
    /// It says how arguments were declared; else they are what the parameters allow.
    pub declared: bool,
}

const KERNEL: &str = "//@ kernel ";
/// With a number for the text before: who edits that may make the kernel depend on its groups.
const ANY_GROUP: &str = "any_group(";
/// The kernel works in groups that are smaller than others of its launch.
const REST_GROUPS: &str = "rest_groups";
const ARG: &str = "//@ arg ";

fn kind_word(kind: ArgKind) -> String {
    match kind {
        ArgKind::Value { size, align } => format!("value:{size}:{align}"),
        ArgKind::Global => "global".into(),
        ArgKind::Constant => "constant".into(),
        ArgKind::Local { align } => format!("local:{align}"),
        ArgKind::ReadImage => "read_image".into(),
        ArgKind::WriteImage => "write_image".into(),
        ArgKind::ReadWriteImage => "read_write_image".into(),
        ArgKind::Sampler => "sampler".into(),
    }
}

fn kind_of(word: &str) -> Option<ArgKind> {
    let mut parts = word.split(':');
    let name = parts.next()?;
    let mut number = || parts.next()?.parse().ok();
    Some(match name {
        "value" => ArgKind::Value { size: number()?, align: number()? },
        "global" => ArgKind::Global,
        "constant" => ArgKind::Constant,
        "local" => ArgKind::Local { align: number()? },
        "read_image" => ArgKind::ReadImage,
        "write_image" => ArgKind::WriteImage,
        "read_write_image" => ArgKind::ReadWriteImage,
        "sampler" => ArgKind::Sampler,
        _ => return None,
    })
}

/// A number for the PTX before the comments. Another build may give another one: then the comment counts for nothing.
fn fingerprint(ptx: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(ptx.trim_end().as_bytes());
    hasher.finish()
}

/// PTX with comments about its kernels.
pub fn annotate(ptx: &str, kernels: &[KernelInfo]) -> String {
    let mut out = ptx.trim_end().to_string();
    let any = kernels.iter().any(|k| k.any_group).then(|| fingerprint(ptx));
    out.push_str("\n\n");
    for k in kernels {
        let _ = write!(out, "{KERNEL}{} {} {}", k.name, k.local_bytes, k.attributes());
        if k.rest_groups {
            let _ = write!(out, " {REST_GROUPS}");
        }
        if let Some(fingerprint) = any.filter(|_| k.any_group) {
            let _ = write!(out, " {ANY_GROUP}{fingerprint:x})");
        }
        out.push('\n');
        for a in &k.args {
            let mut flags = String::new();
            for (on, letter) in [(a.is_const, 'c'), (a.is_volatile, 'v'), (a.is_restrict, 'r')] {
                flags.extend(on.then_some(letter));
            }
            let name = if a.name.is_empty() { "-" } else { &a.name };
            let _ = writeln!(out, "{ARG}{} -{flags} {name} {}", kind_word(a.kind), a.type_name);
        }
    }
    out
}

/// What the comments of a text say.
fn annotations(text: &str) -> Vec<KernelInfo> {
    let mut all: Vec<KernelInfo> = Vec::new();
    let comments = text.find(KERNEL).unwrap_or(text.len());
    let mut own = None;
    let mut unaltered = |noted: &str| {
        let own = *own.get_or_insert_with(|| fingerprint(&text[..comments]));
        u64::from_str_radix(noted, 16) == Ok(own)
    };
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix(KERNEL) {
            let mut words = rest.splitn(3, ' ');
            let (Some(name), Some(local)) = (words.next(), words.next()) else { continue };
            let attributes = words.next().unwrap_or("");
            all.push(KernelInfo {
                name: name.into(),
                args: Vec::new(),
                required_size: sizes(attributes, "reqd_work_group_size("),
                size_hint: sizes(attributes, "work_group_size_hint("),
                vec_type_hint: between(attributes, "vec_type_hint(").map(str::to_string),
                local_bytes: local.parse().unwrap_or(0),
                any_group: between(attributes, ANY_GROUP).is_some_and(&mut unaltered),
                rest_groups: attributes.split(' ').any(|word| word == REST_GROUPS),
            });
        } else if let Some(rest) = line.strip_prefix(ARG)
            && let Some(kernel) = all.last_mut()
        {
            let mut words = rest.splitn(4, ' ');
            let (Some(kind), Some(flags), Some(name), Some(type_name)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            let Some(kind) = kind_of(kind) else { continue };
            kernel.args.push(ArgInfo {
                name: name.into(),
                type_name: type_name.trim_end().into(),
                kind,
                is_const: flags.contains('c'),
                is_volatile: flags.contains('v'),
                is_restrict: flags.contains('r'),
            });
        }
    }
    all
}

fn between<'t>(text: &'t str, before: &str) -> Option<&'t str> {
    let start = text.find(before)? + before.len();
    let text = &text[start..];
    Some(&text[..text.find(')')?])
}

fn sizes(text: &str, before: &str) -> Option<[u32; 3]> {
    let mut numbers = between(text, before)?.split(',').map(|n| n.trim().parse::<u32>());
    let mut next = || numbers.next()?.ok();
    Some([next()?, next()?, next()?])
}

/// Whether a parameter can take such an argument.
fn takes(param: &Param, kind: ArgKind) -> bool {
    match kind {
        ArgKind::Value { size, .. } => u64::from(param.size) == size,
        ArgKind::Sampler => param.size == 4,
        ArgKind::Local { .. } => matches!(param.size, 4 | 8),
        ArgKind::Global
        | ArgKind::Constant
        | ArgKind::ReadImage
        | ArgKind::WriteImage
        | ArgKind::ReadWriteImage => param.size == 8,
    }
}

/// What a parameter says by itself.
fn recover(param: &Param, index: usize) -> ArgInfo {
    let kind = match param.ptr {
        Some((Space::Global, _)) => ArgKind::Global,
        Some((Space::Const, _)) => ArgKind::Constant,
        Some((Space::Shared, align)) => ArgKind::Local { align: u64::from(align.max(16)) },
        _ => ArgKind::Value { size: u64::from(param.size), align: u64::from(param.align.max(1)) },
    };
    let name = match &*param.name {
        "_" => format!("arg{index}"),
        name => name.to_string(),
    };
    ArgInfo {
        name,
        type_name: ptx_runtime::declaration(param),
        kind,
        is_const: kind == ArgKind::Constant,
        is_volatile: false,
        is_restrict: false,
    }
}

/// The kernels of a text whose entries are `entries`.
pub fn entries<'m>(text: &str, entries: impl Iterator<Item = &'m Func>) -> Vec<Entry> {
    let noted = annotations(text);
    entries
        .map(|f| {
            let note = noted.iter().find(|k| {
                *k.name == *f.name
                    && k.args.len() == f.params.len()
                    && k.args.iter().zip(&f.params).all(|(a, p)| takes(p, a.kind))
            });
            let mut info = note.cloned().unwrap_or_else(|| KernelInfo {
                name: f.name.to_string(),
                args: f.params.iter().enumerate().map(|(i, p)| recover(p, i)).collect(),
                required_size: None,
                size_hint: None,
                vec_type_hint: None,
                local_bytes: 0,
                any_group: false,
                rest_groups: false,
            });
            info.required_size = f.tuning.req_ntid.or(info.required_size);
            Entry { info, declared: note.is_some() }
        })
        .collect()
}

/// Bytes of the variables in global memory that a program declares: the strings of its `printf` are not its own.
pub fn global_variables(ptx: &str) -> usize {
    let declared = ptx.lines().filter_map(|l| l.strip_prefix(".global ")).filter_map(|rest| {
        let (head, size) = rest.split_once('[')?;
        let name = head.rsplit(' ').next()?;
        let size: usize = size.split(']').next()?.parse().ok()?;
        (!name.starts_with("__format")).then_some(size)
    });
    declared.sum()
}

/// Whether bytes are PTX: the first word that is no comment is `.version`.
pub fn is_ptx(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut text = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        if let Some(rest) = text.strip_prefix("//") {
            text = rest.find('\n').map_or("", |n| &rest[n..]).trim_start();
        } else if let Some(rest) = text.strip_prefix("/*") {
            text = rest.find("*/").map_or("", |n| &rest[n + 2..]).trim_start();
        } else {
            return text.starts_with(".version");
        }
    }
}

/// A source as it was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The options.
    pub options: String,
    /// The program.
    pub text: String,
    /// Headers by name.
    pub headers: Vec<(String, String)>,
}

const OBJECT: &str = "ptxrun OpenCL object 1\n";
const LIBRARY: &str = "ptxrun OpenCL library 1\n";

/// Objects as bytes.
pub fn write_objects(sources: &[Source], library: bool) -> Vec<u8> {
    let mut out = String::from(if library { LIBRARY } else { OBJECT });
    let piece = |out: &mut String, kind: &str, text: &str| {
        let _ = writeln!(out, "{kind} {}", text.len());
        out.push_str(text);
        out.push('\n');
    };
    for s in sources {
        piece(&mut out, "source", &s.text);
        piece(&mut out, "options", &s.options);
        for (name, text) in &s.headers {
            piece(&mut out, "name", name);
            piece(&mut out, "header", text);
        }
    }
    out.into_bytes()
}

/// Objects from bytes, and whether they are a library; `None` if the bytes are something else.
pub fn read_objects(bytes: &[u8]) -> Option<(Vec<Source>, bool)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (mut text, library) = match (text.strip_prefix(OBJECT), text.strip_prefix(LIBRARY)) {
        (Some(rest), _) => (rest, false),
        (_, Some(rest)) => (rest, true),
        _ => return None,
    };
    let mut sources: Vec<Source> = Vec::new();
    while !text.is_empty() {
        let (head, rest) = text.split_once('\n')?;
        let (kind, length) = head.split_once(' ')?;
        let length: usize = length.parse().ok()?;
        let piece = rest.get(..length)?.to_string();
        text = rest.get(length..)?.strip_prefix('\n')?;
        if kind == "source" {
            sources.push(Source { options: String::new(), text: piece, headers: Vec::new() });
            continue;
        }
        let source = sources.last_mut()?;
        match kind {
            "options" => source.options = piece,
            "name" => source.headers.push((piece, String::new())),
            "header" => source.headers.last_mut()?.1 = piece,
            _ => return None,
        }
    }
    (!sources.is_empty()).then_some((sources, library))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_back() {
        let sources = vec![
            Source {
                options: "-D A=1".into(),
                text: "kernel void k() {}\n// ä\n".into(),
                headers: vec![("a.h".into(), "int x;\n".into()), ("b.h".into(), String::new())],
            },
            Source { options: String::new(), text: "\n".into(), headers: Vec::new() },
        ];
        let bytes = write_objects(&sources, true);
        assert_eq!(read_objects(&bytes), Some((sources, true)));
        for cut in 1..bytes.len() {
            // Never a panic; a shorter text is refused, or ends with a piece.
            if let Some((found, _)) = read_objects(&bytes[..cut]) {
                assert!(found.len() <= 2 && bytes[cut - 1] == b'\n');
            }
        }
    }

    #[test]
    fn kernels_come_back() {
        let info = KernelInfo {
            name: "k".into(),
            args: vec![
                ArgInfo {
                    name: "a".into(),
                    type_name: "float4*".into(),
                    kind: ArgKind::Global,
                    is_const: true,
                    is_volatile: false,
                    is_restrict: true,
                },
                ArgInfo {
                    name: "s".into(),
                    type_name: "struct pair".into(),
                    kind: ArgKind::Value { size: 12, align: 4 },
                    is_const: false,
                    is_volatile: false,
                    is_restrict: false,
                },
            ],
            required_size: Some([8, 4, 1]),
            size_hint: None,
            vec_type_hint: Some("float4".into()),
            local_bytes: 128,
            any_group: false,
            rest_groups: false,
        };
        let text = annotate(".version 7.0\n", std::slice::from_ref(&info));
        assert!(is_ptx(text.as_bytes()));
        assert_eq!(annotations(&text), std::slice::from_ref(&info));
        // What the compiler saw of the text holds for that text only.
        let any = KernelInfo { any_group: true, ..info.clone() };
        let text = annotate(".version 7.0\n", std::slice::from_ref(&any));
        assert_eq!(annotations(&text), [any]);
        assert_eq!(annotations(&text.replace("7.0", "7.1")), std::slice::from_ref(&info));
        // What it is made for stays.
        let rest = KernelInfo { rest_groups: true, ..info };
        let text = annotate(".version 7.0\n", std::slice::from_ref(&rest));
        assert_eq!(annotations(&text.replace("7.0", "7.1")), [rest]);
    }

    #[test]
    fn ptx_is_told_from_other_bytes() {
        assert!(is_ptx(b"// c\n/* d */\n.version 1.4"));
        assert!(!is_ptx(b"\x7fELF") && !is_ptx(b"") && !is_ptx(b"// .version 1.0"));
    }
}
