//! How many registers a thread of a kernel needs, estimated.
//!
//! The assembler allocates registers to values that live at once. The estimate is the largest number
//! of 32-bit words live at any instruction of the code as the assembler leaves it
//! ([`crate::code::KernelCode`]), with what calls add.

use std::collections::HashSet;

use ptx_parse::code::{Callee, Flow, Program};

use crate::code::KernelCode;
use crate::event::Register;
use crate::profile::Profile;
use crate::report::RegistersFrom;

/// Registers that the assembler keeps for itself: the stack pointer, and one to move values.
const OWN: u32 = 2;

/// Registers per thread, before `.maxnreg` and the like.
pub fn estimate(profile: &Profile, program: &Program, code: &KernelCode) -> u32 {
    let pressures: Vec<u32> =
        (0..program.functions.len()).map(|f| pressure(program, code, f)).collect();
    let mut path = vec![false; pressures.len()];
    let live = with_calls(program, &pressures, 0, &mut path);
    (live + OWN).clamp(MIN, profile.limits.max_registers_per_thread)
}

/// Registers of a thread in a launch with this block, and who says so: the caller, or the estimate
/// under the module's directives.
pub fn of_launch(
    profile: &Profile,
    program: &Program,
    block: [u32; 3],
    given: Option<u32>,
) -> (u32, RegistersFrom) {
    if let Some(given) = given {
        return (given, RegistersFrom::Given);
    }
    let estimate = estimate(profile, program, &KernelCode::new(program, &profile.assembler));
    let tuning = &program.tuning;
    let all = |n: [u32; 3]| n.iter().fold(1, |a: u32, n| a.saturating_mul(*n)).max(1);
    let threads = all(block);
    // Blocks that have to fit an SM together leave each thread its share.
    let share = tuning.min_ncta_per_sm.map(|blocks| {
        let most = tuning.max_ntid.or(tuning.req_ntid).map_or(threads, all);
        profile.limits.registers_per_sm / blocks.max(1) / most
    });
    let most = tuning.max_nreg.into_iter().chain(share).min().unwrap_or(u32::MAX);
    // A block that is within the device's limits can always be launched: values are spilled.
    let warps = threads.div_ceil(profile.limits.warp_size);
    let fits = profile.limits.registers_per_sm / warps.saturating_mul(profile.limits.warp_size);
    let unit = (profile.allocation.register_unit / profile.limits.warp_size).max(1);
    let most = most.min(if fits > unit { fits / unit * unit } else { fits }).max(1);
    if estimate > most {
        (most, RegistersFrom::Directive)
    } else {
        (estimate, RegistersFrom::Estimate)
    }
}

/// The fewest registers that a kernel gets.
const MIN: u32 = 4;

/// Registers of a function and the deepest calls from it; a recursive call counts once.
fn with_calls(program: &Program, pressures: &[u32], f: usize, path: &mut [bool]) -> u32 {
    if std::mem::replace(&mut path[f], true) {
        return 0;
    }
    let mut deepest = 0;
    for inst in &program.functions[f].insts {
        if let Flow::Call(call) = &inst.flow
            && let Callee::Direct(callee) = call.callee
        {
            deepest = deepest.max(with_calls(program, pressures, callee as usize, path));
        }
    }
    path[f] = false;
    pressures[f] + deepest
}

/// Most 32-bit words that live at once in a function.
fn pressure(program: &Program, code: &KernelCode, f: usize) -> u32 {
    let function = &program.functions[f];
    let pcs: Vec<Vec<u32>> = function
        .blocks
        .iter()
        .map(|b| (b.start..b.end).filter_map(|i| code.pc(f as u32, i)).collect())
        .collect();
    let instruction = |pc: u32| &code.code.instructions[pc as usize];
    // Values live at the start of each block, until nothing changes.
    let mut live_in: Vec<HashSet<Register>> = vec![HashSet::new(); pcs.len()];
    let live_out = |b: usize, live_in: &[HashSet<Register>]| -> HashSet<Register> {
        let succs = &function.blocks[b].succs;
        succs.iter().flat_map(|s| live_in[*s as usize].iter().copied()).collect()
    };
    let mut changed = true;
    while changed {
        changed = false;
        for b in (0..pcs.len()).rev() {
            let mut live = live_out(b, &live_in);
            for &pc in pcs[b].iter().rev() {
                step(instruction(pc), &mut live);
            }
            if live.len() != live_in[b].len() {
                live_in[b] = live;
                changed = true;
            }
        }
    }
    let words = |live: &HashSet<Register>| live.iter().map(|r| code.words(*r)).sum::<u32>();
    let mut most = 0;
    for b in 0..pcs.len() {
        let mut live = live_out(b, &live_in);
        most = most.max(words(&live));
        for &pc in pcs[b].iter().rev() {
            // Results need a place even if nobody reads them.
            let dead = instruction(pc).writes.iter().filter(|w| !live.contains(w));
            let dead: u32 = dead.map(|w| code.words(*w)).sum();
            most = most.max(words(&live) + dead);
            step(instruction(pc), &mut live);
            most = most.max(words(&live));
        }
    }
    most
}

fn step(instruction: &crate::event::Instruction, live: &mut HashSet<Register>) {
    // A guarded write keeps the old value in the other lanes.
    if instruction.guard.is_none() {
        for w in &instruction.writes {
            live.remove(w);
        }
    }
    live.extend(instruction.reads.iter().chain(&instruction.guard).copied());
}
