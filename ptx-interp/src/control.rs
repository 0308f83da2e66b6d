//! Control flow of one warp: splits of diverged lanes, where they meet again, call frames.
//!
//! A *split* is a set of lanes that execute together. Where a branch diverges, the split becomes
//! two, and a *join* remembers where the branch's lanes meet and the lanes that will meet
//! there. Lanes that reach it wait in the join until all its members that still live are there. A join inside a loop
//! is for one turn: lanes that leave the loop leave the join, too, and meet others in a join around it.
//!
//! Below sm_70 that is all: it behaves as the reconvergence stack of those devices. From sm_70 on
//! the wait is soft. Splits take turns, and when waiting lanes hold others up (nothing else can
//! run, or the others have only spun for a while), they leave the join and go on alone.
//!
//! Activations of functions form a tree, because splits of one activation may return at different
//! times: each [`Activation`] counts who still needs it.

mod joins;

use std::cell::Cell;
use std::ops::Range;

use ptx_isa::Kind;

use crate::code::{FunctionInfo, NONE, Turn};
use crate::rows::Area;

/// Items with stable numbers.
pub(crate) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    fn add(&mut self, item: T) -> u32 {
        if let Some(n) = self.free.pop() {
            self.items[n as usize] = item;
            return n;
        }
        self.items.push(item);
        self.items.len() as u32 - 1
    }
    fn remove(&mut self, n: u32) {
        self.free.push(n);
    }
    fn clear(&mut self) {
        self.items.clear();
        self.free.clear();
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, n: u32) -> &T {
        &self.items[n as usize]
    }
}
impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, n: u32) -> &mut T {
        &mut self.items[n as usize]
    }
}

/// Lanes that execute together.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Split {
    pub mask: u32,
    pub pc: u32,
    pub frame: u32,
    /// Innermost join, or [`NONE`].
    pub join: u32,
    pub state: State,
}

/// What a split waits for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Nothing.
    Ready,
    /// CTA barrier of this number.
    Bar(u8),
    /// Cluster barrier.
    Cluster,
    /// These lanes at a `*.sync` instruction.
    Sync(u32),
    /// The other warps of the warpgroup, until each has come to so many products.
    Product(u32),
    /// Likewise, until each has committed so many groups of products.
    Products(u32),
}

/// Where lanes meet again.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Join {
    pub pc: u32,
    pub frame: u32,
    pub members: u32,
    pub arrived: u32,
    pub parent: u32,
    /// Program counters of the loop whose turn it is for; lanes elsewhere have left it.
    pub start: u32,
    pub end: u32,
}

/// An activation of a function.
pub(crate) struct Activation {
    /// Base of its rows.
    pub rows: *mut u8,
    /// Index of the function.
    pub function: u32,
    /// Activation of the caller, or [`NONE`].
    pub parent: u32,
    /// The call's program counter.
    pub call_pc: u32,
    /// Where its local frame starts.
    pub local: u32,
    refs: u32,
    /// The rows, unless they belong to the CTA (kernel).
    area: Option<Area>,
}

/// A warp.
pub(crate) struct Warp {
    /// Lanes that have not exited.
    pub live: u32,
    /// Lanes that exist.
    pub all: u32,
    pub splits: Vec<Split>,
    joins: Slab<Join>,
    pub frames: Slab<Activation>,
    /// Rows of callees that returned, by function.
    spare: Vec<(u32, Area)>,
    /// Local memory: word `w` of lane `l` at `w * 32 + l`.
    pub local: Vec<Cell<u32>>,
    /// Rows of the warp area.
    pub rows: *mut u8,
    /// Lanes that arrived at the cluster barrier.
    pub cluster_arrived: u32,
    /// Products of the warpgroup that it has come to, and whether it waits at the last of them.
    pub came: u32,
    pub held: bool,
    /// Groups of products that it has committed.
    pub products: u32,
    /// Slices since lanes last met or left.
    stall: u32,
    /// Whether lanes had to leave a join: then they do so sooner.
    pub spins: bool,
    /// Lanes wait in joins.
    waiting: u32,
}

/// Slices that other lanes may spin before waiting lanes go on alone.
const PATIENCE: u32 = 4;

impl Warp {
    pub(crate) fn new() -> Warp {
        Warp {
            live: 0,
            all: 0,
            splits: Vec::new(),
            joins: Slab::default(),
            frames: Slab::default(),
            spare: Vec::new(),
            local: Vec::new(),
            rows: std::ptr::null_mut(),
            cluster_arrived: 0,
            came: 0,
            held: false,
            products: 0,
            stall: 0,
            spins: false,
            waiting: 0,
        }
    }

    /// Starts lanes `all` at the kernel's entry.
    pub(crate) fn start(&mut self, all: u32, kernel: &FunctionInfo, rows: *mut u8) {
        self.live = all;
        self.all = all;
        self.splits.clear();
        self.joins.clear();
        self.frames.clear();
        self.cluster_arrived = 0;
        (self.came, self.held, self.products) = (0, false, 0);
        self.stall = 0;
        self.waiting = 0;
        let frame = self.frames.add(Activation {
            rows,
            function: 0,
            parent: NONE,
            call_pc: NONE,
            local: 0,
            refs: 1,
            area: None,
        });
        self.fill_frame(frame, kernel);
        let state = State::Ready;
        self.splits.push(Split { mask: all, pc: kernel.entry, frame, join: NONE, state });
        self.grow_local(kernel.local_bytes);
        self.local.fill(Cell::new(0));
    }

    /// Makes room for `bytes` bytes of local memory per lane.
    fn grow_local(&mut self, bytes: u32) {
        let words = bytes as usize / 4 * 32;
        if self.local.len() < words {
            self.local.resize(words, Cell::new(0));
        }
    }

    /// Initial contents of an activation's rows.
    fn fill_frame(&mut self, frame: u32, f: &FunctionInfo) {
        let Activation { rows, local, .. } = self.frames[frame];
        for &(offset, bytes) in &f.zero {
            // SAFETY: decoding keeps the ranges inside the frame, which has `frame_bytes` bytes.
            unsafe { rows.add(offset as usize).write_bytes(0, bytes as usize) };
        }
        for &(row, kind, offset) in &f.local_rows {
            let address = (local + offset) as u64;
            let p = rows.wrapping_add(row as usize);
            // SAFETY: decoding gave a row of this kind in the frame.
            unsafe {
                match kind {
                    Kind::D => p.cast::<[u64; 32]>().write([address; 32]),
                    Kind::W | Kind::P => p.cast::<[u32; 32]>().write([address as u32; 32]),
                }
            }
        }
    }

    /// Enters function `function` from split `s` at `call_pc`; `false` when the local stack is
    /// over `limit`. The split then stands at the entry.
    pub(crate) fn call(
        &mut self,
        s: usize,
        call_pc: u32,
        function: u32,
        infos: &[FunctionInfo],
        limit: u32,
    ) -> bool {
        let split = self.splits[s];
        let caller = &self.frames[split.frame];
        let Some(local) = caller.local.checked_add(infos[caller.function as usize].local_bytes)
        else {
            return false;
        };
        let f = &infos[function as usize];
        // Every activation counts at least a return address, so that recursion ends.
        let local = local + 16;
        match local.checked_add(f.local_bytes) {
            Some(end) if end <= limit => self.grow_local(end),
            _ => return false,
        }
        let spare = self.spare.iter().rposition(|(n, _)| *n == function);
        let mut area = match spare {
            Some(at) => self.spare.swap_remove(at).1,
            None => Area::new(f.frame_bytes as usize),
        };
        let rows = area.ptr();
        let frame = self.frames.add(Activation {
            rows,
            function,
            parent: split.frame,
            call_pc,
            local,
            refs: 1,
            area: Some(area),
        });
        self.fill_frame(frame, f);
        // The caller's count moves from the split to the new activation.
        let split = &mut self.splits[s];
        split.frame = frame;
        split.pc = f.entry;
        true
    }

    /// Split `s` has copied its results and returns: it then stands behind the call, or has met
    /// others there. `false` when it waits.
    pub(crate) fn ret(&mut self, s: usize) -> bool {
        let Split { mask, frame, mut join, .. } = self.splits[s];
        // Joins of the activation that its lanes never passed.
        while join != NONE && self.joins[join].frame == frame {
            let parent = self.joins[join].parent;
            self.leave(join, mask);
            join = parent;
        }
        let Activation { parent, call_pc, .. } = self.frames[frame];
        self.frames[parent].refs += 1;
        self.release(frame);
        let split = &mut self.splits[s];
        split.join = join;
        split.frame = parent;
        split.pc = call_pc + 1;
        self.arrive(s)
    }

    /// One user of activation `frame` less.
    fn release(&mut self, mut frame: u32) {
        while frame != NONE {
            let a = &mut self.frames[frame];
            a.refs -= 1;
            if a.refs != 0 {
                return;
            }
            let (parent, function) = (a.parent, a.function);
            if let Some(area) = a.area.take() {
                self.spare.push((function, area));
            }
            self.frames.remove(frame);
            frame = parent;
        }
    }

    /// Program counter of the innermost join of split `s`, and those at which its lanes have not left it.
    pub(crate) fn next_join(&self, s: usize) -> (u32, Range<u32>) {
        let split = &self.splits[s];
        match split.join {
            NONE => (NONE, 0..NONE),
            j if self.joins[j].frame == split.frame => {
                let Join { pc, start, end, .. } = self.joins[j];
                (pc, start..end)
            }
            _ => (NONE, 0..NONE),
        }
    }

    /// Split `s` diverges: lanes `taken` to `target`, the others to `other`, to meet at `meet` unless they leave one
    /// of the `turns`. The number of the split that goes on, or `None` when all wait.
    pub(crate) fn diverge(
        &mut self,
        s: usize,
        (taken, target): (u32, u32),
        other: u32,
        meet: u32,
        turns: &[Turn],
    ) -> Option<usize> {
        let split = self.splits[s];
        let join = self.join_at(&split, meet, turns);
        let sides = [(taken, target), (split.mask & !taken, other)];
        let mut sides = sides.map(|(mask, pc)| {
            let join = self.leave_turns(join, mask, split.frame, pc);
            (self.stands_at(join, split.frame, pc), Split { mask, pc, join, ..split })
        });
        sides.sort_by_key(|(stands, _)| *stands);
        // The side that goes on stays last: it runs until it is through.
        let (mut going, mut place) = (None, Some(s));
        for (stands, side) in sides {
            if stands {
                self.stall = 0;
                let j = &mut self.joins[side.join];
                if j.arrived | side.mask != j.members {
                    j.arrived |= side.mask;
                    self.waiting += 1;
                    continue;
                }
            }
            let n = place.take().unwrap_or(self.splits.len());
            if n == self.splits.len() {
                self.frames[split.frame].refs += 1;
                self.splits.push(side);
            } else {
                self.splits[n] = side;
            }
            if !stands || self.arrive(n) {
                going = Some(n);
            }
        }
        if let Some(s) = place {
            self.remove(s);
        }
        going
    }

    /// Split `s` diverges into `groups` that execute its instruction again, each by itself, and
    /// meet at `meet` unless they leave one of the `turns`. The first group goes on.
    pub(crate) fn separate(&mut self, s: usize, groups: &[u32], meet: u32, turns: &[Turn]) {
        let split = self.splits[s];
        let join = self.join_at(&split, meet, turns);
        for (n, &mask) in groups.iter().enumerate() {
            let part = Split { mask, join, ..split };
            if n == 0 {
                self.splits[s] = part;
            } else {
                self.frames[split.frame].refs += 1;
                self.splits.insert(s, part);
            }
        }
    }

    fn stands_at(&self, join: u32, frame: u32, pc: u32) -> bool {
        join != NONE && self.joins[join].pc == pc && self.joins[join].frame == frame
    }

    /// Split `s` stands at its program counter: it may meet others there. `false` when it waits
    /// (the split is gone).
    pub(crate) fn arrive(&mut self, s: usize) -> bool {
        loop {
            let Split { mask, pc, frame, join, .. } = self.splits[s];
            let join = self.leave_turns(join, mask, frame, pc);
            self.splits[s].join = join;
            if !self.stands_at(join, frame, pc) {
                return true;
            }
            self.stall = 0;
            let j = &mut self.joins[join];
            j.arrived |= mask;
            if j.arrived != j.members {
                self.waiting += 1;
                self.remove(s);
                return false;
            }
            let Join { members, parent, .. } = *j;
            self.splits[s].mask = members;
            self.splits[s].join = parent;
            self.drop_join(join);
        }
    }

    /// Lanes that had parted without a split of their own have met.
    #[inline(always)]
    pub(crate) fn lanes_met(&mut self) {
        self.stall = 0;
    }

    fn remove(&mut self, s: usize) {
        let frame = self.splits.remove(s).frame;
        self.release(frame);
    }

    fn drop_join(&mut self, join: u32) {
        let frame = self.joins[join].frame;
        self.joins[join].members = 0;
        self.joins[join].arrived = 0;
        self.joins.remove(join);
        self.release(frame);
    }

    /// `lanes` will not come to `join`.
    fn leave(&mut self, join: u32, lanes: u32) {
        let j = &mut self.joins[join];
        j.members &= !lanes;
        if j.members == 0 {
            self.drop_join(join);
        } else if j.arrived == j.members {
            let Join { pc, frame, members, parent, .. } = *j;
            self.frames[frame].refs += 1;
            self.drop_join(join);
            let state = State::Ready;
            self.splits.push(Split { mask: members, pc, frame, join: parent, state });
            let last = self.splits.len() - 1;
            self.arrive(last);
        }
    }

    /// `lanes` of split `s` end. Whether the split has lanes left; other splits may have moved.
    pub(crate) fn exit(&mut self, s: usize, lanes: u32) -> bool {
        self.live &= !lanes;
        self.splits[s].mask &= !lanes;
        let Split { mask, join, .. } = self.splits[s];
        if mask != 0 {
            // No join can be complete while lanes of the split are on their way to it.
            let mut j = join;
            while j != NONE {
                self.joins[j].members &= !lanes;
                j = self.joins[j].parent;
            }
            return true;
        }
        self.remove(s);
        let mut j = join;
        while j != NONE {
            let Join { parent, pc, frame, .. } = self.joins[j];
            let members = self.joins[j].members & !lanes;
            self.joins[j].members = members;
            if members == 0 {
                self.drop_join(j);
            } else if self.joins[j].arrived == members {
                self.stall = 0;
                self.frames[frame].refs += 1;
                self.drop_join(j);
                let state = State::Ready;
                self.splits.push(Split { mask: members, pc, frame, join: parent, state });
                // The outer joins first lose the ended lanes, then the split may meet others.
                let mut outer = parent;
                while outer != NONE {
                    self.joins[outer].members &= !lanes;
                    outer = self.joins[outer].parent;
                }
                let last = self.splits.len() - 1;
                self.arrive(last);
                return false;
            }
            j = parent;
        }
        false
    }

    /// Splits that stand where split `s` stands, on their way to the same join, become one.
    pub(crate) fn unite(&mut self, s: usize) {
        let one = self.splits[s];
        let mut n = 0;
        let mut at = s;
        while n < self.splits.len() {
            let other = self.splits[n];
            let same = (other.pc, other.frame, other.join, other.state)
                == (one.pc, one.frame, one.join, one.state);
            if n == at || !same {
                n += 1;
                continue;
            }
            self.splits[at].mask |= other.mask;
            self.remove(n);
            at -= (n < at) as usize;
        }
    }

    /// Joins from `join` outwards.
    pub(crate) fn joins(&self, mut join: u32) -> impl Iterator<Item = Join> {
        std::iter::from_fn(move || {
            let j = *self.joins.items.get(join as usize)?;
            join = j.parent;
            Some(j)
        })
    }

    /// Joins in which lanes wait, by number.
    pub(crate) fn occupied_joins(&self) -> impl Iterator<Item = (u32, Join)> {
        let all = self.joins.items.iter().enumerate();
        all.filter(|(_, j)| j.arrived != 0).map(|(n, j)| (n as u32, *j))
    }

    /// Lanes that wait in joins, and where.
    pub(crate) fn waiting_lanes(&self) -> impl Iterator<Item = (u32, u32)> {
        self.joins.items.iter().filter(|j| j.arrived != 0).map(|j| (j.arrived, j.pc))
    }

    /// Whether lanes wait in joins.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting != 0
    }

    /// A slice went by in which no lane met another. Whether waiting lanes were let go.
    pub(crate) fn lost_patience(&mut self) -> bool {
        if self.waiting == 0 {
            // Where others have ended, one may wait for another block.
            if self.live != self.all {
                self.stall += 1;
                self.spins |= self.stall >= PATIENCE;
            }
            return false;
        }
        self.stall += 1;
        let patience = if self.spins { 1 } else { PATIENCE };
        self.stall >= patience && self.let_go()
    }

    /// Lanes that wait in joins go on alone. Whether there were any.
    pub(crate) fn let_go(&mut self) -> bool {
        self.stall = 0;
        self.waiting = 0;
        let mut any = false;
        for n in 0..self.joins.items.len() as u32 {
            let Join { pc, frame, arrived, mut parent, .. } = self.joins[n];
            if arrived == 0 {
                continue;
            }
            any = true;
            self.spins = true;
            self.joins[n].members &= !arrived;
            self.joins[n].arrived = 0;
            while self.stands_at(parent, frame, pc) {
                let up = self.joins[parent].parent;
                self.joins[parent].members &= !arrived;
                parent = up;
            }
            self.frames[frame].refs += 1;
            let state = State::Ready;
            self.splits.push(Split { mask: arrived, pc, frame, join: parent, state });
        }
        any
    }
}
