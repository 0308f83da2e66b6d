//! Which threads an instruction exchanges values with.

/// The threads that an instruction exchanges values with, beyond what it reads and writes in memory.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reach {
    /// None: each lane executes it for itself.
    Lane,
    /// Lanes of its warp, which execute it together.
    Warp,
    /// The warps of its warpgroup.
    Warpgroup,
    /// Threads of its block, by a barrier or by an object in shared memory that they wait at.
    Block,
    /// Threads of the blocks of its cluster.
    Cluster,
}

impl Reach {
    /// Name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Reach::Lane => "lane",
            Reach::Warp => "warp",
            Reach::Warpgroup => "warpgroup",
            Reach::Block => "block",
            Reach::Cluster => "cluster",
        }
    }
}
