//! docs/departures.md says what the recordings hold.

use std::collections::BTreeMap;

use golden::{Golden, packed};

/// Rows of the document's tables, as cells.
fn table_rows() -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/departures.md");
    let text = std::fs::read_to_string(path).expect("docs/departures.md");
    let rows = text.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| ---"));
    rows.map(|l| l.trim_matches('|').split('|').map(|c| c.trim().to_string()).collect()).collect()
}

fn words(cell: &str) -> Vec<u64> {
    let word = |w| u64::from_str_radix(w, 16).unwrap_or_else(|e| panic!("{w}: {e}"));
    cell.split_whitespace().map(word).collect()
}

#[test]
fn every_example_of_a_departure_is_recorded() {
    let golden = Golden::load(&packed("isa-golden")).expect("recordings");
    let mut checked = 0;
    for cells in table_rows().iter().filter(|c| c.len() == 4 && c[0] != "form") {
        let form = golden.form(&cells[0]).unwrap_or_else(|| panic!("no form {}", cells[0]));
        let operands = words(&cells[1]);
        let kinds = form.info().ins.len();
        assert_eq!(operands.len(), kinds, "{cells:?}");
        let row = (0..form.rows())
            .find(|&r| form.row(r)[..kinds] == operands)
            .unwrap_or_else(|| panic!("not in the sample: {cells:?}"));
        let outs = form.info().outs.iter().enumerate().filter(|(_, k)| *k != "-");
        let recorded: Vec<u64> = outs.map(|(slot, _)| form.output(slot, row)).collect();
        assert_eq!(recorded, words(&cells[2]), "{cells:?}");
        if !matches!(&*cells[3], "open" | "NaN") {
            assert_ne!(recorded, words(&cells[3]), "no departure: {cells:?}");
        }
        checked += 1;
    }
    assert!(checked >= 20, "{checked} examples");
}

#[test]
fn departing_forms_are_counted() {
    let golden = Golden::load(&packed("isa-golden")).expect("recordings");
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let mut others = Vec::new();
    for form in golden.forms() {
        let departs = form.info().page.as_deref() == Some("differs");
        if form.group() == "video" {
            let name = form.inst().split('.').next().unwrap_or("");
            let count = counts.entry(name).or_default();
            count.0 += u32::from(departs);
            count.1 += 1;
        } else if departs {
            others.push(form.name());
        }
    }
    let mut listed = BTreeMap::new();
    let rows = table_rows();
    for cells in rows.iter().filter(|c| c.len() == 3 && c[0] != "instruction") {
        let number = |c: &String| c.parse().unwrap_or_else(|e| panic!("{c}: {e}"));
        listed.insert(&*cells[0], (number(&cells[1]), number(&cells[2])));
    }
    assert_eq!(listed, counts);
    assert_eq!(
        others,
        [
            "cvt_rm_ftz_f16_f32",
            "cvt_rp_ftz_f16_f32",
            "cvt_rp_ftz_sat_f16_f32",
            "cvt_rna_tf32_f32",
            "cvt_rna_satfinite_tf32_f32"
        ],
        "departures that the document does not name"
    );
}
