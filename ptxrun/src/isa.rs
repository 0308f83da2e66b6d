//! `ptxrun isa` and `ptxrun explain`: what the instruction table knows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use ptx_runtime::isa::Class;
use ptx_runtime::isa::directives;
use ptx_runtime::isa::recorded::recorded;
use ptx_runtime::isa::row::{Exactness, Operation, Row, Sem};
use ptx_runtime::isa::special::Sreg;
use ptx_runtime::isa::syntax::Notation;
use ptx_runtime::isa::table::{Match, NoMatch, table};
use serde_json::{Value, json};

/// The exactness of a row in words.
fn exactness(row: &Row) -> String {
    match (row.sem, row.exact) {
        (Sem::None, _) => "verified only".into(),
        (_, Exactness::Bit) => "exact".into(),
        (_, Exactness::Recorded(unit)) => format!("exact ({unit})"),
        (_, Exactness::Manual) => "by the manual, not recorded".into(),
        (_, Exactness::Ulp(ulp)) => format!("{ulp} ulp"),
        (_, Exactness::Implementation) => "implementation".into(),
    }
}

/// The least target in the notation of `.target`, or the list of targets that have it.
fn target(row: &Row) -> String {
    match row.targets {
        "" => target_name(row.sm),
        targets => targets.into(),
    }
}

/// A least target in the notation of `.target`.
fn target_name(sm: u16) -> String {
    if sm == 0 { "any".into() } else { format!("sm_{sm}") }
}

fn matches(row: &Row, filter: Option<&str>) -> bool {
    filter.is_none_or(|text| row.syntax.contains(text))
}

/// The number of combinations of modifiers that the row's own rule allows.
fn forms(row: &'static Row, notation: &'static Notation) -> u64 {
    if row.check.is_none() {
        let choices = notation.elems.iter().map(|e| e.choices.len() as u64 + u64::from(e.optional));
        return choices.product();
    }
    let mut count = 0;
    each_form(row, notation, &mut |_| count += 1);
    count
}

/// Visits every combination of modifiers that the row's own rule allows.
fn each_form(row: &'static Row, notation: &'static Notation, visit: &mut dyn FnMut(&Match)) {
    fn each(form: &mut Match, position: usize, visit: &mut dyn FnMut(&Match)) {
        let notation = form.notation;
        let Some(elem) = notation.elems.get(position) else { return visit(form) };
        let absent = elem.optional.then_some(None);
        for choice in absent.into_iter().chain(elem.choices.iter().copied().map(Some)) {
            form.choose(position, choice);
            each(form, position + 1, visit);
        }
    }
    let mut form = Match::new(row, notation, vec![None; notation.elems.len()].into());
    each(&mut form, 0, &mut |form| {
        if row.check.is_none_or(|check| check(form).is_ok()) {
            visit(form);
        }
    });
}

/// The timing classes of a row's forms, each with an example where they differ.
fn classes(row: &'static Row, notation: &'static Notation) -> Vec<(Class, String)> {
    let mut found: Vec<(Class, String)> = Vec::new();
    each_form(row, notation, &mut |form| {
        let class = form.class();
        if !found.iter().any(|(c, _)| *c == class) {
            found.push((class, form.opcode()));
        }
    });
    found
}

/// The timing of a row in words. An operand may matter as well: a special register has its own class.
fn timing(row: &'static Row, notation: &'static Notation) -> String {
    let classes = classes(row, notation);
    let one = classes.len() == 1;
    let mut words: Vec<String> = Vec::new();
    for (class, example) in &classes {
        words.push(if one { class.name().into() } else { format!("{} ({example})", class.name()) });
        let special = class.of_special();
        if special != *class && row.op == Operation::Move {
            words.push(format!("{} where it reads a special register", special.name()));
        }
    }
    words.join(", ")
}

/// The table of `ptxrun isa` as text.
pub fn list(filter: Option<&str>) -> String {
    let rows: Vec<_> = table().rows().filter(|(row, _)| matches(row, filter)).collect();
    let width = rows.iter().map(|(row, _)| row.syntax.len()).max().unwrap_or(0).clamp(11, 60);
    let mut out = format!("{:width$}  PTX  target   result\n", "instruction");
    for (row, _) in rows {
        let since = row.since.to_string();
        let _ =
            writeln!(out, "{:width$}  {since:4} {:8} {}", row.syntax, target(row), exactness(row));
    }
    out
}

/// The table of `ptxrun isa` as JSON.
pub fn list_json(filter: Option<&str>) -> Value {
    let rows = table().rows().filter(|(row, _)| matches(row, filter));
    let rows: Vec<Value> = rows
        .map(|(row, notation)| {
            let floors: Vec<Value> = row
                .floors
                .iter()
                .map(|f| json!({"modifiers": f.tokens, "ptx": f.since.to_string(), "sm": f.sm, "targets": f.targets}))
                .collect();
            let ended: Vec<Value> = row
                .ended
                .iter()
                .map(|(token, last)| json!({"modifier": token, "ptx": last.to_string()}))
                .collect();
            json!({
                "mnemonic": notation.mnemonic,
                "syntax": row.syntax,
                "does": row.does,
                "sets": row.sets.iter().map(|(name, set)| (name.to_string(), json!(set))).collect::<serde_json::Map<_, _>>(),
                "ptx": row.since.to_string(),
                "target": target(row),
                "floors": floors,
                "ended": ended,
                "section": row.section,
                "class": classes(row, notation).iter().map(|(c, _)| c.name()).collect::<Vec<_>>(),
                "reach": row.reach.name(),
                "waits": row.waits,
                "implemented": !matches!(row.sem, Sem::None),
                "exactness": exactness(row),
            })
        })
        .collect();
    json!({ "instructions": rows })
}

/// Counts of rows and forms of a section, or of everything with one kind of proof.
#[derive(Default)]
struct Coverage {
    mnemonics: BTreeSet<&'static str>,
    rows: u64,
    forms: u64,
    exactness: BTreeSet<String>,
    /// Rows with a recording of single instructions or whole kernels.
    recorded_rows: u64,
    /// Opcodes recorded by themselves.
    recorded_forms: u64,
    /// Rows whose only recordings are whole kernels.
    kernels_only: u64,
}

impl Coverage {
    fn add(&mut self, row: &'static Row, notation: &'static Notation) {
        let seen = recorded(row);
        self.mnemonics.insert(notation.mnemonic);
        self.rows += 1;
        self.forms += forms(row, notation);
        self.exactness.insert(exactness(row));
        self.recorded_rows += u64::from(seen.any());
        self.recorded_forms += u64::from(seen.forms);
        self.kernels_only += u64::from(seen.any() && seen.forms == 0);
    }

    fn json(&self) -> Value {
        json!({
            "instructions": self.mnemonics,
            "rows": self.rows,
            "forms": self.forms,
            "exactness": self.exactness,
            "recorded_rows": self.recorded_rows,
            "recorded_in_kernels_only": self.kernels_only,
            "recorded_forms": self.recorded_forms,
        })
    }

    fn line(&self) -> String {
        format!(
            "{:5} {:8} {:9} {:9}",
            self.rows, self.forms, self.recorded_rows, self.recorded_forms
        )
    }
}

/// The numbers of a section, which sort as the manual has them.
type Section = Vec<u32>;

fn coverage_by<K: Ord>(
    filter: Option<&str>,
    key: impl Fn(&'static Row) -> K,
) -> BTreeMap<K, Coverage> {
    let mut counts: BTreeMap<K, Coverage> = BTreeMap::new();
    for (row, notation) in table().rows().filter(|(row, _)| matches(row, filter)) {
        counts.entry(key(row)).or_default().add(row, notation);
    }
    counts
}

fn by_section(filter: Option<&str>) -> BTreeMap<Section, Coverage> {
    coverage_by(filter, |row| row.section.split('.').map(|n| n.parse().unwrap_or(0)).collect())
}

fn section_text(section: &Section) -> String {
    section.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

fn by_proof(filter: Option<&str>) -> BTreeMap<&'static str, Coverage> {
    coverage_by(filter, |row| match (row.sem, row.exact) {
        (Sem::None, _) => "parsed and verified only",
        (_, Exactness::Bit) => "bit for bit, by the manual and IEEE 754",
        (_, Exactness::Recorded(_)) => "bit for bit, as recorded from hardware",
        (_, Exactness::Manual) => "by the manual, not recorded",
        (_, Exactness::Ulp(_)) => "within a stated error",
        (_, Exactness::Implementation) => "up to the implementation",
    })
}

/// `ptxrun isa --coverage` as text: a line per section of the manual, then sums.
pub fn coverage(filter: Option<&str>) -> String {
    let mut out = format!(
        "{:15} {:42} {:>5} {:>8} {:>9} {:>9}  result\n",
        "section", "instructions", "rows", "forms", "rows rec.", "forms rec."
    );
    let mut all = Coverage::default();
    for (section, c) in &by_section(filter) {
        let mut names = c.mnemonics.iter().copied().collect::<Vec<_>>().join(" ");
        if names.len() > 42 {
            names.truncate(names[..40].rfind(' ').unwrap_or(40));
            names.push_str(" …");
        }
        let result = c.exactness.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "{:15} {names:42} {}  {result}", section_text(section), c.line());
        all.rows += c.rows;
        all.forms += c.forms;
        all.recorded_rows += c.recorded_rows;
        all.recorded_forms += c.recorded_forms;
        all.kernels_only += c.kernels_only;
    }
    out.push('\n');
    for (name, c) in &by_proof(filter) {
        let _ = writeln!(out, "{name:58} {}", c.line());
    }
    let _ = writeln!(out, "{:58} {}", "total", all.line());
    let _ = writeln!(
        out,
        "rec.: recorded from an NVIDIA H200; {} of the recorded rows in whole kernels only",
        all.kernels_only
    );
    out
}

/// `ptxrun isa --coverage` as JSON.
pub fn coverage_json(filter: Option<&str>) -> Value {
    let sections: Vec<Value> = by_section(filter)
        .iter()
        .map(|(section, c)| {
            let mut entry = c.json();
            entry["section"] = section_text(section).into();
            entry
        })
        .collect();
    let groups: serde_json::Map<String, Value> =
        by_proof(filter).iter().map(|(name, c)| (name.to_string(), c.json())).collect();
    json!({ "coverage": groups, "sections": sections })
}

/// Why an instruction cannot be explained: the message for the user.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Unknown(pub String);

/// The rows for an instruction; with modifiers only those that they fit.
fn rows_for(instruction: &str) -> Result<Vec<(&'static Row, &'static Notation)>, Unknown> {
    if !instruction.contains('.') {
        let rows: Vec<_> =
            table().rows().filter(|(_, notation)| notation.mnemonic == instruction).collect();
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
    match table().find(instruction) {
        Ok(found) => Ok(found.into_iter().map(|m| (m.row, m.notation)).collect()),
        Err(NoMatch::Mnemonic(near)) if near.is_empty() => {
            Err(Unknown(format!("no instruction is named `{instruction}`")))
        }
        Err(NoMatch::Mnemonic(near)) => Err(Unknown(format!(
            "no instruction is named `{}`; did you mean {}?",
            instruction.split('.').next().unwrap_or(""),
            near.join(", ")
        ))),
        Err(NoMatch::Modifier { index, allowed }) => Err(Unknown(format!(
            "`.{}` does not fit there; legal {}",
            instruction.split('.').nth(index + 1).unwrap_or(""),
            list_of(&allowed)
        ))),
        Err(NoMatch::Missing { allowed, .. }) => Err(Unknown(format!(
            "`{instruction}` needs one more modifier; legal {}",
            list_of(&allowed)
        ))),
    }
}

fn list_of(tokens: &[&str]) -> String {
    match tokens {
        [] => "here is none".into(),
        [one] => format!("is {one}"),
        many => format!("are {}", many.join(" ")),
    }
}

/// `ptxrun explain` as text: an instruction, a family such as `mma.sync`, a special register, a directive or a state
/// space.
pub fn explain(word: &str) -> Result<String, Unknown> {
    let mut out = String::new();
    if word.starts_with('%') {
        let registers = registers(word)?;
        for r in registers {
            let floor = target_name(r.sm());
            let _ = writeln!(out, "{:28} {:4} PTX {}, {floor}", r.name(), r.ty(), r.since());
            let _ = writeln!(out, "    {}", r.does());
        }
        return Ok(out);
    }
    if let Some(directive) = directives::find(word) {
        let _ = writeln!(out, "{}\n    {}", directive.name, directive.does);
        let _ = writeln!(out, "    manual      PTX ISA, section {}", directive.section);
        return Ok(out);
    }
    if word.starts_with('.') {
        return Err(Unknown(format!("no directive or state space is named `{word}`")));
    }
    if table().find(word).is_err() && word.contains('.') {
        let family = table().family(word);
        if !family.is_empty() {
            return Ok(overview(word, &family));
        }
    }
    for (row, notation) in rows_for(word)? {
        if !out.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "{}\n    {}", row.syntax, row.does);
        for elem in &notation.elems {
            if elem.choices.len() > 1 {
                let _ = writeln!(out, "    .{:10} {}", elem.name, elem.choices.join(" "));
            }
        }
        let _ = writeln!(
            out,
            "    since       PTX {}, {}",
            row.since,
            match target(row).as_str() {
                "any" => "every target".into(),
                target => target.to_owned(),
            }
        );
        for floor in row.floors {
            let mut parts = vec![format!("PTX {}", floor.since)];
            if floor.sm > 0 && floor.targets.is_empty() {
                parts.push(format!("sm_{}", floor.sm));
            }
            if !floor.targets.is_empty() {
                parts.push(floor.targets.into());
            }
            let _ = writeln!(out, "                {} from {}", floor.tokens, parts.join(", "));
        }
        let _ = writeln!(out, "    result      {}", exactness(row));
        let _ = writeln!(out, "    forms       {}", forms(row, notation));
        let _ = writeln!(out, "    timing      {}", timing(row, notation));
        let waits = if row.waits { ", may wait for other warps" } else { "" };
        let _ = writeln!(out, "    reach       {}{waits}", row.reach.name());
        let _ = writeln!(out, "    manual      PTX ISA, section {}", row.section);
    }
    Ok(out)
}

/// The special registers of a name, with or without their component.
fn registers(name: &str) -> Result<Vec<Sreg>, Unknown> {
    let fits = |r: &Sreg| r.name().split('.').next() == Some(name) || r.name() == name;
    let found: Vec<Sreg> = Sreg::ALL.iter().copied().filter(fits).collect();
    if found.is_empty() {
        return Err(Unknown(format!("no special register is named `{name}`")));
    }
    Ok(found)
}

/// What the rows of a family do, and their syntax.
fn overview(word: &str, rows: &[(&'static Row, &'static Notation)]) -> String {
    let forms: u64 = rows.iter().map(|(row, notation)| forms(row, notation)).sum();
    let mut out = format!("`{word}` begins {} instructions with {forms} forms.\n", rows.len());
    let mut sentences: Vec<&str> = rows.iter().map(|(row, _)| row.does).collect();
    sentences.dedup();
    let mut shown = Vec::new();
    for sentence in sentences {
        if shown.contains(&sentence) {
            continue;
        }
        shown.push(sentence);
        let _ = writeln!(out, "\n{sentence}");
        for (row, _) in rows.iter().filter(|(row, _)| row.does == sentence) {
            let _ = writeln!(out, "    {}\n        PTX {}, {}", row.syntax, row.since, target(row));
        }
    }
    out
}

/// `ptxrun explain` as JSON: the entries of `ptxrun isa --json` for this instruction or family, or the special
/// registers, directives and state spaces of that name.
pub fn explain_json(instruction: &str) -> Result<Value, Unknown> {
    if instruction.starts_with('%') {
        let entry = |r: Sreg| {
            json!({
                "name": r.name(),
                "does": r.does(),
                "type": r.ty().to_string(),
                "ptx": r.since().to_string(),
                "target": target_name(r.sm()),
            })
        };
        let found: Vec<Value> = registers(instruction)?.into_iter().map(entry).collect();
        return Ok(json!({ "special_registers": found }));
    }
    if let Some(d) = directives::find(instruction) {
        let entry = json!({ "name": d.name, "does": d.does, "section": d.section });
        return Ok(json!({ "directives": [entry] }));
    }
    let rows = match table().family(instruction) {
        family if family.is_empty() || table().find(instruction).is_ok() => rows_for(instruction)?,
        family => family,
    };
    let syntaxes: Vec<&str> = rows.iter().map(|(row, _)| row.syntax).collect();
    let mut all = list_json(None);
    if let Some(list) = all["instructions"].as_array_mut() {
        list.retain(|entry| syntaxes.iter().any(|s| entry["syntax"] == *s));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_a_line_per_row() {
        assert_eq!(list(None).lines().count(), table().rows().count() + 1);
        assert_eq!(
            list_json(None)["instructions"].as_array().unwrap().len(),
            table().rows().count()
        );
        assert_eq!(list(Some("no such text")).lines().count(), 1);
    }

    #[test]
    fn coverage_counts_every_row_once() {
        let rows = table().rows().count() as u64;
        assert_eq!(by_proof(None).values().map(|c| c.rows).sum::<u64>(), rows);
        assert_eq!(by_section(None).values().map(|c| c.rows).sum::<u64>(), rows);
        for (section, c) in by_section(None) {
            assert!(c.recorded_rows <= c.rows && c.recorded_forms <= c.forms, "{section:?}");
        }
        let add = coverage_json(Some("add.type d, a, b"));
        assert!(add["sections"][0]["recorded_forms"].as_u64() > Some(0), "{add}");
    }

    #[test]
    fn explain_knows_every_mnemonic_and_suggests_near_ones() {
        for mnemonic in table().mnemonics() {
            assert!(explain(mnemonic).unwrap().contains("manual"), "{mnemonic}");
        }
        assert!(explain("ldd").unwrap_err().0.contains("did you mean"));
        assert!(explain("ld.f99").unwrap_err().0.contains("`.f99` does not fit"));
        assert!(explain_json("ld").unwrap()["instructions"][0]["mnemonic"] == "ld");
    }

    #[test]
    fn explain_says_what_the_model_charges() {
        assert!(explain("popc").unwrap().contains("timing      bit-count\n"));
        assert!(explain("shl").unwrap().contains("shift (shl.b16), shift64 (shl.b64)"));
        assert!(explain("mov.u32").unwrap().contains("special-register"));
        assert!(explain("bar.sync").unwrap().contains("reach       block, may wait"));
    }

    #[test]
    fn explain_knows_families_and_words_of_the_language() {
        let family = explain("mma.sync").unwrap();
        assert!(family.contains("begins 18 instructions"), "{family}");
        assert!(explain("cp.async").unwrap().contains("Waits until copies"));
        assert!(explain_json("cp.async").unwrap()["instructions"].as_array().unwrap().len() > 30);
        for register in ptx_runtime::isa::special::Sreg::ALL {
            assert!(explain(register.name()).unwrap().contains(register.does()));
        }
        assert_eq!(explain("%tid").unwrap().lines().count(), 8);
        assert!(explain("%nothing").is_err() && explain(".nothing").is_err());
        // Every word that the lexer takes for a directive.
        let lexer = include_str!("../../ptx-parse/src/lexer.rs");
        let mut words = lexer.split("#[token(\".").skip(1).map(|t| &t[..t.find('"').unwrap()]);
        assert!(words.clone().count() > 30);
        assert!(words.all(|w| explain(&format!(".{w}")).unwrap().ends_with('\n')));
    }
}
