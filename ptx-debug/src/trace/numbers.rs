//! Numbers that stand for something in records.

use ptx_interp::observer::Action;
use ptx_isa::Space;

/// Every state space, by its number in records.
pub(super) const SPACES: [Space; 11] = [
    Space::Generic,
    Space::Global,
    Space::Shared,
    Space::SharedCluster,
    Space::Local,
    Space::ParamFunc,
    Space::Const,
    Space::ParamEntry,
    Space::Reg,
    Space::Sreg,
    Space::Tex,
];
/// Every action, by its number in records.
pub(super) const ACTIONS: [Action; 3] = [Action::Read, Action::Write, Action::Update];

/// Number of a state space.
pub(super) fn space_number(space: Space) -> u32 {
    SPACES.iter().position(|s| *s == space).unwrap_or(0) as u32
}

/// Number of an action.
pub(super) fn action_number(action: Action) -> u32 {
    ACTIONS.iter().position(|a| *a == action).unwrap_or(0) as u32
}

/// The first word of an event.
pub(super) fn head(kind: u32, n: u32) -> u32 {
    kind << 28 | n & 0x0fff_ffff
}

/// A value of 64 bits from its halves.
pub(super) fn long([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Values of 64 bits from their halves, the low one first.
#[inline(always)]
pub(super) fn longs(halves: &[u32; 64]) -> [u64; 32] {
    std::array::from_fn(|l| long([halves[2 * l], halves[2 * l + 1]]))
}
