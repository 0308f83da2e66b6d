//! The linker as a program calls it: `libnvJitLink.so.13`, which hands every call on to the library with the engine.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use c_border::{In, Out, Raw, Text};
use libloading::Library;
use nvjitlink_loader::{FUNCTIONS, NOT_THERE};
use ptx_runtime::{Verified, cubin};

/// The file of this library as cargo names it.
const FILE: &str = "libnvjitlink_loader.so";

/// A library that was built with this test.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let found = test.ancestors().skip(1).take(2).map(|f| f.join(name)).find(|f| f.is_file());
    found.unwrap_or_else(|| panic!("{name} is built with its tests"))
}

static LIBRARY: LazyLock<Library> = LazyLock::new(|| load(&built(FILE)));

fn load(file: &Path) -> Library {
    // SAFETY: a library of ours, which does nothing when it is loaded.
    unsafe { Library::new(file) }.unwrap()
}

/// Declares functions, which are looked up by their names.
macro_rules! functions {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        #[allow(non_snake_case)]
        fn $name($($arg: $ty),*) -> u32 {
            type Function = extern "C" fn($($ty),*) -> u32;
            // SAFETY: the interface declares the function with these arguments.
            let function = unsafe { LIBRARY.get::<Function>(stringify!($name).as_bytes()) };
            function.unwrap()($($arg),*)
        }
    )*};
}

functions! {
    nvJitLinkCreate(handle: Out<usize>, count: u32, words: In<usize>);
    nvJitLinkDestroy(handle: Out<usize>);
    nvJitLinkAddData(handle: usize, kind: u32, data: Raw, size: usize, name: Text);
    nvJitLinkAddFile(handle: usize, kind: u32, name: Text);
    nvJitLinkComplete(handle: usize);
    nvJitLinkGetLinkedCubinSize(handle: usize, size: Out<usize>);
    nvJitLinkGetLinkedCubin(handle: usize, out: Raw);
    nvJitLinkGetLinkedPtxSize(handle: usize, size: Out<usize>);
    nvJitLinkGetErrorLogSize(handle: usize, size: Out<usize>);
    nvJitLinkGetErrorLog(handle: usize, out: Raw);
    nvJitLinkVersion(major: Out<u32>, minor: Out<u32>);
}

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
const CALLER: &str = ".extern .func (.reg .b32 r) twice(.reg .b32 a);\n\
    .visible .entry k(.param .u64 p) {\n.reg .b64 %rd<2>; .reg .b32 %r<3>;\nld.param.u64 %rd1, [p];\n\
    ld.global.b32 %r1, [%rd1];\ncall (%r2), twice, (%r1);\nst.global.b32 [%rd1], %r2;\nret;\n}\n";
const CALLEE: &str = ".visible .func (.reg .b32 r) twice(.reg .b32 a) { add.u32 r, a, a; ret; }\n";

fn create(words: &[&str]) -> Result<usize, u32> {
    let words: Vec<CString> = words.iter().map(|w| CString::new(*w).unwrap()).collect();
    let pointers: Vec<usize> = words.iter().map(|w| w.as_ptr().expose_provenance()).collect();
    let mut handle = 0usize;
    let count = u32::try_from(pointers.len()).unwrap();
    match nvJitLinkCreate(Out::to(&mut handle), count, In::of(&pointers)) {
        0 => Ok(handle),
        status => Err(status),
    }
}

fn add(handle: usize, kind: u32, data: &[u8]) -> u32 {
    let data_at = Raw::new(data.as_ptr().expose_provenance());
    nvJitLinkAddData(handle, kind, data_at, data.len(), Text::of(c"input.ptx"))
}

fn bytes(size: impl Fn(Out<usize>) -> u32, get: impl Fn(Raw) -> u32) -> Vec<u8> {
    let mut n = 0usize;
    assert_eq!(size(Out::to(&mut n)), 0);
    let mut out = vec![0u8; n];
    assert_eq!(get(Raw::new(out.as_mut_ptr().expose_provenance())), 0);
    out
}

fn errors(handle: usize) -> String {
    let log = bytes(|s| nvJitLinkGetErrorLogSize(handle, s), |b| nvJitLinkGetErrorLog(handle, b));
    CStr::from_bytes_with_nul(&log).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn two_texts_become_a_file_of_the_driver() {
    let mut handle = create(&["-arch=sm_90", "-lineinfo", "-maxrregcount=64"]).unwrap();
    assert_eq!(add(handle, 2, format!("{HEAD}{CALLER}").as_bytes()), 0);
    assert_eq!(add(handle, 10, format!("{HEAD}{CALLEE}\0").as_bytes()), 0);
    assert_eq!(nvJitLinkComplete(handle), 0, "{}", errors(handle));
    let file =
        bytes(|s| nvJitLinkGetLinkedCubinSize(handle, s), |b| nvJitLinkGetLinkedCubin(handle, b));
    let inner = cubin::container(&file).expect("our assembler's form");
    let verified = Verified::from_bytes(inner.to_vec(), "linked").unwrap();
    assert!(verified.undefined().is_none());
    let needs = verified.resources("k").unwrap().unwrap();
    assert_eq!(needs.tuning.max_nreg, Some(64));
    // PTX is given out only where it was asked for: NVJITLINK_ERROR_LTO_NOT_ENABLED.
    assert_eq!(nvJitLinkGetLinkedPtxSize(handle, Out::to(&mut 0)), 18);
    assert_eq!(nvJitLinkDestroy(Out::to(&mut handle)), 0);
    assert_eq!(handle, 0);
}

/// numba-cuda adds `libcudadevrt.a` for kernels that synchronise their grid.
#[test]
fn the_device_runtime_is_built_in() {
    let text = format!(
        "{HEAD}.extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 s);\n\
        .visible .entry k(.param .u64 p) {{\n.reg .b64 %rd<2>;\n{{ .param .b32 s; .param .b64 h;\n\
        st.param.b32 [s], 1; call (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %rd1, [h]; }}\nret;\n}}\n"
    );
    let library = b"!<arch>\ncuda_device_runtime.o/ machine code";
    for text in [text, format!("{HEAD}{CALLER}")] {
        let handle = create(&["-arch=sm_90"]).unwrap();
        assert_eq!(add(handle, 6, library), 0, "{}", errors(handle));
        assert_eq!(add(handle, 2, text.as_bytes()), 0, "{}", errors(handle));
        let status = nvJitLinkComplete(handle);
        if text.contains("twice") {
            // What the library may have had is missing: NVJITLINK_ERROR_FINALIZE.
            assert_eq!((status, errors(handle).contains("`twice`")), (9, true));
            continue;
        }
        assert_eq!(status, 0, "{}", errors(handle));
        let file = bytes(
            |s| nvJitLinkGetLinkedCubinSize(handle, s),
            |b| nvJitLinkGetLinkedCubin(handle, b),
        );
        let inner = cubin::container(&file).expect("our assembler's form");
        let verified = Verified::from_bytes(inner.to_vec(), "linked").unwrap();
        assert!(verified.undefined().is_none());
    }
    // Text is no library.
    let handle = create(&["-arch=sm_90"]).unwrap();
    assert_eq!(add(handle, 6, format!("{HEAD}{CALLEE}").as_bytes()), 12);
}

#[test]
fn what_was_linked_is_linked_again() {
    let object = create(&["-arch=sm_90", "-r"]).unwrap();
    assert_eq!(add(object, 2, format!("{HEAD}{CALLER}").as_bytes()), 0);
    assert_eq!(nvJitLinkComplete(object), 0, "{}", errors(object));
    let file =
        bytes(|s| nvJitLinkGetLinkedCubinSize(object, s), |b| nvJitLinkGetLinkedCubin(object, b));
    let program = create(&["-arch=sm_90"]).unwrap();
    assert_eq!(add(program, 1, &file), 0, "{}", errors(program));
    assert_eq!(nvJitLinkComplete(program), 9, "a function is missing");
    assert!(errors(program).contains("`twice`"), "{}", errors(program));
    assert_eq!(add(program, 2, format!("{HEAD}{CALLEE}").as_bytes()), 0);
    assert_eq!(nvJitLinkComplete(program), 0, "{}", errors(program));
}

#[test]
fn refusals_have_codes_and_words() {
    assert_eq!(create(&["-O3"]), Err(2));
    assert_eq!(create(&["-arch=sm_90", "-what"]), Err(1));
    let handle = create(&["-arch=sm_90"]).unwrap();
    assert_eq!(nvJitLinkComplete(handle), 3);
    assert_eq!(add(handle, 1, b"\x7fELF of a device"), 8);
    assert!(errors(handle).contains("hand over PTX"), "{}", errors(handle));
    assert_eq!(add(handle, 3, b"BC"), 12);
    assert_eq!(add(handle, 2, b"int main() {}"), 8);
    assert_eq!(add(handle, 99, b"x"), 3);
    assert_eq!(add(handle, 2, format!("{HEAD}.visible .entry k() {{ bogus; }}").as_bytes()), 0);
    assert_eq!(nvJitLinkComplete(handle), 4);
    assert!(errors(handle).contains("bogus"), "{}", errors(handle));
    let newer = create(&["-arch=sm_80"]).unwrap();
    let text = format!("{}.visible .entry k() {{ ret; }}", HEAD.replace("sm_80", "sm_90"));
    assert_eq!(add(newer, 2, text.as_bytes()), 0);
    assert_eq!(nvJitLinkComplete(newer), 13);
}

#[test]
fn foreign_handles_and_null_pointers_are_codes() {
    assert_eq!(nvJitLinkCreate(Out::new(0), 0, In::new(0)), 10);
    assert_eq!(nvJitLinkDestroy(Out::new(0)), 10);
    assert_eq!(nvJitLinkComplete(0xdead), 3);
    let mut gone = create(&["-arch=sm_90"]).unwrap();
    let kept = gone;
    assert_eq!(nvJitLinkDestroy(Out::to(&mut gone)), 0);
    assert_eq!(nvJitLinkComplete(kept), 3);
    let handle = create(&["-arch=sm_90"]).unwrap();
    assert_eq!(nvJitLinkAddData(handle, 2, Raw::none(), 9, Text::of(c"n")), 10);
    assert_eq!(nvJitLinkAddFile(handle, 2, Text::of(c"/no/such/file")), 3);
    assert_eq!(nvJitLinkGetLinkedCubinSize(handle, Out::to(&mut 0)), 3);
    assert_eq!(nvJitLinkGetErrorLogSize(handle, Out::new(0)), 10);
}

/// `nvJitLinkComplete` and its like, called with a handle that is none.
type OnHandle = extern "C" fn(usize, usize, usize, usize, usize) -> u32;

fn on_no_handle(library: &Library, name: &str) -> u32 {
    // SAFETY: at most five arguments, all of them numbers or addresses; null is an error and a wrong handle is one.
    let function = unsafe { library.get::<OnHandle>(name.as_bytes()) };
    function.unwrap_or_else(|e| panic!("{name}: {e}"))(0, 0, 0, 0, 0)
}

#[test]
fn every_name_leads_to_the_engine() {
    let (mut major, mut minor) = (0, 0);
    assert_eq!(nvJitLinkVersion(Out::to(&mut major), Out::to(&mut minor)), 0);
    assert_eq!((major, minor), (12, 0));
    let core = load(&built("libptxrun_core.so"));
    for name in FUNCTIONS {
        let status = on_no_handle(&core, name);
        assert!([3, 10].contains(&status), "{name}: {status}");
        assert_eq!(on_no_handle(&LIBRARY, name), status, "{name}");
        let versions = if *name == "nvJitLinkVersion" { 0..0 } else { 0..6 };
        for version in versions {
            assert_eq!(on_no_handle(&LIBRARY, &format!("__{name}_13_{version}")), status);
        }
    }
}

/// A folder with nothing but this library, under the name that programs look for.
fn alone(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("libnvJitLink.so.13");
    std::fs::copy(built(FILE), &file).unwrap();
    file
}

/// Runs one of the tests below in a process of its own, which loads the library of a folder.
fn apart(test: &str, file: &Path, libraries: Option<&Path>) {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", test, "--ignored"]).env("NVJITLINK", file);
    program.env_remove("LD_LIBRARY_PATH").envs(libraries.map(|folder| ("LD_LIBRARY_PATH", folder)));
    let out = program.output().unwrap();
    let told = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && told.contains("1 passed"), "{told}");
}

#[test]
fn without_the_engine_every_function_answers_a_code() {
    apart("without_engine", &alone("without"), None);
}

#[test]
#[ignore = "without_the_engine_every_function_answers_a_code runs it, in a process of its own"]
fn without_engine() {
    let library = load(Path::new(&std::env::var_os("NVJITLINK").unwrap()));
    for name in FUNCTIONS {
        assert_eq!(on_no_handle(&library, name), NOT_THERE, "{name}");
    }
}

#[test]
fn the_engine_that_a_program_has_loaded_serves() {
    let file = alone("loaded");
    let link = file.with_file_name("libcuda.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(built("libptxrun_core.so"), &link).unwrap();
    apart("with_a_driver", &file, file.parent());
}

#[test]
#[ignore = "the_engine_that_a_program_has_loaded_serves runs it, in a process of its own"]
fn with_a_driver() {
    let library = load(Path::new(&std::env::var_os("NVJITLINK").unwrap()));
    let _driver = load(Path::new("libcuda.so.1"));
    assert_eq!(on_no_handle(&library, "nvJitLinkComplete"), 3);
}
