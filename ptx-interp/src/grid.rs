//! What the host threads of a launch share.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ptx_isa::Kind;

use crate::block_queue::BlockQueue;
use crate::code::{Fill, Kernel};
use crate::geometry::Geometry;
use crate::memory::Memory;
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
    printed: Mutex<Printed>,
    /// Bytes of text that blocks hold.
    held: AtomicUsize,
}

/// Most bytes of text that blocks hold until earlier ones have ended.
const MOST_HELD: usize = 64 << 20;
/// Bytes from which on the first block that has not ended writes what it holds.
const AT_ONCE: usize = 1 << 20;

// SAFETY: the constant area behind `consts` is only read while the launch runs.
unsafe impl Sync for Grid<'_> {}

/// Output of groups that finished before their turn.
#[derive(Default)]
struct Printed {
    next: u64,
    waiting: BTreeMap<u64, Vec<u8>>,
}

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
            printed: Mutex::new(Printed { next: groups.start, ..Printed::default() }),
            held: AtomicUsize::new(0),
            queue: BlockQueue::new(groups, params.threads),
            geometry,
        }
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
        if !self.kernel.prints {
            return;
        }
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.waiting.insert(index, output);
        loop {
            let next = printed.next;
            let Some(text) = printed.waiting.remove(&next) else { break };
            printed.next += 1;
            self.print(&text);
        }
    }

    /// A block of group `index` has printed, from `before` on in the text that it holds; `first` says that no
    /// other block of the group comes before it. Text goes out at once where all before it has. What is too
    /// much to hold is lost, as on devices, whose buffer is finite: whether it was kept.
    pub(crate) fn hold(&self, index: u64, first: bool, text: &mut Vec<u8>, before: usize) -> bool {
        let new = text.len() - before;
        let held = self.held.fetch_add(new, Ordering::Relaxed) + new;
        if text.len() < AT_ONCE && held <= MOST_HELD {
            return true;
        }
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if first && printed.next == index {
            self.print(text);
            text.clear();
            return true;
        }
        drop(printed);
        if held > MOST_HELD {
            text.truncate(before);
            self.held.fetch_sub(new, Ordering::Relaxed);
        }
        held <= MOST_HELD
    }

    /// Prints what finished groups up to the one that stopped, or all, have printed.
    pub(crate) fn flush(&self, last: u64) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = std::mem::take(&mut printed.waiting);
        waiting.range(..=last).for_each(|(_, text)| self.print(text));
    }
    /// Writes to the launch's output. A sink that fails (a closed pipe) loses text, as on devices.
    fn print(&self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let less = |held: usize| Some(held.saturating_sub(text.len()));
        let _ = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        let _ = match &self.params.output {
            Some(sink) => {
                let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
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
