//! Every dependency has a reason in docs/dependencies.md, a licence that deny.toml allows, and comes from crates.io.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};

fn root(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn metadata() -> Metadata {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest).features(CargoOpt::AllFeatures);
    // Names of other systems' crates need not be there.
    command.other_options(["--filter-platform".into(), "x86_64-unknown-linux-gnu".into()]);
    command.exec().expect("cargo metadata")
}

/// Strings of the list that is `key`'s value.
fn list(table: &toml::Table, key: &str) -> BTreeSet<String> {
    let all = table[key].as_array().expect("a list").iter();
    all.map(|v| v.as_str().expect("a string").to_owned()).collect()
}

#[test]
fn every_dependency_has_a_reason() {
    let page = root("docs/dependencies.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: BTreeSet<String> = rows
        .flat_map(|row| row.split(" | ").next().unwrap_or("").split(", "))
        .map(|name| name.trim_matches('`').to_owned())
        .collect();
    let metadata = metadata();
    let ours: BTreeSet<&str> =
        metadata.workspace_packages().iter().map(|p| p.name.as_str()).collect();
    let used: BTreeSet<String> = metadata
        .workspace_packages()
        .iter()
        .flat_map(|p| &p.dependencies)
        .map(|d| d.name.clone())
        .filter(|name| !ours.contains(name.as_str()))
        .collect();
    assert!(used.len() > 40, "{used:?}");
    assert_eq!(used, listed, "docs/dependencies.md");
}

/// Whether a licence expression can be met: one of the sides of an `OR`, all of an `AND`.
fn allowed(expression: &str, may: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ");
    let expression = expression.split_whitespace().collect::<Vec<_>>().join(" ");
    expression.split(" AND ").all(|part| {
        let part = part.trim_matches(['(', ')']);
        part.split(" OR ").any(|licence| may.contains(licence))
    })
}

#[test]
fn licences_and_sources_are_allowed() {
    let deny: toml::Table = root("deny.toml").parse().expect("TOML");
    let licences = deny["licenses"].as_table().expect("a table");
    let may = list(licences, "allow");
    let exceptions = licences["exceptions"].as_array().expect("a list");
    let mut looked_at = 0;
    for package in &metadata().packages {
        let Some(source) = &package.source else { continue };
        looked_at += 1;
        assert!(source.is_crates_io(), "{} comes from {source}", package.name);
        let mut may = may.clone();
        for exception in exceptions.iter().filter_map(|e| e.as_table()) {
            if exception["crate"].as_str() == Some(package.name.as_str()) {
                may.extend(list(exception, "allow"));
            }
        }
        let licence = package.license.as_deref().unwrap_or("none");
        assert!(allowed(licence, &may), "{} is under {licence}", package.name);
    }
    assert!(looked_at > 100, "{looked_at}");
}

#[test]
fn expressions_are_read_as_they_are_meant() {
    let may = BTreeSet::from(["MIT".to_owned(), "Unicode-3.0".to_owned()]);
    for (expression, yes) in [
        ("MIT OR Apache-2.0", true),
        ("Apache-2.0/MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(MIT OR Apache-2.0) AND NCSA", false),
        ("GPL-3.0", false),
    ] {
        assert_eq!(allowed(expression, &may), yes, "{expression}");
    }
}
