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

/// Work that borrows from the caller of [`run_on`], who waits for its end.
type Work = &'static (dyn Fn() + Sync);

struct Job {
    work: Work,
    latch: Arc<Latch>,
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

/// Counts jobs that have not ended.
#[derive(Default)]
struct Latch {
    state: Mutex<(usize, Option<Box<dyn Any + Send>>)>,
    ended: Condvar,
}

impl Latch {
    fn end(&self, panic: Option<Box<dyn Any + Send>>) {
        let mut state = locked(&self.state);
        state.0 -= 1;
        if state.1.is_none() {
            state.1 = panic;
        }
        if state.0 == 0 {
            self.ended.notify_all();
        }
    }
}

/// Waits for all jobs when it goes away, also while unwinding.
struct Wait(Arc<Latch>);

impl Wait {
    fn wait(&self) -> Option<Box<dyn Any + Send>> {
        let mut state = locked(&self.0.state);
        while state.0 > 0 {
            state = self.0.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.1.take()
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.wait();
    }
}

/// Runs `work` on this thread and on `others` more, or as many as the host gives, and waits for all.
pub(crate) fn run_on(others: usize, work: &(dyn Fn() + Sync)) {
    if others == 0 {
        return work();
    }
    // SAFETY: only the lifetime changes. Jobs hold the reference, and `wait` outlives them: it is
    // made before the first job starts, and returns, or is dropped by a panic, when all have ended.
    let shared: Work = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), Work>(work) };
    let wait = Wait(Arc::default());
    for _ in 0..others {
        locked(&wait.0.state).0 += 1;
        if !start(Job { work: shared, latch: Arc::clone(&wait.0) }) {
            // The host has no thread left: those that run do all.
            locked(&wait.0.state).0 -= 1;
            break;
        }
    }
    work();
    if let Some(panic) = wait.wait() {
        resume_unwind(panic);
    }
}

/// Gives a job to an idle thread or a new one; whether there was one.
fn start(mut job: Job) -> bool {
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
            Ok(()) => return true,
            Err(back) => job = back.0,
        }
    }
    let (sender, receiver) = channel::<Job>();
    let own = sender.clone();
    let run = move || {
        while let Ok(Job { work, latch }) = receiver.recv() {
            let panic = catch_unwind(AssertUnwindSafe(work)).err();
            let kept = {
                let mut idle = locked(&IDLE);
                let kept = idle.threads.len() < KEPT;
                if kept {
                    idle.threads.push(own.clone());
                }
                kept
            };
            // Idle first: the launch that this lets go on may be followed by another at once.
            latch.end(panic);
            if !kept {
                break;
            }
        }
    };
    let thread = std::thread::Builder::new().name("ptxrun worker".into()).spawn(run);
    thread.is_ok() && sender.send(job).is_ok()
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
            run_on(3, &|| {
                here.wait();
                ran.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(ran.into_inner(), 4);
        }
        assert!(locked(&IDLE).threads.len() >= 3);
    }

    #[test]
    fn a_panic_comes_back_when_all_have_ended() {
        let ended = AtomicUsize::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            run_on(2, &|| {
                if ended.fetch_add(1, Ordering::Relaxed) == 1 {
                    panic!("one of them");
                }
            });
        }));
        assert!(caught.is_err());
        assert_eq!(ended.into_inner(), 3);
    }
}
