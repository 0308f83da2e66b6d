//! What a thread knows of others: for each, up to which of its clock values everything that it did happened before.
//!
//! A block of `n` threads has `2 n` *actors*: each thread, and for each thread the agent that carries out its
//! asynchronous copies. What is known of the own block stands in one array, which a barrier makes once for all of its
//! threads; what is known of the own warp beyond that in a small one, so that a warp's synchronisation is cheap; other
//! blocks are known only through atomics, fences and cluster barriers.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Clock values by actor of a block.
pub(crate) type Clocks = Arc<[u32]>;

/// Whose knowledge it is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Home {
    pub block: u32,
    /// Thread in the block.
    pub thread: u32,
    /// Threads of a block.
    pub threads: u32,
}

impl Home {
    fn warp(self) -> u32 {
        self.thread / 32
    }
}

/// What one thread knows.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Of all threads of the own block, beside what the arrays say.
    pub floor: u32,
    own: Clocks,
    /// Of the own warp: 32 threads, then their agents.
    warp: Option<Arc<[u32; 64]>>,
    others: Option<Arc<BTreeMap<u32, Clocks>>>,
}

/// What a thread hands over: its knowledge and its own clock.
#[derive(Clone, Debug)]
pub(crate) struct Handed {
    pub home: Home,
    pub clock: u32,
    pub known: Known,
}

/// Raises clock values to those of `by`.
fn raise(clocks: &mut Clocks, by: &Clocks) {
    if Arc::ptr_eq(clocks, by) || by.iter().zip(clocks.iter()).all(|(b, a)| b <= a) {
        return;
    }
    if clocks.iter().zip(by.iter()).all(|(a, b)| a <= b) {
        *clocks = Arc::clone(by);
        return;
    }
    let own = Arc::make_mut(clocks);
    own.iter_mut().zip(by.iter()).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Known {
    /// Nothing, in a block of `threads` threads.
    pub(crate) fn nothing(threads: u32) -> Known {
        Known { floor: 0, own: vec![0; 2 * threads as usize].into(), warp: None, others: None }
    }

    /// What is known of an actor.
    pub(crate) fn of(&self, home: Home, block: u32, actor: u32) -> u32 {
        if block != home.block {
            let clocks = self.others.as_ref().and_then(|o| o.get(&block));
            return clocks.and_then(|c| c.get(actor as usize).copied()).unwrap_or(0);
        }
        let floor = if actor < home.threads { self.floor } else { 0 };
        let base = self.own[actor as usize].max(floor);
        match &self.warp {
            Some(warp) if actor % home.threads / 32 == home.warp() => {
                let agent = (actor >= home.threads) as u32 * 32;
                base.max(warp[(actor % home.threads % 32 + agent) as usize])
            }
            _ => base,
        }
    }

    /// Raises what is known of an actor of the own block.
    pub(crate) fn learn(&mut self, home: Home, actor: u32, clock: u32) {
        if actor % home.threads / 32 == home.warp() {
            let warp = self.warp.get_or_insert_with(|| Arc::new([0; 64]));
            let agent = (actor >= home.threads) as u32 * 32;
            let at = &mut Arc::make_mut(warp)[(actor % home.threads % 32 + agent) as usize];
            *at = (*at).max(clock);
        } else if self.own[actor as usize] < clock {
            Arc::make_mut(&mut self.own)[actor as usize] = clock;
        }
    }

    /// Whether it says something of other blocks.
    pub(crate) fn of_others(&self) -> bool {
        self.others.is_some()
    }

    /// The clock values of the own block with those of the warp.
    fn flat(&self, home: Home) -> Clocks {
        let mut own = Arc::clone(&self.own);
        if self.floor != 0 {
            let threads = &mut Arc::make_mut(&mut own)[..home.threads as usize];
            threads.iter_mut().for_each(|clock| *clock = (*clock).max(self.floor));
        }
        let Some(warp) = &self.warp else { return own };
        let clocks = Arc::make_mut(&mut own);
        let first = home.warp() * 32;
        for lane in 0..32.min(home.threads - first) {
            for (agent, at) in [(0, first + lane), (32, home.threads + first + lane)] {
                let clock = &mut clocks[at as usize];
                *clock = (*clock).max(warp[(lane + agent) as usize]);
            }
        }
        own
    }

    fn raise_block(&mut self, home: Home, block: u32, by: &Clocks) {
        if block == home.block {
            return raise(&mut self.own, by);
        }
        let others = Arc::make_mut(self.others.get_or_insert_default());
        match others.get_mut(&block) {
            Some(clocks) => raise(clocks, by),
            None => drop(others.insert(block, Arc::clone(by))),
        }
    }

    /// Takes over what was handed.
    pub(crate) fn join(&mut self, home: Home, handed: &Handed) {
        let from = handed.home;
        if from.block == home.block {
            self.floor = self.floor.max(handed.known.floor);
            if from.warp() == home.warp() {
                raise(&mut self.own, &handed.known.own);
                if let Some(by) = &handed.known.warp {
                    let warp = self.warp.get_or_insert_with(|| Arc::new([0; 64]));
                    if !Arc::ptr_eq(warp, by) {
                        let warp = Arc::make_mut(warp);
                        warp.iter_mut().zip(by.iter()).for_each(|(a, b)| *a = (*a).max(*b));
                    }
                }
            } else {
                raise(&mut self.own, &handed.known.flat(from));
            }
            self.learn(home, from.thread, handed.clock);
        } else {
            let mut clocks = handed.known.flat(from);
            Arc::make_mut(&mut clocks)[from.thread as usize] = handed.clock;
            self.raise_block(home, from.block, &clocks);
        }
        if let Some(by) = &handed.known.others {
            if self.others.as_ref().is_some_and(|own| Arc::ptr_eq(own, by)) {
                return;
            }
            for (block, clocks) in by.iter() {
                self.raise_block(home, *block, clocks);
            }
        }
    }
}

/// What the threads that arrive at a barrier of a block bring.
#[derive(Clone, Debug)]
pub(crate) struct Gathered {
    floor: u32,
    own: Vec<u32>,
    /// The array that was added last.
    last: Option<Clocks>,
    last_warp: Option<Arc<[u32; 64]>>,
    others: Option<Arc<BTreeMap<u32, Clocks>>>,
}

impl Gathered {
    pub(crate) fn new(threads: u32) -> Gathered {
        let own = vec![0; 2 * threads as usize];
        Gathered { floor: 0, own, last: None, last_warp: None, others: None }
    }

    /// A thread of the block arrives.
    pub(crate) fn add(&mut self, handed: &Handed) {
        let Handed { home, clock, known } = handed;
        self.floor = self.floor.max(known.floor);
        if !self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &known.own)) {
            self.own.iter_mut().zip(known.own.iter()).for_each(|(a, b)| *a = (*a).max(*b));
            self.last = Some(Arc::clone(&known.own));
        }
        if let Some(warp) = &known.warp
            && !self.last_warp.as_ref().is_some_and(|last| Arc::ptr_eq(last, warp))
        {
            let first = home.warp() * 32;
            for lane in 0..32.min(home.threads - first) {
                for (agent, at) in [(0, first + lane), (32, home.threads + first + lane)] {
                    let own = &mut self.own[at as usize];
                    *own = (*own).max(warp[(lane + agent) as usize]);
                }
            }
            self.last_warp = Some(Arc::clone(warp));
        }
        let own = &mut self.own[home.thread as usize];
        *own = (*own).max(*clock);
        match (&mut self.others, &known.others) {
            (_, None) => {}
            (Some(own), Some(by)) if Arc::ptr_eq(own, by) => {}
            (None, Some(by)) => self.others = Some(Arc::clone(by)),
            (Some(own), Some(by)) => {
                let own = Arc::make_mut(own);
                for (block, clocks) in by.iter() {
                    match own.get_mut(block) {
                        Some(known) => raise(known, clocks),
                        None => drop(own.insert(*block, Arc::clone(clocks))),
                    }
                }
            }
        }
    }

    /// What all of them know afterwards.
    pub(crate) fn known(&self) -> Known {
        let others = self.others.clone();
        Known { floor: self.floor, own: self.own.as_slice().into(), warp: None, others }
    }
}

impl Known {
    /// Takes over what a barrier gathered. The thread arrived there itself; what it learned since stays.
    pub(crate) fn meet(&mut self, all: &Known) {
        self.floor = self.floor.max(all.floor);
        raise(&mut self.own, &all.own);
        if let Some(by) = &all.others {
            match &mut self.others {
                Some(own) if Arc::ptr_eq(own, by) => {}
                Some(own) => {
                    let own = Arc::make_mut(own);
                    for (block, clocks) in by.iter() {
                        match own.get_mut(block) {
                            Some(known) => raise(known, clocks),
                            None => drop(own.insert(*block, Arc::clone(clocks))),
                        }
                    }
                }
                None => self.others = Some(Arc::clone(by)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(block: u32, thread: u32) -> Home {
        Home { block, thread, threads: 64 }
    }

    #[test]
    fn knowledge_is_handed_on() {
        let mut a = Known::nothing(64);
        a.learn(home(0, 1), 2, 7);
        a.learn(home(0, 1), 40, 3);
        let from_a = Handed { home: home(0, 1), clock: 5, known: a };
        // Same warp, other warp, other block.
        for (block, thread) in [(0, 9), (0, 33), (4, 0)] {
            let at = home(block, thread);
            let mut b = Known::nothing(64);
            b.join(at, &from_a);
            let of = |actor| b.of(at, 0, actor);
            assert_eq!((of(1), of(2), of(40), of(3)), (5, 7, 3, 0), "{block} {thread}");
        }
    }

    #[test]
    fn a_floor_holds_for_threads_and_is_handed_on() {
        let mut a = Known::nothing(64);
        a.floor = 9;
        let all = {
            let mut all = Gathered::new(64);
            all.add(&Handed { home: home(0, 2), clock: 12, known: a.clone() });
            all.known()
        };
        for (block, thread) in [(0, 3), (0, 40), (1, 0)] {
            let at = home(block, thread);
            let mut joined = Known::nothing(64);
            joined.join(at, &Handed { home: home(0, 2), clock: 12, known: a.clone() });
            let of = |actor| joined.of(at, 0, actor);
            // Agents are not meant: a thread must have waited for its copies.
            assert_eq!((of(2), of(50), of(64 + 2)), (12, 9, 0), "{block} {thread}");
        }
        let at = home(0, 5);
        let mut met = Known::nothing(64);
        met.meet(&all);
        assert_eq!((met.of(at, 0, 2), met.of(at, 0, 50), met.of(at, 0, 66)), (12, 9, 0));
    }

    #[test]
    fn a_barrier_gathers_everything() {
        let mut a = Known::nothing(64);
        a.learn(home(0, 1), 64 + 1, 2);
        let b = Known::nothing(64);
        let mut all = Gathered::new(64);
        all.add(&Handed { home: home(0, 1), clock: 4, known: a });
        all.add(&Handed { home: home(0, 50), clock: 6, known: b.clone() });
        let mut c = b;
        c.meet(&all.known());
        let of = |actor| c.of(home(0, 50), 0, actor);
        assert_eq!((of(1), of(50), of(65), of(2)), (4, 6, 2, 0));
    }
}
