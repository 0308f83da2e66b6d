//! Handles that programs hold: numbers that lead to objects as long as these live.
//!
//! A handle is never an address: a null, freed or foreign one is simply not found.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

thread_local! {
    static RUNNING: Cell<&'static str> = const { Cell::new("") };
}

/// The function of the driver that the thread is in now, empty for none; the one before.
pub fn runs(function: &'static str) -> &'static str {
    RUNNING.replace(function)
}

/// The function of the driver that the thread is in; empty for none.
pub fn running() -> &'static str {
    RUNNING.get()
}

/// Handles of one kind.
pub struct Handles<T> {
    kind: u64,
    next: AtomicU64,
    live: RwLock<BTreeMap<usize, Entry<T>>>,
}

struct Entry<T> {
    object: Arc<T>,
    /// The function that made it for the program, which has to end it; empty for what ends with something else.
    maker: &'static str,
}

impl<T> Handles<T> {
    /// No handles; `kind` tells them from those of other kinds.
    pub const fn new(kind: u64) -> Self {
        Handles { kind, next: AtomicU64::new(1), live: RwLock::new(BTreeMap::new()) }
    }

    /// A number for an object that is about to be made. No number is given twice.
    pub fn reserve(&self) -> usize {
        (self.kind << 40 | self.next.fetch_add(1, Ordering::Relaxed) << 4) as usize
    }

    fn insert(&self, handle: usize, object: Arc<T>, maker: &'static str) {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        live.insert(handle, Entry { object, maker });
    }

    /// Makes the number lead to the object.
    pub fn bind(&self, handle: usize, object: Arc<T>) {
        self.insert(handle, object, "");
    }

    /// A handle for an object that nobody has to end.
    pub fn add(&self, object: Arc<T>) -> usize {
        let handle = self.reserve();
        self.bind(handle, object);
        handle
    }

    /// A handle for an object that the running call makes for the program, which has to end it.
    pub fn give(&self, object: Arc<T>) -> usize {
        let handle = self.reserve();
        self.give_as(handle, object);
        handle
    }

    /// As [`give`](Handles::give), under a number that was reserved.
    pub fn give_as(&self, handle: usize, object: Arc<T>) {
        self.insert(handle, object, running());
    }

    /// The functions that made those objects which the program has not ended, an entry each.
    pub fn makers(&self, of: impl Fn(&T) -> bool) -> Vec<&'static str> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.values().filter(|e| !e.maker.is_empty() && of(&e.object)).map(|e| e.maker).collect()
    }

    /// The object.
    pub fn get(&self, handle: usize) -> Option<Arc<T>> {
        self.live
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&handle)
            .map(|e| Arc::clone(&e.object))
    }

    /// Ends the handle.
    pub fn remove(&self, handle: usize) -> Option<Arc<T>> {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        live.remove(&handle).map(|e| e.object)
    }

    /// All objects.
    pub fn all(&self) -> Vec<(usize, Arc<T>)> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.iter().map(|(h, e)| (*h, Arc::clone(&e.object))).collect()
    }

    /// Ends the handles whose object answers `true`.
    pub fn remove_if(&self, gone: impl Fn(&T) -> bool) {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        let dead: Vec<_> = live.iter().filter(|(_, e)| gone(&e.object)).map(|(h, _)| *h).collect();
        let dead: Vec<_> = dead.iter().filter_map(|h| live.remove(h)).collect();
        // Objects may hold handles of their own: they end when the table is free again.
        drop(live);
        drop(dead);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_handles_lead_nowhere() {
        let numbers = Handles::new(7);
        let a = numbers.add(Arc::new(1));
        let b = numbers.add(Arc::new(2));
        assert_ne!(a, b);
        assert_eq!(numbers.get(a).as_deref(), Some(&1));
        assert!(numbers.remove(a).is_some());
        assert!(numbers.remove(a).is_none());
        assert!(numbers.get(0).is_none());
        numbers.remove_if(|n| *n == 2);
        assert!(numbers.all().is_empty());
    }
}
