//! How many registers a thread of a kernel needs, estimated.
//!
//! The assembler allocates registers to values that live at once. The estimate is the largest number
//! of 32-bit words live at any instruction of the code as the assembler leaves it
//! ([`crate::code::KernelCode`]) in the order that it gives each block (`schedule`), with what
//! calls add.

use ptx_isa::effect::Effect;
use ptx_isa::meaning::Uop;
use ptx_parse::code::{Callee, Flow, Function, Inst, Program};

use crate::code::KernelCode;
use crate::event::Code;
use crate::live;
use crate::pressure::Sizes;
use crate::profile::Profile;
use crate::report::RegistersFrom;
use crate::schedule::Schedule;

/// Registers per thread, before `.maxnreg` and the like.
pub fn estimate(profile: &Profile, program: &Program, code: &KernelCode) -> u32 {
    let mut pressures = vec![0; program.functions.len()];
    for (pc, peak) in Schedule::new(profile, &code.code, 0).peaks {
        let function = code.origin.get(pc as usize).map_or(0, |o| o.0 as usize);
        if let Some(most) = pressures.get_mut(function) {
            *most = peak.max(*most);
        }
    }
    let mut path = vec![false; pressures.len()];
    let sizes = Sizes::new(&code.code, profile.assembler.saves_registers);
    let kept = |function, instruction| kept_by_call(code, &sizes, function, instruction);
    let live = with_calls(program, &pressures, &kept, 0, &mut path);
    (live + profile.assembler.own_registers).clamp(MIN, profile.limits.max_registers_per_thread)
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
    let most = limit(profile, program, block);
    if estimate > most {
        (most, RegistersFrom::Directive)
    } else {
        (estimate, RegistersFrom::Estimate)
    }
}

/// The code of a launch: with values in local memory where directives leave fewer registers than it
/// needs.
pub(crate) fn code_of_launch(profile: &Profile, program: &Program, block: [u32; 3]) -> KernelCode {
    let code = KernelCode::new(program, &profile.assembler);
    let most = limit(profile, program, block);
    if most < profile.limits.max_registers_per_thread && estimate(profile, program, &code) > most {
        return KernelCode::spilled(
            program,
            &profile.assembler,
            most.saturating_sub(profile.assembler.own_registers).max(MIN),
        );
    }
    code
}

/// The most registers that directives and the block's size leave a thread.
fn limit(profile: &Profile, program: &Program, block: [u32; 3]) -> u32 {
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
    most.min(if fits > unit { fits / unit * unit } else { fits }).max(1)
}

/// The fewest registers that a kernel gets.
const MIN: u32 = 4;

/// Registers of a function and of what it calls, with those that live meanwhile; a recursive call counts once.
fn with_calls(
    program: &Program,
    pressures: &[u32],
    kept: &dyn Fn(u32, u32) -> u32,
    f: usize,
    path: &mut [bool],
) -> u32 {
    if std::mem::replace(&mut path[f], true) {
        return 0;
    }
    let mut most = pressures[f];
    for (i, inst) in program.functions[f].insts.iter().enumerate() {
        if calls_system(&program.functions[f], inst) {
            let kept = kept(f as u32, i as u32);
            most = most.max(SYSTEM_LEAST).max(kept + SYSTEM_OWN);
        }
        if let Flow::Call(call) = &inst.flow
            && let Callee::Direct(callee) = call.callee
        {
            let called = with_calls(program, pressures, kept, callee as usize, path);
            most = most.max(kept(f as u32, i as u32) + called);
        }
    }
    path[f] = false;
    most
}

/// Words that a call into the system (`vprintf`, `malloc`) takes besides what lives meanwhile, and those of a function
/// with such a call at least, both without the assembler's own: ptxas 13.0 for sm_90 has 24 registers for a kernel that
/// only calls `vprintf`, 29 and 39 where 10 and 20 words live meanwhile.
const SYSTEM_OWN: u32 = 16;
const SYSTEM_LEAST: u32 = 21;

/// Whether an instruction is a call into the system.
fn calls_system(function: &Function, inst: &Inst) -> bool {
    let uops = &function.uops[inst.uops.start as usize..inst.uops.end as usize];
    uops.iter().any(|uop| matches!(uop, Uop::Effect { effect: Effect::Sys(_), .. }))
}

/// Words that live while a function that an instruction calls runs: those that live behind the call.
fn kept_by_call(code: &KernelCode, sizes: &Sizes, function: u32, instruction: u32) -> u32 {
    let Some(pc) = code.pc(function, instruction) else { return 0 };
    let Code { instructions, leaders, lives, words, .. } = &code.code;
    let block = leaders.partition_point(|leader| *leader <= pc).saturating_sub(1);
    let end = leaders.get(block + 1).map_or(instructions.len(), |l| *l as usize);
    let mut live = live::Set::of(words.len(), lives.get(block).map_or(&[], Vec::as_slice));
    for i in instructions[pc as usize + 1..end].iter().rev() {
        live::step(i, &mut live);
    }
    live.iter().map(|r| sizes.of(r)).sum()
}
