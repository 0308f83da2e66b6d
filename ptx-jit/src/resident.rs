//! Blocks of a host thread: one after the other, or several in progress where they may wait for one another.

use std::collections::VecDeque;

use crate::device::{Launch, Stop};
use crate::kernel::Kernel;
use crate::worker::{Progress, Worker};

/// Most blocks of one call of the code: between calls the worker looks at the device's limits.
const TOGETHER: u64 = 64;

/// Where the blocks of a host thread come from, and who learns what became of them.
pub trait Blocks {
    /// The next block to begin, by number (x fastest); `None`: there are no more.
    fn take(&mut self) -> Option<u64>;
    /// So many blocks behind the last one, `most` at most, begin too.
    fn take_more(&mut self, most: u64) -> u64;
    /// Whether a block, begun or not, must still run. `waits`: it waits, maybe for blocks that will not end.
    fn wants(&self, block: u64, waits: bool) -> bool;
    /// A block has come to its end, or stopped; memory may have changed then.
    fn ended(&mut self, block: u64, how: Result<(), Stop>);
}

/// Runs blocks until there are no more. Where they may wait for one another, at most `resident` are in progress.
pub fn run_blocks<'a>(
    kernel: &'a Kernel,
    launch: &'a Launch<'a>,
    resident: usize,
    blocks: &mut impl Blocks,
) {
    if !kernel.waits() {
        let mut worker = Worker::new(kernel, launch);
        let rows = worker.runs_rows();
        while let Some(block) = blocks.take().filter(|b| blocks.wants(*b, false)) {
            let most = if rows { worker.left_in_row(block).min(TOGETHER - 1) } else { 0 };
            let more = if most > 0 { blocks.take_more(most) } else { 0 };
            let (done, ran) = if launch.device.go_on() {
                let ran = worker.run(block, more).map(|_| ());
                (if ran.is_ok() { more } else { worker.blocks_done() }, ran)
            } else {
                (0, Err(Stop::Device))
            };
            for before in 0..done {
                blocks.ended(block + before, Ok(()));
            }
            let stopped = ran.is_err();
            blocks.ended(block + done, ran);
            if stopped {
                return;
            }
        }
        return;
    }
    let begin = |worker: &mut Worker<'a>, block: u64| {
        if launch.device.go_on() { worker.run(block, 0) } else { Err(Stop::Device) }
    };
    let mut open: VecDeque<(u64, Worker<'a>)> = VecDeque::new();
    let mut spare = Vec::new();
    // A block that waits may wait for one that has not begun: each that is put aside makes room for a new one.
    let (mut begins, mut more) = (true, true);
    // Blocks that waited since one came to its end.
    let mut idle = 0;
    loop {
        let mut new = None;
        if more && (open.is_empty() || begins && open.len() < resident) {
            new = blocks.take().filter(|b| blocks.wants(*b, false));
            more = new.is_some();
        }
        begins = false;
        let (block, worker, ran) = if let Some(block) = new {
            let mut worker = spare.pop().unwrap_or_else(|| Worker::new(kernel, launch));
            let ran = begin(&mut worker, block);
            (block, worker, ran)
        } else {
            let Some((block, mut worker)) = open.pop_front() else { return };
            if !blocks.wants(block, true) {
                spare.push(worker);
                continue;
            }
            let ran = worker.go_on();
            (block, worker, ran)
        };
        match ran {
            Ok(Progress::Waits) => {
                begins = true;
                open.push_back((block, worker));
                idle += 1;
                if idle >= open.len() {
                    // What they wait for may be a block of another host thread.
                    std::thread::yield_now();
                    idle = 0;
                }
                continue;
            }
            Ok(Progress::Done) => blocks.ended(block, Ok(())),
            Err(stop) => blocks.ended(block, Err(stop)),
        }
        idle = 0;
        spare.push(worker);
    }
}
