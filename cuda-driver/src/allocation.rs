//! What is known of an allocation.

use std::sync::Arc;

use memmap2::MmapRaw;

use crate::pages::Exported;

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
    /// `cuMemMap`: neighbours that may be accessed.
    Mapped,
    /// `cuIpcOpenMemHandle`: another process's.
    Imported,
    /// An allocation node of a graph.
    Graph,
}

/// An allocation.
#[derive(Clone)]
pub struct Allocation {
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
    pub map: Option<Arc<MmapRaw>>,
    /// Its pages, where other processes may show them.
    pub exported: Option<Arc<Exported>>,
}

impl Allocation {
    /// An allocation with a number of its own.
    pub fn new(size: u64, kind: Kind, flags: u32) -> Allocation {
        use std::sync::atomic::{AtomicU64, Ordering};
        static IDS: AtomicU64 = AtomicU64::new(1);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        Allocation { size, kind, host: None, flags, id, map: None, exported: None }
    }
}
