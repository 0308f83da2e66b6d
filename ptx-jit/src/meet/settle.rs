//! Brings the threads of a block together where they meet, as the interpreter does with lanes that went different ways.

use ptx_isa::effect::{AsyncGroupOp, Bar, BarKind, Effect, Fault, Flow};
use ptx_isa::{Kind, Reach};

use super::places::{BARRIERS, State};
use crate::ctx::DONE;
use crate::device::Stop;
use crate::entry::Slow;
use crate::warp::Lanes;
use crate::worker::{Progress, ROUNDS, Worker};

/// Rounds in which some threads wait in loops while others get on, for one in which none does: those in loops may wait
/// for another block, and the others for them.
const MOVED: u32 = 16;

/// The lanes of a mask.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |l| mask >> l & 1 != 0)
}

impl<'a> Worker<'a> {
    /// Goes on with a block whose threads meet.
    pub(crate) fn go_on_meeting(&mut self) -> Result<Progress, Stop> {
        let count = self.kernel.needs.layout.meets.len();
        let mut rounds = 0;
        loop {
            self.call()?;
            let turns = |r: &u32| *r != DONE && *r as usize > count;
            let turns = self.scratch.resume.iter().any(turns);
            let moved = self.settle()?;
            if !moved && !turns {
                let ended = self.places.live.iter().all(|live| *live == 0);
                return if ended { Ok(Progress::Done) } else { Err(Stop::Stuck) };
            }
            if turns {
                if !self.launch.device.go_on() {
                    return Err(Stop::Device);
                }
                rounds += if moved { 1 } else { MOVED };
                if rounds >= ROUNDS * MOVED {
                    return Ok(Progress::Waits);
                }
            }
            self.burn_call()?;
        }
    }

    /// Notes who has stopped, and does what all that take part have come to; whether any thread goes on by that.
    fn settle(&mut self) -> Result<bool, Stop> {
        let count = self.kernel.needs.layout.meets.len();
        let runs = |worker: &Self| {
            let resume = &worker.scratch.resume;
            resume.iter().any(|r| (1..=count).contains(&(*r as usize)))
        };
        for (w, place, lanes) in self.places.arrivals(&mut self.scratch.resume, count) {
            self.arrive(w, place, lanes)?;
        }
        loop {
            let mut changed = false;
            for id in 0..BARRIERS as u8 {
                changed |= self.complete(id);
            }
            changed |= self.complete_cluster();
            for w in 0..self.places.warps() {
                changed |= self.meet(w)?;
                changed |= self.products(w)?;
            }
            if !changed {
                break;
            }
        }
        // What is printed comes warp after warp, each as far as it gets.
        if !runs(self) {
            let turn = |s| s == State::Turn;
            let warps = 0..self.places.warps();
            let first =
                warps.map(|w| (w, self.places.lanes(w, turn))).find(|(_, lanes)| *lanes != 0);
            if let Some((w, waiting)) = first {
                let (place, lanes) = self.places.together(w, waiting);
                self.print(w, place, lanes)?;
                self.places.let_go(&mut self.scratch.resume, w, lanes);
            }
        }
        Ok(runs(self))
    }

    /// The effect of a place.
    fn slow(&self, place: u32) -> &'a Slow {
        let kernel = self.kernel;
        &kernel.needs.effects[kernel.needs.layout.meets[place as usize - 1] as usize]
    }

    /// Lanes of warp `w` have come to a place.
    fn arrive(&mut self, w: usize, place: u32, mask: u32) -> Result<(), Stop> {
        let info = self.slow(place);
        let wait = |worker: &mut Self, l: usize, state| worker.places.state[32 * w + l] = state;
        match &info.effect {
            Effect::Bar(bar) => self.arrive_at_barrier(w, info, bar, mask)?,
            Effect::Warp(op) => {
                for l in lanes(mask) {
                    let named = op.members.map_or(0, |n| self.rows(w)[usize::from(n)][l] as u32);
                    wait(self, l, State::Sync(named));
                }
            }
            // Whole warps commit and wait.
            Effect::AsyncGroup(_) => {
                lanes(mask).for_each(|l| wait(self, l, State::Sync(u32::MAX)));
            }
            Effect::Sys(_) => lanes(mask).for_each(|l| wait(self, l, State::Turn)),
            Effect::Ld(_)
            | Effect::St(_)
            | Effect::Atom(_)
            | Effect::Fence(_)
            | Effect::Trap
            | Effect::Brkpt
            | Effect::Yield => self.places.let_go(&mut self.scratch.resume, w, mask),
        }
        Ok(())
    }

    fn arrive_at_barrier(
        &mut self,
        w: usize,
        info: &Slow,
        bar: &Bar,
        mask: u32,
    ) -> Result<(), Stop> {
        let wait = |worker: &mut Self, state| {
            lanes(mask).for_each(|l| worker.places.state[32 * w + l] = state);
        };
        match bar.kind {
            BarKind::ClusterArrive => {
                self.places.cluster[w] |= mask;
                self.places.let_go(&mut self.scratch.resume, w, mask);
                return Ok(());
            }
            // The phase that the lanes arrived in may be over.
            BarKind::ClusterWait if self.places.cluster[w] & mask == 0 => {
                self.places.let_go(&mut self.scratch.resume, w, mask);
                return Ok(());
            }
            BarKind::ClusterWait => {
                wait(self, State::Cluster);
                return Ok(());
            }
            BarKind::Sync
            | BarKind::Arrive
            | BarKind::RedPopc
            | BarKind::RedAnd
            | BarKind::RedOr => {}
        }
        let first = mask.trailing_zeros() as usize;
        let bad = |worker: &mut Self, lane: usize, message: String| {
            Err(worker.fault(info, w, Fault::Operand { lane: lane as u8, message }))
        };
        let id = self.rows(w)[0][first] as u32;
        if id >= BARRIERS as u32 {
            let message = format!("barrier {id} does not exist: there are barriers 0 to 15");
            return bad(self, first, message);
        }
        if let Some(other) = lanes(mask).find(|l| self.rows(w)[0][*l] as u32 != id) {
            return bad(self, other, "lanes of a warp name different barriers".into());
        }
        let count = bar.counted.then(|| self.rows(w)[1][first] as u32);
        if let Some(n) = count.filter(|n| *n == 0 || n % 32 != 0) {
            let message =
                format!("barrier with a count of {n} threads: it must be a multiple of 32");
            return bad(self, first, message);
        }
        let votes = !matches!(bar.kind, BarKind::Sync | BarKind::Arrive);
        let predicate = if votes {
            let row = &self.rows(w)[info.src.count - 1];
            lanes(mask).filter(|l| row[*l] as u32 != 0).fold(0, |m, l| m | 1 << l)
        } else {
            0
        };
        self.places.bars[id as usize].arrive(w, mask, None, count, predicate);
        if bar.kind == BarKind::Arrive {
            self.places.let_go(&mut self.scratch.resume, w, mask);
        } else {
            wait(self, State::Bar(id as u8));
        }
        Ok(())
    }

    /// Lets the threads at barrier `id` go if it is complete; whether it was.
    fn complete(&mut self, id: u8) -> bool {
        let places = &mut self.places;
        let live = places.live.iter().copied();
        let Some(reduced) = places.bars[usize::from(id)].take_complete(live) else { return false };
        for w in 0..self.places.warps() {
            let here = self.places.lanes(w, |s| s == State::Bar(id));
            for l in lanes(here) {
                let info = self.slow(self.places.at[32 * w + l]);
                if let Effect::Bar(bar) = &info.effect
                    && let Some((kind, value)) = reduced.value(bar.kind)
                    && info.dst.count > 0
                {
                    let value = if kind == Kind::P { 0u32.wrapping_sub(value) } else { value };
                    self.results(w)[0][l] = u64::from(value);
                }
            }
            self.places.let_go(&mut self.scratch.resume, w, here);
        }
        true
    }

    /// The same for the barrier of the cluster, which is this block alone.
    fn complete_cluster(&mut self) -> bool {
        let places = &mut self.places;
        let came = places.cluster.iter().any(|c| *c != 0);
        let all = places.live.iter().zip(&places.cluster).all(|(live, c)| live & !c == 0);
        if !came || !all {
            return false;
        }
        places.cluster.fill(0);
        for w in 0..places.warps() {
            let here = places.lanes(w, |s| s == State::Cluster);
            places.let_go(&mut self.scratch.resume, w, here);
        }
        true
    }

    /// Does what lanes of a warp have come to that wait for no others; whether there were any.
    fn meet(&mut self, w: usize) -> Result<bool, Stop> {
        let live = self.places.live[w];
        let here = self.places.lanes(w, |s| matches!(s, State::Sync(_)));
        if here == 0 {
            return Ok(false);
        }
        let ready = |s| matches!(s, State::Sync(want) if want & live & !here == 0);
        let mut ready = self.places.lanes(w, ready);
        let mut changed = false;
        // All of them are through now: who goes on first does not make the others wait again.
        while ready != 0 {
            let (place, mask) = self.places.together(w, ready);
            ready &= !mask;
            changed |= self.met(w, place, mask)?;
        }
        Ok(changed)
    }

    /// Does what lanes of a warp have come to that have met at a place; whether they are through.
    fn met(&mut self, w: usize, place: u32, mask: u32) -> Result<bool, Stop> {
        let info = self.slow(place);
        match &info.effect {
            Effect::Warp(op) if op.reach == Reach::Warpgroup => {
                self.places.came[w] += 1;
                let state = State::Product(self.places.came[w]);
                lanes(mask).for_each(|l| self.places.state[32 * w + l] = state);
            }
            Effect::AsyncGroup(work) => {
                let committed = self.places.committed[w];
                let groups = match work.what {
                    AsyncGroupOp::Commit => {
                        self.places.committed[w] += 1;
                        0
                    }
                    AsyncGroupOp::Wait { pending, .. } => committed.saturating_sub(pending),
                    AsyncGroupOp::WaitAll => committed,
                };
                let state = State::Products(groups);
                lanes(mask).for_each(|l| self.places.state[32 * w + l] = state);
            }
            _ => {
                if self.do_together(w, info, mask)? == Flow::Retry {
                    return Ok(false);
                }
                self.places.let_go(&mut self.scratch.resume, w, mask);
            }
        }
        Ok(true)
    }

    /// Lets the lanes of a warp go on that have waited for the others of the warpgroup; whether there were any.
    fn products(&mut self, w: usize) -> Result<bool, Stop> {
        let came = self.places.lanes(w, |s| matches!(s, State::Product(_)));
        if came != 0 {
            let (place, mask) = self.places.together(w, came);
            let state = self.places.state[32 * w + mask.trailing_zeros() as usize];
            let all = matches!(state, State::Product(n)
                if self.places.warpgroup(w, |w| self.places.came[w] >= n));
            if all {
                let info = self.slow(place);
                // A product ends when it is issued.
                self.do_together(w, info, mask)?;
                self.places.let_go(&mut self.scratch.resume, w, mask);
                return Ok(true);
            }
        }
        let done = |s| {
            matches!(s, State::Products(n)
            if self.places.warpgroup(w, |w| self.places.committed[w] >= n))
        };
        let done = self.places.lanes(w, done);
        self.places.let_go(&mut self.scratch.resume, w, done);
        Ok(done != 0)
    }

    /// One operation over lanes of warp `w`.
    fn do_together(&mut self, w: usize, info: &Slow, mask: u32) -> Result<Flow, Stop> {
        let Effect::Warp(op) = &info.effect else { return Ok(Flow::Next) };
        self.ctx().thread0 = 32 * w as u64;
        let mut view = Lanes::met(self, info, mask, w);
        (op.run)(&mut view, op).map_err(|fault| self.fault(info, w, fault))
    }

    /// Lanes print, one after the other.
    fn print(&mut self, w: usize, place: u32, mask: u32) -> Result<(), Stop> {
        let info = self.slow(place);
        let Effect::Sys(sys) = info.effect else { return Ok(()) };
        self.ctx().thread0 = 32 * w as u64;
        for l in lanes(mask) {
            for n in 0..info.src.count {
                let v = self.rows(w)[n][l];
                self.stage(info, n, l, v);
            }
        }
        let on: Vec<usize> = lanes(mask).collect();
        self.system(info, sys, &on).map_err(|fault| self.fault(info, w, fault))?;
        for n in 0..info.dst.count {
            for l in lanes(mask) {
                self.results(w)[n][l] = self.result(info, n, l);
            }
        }
        Ok(())
    }

    /// A fault of a lane of warp `w`.
    fn fault(&mut self, info: &Slow, w: usize, fault: Fault) -> Stop {
        self.ctx().thread0 = 32 * w as u64;
        self.stop_of(info, fault)
    }

    /// The rows of warp `w` with the operands that its lanes have left.
    pub(crate) fn rows(&self, w: usize) -> &[[u64; 32]] {
        let [src, dst] = self.kernel.needs.layout.meeting_rows;
        &self.scratch.meet[w * (src + dst)..][..src]
    }

    /// Those for the results.
    pub(crate) fn results(&mut self, w: usize) -> &mut [[u64; 32]] {
        let [src, dst] = self.kernel.needs.layout.meeting_rows;
        &mut self.scratch.meet[w * (src + dst) + src..][..dst]
    }
}
