//! How often each kernel of the process was launched, where somebody asks: a test runner, test by test.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Most kernels that are told apart; launches of further ones are counted under an empty name.
const MOST: usize = 10_000;

static ON: AtomicBool = AtomicBool::new(false);
static LAUNCHES: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// Counts a launch, if somebody has asked.
pub(crate) fn count(entry: &str) {
    // Only a hint: the launches of a thread that has not seen it yet began before the question.
    if !ON.load(Ordering::Relaxed) {
        return;
    }
    let mut launches = LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = if launches.len() < MOST || launches.contains_key(entry) { entry } else { "" };
    *launches.entry(name.to_owned()).or_default() += 1;
}

/// The launches since this was last called, by kernel; none the first time, from which on they are counted. Launches
/// that end with a fault count as well.
pub fn launches() -> BTreeMap<String, u64> {
    ON.store(true, Ordering::Relaxed);
    std::mem::take(&mut *LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
mod tests {
    /// Other tests of this process launch kernels meanwhile, so only these names are looked at.
    #[test]
    fn launches_are_counted_once_somebody_asks() {
        let ours = || -> Vec<_> {
            super::launches().into_iter().filter(|(name, _)| name.starts_with("tally ")).collect()
        };
        super::count("tally early");
        assert_eq!(ours(), []);
        for name in ["tally a", "tally b", "tally a"] {
            super::count(name);
        }
        assert_eq!(ours(), [("tally a".to_owned(), 2), ("tally b".to_owned(), 1)]);
        assert_eq!(ours(), []);
    }
}
