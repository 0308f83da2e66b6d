//! Launching a grid over host threads.

use std::time::Instant;

use ptx_isa::special::Sreg;

use crate::block_queue::Relief;
use crate::code::Kernel;
use crate::geometry::Geometry;
use crate::grid::{Grid, constants};
use crate::memory::Memory;
use crate::observer::{Nobody, Observer};
use crate::params::{LaunchError, LaunchParams, Stats};
use crate::worker::Worker;

/// Runs `kernel` over a grid.
///
/// # Errors
/// When the launch is not possible or a thread faults.
pub fn launch(
    kernel: &Kernel,
    memory: &Memory,
    params: &LaunchParams,
) -> Result<Stats, LaunchError> {
    launch_observed(kernel, memory, params, &|| Nobody).0
}

/// Runs a launch whose sizes are possible, and lets another engine take over what has not started. Counts are of what
/// this engine ran.
///
/// # Errors
/// When a thread faults here.
pub fn launch_relieved(
    kernel: &Kernel,
    memory: &Memory,
    params: &LaunchParams,
    checked: &Checked,
    relief: &dyn Relief,
) -> Result<Stats, LaunchError> {
    let Checked { geometry } = checked.clone();
    memory.launch_starts();
    let (deadline, groups) = (params.deadline(), 0..geometry.groups());
    let part = Part { geometry, groups, deadline, relief: Some(relief) };
    run_groups(kernel, memory, params, part, &|| Nobody).0
}

/// Runs `kernel` with an observer per host thread; returns them with the result, also when the
/// launch faults. When it is not possible there are none.
pub fn launch_observed<O: Observer>(
    kernel: &Kernel,
    memory: &Memory,
    params: &LaunchParams,
    observer: &(dyn Fn() -> O + Sync),
) -> (Result<Stats, LaunchError>, Vec<O>) {
    let geometry = match Checked::new(kernel, params) {
        Ok(Checked { geometry }) => geometry,
        Err(error) => return (Err(error), Vec::new()),
    };
    memory.launch_starts();
    let deadline = params.deadline();
    let groups = 0..geometry.groups();
    run_groups(kernel, memory, params, Part { geometry, groups, deadline, relief: None }, observer)
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
    let part = Part { geometry, groups, deadline, relief: None };
    run_groups(kernel, memory, params, part, &|| Nobody).0
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
    /// Blocks that one host thread should keep in progress when they wait for one another.
    pub fn resident(&self, params: &LaunchParams) -> usize {
        self.geometry.resident(params)
    }
    /// Whether blocks form clusters.
    pub fn clustered(&self) -> bool {
        self.geometry.cluster != [1; 3]
    }
    /// Value of a special register that is the same for all threads of `block` and never changes.
    pub fn special(&self, block: [u32; 3], reg: Sreg) -> u64 {
        self.geometry.special(block, 0, 0, 0, reg)
    }
}

/// What of a launch runs.
struct Part<'a> {
    geometry: Geometry,
    groups: std::ops::Range<u64>,
    deadline: Option<Instant>,
    relief: Option<&'a dyn Relief>,
}

/// Runs the groups of a range on host threads.
fn run_groups<O: Observer>(
    kernel: &Kernel,
    memory: &Memory,
    params: &LaunchParams,
    Part { geometry, groups, deadline, relief }: Part<'_>,
    observer: &(dyn Fn() -> O + Sync),
) -> (Result<Stats, LaunchError>, Vec<O>) {
    let mut consts = match constants(kernel, params, &geometry) {
        Ok(consts) => consts,
        Err(error) => return (Err(error), Vec::new()),
    };
    let mut grid = Grid::new(kernel, memory, params, geometry, groups, consts.ptr(), deadline);
    if let Some(relief) = relief {
        grid.relieved_by(relief);
    }
    let grid = &grid;
    let results = grid.queue.run(|| {
        let mut worker = Worker::new(grid, observer());
        worker.run();
        (worker.stats, worker.observer)
    });
    let first = grid.queue.take_first_stop();
    // Up to the fault the output of earlier blocks is complete.
    grid.output.flush(first.as_ref().map_or(u64::MAX, |(n, _)| *n));
    let mut stats = Stats::default();
    let mut observers = Vec::new();
    for (s, o) in results {
        stats.thread_instructions += s.thread_instructions;
        stats.warp_instructions += s.warp_instructions;
        stats.blocks += s.blocks;
        observers.push(o);
    }
    match first {
        Some((_, report)) => (Err(LaunchError::Fault(report)), observers),
        None => (Ok(stats), observers),
    }
}
