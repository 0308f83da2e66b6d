//! Runs the work of streams: in order within a stream, after what it depends on elsewhere.
//!
//! Every stream is a queue; a [`Ticket`] names one piece of work in it. Worker threads take the heads of
//! queues whose dependencies are met. A host thread that waits for a ticket executes what the ticket needs
//! itself instead of sleeping: a launch followed by a synchronisation costs no thread switch. Only work
//! that the wait needs anyway is executed there, because other work may itself wait for this thread.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ptx_runtime::check::order::{self, Known, Past};

use crate::ctrl_c;

/// One piece of work of a stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    stream: u64,
    number: u64,
}

impl Ticket {
    /// Work that was always done.
    pub const DONE: Ticket = Ticket { stream: 0, number: 0 };
}

type Run = Box<dyn FnOnce() + Send>;

/// What each piece of work of a queue comes after, by number, where that is wanted.
type Pasts = HashMap<u64, BTreeMap<u64, Arc<Known>>>;

struct Op {
    run: Run,
    after: Vec<Ticket>,
}

#[derive(Default)]
struct Queue {
    ops: VecDeque<Op>,
    submitted: u64,
    completed: u64,
    running: bool,
    closed: bool,
    /// Streams whose head waits for a number of this one.
    dependents: Vec<(u64, u64)>,
}

#[derive(Default)]
struct State {
    next: u64,
    queues: BTreeMap<u64, Queue>,
    ready: VecDeque<u64>,
    workers: usize,
    idle: usize,
    /// Workers that look again soon, without being woken.
    lingering: usize,
    /// What threads wait for.
    waiters: Vec<Ticket>,
    /// Heads taken so far, for the watch over stalls.
    taken: u64,
    watched: bool,
    /// What the host has seen the end of, while checks run.
    host: Known,
    pasts: Pasts,
}

struct Scheduler {
    state: Mutex<State>,
    work: Condvar,
    done: Condvar,
}

static SCHEDULER: LazyLock<Scheduler> = LazyLock::new(|| Scheduler {
    state: Mutex::default(),
    work: Condvar::new(),
    done: Condvar::new(),
});

/// Pieces of work that run now.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Most worker threads, as many as a device runs kernels at once.
const MOST_WORKERS: usize = 128;
/// How long ready work may wait for busy workers before there is one more: they may wait for it.
const STALL: Duration = Duration::from_millis(5);
/// How long a worker without work sleeps before it looks once more: what a program launches one after the other is not
/// worth a wake-up each. Whoever waits for it executes it at once.
const LINGER: Duration = Duration::from_micros(20);

/// Host threads that a launch should use: its share of the host.
pub fn threads() -> u32 {
    let running = RUNNING.load(Ordering::Relaxed).max(1);
    (cores() / running).max(1) as u32
}

fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    *CORES
}

/// Whether checks ask what comes before what.
fn orders() -> bool {
    static RACE: LazyLock<bool> = LazyLock::new(|| environment::checks().is_ok_and(|c| c.race));
    *RACE
}

fn join(known: &mut Known, other: &Known) {
    for (queue, number) in other {
        let own = known.entry(*queue).or_default();
        *own = (*own).max(*number);
    }
}

impl State {
    /// What a piece of work comes after, the work itself included; nothing where the host knows of it.
    fn past(&self, t: Ticket) -> Option<&Arc<Known>> {
        self.pasts.get(&t.stream)?.get(&t.number)
    }

    /// The host has seen the end of a piece of work.
    fn host_saw(&mut self, t: Ticket) {
        let Some(past) = self.past(t).cloned() else { return };
        join(&mut self.host, &past);
        // Whoever comes after the host knows of these.
        let host = &self.host;
        self.pasts.retain(|queue, numbers| {
            let seen = host.get(queue).copied().unwrap_or(0);
            numbers.retain(|number, _| *number > seen);
            !numbers.is_empty()
        });
    }

    /// Notes what the next work of a queue comes after.
    fn order(&mut self, stream: u64, number: u64, after: &[Ticket]) -> Past {
        let mut known = self.host.clone();
        let before = Ticket { stream, number: number - 1 };
        for t in after.iter().chain([&before]) {
            if let Some(past) = self.past(*t) {
                join(&mut known, past);
            }
        }
        known.insert(stream, number);
        let known = Arc::new(known);
        self.pasts.entry(stream).or_default().insert(number, Arc::clone(&known));
        Past { queue: stream, number, known }
    }

    fn done(&self, t: Ticket) -> bool {
        self.queues.get(&t.stream).is_none_or(|q| q.completed >= t.number)
    }

    /// Whether the head of a queue can start.
    fn runnable(&self, stream: u64) -> bool {
        self.queues.get(&stream).is_some_and(|q| {
            !q.running && q.ops.front().is_some_and(|op| op.after.iter().all(|t| self.done(*t)))
        })
    }

    /// Takes the head of a queue if it can start.
    fn take(&mut self, stream: u64) -> Option<Run> {
        if !self.runnable(stream) {
            return None;
        }
        let q = self.queues.get_mut(&stream)?;
        let op = q.ops.pop_front()?;
        q.running = true;
        self.taken += 1;
        Some(op.run)
    }

    /// Work that `t` needs, of a stream whose head can start now.
    fn needed(&self, mut t: Ticket) -> Option<Ticket> {
        loop {
            let q = self.queues.get(&t.stream)?;
            if q.running {
                return None;
            }
            match q.ops.front()?.after.iter().find(|t| !self.done(**t)) {
                Some(next) => t = *next,
                None => return Some(t),
            }
        }
    }

    /// Announces the head of a queue: ready, or waiting for other streams.
    fn announce(&mut self, stream: u64) {
        let Some(q) = self.queues.get(&stream) else { return };
        if q.running {
            return;
        }
        let Some(head) = q.ops.front() else { return };
        let open: Vec<Ticket> = head.after.iter().copied().filter(|t| !self.done(*t)).collect();
        if open.is_empty() {
            self.ready.push_back(stream);
        }
        for t in open {
            if let Some(q) = self.queues.get_mut(&t.stream) {
                q.dependents.push((t.number, stream));
            }
        }
    }

    /// The head of a queue has been executed. The next one, if the thread goes on with it: up to number `until`, or
    /// where there is none while no other stream is ready.
    fn finish(&mut self, stream: u64, until: Option<u64>) -> Option<Run> {
        let q = self.queues.get_mut(&stream)?;
        q.running = false;
        q.completed += 1;
        let completed = q.completed;
        let mut now = Vec::new();
        q.dependents.retain(|(number, dependent)| {
            let open = *number > completed;
            if !open {
                now.push(*dependent);
            }
            open
        });
        if q.closed && q.ops.is_empty() {
            self.queues.remove(&stream);
        }
        for dependent in now {
            if self.runnable(dependent) {
                self.ready.push_back(dependent);
            }
        }
        let goes_on = until.map_or_else(|| !self.has_ready(), |until| completed < until);
        let next = if goes_on { self.take(stream) } else { None };
        if next.is_none() {
            self.announce(stream);
        }
        next
    }

    /// Whether some stream's head is ready and not taken yet.
    fn has_ready(&mut self) -> bool {
        while let Some(stream) = self.ready.front()
            && !self.runnable(*stream)
        {
            self.ready.pop_front();
        }
        !self.ready.is_empty()
    }
}

fn lock() -> MutexGuard<'static, State> {
    SCHEDULER.state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs work of a stream without the lock, then takes it again: `run`, and what follows as far as [`State::finish`]
/// says.
fn execute(run: Run, stream: u64, until: Option<u64>) -> MutexGuard<'static, State> {
    let mut run = run;
    RUNNING.fetch_add(1, Ordering::Relaxed);
    loop {
        // A panic must not leave the stream running for ever; the work has reported its error.
        let _ = catch_unwind(AssertUnwindSafe(run));
        let mut state = lock();
        if state.queues.get(&stream).is_none_or(|q| q.ops.is_empty()) {
            // Before the program hears of the end: it may set another handler then.
            ctrl_c::rest();
        }
        let next = state.finish(stream, until);
        // Who waits for what this thread goes on with is not woken before it is done.
        if !state.waiters.is_empty()
            && (next.is_none() || state.has_ready() || state.waiters.iter().any(|t| state.done(*t)))
        {
            SCHEDULER.done.notify_all();
        }
        match next {
            Some(next) => run = next,
            None => {
                RUNNING.fetch_sub(1, Ordering::Relaxed);
                return state;
            }
        }
        wake(&mut state);
    }
}

/// Finds workers for what is ready.
fn wake(state: &mut State) {
    if !state.has_ready() || state.lingering > 0 {
        return;
    }
    if state.idle > 0 {
        SCHEDULER.work.notify_one();
    } else if state.workers < cores().max(2) {
        spawn(state);
    } else if !state.watched {
        state.watched = true;
        let started = std::thread::Builder::new().name("cuda-watch".into()).spawn(watch);
        state.watched = started.is_ok();
    }
}

fn spawn(state: &mut State) {
    let started = std::thread::Builder::new().name("cuda-stream".into()).spawn(worker);
    // Without a worker the waiting threads still execute what they need.
    state.workers += usize::from(started.is_ok());
}

/// Adds workers while ready work waits and nobody takes any.
fn watch() {
    loop {
        let before = lock().taken;
        std::thread::sleep(STALL);
        let mut state = lock();
        let ready: Vec<u64> = state.ready.iter().copied().filter(|s| state.runnable(*s)).collect();
        state.ready = ready.into();
        if state.ready.is_empty() {
            state.watched = false;
            return;
        }
        if state.taken == before && state.workers < MOST_WORKERS {
            spawn(&mut state);
        }
    }
}

fn worker() {
    let mut state = lock();
    let mut lingered = true;
    loop {
        let Some(stream) = state.ready.pop_front() else {
            ctrl_c::rest();
            if lingered {
                state.idle += 1;
                state = SCHEDULER.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            } else {
                lingered = true;
                state.lingering += 1;
                drop(state);
                std::thread::sleep(LINGER);
                state = lock();
                state.lingering -= 1;
            }
            continue;
        };
        let Some(run) = state.take(stream) else { continue };
        wake(&mut state);
        drop(state);
        state = execute(run, stream, None);
        lingered = false;
    }
}

/// A new queue.
pub fn open() -> u64 {
    let mut state = lock();
    state.next += 1;
    let id = state.next;
    state.queues.insert(id, Queue::default());
    id
}

/// No more work comes; what is queued still runs.
pub fn close(stream: u64) {
    let mut state = lock();
    if let Some(q) = state.queues.get_mut(&stream) {
        q.closed = true;
        // Nobody can wait for it any more; what it did is taken for known, so that nothing is said of it wrongly.
        let last = Ticket { stream, number: q.submitted };
        state.host_saw(last);
        let Some(q) = state.queues.get_mut(&stream) else { return };
        if q.ops.is_empty() && !q.running {
            state.queues.remove(&stream);
        }
    }
}

/// Adds work to a queue, to run after `after` too.
pub fn submit(stream: u64, mut after: Vec<Ticket>, run: Run) -> Ticket {
    let mut state = lock();
    let mut run = run;
    if orders()
        && let Some(q) = state.queues.get(&stream)
    {
        let number = q.submitted + 1;
        let past = state.order(stream, number, &after);
        run = Box::new(move || order::during(past, run));
    }
    after.retain(|t| !state.done(*t));
    let Some(q) = state.queues.get_mut(&stream) else {
        drop(state);
        run();
        ctrl_c::rest();
        return Ticket::DONE;
    };
    q.submitted += 1;
    let ticket = Ticket { stream, number: q.submitted };
    q.ops.push_back(Op { run, after });
    if q.ops.len() == 1 {
        state.announce(stream);
        wake(&mut state);
    }
    ticket
}

/// The last work that a queue was given.
pub fn last(stream: u64) -> Ticket {
    let state = lock();
    state.queues.get(&stream).map_or(Ticket::DONE, |q| Ticket { stream, number: q.submitted })
}

/// Whether it has been executed.
pub fn done(ticket: Ticket) -> bool {
    let mut state = lock();
    let done = state.done(ticket);
    if done {
        state.host_saw(ticket);
    }
    done
}

/// The work that runs calls a function of the host, which knows then of all that came before.
pub fn host_runs() {
    if let Some(past) = order::current() {
        join(&mut lock().host, &past.known);
    }
}

/// Waits until it has been executed, and helps.
pub fn wait(ticket: Ticket) {
    let mut state = lock();
    while !state.done(ticket) {
        if let Some(needed) = state.needed(ticket)
            && let Some(run) = state.take(needed.stream)
        {
            drop(state);
            state = execute(run, needed.stream, Some(needed.number));
            wake(&mut state);
            continue;
        }
        ctrl_c::rest();
        state.waiters.push(ticket);
        state = SCHEDULER.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = state.waiters.iter().position(|t| *t == ticket) {
            state.waiters.swap_remove(at);
        }
    }
    state.host_saw(ticket);
    drop(state);
    ctrl_c::rest();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, mpsc};

    #[test]
    fn streams_run_in_order_and_after_what_they_depend_on() {
        let (a, b) = (open(), open());
        let log = Arc::new(Mutex::new(Vec::new()));
        let note = |n: u32| {
            let log = Arc::clone(&log);
            Box::new(move || log.lock().unwrap().push(n)) as Run
        };
        let (send, receive) = mpsc::channel::<()>();
        submit(a, vec![], Box::new(move || receive.recv().unwrap()));
        let second = submit(a, vec![], note(1));
        let third = submit(b, vec![second], note(2));
        assert!(!done(third));
        send.send(()).unwrap();
        wait(third);
        assert_eq!(*log.lock().unwrap(), [1, 2]);
        assert_eq!(last(b), third);
        close(a);
        close(b);
        assert!(done(second) && done(third));
    }

    #[test]
    fn work_is_done_though_nobody_waits_for_it() {
        // At any distance from the work before: while a worker executes, lingers, or sleeps.
        let stream = open();
        for pause in 0..200 {
            std::thread::sleep(Duration::from_micros(pause));
            let ticket = submit(stream, Vec::new(), Box::new(|| ()));
            let start = std::time::Instant::now();
            while !done(ticket) {
                assert!(start.elapsed() < Duration::from_secs(60), "lost after {pause} us");
                std::thread::yield_now();
            }
        }
        close(stream);
    }

    /// A state with streams 1 and 2, of so many pieces of work.
    fn with_work(pieces: [u64; 2]) -> State {
        let mut state = State::default();
        for (stream, submitted) in (1..).zip(pieces) {
            let op = || Op { run: Box::new(|| ()), after: Vec::new() };
            let ops = (0..submitted).map(|_| op()).collect();
            state.queues.insert(stream, Queue { ops, submitted, ..Queue::default() });
        }
        state
    }

    #[test]
    fn a_thread_goes_on_with_its_stream() {
        let mut state = with_work([4, 1]);
        assert!(state.take(1).is_some() && state.finish(1, None).is_some());
        // Nobody is woken for it: it is not ready but running.
        state.ready.push_back(1);
        assert!(!state.has_ready() && state.ready.is_empty());
        state.announce(2);
        assert!(state.finish(1, None).is_none(), "another stream has its turn");
        assert_eq!(state.ready, [2, 1]);
        // Who waits for the third piece does that one and no more, whoever else is ready.
        assert!(state.take(1).is_some() && state.finish(1, Some(3)).is_none());
        assert!(state.take(1).is_some() && state.finish(1, Some(4)).is_none());
        let mut state = with_work([3, 1]);
        state.announce(2);
        assert!(state.take(1).is_some() && state.finish(1, Some(2)).is_some());
        assert!(state.finish(1, Some(2)).is_none());
    }

    #[test]
    fn many_streams_may_wait_for_one_another() {
        // Each waits for the next one's message: all must run at once.
        let streams: Vec<u64> = (0..40).map(|_| open()).collect();
        let (mut give, mut take): (Vec<_>, Vec<_>) =
            (0..40).map(|_| mpsc::channel::<()>()).map(|(s, r)| (s, Some(r))).unzip();
        give.rotate_left(1);
        let tickets: Vec<Ticket> = streams
            .iter()
            .map(|s| {
                let (give, take) = (give.remove(0), take.remove(0));
                let first = *s == streams[0];
                submit(
                    *s,
                    vec![],
                    Box::new(move || {
                        let take = take.expect("one each");
                        if first {
                            give.send(()).unwrap();
                        }
                        take.recv().unwrap();
                        if !first {
                            give.send(()).unwrap();
                        }
                    }),
                )
            })
            .collect();
        tickets.into_iter().for_each(wait);
        streams.into_iter().for_each(close);
    }

    #[test]
    fn a_panic_ends_only_its_work() {
        let a = open();
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        submit(a, vec![], Box::new(|| panic!("as intended")));
        let t = submit(a, vec![], Box::new(|| {}));
        wait(t);
        std::panic::set_hook(hook);
        close(a);
    }
}
