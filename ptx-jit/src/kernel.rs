//! A compiled kernel, ready to run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::blob::Blob;
use crate::ctx::Ctx;
use crate::entry::Needs;
use crate::geometry::Geometry;
use crate::options::{Seen, Watched};
use crate::range::Assumptions;
use crate::scratch::Scratch;
use crate::thunk::Thunks;

/// A compiled kernel.
pub struct Kernel {
    pub(crate) needs: Needs,
    pub(crate) geometry: Geometry,
    pub(crate) entry: unsafe extern "C" fn(*mut Ctx) -> u64,
    /// Bytes of parameters that the code may read.
    pub(crate) param_bytes: u32,
    pub(crate) thunks: Thunks,
    pub(crate) assumed: Assumptions,
    /// Keeps the code where `entry` and `thunks` point.
    pub(crate) _blob: Blob,
    pub(crate) watched: Watched,
    pub(crate) scratch: Mutex<Vec<Scratch>>,
    /// Nanoseconds that a host thread took for a block of the last launch; 0: nobody knows.
    pub(crate) pace: AtomicU64,
    /// Sizes for reports.
    pub stats: Stats,
}

/// What compiling a kernel came to.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Threads that run in lock step.
    pub lanes: u32,
    /// Bits of the vectors that hold them, where there are several.
    pub vector_bits: u32,
    /// Values of the middle form that are left.
    pub values: usize,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Whether the code comes from a [`crate::Cache`].
    pub cached: bool,
}

impl Kernel {
    /// Memory that workers have left.
    pub(crate) fn scratch(&self) -> MutexGuard<'_, Vec<Scratch>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Threads of a block that this code is for.
    pub fn block(&self) -> [u32; 3] {
        self.geometry.block
    }

    /// How long `blocks` blocks would take one host thread, as the last launch tells; `None` before there was one.
    pub fn expected(&self, blocks: u64) -> Option<Duration> {
        let pace = self.pace.load(Ordering::Relaxed);
        (pace > 0).then(|| Duration::from_nanos(pace.saturating_mul(blocks)))
    }

    /// A host thread took so long for each of its blocks.
    pub fn took(&self, pace: Duration) {
        let pace = u64::try_from(pace.as_nanos()).unwrap_or(u64::MAX);
        self.pace.store(pace.max(1), Ordering::Relaxed);
    }

    /// Whether threads may wait for other threads in loops.
    pub fn waits(&self) -> bool {
        self.needs.layout.waits > 0
    }

    /// Whether a launch may use this code: addresses are computed under assumptions about the grid, the parameters and
    /// the global offset.
    pub fn fits(&self, launch: Seen<'_>) -> bool {
        let b = self.geometry.block;
        (0..3).all(|d| launch.grid[d] as u64 * b[d] as u64 <= i32::MAX as u64)
            && self.assumed.hold(launch)
    }
}
