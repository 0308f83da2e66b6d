//! Looks at launches of compiled code, fast and on the safe side: what passes has no finding.
//!
//! What does not pass may have one: memory is put back as it was, and the interpreter runs the launch once more under
//! the checkers, which know all that a report says. So this part names nothing. It takes for ordered what barriers of
//! the whole block order, and nothing else; it takes for written what the host or this host thread's blocks have
//! written.

mod block;
mod cells;
mod grains;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ptx_interp::{Kernel, LaunchParams, Memory, Saved};
use ptx_isa::watch::Now;

use crate::Checker;
use crate::order;
use crate::written::Written;
pub use block::Screen;
use cells::{Cells, SEGMENTS, THREADS, code};
use grains::{Grains, effects, grains, is_generic};

/// Kernels that did not pass, by their program and name: they are interpreted from then on.
pub(crate) type Suspects = HashSet<(usize, String)>;

/// Instructions of kernels that read what their launches write as well: by program and name.
pub(crate) type Rereads = HashMap<(usize, String), BTreeSet<usize>>;

/// Bytes of cells that are kept for the next launch.
const KEPT: usize = 256 << 20;

/// What is the same for all host threads of a launch.
pub struct Screening<'a> {
    checker: &'a Checker,
    suspect: (usize, String),
    grains: Grains,
    /// Whether generic addresses may be in shared memory.
    generic: bool,
    variables: Vec<Range<u64>>,
    shared_bytes: u64,
    /// Instructions that read what launches write, as far as it is known, and what this launch adds.
    rereads: BTreeSet<usize>,
    more_rereads: Mutex<BTreeSet<usize>>,
    saved: Mutex<Saved>,
    ended: Mutex<Vec<Kept>>,
    _turn: MutexGuard<'a, ()>,
}

/// What stays of a host thread's part of a launch.
pub(crate) struct Kept {
    grains: Grains,
    segment: u32,
    /// First code of its launch.
    launch: u32,
    globals: Vec<Global>,
    shared: Cells,
}

/// An allocation.
struct Global {
    start: u64,
    end: u64,
    cells: Cells,
    /// Whether reads are followed, and the instructions that have read without; writes always are.
    follows: bool,
    readers: BTreeSet<usize>,
    /// Whether this launch writes to it.
    wrote: bool,
    /// A write of this launch came after it was saved.
    saved: bool,
    /// Whether kernels may only read it (`false`) or only write it (`true`).
    restriction: Option<bool>,
    /// Which bytes the host or earlier launches have written, where that is not all of them.
    written: Option<Written>,
}

impl Checker {
    fn suspects(&self) -> MutexGuard<'_, Suspects> {
        self.suspects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether launches of a kernel can be screened at all, and have passed so far. `kernel` is as for
    /// [`Checker::launch`].
    pub fn can_screen(&self, kernel: &Kernel, params: &LaunchParams) -> bool {
        let (checks, program) = (self.checks, kernel.program());
        let threads: u64 = params.block.iter().map(|d| u64::from(*d)).product();
        // What streams do at once is compared by what the checkers know of each launch.
        let alone = |past| order::is_alone(&past) && self.between().is_last(&past);
        let ordered = checks.race && order::current().is_some_and(|past| !alone(past));
        let local = program.functions.iter().any(|f| !f.local_vars.is_empty());
        // Where functions call others, what they hand over may be unwritten as well.
        let defined = !kernel.exposes() && program.functions.len() == 1;
        let followed = !checks.coverage && !checks.equal_writes && !ordered;
        followed
            && (defined || !checks.init)
            && params.schedule.is_none()
            && threads <= THREADS
            && !(local && (checks.memory || checks.init))
            && grains(program).is_some()
            && !self.suspects().contains(&suspect(kernel))
    }

    /// Begins to screen a launch for which [`Checker::can_screen`]; other launches wait until it is over.
    pub fn screening(&self, kernel: &Kernel, shared_bytes: u32) -> Option<Screening<'_>> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let program = kernel.program();
        let shared_bytes = u64::from(shared_bytes);
        let mut variables: Vec<Range<u64>> = Vec::new();
        for (_, at, size) in &program.shared_vars {
            let at = u64::from(*at);
            variables
                .push(at..if *size == 0 { shared_bytes.max(at) } else { at + u64::from(*size) });
        }
        if variables.is_empty() {
            variables.push(0..shared_bytes);
        }
        let saved = std::mem::take(&mut *self.saved.lock().unwrap_or_else(PoisonError::into_inner));
        let suspect = suspect(kernel);
        let rereads = self.rereads().get(&suspect).cloned().unwrap_or_default();
        Some(Screening {
            checker: self,
            suspect,
            grains: grains(program)?,
            generic: effects(program).any(is_generic),
            variables,
            shared_bytes,
            rereads,
            more_rereads: Mutex::default(),
            saved: Mutex::new(saved),
            ended: Mutex::default(),
            _turn: turn,
        })
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rereads(&self) -> MutexGuard<'_, Rereads> {
        self.rereads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn suspect(kernel: &Kernel) -> (usize, String) {
    (std::sync::Arc::as_ptr(kernel.program()) as usize, kernel.name().to_owned())
}

impl<'a> Screening<'a> {
    /// Whether all accesses must be told, or those by the slow way alone.
    pub fn wants_accesses(checker: &Checker) -> bool {
        checker.checks.race || checker.checks.init
    }

    /// Most host threads: cells of all of them take 8 bytes a byte.
    pub fn host_threads(&self) -> usize {
        2 << self.grains.global
    }

    /// Whether the cells of shared, and of global memory have 4 bytes for each 4 bytes of it, so that code can find
    /// them.
    pub fn by_words(kernel: &Kernel) -> [bool; 2] {
        let whole = |grain: fn(Grains) -> u32| grains(kernel.program()).map(grain) == Some(2);
        [whole(|g| g.shared), whole(|g| g.global)]
    }

    fn memory(&self) -> &'a Memory {
        &self.checker.memory
    }

    fn saved(&self) -> MutexGuard<'_, Saved> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether kernels may only read an address (`false`) or only write it (`true`).
    fn restriction(&self, at: u64) -> Option<bool> {
        let any = self.checker.restricts.load(Ordering::Relaxed);
        any.then(|| self.checker.host().restriction(at))?
    }

    /// For the blocks of a host thread.
    pub fn screen(&self) -> Screen<'_> {
        let mut all = self.checker.kept();
        let fits = |k: &Kept| k.grains == self.grains && k.segment < SEGMENTS / 2;
        let known = all.iter().position(fits).map(|n| all.swap_remove(n));
        drop(all);
        let mut kept = known.unwrap_or_else(|| Kept {
            grains: self.grains,
            segment: 0,
            launch: 0,
            globals: Vec::new(),
            shared: Cells::default(),
        });
        let tracks = Screening::wants_accesses(self.checker);
        let count = if tracks { (self.shared_bytes >> self.grains.shared) as usize + 1 } else { 0 };
        if kept.shared.len() < count {
            kept.shared = Cells::new(count);
        }
        kept.segment += 1;
        kept.launch = code(kept.segment);
        let memory = self.memory();
        kept.globals.retain(|g| {
            memory.find(g.start).is_some_and(|a| (a.start, a.start + a.size) == (g.start, g.end))
        });
        for g in &mut kept.globals {
            (g.saved, g.wrote, g.readers) = (false, false, BTreeSet::new());
            (g.written, g.restriction) = (self.written(g.start), self.restriction(g.start));
            g.follows = g.written.is_some();
        }
        let now = Now { launch: kept.launch, block: kept.launch, segment: kept.launch };
        Screen { of: self, now, kept, sites: Vec::new(), complete: false, known: (0, 0) }
    }

    /// A launch has run to its end, and its blocks have passed. Where it has as a whole, its results stay.
    ///
    /// # Errors
    /// It has not, as [`Screening::take_back`] says.
    pub fn passes(self) -> Result<(), bool> {
        let ended = std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner));
        let mut passes = true;
        if self.checker.checks.race {
            for (n, a) in ended.iter().enumerate() {
                passes &= ended[..n].iter().all(|b| !self.meet(a, b));
            }
        }
        if passes {
            self.saved().forget();
            if let Some(past) = order::current().filter(|_| self.checker.checks.race) {
                self.checker.between().unknown(past);
            }
            ended.iter().for_each(|k| self.mark(k));
            self.keep(ended);
            return Ok(());
        }
        Err(self.take_back())
    }

    /// Whether blocks of two host threads may have raced.
    fn meet(&self, a: &Kept, b: &Kept) -> bool {
        let mut bad = false;
        for x in &a.globals {
            for y in b.globals.iter().filter(|y| x.start == y.start) {
                for (reads, writes) in [(x, y), (y, x)] {
                    if writes.wrote && !reads.readers.is_empty() {
                        self.reread(&reads.readers);
                        bad = true;
                    }
                }
                bad |= (x.wrote || y.wrote) && x.cells.meet(a.launch, &y.cells, b.launch);
            }
        }
        bad
    }

    /// A launch has not passed: memory is as before it. Whether it may be run as compiled code once more, as more is
    /// known of it; if not, it must be interpreted.
    pub fn take_back(self) -> bool {
        let memory = self.memory();
        memory.take_back(&mut self.saved());
        let more =
            std::mem::take(&mut *self.more_rereads.lock().unwrap_or_else(PoisonError::into_inner));
        if more.is_subset(&self.rereads) {
            self.checker.suspects().insert(self.suspect.clone());
            return false;
        }
        self.checker.rereads().entry(self.suspect.clone()).or_default().extend(more);
        true
    }

    /// These instructions read what the launch writes.
    fn reread(&self, readers: &BTreeSet<usize>) {
        let mut more = self.more_rereads.lock().unwrap_or_else(PoisonError::into_inner);
        more.extend(readers);
    }

    /// Notes what a host thread's blocks have written.
    fn mark(&self, kept: &Kept) {
        let mut host = self.checker.host();
        for g in kept.globals.iter().filter(|g| g.written.is_some() && g.saved) {
            let (mut at, cells) = (0, ((g.end - g.start) >> kept.grains.global) as usize);
            let written = |n: usize| g.cells.written(n, kept.launch);
            while at < cells {
                let end = (at..cells).find(|n| !written(*n)).unwrap_or(cells);
                if end > at {
                    let from = g.start + ((at as u64) << kept.grains.global);
                    host.write(from, ((end - at) as u64) << kept.grains.global, true);
                }
                at = end.max(at + 1);
            }
        }
    }

    /// Which bytes of the allocation that starts there were written, if that is not all of them.
    fn written(&self, start: u64) -> Option<Written> {
        if self.checker.checks.init { self.checker.host().partly(start) } else { None }
    }

    fn keep(&self, mut ended: Vec<Kept>) {
        let bytes = |k: &Kept| k.globals.iter().map(|g| 4 * g.cells.len()).sum::<usize>();
        let mut all = self.checker.kept();
        let mut room = KEPT.saturating_sub(all.iter().map(bytes).sum());
        ended.retain(|k| {
            // Numbers of segments come to an end.
            let fits = bytes(k) <= room && k.segment < SEGMENTS / 2;
            room = room.saturating_sub(bytes(k));
            fits
        });
        all.append(&mut ended);
    }
}

impl Drop for Screening<'_> {
    fn drop(&mut self) {
        let mut saved = std::mem::take(&mut *self.saved());
        saved.forget();
        *self.checker.saved.lock().unwrap_or_else(PoisonError::into_inner) = saved;
    }
}
