//! What the device did over time: what it had done by some clocks, one as far from the next as another.

/// What had been done by a clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The clock.
    pub clock: u64,
    /// Issue slots that all SMs had used.
    pub slots: u64,
    /// Bytes that device memory had moved.
    pub dram: u64,
    /// Blocks that were resident then.
    pub blocks: u64,
}

/// A thousand marks or fewer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Activity {
    pub marks: Vec<Mark>,
    apart: u64,
}

impl Activity {
    const MOST: usize = 1024;

    /// Takes note at a clock, if it is far enough from the last one; clocks come in order.
    pub fn note(&mut self, now: u64, mark: impl FnOnce() -> Mark) {
        if self.marks.last().is_some_and(|last| now < last.clock + self.apart) {
            return;
        }
        if self.marks.len() == Self::MOST {
            let mut number = 0;
            self.marks.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.apart = (2 * self.apart).max(1);
        }
        self.marks.push(Mark { clock: now, ..mark() });
    }

    /// The last mark before a clock.
    pub fn before(&self, clock: u64) -> Mark {
        let behind = self.marks.partition_point(|mark| mark.clock < clock);
        behind.checked_sub(1).map(|at| self.marks[at]).unwrap_or_default()
    }

    /// Marks at the ends of so many spans of one length or fewer, up to `last`: what was done in the end.
    pub fn spans(&self, most: u64, last: Mark) -> Vec<Mark> {
        let length = last.clock.div_ceil(most).max(1);
        let mut out: Vec<Mark> = (1..most)
            .map(|n| n * length)
            .take_while(|clock| *clock < last.clock)
            .map(|clock| Mark { clock, ..self.at(clock) })
            .collect();
        out.push(last);
        out
    }

    /// What was done by a clock: between two marks, evenly.
    fn at(&self, clock: u64) -> Mark {
        let before = self.before(clock);
        let behind = self.marks.partition_point(|mark| mark.clock < clock);
        let Some(after) = self.marks.get(behind) else { return before };
        let share = (clock - before.clock) as f64 / (after.clock - before.clock).max(1) as f64;
        let part = |from: u64, to: u64| from + (to.saturating_sub(from) as f64 * share) as u64;
        Mark {
            clock,
            slots: part(before.slots, after.slots),
            dram: part(before.dram, after.dram),
            blocks: before.blocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many clocks there are, what was done in the spans adds up to all, and each span has its own.
    #[test]
    fn spans_add_up() {
        let mut activity = Activity::default();
        // Two slots a clock in the first half, none in the second.
        let done =
            |clock: u64| Mark { clock, slots: 2 * clock.min(5_000), dram: 64 * clock, blocks: 3 };
        (0..10_000).for_each(|clock| activity.note(clock, || done(clock)));
        assert!(activity.marks.len() <= Activity::MOST);
        let spans = activity.spans(20, done(10_000));
        assert_eq!(spans.len(), 20);
        assert_eq!(spans[19], done(10_000));
        for (n, mark) in (1..).zip(&spans[..19]) {
            let expected = done(500 * n);
            assert_eq!(mark.clock, expected.clock);
            assert!(mark.slots.abs_diff(expected.slots) <= 32, "{mark:?}");
            assert!(mark.dram.abs_diff(expected.dram) <= 1024, "{mark:?}");
            assert_eq!(mark.blocks, 3);
        }
        // A short launch has fewer clocks than spans.
        assert_eq!(Activity::default().spans(20, done(3)).len(), 3);
    }
}
