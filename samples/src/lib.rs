//! Kernels a user would write, with launch files and checked results.

use std::path::{Path, PathBuf};

/// The launch file of every sample, sorted by path.
pub fn launch_files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = |folder: &Path| {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
    };
    let mut files: Vec<PathBuf> = entries(root)
        .filter(|path| path.is_dir())
        .flat_map(|folder| entries(&folder).collect::<Vec<_>>())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    files
}
