//! Runs commands when what they wait for is done.
//!
//! Commands are nodes of a graph, all under one lock. A worker takes what is ready and flushed. A thread that
//! waits executes what it waits for itself instead of sleeping, so that a launch followed by `clFinish` costs no
//! thread switch; it executes only what it needs, since other work may be long.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use crate::cl::{self, Error};
use crate::event::{Event, Work};

/// An event's place in the graph; changed under the graph's lock only.
#[derive(Default)]
pub struct Node {
    run: Option<Work>,
    /// What it waits for and is not done.
    open: Vec<Arc<Event>>,
    /// What waits for it; whether its failure is theirs.
    dependents: Vec<(Arc<Event>, bool)>,
    flushed: bool,
    /// Something that it was told to wait for failed.
    failed: bool,
    /// It is in the graph.
    submitted: bool,
}

#[derive(Default)]
struct Graph {
    ready: VecDeque<Arc<Event>>,
    workers: usize,
    idle: usize,
    waiting: usize,
}

static GRAPH: LazyLock<Mutex<Graph>> = LazyLock::new(Mutex::default);
static READY: Condvar = Condvar::new();
static DONE: Condvar = Condvar::new();

/// Commands that run now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Host threads that a launch should use: its share of the host.
pub fn threads() -> u32 {
    (cores() / RUNNING.load(Ordering::Relaxed).max(1)).max(1) as u32
}

fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    *CORES
}

fn lock() -> MutexGuard<'static, Graph> {
    GRAPH.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Event {
    fn node(&self) -> MutexGuard<'_, Node> {
        self.node.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts a command into the graph: after `told` (whose failure is its own) and `after`.
pub fn submit(event: &Arc<Event>, work: Work, told: &[Arc<Event>], after: &[Arc<Event>]) {
    let graph = lock();
    let mut node = event.node();
    node.run = Some(work);
    node.submitted = true;
    let all = told.iter().map(|e| (e, true)).chain(after.iter().map(|e| (e, false)));
    for (other, passes) in all {
        if !other.is_done() {
            other.node().dependents.push((Arc::clone(event), passes));
            node.open.push(Arc::clone(other));
        } else if passes && other.status() < 0 {
            node.failed = true;
        }
    }
    drop(node);
    drop(graph);
}

/// Allows commands to start without being waited for. `wake`: now, on other threads.
pub fn flush(events: impl Iterator<Item = Arc<Event>>, wake: bool) {
    let mut graph = lock();
    for event in events {
        if event.status() == cl::QUEUED {
            event.reach(cl::SUBMITTED);
        }
        let mut node = event.node();
        node.flushed = true;
        if node.open.is_empty() && node.run.is_some() {
            drop(node);
            graph.ready.push_back(event);
        }
    }
    if wake {
        graph.wake();
    }
}

impl Graph {
    /// Finds workers for what is ready.
    fn wake(&mut self) {
        self.ready.retain(|e| e.node().run.is_some());
        for _ in 0..self.ready.len().min(cores()) {
            if self.idle > 0 {
                READY.notify_one();
            } else if self.workers < cores().max(2) {
                let started = std::thread::Builder::new().name("opencl-queue".into()).spawn(worker);
                self.workers += usize::from(started.is_ok());
            }
        }
    }
}

fn worker() {
    let mut graph = lock();
    loop {
        let Some(event) = graph.ready.pop_front() else {
            graph.idle += 1;
            graph = READY.wait(graph).unwrap_or_else(PoisonError::into_inner);
            graph.idle -= 1;
            continue;
        };
        let work = event.node().run.take();
        if let Some(work) = work {
            graph = execute(&event, work, graph);
            if graph.ready.len() > 1 {
                graph.wake();
            }
        }
    }
}

/// Runs a command without the lock, then takes it again.
fn execute(
    event: &Arc<Event>,
    work: Work,
    graph: MutexGuard<'static, Graph>,
) -> MutexGuard<'static, Graph> {
    let failed = event.node().failed;
    drop(graph);
    let status = if failed {
        Error::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0
    } else {
        event.reach(cl::RUNNING);
        RUNNING.fetch_add(1, Ordering::Relaxed);
        // A panic must not leave the queue waiting for ever.
        let result = catch_unwind(AssertUnwindSafe(work));
        RUNNING.fetch_sub(1, Ordering::Relaxed);
        match result {
            Ok(Ok(modelled)) => {
                if let (Some(ns), Some(queue)) = (modelled, &event.queue) {
                    let (start, end) = queue.device.occupy(event.queued_at(), ns);
                    event.modelled(start, end);
                }
                cl::COMPLETE
            }
            Ok(Err(error)) => error.0,
            Err(_) => Error::OUT_OF_HOST_MEMORY.0,
        }
    };
    let mut graph = lock();
    complete(&mut graph, event, status);
    graph
}

/// An event is done: what waits for it comes closer.
fn complete(graph: &mut Graph, event: &Arc<Event>, status: i32) {
    event.reach(status);
    let dependents = std::mem::take(&mut event.node().dependents);
    let mut wake = false;
    for (other, passes) in dependents {
        let mut node = other.node();
        if let Some(at) = node.open.iter().position(|e| Arc::ptr_eq(e, event)) {
            node.open.swap_remove(at);
        }
        node.failed |= passes && status < 0;
        if node.open.is_empty() && node.flushed && node.run.is_some() {
            drop(node);
            graph.ready.push_back(other);
            wake = true;
        }
    }
    if graph.waiting > 0 {
        DONE.notify_all();
        // The waiting thread may be about to take what became ready; others see to the rest.
    }
    if wake {
        graph.wake();
    }
}

/// Sets the status of a user event; false if it was set before.
pub fn signal(event: &Arc<Event>, status: i32) -> bool {
    let mut graph = lock();
    if event.is_done() {
        return false;
    }
    complete(&mut graph, event, status);
    true
}

/// Waits until an event is done, and helps; its status.
pub fn wait(event: &Arc<Event>) -> i32 {
    if event.is_done() {
        return event.status();
    }
    let mut graph = lock();
    while !event.is_done() {
        if let Some((needed, work)) = needed(event) {
            graph = execute(&needed, work, graph);
            continue;
        }
        graph.waiting += 1;
        graph = DONE.wait(graph).unwrap_or_else(PoisonError::into_inner);
        graph.waiting -= 1;
    }
    event.status()
}

/// A command that `event` needs and that can start now.
fn needed(event: &Arc<Event>) -> Option<(Arc<Event>, Work)> {
    let mut event = Arc::clone(event);
    loop {
        let mut node = event.node();
        match node.open.first().cloned() {
            None => {
                let work = node.run.take()?;
                drop(node);
                return Some((event, work));
            }
            Some(next) => {
                drop(node);
                event = next;
            }
        }
    }
}
