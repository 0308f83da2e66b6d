//! How much the blocks of a grid have to do, for all of them, whichever are simulated.

use std::ops::Range;

/// Most ranges that a grid is counted in.
const RANGES: u64 = 1 << 12;

/// PTX instructions that the warps of a grid's blocks issue, by ranges of blocks of one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Blocks of a range; the last one may be shorter.
    each: u64,
    blocks: u64,
    sums: Vec<u64>,
}

impl Work {
    /// For a grid of so many blocks, nothing counted yet.
    pub fn new(blocks: u64) -> Self {
        let each = blocks.div_ceil(RANGES).max(1);
        Self { each, blocks, sums: vec![0; blocks.div_ceil(each) as usize] }
    }

    /// Counts the instructions of a block.
    pub fn add(&mut self, block: u64, instructions: u64) {
        if let Some(sum) = self.sums.get_mut((block / self.each) as usize) {
            *sum += instructions;
        }
    }

    /// Instructions of some blocks in a row. Of a range of which only a part is asked for, every block counts the same.
    pub fn of(&self, blocks: Range<u64>) -> f64 {
        let part = |(range, sum): (usize, &u64)| {
            let start = range as u64 * self.each;
            let end = (start + self.each).min(self.blocks);
            let common = end.min(blocks.end).saturating_sub(start.max(blocks.start));
            *sum as f64 * common as f64 / (end - start).max(1) as f64
        };
        self.sums.iter().enumerate().map(part).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_in_a_row_have_the_sum_of_their_work() {
        let mut small = Work::new(100);
        (0..100).for_each(|b| small.add(b, b));
        assert_eq!(small.of(10..20), (10..20).sum::<u64>() as f64);
        // Ranges of 25 blocks: of a part of one, its mean.
        let mut large = Work::new(25 << 12);
        (0..25 << 12).for_each(|b| large.add(b, b));
        assert_eq!(large.of(50..100), (50..100).sum::<u64>() as f64);
        assert_eq!(large.of(0..5), 5.0 * 12.0);
    }
}
