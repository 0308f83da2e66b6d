//! The recordings are readable and have the documented size.

use golden::{Golden, packed};

fn known_rows_of_the_recordings() {
    known_rows(&Golden::shared().expect("the repository holds recordings"));
    known_rows(&Golden::load(&packed("isa-golden")).expect("the sample"));
}

/// Every row of the sample is one of the full recordings, in whole warps where lanes see each other.
fn the_sample_is_part_of_the_whole() {
    let root = golden::need::shared_path("isa-golden");
    let all = Golden::load(&root).expect("the full recordings");
    let sample = Golden::load(&packed("isa-golden")).expect("the sample");
    for form in sample.forms().step_by(7) {
        let full = all.form(form.name()).expect("the same forms");
        let outs = form.info().outs.len();
        let line = |f: &golden::Form, r: usize| -> Vec<u64> {
            let results = (0..outs).map(|o| f.output(o, r)).collect::<Vec<_>>();
            [f.row(r), &results].concat()
        };
        let lines: std::collections::HashSet<_> =
            (0..full.rows()).map(|r| line(&full, r)).collect();
        assert!((0..form.rows()).all(|r| lines.contains(&line(&form, r))), "{}", form.name());
    }
}

fn known_rows(g: &Golden) {
    assert_eq!(g.forms().count(), 4968);
    assert_eq!(g.rejected().expect("rejected.json").len(), 2141);
    // Wrapping 32-bit addition is its own check of layout and byte order.
    let add = g.form("add_u32").expect("add_u32");
    for r in 0..add.rows() {
        let [a, b] = add.row(r) else { panic!("two operands") };
        assert_eq!(add.output(0, r), u64::from((*a as u32).wrapping_add(*b as u32)), "row {r}");
    }
    let image = add.output_image();
    assert_eq!(image.len(), 8 * add.rows());
    assert_eq!(image[4..8], [0xA5; 4]);
    let text = add.module_text().expect("module text");
    assert!(text.starts_with(".version") && text.contains("add.u32 %d0, %a0, %a1;"));
    for f in g.rejected().expect("rejected.json").iter().take(1) {
        let text = g.rejected_text(&f.group).expect("rejected text");
        assert!(golden::split_module(&text).1.iter().any(|(n, _)| *n == f.name));
    }
}

golden::tests! {
    known_rows_of_the_recordings,
    the_sample_is_part_of_the_whole: shared("isa-golden"),
}
