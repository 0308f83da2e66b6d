//! Every instruction has a timing class that the device profiles know.

use ptx_isa::{Match, table};
use ptx_timing::Catalog;

#[test]
fn every_row_has_a_cost_on_9_0() {
    let h200 = Catalog::embedded().unwrap().get("H200").unwrap();
    for (row, notation) in table().rows() {
        let first = notation.elems.iter().map(|e| e.choices.first().copied()).collect();
        let class = Match::new(row, notation, first).class();
        assert!(h200.class.contains_key(&class), "{}: {}", row.syntax, class.name());
    }
}
