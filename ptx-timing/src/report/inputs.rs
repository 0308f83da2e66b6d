//! What a report is made of.

use ptx_parse::code::Program;

use super::sample::Samples;
use super::{BranchInfo, RegistersFrom};
use crate::code::KernelCode;
use crate::occupancy::BlockNeeds;
use crate::profile::Profile;
use crate::replay::watched::Path;
use crate::sim::Outcome;

/// What a report is made of.
pub(crate) struct Inputs<'a> {
    pub profile: &'a Profile,
    pub program: &'a Program,
    pub code: &'a KernelCode,
    pub outcome: &'a Outcome,
    pub needs: &'a BlockNeeds,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub registers: Option<(u32, RegistersFrom)>,
    /// Executions and divergences per index of [`KernelCode::code`].
    pub branches: &'a [BranchInfo],
    pub samples: &'a Samples,
    /// The warp that was followed, and the accesses of it that are wanted.
    pub path: Option<&'a Path>,
    pub accesses: &'a [(u32, u64)],
}
