//! One host thread of a launch: runs groups, and their warps in turn.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ptx_isa::effect::window;

use crate::code::*;
use crate::control::State;
use crate::cta::{At, Group};
use crate::ctx::{Ctx, Site};
use crate::grid::Grid;
use crate::memory::Memory;
use crate::moment::Moment;
use crate::observer::{BlockEvent, EventSet, Observer, WarpEvent};
use crate::params::Stats;
use crate::region::Span;
use crate::report::{FaultKind, Report};
use crate::rows::{Bases, first};
use crate::shape::Shapes;
use crate::trouble::Trouble;

/// A fault that ends the launch.
pub(crate) type Stopped = Box<Report>;

/// Slices before a group makes room for another one.
const GROUP_SLICES: u64 = 256;
/// The same in a cooperative launch, whose groups wait for one another by design, and once a group has stopped.
const COOPERATIVE_SLICES: u64 = 4;
/// Instructions of a warp before others get a turn, and limits are looked at, where barriers that are met at once cut its
/// slices short: it may never come to the end of one.
const TURN: u64 = 1 << 16;

/// Time for which groups go on after another has stopped: a fault of an earlier group is told first, but one that waits
/// may wait for the one that has stopped.
const AFTER_STOP: Duration = Duration::from_millis(500);

/// One host thread of a launch.
pub(crate) struct Worker<'a, O> {
    pub cx: Ctx,
    pub k: &'a Kernel,
    pub l: &'a Grid<'a>,
    pub observer: O,
    /// Room for the addresses of an access that the observer is told of.
    pub addresses: [u64; 32],
    pub stats: Stats,
    /// Steps already added to the launch's.
    told: u64,
    /// Slices that were used up.
    slices: u64,
    /// Faults when lanes wait for others of their warp (no forward progress below sm_70).
    pub stack: bool,
}

/// Why a split stopped.
pub(crate) enum Stop {
    /// It waits, or ended, or met others.
    Blocked,
    /// Its slice is over.
    Slice,
}

/// What an effect asks of the main loop.
pub(crate) enum After {
    /// Go on.
    Next,
    /// The split's state changed (it waits, or lanes joined): look again.
    Changed,
    /// Let others run, then do the same again.
    Retry,
    /// Go on after others ran.
    Yield,
}

impl<'a, O: Observer> Worker<'a, O> {
    pub(crate) fn new(l: &'a Grid<'a>, observer: O) -> Self {
        let memory: &Memory = l.memory;
        let cx = Ctx {
            bases: Bases([
                std::ptr::null_mut(),
                l.consts,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            ]),
            sites: vec![Cell::new(Site::EMPTY); l.kernel.effects.len()].into(),
            shapes: Shapes::new(l.kernel.effects.len()),
            epoch: memory.epoch(),
            memory: memory.clone(),
            last: Cell::new(Span::NOTHING),
            shared: Site::EMPTY,
            cluster: Vec::new(),
            local: (std::ptr::null(), 0),
            params: l.block.clone(),
            lanes: std::hint::black_box(32),
        };
        let stack = l.kernel.program.info.target.sm < 70;
        Worker {
            cx,
            k: l.kernel,
            l,
            observer,
            addresses: [0; 32],
            stats: Stats::default(),
            told: 0,
            slices: 0,
            stack,
        }
    }

    /// Takes groups until none is left.
    pub(crate) fn run(&mut self) {
        let mut spare: Vec<Group> = Vec::new();
        // Groups that used up their slices: they may wait for groups not started yet.
        let mut open: VecDeque<Group> = VecDeque::new();
        let mut range = self.l.queue.take();
        let most = self.l.geometry.resident(self.l.params);
        let mut fresh = true;
        let mut stopped: Option<Instant> = None;
        if O::EVENTS.has(EventSet::BLOCK) {
            self.observer.block(BlockEvent::LaunchStarts { grid: self.l.geometry.grid_id });
        }
        loop {
            if let Some(relief) = self.l.relief {
                relief.look(&self.l.queue);
            }
            let mut next = None;
            if open.is_empty() || fresh && open.len() < most {
                next = range.next().or_else(|| {
                    range = self.l.queue.take();
                    range.next()
                });
            }
            let mut group = match next {
                Some(index) => {
                    let mut group =
                        spare.pop().unwrap_or_else(|| Group::new(self.k, &self.l.geometry));
                    let index = match self.l.params.schedule {
                        Some(seed) => permuted(seed, index, self.l.geometry.groups()),
                        None => index,
                    };
                    group.start(index, self.k, &self.l.geometry);
                    if O::EVENTS.has(EventSet::BLOCK) {
                        for c in &group.ctas {
                            self.observer.block(BlockEvent::Starts { block: c.id });
                        }
                    }
                    group
                }
                None => match open.pop_front() {
                    Some(group) => group,
                    None => break,
                },
            };
            fresh = false;
            if self.l.queue.wants(group.index) {
                match self.turns(&mut group) {
                    Ok(true) => self.finish(&mut group),
                    Ok(false) => {
                        if self.l.queue.stopped()
                            && stopped.get_or_insert_with(Instant::now).elapsed() > AFTER_STOP
                        {
                            spare.push(group);
                            continue;
                        }
                        fresh = true;
                        open.push_back(group);
                        continue;
                    }
                    Err(report) => {
                        let index = group.index;
                        if O::EVENTS.has(EventSet::BLOCK) {
                            self.observer.block(BlockEvent::Faults { report: &report });
                        }
                        self.l.queue.stop(index, report);
                        self.l.finished(index, output(&mut group));
                    }
                }
            }
            spare.push(group);
        }
        if O::EVENTS.has(EventSet::BLOCK) {
            self.observer.block(BlockEvent::LaunchEnds);
        }
    }

    /// What can be seen of a warp at `pc`, whose `lanes` execute.
    pub(crate) fn moment<'m>(
        &'m self,
        group: &'m Group,
        at: At,
        pc: u32,
        lanes: u32,
    ) -> Moment<'m> {
        let steps = self.stats.warp_instructions;
        Moment { kernel: self.k, grid: self.l, cx: &self.cx, group, at, pc, lanes, steps }
    }

    /// Tells the observer what a warp does, unless it does not want to know.
    ///
    /// # Errors
    /// When it stops the launch.
    #[inline(always)]
    pub(crate) fn tell(
        &mut self,
        group: &Group,
        at: At,
        pc: u32,
        lanes: u32,
        event: WarpEvent<'_>,
    ) -> Result<(), Trouble> {
        if !O::EVENTS.has(event.set()) {
            return Ok(());
        }
        let steps = self.stats.warp_instructions;
        let moment =
            Moment { kernel: self.k, grid: self.l, cx: &self.cx, group, at, pc, lanes, steps };
        match self.observer.warp(&moment, event) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(message) => {
                Err(Trouble::Kind(first(lanes), FaultKind::Cancelled, message))
            }
        }
    }

    fn finish(&mut self, group: &mut Group) {
        self.stats.blocks += group.ctas.len() as u64;
        if O::EVENTS.has(EventSet::BLOCK) {
            let steps = self.stats.warp_instructions;
            for c in &group.ctas {
                self.observer.block(BlockEvent::Ends { block: c.id, steps });
            }
        }
        self.l.finished(group.index, output(group));
    }

    /// Gives every warp of the group turns until all have ended, or the group has had enough.
    /// Whether it ended.
    fn turns(&mut self, group: &mut Group) -> Result<bool, Stopped> {
        self.cx.refresh();
        // A checked launch is slow, and a group that spins would take long to make room.
        let checked = O::EVENTS.has(EventSet::HEAP);
        let short = checked || self.l.params.cooperative;
        let mut slices = 0;
        let mut rounds = group.index << 8;
        // Where a group has stopped, an earlier one that waits for it is to be noticed soon.
        let most = |stopped| if short || stopped { COOPERATIVE_SLICES } else { GROUP_SLICES };
        while slices < most(self.l.queue.stopped()) {
            rounds += 1;
            let (mut ran, mut spun) = (false, false);
            for cta in 0..group.ctas.len() {
                self.enter_cta(group, cta);
                let warps = group.ctas[cta].warps.len();
                for n in 0..warps {
                    let warp = match self.l.params.schedule {
                        Some(seed) => {
                            let round = seed ^ rounds << 20 ^ group.ctas[cta].rank as u64;
                            permuted(round, n as u64, warps as u64) as usize
                        }
                        None => n,
                    };
                    let before = self.slices;
                    ran |= self.warp(group, cta, warp)?;
                    spun |= self.slices != before;
                }
            }
            // Rounds from barrier to barrier are progress, whatever their number.
            slices += spun as u64;
            if group.done() {
                return Ok(true);
            }
            if !ran && !self.free_waiting(group) {
                return Err(self.deadlock(group));
            }
            self.cx.refresh();
            let told = self.stats.warp_instructions - self.told;
            self.told += told;
            self.l.steps.fetch_add(told, Ordering::Relaxed);
            if let Some((kind, message)) = self.l.limit() {
                return Err(self.limit_report(group, kind, message));
            }
            if !self.l.queue.wants(group.index) {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// No warp can run: lanes that wait in joins go on, if the target lets them.
    fn free_waiting(&self, group: &mut Group) -> bool {
        let mut any = false;
        if !self.stack {
            for cta in 0..group.ctas.len() {
                for warp in 0..group.ctas[cta].warps.len() {
                    any |= self.let_go(group, cta, warp);
                }
            }
        }
        any
    }

    fn let_go(&self, group: &mut Group, cta: usize, warp: usize) -> bool {
        let w = &mut group.ctas[cta].warps[warp];
        !self.stack && w.has_waiting() && w.let_go()
    }

    fn enter_cta(&mut self, group: &mut Group, cta: usize) {
        let size = self.l.geometry.shared_bytes as u64;
        // Without clusters a block is a cluster of its own: `mapa` to rank 0 works there too.
        self.cx.cluster.clear();
        for c in &mut group.ctas {
            self.cx.cluster.push((c.shared.ptr(), size));
        }
        let start = u64::from(group.ctas[cta].rank) * window::SHARED_CTA;
        let origin = group.ctas[cta].shared.ptr().wrapping_sub(start as usize);
        self.cx.shared = Site { start, size, origin };
    }

    /// Runs a warp until it waits, ends or has had its slice. Whether it could run.
    fn warp(&mut self, group: &mut Group, cta: usize, warp: usize) -> Result<bool, Stopped> {
        let mut ran = false;
        let end = self.stats.warp_instructions + TURN;
        loop {
            if self.stats.warp_instructions >= end {
                return Ok(true);
            }
            let w = &mut group.ctas[cta].warps[warp];
            if w.splits.len() > 1
                && w.splits.iter().any(|s| matches!(s.state, State::Sync(_)))
                && self.meet_sync(group, cta, warp)?
            {
                continue;
            }
            group.ctas[cta].resume_products(warp);
            let w = &mut group.ctas[cta].warps[warp];
            let ready = if self.stack {
                // The top of the stack is all that may run.
                w.splits.len().checked_sub(1).filter(|s| w.splits[*s].state == State::Ready)
            } else {
                w.splits.iter().rposition(|s| s.state == State::Ready)
            };
            let Some(split) = ready else {
                // Lanes that others of the warp wait for may be held up in a join.
                let sync = w.splits.iter().any(|s| matches!(s.state, State::Sync(_)));
                if sync && (self.meet_sync(group, cta, warp)? || self.let_go(group, cta, warp)) {
                    continue;
                }
                return Ok(ran);
            };
            ran = true;
            match self.split(group, At { cta, warp, split })? {
                Stop::Blocked => {}
                Stop::Slice => {
                    self.slices += 1;
                    let w = &mut group.ctas[cta].warps[warp];
                    if !self.stack && !w.lost_patience() && w.splits.len() > 1 {
                        // Others first.
                        let last = w.splits.len() - 1;
                        if split == last {
                            w.splits.rotate_right(1);
                        } else {
                            let s = w.splits.remove(split);
                            w.splits.insert(0, s);
                        }
                    }
                    return Ok(true);
                }
            }
        }
    }
}

/// The place of `n` in an order of `count` things that follows from `seed`.
fn permuted(seed: u64, n: u64, count: u64) -> u64 {
    // SplitMix64 (Steele, Lea, Flood 2014).
    let mix = |x: u64| {
        let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    };
    let divisor = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    if count < 2 {
        return n;
    }
    let mut step = mix(seed) % count;
    while divisor(step, count) != 1 {
        step = (step + 1) % count;
    }
    ((u128::from(n) * u128::from(step) + u128::from(mix(!seed) % count)) % u128::from(count)) as u64
}

/// What the group printed, block after block.
fn output(group: &mut Group) -> Vec<u8> {
    let mut all = Vec::new();
    for cta in &mut group.ctas {
        all.append(&mut cta.output);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_everything_once() {
        for count in [1, 2, 7, 32, 1000] {
            for seed in 0..20 {
                let mut all: Vec<u64> = (0..count).map(|n| permuted(seed, n, count)).collect();
                all.sort_unstable();
                assert!(all.iter().copied().eq(0..count), "{count} {seed}");
            }
        }
        let first = |seed| (0..8).map(|n| permuted(seed, n, 8)).collect::<Vec<_>>();
        assert!((1..9).any(|seed| first(seed) != first(0)));
    }
}
