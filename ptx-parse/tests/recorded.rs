//! `ptx-isa/data/recorded.txt` says which rows the recordings cover; here it is made from them.
//!
//! `UPDATE_RECORDED=1 cargo test -p ptx-parse --test recorded` writes it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use golden::{Golden, kernels, packed};
use ptx_isa::recorded::{lines, names};
use ptx_parse::module::{Func, Module};

#[derive(Default)]
struct Seen {
    opcodes: BTreeSet<String>,
    kernels: BTreeSet<String>,
}

/// Row addresses and what was seen of each.
type Rows = HashMap<usize, Seen>;

fn module(text: &str, name: &str) -> Module {
    let (module, diags) = ptx_parse::parse_and_verify(text, name);
    let error = diags.iter().find(|d| d.is_error());
    assert!(error.is_none(), "{name}: {error:?}");
    module.unwrap_or_else(|| panic!("{name}: no module"))
}

/// Opcode text and row address of every instruction of a function.
fn instructions<'a>(
    module: &'a Module,
    function: &'a Func,
) -> impl Iterator<Item = (&'a str, usize)> {
    function.body.iter().flat_map(|b| &b.insts).map(|inst| {
        let text = &module.source[inst.span.start as usize..inst.span.end as usize];
        let text = match text.strip_prefix('@') {
            Some(guarded) => guarded.split_once(char::is_whitespace).map_or("", |(_, t)| t.trim()),
            None => text,
        };
        let opcode = text.split(|c: char| c.is_whitespace() || c == ';').next().unwrap_or("");
        let row = module.matches[inst.opcode as usize].row;
        (opcode, std::ptr::from_ref(row).addr())
    })
}

fn mnemonic(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or(opcode)
}

/// Of a form's kernel only the instructions that its description names count: the rest moves
/// operands.
fn add_forms(golden: &Golden, rows: &mut Rows) {
    let mut modules: BTreeMap<&str, Module> = BTreeMap::new();
    for form in golden.forms() {
        let name = form.info().module.as_str();
        let module = modules
            .entry(name)
            .or_insert_with(|| module(&golden.module_text(name).expect("module text"), name));
        let function = module.functions.iter().find(|f| f.name == form.name()).expect("kernel");
        let named: BTreeSet<&str> = form.inst().split_whitespace().map(mnemonic).collect();
        for (opcode, row) in instructions(module, function) {
            if named.contains(mnemonic(opcode)) {
                rows.entry(row).or_default().opcodes.insert(opcode.into());
            }
        }
    }
}

fn add_kernels(rows: &mut Rows) {
    let mut modules: BTreeMap<std::path::PathBuf, Module> = BTreeMap::new();
    for case in kernels::load(&packed("kernel-golden")).expect("recorded kernels") {
        let module = modules
            .entry(case.ptx.clone())
            .or_insert_with(|| module(&case.source, &case.ptx.display().to_string()));
        // Device functions stand for themselves: which of them a kernel calls may show at run time
        // only.
        for function in module.functions.iter().filter(|f| !f.entry || f.name == case.entry) {
            for (_, row) in instructions(module, function) {
                rows.entry(row).or_default().kernels.insert(case.id.clone());
            }
        }
    }
}

#[test]
fn the_list_of_recorded_rows_is_what_the_recordings_hold() {
    let mut rows = Rows::new();
    add_forms(&Golden::load(&packed("isa-golden")).expect("recorded forms"), &mut rows);
    add_forms(&Golden::embedded(), &mut rows);
    add_kernels(&mut rows);
    let mut text = String::from(
        "# recorded opcodes, recorded kernels, row; written by ptx-parse/tests/recorded.rs\n",
    );
    let mut count = 0;
    for (row, name) in names() {
        if let Some(seen) = rows.get(&std::ptr::from_ref(row).addr()) {
            count += 1;
            let _ = writeln!(text, "{} {} {name}", seen.opcodes.len(), seen.kernels.len());
        }
    }
    assert_eq!(count, rows.len());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx-isa/data/recorded.txt");
    if std::env::var_os("UPDATE_RECORDED").is_some() {
        std::fs::write(path, &text).expect("writable");
        return;
    }
    let kept = std::fs::read_to_string(path).expect("recorded.txt");
    for (kept, made) in kept.lines().zip(text.lines()) {
        assert_eq!(kept, made, "run it again with UPDATE_RECORDED=1");
    }
    assert_eq!(kept, text, "run it again with UPDATE_RECORDED=1");
    assert_eq!(lines().count(), count, "every line is readable");
}
