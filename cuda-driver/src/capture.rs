//! Stream capture: work that goes into a graph instead of a queue.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::ThreadId;

use crate::error::{Error, Result};
use crate::event::Captured;
use crate::graph::Graph;
use crate::work::Work;

/// A capture in progress.
pub struct Capture {
    /// Where the nodes go.
    pub graph: Arc<Graph>,
    /// The handle that the graph will have.
    pub handle: usize,
    /// The stream that began it.
    pub origin: u64,
    /// `CUstreamCaptureMode`: 0 global, 1 thread-local, 2 relaxed.
    pub mode: u32,
    /// Its number.
    pub id: u64,
    thread: ThreadId,
    invalid: Arc<AtomicBool>,
    /// Streams that joined, with the nodes at their ends.
    ends: Mutex<Vec<(u64, Vec<usize>)>>,
}

/// A stream's part in a capture.
#[derive(Clone)]
pub struct Capturing {
    /// The capture.
    pub capture: Arc<Capture>,
    /// Nodes that the next one depends on.
    pub tail: Vec<usize>,
    stream: u64,
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static CAPTURES: Mutex<Vec<Weak<Capture>>> = Mutex::new(Vec::new());

impl Drop for Capture {
    fn drop(&mut self) {
        ACTIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Capture {
    /// Begins a capture in a stream.
    pub fn begin(graph: Arc<Graph>, handle: usize, stream: u64, mode: u32) -> Capturing {
        let capture = Arc::new(Capture {
            graph,
            handle,
            origin: stream,
            mode,
            id: NUMBERS.fetch_add(1, Ordering::Relaxed),
            thread: std::thread::current().id(),
            invalid: Arc::default(),
            ends: Mutex::default(),
        });
        ACTIVE.fetch_add(1, Ordering::Relaxed);
        let mut all = CAPTURES.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|c| c.strong_count() > 0);
        all.push(Arc::downgrade(&capture));
        Capturing { capture, tail: Vec::new(), stream }
    }

    /// Ends it in error.
    pub fn invalidate(&self) {
        self.invalid.store(true, Ordering::Relaxed);
    }

    /// Whether it has ended in error.
    pub fn is_invalid(&self) -> bool {
        self.invalid.load(Ordering::Relaxed)
    }

    /// Fails if it has ended in error.
    pub fn check(&self) -> Result {
        if self.is_invalid() { Err(Error::StreamCaptureInvalidated) } else { Ok(()) }
    }

    /// Whether calls that do not belong in a capture are let through.
    pub fn is_relaxed(&self) -> bool {
        self.mode == 2
    }

    /// Whether the calling thread may end it.
    pub fn may_end_here(&self) -> bool {
        self.mode == 2 || self.thread == std::thread::current().id()
    }

    /// Whether streams that joined were all joined back.
    pub fn is_joined(&self, tail: &[usize]) -> bool {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.iter().all(|(_, end)| end.iter().all(|n| self.graph.reaches(*n, tail)))
    }

    fn end(&self, stream: u64, tail: &[usize]) {
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        match ends.iter_mut().find(|(s, _)| *s == stream) {
            Some((_, end)) => *end = tail.to_vec(),
            None => ends.push((stream, tail.to_vec())),
        }
    }

    /// Streams that take part beside the first.
    pub fn joined_streams(&self) -> Vec<u64> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.iter().map(|(s, _)| *s).collect()
    }
}

impl Capturing {
    /// Adds work at the stream's end.
    pub fn add(&mut self, work: Work) -> Result {
        self.capture.check()?;
        if matches!(work, Work::Nothing) {
            return Ok(());
        }
        let node = self.capture.graph.add(work, &self.tail)?;
        self.tail = vec![node];
        if self.stream != self.capture.origin {
            self.capture.end(self.stream, &self.tail);
        }
        Ok(())
    }

    /// Waits for what was recorded at a place of the same capture.
    pub fn join(&mut self, other: &Captured) -> Result {
        self.capture.check()?;
        if self.capture.id != other.capture {
            self.capture.invalidate();
            if let Some(invalid) = other.invalid.upgrade() {
                invalid.store(true, Ordering::Relaxed);
            }
            return Err(Error::StreamCaptureMerge);
        }
        for node in &other.tail {
            if !self.tail.contains(node) {
                self.tail.push(*node);
            }
        }
        if self.stream != self.capture.origin {
            self.capture.end(self.stream, &self.tail);
        }
        Ok(())
    }

    /// The place that the stream has reached.
    pub fn place(&self) -> Captured {
        let invalid = Arc::downgrade(&self.capture.invalid);
        Captured { capture: self.capture.id, tail: self.tail.clone(), invalid }
    }

    /// The part of a stream that joins a capture behind some nodes.
    pub fn fork(capture: &Arc<Capture>, tail: &[usize], stream: u64) -> Capturing {
        capture.end(stream, tail);
        Capturing { capture: Arc::clone(capture), tail: tail.to_vec(), stream }
    }
}

/// The capture of a number, while it goes on.
pub fn find(id: u64) -> Option<Arc<Capture>> {
    let all = CAPTURES.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().filter_map(Weak::upgrade).find(|c| c.id == id)
}

/// Fails for calls that may not be made while a stream captures.
pub fn unsafe_call() -> Result {
    if ACTIVE.load(Ordering::Relaxed) == 0 {
        return Ok(());
    }
    let own = std::thread::current().id();
    let all = CAPTURES.lock().unwrap_or_else(PoisonError::into_inner);
    for capture in all.iter().filter_map(Weak::upgrade) {
        let hits = match capture.mode {
            0 => true,
            1 => capture.thread == own,
            _ => false,
        };
        if hits {
            capture.invalidate();
            return Err(Error::StreamCaptureUnsupported);
        }
    }
    Ok(())
}
