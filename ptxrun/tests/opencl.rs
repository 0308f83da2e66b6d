//! The recipes of docs/opencl-driver.md: programs that find the OpenCL driver through the command.
//!
//! They need the driver, and clinfo, pyopencl, or a C compiler with OpenCL's headers and loader.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Folder, Outcome, command};
use golden::need::{Need, both, condition};

/// The folder of the driver, where the workspace's build has left it beside this test.
fn folder_of_driver() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let folders = test.ancestors().skip(1).take(2);
    folders.map(Path::to_owned).find(|f| f.join("libptxrun_core.so").is_file())
}

fn driver() -> PathBuf {
    folder_of_driver().expect("the driver is built")
}

/// `ptxrun exec` for this driver, in a folder.
fn exec(driver: &Path, folder: &Folder, program: &[&str]) -> Outcome {
    let mut line = vec!["exec", "--"];
    line.extend(program);
    let mut command = command(&line);
    command.current_dir(&folder.0).env("PTXRUN_LIBDIR", driver);
    command.env("XDG_CACHE_HOME", folder.file("cache"));
    Outcome::of(&mut command, "")
}

/// The block of a language in the page.
fn block(language: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/opencl-driver.md");
    let page = std::fs::read_to_string(page).unwrap();
    let start = format!("```{language}\n");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no {language} in the page"));
    rest.split_once("```").unwrap().0.to_owned()
}

fn clinfo_shows_the_device_without_a_warning() {
    let driver = driver();
    let folder = Folder::new("clinfo");
    let out = exec(&driver, &folder, &["clinfo"]);
    assert_eq!((out.status, &*out.stderr), (0, ""));
    let value = |name: &str| {
        let line = out.stdout.lines().find(|l| l.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name}: {}", out.stdout));
        line.trim_start()[name.len()..].trim().to_owned()
    };
    assert_eq!(value("Number of platforms"), "1");
    assert_eq!(value("Number of devices"), "1");
    assert_eq!(value("Device Type"), "CPU");
    assert!(value("Device Version").starts_with("OpenCL 3.0 "));
    for word in ["warning", "WARNING", "<invalid", "Unknown", "<printDevInfo"] {
        assert!(!out.stdout.contains(word), "{word}: {}", out.stdout);
    }
}

fn a_program_in_python() {
    let driver = driver();
    let folder = Folder::new("pyopencl");
    folder.write("program.py", &block("python"));
    let out = exec(&driver, &folder, &["python3", "program.py"]);
    assert!(
        out.status == 0 && out.stdout.ends_with(": [0. 2. 4. 6.]\n"),
        "{}{}",
        out.stdout,
        out.stderr
    );
}

fn a_program_in_c_by_exec_and_by_the_user_s_vendor_file() {
    let driver = driver();
    let folder = Folder::new("opencl-c");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../opencl-icd/tests/programs/matmul.c");
    std::fs::copy(source, folder.file("program.c")).unwrap();
    let built = Command::new("cc")
        .args(["program.c", "-o", "program", "-lOpenCL"])
        .current_dir(&folder.0)
        .output();
    assert!(built.as_ref().is_ok_and(|out| out.status.success()), "{built:?}");
    let out = exec(&driver, &folder, &["./program"]);
    assert!(
        out.status == 0 && out.stdout.ends_with(": 0 wrong, timed\n"),
        "{}{}",
        out.stdout,
        out.stderr
    );
    // What `install-icd --user` prints is what a shell needs.
    let mut install = command(&["install-icd", "--user"]);
    install.env("PTXRUN_LIBDIR", &driver).env("XDG_CACHE_HOME", folder.file("it's cache"));
    let install = Outcome::of(&mut install, "");
    assert_eq!(install.status, 0, "{}", install.stderr);
    let export = install.stdout.lines().find(|l| l.starts_with("export OCL_ICD_VENDORS=")).unwrap();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{export}\n./program")).current_dir(&folder.0);
    let out = Outcome::of(&mut shell, "");
    assert!(
        out.status == 0 && out.stdout.ends_with(": 0 wrong, timed\n"),
        "{}{}",
        out.stdout,
        out.stderr
    );
}

/// The driver and something else.
fn with_driver(need: Need) -> Need {
    both(condition("the driver (cargo build -p ptxrun-core)", folder_of_driver().is_some()), need)
}

golden::tests! {
    clinfo_shows_the_device_without_a_warning: with_driver(program(&["clinfo", "--version"]).in_ci()),
    a_program_in_python: with_driver(program(&["python3", "-c", "import pyopencl, numpy"]).in_ci()),
    a_program_in_c_by_exec_and_by_the_user_s_vendor_file: with_driver(opencl_in_c()),
}
