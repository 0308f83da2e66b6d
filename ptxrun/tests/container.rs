//! Containers through the command: `ptxrun asm`, `ptxrun dis`, and `.ptxb` files wherever PTX is taken.

mod common;

use std::path::Path;

use common::{Folder, Outcome, TWICE, command, ptxrun, sample};

/// The arguments that run [`TWICE`] from a file.
fn twice(file: &str) -> Vec<&str> {
    let mut line = vec!["run", file, "--block", "4", "--arg", "f32[4]:iota", "--arg", "f32:1.5"];
    line.extend(["--print", "0:f32"]);
    line
}

#[test]
fn text_goes_in_and_comes_back() {
    let folder = Folder::new("ptxb-text");
    folder.write("twice.ptx", TWICE);
    let asm = folder.run(&["asm", "twice.ptx"]);
    assert_eq!((asm.status, &*asm.stdout, &*asm.stderr), (0, "", ""));
    let dis = folder.run(&["dis", "twice.ptxb"]);
    assert_eq!((dis.status, &*dis.stdout, &*dis.stderr), (0, TWICE, ""));
    // As text, mapped, and through a pipe, where there is nothing to map.
    let text = folder.run(&twice("twice.ptx"));
    assert_eq!(text.status, 0, "{}", text.stderr);
    assert_eq!(folder.run(&twice("twice.ptxb")).stdout, text.stdout);
    let piped =
        format!("cat twice.ptxb | {} {}", env!("CARGO_BIN_EXE_ptxrun"), twice("-").join(" "));
    let mut shell = std::process::Command::new("sh");
    let piped = Outcome::of(shell.args(["-c", &piped]).current_dir(&folder.0), "");
    assert_eq!((piped.status, &*piped.stdout), (0, &*text.stdout), "{}", piped.stderr);
    let check = folder.run(&["check", "twice.ptxb"]);
    assert_eq!((check.status, &*check.stdout), (0, "twice.ptxb: valid\n"));
    let list = folder.run(&["twice.ptxb"]);
    assert!(
        list.stdout.contains("ptxrun twice.ptxb") && list.stdout.contains("twice (line 4)"),
        "{}",
        list.stdout
    );
    // Once more from the container, and to another name.
    assert_eq!(folder.run(&["asm", "twice.ptxb", "-o", "again.ptxb"]).status, 0);
    let read = |name: &str| std::fs::read(folder.file(name)).unwrap();
    assert!(read("twice.ptxb") == read("again.ptxb"));
    assert_eq!(folder.run(&["dis", "again.ptxb", "-o", "out.ptx"]).status, 0);
    assert_eq!(read("out.ptx"), TWICE.as_bytes());
    let fmt = folder.run(&["fmt", "twice.ptxb"]);
    assert!(fmt.status == 2 && fmt.stderr.contains("ptxrun dis"), "{}", fmt.stderr);
}

#[test]
fn what_is_in_it() {
    let folder = Folder::new("ptxb-info");
    folder.write("twice.ptx", TWICE);
    let asm = folder.run(&["asm", "twice.ptx", "--code", "twice:4", "--code", "32", "--json"]);
    assert_eq!(asm.status, 0, "{}", asm.stdout);
    assert_eq!(asm.json()["file"], "twice.ptxb");
    let info = folder.run(&["dis", "twice.ptxb", "--info"]);
    for part in
        ["(this one)", "text ", "bodies", "code ", "kernels  twice", "PTX 8.0, sm_80, 64 bits"]
    {
        assert!(info.stdout.contains(part), "{part}: {}", info.stdout);
    }
    let json = folder.run(&["dis", "twice.ptxb", "--json", "--info"]).json();
    assert_eq!(json["module"]["kernels"][0], "twice");
    assert!(json["module"]["compiled"].as_u64().unwrap() >= 2, "{json}");
    assert_eq!(json["sections"][0]["bytes"], TWICE.len());
    assert!(json.get("text").is_none());
    assert_eq!(folder.run(&["dis", "twice.ptxb", "--json"]).json()["text"], TWICE);
    // Code that came along is not compiled again, and there is no other cache here.
    let mut line = twice("twice.ptxb");
    line.extend(["--backend", "jit", "-v"]);
    let run = |line: &[&str]| {
        let mut command = command(line);
        Outcome::of(command.current_dir(&folder.0).env("PTXRUN_CACHE_DIR", ""), "")
    };
    let ran = run(&line);
    assert!(ran.stderr.contains("from the cache"), "{}", ran.stderr);
    assert_eq!(ran.stdout, run(&twice("twice.ptx")).stdout);
    // What others may write to does not run.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(folder.file("twice.ptxb"), open).unwrap();
        let ran = run(&line);
        assert!(ran.stderr.contains("compiled in"), "{}", ran.stderr);
    }
    let wrong = folder.run(&["asm", "twice.ptx", "--code", "thrice:4", "-o", "no.ptxb"]);
    assert_eq!(
        (wrong.status, &*wrong.stderr),
        (1, "error: thrice is not compiled: there is no such kernel\n")
    );
    assert!(!Path::new(&folder.file("no.ptxb")).exists());
}

#[test]
fn altered_ones_are_refused_by_name_place_and_rule() {
    let folder = Folder::new("ptxb-altered");
    folder.write("twice.ptx", TWICE);
    assert_eq!(folder.run(&["asm", "twice.ptx"]).status, 0);
    let bytes = std::fs::read(folder.file("twice.ptxb")).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(folder.file("bad.ptxb"), bytes).unwrap();
        let run = folder.run(&twice("bad.ptxb"));
        assert_eq!((run.status, &*run.stdout), (1, ""));
        let check = folder.run(&["check", "bad.ptxb"]);
        assert_eq!((check.status, &*check.stdout), (1, "bad.ptxb: 1 error\n"));
        assert_eq!(check.stderr, run.stderr);
        run.stderr
    };
    let mut altered = bytes.clone();
    let at = altered.len() / 2;
    altered[at] ^= 4;
    assert_eq!(
        refused(&altered),
        "error: bad.ptxb: byte 32: its checksum is wrong: it was altered after it was assembled; assemble it again from its source\n"
    );
    let json = folder.run(&["check", "bad.ptxb", "--json"]).json();
    assert_eq!(json["files"][0]["diagnostics"][0]["code"], "container");
    let length = bytes.len();
    assert_eq!(
        refused(&bytes[..length - 1]),
        format!(
            "error: bad.ptxb: byte 16: it should have {length} bytes and has {}; copy it again, or assemble it again\n",
            length - 1
        )
    );
    let dis = folder.run(&["dis", "twice.ptx"]);
    assert_eq!(dis.status, 1);
    assert!(dis.stderr.contains("byte 0: this is no container of ptxrun"), "{}", dis.stderr);
}

/// The checksum is right, the contents are not: whatever comes of it, nobody hears of a panic.
#[test]
fn forged_ones_end_without_a_word_of_a_panic() {
    let folder = Folder::new("ptxb-forged");
    folder.write("twice.ptx", TWICE);
    assert_eq!(folder.run(&["asm", "twice.ptx"]).status, 0);
    let good = std::fs::read(folder.file("twice.ptxb")).unwrap();
    let mut refused = 0;
    for at in (0..good.len()).step_by(good.len() / 120) {
        let mut forged = good.clone();
        forged[at] ^= 0xff;
        ptx_runtime::parse::container::seal(&mut forged);
        std::fs::write(folder.file("forged.ptxb"), &forged).unwrap();
        for line in [&twice("forged.ptxb")[..], &["check", "forged.ptxb"]] {
            let mut run = command(line);
            run.current_dir(&folder.0).env("PTXRUN_TIMEOUT", "5").env("PTXRUN_MEMORY", "64M");
            let out = Outcome::of(&mut run, "");
            assert!(out.status <= 2, "byte {at}: {} {}", out.status, out.stderr);
            assert!(!out.stderr.contains("panicked"), "byte {at}: {}", out.stderr);
            refused += u32::from(out.status != 0);
        }
    }
    assert!(refused > 100, "{refused} were refused");
}

#[test]
fn opencl_c_is_assembled_too() {
    let folder = Folder::new("ptxb-cl");
    let output = folder.file("matmul.ptxb");
    let input = sample("matmul_tiled/matmul.cl");
    let asm = ptxrun(&["asm", &input, "-o", &output, "--build", "--target sm_80"]);
    assert_eq!(asm.status, 0, "{}", asm.stderr);
    let launch = sample("matmul_tiled/matmul.toml");
    let run = ptxrun(&[&output, "--launch", &launch]);
    assert_eq!(run.status, 0, "{}{}", run.stdout, run.stderr);
    assert!(ptxrun(&["dis", &output]).stdout.contains(".target sm_80"));
    // A GPU that the target is too new for.
    let old =
        ptxrun(&["asm", &input, "-o", &output, "--build", "--target sm_80", "--device", "GTX 280"]);
    assert_eq!(old.status, 1, "{}", old.stderr);
    let stdin = ptxrun(&["asm", "-"]);
    assert!(stdin.status == 2 && stdin.stderr.contains("-o"), "{}", stdin.stderr);
}
