//! What a launch is given, what it did, and why it did not finish.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ptx_isa::fixed::FixedWord;
use ptx_isa::special::Environment;
use ptx_isa::texture::Texture;
use ptx_parse::code::STACK;

use crate::report::Report;

/// Texture, sampler and surface objects by handle.
pub type Textures = BTreeMap<u64, Arc<Texture>>;

/// What a launch is given.
#[derive(Clone)]
pub struct LaunchParams {
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Blocks in a cluster; `[0, 0, 0]` takes what the kernel asks for, or no clusters.
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
    /// Since when the time limit runs, where that is not when an engine starts: what comes before (a rehearsal,
    /// compiling) counts.
    pub since: Option<Instant>,
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
    /// `%envreg3` to `%envreg18`.
    pub env: Environment,
    /// Words that compiled code may take for constants.
    pub fixed: Vec<FixedWord>,
    /// Clocks and timers count instructions, not time: with one host thread, every run reads the same.
    pub steady_clock: bool,
    /// Another order of blocks and warps, the same for the same number.
    pub schedule: Option<u64>,
}

impl LaunchParams {
    /// When the time limit is reached, for an engine that starts now.
    pub fn deadline(&self) -> Option<Instant> {
        let timeout = self.timeout?;
        self.since.unwrap_or_else(Instant::now).checked_add(timeout)
    }
}

impl Default for LaunchParams {
    fn default() -> Self {
        LaunchParams {
            grid: [1; 3],
            block: [1; 3],
            cluster: [0; 3],
            shared_bytes: 0,
            params: Vec::new(),
            symbols: Vec::new(),
            textures: Arc::default(),
            threads: 0,
            timeout: None,
            since: None,
            step_limit: None,
            stack_bytes: STACK,
            cancel: None,
            output: None,
            progress: None,
            cooperative: false,
            env: Environment::default(),
            fixed: Vec::new(),
            steady_clock: false,
            schedule: None,
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
    /// Too much local memory.
    #[error("kernel `{kernel}` has {bytes} bytes of local memory per thread, devices have {limit}")]
    LocalMemory {
        /// Kernel.
        kernel: String,
        /// Bytes of a thread.
        bytes: u32,
        /// Most.
        limit: u32,
    },
    /// A symbol that the code uses has no address.
    #[error("module variable {0} has no address")]
    Symbol(u32),
}
