//! The Python package over this library: the tests of `python/tests`, run by pytest.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The interpreter that `PYTHON` names, else `python3`.
fn python() -> String {
    std::env::var("PYTHON").unwrap_or_else(|_| "python3".into())
}

/// A folder with what the wheel has beside the package: the library, which was built with this test, and the command,
/// which the build of the workspace's tests has.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    std::fs::create_dir_all(&folder).unwrap();
    let test = std::env::current_exe().unwrap();
    for name in ["libptxrun_core.so", "ptxrun"] {
        let mut places = test.ancestors().skip(1).take(2).map(|place| place.join(name));
        let file = places.find(|f| f.is_file());
        let file = file.unwrap_or_else(|| panic!("{name} is not built: cargo build -p ptxrun"));
        let link = folder.join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(file, link).unwrap();
    }
    folder
});

/// Runs tests of the package; what pytest says.
fn pytest(words: &[&str]) -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python").canonicalize().unwrap();
    let mut pytest = Command::new(python());
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).args(words).current_dir(&package);
    pytest.env("PYTHONPATH", &package).env("PTXRUN_LIBDIR", &*FOLDER);
    pytest.env("PYTHONDONTWRITEBYTECODE", "1");
    let out = pytest.output().unwrap();
    let told =
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && told.contains(" passed"), "{told}");
    told
}

fn the_package_does_what_its_tests_say() {
    pytest(&["tests", "--ignore=tests/test_clusters.py"]);
}

fn sweeps_on_clusters_survive_a_killed_worker() {
    let told = pytest(&["tests/test_clusters.py"]);
    assert!(told.contains("2 passed") && !told.contains("skipped"), "{told}");
}

golden::tests! {
    the_package_does_what_its_tests_say:
        program(&[&python(), "-c", "import numpy, pytest, pyarrow, nbclient, ipykernel"]).in_ci(),
    sweeps_on_clusters_survive_a_killed_worker:
        program(&[&python(), "-c", "import pytest, pyarrow, ray, distributed"]).in_ci(),
}
