//! Host threads that are kept between launches.
//!
//! A launch takes idle threads or starts new ones. It never waits for a thread that another launch
//! keeps busy: kernels may wait for one another, and then a common queue would hang.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Most threads that are kept while they have nothing to do.
const KEPT: usize = 256;

/// Work that borrows from the caller of [`run_on`], who waits for those that have begun it.
#[derive(Copy, Clone)]
struct Work(*const (dyn Fn() + Sync));

// SAFETY: what it points to may be called by several threads at once (`Sync`), and is called only between
// `Latch::begin` and `Latch::end`, while the caller of `run_on` keeps it.
unsafe impl Send for Work {}

struct Job {
    work: Work,
    latch: Arc<Latch>,
    /// Threads that the one with this job starts first.
    more: usize,
}

/// Threads without work.
struct Idle {
    /// The process that they belong to: a child made by `fork` has none of them.
    process: u32,
    threads: Vec<Sender<Job>>,
}

static IDLE: Mutex<Idle> = Mutex::new(Idle { process: 0, threads: Vec::new() });

fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts jobs that have begun and not ended.
#[derive(Default)]
struct Latch {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    running: usize,
    /// No job begins any more.
    closed: bool,
    panic: Option<Box<dyn Any + Send>>,
}

impl Latch {
    /// Whether a job may begin: the work is there until it has ended.
    fn begin(&self) -> bool {
        let mut state = locked(&self.state);
        state.running += usize::from(!state.closed);
        !state.closed
    }

    fn end(&self, panic: Option<Box<dyn Any + Send>>) {
        let mut state = locked(&self.state);
        state.running -= 1;
        if state.panic.is_none() {
            state.panic = panic;
        }
        if state.closed && state.running == 0 {
            self.ended.notify_all();
        }
    }
}

/// Lets no more jobs begin and waits for the others when it goes away, also while unwinding.
struct Wait(Arc<Latch>);

impl Wait {
    fn wait(&self) -> Option<Box<dyn Any + Send>> {
        let mut state = locked(&self.0.state);
        state.closed = true;
        while state.running > 0 {
            state = self.0.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.panic.take()
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.wait();
    }
}

/// The other threads of some work, before they are started.
pub(crate) struct Others {
    job: Job,
}

impl Others {
    /// Starts them: one, which starts the rest. Waking a thread keeps this one from the work for some microseconds.
    /// Nothing happens once the work has ended on the thread that came with it.
    pub(crate) fn start(self) {
        start(self.job);
    }
}

/// Runs `work` on this thread and on up to `others` more, which `call` may start now, or keep until somebody does. When
/// the work has returned here, threads that have not begun it do not begin any more, and those that have are waited
/// for: a thread takes longer to wake than a small launch to run.
pub(crate) fn run_on(others: usize, work: &(dyn Fn() + Sync), call: impl FnOnce(Others)) {
    if others == 0 {
        return work();
    }
    // SAFETY: only the lifetime changes. The work is called between `begin` and `end` of jobs only, and `wait`, which
    // is made before the first job starts and returns, or is dropped by a panic, before `work` goes away, lets no
    // job begin and waits for those that have.
    let shared = Work(unsafe {
        std::mem::transmute::<*const (dyn Fn() + Sync + '_), *const (dyn Fn() + Sync)>(work)
    });
    let wait = Wait(Arc::default());
    let job = Job { work: shared, latch: Arc::clone(&wait.0), more: others - 1 };
    call(Others { job });
    work();
    if let Some(panic) = wait.wait() {
        resume_unwind(panic);
    }
}

/// Starts so many threads: two, which start the others.
fn spread(work: Work, latch: &Arc<Latch>, count: usize) {
    for share in [count.div_ceil(2), count / 2] {
        if share > 0 {
            start(Job { work, latch: Arc::clone(latch), more: share - 1 });
        }
    }
}

/// Gives a job to an idle thread or a new one. Where the host has none left, those that run do all.
fn start(mut job: Job) {
    loop {
        let thread = {
            let mut idle = locked(&IDLE);
            let process = std::process::id();
            if idle.process != process {
                idle.process = process;
                // Their receivers do not exist here.
                std::mem::take(&mut idle.threads).into_iter().for_each(std::mem::forget);
            }
            idle.threads.pop()
        };
        let Some(thread) = thread else { break };
        match thread.send(job) {
            Ok(()) => return,
            Err(back) => job = back.0,
        }
    }
    let (sender, receiver) = channel::<Job>();
    let own = sender.clone();
    let run = move || {
        while let Ok(Job { work, latch, more }) = receiver.recv() {
            let begun = latch.begin();
            let run = || {
                spread(work, &latch, more);
                // SAFETY: the job has begun, so whoever made the work waits for its end.
                unsafe { (*work.0)() }
            };
            let panic = if begun { catch_unwind(AssertUnwindSafe(run)).err() } else { None };
            let kept = {
                let mut idle = locked(&IDLE);
                let kept = idle.threads.len() < KEPT;
                if kept {
                    idle.threads.push(own.clone());
                }
                kept
            };
            // Idle first: the launch that this lets go on may be followed by another at once.
            if begun {
                latch.end(panic);
            }
            if !kept {
                break;
            }
        }
    };
    let thread = std::thread::Builder::new().name("ptxrun worker".into()).spawn(run);
    if thread.is_ok() {
        // It waits for it.
        let _ = sender.send(job);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn work_runs_on_every_thread_and_threads_are_used_again() {
        for _ in 0..50 {
            let ran = AtomicUsize::new(0);
            let here = std::sync::Barrier::new(4);
            let work = || {
                here.wait();
                ran.fetch_add(1, Ordering::Relaxed);
            };
            run_on(3, &work, Others::start);
            assert_eq!(ran.into_inner(), 4);
        }
        assert!(locked(&IDLE).threads.len() >= 3);
    }

    #[test]
    fn work_that_is_done_waits_for_nobody() {
        // More threads than there are kept: some cannot have begun when the first turn has ended.
        for _ in 0..200 {
            let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let work = || {
                begun.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                ended.fetch_add(1, Ordering::SeqCst);
            };
            run_on(40, &work, Others::start);
            let all = begun.load(Ordering::SeqCst);
            assert!((1..=41).contains(&all));
            assert_eq!(all, ended.load(Ordering::SeqCst));
        }
    }

    #[test]
    fn threads_that_are_called_late_help_or_stay_away() {
        let ran = AtomicUsize::new(0);
        let kept = Mutex::new(None);
        let count = || {
            ran.fetch_add(1, Ordering::SeqCst);
        };
        run_on(1, &count, |others| *locked(&kept) = Some(others));
        assert_eq!(ran.load(Ordering::SeqCst), 1, "nobody has called the other one");
        // The work is gone: the thread that starts now must not touch it.
        locked(&kept).take().unwrap().start();
        let (ran, here) = (AtomicUsize::new(0), std::sync::Barrier::new(2));
        let work = || {
            if let Some(others) = locked(&kept).take() {
                others.start();
            }
            here.wait();
            ran.fetch_add(1, Ordering::SeqCst);
        };
        run_on(1, &work, |others| *locked(&kept) = Some(others));
        assert_eq!(ran.into_inner(), 2);
    }

    #[test]
    fn a_panic_comes_back_when_all_have_ended() {
        let ended = AtomicUsize::new(0);
        let here = std::sync::Barrier::new(3);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            let work = || {
                here.wait();
                if ended.fetch_add(1, Ordering::Relaxed) == 1 {
                    panic!("one of them");
                }
            };
            run_on(2, &work, Others::start);
        }));
        assert!(caught.is_err());
        assert_eq!(ended.into_inner(), 3);
    }
}
