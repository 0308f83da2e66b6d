//! Micro-ops with an effect that have no fast handler, lane by lane.

use ptx_isa::effect::{
    AsyncWork, Atom, AtomOp, Bar, BarKind, Effect, Fault, Flow, Mem, MemoryPlace, Order, WarpOp,
};
use ptx_isa::{Kind, Reach};

use crate::atomic::memory_fence;
use crate::code::EffectInfo;
use crate::control::State;
use crate::cta::{At, BARRIERS, Group};
use crate::exec::set_row;
use crate::moment::Moment;
use crate::observer::{BarrierName, EventSet, Observer, WarpEvent};
use crate::report::FaultKind;
use crate::rows::{Operand, first, lanes};
use crate::trouble::Trouble;
use crate::view::View;
use crate::worker::{After, Stopped, Worker};

impl<O: Observer> Worker<'_, O> {
    /// Effect `k` for the lanes of `mask`.
    pub(crate) fn effect(
        &mut self,
        group: &mut Group,
        at: At,
        k: u32,
        mask: u32,
        write: u32,
    ) -> Result<After, Trouble> {
        let info = &self.k.effects[k as usize];
        match &info.effect {
            Effect::Ld(_) | Effect::St(_) => self.move_lanes(k, mask, write)?,
            Effect::Atom(a) => self.atomics(info, a, mask, write)?,
            Effect::Bar(bar) => return self.barrier(group, at, info, bar, mask),
            Effect::Fence(fence) => {
                let pc = pc_of(group, at);
                self.tell(group, at, pc, mask, WarpEvent::Fence(*fence))?;
                memory_fence();
            }
            Effect::AsyncGroup(work) => {
                if work.of == AsyncWork::MatrixProducts
                    && !group.ctas[at.cta].products(at.warp, at.split, work.what)
                {
                    return Ok(After::Changed);
                }
                let pc = pc_of(group, at);
                self.tell(group, at, pc, mask, WarpEvent::AsyncGroup(*work))?;
            }
            Effect::Trap => {
                let message = "the kernel executed `trap`".into();
                return Err(Trouble::Kind(first(mask), FaultKind::Trap, message));
            }
            Effect::Brkpt => {
                let message = "the kernel executed `brkpt` and no debugger is attached".into();
                return Err(Trouble::Kind(first(mask), FaultKind::Breakpoint, message));
            }
            Effect::Yield => return Ok(After::Yield),
            Effect::Sys(sys) => self.system(group, at, info, *sys, mask, write)?,
            Effect::Warp(op) => return self.warp_op(group, at, info, op, mask, write),
        }
        Ok(After::Next)
    }

    /// A source of kind `W` or `D` in one lane, zero-extended.
    pub(crate) fn lane_value(&self, (o, kind): (Operand, Kind), lane: usize) -> u64 {
        // SAFETY: operands of effects carry the kind that they were decoded for.
        unsafe {
            match kind {
                Kind::P => (self.cx.bases.p(o) >> lane & 1) as u64,
                Kind::W => self.cx.bases.w(o)[lane] as u64,
                Kind::D => self.cx.bases.d(o)[lane],
            }
        }
    }

    /// Writes a destination of kind `W` or `D` from zero-extended values.
    pub(crate) fn set_lanes(&self, (o, kind): (Operand, Kind), v: &[u64; 32], write: u32) {
        // SAFETY: destinations of effects carry the kind that they were decoded for.
        unsafe {
            match kind {
                Kind::P => {
                    let p = (0..32).fold(0, |p, l| p | ((v[l] & 1) as u32) << l);
                    self.cx.bases.set_p(o, p, write);
                }
                Kind::W => self.cx.bases.set_w(o, &v.map(|v| v as u32), write),
                Kind::D => self.cx.bases.set_d(o, v, write),
            }
        }
    }

    /// Load or store `k`, lane by lane.
    pub(crate) fn move_lanes(&mut self, k: u32, mask: u32, write: u32) -> Result<(), Fault> {
        let info = &self.k.effects[k as usize];
        match &info.effect {
            Effect::Ld(m) => self.load_lanes(info, m, mask, write),
            Effect::St(m) => self.store_lanes(info, m, mask),
            _ => Ok(()),
        }
    }

    /// One lane's address of an access: with a base of 32 bits it has 32 bits.
    pub(crate) fn lane_address(&self, info: &EffectInfo, place: MemoryPlace, lane: usize) -> u64 {
        let base = self.lane_value(info.src[0], lane);
        match info.src[0].1 {
            Kind::W => (base as u32).wrapping_add(place.offset as u32) as u64,
            Kind::D | Kind::P => base.wrapping_add(place.offset as u64),
        }
    }

    /// All lanes' addresses of an access, those of lanes that do not execute as well.
    pub(crate) fn lane_addresses(&self, info: &EffectInfo, place: MemoryPlace) -> [u64; 32] {
        let (operand, kind) = info.src[0];
        // SAFETY: as in `lane_value`.
        unsafe {
            match kind {
                Kind::W => {
                    let offset = place.offset as u32;
                    self.cx.bases.w(operand).map(|base| u64::from(base.wrapping_add(offset)))
                }
                Kind::D => {
                    let offset = place.offset as u64;
                    self.cx.bases.d(operand).map(|base| base.wrapping_add(offset))
                }
                Kind::P => std::array::from_fn(|lane| self.lane_address(info, place, lane)),
            }
        }
    }

    /// One lane's address of a load or store, checked for alignment.
    fn address(&self, info: &EffectInfo, m: &Mem, lane: usize, write: bool) -> Result<u64, Fault> {
        let address = self.lane_address(info, m.place, lane);
        let bytes = m.bytes as u32 * m.count as u32;
        if !address.is_multiple_of(bytes.next_power_of_two() as u64) {
            // An access to no memory at all is that first.
            self.cx.resolve(lane as u8, m.place.space, address, bytes, write)?;
            let (lane, space) = (lane as u8, m.place.space);
            return Err(Fault::Misaligned { lane, space, address, bytes, write });
        }
        Ok(address)
    }

    fn load_lanes(&self, info: &EffectInfo, m: &Mem, mask: u32, write: u32) -> Result<(), Fault> {
        if matches!(m.order, Order::Acquire | Order::SeqCst) {
            memory_fence();
        }
        let (bytes, count) = (m.bytes as usize, m.count as usize);
        let parts = if bytes == 16 { 2 } else { 1 };
        // Up to 32 bytes per lane (`.v8.b32`, `.v4.b64`), or 2 × 16.
        let mut values = [[0u64; 32]; 8];
        let ordered = !matches!(m.order, Order::Weak) && bytes <= 8;
        for lane in lanes(mask) {
            let address = self.address(info, m, lane, false)?;
            let space = m.place.space;
            let mut buffer = [0u8; 128];
            let total = bytes * count;
            if ordered {
                for e in 0..count {
                    let a = address + (e * bytes) as u64;
                    let v = self.cx.load_ordered(lane as u8, space, a, m.bytes, m.order)?;
                    buffer[e * bytes..][..bytes].copy_from_slice(&v.to_le_bytes()[..bytes]);
                }
            } else {
                self.cx.read(lane as u8, space, address, &mut buffer[..total])?;
            }
            let width = bytes.min(8);
            for (e, row) in values.iter_mut().enumerate().take(count * parts) {
                let mut v = [0; 8];
                v[..width].copy_from_slice(&buffer[e * width..][..width]);
                row[lane] = u64::from_le_bytes(v);
            }
        }
        for (dst, row) in info.dst.iter().zip(&mut values) {
            if m.signed && bytes < 8 {
                let unused = 64 - 8 * bytes as u32;
                row.iter_mut().for_each(|v| *v = ((*v << unused) as i64 >> unused) as u64);
            }
            self.set_lanes(*dst, row, write);
        }
        Ok(())
    }

    fn store_lanes(&self, info: &EffectInfo, m: &Mem, mask: u32) -> Result<(), Fault> {
        if matches!(m.order, Order::Release | Order::SeqCst) {
            memory_fence();
        }
        let (bytes, count) = (m.bytes as usize, m.count as usize);
        let width = bytes.min(8);
        let ordered = !matches!(m.order, Order::Weak) && bytes <= 8;
        for lane in lanes(mask) {
            let address = self.address(info, m, lane, true)?;
            let space = m.place.space;
            let mut buffer = [0u8; 128];
            for (e, src) in info.src[1..].iter().enumerate() {
                let v = self.lane_value(*src, lane).to_le_bytes();
                buffer[e * width..][..width].copy_from_slice(&v[..width]);
                if ordered {
                    let a = address + (e * bytes) as u64;
                    let v = u64::from_le_bytes(v);
                    self.cx.store_ordered(lane as u8, space, a, m.bytes, m.order, v)?;
                }
            }
            if !ordered {
                self.cx.write(lane as u8, space, address, &buffer[..bytes * count])?;
            }
        }
        Ok(())
    }

    fn atomics(&self, info: &EffectInfo, a: &Atom, mask: u32, write: u32) -> Result<(), Fault> {
        let count = a.count as usize;
        let cas = a.op == AtomOp::Cas;
        let mut old = [[0u64; 32]; 8];
        for lane in lanes(mask) {
            let base = self.lane_address(info, a.place, lane);
            let (space, id) = (a.place.space, lane as u8);
            let value = |n: usize| info.src.get(n).map_or(0, |s| self.lane_value(*s, lane));
            if a.bytes == 16 {
                let wide = |n| value(n) as u128 | (value(n + 1) as u128) << 64;
                let v = self.cx.atomic128(id, space, base, a.op, wide(1), wide(3))?;
                (old[0][lane], old[1][lane]) = (v as u64, (v >> 64) as u64);
                continue;
            }
            for e in 0..count {
                let address = base.wrapping_add(e as u64 * a.bytes as u64);
                let (b, c) = (value(1 + e), if cas { value(2) } else { 0 });
                let keep = u64::MAX >> (64 - 8 * a.bytes as u32);
                old[e][lane] =
                    self.cx.atomic(id, space, address, a.bytes, a.op, b & keep, c & keep)?;
            }
        }
        for (dst, row) in info.dst.iter().zip(&old) {
            self.set_lanes(*dst, row, write);
        }
        Ok(())
    }

    fn barrier(
        &mut self,
        group: &mut Group,
        at: At,
        info: &EffectInfo,
        bar: &Bar,
        mask: u32,
    ) -> Result<After, Trouble> {
        let pc = pc_of(group, at);
        let arrival = |barrier, threads| WarpEvent::BarrierArrive {
            barrier,
            lanes: mask,
            kind: bar.kind,
            threads,
            aligned: bar.aligned,
        };
        match bar.kind {
            BarKind::ClusterArrive => {
                self.tell(group, at, pc, mask, arrival(BarrierName::Cluster, None))?;
                group.ctas[at.cta].warps[at.warp].cluster_arrived |= mask;
                self.recheck_cluster(group, at, pc)?;
                return Ok(After::Next);
            }
            BarKind::ClusterWait => {
                let w = &mut group.ctas[at.cta].warps[at.warp];
                if w.cluster_arrived & mask == 0 {
                    // The phase that the lanes arrived in is over.
                    return Ok(After::Next);
                }
                w.splits[at.split].state = State::Cluster;
                self.recheck_cluster(group, at, pc)?;
                return Ok(After::Changed);
            }
            BarKind::Sync
            | BarKind::Arrive
            | BarKind::RedPopc
            | BarKind::RedAnd
            | BarKind::RedOr => {}
        }
        let lane = first(mask) as usize;
        let id = self.lane_value(info.src[0], lane);
        let same = |src: (Operand, Kind), v: u64| {
            if src.0.is_const() {
                return None;
            }
            lanes(mask).find(|l| self.lane_value(src, *l) != v).map(|l| l as u8)
        };
        if id >= BARRIERS as u64 {
            let message = format!("barrier {id} does not exist: there are barriers 0 to 15");
            return Err(Trouble::Kind(lane as u8, FaultKind::Operand, message));
        }
        if let Some(other) = same(info.src[0], id) {
            let message = "lanes of a warp name different barriers".into();
            return Err(Trouble::Kind(other, FaultKind::Operand, message));
        }
        let count = bar.counted.then(|| self.lane_value(info.src[1], lane) as u32);
        if let Some(n) = count
            && (n == 0 || n % 32 != 0)
        {
            let message =
                format!("barrier with a count of {n} threads: it must be a multiple of 32");
            return Err(Trouble::Kind(lane as u8, FaultKind::Operand, message));
        }
        let predicate = match info.src.last() {
            // SAFETY: the operand is a `P`.
            Some((o, Kind::P)) => unsafe { self.cx.bases.p(*o) },
            _ => 0,
        };
        self.tell(group, at, pc, mask, arrival(BarrierName::Cta(id as u8), count))?;
        let cta = &mut group.ctas[at.cta];
        let whole = self.stack.then_some(cta.warps[at.warp].live);
        cta.bars[id as usize].arrive(at.warp, mask, whole, count, predicate);
        let waits = bar.kind != BarKind::Arrive;
        if waits {
            cta.warps[at.warp].splits[at.split].state = State::Bar(id as u8);
        }
        self.recheck_barrier(group, at, pc, id as u8)?;
        Ok(if waits { After::Changed } else { After::Next })
    }

    /// Lets the lanes at barrier `id` go if it is complete.
    fn recheck_barrier(
        &mut self,
        group: &mut Group,
        at: At,
        pc: u32,
        id: u8,
    ) -> Result<(), Trouble> {
        let cta = &mut group.ctas[at.cta];
        let live = cta.warps.iter().map(|w| w.live);
        let Some(reduced) = cta.bars[id as usize].take_complete(live) else { return Ok(()) };
        let barrier = BarrierName::Cta(id);
        self.tell(group, at, pc, 0, WarpEvent::BarrierComplete { barrier })?;
        let cta = &mut group.ctas[at.cta];
        for w in &mut cta.warps {
            for s in &mut w.splits {
                if s.state != State::Bar(id) {
                    continue;
                }
                let info = &self.k.effects[self.k.code[s.pc as usize].k as usize];
                if let (Effect::Bar(bar), [(dst, _), ..]) = (&info.effect, &*info.dst)
                    && let Some((kind, value)) = reduced.value(bar.kind)
                {
                    // SAFETY: the destination was decoded for the frame of this split.
                    unsafe { set_row(w.frames[s.frame].rows, *dst, kind, value, s.mask) };
                }
                s.pc += 1;
                s.state = State::Ready;
            }
        }
        Ok(())
    }

    fn recheck_cluster(&mut self, group: &mut Group, at: At, pc: u32) -> Result<(), Trouble> {
        let warps = || group.ctas.iter().flat_map(|c| &c.warps);
        if !warps().any(|w| w.cluster_arrived != 0)
            || !warps().all(|w| w.live & !w.cluster_arrived == 0)
        {
            return Ok(());
        }
        let barrier = BarrierName::Cluster;
        self.tell(group, at, pc, 0, WarpEvent::BarrierComplete { barrier })?;
        for w in group.ctas.iter_mut().flat_map(|c| &mut c.warps) {
            w.cluster_arrived = 0;
            for s in w.splits.iter_mut().filter(|s| s.state == State::Cluster) {
                s.pc += 1;
                s.state = State::Ready;
            }
        }
        Ok(())
    }

    /// Lanes have ended: barriers may be complete without them.
    pub(crate) fn recheck(&mut self, group: &mut Group, at: At, pc: u32) -> Result<(), Trouble> {
        for id in 0..BARRIERS as u8 {
            self.recheck_barrier(group, at, pc, id)?;
        }
        self.recheck_cluster(group, at, pc)
    }

    /// Tells that lanes have met at an instruction with a member mask.
    fn tell_sync(
        &mut self,
        group: &Group,
        at: At,
        info: &EffectInfo,
        op: &WarpOp,
        mask: u32,
    ) -> Result<(), Trouble> {
        let Some(source) = op.members.filter(|_| O::EVENTS.has(EventSet::SYNC)) else {
            return Ok(());
        };
        let member = |l| self.lane_value(info.src[source as usize], l) as u32;
        let members = &std::array::from_fn(member);
        let event = WarpEvent::WarpSync { lanes: mask, members, orders: op.orders };
        self.tell(group, at, pc_of(group, at), mask, event)
    }

    /// What a meaning over the warp sees.
    pub(crate) fn view<'v>(
        &'v mut self,
        group: &'v Group,
        at: At,
        info: &'v EffectInfo,
        mask: u32,
        write: u32,
    ) -> View<'v, O> {
        let (pc, steps) = (pc_of(group, at), self.stats.warp_instructions);
        let (kernel, grid, cx, lanes) = (self.k, self.l, &self.cx, mask);
        let moment = Moment { kernel, grid, cx, group, at, pc, lanes, steps };
        View { moment, info, write, observer: &mut self.observer, addresses: &mut self.addresses }
    }

    fn warp_op(
        &mut self,
        group: &mut Group,
        at: At,
        info: &EffectInfo,
        op: &WarpOp,
        mask: u32,
        write: u32,
    ) -> Result<After, Trouble> {
        if let Some(src) = op.members
            && !self.stack
        {
            let warp = &mut group.ctas[at.cta].warps[at.warp];
            let named = |m, l| m | self.lane_value(info.src[src as usize], l) as u32;
            let want = lanes(mask).fold(0, named);
            if want & warp.live & !mask != 0 {
                warp.splits[at.split].state = State::Sync(want);
                return Ok(After::Changed);
            }
        }
        if op.reach == Reach::Warpgroup && !group.ctas[at.cta].product(at.warp, at.split) {
            return Ok(After::Changed);
        }
        Ok(match self.run_warp_op(group, at, info, op, mask, write)? {
            Flow::Next => After::Next,
            Flow::Retry => After::Retry,
        })
    }

    /// Runs the function of lanes that have met. One that orders memory is told behind its own accesses.
    fn run_warp_op(
        &mut self,
        group: &Group,
        at: At,
        info: &EffectInfo,
        op: &WarpOp,
        mask: u32,
        write: u32,
    ) -> Result<Flow, Trouble> {
        if !op.orders {
            self.tell_sync(group, at, info, op, mask)?;
        }
        let mut view = self.view(group, at, info, mask, write);
        let flow = (op.run)(&mut view, op)?;
        if op.orders {
            self.tell_sync(group, at, info, op, mask)?;
        }
        Ok(flow)
    }

    /// Splits that wait at `*.sync` instructions: executes those whose lanes have all come.
    /// Whether there were any.
    pub(crate) fn meet_sync(
        &mut self,
        group: &mut Group,
        cta: usize,
        warp: usize,
    ) -> Result<bool, Stopped> {
        let w = &group.ctas[cta].warps[warp];
        let here = w
            .splits
            .iter()
            .filter(|s| matches!(s.state, State::Sync(_)))
            .fold(0, |m, s| m | s.mask);
        let live = w.live;
        let ready = |state| matches!(state, State::Sync(want) if want & live & !here == 0);
        let Some(n) = w.splits.iter().position(|s| ready(s.state)) else { return Ok(false) };
        let first = w.splits[n];
        let together = |s: &crate::control::Split| {
            ready(s.state) && (s.pc, s.frame) == (first.pc, first.frame)
        };
        let mask = w.splits.iter().filter(|s| together(s)).fold(0, |m, s| m | s.mask);
        self.cx.bases.0[0] = w.frames[first.frame].rows;
        self.cx.bases.0[2] = w.rows;
        let k = self.k.code[first.pc as usize].k;
        let info = &self.k.effects[k as usize];
        let at = At { cta, warp, split: n };
        let mut next = Flow::Next;
        if let Effect::Warp(op) = &info.effect {
            // Lanes that had gone different ways do not wait for the other warps, who must not wait for them.
            if op.reach == Reach::Warpgroup {
                group.ctas[cta].warps[warp].came += 1;
            }
            match self.run_warp_op(group, at, info, op, mask, mask) {
                Ok(flow) => next = flow,
                Err(trouble) => {
                    return Err(self.trouble_report(group, at, first.pc, mask, trouble));
                }
            }
        }
        let w = &mut group.ctas[cta].warps[warp];
        for s in w.splits.iter_mut().filter(|s| together(s)) {
            s.state = State::Ready;
            s.pc += (next == Flow::Next) as u32;
        }
        w.unite(n);
        Ok(true)
    }
}

/// Where a split stands.
fn pc_of(group: &Group, at: At) -> u32 {
    group.ctas[at.cta].warps[at.warp].splits[at.split].pc
}
