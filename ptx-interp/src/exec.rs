//! The main loop: executes the decoded stream for one split of a warp.

use ptx_isa::Kind;
use ptx_isa::effect::{Accessor, Cache, Effect};

use crate::clock;
use crate::code::*;
use crate::cta::{At, Group};
use crate::observer::{Action, EventSet, MemoryAccess, Observer, WarpEvent};
use crate::parted::Parted;
use crate::rows::{Bases, Operand};
use crate::worker::{After, Stop, Stopped, Worker};

/// Branches that a split may take before others get a turn.
const SLICE: u32 = 4096;
/// The same while lanes of the warp are known to wait for one another.
const SPIN_SLICE: u32 = 256;

/// What the main loop keeps at hand of the split that it runs.
#[derive(Copy, Clone)]
pub(crate) struct Running {
    /// The next instruction.
    pub pc: u32,
    /// Where it meets others of its warp.
    pub join_pc: u32,
    /// From where on it has not left them, and over how many instructions.
    pub turn: (u32, u32),
    /// Its lanes.
    pub lanes: u32,
    /// Lanes to write when all of `lanes` execute. Lanes that have ended may be written too: the whole row
    /// is cheapest.
    pub everyone: u32,
    /// Lanes that execute: fewer than `lanes` inside a guard.
    pub mask: u32,
    /// Lanes to write: those of `mask`, or `everyone`.
    pub write: u32,
}

impl Running {
    /// Whether lanes at `pc` may meet others, or leave them.
    #[inline(always)]
    fn meets(&self, pc: u32) -> bool {
        pc == self.join_pc || pc.wrapping_sub(self.turn.0) >= self.turn.1
    }

    /// All lanes execute.
    #[inline(always)]
    fn end_guard(&mut self) {
        (self.mask, self.write) = (self.lanes, self.everyone);
    }
}

/// What a split may still do before others get a turn, and what it has done.
struct Turn {
    /// Branches left.
    branches: u32,
    /// Warp instructions not yet counted elsewhere.
    steps: u64,
    /// The same, times their lanes.
    threads: u64,
}

impl Turn {
    /// Counts the PTX instructions that end with `i`, a step of control.
    #[inline(always)]
    fn count(&mut self, i: &Inst, lanes: u32) {
        let n = i.args[2].0 as u64;
        self.steps += n;
        self.threads += n * lanes.count_ones() as u64;
    }

    /// Counts a branch; whether the turn is over.
    #[inline(always)]
    fn branched(&mut self) -> bool {
        self.branches = self.branches.saturating_sub(1);
        self.branches == 0
    }
}

/// How the main loop goes on after a step that is more than a computation.
enum Then {
    /// At an instruction that the split has jumped to.
    Go(u32),
    /// With what the split is now: its lanes or its frame have changed.
    Reload,
    /// Not at all.
    Stop(Stop),
}

/// Goes on if the split still can.
fn reload_if(can: bool) -> Then {
    if can { Then::Reload } else { Then::Stop(Stop::Blocked) }
}

impl<O: Observer> Worker<'_, O> {
    /// Runs one split until it stops.
    pub(crate) fn split(&mut self, group: &mut Group, mut at: At) -> Result<Stop, Stopped> {
        let code = self.k.code.as_slice();
        let mut now = self.load(group, at);
        let branches = if group.warp(at).spins { SPIN_SLICE } else { SLICE };
        let mut turn = Turn { branches, steps: 0, threads: 0 };
        let mut parted: Option<Parted> = None;
        let stop = loop {
            let i = &code[now.pc as usize];
            if O::EVENTS.has(EventSet::ISSUE) && i.first && self.observer.wants_issue(now.pc) {
                self.issue(group, at, now)?;
            }
            // Most steps are of these two: a test foresees them better than a jump by a table.
            if matches!(i.step, Step::Pure | Step::Mem) {
                self.lanes_step(group, at, i, now)?;
                now.pc += 1;
                continue;
            }
            // The frequent steps go on at once.
            let then = match i.step {
                // Done above.
                Step::Pure | Step::Mem => continue,
                Step::Guard => {
                    let on = self.holds(i) & now.lanes;
                    if on != 0 && on != now.lanes {
                        (now.mask, now.write) = (on, on);
                    }
                    now.pc = if on == 0 { i.k } else { now.pc + 1 };
                    continue;
                }
                Step::EndGuard => {
                    now.end_guard();
                    now.pc += 1;
                    continue;
                }
                Step::Special => {
                    self.changing(i, turn.steps);
                    now.pc += 1;
                    continue;
                }
                Step::Effect => {
                    if let Some(stop) = self.effect_step(group, at, i, now)? {
                        break stop;
                    }
                    now.pc += 1;
                    continue;
                }
                Step::Jump => {
                    turn.count(i, now.lanes);
                    Then::Go(i.k)
                }
                Step::Branch => {
                    turn.count(i, now.lanes);
                    let taken = self.holds(i) & now.lanes;
                    if taken == now.lanes {
                        Then::Go(i.dst.0)
                    } else if taken == 0 || i.dst.0 == i.k {
                        Then::Go(i.k)
                    } else if i.short && parted.is_none() && O::EVENTS == EventSet::NONE {
                        // Observers are shown splits.
                        now = parted.insert(Parted::at(now, i, taken)).first();
                        continue;
                    } else {
                        let (target, other, meet) = (i.dst.0, i.k, i.args[1].0);
                        let turns = self.k.turns_behind(now.pc);
                        let taken = (taken, target);
                        match group.warp(at).diverge(at.split, taken, other, meet, turns) {
                            Some(split) => at.split = split,
                            None => break Stop::Blocked,
                        }
                        Then::Reload
                    }
                }
                Step::Brx | Step::Call => {
                    let then = match i.step {
                        Step::Brx => self.indexed_branch(group, at, i, now)?,
                        _ => self.call_step(group, at, now)?,
                    };
                    // Lanes that go different ways do it again, each group by itself.
                    if !matches!(then, Then::Stop(_)) {
                        turn.count(i, now.lanes);
                    }
                    then
                }
                Step::Ret => {
                    turn.count(i, now.lanes);
                    self.copy_results(group.warp(at), at.split);
                    reload_if(group.warp(at).ret(at.split))
                }
                Step::Exit | Step::ExitIf => {
                    turn.count(i, now.lanes);
                    let all = i.step == Step::Exit;
                    let on = if all { now.lanes } else { self.holds(i) & now.lanes };
                    if on == 0 {
                        now.pc += 1;
                        continue;
                    }
                    self.exit(group, at, now.pc, on)?
                }
            };
            match then {
                Then::Go(target) => {
                    if !self.go(group, at, &mut now, &mut parted, target) {
                        break Stop::Blocked;
                    }
                }
                Then::Reload => now = self.load(group, at),
                Then::Stop(stop) => break stop,
            }
            if turn.branched() && parted.is_none() {
                group.warp(at).splits[at.split].pc = now.pc;
                break Stop::Slice;
            }
        };
        self.stats.warp_instructions += turn.steps;
        self.stats.thread_instructions += turn.threads;
        Ok(stop)
    }

    /// Jumps to `target`, where the lanes may meet others. Whether the split goes on.
    #[inline(always)]
    fn go(
        &mut self,
        group: &mut Group,
        at: At,
        now: &mut Running,
        parted: &mut Option<Parted>,
        target: u32,
    ) -> bool {
        now.pc = target;
        if !now.meets(target) {
            return true;
        }
        if let Some(sides) = parted {
            if let Some(second) = sides.second() {
                *now = second;
                return true;
            }
            *now = sides.together();
            *parted = None;
            group.warp(at).lanes_met();
            if !now.meets(target) {
                return true;
            }
        }
        group.warp(at).splits[at.split].pc = target;
        let goes_on = group.warp(at).arrive(at.split);
        if goes_on {
            *now = self.load(group, at);
        }
        goes_on
    }

    /// A computation, load or store by its handler, or lane by lane where that gives up.
    #[inline(always)]
    fn lanes_step(
        &mut self,
        group: &mut Group,
        at: At,
        i: &Inst,
        now: Running,
    ) -> Result<(), Stopped> {
        let told = O::EVENTS.has(EventSet::ACCESS) && i.step == Step::Mem;
        if told && self.observer.wants_access() {
            self.access(group, at, now)?;
        }
        // SAFETY: decoding chose a handler that the processor can run, for the rows that the bases point to.
        if !unsafe { (i.run)(&self.cx, i, now.mask, now.write) } {
            self.lane_by_lane(group, at, i, now)?;
        }
        Ok(())
    }

    /// A load or store whose handler has given up.
    #[inline(never)]
    fn lane_by_lane(
        &mut self,
        group: &mut Group,
        at: At,
        i: &Inst,
        now: Running,
    ) -> Result<(), Stopped> {
        let moved = self.move_lanes(i.k, now.mask, now.write);
        moved.map_err(|fault| self.fault_report(group, at, now.pc, now.mask, fault))
    }

    /// Ends `lanes` of a split, which goes on behind `pc` if it has others.
    fn exit(&mut self, group: &mut Group, at: At, pc: u32, lanes: u32) -> Result<Then, Stopped> {
        let told = self.tell(group, at, pc, lanes, WarpEvent::Exit { lanes });
        told.map_err(|trouble| self.trouble_report(group, at, pc, lanes, trouble))?;
        let warp = group.warp(at);
        warp.splits[at.split].pc = pc + 1;
        let left = warp.exit(at.split, lanes);
        let checked = self.recheck(group, at, pc);
        checked.map_err(|trouble| self.trouble_report(group, at, pc, lanes, trouble))?;
        Ok(reload_if(left))
    }

    /// What the main loop needs of a split. The context gets its rows and its local memory.
    #[inline]
    fn load(&mut self, group: &mut Group, at: At) -> Running {
        let warp = group.warp(at);
        let split = warp.splits[at.split];
        let activation = &warp.frames[split.frame];
        self.cx.bases.0[0] = activation.rows;
        self.cx.bases.0[2] = warp.rows;
        let end = activation.local + self.k.functions[activation.function as usize].local_bytes;
        self.cx.local = (warp.local.as_ptr(), end as u64);
        let lanes = split.mask;
        let everyone = if lanes == warp.live { u32::MAX } else { lanes };
        let (join_pc, within) = warp.next_join(at.split);
        let turn = (within.start, within.end - within.start);
        Running { pc: split.pc, join_pc, turn, lanes, everyone, mask: lanes, write: everyone }
    }

    /// Lanes in which the predicate of a guard, branch or exit holds.
    #[inline(always)]
    fn holds(&self, i: &Inst) -> u32 {
        // SAFETY: decoding gave these steps a `P` operand.
        let p = unsafe { self.cx.bases.p(i.args[0]) };
        if i.flag { !p } else { p }
    }

    /// Does effect `i.k`. Why the split stops, if it does: behind the effect, or to do it again.
    fn effect_step(
        &mut self,
        group: &mut Group,
        at: At,
        i: &Inst,
        now: Running,
    ) -> Result<Option<Stop>, Stopped> {
        if O::EVENTS.has(EventSet::ACCESS) && self.observer.wants_access() {
            self.access(group, at, now)?;
        }
        group.warp(at).splits[at.split].pc = now.pc;
        let after = match self.effect(group, at, i.k, now.mask, now.write) {
            Ok(after) => after,
            Err(trouble) => {
                return Err(self.trouble_report(group, at, now.pc, now.mask, trouble));
            }
        };
        Ok(match after {
            After::Next => None,
            // Going on with the same split is right whenever it still can.
            After::Changed => Some(Stop::Blocked),
            After::Retry => {
                self.stats.warp_instructions += 1;
                Some(Stop::Slice)
            }
            After::Yield => {
                self.stats.warp_instructions += 1;
                group.warp(at).splits[at.split].pc = now.pc + 1;
                Some(Stop::Slice)
            }
        })
    }

    /// Calls a function. Lanes that call different ones become splits that do it again.
    fn call_step(&mut self, group: &mut Group, at: At, now: Running) -> Result<Then, Stopped> {
        group.warp(at).splits[at.split].pc = now.pc;
        Ok(reload_if(self.call(group, at, now.pc, now.lanes)?))
    }

    /// A branch by a table. Lanes with different targets become splits that execute it again.
    #[inline(never)]
    fn indexed_branch(
        &mut self,
        group: &mut Group,
        at: At,
        i: &Inst,
        now: Running,
    ) -> Result<Then, Stopped> {
        // SAFETY: the index is a `W` operand.
        let index = unsafe { self.cx.bases.w(i.args[0]) };
        let first = index[now.lanes.trailing_zeros() as usize & 31];
        if equal_lanes(index, first, now.lanes) != now.lanes {
            let groups = groups_of(now.lanes, |l| index[l] as u64);
            let warp = group.warp(at);
            warp.splits[at.split].pc = now.pc;
            warp.separate(at.split, &groups, i.args[1].0, self.k.turns_behind(now.pc));
            return Ok(Then::Stop(Stop::Blocked));
        }
        match self.k.tables[i.k as usize].targets.get(first as usize) {
            Some(&target) => Ok(Then::Go(target)),
            None => Err(self.branch_index_report(group, at, now.pc, now.lanes, first)),
        }
    }

    /// Tells that a PTX instruction starts.
    #[inline(never)]
    fn issue(&mut self, group: &Group, at: At, now: Running) -> Result<(), Stopped> {
        let Running { pc, lanes, .. } = now;
        let i = &self.k.code[pc as usize];
        let active = match i.step {
            Step::Guard | Step::ExitIf | Step::Branch => self.holds(i) & lanes,
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
        let told = self.tell(group, at, pc, lanes, WarpEvent::Issue { active });
        told.map_err(|trouble| self.trouble_report(group, at, pc, lanes, trouble))
    }

    /// Tells of the access of a load, store or atomic. Other effects tell of theirs when they make
    /// them.
    #[inline(never)]
    fn access(&mut self, group: &Group, at: At, now: Running) -> Result<(), Stopped> {
        let Running { pc, mask: lanes, .. } = now;
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
        let addresses = self.lane_addresses(info, place);
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
        let told = self.tell(group, at, pc, lanes, WarpEvent::Access(&access));
        told.map_err(|trouble| self.trouble_report(group, at, pc, lanes, trouble))
    }

    /// Writes a changing special register.
    fn changing(&mut self, i: &Inst, steps: u64) {
        let reg = ptx_isa::special::Sreg::ALL[i.k as usize];
        let now = clock::read(reg, self.stats.warp_instructions + steps, self.l.clock());
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
            Kind::W | Kind::D => bases.set_w(o, &[value; 32], mask),
        }
    }
}
