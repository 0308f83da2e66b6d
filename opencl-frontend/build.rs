//! Generates the parser from its grammar, and the index of the library's parts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=src/parse/grammar.lalrpop");
    lalrpop::process_src().expect("the grammar is well-formed");
    let out = std::env::var("OUT_DIR").expect("cargo names a folder");
    std::fs::write(Path::new(&out).join("library.rs"), library_index()).expect("it can be written");
}

/// Rust source of `FILES`, `PARTS`, `NAMES` and `HALF`, as `library/mod.rs` describes them.
fn library_index() -> String {
    // Asked for when it runs: a folder for builds may serve several copies of the sources.
    let manifest = std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate's folder");
    let folder = Path::new(&manifest).join("src/library");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the library's folder")
        .map(|entry| entry.expect("an entry of it").path())
        .filter(|path| path.extension().is_some_and(|e| e == "cl"))
        .collect();
    files.sort();
    let (mut list, mut parts, mut count) = (String::new(), String::new(), 0);
    let mut names: [BTreeMap<String, usize>; 2] = Default::default();
    for (number, path) in files.iter().enumerate() {
        let text = std::fs::read_to_string(path).expect("a file of the library");
        let name = path.file_name().expect("a name").to_string_lossy();
        let _ = write!(list, "({name:?}, include_str!({:?})), ", path.display().to_string());
        let starts: Vec<usize> = text.match_indices("//! ").map(|(at, _)| at).collect();
        let ends = starts.iter().skip(1).copied().chain([text.len()]);
        for (start, end) in starts.iter().copied().zip(ends) {
            let _ = write!(parts, "({number}, {}, {start}, {end}), ", starts[0]);
            let heading = text[start + 4..end].lines().next().unwrap_or_default();
            let half = heading.starts_with("@half");
            let words = heading.split_whitespace().filter(|w| *w != "@half");
            names[usize::from(half)].extend(words.map(|w| (w.to_string(), count)));
            count += 1;
        }
    }
    let [names, half] = names.map(|table| table.into_iter().collect::<Vec<_>>());
    format!(
        "const FILES: &[(&str, &str)] = &[{list}];\n\
         const PARTS: &[(usize, usize, usize, usize)] = &[{parts}];\n\
         const NAMES: &[(&str, usize)] = &{names:?};\n\
         const HALF: &[(&str, usize)] = &{half:?};\n"
    )
}
