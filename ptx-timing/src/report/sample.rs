//! Accesses of the grid's first block, of which a report shows the costliest of each instruction.

use super::AccessPattern;
use crate::access::WarpAccess;
use crate::banks::{Direction, bank_cost};
use crate::coalesce::{Path, device_transactions};
use crate::event::{AccessKind, Instruction, Space};
use crate::profile::Profile;

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
        let mut worst: Option<(u32, &WarpAccess)> = None;
        for (space, does, access) in self.by_pc.get(pc as usize)? {
            let cost = match (space, does.unwrap_or(instruction.kind)) {
                (Space::Shared, AccessKind::Load) => {
                    bank_cost(&profile.shared, Direction::Load, access).steps
                }
                (Space::Shared, AccessKind::Store) => {
                    bank_cost(&profile.shared, Direction::Store, access).steps
                }
                (Space::Global, AccessKind::Load) => {
                    let bypass = instruction.bypass_l1;
                    let path = if bypass { Path::LoadBypass } else { Path::Load };
                    device_transactions(&profile.global, path, access).len() as u32
                }
                (Space::Global, AccessKind::Store) => {
                    device_transactions(&profile.global, Path::Store, access).len() as u32
                }
                _ => continue,
            };
            if access.mask != 0 && worst.is_none_or(|(most, _)| cost > most) {
                worst = Some((cost, access));
            }
        }
        worst.map(|(cost, access)| AccessPattern {
            width: access.width,
            lanes: (0..32)
                .map(|lane| (access.mask >> lane & 1 != 0).then(|| access.addresses[lane]))
                .collect(),
            cost,
        })
    }
}
