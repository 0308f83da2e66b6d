//! Every kernel under `advice/` is profiled as its first line says. The second line names a finding
//! that must be there, about exactly the lines marked `// <- here`, or one that must not.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn profile(path: &Path, options: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_ptxrun"))
        .arg("profile")
        .arg(path)
        .args(options.split_whitespace())
        .arg("--json")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}: {text}", path.display());
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_finding_is_found_where_it_is_and_nowhere_else() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/advice");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    let (mut found, mut absent) = (BTreeSet::new(), BTreeSet::new());
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        let options =
            lines.next().and_then(|l| l.strip_prefix("// run:")).expect("a `// run:` line");
        let expected = lines.next().expect("a `// finds:` line");
        let json = profile(&path, options);
        let findings = json["launches"][0]["advice"].as_array().unwrap();
        let of = |kind: &str| findings.iter().find(|f| f["kind"] == kind);
        if let Some(kind) = expected.strip_prefix("// finds: ") {
            let finding = of(kind).unwrap_or_else(|| panic!("{name}: no {kind} in {findings:#?}"));
            let marked: BTreeSet<u64> = (1..)
                .zip(text.lines())
                .filter(|(_, line)| line.ends_with("// <- here"))
                .map(|(n, _)| n)
                .collect();
            let lines = finding["ptx_lines"].as_array().unwrap();
            let lines: BTreeSet<u64> = lines.iter().filter_map(Value::as_u64).collect();
            assert_eq!(lines, marked, "{name}: {finding:#}");
            let section = finding["section"].as_str().unwrap();
            assert!(section.starts_with("3.") && finding["remedy"].as_str().unwrap().len() > 40);
            found.insert(kind.to_owned());
        } else if let Some(kind) = expected.strip_prefix("// finds not: ") {
            assert!(of(kind).is_none(), "{name}: {:#}", of(kind).unwrap());
            absent.insert(kind.to_owned());
        } else {
            panic!("{name}: {expected}");
        }
    }
    assert_eq!(found, absent, "each kind has a kernel with it and one without");
    assert_eq!(found.len(), 11, "{found:?}");
}
