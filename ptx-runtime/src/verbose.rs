//! What `PTXRUN_VERBOSE` says of launches.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::backend::{Engine, LaunchStats};
use crate::fidelity::Fidelity;
use crate::verified::Verified;

/// Most kernels that are told of.
const MOST: usize = 10_000;

/// Whether anything is told.
pub(crate) fn on() -> bool {
    static ON: LazyLock<bool> = LazyLock::new(|| environment::verbose().unwrap_or(false));
    *ON
}

/// Says which engine ran a kernel, and how many of its instructions are exact: after its first launch, and when another
/// engine takes over.
pub(crate) fn tell(
    module: &Verified,
    entry: &str,
    stats: &LaunchStats,
    fidelity: impl FnOnce() -> Option<Fidelity>,
) {
    /// The module, the kernel, and whether it was compiled.
    type Told = (usize, String, bool);
    static TOLD: LazyLock<Mutex<HashSet<Told>>> = LazyLock::new(Mutex::default);
    if !on() {
        return;
    }
    let compiled = matches!(stats.engine, Engine::Compiled(_));
    let told = (std::ptr::from_ref(module).addr(), entry.to_owned(), compiled);
    let mut known = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= MOST || !known.insert(told) {
        return;
    }
    drop(known);
    let fidelity = fidelity().unwrap_or_default();
    environment::message::note(&format!("ptxrun: {entry}: {}; {fidelity}", stats.engine));
}
