//! Holds the crate table of ARCHITECTURE.md: who may know whom.

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, MetadataCommand};

const ALLOWED: &[(&str, &[&str])] = &[
    ("environment", &[]),
    ("ptx-isa", &[]),
    ("flow", &[]),
    ("ptx-parse", &["ptx-isa", "flow"]),
    ("ptx-interp", &["ptx-isa", "ptx-parse", "flow"]),
    ("ptx-check", &["ptx-isa", "ptx-parse", "ptx-interp"]),
    ("ptx-timing", &["ptx-isa", "ptx-parse", "ptx-interp", "flow"]),
    ("opencl-frontend", &["ptx-isa", "ptx-parse", "flow"]),
    (
        "ptx-runtime",
        &[
            "ptx-isa",
            "ptx-parse",
            "ptx-interp",
            "ptx-check",
            "ptx-jit",
            "ptx-timing",
            "opencl-frontend",
        ],
    ),
    ("nvjitlink", &["c-border", "ptx-runtime"]),
    // Reaches the library with the engine by loading it.
    ("nvjitlink-loader", &[]),
    ("nvml", &["c-border", "cuda-driver", "ptx-runtime"]),
    ("gpuocelot", &["ptx-runtime"]),
    ("c-border", &["ptx-runtime"]),
    ("cuda-driver", &["ptx-runtime", "c-border"]),
    // Reaches the driver library as any program does: by loading it.
    ("cuda-runtime", &[]),
    ("cuda-runtime-12", &[]),
    ("opencl-icd", &["ptx-runtime", "c-border"]),
    ("ptx-report", &["ptx-timing"]),
    ("ptx-debug", &["ptx-isa", "ptx-parse", "ptx-interp"]),
    ("ptxrun", &["ptx-runtime", "ptx-report", "ptx-debug"]),
    (
        "ptxrun-core",
        &[
            "c-border",
            "cuda-driver",
            "nvjitlink",
            "nvml",
            "opencl-icd",
            "gpuocelot",
            "ptxrun",
            "ptx-runtime",
            "ptx-report",
        ],
    ),
    ("ptxrun-launcher", &[]),
    ("samples", &[]),
    ("golden", &[]),
    ("structure", &[]),
    ("ptx-jit", &["ptx-isa", "ptx-parse", "flow"]),
];

#[test]
fn crates_know_only_what_the_table_says() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let metadata =
        MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata");
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let names: Vec<&str> = metadata.packages.iter().map(|p| p.name.as_str()).collect();
    assert!(names.contains(&"ptx-isa"));
    for package in &metadata.packages {
        // Tools and tests of the repository may use anything.
        if ["xtask", "filetests", "fuzz"].contains(&package.name.as_str()) {
            continue;
        }
        let may = allowed
            .get(package.name.as_str())
            .unwrap_or_else(|| panic!("`{}` is not in the table of ARCHITECTURE.md", package.name));
        for dep in package.dependencies.iter().filter(|d| d.kind == DependencyKind::Normal) {
            let ours = names.contains(&dep.name.as_str());
            // What may stand in environment variables concerns all.
            let ours = ours && dep.name != "environment";
            assert!(
                !ours || may.contains(&dep.name.as_str()),
                "`{}` knows `{}`",
                package.name,
                dep.name
            );
        }
    }
}

/// `eprintln!` panics where standard error takes nothing (a full disk, a pipe without a reader): who has something to
/// say uses `environment::sayln!`, and engine crates give warnings to `environment::message::warn`.
#[test]
fn nobody_ends_for_want_of_a_listener() {
    // Tools of the repository.
    let tools = ["xtask", "golden", "structure", "fuzz", "tests", "peers", "samples", "target"];
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| !tools.iter().any(|tool| entry.file_name() == *tool))
        .map(|entry| entry.path().join("src"))
        .filter(|folder| folder.is_dir())
        .collect();
    assert!(folders.len() > 15, "{folders:?}");
    let mut wrong = Vec::new();
    for path in folders.iter().flat_map(|folder| sources(folder)) {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        if lines.clone().any(|l| l.contains("eprintln!(") || l.contains("eprint!(")) {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Files of Rust below a folder.
fn sources(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// Crates without examples in their documentation, or without tests beside their code, say so in their manifests, which
/// saves their compilation. Who adds the first one takes that line out.
#[test]
fn no_example_and_no_test_is_left_out() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let metadata =
        MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata");
    let mut seen = 0;
    for package in &metadata.packages {
        for target in package.targets.iter().filter(|t| !t.is_custom_build() && t.is_lib()) {
            for file in sources(target.src_path.parent().unwrap().as_std_path()) {
                let text = std::fs::read_to_string(&file).unwrap();
                let mut inside = false;
                let mut example = false;
                for line in text.lines() {
                    let line = line.trim_start();
                    let comment = line.strip_prefix("//!").or(line.strip_prefix("///"));
                    let Some(mark) = comment.and_then(|c| c.trim_start().strip_prefix("```"))
                    else {
                        continue;
                    };
                    inside = !inside;
                    example |= inside && ["", "no_run", "should_panic", "rust"].contains(&mark);
                }
                assert!(target.doctest || !example, "{}: `doctest = false`", file.display());
                assert!(
                    target.test || !text.contains("#[test]"),
                    "{}: `test = false`",
                    file.display()
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 300, "{seen}");
}

/// `cargo install ptxrun` takes it and what it needs from the registry: all of that can be published, with what the
/// registry asks for; tools and data of the repository cannot.
#[test]
fn what_the_command_needs_can_be_published() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let metadata =
        MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata");
    let of = |name: &str| metadata.packages.iter().find(|p| p.name == name);
    let mut needed = vec!["ptxrun".to_owned()];
    let mut next = 0;
    while let Some(name) = needed.get(next).cloned() {
        next += 1;
        let package = of(&name).unwrap();
        assert!(package.publish.is_none(), "{name} is private");
        assert!(package.license.is_some() && package.repository.is_some(), "{name}");
        assert!(package.description.is_some() && package.readme.is_some(), "{name}");
        for dep in package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development) {
            if of(&dep.name).is_some() {
                assert_ne!(dep.req.to_string(), "*", "{name} needs a version of {}", dep.name);
                if !needed.contains(&dep.name) {
                    needed.push(dep.name.clone());
                }
            }
        }
    }
    assert!(needed.len() > 10, "{needed:?}");
    for name in ["samples", "golden", "xtask", "fuzz", "filetests", "structure"] {
        assert_eq!(of(name).unwrap().publish.as_deref(), Some(&[][..]), "{name}");
    }
}
