//! Memory of a worker.

/// Memory of a worker, kept for the next launch.
#[derive(Default)]
pub(crate) struct Scratch {
    /// A [`crate::ctx::Ctx`] and the sites behind it, in cache-line units.
    pub ctx: Vec<Line>,
    /// The sites are of spans that hold while [`crate::Device::spans_hold_while`] says so.
    pub spans: Option<u64>,
    /// The parameter block, with zeros behind it.
    pub params: Vec<u64>,
    pub shared: Vec<Line>,
    /// Pages of it that no thread touches take no memory.
    pub local: Vec<u128>,
    pub spill: Vec<Line>,
    pub resume: Vec<u32>,
    /// Rows of each warp for what its lanes do together ([`crate::meet`]).
    pub meet: Vec<[u64; 32]>,
    /// Where groups that have reached a barrier go on, while others are in loops that wait.
    pub held: Vec<u32>,
}

#[repr(C, align(64))]
#[derive(Copy, Clone)]
pub(crate) struct Line(pub [u64; 8]);

/// At least so many bytes.
pub(crate) fn grow(lines: &mut Vec<Line>, bytes: usize) {
    let count = bytes.div_ceil(64).max(1);
    if lines.len() < count {
        *lines = vec![Line([0; 8]); count];
    }
}

/// At least so many bytes, which are zero where they are new.
pub(crate) fn grow_local(local: &mut Vec<u128>, bytes: usize) {
    let count = bytes.div_ceil(size_of::<u128>()).max(1);
    if local.len() < count {
        *local = vec![0; count];
    }
}
