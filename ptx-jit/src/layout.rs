//! What compiled code needs to run: memory for values that live across barriers, and access sites.

/// What the launch must provide for the code.
pub(crate) struct Layout {
    pub(crate) spill_bytes: usize,
    /// Places where groups go on in a later call of the code: behind barriers, and in loops that may wait.
    pub(crate) barriers: usize,
    pub(crate) waits: usize,
    /// Where threads run one by one: the effect at each place where they stop, by number of the place less 1.
    pub(crate) meets: Vec<u32>,
    /// Rows of a warp there, for operands and for results.
    pub(crate) meeting_rows: [usize; 2],
    /// Bytes of the elements of local memory, where it has those of a group's lanes side by side.
    pub(crate) beside: Option<usize>,
    /// The access sites.
    pub(crate) sites: Vec<SiteInfo>,
}

/// What code needs of the allocation that an instruction touches.
pub(crate) struct SiteInfo {
    pub(crate) effect: u32,
    /// Bytes touched from the checked address on.
    pub(crate) span: u64,
    /// The checked address is a multiple of this.
    pub(crate) unit: u64,
    /// It is always the block's shared memory.
    pub(crate) shared: bool,
    /// Units are counted in 32 bits.
    pub(crate) narrow: bool,
}

/// Most units from the start of an allocation that an index may count.
pub(crate) const REACH: u64 = 1 << 30;
