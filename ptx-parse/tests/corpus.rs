//! Real PTX from the shared recordings: every text is read without a finding,
//! and the printed tree reads back as the same tree.

use std::path::{Path, PathBuf};

fn shared() -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared"));
    let found = path.is_dir();
    if !found {
        println!("skipped: {} is missing", path.display());
    }
    found.then(|| path.to_owned())
}

fn ptx_files(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            ptx_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            out.push(path);
        }
    }
}

fn check(name: &str, text: &str) {
    let (ast, diags) = ptx_parse::parse(text);
    let reporter = ptx_parse::Reporter::new(name, text);
    assert!(diags.is_empty(), "{}", reporter.plain(&diags[0]));
    let printed = ptx_parse::print::print(&ast);
    let (again, diags) = ptx_parse::parse(&printed);
    let reporter = ptx_parse::Reporter::new(name, &printed);
    assert!(diags.is_empty(), "printed: {}", reporter.plain(&diags[0]));
    assert_eq!(ast.difference(&again), None, "{name} changed by printing");
}

#[test]
fn corpus_round_trips() {
    let mut files = Vec::new();
    for dir in ["isa-golden/modules", "kernel-golden", "facts"] {
        if let Some(shared) = shared() {
            ptx_files(&shared.join(dir), &mut files);
        }
    }
    ptx_files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples")), &mut files);
    assert!(!files.is_empty(), "the samples at least are here");
    for file in &files {
        let text = std::fs::read_to_string(file).expect("corpus files are UTF-8");
        check(&file.display().to_string(), &text);
    }
    println!("{} files", files.len());
}
