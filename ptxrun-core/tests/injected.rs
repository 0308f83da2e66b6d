//! Faults put into programs of both APIs: memory, mappings and threads that are not to be had, forks, signals, threads
//! that end, clocks that jump, writers of the cache that are killed, outputs that take nothing. The programs are in C
//! (`injected/`) and look at what they get: a code or what is right, never a signal, and nobody waits for ever.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// No program of this test takes so long.
const LONG: Duration = Duration::from_secs(120);

/// A folder with a program compiled, the library under the names by which it is found, and what makes faults.
struct Place {
    folder: PathBuf,
    api: &'static str,
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn cc(folder: &Path, words: &[&str]) {
    let mut command = Command::new("cc");
    let out = command.current_dir(folder).args(["-O1", "-Wall", "-Werror"]).args(words).output();
    let out = out.expect("a compiler");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

impl Place {
    fn new(api: &'static str, test: &str) -> Place {
        let name = format!("ptxrun-injected-{api}-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let own = std::env::current_exe().unwrap();
        let mut built = own.ancestors().skip(1).take(2).map(|f| f.join("libptxrun_core.so"));
        let library = built.find(|f| f.is_file()).expect("the library is built with its tests");
        std::os::unix::fs::symlink(&library, folder.join("libcuda.so.1")).unwrap();
        std::fs::write(folder.join("ptxrun.icd"), library.as_os_str().as_encoded_bytes()).unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/injected");
        let source = |file: &str| sources.join(file).display().to_string();
        cc(&folder, &["-shared", "-fPIC", &source("faults.c"), "-o", "faults.so", "-ldl"]);
        let link: &[&str] = match api {
            "cuda" => &["./libcuda.so.1", "-Wl,-rpath,$ORIGIN"],
            _ => &["-lOpenCL"],
        };
        cc(&folder, &[&[&source(&format!("{api}.c")), "-o", "program", "-pthread"], link].concat());
        Place { folder, api }
    }

    /// The program in a mode, with these variables.
    fn command(&self, mode: &str, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(self.folder.join("program"));
        command.current_dir(&self.folder).arg(mode).env("OCL_ICD_VENDORS", &self.folder);
        // Every engine has its part: small launches are interpreted otherwise.
        command.env("PTXRUN_BACKEND", "jit").env("PTXRUN_CACHE_DIR", "").env("RUST_BACKTRACE", "1");
        if variables.iter().any(|(name, _)| *name == "FAULT") {
            command.env("LD_PRELOAD", self.folder.join("faults.so"));
        }
        command.envs(variables.iter().copied());
        command
    }

    /// What it came to; it ends by itself.
    fn run(&self, mode: &str, variables: &[(&str, &str)]) -> Output {
        let mut command = self.command(mode, variables);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > LONG {
                child.kill().unwrap();
                panic!("{} {mode} {variables:?} does not end", self.api);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output().unwrap()
    }

    /// Runs it: all must be well. What it printed.
    fn must(&self, mode: &str, variables: &[(&str, &str)]) -> String {
        let out = self.run(mode, variables);
        self.judge(mode, variables, &out)
    }

    fn judge(&self, mode: &str, variables: &[(&str, &str)], out: &Output) -> String {
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        let errors = String::from_utf8_lossy(&out.stderr);
        let what = format!("{} {mode} {variables:?}: {}\n{said}{errors}", self.api, out.status);
        assert!(out.status.success(), "{what}");
        // A panic becomes a code, and what it left half done stays.
        assert!(!errors.contains("panicked"), "{what}");
        said
    }

    /// How many calls of the program there are that might fail so.
    fn calls(&self, fault: &str) -> u64 {
        let said = self.must("faults", &[("FAULT", fault), ("FAULT_AT", "1000000000")]);
        let calls = said.lines().find_map(|l| l.strip_suffix(" calls")).expect("a number");
        calls.parse().unwrap()
    }
}

const APIS: [&str; 2] = ["cuda", "opencl"];

/// Whether a process ended because a thread had no memory for its own data: its handle, for which Rust's standard library
/// asks the C library itself, past every allocator that a program may choose, a destructor of its variables, which the
/// C library keeps, or the variables of a library that was loaded later, for which glibc's loader finds the room when
/// the thread first uses one. Nobody can stand in there (docs/robustness.md).
fn lacks_data_of_a_thread(out: &Output) -> bool {
    let errors = String::from_utf8_lossy(&out.stderr);
    let asked = ["std::thread::thread::Thread>::new", "failed to register TLS destructor"];
    let by_rust = asked.iter().any(|text| errors.contains(text));
    let by_loader = errors.contains("cannot allocate memory for thread-local data");
    out.status.signal() == Some(libc::SIGABRT) && by_rust
        || out.status.code() == Some(127) && by_loader
}

/// Lets about `turns` of the calls fail, one at a time, and where that is asked for, all from there on.
fn fail(fault: &'static str, turns: u64, from_there_on: bool) {
    for api in APIS {
        let place = Place::new(api, fault);
        let calls = place.calls(fault);
        assert!(calls > 0, "{api}: nothing can fail by {fault}");
        let (mut codes, mut threads) = (0, 0);
        let step = (calls / turns).max(1);
        for at in (0..calls).step_by(step as usize) {
            // Another place in every part.
            let at = (at + at * 7919 % step).to_string();
            for ever in [false, true].iter().copied().take(1 + usize::from(from_there_on)) {
                let mut variables = vec![("FAULT", fault), ("FAULT_AT", &*at)];
                if ever {
                    variables.push(("FAULT_EVER", "1"));
                }
                let out = place.run("faults", &variables);
                if fault == "memory" && lacks_data_of_a_thread(&out) {
                    threads += 1;
                    continue;
                }
                let said = place.judge("faults", &variables, &out);
                codes += u32::from(said.contains(" gave "));
            }
        }
        println!("{api}, {fault}: {calls} calls might fail, {codes} times the program got a code");
        assert!(threads <= turns / 20, "{threads} times a thread lacked its own data");
    }
}

fn memory_runs_out() {
    // Not from there on: the C library itself ends a process that has not a byte left.
    fail("memory", 60, false);
}
fn large_blocks_are_not_to_be_had() {
    fail("large", 40, true);
}
fn mappings_fail() {
    fail("map", 20, true);
}
fn threads_cannot_be_made() {
    fail("thread", 20, true);
}

fn every(modes: &[&str], variables: &[(&str, &str)]) {
    for api in APIS {
        let place = Place::new(api, modes[0]);
        for mode in modes {
            place.must(mode, variables);
        }
    }
}

fn processes_fork() {
    every(&["fork"], &[]);
}
fn signals_come() {
    every(&["signals"], &[]);
}
fn threads_end() {
    every(&["exit", "cancel", "threads"], &[]);
}
fn clocks_jump() {
    for api in APIS {
        let place = Place::new(api, "clock");
        let cache = place.folder.join("cache").display().to_string();
        let variables =
            [("FAULT", "clock"), ("PTXRUN_TIMEOUT", "60"), ("PTXRUN_CACHE_DIR", &cache)];
        for mode in ["plain", "threads"] {
            place.must(mode, &variables);
        }
    }
}

/// Processes that fill a cache are killed before each change of a file: what is in it afterwards is whole.
fn writers_are_killed() {
    for api in APIS {
        let place = Place::new(api, "writers");
        let cache = place.folder.join("cache");
        let kept = ("PTXRUN_CACHE_DIR", cache.to_str().unwrap());
        let count = place.must("faults", &[kept, ("FAULT", "kill"), ("FAULT_AT", "1000000")]);
        let calls: u64 =
            count.lines().find_map(|l| l.strip_suffix(" calls")?.parse().ok()).unwrap();
        assert!(calls >= 4, "{api}: {count}");
        for at in 0..calls {
            let _ = std::fs::remove_dir_all(&cache);
            let variables = [kept, ("FAULT", "kill"), ("FAULT_AT", &*at.to_string())];
            let killed = place.run("faults", &variables);
            assert_eq!(killed.status.signal(), Some(libc::SIGKILL), "{api}, call {at}");
            let out = place.run("plain", &[kept]);
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success() && said.is_empty(), "{api}, call {at}: {said}");
        }
    }
}

/// Nobody reads what the library says, and the program ignores that signal, as Python does; or the disk is full.
fn nobody_listens() {
    for api in APIS {
        let place = Place::new(api, "closed");
        for to in ["2>/dev/full", "2>&-", "2> >(exec true)"] {
            let line = format!("trap '' PIPE; sleep 0.1; exec ./program plain {to}");
            let mut shell = Command::new("bash");
            shell.args(["-c", &line]).current_dir(&place.folder);
            // A variable that there is none of is named, and the folder of the cache cannot be made.
            shell.env("PTXRUN_MEMROY", "1").env("PTXRUN_CACHE_DIR", "/proc/no/such");
            shell.env("PTXRUN_BACKEND", "jit").env("OCL_ICD_VENDORS", &place.folder);
            let out = shell.output().unwrap();
            assert_eq!(out.status.signal(), None, "{api} {to}");
            assert!(out.status.success(), "{api} {to}: {out:?}");
        }
    }
}

/// `ulimit -v` of 2 GB, which batch systems set.
fn address_space_is_limited() {
    for api in APIS {
        let place = Place::new(api, "space");
        let plain = place.command("plain", &[]);
        let mut shell = Command::new("bash");
        shell.args(["-c", "ulimit -v 2000000; exec ./program plain"]).current_dir(&place.folder);
        shell.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let out = shell.output().unwrap();
        assert!(out.status.success(), "{api}: {out:?}");
    }
}

fn valgrind_runs_them() {
    for api in APIS {
        let place = Place::new(api, "valgrind");
        let plain = place.command("plain", &[]);
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["-q", "--tool=none", "./program", "plain"]).current_dir(&place.folder);
        valgrind.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let out = valgrind.output().unwrap();
        assert!(out.status.success(), "{api}: {out:?}");
    }
}

golden::tests! {
    address_space_is_limited: opencl_in_c(),
    valgrind_runs_them: both(opencl_in_c(), program(&["valgrind", "--version"]).in_ci()),
    memory_runs_out: opencl_in_c(),
    large_blocks_are_not_to_be_had: opencl_in_c(),
    mappings_fail: opencl_in_c(),
    threads_cannot_be_made: opencl_in_c(),
    processes_fork: opencl_in_c(),
    signals_come: opencl_in_c(),
    threads_end: opencl_in_c(),
    clocks_jump: opencl_in_c(),
    writers_are_killed: opencl_in_c(),
    nobody_listens: opencl_in_c(),
}
