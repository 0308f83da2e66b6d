//! `ptxrun debug -- PROGRAM`: with this test as the program, which loads the CUDA driver and launches a kernel twice;
//! with an OpenCL program in C; and with a Python program.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

const TWICE: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 data)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
add:
    add.u32 %r2, %r2, %r2;
    st.global.u32 [%rd1], %r2;
    ret;
}
";

/// The folder that holds the library, which was built with this test.
fn folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let places = test.ancestors().skip(1).take(2);
    let found = places.map(Path::to_owned).find(|f| f.join("libptxrun_core.so").is_file());
    found.expect("the library is built with its tests")
}

/// The program: what it prints is the elements after two launches.
fn program() {
    // SAFETY: the library's initialisers are those of the driver.
    let driver = unsafe { libloading::Library::new("libcuda.so.1") }.unwrap();
    macro_rules! call {
        ($name:literal ($($ty:ty = $value:expr),*)) => {{
            // SAFETY: the function has this signature in the driver's interface.
            let f = unsafe { driver.get::<unsafe extern "C" fn($($ty),*) -> c_int>($name.as_bytes()) }.unwrap();
            // SAFETY: what it is given lives until it returns.
            unsafe { f($($value),*) }
        }};
    }
    let text = CString::new(TWICE).unwrap();
    let (mut device, mut context) = (0, std::ptr::null_mut::<c_void>());
    let (mut module, mut function) =
        (std::ptr::null_mut::<c_void>(), std::ptr::null_mut::<c_void>());
    let (mut buffer, mut data) = (0u64, [1u32, 2, 3, 4]);
    assert_eq!(call!("cuInit"(u32 = 0)), 0);
    assert_eq!(call!("cuDeviceGet"(*mut c_int = &mut device, c_int = 0)), 0);
    assert_eq!(
        call!("cuCtxCreate_v2"(*mut *mut c_void = &mut context, u32 = 0, c_int = device)),
        0
    );
    let image = text.as_ptr().cast::<c_void>();
    assert_eq!(call!("cuModuleLoadData"(*mut *mut c_void = &mut module, *const c_void = image)), 0);
    let name = c"twice".as_ptr();
    let found = call!("cuModuleGetFunction"(*mut *mut c_void = &mut function, *mut c_void = module, *const c_char = name));
    assert_eq!(found, 0);
    assert_eq!(call!("cuMemAlloc_v2"(*mut u64 = &mut buffer, usize = 16)), 0);
    let bytes = data.as_ptr().cast::<c_void>();
    assert_eq!(call!("cuMemcpyHtoD_v2"(u64 = buffer, *const c_void = bytes, usize = 16)), 0);
    for _ in 0..2 {
        let mut args = [(&raw mut buffer).cast::<c_void>()];
        let launched = call!("cuLaunchKernel"(
            *mut c_void = function, u32 = 1, u32 = 1, u32 = 1, u32 = 4, u32 = 1, u32 = 1, u32 = 0,
            *mut c_void = std::ptr::null_mut(), *mut *mut c_void = args.as_mut_ptr(),
            *mut *mut c_void = std::ptr::null_mut()
        ));
        assert_eq!(launched, 0);
        assert_eq!(call!("cuCtxSynchronize"()), 0);
    }
    let bytes = data.as_mut_ptr().cast::<c_void>();
    assert_eq!(call!("cuMemcpyDtoH_v2"(*mut c_void = bytes, u64 = buffer, usize = 16)), 0);
    println!("program: {data:?}");
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

/// What a session with this test as the program comes to: exit status and output.
fn session(commands: &[&str], more: &[&str]) -> (i32, String) {
    let own = std::env::current_exe().unwrap();
    session_with(&[own.to_str().unwrap(), "--as-program"], commands, more)
}

/// What a session with a program comes to.
fn session_with(program: &[&str], commands: &[&str], more: &[&str]) -> (i32, String) {
    static SESSIONS: AtomicU32 = AtomicU32::new(0);
    let own = std::env::current_exe().unwrap();
    let mut debug = Command::new(own);
    debug.args(["--as-command", "ptxrun", "debug", "--batch"]).args(more);
    for command in commands {
        debug.args(["-e", command]);
    }
    debug.arg("--").args(program);
    let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
    let name = format!("ptxrun-debugged-{}-{number}", std::process::id());
    let cache = std::env::temp_dir().join(name);
    debug.env("XDG_CACHE_HOME", &cache).env("PTXRUN_LIBDIR", folder());
    let out = debug.output().unwrap();
    let _ = std::fs::remove_dir_all(cache);
    let told =
        format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    (out.status.code().unwrap(), told)
}

fn launches_of_a_program_stop() {
    let commands = [
        "break add if %tid.x == 2",
        "run",
        "print %r2",
        "reverse-stepi",
        "stepi",
        "set %r2 = 10",
        "continue",
        "continue",
        "catch launch off",
        "run",
        "print %r2",
        "continue",
    ];
    let (status, text) = session(&commands, &[]);
    assert_eq!(status, 0, "{text}");
    let lines = [
        "twice: grid (1,1,1), block (4,1,1)",
        "(ptx) break add if %tid.x == 2",
        "breakpoint 1, lanes 0x00000004",
        "(ptx) print %r2\n%r2 = 3 (0x3)",
        "(ptx) set %r2 = 10",
        "the launch has ended",
        "twice: grid (1,1,1), block (4,1,1)",
        "breakpoint 1, lanes 0x00000004",
        "%r2 = 20 (0x14)",
        "program: [4, 8, 40, 16]",
    ];
    holds(&text, &lines);
}

/// Whether these stand in the text, one behind the other.
fn holds(text: &str, lines: &[&str]) {
    let mut rest = text;
    for line in lines {
        let at = rest.find(line).unwrap_or_else(|| panic!("{line:?} is missing\n{text}"));
        rest = &rest[at + line.len()..];
    }
}

/// A file of the programs.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debugged").join(name)
}

fn an_opencl_program_in_c_stops() {
    let folder = std::env::temp_dir().join(format!("ptxrun-debugged-host-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let host = folder.join("host");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Werror"]).arg(source("host.c")).arg("-o").arg(&host).arg("-lOpenCL");
    assert!(cc.status().unwrap().success());
    let commands = [
        "break square",
        "run",
        "delete",
        "tbreak 6 if i == 3",
        "continue",
        "print was",
        "stepi 8",
        "print a[i]",
        "reverse-next",
        "print a[i]",
        "set was = 10",
        "continue",
        "continue",
        "break 12 if i == 4 && k == 3",
        "run",
        "info locals",
        "print a[k]",
        "who sum",
        "delete",
        "continue",
        "continue",
    ];
    let (status, text) = session_with(&[host.to_str().unwrap()], &commands, &[]);
    let _ = std::fs::remove_dir_all(folder);
    assert_eq!(status, 0, "{text}");
    // The last item does nothing, and the third has 10 * 10.
    holds(&text, &["program: 0 1 5 105 121 146 182 189\n"]);
    let lines = [
        "square: grid",
        "(ptx) break square",
        "(ptx) print was\nwas = 3",
        "(ptx) stepi 8",
        "(ptx) print a[i]\na[i] = 9",
        "(ptx) reverse-next",
        "(ptx) print a[i]\na[i] = 3",
        "(ptx) set was = 10",
        "the launch has ended",
        "running: grid",
        "(ptx) info locals",
        "sum",
        "(ptx) print a[k]\na[k] = 100",
        "(ptx) who sum",
        "was written last at time",
        "the launch has ended",
    ];
    holds(&text, &lines);
}

fn a_python_program_stops() {
    let program = source("host.py");
    let program = ["python3", program.to_str().unwrap()];
    let commands = [
        "break add if %tid.x == 1",
        "run",
        "print %r2",
        "lanes %r2",
        "continue",
        "continue",
        "info args",
        "run",
        "print %r2",
        "who %r2",
        "reverse-stepi",
        "goto end",
        "x/4u32 %rd1",
        "continue",
    ];
    let (status, text) = session_with(&program, &commands, &[]);
    assert_eq!(status, 0, "{text}");
    let lines = [
        "raise: grid (1,1,1), block (4,1,1)",
        "breakpoint 1, lanes 0x00000002",
        "(ptx) print %r2\n%r2 = 2 (0x2)",
        "the launch has ended",
        "raise: grid (1,1,1), block (4,1,1)",
        "(ptx) print %r2\n%r2 = 12 (0xc)",
        "ld.global.u32 %r2, [%rd1];",
        "the launch has ended",
        "program: 111 112 113 114",
    ];
    holds(&text, &lines);
    // Its end is the debugger's: the launch is an error of the driver.
    let (status, text) = session_with(&program, &["run", "quit"], &[]);
    assert_eq!((status, text.contains("program: 111")), (0, false), "{text}");
}

fn answers_may_be_json() {
    let (status, text) = session(&["run", "continue", "run", "continue"], &["--json"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("{\"kind\":\"note\""), "{text}");
    assert!(text.contains("program: [4, 8, 12, 16]"), "{text}");
}

fn the_end_of_commands_ends_the_program() {
    let (status, text) = session(&["run"], &[]);
    assert_eq!(status, 0, "{text}");
    assert!(!text.contains("program:"), "{text}");
    let (status, text) = session(&["quit"], &[]);
    assert_eq!((status, text.contains("program:")), (0, false), "{text}");
}

fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("--as-program") => {
            program();
            std::process::ExitCode::SUCCESS
        }
        Some("--as-command") => std::process::ExitCode::from(command(&words[2..]) as u8),
        _ => {
            use golden::need::{nothing, opencl_in_c, program as needs, run, test};
            run(vec![
                test("launches_of_a_program_stop", launches_of_a_program_stop, nothing()),
                test("answers_may_be_json", answers_may_be_json, nothing()),
                test(
                    "the_end_of_commands_ends_the_program",
                    the_end_of_commands_ends_the_program,
                    nothing(),
                ),
                test("an_opencl_program_in_c_stops", an_opencl_program_in_c_stops, opencl_in_c()),
                test(
                    "a_python_program_stops",
                    a_python_program_stops,
                    needs(&["python3", "--version"]),
                ),
            ])
        }
    }
}
