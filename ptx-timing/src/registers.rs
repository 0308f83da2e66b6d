//! How many registers a thread of a kernel needs, estimated.
//!
//! The assembler allocates registers to values that live at once. The estimate is the largest number
//! of 32-bit words live at any instruction of the code as the assembler leaves it
//! ([`crate::code::KernelCode`]), with what calls add. The assembler orders each block anew; counted is
//! the text's order or one that keeps few values alive, whichever needs fewer registers.

use ptx_parse::code::{Callee, Flow, Program};

use ptx_isa::Class;

use crate::code::KernelCode;
use crate::event::{AccessKind, Instruction, Register};
use crate::live;
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
        return KernelCode::spilled(program, &profile.assembler, most.saturating_sub(OWN).max(MIN));
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

/// Most 32-bit words that live at once in a function, in an order of each block that keeps few alive.
fn pressure(program: &Program, code: &KernelCode, f: usize) -> u32 {
    let function = &program.functions[f];
    let pcs: Vec<Vec<u32>> = function
        .blocks
        .iter()
        .map(|b| (b.start..b.end).filter_map(|i| code.pc(f as u32, i)).collect())
        .collect();
    let instructions = &code.code.instructions;
    let arguments = code.arguments();
    let words = |r: Register| if arguments.contains(&r) { 0 } else { code.words(r) };
    let registers = code.code.words.len();
    let ends = live::at_block_ends(function, registers, |b: usize| {
        pcs[b].iter().map(move |pc| &instructions[*pc as usize])
    });
    let mut most = 0;
    for (pcs, end) in pcs.iter().zip(ends) {
        let list: Vec<&Instruction> = pcs.iter().map(|pc| &instructions[*pc as usize]).collect();
        for window in windows(&list, end) {
            let (list, end) = window;
            most = most.max(in_order(&list, &end, &words).min(at_least(&list, &end, &words)));
        }
    }
    most
}

/// Blocks longer than this are looked at in pieces; the search is quadratic.
const WINDOW: usize = 400;

/// Pieces of a block with what lives behind each.
fn windows<'a>(list: &[&'a Instruction], end: live::Set) -> Vec<(Vec<&'a Instruction>, live::Set)> {
    let mut out = Vec::new();
    let mut live = end;
    for piece in list.rchunks(WINDOW) {
        out.push((piece.to_vec(), live.clone()));
        for i in piece.iter().rev() {
            live::step(i, &mut live);
        }
    }
    if out.is_empty() {
        out.push((Vec::new(), live));
    }
    out
}

/// Words that live at most, in the text's order.
fn in_order(list: &[&Instruction], end: &live::Set, words: &dyn Fn(Register) -> u32) -> u32 {
    let mut live = end.clone();
    let mut now: u32 = live.iter().map(words).sum();
    let mut most = now;
    for i in list.iter().rev() {
        // Results need a place even if nobody reads them.
        let dead: u32 = i.writes.iter().filter(|w| !live.contains(**w)).map(|w| words(*w)).sum();
        most = most.max(now + dead);
        now = change(i, &mut live, now, words);
        most = most.max(now);
    }
    most
}

/// Goes over an instruction backwards; the words that live before it.
fn change(
    i: &Instruction,
    live: &mut live::Set,
    mut now: u32,
    words: &dyn Fn(Register) -> u32,
) -> u32 {
    if i.guard.is_none() {
        for &w in &i.writes {
            if live.contains(w) {
                now -= words(w);
                live.remove(w);
            }
        }
    }
    for &r in i.reads.iter().chain(&i.guard) {
        if !live.contains(r) {
            now += words(r);
            live.insert(r);
        }
    }
    now
}

/// Words that live at most, in an order made from the end: always the instruction that frees most, of
/// several the one that the text has last.
fn at_least(list: &[&Instruction], end: &live::Set, words: &dyn Fn(Register) -> u32) -> u32 {
    let n = list.len();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut behind = vec![0_u32; n];
    let fixed = |i: &Instruction| {
        i.orders
            || matches!(i.class, Class::Branch | Class::Barrier | Class::WarpSync)
            || i.class.is_memory() && i.kind != AccessKind::Load
    };
    for late in 0..n {
        for early in 0..late {
            let (e, l) = (list[early], list[late]);
            let reads = |i: &Instruction, r: &Register| i.reads.contains(r) || i.guard == Some(*r);
            let tied = e.writes.iter().any(|w| reads(l, w) || l.writes.contains(w))
                || l.writes.iter().any(|w| reads(e, w))
                || fixed(e) && (fixed(l) || l.class.is_memory())
                || fixed(l) && e.class.is_memory()
                || l.class == Class::Branch;
            if tied {
                before[late].push(early);
                behind[early] += 1;
            }
        }
    }
    let mut ready: Vec<usize> = (0..n).filter(|i| behind[*i] == 0).collect();
    let mut live = end.clone();
    let mut now: u32 = live.iter().map(words).sum();
    let mut most = now;
    while !ready.is_empty() {
        let gain = |i: usize| {
            let i = list[i];
            let sum = |all: i64, r: &Register, there: bool| {
                if live.contains(*r) == there { all + i64::from(words(*r)) } else { all }
            };
            let freed = match i.guard {
                None => i.writes.iter().fold(0, |all, w| sum(all, w, true)),
                Some(_) => 0,
            };
            freed - i.reads.iter().chain(&i.guard).fold(0, |all, r| sum(all, r, false))
        };
        let best = (0..ready.len()).max_by_key(|&at| (gain(ready[at]), ready[at])).unwrap_or(0);
        let chosen = ready.swap_remove(best);
        let i = list[chosen];
        let dead: u32 = i.writes.iter().filter(|w| !live.contains(**w)).map(|w| words(*w)).sum();
        most = most.max(now + dead);
        now = change(i, &mut live, now, words);
        most = most.max(now);
        for &b in &before[chosen] {
            behind[b] -= 1;
            if behind[b] == 0 {
                ready.push(b);
            }
        }
    }
    most
}
