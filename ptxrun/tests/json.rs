//! docs/json.md is what the subcommands print under `--json`.

mod common;

use common::{Folder, TWICE};
use serde_json::Value;

/// What the page says of a subcommand: the words in backquotes of its row.
fn keys(subcommand: &str) -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/json.md");
    let page = std::fs::read_to_string(page).unwrap();
    let row = page
        .lines()
        .find(|line| {
            let mut cells = line.split('|').map(str::trim);
            cells.next() == Some("")
                && cells.next().is_some_and(|cell| cell.split(", ").any(|c| c == subcommand))
        })
        .unwrap_or_else(|| panic!("no row for {subcommand}"));
    let cell = row.split('|').nth(2).unwrap();
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn has(value: &Value, names: &[&str]) {
    for name in names {
        assert!(value.get(name).is_some(), "{name}: {value:#}");
    }
}

#[test]
fn every_object_has_a_version_and_the_keys_of_the_page() {
    let folder = Folder::new("json");
    folder.write("k.ptx", TWICE);
    folder.write("k.cl", "kernel void k(global int *x) { x[0] = 1; }");
    let launch = ["--block", "4", "--arg", "f32[4]:iota", "--arg", "f32:2", "--print", "0:f32"];
    let run = |words: &[&str]| folder.run(&[words, &["--json"]].concat()).json();
    let of = |subcommand: &str, words: &[&str], optional: &[&str]| {
        let value = run(words);
        assert_eq!(value["version"], 1, "{words:?}");
        for key in keys(subcommand).iter().filter(|key| !optional.contains(&key.as_str())) {
            let nested = ["files", "entries", "launches", "modules"];
            let found = value.get(key).is_some()
                || nested.iter().any(|n| value[n][0].get(key).is_some())
                || key == "version";
            assert!(found, "{subcommand}: {key}: {value:#}");
        }
        value
    };
    of("`check`", &["check", "k.ptx"], &["device"]);
    of("`run` without a launch", &["k.ptx"], &[]);
    of("`run`", &[&["k.ptx"], &launch[..]].concat(), &["modules"]);
    of("`profile`", &[&["profile", "k.ptx"], &launch[..]].concat(), &["refused"]);
    of("`fmt`", &["fmt", "k.ptx"], &[]);
    of("`cc`", &["cc", "k.cl"], &["file"]);
    of("`isa`", &["isa", "fma"], &[]);
    of("`devices` without a name", &["devices"], &[]);
    of("`asm`", &["asm", "k.ptx"], &[]);
    for words in [
        &["occupancy", "k.ptx", "--block", "64"][..],
        &["devices"],
        &["devices", "h200"],
        &["isa", "--coverage"],
        &["explain", "fma"],
        &["dis", "k.ptxb", "--info"],
        &["jit", "k.ptx"],
        &["cache"],
    ] {
        assert_eq!(run(words)["version"], 1, "{words:?}");
    }
}

#[test]
fn findings_and_faults_have_the_form_of_the_page() {
    let folder = Folder::new("json-findings");
    folder.write("k.ptx", TWICE);
    folder.write("k.cl", "kernel void k(global int *x) { x[0] = y; }");
    let found = folder.run(&["check", "k.cl", "--json"]).json();
    let finding = &found["files"][0]["diagnostics"][0];
    has(finding, &["file", "code", "severity", "message", "notes", "help", "start", "end"]);
    assert_eq!((&finding["file"], &finding["code"]), (&"k.cl".into(), &"undeclared".into()));
    assert_eq!(finding["start"], serde_json::json!({"line": 1, "column": 39}));
    let line = ["k.ptx", "--block", "4", "--arg", "f32[2]", "--arg", "f32:2", "--json"];
    let fault = folder.run(&line).json();
    assert_eq!((&fault["version"], &fault["error"]["kind"]), (&1.into(), &"fault".into()));
    let fault = &fault["error"]["fault"];
    let names = "kind kernel place block thread access registers calls warps";
    has(fault, &names.split(' ').collect::<Vec<_>>());
    has(&fault["place"], &["ptx", "source"]);
    has(&fault["access"], &["address", "bytes", "write", "nearest"]);
}

#[test]
fn a_run_says_what_is_known_of_its_results() {
    let folder = Folder::new("json-fidelity");
    let text = ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n    .reg .b32 %r<3>;\n    \
                mov.u32 %r1, 1;\n    add.u32 %r2, %r1, %r1;\n    tcgen05.fence::before_thread_sync;\n    ret;\n}\n";
    folder.write("k.ptx", text);
    let run = folder.run(&["k.ptx", "--block", "1", "--json"]).json();
    let expected = serde_json::json!({
        "exact": 3, "manual": 1, "bounded": 0, "implementation": 0,
        "inexact": ["tcgen05.fence::before_thread_sync"],
    });
    assert_eq!(run["launches"][0]["fidelity"], expected, "{run:#}");
    let said = folder.run(&["k.ptx", "--block", "1", "-v"]);
    assert!(
        said.stderr.contains(
            "k: 4 instructions, 3 exact, 1 by the manual (tcgen05.fence::before_thread_sync)"
        ),
        "{}",
        said.stderr
    );
}
