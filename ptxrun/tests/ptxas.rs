//! The assembler with NVIDIA's options: what it writes runs, what it says is what other programs look for.

mod common;

use std::process::Command;

use common::{Folder, TWICE};

/// `a * b + c`, whose product and sum the assembler fuses unless it is told not to.
const PRODUCT_AND_SUM: &str = "\
.version 8.0
.target sm_90a
.address_size 64
.shared .align 4 .b8 tile[64];
.visible .entry k(.param .u64 out, .param .f32 a, .param .f32 b, .param .f32 c)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<6>;
    ld.param.u64 %rd1, [out];
    ld.param.f32 %f1, [a];
    ld.param.f32 %f2, [b];
    ld.param.f32 %f3, [c];
    mul.f32 %f4, %f1, %f2;
    add.f32 %f5, %f4, %f3;
    st.shared.f32 [tile], %f5;
    bar.sync 2;
    st.global.f32 [%rd1], %f5;
    ret;
}
";

/// Runs what was assembled and prints the result: a is 1 + 2^-12, c is -(1 + 2^-11).
fn result(folder: &Folder, file: &str) -> String {
    let run = folder.run(&[
        "run",
        file,
        "--block",
        "1",
        "--arg",
        "f32[1]",
        "--arg",
        "f32:1.000244140625",
        "--arg",
        "f32:1.000244140625",
        "--arg",
        "f32:-1.00048828125",
        "--print",
        "0:b32",
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.stdout
}

#[test]
fn fusing_is_decided_by_the_assembler() {
    let folder = Folder::new("ptxas-fmad");
    folder.write("k.ptx", PRODUCT_AND_SUM);
    for (option, bits) in [("--fmad=true", "33800000"), ("--fmad=false", "00000000")] {
        let made = folder.run(&["ptxas", option, "--gpu-name=sm_90a", "k.ptx", "-o", "k.cubin"]);
        assert_eq!((made.status, &*made.stdout, &*made.stderr), (0, "", ""));
        assert!(
            result(&folder, "k.cubin").contains(bits),
            "{option}: {}",
            result(&folder, "k.cubin")
        );
    }
}

#[test]
fn verbose_lines_are_those_of_the_other_assembler() {
    let folder = Folder::new("ptxas-v");
    folder.write("k.ptx", PRODUCT_AND_SUM);
    let line =
        ["ptxas", "-lineinfo", "-v", "--regAllocOptLevel=2", "--gpu-name", "sm_90a", "k.ptx"];
    let made = folder.run(&line);
    assert_eq!((made.status, &*made.stdout), (0, ""), "{}", made.stderr);
    let lines: Vec<&str> = made.stderr.lines().collect();
    let timed = lines[5].strip_prefix("ptxas info    : Compile time = ").unwrap();
    assert!(timed.ends_with(" ms"), "{timed}");
    assert_eq!(
        lines[..4],
        [
            "ptxas info    : 0 bytes gmem",
            "ptxas info    : Compiling entry function 'k' for 'sm_90a'",
            "ptxas info    : Function properties for k",
            "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        ]
    );
    assert!(std::fs::metadata(folder.file("elf.o")).is_ok(), "the default name");
    let old = folder.run(&["ptxas", "-arch", "sm_90a", "-v", "-maxrregcount", "8", "k.ptx"]);
    assert!(old.stderr.contains("of 8 to lower bound of 24"), "{}", old.stderr);
    assert!(made.stderr.contains("registers, used 3 barriers, 64 bytes smem\n"), "{}", made.stderr);
}

#[test]
fn refusals_name_the_line_and_end_with_255() {
    let folder = Folder::new("ptxas-refused");
    folder.write("bad.ptx", &TWICE.replace("mul", "mull"));
    folder.write("arch.ptx", PRODUCT_AND_SUM);
    folder.write(
        "open.ptx",
        ".version 8.0\n.target sm_80\n.extern .func f;\n.visible .entry k() { call f; ret; }\n",
    );
    let refused = |line: &[&str], words: &[&str]| {
        let out = folder.run(line);
        assert_eq!(out.status, 255, "{line:?}: {}", out.stderr);
        for word in words {
            assert!(out.stderr.contains(word), "{line:?}: {}", out.stderr);
        }
    };
    refused(
        &["ptxas", "-arch=sm_80", "bad.ptx"],
        &["ptxas bad.ptx, line ", "; error   : ", "mull", "Ptx assembly aborted due to errors"],
    );
    refused(&["ptxas", "-arch=sm_100", "arch.ptx"], &["sm_90a", "--gpu-name=sm_90a"]);
    refused(
        &["ptxas", "-arch=sm_77", "arch.ptx"],
        &["Value 'sm_77' is not defined for option 'gpu-name'"],
    );
    refused(&["ptxas", "none.ptx"], &["Input file 'none.ptx' could not be opened"]);
    refused(&["ptxas", "--bogus", "arch.ptx"], &["Unknown option '-bogus'"]);
    refused(&["ptxas", "-arch=sm_80", "open.ptx"], &["`f` is called and defined nowhere"]);
    assert_eq!(folder.run(&["ptxas", "-c", "-arch=sm_80", "open.ptx"]).status, 0);
}

#[test]
fn the_name_of_the_command_decides() {
    let folder = Folder::new("ptxas-name");
    let name = folder.file("ptxas");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ptxrun"), &name).unwrap();
    let said = Command::new(&name).arg("--version").output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    // What Triton, XLA and CMake look for.
    assert!(said.contains("release 13.5, V13.5."), "{said}");
    let help = Command::new(&name).arg("--help").output().unwrap();
    assert!(String::from_utf8(help.stdout).unwrap().contains("--gpu-name, -arch VALUE"));
}

#[test]
fn two_texts_become_one() {
    let folder = Folder::new("ptxas-two");
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n";
    folder.write("a.ptx", &format!("{head}.visible .entry a() {{ ret; }}\n"));
    folder.write("b.ptx", &format!("{head}.visible .entry b() {{ ret; }}\n"));
    let made = folder.run(&["ptxas", "-arch=sm_80", "a.ptx", "b.ptx", "-v", "-o", "ab.cubin"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    assert_eq!(made.stderr.matches("Compiling entry function").count(), 2);
    let list = folder.run(&["ab.cubin"]);
    assert!(list.stdout.contains("a (line") && list.stdout.contains("b (line"), "{}", list.stdout);
}
