//! Accesses of the grid's first block, of which a report shows the costliest of each instruction.

use super::memory::AccessPattern;
use crate::access::WarpAccess;
use crate::banks::{Direction, bank_requests};
use crate::event::{AccessKind, Instruction, Space};
use crate::profile::Profile;
use crate::sim::shape;

/// Most accesses that are kept of an instruction.
const MOST: usize = 64;

/// The accesses, by instruction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    by_pc: Vec<Vec<(Space, Option<AccessKind>, WarpAccess)>>,
}

impl Samples {
    /// For a kernel of so many instructions.
    pub fn new(instructions: usize) -> Self {
        Self { by_pc: vec![Vec::new(); instructions] }
    }

    /// Keeps an access; `does`: other than what the instruction does.
    pub fn add(&mut self, pc: u32, space: Space, does: Option<AccessKind>, access: &WarpAccess) {
        if let Some(list) = self.by_pc.get_mut(pc as usize).filter(|l| l.len() < MOST) {
            list.push((space, does, *access));
        }
    }

    /// The costliest load or store of global or shared memory; of several, the first.
    pub fn worst(
        &self,
        profile: &Profile,
        pc: u32,
        instruction: &Instruction,
    ) -> Option<AccessPattern> {
        let mut worst: Option<AccessPattern> = None;
        for (space, does, access) in self.by_pc.get(pc as usize)? {
            let plain = matches!(space, Space::Shared | Space::Global)
                && matches!(does.unwrap_or(instruction.kind), AccessKind::Load | AccessKind::Store);
            if !plain || access.mask == 0 {
                continue;
            }
            let pattern = pattern(profile, instruction, (*space, *does, access));
            if worst.as_ref().is_none_or(|worst| pattern.cost > worst.cost) {
                worst = Some(pattern);
            }
        }
        worst
    }
}

/// The lanes of an access, and what it costs.
pub(super) fn pattern(
    profile: &Profile,
    instruction: &Instruction,
    (space, does, access): (Space, Option<AccessKind>, &WarpAccess),
) -> AccessPattern {
    let direction = match does.unwrap_or(instruction.kind) {
        AccessKind::Load => Some(Direction::Load),
        AccessKind::Store => Some(Direction::Store),
        AccessKind::Atomic | AccessKind::Reduction => None,
    };
    let requests = direction
        .filter(|_| space == Space::Shared)
        .map_or_else(Vec::new, |d| bank_requests(&profile.shared, d, access));
    AccessPattern {
        width: access.width,
        lanes: (0..32)
            .map(|lane| (access.mask >> lane & 1 != 0).then(|| access.addresses[lane]))
            .collect(),
        cost: shape::cost(profile, instruction, space, does, access),
        requests,
    }
}
