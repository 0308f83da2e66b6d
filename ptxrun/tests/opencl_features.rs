//! docs/opencl-features.md: each row names a test that exists, and each feature of the compiler has a row.

use std::path::{Path, PathBuf};

use ptx_runtime::opencl::options::{extensions, features};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page() -> String {
    std::fs::read_to_string(root().join("docs/opencl-features.md")).unwrap()
}

/// What stands between the marks of a cell.
fn marked(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The cells of the rows of its tables, without heads.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
    cells.filter(|c| c[0] != "feature" && !c[0].starts_with("---")).collect()
}

/// Where tests of that name may lie.
const FOLDERS: [&str; 4] = [
    "tests/cl",
    "opencl-icd/tests/programs",
    "opencl-frontend/tests",
    "opencl-frontend/tests/reject",
];

/// The test of a row; an error says what it lacks.
fn test_of(cells: &[&str]) -> Result<(), String> {
    let [_, _, test, word] = cells else { return Err(format!("{cells:?} has no four cells")) };
    let (&[test], &[word]) = (&*marked(test), &*marked(word)) else {
        return Err(format!("{cells:?} names no test and word"));
    };
    let found =
        FOLDERS.iter().find_map(|f| std::fs::read_to_string(root().join(f).join(test)).ok());
    let text = found.ok_or_else(|| format!("{test} is nowhere"))?;
    if text.contains(word) { Ok(()) } else { Err(format!("{test} lacks `{word}`")) }
}

#[test]
fn every_row_names_a_test_that_exists() {
    let page = page();
    let rows = rows(&page);
    assert!(rows.len() > 40, "{}", rows.len());
    let wrong: Vec<String> = rows.iter().filter_map(|cells| test_of(cells).err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    // Both are seen.
    assert!(test_of(&["x", "yes", "`nowhere.c`", "`x`"]).is_err());
    assert!(test_of(&["x", "yes", "`later.c`", "`clNoSuchFunction`"]).is_err());
}

#[test]
fn every_feature_of_the_compiler_has_a_row() {
    let page = page();
    let rows = rows(&page);
    for name in features(90).chain(extensions(90)) {
        let found = rows.iter().filter(|cells| marked(cells[0]).contains(&name)).count();
        assert_eq!(found, 1, "{name}");
    }
}
