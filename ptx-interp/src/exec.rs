//! The main loop: executes the decoded stream for one split of a warp.

use ptx_isa::Kind;
use ptx_isa::effect::{Accessor, Cache, Effect};

use crate::clock;
use crate::code::*;
use crate::cta::{At, Group};
use crate::observer::{Action, EventSet, MemoryAccess, Observer, WarpEvent};
use crate::rows::{Bases, Operand};
use crate::trouble::Trouble;
use crate::worker::{After, Stop, Stopped, Worker};

/// Branches that a split may take before others get a turn.
const SLICE: u32 = 4096;
/// The same while lanes of the warp are known to wait for one another.
const SPIN_SLICE: u32 = 256;

impl<O: Observer> Worker<'_, O> {
    /// Runs one split until it stops.
    pub(crate) fn split(&mut self, group: &mut Group, mut at: At) -> Result<Stop, Stopped> {
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
        // The observer may stop the launch.
        macro_rules! told {
            ($result:expr, $lanes:expr) => {
                if let Err(trouble) = $result {
                    return Err(self.trouble_report(group, at, pc, $lanes, trouble));
                }
            };
        }
        loop {
            let i = &code[pc as usize];
            if O::EVENTS.has(EventSet::ISSUE) && i.first {
                told!(self.issue(group, at, pc, lanes), lanes);
            }
            match i.step {
                Step::Pure => {
                    // SAFETY: decoding chose a handler that the processor can run, for the rows
                    // that the bases point to.
                    unsafe { (i.run)(&self.cx, i, mask, write) };
                    pc += 1;
                }
                Step::Mem => {
                    if O::EVENTS.has(EventSet::ACCESS) {
                        told!(self.access(group, at, pc, mask), mask);
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
                    told!(self.tell(group, at, pc, lanes, WarpEvent::Exit { lanes }), lanes);
                    warp!().exit(at.split, lanes);
                    told!(self.recheck(group, at, pc), lanes);
                    stop!(Ok(Stop::Blocked));
                }
                Step::ExitIf => {
                    count!(i.args[2].0);
                    // SAFETY: the condition is a `P` operand.
                    let p = unsafe { self.cx.bases.p(i.args[0]) };
                    let on = (if i.flag { !p } else { p }) & lanes;
                    pc += 1;
                    if on != 0 {
                        told!(self.tell(group, at, pc - 1, on, WarpEvent::Exit { lanes: on }), on);
                        warp!().splits[at.split].pc = pc;
                        let left = warp!().exit(at.split, on);
                        told!(self.recheck(group, at, pc - 1), on);
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
                    if O::EVENTS.has(EventSet::ACCESS) {
                        told!(self.access(group, at, pc, mask), mask);
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

    #[inline(never)]
    fn issue(&mut self, group: &Group, at: At, pc: u32, lanes: u32) -> Result<(), Trouble> {
        let i = &self.k.code[pc as usize];
        let active = match i.step {
            Step::Guard | Step::ExitIf | Step::Branch => {
                // SAFETY: a guard or condition is a `P` operand.
                let p = unsafe { self.cx.bases.p(i.args[0]) };
                (if i.flag { !p } else { p }) & lanes
            }
            Step::Pure
            | Step::Mem
            | Step::Effect
            | Step::EndGuard
            | Step::Jump
            | Step::Brx
            | Step::Call
            | Step::Ret
            | Step::Exit
            | Step::Special => lanes,
        };
        self.tell(group, at, pc, lanes, WarpEvent::Issue { active })
    }

    /// Tells of the access of a load, store or atomic by `lanes`. Other effects tell of theirs when
    /// they make them.
    #[inline(never)]
    fn access(&mut self, group: &Group, at: At, pc: u32, lanes: u32) -> Result<(), Trouble> {
        let info = &self.k.effects[self.k.code[pc as usize].k as usize];
        let (by, action, place, bytes, order, scope, cache) = match &info.effect {
            Effect::Ld(m) => {
                let bytes = m.bytes as u32 * m.count as u32;
                (Accessor::Load, Action::Read, m.place, bytes, m.order, m.scope, m.cache)
            }
            Effect::St(m) => {
                let bytes = m.bytes as u32 * m.count as u32;
                (Accessor::Store, Action::Write, m.place, bytes, m.order, m.scope, m.cache)
            }
            Effect::Atom(a) => {
                let bytes = a.bytes as u32 * a.count.max(1) as u32;
                let cache = Cache::Default;
                (Accessor::Atomic, Action::Update, a.place, bytes, a.order, a.scope, cache)
            }
            Effect::Warp(_)
            | Effect::Sys(_)
            | Effect::Bar(_)
            | Effect::Fence(_)
            | Effect::AsyncGroup(_)
            | Effect::Trap
            | Effect::Brkpt
            | Effect::Yield => return Ok(()),
        };
        let addresses = std::array::from_fn(|l| self.lane_address(info, place, l));
        let (space, proxy) = (place.space, by.proxy(place.space));
        let addresses = &addresses;
        let access = MemoryAccess {
            by,
            action,
            space,
            bytes,
            order,
            scope,
            proxy,
            cache,
            lanes,
            addresses,
            texture: 0,
        };
        self.tell(group, at, pc, lanes, WarpEvent::Access(&access))
    }

    /// Writes a changing special register.
    fn changing(&mut self, i: &Inst, steps: u64) {
        let reg = ptx_isa::special::Sreg::ALL[i.k as usize];
        let now = clock::read(reg, self.stats.warp_instructions + steps, self.l.started);
        // SAFETY: decoding gave a row of the kind that `flag` names.
        unsafe {
            if i.flag {
                self.cx.bases.set_d(i.dst, &[now; 32], u32::MAX);
            } else {
                self.cx.bases.set_w(i.dst, &[now as u32; 32], u32::MAX);
            }
        }
    }
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
