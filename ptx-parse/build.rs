//! Generates the parser from `src/grammar.lalrpop`, and a number that changes with everything that a verified module
//! depends on, for containers and caches: the sources of this crate and of the instruction table.

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
    for folder in ["src", "../ptx-isa/src"] {
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
    println!("cargo::rustc-env=PTX_PARSE_SOURCES={hash:016x}");
    lalrpop::Configuration::new()
        .use_cargo_dir_conventions()
        .process()
        .expect("src/grammar.lalrpop is a valid LR(1) grammar");
}
