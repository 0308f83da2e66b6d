//! `docs/checkers-truth.md` names every case of `tests/truth` once, with its class, and its sums are those of its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A case and the classes of what is to be found in it; none where it is sound in both forms.
type Cases = BTreeMap<(String, String), BTreeSet<String>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("truth")
}

/// The cases of a file: launches and programs that `finds` lines follow.
fn cases(name: &str, text: &str) -> Cases {
    let mut all = Cases::new();
    let mut case: Option<String> = None;
    for line in text.lines() {
        let named = |after: &str| {
            let rest = line.strip_prefix(after)?;
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            Some(rest[..end].to_owned())
        };
        if let Some(new) = named("// run: ").or_else(|| named("// program: ")) {
            case = Some(new);
        } else if let Some(finds) = line.strip_prefix("// finds: ")
            && let Some(case) = &case
        {
            let class = finds.split(':').next().unwrap_or_default().trim();
            let classes = all.entry((name.to_owned(), case.clone())).or_default();
            classes.extend((class != "nothing").then(|| class.to_owned()));
        }
    }
    all
}

/// Rows of the tables with this many columns.
fn rows(page: &str, columns: usize) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let all = page.lines().filter(|line| line.starts_with('|')).map(cells);
    let all = all.filter(|row| row.len() == columns && !row[0].starts_with("---"));
    all.filter(|row| row[0] != "tool" && row[0] != "file").collect()
}

#[test]
fn the_table_is_whole_and_adds_up() {
    let mut wanted = Cases::new();
    for (prefix, folder) in [("", folder()), ("held-out/", folder().join("held-out"))] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.ends_with(".cu") || name.ends_with(".cl") {
                let text = std::fs::read_to_string(&path).unwrap();
                wanted.append(&mut cases(&format!("{prefix}{name}"), &text));
            }
        }
    }
    let page = folder().join("../../docs/checkers-truth.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut sums: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let all = rows(&page, 7);
    for row in &all {
        let case = (row[0].clone(), row[1].clone());
        let classes = wanted.remove(&case).unwrap_or_else(|| panic!("no case, or twice: {row:?}"));
        let class = &row[2];
        let fits = classes.contains(class) || classes.is_empty() && class == "none";
        assert!(fits, "{row:?} is of {classes:?}");
        let sum = sums.entry(row[3].clone()).or_default();
        let counted =
            [true, row[4] == "found", row[4].starts_with("no answer"), row[5] == "reported"];
        sum.iter_mut().zip(counted).for_each(|(sum, one)| *sum += usize::from(one));
    }
    assert!(wanted.is_empty(), "not in the table: {:?}", wanted.keys());
    let number = |cell: &str| cell.split(' ').next().unwrap().parse::<usize>().unwrap();
    let mut tools = 0;
    for row in rows(&page, 5) {
        let said: Vec<usize> = row[1..].iter().map(|cell| number(cell)).collect();
        if row[0] == "ptxrun" {
            // What is held by the test that runs all cases: of each but one the mistake is found.
            assert_eq!(said, [all.len(), all.len() - 1, 0, 0], "{row:?}");
            continue;
        }
        let tool = row[0].strip_prefix("compute-sanitizer ").unwrap_or("Oclgrind");
        assert_eq!(sums.get(tool).map(|sum| sum.to_vec()), Some(said), "{row:?}");
        tools += 1;
    }
    assert_eq!(tools, sums.len(), "every tool has its sums");
}
