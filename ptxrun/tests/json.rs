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
        "exact": 3, "recorded": 0, "manual": 1, "bounded": 0, "implementation": 0,
        "inexact": ["tcgen05.fence::before_thread_sync"],
        "executed": {"all": 4, "manual": 1, "bounded": 0, "implementation": 0},
        "branches": [],
    });
    assert_eq!(run["launches"][0]["fidelity"], expected, "{run:#}");
    let said = folder.run(&["k.ptx", "--block", "1", "-v"]);
    assert!(
        said.stderr.contains(
            "k: 4 instructions, 3 exact, 1 by the manual (tcgen05.fence::before_thread_sync); executed by lanes: 4, of \
             which 1 by the manual; no branch depends on them"
        ),
        "{}",
        said.stderr
    );
}

/// Bytes are compared by the manual; half of the lanes do it, in as many turns as a register says. The first branch
/// depends on the result, the second one by way of memory, the third one does not.
const BRANCHES: &str = r"
.version 9.2
.target sm_120f
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p<5>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 16;
    mov.u32 %r2, 0;
again:
    @%p1 max.u8x4 %r3, %r1, %r2;
    setp.eq.u32 %p2, %r3, 99;
    @%p2 bra end;
    st.global.u32 [%rd1], %r3;
    ld.global.u32 %r4, [%rd1];
    setp.eq.u32 %p3, %r4, 99;
    @%p3 bra end;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p4, %r2, 10;
    @%p4 bra again;
end:
    ret;
}
";

#[test]
fn a_run_says_which_branches_depend_on_what_is_not_exact() {
    let folder = Folder::new("json-branches");
    folder.write("k.ptx", BRANCHES);
    for (backend, all) in [("interp", Some(3360)), ("jit", None)] {
        let run = folder.run(&[
            "k.ptx",
            "--block",
            "32",
            "--arg",
            "u32[32]",
            "--json",
            "--backend",
            backend,
        ]);
        let fidelity = &run.json()["launches"][0]["fidelity"];
        assert_eq!(fidelity["inexact"], serde_json::json!(["max.u8x4"]), "{fidelity:#}");
        let expected =
            serde_json::json!({"all": all, "manual": 160, "bounded": 0, "implementation": 0});
        assert_eq!(fidelity["executed"], expected, "{backend}: {fidelity:#}");
        let branches = serde_json::json!([
            {"function": "k", "line": 17, "through_memory": false},
            {"function": "k", "line": 21, "through_memory": true},
        ]);
        assert_eq!(fidelity["branches"], branches, "{fidelity:#}");
        let run =
            folder.run(&["k.ptx", "--block", "32", "--arg", "u32[32]", "-v", "--backend", backend]);
        let said = "line 17 branches on what they give; line 21 may branch on it by way of memory";
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
}
