//! Which blocks of a large grid are simulated, and what they say of the others.
//!
//! The blocks that the device holds at once are simulated first. The rest of the grid is cut into strata, of which
//! each gives as many blocks in a row from its middle: what runs at the same time are neighbours in the grid, which
//! read what others read, and a grid whose work grows or shrinks is seen over its whole length.

use std::ops::Range;

use super::activity::Activity;
use crate::work::Work;

/// Most strata behind the first blocks.
const STRATA: u64 = 16;

/// What the pace of the first blocks alone may be off by, as a share: the others find caches that are full.
const COLD: f64 = 0.1;

/// Blocks of the grid in a row, some of which are simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stratum {
    /// All blocks.
    pub all: Range<u64>,
    /// Those that are simulated.
    pub taken: Range<u64>,
}

impl Stratum {
    /// A stratum whose blocks are all simulated.
    fn whole(blocks: Range<u64>) -> Self {
        Self { all: blocks.clone(), taken: blocks }
    }

    /// How many blocks it has, and how many of them are simulated.
    fn sizes(&self) -> (u64, u64) {
        let length = |range: &Range<u64>| range.end - range.start;
        (length(&self.all), length(&self.taken))
    }
}

/// What is simulated, in the grid's order.
#[derive(Debug, Clone, Default)]
pub(super) struct Strata {
    pub list: Vec<Stratum>,
    /// What the blocks have to do, once that is known.
    pub work: Option<Work>,
    at: usize,
    used: u64,
}

impl Strata {
    /// The first `least` blocks of the grid: all are simulated.
    pub fn new(least: u64) -> Self {
        Self { list: vec![Stratum::whole(0..least)], ..Self::default() }
    }

    /// Adds strata for the blocks behind the first ones, up to `end`, of which about `most` may be simulated: as many
    /// as fill the device some times. What is left out would fill it a whole number of times, so the last blocks meet a
    /// device as empty as at the grid's end.
    pub fn add(&mut self, end: u64, most: u64) {
        let Some(first) = self.list.first_mut() else { return };
        let start = first.all.end;
        let all = end - start;
        let places = start.max(1);
        let fills = most / places;
        let taken = (all % places).saturating_add(fills.saturating_mul(places));
        if taken == 0 {
            // The first ones stand for all.
            first.all.end = end;
            return;
        }
        if taken >= all {
            self.list.extend((all > 0).then(|| Stratum::whole(start..end)));
            return;
        }
        let strata = fills.clamp(1, STRATA);
        let part = |n: u64, s: u64| (u128::from(n) * u128::from(s) / u128::from(strata)) as u64;
        for s in 0..strata {
            let range = start + part(all, s)..start + part(all, s + 1);
            let taken = part(taken, s + 1) - part(taken, s);
            let first = range.start + (range.end - range.start - taken) / 2;
            self.list.push(Stratum { all: range, taken: first..first + taken });
        }
    }

    /// The blocks of the strata from a number on that are simulated.
    pub fn simulated(&self, from: usize) -> Vec<Range<u64>> {
        self.list.iter().skip(from).map(|s| s.taken.clone()).collect()
    }

    /// The next block that is simulated, and its stratum.
    pub fn next(&mut self) -> Option<(u64, usize)> {
        loop {
            let stratum = self.list.get(self.at)?;
            if self.used < stratum.sizes().1 {
                self.used += 1;
                return Some((stratum.taken.start + self.used - 1, self.at));
            }
            self.at += 1;
            self.used = 0;
        }
    }

    /// Blocks that are simulated.
    pub fn taken(&self) -> u64 {
        self.list.iter().map(|s| s.sizes().1).sum()
    }

    /// How much there is to do in some blocks: warp instructions, or blocks where these are not known.
    fn work_of(&self, blocks: &Range<u64>) -> f64 {
        let known = self.work.as_ref().map(|work| work.of(blocks.clone())).filter(|w| *w > 0.0);
        known.unwrap_or((blocks.end - blocks.start) as f64)
    }

    /// What the simulated blocks of a stratum count for.
    pub fn weight(&self, stratum: usize) -> f64 {
        let whole = |s: &Stratum| match s.all == s.taken {
            true => 1.0,
            false => self.work_of(&s.all) / self.work_of(&s.taken).max(1.0),
        };
        self.list.get(stratum).map_or(1.0, whole)
    }
}

/// A moment up to which the device was full: a block ends, and mostly another takes its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Refill {
    /// The clock at which the first one ended.
    pub at: u64,
    /// Issue slots that all SMs had used by then.
    pub slots: u64,
    /// Issue slots of the block that ended and of the one that starts.
    pub ended: u64,
    pub started: u64,
}

/// What is known of the simulated blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct Observed {
    /// Number of each stratum and the issue slots of each of its blocks, in the order of their starts.
    pub work: Vec<(usize, f64)>,
    pub refills: Vec<Refill>,
    pub progress: Activity,
    /// The first clock of the first block.
    pub start: u64,
    /// Clocks that a place is empty between two blocks.
    pub turnaround: f64,
}

impl Observed {
    /// Clocks that a place takes for an issue slot while all `places` are taken, and what that may be off
    /// by as a share. What a place needs to change from one block to the next counts apart.
    ///
    /// Blocks that start together go through their phases together, and the first ones start cold. So
    /// the pace is taken between two moments that are a whole generation of blocks apart, where enough
    /// were simulated; else from the start. Other ways to measure it say how sure that is.
    fn pace(&self, places: usize) -> Option<(f64, f64)> {
        let mut marks = self.refills.clone();
        marks.sort_unstable_by_key(|r| (r.at, r.slots));
        let end = marks.len().checked_sub(1)?;
        let last = marks[end];
        let all = self.busy(places, self.start, last.at, end + 1, last.slots as f64)?;
        let Some(from) = end.checked_sub(places) else {
            // How the later half of the first blocks went.
            let half = self.progress.before(self.start.midpoint(last.at));
            let slots = last.slots.saturating_sub(half.slots) as f64;
            let late = self.busy(places, half.clock, last.at, end + 1, slots);
            let off = (late.unwrap_or(all) - all).abs() / all.max(f64::MIN_POSITIVE);
            return Some((all, (2.0 * off).clamp(COLD, 1.0)));
        };
        let since = |from: usize| {
            let slots = (last.slots - marks[from].slots) as f64;
            self.busy(places, marks[from].at, last.at, end - from, slots)
        };
        let pace = since(from)?;
        // By blocks: what started is ahead of what was done, what ended behind it.
        let both: u64 = marks[from + 1..].iter().map(|m| m.started + m.ended).sum();
        let blocks = self.busy(places, marks[from].at, last.at, end - from, both as f64 / 2.0);
        let others = [Some(all), since(0), blocks];
        let off = others.iter().flatten().map(|o| (pace - o).abs()).fold(0.0, f64::max);
        Some((pace, (2.0 * off / pace.max(f64::MIN_POSITIVE)).min(1.0)))
    }

    /// Clocks of a place for an issue slot, between two clocks.
    fn busy(&self, places: usize, from: u64, to: u64, changes: usize, slots: f64) -> Option<f64> {
        let clocks = places as f64 * to.saturating_sub(from) as f64;
        let busy = (clocks - changes as f64 * self.turnaround).max(0.0);
        (slots > 0.0).then(|| busy / slots)
    }
}

/// The blocks that were not simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rest {
    /// Clocks that they take when all places are taken, and a bound on what that is off by.
    pub clocks: f64,
    pub error: f64,
    /// How many there are.
    pub blocks: u64,
}

/// Estimates the blocks that were not simulated: their work from what all blocks of their stratum have to do, and its
/// pace from the time in which the device was full. Durations of single blocks would not do: the last ones run on an
/// emptying device, beside blocks of other strata.
pub(super) fn rest(strata: &Strata, observed: &Observed) -> Rest {
    // Issue slots of each stratum's simulated blocks: sum, variance of a block, and number.
    let of = |stratum: usize| {
        let list: Vec<f64> = observed.work.iter().filter(|w| w.0 == stratum).map(|w| w.1).collect();
        let (sum, n) = (list.iter().sum::<f64>(), list.len() as f64);
        let squares = list.iter().map(|d| (d - sum / n.max(1.0)).powi(2)).sum::<f64>();
        (sum, squares / (n - 1.0).max(1.0), n)
    };
    let found: Vec<(f64, f64, f64)> = (0..strata.list.len()).map(of).collect();
    // Issue slots for what there is to do.
    let ratio = |i: usize| {
        let taken = strata.list.get(i).map_or(0.0, |s| strata.work_of(&s.taken));
        found.get(i).filter(|_| taken > 0.0).map(|f| f.0 / taken)
    };
    let (mut blocks, mut slots, mut off, mut variance) = (0, 0.0, 0.0, 0.0);
    for (i, (stratum, &(_, spread, n))) in strata.list.iter().zip(&found).enumerate() {
        let (all, taken) = stratum.sizes();
        let missing = all - taken;
        if missing == 0 {
            continue;
        }
        blocks += missing;
        let work = strata.work_of(&stratum.all) - strata.work_of(&stratum.taken);
        let own = ratio(i).unwrap_or_default();
        slots += work * own;
        // Within a stratum it may bend away from the line through its neighbours.
        let before = ratio(i.wrapping_sub(1)).unwrap_or(own);
        let after = ratio(i + 1).unwrap_or(2.0 * own - before);
        off += work * (before + after - 2.0 * own).abs() / 8.0;
        // Where blocks say how much they have to do, chance has no part in it.
        if strata.work.is_none() {
            variance += (missing * missing) as f64 * spread / n.max(1.0);
        }
    }
    off += 2.0 * variance.sqrt();
    let places = strata.list.first().map_or(0, |s| s.sizes().1) as usize;
    let (pace, share) = observed.pace(places).unwrap_or_default();
    let each = 1.0 / places.max(1) as f64;
    Rest {
        clocks: (slots * pace + blocks as f64 * observed.turnaround) * each,
        error: (off + slots * share) * pace * each,
        blocks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stratum_gives_blocks_from_its_middle() {
        let mut strata = Strata::new(10);
        strata.add(1614, 35);
        let given: Vec<u64> =
            std::iter::from_fn(|| strata.next()).map(|(block, _)| block).collect();
        // Three times what the device holds, and the four that are left at the end.
        assert_eq!(given.len(), 44);
        assert!(given.is_sorted());
        assert_eq!(strata.simulated(1), [271..282, 806..817, 1340..1352]);
        assert_eq!(strata.list.iter().map(|s| s.sizes().0).sum::<u64>(), 1614);
    }

    /// Work that grows with the block's number: the estimate is exact and its bound small.
    #[test]
    fn a_triangle_is_met() {
        let mut strata = Strata::new(8);
        strata.add(8008, 160);
        let mut observed = Observed::default();
        let mut slots = 0;
        while let Some((block, stratum)) = strata.next() {
            // Two clocks for a slot.
            let work = block * 10 + 100;
            let at = slots * 2;
            observed.refills.push(Refill { at, slots, ended: work, started: work });
            observed.work.push((stratum, work as f64));
            slots += work;
        }
        let truth: f64 = (8..8008).map(|b: u64| (b * 10 + 100) as f64).sum();
        let taken: f64 = observed.work.iter().filter(|w| w.0 > 0).map(|w| w.1).sum();
        let found = rest(&strata, &observed);
        let clocks = (truth - taken) * 2.0;
        assert!((found.clocks - clocks).abs() < 0.001 * clocks, "{found:?}, {clocks}");
        assert!(found.error < 0.05 * clocks);
    }

    /// A pace that changes on the way shows in the bound.
    #[test]
    fn a_changing_pace_is_uncertain() {
        let steady = |late: u64| Observed {
            refills: (1..100_u64)
                .map(|i| Refill {
                    at: i * 10 + i.saturating_sub(50) * late,
                    slots: i,
                    ended: 1,
                    started: 1,
                })
                .collect(),
            ..Observed::default()
        };
        assert!(steady(0).pace(40).unwrap().1 < 0.01);
        assert!(steady(10).pace(40).unwrap().1 > 0.2);
    }
}
