//! What moves bytes at a fixed rate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::time::FRACTION;

/// A server that moves bytes at a fixed rate, first come, first served.
#[derive(Debug, Clone)]
pub(super) struct Port {
    /// When it is free again, in 1/1024 clocks.
    pub free_at: u64,
    per_byte: f64,
    /// 1/1024 clocks in which it moved something.
    pub busy: u64,
    /// A clock that all who use it have come to, about. Some are ahead of it, and what they ask for keeps nobody who
    /// asks for something earlier.
    pub all_at: u64,
}

impl Port {
    pub fn new(bytes_per_clock: f64) -> Self {
        Self { free_at: 0, per_byte: FRACTION as f64 / bytes_per_clock, busy: 0, all_at: u64::MAX }
    }

    /// Queues a transfer at `now`; returns the clocks it has to wait.
    pub fn wait(&mut self, now: u64, bytes: u32) -> u64 {
        let start = self.free_at.max(now.min(self.all_at) * FRACTION);
        let time = (f64::from(bytes) * self.per_byte) as u64;
        self.free_at = start + time;
        self.busy += time;
        (start / FRACTION).saturating_sub(now)
    }
}

/// The way into L2 of stores and of what comes from device memory, where that is one of its own.
#[derive(Debug, Clone)]
pub(super) struct WayIn {
    pub port: Port,
    /// What is under way from device memory: when it arrives, and the bytes that it takes. Stores that come before
    /// it go first.
    coming: BinaryHeap<Reverse<(u64, u32)>>,
    coming_bytes: u64,
}

impl WayIn {
    pub fn new(bytes_per_clock: f64) -> Self {
        Self { port: Port::new(bytes_per_clock), coming: BinaryHeap::new(), coming_bytes: 0 }
    }

    /// Lets in what has come by `now`.
    fn let_in(&mut self, now: u64) {
        while let Some(Reverse((at, bytes))) = self.coming.peek().copied().filter(|c| c.0.0 <= now)
        {
            self.coming.pop();
            self.coming_bytes -= u64::from(bytes);
            self.port.wait(at, bytes);
        }
    }

    /// Queues a store; returns the clocks that it has to wait.
    pub fn store(&mut self, now: u64, bytes: u32) -> u64 {
        self.let_in(now);
        self.port.wait(now, bytes)
    }

    /// Something comes from device memory at a time; returns when it is in, if no more stores come.
    pub fn fill(&mut self, now: u64, at: u64, bytes: u32) -> u64 {
        self.let_in(now);
        self.coming.push(Reverse((at, bytes)));
        self.coming_bytes += u64::from(bytes);
        let before = self.port.free_at.max(now * FRACTION);
        let all = (self.coming_bytes as f64 * self.port.per_byte) as u64;
        at.max((before + all) / FRACTION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store need not wait for what is still on its way from device memory, but behind what has come.
    #[test]
    fn stores_wait_for_what_has_come() {
        let mut way = WayIn::new(32.0);
        assert_eq!(way.fill(0, 1000, 320), 1000);
        assert_eq!(way.fill(0, 1000, 320), 1000);
        assert_eq!(way.store(500, 32), 0);
        assert_eq!(way.store(1000, 32), 20);
        assert_eq!(way.store(1000, 32), 21);
        assert_eq!(way.port.busy, (20 + 3) * FRACTION);
    }

    /// What comes faster than the way takes it arrives late, at once with stores or alone.
    #[test]
    fn fills_arrive_at_the_rate_of_the_way() {
        let mut way = WayIn::new(32.0);
        let last = (0..100).map(|i| way.fill(i, 100, 64)).last();
        assert_eq!(last, Some(99 + 200));
        let mut way = WayIn::new(32.0);
        way.store(0, 3200);
        assert_eq!(way.fill(50, 60, 32), 101);
    }
}
