//! Files that hold kernels: PTX, OpenCL C, containers, what our `ptxas` wrote.

use std::io::Read;
use std::path::Path;

use ptx_runtime::opencl::Options;
use ptx_runtime::parse::container;
use ptx_runtime::{Verified, cubin};
use serde_json::json;

use crate::cc::{self, Source, SourceError};
use crate::cli::{Build, Common};
use crate::terminal::{
    Failed, INVALID, USAGE, display_name, is_stdin, print_json, read_bytes, text_of,
};

/// Whether a file is a container that can be mapped. Of a pipe nothing is read here: its head would be gone.
fn is_container(path: &Path) -> bool {
    if is_stdin(path) || !environment::files::is_regular(path) {
        return false;
    }
    let mut head = [0; container::MAGIC.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && container::is_container(&head)
}

/// What a file is that is no text; nothing where it may be some. Drivers take text with zeros behind it.
fn binary(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x7fELF") {
        return Some("an ELF file (a program, a library or a cubin)");
    }
    // Every other byte of ASCII in UTF-16 is zero.
    let head = &bytes[..bytes.len().min(64)];
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|b| **b == 0).count();
    if head.len() > 8 && (zeros(0) * 3 > head.len()) != (zeros(1) * 3 > head.len()) {
        return Some("text in UTF-16 (`iconv -f UTF-16 -t ASCII FILE` converts it)");
    }
    let end = bytes.iter().rposition(|b| *b != 0).unwrap_or(0);
    bytes[..end].contains(&0).then_some("a binary file")
}

/// A PTX or OpenCL C file, verified, or a container, which was.
pub(crate) fn open(
    path: &Path,
    options: &Options,
    lenient: bool,
    common: &Common,
) -> Result<Result<Source, SourceError>, Failed> {
    let name = display_name(path);
    let assembled = if is_container(path) {
        Verified::open(path)
    } else {
        let bytes = read_bytes(path, common)?;
        let assembled = cubin::container(&bytes).map(<[u8]>::to_vec);
        match assembled {
            Some(inner) => Verified::from_bytes(inner, &name),
            None if container::is_container(&bytes) => Verified::from_bytes(bytes, &name),
            None => {
                if let Some(kind) = binary(&bytes) {
                    let hint = "PTX and OpenCL C are text";
                    return Err(common.fail(INVALID, "file", format!("{name} is {kind}: {hint}")));
                }
                return Ok(cc::verify_with(path, &text_of(bytes), &name, options, lenient));
            }
        }
    };
    let source =
        |verified| Source { verified, warnings: cc::Findings::default(), kernels: Vec::new() };
    Ok(assembled.map(source).map_err(SourceError::Container))
}

/// The options that `--build` holds.
pub(crate) fn build_options(build: &Build, common: &Common) -> Result<Options, Failed> {
    Options::parse(build.build.as_deref().unwrap_or(""))
        .map_err(|diag| common.fail(USAGE, "option", cc::one_line(&diag)))
}

pub(crate) fn load(
    path: &Path,
    options: &Options,
    lenient: bool,
    common: &Common,
) -> Result<Verified, Failed> {
    load_source(path, options, lenient, common).map(|source| source.verified)
}

/// [`load`], with what OpenCL C says about its kernels.
pub(crate) fn load_source(
    path: &Path,
    options: &Options,
    lenient: bool,
    common: &Common,
) -> Result<Source, Failed> {
    let source = open(path, options, lenient, common)?.map_err(|e| {
        if common.json {
            print_json(&json!({"ok": false, "diagnostics": e.to_json()}));
        } else {
            environment::say!("{}", e.render(common.color()));
        }
        Failed(INVALID)
    })?;
    if !common.json {
        environment::say!("{}", source.warnings.render(common.color()));
        environment::say!("{}", source.verified.warnings().render(common.color()));
    }
    Ok(source)
}
