//! What a program has allocated: device, host, managed and registered memory.

use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::ffi::Raw;

/// Kinds of memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `cuMemAlloc`.
    Device,
    /// `cuMemAllocAsync`: of a pool.
    Pool(usize),
    /// `cuMemHostAlloc`.
    Host,
    /// `cuMemHostRegister`.
    Registered,
    /// `cuMemAllocManaged`.
    Managed,
}

/// An allocation.
#[derive(Clone)]
pub struct Block {
    /// Bytes.
    pub size: u64,
    /// Kind.
    pub kind: Kind,
    /// Host address, for memory that the host program can reach.
    pub host: Option<usize>,
    /// Flags of the call that made it.
    pub flags: u32,
    /// A number that no other allocation of the process has.
    pub id: u64,
    /// Keeps host memory.
    map: Option<Arc<MmapRaw>>,
}

impl Block {
    fn new(size: u64, kind: Kind, flags: u32) -> Block {
        use std::sync::atomic::{AtomicU64, Ordering};
        static IDS: AtomicU64 = AtomicU64::new(1);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        Block { size, kind, host: None, flags, id, map: None }
    }
}

/// Device memory of `bytes` bytes.
pub fn device(context: &Context, bytes: u64, kind: Kind) -> Result<u64> {
    let name = if kind == Kind::Device { "cuMemAlloc" } else { "cuMemAllocAsync" };
    let address = context.device.alloc_named(bytes, name)?.0;
    context.blocks().insert(address, Block::new(bytes, kind, 0));
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
    let mut block = Block::new(bytes, kind, flags);
    block.host = Some(host);
    block.map = Some(map);
    context.blocks().insert(address, block);
    Ok(address)
}

/// Lends host memory of the program to the device.
pub fn register(context: &Context, host: Raw, bytes: u64, flags: u32) -> Result {
    if !host.is_mapped(bytes as usize) {
        return Err(Error::InvalidValue);
    }
    let address = host.lend(context.device.memory(), bytes, "cuMemHostRegister")?;
    let mut block = Block::new(bytes, Kind::Registered, flags);
    block.host = Some(host.address());
    context.blocks().insert(address, block);
    Ok(())
}

/// Removes the block that starts at `address` if `ok` likes its kind.
pub fn take(context: &Context, address: u64, ok: impl Fn(Kind) -> bool) -> Option<Block> {
    let mut blocks = context.blocks();
    blocks.get(&address).filter(|b| ok(b.kind))?;
    blocks.remove(&address)
}

/// Frees a block that was taken.
pub fn release(context: &Context, address: u64, block: &Block) {
    // The block was in the list, so the memory knows it; its map ends with the last copy of the block.
    let _ = context.device.memory().free(address);
    if let Kind::Pool(pool) = block.kind {
        crate::pool::gave_back(pool, block.size);
    }
}

/// The device address of a host pointer in a shared block, with its block.
pub fn of_host(context: &Context, host: usize) -> Option<(u64, Block)> {
    let blocks = context.blocks();
    blocks.iter().find_map(|(at, b)| {
        let start = b.host?;
        (host >= start && host - start < b.size.max(1) as usize)
            .then(|| (at + (host - start) as u64, b.clone()))
    })
}
