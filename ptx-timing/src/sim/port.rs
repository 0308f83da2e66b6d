//! What moves bytes at a fixed rate.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

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
        self.wait_for(now, self.time(bytes))
    }

    /// How long it moves some bytes, in 1/1024 clocks.
    fn time(&self, bytes: u32) -> u64 {
        (f64::from(bytes) * self.per_byte) as u64
    }

    fn wait_for(&mut self, now: u64, time: u64) -> u64 {
        let start = self.free_at.max(now.min(self.all_at) * FRACTION);
        self.free_at = start + time;
        self.busy += time;
        (start / FRACTION).saturating_sub(now)
    }
}

/// The way into L2 of stores and of what comes from device memory, where that is one of its own.
#[derive(Debug, Clone)]
pub(super) struct WayIn {
    pub port: Port,
    /// What is under way from device memory: by the clock at which it arrives, from `first` on. Stores that come before
    /// it go first.
    coming: VecDeque<Coming>,
    first: u64,
    /// Clocks among these at which something arrives.
    some: usize,
    /// What arrives before these clocks or long behind them.
    others: BinaryHeap<Reverse<(u64, Coming)>>,
    coming_bytes: u64,
}

/// Clocks by which what is under way is kept.
const CLOCKS: u64 = 1 << 16;

/// What arrives at one clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Coming {
    bytes: u64,
    /// How long the way is busy with it, in 1/1024 clocks.
    time: u64,
    /// Whether there is something, if it takes no time.
    any: bool,
}

impl WayIn {
    pub fn new(bytes_per_clock: f64) -> Self {
        Self {
            port: Port::new(bytes_per_clock),
            coming: VecDeque::new(),
            first: 0,
            some: 0,
            others: BinaryHeap::new(),
            coming_bytes: 0,
        }
    }

    /// Lets in what has come by `now`.
    fn let_in(&mut self, now: u64) {
        loop {
            while self.some > 0 && self.first <= now && self.coming.front().is_some_and(|c| !c.any)
            {
                self.coming.pop_front();
                self.first += 1;
            }
            let next = (self.some > 0).then_some(self.first).filter(|at| *at <= now);
            let other = self.others.peek().map(|o| o.0.0).filter(|at| *at <= now);
            let (at, found) = match (next, other) {
                (None, None) => break,
                (Some(at), other) if other.is_none_or(|other| at <= other) => {
                    self.some -= 1;
                    self.first += 1;
                    (at, self.coming.pop_front())
                }
                _ => self.others.pop().map(|Reverse((at, c))| (at, Some(c))).unwrap_or_default(),
            };
            let Some(found) = found else { break };
            self.coming_bytes -= found.bytes;
            self.port.wait_for(at, found.time);
        }
    }

    /// Something is under way that comes at a clock.
    fn comes(&mut self, now: u64, at: u64, bytes: u32) {
        let one = Coming { bytes: bytes.into(), time: self.port.time(bytes), any: true };
        self.coming_bytes += one.bytes;
        if self.some == 0 {
            self.coming.clear();
            self.first = now.min(at);
        }
        let Some(index) = at.checked_sub(self.first).filter(|clocks| *clocks < CLOCKS) else {
            self.others.push(Reverse((at, one)));
            return;
        };
        let index = index as usize;
        if self.coming.len() <= index {
            self.coming.resize(index + 1, Coming::default());
        }
        let together = &mut self.coming[index];
        self.some += usize::from(!together.any);
        *together =
            Coming { bytes: together.bytes + one.bytes, time: together.time + one.time, any: true };
    }

    /// Queues a store; returns the clocks that it has to wait.
    pub fn store(&mut self, now: u64, bytes: u32) -> u64 {
        self.let_in(now);
        self.port.wait(now, bytes)
    }

    /// Something comes from device memory at a time; returns when it is in, if no more stores come.
    pub fn fill(&mut self, now: u64, at: u64, bytes: u32) -> u64 {
        self.let_in(now);
        self.comes(now, at, bytes);
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

    /// What comes long after the rest, or before it, is let in when its turn is.
    #[test]
    fn all_is_let_in_in_the_order_of_its_coming() {
        let mut way = WayIn::new(32.0);
        for at in [5000, 100, 4 * CLOCKS, 100, 30, 2 * CLOCKS] {
            way.fill(20, at, 32);
        }
        way.let_in(99);
        assert_eq!((way.port.free_at, way.coming_bytes), (31 * FRACTION, 160));
        way.let_in(100);
        assert_eq!((way.port.free_at, way.coming_bytes), (102 * FRACTION, 96));
        way.fill(101, 90, 32);
        way.let_in(100);
        assert_eq!((way.port.free_at, way.coming_bytes), (103 * FRACTION, 96));
        way.let_in(3 * CLOCKS);
        assert_eq!((way.port.free_at, way.coming_bytes), ((2 * CLOCKS + 1) * FRACTION, 32));
        way.let_in(u64::MAX);
        assert_eq!((way.port.free_at, way.coming_bytes), ((4 * CLOCKS + 1) * FRACTION, 0));
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
