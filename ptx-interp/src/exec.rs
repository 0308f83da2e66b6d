//! The main loop: runs groups, their warps in turn, and the splits of each warp.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use ptx_isa::Kind;
use ptx_isa::effect::Effect;

use crate::code::*;
use crate::control::State;
use crate::cta::Group;
use crate::launch::{Launch, Stats, new_group};
use crate::memory::Memory;
use crate::observer::{Issue, MemoryAccess, Observer};
use crate::region::Span;
use crate::report::Report;
use crate::rows::{Bases, Operand};
use crate::worker::{Ctx, Site};

/// A fault that ends the launch.
pub(crate) type Stopped = Box<Report>;

/// Branches that a split may take before others get a turn.
const SLICE: u32 = 4096;
/// The same while lanes of the warp are known to wait for one another.
const SPIN_SLICE: u32 = 256;
/// Slices before a group makes room for another one.
const GROUP_SLICES: u64 = 256;
/// The same in a cooperative launch, whose groups wait for one another by design.
const COOPERATIVE_SLICES: u64 = 4;

/// One host thread of a launch.
pub(crate) struct Worker<'a, O> {
    pub cx: Ctx,
    pub k: &'a Kernel,
    pub l: &'a Launch<'a>,
    pub observer: O,
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

/// Which warp and split executes.
#[derive(Copy, Clone)]
pub(crate) struct At {
    pub cta: usize,
    pub warp: usize,
    pub split: usize,
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
    pub(crate) fn new(l: &'a Launch<'a>, observer: O) -> Self {
        let memory: &Memory = l.memory;
        let cx = Ctx {
            bases: Bases([
                std::ptr::null_mut(),
                l.consts,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            ]),
            sites: vec![Cell::new(Site::EMPTY); l.kernel.effects.len()].into(),
            epoch: memory.epoch(),
            memory: memory.clone(),
            last: Cell::new(Span::NOTHING),
            shared: (std::ptr::null_mut(), 0),
            cluster: Vec::new(),
            local: (std::ptr::null(), 0),
            params: l.block.clone(),
            lanes: std::hint::black_box(32),
        };
        let stack = l.kernel.program.info.target.sm < 70;
        Worker { cx, k: l.kernel, l, observer, stats: Stats::default(), told: 0, slices: 0, stack }
    }

    /// Takes groups until none is left.
    pub(crate) fn run(&mut self) {
        let mut spare: Vec<Group> = Vec::new();
        // Groups that used up their slices: they may wait for groups not started yet.
        let mut open: VecDeque<Group> = VecDeque::new();
        let mut range = self.l.take();
        let most = self.l.resident();
        let mut fresh = true;
        loop {
            let mut next = None;
            if open.is_empty() || fresh && open.len() < most {
                next = range.next().or_else(|| {
                    range = self.l.take();
                    range.next()
                });
            }
            let mut group = match next {
                Some(index) => {
                    let mut group = spare.pop().unwrap_or_else(|| new_group(self.l));
                    group.start(index, self.k, &self.l.geometry);
                    if O::ENABLED {
                        group.ctas.iter().for_each(|c| self.observer.block_starts(c.id));
                    }
                    group
                }
                None => match open.pop_front() {
                    Some(group) => group,
                    None => break,
                },
            };
            fresh = false;
            if group.index <= self.l.stop_at.load(Ordering::Relaxed) {
                match self.turns(&mut group) {
                    Ok(true) => self.finish(&mut group),
                    Ok(false) => {
                        fresh = true;
                        open.push_back(group);
                        continue;
                    }
                    Err(report) => {
                        let index = group.index;
                        self.l.fault(index, report);
                        self.l.finished(index, output(&mut group));
                    }
                }
            }
            spare.push(group);
        }
    }

    fn finish(&mut self, group: &mut Group) {
        self.stats.blocks += group.ctas.len() as u64;
        if O::ENABLED {
            group.ctas.iter().for_each(|c| self.observer.block_ends(c.id));
        }
        self.l.finished(group.index, output(group));
    }

    /// Gives every warp of the group turns until all have ended, or the group has had enough.
    /// Whether it ended.
    fn turns(&mut self, group: &mut Group) -> Result<bool, Stopped> {
        self.cx.refresh();
        let most = if self.l.params.cooperative { COOPERATIVE_SLICES } else { GROUP_SLICES };
        let mut slices = 0;
        while slices < most {
            let (mut ran, mut spun) = (false, false);
            for cta in 0..group.ctas.len() {
                self.enter_cta(group, cta);
                for warp in 0..group.ctas[cta].warps.len() {
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
            if group.index > self.l.stop_at.load(Ordering::Relaxed) {
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
        if group.ctas.len() > 1 {
            self.cx.cluster.clear();
            for c in &mut group.ctas {
                self.cx.cluster.push((c.shared.ptr(), size));
            }
        }
        self.cx.shared = (group.ctas[cta].shared.ptr(), size);
    }

    /// Runs a warp until it waits, ends or has had its slice. Whether it could run.
    fn warp(&mut self, group: &mut Group, cta: usize, warp: usize) -> Result<bool, Stopped> {
        let mut ran = false;
        loop {
            let w = &mut group.ctas[cta].warps[warp];
            if w.splits.len() > 1
                && w.splits.iter().any(|s| matches!(s.state, State::Sync(_)))
                && self.meet_sync(group, cta, warp)?
            {
                continue;
            }
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

    /// Runs one split until it stops.
    fn split(&mut self, group: &mut Group, mut at: At) -> Result<Stop, Stopped> {
        let k = self.k;
        let code = k.code.as_slice();
        // What the loop keeps at hand of the split.
        let (mut pc, mut lanes, mut join_pc, mut everyone);
        macro_rules! warp {
            () => {
                group.ctas[at.cta].warps[at.warp]
            };
        }
        macro_rules! reload {
            () => {{
                let w = &mut warp!();
                let s = w.splits[at.split];
                let a = &w.frames[s.frame];
                self.cx.bases.0[0] = a.rows;
                self.cx.bases.0[2] = w.rows;
                let end = a.local + k.functions[a.function as usize].local_bytes;
                self.cx.local = (w.local.as_ptr(), end as u64);
                pc = s.pc;
                lanes = s.mask;
                join_pc = w.join_pc(at.split);
                // Lanes that have ended may be written: the whole row is cheapest.
                everyone = if lanes == w.live { u32::MAX } else { lanes };
            }};
        }
        reload!();
        // Executing lanes and lanes to write: fewer than the split's inside a guard.
        let (mut mask, mut write) = (lanes, everyone);
        let mut slice = if warp!().spins { SPIN_SLICE } else { SLICE };
        let (mut steps, mut threads) = (0u64, 0u64);
        macro_rules! count {
            ($n:expr) => {{
                let n = $n as u64;
                steps += n;
                threads += n * lanes.count_ones() as u64;
            }};
        }
        // Ends the slice, or goes on.
        macro_rules! stop {
            ($result:expr) => {{
                self.stats.warp_instructions += steps;
                self.stats.thread_instructions += threads;
                return $result;
            }};
        }
        macro_rules! go {
            ($target:expr) => {{
                pc = $target;
                if pc == join_pc {
                    warp!().splits[at.split].pc = pc;
                    if !warp!().arrive(at.split) {
                        stop!(Ok(Stop::Blocked));
                    }
                    reload!();
                    (mask, write) = (lanes, everyone);
                }
                slice -= 1;
                if slice == 0 {
                    warp!().splits[at.split].pc = pc;
                    stop!(Ok(Stop::Slice));
                }
            }};
        }
        loop {
            let i = &code[pc as usize];
            if O::ENABLED && i.first {
                self.issue(group, at, pc, lanes);
            }
            match i.step {
                Step::Pure => {
                    // SAFETY: decoding chose a handler that the processor can run, for the rows
                    // that the bases point to.
                    unsafe { (i.run)(&self.cx, i, mask, write) };
                    pc += 1;
                }
                Step::Mem => {
                    if O::ENABLED {
                        self.access(i, mask);
                    }
                    // SAFETY: as above.
                    if !unsafe { (i.run)(&self.cx, i, mask, write) }
                        && let Err(fault) = self.move_lanes(i.k, mask, write)
                    {
                        return Err(self.fault_report(group, at, pc, mask, fault));
                    }
                    pc += 1;
                }
                Step::Guard => {
                    // SAFETY: a guard is a `P` operand.
                    let p = unsafe { self.cx.bases.p(i.args[0]) };
                    let on = (if i.flag { !p } else { p }) & lanes;
                    if on == 0 {
                        pc = i.k;
                    } else {
                        if on != lanes {
                            (mask, write) = (on, on);
                        }
                        pc += 1;
                    }
                }
                Step::EndGuard => {
                    (mask, write) = (lanes, everyone);
                    pc += 1;
                }
                Step::Jump => {
                    count!(i.args[2].0);
                    go!(i.k);
                }
                Step::Branch => {
                    count!(i.args[2].0);
                    // SAFETY: the condition is a `P` operand.
                    let p = unsafe { self.cx.bases.p(i.args[0]) };
                    let taken = (if i.flag { !p } else { p }) & lanes;
                    if taken == lanes {
                        go!(i.dst.0);
                    } else if taken == 0 || i.dst.0 == i.k {
                        go!(i.k);
                    } else {
                        let meet = i.args[1].0;
                        match warp!().diverge(at.split, taken, i.dst.0, i.k, meet) {
                            Some(split) => at.split = split,
                            None => stop!(Ok(Stop::Blocked)),
                        }
                        reload!();
                        (mask, write) = (lanes, everyone);
                        slice -= 1;
                        if slice == 0 {
                            stop!(Ok(Stop::Slice));
                        }
                    }
                }
                Step::Brx => {
                    // SAFETY: the index is a `W` operand.
                    let index = unsafe { self.cx.bases.w(i.args[0]) };
                    let first = index[lanes.trailing_zeros() as usize & 31];
                    let same = equal_lanes(index, first, lanes);
                    if same == lanes {
                        count!(i.args[2].0);
                        match k.tables[i.k as usize].targets.get(first as usize) {
                            Some(&target) => go!(target),
                            None => {
                                return Err(self.branch_index_report(group, at, pc, lanes, first));
                            }
                        }
                    } else {
                        let groups = groups_of(lanes, |l| index[l] as u64);
                        warp!().splits[at.split].pc = pc;
                        warp!().separate(at.split, &groups, i.args[1].0);
                        stop!(Ok(Stop::Blocked));
                    }
                }
                Step::Call => {
                    warp!().splits[at.split].pc = pc;
                    match self.call(group, at, pc, lanes)? {
                        true => count!(i.args[2].0),
                        // Lanes call different functions: each group by itself.
                        false => stop!(Ok(Stop::Blocked)),
                    }
                    reload!();
                    (mask, write) = (lanes, everyone);
                    slice -= 1;
                    if slice == 0 {
                        stop!(Ok(Stop::Slice));
                    }
                }
                Step::Ret => {
                    count!(i.args[2].0);
                    self.copy_results(&mut warp!(), at.split);
                    if !warp!().ret(at.split) {
                        stop!(Ok(Stop::Blocked));
                    }
                    reload!();
                    (mask, write) = (lanes, everyone);
                }
                Step::Exit => {
                    count!(i.args[2].0);
                    warp!().exit(at.split, lanes);
                    self.recheck(group, at.cta);
                    stop!(Ok(Stop::Blocked));
                }
                Step::ExitIf => {
                    count!(i.args[2].0);
                    // SAFETY: the condition is a `P` operand.
                    let p = unsafe { self.cx.bases.p(i.args[0]) };
                    let on = (if i.flag { !p } else { p }) & lanes;
                    pc += 1;
                    if on != 0 {
                        warp!().splits[at.split].pc = pc;
                        let left = warp!().exit(at.split, on);
                        self.recheck(group, at.cta);
                        if !left {
                            stop!(Ok(Stop::Blocked));
                        }
                        reload!();
                        (mask, write) = (lanes, everyone);
                    }
                }
                Step::Special => {
                    self.changing(i, steps);
                    pc += 1;
                }
                Step::Effect => {
                    if O::ENABLED {
                        self.access(i, mask);
                    }
                    warp!().splits[at.split].pc = pc;
                    let after = match self.effect(group, at, i.k, mask, write) {
                        Ok(after) => after,
                        Err(trouble) => {
                            return Err(self.trouble_report(group, at, pc, mask, trouble));
                        }
                    };
                    match after {
                        After::Next => pc += 1,
                        After::Changed => {
                            // Going on with the same split is right whenever it still can.
                            stop!(Ok(Stop::Blocked));
                        }
                        After::Retry => {
                            steps += 1;
                            stop!(Ok(Stop::Slice));
                        }
                        After::Yield => {
                            steps += 1;
                            warp!().splits[at.split].pc = pc + 1;
                            stop!(Ok(Stop::Slice));
                        }
                    }
                }
            }
        }
    }

    #[cold]
    fn issue(&mut self, group: &Group, at: At, pc: u32, lanes: u32) {
        let (function, index) = self.k.origin[pc as usize];
        let inst = &self.k.program.functions[function as usize].insts[index as usize];
        let i = &self.k.code[pc as usize];
        let active = match i.step {
            Step::Guard | Step::ExitIf | Step::Branch => {
                // SAFETY: a guard or condition is a `P` operand.
                let p = unsafe { self.cx.bases.p(i.args[0]) };
                (if i.flag { !p } else { p }) & lanes
            }
            _ => lanes,
        };
        let cta = &group.ctas[at.cta];
        let (block, warp) = (cta.id, at.warp as u32);
        self.observer.issue(&Issue { block, warp, function, index, inst, lanes, active });
    }

    #[cold]
    fn access(&mut self, i: &Inst, lanes: u32) {
        let info = &self.k.effects[i.k as usize];
        let place = match &info.effect {
            Effect::Ld(m) | Effect::St(m) => m.place,
            Effect::Atom(a) => a.place,
            _ => return,
        };
        let base = |l| self.lane_value(info.src[0], l);
        let addresses = std::array::from_fn(|l| base(l).wrapping_add(place.offset as u64));
        let effect = &info.effect;
        self.observer.access(&MemoryAccess { effect, lanes, addresses: &addresses });
    }

    /// Writes a changing special register.
    fn changing(&mut self, i: &Inst, steps: u64) {
        let reg = ptx_isa::special::Sreg::ALL[i.k as usize];
        let now = self.clock(reg, steps);
        // SAFETY: decoding gave a row of the kind that `flag` names.
        unsafe {
            if i.flag {
                self.cx.bases.set_d(i.dst, &[now; 32], u32::MAX);
            } else {
                self.cx.bases.set_w(i.dst, &[now as u32; 32], u32::MAX);
            }
        }
    }

    /// Clocks count issued instructions of the host thread, four cycles each; timers are the
    /// host's; performance counters read 0.
    pub(crate) fn clock(&self, reg: ptx_isa::special::Sreg, steps: u64) -> u64 {
        use ptx_isa::special::Sreg::*;
        let cycles = (self.stats.warp_instructions + steps) * 4;
        let cycles = cycles + self.l.started.elapsed().as_nanos() as u64 / 1024;
        match reg {
            Clock => cycles & 0xffff_ffff,
            ClockHi => cycles >> 32,
            Clock64 => cycles,
            GlobalTimer | GlobalTimerLo | GlobalTimerHi => {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                let now = now.map_or(0, |d| d.as_nanos() as u64);
                match reg {
                    GlobalTimer => now,
                    GlobalTimerLo => now & 0xffff_ffff,
                    _ => now >> 32,
                }
            }
            _ => 0,
        }
    }
}

/// What the group printed, block after block.
fn output(group: &mut Group) -> Vec<u8> {
    let mut all = Vec::new();
    for cta in &mut group.ctas {
        all.append(&mut cta.output);
    }
    all
}

/// Lanes of `mask` whose value is `v`.
fn equal_lanes<T: PartialEq + Copy>(row: &[T; 32], v: T, mask: u32) -> u32 {
    (0..32).filter(|l| row[*l] == v).fold(0, |m, l| m | 1 << l) & mask
}

/// Lanes of `mask` by equal key, in order of their first lane.
pub(crate) fn groups_of(mask: u32, key: impl Fn(usize) -> u64) -> Vec<u32> {
    let mut groups = Vec::new();
    let mut left = mask;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let same = (0..32).filter(|l| left >> l & 1 != 0 && key(*l) == key(first));
        let group = same.fold(0, |m, l| m | 1 << l);
        left &= !group;
        groups.push(group);
    }
    groups
}

/// A destination in some activation's rows, outside the executing split.
pub(crate) unsafe fn set_row(rows: *mut u8, o: Operand, kind: Kind, value: u32, mask: u32) {
    let bases = Bases([rows; 4]);
    // SAFETY: the caller names an operand of `kind` in the frame at `rows`.
    unsafe {
        match kind {
            Kind::P => bases.set_p(o, if value != 0 { u32::MAX } else { 0 }, mask),
            _ => bases.set_w(o, &[value; 32], mask),
        }
    }
}
