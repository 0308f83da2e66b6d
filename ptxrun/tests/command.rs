//! The command as a user meets it: arguments, output, files, exit status.

mod common;

use std::process::{Command, Stdio};

use common::{Folder, Outcome, TWICE, command, ptxrun, ptxrun_with, sample};
use ptxrun::npy;
use ptxrun::values::ElementType;
use serde_json::Value;

#[test]
fn a_kernel_runs_from_arguments_alone() {
    let folder = Folder::new("arguments");
    let (npy_file, bin_file) = (folder.file("out.npy"), folder.file("out.bin"));
    let (npy_out, bin_out) = (format!("0={npy_file}"), format!("0={bin_file}"));
    let line = [
        "-",
        "--block",
        "4",
        "--arg",
        "f32[4]:iota",
        "--arg",
        "f32:1.5",
        "--print",
        "0:f32:3",
        "--out",
        &npy_out,
        "--out",
        &bin_out,
    ];
    let outcome = ptxrun_with(&line, TWICE);
    assert_eq!((outcome.status, &*outcome.stdout), (0, "0: 0 1.5 3\n"), "{}", outcome.stderr);
    let array = npy::read(&std::fs::read(npy_file).unwrap()).unwrap();
    assert_eq!((array.ty, array.shape), (ElementType::F32, vec![4]));
    let expected: Vec<u8> = [0f32, 1.5, 3.0, 4.5].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(array.bytes, expected);
    assert_eq!(std::fs::read(bin_file).unwrap(), expected);
}

/// `ulimit -v` of 2 GB: continuous integration and batch systems set it. The memory of the device fits into it.
#[test]
fn a_kernel_runs_where_address_space_is_limited() {
    let line = "ulimit -v 2000000 && exec \"$0\" - --block 4 --arg f32[4]:iota --arg f32:1.5 --print 0:f32:3";
    let mut shell = Command::new("bash");
    let outcome = Outcome::of(shell.args(["-c", line, env!("CARGO_BIN_EXE_ptxrun")]), TWICE);
    assert_eq!((outcome.status, &*outcome.stdout), (0, "0: 0 1.5 3\n"), "{}", outcome.stderr);
}

#[test]
fn files_go_in_and_out() {
    let folder = Folder::new("files");
    let input = folder.file("in.npy");
    let array = npy::Array {
        ty: ElementType::F32,
        shape: vec![2, 2],
        bytes: [1f32, 2.0, 3.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect(),
    };
    std::fs::write(&input, npy::write(&array)).unwrap();
    let (arg, out) = (format!("buf:@{input}"), format!("0={input}"));
    let line = ["-", "--block", "4", "--arg", &arg, "--arg", "f32:2", "--out", &out, "--json"];
    let outcome = ptxrun_with(&line, TWICE);
    assert_eq!(outcome.status, 0, "{}", outcome.stdout);
    assert_eq!(outcome.json()["launches"][0]["entry"], "twice");
    let back = npy::read(&std::fs::read(&input).unwrap()).unwrap();
    assert_eq!(back.shape, [2, 2]);
    assert_eq!(back.bytes[4..8], 4f32.to_le_bytes());
}

#[test]
fn without_arguments_the_entries_are_listed_and_the_suggestion_runs() {
    let file = sample("vecadd/vecadd.nvcc13.sm_75.ptx");
    let outcome = ptxrun(&[&file]);
    assert_eq!(outcome.status, 0);
    assert!(outcome.stdout.starts_with("vecadd (line 15)\n    0  vecadd_param_0  .u64 pointer?\n"));
    let command = outcome.stdout.lines().find(|l| l.trim().starts_with("ptxrun ")).unwrap();
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let suggested = ptxrun(&words);
    assert_eq!(suggested.status, 0, "{}", suggested.stderr);
    // Sums of noise, of which none is zero.
    assert!(
        suggested.stdout.starts_with("2: ") && !suggested.stdout.contains(" 0 "),
        "{}",
        suggested.stdout
    );
    let json = ptxrun(&[&file, "--json"]).json();
    assert_eq!(json["entries"][0]["params"][3]["type"], ".u32");
}

#[test]
fn launch_files_run_and_their_checks_decide() {
    let tiled = ptxrun(&[&sample("matmul_tiled/matmul.toml")]);
    assert_eq!(tiled.status, 0, "{}", tiled.stderr);
    assert_eq!(tiled.stdout.matches("ok      C: 1536 x f32, every bit as expected").count(), 4);
    let json = ptxrun(&["run", "--launch", &sample("printf/hello.toml"), "--json"]).json();
    assert_eq!(json["ok"], true);
    assert!(json["modules"][0]["stdout"].as_str().unwrap().starts_with("block 0 thread 0: x ="));

    let folder = Folder::new("launch");
    std::fs::write(folder.file("twice.ptx"), TWICE).unwrap();
    let text = "modules = [\"twice.ptx\"]\n[buffer]\nx = { type = \"f32\", len = 2, init = \"iota\" }\n\
        [[launch]]\nentry = \"twice\"\nblock = 2\nargs = [\"buf:x\", \"f32:3\"]\n\
        [[check]]\nbuffer = \"x\"\nvalues = [0, 4]\n";
    let file = folder.file("wrong.toml");
    std::fs::write(&file, text).unwrap();
    let wrong = ptxrun(&[&file]);
    assert_eq!(wrong.status, 1);
    assert!(
        wrong.stdout.contains("FAILED  x: 1 of 2 elements differ\n          [1] is 3, expected 4")
    );
    std::fs::write(&file, text.replace("buf:x", "buf:y")).unwrap();
    let unknown = ptxrun(&[&file]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("no buffer is named `y`") && unknown.stderr.contains("^^^^^"));
    assert_eq!(ptxrun(&[&file, "--json"]).json()["error"]["line"], 7);
}

#[test]
fn check_tells_valid_from_invalid() {
    let valid = ptxrun_with(&["check", "-"], TWICE);
    assert_eq!((valid.status, &*valid.stdout), (0, "<stdin>: valid\n"));
    let broken = TWICE.replace("mul.rn.f32", "mull.rn.f32").replace("[scale]", "[scales]");
    let invalid = ptxrun_with(&["check", "-"], &broken);
    assert_eq!((invalid.status, &*invalid.stdout), (1, "<stdin>: 2 errors\n"));
    assert!(invalid.stderr.contains("<stdin>:15:5"), "{}", invalid.stderr);
    let json = ptxrun_with(&["check", "-", "--json"], &broken).json();
    assert_eq!(json["files"][0]["valid"], false);
    assert_eq!(json["files"][0]["diagnostics"][0]["start"]["line"], 10);
    assert_eq!(ptxrun(&["check", "/no/such/file.ptx"]).status, 2);
    assert!(!invalid.stderr.contains('\u{1b}'), "no colour into a pipe");
    let coloured = ptxrun_with(&["check", "-", "--color", "always"], &broken);
    assert!(coloured.stderr.contains('\u{1b}'));
}

#[test]
fn wrong_usage_is_told_from_failure() {
    let run = |args: &[&str]| {
        let mut line = vec!["-", "--block", "4"];
        line.extend(args);
        ptxrun_with(&line, TWICE)
    };
    let count = run(&["--arg", "buf:16"]);
    assert_eq!(count.status, 2);
    assert!(count.stderr.contains("takes 2 arguments, 1 given"), "{}", count.stderr);
    let kind = run(&["--arg", "buf:16", "--arg", "u32:3"]);
    assert_eq!(kind.status, 2);
    assert!(
        kind.stderr.contains("argument 1 is u32, parameter `scale` is .f32; write b32:0x00000003")
    );
    assert_eq!(run(&["--arg", "buf:16", "--arg", "b32:0x40000000"]).status, 0);
    let print = run(&["--arg", "buf:16", "--arg", "f32:1", "--print", "1:f32"]);
    assert_eq!(print.status, 2);
    assert!(print.stderr.contains("`1` is no buffer argument; buffers are 0"));
    assert_eq!(run(&["--entry", "thrice", "--arg", "buf:16"]).status, 2);
    let fault = run(&["--arg", "buf:8", "--arg", "f32:1"]);
    assert_eq!(fault.status, 1);
    let json = run(&["--arg", "buf:8", "--arg", "f32:1", "--json"]).json();
    assert_eq!(json["error"]["fault"]["kind"], "OutOfBounds");
    assert_eq!(json["error"]["fault"]["thread"], serde_json::json!([2, 0, 0]));
}

#[test]
fn what_cannot_run_is_refused_by_name_and_line() {
    let get = "fabric.try_get.async.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric\
               .relaxed.sys.b128";
    let text = TWICE
        .replace(".version 8.0\n.target sm_80", ".version 9.3\n.target sm_100")
        .replace("ret;", &format!("{get} [%r1], [%r1, %rd1], %r1, [%r1];\n    ret;"));
    let outcome = ptxrun_with(&["-", "--block", "4", "--arg", "buf:16", "--arg", "f32:1"], &text);
    assert_eq!(outcome.status, 1);
    assert!(
        outcome.stderr.contains(&format!("`{get}` cannot run"))
            && outcome.stderr.contains("<stdin>:17:5"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn canonical_form_is_a_fixed_point() {
    let folder = Folder::new("fmt");
    let file = folder.file("k.ptx");
    std::fs::copy(sample("nbody/nbody.nvcc13.sm_90.ptx"), &file).unwrap();
    let once = ptxrun(&["fmt", &file]);
    assert_eq!(once.status, 0);
    assert_eq!(ptxrun(&["fmt", "-i", &file]).status, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), once.stdout);
    assert_eq!(ptxrun(&["fmt", &file, "--json"]).json()["changed"], false);
    assert_eq!(ptxrun_with(&["fmt", "-"], ".version 8.0\n.target").status, 1);
}

#[test]
fn the_table_is_shown_and_explained() {
    let list = ptxrun(&["isa", "fma.rnd"]);
    assert!(list.status == 0 && list.stdout.contains("fma.rnd{.ftz}{.sat}.f32 d, a, b, c"));
    assert!(ptxrun(&["isa", "--coverage"]).stdout.contains("total"));
    assert!(ptxrun(&["explain", "fma"]).stdout.contains("PTX ISA, section"));
    let typo = ptxrun(&["explain", "fmaa"]);
    assert!(typo.status == 1 && typo.stderr.contains("did you mean"));
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let mut child =
        command(&["isa", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn forms_outside_ptx_need_lenient() {
    let text = TWICE
        .replace(".reg .b64 %rd<3>;", ".reg .b64 %rd<3>; .reg .f64 %d<2>;")
        .replace("    ret;", "    ex2.approx.f64 %d1, %d1;\n    ret;");
    let strict = ptxrun_with(&["check", "-"], &text);
    assert_eq!(strict.status, 1);
    assert!(strict.stderr.contains("lenient mode runs it"), "{}", strict.stderr);
    assert_eq!(ptxrun_with(&["check", "--lenient", "-"], &text).status, 0);
}

#[test]
fn variables_are_judged() {
    let with = |name: &str, value: &str, args: &[&str]| {
        let out = command(args).env(name, value).output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    // Folders, files and the debugger's socket are any text; tests read the last one.
    let any = ["CHECK_REPORT", "DEBUG", "CACHE_DIR", "JITDUMP", "LIBDIR", "GOLDEN"];
    let judged = environment::ALL.iter().map(|v| v.name);
    let judged =
        judged.filter(|name| !any.iter().any(|any| name[environment::PREFIX.len()..] == **any));
    for name in judged {
        for args in [&["isa", "fma"][..], &["cc", "none.cl"]] {
            let (status, text) = with(name, "junk", args);
            assert!(status == Some(2) && text.contains(name) && text.contains("junk"), "{text}");
        }
    }
    let (status, text) = with("PTXRUN_MEMROY", "8G", &["devices", "H200"]);
    assert!(status == Some(0) && text.contains("PTXRUN_MEMROY"), "{text}");
}

/// A launch that never ends is ended by `PTXRUN_TIMEOUT`, as with the libraries; the option comes first.
#[test]
fn launches_end_in_time() {
    let run = |turn: &str, limit: &str, more: &[&str]| {
        let text = TWICE.replace("    ret;", &format!("again:\n    {turn}\n    bra again;"));
        let line = ["-", "--block", "4", "--arg", "buf:16", "--arg", "f32:1"];
        let mut run = command(&[&line[..], more].concat());
        let start = std::time::Instant::now();
        let outcome = Outcome::of(run.env("PTXRUN_TIMEOUT", limit), &text);
        assert_eq!(outcome.status, 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("time limit"), "{}", outcome.stderr);
        start.elapsed().as_millis()
    };
    // A block of one warp meets its barriers at once, and so do all lanes of a warp.
    for turn in ["", "bar.sync 0;", "bar.warp.sync 15;"] {
        for engine in ["interp", "jit"] {
            let took = run(turn, "300ms", &["--backend", engine]);
            assert!((300..1300).contains(&took), "{turn} {engine}: {took} ms");
        }
    }
    let took = run("", "60", &["--timeout", "300ms"]);
    assert!((300..1300).contains(&took), "{took} ms");
}

/// `PTXRUN_BACKEND` names the engine where no option does.
#[test]
fn the_engine_is_named() {
    let ran = |named: &str, more: &[&str]| {
        let line = ["-", "--block", "4", "--arg", "buf:16", "--arg", "f32:1", "-v"];
        let mut run = command(&[&line[..], more].concat());
        Outcome::of(run.env("PTXRUN_BACKEND", named), TWICE).stderr
    };
    assert!(ran("jit", &[]).contains("twice: compiled code"), "{}", ran("jit", &[]));
    for interpreted in [ran("interp", &[]), ran("jit", &["--backend", "interp"])] {
        assert!(interpreted.contains("twice: interpreted"), "{interpreted}");
    }
}

/// Code is never wider than `PTXRUN_JIT_BITS` says; `run -v` names the bits of its vectors.
#[test]
fn the_width_of_compiled_code_has_a_limit() {
    let file = sample("sha256/sha256.toml");
    let run = |bits: &str| {
        let mut run = command(&["run", "-v", "--backend", "jit", &file]);
        Outcome::of(run.env("PTXRUN_JIT_BITS", bits).env("PTXRUN_CACHE_DIR", ""), "")
    };
    let own = ptx_runtime::vector_bits();
    for bits in [128u32, 256, 512] {
        let (out, has) = (run(&bits.to_string()), format!("in {}-bit vectors", bits.min(own)));
        assert!(out.status == 0 && out.stderr.contains(&has), "{bits}: {}", out.stderr);
    }
}

/// What is no text is refused in a line, and what has no end is not read to it.
#[test]
#[cfg(unix)]
fn files_that_are_no_text() {
    let elf = ptxrun(&["check", "/proc/self/exe"]);
    assert_eq!(elf.status, 1, "{}", elf.stderr);
    assert!(elf.stderr.contains("is an ELF file"), "{}", elf.stderr);
    assert!(elf.stderr.len() < 300, "{}", elf.stderr);
    let folder = Folder::new("binary");
    std::fs::write(folder.file("k.ptx"), b".version 8.0\0.target sm_80").unwrap();
    let binary = ptxrun(&["check", &folder.file("k.ptx")]);
    assert!(binary.status == 1 && binary.stderr.contains("a binary file"), "{}", binary.stderr);
    let endless = ptxrun(&["check", "/dev/zero"]);
    assert_eq!(endless.status, 2, "{}", endless.stderr);
    assert!(endless.stderr.contains("more than"), "{}", endless.stderr);
}

/// Pipes have a name too. Their first bytes are read once; a FIFO that nobody writes to is not waited for.
#[test]
#[cfg(unix)]
fn pipes_are_read_and_fifos_refused() {
    let pipe = ptxrun_with(&["check", "/dev/stdin"], TWICE);
    assert_eq!((pipe.status, &*pipe.stdout), (0, "/dev/stdin: valid\n"), "{}", pipe.stderr);
    let folder = Folder::new("fifo");
    let fifo = folder.file("k.ptx");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let buffer = format!("buf:@{fifo}");
    for line in [&["check", &fifo][..], &["-", "--block", "4", "--arg", &buffer, "--arg", "f32:1"]]
    {
        let refused = ptxrun_with(line, TWICE);
        assert_eq!(refused.status, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("it is a FIFO"), "{}", refused.stderr);
    }
}

/// Runs the command through a shell, which says where its output goes; the exit status, which is no signal's.
#[cfg(target_os = "linux")]
fn shell(line: &str) -> (i32, String) {
    let line = format!("exec 2>&1; {line}");
    let mut bash = Command::new("bash");
    let outcome = Outcome::of(bash.args(["-c", &line, env!("CARGO_BIN_EXE_ptxrun")]), TWICE);
    (outcome.status, outcome.stdout)
}

/// Standard error is closed, full or read by nobody: the exit status is what it would have been. What standard output
/// did not take is an error, unless its reader has gone.
#[test]
#[cfg(target_os = "linux")]
fn output_that_goes_nowhere() {
    for to in ["2>/dev/full", "2>&-", "2> >(exec true)", "2> >(exec true; sleep 1)"] {
        assert_eq!(shell(&format!("sleep 0.1 | \"$0\" check /no/such/file {to}")).0, 2, "{to}");
        assert_eq!(shell(&format!("\"$0\" check - {to} <<< .version")).0, 1, "{to}");
    }
    for what in
        ["check -", "fmt -", "isa", "- --block 4 --arg f32[4]:iota --arg f32:1 --print 0:f32"]
    {
        let (status, said) = shell(&format!("\"$0\" {what} >/dev/full"));
        assert!(status == 2 && said.contains("cannot write to standard output"), "{what}: {said}");
        let (status, said) = shell(&format!("\"$0\" {what} >&-"));
        assert_eq!((status, &*said), (0, ""), "{what}");
        let (status, said) = shell(&format!("set -o pipefail; \"$0\" {what} | true"));
        assert_eq!((status, &*said), (0, ""), "{what}");
    }
    let trace = "trace - --block 4 --arg f32[4]:iota --arg f32:1";
    let (status, said) = shell(&format!("\"$0\" {trace} >/dev/full"));
    assert!(status == 2 && said.contains("the trace cannot be written"), "{said}");
    let (status, said) = shell(&format!("set -o pipefail; \"$0\" {trace} | true"));
    assert_eq!((status, &*said), (0, ""));
}

/// Files may have a kilobyte: what is longer is refused, not ended by a signal, and compiled code is not kept.
#[test]
#[cfg(target_os = "linux")]
fn files_that_may_not_grow() {
    let folder = Folder::new("limit");
    let out = folder.file("out.npy");
    let cache = folder.file("cache");
    let run = "- --block 4 --backend jit --arg f32[1000]:iota --arg f32:1.5 --print 0:f32:3";
    let (status, said) =
        shell(&format!("ulimit -f 1; PTXRUN_CACHE_DIR={cache} \"$0\" {run} --out 0={out}"));
    assert!(status == 2 && said.contains("out.npy"), "{said}");
    assert!(said.contains("files may not be so long"), "{said}");
    let (status, said) = shell(&format!("ulimit -f 1; PTXRUN_CACHE_DIR={cache} \"$0\" {run}"));
    assert!(status == 0 && said.ends_with("0: 0 1.5 3\n"), "{said}");
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
    // A full disk, where this user may make one.
    let (status, said) = shell(&format!(
        "unshare -rm bash -c 'mount -t tmpfs -o size=4k,mode=700 none \"$1\" && PTXRUN_CACHE_DIR=\"$1\" \"$0\" {run} && \
         ls \"$1\"' \"$0\" {cache} || echo status $?"
    ));
    let refused = said.contains("ermitted") || said.contains("denied");
    assert!(refused || status == 0 && said.contains("No space left"), "{said}");
    assert!(refused || said.ends_with("0: 0 1.5 3\n"), "nothing is left on it: {said}");
}

/// With so little address space there is no room for the compiler of OpenCL C, and that is what it says.
#[test]
#[cfg(target_os = "linux")]
fn address_space_too_small_for_the_compiler() {
    let folder = Folder::new("space");
    let file = folder.file("k.cl");
    std::fs::write(&file, "__kernel void k(__global int *a) { a[0] = 1; }").unwrap();
    let (status, said) = shell(&format!("ulimit -v 200000; \"$0\" check {file}"));
    assert!(status == 1 && said.contains("MB of stack"), "{said}");
    assert!(!said.contains("please report"), "{said}");
}

/// Results of races are the engine's: `-v` says where that is found out.
#[test]
fn verbose_reminds_of_races() {
    let line = ["-", "--block", "4", "--arg", "f32[4]:iota", "--arg", "f32:1", "-v"];
    let said = ptxrun_with(&line, TWICE).stderr;
    assert!(said.contains("race") && said.contains("--check race"), "{said}");
}

/// A folder with libraries that hold nothing, and the command with these as its own.
#[cfg(unix)]
fn with_libraries(folder: &Folder, args: &[&str]) -> std::process::Output {
    for name in ["libcuda.so.1", "libgpuocelot.so"] {
        std::fs::write(folder.file(name), "").unwrap();
    }
    command(args)
        .env("PTXRUN_LIBDIR", &folder.0)
        .env("XDG_CACHE_HOME", folder.file("it's cache"))
        .env("LD_LIBRARY_PATH", "/before")
        .output()
        .unwrap()
}

#[test]
#[cfg(unix)]
fn a_program_finds_the_libraries_first() {
    let folder = Folder::new("exec");
    let script = "echo $OCELOT_PATH $PTXRUN_DEVICE $PTXRUN_BACKEND; readlink \"${LD_LIBRARY_PATH%%:*}/libcuda.so.1\"; echo ${LD_LIBRARY_PATH##*:} $0 $1; exit 7";
    let line =
        ["exec", "--device", "h200", "--backend", "interp", "--", "sh", "-c", script, "a b", "--x"];
    let out = with_libraries(&folder, &line);
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(out.status.code(), Some(7), "{text}");
    let want = format!(
        "{} h200 interp\n{}\n/before a b --x\n",
        folder.file("libgpuocelot.so"),
        folder.file("libcuda.so.1")
    );
    assert_eq!(text, want);
    let unknown = with_libraries(&folder, &["exec", "--device", "sm_99", "--", "true"]);
    let told = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert_eq!(unknown.status.code(), Some(2), "{told}");
    assert!(told.contains("unknown device 'sm_99'; did you mean 'sm_"), "{told}");
    let missing = with_libraries(&folder, &["exec", "--", "no-such-program"]);
    assert_eq!(missing.status.code(), Some(127));
}

#[test]
#[cfg(unix)]
fn the_environment_can_be_evaluated() {
    let folder = Folder::new("env");
    let shell = with_libraries(&folder, &["env", "--device", "sm_80"]);
    let text = String::from_utf8(shell.stdout).unwrap();
    let script =
        format!("{text}\nls \"${{LD_LIBRARY_PATH%%:*}}\" | tr '\\n' ' '; echo $PTXRUN_DEVICE");
    let out = Command::new("sh").args(["-c", &script]).output().unwrap();
    let listed = String::from_utf8(out.stdout).unwrap();
    assert_eq!(listed, "bin libcuda.so libcuda.so.1 python sm_80\n", "{text}");
    let github = with_libraries(&folder, &["env", "--github"]);
    let text = String::from_utf8(github.stdout).unwrap();
    assert!(text.lines().all(|l| !l.starts_with("export") && l.contains('=')), "{text}");
    let json = with_libraries(&folder, &["env", "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["variables"]["OCELOT_PATH"], folder.file("libgpuocelot.so"));
    // Without a driver there is nothing to find; that of OpenCL alone will do.
    std::fs::remove_file(folder.file("libcuda.so.1")).unwrap();
    let env = || {
        let mut line = command(&["env"]);
        line.env("PTXRUN_LIBDIR", &folder.0).env("XDG_CACHE_HOME", folder.file("cache"));
        line.output().unwrap()
    };
    let none = env();
    assert_eq!(none.status.code(), Some(1));
    let told = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(told.contains("libptxrun_core.so of ptxrun is not installed"), "{told}");
    std::fs::write(folder.file("libopencl_icd.so"), "").unwrap();
    let opencl = env();
    assert_eq!(opencl.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&opencl.stdout).contains("OCL_ICD_VENDORS="));
}
