//! Where the threads of a block are that meet others.

use ptx_isa::barrier::Barrier;

use crate::ctx::DONE;

/// Barriers of a block (PTX ISA 9.7.13.1).
pub(crate) const BARRIERS: usize = 16;

/// Warps of a warpgroup.
const WARPGROUP: usize = 4;

/// What a thread waits for.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum State {
    /// Nothing: it runs, or has ended.
    #[default]
    Runs,
    /// A barrier of the block.
    Bar(u8),
    /// The barrier of the cluster.
    Cluster,
    /// The lanes of this mask.
    Sync(u32),
    /// The warpgroup's warps to come to so many products.
    Product(u32),
    /// The warpgroup's warps to have committed so many groups.
    Products(u32),
    /// The threads of its warp, to print before those that come later.
    Turn,
}

/// The threads of a block.
#[derive(Default)]
pub(crate) struct Places {
    /// Lanes that have not ended, by warp.
    pub live: Vec<u32>,
    /// By thread: the number of the place where it stopped (from 1 on), and what it waits for.
    pub at: Vec<u32>,
    pub state: Vec<State>,
    pub bars: Vec<Barrier>,
    /// By warp: lanes at the barrier of the cluster, products that it came to, groups of them that it committed.
    pub cluster: Vec<u32>,
    pub came: Vec<u32>,
    pub committed: Vec<u32>,
}

impl Places {
    /// A block of `threads` begins.
    pub(crate) fn start(&mut self, threads: usize) {
        let warps = threads.div_ceil(32);
        self.live.clear();
        self.live.extend((0..warps).map(|w| {
            let left = threads - 32 * w;
            if left >= 32 { u32::MAX } else { (1 << left) - 1 }
        }));
        self.at.clear();
        self.at.resize(threads, 0);
        self.state.clear();
        self.state.resize(threads, State::Runs);
        self.bars.resize_with(BARRIERS, Barrier::default);
        self.bars.iter_mut().for_each(|b| b.reset(warps));
        for list in [&mut self.cluster, &mut self.came, &mut self.committed] {
            list.clear();
            list.resize(warps, 0);
        }
    }

    pub(crate) fn warps(&self) -> usize {
        self.live.len()
    }

    /// Lanes of warp `w` in a state.
    pub(crate) fn lanes(&self, w: usize, is: impl Fn(State) -> bool) -> u32 {
        let states = self.state.iter().skip(32 * w).take(32).enumerate();
        states.filter(|(_, s)| is(**s)).fold(0, |m, (l, _)| m | 1 << l)
    }

    /// Those of `lanes` of warp `w` that stopped at the same place as the first of them, and that place.
    pub(crate) fn together(&self, w: usize, lanes: u32) -> (u32, u32) {
        let at = |l: u32| self.at[32 * w + l as usize];
        let place = at(lanes.trailing_zeros() & 31);
        let same = (0..32).filter(|l| lanes >> l & 1 != 0 && at(*l) == place);
        (place, same.fold(0, |m, l| m | 1 << l))
    }

    /// Threads that have stopped since the last look, by warp and place. Those that have ended are no longer live.
    /// `resume` is where the code says that each goes on; `places` how many places there are.
    pub(crate) fn arrivals(&mut self, resume: &mut [u32], places: usize) -> Vec<(usize, u32, u32)> {
        let mut new: Vec<(usize, u32, u32)> = Vec::new();
        for (t, r) in resume.iter_mut().enumerate() {
            let (w, bit) = (t / 32, 1u32 << (t % 32));
            if *r == DONE {
                if self.at[t] == 0 {
                    self.live[w] &= !bit;
                }
            } else if (1..=places).contains(&(*r as usize)) {
                self.at[t] = *r;
                match new.iter_mut().rev().take_while(|n| n.0 == w).find(|n| n.1 == *r) {
                    Some(known) => known.2 |= bit,
                    None => new.push((w, *r, bit)),
                }
                *r = DONE;
            }
        }
        new
    }

    /// Lets lanes of a warp go on.
    pub(crate) fn let_go(&mut self, resume: &mut [u32], w: usize, lanes: u32) {
        for l in (0..32).filter(|l| lanes >> l & 1 != 0) {
            let t = 32 * w + l;
            resume[t] = std::mem::take(&mut self.at[t]);
            self.state[t] = State::Runs;
        }
    }

    /// Whether something holds for every warp of a warp's warpgroup that has not ended.
    pub(crate) fn warpgroup(&self, w: usize, holds: impl Fn(usize) -> bool) -> bool {
        let first = w / WARPGROUP * WARPGROUP;
        (first..self.warps().min(first + WARPGROUP)).all(|w| self.live[w] == 0 || holds(w))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_stop_go_on_and_end() {
        let mut places = Places::default();
        places.start(40);
        assert_eq!(places.live, [u32::MAX, 0xff]);
        let mut resume = vec![1; 40];
        resume[3] = 2;
        resume[39] = DONE;
        let new = places.arrivals(&mut resume, 2);
        assert_eq!(new, [(0, 1, !8), (0, 2, 8), (1, 1, 0x7f)]);
        assert_eq!(places.live, [u32::MAX, 0x7f]);
        assert!(resume.iter().all(|r| *r == DONE));
        assert!(places.arrivals(&mut resume, 2).is_empty());
        assert_eq!(places.together(0, 0xf), (1, 7));
        places.let_go(&mut resume, 0, 8);
        assert_eq!((resume[3], places.at[3]), (2, 0));
        // A number behind the places is a loop.
        resume[3] = 3;
        assert!(places.arrivals(&mut resume, 2).is_empty());
        assert_eq!((resume[3], places.live[0]), (3, u32::MAX));
    }
}
