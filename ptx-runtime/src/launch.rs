//! Launching a kernel.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::{Duration, Instant};

use ptx_check::Finding;
use ptx_interp::{Kernel, LaunchParams, Report};
use ptx_isa::fixed::FixedWord;
use ptx_isa::special::Environment;
use ptx_parse::Span;
use ptx_parse::code::{Refusal, STACK};
use ptx_parse::diag::{Code, Diag, Reporter};

use crate::args::{ArgumentError, KernelArg, pack};
use crate::backend::{Backend, Codes, Compiled, Engine, LaunchStats, lasts, obstacle, pays};
use crate::compiled;
use crate::context::Context;
use crate::joined;
use crate::module::Module;
use crate::screened;
use crate::takeover::{self, Begun};
use crate::tally;
use crate::verbose;
use crate::verified::{ReadyKernel, Verified};

/// Receives what kernels print, block after block.
pub type Print = Box<dyn FnMut(&[u8]) + Send>;

/// What a launch is given.
pub struct LaunchConfig {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// Blocks per cluster; `[0, 0, 0]` takes what the kernel asks for.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Arguments in the order of the parameters.
    pub args: Vec<KernelArg>,
    /// The parameter block itself, in place of `args`.
    pub params: Option<Vec<u8>>,
    /// Host threads; one per core where it is missing.
    pub threads: Option<u32>,
    /// The longest that it may take. Where it is missing, `PTXRUN_TIMEOUT` decides.
    pub timeout: Option<Duration>,
    /// The most warp instructions that it may execute.
    pub step_limit: Option<u64>,
    /// Bytes of stack per thread; the engine's choice where it is missing.
    pub stack: Option<u32>,
    /// Set from another thread to stop it.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Counts finished blocks.
    pub progress: Option<Arc<AtomicU64>>,
    /// Receives what the kernel prints; the host's standard output where it is missing.
    pub print: Option<Print>,
    /// All blocks must make progress together.
    pub cooperative: bool,
    /// The engine.
    pub backend: Backend,
    /// Compiled code may give NaNs of any sign and payload, where the interpreter gives the GPU's one; which results
    /// are NaNs stays the same.
    pub fast_nan: bool,
    /// Compiled code may have approximate functions of its own, within the bounds of the PTX manual, where the
    /// interpreter has the GPU's bits.
    pub fast_approx: bool,
    /// `%envreg3` to `%envreg18`: what an OpenCL launch is of its range.
    pub env: Environment,
    /// Words that compiled code may take for constants: the caller answers for them.
    pub fixed: Vec<FixedWord>,
    /// Where launches are checked: runs blocks and warps in another order, the same for the same number. Where it is
    /// missing, `PTXRUN_SCHEDULE` decides.
    pub schedule: Option<u64>,
}

/// `PTXRUN_TIMEOUT`, read once: programs may change their environment while others launch. Who reads the environment
/// for other things has refused what is wrong in it.
static TIMEOUT: LazyLock<Option<Duration>> =
    LazyLock::new(|| environment::timeout().ok().flatten());

impl Default for LaunchConfig {
    fn default() -> Self {
        LaunchConfig {
            grid: [1; 3],
            block: [1; 3],
            cluster: [0; 3],
            shared: 0,
            args: Vec::new(),
            params: None,
            threads: None,
            timeout: None,
            step_limit: None,
            stack: None,
            cancel: None,
            progress: None,
            print: None,
            cooperative: false,
            backend: Backend::default(),
            fast_nan: false,
            fast_approx: false,
            env: Environment::default(),
            fixed: Vec::new(),
            schedule: None,
        }
    }
}

/// Why a launch did not finish.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The module has no such kernel.
    #[error("no entry is named `{0}`")]
    UnknownEntry(String),
    /// The kernel reaches an instruction that this engine cannot run.
    #[error("{0}")]
    Unsupported(Box<Refusal>),
    /// Arguments that do not fit the parameters.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// Grid, block, cluster or shared memory that no device takes.
    #[error("{0}")]
    Configuration(ptx_interp::LaunchError),
    /// A thread faulted, or a limit was reached.
    #[error("{}", .0.message)]
    Fault(Box<Report>),
}

/// Hands the engine's output to a callback.
struct Sink(Print);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        (self.0)(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Carries out the launches of a process in place of the engines: a debugger.
pub trait Launcher: Send + Sync {
    /// Runs a kernel to its end, as [`Context::launch`] does.
    ///
    /// # Errors
    /// As there.
    fn launch(
        &self,
        context: &Context,
        module: &Module,
        entry: &str,
        config: LaunchConfig,
    ) -> Result<LaunchStats, LaunchError>;
}

static LAUNCHER: OnceLock<Box<dyn Launcher>> = OnceLock::new();

/// Hands every later launch of the process to `launcher`; whether it is the first one.
pub fn launch_by(launcher: Box<dyn Launcher>) -> bool {
    LAUNCHER.set(launcher).is_ok()
}

/// Whether launches go to somebody else's launcher.
pub(crate) fn handed_over() -> bool {
    LAUNCHER.get().is_some()
}

impl Context {
    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// When the launch is not possible, or a thread faults.
    pub fn launch(
        &self,
        module: &Module,
        entry: &str,
        config: LaunchConfig,
    ) -> Result<LaunchStats, LaunchError> {
        if let Some(launcher) = LAUNCHER.get() {
            tally::count(entry);
            return launcher.launch(self, module, entry, config);
        }
        self.launch_kernel(module, &find(module, entry)?, config)
    }

    /// The same for a kernel of the module that was found before.
    ///
    /// # Errors
    /// As [`Context::launch`].
    pub fn launch_ready(
        &self,
        module: &Module,
        ready: &ReadyKernel,
        config: LaunchConfig,
    ) -> Result<LaunchStats, LaunchError> {
        if handed_over() {
            return self.launch(module, ready.kernel.name(), config);
        }
        self.launch_kernel(module, &ready.kernel, config)
    }

    fn launch_kernel(
        &self,
        module: &Module,
        kernel: &Arc<Kernel>,
        config: LaunchConfig,
    ) -> Result<LaunchStats, LaunchError> {
        let entry = kernel.name();
        tally::count(entry);
        let before = module.counters();
        let stats = self.run(module, kernel, config)?;
        verbose::tell(module.verified(), entry, &stats, || module.fidelity(entry, before, &stats));
        Ok(stats)
    }

    fn run(
        &self,
        module: &Module,
        kernel: &Arc<Kernel>,
        config: LaunchConfig,
    ) -> Result<LaunchStats, LaunchError> {
        let (backend, entry) = (config.backend, kernel.name());
        let LaunchConfig { fast_nan, fast_approx, .. } = config;
        // The clock is asked only where somebody wants to know.
        let since = config.timeout.or(*TIMEOUT).map(|_| Instant::now());
        let mut launch = self.prepare_kernel(module, kernel, config)?;
        let stack = launch.stack_bytes;
        // Meeting is as fast as the interpreter at best where threads meet often, so it is for who asks.
        let meets = backend == Backend::Jit;
        let options =
            ptx_jit::Options { fast_nan, fast_approx, stack, meets, ..Default::default() };
        launch.since = since;
        let codes = &module.verified().codes;
        if let Some(checker) = self.checker() {
            let close = kernel;
            let kernel = spaced(module, entry, kernel, &launch);
            let why = match backend {
                Backend::Jit | Backend::Auto if !Arc::ptr_eq(close, &kernel) => {
                    let memory = self.memory();
                    let ran =
                        screened::run(memory, checker, codes, &kernel, &launch, backend, options);
                    match ran.map_err(LaunchError::from_engine)? {
                        Ok(stats) => return Ok(stats),
                        Err(why) => why,
                    }
                }
                Backend::Interp | Backend::Jit | Backend::Auto => "it is checked".into(),
            };
            let stats = checker.launch(&kernel, &launch).map_err(LaunchError::from_engine)?;
            codes.worked(&kernel, &stats);
            return Ok(LaunchStats::interpreted(stats, Engine::Fallback(why)));
        }
        if joined::may_join(&launch)
            && let checked =
                ptx_interp::Checked::new(kernel, &launch).map_err(LaunchError::from_engine)?
            && let Some(joined) = module.verified().joined(kernel, checked.shared_bytes())
            && let Some((together, count)) = joined.launch(&launch)
        {
            let options = ptx_jit::Options { stack: together.stack_bytes, ..options };
            let ran = self.run_by(&joined.codes, &joined.kernel, &together, backend, options);
            let memory = self.memory();
            return ran.map(|stats| stats.of_blocks(count)).map_err(|error| match error {
                LaunchError::Fault(report) => {
                    let error = joined::told(kernel, memory, &launch, count, report);
                    LaunchError::from_engine(error)
                }
                other => other,
            });
        }
        self.run_by(codes, kernel, &launch, backend, options)
    }

    /// Runs a launch that nobody looks at, with the kernel's compiled code or in the interpreter.
    fn run_by(
        &self,
        codes: &Arc<Codes>,
        kernel: &Arc<Kernel>,
        launch: &LaunchParams,
        backend: Backend,
        options: ptx_jit::Options,
    ) -> Result<LaunchStats, LaunchError> {
        let mut engine = Engine::Interpreter;
        let (work, ready) = codes.look(kernel, launch, options);
        let wanted = match backend {
            Backend::Interp => false,
            Backend::Jit => true,
            Backend::Auto => {
                matches!(ready, Some(Ok(_)))
                    || pays(launch, work)
                    || obstacle(launch).is_none() && lasts(kernel, self.memory(), launch, work)
            }
        };
        let checked = ptx_interp::Checked::new(kernel, launch).map_err(LaunchError::from_engine)?;
        let memory = self.memory();
        if wanted {
            let obstacle =
                if checked.clustered() { Some("blocks in clusters") } else { obstacle(launch) };
            let code = match (obstacle, ready) {
                (Some(why), _) => Err(Arc::from(why)),
                (None, Some(code)) => code.map(|code| (code, None)),
                (None, None) => codes.get(kernel, launch, options),
            };
            match code {
                Ok((code, compiled_in)) => {
                    let blocks =
                        compiled::run(kernel, &code, &checked, memory, launch, work.of(launch))
                            .map_err(LaunchError::from_engine)?;
                    let compiled = Compiled { compiled_in, ..Compiled::by(&code, options) };
                    return Ok(LaunchStats::compiled(blocks, compiled));
                }
                Err(why) => engine = Engine::Fallback(why),
            }
        }
        let checked = &checked;
        let begun = Begun { codes, kernel, checked, memory, launch, options };
        let (stats, taken) = match backend {
            Backend::Auto if !wanted && begun.may_be_taken_over() => takeover::run(&begun, work),
            _ => ptx_interp::launch(kernel, memory, launch).map(|stats| (stats, None)),
        }
        .map_err(LaunchError::from_engine)?;
        codes.worked(kernel, &stats);
        if let Some((code, blocks)) = taken {
            let interpreted = stats.blocks;
            let compiled = Compiled { interpreted, ..Compiled::by(&code, options) };
            return Ok(LaunchStats::compiled(interpreted + blocks, compiled));
        }
        Ok(LaunchStats::interpreted(stats, engine))
    }

    /// Runs a kernel to its end and says what it would cost on the device of a profile. Memory
    /// holds the kernel's results afterwards.
    ///
    /// ```
    /// use ptx_runtime::{Context, DeviceOptions, LaunchConfig, Module, device};
    ///
    /// let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n\
    ///     .visible .entry clear(.param .u64 data)\n{\n\
    ///     .reg .b32 %r<3>; .reg .b64 %rd<4>;\n\
    ///     ld.param.u64 %rd1, [data];\n\
    ///     mov.u32 %r1, %tid.x;\n\
    ///     mul.wide.u32 %rd2, %r1, 4;\n\
    ///     add.s64 %rd3, %rd1, %rd2;\n\
    ///     st.global.u32 [%rd3], 0;\n\
    ///     ret;\n}\n";
    /// let context = Context::new(&DeviceOptions::default())?;
    /// let module = Module::load(&context, ptx, "clear.ptx")?;
    /// let data = context.alloc(512)?;
    /// let config = LaunchConfig { block: [128, 1, 1], args: vec![data.into()], ..Default::default() };
    /// let a100 = device::profile("A100")?;
    /// let (report, _) = context.simulate(&module, "clear", config, &a100, &Default::default())?;
    /// assert!(report.summary.cycles > 0);
    /// // Each warp stores 128 bytes that lie side by side: nothing else is moved.
    /// assert_eq!(report.memory.global_bytes_moved, 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Context::launch`], and when the device of the profile cannot run the kernel.
    pub fn simulate(
        &self,
        module: &Module,
        entry: &str,
        config: LaunchConfig,
        profile: &ptx_timing::Profile,
        options: &ptx_timing::Options,
    ) -> Result<(ptx_timing::Report, LaunchStats), TimingError> {
        tally::count(entry);
        let (kernel, launch) = self.prepare(module, entry, config)?;
        ptx_timing::simulate(profile, &kernel, self.memory(), &launch, options)
            .map(|(report, stats)| (report, LaunchStats::interpreted(stats, Engine::Interpreter)))
            .map_err(|error| match error {
                ptx_timing::ReplayError::Launch(error) => LaunchError::from_engine(error).into(),
                other => TimingError::Device(other),
            })
    }

    /// The kernel, and a launch as the interpreter takes it: for tools that launch it themselves, on
    /// [`Context::memory`].
    ///
    /// # Errors
    /// As [`Context::launch`], as far as no thread has run.
    pub fn prepare(
        &self,
        module: &Module,
        entry: &str,
        config: LaunchConfig,
    ) -> Result<(Arc<Kernel>, LaunchParams), LaunchError> {
        let kernel = find(module, entry)?;
        let launch = self.prepare_kernel(module, &kernel, config)?;
        Ok((kernel, launch))
    }

    fn prepare_kernel(
        &self,
        module: &Module,
        kernel: &Kernel,
        config: LaunchConfig,
    ) -> Result<LaunchParams, LaunchError> {
        let program = kernel.program();
        let params = match config.params {
            Some(block) => block,
            None => pack(&program.params, program.param_bytes, &config.args)?,
        };
        Ok(LaunchParams {
            grid: config.grid,
            block: config.block,
            cluster: config.cluster,
            shared_bytes: config.shared,
            params,
            symbols: module.symbols().to_vec(),
            textures: self.textures(),
            threads: config.threads.unwrap_or(0) as usize,
            timeout: config.timeout.or(*TIMEOUT),
            since: None,
            step_limit: config.step_limit,
            stack_bytes: config.stack.unwrap_or(STACK),
            cancel: config.cancel,
            output: config.print.map(|print| Arc::new(Mutex::new(Sink(print))) as _),
            progress: config.progress,
            cooperative: config.cooperative,
            env: config.env,
            fixed: config.fixed,
            steady_clock: false,
            schedule: match self.checker() {
                Some(_) => config.schedule.or_else(|| environment::schedule().ok().flatten()),
                None => None,
            },
        })
    }

    /// Runs what [`prepare`](Context::prepare) made and checks it: what is new, and the kernel that ran, whose
    /// variables stand apart. `None` where nothing is checked. A fault ends the launch and is found as well.
    pub fn check(
        &self,
        module: &Module,
        entry: &str,
        kernel: &Arc<Kernel>,
        launch: &LaunchParams,
    ) -> Option<(Vec<Finding>, Arc<Kernel>)> {
        let checker = self.checker()?;
        let (known, kernel) = (checker.all().len(), spaced(module, entry, kernel, launch));
        let _ = checker.launch(&kernel, launch);
        Some((checker.all().split_off(known), kernel))
    }
}

/// The kernel of that name, ready to run.
fn find(module: &Module, entry: &str) -> Result<Arc<Kernel>, LaunchError> {
    module
        .kernel(entry)
        .ok_or_else(|| LaunchError::UnknownEntry(entry.into()))?
        .map_err(|refusal| LaunchError::Unsupported(Box::new(refusal)))
}

/// The kernel whose variables stand apart, unless that takes more shared memory than there is.
fn spaced(
    module: &Module,
    entry: &str,
    kernel: &Arc<Kernel>,
    launch: &LaunchParams,
) -> Arc<Kernel> {
    let spaced = module.verified().spaced(entry);
    let fits = spaced.filter(|spaced| ptx_interp::Checked::new(spaced, launch).is_ok());
    fits.unwrap_or_else(|| Arc::clone(kernel))
}

/// Why a launch could not be timed.
#[derive(Debug, thiserror::Error)]
pub enum TimingError {
    /// The launch is not possible, or a thread faults.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The device cannot run it.
    #[error(transparent)]
    Device(ptx_timing::ReplayError),
}

impl LaunchError {
    pub(crate) fn from_engine(error: ptx_interp::LaunchError) -> LaunchError {
        match error {
            ptx_interp::LaunchError::Fault(report) => LaunchError::Fault(report),
            other => LaunchError::Configuration(other),
        }
    }

    /// The error as text for people, with the place in the PTX where there is one.
    pub fn render(&self, verified: &Verified, color: bool) -> String {
        match self {
            LaunchError::Unsupported(refusal) => {
                let module = verified.module();
                let reporter = Reporter::new(&module.name, &module.source);
                let diag = unsupported(refusal);
                if color { reporter.coloured(&diag) } else { reporter.plain(&diag) }
            }
            LaunchError::Fault(report) => format!("error: {report}"),
            other => format!("error: {other}\n"),
        }
    }

    /// The error as data: its kind, and everything that is known about it.
    pub fn to_json(&self, verified: &Verified) -> serde_json::Value {
        use serde_json::json;
        match self {
            LaunchError::UnknownEntry(_) => json!({"kind": "entry"}),
            LaunchError::Unsupported(refusal) => {
                let module = verified.module();
                let reporter = Reporter::new(&module.name, &module.source);
                let diag = unsupported(refusal);
                let located = serde_json::to_value(reporter.locate(&diag)).unwrap_or_default();
                json!({"kind": "unsupported", "diagnostic": located})
            }
            LaunchError::Arguments(_) => json!({"kind": "arguments"}),
            LaunchError::Configuration(_) => json!({"kind": "configuration"}),
            LaunchError::Fault(report) => {
                let report = serde_json::to_value(report).unwrap_or_default();
                json!({"kind": "fault", "fault": report})
            }
        }
    }
}

fn unsupported(refusal: &Refusal) -> Diag {
    let span = Span { start: refusal.span.start, end: refusal.span.end };
    let mut diag = Diag::error(Code::Unsupported, span, refusal.to_string());
    diag.note(format!("reached from the kernel through function `{}`", refusal.function));
    diag
}
