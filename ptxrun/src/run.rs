//! Executes a [`Plan`] on one module and compares the results.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ptx_runtime::check::{Checks, Finding};
use ptx_runtime::parse::lower;
use ptx_runtime::timing::occupancy::DoesNotFit;
use ptx_runtime::timing::{
    Options as TimingOptions, Profile, ReplayError, Report as TimingReport, SimulateError,
};
use ptx_runtime::{
    Backend, Context, DeviceOptions, DevicePtr, Fidelity, KernelArg, LaunchConfig, LaunchError,
    LaunchStats, Module, TimingError, Verified,
};

use crate::compare::{Mismatch, compare};
use crate::plan::{Arg, Check, Plan, PlannedLaunch};
use crate::progress::Bar;
use crate::texture;
use crate::timing::limits;
use crate::values::ElementType;

/// What steers a run besides the plan.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Host threads; one per core where it is missing.
    pub threads: Option<u32>,
    /// The longest that one launch may take.
    pub timeout: Option<Duration>,
    /// The engine.
    pub backend: Backend,
    /// Compiled code may give NaNs of any sign and payload.
    pub fast_nan: bool,
    /// Compiled code may have approximate functions of its own, within the bounds of the PTX manual.
    pub fast_approx: bool,
    /// Show a progress bar when a launch takes long.
    pub progress: bool,
    /// Refuse launches that this GPU does not take.
    pub device: Option<Profile>,
    /// Say what launches would cost on `device`.
    pub timing: Option<TimingOptions>,
    /// What is checked while kernels run.
    pub checks: Checks,
    /// Another order of blocks and warps of checked launches.
    pub schedule: Option<u64>,
    /// What checks find goes here, also when the run ends early.
    pub found: Found,
}

/// Findings of checks, and what was not checked.
pub type Found = Arc<Mutex<(Vec<Finding>, Vec<String>)>>;

/// What a run left behind.
#[derive(Debug)]
pub struct RunReport {
    /// One entry per launch.
    pub launches: Vec<LaunchReport>,
    /// The buffers of the plan, in order.
    pub buffers: Vec<Vec<u8>>,
    /// What the kernels printed.
    pub stdout: Vec<u8>,
    /// One entry per check of the plan.
    pub checks: Vec<CheckReport>,
}

impl RunReport {
    /// True when every check holds.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|c| c.outcome.is_ok())
    }
}

/// One launch that ended.
#[derive(Debug)]
pub struct LaunchReport {
    /// The kernel.
    pub entry: String,
    /// What the engine counted.
    pub stats: LaunchStats,
    /// Wall-clock time.
    pub elapsed: Duration,
    /// What is known of its results beside hardware's.
    pub fidelity: Fidelity,
    /// What it would cost on the device that was asked about.
    pub timing: Option<Box<TimingReport>>,
}

/// One check and its outcome.
#[derive(Debug)]
pub struct CheckReport {
    /// What was checked: a buffer's name, or `stdout`.
    pub what: String,
    /// How many elements of which type, for buffers.
    pub elements: Option<(usize, ElementType)>,
    /// True when it demands equal bits.
    pub exact: bool,
    /// What differs.
    pub outcome: Result<(), CheckFailure>,
}

/// Why a check fails.
#[derive(Debug)]
pub enum CheckFailure {
    /// Elements of a buffer differ.
    Buffer(Mismatch),
    /// The buffer has another size than what was expected.
    Length {
        /// Bytes of the buffer.
        found: usize,
        /// Bytes expected.
        expected: usize,
    },
    /// The output differs.
    Stdout {
        /// First line that differs, counted from 1.
        line: usize,
        /// That line as printed.
        found: String,
        /// That line as expected.
        expected: String,
    },
}

/// Why a run ends early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The module has no such kernel.
    #[error("no entry is named `{name}`; the module has {}", if .known.is_empty() { "none".into() } else { .known.join(", ") })]
    UnknownEntry {
        /// The name.
        name: String,
        /// Entries that exist.
        known: Vec<String>,
    },
    /// An argument whose kind of number is not the parameter's.
    #[error(
        "argument {index} is {given}, parameter `{name}` is {wanted}; write {hint} to pass these bits"
    )]
    NumberKind {
        /// Position of the argument.
        index: usize,
        /// Type of the argument.
        given: ElementType,
        /// Name of the parameter.
        name: String,
        /// Its declaration.
        wanted: String,
        /// The argument as untyped bits.
        hint: String,
    },
    /// Memory or a texture that cannot be made.
    #[error("{what}: {error}")]
    Setup {
        /// The buffer or texture.
        what: String,
        /// Why.
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The launch was refused or a kernel faulted.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The GPU that was asked about does not take the launch.
    #[error("{kernel} cannot be launched on {device}: {error}")]
    DoesNotFit {
        /// Kernel.
        kernel: String,
        /// GPU.
        device: String,
        /// Which limit, and by how much.
        error: DoesNotFit,
    },
    /// The user ended the debugger.
    #[error("the debugger was ended")]
    Quit,
    /// What watches the launch cannot go on.
    #[error("{0}")]
    Watched(String),
    /// A file that a launch writes while it runs does not take it.
    #[error("the trace cannot be written: {0}")]
    Write(std::io::Error),
    /// The GPU that was asked about cannot run the kernel, or the model cannot time it.
    #[error("{kernel}: {error}")]
    Device {
        /// Kernel.
        kernel: String,
        /// Why.
        error: Box<ReplayError>,
    },
}

fn setup<E: std::error::Error + Send + Sync + 'static>(what: &str) -> impl FnOnce(E) -> RunError {
    move |error| RunError::Setup { what: what.into(), error: Box::new(error) }
}

/// What a launch came to: counts, and what it would cost on the device that was asked about.
pub type Launched = (LaunchStats, Option<Box<TimingReport>>);

/// Carries out one launch of a plan.
pub type Launcher<'a> =
    dyn FnMut(&Context, &Module, &PlannedLaunch, LaunchConfig) -> Result<Launched, RunError> + 'a;

/// Runs the plan's launches in order on a fresh device.
///
/// What a kernel printed before a fault is in `printed` even when this fails.
pub fn execute(
    plan: &Plan,
    verified: &Verified,
    options: &RunOptions,
    printed: &Arc<Mutex<Vec<u8>>>,
) -> Result<RunReport, RunError> {
    let mut launcher = |context: &Context, module: &Module, launch: &PlannedLaunch, config| match (
        &options.device,
        &options.timing,
    ) {
        (Some(profile), Some(timing)) => context
            .simulate(module, &launch.entry, config, profile, timing)
            .map(|(report, stats)| (stats, Some(Box::new(report))))
            .map_err(|error| timing_failed(launch, profile, error)),
        _ => context
            .launch(module, &launch.entry, config)
            .map(|stats| (stats, None))
            .map_err(RunError::Launch),
    };
    execute_by(plan, verified, options, printed, &mut launcher)
}

/// The same, with launches carried out by `launcher`.
///
/// # Errors
/// As [`execute`].
pub fn execute_by(
    plan: &Plan,
    verified: &Verified,
    options: &RunOptions,
    printed: &Arc<Mutex<Vec<u8>>>,
    launcher: &mut Launcher<'_>,
) -> Result<RunReport, RunError> {
    let device = DeviceOptions { checks: options.checks, ..DeviceOptions::default() };
    let context = Context::new(&device).map_err(setup("device"))?;
    let result = execute_on(&context, plan, verified, options, printed, launcher);
    if options.checks.any() {
        context.check_leaks();
        *options.found.lock().unwrap_or_else(PoisonError::into_inner) = context.findings();
    }
    result
}

fn execute_on(
    context: &Context,
    plan: &Plan,
    verified: &Verified,
    options: &RunOptions,
    printed: &Arc<Mutex<Vec<u8>>>,
    launcher: &mut Launcher<'_>,
) -> Result<RunReport, RunError> {
    let module = Module::from_verified(context, verified).map_err(setup("module"))?;
    let mut pointers = Vec::with_capacity(plan.buffers.len());
    for buffer in &plan.buffers {
        let bytes = buffer.bytes.len() as u64;
        let pointer = context.alloc_named(bytes, &buffer.name).map_err(setup(&buffer.name))?;
        context.copy_to_device(pointer, &buffer.bytes).map_err(setup(&buffer.name))?;
        pointers.push(pointer);
    }
    let mut handles = Vec::with_capacity(plan.textures.len());
    for plan in &plan.textures {
        handles.push(texture::create(context, &module, plan).map_err(setup(&plan.name))?);
    }

    let mut launches = Vec::with_capacity(plan.launches.len());
    for launch in &plan.launches {
        launches.push(run_launch(
            context, &module, launch, &pointers, &handles, options, printed, launcher,
        )?);
    }

    let mut buffers = Vec::with_capacity(plan.buffers.len());
    for (buffer, pointer) in plan.buffers.iter().zip(&pointers) {
        let mut bytes = vec![0; buffer.bytes.len()];
        context.copy_from_device(*pointer, &mut bytes).map_err(setup(&buffer.name))?;
        buffers.push(bytes);
    }
    let stdout = printed.lock().map(|p| p.clone()).unwrap_or_default();
    let checks = plan.checks.iter().map(|c| check(plan, c, &buffers, &stdout)).collect();
    Ok(RunReport { launches, buffers, stdout, checks })
}

#[allow(clippy::too_many_arguments, reason = "one caller, which has them all at hand")]
fn run_launch(
    context: &Context,
    module: &Module,
    launch: &PlannedLaunch,
    pointers: &[DevicePtr],
    handles: &[u64],
    options: &RunOptions,
    printed: &Arc<Mutex<Vec<u8>>>,
    launcher: &mut Launcher<'_>,
) -> Result<LaunchReport, RunError> {
    let Some(entry) = module.entry(&launch.entry) else {
        let known = module.entries().map(|e| e.name.to_string()).collect();
        return Err(RunError::UnknownEntry { name: launch.entry.clone(), known });
    };
    if let Some(profile) = &options.device {
        check_limits(module, launch, profile)?;
    }
    for (index, (arg, param)) in launch.args.iter().zip(&entry.params).enumerate() {
        if let Arg::Scalar { ty, bytes } = arg {
            let integer = |t: &str| t.starts_with(['u', 's']);
            let float = |t: &str| t.starts_with('f') || t.starts_with("bf");
            let (given, wanted) = (ty.to_string(), param.ty.name());
            let clash = integer(&given) && float(wanted) || float(&given) && integer(wanted);
            if clash && bytes.len() == param.size as usize {
                let hex: String = bytes.iter().rev().map(|b| format!("{b:02x}")).collect();
                return Err(RunError::NumberKind {
                    index,
                    given: *ty,
                    name: param.name.to_string(),
                    wanted: ptx_runtime::declaration(param),
                    hint: format!("b{}:0x{hex}", 8 * bytes.len()),
                });
            }
        }
    }
    let args = launch
        .args
        .iter()
        .map(|arg| match arg {
            Arg::Scalar { bytes, .. } | Arg::Bytes(bytes) => KernelArg::Bytes(bytes.clone()),
            Arg::Buffer { index, offset } => KernelArg::Pointer(pointers[*index].offset(*offset)),
            Arg::Texture(index) => KernelArg::Object(handles[*index]),
        })
        .collect();
    let bar = Bar::start(options.progress, launch);
    let sink = Arc::clone(printed);
    let config = LaunchConfig {
        grid: launch.grid,
        block: launch.block,
        shared: launch.shared,
        args,
        threads: options.threads,
        timeout: options.timeout,
        backend: options.backend,
        fast_nan: options.fast_nan,
        fast_approx: options.fast_approx,
        schedule: options.schedule,
        progress: Some(bar.counter()),
        print: Some(Box::new(move |bytes: &[u8]| {
            if let Ok(mut sink) = sink.lock() {
                sink.extend_from_slice(bytes);
            }
        })),
        ..LaunchConfig::default()
    };
    let before = module.counters();
    let start = Instant::now();
    let result = launcher(context, module, launch, config);
    let elapsed = start.elapsed();
    bar.finish();
    let (stats, timing) = result?;
    let fidelity = module.fidelity(&launch.entry, before, &stats).unwrap_or_default();
    Ok(LaunchReport { entry: launch.entry.clone(), stats, elapsed, fidelity, timing })
}

/// Whether the GPU that was asked about takes the launch.
fn check_limits(
    module: &Module,
    launch: &PlannedLaunch,
    profile: &Profile,
) -> Result<(), RunError> {
    let verified = module.verified().module();
    // What cannot be lowered is refused by the launch itself, with a better message.
    let Some(Ok(program)) =
        lower::entry_index(verified, &launch.entry).map(|index| lower::lower(verified, index))
    else {
        return Ok(());
    };
    limits::launch(profile, launch, program.shared_bytes)
        .map_err(|error| does_not_fit(launch, profile, error))
}

fn does_not_fit(launch: &PlannedLaunch, profile: &Profile, error: DoesNotFit) -> RunError {
    RunError::DoesNotFit { kernel: launch.entry.clone(), device: profile.name.clone(), error }
}

fn timing_failed(launch: &PlannedLaunch, profile: &Profile, error: TimingError) -> RunError {
    match error {
        TimingError::Launch(error) => RunError::Launch(error),
        TimingError::Device(ReplayError::Simulate(SimulateError::DoesNotFit(error))) => {
            does_not_fit(launch, profile, error)
        }
        TimingError::Device(error) => {
            RunError::Device { kernel: launch.entry.clone(), error: Box::new(error) }
        }
    }
}

fn check(plan: &Plan, check: &Check, buffers: &[Vec<u8>], stdout: &[u8]) -> CheckReport {
    match check {
        Check::Buffer { index, ty, expected, tolerance } => {
            let found = &buffers[*index];
            let outcome = if found.len() != expected.len() {
                Err(CheckFailure::Length { found: found.len(), expected: expected.len() })
            } else {
                compare(*ty, found, expected, *tolerance)
                    .map_or(Ok(()), |m| Err(CheckFailure::Buffer(m)))
            };
            CheckReport {
                what: plan.buffers[*index].name.clone(),
                elements: Some((expected.len() / ty.size(), *ty)),
                exact: *tolerance == Default::default(),
                outcome,
            }
        }
        Check::Stdout { expected } => {
            let outcome =
                if stdout == expected { Ok(()) } else { Err(first_difference(stdout, expected)) };
            CheckReport { what: "stdout".into(), elements: None, exact: true, outcome }
        }
    }
}

fn first_difference(found: &[u8], expected: &[u8]) -> CheckFailure {
    let (found, expected) = (String::from_utf8_lossy(found), String::from_utf8_lossy(expected));
    let (mut found, mut expected) = (found.split_inclusive('\n'), expected.split_inclusive('\n'));
    for line in 1.. {
        match (found.next(), expected.next()) {
            (None, None) => break,
            (f, e) if f != e => {
                return CheckFailure::Stdout {
                    line,
                    found: f.unwrap_or("").into(),
                    expected: e.unwrap_or("").into(),
                };
            }
            _ => {}
        }
    }
    // Bytes that only differ where they are not text.
    CheckFailure::Stdout { line: 0, found: String::new(), expected: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_compared_line_by_line() {
        let CheckFailure::Stdout { line, found, expected } = first_difference(b"a\nb\n", b"a\nc\n")
        else {
            panic!()
        };
        assert_eq!((line, &*found, &*expected), (2, "b\n", "c\n"));
        let CheckFailure::Stdout { line, found, .. } = first_difference(b"a\n", b"a\nb\n") else {
            panic!()
        };
        assert_eq!((line, &*found), (2, ""));
    }
}
