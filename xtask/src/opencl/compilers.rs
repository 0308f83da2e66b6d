//! Source to PTX by both compilers.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use ptx_runtime::opencl::{self, Options};

/// The folder of the header that gives clang the built-in functions.
pub fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples/include")
}

/// clang's command line for a source.
pub fn clang(clang: &Path, source: &Path, sm: u32, output: &Path) -> Command {
    let mut command = Command::new(clang);
    command
        .args(["--target=nvptx64-nvidia-cuda", "-x", "cl", "-cl-std=CL1.2", "-O2", "-S", "-w"])
        .arg(format!("-march=sm_{sm}"))
        .arg("-I")
        .arg(include())
        .args(["-include", "opencl_nvptx.h", "-o"])
        .arg(output)
        .arg(source);
    command
}

/// clang's PTX.
pub fn with_clang(path: &Path, source: &Path, sm: u32) -> Result<String> {
    let out = clang(path, source, sm, Path::new("-")).output()?;
    if !out.status.success() {
        bail!("{}: {}", source.display(), String::from_utf8_lossy(&out.stderr));
    }
    Ok(String::from_utf8(out.stdout)?)
}

/// Our PTX.
pub fn with_ours(source: &Path, options: &Options) -> Result<String> {
    let text = std::fs::read_to_string(source)?;
    match opencl::compile(&source.display().to_string(), &text, options) {
        Ok(out) => Ok(out.ptx),
        Err(failure) => bail!("{}", failure.rendered),
    }
}
