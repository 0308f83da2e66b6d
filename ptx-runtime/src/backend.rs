//! Which engine runs a launch: the interpreter or compiled code.
//!
//! Whatever the choice, results are the interpreter's, bit for bit. A kernel or a launch that
//! compiled code cannot serve runs in the interpreter; a fault in compiled code is reported by
//! running the block once more in the interpreter.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ptx_interp::{Kernel, LaunchParams, Memory};
pub use ptx_jit::Cache;
use ptx_jit::{Bundle, Options, Seen};
use ptx_parse::code::{Flow, Program};

use crate::rehearsal;

/// The engine that a launch asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Compiled code where the work seems to pay for compiling, else the interpreter.
    #[default]
    Auto,
    /// Always the interpreter.
    Interp,
    /// Compiled code wherever that is possible.
    Jit,
}

/// Environment variable that names the engine.
pub const BACKEND_VARIABLE: &str = environment::BACKEND.name;

/// A word that names no engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{BACKEND_VARIABLE}: `{0}` is none of auto, interp, jit")]
pub struct UnknownBackend(pub String);

impl std::str::FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(word: &str) -> Result<Backend, UnknownBackend> {
        match word.trim() {
            "" | "auto" => Ok(Backend::Auto),
            "interp" => Ok(Backend::Interp),
            "jit" => Ok(Backend::Jit),
            other => Err(UnknownBackend(other.to_owned())),
        }
    }
}

impl Backend {
    /// The engine that [`BACKEND_VARIABLE`] names; the default where it is not set.
    ///
    /// # Errors
    /// When it names none.
    pub fn from_environment() -> Result<Backend, UnknownBackend> {
        environment::BACKEND.text().map_or(Ok(Backend::Auto), |word| word.parse())
    }
}

/// The engine that ran a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The interpreter, because it was asked for or the work was small.
    Interpreter,
    /// The interpreter, because compiled code cannot run this.
    Fallback(Arc<str>),
    /// Compiled code.
    Compiled(Compiled),
}

/// What compiling a kernel came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Threads that run in lock step.
    pub lanes: u32,
    /// Bits of the vectors that hold them, where there are several.
    pub vector_bits: u32,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Time to compile, or to find it in the cache; missing where an earlier launch had done it.
    pub compiled_in: Option<Duration>,
    /// Whether the code was in the cache of an earlier process.
    pub cached: bool,
    /// Whether results that are no number may have any payload ([`crate::LaunchConfig::fast_nan`]).
    pub fast_nan: bool,
    /// Whether approximate functions are the GPU's only within their bounds ([`crate::LaunchConfig::fast_approx`]).
    pub fast_approx: bool,
    /// Blocks that the interpreter had begun when the code was there.
    pub interpreted: u64,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Engine::Interpreter => f.write_str("interpreted"),
            Engine::Fallback(why) => write!(f, "interpreted, as it cannot be compiled: {why}"),
            Engine::Compiled(c) => {
                write!(f, "compiled code, {} lanes", c.lanes)?;
                if c.lanes > 1 {
                    write!(f, " in {}-bit vectors", c.vector_bits)?;
                }
                write!(f, ", {} bytes", c.code_bytes)?;
                if c.fast_nan {
                    f.write_str(", fast-nan")?;
                }
                if c.fast_approx {
                    f.write_str(", fast-approx")?;
                }
                if c.interpreted > 0 {
                    write!(f, ", after {} blocks in the interpreter", c.interpreted)?;
                }
                match c.compiled_in {
                    Some(t) if c.cached => {
                        write!(f, ", from the cache in {:.2} ms", t.as_secs_f64() * 1e3)
                    }
                    Some(t) => write!(f, ", compiled in {:.1} ms", t.as_secs_f64() * 1e3),
                    None => f.write_str(", compiled before"),
                }
            }
        }
    }
}

/// What a launch did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchStats {
    /// PTX instructions times lanes that executed them; `None`: compiled code does not count.
    pub thread_instructions: Option<u64>,
    /// PTX instructions issued by warps; `None`: compiled code does not count.
    pub warp_instructions: Option<u64>,
    /// Blocks that ran.
    pub blocks: u64,
    /// What ran them.
    pub engine: Engine,
}

impl Compiled {
    /// What compiled code was made of a kernel, before the launch.
    pub(crate) fn by(code: &ptx_jit::Kernel, options: Options) -> Compiled {
        let ptx_jit::Stats { lanes, vector_bits, code_bytes, cached, .. } = code.stats;
        let Options { fast_nan, fast_approx, .. } = options;
        let (compiled_in, interpreted) = (None, 0);
        Compiled {
            lanes,
            vector_bits,
            code_bytes,
            cached,
            fast_nan,
            fast_approx,
            compiled_in,
            interpreted,
        }
    }
}

impl LaunchStats {
    /// A launch of which compiled code ran the end, or all.
    pub(crate) fn compiled(blocks: u64, by: Compiled) -> LaunchStats {
        let engine = Engine::Compiled(by);
        LaunchStats { thread_instructions: None, warp_instructions: None, blocks, engine }
    }

    /// The same for blocks that were put together, `count` to one.
    pub(crate) fn of_blocks(mut self, count: u32) -> LaunchStats {
        self.blocks *= u64::from(count);
        if let Engine::Compiled(by) = &mut self.engine {
            by.interpreted *= u64::from(count);
        }
        self
    }

    /// What the interpreter counted, and the engine as reports name it.
    pub fn interpreted(stats: ptx_interp::Stats, engine: Engine) -> LaunchStats {
        LaunchStats {
            thread_instructions: Some(stats.thread_instructions),
            warp_instructions: Some(stats.warp_instructions),
            blocks: stats.blocks,
            engine,
        }
    }
}

/// What keeps a launch of any kernel from running compiled code.
pub(crate) fn obstacle(launch: &LaunchParams) -> Option<&'static str> {
    if !matches!(launch.cluster, [0, 0, 0] | [1, 1, 1]) {
        return Some("blocks in clusters");
    }
    launch.step_limit.map(|_| "a limit counts warp instructions")
}

/// Thread instructions that pay for compiling a kernel.
fn price(program: &Program) -> u64 {
    let insts: usize = program.functions.iter().map(|f| f.insts.len()).sum();
    2_000_000 + insts as u64 * 50_000
}

/// Whether to compile: the launch's estimated work and what the kernel has done before, against
/// the price.
pub(crate) fn pays(launch: &LaunchParams, worked: Worked) -> bool {
    worked.interpreted(launch).saturating_add(worked.before) > worked.price
}

/// Most PTX instructions of a thread that are rehearsed: about a millisecond. A thread that is not done then pays for
/// compiling, whatever else the launch has.
const REHEARSED: u64 = 30_000;

/// Whether a launch pays for compiling by what one of its threads does, where the estimate says no.
pub(crate) fn lasts(
    kernel: &Kernel,
    memory: &Memory,
    launch: &LaunchParams,
    worked: Worked,
) -> bool {
    // Not before every launch: parameters change little.
    if worked.launches.count_ones() > 1 {
        return false;
    }
    let threads: u64 = launch.block.iter().map(|d| u64::from(*d)).product();
    let blocks = launch.grid.iter().fold(1u64, |n, d| n.saturating_mul(u64::from(*d)));
    // The interpreter runs a warp in the time of one of its threads.
    let warps = blocks.saturating_mul(threads.div_ceil(32)).max(1);
    let missing = worked.price.saturating_sub(worked.before);
    let most = (missing / 32 / warps).clamp(1, REHEARSED);
    rehearsal::lasts(kernel, memory, launch, most)
}

/// Thread instructions that an interpreted launch costs beside those of its threads.
const LAUNCH: u64 = 10_000;

/// Threads of a warp.
const WARP: u64 = 32;

/// Bounds of [`Worked::patience`].
const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(200);

/// What is known of a kernel's work.
#[derive(Clone, Copy)]
pub(crate) struct Worked {
    /// Thread instructions that the interpreter had the time for, and what its launches cost.
    before: u64,
    /// Thread instructions of one thread, estimated.
    thread: u64,
    /// Whether there are loops, so that a thread may execute many more.
    loops: bool,
    /// Thread instructions that pay for compiling it.
    price: u64,
    /// Launches in the interpreter.
    launches: u32,
}

impl Worked {
    fn new(program: &Program) -> Worked {
        let (thread, loops) = estimate(program);
        Worked { before: 0, thread, loops, price: price(program), launches: 0 }
    }

    /// How long a launch stays in the interpreter before code is made for it: about as long as that takes.
    pub(crate) fn patience(self) -> Duration {
        Duration::from_nanos(self.price.saturating_sub(self.before)).clamp(SHORT, LONG)
    }

    /// Thread instructions that the interpreter would have the time for, estimated: it runs a warp in the time of one
    /// of its threads.
    fn interpreted(self, launch: &LaunchParams) -> u64 {
        let block: u64 = launch.block.iter().map(|d| u64::from(*d)).product();
        let warps = block.max(1).next_multiple_of(WARP);
        let blocks = launch.grid.iter().fold(warps, |n, d| n.saturating_mul(u64::from(*d)));
        self.thread.saturating_mul(blocks)
    }

    /// Thread instructions that a launch may have, estimated: loops may turn more often than is counted on.
    pub(crate) fn of(self, launch: &LaunchParams) -> u64 {
        let sizes = launch.grid.iter().chain(&launch.block);
        let thread = if self.loops { 4 * self.thread } else { self.thread };
        sizes.fold(thread, |n, d| n.saturating_mul(u64::from(*d)))
    }
}

/// Thread instructions of one thread, counting each loop for 16 turns; whether there are loops.
fn estimate(program: &Program) -> (u64, bool) {
    let (mut sum, mut loops) = (0u64, false);
    for f in &program.functions {
        let mut turns = vec![1u64; f.blocks.len()];
        for (b, block) in f.blocks.iter().enumerate() {
            for inst in &f.insts[block.start as usize..block.end as usize] {
                if let Flow::Bra(to) = inst.flow
                    && to as usize <= b
                {
                    loops = true;
                    turns[to as usize..=b].iter_mut().for_each(|t| *t = (*t * 16).min(4096));
                }
            }
        }
        for (block, turns) in f.blocks.iter().zip(turns) {
            sum = sum.saturating_add(u64::from(block.end - block.start) * turns);
        }
    }
    (sum, loops)
}

/// The user's cache of compiled code; `PTXRUN_CACHE_DIR` says where.
fn cache() -> Option<&'static Cache> {
    static CACHE: OnceLock<Option<Cache>> = OnceLock::new();
    CACHE.get_or_init(Cache::from_environment).as_ref()
}

/// Compiled code, or why there is none.
pub(crate) type Code = Result<Arc<ptx_jit::Kernel>, Arc<str>>;

/// Versions of a kernel for launches of different sizes, beyond which one for all sizes is made.
const VERSIONS: usize = 4;

/// What compiled code may depend on of a launch.
fn seen(launch: &LaunchParams) -> Seen<'_> {
    let [x, y, z, ..] = launch.env;
    let (params, fixed) = (&launch.params, &launch.fixed);
    Seen { grid: launch.grid, params, offset: [x, y, z], fixed }
}

/// The launches that code beside a module is for: those of a few blocks with small parameters, as most are, and those
/// of any size. Both without a global offset.
pub(crate) fn bundled_sizes<T>(program: &Program, with: impl FnOnce([Seen<'_>; 2]) -> T) -> T {
    let bytes = program.param_bytes as usize;
    let (small, large) = (vec![0; bytes], vec![0xff; bytes]);
    with([
        Seen { grid: [1; 3], params: &small, offset: [0; 3], fixed: &[] },
        Seen { grid: [u32::MAX; 3], params: &large, offset: [0; 3], fixed: &[] },
    ])
}

/// Versions of a kernel's compiled code for one block shape, and for what the code may do.
type Versions = ([u32; 3], Options, Vec<Code>);

/// Code that a thread makes now.
#[derive(Clone, PartialEq)]
struct Flight {
    /// A forked process has none of the threads of the other one.
    process: u32,
    kernel: String,
    block: [u32; 3],
    options: Options,
}

impl Flight {
    fn new(kernel: &Kernel, launch: &LaunchParams, options: Options) -> Flight {
        let (process, kernel) = (std::process::id(), kernel.name().to_owned());
        Flight { process, kernel, block: launch.block, options }
    }
}

/// What was compiled of a module.
#[derive(Default)]
struct Known {
    /// By kernel ([`number`]).
    compiled: BTreeMap<u32, Vec<Versions>>,
    /// The same.
    work: BTreeMap<u32, Worked>,
    flying: Vec<Flight>,
}

/// A kernel's number in its module.
fn number(kernel: &Kernel) -> u32 {
    kernel.program().functions[0].id
}

impl Known {
    fn work(&mut self, kernel: &Kernel) -> Worked {
        let new = || Worked::new(kernel.program());
        *self.work.entry(number(kernel)).or_insert_with(new)
    }

    /// The versions of code for a launch's kernel, shape and options.
    fn versions(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchParams,
        options: Options,
    ) -> &mut Vec<Code> {
        let shapes = self.compiled.entry(number(kernel)).or_default();
        let same = |v: &Versions| (v.0, v.1) == (launch.block, options);
        let at = shapes.iter().position(same).unwrap_or_else(|| {
            shapes.push((launch.block, options, Vec::new()));
            shapes.len() - 1
        });
        &mut shapes[at].2
    }

    /// The code that fits a launch, or why it cannot be compiled.
    fn find(&self, kernel: &Kernel, launch: &LaunchParams, options: Options) -> Option<Code> {
        let this = seen(launch);
        let same = |v: &&Versions| (v.0, v.1) == (launch.block, options);
        let versions = &self.compiled.get(&number(kernel))?.iter().find(same)?.2;
        let fits = |code: &&Code| code.as_ref().map_or(true, |code| code.fits(this));
        versions.iter().find(fits).cloned()
    }
}

/// Compiled code of a module's kernels, and what makes it worth having.
#[derive(Default)]
pub(crate) struct Codes {
    /// What came with the module.
    bundle: Bundle,
    known: Mutex<Known>,
    /// Code was made.
    landed: Condvar,
}

impl Codes {
    /// Codes of a module with which some came.
    pub(crate) fn with(bundle: Bundle) -> Codes {
        Codes { bundle, ..Codes::default() }
    }

    /// How many kernels' code came with the module.
    pub(crate) fn bundled(&self) -> usize {
        self.bundle.len()
    }

    /// Compiled code for a launch, and the time to compile it if that was done now; or why there is
    /// none.
    pub(crate) fn get(
        &self,
        kernel: &Kernel,
        launch: &LaunchParams,
        options: Options,
    ) -> Result<(Arc<ptx_jit::Kernel>, Option<Duration>), Arc<str>> {
        let this = seen(launch);
        let mut known = self.known();
        if let Some(found) = known.find(kernel, launch, options) {
            return found.map(|code| (code, None));
        }
        let flight = Flight::new(kernel, launch, options);
        while known.flying.contains(&flight) {
            // Another thread makes it, or one for other sizes.
            known = self.landed.wait(known).unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = known.find(kernel, launch, options) {
                return found.map(|code| (code, None));
            }
        }
        let version = known.versions(kernel, launch, options).len();
        known.flying.push(flight.clone());
        drop(known);
        let start = Instant::now();
        let seen = (version < VERSIONS).then_some(this);
        let compile = || match (self.came_along(kernel, launch, options), cache()) {
            (Some(code), _) => Ok(code),
            (None, Some(cache)) => {
                ptx_jit::compile_cached(kernel.program(), launch.block, seen, options, cache)
            }
            (None, None) => ptx_jit::compile(kernel.program(), launch.block, seen, options),
        };
        // A mistake of the compiler must not end the program: the interpreter runs the kernel.
        let code = match catch_unwind(AssertUnwindSafe(compile)) {
            Ok(code) => code.map(Arc::new).map_err(|why| Arc::from(why.to_string())),
            Err(_) => Err("the compiler failed on it; please report it".into()),
        };
        let mut known = self.known();
        let versions = known.versions(kernel, launch, options);
        if versions.len() <= VERSIONS {
            versions.push(code.clone());
        }
        known.flying.retain(|f| *f != flight);
        drop(known);
        self.landed.notify_all();
        let code = code?;
        if !code.fits(this) {
            return Err("2^31 threads or more in a dimension".into());
        }
        Ok((code, Some(start.elapsed())))
    }

    /// Makes code for a launch on a thread of its own, unless one is at it; later launches and [`Codes::ready`] find it.
    pub(crate) fn make_beside(
        self: &Arc<Self>,
        kernel: &Arc<Kernel>,
        launch: &LaunchParams,
        options: Options,
    ) {
        if self.known().flying.contains(&Flight::new(kernel, launch, options)) {
            return;
        }
        let (codes, kernel, launch) = (Arc::clone(self), Arc::clone(kernel), launch.clone());
        let make = move || drop(codes.get(&kernel, &launch, options));
        // Without a thread the interpreter goes on.
        let _ = std::thread::Builder::new().name("ptxrun-compile".into()).spawn(make);
    }

    /// Compiled code that is there for a launch.
    pub(crate) fn ready(
        &self,
        kernel: &Kernel,
        launch: &LaunchParams,
        options: Options,
    ) -> Option<Arc<ptx_jit::Kernel>> {
        self.known().find(kernel, launch, options)?.ok()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Code for a launch that came with the module: for small launches, or for all.
    fn came_along(
        &self,
        kernel: &Kernel,
        launch: &LaunchParams,
        options: Options,
    ) -> Option<ptx_jit::Kernel> {
        if self.bundle.is_empty() {
            return None;
        }
        let program = kernel.program();
        bundled_sizes(program, |sizes| {
            sizes.into_iter().find_map(|size| {
                let found = ptx_jit::find(program, launch.block, Some(size), options, &self.bundle);
                found.ok()?.filter(|code| code.fits(seen(launch)))
            })
        })
    }

    /// What is known of a kernel's work.
    pub(crate) fn work(&self, kernel: &Kernel) -> Worked {
        self.known().work(kernel)
    }

    /// The same, and the code that is there for a launch, or why there can be none: what every launch asks first.
    pub(crate) fn look(
        &self,
        kernel: &Kernel,
        launch: &LaunchParams,
        options: Options,
    ) -> (Worked, Option<Code>) {
        let mut known = self.known();
        (known.work(kernel), known.find(kernel, launch, options))
    }

    /// Adds what a launch in the interpreter has executed.
    pub(crate) fn worked(&self, kernel: &Kernel, stats: &ptx_interp::Stats) {
        let instructions = stats.warp_instructions.saturating_mul(WARP);
        if let Some(known) = self.known().work.get_mut(&number(kernel)) {
            known.before = known.before.saturating_add(instructions.saturating_add(LAUNCH));
            known.launches = known.launches.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, DeviceOptions, KernelArg, LaunchConfig, Module};

    #[test]
    fn engines_by_name() {
        for (word, engine) in [
            ("", Backend::Auto),
            ("auto", Backend::Auto),
            ("interp", Backend::Interp),
            (" jit", Backend::Jit),
        ] {
            assert_eq!(word.parse(), Ok(engine));
        }
        let error = "JIT".parse::<Backend>().unwrap_err();
        assert_eq!(error.to_string(), "PTXRUN_BACKEND: `JIT` is none of auto, interp, jit");
    }

    /// A kernel that runs a few times is not worth compiling. How long its launches last is left out here: on a busy
    /// machine one may last.
    #[test]
    fn small_launches_pay_for_compiling_after_a_while() {
        let context = Context::new(&DeviceOptions::default()).unwrap();
        let module =
            Module::load(&context, include_str!("../tests/count.ptx"), "count.ptx").unwrap();
        let buffer = context.alloc(256).unwrap();
        let config = || LaunchConfig {
            block: [64, 1, 1],
            args: vec![KernelArg::Pointer(buffer)],
            backend: Backend::Interp,
            ..LaunchConfig::default()
        };
        let (kernel, launch) = context.prepare(&module, "count", config()).unwrap();
        let wanted = || {
            let worked = module.verified().codes.work(&kernel);
            pays(&launch, worked) || lasts(&kernel, context.memory(), &launch, worked)
        };
        let launches = (0..1000).find(|_| {
            let wanted = wanted();
            context.launch(&module, "count", config()).unwrap();
            wanted
        });
        assert!(launches.is_some_and(|n| (50..800).contains(&n)), "{launches:?}");
    }
}
