//! Atomic updates of guest memory by the host's atomics: one place for every engine.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::effect::{AtomOp, window};
use crate::types::Space;

/// Atomically replaces an element of 1, 2, 4 or 8 bytes by `f(old)`; the old value.
///
/// # Safety
/// The element at `p` must be mapped, writable and aligned to its size, and nothing may hold
/// references to it.
pub unsafe fn update(p: *mut u8, bytes: u8, f: &mut dyn FnMut(u64) -> u64) -> u64 {
    macro_rules! swap {
        ($atomic:ident, $int:ident) => {{
            // SAFETY: the caller's promise.
            let word = unsafe { $atomic::from_ptr(p.cast()) };
            let mut old = word.load(Ordering::SeqCst);
            loop {
                let new = f(old as u64) as $int;
                match word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(_) => return old as u64,
                    Err(now) => old = now,
                }
            }
        }};
    }
    match bytes {
        1 => swap!(AtomicU8, u8),
        2 => swap!(AtomicU16, u16),
        4 => swap!(AtomicU32, u32),
        _ => swap!(AtomicU64, u64),
    }
}

/// Does `op` to an element; the old value. `shared`, `b` and `c` as for [`AtomOp::apply`].
///
/// # Safety
/// As for [`update`].
#[inline]
pub unsafe fn apply(p: *mut u8, bytes: u8, op: AtomOp, shared: bool, b: u64, c: u64) -> u64 {
    // The usual word operations have host instructions.
    macro_rules! word {
        ($atomic:ident, $int:ident) => {{
            // SAFETY: the caller's promise.
            let word = unsafe { $atomic::from_ptr(p.cast()) };
            let (b, c) = (b as $int, c as $int);
            match op {
                AtomOp::Add => return word.fetch_add(b, Ordering::SeqCst) as u64,
                AtomOp::Exch => return word.swap(b, Ordering::SeqCst) as u64,
                AtomOp::Cas => {
                    let result = word.compare_exchange(b, c, Ordering::SeqCst, Ordering::SeqCst);
                    return result.unwrap_or_else(|old| old) as u64;
                }
                _ => {}
            }
        }};
    }
    match bytes {
        4 => word!(AtomicU32, u32),
        8 => word!(AtomicU64, u64),
        _ => {}
    }
    // SAFETY: the caller's promise.
    unsafe { update(p, bytes, &mut |old| op.apply(bytes, shared, old, b, c)) }
}

/// Replaces 16 bytes by `f(old)`, atomically with respect to other calls; the old value.
///
/// # Safety
/// As for [`update`], with an alignment of 16.
pub unsafe fn update_16_bytes(p: *mut u8, f: impl FnOnce(u128) -> u128) -> u128 {
    // The host has no 16-byte atomic in baseline code; they exclude one another.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _held = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let p = p.cast::<u128>();
    // SAFETY: the caller's promise; a racing plain access of the guest sees mixed bytes, its own
    // fault.
    unsafe {
        let old = u128::from_le(p.read_volatile());
        p.write_volatile(f(old).to_le());
        old
    }
}

/// Whether an address of a space lies in shared memory.
pub fn in_shared(space: Space, address: u64) -> bool {
    match space {
        Space::Shared | Space::SharedCluster => true,
        Space::Generic => address.wrapping_sub(window::SHARED) < window::SHARED_SIZE,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_every_size() {
        let mut memory = [0x0102_0304_0506_0708u64, 0];
        let p = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: aligned elements of `memory`, which nothing refers to meanwhile.
        unsafe {
            assert_eq!(update(p, 1, &mut |v| v + 1), 8);
            assert_eq!(update(p.add(2), 2, &mut |v| v * 2), 0x0506);
            assert_eq!(apply(p.add(4), 4, AtomOp::Add, false, 1, 0), 0x0102_0304);
            assert_eq!(apply(p, 8, AtomOp::Cas, false, 5, 6), 0x0102_0305_0a0c_0709);
            assert_eq!(apply(p, 8, AtomOp::MaxU, false, u64::MAX, 0), 0x0102_0305_0a0c_0709);
        }
        assert_eq!(memory, [u64::MAX, 0]);
        let mut wide = 7u128;
        // SAFETY: as above.
        let old = unsafe { update_16_bytes((&raw mut wide).cast(), |v| v << 100) };
        assert_eq!((old, wide), (7, 7 << 100));
    }

    #[test]
    fn generic_addresses_of_shared_memory() {
        assert!(in_shared(Space::Generic, window::SHARED));
        assert!(!in_shared(Space::Generic, window::SHARED - 1));
        assert!(!in_shared(Space::Generic, window::LOCAL));
        assert!(!in_shared(Space::Global, window::SHARED));
    }
}
