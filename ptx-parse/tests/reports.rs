//! Reports as a user reads them: every `tests/reports/*.ptx` is verified and
//! its findings are compared with the `.txt` beside it. A line with `// error`
//! must have a finding on it, and every finding must be on such a line (`// error: text` also
//! wants the text in it).
//!
//! `REPORTS=write cargo test -p ptx-parse --test reports` writes the `.txt` files anew.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn reports() {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reports"));
    let write = std::env::var_os("REPORTS").is_some_and(|v| v == "write");
    let mut failures = Vec::new();
    let mut paths: Vec<_> = std::fs::read_dir(dir)
        .expect("the folder of reports")
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "ptx"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_owned();
        let text = std::fs::read_to_string(&path).expect("UTF-8");
        let (_, diags) = ptx_parse::parse_and_verify(&text, &name);
        let reporter = ptx_parse::Reporter::new(&name, &text);
        let report: String = diags.iter().map(|d| reporter.plain(d)).collect();
        let expected = path.with_extension("txt");
        if write {
            std::fs::write(&expected, &report).expect("the folder can be written");
        } else if std::fs::read_to_string(&expected).ok().as_deref() != Some(&report) {
            failures.push(format!("{name}: the report changed, it is now\n{report}"));
        }
        let mut found = BTreeSet::new();
        for d in &diags {
            let line = reporter.position(d.span.start).line;
            found.insert(line);
            let source = text.lines().nth(line as usize - 1).unwrap_or("");
            if let Some((_, want)) = source.split_once("// error: ")
                && !reporter.plain(d).contains(want.trim())
            {
                failures.push(format!("{name}:{line}: no `{}` in {}", want.trim(), d.message));
            }
        }
        let marked: BTreeSet<u32> = text
            .lines()
            .zip(1..)
            .filter(|(line, _)| line.contains("// error"))
            .map(|(_, number)| number)
            .collect();
        if found != marked {
            failures.push(format!("{name}: findings on lines {found:?}, marked are {marked:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The same finding as data.
#[test]
fn json() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { adb.u32 %r1; }\n";
    let (_, diags) = ptx_parse::parse_and_verify(text, "k.ptx");
    let reporter = ptx_parse::Reporter::new("k.ptx", text);
    let data: Vec<_> = diags.iter().map(|d| reporter.locate(d)).collect();
    let json = serde_json::to_value(&data).expect("findings are data");
    assert_eq!(json[0]["file"], "k.ptx");
    assert_eq!(json[0]["start"]["line"], 4);
    assert_eq!(json[0]["start"]["column"], 14);
    assert_eq!(json[0]["code"], "unknown-opcode");
    assert_eq!(json[0]["severity"], "error");
    assert!(json[0]["help"][0].as_str().is_some_and(|h| h.contains("did you mean")));
}
