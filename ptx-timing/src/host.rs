//! What the host is told about the memory that it will need.

/// Bytes of a line of the host's caches.
pub(crate) const HOST_BYTES: usize = 64;

/// Lets the host's caches fetch the line that an item of a list begins in. Nobody waits for that, unlike for a read.
#[inline(always)]
pub(crate) fn prefetch<T>(list: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = list.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every processor of this architecture has the instruction. It changes nothing that a program can see,
        // and the address is that of an item.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, index);
}
