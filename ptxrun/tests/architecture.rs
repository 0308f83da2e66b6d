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
    ("ptx-timing", &["ptx-isa", "ptx-parse", "ptx-interp"]),
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
    let mut folders: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| !tools.iter().any(|tool| entry.file_name() == *tool))
        .map(|entry| entry.path().join("src"))
        .filter(|folder| folder.is_dir())
        .collect();
    assert!(folders.len() > 15, "{folders:?}");
    let mut wrong = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                if lines.clone().any(|l| l.contains("eprintln!(") || l.contains("eprint!(")) {
                    wrong.push(path);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
