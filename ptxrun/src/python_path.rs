//! The folder that `ptxrun exec` puts first in `PYTHONPATH`: it prepares PyTorch when a program imports it
//! (`ptxrun/torch`).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

macro_rules! files {
    ($($name:literal),* $(,)?) => { [$(($name, include_str!(concat!("../torch/", $name)))),*] };
}

/// Names below the folder, and contents.
const FILES: [(&str, &str); 10] = files![
    "sitecustomize.py",
    "ptxrun_torch/__init__.py",
    "ptxrun_torch/attention.py",
    "ptxrun_torch/dropout.py",
    "ptxrun_torch/embedding.py",
    "ptxrun_torch/memory.py",
    "ptxrun_torch/operators.py",
    "ptxrun_torch/normalization.py",
    "ptxrun_torch/philox.py",
    "ptxrun_torch/recurrent.py",
];

/// Writes the folder below `folder`; another `ptxrun` may be doing the same.
fn write(folder: &Path) -> io::Result<PathBuf> {
    let top = folder.join("python");
    for (name, text) in FILES {
        let file = top.join(name);
        if std::fs::read(&file).is_ok_and(|old| old == text.as_bytes()) {
            continue;
        }
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let fresh = file.with_extension(format!("new{}", std::process::id()));
        std::fs::write(&fresh, text)?;
        std::fs::rename(&fresh, &file)?;
    }
    Ok(top)
}

/// The value of `PYTHONPATH` with the folder first.
pub(crate) fn prepare(folder: &Path) -> io::Result<OsString> {
    let top = write(folder)?;
    let mut path = top.clone().into_os_string();
    if let Some(old) = std::env::var_os("PYTHONPATH").filter(|old| !old.is_empty()) {
        if std::env::split_paths(&old).any(|known| known == top) {
            return Ok(old);
        }
        path.push(":");
        path.push(old);
    }
    Ok(path)
}
