//! Launching a grid over host threads.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ptx_isa::Kind;
use ptx_isa::effect::window;
use ptx_isa::special::Sreg;
use ptx_isa::texture::Texture;

use crate::code::{Fill, Kernel};
use crate::cta::Group;
use crate::exec::Worker;
use crate::memory::Memory;
use crate::observer::{Nobody, Observer};
use crate::report::{FaultKind, Report};
use crate::rows::Area;

/// Texture, sampler and surface objects by handle.
pub type Textures = BTreeMap<u64, Arc<Texture>>;

/// What a launch is given.
#[derive(Clone)]
pub struct LaunchParams {
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Blocks in a cluster; `[1, 1, 1]` without clusters.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// The parameter block.
    pub params: Vec<u8>,
    /// Addresses of the module's symbols, each in its own space.
    pub symbols: Vec<u64>,
    /// Objects that texture handles name.
    pub textures: Arc<Textures>,
    /// Host threads; 0 takes all that the host has.
    pub threads: usize,
    /// Time limit.
    pub timeout: Option<Duration>,
    /// Most warp instructions.
    pub step_limit: Option<u64>,
    /// Bytes of local memory per thread (at least what the kernel itself needs).
    pub stack_bytes: u32,
    /// Set to stop the launch.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Where device `printf` goes; `None` is the host's standard output.
    pub output: Option<Arc<Mutex<dyn Write + Send>>>,
    /// Counts finished blocks, for progress displays.
    pub progress: Option<Arc<AtomicU64>>,
    /// All blocks must make progress together (cooperative launch).
    pub cooperative: bool,
    /// `%envreg3` to `%envreg6`.
    pub env: [u32; 4],
}

impl Default for LaunchParams {
    fn default() -> Self {
        LaunchParams {
            grid: [1; 3],
            block: [1; 3],
            cluster: [1; 3],
            shared_bytes: 0,
            params: Vec::new(),
            symbols: Vec::new(),
            textures: Arc::default(),
            threads: 0,
            timeout: None,
            step_limit: None,
            stack_bytes: 64 << 10,
            cancel: None,
            output: None,
            progress: None,
            cooperative: false,
            env: [0; 4],
        }
    }
}

/// What a launch did.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Stats {
    /// PTX instructions times lanes that executed them (guarded ones count for all).
    pub thread_instructions: u64,
    /// PTX instructions issued by warps.
    pub warp_instructions: u64,
    /// Blocks that ran.
    pub blocks: u64,
}

/// Why a launch did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A thread faulted, or a limit was reached.
    #[error("{0}")]
    Fault(Box<Report>),
    /// A dimension is 0 or too large.
    #[error("{what} {given:?} is not possible: {rule}")]
    Dimensions {
        /// Which.
        what: &'static str,
        /// As given.
        given: [u32; 3],
        /// What is.
        rule: String,
    },
    /// The parameter block has the wrong size.
    #[error("kernel `{kernel}` takes {wanted} bytes of parameters, {given} given")]
    Params {
        /// Kernel.
        kernel: String,
        /// Bytes wanted.
        wanted: u32,
        /// Bytes given.
        given: usize,
    },
    /// Too much shared memory.
    #[error("{bytes} bytes of shared memory are more than the {limit} of a block")]
    SharedMemory {
        /// Static and dynamic bytes.
        bytes: u64,
        /// Most.
        limit: u64,
    },
    /// A symbol that the code uses has no address.
    #[error("module variable {0} has no address")]
    Symbol(u32),
}

/// Most shared memory of a block: 227 KiB, as on the largest devices.
pub const MAX_SHARED: u64 = 227 << 10;
/// SMs that `%smid` and residency assume (H200).
const SMS: u32 = 132;

/// Sizes of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub explicit_cluster: bool,
    pub shared_bytes: u32,
    pub dynamic_bytes: u32,
    pub sms: u32,
    pub grid_id: u64,
    pub env: [u32; 4],
}

impl Geometry {
    pub(crate) fn threads_per_cta(&self) -> u32 {
        self.block.iter().product()
    }
    pub(crate) fn warps_per_cta(&self) -> u32 {
        self.threads_per_cta().div_ceil(32)
    }
    pub(crate) fn ctas_per_cluster(&self) -> u32 {
        self.cluster.iter().product()
    }
    pub(crate) fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|d| self.grid[d] / self.cluster[d])
    }
    /// Groups in the grid.
    fn groups(&self) -> u64 {
        self.clusters().iter().map(|n| *n as u64).product()
    }
    /// First CTA of group `index`.
    pub(crate) fn first_cta(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.clusters().map(u64::from);
        let c = [index % x, index / x % y, index / x / y];
        std::array::from_fn(|d| c[d] as u32 * self.cluster[d])
    }
    /// Linear index of a CTA.
    pub(crate) fn linear(&self, cta: [u32; 3]) -> u64 {
        let [x, y, _] = self.grid.map(u64::from);
        cta[0] as u64 + x * (cta[1] as u64 + y * cta[2] as u64)
    }
    fn new(k: &Kernel, p: &LaunchParams) -> Result<Geometry, LaunchError> {
        let dims = |what, given: [u32; 3], most: [u32; 3], product: u64| {
            let fits = (0..3).all(|d| (1..=most[d]).contains(&given[d]));
            let total: u64 = given.iter().map(|n| *n as u64).product();
            if fits && total <= product {
                return Ok(());
            }
            let rule = if fits {
                format!("at most {product} in all")
            } else {
                format!("each from 1 to at most {most:?}")
            };
            Err(LaunchError::Dimensions { what, given, rule })
        };
        dims("grid", p.grid, [i32::MAX as u32, 65535, 65535], u64::MAX)?;
        dims("block", p.block, [1024, 1024, 64], 1024)?;
        let tuning = &k.program.tuning;
        let want = tuning.req_ntid;
        if let Some(want) = want.filter(|w| *w != p.block) {
            let rule = format!("the kernel requires {want:?} (.reqntid)");
            return Err(LaunchError::Dimensions { what: "block", given: p.block, rule });
        }
        if let Some(most) = tuning.max_ntid {
            let most: u64 = most.iter().map(|n| *n as u64).product();
            let total: u64 = p.block.iter().map(|n| *n as u64).product();
            if total > most {
                let rule = format!("the kernel allows at most {most} threads (.maxntid)");
                return Err(LaunchError::Dimensions { what: "block", given: p.block, rule });
            }
        }
        let cluster = match tuning.req_ncta_per_cluster {
            Some(c) if p.cluster == [1; 3] => c,
            _ => p.cluster,
        };
        dims("cluster", cluster, [16; 3], 16)?;
        if (0..3).any(|d| !p.grid[d].is_multiple_of(cluster[d])) {
            let rule = format!("the grid {:?} is no multiple of it", p.grid);
            return Err(LaunchError::Dimensions { what: "cluster", given: cluster, rule });
        }
        let fixed = k.program.shared_bytes as u64;
        let start = fixed.next_multiple_of(k.program.dynamic_shared_align.max(1) as u64);
        let bytes = if p.shared_bytes == 0 { fixed } else { start + p.shared_bytes as u64 };
        let limit = MAX_SHARED.min(window::SHARED_CTA);
        if bytes > limit {
            return Err(LaunchError::SharedMemory { bytes, limit });
        }
        static GRIDS: AtomicU64 = AtomicU64::new(1);
        Ok(Geometry {
            grid: p.grid,
            block: p.block,
            cluster,
            explicit_cluster: cluster != [1; 3],
            shared_bytes: bytes as u32,
            dynamic_bytes: p.shared_bytes,
            env: p.env,
            sms: SMS,
            grid_id: GRIDS.fetch_add(1, Ordering::Relaxed),
        })
    }
}

/// What the host threads of a launch share.
pub(crate) struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub memory: &'a Memory,
    pub params: &'a LaunchParams,
    pub block: Arc<[u8]>,
    pub geometry: Geometry,
    /// Constant area.
    pub consts: *mut u8,
    pub deadline: Option<Instant>,
    pub started: Instant,
    next: AtomicU64,
    total: u64,
    chunk: u64,
    /// Groups from this one on need not run: an earlier one faulted.
    pub stop_at: AtomicU64,
    /// Warp instructions so far.
    pub steps: AtomicU64,
    faults: Mutex<BTreeMap<u64, Box<Report>>>,
    printed: Mutex<Printed>,
}

// SAFETY: the constant area behind `consts` is only read while the launch runs.
unsafe impl Sync for Launch<'_> {}

/// Output of blocks that finished before their turn.
#[derive(Default)]
struct Printed {
    next: u64,
    waiting: BTreeMap<u64, Vec<u8>>,
}

impl Launch<'_> {
    /// A range of groups that nobody has taken.
    pub(crate) fn take(&self) -> std::ops::Range<u64> {
        let at = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        at.min(self.total)..(at.saturating_add(self.chunk)).min(self.total)
    }
    pub(crate) fn fault(&self, index: u64, report: Box<Report>) {
        self.stop_at.fetch_min(index, Ordering::Relaxed);
        self.faults.lock().unwrap_or_else(|e| e.into_inner()).insert(index, report);
    }
    /// Group `index` has finished with this output.
    pub(crate) fn finished(&self, index: u64, output: Vec<u8>) {
        if let Some(p) = &self.params.progress {
            p.fetch_add(self.geometry.ctas_per_cluster() as u64, Ordering::Relaxed);
        }
        if !self.kernel.prints {
            return;
        }
        let mut printed = self.printed.lock().unwrap_or_else(|e| e.into_inner());
        printed.waiting.insert(index, output);
        loop {
            let next = printed.next;
            let Some(text) = printed.waiting.remove(&next) else { break };
            printed.next += 1;
            self.print(&text);
        }
    }
    /// Writes to the launch's output. A sink that fails (a closed pipe) loses text, as on devices.
    fn print(&self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let _ = match &self.params.output {
            Some(sink) => {
                let mut sink = sink.lock().unwrap_or_else(|e| e.into_inner());
                sink.write_all(text).and_then(|()| sink.flush())
            }
            None => {
                let mut sink = std::io::stdout().lock();
                sink.write_all(text).and_then(|()| sink.flush())
            }
        };
    }
    /// A limit that was reached.
    pub(crate) fn limit(&self) -> Option<(FaultKind, String)> {
        if self.params.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed)) {
            return Some((FaultKind::Cancelled, "the launch was cancelled".into()));
        }
        if let Some(most) = self.params.step_limit
            && self.steps.load(Ordering::Relaxed) > most
        {
            let message = format!("the launch exceeds its limit of {most} warp instructions");
            return Some((FaultKind::StepLimit, message));
        }
        if self.deadline.is_some_and(|d| Instant::now() > d) {
            let limit = self.params.timeout.unwrap_or_default();
            let message = format!("the launch exceeds its time limit of {limit:?}");
            return Some((FaultKind::Timeout, message));
        }
        None
    }
    /// Groups that one host thread may keep open when they wait for one another: its share of
    /// what the device would hold.
    pub(crate) fn resident(&self) -> usize {
        if self.params.cooperative {
            return usize::MAX;
        }
        let per_sm = (2048 / self.geometry.warps_per_cta().max(1) / 32).clamp(1, 32);
        (SMS * per_sm / self.geometry.ctas_per_cluster()).max(1) as usize
    }
}

/// Runs `kernel` over a grid.
///
/// # Errors
/// When the launch is not possible or a thread faults.
pub fn launch(
    kernel: &Kernel,
    memory: &Memory,
    params: &LaunchParams,
) -> Result<Stats, LaunchError> {
    launch_observed(kernel, memory, params, &|| Nobody).map(|(stats, _)| stats)
}

/// Runs `kernel` with an observer per host thread; returns them with the statistics.
///
/// # Errors
/// When the launch is not possible or a thread faults.
pub fn launch_observed<O: Observer>(
    kernel: &Kernel,
    memory: &Memory,
    params: &LaunchParams,
    observer: &(dyn Fn() -> O + Sync),
) -> Result<(Stats, Vec<O>), LaunchError> {
    let Checked { geometry } = Checked::new(kernel, params)?;
    memory.launch_starts();
    let started = Instant::now();
    let deadline = params.timeout.and_then(|t| started.checked_add(t));
    let groups = 0..geometry.groups();
    run_groups(kernel, memory, params, geometry, groups, deadline, observer)
}

/// Runs one block of a launch without clusters, `index` counting x fastest: what engines beside
/// this one do to report a fault. It ends at `deadline`, if there is one.
///
/// # Errors
/// When the launch is not possible or a thread faults.
pub fn launch_block(
    kernel: &Kernel,
    memory: &Memory,
    params: &LaunchParams,
    index: u64,
    deadline: Option<Instant>,
) -> Result<Stats, LaunchError> {
    let Checked { geometry } = Checked::new(kernel, params)?;
    let groups = index..(index + 1).min(geometry.groups());
    run_groups(kernel, memory, params, geometry, groups, deadline, &|| Nobody).map(|r| r.0)
}

/// A launch whose sizes are possible, for engines beside this one.
#[derive(Clone, Debug)]
pub struct Checked {
    geometry: Geometry,
}

impl Checked {
    /// Checks the launch.
    ///
    /// # Errors
    /// When it is not possible.
    pub fn new(kernel: &Kernel, params: &LaunchParams) -> Result<Checked, LaunchError> {
        let geometry = Geometry::new(kernel, params)?;
        let wanted = kernel.program.param_bytes;
        if params.params.len() != wanted as usize {
            let (kernel, given) = (kernel.name().into(), params.params.len());
            return Err(LaunchError::Params { kernel, wanted, given });
        }
        Ok(Checked { geometry })
    }
    /// Static and dynamic shared memory of a block.
    pub fn shared_bytes(&self) -> u32 {
        self.geometry.shared_bytes
    }
    /// Whether blocks form clusters.
    pub fn clustered(&self) -> bool {
        self.geometry.explicit_cluster
    }
    /// Value of a special register that is the same for all threads of `block` and never changes.
    pub fn special(&self, block: [u32; 3], reg: Sreg) -> u64 {
        self.geometry.special(block, 0, 0, 0, reg)
    }
}

/// Runs the groups of a range on host threads.
fn run_groups<O: Observer>(
    kernel: &Kernel,
    memory: &Memory,
    params: &LaunchParams,
    geometry: Geometry,
    groups: std::ops::Range<u64>,
    deadline: Option<Instant>,
    observer: &(dyn Fn() -> O + Sync),
) -> Result<(Stats, Vec<O>), LaunchError> {
    let mut consts = constants(kernel, params, &geometry)?;
    let count = groups.end.saturating_sub(groups.start);
    let threads = match params.threads {
        0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
        n => n,
    };
    let threads = (threads as u64).min(count).max(1);
    let launch = Launch {
        kernel,
        memory,
        params,
        block: params.params.clone().into(),
        consts: consts.ptr(),
        deadline,
        started: Instant::now(),
        next: AtomicU64::new(groups.start),
        total: groups.end,
        chunk: (count / (threads * 16)).clamp(1, 64),
        stop_at: AtomicU64::new(u64::MAX),
        steps: AtomicU64::new(0),
        faults: Mutex::default(),
        printed: Mutex::new(Printed { next: groups.start, ..Printed::default() }),
        geometry,
    };
    let run = || {
        let mut worker = Worker::new(&launch, observer());
        worker.run();
        (worker.stats, worker.observer)
    };
    let results = if threads == 1 {
        vec![run()]
    } else {
        std::thread::scope(|s| {
            let others: Vec<_> = (1..threads).map(|_| s.spawn(run)).collect();
            let mut all = vec![run()];
            for t in others {
                match t.join() {
                    Ok(r) => all.push(r),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            all
        })
    };
    let waiting =
        std::mem::take(&mut launch.printed.lock().unwrap_or_else(|e| e.into_inner()).waiting);
    let mut faults = launch.faults.lock().unwrap_or_else(|e| e.into_inner());
    let first = faults.pop_first();
    drop(faults);
    // Up to the fault the output of earlier blocks is complete.
    let last = first.as_ref().map_or(u64::MAX, |(n, _)| *n);
    waiting.range(..=last).for_each(|(_, text)| launch.print(text));
    if let Some((_, report)) = first {
        return Err(LaunchError::Fault(report));
    }
    let mut stats = Stats::default();
    let mut observers = Vec::new();
    for (s, o) in results {
        stats.thread_instructions += s.thread_instructions;
        stats.warp_instructions += s.warp_instructions;
        stats.blocks += s.blocks;
        observers.push(o);
    }
    Ok((stats, observers))
}

/// Fills the constant area.
fn constants(k: &Kernel, p: &LaunchParams, g: &Geometry) -> Result<Area, LaunchError> {
    let mut area = Area::new(k.const_bytes as usize);
    for &(fill, kind, offset) in &k.fills {
        let value = match fill {
            Fill::Value(v) => v,
            Fill::Symbol(id, add) => match p.symbols.get(id as usize) {
                Some(a) => a.wrapping_add(add as u64),
                None => return Err(LaunchError::Symbol(id)),
            },
            Fill::Param(at, bytes, signed) => {
                let mut v = [0; 8];
                v[..bytes as usize]
                    .copy_from_slice(&p.params[at as usize..at as usize + bytes as usize]);
                let v = u64::from_le_bytes(v);
                let unused = 64 - 8 * bytes as u32;
                if signed { ((v << unused) as i64 >> unused) as u64 } else { v }
            }
            Fill::Special(reg) => g.special([0; 3], 0, 0, 0, reg),
        };
        match kind {
            Kind::P => area.set_p(offset, if value & 1 != 0 { u32::MAX } else { 0 }),
            Kind::W => area.set_w(offset, &[value as u32; 32]),
            Kind::D => area.set_d(offset, &[value; 32]),
        }
    }
    Ok(area)
}

/// A group ready to start.
pub(crate) fn new_group(l: &Launch<'_>) -> Group {
    Group::new(l.kernel, &l.geometry)
}
