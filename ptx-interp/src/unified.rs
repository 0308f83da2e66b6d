//! Memory of the host that host and kernels see at one address.

use std::alloc::{Layout, alloc_zeroed, dealloc};

use crate::memory::Memory;

/// Zeroed memory whose address [`Memory::map_host`] leaves as it is.
///
/// The heap does not always serve. In programs that are linked to fixed addresses, and under valgrind, it lies where
/// kernels' addresses mean shared or device memory; then the bytes are pages further up.
#[derive(Debug)]
pub struct Unified {
    start: *mut u8,
    bytes: usize,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Heap(Layout),
    #[cfg(all(target_os = "linux", not(miri)))]
    Pages(usize),
}

// SAFETY: the bytes are reached through raw pointers only; racing accesses are the program's own.
unsafe impl Send for Unified {}
// SAFETY: as above.
unsafe impl Sync for Unified {}

impl Unified {
    /// `bytes` bytes, not 0, at a multiple of `align`, a power of two of at most 4096. `None` where the host has no
    /// memory, or none at such an address.
    pub fn new(memory: &Memory, bytes: usize, align: usize) -> Option<Unified> {
        let layout = Layout::from_size_align(bytes, align).ok().filter(|l| l.size() > 0)?;
        // SAFETY: the size is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return None;
        }
        let heap = Unified { start, bytes, origin: Origin::Heap(layout) };
        if memory.keeps_address(heap.address(), bytes as u64) {
            return Some(heap);
        }
        drop(heap);
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            let pages = pages::map(bytes)?;
            let pages = Unified { start: pages.0, bytes, origin: Origin::Pages(pages.1) };
            if align <= pages::PAGE && memory.keeps_address(pages.address(), bytes as u64) {
                return Some(pages);
            }
        }
        None
    }
    /// The first byte.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
    /// Its address, on both sides.
    pub fn address(&self) -> u64 {
        self.start.expose_provenance() as u64
    }
    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Unified {
    fn drop(&mut self) {
        match self.origin {
            // SAFETY: allocated with this layout.
            Origin::Heap(layout) => unsafe { dealloc(self.start, layout) },
            #[cfg(all(target_os = "linux", not(miri)))]
            Origin::Pages(mapped) => pages::unmap(self.start, mapped),
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod pages {
    use std::sync::atomic::{AtomicUsize, Ordering};

    pub const PAGE: usize = 4096;
    /// Above device memory as large as any, below what processors with 47 bits of addresses have.
    const FIRST: usize = 1 << 40;
    const LAST: usize = 1 << 43;

    /// Zeroed pages, near an address that no page had before, with how many bytes they are.
    pub fn map(bytes: usize) -> Option<(*mut u8, usize)> {
        static NEXT: AtomicUsize = AtomicUsize::new(FIRST);
        let bytes = bytes.checked_next_multiple_of(PAGE)?;
        // A page is left out in between.
        let at = NEXT.fetch_add(bytes.checked_add(PAGE)?, Ordering::Relaxed);
        if at.checked_add(bytes).is_none_or(|end| end > LAST) {
            NEXT.store(FIRST, Ordering::Relaxed);
        }
        let hint = std::ptr::without_provenance_mut(at);
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: without MAP_FIXED nothing is replaced; where there are pages the host takes another address.
        let start = unsafe { libc::mmap(hint, bytes, rights, kind, -1, 0) };
        (start != libc::MAP_FAILED).then(|| (start.cast(), bytes))
    }
    pub fn unmap(start: *mut u8, bytes: usize) {
        // SAFETY: mapped above, by its only owner.
        let _ = unsafe { libc::munmap(start.cast(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_have_one_address() {
        let memory = Memory::new(1 << 20).unwrap();
        let made = Unified::new(&memory, 300, 128).unwrap();
        assert_eq!(made.address() % 128, 0);
        // SAFETY: given back before the memory goes.
        let address = unsafe { memory.map_host(made.start(), 300, "unified") }.unwrap();
        assert_eq!(address, made.address());
        memory.write(address + 299, &[7]).unwrap();
        // SAFETY: the last byte.
        assert_eq!(unsafe { made.start().add(299).read() }, 7);
        memory.free(address).unwrap();
        assert!(Unified::new(&memory, 0, 16).is_none());
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn pages_lie_above_device_memory() {
        let memory = Memory::new(1 << 30).unwrap();
        let all: Vec<_> = (0..4).map(|n| pages::map(5000 * (n + 1)).unwrap()).collect();
        for (start, bytes) in all {
            assert_eq!(bytes % pages::PAGE, 0);
            assert!(memory.keeps_address(start.expose_provenance() as u64, bytes as u64));
            pages::unmap(start, bytes);
        }
    }
}
