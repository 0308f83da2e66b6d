//! `observe`: the examples, libraries of the first version of the interface, and those that are refused.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Folder, Outcome, command};
use golden::need::{Need, program};

const WALK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/debug/walk.ptx");
const LAUNCH: &[&str] = &["--entry", "walk", "--block", "8", "--arg", "buf:32"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn own(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugins").join(file)
}

/// What comes of the walk under the library that `source` makes with the header in `include`.
fn built_and_run(source: &Path, include: &Path, words: &[&str], set: &[(&str, &str)]) -> Outcome {
    let name = source.file_stem().unwrap().to_str().unwrap();
    let folder = Folder::new(&format!("observe-{name}-{}", words.concat()));
    let library = folder.file("plugin.so");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-I"]).arg(include).arg(source);
    assert!(cc.args(words).arg("-o").arg(&library).status().unwrap().success(), "{name}");
    let words = [&["observe", "--plugin", library.as_str(), WALK], LAUNCH].concat();
    let mut command = command(&words);
    command.envs(set.iter().copied());
    Outcome::of(&mut command, "")
}

/// What an example prints.
fn example(name: &str, set: &[(&str, &str)]) -> String {
    let source = root().join(format!("clients/observers/{name}.c"));
    let out = built_and_run(&source, &root().join("ptx-debug/include"), &[], set);
    assert_eq!(out.status, 0, "{name}: {}", out.stderr);
    out.stdout
}

/// An example: its name, the variables that it wants, and what shows that it has seen the walk.
type Example = (&'static str, &'static [(&'static str, &'static str)], fn(&str) -> bool);

const EXAMPLES: &[Example] = &[
    ("count", &[], |told| {
        told.starts_with("walk: 56 warp instructions, 308 thread instructions\n")
    }),
    ("histogram", &[], |told| {
        told.lines().any(|l| l.split_whitespace().eq(["bar.sync", "1", "warps", "8", "lanes"]))
    }),
    ("memory", &[], |told| told.lines().filter(|l| l.contains(" w 4 0x")).count() == 8),
    ("divergence", &[], |told| told.contains("lanes on average")),
    ("values", &[("PTXRUN_REGISTER", "%r3")], |told| told.starts_with("%r3: 0 to 7 in ")),
    ("reuse", &[], |told| told.starts_with("first touches: 1\n")),
];

fn every_example_sees_the_walk() {
    let mut names: Vec<String> = std::fs::read_dir(root().join("clients/observers"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    let mut known: Vec<&str> = EXAMPLES.iter().map(|e| e.0).collect();
    known.sort_unstable();
    assert_eq!(names, known, "the files of clients/observers");
    for (name, set, shows) in EXAMPLES {
        let told = example(name, set);
        assert!(shows(&told), "{name}: {told}");
    }
}

/// What a library that was written for the first version prints of the walk.
const EVERYTHING: &str = "start walk grid 1,1,1 block 8,1,1
line 43: st.global.f32 [%rd3], %f2; block 0,0,0 warp 0 lanes 0xff active 0xff
store of 4 bytes at line 43, block 0,0,0 warp 0: 0x20000000 to 0x2000001c
end: asked, 1 seen, 8 lanes store, sum of %r1 28
";

fn libraries_of_the_first_version_work() {
    let source = own("version1/everything.c");
    for words in [&[][..], &["-DRETURNS_ALWAYS"]] {
        let out = built_and_run(&source, &own("version1"), words, &[]);
        assert_eq!((out.status, out.stdout.as_str()), (0, EVERYTHING), "{words:?} {}", out.stderr);
    }
}

fn libraries_of_other_versions_are_refused_by_name() {
    let source = own("later.c");
    let include = root().join("ptx-debug/include");
    let refused = |words: &[&str], why: &str| {
        let out = built_and_run(&source, &include, words, &[]);
        assert_eq!((out.status, out.stdout.as_str()), (2, ""), "{}", out.stderr);
        assert!(out.stderr.contains("plugin.so: ") && out.stderr.contains(why), "{}", out.stderr);
    };
    refused(&[], "it has version 77, not 2 or 1");
    refused(&["-DSILENT"], "it knows neither version 2 of the interface nor version 1");
    refused(&["-Dptxrun_observer=other"], "it does not export `ptxrun_observer`");
    let out = Outcome::of(&mut command(&["observe", "--plugin", "nothing.so", WALK]), "");
    assert_eq!(out.status, 2);
    assert!(out.stderr.contains("nothing.so"), "{}", out.stderr);
}

fn fields_of_both_versions_lie_where_they_always_did() {
    for include in [own("version1"), root().join("ptx-debug/include")] {
        let mut cc = Command::new("cc");
        cc.args(["-Wall", "-Werror", "-fsyntax-only", "-I"]).arg(include).arg(own("layout.c"));
        assert!(cc.status().unwrap().success());
    }
}

fn compiler() -> Need {
    program(&["cc", "--version"])
}

golden::tests! {
    every_example_sees_the_walk: compiler(),
    libraries_of_the_first_version_work: compiler(),
    libraries_of_other_versions_are_refused_by_name: compiler(),
    fields_of_both_versions_lie_where_they_always_did: compiler(),
}
