//! Runs commands when what they wait for is done.
//!
//! Commands are nodes of a graph, all under one lock. A worker takes what is ready and flushed. A thread that
//! waits executes what it waits for itself instead of sleeping, so that a launch followed by `clFinish` costs no
//! thread switch; it executes only what it needs, since other work may be long. Everything here costs a constant time
//! a command and dependency: queues of many thousands of commands are common.
//!
//! A process that is forked off has the graph and none of the workers. It starts its own. Commands that run hold locks,
//! so forking waits until they have ended, and none begins. What still runs after a second has failed in the child, and
//! so do all commands there from then on, rather than wait for a lock that nobody gives back.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use c_border::callback::around_fork;

use crate::cl::{self, Error, Result};

/// What a command does; how many nanoseconds the modelled device takes for it, if that is asked.
pub type Work = Box<dyn FnOnce() -> Result<Option<u64>> + Send>;

/// A command as the graph sees it.
pub trait Command: Send + Sync {
    /// Its node.
    fn node(&self) -> &Mutex<Node>;
    /// `CL_EVENT_COMMAND_EXECUTION_STATUS`
    fn status(&self) -> i32;
    /// Reaches a status.
    fn reach(self: Arc<Self>, status: i32);
    /// The modelled device took so many nanoseconds for it.
    fn took(&self, ns: u64);
}

type Shared = Arc<dyn Command>;

/// What a command does: often one thing, but commands of a queue that nobody can tell apart are one here.
#[derive(Default)]
struct Works {
    first: Option<Work>,
    more: Vec<Work>,
}

impl Works {
    fn in_order(self) -> impl Iterator<Item = Work> {
        self.first.into_iter().chain(self.more)
    }
}

/// A command's node in the graph; changed under the graph's lock only, but for work that is added before it begins.
#[derive(Default)]
pub struct Node {
    /// What it does, until that begins.
    run: Works,
    /// What is left of it, while a fork waits.
    paused: Works,
    /// What it waits for; some of it may be done by now.
    after: Vec<Shared>,
    /// How much of `after` is not done.
    open: usize,
    /// What waits for it; whether its failure is theirs.
    dependents: Vec<(Shared, bool)>,
    flushed: bool,
    /// Something that it was told to wait for failed.
    failed: bool,
    /// The status with which its work has ended.
    ended: Option<i32>,
}

#[derive(Default)]
struct Graph {
    /// Commands that can start. A thread that waits may have taken some of them.
    ready: VecDeque<Shared>,
    /// Commands that run now.
    running: Vec<Shared>,
    /// This process was forked off while commands ran on.
    lame: bool,
    /// Length of `ready` at which those that were taken are removed.
    prune_at: usize,
    workers: usize,
    idle: usize,
    waiting: usize,
}

static GRAPH: LazyLock<Mutex<Graph>> = LazyLock::new(|| {
    around_fork(before_fork, after_fork, in_child);
    Mutex::default()
});
static READY: Condvar = Condvar::new();
static DONE: Condvar = Condvar::new();

/// How many commands run now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Whether this process was forked off one with a graph, and nobody has looked at the graph since.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Whether a thread waits to fork: commands that do several things do no more of them meanwhile.
static FORKING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The lock, while this thread forks: in the child no other thread would give it back.
    static HELD: Cell<Option<MutexGuard<'static, Graph>>> = const { Cell::new(None) };
    /// How many commands run on this thread: one, or more where a command's callback waits for another.
    static HERE: Cell<usize> = const { Cell::new(0) };
}

/// For so long a fork waits for commands that run.
const PATIENCE: Duration = Duration::from_secs(1);

extern "C" fn before_fork() {
    let graph = GRAPH.lock().unwrap_or_else(PoisonError::into_inner);
    FORKING.store(true, Ordering::Relaxed);
    // Whoever has ended its command waits for the lock.
    let (start, here) = (Instant::now(), HERE.try_with(Cell::get).unwrap_or(0));
    while RUNNING.load(Ordering::Acquire) > here && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(50));
    }
    // A thread at its end has no such place any more, and forks without the lock.
    let _ = HELD.try_with(|held| held.set(Some(graph)));
}

extern "C" fn after_fork() {
    FORKING.store(false, Ordering::Relaxed);
    let _ = HELD.try_with(|held| drop(held.take()));
}

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    after_fork();
}

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
    let mut graph = GRAPH.lock().unwrap_or_else(PoisonError::into_inner);
    if FORKED.load(Ordering::Relaxed) {
        FORKED.store(false, Ordering::Relaxed);
        graph.begin_anew();
    }
    graph
}

fn node(command: &dyn Command) -> MutexGuard<'_, Node> {
    command.node().lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_done(command: &dyn Command) -> bool {
    command.status() <= cl::COMPLETE
}

/// Puts a command into the graph: after `told` (whose failure is its own) and `after`.
pub fn submit<C: Command + 'static>(
    command: &Arc<C>,
    work: Work,
    told: &[Arc<C>],
    after: &[Arc<C>],
) {
    let graph = lock();
    let mut own = node(&**command);
    own.run.first = Some(work);
    let all = told.iter().map(|e| (e, true)).chain(after.iter().map(|e| (e, false)));
    for (other, passes) in all {
        if !is_done(&**other) {
            node(&**other).dependents.push((Arc::clone(command) as Shared, passes));
            own.after.push(Arc::clone(other) as Shared);
            own.open += 1;
        } else if passes && other.status() < 0 {
            own.failed = true;
        }
    }
    drop(own);
    drop(graph);
}

/// Adds work to a command that has not begun; gives it back where it has.
pub fn append<C: Command + 'static>(command: &C, work: Work) -> std::result::Result<(), Work> {
    let mut own = node(command);
    if own.run.first.is_none() {
        return Err(work);
    }
    own.run.more.push(work);
    Ok(())
}

/// Allows commands to start without being waited for. `wake`: now, on other threads.
pub fn flush<C: Command + 'static>(commands: impl Iterator<Item = Arc<C>>, wake: bool) {
    let mut graph = lock();
    for command in commands {
        if command.status() == cl::QUEUED {
            Arc::clone(&command).reach(cl::SUBMITTED);
        }
        let mut own = node(&*command);
        own.flushed = true;
        if own.open == 0 && own.run.first.is_some() {
            drop(own);
            graph.announce(command);
        }
    }
    if wake {
        graph.wake();
    }
}

impl Graph {
    /// In a process that was forked off: the threads stayed behind, with what they ran.
    fn begin_anew(&mut self) {
        (self.workers, self.idle, self.waiting) = (0, 0, 0);
        RUNNING.store(0, Ordering::Relaxed);
        for command in std::mem::take(&mut self.running) {
            let mut own = node(&*command);
            if own.paused.first.is_some() {
                // Its thread had stopped between two things.
                own.run = std::mem::take(&mut own.paused);
                drop(own);
                self.announce(command);
                continue;
            }
            let ended = own.ended;
            drop(own);
            self.lame |= ended.is_none();
            complete(self, &command, ended.unwrap_or(Error::OUT_OF_RESOURCES.0), None);
        }
    }

    /// A command can start.
    fn announce(&mut self, command: Shared) {
        if self.ready.len() >= self.prune_at.max(64) {
            self.ready.retain(|e| node(&**e).run.first.is_some());
            self.prune_at = self.ready.len() * 2;
        }
        self.ready.push_back(command);
    }

    /// Finds workers for what is ready.
    fn wake(&mut self) {
        // Nobody is woken for what a thread that waits has taken.
        while self.ready.front().is_some_and(|e| node(&**e).run.first.is_none()) {
            self.ready.pop_front();
        }
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
        let Some(command) = graph.ready.pop_front() else {
            graph.idle += 1;
            graph = READY.wait(graph).unwrap_or_else(PoisonError::into_inner);
            graph.idle -= 1;
            continue;
        };
        let works = std::mem::take(&mut node(&*command).run);
        if works.first.is_some() {
            graph = execute(&command, works, None, graph);
            // This thread takes one of them itself.
            if graph.ready.len() > 1 {
                graph.wake();
            }
        }
    }
}

/// Runs a command without the lock, then takes it again. `next`: what the calling thread runs then, if it can start.
fn execute(
    command: &Shared,
    works: Works,
    next: Option<&Shared>,
    mut graph: MutexGuard<'static, Graph>,
) -> MutexGuard<'static, Graph> {
    let failed = node(&**command).failed;
    let lame = graph.lame;
    graph.running.push(Arc::clone(command));
    RUNNING.fetch_add(1, Ordering::Relaxed);
    drop(graph);
    let status = if failed {
        Error::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0
    } else if lame {
        Error::OUT_OF_RESOURCES.0
    } else {
        Arc::clone(command).reach(cl::RUNNING);
        HERE.set(HERE.get() + 1);
        let status = run_all(command, works);
        HERE.set(HERE.get() - 1);
        status
    };
    node(&**command).ended = Some(status);
    runs_no_more();
    let mut graph = lock();
    // It is there no more where the command itself has forked and this is the child.
    if let Some(at) = graph.running.iter().position(|running| same(running, command)) {
        graph.running.swap_remove(at);
        complete(&mut graph, command, status, next);
    }
    graph
}

/// A command that ran does so no more.
fn runs_no_more() {
    // Less than before: the work may have forked, and counting began anew.
    let less = |running: usize| Some(running.saturating_sub(1));
    let _ = RUNNING.fetch_update(Ordering::Release, Ordering::Relaxed, less);
}

/// Does one thing after the other, also behind one that has failed; the status of the first that has, else of the
/// command.
fn run_all(command: &Shared, works: Works) -> i32 {
    let mut status = cl::COMPLETE;
    let mut left = works.in_order();
    while let Some(work) = left.next() {
        // A panic must not leave the queue waiting for ever.
        let failed = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(modelled)) => {
                if let Some(ns) = modelled {
                    command.took(ns);
                }
                None
            }
            Ok(Err(error)) => Some(error.0),
            Err(_) => Some(Error::OUT_OF_HOST_MEMORY.0),
        };
        if status == cl::COMPLETE {
            status = failed.unwrap_or(status);
        }
        if FORKING.load(Ordering::Relaxed) {
            let paused = Works { first: left.next(), more: left.collect() };
            left = pause(command, paused).in_order();
        }
    }
    status
}

/// Lets a fork pass that waits. In the child, which has not got this thread, the command goes on from there.
fn pause(command: &Shared, left: Works) -> Works {
    node(&**command).paused = left;
    runs_no_more();
    // It is free again when the process has forked.
    let graph = lock();
    RUNNING.fetch_add(1, Ordering::Relaxed);
    let left = std::mem::take(&mut node(&**command).paused);
    drop(graph);
    left
}

/// A command is done: what waits for it comes closer.
fn complete(graph: &mut Graph, command: &Shared, status: i32, next: Option<&Shared>) {
    Arc::clone(command).reach(status);
    let dependents = std::mem::take(&mut node(&**command).dependents);
    for (other, passes) in dependents {
        let mut own = node(&*other);
        own.open -= 1;
        own.failed |= passes && status < 0;
        if own.open > 0 {
            continue;
        }
        // What is done may go.
        own.after.clear();
        let can_start = own.flushed && own.run.first.is_some();
        drop(own);
        if can_start && !next.is_some_and(|next| same(next, &other)) {
            graph.announce(other);
        }
    }
    if graph.waiting > 0 {
        DONE.notify_all();
    }
}

fn same(a: &Shared, b: &Shared) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b))
}

/// Sets the status of a user event; false if it was set before.
pub fn signal<C: Command + 'static>(command: &Arc<C>, status: i32) -> bool {
    let mut graph = lock();
    if is_done(&**command) {
        return false;
    }
    complete(&mut graph, &(Arc::clone(command) as Shared), status, None);
    graph.wake();
    true
}

/// What stands between a command and its end.
enum Missing {
    /// Its own work, which can start.
    Work(Works),
    /// Another command.
    Other(Shared),
    /// Something that this thread cannot do: it runs elsewhere, or the host program signals it.
    Elsewhere,
}

fn missing(command: &dyn Command) -> Missing {
    let mut own = node(command);
    while own.after.last().is_some_and(|e| is_done(&**e)) {
        own.after.pop();
    }
    if let Some(other) = own.after.last() {
        return Missing::Other(Arc::clone(other));
    }
    if own.run.first.is_none() {
        return Missing::Elsewhere;
    }
    Missing::Work(std::mem::take(&mut own.run))
}

/// Waits until a command is done, and helps; its status.
pub fn wait<C: Command + 'static>(command: &Arc<C>) -> i32 {
    if is_done(&**command) {
        return command.status();
    }
    let mut graph = lock();
    // From the command to something that it needs: each waits for the one behind it.
    let mut path = vec![Arc::clone(command) as Shared];
    while let Some(last) = path.last() {
        if is_done(&**last) {
            path.pop();
            continue;
        }
        match missing(&**last) {
            Missing::Other(other) => path.push(other),
            Missing::Work(works) => {
                let last = path.pop().unwrap_or_else(|| Arc::clone(command) as Shared);
                graph = execute(&last, works, path.last(), graph);
                graph.wake();
            }
            Missing::Elsewhere => {
                graph.waiting += 1;
                graph = DONE.wait(graph).unwrap_or_else(PoisonError::into_inner);
                graph.waiting -= 1;
            }
        }
    }
    drop(graph);
    command.status()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicI32;

    use super::*;

    struct Step {
        node: Mutex<Node>,
        status: AtomicI32,
    }

    impl Step {
        fn new() -> Arc<Step> {
            Arc::new(Step { node: Mutex::default(), status: AtomicI32::new(cl::QUEUED) })
        }
    }

    impl Command for Step {
        fn node(&self) -> &Mutex<Node> {
            &self.node
        }
        fn status(&self) -> i32 {
            self.status.load(Ordering::Acquire)
        }
        fn reach(self: Arc<Self>, status: i32) {
            self.status.store(status, Ordering::Release);
        }
        fn took(&self, _: u64) {}
    }

    /// Walks that grow with the number of commands would take minutes here.
    #[test]
    fn long_queues_and_long_wait_lists() {
        const MANY: usize = 200_000;
        let ran = Arc::new(AtomicUsize::new(0));
        let work = || {
            let ran = Arc::clone(&ran);
            Box::new(move || {
                ran.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }) as Work
        };
        let mut last: Option<Arc<Step>> = None;
        for _ in 0..MANY {
            let step = Step::new();
            submit(&step, work(), &[], last.as_slice());
            last = Some(step);
        }
        let last = last.unwrap();
        assert_eq!(wait(&last), cl::COMPLETE);
        assert_eq!(ran.load(Ordering::Relaxed), MANY);

        let all: Vec<Arc<Step>> = (0..MANY).map(|_| Step::new()).collect();
        all.iter().for_each(|step| submit(step, work(), &[], &[]));
        let marker = Step::new();
        submit(&marker, work(), &all, &[]);
        flush(all.into_iter().chain([Arc::clone(&marker)]), true);
        assert_eq!(wait(&marker), cl::COMPLETE);
        assert_eq!(ran.load(Ordering::Relaxed), 2 * MANY + 1);
    }

    #[test]
    fn failures_pass_along_wait_lists_only() {
        let (signalled, told, after) = (Step::new(), Step::new(), Step::new());
        submit(&told, Box::new(|| Ok(None)), &[Arc::clone(&signalled)], &[]);
        submit(&after, Box::new(|| Ok(None)), &[], &[Arc::clone(&told)]);
        assert!(signal(&signalled, -5) && !signal(&signalled, 0));
        assert_eq!(wait(&after), cl::COMPLETE);
        assert_eq!(told.status(), Error::EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0);
    }

    #[test]
    fn nobody_is_woken_for_what_is_taken() {
        let mut graph = Graph::default();
        let step = |taken: bool| {
            let step = Step::new();
            node(&*step).run.first = (!taken).then(|| Box::new(|| Ok(None)) as Work);
            step
        };
        for _ in 0..3 {
            graph.announce(step(true));
        }
        graph.wake();
        assert_eq!((graph.ready.len(), graph.workers), (0, 0));
        graph.announce(step(true));
        graph.announce(step(false));
        graph.announce(step(true));
        graph.workers = cores().max(2);
        graph.wake();
        assert_eq!(graph.ready.len(), 2, "what can start and what is behind it stay");
    }

    /// Work that notes its number, and fails where it is told.
    fn noting(notes: &Arc<Mutex<Vec<u32>>>, number: u32, fails: Option<Error>) -> Work {
        let notes = Arc::clone(notes);
        Box::new(move || {
            notes.lock().unwrap().push(number);
            fails.map_or(Ok(None), Err)
        })
    }

    #[test]
    fn work_is_added_until_the_command_begins() {
        let notes = Arc::default();
        let step = Step::new();
        submit(&step, noting(&notes, 0, None), &[], &[]);
        for number in 1..6 {
            let fails = (number % 2 == 0).then_some(Error(-number));
            assert!(append(&*step, noting(&notes, number as u32, fails)).is_ok());
        }
        assert_eq!(wait(&step), -2, "the first that failed");
        assert_eq!(*notes.lock().unwrap(), [0, 1, 2, 3, 4, 5], "later ones run all the same");
        assert!(append(&*step, noting(&notes, 6, None)).is_err());
    }

    #[test]
    fn a_child_goes_on_between_two_things() {
        let notes = Arc::default();
        let step = Step::new();
        let shared = Arc::clone(&step) as Shared;
        let mut graph = Graph { running: vec![Arc::clone(&shared)], ..Graph::default() };
        node(&*step).paused =
            Works { first: Some(noting(&notes, 7, None)), more: vec![noting(&notes, 8, None)] };
        graph.begin_anew();
        assert!(!graph.lame && !is_done(&*step));
        assert_eq!(graph.ready.len(), 1);
        assert_eq!(wait(&step), cl::COMPLETE);
        assert_eq!(*notes.lock().unwrap(), [7, 8]);
    }
}
