//! Allocations of device memory, why operations on them fail, and who is told of them.

use std::sync::Arc;

use serde::Serialize;

/// What kernels may do with an allocation.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub enum Access {
    /// Read and write.
    ReadWrite,
    /// Read only.
    ReadOnly,
    /// Constant variables. A device writes them through their address, as an H100 does.
    Constant,
}

/// An allocation of global or constant memory.
#[derive(Clone, Debug, Serialize)]
pub struct Allocation {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Name for reports: a variable, `argument 2`, `malloc`.
    pub name: Arc<str>,
    /// What kernels may do.
    pub access: Access,
    /// Made by `malloc` in a kernel.
    pub heap: bool,
    /// Memory of the host, which may write there at any time.
    #[serde(skip)]
    pub lent: bool,
}

/// Why a memory operation of the host failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// No room.
    #[error("out of device memory: {wanted} bytes wanted, {used} of {limit} bytes in use")]
    OutOfMemory {
        /// Bytes asked for.
        wanted: u64,
        /// Bytes allocated.
        used: u64,
        /// Most bytes that may be allocated.
        limit: u64,
    },
    /// The range is not inside one allocation.
    #[error("{bytes} bytes at {address:#x} are not inside an allocation")]
    OutOfBounds {
        /// First address.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
    /// `free` of an address that no allocation starts at.
    #[error("{address:#x} is not the start of an allocation")]
    NotAllocated {
        /// The address.
        address: u64,
    },
    /// Host memory that is lent already.
    #[error("host memory at {host:#x} is mapped already")]
    Mapped {
        /// Its first host address.
        host: u64,
    },
    /// Alignment that is no power of two.
    #[error("alignment {align} is not a power of two")]
    Alignment {
        /// As given.
        align: u64,
    },
    /// The host refused to reserve address space.
    #[error("cannot reserve address space for device memory: {0}")]
    Reserve(String),
}

/// What the host, or a kernel's `malloc` and `free`, does to device memory.
#[derive(Copy, Clone, Debug)]
pub enum MemoryEvent<'a> {
    /// There is a new allocation. Its bytes are zero, which devices do not promise.
    Allocated(&'a Allocation),
    /// An allocation goes away.
    Freed(&'a Allocation),
    /// The host writes a range: a copy, a fill, an initialiser.
    Written {
        /// First address.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
    /// The host reads a range.
    Read {
        /// First address.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
    /// The host copies a range to another.
    Copied {
        /// First address written.
        to: u64,
        /// First address read.
        from: u64,
        /// Bytes.
        bytes: u64,
    },
    /// A launch of the whole device begins.
    LaunchStarts,
}

/// Is told what happens to a [`Memory`](crate::Memory) outside kernels, from whichever thread does it. What
/// kernels do is told to the [`Observer`](crate::observer::Observer) of their launch.
pub trait MemoryWatcher: Send + Sync {
    /// Something happens. Allocation and free are told when they are done, accesses before.
    fn event(&self, event: MemoryEvent<'_>);
}
