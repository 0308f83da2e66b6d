//! The samples of CONTRIBUTING.md are what the repository has; the row is held by `ptx-isa/tests/contributing.rs`.

mod common;

use std::path::Path;

use common::Folder;

/// The text of a file of the repository.
fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Blocks of CONTRIBUTING.md in a language, without their indentation.
fn blocks(language: &str) -> Vec<String> {
    let page = text("CONTRIBUTING.md");
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.trim() == format!("```{language}") {
            let inside = lines.by_ref().take_while(|l| l.trim() != "```");
            blocks.push(inside.map(|l| format!("{}\n", l.trim())).collect());
        }
    }
    blocks
}

#[test]
fn the_line_of_a_filetest_stands_in_one() {
    let samples = blocks("text");
    let eval = samples.iter().find_map(|s| s.trim().strip_prefix("// eval:")).expect("a line");
    assert!(text("tests/ptx/eval/bits.ptx").contains(eval.trim()), "{eval}");
}

#[test]
fn the_profile_is_one() {
    let samples = blocks("toml");
    assert_eq!(samples.len(), 1);
    let folder = Folder::new("contributing");
    folder.write("card.toml", &samples[0]);
    let shown = folder.run(&["devices", "card.toml"]);
    assert_eq!(shown.status, 0, "{}{}", shown.stdout, shown.stderr);
    assert!(shown.stdout.contains("1620"), "{}", shown.stdout);
}
