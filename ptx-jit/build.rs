//! A number that changes with the sources of this crate, for the cache. `ptx_parse::container::BUILD` is the one of the
//! crates that say what instructions mean.

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

fn main() {
    let mut all = Vec::new();
    println!("cargo::rerun-if-changed=src");
    files(Path::new("src"), &mut all);
    all.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for path in all {
        for byte in std::fs::read(&path).unwrap_or_default() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    println!("cargo::rustc-env=PTX_JIT_SOURCES={hash:016x}");
}
