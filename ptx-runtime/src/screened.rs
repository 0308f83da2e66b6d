//! Checked launches as compiled code, under a screen.
//!
//! What passes has no finding. What does not is put back as it was, and interpreted under the checkers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ptx_check::Checker;
use ptx_check::screen::Screening;
use ptx_interp::{BlockQueue, Kernel, LaunchError, LaunchParams, Memory};
use ptx_jit::{Options, Stop, Tracked, Watched};

use crate::backend::{Backend, Codes, Compiled, LaunchStats, lasts, obstacle, pays};
use crate::compiled::{device, run_to_stop, threads, total};

/// Most times that a launch begins as compiled code, each with more known of what it reads and writes.
const TURNS: usize = 8;

/// Runs a checked launch as compiled code; why it must be interpreted, if it must. `kernel` is the one whose variables
/// stand apart.
pub(crate) fn run(
    memory: &Memory,
    checker: &Checker,
    codes: &Codes,
    kernel: &Kernel,
    launch: &LaunchParams,
    backend: Backend,
    options: Options,
) -> Result<Result<LaunchStats, Arc<str>>, LaunchError> {
    let no = |why: &str| Ok(Err(Arc::from(why)));
    if !checker.can_screen(kernel, launch) {
        return no("it is checked");
    }
    let watched = match Screening::wants_accesses(checker) {
        true => {
            let (checks, [shared_words, global_words]) =
                (checker.checks(), Screening::by_words(kernel));
            let (races, unwritten) = (checks.race, checks.init);
            Watched::Accesses(Tracked { races, unwritten, shared_words, global_words })
        }
        false => Watched::Variables,
    };
    let options = Options { watched, ..options };
    if let Some(why) = obstacle(launch) {
        return no(why);
    }
    let work = codes.work(kernel);
    let wanted = backend == Backend::Jit
        || pays(launch, work)
        || codes.ready(kernel, launch, options).is_some()
        || lasts(kernel, memory, launch, work);
    if !wanted {
        return no("it is checked");
    }
    let checked = ptx_interp::Checked::new(kernel, launch)?;
    if checked.clustered() {
        return no("blocks in clusters");
    }
    let (code, compiled_in) = match codes.get(kernel, launch, options) {
        Ok(found) => found,
        Err(why) => return Ok(Err(why)),
    };
    if code.waits() {
        return no("threads may wait for others, and it is checked");
    }
    let progress = launch.progress.as_ref().map(|p| (p, p.load(Ordering::Relaxed)));
    for _ in 0..TURNS {
        let Some(screening) = checker.screening(kernel, checked.shared_bytes()) else {
            return no("it is checked");
        };
        let most = match (threads(launch, work.of(launch)), watched) {
            (most, Watched::Variables | Watched::Nothing) => most,
            (0, Watched::Accesses(_)) => screening.host_threads(),
            (most, Watched::Accesses(_)) => most.min(screening.host_threads()),
        };
        memory.launch_starts();
        let ran = {
            let device = device(kernel, &checked, memory, launch, Some(&screening));
            run_to_stop(kernel, &code, &device, &BlockQueue::new(0..total(launch), most))
        };
        let passed = match ran {
            Ok(()) => screening.passes(),
            // Time is up, or somebody has stopped it: the interpreter says where it was.
            Err((
                _,
                Stop::Device | Stop::Watched | Stop::Stuck | Stop::Fault { .. } | Stop::BranchIndex,
            )) => Err(screening.take_back()),
        };
        match passed {
            Ok(()) => {
                let compiled = Compiled { compiled_in, ..Compiled::by(&code, options) };
                return Ok(Ok(LaunchStats::compiled(total(launch), compiled)));
            }
            Err(again) => {
                // Its blocks start anew.
                if let Some((progress, before)) = progress {
                    progress.store(before, Ordering::Relaxed);
                }
                if !again {
                    break;
                }
            }
        }
    }
    no("a checker looks closely at it")
}
