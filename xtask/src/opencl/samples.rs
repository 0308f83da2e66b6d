//! The samples that the comparisons take.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use ptxrun::launch_file::{self, LaunchFile};

/// A launch file with one OpenCL C module.
pub(super) struct Sample {
    /// The folder's name.
    pub name: String,
    /// The OpenCL C file.
    pub source: PathBuf,
    pub file: LaunchFile,
    /// It needs no built-in function that clang's header lacks.
    pub plain: bool,
}

/// The samples that have OpenCL C.
pub(super) fn samples() -> Result<Vec<Sample>> {
    let mut out = Vec::new();
    for path in ::samples::launch_files() {
        let text = std::fs::read_to_string(&path)?;
        let folder = path.parent().context("a folder")?;
        let file = launch_file::parse(&text, folder).with_context(|| path.display().to_string())?;
        if let Some(source) = file.modules.iter().find(|m| ptxrun::cc::is_opencl(m)) {
            let name = folder.file_name().context("a name")?.to_string_lossy().into_owned();
            let code = std::fs::read_to_string(source)?;
            let plain = !code.contains("printf(") && !code.contains("_image");
            out.push(Sample { name, source: source.clone(), plain, file });
        }
    }
    Ok(out)
}
