//! Host programs: statements of a test file as calls of the CUDA driver API.
//!
//! | statement | what it does |
//! | --- | --- |
//! | `s = stream` | a stream that does not wait for the default stream |
//! | `e = event` | an event |
//! | `x = alloc 256`, `x = alloc 256 on s` | memory that nobody wrote, of the device, or of the pool in stream order |
//! | `x = u32[64]:iota` | memory with contents |
//! | `free x`, `free x on s` | frees it, at once or in stream order |
//! | `write x u32[64]:iota on s` | the host's data to memory |
//! | `read x 256 on s` | memory to the host |
//! | `fill x 7 64 on s` | 64 words |
//! | `move x y 256 on s` | a copy on the device, from `y` to `x` |
//! | `launch k<<<1, 32>>>(x, x+16, u32:5) on s` | a kernel; `cooperative` may stand for `launch` |
//! | `record e on s`, `wait e on s` | an event |
//! | `sync s`, `sync event e`, `sync` | the host waits |
//! | `close s`, `done e` | destroys a stream, an event |
//!
//! Without `on`, work is of the default stream, and copies wait for their end.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use ptx_runtime::check::render;
use ptxrun::arg::{self, ArgSpec};

use crate::driver::{at, call, made};
use crate::notation::{FileTest, Problem, Program, Run, Step, run};
use crate::run::compared;

/// What is wrong with the findings of a program, which runs in a process of its own.
pub(crate) fn checked(test: &FileTest, program: &Program, fixed: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    let finds = if fixed { &[][..] } else { &program.finds };
    match findings(test, &program.name, fixed, program) {
        Ok((found, notes)) => problems.extend(compared(&found, &notes, finds, program.line)),
        Err(what) => problems.push(Problem { line: program.line, what }),
    }
    problems
}

type Found = (Vec<ptx_runtime::check::Finding>, Vec<String>);

fn findings(test: &FileTest, name: &str, fixed: bool, program: &Program) -> Result<Found, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    // The tests lie in `deps`, programs beside that folder.
    let folder = own.parent().and_then(Path::parent).ok_or("no folder of programs")?;
    let loader = folder.join(format!("host-program{}", std::env::consts::EXE_SUFFIX));
    let report = std::env::temp_dir().join(format!(
        "ptxrun-truth-{}-{}-{name}-{fixed}",
        std::process::id(),
        test.name.replace(['/', '\\'], "-")
    ));
    let _ = std::fs::remove_file(&report);
    let mut command = Command::new(loader);
    command.arg(&test.path).arg(name).args(fixed.then_some("fixed"));
    command.env("PTXRUN_CHECK", program.checks_on.to_string());
    command.env("PTXRUN_CHECK_LEAKS", "full");
    command.env("PTXRUN_CHECK_REPORT", &report).env_remove("CUDA_LIB");
    let output = command.output().map_err(|e| e.to_string())?;
    // A kernel that a checker has found at fault leaves errors behind.
    if output.status.code() != Some(0) && (fixed || program.finds.is_empty()) {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = std::fs::read_to_string(&report).unwrap_or_default();
    let _ = std::fs::remove_file(&report);
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let line = serde_json::from_str(line).map_err(|e| e.to_string())?;
        let (more, said) = render::from_json(&line)?;
        found.extend(more);
        notes.extend(said);
    }
    Ok((found, notes))
}

/// Runs a program of a file, or the launch that stands on a line.
///
/// # Errors
/// What does not exist, or the call that failed.
pub fn host_program(file: &Path, name: &str, fixed: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    let test = FileTest::read(&file.display().to_string(), file, text)
        .map_err(|p| format!("line {}: {}", p.line, p.what))?;
    let ptx = match file.extension().is_some_and(|e| e == "cu") {
        true => test.twin(fixed),
        false => file.to_owned(),
    };
    let mut image = std::fs::read(&ptx).map_err(|e| format!("{}: {e}", ptx.display()))?;
    image.push(0);
    let mut host = Host::new(&mut image)?;
    let went = host.go(&test, name, fixed);
    // As a program that cleans up, whether it has failed or not; a module cannot be unloaded after a fault.
    let unloaded = call("cuModuleUnload", &[host.module]);
    let destroyed = call("cuCtxDestroy_v2", &[host.context]);
    went.and(unloaded).and(destroyed)
}

/// What a program has made.
struct Host {
    context: u64,
    module: u64,
    names: HashMap<String, u64>,
    /// Memory of the host that copies still use.
    kept: Vec<Vec<u8>>,
}

/// The bytes that `u32[64]:iota` means; `None` for `buf:N` with its length.
fn contents(arg: &ArgSpec) -> Result<(usize, Option<Vec<u8>>), String> {
    match arg {
        ArgSpec::Buffer { len } => Ok((*len, None)),
        ArgSpec::Typed { ty, count: Some(count), init } => {
            let bytes = init.bytes(*ty, *count).map_err(|e| e.to_string())?;
            let bytes = bytes.ok_or("buffers come from no file here")?;
            Ok((bytes.len(), Some(bytes)))
        }
        _ => Err("no memory".into()),
    }
}

impl Host {
    /// Runs a program of a file, or the launch on a line.
    fn go(&mut self, test: &FileTest, name: &str, fixed: bool) -> Result<(), String> {
        if let Ok(line) = name.parse::<usize>() {
            let run = test.runs.iter().find(|r| r.line == line).ok_or("no launch stands there")?;
            return self.whole(run);
        }
        let program = test.programs.iter().find(|p| p.name == name).ok_or("no such program")?;
        let wanted = |s: &&Step| s.only.is_none_or(|only| only == fixed);
        for step in program.steps.iter().filter(wanted) {
            self.step(&step.text).map_err(|what| format!("line {}: {what}", step.line))?;
        }
        Ok(())
    }

    fn new(image: &mut [u8]) -> Result<Host, String> {
        call("cuInit", &[0])?;
        let context = made("cuCtxCreate_v2", &[0, 0])?;
        let module = made("cuModuleLoadData", &[at(image)])?;
        Ok(Host { context, module, names: HashMap::new(), kept: Vec::new() })
    }

    /// A number, or something that has a name, with an offset.
    fn value(&self, word: &str) -> Result<u64, String> {
        if let Some(n) = arg::number(word) {
            return Ok(n as u64);
        }
        let (name, offset) = word.split_once('+').unwrap_or((word, "0"));
        let known = self.names.get(name).ok_or_else(|| format!("nothing is called `{name}`"))?;
        Ok(known + arg::number(offset).ok_or_else(|| format!("`{offset}` is no number"))? as u64)
    }

    fn with(&mut self, arg: &ArgSpec) -> Result<(u64, usize), String> {
        let (len, bytes) = contents(arg)?;
        let memory = made("cuMemAlloc_v2", &[len as u64])?;
        if let Some(mut bytes) = bytes {
            call("cuMemcpyHtoD_v2", &[memory, at(&mut bytes[..]), len as u64])?;
        }
        Ok((memory, len))
    }

    /// A launch with all that it needs; the results are read.
    fn whole(&mut self, run: &Run) -> Result<(), String> {
        let (mut args, mut buffers) = (Vec::new(), Vec::new());
        for arg in &run.args {
            match arg {
                ArgSpec::Scalar { bytes, .. } | ArgSpec::Bytes(bytes) => args.push(bytes.clone()),
                memory => {
                    let made = self.with(memory)?;
                    buffers.push(made);
                    args.push(made.0.to_le_bytes().to_vec());
                }
            }
        }
        self.launch(run, args, 0, false)?;
        call("cuCtxSynchronize", &[])?;
        for (memory, len) in buffers {
            let mut bytes = vec![0u8; len];
            call("cuMemcpyDtoH_v2", &[at(&mut bytes[..]), memory, len as u64])?;
            call("cuMemFree_v2", &[memory])?;
        }
        Ok(())
    }

    fn launch(
        &mut self,
        run: &Run,
        mut args: Vec<Vec<u8>>,
        stream: u64,
        cooperative: bool,
    ) -> Result<(), String> {
        let mut name = run.entry.clone().into_bytes();
        name.push(0);
        let function = made("cuModuleGetFunction", &[self.module, at(&mut name[..])])?;
        let mut pointers: Vec<u64> = args.iter_mut().map(|a| at(&mut a[..])).collect();
        let params = at(&mut pointers[..]);
        let [gx, gy, gz] = run.grid.map(u64::from);
        let [bx, by, bz] = run.block.map(u64::from);
        let shared = u64::from(run.shared);
        let sizes = [function, gx, gy, gz, bx, by, bz, shared, stream, params];
        if run.cluster != [0; 3] {
            // CUlaunchAttribute: id (4: cluster dimension), padding, value; CUlaunchConfig as in cuda.h.
            let mut attribute = [0u32; 18];
            attribute[0] = 4;
            attribute[2..5].copy_from_slice(&run.cluster);
            let mut config = [0u32; 14];
            config[..3].copy_from_slice(&run.grid);
            config[3..6].copy_from_slice(&run.block);
            config[6] = run.shared;
            config[8..10].copy_from_slice(&[stream as u32, (stream >> 32) as u32]);
            let list = at(&mut attribute);
            config[10..12].copy_from_slice(&[list as u32, (list >> 32) as u32]);
            config[12] = 1;
            return call("cuLaunchKernelEx", &[at(&mut config), function, params, 0]);
        }
        call(if cooperative { "cuLaunchCooperativeKernel" } else { "cuLaunchKernel" }, &sizes)
    }

    fn step(&mut self, text: &str) -> Result<(), String> {
        let (text, stream) = match text.rsplit_once(" on ") {
            Some((text, name)) => (text, Some(self.value(name.trim())?)),
            None => (text, None),
        };
        let on = stream.unwrap_or(0);
        if let Some((name, what)) = text.split_once(" = ") {
            let words: Vec<&str> = what.split_whitespace().collect();
            let new = match words[..] {
                ["stream"] => made("cuStreamCreate", &[1])?,
                ["event"] => made("cuEventCreate", &[2])?,
                ["alloc", n] if stream.is_some() => made("cuMemAllocAsync", &[self.value(n)?, on])?,
                ["alloc", n] => made("cuMemAlloc_v2", &[self.value(n)?])?,
                [typed] => self.with(&arg::parse(typed).map_err(|e| e.to_string())?)?.0,
                _ => return Err(format!("`{what}` makes nothing")),
            };
            self.names.insert(name.trim().into(), new);
            return Ok(());
        }
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        if let "launch" | "cooperative" = verb {
            return self.launched(rest, on, verb == "cooperative");
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let values =
            |host: &Host| words.iter().map(|w| host.value(w)).collect::<Result<Vec<_>, _>>();
        match (verb, words.len()) {
            ("free", 1) => {
                let memory = self.value(words[0])?;
                match stream {
                    Some(stream) => call("cuMemFreeAsync", &[memory, stream]),
                    None => call("cuMemFree_v2", &[memory]),
                }
            }
            ("write", 2) => {
                let memory = self.value(words[0])?;
                let (_, bytes) = contents(&arg::parse(words[1]).map_err(|e| e.to_string())?)?;
                let mut bytes = bytes.ok_or("nothing to write")?;
                let (data, len) = (at(&mut bytes[..]), bytes.len() as u64);
                self.kept.push(bytes);
                match stream {
                    Some(stream) => call("cuMemcpyHtoDAsync_v2", &[memory, data, len, stream]),
                    None => call("cuMemcpyHtoD_v2", &[memory, data, len]),
                }
            }
            ("read", 2) => {
                let [memory, len] = values(self)?[..] else { return Err("two words".into()) };
                let mut bytes = vec![0u8; len as usize];
                let data = at(&mut bytes[..]);
                self.kept.push(bytes);
                match stream {
                    Some(stream) => call("cuMemcpyDtoHAsync_v2", &[data, memory, len, stream]),
                    None => call("cuMemcpyDtoH_v2", &[data, memory, len]),
                }
            }
            ("fill", 3) => {
                let mut all = values(self)?;
                all.push(on);
                match stream {
                    Some(_) => call("cuMemsetD32Async", &all),
                    None => call("cuMemsetD32_v2", &all[..3]),
                }
            }
            ("move", 3) => {
                let mut all = values(self)?;
                all.push(on);
                match stream {
                    Some(_) => call("cuMemcpyDtoDAsync_v2", &all),
                    None => call("cuMemcpyDtoD_v2", &all[..3]),
                }
            }
            ("record", 1) => call("cuEventRecord", &[self.value(words[0])?, on]),
            ("wait", 1) => call("cuStreamWaitEvent", &[on, self.value(words[0])?, 0]),
            ("sync", 0) => call("cuCtxSynchronize", &[]),
            ("sync", 2) if words[0] == "event" => {
                call("cuEventSynchronize", &[self.value(words[1])?])
            }
            ("sync", 1) => call("cuStreamSynchronize", &[self.value(words[0])?]),
            ("close", 1) => call("cuStreamDestroy_v2", &[self.value(words[0])?]),
            ("done", 1) => call("cuEventDestroy_v2", &[self.value(words[0])?]),
            _ => Err(format!("`{text}` is no statement")),
        }
    }

    /// `k<<<1, 32>>>(x, u32:5)`
    fn launched(&mut self, text: &str, stream: u64, cooperative: bool) -> Result<(), String> {
        let form = || format!("`{text}` is no launch");
        let (head, args) = text.split_once('(').ok_or_else(form)?;
        let (args, options) = args.rsplit_once(')').ok_or_else(form)?;
        let run = run(0, &format!("{head}(){options}"))?;
        let mut bytes = Vec::new();
        for word in args.split(", ").filter(|w| !w.is_empty()) {
            bytes.push(match word.contains(':') {
                true => match arg::parse(word).map_err(|e| e.to_string())? {
                    ArgSpec::Scalar { bytes, .. } => bytes,
                    _ => return Err(format!("`{word}` is no argument of a launch")),
                },
                false => self.value(word)?.to_le_bytes().to_vec(),
            });
        }
        self.launch(&run, bytes, stream, cooperative)
    }
}
