//! Real PTX, of the samples and the recordings: every text is read without a finding,
//! and the printed tree reads back as the same tree.

use std::path::{Path, PathBuf};

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

fn samples_round_trip() {
    round_trips(&[Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../samples")).to_owned()]);
}

fn recordings_round_trip() {
    round_trips(&["isa-golden/modules", "kernel-golden", "facts"].map(golden::need::shared_path));
}

fn round_trips(folders: &[PathBuf]) {
    let mut files = Vec::new();
    for folder in folders {
        let before = files.len();
        ptx_files(folder, &mut files);
        assert!(files.len() > before, "no PTX in {}", folder.display());
    }
    for file in &files {
        let text = std::fs::read_to_string(file).expect("corpus files are UTF-8");
        check(&file.display().to_string(), &text);
    }
}

golden::tests! {
    samples_round_trip,
    recordings_round_trip: shared("isa-golden"),
}
