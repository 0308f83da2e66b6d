//! The recordings are readable and have the documented size.

use golden::Golden;

#[test]
fn known_rows_of_the_recordings() {
    let Some(g) = Golden::shared() else {
        println!("skipped: ../shared/isa-golden is not there");
        return;
    };
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
