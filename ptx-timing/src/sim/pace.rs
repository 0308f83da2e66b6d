//! When a warp that has issued an instruction can issue the next one, as far as operands do not decide about that.

use super::chip::Chip;
use super::plan::Cost;
use super::report::Stall;
use super::warp::{Groups, Warp};
use crate::event::{Detail, Event};

/// Lets a warp go on behind an instruction that it has issued.
#[inline]
pub(super) fn go_on(
    warp: &mut Warp,
    groups: &mut Groups,
    event: Event,
    now: u64,
    cost: &Cost,
    chip: &Chip<'_>,
) {
    let plan = &chip.plans[event.pc as usize];
    warp.position += 1;
    warp.free_at = now + if plan.holds { cost.latency } else { cost.issue_cycles.max(plan.pause) };
    if matches!(event.detail, Detail::Diverges { .. }) {
        warp.free_at += u64::from(chip.profile.issue.divergence_cycles);
    }
    warp.free_reason = Stall::Control;
    hold_known(warp, event.pc, now, chip);
    warp.wait_from = now + cost.issue_cycles;
    groups.join(event.detail, now, plan.latency, warp);
    // A dual-issued instruction may follow in the same clock.
    if chip.profile.issue.width > 1 && !plan.control && plan.slots == 1 {
        warp.free_at = now;
        warp.wait_from = now;
    }
}

/// Lets a warp that has issued an instruction wait as machine code says, for what comes next to be there, and for a
/// branch back.
fn hold_known(warp: &mut Warp, pc: u32, now: u64, chip: &Chip<'_>) {
    let plan = &chip.plans[pc as usize];
    let next = warp.events.get(warp.position);
    if plan.control && next.is_some_and(|next| next.pc <= pc) {
        warp.free_at += u64::from(chip.profile.issue.back_cycles);
    }
    let gap = next.map_or(0, |next| chip.plans[next.pc as usize].gap);
    let known = plan.tail.max(gap);
    if now + known > warp.free_at {
        (warp.free_at, warp.free_reason) = (now + known, Stall::Execution);
    }
}
