//! Checks kernels while they run: memory, races, uninitialised values, barriers.
//!
//! A [`Checker`] belongs to one [`Memory`]. It is told what the host does to the memory, and runs launches in the
//! interpreter with an [observer](ptx_interp::observer). What it finds is data ([`Finding`]); [`render`] shows it.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`finding`] | findings as data |
//! | [`render`] | findings as text, JSON, the text of compute-sanitizer, SARIF |
//! | [`coverage`] | which instructions ran, and which way guards went |
//! | [`order`] | what work of streams comes after |
//! | `output` | where findings go while a program runs |
//! | `watch` | the observer: hands events to the checkers |
//! | `host` | what is known of global memory between launches: what was freed, what was written |
//! | `memory` | bounds by variable, faults as findings, leaks |
//! | `race`, `known`, `shadow` | conflicting accesses that nothing orders; what threads know; last accesses |
//! | `init`, `transfer`, `written` | values that nobody wrote; what instructions make of them; which bytes hold something |
//! | [`screen`] | launches of compiled code: whether they need a closer look |
//! | `sync` | barriers, member masks, mbarrier objects, deadlocks |
//!
//! Checked launches run one after another, each on one host thread, so that reports are the same in every run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_interp::launch::launch_observed;
use ptx_interp::{
    Kernel, LaunchError, LaunchParams, Memory, MemoryEvent, MemoryWatcher, Saved, Stats,
};

pub mod coverage;
pub mod finding;
mod hash;
mod host;
mod init;
mod known;
mod memory;
pub mod order;
mod output;
mod race;
pub mod render;
pub mod screen;
mod shadow;
mod sync;
mod transfer;
mod watch;
mod written;

pub use environment::Checks;
pub use finding::{Check, Class, Finding, Left, Site};
pub use memory::GAP;
pub use output::Output;

use finding::Findings;
use host::Host;
use race::{Between, Race};
use shadow::Page;
use watch::Watch;

/// Pages of shadows that are kept for the next launch: 59 MB.
const PAGES: usize = 1 << 14;

/// Checks what kernels do to one memory.
pub struct Checker {
    checks: Checks,
    memory: Memory,
    host: Mutex<Host>,
    findings: Mutex<Findings>,
    /// Accesses of launches and copies, to be compared with those that nothing orders.
    between: Mutex<Between>,
    /// What was not checked, and why.
    notes: Mutex<Vec<String>>,
    covered: Mutex<Vec<coverage::Covered>>,
    output: Output,
    /// Held while a launch runs.
    turn: Mutex<()>,
    /// A launch has ended in a fault.
    faulted: AtomicBool,
    /// Of shadows of launches that have ended: to make them anew takes longer than to clear them.
    pages: Mutex<Vec<Page>>,
    /// What screens of launches that have ended leave for the next ones, kernels that did not pass, what others read
    /// again that they write, and room for what memory held.
    kept: Mutex<Vec<screen::Kept>>,
    suspects: Mutex<screen::Suspects>,
    rereads: Mutex<screen::Rereads>,
    saved: Mutex<Saved>,
    /// There are ranges that kernels may only read, or only write.
    restricts: AtomicBool,
    /// Leaks were looked for.
    finished: AtomicBool,
}

/// Tells the checker what the host does.
struct Watcher(std::sync::Weak<Checker>);

impl MemoryWatcher for Watcher {
    fn event(&self, event: MemoryEvent<'_>) {
        let Some(checker) = self.0.upgrade() else { return };
        checker.host_event(event);
    }
}

impl Checker {
    /// A checker of `memory`, which must hold nothing yet.
    pub fn new(checks: Checks, memory: &Memory, output: Output) -> Arc<Checker> {
        if checks.memory {
            memory.quarantine();
        }
        let checker = Arc::new(Checker {
            checks,
            memory: memory.clone(),
            // Where device memory is the host's, nobody sees what the host writes.
            host: Mutex::new(Host::new(checks.init && memory.spans_hold_while().is_some())),
            findings: Mutex::default(),
            between: Mutex::default(),
            notes: Mutex::default(),
            covered: Mutex::default(),
            output,
            turn: Mutex::default(),
            faulted: AtomicBool::new(false),
            pages: Mutex::default(),
            kept: Mutex::default(),
            suspects: Mutex::default(),
            rereads: Mutex::default(),
            saved: Mutex::default(),
            restricts: AtomicBool::new(false),
            finished: AtomicBool::new(false),
        });
        memory.watch(Arc::new(Watcher(Arc::downgrade(&checker))));
        checker
    }

    /// What is checked.
    pub fn checks(&self) -> Checks {
        self.checks
    }

    fn host(&self) -> MutexGuard<'_, Host> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn findings(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn report(&self, finding: Finding) {
        self.findings().add(finding);
    }

    /// Something that was not checked.
    pub(crate) fn note(&self, note: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Counts of the launches since this was called last.
    pub fn covered(&self) -> Vec<coverage::Covered> {
        std::mem::take(&mut self.covered.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn cover(&self, new: Vec<coverage::Covered>) {
        self.covered.lock().unwrap_or_else(PoisonError::into_inner).extend(new);
    }

    /// What was not checked, and why.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        notes.extend(self.between().note().map(str::to_owned));
        notes
    }

    fn host_event(&self, event: MemoryEvent<'_>) {
        let mut found = self.across(&event);
        found.extend(self.host().event(event));
        if !found.is_empty() {
            found.into_iter().for_each(|finding| self.report(finding));
            self.emit();
        }
    }

    fn between(&self) -> MutexGuard<'_, Between> {
        self.between.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an event of the host's side has to do with launches that it is not ordered with.
    fn across(&self, event: &MemoryEvent<'_>) -> Vec<Finding> {
        if !self.checks.race {
            return Vec::new();
        }
        let past = order::current();
        let (what, ranges) = match *event {
            MemoryEvent::Freed(a) => {
                let past = past.filter(|_| self.checks.memory);
                return self.between().freed(past.as_ref(), a.start..a.start + a.size, &a.name);
            }
            MemoryEvent::Written { address, bytes } => {
                ("a copy or fill that writes", vec![(address..address + bytes, true)])
            }
            MemoryEvent::Read { address, bytes } => {
                ("a copy that reads", vec![(address..address + bytes, false)])
            }
            MemoryEvent::Copied { to, from, bytes } => {
                ("a copy", vec![(to..to + bytes, true), (from..from + bytes, false)])
            }
            MemoryEvent::Allocated(_) | MemoryEvent::LaunchStarts => return Vec::new(),
        };
        match past {
            Some(past) => self.between().copy(past, what, ranges, &self.memory),
            None => Vec::new(),
        }
    }

    /// A launch has ended; what of it races with other work.
    pub(crate) fn launched(&self, mut race: Race) -> Vec<Finding> {
        let Some(past) = order::current() else {
            self.pages(race.into_pages());
            return Vec::new();
        };
        self.pages(race.unused());
        self.between().launch(past, race, &self.memory)
    }

    /// Pages of shadows that launches have left; `new` take their place.
    pub(crate) fn pages(&self, mut new: Vec<Page>) -> Vec<Page> {
        new.truncate(PAGES);
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut pages, new)
    }

    /// Hands new findings to where they go at once.
    fn emit(&self) {
        if self.output != Output::Kept {
            let new = self.findings().take_new();
            self.output.write(&new, &self.notes(), &self.covered());
        }
    }

    /// Runs a launch and checks it; kernels should come from
    /// [`lower_spaced`](ptx_parse::lower::lower_spaced) with [`GAP`].
    ///
    /// # Errors
    /// As [`ptx_interp::launch()`]. A fault is a finding as well.
    pub fn launch(&self, kernel: &Kernel, params: &LaunchParams) -> Result<Stats, LaunchError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let params = LaunchParams { threads: 1, ..params.clone() };
        let (result, _) =
            launch_observed(kernel, &self.memory, &params, &|| Watch::new(self, kernel));
        if let Err(LaunchError::Fault(report)) = &result {
            self.faulted.store(true, Ordering::Relaxed);
            let freed =
                report.access.as_ref().map(|a| a.address).and_then(|at| self.host().gone(at));
            let finding = match self.checks {
                Checks { memory: true, .. } => memory::of_fault(report, freed),
                _ => None,
            };
            let finding = finding.or_else(|| self.checks.sync.then(|| sync::of_fault(report))?);
            if let Some(finding) = finding {
                self.report(finding);
            }
        }
        self.emit();
        result
    }

    /// From now on kernels may only read a range of global memory, or only write it, until it is freed.
    pub fn restrict(&self, start: u64, bytes: u64, only_write: bool) {
        if self.checks.memory {
            self.restricts.store(true, Ordering::Relaxed);
            self.host().restrict(start, bytes, only_write);
        }
    }

    /// What was found so far.
    pub fn all(&self) -> Vec<Finding> {
        self.findings().all().to_vec()
    }

    /// Adds what is left over at the end of a context: memory of kernels that nobody freed, and where that is asked for,
    /// memory of the program and these objects.
    pub fn finish(&self, objects: &[Left]) {
        if self.finished.swap(true, Ordering::Relaxed) {
            return;
        }
        // Who reads the environment for other things has refused what is wrong in it.
        let full = environment::check_leaks().unwrap_or(false);
        // A kernel that was ended could not free what it had.
        if self.checks.memory && !self.faulted.load(Ordering::Relaxed) {
            let objects = if full { objects } else { &[] };
            for finding in
                memory::leaks(&self.memory, full).into_iter().chain(finding::left(objects))
            {
                self.report(finding);
            }
            self.emit();
        }
    }
}

/// Reports objects that are left and belong to no context, where the environment asks for that.
pub fn report_left(objects: &[Left]) {
    let memory = environment::checks().is_ok_and(|checks| checks.memory);
    if memory && environment::check_leaks().unwrap_or(false) {
        Output::from_environment().write(&finding::left(objects), &[], &[]);
    }
}
