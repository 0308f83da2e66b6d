//! The halves of 64-bit values one after the other.
//!
//! Sixteen lanes of 64 bits are two vectors, which `emit` computes by turns. They seldom meet, but are alive at once:
//! where a block works on many such values (a round of SHA-512 on 24), it takes twice as many registers as there are.
//! So instructions between two effects are put in another order: first what one half needs, then the other one. What
//! the other half starts from waits in memory meanwhile.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::{self, Function, Inst, Opcode, Type, Value, ValueDef};

use super::blocks::acts;

/// Instructions of a half that are worth it: what waits is stored and loaded once.
const LEAST: usize = 64;

/// Vectors that may be alive at once before halves are parted; the rest of the registers is for what is in between.
const MOST_LIVE: usize = 28;

/// No half.
const NONE: usize = usize::MAX;

/// Orders the instructions of all blocks.
pub(super) fn part(f: &mut Function) {
    let blocks: Vec<ir::Block> = f.layout.blocks().collect();
    for b in blocks {
        let insts: Vec<Inst> = f.layout.block_insts(b).collect();
        let mut start = 0;
        for n in 0..insts.len() {
            if acts(f, insts[n]) {
                part_run(f, &insts[start..n], insts[n]);
                start = n + 1;
            }
        }
    }
}

/// Whether a type is half of a slice of 64-bit values.
fn half(ty: Type) -> bool {
    ty.is_vector() && ty.lane_bits() == 64
}

/// The only result of an instruction, if it is a vector of 64-bit lanes.
fn result(f: &Function, i: Inst) -> Option<Value> {
    let first = f.dfg.inst_results(i).first().copied()?;
    half(f.dfg.value_type(first)).then_some(first)
}

/// Whether both halves read the same: it belongs to neither.
fn shared(f: &Function, i: Inst) -> bool {
    match f.dfg.insts[i].opcode() {
        Opcode::Splat | Opcode::Vconst => true,
        Opcode::Bitcast => renamed(f, i).is_some_and(|from| shared(f, from)),
        _ => false,
    }
}

/// The instruction whose result this one only gives another type.
fn renamed(f: &Function, i: Inst) -> Option<Inst> {
    f.dfg.value_def(f.dfg.resolve_aliases(f.dfg.inst_args(i)[0])).inst()
}

/// Computes again, before `end`, what both halves read.
fn again(f: &mut Function, i: Inst, end: Inst) -> Value {
    let from = (f.dfg.insts[i].opcode() == Opcode::Bitcast).then(|| renamed(f, i)).flatten();
    let from = from.map(|from| again(f, from, end));
    let copy = f.dfg.clone_inst(i);
    if let Some(from) = from {
        f.dfg.map_inst_values(copy, |_| from);
    }
    f.layout.insert_inst(copy, end);
    f.dfg.first_result(copy)
}

/// Orders instructions without effects, which lie before `end`.
fn part_run(f: &mut Function, run: &[Inst], end: Inst) {
    if run.len() < 2 * LEAST {
        return;
    }
    let place: HashMap<Inst, usize> = run.iter().enumerate().map(|(n, i)| (*i, n)).collect();
    let inside = |f: &Function, v: Value| match f.dfg.value_def(f.dfg.resolve_aliases(v)) {
        ValueDef::Result(i, _) => place.get(&i).copied(),
        ValueDef::Param(..) | ValueDef::Union(..) => None,
    };
    let args = |f: &Function, n: usize| f.dfg.inst_args(run[n]).to_vec();
    if most_live(f, run, end) <= MOST_LIVE {
        return;
    }
    // What is computed from one another in 64 bits.
    let mut group: Vec<usize> = (0..run.len()).collect();
    fn root(group: &mut [usize], mut n: usize) -> usize {
        while group[n] != n {
            group[n] = group[group[n]];
            n = group[n];
        }
        n
    }
    let own = |f: &Function, n: usize| result(f, run[n]).is_some() && !shared(f, run[n]);
    for n in 0..run.len() {
        if !own(f, n) {
            continue;
        }
        for m in args(f, n).into_iter().filter_map(|a| inside(f, a)) {
            if own(f, m) {
                let (a, b) = (root(&mut group, n), root(&mut group, m));
                group[a.max(b)] = a.min(b);
            }
        }
    }
    let mut size = vec![0; run.len()];
    for n in 0..run.len() {
        size[root(&mut group, n)] += usize::from(own(f, n));
    }
    let large: Vec<usize> = (0..run.len()).filter(|n| size[*n] >= LEAST).collect();
    if large.len() < 2 {
        return;
    }
    // The first half that needs it, itself or for what reads it.
    let mut needs = vec![NONE; run.len()];
    for n in (0..run.len()).rev() {
        let at = root(&mut group, n);
        if size[at] >= LEAST {
            needs[n] = needs[n].min(at);
        }
        for m in args(f, n).into_iter().filter_map(|a| inside(f, a)) {
            needs[m] = needs[m].min(needs[n]);
        }
    }
    let mut order: Vec<usize> = (0..run.len()).collect();
    order.sort_by_key(|n| needs[*n]);
    // The same number in all lanes is made again for each half, so that it does not wait in a register for the next.
    let mut made: HashMap<(Value, usize), Value> = HashMap::new();
    run.iter().for_each(|i| f.layout.remove_inst(*i));
    for n in order {
        for a in args(f, n) {
            let Some(m) = inside(f, a) else { continue };
            if !shared(f, run[m]) || needs[n] == needs[m] {
                continue;
            }
            let copy = *made.entry((a, needs[n])).or_insert_with(|| again(f, run[m], end));
            f.dfg.map_inst_values(run[n], |v| if v == a { copy } else { v });
        }
        f.layout.insert_inst(run[n], end);
    }
}

/// Most vectors of 64-bit lanes alive at once in the run: what it reads from before counts from its start, what `end`
/// reads up to it.
fn most_live(f: &Function, run: &[Inst], end: Inst) -> usize {
    let mut alive = HashSet::new();
    let read = |f: &Function, i: Inst, alive: &mut HashSet<Value>| {
        for v in f.dfg.inst_values(i).map(|v| f.dfg.resolve_aliases(v)) {
            if half(f.dfg.value_type(v)) {
                alive.insert(v);
            }
        }
    };
    read(f, end, &mut alive);
    let mut most = alive.len();
    for i in run.iter().rev() {
        for v in f.dfg.inst_results(*i) {
            alive.remove(v);
        }
        if !shared(f, *i) {
            read(f, *i, &mut alive);
        }
        most = most.max(alive.len());
    }
    most
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::types::{I64, I64X8};
    use cranelift_codegen::ir::{AbiParam, Function, InstBuilder, Value};
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::clif::plain;

    /// Sixteen values of two halves each, stirred with a number in all lanes and stored behind the last turn.
    fn stirred(b: &mut FunctionBuilder, at: Value, turns: usize) {
        let number = b.ins().load(I64, plain(), at, 0);
        let number = b.ins().splat(I64X8, number);
        let mut now: Vec<Value> =
            (0..32).map(|n| b.ins().load(I64X8, plain(), at, 64 * n)).collect();
        for turn in 0..turns {
            for value in 0..16 {
                for half in 0..2 {
                    let other = now[(2 * value + 2 + half + 2 * turn) % 32];
                    let mine = &mut now[2 * value + half];
                    *mine = b.ins().iadd(*mine, other);
                    *mine = b.ins().bxor(*mine, number);
                }
            }
        }
        for (n, x) in now.iter().enumerate() {
            b.ins().store(plain(), *x, at, 64 * (32 + n as i32));
        }
    }

    fn function(turns: usize) -> Function {
        let mut f = Function::new();
        f.signature.params.push(AbiParam::new(I64));
        let mut context = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut f, &mut context);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let at = b.block_params(entry)[0];
        stirred(&mut b, at, turns);
        b.ins().return_(&[]);
        b.seal_all_blocks();
        b.finalize(crate::host::target().unwrap().frontend_config());
        f
    }

    /// The instructions before the first store, without the loads that begin them.
    fn work(f: &Function) -> Vec<Inst> {
        let entry = f.layout.entry_block().unwrap();
        f.layout.block_insts(entry).take_while(|i| !acts(f, *i)).collect()
    }

    /// How often what is computed changes from one half to the other.
    fn changes(f: &Function) -> usize {
        let offset = |v: Value| {
            let mut v = v;
            loop {
                let i = f.dfg.value_def(v).inst().unwrap();
                match f.dfg.insts[i].opcode() {
                    Opcode::Load => break f.dfg.insts[i].load_store_offset().unwrap() / 64 % 2,
                    _ => v = f.dfg.inst_args(i)[0],
                }
            }
        };
        let is = |i: &Inst| matches!(f.dfg.insts[*i].opcode(), Opcode::Iadd | Opcode::Bxor);
        let halves: Vec<i32> =
            work(f).into_iter().filter(is).map(|i| offset(f.dfg.first_result(i))).collect();
        halves.windows(2).filter(|w| w[0] != w[1]).count()
    }

    #[test]
    fn halves_follow_each_other() {
        let mut f = function(3);
        assert!(changes(&f) > 90);
        part(&mut f);
        assert_eq!(changes(&f), 1);
        // The number in all lanes is made once for each half.
        let splats = work(&f).into_iter().filter(|i| f.dfg.insts[*i].opcode() == Opcode::Splat);
        assert_eq!(splats.count(), 2);
        let flags = cranelift_codegen::settings::Flags::new(cranelift_codegen::settings::builder());
        cranelift_codegen::verifier::verify_function(&f, &flags).unwrap();
    }

    #[test]
    fn little_work_stays_as_it_is() {
        let mut f = function(1);
        let before = work(&f);
        part(&mut f);
        assert_eq!(work(&f), before);
    }
}
