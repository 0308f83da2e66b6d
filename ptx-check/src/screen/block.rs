//! Looks at the blocks of one host thread.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::PoisonError;

use ptx_interp::Access;
use ptx_isa::Space;
use ptx_isa::effect::{Scope, Touches, window};
use ptx_isa::watch::{CellsAt, Now, Touch};

use super::cells::{Cells, Known, SEGMENTS, code, own};
use super::{Global, Kept, Screening};

/// Segments that a block may have at least.
const BARRIERS: u32 = SEGMENTS / 2;

/// Looks at the blocks of a host thread, one after the other. What it says no to (`false`) does not pass.
pub struct Screen<'a> {
    pub(super) of: &'a Screening<'a>,
    pub(super) now: Now,
    pub(super) kept: Kept,
    /// By instruction: the allocation that it touched last.
    pub(super) sites: Vec<usize>,
    /// All of the block's variables were written before its last barrier, and up to which place of which variable that
    /// is known.
    pub(super) complete: bool,
    pub(super) known: (usize, u64),
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        let nothing = Kept {
            grains: self.of.grains,
            segment: 0,
            launch: 0,
            globals: Vec::new(),
            shared: Cells::default(),
        };
        let kept = std::mem::replace(&mut self.kept, nothing);
        self.of.ended.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
    }
}

/// Lanes side by side that are checked at once.
struct Run {
    first: usize,
    count: usize,
    /// All at the same address, or else one behind the other.
    together: bool,
}

impl Screen<'_> {
    /// A block begins, with as many as `more` behind it that have no barriers and are numbered one behind the other.
    pub fn block(&mut self, more: u32) -> Now {
        if SEGMENTS - self.kept.segment <= more + BARRIERS {
            self.renumber();
        }
        self.kept.segment += 1;
        let code = code(self.kept.segment);
        self.kept.segment += more;
        self.now = Now { launch: self.kept.launch, block: code, segment: code };
        (self.complete, self.known) = (false, (0, 0));
        if self.of.generic {
            self.kept.shared.0.fill(0);
        }
        self.now
    }

    /// Numbers of segments come to an end: what blocks of this launch have done goes into one.
    fn renumber(&mut self) {
        let first = code(1);
        self.kept.globals.iter_mut().for_each(|g| g.cells.renumber(self.kept.launch, first));
        self.kept.shared.0.fill(0);
        (self.kept.segment, self.kept.launch) = (1, first);
    }

    /// All threads of the block have come to a barrier; `whole`: to the same, and none has ended.
    pub fn barrier(&mut self, whole: bool) -> Option<Now> {
        let checks = self.of.checker.checks;
        if !whole && (checks.race || checks.sync) || self.kept.segment == SEGMENTS - 1 {
            return None;
        }
        self.kept.segment += 1;
        self.now.segment = code(self.kept.segment);
        if checks.init && !self.complete {
            self.look_on();
        }
        Some(self.now)
    }

    /// Looks how far the block's variables are written.
    fn look_on(&mut self) {
        let grain = self.of.grains.shared;
        while let Some(v) = self.of.variables.get(self.known.0) {
            let from = v.start.max(self.known.1);
            let end = v.end.min(self.of.shared_bytes).max(from);
            let range = (from >> grain) as usize..end.div_ceil(1 << grain) as usize;
            let Some(cells) = self.kept.shared.0.get(range) else { return };
            let written = cells.iter().take_while(|c| **c >= self.now.block).count();
            if written < cells.len() {
                self.known.1 = from + ((written as u64) << grain);
                return;
            }
            self.known = (self.known.0 + 1, 0);
        }
        self.complete = true;
    }

    /// The cells of shared memory. `wanted`: 0 where compiled code need not look at them.
    pub fn shared_cells(&mut self, wanted: bool) -> u64 {
        let written = self.complete && !self.of.checker.checks.race;
        if wanted && written { 0 } else { self.kept.shared.0.as_mut_ptr() as u64 }
    }

    /// The cells of `bytes` bytes of global memory from `at` on, which instruction `site` has touched; `None` where
    /// they are not part of one allocation.
    pub fn cells(&mut self, site: usize, at: u64, bytes: u64) -> Option<CellsAt> {
        let g = &mut self.kept.globals[*self.sites.get(site)?];
        if at < g.start || bytes > g.end - at {
            return None;
        }
        let init = g.written.is_some();
        let reads = g.readers.contains(&site);
        if !init && (reads || !self.of.checker.checks.race) {
            return Some(CellsAt { host: 0, first: 0 });
        }
        let host = g.cells.0.as_mut_ptr() as u64 + (at - g.start);
        Some(CellsAt { host, first: if init { self.kept.launch } else { 0 } })
    }

    /// The shared variable that holds an offset.
    pub fn variable(&self, offset: u64) -> Option<Range<u64>> {
        self.of.variables.iter().find(|v| v.contains(&offset)).cloned()
    }

    fn in_variable(&self, at: u64, end: u64) -> bool {
        self.of.variables.iter().any(|v| v.start <= at && end <= v.end)
    }

    /// An operation whose lanes have these member masks.
    pub fn members(&self, lanes: u32, masks: &[u32; 32]) -> bool {
        let named = |l: usize| lanes >> l & 1 == 0 || masks[l] == lanes;
        !self.of.checker.checks.sync || (0..32).all(named)
    }

    /// An access of one lane before its instruction goes on without asking. In shared memory, `address` is an offset.
    pub fn lane(&mut self, space: Space, address: u64, bytes: u32, write: bool) -> bool {
        if Screening::wants_accesses(self.of.checker) {
            return true;
        }
        match window::locate(space, address) {
            (Space::Shared, at) => self.in_variable(at, at + u64::from(bytes)),
            (Space::Global, at) => {
                let allowed = allows(self.of.restriction(at), write, !write);
                allowed && (!write || self.save(at))
            }
            _ => true,
        }
    }

    /// Saves the allocation of an address that will be written, if there is one; whether that is done. Constant
    /// variables are not saved: a device writes them, and a checker has something to say.
    fn save(&self, at: u64) -> bool {
        let Some(a) = self.of.memory().find(at) else { return true };
        a.access == Access::ReadWrite && self.of.memory().save(a.start, &mut self.of.saved())
    }

    /// An access of several lanes.
    pub fn access(&mut self, touch: &Touch<'_>) -> bool {
        self.now = touch.now;
        let mut lane = 0;
        while lane < 32 {
            if touch.lanes >> lane & 1 == 0 {
                lane += 1;
                continue;
            }
            let run = run(touch, lane);
            if !self.run(touch, &run) {
                return false;
            }
            lane += run.count;
        }
        true
    }

    fn run(&mut self, touch: &Touch<'_>, run: &Run) -> bool {
        let bytes = u64::from(touch.bytes);
        let address = touch.addresses[run.first];
        let lanes = if run.together { 1 } else { run.count as u64 };
        let Some(end) = address.checked_add(bytes * lanes) else { return false };
        if !address.is_multiple_of(bytes) {
            return false;
        }
        match window::locate(touch.space, address) {
            (Space::Shared, at) => self.shared(touch, run, at, at + bytes * lanes),
            (Space::Global, _) => self.global(touch, run, address, end),
            // A thread's own memory, as far as no run goes beyond it.
            (Space::Local, _) => end <= window::LOCAL + window::LOCAL_SIZE,
            _ => false,
        }
    }

    fn shared(&mut self, touch: &Touch<'_>, run: &Run, at: u64, end: u64) -> bool {
        let checks = self.of.checker.checks;
        if end > self.of.shared_bytes || checks.memory && !self.in_variable(at, end) {
            return false;
        }
        let grain = self.of.grains.shared;
        let range = (at >> grain) as usize..end.div_ceil(1 << grain) as usize;
        let known = touched(&mut self.kept.shared, range, grain, touch, run, own(self.now));
        !(checks.race && known.races || checks.init && known.unwritten && !self.complete)
    }

    fn global(&mut self, touch: &Touch<'_>, run: &Run, at: u64, end: u64) -> bool {
        let Some(n) = self.allocation(touch.site, at) else { return false };
        let (grain, checks) = (self.of.grains.global, self.of.checker.checks);
        let g = &mut self.kept.globals[n];
        if end > g.end {
            return false;
        }
        let (writes, reads) = (touch.touches != Touches::Read, touch.touches != Touches::Write);
        if !allows(g.restriction, writes, reads) {
            return false;
        }
        if writes && !g.saved {
            g.saved = true;
            if !self.save(at) {
                return false;
            }
        }
        // No other block is in the scope.
        if matches!(touch.touches, Touches::Atomic(Scope::Cta | Scope::Cluster)) {
            return false;
        }
        if !self.follow(n, touch) {
            return false;
        }
        let g = &mut self.kept.globals[n];
        if g.readers.contains(&touch.site) || !checks.race && g.written.is_none() {
            return true;
        }
        let to = (end - g.start).div_ceil(1 << grain) as usize;
        let range = ((at - g.start) >> grain) as usize..to;
        // What an atomic reads is asked for before it writes.
        let unwritten = |g: &Global| {
            let Some(written) = &g.written else { return false };
            let mut all = range.clone();
            all.any(|n| {
                let cell = (n as u64) << grain..(n as u64 + 1) << grain;
                let read = cell.start.max(at - g.start)..cell.end.min(end - g.start);
                g.cells.0[n] < self.now.launch && !written.all(read)
            })
        };
        if reads && unwritten(g) {
            return false;
        }
        let known = touched(&mut g.cells, range, grain, touch, run, self.now);
        !(checks.race && known.races)
    }

    /// Whether an access to an allocation can be followed as things are. Reads need not be where the launch only reads;
    /// that this is so is found out, and where it was not, the launch begins anew.
    fn follow(&mut self, n: usize, touch: &Touch<'_>) -> bool {
        let race = self.of.checker.checks.race;
        let g = &mut self.kept.globals[n];
        g.wrote |= touch.touches != Touches::Read;
        if race && !g.follows && (g.wrote || self.of.rereads.contains(&touch.site)) {
            if !g.readers.is_empty() {
                self.of.reread(&g.readers);
                return false;
            }
            g.follows = true;
        }
        if race && !g.follows {
            g.readers.insert(touch.site);
        }
        if g.follows && g.cells.len() == 0 {
            // Allocations begin at multiples of more than a cell.
            g.cells = Cells::new(((g.end - g.start) >> self.of.grains.global) as usize + 1);
        }
        true
    }

    /// The allocation of an address, as this instruction touched it last or as others did.
    fn allocation(&mut self, site: usize, at: u64) -> Option<usize> {
        let all = &mut self.kept.globals;
        let holds = |g: &Global| g.start <= at && at < g.end;
        if let Some(n) = self.sites.get(site).copied()
            && all.get(n).is_some_and(holds)
        {
            return Some(n);
        }
        let n = match all.iter().position(holds) {
            Some(n) => n,
            None => {
                let a = self.of.memory().find(at)?;
                let (start, end) = (a.start, a.start + a.size);
                let written = self.of.written(start);
                all.push(Global {
                    start,
                    end,
                    cells: Cells::default(),
                    follows: written.is_some(),
                    readers: BTreeSet::new(),
                    wrote: false,
                    saved: false,
                    restriction: self.of.restriction(at),
                    written,
                });
                all.len() - 1
            }
        };
        if self.sites.len() <= site {
            self.sites.resize(site + 1, usize::MAX);
        }
        self.sites[site] = n;
        Some(n)
    }
}

/// Whether a restriction allows an access.
fn allows(restriction: Option<bool>, writes: bool, reads: bool) -> bool {
    match restriction {
        Some(only_write) => !(if only_write { reads } else { writes }),
        None => true,
    }
}

/// Lanes from `first` on that are side by side, or at one place.
fn run(touch: &Touch<'_>, first: usize) -> Run {
    let bytes = u64::from(touch.bytes);
    let count = alike(touch, first, bytes);
    if count > 1 || touch.touches != Touches::Read {
        return Run { first, count, together: false };
    }
    let count = alike(touch, first, 0);
    Run { first, count, together: count > 1 }
}

/// How many lanes from `first` on are `step` bytes apart.
fn alike(touch: &Touch<'_>, first: usize, step: u64) -> usize {
    const AT_ONCE: usize = 8;
    let a = &touch.addresses[first..];
    let on = touch.lanes >> first;
    let most = (on.trailing_ones() as usize).min(a.len());
    let mut count = 1;
    while count + AT_ONCE <= most {
        let next = a[0].wrapping_add(count as u64 * step);
        let mut apart = 0;
        for (n, a) in a[count..count + AT_ONCE].iter().enumerate() {
            apart |= a ^ next.wrapping_add(n as u64 * step);
        }
        if apart != 0 {
            break;
        }
        count += AT_ONCE;
    }
    while count < most && a[count] == a[0].wrapping_add(count as u64 * step) {
        count += 1;
    }
    count
}

/// Does an access of lanes to cells.
fn touched(
    cells: &mut Cells,
    range: Range<usize>,
    grain: u32,
    touch: &Touch<'_>,
    run: &Run,
    now: Now,
) -> Known {
    let lane = touch.bytes.trailing_zeros();
    let shift = lane.saturating_sub(grain);
    // Several lanes read of one cell.
    let together = run.together || lane < grain && run.count > 1;
    let (at, count, thread) =
        (range.start, range.end - range.start, touch.thread + run.first as u32);
    match touch.touches {
        Touches::Read if together => cells.read_together(at, count, now),
        Touches::Read => cells.read(at, count, shift, thread, now),
        Touches::Write => cells.write(at, count, shift, thread, now),
        Touches::Atomic(_) => cells.update(at, count, now),
    }
}
