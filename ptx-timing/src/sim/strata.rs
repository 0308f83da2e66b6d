//! Which blocks of a large grid are simulated, and what they say of the others.
//!
//! The blocks that the device holds at once are simulated first. The rest of the grid is cut into
//! strata of equal size, of which each gives the same number of blocks in a row from its middle. So a
//! grid whose work grows or shrinks from its first block to its last is seen over its whole length,
//! and what grows evenly within a stratum is met exactly by its middle.

/// Strata behind the first blocks.
const STRATA: u64 = 16;

/// Blocks of the grid in a row, some of which are simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stratum {
    /// All blocks.
    pub size: u64,
    /// The first that is simulated, and how many.
    pub first: u64,
    pub taken: u64,
}

/// What is simulated, in the grid's order.
#[derive(Debug, Clone, Default)]
pub(super) struct Strata {
    pub list: Vec<Stratum>,
    at: usize,
    used: u64,
}

impl Strata {
    /// The first `least` blocks of the grid: all are simulated.
    pub fn new(least: u64) -> Self {
        Self { list: vec![Stratum { size: least, first: 0, taken: least }], at: 0, used: 0 }
    }

    /// Adds strata for the blocks `start..end`, of which about `most` may be simulated.
    pub fn add(&mut self, start: u64, end: u64, most: u64) {
        let all = end - start;
        if all == 0 {
            return;
        }
        if most >= all {
            self.list.push(Stratum { size: all, first: start, taken: all });
            return;
        }
        let strata = STRATA.min(all);
        let each = (most / strata).max(1);
        for s in 0..strata {
            let (from, to) = (start + all * s / strata, start + all * (s + 1) / strata);
            let taken = each.min(to - from);
            self.list.push(Stratum {
                size: to - from,
                first: from + (to - from - taken) / 2,
                taken,
            });
        }
    }

    /// The next block that is simulated, and its stratum.
    pub fn next(&mut self) -> Option<(u64, usize)> {
        loop {
            let stratum = self.list.get(self.at)?;
            if self.used < stratum.taken {
                self.used += 1;
                return Some((stratum.first + self.used - 1, self.at));
            }
            self.at += 1;
            self.used = 0;
        }
    }

    /// Whether the blocks of all strata so far have been given out.
    pub fn exhausted(&self) -> bool {
        let done = |s: &Stratum| self.used >= s.taken;
        match self.list.get(self.at) {
            Some(s) => self.at + 1 == self.list.len() && done(s),
            None => true,
        }
    }

    /// Blocks that are simulated.
    pub fn taken(&self) -> u64 {
        self.list.iter().map(|s| s.taken).sum()
    }

    /// What the simulated blocks of a stratum count for.
    pub fn weight(&self, stratum: usize) -> f64 {
        self.list.get(stratum).map_or(1.0, |s| s.size as f64 / s.taken.max(1) as f64)
    }
}

/// A moment at which a block took the place of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Refill {
    /// The clock at which the other one ended.
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
    /// were simulated; else from the start.
    fn pace(&self, places: usize) -> Option<(f64, f64)> {
        let mut marks = self.refills.clone();
        marks.sort_unstable_by_key(|r| (r.at, r.slots));
        let end = marks.len().checked_sub(1)?;
        // Since a mark, or the start.
        let since = |from: Option<usize>| {
            let (at, slots, changes) = match from {
                Some(i) => (marks[i].at, marks[i].slots, end - i),
                None => (self.start, 0, end + 1),
            };
            self.busy(places, at, marks[end].at, changes, (marks[end].slots - slots) as f64)
        };
        let all = since(None)?;
        let generation = end.checked_sub(places);
        let pace = generation.and_then(|from| since(Some(from))).unwrap_or(all);
        // Other ways to measure it say how sure this one is. By blocks: what started is ahead of what
        // was done, what ended behind it.
        let from = generation.unwrap_or(0);
        let both: u64 = marks[from + 1..].iter().map(|m| m.started + m.ended).sum();
        let blocks =
            self.busy(places, marks[from].at, marks[end].at, end - from, both as f64 / 2.0);
        let others = [Some(all), since(Some(0)), blocks];
        let off = others.iter().flatten().map(|o| (pace - o).abs()).fold(0.0, f64::max);
        Some((pace, 2.0 * off / pace.max(f64::MIN_POSITIVE)))
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

/// Estimates the blocks that were not simulated: their work from their strata's, and its pace from the
/// time in which the device was full. Durations of single blocks would not do: the last ones run on an
/// emptying device, beside blocks of other strata.
pub(super) fn rest(strata: &Strata, observed: &Observed) -> Rest {
    // Mean, variance and number of each stratum.
    let of = |stratum: usize| {
        let list: Vec<f64> = observed.work.iter().filter(|w| w.0 == stratum).map(|w| w.1).collect();
        let n = list.len() as f64;
        let mean = list.iter().sum::<f64>() / n.max(1.0);
        let sum = list.iter().map(|d| (d - mean).powi(2)).sum::<f64>();
        (mean, sum / (n - 1.0).max(1.0), n)
    };
    let found: Vec<(f64, f64, f64)> = (0..strata.list.len()).map(of).collect();
    // A stratum with one block borrows the spread of the others.
    let many = found.iter().filter(|f| f.2 > 1.0);
    let spread = many.clone().map(|f| f.1).sum::<f64>() / many.count().max(1) as f64;
    let (mut blocks, mut slots, mut off, mut variance) = (0, 0.0, 0.0, 0.0);
    for (i, (stratum, &(mean, own, n))) in strata.list.iter().zip(&found).enumerate() {
        let missing = stratum.size - stratum.taken;
        if missing == 0 {
            continue;
        }
        let m = missing as f64;
        blocks += missing;
        slots += m * mean;
        variance += m * m * (if n > 1.0 { own } else { spread }) / n.max(1.0);
        // Within a stratum the work may bend away from the line through its neighbours.
        let before = found.get(i.wrapping_sub(1)).map_or(mean, |f| f.0);
        let after = found.get(i + 1).map_or(2.0 * mean - before, |f| f.0);
        off += m * (before + after - 2.0 * mean).abs() / 8.0;
    }
    off += 2.0 * variance.sqrt();
    let places = strata.list.first().map_or(0, |s| s.size) as usize;
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
        strata.add(10, 1610, 32);
        let given: Vec<u64> =
            std::iter::from_fn(|| strata.next()).map(|(block, _)| block).collect();
        assert_eq!(given.len(), 42);
        assert!(given.is_sorted());
        assert_eq!(&given[10..14], &[59, 60, 159, 160]);
        assert_eq!(strata.list.iter().map(|s| s.size).sum::<u64>(), 1610);
        assert!(strata.exhausted());
    }

    /// Work that grows with the block's number: the estimate is exact and its bound small.
    #[test]
    fn a_triangle_is_met() {
        let mut strata = Strata::new(8);
        strata.add(8, 8008, 160);
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
            work: Vec::new(),
            start: 0,
            turnaround: 0.0,
            refills: (1..100_u64)
                .map(|i| Refill {
                    at: i * 10 + i.saturating_sub(50) * late,
                    slots: i,
                    ended: 1,
                    started: 1,
                })
                .collect(),
        };
        assert!(steady(0).pace(40).unwrap().1 < 0.01);
        assert!(steady(10).pace(40).unwrap().1 > 0.2);
    }
}
