//! Every faulty kernel under `faults/` is run by the command as its first line says; the report is a snapshot.

use std::path::Path;
use std::process::Command;

/// Runs one file; returns exit status, standard output and standard error.
fn run(path: &Path, backend: &str) -> (Option<i32>, String, String) {
    let text = std::fs::read_to_string(path).unwrap();
    let options =
        text.lines().next().and_then(|l| l.strip_prefix("// run:")).expect("a `// run:` line");
    let output = Command::new(env!("CARGO_BIN_EXE_ptxrun"))
        .current_dir(path.parent().unwrap())
        .arg(path.file_name().unwrap())
        .args(options.split_whitespace())
        .args(["--backend", backend])
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// What of a report is the same on every run: where a launch that ran into its time limit just was is chance.
fn stable(report: &str) -> String {
    if !report.contains("time limit") {
        return report.into();
    }
    let kept = |line: &&str| line.starts_with("error:") || line.contains("waits to reconverge");
    report.lines().filter(kept).fold(String::new(), |all, line| all + line + "\n")
}

fn files() -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    assert!(files.len() >= 10);
    files
}

/// Compiled code reports each fault as the interpreter does.
#[test]
fn reports_of_compiled_code() {
    for path in files() {
        let (status, stdout, stderr) = run(&path, "interp");
        let (jit_status, jit_stdout, jit_stderr) = run(&path, "jit");
        assert_eq!(jit_status, status, "{}: {jit_stderr}", path.display());
        assert_eq!(jit_stdout, stdout, "{}", path.display());
        assert_eq!(stable(&jit_stderr), stable(&stderr), "{}", path.display());
    }
}

#[test]
fn reports() {
    for path in files() {
        let (status, stdout, stderr) = run(&path, "interp");
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(status, Some(1), "{name}: {stdout}{stderr}");
        insta::assert_snapshot!(
            name,
            stable(&stderr),
            &path.file_name().unwrap().to_string_lossy()
        );
    }
}
