//! What kernels print, in the order of their blocks.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The text of a launch. Blocks that end before their turn leave theirs here. Blocks are taken by clusters: a *group* is
/// one, or one block.
pub struct Output {
    sink: Option<Arc<Mutex<dyn Write + Send>>>,
    printed: Mutex<Printed>,
    /// Bytes of text that blocks hold.
    held: AtomicUsize,
}

/// Output of groups that finished before their turn.
#[derive(Default)]
struct Printed {
    next: u64,
    waiting: BTreeMap<u64, Vec<u8>>,
}

/// Most bytes of text that blocks hold until earlier ones have ended.
const MOST_HELD: usize = 64 << 20;
/// Bytes from which on the first block that has not ended writes what it holds.
const AT_ONCE: usize = 1 << 20;

impl Output {
    /// Output of the groups from `first` on, to `sink`, or to the host's standard output.
    pub fn new(sink: Option<Arc<Mutex<dyn Write + Send>>>, first: u64) -> Output {
        let printed = Mutex::new(Printed { next: first, ..Printed::default() });
        Output { sink, printed, held: AtomicUsize::new(0) }
    }

    /// Group `index` has finished with this text.
    pub fn finished(&self, index: u64, text: Vec<u8>) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.waiting.insert(index, text);
        loop {
            let next = printed.next;
            let Some(text) = printed.waiting.remove(&next) else { break };
            printed.next += 1;
            self.print(&text);
        }
    }

    /// A block of group `index` has printed, from `before` on in the text that it holds. Where `at_once` allows it,
    /// much text goes out before the block has ended, if all before it has. What is too much to hold is lost, as on
    /// devices, whose buffer is finite: whether it was kept.
    pub fn hold(&self, index: u64, at_once: bool, text: &mut Vec<u8>, before: usize) -> bool {
        let new = text.len() - before;
        let held = self.held.fetch_add(new, Ordering::Relaxed) + new;
        if text.len() < AT_ONCE && held <= MOST_HELD {
            return true;
        }
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if at_once && printed.next == index {
            self.print(text);
            text.clear();
            return true;
        }
        drop(printed);
        if held > MOST_HELD {
            text.truncate(before);
            self.held.fetch_sub(new, Ordering::Relaxed);
        }
        held <= MOST_HELD
    }

    /// Prints what finished groups up to the one that stopped, or all, have printed.
    pub fn flush(&self, last: u64) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = std::mem::take(&mut printed.waiting);
        waiting.range(..=last).for_each(|(_, text)| self.print(text));
    }
    /// Writes to the launch's output. A sink that fails (a closed pipe) loses text, as on devices.
    fn print(&self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let less = |held: usize| Some(held.saturating_sub(text.len()));
        let _ = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        let _ = match &self.sink {
            Some(sink) => {
                let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                sink.write_all(text).and_then(|()| sink.flush())
            }
            None => {
                let mut sink = std::io::stdout().lock();
                sink.write_all(text).and_then(|()| sink.flush())
            }
        };
    }
}
