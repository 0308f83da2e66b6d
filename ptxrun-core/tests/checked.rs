//! `ptxrun exec --check` and `ptxrun sanitize` of host programs, by the loaders that such programs use: OpenCL from C
//! and Python through the system's loader, numba through its own. Each kernel is there with a mistake and without it.

use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use golden::need::{condition, opencl_in_c, program, run, test};

/// Kernels, what is wrong with them, and the lines that a report names, by the names in their comments.
const KERNELS: [(&str, &str, &[&str]); 4] = [
    ("shift", "memory[out-of-bounds]", &["bounds"]),
    ("turn", "race[read-write]", &["write", "read"]),
    ("pick", "init[uninitialized-branch]", &["branch"]),
    ("part", "sync[barrier-not-reached]", &["barrier"]),
];

/// What programs end with by themselves.
const OWN_STATUS: i32 = 5;

/// The folder that holds the library, which was built with this test.
fn folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let places = test.ancestors().skip(1).take(2);
    let found = places.map(Path::to_owned).find(|f| f.join("libptxrun_core.so").is_file());
    found.expect("the library is built with its tests")
}

/// The command, as `ptxrun-launcher` calls it.
fn command(words: &[String]) -> c_int {
    // SAFETY: the library's initialisers are those of the driver.
    let core = unsafe { libloading::Library::new(folder().join("libptxrun_core.so")) }.unwrap();
    type Main = unsafe extern "C" fn(c_int, *const *const c_char, *const c_char) -> c_int;
    // SAFETY: the function has this type.
    let main = unsafe { core.get::<Main>(b"ptxrun_main\0") }.unwrap();
    let words: Vec<CString> = words.iter().map(|w| CString::new(w.as_str()).unwrap()).collect();
    let pointers: Vec<*const c_char> = words.iter().map(|w| w.as_ptr()).collect();
    let home = CString::new(folder().to_str().unwrap()).unwrap();
    // SAFETY: strings that live until it returns.
    unsafe { main(pointers.len() as c_int, pointers.as_ptr(), home.as_ptr()) }
}

/// A temporary folder of this test.
fn temporary(what: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("ptxrun-checked-{what}-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// What `ptxrun WORDS -- PROGRAM` comes to: exit status and output.
fn ptxrun(words: &[&str], program: &[&str]) -> (i32, String) {
    let cache = temporary("cache");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--as-command", "ptxrun"]).args(words).arg("--").args(program);
    command.env("XDG_CACHE_HOME", &cache).env("PTXRUN_LIBDIR", folder());
    command.env_remove("PTXRUN_CHECK").env("PYTHONDONTWRITEBYTECODE", "1");
    let out = command.output().unwrap();
    let _ = std::fs::remove_dir_all(cache);
    let told =
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    (out.status.code().unwrap_or(-1), told)
}

/// A file of the programs.
fn source(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checked").join(name);
    file.to_str().unwrap().to_owned()
}

/// The line of a file that ends in a name.
fn line(file: &str, kernel: &str, name: &str) -> usize {
    let text = std::fs::read_to_string(source(file)).unwrap();
    let first = text.lines().position(|l| l.contains(&format!(" {kernel}("))).unwrap();
    let mark = format!("@{name}");
    let found = text.lines().skip(first).position(|l| l.ends_with(&mark));
    first + 1 + found.unwrap_or_else(|| panic!("{file} has no line {mark} in {kernel}"))
}

/// Holds that a wrong program is reported with its class and lines of `shown`, and that nothing else is said of it but
/// what follows from that mistake.
fn reported(text: &str, class: &str, lines: &[(String, usize)]) {
    assert!(text.contains(class), "{class} is missing\n{text}");
    for (shown, line) in lines {
        assert!(text.contains(&format!("{shown}:{line}:")), "{shown}:{line} is missing\n{text}");
    }
    let others = ["memory[", "race[", "sync["].into_iter().filter(|c| !class.starts_with(c));
    for other in others {
        assert!(!text.contains(other), "{other} beside {class}\n{text}");
    }
}

/// All kernels of `kernels.cl` under a program that takes file, kernel, options and status.
fn opencl(program: &[&str]) {
    let own = OWN_STATUS.to_string();
    let kernels = source("kernels.cl");
    for (kernel, class, marks) in KERNELS {
        let under = |words: &[&str], options: &str| {
            ptxrun(words, &[program, &[&kernels, kernel, options, &own]].concat())
        };
        let all = ["exec", "--check", "all"];
        let lines = |shown: &str| -> Vec<(String, usize)> {
            marks.iter().map(|m| (shown.to_owned(), line("kernels.cl", kernel, m))).collect()
        };
        let (status, text) = under(&all, "-g -DWRONG");
        assert_eq!(status, 1, "{kernel}\n{text}");
        reported(&text, class, &lines("program.cl"));
        let (status, text) = under(&all, "-DWRONG");
        assert_eq!((status, text.contains("--> program.ptx:")), (1, true), "{kernel}\n{text}");
        reported(&text, class, &[]);
        for options in ["-g", ""] {
            let (status, text) = under(&all, options);
            let sound = status == OWN_STATUS && text.contains("\n0 findings\n");
            assert!(sound, "{kernel}: {status}\n{text}");
        }
        let (status, text) = under(&["sanitize", "--error-exitcode", "7"], "-DWRONG");
        let memory = kernel == "shift";
        assert_eq!(status, if memory { 7 } else { OWN_STATUS }, "{kernel}, memcheck\n{text}");
        let other = ["exec", "--check", if memory { "race" } else { "memory" }];
        let (status, text) = under(&other, "-DWRONG");
        assert_eq!(status, OWN_STATUS, "{kernel}, with another check\n{text}");
    }
}

fn opencl_from_c() {
    let folder = temporary("host");
    let host = folder.join("host");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Werror", &source("host.c"), "-o"]).arg(&host).arg("-lOpenCL");
    assert!(cc.status().unwrap().success());
    opencl(&[host.to_str().unwrap()]);
    let _ = std::fs::remove_dir_all(folder);
}

/// A program made of a C file; it goes with the folder.
fn compiled(folder: &Path, file: &str, library: &str) -> String {
    let program = folder.join("left");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Werror", &source(file), "-o"]).arg(&program).arg(library);
    assert!(cc.status().unwrap().success());
    program.to_str().unwrap().to_owned()
}

/// What a program leaves is reported at its end, if that is asked for; what it ends in time, however late, is not.
/// `context`: what its context's end reports, where it does not end everything before; `outside`: what is in none.
fn leaves(file: &str, library: &str, context: &[&str], outside: &[&str]) {
    let folder = temporary("left");
    let program = compiled(&folder, file, library);
    let full = ["sanitize", "--leak-check", "full", "--error-exitcode", "7"];
    let (status, text) = ptxrun(&full, &[&program, "kept"]);
    assert_eq!(status, 7, "{text}");
    for wanted in context.iter().chain(outside) {
        assert!(text.contains(wanted), "{wanted} is missing\n{text}");
    }
    let all = context.len() + outside.len();
    assert!(text.contains(&format!("\n{all} findings\n")), "{all} findings\n{text}");
    for mode in ["ended", "late"] {
        let (status, text) = ptxrun(&full, &[&program, mode]);
        assert!(status == OWN_STATUS && text.contains("0 findings\n"), "{mode}: {status}\n{text}");
    }
    for words in [&["exec", "--check", "all"][..], &["sanitize", "--tool", "racecheck"]] {
        let (status, text) = ptxrun(words, &[&program, "kept"]);
        assert!(status == OWN_STATUS && !text.contains("leak"), "{words:?}: {status}\n{text}");
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// What `left_cuda.c` leaves in its context.
const LEFT_IN_CUDA: [&str; 9] = [
    "leak: 1 module that `cuModuleLoadData` made\n  missing: `cuModuleUnload` before",
    "leak: 1 stream that `cuStreamCreate` made\n",
    "leak: 2 events that `cuEventCreate` made\n",
    "leak: 1 array that `cuArray3DCreate_v2` made\n",
    "leak: 1 mipmapped array that `cuMipmappedArrayCreate` made\n",
    "leak: 1 memory pool that `cuMemPoolCreate` made\n",
    "leak: 1 surface object that `cuSurfObjectCreate` made\n",
    "leak: 1 texture object that `cuTexObjectCreate` made\n",
    "leak: 256 bytes at ",
];

fn left_by_cuda() {
    let outside = [
        "leak: 1 context that `cuCtxCreate_v2` made\n",
        "leak: 1 graph that `cuGraphCreate` made\n",
        "leak: 1 executable graph that `cuGraphInstantiateWithFlags` made\n",
    ];
    leaves("left_cuda.c", "-ldl", &LEFT_IN_CUDA, &outside);
    let folder = temporary("destroyed");
    let program = compiled(&folder, "left_cuda.c", "-ldl");
    let (status, text) = ptxrun(&["sanitize", "--leak-check", "full"], &[&program, "destroyed"]);
    for wanted in LEFT_IN_CUDA.iter().chain(&outside[1..]) {
        assert!(text.contains(wanted), "{wanted} is missing: {status}\n{text}");
    }
    assert!(text.contains("\n11 findings\n"), "{text}");
    let words = ["sanitize", "--leak-check", "full", "--format", "compute-sanitizer"];
    let (_, text) = ptxrun(&words, &[&program, "destroyed"]);
    assert!(text.contains("========= Leak: 2 events that `cuEventCreate` made\n"), "{text}");
    let _ = std::fs::remove_dir_all(folder);
}

fn left_by_opencl() {
    let memory = ["leak: 64 bytes at "];
    let outside = [
        "leak: 1 context that `clCreateContext` made\n",
        "leak: 1 command queue that `clCreateCommandQueue` made\n",
        "leak: 1 program that `clCreateProgramWithSource` made\n",
        "leak: 1 kernel that `clCreateKernel` made\n",
        "leak: 2 events that `clEnqueueWriteBuffer` made\n",
        "leak: 1 sampler that `clCreateSampler` made\n",
    ];
    leaves("left_opencl.c", "-lOpenCL", &memory, &outside);
}

/// A Python that has a module: `PYTHON`, or one of the path or the system.
fn python_with(module: &str) -> Option<String> {
    let named = std::env::var("PYTHON").ok();
    let all = named.into_iter().chain(["python3".to_owned(), "/usr/bin/python3".to_owned()]);
    let has = |python: &String| {
        let find =
            format!("import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)");
        let out = Command::new(python).args(["-c", &find]).output();
        out.is_ok_and(|out| out.status.success())
    };
    all.into_iter().find(has)
}

fn opencl_from_python() {
    let python = python_with("pyopencl").unwrap();
    opencl(&[&python, &source("opencl_program.py")]);
}

fn numba() {
    let python = python_with("numba.cuda").unwrap();
    let program = source("numba_program.py");
    let own = OWN_STATUS.to_string();
    for (kernel, class, marks) in KERNELS {
        let under =
            |words: &[&str], which: &str| ptxrun(words, &[&python, &program, kernel, which, &own]);
        let all = ["exec", "--check", "all"];
        let (status, text) = under(&all, "wrong");
        assert_eq!(status, 1, "{kernel}\n{text}");
        let lines: Vec<(String, usize)> = marks
            .iter()
            .map(|m| ("numba_program.py".to_owned(), line("numba_program.py", kernel, m)))
            .collect();
        reported(&text, class, &lines);
        let (status, text) = under(&all, "right");
        let sound = status == OWN_STATUS && text.contains("\n0 findings\n");
        assert!(sound, "{kernel}: {status}\n{text}");
        let (status, text) = under(&["sanitize", "--error-exitcode", "7"], "wrong");
        let wanted = if kernel == "shift" { 7 } else { OWN_STATUS };
        assert_eq!(status, wanted, "{kernel}, memcheck\n{text}");
    }
}

fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).is_some_and(|word| word == "--as-command") {
        return std::process::ExitCode::from(command(&words[2..]) as u8);
    }
    let python =
        |module: &str| condition(&format!("a Python with {module}"), python_with(module).is_some());
    run(vec![
        test("opencl_from_c", opencl_from_c, opencl_in_c()),
        test("left_by_cuda", left_by_cuda, program(&["cc", "--version"])),
        test("left_by_opencl", left_by_opencl, opencl_in_c()),
        test("opencl_from_python", opencl_from_python, python("pyopencl")),
        test("numba", numba, python("numba.cuda")),
    ])
}
