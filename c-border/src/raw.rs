//! Memory of the caller, and its way to a device.

use std::ffi::{CStr, c_void};

use ptx_runtime::{Memory, MemoryError};

use crate::error::PointerError;

/// Memory of the caller, or of a device where it lies in the host's address space.
#[repr(transparent)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Raw(*mut c_void);

// SAFETY: as a number; whoever follows it relies on the caller's promise.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

/// Copies longer than this are looked up in the process's mappings first: a size that is nonsense is an error then and
/// not a signal. Shorter ones are not worth the system call.
const LOOKED_UP: usize = 64 << 10;

impl Raw {
    /// Memory at an address that a caller or an allocation exposed.
    pub fn new(address: usize) -> Raw {
        Raw(std::ptr::with_exposed_provenance_mut(address))
    }
    /// None.
    pub const fn none() -> Raw {
        Raw(std::ptr::null_mut())
    }
    /// Its address.
    pub fn address(self) -> usize {
        self.0.expose_provenance()
    }
    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The pointer for a function of the host program.
    pub(crate) fn pointer(self) -> *mut c_void {
        self.0
    }
    /// The memory `bytes` bytes further on.
    #[must_use]
    pub fn offset(self, bytes: usize) -> Raw {
        Raw(self.0.cast::<u8>().wrapping_add(bytes).cast())
    }
    /// A copy of the `bytes` bytes at `offset`.
    ///
    /// # Errors
    /// When the pointer is null, so many bytes cannot be there, or the host has no memory for them.
    pub fn bytes(self, offset: usize, bytes: usize) -> Result<Vec<u8>, PointerError> {
        if bytes == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(PointerError::Null);
        }
        let from = self.offset(offset);
        if bytes > LOOKED_UP && !from.is_mapped(bytes) {
            return Err(PointerError::Unmapped);
        }
        let mut out = Vec::new();
        out.try_reserve_exact(bytes).map_err(|_| PointerError::TooLarge)?;
        out.resize(bytes, 0);
        // SAFETY: the caller promises that they are readable; `out` is as long.
        unsafe { std::ptr::copy_nonoverlapping(from.0.cast(), out.as_mut_ptr(), bytes) }
        Ok(out)
    }
    /// Copies as many bytes as `out` has; few, of an argument.
    ///
    /// # Errors
    /// When the pointer is null and there is something to read.
    pub fn read(self, out: &mut [u8]) -> Result<(), PointerError> {
        if out.is_empty() {
            return Ok(());
        }
        if self.0.is_null() {
            return Err(PointerError::Null);
        }
        if out.len() > LOOKED_UP && !self.is_mapped(out.len()) {
            return Err(PointerError::Unmapped);
        }
        // SAFETY: the caller promises that they are readable.
        unsafe { std::ptr::copy_nonoverlapping(self.0.cast(), out.as_mut_ptr(), out.len()) }
        Ok(())
    }
    /// Writes `data` at `offset`.
    ///
    /// # Errors
    /// When the pointer is null and there is something to write.
    pub fn write(self, offset: usize, data: &[u8]) -> Result<(), PointerError> {
        if data.is_empty() {
            return Ok(());
        }
        if self.0.is_null() {
            return Err(PointerError::Null);
        }
        // SAFETY: the caller promises that they are writable.
        unsafe {
            std::ptr::copy_nonoverlapping(data.as_ptr(), self.offset(offset).0.cast(), data.len());
        }
        Ok(())
    }
    /// The zero-terminated bytes at the start, without the zero.
    ///
    /// # Errors
    /// When the pointer is null.
    pub fn text(self) -> Result<Vec<u8>, PointerError> {
        if self.0.is_null() {
            return Err(PointerError::Null);
        }
        // SAFETY: the caller promises a zero-terminated string.
        Ok(unsafe { CStr::from_ptr(self.0.cast()) }.to_bytes().to_vec())
    }
    /// Copies `bytes` bytes from other memory, which may overlap; nothing where either is null.
    pub fn copy_from(self, from: Raw, bytes: usize) {
        if bytes > 0 && !self.is_null() && !from.is_null() {
            // SAFETY: the caller promises both; `copy` allows overlap.
            unsafe { std::ptr::copy(from.0.cast::<u8>().cast_const(), self.0.cast(), bytes) }
        }
    }
    /// Fills with `count` copies of `pattern`; nothing where the pointer is null.
    pub fn fill(self, pattern: &[u8], count: usize) {
        let total = pattern.len() * count;
        if total == 0 || self.is_null() {
            return;
        }
        if let [byte] = pattern {
            // SAFETY: the caller promises that they are writable.
            unsafe { std::ptr::write_bytes(self.0.cast::<u8>(), *byte, count) }
            return;
        }
        // Doubling what is there is as fast as copying. The pointer is not null, so the write succeeds.
        let _ = self.write(0, pattern);
        let mut done = pattern.len();
        while done < total {
            let more = done.min(total - done);
            self.offset(done).copy_from(self, more);
            done += more;
        }
    }
    /// Copies from the device into this buffer.
    ///
    /// # Errors
    /// When the bytes are in no allocation of the device.
    pub fn receive(self, memory: &Memory, from: u64, bytes: u64) -> Result<(), MemoryError> {
        // SAFETY: the caller promises that they are writable.
        unsafe { memory.read_raw(from, self.0.cast(), bytes) }
    }
    /// Copies from this buffer to the device.
    ///
    /// # Errors
    /// When the bytes are in no allocation of the device.
    pub fn send(self, memory: &Memory, to: u64, bytes: u64) -> Result<(), MemoryError> {
        // SAFETY: the caller promises that they are readable.
        unsafe { memory.write_raw(to, self.0.cast::<u8>().cast_const(), bytes) }
    }
    /// Lends the memory to kernels under a name for reports; the device address of its first byte.
    ///
    /// # Errors
    /// When the device has no room for it.
    pub fn lend(self, memory: &Memory, bytes: u64, name: &str) -> Result<u64, MemoryError> {
        // SAFETY: the caller keeps the memory as long as the object or registration that was made with it.
        unsafe { memory.map_host(self.0.cast(), bytes, name) }
    }
    /// Whether every page of `bytes` bytes is mapped in this process. A pointer that leads nowhere is answered with an
    /// error then, not with the end of the process.
    pub fn is_mapped(self, bytes: usize) -> bool {
        const PAGE: usize = 4096;
        let start = self.address() / PAGE * PAGE;
        let Some(end) = self.address().checked_add(bytes) else { return false };
        // SAFETY: asks about addresses only; with MS_ASYNC nothing is written.
        unsafe { libc::msync(start as *mut c_void, end - start, libc::MS_ASYNC) == 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fill() {
        let mut bytes = [0u8; 16];
        Raw(bytes.as_mut_ptr().cast()).fill(&[1, 2, 3], 5);
        assert_eq!(bytes, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 0]);
    }

    #[test]
    fn null_and_absurd_sizes_are_refused() {
        let mut bytes = [7u8; 16];
        let some = Raw(bytes.as_mut_ptr().cast());
        assert_eq!(Raw::none().bytes(8, 4), Err(PointerError::Null));
        assert_eq!(Raw::none().bytes(8, 0), Ok(Vec::new()));
        assert_eq!(some.bytes(12, 4), Ok(vec![7; 4]));
        assert_eq!(some.bytes(0, 1 << 46), Err(PointerError::Unmapped));
        assert_eq!(some.bytes(0, usize::MAX), Err(PointerError::Unmapped));
        assert_eq!(Raw::none().write(8, &[1]), Err(PointerError::Null));
        assert_eq!(Raw::none().write(8, &[]), Ok(()));
        Raw::none().fill(&[1, 2], 3);
        Raw::none().copy_from(some, 3);
    }
}
