//! What the host threads of a launch share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ptx_isa::Kind;

use crate::block_queue::{BlockQueue, Relief};
use crate::code::{Fill, Kernel};
use crate::geometry::Geometry;
use crate::memory::Memory;
use crate::output::Output;
use crate::params::{LaunchError, LaunchParams};
use crate::report::{FaultKind, Report};
use crate::rows::Area;

/// A grid that runs. Its blocks are taken by clusters: a *group* is one, or one block.
pub(crate) struct Grid<'a> {
    pub kernel: &'a Kernel,
    pub memory: &'a Memory,
    pub params: &'a LaunchParams,
    /// The parameter block.
    pub block: Arc<[u8]>,
    pub geometry: Geometry,
    /// Constant area.
    pub consts: *mut u8,
    pub deadline: Option<Instant>,
    pub started: Instant,
    /// Groups, and the faults that stopped some.
    pub queue: BlockQueue<Box<Report>>,
    /// Warp instructions so far.
    pub steps: AtomicU64,
    /// What groups print.
    pub output: Output,
    /// Who may take over groups that have not started.
    pub relief: Option<&'a dyn Relief>,
}

// SAFETY: the constant area behind `consts` is only read while the launch runs.
unsafe impl Sync for Grid<'_> {}

impl<'a> Grid<'a> {
    /// The groups of a range. `consts` is the constant area, by [`constants`].
    pub(crate) fn new(
        kernel: &'a Kernel,
        memory: &'a Memory,
        params: &'a LaunchParams,
        geometry: Geometry,
        groups: std::ops::Range<u64>,
        consts: *mut u8,
        deadline: Option<Instant>,
    ) -> Grid<'a> {
        Grid {
            kernel,
            memory,
            params,
            block: params.params.clone().into(),
            consts,
            deadline,
            started: Instant::now(),
            steps: AtomicU64::new(0),
            output: Output::new(params.output.clone(), groups.start),
            queue: BlockQueue::new(groups, params.threads),
            relief: None,
            geometry,
        }
    }

    /// Lets another engine take over what has not started.
    pub(crate) fn relieved_by(&mut self, relief: &'a dyn Relief) {
        self.relief = Some(relief);
        self.queue.take_at_most(4);
    }

    /// The start that clocks count from, unless they count instructions only.
    pub(crate) fn clock(&self) -> Option<Instant> {
        (!self.params.steady_clock).then_some(self.started)
    }

    /// Group `index` has finished with this output.
    pub(crate) fn finished(&self, index: u64, output: Vec<u8>) {
        if let Some(p) = &self.params.progress {
            p.fetch_add(self.geometry.ctas_per_cluster() as u64, Ordering::Relaxed);
        }
        if self.kernel.prints {
            self.output.finished(index, output);
        }
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
}

/// Fills the constant area.
pub(crate) fn constants(k: &Kernel, p: &LaunchParams, g: &Geometry) -> Result<Area, LaunchError> {
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
