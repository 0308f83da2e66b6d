//! Runs compiled blocks: the memory that code works on, and the slow way of effects.

use std::cell::Cell;

use ptx_isa::Space;
use ptx_isa::effect::{Atom, Effect, Fault, Mem, window};
use ptx_isa::special::Sreg;
use ptx_isa::tcgen05::TensorMemory;

use crate::ctx::{Ctx, DONE, PATIENCE, Site, WATCH};
use crate::device::{Launch, Span, Stop};
use crate::entry::Slow;
use crate::kernel::Kernel;
use crate::layout::{Layout, REACH, SiteInfo};
use crate::meet::Places;
use crate::options::Watched;
use crate::reductions::Reductions;
use crate::scratch::{Line, Scratch, grow, grow_local};
use crate::special::{same_in_a_row, special};
use crate::thunk::Thunks;
use crate::watcher::Watcher;

/// Loop turns between two looks at the device's limits.
const FUEL: i64 = 1 << 20;
/// What a group's way from barrier to barrier counts for, in loop turns.
const CALL: i64 = 16;

/// Rounds of a block whose groups wait, before it makes room for another block.
pub(crate) const ROUNDS: u32 = 4;

/// Memory of workers that a kernel keeps.
const KEPT: usize = 256;

/// Where a block is when its worker returns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// At its end.
    Done,
    /// In loops that wait, maybe for another block: [`Worker::go_on`] goes on.
    Waits,
}

/// Executes blocks of one launch, one after the other. Each host thread has one, or one for each of the blocks that
/// wait for one another.
pub(crate) struct Worker<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) launch: &'a Launch<'a>,
    thunks: Thunks,
    pub(crate) local_bytes: usize,
    pub(crate) scratch: Scratch,
    symbols: Vec<u64>,
    pub(crate) block: [u32; 3],
    pub(crate) reductions: Reductions,
    pub(crate) watcher: Option<Box<dyn Watcher + 'a>>,
    /// Where threads are that run one by one and meet.
    pub(crate) places: Places,
    /// Tensor Memory, once something has used it.
    pub(crate) tensor: Option<Box<TensorMemory>>,
    /// `%ctaid.x` of the first block of the call.
    first: u64,
    started: bool,
    stop: Option<Stop>,
    /// The allocation that was found last; it stays while blocks run ([`crate::Device`]).
    pub(crate) near: Cell<Option<Span>>,
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let mut kept = self.kernel.scratch();
        if kept.len() < KEPT {
            kept.push(std::mem::take(&mut self.scratch));
        }
    }
}

impl<'a> Worker<'a> {
    /// Memory for blocks of `launch`.
    pub(crate) fn new(kernel: &'a Kernel, launch: &'a Launch<'a>) -> Worker<'a> {
        let sites = kernel.needs.layout.sites.len();
        let local_bytes = kernel.needs.local_bytes;
        let groups = kernel.geometry.groups() as usize;
        let threads = groups * kernel.geometry.width as usize;
        // Code reads the parameters and symbols of its program, however many the launch has.
        let param_bytes = launch.params.len().max(kernel.param_bytes as usize);
        let mut symbols = launch.symbols.to_vec();
        symbols.resize(symbols.len().max(kernel.needs.symbols), 0);
        let mut scratch = kernel.scratch().pop().unwrap_or_default();
        scratch.params.clear();
        scratch.params.extend(launch.params.chunks(8).map(|c| {
            let mut bytes = [0; 8];
            bytes[..c.len()].copy_from_slice(c);
            u64::from_le_bytes(bytes)
        }));
        scratch.params.resize(param_bytes.div_ceil(8) + 1, 0);
        grow(&mut scratch.ctx, size_of::<Ctx>() + sites * size_of::<Site>());
        grow(&mut scratch.shared, launch.shared_bytes as usize + 64);
        // Zeroed for each block, so no longer than this launch needs.
        scratch.shared.truncate((launch.shared_bytes as usize + 64).div_ceil(64));
        grow_local(&mut scratch.local, local_bytes * threads);
        grow(&mut scratch.spill, kernel.needs.layout.spill_bytes * groups + 64);
        scratch.resume.resize(groups, 0);
        let [given, taken] = kernel.needs.layout.meeting_rows;
        let rows = (given + taken) * threads.div_ceil(32);
        scratch.meet.resize(scratch.meet.len().max(rows), [0; 32]);
        let mut worker = Worker {
            kernel,
            launch,
            thunks: kernel.thunks,
            local_bytes,
            scratch,
            symbols,
            block: [0; 3],
            reductions: Reductions::default(),
            watcher: if kernel.watched == Watched::Nothing {
                None
            } else {
                launch.device.watcher()
            },
            places: Places::default(),
            tensor: None,
            first: 0,
            started: false,
            near: Cell::new(None),
            stop: None,
        };
        let shared = worker.scratch.shared.as_mut_ptr().cast::<u8>();
        let spans = launch.device.spans_hold_while();
        let before = std::mem::replace(&mut worker.scratch.spans, spans);
        // Who watches is asked anew in each launch.
        let watched = worker.watcher.is_some() || kernel.watched.tracked().is_some();
        let known = spans.is_some() && before == spans && !watched;
        for (n, info) in kernel.needs.layout.sites.iter().enumerate() {
            if known && worker.is_global(n) {
                continue;
            }
            let mut site = Site::unknown(shared);
            if info.shared {
                site.room = room(info, launch.shared_bytes as u64);
            }
            worker.set_site(n, site);
        }
        worker
    }

    /// Sites of watched code ask anew.
    pub(crate) fn forget_sites(&mut self) {
        let shared = self.scratch.shared.as_mut_ptr().cast::<u8>();
        for n in 0..self.kernel.needs.layout.sites.len() {
            self.set_site(n, Site::unknown(shared));
        }
    }

    /// Makes the frames of all threads zero; stacks are made so where they are used.
    fn clear_local(&mut self) {
        let unit = size_of::<u128>();
        let (own, cleared) = (self.local_bytes / unit, self.kernel.needs.cleared_bytes / unit);
        if own == cleared {
            self.scratch.local.fill(0);
        } else {
            self.scratch.local.chunks_mut(own).for_each(|thread| {
                let frame = cleared.min(thread.len());
                thread[..frame].fill(0);
            });
        }
    }

    /// Whether a site is known to be in global or constant memory.
    fn is_global(&self, n: usize) -> bool {
        // SAFETY: the block behind `Ctx` has room for every site of the kernel, and any bits are a valid one.
        let site =
            unsafe { self.scratch.ctx.as_ptr().cast::<Ctx>().add(1).cast::<Site>().add(n).read() };
        site.room > 0 && site.start >= window::GLOBAL
    }

    fn set_site(&mut self, n: usize, site: Site) {
        // SAFETY: the block behind `Ctx` has room for every site of the kernel.
        unsafe {
            let sites = self.scratch.ctx.as_mut_ptr().cast::<Ctx>().add(1).cast::<Site>();
            sites.add(n).write(site);
        }
    }

    /// Whether one call of the code can run blocks beside each other: nothing is made anew for each of them.
    pub(crate) fn runs_rows(&self) -> bool {
        let Layout { barriers, waits, .. } = self.kernel.needs.layout;
        barriers == 0
            && waits == 0
            && self.launch.shared_bytes == 0
            && self.local_bytes == 0
            && self.kernel.needs.specials.iter().all(|s| same_in_a_row(*s))
    }

    /// The blocks behind block `index` in its row of the grid.
    pub(crate) fn left_in_row(&self, index: u64) -> u64 {
        let row = u64::from(self.launch.grid[0]);
        row - 1 - index % row
    }

    /// How many blocks of the row the last call of the code has left behind.
    pub(crate) fn blocks_done(&mut self) -> u64 {
        self.ctx().special[Sreg::CtaidX as usize] - self.first
    }

    /// Begins block `index` (x fastest), and runs as many as `more` behind it if [`Worker::runs_rows`].
    ///
    /// # Errors
    /// A fault, or that the device wanted to stop. Memory may have changed.
    pub(crate) fn run(&mut self, index: u64, more: u64) -> Result<Progress, Stop> {
        let (gx, gy) = (u64::from(self.launch.grid[0]), u64::from(self.launch.grid[1]));
        self.block = [(index % gx) as u32, (index / gx % gy) as u32, (index / gx / gy) as u32];
        if self.launch.shared_bytes > 0 {
            self.scratch.shared.fill(Line([0; 8]));
        }
        self.clear_local();
        self.scratch.resume.fill(0);
        self.scratch.held.clear();
        self.reductions.clear();
        self.tensor = None;
        if !self.kernel.needs.layout.meets.is_empty() {
            self.places.start(self.kernel.geometry.threads() as usize);
        }
        let ctx = self.scratch.ctx.as_mut_ptr().cast::<Ctx>();
        let first = !std::mem::replace(&mut self.started, true);
        // SAFETY: `ctx` was sized for a `Ctx` and aligned as one, and any bits are a valid one.
        let c = unsafe { &mut *ctx };
        if first {
            c.params = self.scratch.params.as_ptr().cast();
            c.first_params.iter_mut().zip(&self.scratch.params).for_each(|(to, x)| *to = *x);
            c.symbols = self.symbols.as_ptr();
            c.shared = self.scratch.shared.as_mut_ptr().cast();
            c.local = self.scratch.local.as_mut_ptr().cast();
            c.shared_bytes = self.launch.shared_bytes as u64;
            c.spill = self.scratch.spill.as_mut_ptr().cast();
            c.resume = self.scratch.resume.as_mut_ptr();
            c.meet = self.scratch.meet.as_mut_ptr().cast();
            c.effect = self.thunks.effect;
            c.refuel = self.thunks.refuel;
            c.lane_thunk = self.thunks.lanes;
            c.run_effect = run_effect as *const () as usize;
            c.run_refuel = refuel as *const () as usize;
            c.lanes = crate::lanes::addresses().as_ptr();
        }
        c.fuel = FUEL;
        c.patience = PATIENCE;
        c.failed = 0;
        c.more = more;
        // Also where only the count of blocks needs it.
        self.first = u64::from(self.block[0]);
        c.special[Sreg::CtaidX as usize] = self.first;
        for reg in &self.kernel.needs.specials {
            let value = match reg {
                Sreg::CtaidX => u64::from(self.block[0]),
                Sreg::CtaidY => u64::from(self.block[1]),
                Sreg::CtaidZ => u64::from(self.block[2]),
                // The same in all blocks: set with the first.
                Sreg::NctaidX | Sreg::NctaidY | Sreg::NctaidZ if !first => continue,
                _ => special(self.kernel, self.launch, self.block, 0, *reg),
            };
            c.special[*reg as usize] = value;
        }
        self.tell_block(more);
        self.go_on()
    }

    /// Goes on with the block.
    ///
    /// # Errors
    /// As [`Worker::run`].
    pub(crate) fn go_on(&mut self) -> Result<Progress, Stop> {
        if !self.kernel.needs.layout.meets.is_empty() {
            return self.go_on_meeting();
        }
        let mut rounds = 0;
        // Every call runs each group to its next barrier; all groups that have not finished wait
        // at one, so the next call passes it.
        loop {
            self.call()?;
            let Layout { barriers, waits, .. } = self.kernel.needs.layout;
            if waits == 0 {
                if barriers == 0 || self.scratch.resume.iter().all(|r| *r == DONE) {
                    return Ok(Progress::Done);
                }
                self.tell_barrier()?;
            } else if self.hold_others(barriers) {
                if !self.launch.device.go_on() {
                    return Err(Stop::Device);
                }
                rounds += 1;
                if rounds == ROUNDS {
                    return Ok(Progress::Waits);
                }
            } else if self.let_others_go() {
                return Ok(Progress::Done);
            }
            self.burn_call()?;
        }
    }

    /// Calls the code: every group that has not finished goes on to where it stops next.
    pub(crate) fn call(&mut self) -> Result<(), Stop> {
        let me: *mut Worker<'a> = self;
        let ctx = self.scratch.ctx.as_mut_ptr().cast::<Ctx>();
        // SAFETY: as in `run`, which was there before. The worker may have moved since.
        unsafe { (*ctx).worker = me.cast() };
        // SAFETY: the code was compiled for this layout of `Ctx` and the sizes allocated in
        // `new`; all its accesses to other memory are checked against spans of the device.
        let failed = unsafe { (self.kernel.entry)(ctx) };
        if failed != 0 {
            // An index of `brx.idx` is the only check without a helper.
            return Err(self.stop.take().unwrap_or(Stop::BranchIndex));
        }
        Ok(())
    }

    /// The turns of a loop over a barrier are calls of the code.
    pub(crate) fn burn_call(&mut self) -> Result<(), Stop> {
        let turns = CALL * self.scratch.resume.len() as i64;
        let ctx = self.ctx();
        ctx.fuel -= turns;
        if ctx.fuel < 0 {
            ctx.fuel = FUEL;
            if !self.launch.device.go_on() {
                return Err(Stop::Device);
            }
        }
        Ok(())
    }

    /// Whether groups are in loops that wait. They go on until all others are at a barrier or done; who is there
    /// already is held.
    fn hold_others(&mut self, barriers: usize) -> bool {
        let Scratch { resume, held, .. } = &mut self.scratch;
        let in_loop = |r: &u32| *r != DONE && *r as usize > barriers;
        if !resume.iter().any(in_loop) {
            return false;
        }
        held.resize(resume.len(), DONE);
        for (r, held) in resume.iter_mut().zip(held.iter_mut()) {
            if !in_loop(r) && *r != DONE {
                *held = std::mem::replace(r, DONE);
            }
        }
        true
    }

    /// Who was held goes on, as all are at a barrier; whether all are done.
    fn let_others_go(&mut self) -> bool {
        let Scratch { resume, held, .. } = &mut self.scratch;
        for (r, held) in resume.iter_mut().zip(held.drain(..)) {
            if held != DONE {
                *r = held;
            }
        }
        resume.iter().all(|r| *r == DONE)
    }

    pub(crate) fn ctx(&mut self) -> &mut Ctx {
        // SAFETY: sized and aligned for a `Ctx` in `new`; compiled code is not running now but
        // waits for this helper, and reads the memory anew afterwards.
        unsafe { &mut *self.scratch.ctx.as_mut_ptr().cast::<Ctx>() }
    }

    /// One effect by the slow way.
    fn effect(&mut self, e: usize, site: i64) -> Result<(), Stop> {
        if self.watcher.is_some() {
            self.tell_access(e)?;
        }
        let kernel = self.kernel;
        let info = &kernel.needs.effects[e];
        self.block[0] = self.ctx().special[Sreg::CtaidX as usize] as u32;
        let mask = self.ctx().mask;
        let width = kernel.geometry.width as usize;
        let on: Vec<usize> = (0..width).filter(|l| mask[*l] != 0).collect();
        let done = match &info.effect {
            Effect::Ld(m) => self.load(info, m, &on),
            Effect::St(m) => self.store(info, m, &on),
            Effect::Atom(a) => self.atomic(info, a, &on),
            Effect::Warp(op) => self.warp(info, op, &on),
            Effect::Sys(sys) => self.system(info, *sys, &on),
            Effect::Bar(bar) => {
                self.reduction(info, bar, &on);
                Ok(())
            }
            Effect::Trap => Err(Fault::Operand {
                lane: on.first().map_or(0, |l| *l as u8),
                message: "trap".into(),
            }),
            Effect::Brkpt => Err(Fault::Operand {
                lane: on.first().map_or(0, |l| *l as u8),
                message: "breakpoint".into(),
            }),
            // Compiled code has no slow way for these, or `limits` refuses them.
            Effect::Fence(_) | Effect::AsyncGroup(_) | Effect::Yield => Ok(()),
        };
        if let Err(fault) = done {
            if matches!(fault, Fault::Stopped { .. }) {
                return Err(Stop::Watched);
            }
            return Err(self.stop_of(info, fault));
        }
        if let Effect::Ld(Mem { place, .. })
        | Effect::St(Mem { place, .. })
        | Effect::Atom(Atom { place, .. }) = &info.effect
            && let Some(l) = on.first()
            && site >= 0
            && (place.space != Space::Shared || kernel.watched != Watched::Nothing)
        {
            let write = !matches!(info.effect, Effect::Ld(_));
            let address = self.address(info, *l, place.offset);
            self.learn(site as usize, place.space, address, write);
        }
        Ok(())
    }

    /// What the fault of a lane of the executing group is to the launch.
    pub(crate) fn stop_of(&mut self, info: &Slow, fault: Fault) -> Stop {
        let lane = match &fault {
            Fault::OutOfBounds { lane, .. }
            | Fault::Misaligned { lane, .. }
            | Fault::Operand { lane, .. }
            | Fault::Stopped { lane, .. } => *lane as u64,
        };
        let t = (self.ctx().thread0 + lane) as u32;
        let [x, y, _] = self.kernel.geometry.block;
        Stop::Fault {
            fault,
            function: info.origin.function,
            span: info.origin.span.clone(),
            block: self.block,
            thread: [t % x, t / x % y, t / x / y],
        }
    }

    /// Remembers the allocation that the access touched, for the fast way.
    fn learn(&mut self, site: usize, space: Space, address: u64, write: bool) {
        let shared = self.ctx().shared as u64;
        let in_shared = address.wrapping_sub(window::SHARED) < window::SHARED_CTA;
        if self.kernel.watched != Watched::Nothing
            && (space == Space::Shared || space == Space::Generic && in_shared)
        {
            return self.learn_variable(site, space, address);
        }
        let (start, size, host) = if space == Space::Generic && in_shared {
            (window::SHARED, self.launch.shared_bytes as u64, shared)
        } else {
            match self.span(address).filter(|s| s.writable || !write) {
                Some(s) => (s.start, s.size, s.host as u64),
                None => return,
            }
        };
        let info = &self.kernel.needs.layout.sites[site];
        // Addresses are told to be aligned by their distance from the start.
        let skip = start.next_multiple_of(info.unit.max(32)) - start;
        let size = size.saturating_sub(skip);
        let room = room(info, size);
        let place = Site { start: start + skip, room, host: host + skip, cells: 0, first: 0 };
        let told = matches!(space, Space::Global | Space::Generic);
        let place = if told { self.cells_of(site, place, size) } else { Some(place) };
        if let Some(place) = place.filter(|_| room > 0) {
            self.set_site(site, place);
        }
    }

    /// Remembers the shared variable that the access touched.
    fn learn_variable(&mut self, site: usize, space: Space, address: u64) {
        let window = if space == Space::Shared { 0 } else { window::SHARED };
        let Some(range) = self.watcher.as_ref().and_then(|w| w.variable(address - window)) else {
            return;
        };
        let info = &self.kernel.needs.layout.sites[site];
        if !range.start.is_multiple_of(info.unit) {
            return;
        }
        let room = room(info, range.end - range.start);
        let host = self.ctx().shared as u64 + range.start;
        let place = Site { start: window + range.start, room, host, cells: 0, first: 0 };
        let place = if space == Space::Generic {
            self.cells_of(site, place, range.end - range.start)
        } else {
            Some(place)
        };
        if let Some(place) = place.filter(|_| room > 0) {
            self.set_site(site, place);
        }
    }
}

/// Entry of compiled code into [`Worker::effect`]; not 0 when the block must stop.
unsafe extern "C" fn run_effect(ctx: *mut Ctx, e: u64, site: i64) -> u64 {
    // SAFETY: `run` put a pointer to itself there, and is waiting for the code.
    let worker = unsafe { &mut *(*ctx).worker.cast::<Worker<'_>>() };
    let done = if e & WATCH as u64 != 0 {
        worker.tell_access((e ^ WATCH as u64) as usize)
    } else {
        worker.effect(e as usize, site)
    };
    match done {
        Ok(()) => 0,
        Err(stop) => {
            worker.stop = Some(stop);
            1
        }
    }
}

/// Entry of compiled code when it has run [`FUEL`] loop turns; not 0 when the block must stop.
unsafe extern "C" fn refuel(ctx: *mut Ctx) -> u64 {
    // SAFETY: as in `run_effect`.
    let worker = unsafe { &mut *(*ctx).worker.cast::<Worker<'_>>() };
    worker.ctx().fuel = FUEL;
    if worker.launch.device.go_on() {
        return 0;
    }
    worker.stop = Some(Stop::Device);
    1
}

/// [`Site::room`] of an allocation.
fn room(info: &SiteInfo, size: u64) -> u64 {
    if info.span > size { 0 } else { ((size - info.span) / info.unit + 1).min(most(info)) }
}

/// Most units that code can tell apart.
fn most(info: &SiteInfo) -> u64 {
    if info.narrow { REACH } else { u64::MAX }
}
