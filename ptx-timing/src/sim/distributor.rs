//! Who gives new blocks to SMs.

use super::time::FRACTION;

/// What gives SMs new blocks in the place of those that ended: one after the other, for all SMs.
pub(super) struct Distributor {
    sms: u64,
    /// When it can give out the next block, in 1/1024 clocks.
    free_at: u64,
    /// The clock that all SMs have come to.
    pub all_at: u64,
}

impl Distributor {
    pub fn new(sms: u32) -> Self {
        Self { sms: sms.max(1).into(), free_at: 0, all_at: u64::MAX }
    }

    /// When the block starts that could at `earliest`, if an SM would get one every `gap` clocks. Some SMs are ahead of
    /// others, and who asks late does not lose its turn.
    pub fn start(&mut self, earliest: u64, gap: u32) -> u64 {
        let start = self.free_at.max(earliest.min(self.all_at) * FRACTION);
        self.free_at = start + u64::from(gap) * FRACTION / self.sms;
        earliest.max(start / FRACTION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that end all at once start one after the other; single ones start at once.
    #[test]
    fn blocks_start_at_the_pace_of_all_sms() {
        let mut distributor = Distributor::new(100);
        let starts: Vec<u64> = (0..200).map(|_| distributor.start(5000, 160)).collect();
        assert_eq!(starts[0], 5000);
        // 1.6 clocks each.
        assert_eq!(starts[199], 5318);
        assert!(starts.is_sorted());
        assert_eq!(distributor.start(9000, 160), 9000);
        assert_eq!(distributor.start(9900, 160), 9900);
    }

    /// An SM that is behind another asks later for an earlier start, and gets it.
    #[test]
    fn who_asks_late_does_not_lose_its_turn() {
        let mut distributor = Distributor::new(132);
        distributor.all_at = 1000;
        assert_eq!(distributor.start(1031, 160), 1031);
        assert_eq!(distributor.start(1003, 160), 1003);
    }
}
