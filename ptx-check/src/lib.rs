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
//! | `output` | where findings go while a program runs |
//! | `watch` | the observer: hands events to the checkers |
//! | `host` | what is known of global memory between launches: what was freed, what was written |
//! | `memory` | bounds by variable, faults as findings, leaks |
//! | `race`, `known`, `shadow` | conflicting accesses that nothing orders; what threads know; last accesses |
//! | `init`, `transfer` | values that nobody wrote; what instructions make of them |
//! | `sync` | barriers, member masks, mbarrier objects, deadlocks |
//!
//! Checked launches run one after another, each on one host thread, so that reports are the same in every run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ptx_interp::launch::launch_observed;
use ptx_interp::{Kernel, LaunchError, LaunchParams, Memory, MemoryEvent, MemoryWatcher, Stats};

pub mod coverage;
pub mod finding;
mod host;
mod init;
mod known;
mod memory;
mod output;
mod race;
pub mod render;
mod shadow;
mod sync;
mod transfer;
mod watch;

pub use environment::Checks;
pub use finding::{Check, Class, Finding, Site};
pub use memory::GAP;
pub use output::Output;

use finding::Findings;
use host::Host;
use watch::Watch;

/// Checks what kernels do to one memory.
pub struct Checker {
    checks: Checks,
    memory: Memory,
    host: Mutex<Host>,
    findings: Mutex<Findings>,
    /// What was not checked, and why.
    notes: Mutex<Vec<String>>,
    covered: Mutex<Vec<coverage::Covered>>,
    output: Output,
    /// Held while a launch runs.
    turn: Mutex<()>,
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
            notes: Mutex::default(),
            covered: Mutex::default(),
            output,
            turn: Mutex::default(),
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
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn host_event(&self, event: MemoryEvent<'_>) {
        let found = self.host().event(event);
        if let Some(finding) = found {
            self.report(finding);
            self.emit();
        }
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

    /// What was found so far.
    pub fn all(&self) -> Vec<Finding> {
        self.findings().all().to_vec()
    }

    /// Adds what is left over at the end of a program: memory of kernels that nobody freed.
    pub fn finish(&self) {
        if self.checks.memory {
            for finding in memory::leaks(&self.memory) {
                self.report(finding);
            }
            self.emit();
        }
    }
}
