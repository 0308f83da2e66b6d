//! What orders accesses: barriers, fences, atomics, mbarrier objects, waits for copies.

use std::sync::Arc;

use ptx_interp::Moment;
use ptx_interp::observer::{Action, BarrierName, MemoryAccess};
use ptx_isa::effect::{
    AsyncGroup, AsyncGroupOp, AsyncWork, BarKind, Fence, MbarrierEvent, MbarrierOp, Order, Proxy,
    Scope,
};

use super::{Arrivals, PUBLISHED, Published, Race, SEEN, acquires, covers, releases};
use crate::hash::HashMap;
use crate::known::{Gathered, Handed, Home, Known};

impl Race {
    pub(crate) fn arrive(
        &mut self,
        m: &Moment<'_>,
        barrier: BarrierName,
        mask: u32,
        kind: BarKind,
    ) {
        let block = self.enter(m);
        let program = &self.program;
        let opcode = program.functions[m.function() as usize].insts[m.index() as usize].opcode;
        let relaxed = program.matches[opcode as usize].has(".relaxed");
        if let BarrierName::Cta(id) = barrier {
            // Who waits does nothing else until the barrier is complete. Below sm_70 any lane brings its warp, whose
            // other lanes may go on.
            let waits = kind != BarKind::Arrive && (!self.in_step || mask == m.live());
            let Some(state) = self.blocks.get_mut(&block) else { return };
            let barrier = state.barriers.entry(id).or_default();
            match waits {
                true => barrier.came.push((m.warp(), mask)),
                false => self.bring(block, id, m.warp(), mask, kind != BarKind::Arrive),
            }
            return;
        }
        for home in self.homes(block, m.warp(), mask) {
            let handed = self.hand(home);
            let threads = self.threads;
            let thread = self.thread(home);
            let fences: Vec<Arc<Handed>> =
                thread.fences[Scope::Cluster as usize..].iter().filter_map(Option::clone).collect();
            let inits = thread.inits.clone();
            let all = self.cluster_arrivals.entry(m.cluster()).or_default();
            let new = || Arrivals {
                all: Gathered::new(threads),
                inits: Gathered::new(threads),
                waiting: Vec::new(),
            };
            let arrivals = all.entry(block).or_insert_with(new);
            // A relaxed arrival brings what fences before it have released.
            if relaxed {
                fences.iter().for_each(|handed| arrivals.all.add(handed));
            } else {
                arrivals.all.add(&handed);
            }
            inits.iter().for_each(|handed| arrivals.inits.add(handed));
            arrivals.waiting.push(home.thread);
        }
    }

    /// Lanes of a warp bring what they know to a barrier of their block.
    fn bring(&mut self, block: u32, id: u8, warp: u32, mask: u32, wait: bool) {
        for home in self.homes(block, warp, mask) {
            let (handed, threads) = (self.hand(home), self.threads);
            let Some(state) = self.blocks.get_mut(&block) else { return };
            let barrier = state.barriers.entry(id).or_default();
            barrier.gathered.get_or_insert_with(|| Gathered::new(threads)).add(&handed);
            if wait {
                barrier.waiting.push(home.thread);
            }
        }
    }

    /// A barrier of a block is complete.
    fn complete_in_block(&mut self, block: u32, id: u8) {
        let (threads, agents) = (self.threads, self.agents);
        let Some(state) = self.blocks.get_mut(&block) else { return };
        let Some(barrier) = state.barriers.get_mut(&id) else { return };
        let waiting: u32 = barrier.came.iter().map(|(_, mask)| mask.count_ones()).sum();
        let everyone = waiting == threads && barrier.gathered.is_none();
        // What they know of other blocks, and of agents, is not the same for all of them.
        let more = |warp: usize| {
            let end = threads.min(warp as u32 * 32 + 32) as usize;
            state.threads[warp * 32..end].iter().any(|t| t.known.of_others())
        };
        let mut knowing = (0..state.knows.len()).filter(|warp| state.knows[*warp]);
        if everyone && !agents && !knowing.any(more) {
            barrier.came.clear();
            (state.floor, state.clock) = (state.clock, state.clock + 1);
            for warp in (0..state.knows.len()).filter(|warp| state.knows[*warp]) {
                let end = threads.min(warp as u32 * 32 + 32) as usize;
                let nothing = Known::nothing(threads);
                for thread in &mut state.threads[warp * 32..end] {
                    thread.known = nothing.clone();
                }
            }
            state.knows.fill(false);
            return;
        }
        for (warp, mask) in std::mem::take(&mut barrier.came) {
            self.bring(block, id, warp, mask, true);
        }
        let Some(state) = self.blocks.get_mut(&block) else { return };
        let Some(barrier) = state.barriers.remove(&id) else { return };
        let Some(known) = barrier.gathered.map(|gathered| gathered.known()) else { return };
        for thread in barrier.waiting {
            // It waited since it arrived, so that it knows nothing beyond what it brought.
            let home = Home { block, thread, threads };
            *self.knowledge(home) = known.clone();
        }
        if everyone && let Some(state) = self.blocks.get_mut(&block) {
            (state.floor, state.clock) = (state.clock, state.clock + 1);
        }
    }

    pub(crate) fn complete(&mut self, m: &Moment<'_>, barrier: BarrierName) {
        let block = self.enter(m);
        if let BarrierName::Cta(id) = barrier {
            return self.complete_in_block(block, id);
        }
        let Some(all) = self.cluster_arrivals.remove(&m.cluster()) else { return };
        let of = |what: fn(&Arrivals) -> &Gathered| -> HashMap<u32, Known> {
            all.iter().map(|(b, arrivals)| (*b, what(arrivals).known())).collect()
        };
        let (known, inits) = (of(|a| &a.all), of(|a| &a.inits));
        for (number, arrivals) in &all {
            let home = Home { block: *number, thread: 0, threads: self.threads };
            let (known, inits) = (together(home, &known), together(home, &inits));
            if !self.blocks.contains_key(number) {
                continue;
            }
            for thread in &arrivals.waiting {
                let home = Home { thread: *thread, ..home };
                self.knowledge(home).meet(&known);
                self.thread(home).known_inits.meet(&inits);
            }
        }
    }

    /// Lanes have met; those with the same member mask know of one another afterwards.
    pub(crate) fn warp_sync(&mut self, m: &Moment<'_>, mask: u32, members: &[u32; 32]) {
        if self.in_step {
            return;
        }
        let block = self.enter(m);
        let mut left = mask;
        while left != 0 {
            let named = members[left.trailing_zeros() as usize];
            let same = (0..32).filter(|l| left >> l & 1 != 0 && members[*l as usize] == named);
            let group = same.fold(0u32, |all, l| all | 1 << l);
            left &= !group;
            let homes = self.homes(block, m.warp(), group);
            let handed: Vec<Handed> = homes.iter().map(|h| self.hand(*h)).collect();
            let mut together = handed[0].known.clone();
            for h in &handed {
                together.join(homes[0], h);
            }
            for h in homes {
                *self.knowledge(h) = together.clone();
            }
        }
    }

    pub(crate) fn fence(&mut self, m: &Moment<'_>, mask: u32, fence: Fence) {
        let block = self.enter(m);
        for home in self.homes(block, m.warp(), mask) {
            if fence.inits {
                let handed = Arc::new(self.hand(home));
                self.thread(home).inits = Some(handed);
                continue;
            }
            if fence.proxy != Proxy::Generic {
                let handed = self.hand(home);
                self.thread(home).proxy_fence = Some((handed.clock, handed.known));
                continue;
            }
            if acquires(fence.order) {
                let seen = std::mem::take(&mut self.thread(home).seen);
                for p in seen {
                    if self.reaches(&p, fence.scope, home) {
                        self.knowledge(home).join(home, &p.handed);
                    } else {
                        self.thread(home).seen.push(p);
                    }
                }
            }
            if releases(fence.order) {
                let handed = Arc::new(self.hand(home));
                self.thread(home).fences[fence.scope as usize] = Some(handed);
            }
        }
    }

    /// Whether a release and an acquire at `scope` by `home` include each other.
    fn reaches(&self, p: &Published, scope: Scope, home: Home) -> bool {
        let from = p.handed.home.block;
        let same_block = from == home.block;
        let same_cluster = self.clusters.get(&from) == self.clusters.get(&home.block);
        covers(p.scope, same_block, same_cluster) && covers(scope, same_block, same_cluster)
    }

    /// What a strong access to a location means for order.
    pub(super) fn synchronise(&mut self, a: &MemoryAccess<'_>, home: Home, location: (u32, u64)) {
        let scope = if a.order == Order::Volatile { Scope::Sys } else { a.scope };
        if a.action != Action::Write
            && let Some(all) = self.published.get(&location).cloned()
        {
            for p in all {
                if acquires(a.order) && self.reaches(&p, scope, home) {
                    self.knowledge(home).join(home, &p.handed);
                } else {
                    // A fence may acquire it, with the narrower of the two scopes.
                    let seen = &mut self.thread(home).seen;
                    let known = |s: &Published| Arc::ptr_eq(&s.handed, &p.handed);
                    if !seen.iter().any(known) {
                        if seen.len() == SEEN {
                            seen.remove(0);
                        }
                        seen.push(Published { scope: p.scope.min_scope(scope), ..p });
                    }
                }
            }
        }
        if a.action == Action::Read {
            return;
        }
        let mut new: Vec<Published> = Vec::new();
        let fenced = self.thread(home).fences.iter().any(Option::is_some);
        if !releases(a.order) && !fenced && !self.published.contains_key(&location) {
            return;
        }
        if releases(a.order) {
            new.push(Published { scope, handed: Arc::new(self.hand(home)) });
        } else {
            let scopes = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];
            for (handed, of_fence) in self.thread(home).fences.iter().zip(scopes) {
                if let Some(handed) = handed {
                    let scope = of_fence.min_scope(scope);
                    new.push(Published { scope, handed: Arc::clone(handed) });
                }
            }
        }
        let all = self.published.entry(location).or_default();
        // A store ends the sequence that an earlier release began; an atomic carries it on.
        if a.action == Action::Write {
            all.clear();
        }
        all.extend(new);
        if all.len() > PUBLISHED {
            merge(all);
        }
    }

    pub(crate) fn mbarrier(&mut self, m: &Moment<'_>, event: MbarrierEvent) {
        let block = self.enter(m);
        self.agents_appear();
        let home = self.home(block, m.warp() * 32 + u32::from(event.lane));
        let Some(location) = self.locate(m, event.space, event.address) else { return };
        match event.what {
            MbarrierOp::Init(_) | MbarrierOp::Invalidate => {
                self.phases.remove(&location);
            }
            MbarrierOp::Arrive { .. } if releases(event.order) => {
                let handed = Arc::new(self.hand(home));
                self.phases.entry(location).or_default().now.push(handed);
            }
            MbarrierOp::ArriveAfterCopies | MbarrierOp::Complete(_) => {
                let actor = self.threads + home.thread;
                let thread = self.thread(home);
                let agent = thread.agent + 1;
                thread.agent += 2;
                let mut handed = self.hand(home);
                handed.known.learn(home, actor, agent);
                if matches!(event.what, MbarrierOp::Complete(_)) {
                    // The copy's end says nothing of what else its thread did.
                    let mut known = Known::nothing(self.threads);
                    known.learn(home, actor, agent);
                    handed = Handed { home, clock: 0, known };
                }
                self.phases.entry(location).or_default().now.push(Arc::new(handed));
            }
            MbarrierOp::Arrive { .. } | MbarrierOp::Expect(_) | MbarrierOp::Test { .. } => {}
        }
        let phases = self.phases.entry(location).or_default();
        if let MbarrierOp::Test { .. } = event.what {
            if event.completes && acquires(event.order) {
                for handed in phases.done.clone() {
                    self.knowledge(home).join(home, &handed);
                }
            }
        } else if event.completes {
            // A slow thread may still be about to find the phase before this one complete.
            let now = std::mem::take(&mut phases.now);
            phases.done = std::mem::take(&mut phases.last);
            phases.done.extend(now.iter().cloned());
            phases.last = now;
        }
    }

    pub(crate) fn copies(&mut self, m: &Moment<'_>, mask: u32, group: AsyncGroup) {
        let block = self.enter(m);
        self.agents_appear();
        let kind = match group.of {
            AsyncWork::Copies => 0,
            AsyncWork::BulkCopies => 1,
            AsyncWork::MatrixProducts => 2,
        };
        for home in self.homes(block, m.warp(), mask) {
            let actor = self.threads + home.thread;
            // It may come to know of its agent.
            self.knowledge(home);
            let thread = self.thread(home);
            match group.what {
                AsyncGroupOp::Commit => {
                    if group.of == AsyncWork::MatrixProducts {
                        thread.products.push(thread.agent + 1);
                    }
                    thread.groups[kind].push_back(thread.agent + 1);
                    thread.agent += 2;
                }
                // Of these groups everything is read; they may not have written.
                AsyncGroupOp::Wait { pending, read: true } => {
                    let done = thread.groups[kind].len().saturating_sub(pending as usize);
                    if let Some(agent) = done.checked_sub(1).map(|last| thread.groups[kind][last]) {
                        thread.known.learn(home, actor, agent - 1);
                    }
                }
                AsyncGroupOp::Wait { pending, .. } => {
                    while thread.groups[kind].len() > pending as usize {
                        let agent = thread.groups[kind].pop_front().unwrap_or(0);
                        thread.known.learn(home, actor, agent);
                    }
                    if group.of == AsyncWork::MatrixProducts {
                        self.products_done(home, pending as usize);
                    }
                }
                AsyncGroupOp::WaitAll => {
                    thread.groups[kind].clear();
                    thread.known.learn(home, actor, thread.agent + 1);
                    thread.agent += 2;
                }
            }
        }
    }
}

impl Race {
    /// A thread has waited for its groups of products but the last: they are those of the warpgroup, all of whose warps
    /// have their part in each.
    fn products_done(&mut self, home: Home, pending: usize) {
        let Some(block) = self.blocks.get_mut(&home.block) else { return };
        let own = &block.threads[home.thread as usize];
        let Some(last) = own.products.count().checked_sub(pending + 1) else { return };
        let first = home.thread - home.thread % WARPGROUP;
        let others = (first..self.threads.min(first + WARPGROUP)).filter(|t| *t != home.thread);
        let clocks: Vec<(u32, u32)> = others
            .filter_map(|t| {
                let clock = block.threads[t as usize].products.at(last)?;
                Some((self.threads + t, clock))
            })
            .collect();
        let known = self.knowledge(home);
        clocks.into_iter().for_each(|(agent, clock)| known.learn(home, agent, clock));
    }
}

/// What all blocks of a cluster have brought to its barrier, as one of them knows it.
fn together(home: Home, known: &HashMap<u32, Known>) -> Known {
    let own = known.get(&home.block);
    let mut together = own.cloned().unwrap_or_else(|| Known::nothing(home.threads));
    for (other, known) in known.iter().filter(|(other, _)| **other != home.block) {
        let from = Home { block: *other, ..home };
        let clock = known.of(from, *other, 0);
        together.join(home, &Handed { home: from, clock, known: known.clone() });
    }
    together
}

/// Threads of a warpgroup.
const WARPGROUP: u32 = 128;

/// Joins releases of device scope, by whichever block.
fn merge(all: &mut Vec<Published>) {
    let wide = |p: &Published| matches!(p.scope, Scope::Gpu | Scope::Sys);
    let (wide, narrow): (Vec<Published>, Vec<Published>) = all.drain(..).partition(wide);
    *all = narrow;
    let mut wide = wide.into_iter();
    if let Some(first) = wide.next() {
        let mut known = first.handed.known.clone();
        let home = first.handed.home;
        for p in wide {
            known.join(home, &p.handed);
        }
        let handed = Handed { home, clock: first.handed.clock, known };
        all.push(Published { scope: first.scope, handed: Arc::new(handed) });
    }
}

/// The narrower of two scopes.
trait Narrower {
    fn min_scope(self, other: Scope) -> Scope;
}

impl Narrower for Scope {
    fn min_scope(self, other: Scope) -> Scope {
        if (self as u8) < other as u8 { self } else { other }
    }
}
