//! Threads of a block and lanes of a group.

/// Sizes that are constants of the compiled code.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Threads of a block.
    pub block: [u32; 3],
    /// Lanes of a group.
    pub width: u32,
}

impl Geometry {
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }
    pub(crate) fn groups(&self) -> u32 {
        self.threads().div_ceil(self.width)
    }
    /// Whether threads run one by one.
    pub(crate) fn scalar(&self) -> bool {
        self.width == 1
    }
    /// Whether the last group has lanes without a thread.
    pub(crate) fn ragged(&self) -> bool {
        !self.threads().is_multiple_of(self.width)
    }
}
