//! Looks at launches of compiled code, fast and on the safe side: what passes has no finding.
//!
//! What does not pass may have one: memory is put back as it was, and the interpreter runs the launch once more under
//! the checkers, which know all that a report says. So this part names nothing. It takes for ordered what barriers of
//! the whole block order, and nothing else; it takes for written what the host or this host thread's blocks have
//! written.

mod cells;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ptx_interp::{Access, Kernel, LaunchParams, Memory, Saved};
use ptx_isa::effect::{Effect, Mem, Scope, Sys, window};
use ptx_isa::meaning::Uop;
use ptx_isa::watch::{CellsAt, Now, Touch, Touches};
use ptx_isa::{Reach, Space};
use ptx_parse::code::Program;

use crate::Checker;
use crate::order;
use crate::written::Written;
use cells::{Cells, Known, SEGMENTS, THREADS, code, own};

/// Kernels that did not pass, by their program and name: they are interpreted from then on.
pub(crate) type Suspects = HashSet<(usize, String)>;

/// Instructions of kernels that read what their launches write as well: by program and name.
pub(crate) type Rereads = HashMap<(usize, String), BTreeSet<usize>>;

/// Bytes of cells that are kept for the next launch.
const KEPT: usize = 256 << 20;

/// Segments that a block may have at least.
const BARRIERS: u32 = SEGMENTS / 2;

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

/// Effects of a kernel's functions.
fn effects(program: &Program) -> impl Iterator<Item = &Effect> {
    program.functions.iter().flat_map(|f| &f.uops).filter_map(|uop| match uop {
        Uop::Effect { effect, .. } => Some(effect),
        Uop::Pure { .. } => None,
    })
}

/// Whether an effect may reach global and shared memory.
fn is_generic(effect: &Effect) -> bool {
    match effect {
        Effect::Ld(Mem { place, .. }) | Effect::St(Mem { place, .. }) => {
            place.space == Space::Generic
        }
        Effect::Atom(a) => a.place.space == Space::Generic,
        Effect::Bar(_)
        | Effect::Fence(_)
        | Effect::AsyncGroup(_)
        | Effect::Trap
        | Effect::Brkpt
        | Effect::Yield
        | Effect::Sys(_)
        | Effect::Warp(_) => false,
    }
}

/// Bytes of a cell, in powers of two.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Grains {
    shared: u32,
    global: u32,
}

impl Grains {
    /// As small as what is written: then a read of less is of the whole cell as well.
    fn write(&mut self, space: Space, bytes: u8) {
        let grain = u32::from(bytes).trailing_zeros();
        if matches!(space, Space::Shared | Space::Generic) {
            self.shared = self.shared.min(grain);
        }
        if matches!(space, Space::Global | Space::Generic) {
            self.global = self.global.min(grain);
        }
    }
}

/// The cells of a kernel's launches; `None` where the kernel does what is not followed here.
fn grains(program: &Program) -> Option<Grains> {
    let mut grains = Grains { shared: 2, global: 2 };
    let mut atomics = None;
    for effect in effects(program) {
        match effect {
            // Nobody is asked about these.
            Effect::Ld(Mem { place, .. }) | Effect::St(Mem { place, .. })
                if place.space == Space::SharedCluster =>
            {
                return None;
            }
            Effect::Atom(a) if a.bytes > 8 || a.place.space == Space::SharedCluster => return None,
            // Nor about memory that an operation reaches on its own: asynchronous copies, mbarrier objects.
            Effect::Warp(op) if op.waits || op.reach > Reach::Warp => return None,
            Effect::St(Mem { place, bytes, .. }) => grains.write(place.space, *bytes),
            Effect::Atom(a) => {
                // Atomics of different sizes are not atomic to each other.
                if *atomics.get_or_insert(a.bytes) != a.bytes {
                    return None;
                }
                grains.write(a.place.space, a.bytes);
            }
            Effect::Brkpt | Effect::Sys(Sys::Vprintf | Sys::Malloc | Sys::Free) => return None,
            Effect::Ld(_)
            | Effect::Bar(_)
            | Effect::Fence(_)
            | Effect::AsyncGroup(_)
            | Effect::Trap
            | Effect::Yield
            | Effect::Sys(Sys::AssertFail)
            | Effect::Warp(_) => {}
        }
    }
    Some(grains)
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

    /// Whether the cells of shared, and of global memory have 4 bytes for each 4 bytes of it, so that code can find them.
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

/// Looks at the blocks of a host thread, one after the other. What it says no to (`false`) does not pass.
pub struct Screen<'a> {
    of: &'a Screening<'a>,
    now: Now,
    kept: Kept,
    /// By instruction: the allocation that it touched last.
    sites: Vec<usize>,
    /// All of the block's variables were written before its last barrier, and up to which place of which variable that
    /// is known.
    complete: bool,
    known: (usize, u64),
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
    pub fn shared_cells(&self, wanted: bool) -> u64 {
        let written = self.complete && !self.of.checker.checks.race;
        if wanted && written { 0 } else { self.kept.shared.0.as_ptr() as u64 }
    }

    /// The cells of `bytes` bytes of global memory from `at` on, which instruction `site` has touched; `None` where they
    /// are not part of one allocation.
    pub fn cells(&mut self, site: usize, at: u64, bytes: u64) -> Option<CellsAt> {
        let g = &self.kept.globals[*self.sites.get(site)?];
        if at < g.start || bytes > g.end - at {
            return None;
        }
        let init = g.written.is_some();
        let reads = g.readers.contains(&site);
        if !init && (reads || !self.of.checker.checks.race) {
            return Some(CellsAt { host: 0, first: 0 });
        }
        let host = g.cells.0.as_ptr() as u64 + (at - g.start);
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
