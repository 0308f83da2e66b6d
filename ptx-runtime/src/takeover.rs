//! Compiled code that takes over a launch from the interpreter: the blocks that have not started when it is there.
//!
//! Whether compiling pays is estimated before a launch. Where the estimate said no and the launch lasts all the same,
//! code is made beside it, on a thread of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use ptx_interp::{
    BlockQueue, Checked, Kernel, LaunchError, LaunchParams, Memory, Relief, Report, Stats,
};
use ptx_jit::Options;

use crate::backend::{Codes, Worked, obstacle};
use crate::compiled;

/// Time from one look for the code to the next.
const AGAIN: Duration = Duration::from_micros(500);

/// A launch that the interpreter runs and compiled code may take over. It is not a checked one: the code that takes
/// over has no screen.
pub(crate) struct Begun<'a> {
    pub(crate) codes: &'a Arc<Codes>,
    pub(crate) kernel: &'a Arc<Kernel>,
    pub(crate) checked: &'a Checked,
    pub(crate) memory: &'a Memory,
    pub(crate) launch: &'a LaunchParams,
    pub(crate) options: Options,
}

impl Begun<'_> {
    /// Whether compiled code may run blocks of it beside the interpreter. Text that both print would lose its order,
    /// and blocks that all wait for one another stay together.
    pub(crate) fn may_be_taken_over(&self) -> bool {
        let Begun { kernel, launch, .. } = self;
        let alone = !self.checked.clustered() && !launch.cooperative;
        alone && !kernel.prints() && obstacle(launch).is_none()
    }
}

/// The compiled part of a launch: its code and blocks.
pub(crate) type Taken = (Arc<ptx_jit::Kernel>, u64);

type Running<'scope> = ScopedJoinHandle<'scope, Result<Taken, LaunchError>>;

/// Looks for the code while the interpreter runs.
struct Takeover<'scope, 'env> {
    begun: &'env Begun<'env>,
    scope: &'scope Scope<'scope, 'env>,
    start: Instant,
    /// When to look next, in nanoseconds since the start; the largest number: never again.
    next: AtomicU64,
    state: Mutex<State<'scope>>,
}

#[derive(Default)]
struct State<'scope> {
    /// Whether code is being made.
    making: bool,
    running: Option<Running<'scope>>,
}

impl Relief for Takeover<'_, '_> {
    fn look(&self, waiting: &BlockQueue<Box<Report>>) {
        let now = self.start.elapsed().as_nanos() as u64;
        if now < self.next.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut state) = self.state.try_lock() else { return };
        self.next.store(now + AGAIN.as_nanos() as u64, Ordering::Relaxed);
        let Begun { codes, kernel, launch, options, .. } = *self.begun;
        if !std::mem::replace(&mut state.making, true) {
            codes.make_beside(kernel, launch, options);
        }
        let Some(code) = codes.ready(kernel, launch, options) else { return };
        self.next.store(u64::MAX, Ordering::Relaxed);
        let rest = waiting.take_rest();
        if rest.is_empty() {
            return;
        }
        let queue = waiting.part(rest.clone(), launch.threads);
        let begun = self.begun;
        let run = move || {
            let Begun { kernel, checked, memory, launch, .. } = *begun;
            let device = compiled::device(kernel, checked, memory, launch, None);
            compiled::run_queue(kernel, &code, &device, &queue)?;
            Ok((code, rest.end - rest.start))
        };
        state.running = Some(self.scope.spawn(run));
    }
}

/// Runs a launch in the interpreter until compiled code is there: what each of them ran.
pub(crate) fn run(begun: &Begun<'_>, work: Worked) -> Result<(Stats, Option<Taken>), LaunchError> {
    std::thread::scope(|scope| {
        let patience = work.patience().as_nanos() as u64;
        let takeover = Takeover {
            begun,
            scope,
            start: Instant::now(),
            next: AtomicU64::new(patience),
            state: Mutex::default(),
        };
        let Begun { kernel, checked, memory, launch, .. } = *begun;
        let stats = ptx_interp::launch_relieved(kernel, memory, launch, checked, &takeover);
        let running = takeover.state.into_inner().unwrap_or_else(PoisonError::into_inner).running;
        let taken = running.map(|thread| match thread.join() {
            Ok(ran) => ran,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // The interpreter's blocks come first.
        let stats = stats?;
        Ok((stats, taken.transpose()?))
    })
}
