//! The blocks of a grid over the host's threads: what the interpreter and compiled code share.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::report::Report;
use crate::threads::{Others, run_on};

/// Blocks (or clusters) by number, which host threads take in order. `S` says why one stopped.
pub struct BlockQueue<S> {
    next: AtomicU64,
    end: u64,
    /// Blocks that a thread takes at a time.
    chunk: u64,
    threads: u64,
    /// Blocks behind this one need not run: it stopped.
    stop_at: Arc<AtomicU64>,
    stops: Mutex<BTreeMap<u64, S>>,
    /// For how long one thread runs alone.
    patience: Duration,
    late: Late,
}

/// Most blocks that a thread takes at a time.
const MOST: u64 = 64;

/// Threads that are not started yet.
#[derive(Default)]
struct Late {
    /// Whether there are any.
    there: AtomicBool,
    others: Mutex<Option<(Instant, Others)>>,
}

impl Late {
    /// Starts them when their time has come.
    fn look(&self) {
        let mut kept = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, others)) = kept.take_if(|(when, _)| *when <= Instant::now()) {
            self.there.store(false, Ordering::Relaxed);
            drop(kept);
            others.start();
        }
    }
}

/// Another engine, which may take over the groups of a launch that have not started.
pub trait Relief: Sync {
    /// Asked by the launch's host threads before a group starts and between its turns: it may take what waits.
    fn look(&self, waiting: &BlockQueue<Box<Report>>);
}

impl<S: Send> BlockQueue<S> {
    /// A range of blocks for `threads` host threads; 0 takes all that the host has.
    pub fn new(blocks: Range<u64>, threads: usize) -> BlockQueue<S> {
        let count = blocks.end.saturating_sub(blocks.start);
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        };
        let threads = (threads as u64).min(count).max(1);
        BlockQueue {
            next: AtomicU64::new(blocks.start),
            end: blocks.end,
            chunk: (count / (threads * 16)).clamp(1, MOST),
            threads,
            stop_at: Arc::new(AtomicU64::new(u64::MAX)),
            stops: Mutex::default(),
            patience: Duration::ZERO,
            late: Late::default(),
        }
    }

    /// Lets one thread run alone for so long before it calls others: a launch may have ended by then.
    pub fn patient(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Blocks that nobody has taken; none are left when it is empty.
    pub fn take(&self) -> Range<u64> {
        if self.late.there.load(Ordering::Relaxed) {
            self.late.look();
        }
        let at = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        at.min(self.end)..at.saturating_add(self.chunk).min(self.end)
    }

    /// Calls no more host threads than that.
    pub fn call_at_most(&mut self, threads: u64) {
        self.threads = self.threads.min(threads.max(1));
    }

    /// Hands out more blocks at a time, up to a quarter of them: handing out costs time as well.
    pub fn take_at_least(&mut self, blocks: u64) {
        let count = self.end - self.next.load(Ordering::Relaxed);
        self.chunk = self.chunk.max(blocks.min(count / 4).min(MOST));
    }

    /// Hands out fewer blocks at a time: what a thread has taken it runs itself.
    pub fn take_at_most(&mut self, blocks: u64) {
        self.chunk = self.chunk.min(blocks);
    }

    /// Takes all blocks that nobody has taken, for another queue.
    pub fn take_rest(&self) -> Range<u64> {
        self.next.swap(self.end, Ordering::Relaxed).min(self.end)..self.end
    }

    /// A queue for blocks that were taken from this one: where one of either stops, later ones of both need not run.
    pub fn part<T: Send>(&self, blocks: Range<u64>, threads: usize) -> BlockQueue<T> {
        BlockQueue { stop_at: Arc::clone(&self.stop_at), ..BlockQueue::new(blocks, threads) }
    }

    /// Whether a block must still run: no earlier one has stopped.
    pub fn wants(&self, block: u64) -> bool {
        block <= self.stop_at.load(Ordering::Relaxed)
    }

    /// Whether a block has stopped.
    pub fn stopped(&self) -> bool {
        self.stop_at.load(Ordering::Relaxed) != u64::MAX
    }

    /// A block has stopped. Later ones need not run; earlier ones do, so that the first stop of the
    /// grid is the same on every run.
    pub fn stop(&self, block: u64, why: S) {
        self.stop_at.fetch_min(block, Ordering::Relaxed);
        self.stops.lock().unwrap_or_else(PoisonError::into_inner).insert(block, why);
    }

    /// Runs `work` on every thread until it returns; the results. It takes blocks until none are left.
    pub fn run<R: Send>(&self, work: impl Fn() -> R + Sync) -> Vec<R> {
        if self.threads == 1 {
            return vec![work()];
        }
        let results = Mutex::new(Vec::new());
        let all = || {
            let result = work();
            results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        };
        run_on(self.threads as usize - 1, &all, |others| {
            if self.patience.is_zero() {
                return others.start();
            }
            let late = Some((Instant::now() + self.patience, others));
            *self.late.others.lock().unwrap_or_else(PoisonError::into_inner) = late;
            self.late.there.store(true, Ordering::Relaxed);
        });
        results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first block that stopped, and why.
    pub fn take_first_stop(&self) -> Option<(u64, S)> {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner).pop_first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_up_to_the_first_stop_runs_once() {
        let queue: BlockQueue<&str> = BlockQueue::new(3..5000, 4);
        let ran = queue.run(|| {
            let mut own = Vec::new();
            loop {
                let blocks = queue.take();
                if blocks.is_empty() {
                    return own;
                }
                for block in blocks.filter(|b| queue.wants(*b)) {
                    if block == 700 || block == 1200 {
                        queue.stop(block, "fault");
                    }
                    own.push(block);
                }
            }
        });
        let mut all: Vec<u64> = ran.into_iter().flatten().collect();
        all.sort_unstable();
        assert!((3..=700).eq(all.iter().copied().take(698)));
        assert!(all.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(queue.take_first_stop(), Some((700, "fault")));
    }

    #[test]
    fn others_are_called_when_patience_ends() {
        let mut queue: BlockQueue<&str> = BlockQueue::new(0..64, 2);
        queue.patient(Duration::from_secs(3600));
        let ran = queue.run(|| (0..).take_while(|_| !queue.take().is_empty()).count());
        assert_eq!(ran.len(), 1, "one thread ran all");
        let mut queue: BlockQueue<&str> = BlockQueue::new(0..64, 2);
        queue.patient(Duration::from_millis(1));
        let both = std::sync::Barrier::new(2);
        let ran = queue.run(|| {
            std::thread::sleep(Duration::from_millis(2));
            let first = queue.take();
            both.wait();
            first
        });
        assert_eq!(ran.len(), 2);
    }

    #[test]
    fn more_blocks_are_taken_at_a_time_up_to_a_quarter() {
        let chunk = |count: u64, least| {
            let mut queue: BlockQueue<&str> = BlockQueue::new(7..7 + count, 16);
            queue.take_at_least(least);
            let taken = queue.take();
            taken.end - taken.start
        };
        assert_eq!([chunk(128, 0), chunk(128, 20), chunk(128, 900), chunk(1, 5)], [1, 20, 32, 1]);
        assert_eq!([chunk(1 << 12, 4), chunk(1 << 12, 900)], [16, MOST]);
    }

    #[test]
    fn the_rest_goes_to_another_queue_once() {
        let queue: BlockQueue<&str> = BlockQueue::new(0..100, 2);
        let first = queue.take();
        let rest = queue.take_rest();
        assert_eq!((first.start, rest.clone()), (0, first.end..100));
        assert!(queue.take().is_empty() && queue.take_rest().is_empty());
        let other: BlockQueue<u8> = queue.part(rest, 2);
        other.stop(50, 1);
        assert!(queue.stopped() && queue.wants(50) && !queue.wants(51));
        assert_eq!(queue.take_first_stop(), None);
        assert_eq!(other.take_first_stop(), Some((50, 1)));
    }
}
