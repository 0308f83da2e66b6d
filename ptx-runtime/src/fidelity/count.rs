//! Counters for instructions that are not exact, written into a kernel, so that every engine counts.

use ptx_isa::effect::{Atom, AtomOp, Effect, MemoryPlace, Order, Scope};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::row::Exactness;
use ptx_isa::{Kind, Space};
use ptx_parse::code::Program;

use super::Grade;

/// Bytes of the counters: a 64-bit number for each [`Grade`].
pub(crate) const BYTES: u64 = 8 * Grade::ALL.len() as u64;

/// Whether there is something to count.
pub(crate) fn has_inexact(program: &Program) -> bool {
    let mut insts = program.functions.iter().flat_map(|f| &f.insts);
    insts.any(|inst| Grade::of(grade(program, inst.opcode)).is_some())
}

/// The program with an addition of one to a counter before each instruction that is not exact, by every lane that
/// executes it. `symbol` is the number of the counters among the addresses of symbols.
pub(crate) fn counted(program: &Program, symbol: u32) -> Program {
    let mut program = program.clone();
    for n in 0..program.functions.len() {
        let mut uops = Vec::with_capacity(program.functions[n].uops.len());
        let old = std::mem::take(&mut program.functions[n].uops);
        for i in 0..program.functions[n].insts.len() {
            let opcode = program.functions[n].insts[i].opcode;
            let grade = Grade::of(grade(&program, opcode));
            let inst = &mut program.functions[n].insts[i];
            let first = uops.len() as u32;
            let own = &old[inst.uops.start as usize..inst.uops.end as usize];
            // The first micro-op of a guarded instruction may compute its guard: behind that one.
            let (before, behind) = own.split_at(usize::from(computes_guard(inst.guard, own)));
            uops.extend_from_slice(before);
            uops.extend(grade.map(|g| add_one(symbol, 8 * g as i64)));
            uops.extend_from_slice(behind);
            inst.uops = first..uops.len() as u32;
        }
        program.functions[n].uops = uops;
    }
    program.counted = true;
    program
}

fn grade(program: &Program, opcode: u32) -> Exactness {
    program.matches[opcode as usize].row.exact
}

fn computes_guard(guard: Option<(V, bool)>, uops: &[Uop]) -> bool {
    matches!((guard, uops.first()), (Some((g, _)), Some(Uop::Pure { dst, .. }))
        if matches!(g.src, Src::Temp(_)) && *dst == g)
}

fn add_one(symbol: u32, offset: i64) -> Uop {
    let add = Atom {
        place: MemoryPlace { space: Space::Global, offset: 0 },
        op: AtomOp::Add,
        bytes: 8,
        count: 1,
        order: Order::Relaxed,
        scope: Scope::Gpu,
    };
    let counter = V { kind: Kind::D, src: Src::Symbol(symbol, offset) };
    Uop::Effect { effect: Effect::Atom(add), dst: Box::new([]), src: Box::new([counter, V::d(1)]) }
}
