//! For build scripts: a number that changes with the sources of crates, for containers and caches.

use std::path::{Path, PathBuf};

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, out);
        } else {
            out.push(path);
        }
    }
}

/// Sets `variable` for the crate to the hash (FNV-1a) of all files below `folders`.
pub fn set(variable: &str, folders: &[&str]) {
    let mut all = Vec::new();
    for folder in folders {
        println!("cargo::rerun-if-changed={folder}");
        files(Path::new(folder), &mut all);
    }
    all.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for path in all {
        for byte in std::fs::read(&path).unwrap_or_default() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    println!("cargo::rustc-env={variable}={hash:016x}");
}
