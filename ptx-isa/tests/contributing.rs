//! The sample row of CONTRIBUTING.md is one of the table.

/// A text with every run of white space as one space.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_sample_is_a_row() {
    let page = include_str!("../../CONTRIBUTING.md");
    let section =
        page.split("## ").find(|s| s.starts_with("A new instruction")).expect("a section");
    let sample =
        section.split("```rust").nth(1).and_then(|s| s.split("```").next()).expect("a sample");
    let rows = words(include_str!("../src/rows/bits.rs"));
    assert!(sample.contains("Row {") && rows.contains(&words(sample)), "{sample}");
}
