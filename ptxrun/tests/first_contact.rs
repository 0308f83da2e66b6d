//! What somebody meets who has just installed the command: every suggestion runs and shows something, and mistakes are
//! answered with what to write.

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, Outcome, TWICE, command, ptxrun, ptxrun_with};

/// The OpenCL C files of the samples.
fn sources() -> Vec<PathBuf> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    let mut all: Vec<PathBuf> = std::fs::read_dir(samples)
        .unwrap()
        .filter_map(|entry| std::fs::read_dir(entry.unwrap().path()).ok())
        .flatten()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "cl"))
        .collect();
    all.sort();
    assert!(all.len() >= 20);
    all
}

#[test]
fn every_command_that_is_suggested_runs_and_shows_something() {
    let mut wrong = Vec::new();
    let mut ran = 0;
    for file in sources() {
        let folder = file.parent().unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let listed = Outcome::of(command(&[name]).current_dir(folder), "");
        assert_eq!(listed.status, 0, "{}", listed.stderr);
        let suggested = listed.stdout.lines().filter_map(|l| l.trim().strip_prefix("ptxrun "));
        for line in suggested {
            let words: Vec<&str> = line.split(' ').collect();
            let out = Outcome::of(command(&words).current_dir(folder), "");
            ran += 1;
            let shown = out.stdout.lines().any(|line| {
                let values = line.split_once(": ").map_or("", |(_, values)| values);
                values.split(' ').any(|v| !["0", "-0", "0x00000000", ""].contains(&v))
            });
            // It clears what it is given: zeros are what there is to see.
            let clears = line.contains("--entry forget ");
            if out.status != 0 || !shown && !clears {
                wrong.push(format!("{name}: ptxrun {line}\n{}{}", out.stdout, out.stderr));
            }
        }
    }
    assert!(ran >= 20, "{ran}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn arguments_have_the_names_of_the_source() {
    let file = common::sample("vecadd/vecadd.cl");
    let listed = ptxrun(&[&file]).stdout;
    assert!(listed.contains("--arg f32[65536]:random:1"), "{listed}");
    assert!(listed.contains("    0  a  .u64 pointer to global"), "{listed}");
    let run = ["--grid", "1", "--block", "4", "--arg", "f32[4]:iota", "--arg", "f32[4]:fill:1"];
    let rest = ["--arg", "f32[4]", "--arg", "u32:4", "--print", "c:f32"];
    let out = ptxrun(&[&[&*file], &run[..], &rest].concat());
    assert_eq!((out.status, &*out.stdout), (0, "c: 1 2 3 4\n"), "{}", out.stderr);
}

#[test]
fn a_run_without_anything_to_show_says_what_it_did() {
    let line = ["-", "--grid", "2", "--block", "4", "--arg", "f32[8]:iota", "--arg", "f32:2"];
    let out = ptxrun_with(&line, TWICE);
    assert_eq!((out.status, &*out.stdout), (0, ""));
    assert_eq!(
        out.stderr,
        "twice ran to its end: 2 blocks of 4 threads\n  --print 0:f32:8 shows the first elements of a buffer\n"
    );
}

#[test]
fn a_forgotten_block_is_an_error_that_says_what_to_write() {
    let line = ["-", "--grid", "2", "--arg", "f32[8]:iota", "--arg", "f32:2"];
    let out = ptxrun_with(&line, TWICE);
    assert_eq!(out.status, 2);
    assert!(out.stderr.contains("say the threads per block with --block"), "{}", out.stderr);
}

#[test]
fn mistakes_are_named() {
    let typo = ptxrun(&["chekc"]);
    assert_eq!(typo.status, 2);
    assert!(typo.stderr.contains("did you mean the subcommand `check`?"), "{}", typo.stderr);
    let file = ptxrun(&["kernel.ptx"]);
    assert!(file.status == 2 && !file.stderr.contains("did you mean"), "{}", file.stderr);
    let device = ptxrun(&["env", "--device", "banana"]);
    assert_eq!(device.status, 2);
    assert!(device.stderr.contains("unknown device 'banana'"), "{}", device.stderr);
    let bits = Outcome::of(command(&["isa", "fma"]).env("PTXRUN_JIT_BITS", "banana"), "");
    assert_eq!(bits.status, 2);
    assert!(bits.stderr.contains("PTXRUN_JIT_BITS"), "{}", bits.stderr);
}

#[test]
fn wrong_keys_of_launch_files_are_named_with_what_is_meant() {
    let folder = Folder::new("keys");
    folder.write("bad.toml", "[[launch]]\nentry = \"x\"\ngird = 1\nblock = 1\nargs = []\n");
    let out = folder.run(&["bad.toml"]);
    assert_eq!(out.status, 2);
    assert!(out.stderr.contains("unknown field `gird`"), "{}", out.stderr);
    assert!(out.stderr.contains("bad.toml:3:1"), "{}", out.stderr);
}

#[test]
fn a_fault_in_opencl_c_shows_its_line_first() {
    let folder = Folder::new("line");
    folder.write("k.cl", "kernel void k(global int *x) {\n  x[get_global_id(0)] = 1;\n}\n");
    let out = folder.run(&["k.cl", "--block", "4", "--arg", "s32[2]"]);
    assert_eq!(out.status, 1);
    let place = out.stderr.lines().find(|l| l.contains("-->")).unwrap_or_default();
    assert!(place.starts_with("  --> k.cl:2:") && place.contains("(k.cl (as PTX):"), "{place}");
    assert!(out.stderr.contains("nearest allocation: x ("), "{}", out.stderr);
}
