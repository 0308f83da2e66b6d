//! Memory that a program allocates: device, host, managed and registered memory.

use std::sync::Arc;

use c_border::Raw;
use memmap2::{MmapOptions, MmapRaw};
use ptx_runtime::Access;

use crate::allocation::{Allocation, Kind};
use crate::context::{CONTEXTS, Context};
use crate::error::{Error, Result};

/// Allocations of this many bytes and more begin at multiples of twice as many. An H200 does so for more than 1 MiB and
/// aligns 1 MiB to itself.
const LARGE: u64 = 1 << 20;

/// Device memory of `bytes` bytes.
pub fn device(context: &Context, bytes: u64, kind: Kind) -> Result<u64> {
    let name = if kind == Kind::Device { "cuMemAlloc" } else { "cuMemAllocAsync" };
    // As devices align: some programs rely on it.
    let align = if bytes >= LARGE { 2 * LARGE } else { 512 };
    let address = context.device.memory().alloc(bytes, align, name, Access::ReadWrite)?;
    context.allocations().insert(address, Allocation::new(bytes, kind, 0));
    Ok(address)
}

/// Memory that host and device share at one address.
pub fn shared(context: &Context, bytes: u64, kind: Kind, flags: u32) -> Result<u64> {
    let len = usize::try_from(bytes.max(1)).map_err(|_| Error::OutOfMemory)?;
    let len = len.checked_next_multiple_of(4096).ok_or(Error::OutOfMemory)?;
    if bytes > context.driver.memory() {
        return Err(Error::OutOfMemory);
    }
    let map = MmapOptions::new().len(len).map_anon().map_err(|_| Error::OutOfMemory)?;
    let map = Arc::new(MmapRaw::from(map));
    let host = map.as_mut_ptr() as usize;
    let name = if kind == Kind::Managed { "cuMemAllocManaged" } else { "cuMemHostAlloc" };
    let address = Raw::new(host).lend(context.device.memory(), bytes.max(1), name)?;
    let mut made = Allocation::new(bytes, kind, flags);
    made.host = Some(host);
    made.map = Some(map);
    context.allocations().insert(address, made);
    Ok(address)
}

/// Lends host memory of the program to the device.
pub fn register(context: &Context, host: Raw, bytes: u64, flags: u32) -> Result {
    if !host.is_mapped(bytes as usize) {
        return Err(Error::InvalidValue);
    }
    let address = host.lend(context.device.memory(), bytes, "cuMemHostRegister")?;
    let mut made = Allocation::new(bytes, Kind::Registered, flags);
    made.host = Some(host.address());
    context.allocations().insert(address, made);
    Ok(())
}

/// Removes the allocation that starts at `address` if `ok` likes its kind.
pub fn take(context: &Context, address: u64, ok: impl Fn(Kind) -> bool) -> Option<Allocation> {
    let mut all = context.allocations();
    all.get(&address).filter(|b| ok(b.kind))?;
    all.remove(&address)
}

/// Frees an allocation that was taken.
pub fn release(context: &Context, address: u64, allocation: &Allocation) {
    if let Some(exported) = &allocation.exported {
        exported.end();
    }
    // It was in the list, so the memory knows it; its map ends with the last copy of it.
    let _ = context.device.memory().free(address);
    if let Kind::Pool(pool) = allocation.kind {
        crate::pool::gave_back(pool, allocation.size);
    }
}

/// The device address of a host pointer in shared memory, with its allocation.
pub fn of_host(context: &Context, host: usize) -> Option<(u64, Allocation)> {
    let all = context.allocations();
    all.iter().find_map(|(at, b)| {
        let start = b.host?;
        (host >= start && host - start < b.size.max(1) as usize)
            .then(|| (at + (host - start) as u64, b.clone()))
    })
}

/// Where the host sees `bytes` bytes of device memory from `address` on, in whatever context; for programs that compute
/// on them beside the kernels. Nothing is waited for. Checks take it that the host writes all of them.
pub fn host_pointer(address: u64, bytes: u64) -> Option<*mut u8> {
    let end = address.checked_add(bytes)?;
    crate::driver::get().ok()?;
    CONTEXTS.all().into_iter().find_map(|(_, context)| {
        let memory = context.device.memory();
        let span = memory.host_span(address)?;
        if !span.writable || end > span.start + span.size {
            return None;
        }
        memory.keep(address, bytes).ok()?;
        Some(span.host.wrapping_add((address - span.start) as usize))
    })
}
