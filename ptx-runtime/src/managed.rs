//! Memory of `.managed` variables: the host's own, lent to the device, so that host and kernels see it at one address.

use std::alloc::{Layout, alloc_zeroed, dealloc};

use ptx_interp::{Memory, MemoryError};

/// A variable's memory.
pub(crate) struct Managed {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: the bytes are reached through raw pointers only; racing accesses are the program's own.
unsafe impl Send for Managed {}
// SAFETY: as above.
unsafe impl Sync for Managed {}

impl Managed {
    /// Zeroed memory of `bytes` bytes, lent to `memory`; with its address there. The module that owns it takes
    /// the range back before it goes, when none of its kernels runs any more.
    pub(crate) fn new(
        memory: &Memory,
        bytes: u64,
        align: u64,
        name: &str,
    ) -> Result<(Managed, u64), MemoryError> {
        let full = || MemoryError::OutOfMemory {
            wanted: bytes,
            used: memory.used(),
            limit: memory.limit(),
        };
        if bytes > memory.limit().saturating_sub(memory.used()) {
            return Err(full());
        }
        let size = usize::try_from(bytes.max(1)).map_err(|_| full())?;
        let layout = Layout::from_size_align(size, align.max(16) as usize).map_err(|_| full())?;
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return Err(full());
        }
        let managed = Managed { start, layout };
        // SAFETY: the memory stays until `managed` goes, which its owner keeps beyond the lending.
        let address = unsafe { memory.map_host(start, bytes.max(1), name) }?;
        Ok((managed, address))
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start, self.layout) }
    }
}
