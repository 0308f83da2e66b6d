//! Memory for the time when the host has none.
//!
//! A program in Rust ends when an allocation fails; a library may not end the program that loaded it. [`Allocator`] is
//! the system's, with a few megabytes beside it that cost nothing before they are used. A call during which memory runs
//! out ends as it would have; those that come then are refused ([`is_short`]), and those that give something back are
//! not. Only who goes on for longer than the reserve lasts, inside of one call, is ended.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

const ROOM: usize = 32 << 20;
/// With so many bytes in use, calls are refused that may want more.
const SHORT: u64 = 4 << 20;
const PAGE: usize = 4096;

/// In `.bss`: no file and no page holds it until it is written.
#[repr(C, align(4096))]
struct Reserve {
    room: UnsafeCell<[MaybeUninit<u8>; ROOM]>,
    /// Where the next block begins, and in the upper half how many blocks are in use. Without any it begins anew.
    state: AtomicU64,
}

// SAFETY: `take` gives every byte to one block at a time; nothing else touches the room.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve =
    Reserve { room: UnsafeCell::new([MaybeUninit::uninit(); ROOM]), state: AtomicU64::new(0) };

const ONE: u64 = 1 << 32;

impl Reserve {
    fn start(&self) -> *mut u8 {
        self.room.get().cast()
    }

    fn holds(&self, p: *mut u8) -> bool {
        p.addr().wrapping_sub(self.start().addr()) < ROOM
    }

    fn used(&self) -> u64 {
        self.state.load(Ordering::Relaxed) % ONE
    }

    /// A block; null where none is left.
    fn take(&self, layout: Layout) -> *mut u8 {
        if layout.align() > PAGE {
            return std::ptr::null_mut();
        }
        let place = |state: u64| {
            let start = ((state % ONE) as usize).next_multiple_of(layout.align());
            let end = start.checked_add(layout.size()).filter(|end| *end <= ROOM)?;
            Some((start, (state & !(ONE - 1)) + ONE + end as u64))
        };
        let next = |state| place(state).map(|(_, next)| next);
        match self.state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next) {
            Ok(before) => place(before)
                .map_or(std::ptr::null_mut(), |(start, _)| self.start().wrapping_add(start)),
            Err(_) => std::ptr::null_mut(),
        }
    }

    /// Takes a block back; what the last one had is free again.
    fn give(&self, p: *mut u8, layout: Layout) {
        let start = (p.addr() - self.start().addr()) as u64;
        let next = |state: u64| {
            let last = state % ONE == start + layout.size() as u64;
            let end = if last { start } else { state % ONE };
            Some(if state < 2 * ONE { 0 } else { (state & !(ONE - 1)) - ONE + end })
        };
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next);
    }
}

/// The system's allocator with a reserve behind it, for `#[global_allocator]` of a library that C programs load.
pub struct Allocator;

// SAFETY: blocks are the system's, or lie in the reserve, where each is its owner's alone; `holds` tells them apart.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let p = unsafe { System.alloc(layout) };
        if p.is_null() { RESERVE.take(layout) } else { p }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let p = unsafe { System.alloc_zeroed(layout) };
        if !p.is_null() {
            return p;
        }
        let p = RESERVE.take(layout);
        if !p.is_null() {
            // SAFETY: a block of so many bytes.
            unsafe { p.write_bytes(0, layout.size()) };
        }
        p
    }

    #[inline]
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        if RESERVE.holds(p) {
            RESERVE.give(p, layout);
        } else {
            // SAFETY: the caller's promise, and it is not ours.
            unsafe { System.dealloc(p, layout) };
        }
    }

    #[inline]
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !RESERVE.holds(p) {
            // SAFETY: the caller's promise, and it is not ours.
            let new = unsafe { System.realloc(p, layout, size) };
            if !new.is_null() {
                return new;
            }
        }
        // SAFETY: the caller promises that this size with that alignment is a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: it is not empty, which the caller promises as well.
        let new = unsafe { self.alloc(wanted) };
        if !new.is_null() {
            // SAFETY: two blocks, both of so many bytes at least; the old one has no other owner.
            unsafe {
                new.copy_from_nonoverlapping(p, layout.size().min(size));
                self.dealloc(p, layout);
            }
        }
        new
    }
}

/// Whether memory has run out and not come back: what needs more is refused then.
#[inline]
pub fn is_short() -> bool {
    RESERVE.used() > SHORT && !is_back()
}

/// Whether the host has memory again.
#[cold]
fn is_back() -> bool {
    let layout = Layout::new::<[u8; SHORT as usize]>();
    // SAFETY: it is not empty; the block is given back at once.
    unsafe {
        let p = System.alloc(layout);
        if !p.is_null() {
            System.dealloc(p, layout);
        }
        !p.is_null()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_apart_and_come_back() {
        let layout = Layout::from_size_align(100, 64).unwrap();
        let all: Vec<*mut u8> = (0..10).map(|_| RESERVE.take(layout)).collect();
        for pair in all.windows(2) {
            assert!(pair[0].addr().is_multiple_of(64) && pair[1].addr() >= pair[0].addr() + 100);
            assert!(RESERVE.holds(pair[0]));
        }
        assert!(RESERVE.take(Layout::from_size_align(ROOM, 1).unwrap()).is_null());
        assert!(RESERVE.take(Layout::from_size_align(1, 2 * PAGE).unwrap()).is_null());
        assert!(!RESERVE.holds((&raw const layout).cast_mut().cast()));
        // A block that grows moves, within the reserve or out of it.
        // SAFETY: a block of this layout.
        unsafe {
            all[0].write_bytes(7, 100);
            let moved = Allocator.realloc(all[0], layout, 1000);
            assert!(!RESERVE.holds(moved));
            assert_eq!(std::slice::from_raw_parts(moved, 100), [7; 100]);
            System.dealloc(moved, Layout::from_size_align(1000, 64).unwrap());
        }
        let used = RESERVE.used();
        RESERVE.give(all[9], layout);
        assert_eq!(RESERVE.used(), all[9].addr() as u64 - RESERVE.start().addr() as u64);
        assert!(RESERVE.take(layout) == all[9] && RESERVE.used() == used);
        all[1..].iter().for_each(|p| RESERVE.give(*p, layout));
        assert_eq!((RESERVE.used(), is_short()), (0, false));
    }
}
