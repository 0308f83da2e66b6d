//! Hands the traces of blocks from the interpreter to the simulator while both run.
//!
//! The simulator says which blocks it wants; the others are executed, but nobody records them. Traces
//! that the simulator has not taken yet may be large, so the interpreter waits when there are many.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::event::{BlockSource, BlockTrace};
use crate::work::Work;

/// Bytes of traces that may wait for the simulator, besides one block's.
const MOST_BYTES: u64 = 1 << 29;

/// What both ends look at.
#[derive(Default)]
struct State {
    /// Bytes of the traces that wait.
    bytes: u64,
    /// The blocks that the simulator has asked for so far, and whether it will ask for no others.
    wanted: Vec<Range<u64>>,
    all: bool,
    /// The simulator has ended.
    closed: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the other end may have done something.
    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, what: impl FnOnce(&mut State)) {
        what(&mut self.lock());
        self.changed.notify_all();
    }
}

enum Message {
    Block(u64, BlockTrace),
    End(Work),
}

/// The two ends, for a grid of so many blocks. `together`: they run at the same time; otherwise the giver never waits.
pub(crate) fn handover(blocks: u64, together: bool) -> (Giver, Taker) {
    let shared = Arc::new(Shared::default());
    let (sender, receiver) = channel();
    let giver = Giver { shared: shared.clone(), sender, together };
    (giver, Taker { shared, receiver, blocks, early: BTreeMap::new(), work: None })
}

/// The interpreter's end.
#[derive(Clone)]
pub(crate) struct Giver {
    shared: Arc<Shared>,
    sender: Sender<Message>,
    together: bool,
}

impl Giver {
    /// Whether a block is to be recorded. Waits until the simulator has said so, unless `others` are under way: they
    /// may wait for this one, and the simulator for them.
    pub fn wants(&self, block: u64, others: bool) -> bool {
        let mut state = self.shared.lock();
        loop {
            if state.closed {
                return false;
            }
            if state.wanted.iter().any(|range| range.contains(&block)) {
                return true;
            }
            if state.all || state.wanted.last().is_some_and(|last| block < last.end) {
                return false;
            }
            if others || !self.together {
                return true;
            }
            state = self.shared.wait(state);
        }
    }

    /// Gives the trace of a block, when there is room for it.
    pub fn give(&self, block: u64, trace: BlockTrace) {
        let bytes = trace.bytes();
        let mut state = self.shared.lock();
        while self.together && !state.closed && state.bytes > 0 && state.bytes + bytes > MOST_BYTES
        {
            state = self.shared.wait(state);
        }
        state.bytes += bytes;
        drop(state);
        // Whoever wants no trace any more gets none.
        let _ = self.sender.send(Message::Block(block, trace));
    }

    /// The grid has ended, with so much work.
    pub fn end(&self, work: Work) {
        let _ = self.sender.send(Message::End(work));
    }
}

/// The simulator's end.
pub(crate) struct Taker {
    shared: Arc<Shared>,
    receiver: Receiver<Message>,
    blocks: u64,
    /// Traces of blocks behind the one that was asked for.
    early: BTreeMap<u64, BlockTrace>,
    work: Option<Work>,
}

impl Taker {
    /// The next block that arrives; `None` when there are no more.
    fn next(&mut self) -> Option<(u64, BlockTrace)> {
        if self.work.is_some() {
            return None;
        }
        match self.receiver.recv().ok()? {
            Message::Block(block, trace) => {
                let bytes = trace.bytes();
                self.shared.change(|state| state.bytes = state.bytes.saturating_sub(bytes));
                Some((block, trace))
            }
            Message::End(work) => {
                self.work = Some(work);
                None
            }
        }
    }
}

impl BlockSource for Taker {
    type Error = &'static str;

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn want(&mut self, blocks: &[Range<u64>], all: bool) {
        self.shared.change(|state| {
            state.wanted.extend_from_slice(blocks);
            state.all |= all;
        });
    }

    fn trace(&mut self, block: u64) -> Result<BlockTrace, Self::Error> {
        self.early = self.early.split_off(&block);
        if let Some(trace) = self.early.remove(&block) {
            return Ok(trace);
        }
        loop {
            let (index, trace) = self.next().ok_or("the interpreter stopped before it")?;
            if index == block {
                return Ok(trace);
            }
            if index > block {
                self.early.insert(index, trace);
            }
        }
    }

    fn work(&mut self) -> Option<Work> {
        self.early.clear();
        while self.next().is_some() {}
        self.work.take()
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        self.shared.change(|state| state.closed = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The giver waits until it knows what is wanted, and gives no more than that.
    #[test]
    fn only_what_is_wanted_is_given() {
        let (giver, mut taker) = handover(10, true);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut work = Work::new(10);
                for block in 0..10 {
                    work.add(block, 5);
                    if giver.wants(block, false) {
                        giver.give(block, BlockTrace::default());
                    }
                }
                giver.end(work);
            });
            let (first, rest) = (0..3, 6..8);
            taker.want(std::slice::from_ref(&first), false);
            assert!(first.into_iter().all(|block| taker.trace(block).is_ok()));
            taker.want(std::slice::from_ref(&rest), true);
            assert!(rest.into_iter().all(|block| taker.trace(block).is_ok()));
            assert_eq!(taker.work().unwrap().of(0..10), 50.0);
        });
    }

    /// A giver whose taker has gone does not wait, nor one whose blocks may wait for each other.
    #[test]
    fn nobody_waits_for_ever() {
        let (giver, taker) = handover(10, true);
        assert!(giver.wants(0, true));
        drop(taker);
        assert!(!giver.wants(1, false));
        giver.give(1, BlockTrace::default());
        let (giver, _taker) = handover(10, false);
        assert!(giver.wants(0, false));
    }
}
