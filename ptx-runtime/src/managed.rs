//! Memory of `.managed` variables: the host's own, lent to the device, so that host and kernels see it at one address.

use ptx_interp::{Memory, MemoryError, Unified};

/// Zeroed memory of `bytes` bytes, lent to `memory`; with its address there. The module that owns it takes the range
/// back before it goes, when none of its kernels runs any more.
pub(crate) fn managed(
    memory: &Memory,
    bytes: u64,
    align: u64,
    name: &str,
) -> Result<(Unified, u64), MemoryError> {
    let full =
        || MemoryError::OutOfMemory { wanted: bytes, used: memory.used(), limit: memory.limit() };
    if bytes > memory.limit().saturating_sub(memory.used()) {
        return Err(full());
    }
    let size = usize::try_from(bytes.max(1)).map_err(|_| full())?;
    let made = Unified::new(memory, size, align.max(16) as usize).ok_or_else(full)?;
    // SAFETY: the memory stays until `made` goes, which its owner keeps beyond the lending.
    let address = unsafe { memory.map_host(made.start(), size as u64, name) }?;
    Ok((made, address))
}
