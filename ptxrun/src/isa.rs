//! `ptxrun isa` and `ptxrun explain`: what the instruction table knows.

use std::collections::BTreeMap;
use std::fmt::Write;

use ptx_runtime::isa::row::{Exactness, Row, Sem};
use ptx_runtime::isa::syntax::Shape;
use ptx_runtime::isa::table::{Match, NoMatch, table};
use serde_json::{Value, json};

/// The exactness of a row in words.
fn exactness(row: &Row) -> String {
    match (row.sem, row.exact) {
        (Sem::None, _) => "verified only".into(),
        (_, Exactness::Bit) => "exact".into(),
        (_, Exactness::Recorded(unit)) => format!("exact ({unit})"),
        (_, Exactness::Ulp(ulp)) => format!("{ulp} ulp"),
        (_, Exactness::Implementation) => "implementation".into(),
    }
}

/// The least target in the notation of `.target`, or the list of targets that have it.
fn target(row: &Row) -> String {
    match (row.targets, row.sm) {
        ("", 0) => "any".into(),
        ("", sm) => format!("sm_{sm}"),
        (targets, _) => targets.into(),
    }
}

fn matches(row: &Row, filter: Option<&str>) -> bool {
    filter.is_none_or(|text| row.syntax.contains(text))
}

/// Every combination of modifiers that the row's own rule allows.
fn forms(row: &'static Row, shape: &'static Shape) -> u64 {
    let Some(check) = row.check else {
        return shape
            .elems
            .iter()
            .map(|e| e.choices.len() as u64 + u64::from(e.optional))
            .product();
    };
    let mut count = 0;
    let mut form = Match { row, shape, picked: vec![None; shape.elems.len()] };
    fn each(form: &mut Match, position: usize, visit: &mut dyn FnMut(&Match)) {
        let shape = form.shape;
        let Some(elem) = shape.elems.get(position) else { return visit(form) };
        let absent = elem.optional.then_some(None);
        for choice in absent.into_iter().chain(elem.choices.iter().copied().map(Some)) {
            form.picked[position] = choice;
            each(form, position + 1, visit);
        }
    }
    each(&mut form, 0, &mut |form| count += u64::from(check(form).is_ok()));
    count
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
        .map(|(row, shape)| {
            let floors: Vec<Value> = row
                .floors
                .iter()
                .map(|f| json!({"modifiers": f.tokens, "ptx": f.since.to_string(), "sm": f.sm, "targets": f.targets}))
                .collect();
            json!({
                "mnemonic": shape.mnemonic,
                "syntax": row.syntax,
                "sets": row.sets.iter().map(|(name, set)| (name.to_string(), json!(set))).collect::<serde_json::Map<_, _>>(),
                "ptx": row.since.to_string(),
                "target": target(row),
                "floors": floors,
                "section": row.section,
                "class": format!("{:?}", row.class),
                "implemented": !matches!(row.sem, Sem::None),
                "exactness": exactness(row),
            })
        })
        .collect();
    json!({ "instructions": rows })
}

/// Counts of rows and forms, by what proves their results.
#[derive(Default)]
struct Coverage {
    rows: u64,
    forms: u64,
}

fn coverage_by(filter: Option<&str>) -> BTreeMap<&'static str, Coverage> {
    let mut counts: BTreeMap<&'static str, Coverage> = BTreeMap::new();
    for (row, shape) in table().rows().filter(|(row, _)| matches(row, filter)) {
        let key = match (row.sem, row.exact) {
            (Sem::None, _) => "parsed and verified only",
            (_, Exactness::Bit) => "bit for bit, by the manual and IEEE 754",
            (_, Exactness::Recorded(_)) => "bit for bit, as recorded from hardware",
            (_, Exactness::Ulp(_)) => "within a stated error",
            (_, Exactness::Implementation) => "up to the implementation",
        };
        let entry = counts.entry(key).or_default();
        entry.rows += 1;
        entry.forms += forms(row, shape);
    }
    counts
}

/// `ptxrun isa --coverage` as text.
pub fn coverage(filter: Option<&str>) -> String {
    let counts = coverage_by(filter);
    let (rows, forms) = counts.values().fold((0, 0), |(r, f), c| (r + c.rows, f + c.forms));
    let mut out = format!("{:42} {:>6} {:>9}\n", "results", "rows", "forms");
    for (name, count) in &counts {
        let _ = writeln!(out, "{name:42} {:6} {:9}", count.rows, count.forms);
    }
    let _ = writeln!(out, "{:42} {rows:6} {forms:9}", "total");
    out
}

/// `ptxrun isa --coverage` as JSON.
pub fn coverage_json(filter: Option<&str>) -> Value {
    let counts = coverage_by(filter);
    let groups: serde_json::Map<String, Value> = counts
        .iter()
        .map(|(name, c)| (name.to_string(), json!({"rows": c.rows, "forms": c.forms})))
        .collect();
    json!({ "coverage": groups })
}

/// Why an instruction cannot be explained: the message for the user.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Unknown(pub String);

/// The rows for an instruction; with modifiers only those that they fit.
fn rows_for(instruction: &str) -> Result<Vec<(&'static Row, &'static Shape)>, Unknown> {
    if !instruction.contains('.') {
        let rows: Vec<_> =
            table().rows().filter(|(_, shape)| shape.mnemonic == instruction).collect();
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
    match table().find(instruction) {
        Ok(found) => Ok(found.into_iter().map(|m| (m.row, m.shape)).collect()),
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

/// `ptxrun explain` as text.
pub fn explain(instruction: &str) -> Result<String, Unknown> {
    let mut out = String::new();
    for (row, shape) in rows_for(instruction)? {
        if !out.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "{}", row.syntax);
        for elem in &shape.elems {
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
        let _ = writeln!(out, "    forms       {}", forms(row, shape));
        let _ = writeln!(out, "    timing      {:?}", row.class);
        let _ = writeln!(out, "    manual      PTX ISA, section {}", row.section);
    }
    Ok(out)
}

/// `ptxrun explain` as JSON: the entries of `ptxrun isa --json` for this instruction.
pub fn explain_json(instruction: &str) -> Result<Value, Unknown> {
    let rows = rows_for(instruction)?;
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
        let rows: u64 = coverage_by(None).values().map(|c| c.rows).sum();
        assert_eq!(rows, table().rows().count() as u64);
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
}
