//! Every recorded matrix and asynchronous instruction finds its row, and the refused ones do not.

use golden::Golden;
use ptx_isa::table;

const MNEMONICS: &[&str] = &[
    "mma",
    "wmma",
    "wgmma",
    "ldmatrix",
    "stmatrix",
    "movmatrix",
    "cp",
    "mbarrier",
    "fence",
    "mapa",
    "getctarank",
    "elect",
];

/// Opcodes of these families in a module.
fn opcodes(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|l| l.trim().trim_start_matches(['@', '!', '%']))
        .filter_map(|l| {
            l.split_whitespace().find(|w| {
                MNEMONICS.iter().any(|m| w.strip_prefix(m).is_some_and(|r| r.starts_with('.')))
            })
        })
        .map(|w| w.trim_end_matches(';'))
}

/// Whether some row takes the opcode with its checks.
fn accepted(opcode: &str) -> bool {
    table()
        .find(opcode)
        .is_ok_and(|found| found.iter().any(|m| m.row.check.is_none_or(|check| check(m).is_ok())))
}

#[test]
fn recorded_opcodes_find_their_rows() {
    let golden = Golden::shared().expect("the repository holds recordings");
    let mut missing = Vec::new();
    let mut passed = 0;
    for module in ["mma", "mma_v90", "wmma", "wgmma", "wgmma_v90", "matrix_move", "async"] {
        let text = golden.module_text(module).expect("module");
        for opcode in opcodes(&text) {
            if accepted(opcode) {
                passed += 1;
            } else if !missing.contains(&opcode.to_string()) {
                missing.push(opcode.to_string());
            }
        }
    }
    println!("opcodes: {passed} passed, {} failed", missing.len());
    assert!(passed > 300 && missing.is_empty(), "no row for {missing:#?}");
}

#[test]
fn refused_types_find_no_row() {
    let golden = Golden::shared().expect("the repository holds recordings");
    for form in golden.rejected().expect("rejected forms") {
        if form.group == "mma" {
            assert!(!accepted(&form.inst), "{} is refused by ptxas", form.inst);
        }
    }
}
