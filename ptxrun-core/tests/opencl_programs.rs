//! C programs with the standard headers and loader. A test of `ptxrun-core`, which is the library that they load.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Compiles a C program of `tests/programs`.
fn cc(name: &str, program: &Path, flags: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../opencl-icd/tests/programs");
    let source = folder.join(format!("{name}.c"));
    Command::new("cc")
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(program)
        .arg("-lOpenCL")
        .output()
        .unwrap()
}

/// The driver beside this test, a folder for files, and the program compiled.
fn compile(name: &str, test: &str) -> (PathBuf, PathBuf) {
    compile_with(name, test, &[])
}

/// The same with options of the compiler.
fn compile_with(name: &str, test: &str, flags: &[&str]) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("ptxrun-opencl-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join(name);
    let built = cc(name, &program, flags);
    assert!(built.status.success(), "{}", text(&built));
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let places = [deps.join("libptxrun_core.so"), deps.parent().unwrap().join("libptxrun_core.so")];
    let driver = places.iter().find(|p| p.is_file()).expect("the driver is built with its tests");
    std::fs::write(folder.join("ptxrun.icd"), driver.as_os_str().as_encoded_bytes()).unwrap();
    (folder, program)
}

fn run(folder: &Path, program: &Path, args: &[&Path], device: &str) -> Output {
    let mut command = Command::new(program);
    command.args(args).env("OCL_ICD_VENDORS", folder).env("PTXRUN_DEVICE", device);
    command.output().unwrap()
}

fn text(out: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

fn profiling_tells_the_model_s_time() {
    let (folder, program) = compile("matmul", "timing");
    let time = |device: &str| -> u64 {
        let mut command = Command::new(&program);
        command.env("OCL_ICD_VENDORS", &folder).env("PTXRUN_DEVICE", device);
        let out = command.env("PTXRUN_TIMING", "1").env("SHOW_TIME", "1").output().unwrap();
        let text = text(&out);
        let line = text.lines().find_map(|l| l.strip_suffix(" ns"));
        line.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
    };
    let (old, new) = (time("GTX 280"), time("H200"));
    // Not the time of this machine, which is never twice the same.
    assert_eq!((old, new), (time("GTX 280"), time("H200")));
    assert!(new < old, "{new} {old}");
    std::fs::remove_dir_all(&folder).unwrap();
}

fn a_host_program_and_its_binary() {
    let (folder, program) = compile("matmul", "binary");
    for (device, name) in [("H200", "H200"), ("GTX 280", "GeForce GTX 280")] {
        let binary = folder.join("binary.ptx");
        let first = run(&folder, &program, &[&binary], device);
        assert_eq!(text(&first), format!("{name}: 0 wrong, timed\n"));
        let ptx = std::fs::read_to_string(&binary).unwrap();
        assert!(ptx.contains(".version") && ptx.contains(".entry matmul"), "{ptx}");
        // In another process, as it is; edited by hand, so that every sum begins with one; with an error in it.
        let edited = ptx.replace("0f00000000", "0f3F800000");
        for (ptx, wrong) in [(&ptx, 0), (&edited, 128 * 128)] {
            std::fs::write(&binary, ptx).unwrap();
            let again = run(&folder, &program, &[&binary, &binary], device);
            assert_eq!(text(&again), format!("{name}: {wrong} wrong, timed\n"));
        }
        std::fs::write(&binary, ptx.replacen("ret;", "rot;", 1)).unwrap();
        let broken = run(&folder, &program, &[&binary, &binary], device);
        assert!(text(&broken).starts_with("build: -42\n"), "{}", text(&broken));
        assert!(text(&broken).contains("rot"), "{}", text(&broken));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn null_lists_are_left_alone() {
    let (folder, program) = compile("null_lists", "lists");
    let out = run(&folder, &program, &[], "H200, GTX 280");
    let lines = [
        "clGetPlatformIDs 0 1",
        "clGetDeviceIDs 0 1",
        "clGetSupportedImageFormats 0 1",
        "clBuildProgram 0 1",
        "clCreateKernelsInProgram 0 1",
        "CL_PROGRAM_BINARIES 0 1",
        "CL_DEVICE_NAME 0 1",
    ];
    assert_eq!(text(&out), format!("{}\n", lines.join("\n")));
    std::fs::remove_dir_all(&folder).unwrap();
}

fn a_queue_of_many_commands_costs_the_same_for_each() {
    let (folder, program) = compile("many_commands", "many");
    let numbers = [Path::new("2000"), Path::new("32000")];
    let out = text(&run(&folder, &program, &numbers, "H200"));
    let finish = |line: &str| -> f64 {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[1], "0", "{out}");
        words[3].parse().unwrap()
    };
    let [few, many]: [f64; 2] = out.lines().map(finish).collect::<Vec<_>>().try_into().unwrap();
    // Sixteen times as many: a walk to the first command for each would make every one sixteen times as dear.
    assert!(many < 4.0 * few.max(5.0), "{out}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The assembler that `PTXAS` names, else the one on the path.
fn ptxas() -> String {
    std::env::var("PTXAS").unwrap_or_else(|_| "ptxas".into())
}

fn ptxas_takes_the_binary() {
    let (folder, program) = compile("matmul", "ptxas");
    let binary = folder.join("binary.ptx");
    run(&folder, &program, &[&binary], "H200");
    let mut assembler = Command::new(ptxas());
    let out = assembler
        .arg("-arch=sm_90")
        .arg(&binary)
        .arg("-o")
        .arg(folder.join("binary.cubin"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", text(&out));
    std::fs::remove_dir_all(&folder).unwrap();
}

fn runs_where_address_space_is_limited() {
    let (folder, program) = compile("limited", "limited");
    // Kilobytes: two gigabytes, as on machines that share their memory out.
    let line = format!("ulimit -v 2000000 && exec {}", program.display());
    let mut command = Command::new("sh");
    let out = command.args(["-c", &line]).env("OCL_ICD_VENDORS", &folder).output().unwrap();
    assert_eq!(text(&out), "context 0\nbuild 0\nbuffer 0\nread 0 3145725\n");
    std::fs::remove_dir_all(&folder).unwrap();
}

fn what_came_after_1_2() {
    let (folder, program) = compile("later", "later");
    for device in ["host", "H200"] {
        let out = run(&folder, &program, &[], device);
        assert_eq!(text(&out), "98 checks\n", "{device}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn what_the_specification_says() {
    let (folder, program) = compile("specification", "specification");
    for device in ["host", "H200"] {
        let out = run(&folder, &program, &[], device);
        assert_eq!(text(&out), "702 checks\n", "{device}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn ranges_that_groups_do_not_divide() {
    let (folder, program) = compile("rest_groups", "rest-groups");
    for device in ["host", "H200"] {
        let out = run(&folder, &program, &[], device);
        assert_eq!(text(&out), "418 checks\n", "{device}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// `fuzz/sanitize c` runs it under AddressSanitizer.
fn a_few_rounds_of_stress() {
    // At fixed addresses the heap lies where the device's addresses are.
    for (test, flags) in [("stress", &[][..]), ("stress-fixed", &["-no-pie"])] {
        let (folder, program) = compile_with("stress", test, flags);
        let out = run(&folder, &program, &[], "host");
        assert_eq!(text(&out), "rounds done, 0 wrong\n", "{test}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

fn the_host_is_the_device_where_none_is_named() {
    let (folder, program) = compile("device", "device");
    let show = |device: Option<&str>| {
        let mut command = Command::new(&program);
        command.env("OCL_ICD_VENDORS", &folder).env_remove("PTXRUN_DEVICE");
        let out = command.envs(device.map(|d| ("PTXRUN_DEVICE", d))).output().unwrap();
        text(&out)
    };
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let name = info.lines().find_map(|l| l.strip_prefix("model name")).unwrap();
    let name = name.trim_start_matches([' ', '\t', ':']);
    let threads = std::thread::available_parallelism().unwrap();
    let start = format!("type 2, {name}, {threads} units, ");
    let (default, named) = (show(None), show(Some("host")));
    assert!(default.starts_with(&start), "{default}");
    assert_eq!(default, named);
    assert!(show(Some("GTX 280")).starts_with("type 4, GeForce GTX 280, 30 units, "));
    std::fs::remove_dir_all(&folder).unwrap();
}

golden::tests! {
    what_came_after_1_2: opencl_in_c(),
    what_the_specification_says: opencl_in_c(),
    ranges_that_groups_do_not_divide: opencl_in_c(),
    a_few_rounds_of_stress: opencl_in_c(),
    the_host_is_the_device_where_none_is_named: opencl_in_c(),
    profiling_tells_the_model_s_time: opencl_in_c(),
    a_host_program_and_its_binary: opencl_in_c(),
    null_lists_are_left_alone: opencl_in_c(),
    a_queue_of_many_commands_costs_the_same_for_each: opencl_in_c(),
    runs_where_address_space_is_limited: opencl_in_c(),
    ptxas_takes_the_binary: both(opencl_in_c(), program(&[&ptxas(), "--version"])),
}
