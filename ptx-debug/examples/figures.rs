//! The debugger's figures: forward speed, steps back, conditions, traces, a plugin that counts. All on one thread of
//! the interpreter, on kernels of about 10^8 thread instructions.
//!
//! `cargo xtask bench debugger`, or `cargo run --release -p ptx-debug --example figures [-- FOLDER [FILTER]]`: traces
//! are written into the folder.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use ptx_debug::plugin::{Plugin, observe};
use ptx_debug::session::{Reason, Resume};
use ptx_debug::trace::{TraceFormat, TraceOptions, code_of, trace};
use ptx_debug::{Front, Reply, Rest, Session, Target, command, debug};
use ptx_interp::{Access, Kernel, LaunchParams, Memory, launch};
use ptx_parse::module::Module;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Measurements of each figure; the best one counts.
const TURNS: usize = 3;

/// Blocks and threads of every launch.
const GRID: u32 = 32;
const BLOCK: u32 = 128;

/// Name, turns of the loop, its body. `LOOP` is where conditions are tried.
const KERNELS: &[(&str, u32, &str)] = &[
    (
        "arithmetic",
        2_200,
        "LOOP: add.u32 %r8, %r8, 1; fma.rn.f32 %f1, %f1, %f2, %f3; add.u32 %r9, %r9, %r5;
         fma.rn.f32 %f4, %f4, %f2, %f3; xor.b32 %r10, %r9, %r5; fma.rn.f32 %f5, %f5, %f2, %f1;
         shl.b32 %r11, %r10, 3; add.u32 %r9, %r11, %r10; sub.u32 %r7, %r7, 1;
         setp.ne.u32 %p1, %r7, 0; @%p1 bra LOOP;
         add.f32 %f1, %f1, %f5;",
    ),
    (
        "loads",
        3_000,
        "LOOP: ld.global.f32 %f6, [%rd9]; ld.global.f32 %f7, [%rd4]; fma.rn.f32 %f1, %f6, %f7, %f1;
         and.b32 %r9, %r8, 63; mul.wide.u32 %rd6, %r9, 4; add.s64 %rd9, %rd1, %rd6; add.u32 %r8, %r8, 1;
         setp.lt.u32 %p1, %r8, %r7; @%p1 bra LOOP;",
    ),
    (
        "divergent",
        3_000,
        "LOOP: and.b32 %r9, %r10, 1; setp.eq.u32 %p1, %r9, 0; @%p1 bra EVEN;
         mad.lo.u32 %r10, %r10, 3, 1; xor.b32 %r11, %r10, %r8; add.u32 %r12, %r12, %r11; bra NEXT;
         EVEN: shr.u32 %r10, %r10, 1; add.u32 %r12, %r12, 7;
         NEXT: add.u32 %r10, %r10, %r5; add.u32 %r8, %r8, 1; setp.ne.u32 %p2, %r8, %r7; @%p2 bra LOOP;
         cvt.rn.f32.u32 %f1, %r12;",
    ),
];

/// A kernel, ready to run.
struct Case {
    name: &'static str,
    module: Module,
    kernel: Arc<Kernel>,
    memory: Memory,
    params: LaunchParams,
}

impl Case {
    fn new(name: &'static str, turns: u32, body: &str) -> Result<Case> {
        let text = format!(
            ".version 8.4\n.target sm_80\n.address_size 64\n
             .visible .entry k(.param .u64 a, .param .u32 n)\n{{
             .reg .pred %p<4>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %rd<10>;
             ld.param.u64 %rd1, [a]; ld.param.u32 %r7, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
             mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4; mul.wide.u32 %rd3, %r5, 4;
             add.s64 %rd4, %rd1, %rd3; mov.u64 %rd9, %rd1; mov.u32 %r8, 0; mov.u32 %r10, %r5;
             cvt.rn.f32.u32 %f1, %r5; mov.f32 %f2, 0f3F800001; mov.f32 %f3, 0f3A83126F;
             mov.f32 %f4, %f1; mov.f32 %f5, %f2;
             setp.eq.u32 %p3, %r7, 0; @%p3 bra NEVER;
             {body}
             LAST: st.global.f32 [%rd4], %f1; ret;
             NEVER: st.global.f32 [%rd4], %f2; ret;\n}}\n"
        );
        let (module, findings) = ptx_parse::parse_and_verify(&text, "bench.ptx");
        let module = module.ok_or_else(|| format!("{findings:?}"))?;
        let program = ptx_parse::lower::lower(&module, 0).map_err(|error| error.to_string())?;
        let kernel = Arc::new(Kernel::decode(Arc::new(program)));
        let memory = Memory::new(1 << 26)?;
        let bytes = u64::from(GRID * BLOCK * 4);
        let mut params = memory.alloc(bytes, 256, "a", Access::ReadWrite)?.to_le_bytes().to_vec();
        params.extend_from_slice(&turns.to_le_bytes());
        let (grid, block) = ([GRID, 1, 1], [BLOCK, 1, 1]);
        let params = LaunchParams { grid, block, params, threads: 1, ..LaunchParams::default() };
        Ok(Case { name, module, kernel, memory, params })
    }

    /// Warp and thread instructions, and seconds, of a run without a debugger.
    fn plain(&self) -> Result<(u64, u64, f64)> {
        let start = Instant::now();
        let stats = launch(&self.kernel, &self.memory, &self.params)?;
        let seconds = start.elapsed().as_secs_f64();
        Ok((stats.warp_instructions, stats.thread_instructions, seconds))
    }

    /// Carries out commands, and says how long each that lets the kernel run took.
    fn script(&self, commands: &[&str]) -> Result<Vec<f64>> {
        let (kernel, params) = (Arc::clone(&self.kernel), self.params.clone());
        let target =
            Target { kernel, module: &self.module, memory: &self.memory, params, folders: &[] };
        let mut session = Session::new(target);
        let mut front = Script {
            commands: commands.iter().copied().collect(),
            running: None,
            times: Vec::new(),
            failed: None,
        };
        debug(&mut session, &mut front)?;
        match front.failed {
            None => Ok(front.times),
            Some(why) => Err(format!("{}: {why}", self.name).into()),
        }
    }

    /// Events, bytes and seconds of a trace into a file.
    fn trace(&self, options: &TraceOptions, path: &Path) -> Result<(u64, u64, f64)> {
        let start = Instant::now();
        let file = std::fs::File::create(path)?;
        let mut out = &file;
        let code = code_of(&self.kernel, &self.module, &self.params, &[]);
        let (result, written) = trace(&code, &self.memory, &self.params, options, &mut out);
        written?;
        let stats = result?;
        file.sync_all()?;
        let seconds = start.elapsed().as_secs_f64();
        let bytes = file.metadata()?.len();
        std::fs::remove_file(path)?;
        Ok((stats.warp_instructions, bytes, seconds))
    }

    /// Seconds of a run that a plugin observes.
    fn observed(&self, plugin: &Plugin) -> Result<f64> {
        let code = code_of(&self.kernel, &self.module, &self.params, &[]);
        let start = Instant::now();
        observe(plugin, &code, &self.memory, &self.params)?;
        Ok(start.elapsed().as_secs_f64())
    }
}

/// Reads commands from a list, and takes the time that each lets pass.
struct Script<'s> {
    commands: VecDeque<&'s str>,
    running: Option<Instant>,
    times: Vec<f64>,
    failed: Option<String>,
}

impl Front for Script<'_> {
    fn rest(&mut self, rest: &mut Rest<'_>) -> Resume {
        if let Some(since) = self.running.take() {
            self.times.push(since.elapsed().as_secs_f64());
        }
        if let Reason::Fault(report) = &rest.stop.reason {
            self.failed = Some(report.message.clone());
            return Resume::Quit;
        }
        while let Some(line) = self.commands.pop_front() {
            let reply = match command::parse(line) {
                Ok(Some(command)) => rest.execute(&command),
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            match reply {
                Ok(Reply::Resume(resume)) => {
                    self.running = Some(Instant::now());
                    return resume;
                }
                Ok(Reply::Answer(_)) => {}
                Err(error) => {
                    self.failed = Some(format!("{line}: {error}"));
                    return Resume::Quit;
                }
            }
        }
        Resume::Quit
    }
}

/// Builds the plugin that counts.
fn plugin(folder: &Path) -> Result<Plugin> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let library = folder.join(format!("count-{}.so", std::process::id()));
    let done = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-I"])
        .arg(root.join("ptx-debug/include"))
        .arg(root.join("clients/observers/count.c"))
        .arg("-o")
        .arg(&library)
        .status()?;
    if !done.success() {
        return Err("the plugin cannot be built".into());
    }
    // SAFETY: the library is our own and keeps to the header.
    let plugin = unsafe { Plugin::load(&std::path::absolute(&library)?) };
    std::fs::remove_file(&library)?;
    Ok(plugin?)
}

/// The least of several measurements.
fn least(mut one: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..TURNS {
        best = best.min(one()?);
    }
    Ok(best)
}

/// A row of the table.
struct Row {
    what: &'static str,
    want: &'static str,
    values: Vec<String>,
}

/// Name of the processor.
fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name"));
    model.map_or("unknown".into(), |m| m.trim_start_matches([' ', '\t', ':']).into())
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let folder = PathBuf::from(words.next().unwrap_or_else(|| ".".into()));
    let filter = words.next().unwrap_or_default();
    let row = |what, want| Row { what, want, values: Vec::new() };
    let mut rows = [
        row("10^6 thread instructions", "100"),
        row("interpreter, 10^9 thread instructions/s", ""),
        row("debugger, breakpoint off the path, share of it", "0.5"),
        row("reverse-stepi at the end, s", "2"),
        row("reverse-step at the end, s", "2"),
        row("reverse-warpstep at the end, s", "2"),
        row("reverse-continue at the end, s", ""),
        row("condition, 10^7 lanes/s", "1"),
        row("condition, 10^7 warps/s", ""),
        row("condition on memory, 10^7 lanes/s", ""),
        row("trace, binary, 10^7 events/s", "1"),
        row("trace, binary, MB", ""),
        row("trace, binary with values, 10^7 events/s", "1"),
        row("trace, binary with values, MB", ""),
        row("trace, text, 10^7 events/s", ""),
        row("trace, text with values, 10^7 events/s", ""),
        row("instruction count plugin, 10^9 thread instructions/s", "1"),
    ];
    let plugin = plugin(&folder)?;
    let mut names = Vec::new();
    for (name, turns, body) in KERNELS.iter().filter(|k| k.0.contains(&filter)) {
        eprintln!("{name}");
        names.push(*name);
        let values = figures(&Case::new(name, *turns, body)?, *turns, &folder, &plugin)?;
        for (row, value) in rows.iter_mut().zip(values) {
            row.values.push(format!("{value:.2}"));
        }
    }
    println!("{}, one thread, best of {TURNS}", cpu());
    print!("{:<54}{:>6}", "", "want");
    names.iter().for_each(|n| print!("{n:>12}"));
    println!();
    for row in rows {
        print!("{:<54}{:>6}", row.what, row.want);
        row.values.iter().for_each(|v| print!("{v:>12}"));
        println!();
    }
    Ok(())
}

/// The figures of one kernel, in the order of the rows.
fn figures(case: &Case, turns: u32, folder: &Path, plugin: &Plugin) -> Result<Vec<f64>> {
    let (warps, threads, _) = case.plain()?;
    let plain = least(|| Ok(case.plain()?.2))?;
    let mut all = vec![threads as f64 / 1e6, threads as f64 / plain / 1e9];
    let off = least(|| Ok(case.script(&["break NEVER", "run"])?[0]))?;
    all.push(plain / off);
    let last = format!("break LAST if %ctaid.x == {}", GRID - 1);
    for back in ["reverse-stepi", "reverse-step", "reverse-warpstep", "reverse-continue"] {
        // What goes back to the last hit needs one.
        let stop = if back == "reverse-continue" { "break LOOP if %r8 == 1" } else { "" };
        all.push(least(|| Ok(case.script(&[&last, "run", stop, back])?[1]))?);
    }
    // What a condition costs is what the run takes longer; each is evaluated for 32 lanes at once.
    let evaluations = f64::from(turns) * f64::from(GRID * BLOCK / 32);
    let condition = |text: &str| -> Result<f64> {
        let held = format!("break LOOP if {text}");
        let with = least(|| Ok(case.script(&[&held, "run"])?[0]))?;
        Ok(evaluations / (with - off).max(1e-9))
    };
    let rate = condition("%tid.x == 3 && %r8 > 100000000")?;
    all.push(rate * 32.0 / 1e7);
    all.push(rate / 1e7);
    all.push(condition("*(f32 *)%rd4 > 1e30")? * 32.0 / 1e7);
    let path = folder.join(format!("trace-{}", std::process::id()));
    let traced = |format, values| -> Result<(f64, u64)> {
        let options = TraceOptions {
            format,
            instructions: true,
            accesses: false,
            values,
            block: None,
            warp: None,
            lines: None,
            opcode: None,
        };
        let mut size = 0;
        let seconds = least(|| {
            let (_, bytes, seconds) = case.trace(&options, &path)?;
            size = bytes;
            Ok(seconds)
        })?;
        Ok((warps as f64 / seconds / 1e7, size))
    };
    let (rate, size) = traced(TraceFormat::Binary, false)?;
    all.extend([rate, size as f64 / 1e6]);
    let (rate, size) = traced(TraceFormat::Binary, true)?;
    all.extend([rate, size as f64 / 1e6]);
    for values in [false, true] {
        all.push(traced(TraceFormat::Text, values)?.0);
    }
    let counted = least(|| case.observed(plugin))?;
    all.push(threads as f64 / counted / 1e9);
    Ok(all)
}
