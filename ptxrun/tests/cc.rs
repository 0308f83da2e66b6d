//! OpenCL C through the command: `ptxrun cc`, and `.cl` files wherever PTX is taken.

mod common;

use common::{Folder, sample};

const TWICE: &str = "__kernel void twice(__global float *data, float scale)
{
    int i = get_global_id(0);
    if (i < N) data[i] *= scale;
}
";

#[test]
fn cc_writes_ptx_that_runs() {
    let folder = Folder::new("writes");
    folder.write("twice.cl", TWICE);
    let cc = folder.run(&["cc", "-D", "N=3", "twice.cl", "--target", "sm_90", "-o", "twice.ptx"]);
    assert_eq!((cc.status, &*cc.stdout, &*cc.stderr), (0, "", ""));
    let text = std::fs::read_to_string(folder.0.join("twice.ptx")).unwrap();
    assert!(text.contains(".target sm_90") && text.contains(".entry twice("), "{text}");
    let tail = ["--block", "4", "--arg", "f32[4]:iota", "--arg", "f32:1.5", "--print", "0:f32"];
    let mut line = vec!["twice.ptx"];
    line.extend(tail);
    let from_ptx = folder.run(&line);
    assert_eq!((from_ptx.status, &*from_ptx.stdout), (0, "0: 0 1.5 3 3\n"), "{}", from_ptx.stderr);
    let mut line = vec!["twice.cl", "--build", "-DN=3"];
    line.extend(tail);
    assert_eq!(folder.run(&line).stdout, from_ptx.stdout);
}

#[test]
fn cc_reads_and_writes_streams() {
    let folder = Folder::new("streams");
    let out = folder.run_with(&["cc", "-", "-DN=8", "-g"], TWICE);
    assert_eq!(out.status, 0, "{}", out.stderr);
    assert!(out.stdout.contains(".file\t1 \"<stdin>\"") || out.stdout.contains("\"<stdin>\""));
    let json = folder.run_with(&["cc", "-", "-DN=8", "--json"], TWICE).json();
    assert!(json["text"].as_str().unwrap().contains(".entry twice("));
    let help = folder.run(&["cc", "--help"]);
    assert!(help.status == 0 && help.stdout.contains("-cl-mad-enable"), "{}", help.stdout);
}

/// `-o -` is standard output, whatever writes, and never a file of that name.
#[test]
fn a_line_is_standard_output() {
    let folder = Folder::new("cc-stdout");
    folder.write("twice.cl", TWICE);
    let cc = folder.run(&["cc", "-DN=3", "twice.cl", "--target", "sm_90", "-o", "-"]);
    assert!(cc.stdout.starts_with(".version"), "{}", cc.stdout);
    folder.write("twice.ptx", &cc.stdout);
    let json = folder.run(&["cc", "-DN=3", "twice.cl", "-o", "-", "--json"]).json();
    assert!(json["text"].as_str().unwrap().starts_with(".version"));
    assert_eq!(folder.run(&["asm", "twice.ptx"]).status, 0);
    let dis = folder.run(&["dis", "twice.ptxb", "-o", "-"]);
    assert_eq!(dis.stdout, cc.stdout);
    let mut asm = std::process::Command::new(env!("CARGO_BIN_EXE_ptxrun"));
    let asm = asm.args(["asm", "twice.ptx", "-o", "-"]).current_dir(&folder.0).output().unwrap();
    assert!(asm.status.success() && asm.stdout.starts_with(b"\x89PTXB"));
    assert_eq!(folder.run(&["asm", "twice.ptx", "-o", "-", "--json"]).status, 2);
    let launch = ["--grid", "1", "--block", "8", "--arg", "f32[8]:iota", "--arg", "f32:1.5"];
    let trace = folder.run(&[&["trace", "twice.ptx", "-o", "-"], &launch[..]].concat());
    assert!(trace.status == 0 && trace.stdout.lines().count() > 3, "{}", trace.stdout);
    assert_eq!(folder.run(&["reduce", "twice.ptx", "-o", "-", "--", "false"]).status, 2);
    assert!(!folder.0.join("-").exists());
}

#[test]
fn errors_are_shown_with_their_place() {
    let folder = Folder::new("errors");
    folder.write("twice.cl", &TWICE.replace("get_global_id", "get_gobal_id"));
    let cc = folder.run(&["cc", "twice.cl", "-DN=4"]);
    assert_eq!(cc.status, 1);
    assert!(
        cc.stderr.contains("twice.cl:3:13") && cc.stderr.contains("get_global_id"),
        "{}",
        cc.stderr
    );
    assert!(!cc.stderr.contains('\u{1b}'), "no colour into a pipe");
    assert!(folder.run(&["cc", "twice.cl", "--color=always"]).stderr.contains('\u{1b}'));
    let json = folder.run(&["check", "twice.cl", "--json", "--build", "-DN=4"]).json();
    let first = &json["files"][0]["diagnostics"][0];
    assert_eq!((&json["ok"], &first["start"]["line"]), (&false.into(), &3.into()));
    assert_eq!((&first["severity"], &first["file"]), (&"error".into(), &"twice.cl".into()));
    // Several errors in one run: the name above, and the macro that is missing.
    assert!(folder.run(&["check", "twice.cl"]).stdout.ends_with("twice.cl: 2 errors\n"));
    for words in [
        &["cc"][..],
        &["cc", "-g"],
        &["cc", "twice.cl", "-frob"],
        &["cc", "twice.cl", "--target", "sm_14"],
        &["check", "twice.cl", "--build", "-frob"],
        &["cc", "nothing.cl"],
        &["fmt", "-i", "twice.cl"],
    ] {
        assert_eq!(folder.run(words).status, 2, "{words:?}");
    }
}

#[test]
fn entries_are_listed_with_a_command_that_runs() {
    let folder = Folder::new("list");
    folder.write("twice.cl", TWICE);
    let listed = folder.run(&["twice.cl", "--build", "-D N=2"]);
    assert_eq!(listed.status, 0, "{}", listed.stderr);
    assert!(listed.stdout.starts_with("twice\n    0  "), "{}", listed.stdout);
    let command = listed.stdout.lines().find(|l| l.trim().starts_with("ptxrun ")).unwrap();
    assert!(command.contains("--build '-D N=2'"), "{command}");
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let words: Vec<String> =
        words.join(" ").replace("'-D N=2'", "-DN=2").split(' ').map(str::to_string).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(folder.run(&words).status, 0);
    let formatted = folder.run(&["fmt", "twice.cl", "--build", "-DN=2"]);
    assert!(formatted.status == 0 && formatted.stdout.contains(".entry twice("));
}

#[test]
fn a_fault_names_the_line_of_the_source() {
    let folder = Folder::new("fault");
    folder.write("twice.cl", TWICE);
    let line = ["twice.cl", "--build", "-DN=9", "--block", "4", "--arg", "buf:8", "--arg", "f32:1"];
    let fault = folder.run(&line);
    assert_eq!(fault.status, 1);
    assert!(fault.stderr.contains("twice.cl:4:"), "{}", fault.stderr);
}

#[test]
fn launch_files_say_how_to_build() {
    let folder = Folder::new("launch");
    folder.write("n.h", "#define N 2\n");
    folder.write("twice.cl", &format!("#include <n.h>\n{TWICE}"));
    let text = "modules = [\"twice.cl\"]\nbuild = \"-I .\"\n[buffer]\n\
        x = { type = \"f32\", len = 4, init = \"iota\" }\n\
        [[launch]]\nentry = \"twice\"\nblock = 4\nargs = [\"buf:x\", \"f32:3\"]\n\
        [[check]]\nbuffer = \"x\"\nvalues = [0, 3, 2, 3]\n";
    let file = folder.write("twice.toml", text);
    let run = folder.run(&[&file]);
    assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
    folder.write("twice.toml", &text.replace("-I .", "-frob"));
    let wrong = folder.run(&[&file]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("unknown option `-frob`") && wrong.stderr.contains("^^^^^"));
}

/// Both versions of the guide's matrix multiplication.
#[test]
fn the_guides_matrix_multiplications_run() {
    for name in ["matmul_naive", "matmul_tiled"] {
        let launch = sample(&format!("{name}/matmul.toml"));
        let out =
            Folder::new(name).run(&[&sample(&format!("{name}/matmul.cl")), "--launch", &launch]);
        assert_eq!(out.status, 0, "{}", out.stderr);
        assert!(
            out.stdout.contains("ok      C: 1536 x f32, every bit as expected"),
            "{}",
            out.stdout
        );
    }
}
