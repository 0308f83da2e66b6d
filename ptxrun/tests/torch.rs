//! PyTorch under `ptxrun exec`: the programs of docs/clients.md, and what other programs in Python see of it (nothing).
//!
//! `PYTHON` names an interpreter that has PyTorch for CUDA.

mod common;

use std::path::{Path, PathBuf};

use common::{Folder, Outcome, command};
use golden::need::{Need, both, condition, program};

fn python() -> String {
    std::env::var("PYTHON").unwrap_or_else(|_| "python3".into())
}

/// The folder of the driver, where the workspace's build has left it beside this test.
fn folder_of_driver() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let folders = test.ancestors().skip(1).take(2);
    folders.map(Path::to_owned).find(|f| f.join("libptxrun_core.so").is_file())
}

/// `ptxrun exec` of a program in Python.
fn exec(folder: &Folder, words: &[&str], variables: &[(&str, String)]) -> Outcome {
    let python = python();
    let mut line = vec!["exec", "--", &python];
    line.extend(words);
    let mut command = command(&line);
    command.current_dir(&folder.0).env("PTXRUN_LIBDIR", folder_of_driver().unwrap());
    command.env("XDG_CACHE_HOME", folder.file("cache")).env_remove("PYTHONPATH");
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    Outcome::of(&mut command, "")
}

fn other_programs_see_nothing_of_it() {
    let folder = Folder::new("no-torch");
    std::fs::create_dir(folder.file("own")).unwrap();
    folder.write("own/sitecustomize.py", "print('own')\n");
    let program =
        "import sys, sitecustomize; print('torch' in sys.modules, sitecustomize.__name__)";
    let path = [("PYTHONPATH", folder.file("own"))];
    let out = exec(&folder, &["-c", program], &path);
    assert_eq!((out.status, &*out.stdout, &*out.stderr), (0, "own\nFalse sitecustomize\n", ""));
}

/// A module of that name that does not use CUDA is imported as it is.
fn a_torch_without_cuda_stays_as_it_is() {
    let folder = Folder::new("other-torch");
    std::fs::create_dir_all(folder.file("own/torch")).unwrap();
    folder.write(
        "own/torch/__init__.py",
        "class version:\n    cuda = None\nprint('imported', __spec__.loader)\n",
    );
    let program = "import torch, importlib; importlib.reload(torch); print(torch.version.cuda)";
    let path = [("PYTHONPATH", folder.file("own"))];
    let out = exec(&folder, &["-c", program], &path);
    assert_eq!((out.status, &*out.stderr), (0, ""));
    let lines: Vec<&str> = out.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{}", out.stdout);
    assert!(lines[..2].iter().all(|l| l.contains("SourceFileLoader")), "{}", out.stdout);
    assert_eq!(lines[2], "None");
}

/// Triton's benchmarks run as seldom as they can where events read the modelled clock, and as they want elsewhere.
fn benchmarks_run_once_on_the_modelled_clock() {
    let folder = Folder::new("benchmarks");
    std::fs::create_dir_all(folder.file("own/triton")).unwrap();
    folder.write("own/triton/__init__.py", "");
    folder.write(
        "own/triton/testing.py",
        "def do_bench(fn, warmup=25, rep=100, quantiles=None):\n    return warmup, rep, quantiles\n",
    );
    let program = "from triton.testing import do_bench; print(do_bench(0), do_bench(0, 7, 8), \
        do_bench(0, rep=9, quantiles=[1]), do_bench.__name__)";
    let path = ("PYTHONPATH", folder.file("own"));
    for (timing, wanted) in [
        ("0", "(25, 100, None) (7, 8, None) (25, 9, [1]) do_bench\n"),
        ("1", "(0, 0, None) (0, 0, None) (0, 0, [1]) do_bench\n"),
    ] {
        let variables = [path.clone(), ("PTXRUN_TIMING", timing.into())];
        let out = exec(&folder, &["-c", program], &variables);
        assert_eq!((out.status, &*out.stdout, &*out.stderr), (0, wanted, ""), "{timing}");
    }
}

/// Runs a program of `clients`, which says how much of what it did was right. Tests run side by side: each has a folder
/// of its own.
fn client(name: &str, words: &[&str]) {
    let folder = Folder::new(name);
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients").canonicalize().unwrap();
    let words: Vec<String> = words
        .iter()
        .map(|word| match word.starts_with("torch_") {
            true => clients.join(word).display().to_string(),
            false => (*word).to_owned(),
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let out = exec(&folder, &words, &[]);
    let last = out.stdout.lines().last().unwrap_or_default();
    let (right, all) = last.split_once(" of ").unwrap_or_default();
    assert!(
        out.status == 0 && !right.is_empty() && all.starts_with(&format!("{right} ")),
        "{}{}",
        out.stdout,
        out.stderr
    );
}

fn programs() {
    client("torch-programs", &["torch_programs.py", "--eager"]);
}

fn compiled_programs() {
    client("torch-compiled", &["torch_programs.py", "mlp", "attention"]);
}

fn features() {
    client("torch-features", &["torch_features.py"]);
}

fn random_numbers_are_the_device_s() {
    client("torch-random", &["torch_random.py", "torch_random.recorded"]);
}

/// The kernels that PyTorch's compiler made on an H200, by the driver, without PyTorch.
fn compiled_kernels_are_the_device_s() {
    client("torch-kernels", &["torch_kernels.py", "torch_kernels.recorded"]);
}

/// The driver, and a module of Python.
fn with(words: &str) -> Need {
    both(
        condition("the driver (cargo build -p ptxrun-core)", folder_of_driver().is_some()),
        program(&[&python(), "-c", words]),
    )
}

const TORCH: &str = "import torch; assert torch.version.cuda";

golden::tests! {
    other_programs_see_nothing_of_it: with("0"),
    a_torch_without_cuda_stays_as_it_is: with("0"),
    benchmarks_run_once_on_the_modelled_clock: with("0"),
    compiled_kernels_are_the_device_s: with("0"),
    programs: with(TORCH),
    compiled_programs: with(&format!("{TORCH}; import triton")),
    features: with(TORCH),
    random_numbers_are_the_device_s: with(TORCH),
}
