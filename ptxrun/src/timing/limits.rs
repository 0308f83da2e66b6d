//! What a GPU takes: the targets that it runs and the extents of a launch.

use std::fmt;

use ptx_runtime::isa::types::{Suffix, Target};
use ptx_runtime::parse::module::Module;
use ptx_runtime::timing::Profile;
use ptx_runtime::timing::occupancy::{BlockNeeds, DoesNotFit, extents, occupancy};

use crate::plan::PlannedLaunch;

/// A module for a newer GPU.
#[derive(Debug, PartialEq)]
pub(crate) struct TooNew {
    /// The `.target`.
    pub(crate) target: Target,
    /// GPU.
    pub(crate) device: String,
    /// Its architecture.
    pub(crate) has: Target,
}

impl fmt::Display for TooNew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooNew { target, device, has } = self;
        let later = match target.suffix {
            Suffix::None => " or later",
            Suffix::Family => " or a later member of its family",
            Suffix::Arch => " alone",
        };
        write!(f, "the module is for {target}{later}; {device} is sm_{}", has.sm)
    }
}

/// Whether the GPU runs modules of this target.
pub(crate) fn target(module: &Module, profile: &Profile) -> Result<(), TooNew> {
    let cc = profile.device.compute_capability;
    let has = Target::device(u16::from(cc.major) * 10 + u16::from(cc.minor));
    let target = module.info.target;
    if target.runs_on(has) {
        return Ok(());
    }
    Err(TooNew { target, device: profile.name.clone(), has })
}

/// Whether the GPU takes the launch, registers apart.
pub(crate) fn launch(
    profile: &Profile,
    launch: &PlannedLaunch,
    static_shared: u32,
) -> Result<(), DoesNotFit> {
    extents(profile, launch.grid, launch.block)?;
    let needs = BlockNeeds {
        threads: launch.block.iter().fold(1, |a: u32, n| a.saturating_mul(*n)),
        registers: 0,
        shared: static_shared.saturating_add(launch.shared),
        arguments: 0,
    };
    occupancy(profile, &needs).map(|_| ())
}
