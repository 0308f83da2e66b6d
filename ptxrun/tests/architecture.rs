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
        &["cuda-driver", "nvml", "opencl-icd", "gpuocelot", "ptxrun", "ptx-runtime", "ptx-report"],
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
        if ["xtask", "filetests"].contains(&package.name.as_str()) {
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
