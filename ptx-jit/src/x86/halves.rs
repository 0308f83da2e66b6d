//! The halves of 64-bit values one after the other.
//!
//! Sixteen lanes of 64 bits are two vectors, which `emit` computes by turns. They seldom meet, but are alive at once:
//! where a block works on many such values (a round of SHA-512 on 24), it takes twice as many registers as there are.
//! So instructions between two effects are put in another order: first what one half needs, then the other one. What
//! the other half starts from waits in memory meanwhile.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::{self, Function, Inst, Opcode, Type, Value};

use super::blocks::acts;
use crate::pressure::MOST_VECTORS_OF_LONGS;

/// Instructions of a half that are worth it: what waits is stored and loaded once.
const LEAST: usize = 64;

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

/// Instructions without effects, one after the other.
struct Run<'a> {
    insts: &'a [Inst],
    /// Where each of them is.
    places: HashMap<Inst, usize>,
}

impl Run<'_> {
    /// The place of the instruction of the run that computes `v`.
    fn place(&self, f: &Function, v: Value) -> Option<usize> {
        let i = f.dfg.value_def(f.dfg.resolve_aliases(v)).inst()?;
        self.places.get(&i).copied()
    }

    /// What the instruction at `n` reads: each value, and the place of the instruction of the run that computes it.
    fn read(&self, f: &Function, n: usize) -> Vec<(Value, usize)> {
        let args = f.dfg.inst_args(self.insts[n]).iter();
        args.filter_map(|v| Some((*v, self.place(f, *v)?))).collect()
    }

    /// Whether the instruction at `n` computes a vector of 64-bit lanes from others.
    fn own(&self, f: &Function, n: usize) -> bool {
        let i = self.insts[n];
        let first = f.dfg.inst_results(i).first();
        first.is_some_and(|v| half(f.dfg.value_type(*v))) && !shared(f, i)
    }

    /// For each instruction the half that it belongs to, a number, and [`NONE`] if that has little work: a half is what
    /// is computed from one another in 64 bits.
    fn halves(&self, f: &Function) -> Vec<usize> {
        fn first(group: &mut [usize], mut n: usize) -> usize {
            while group[n] != n {
                group[n] = group[group[n]];
                n = group[n];
            }
            n
        }
        let all = 0..self.insts.len();
        let mut group: Vec<usize> = all.clone().collect();
        let mut work = vec![0; group.len()];
        for n in all.clone().filter(|n| self.own(f, *n)) {
            for (_, m) in self.read(f, n) {
                if self.own(f, m) {
                    let (a, b) = (first(&mut group, n), first(&mut group, m));
                    group[a.max(b)] = a.min(b);
                }
            }
        }
        for n in all.clone().filter(|n| self.own(f, *n)) {
            work[first(&mut group, n)] += 1;
        }
        let half = |n| Some(first(&mut group, n)).filter(|at| work[*at] >= LEAST).unwrap_or(NONE);
        all.map(half).collect()
    }

    /// The first half that needs each instruction, for itself or for what reads it.
    fn needs(&self, f: &Function, halves: Vec<usize>) -> Vec<usize> {
        let mut needs = halves;
        for n in (0..needs.len()).rev() {
            for (_, m) in self.read(f, n) {
                needs[m] = needs[m].min(needs[n]);
            }
        }
        needs
    }
}

/// Orders instructions without effects, which lie before `end`.
fn part_run(f: &mut Function, insts: &[Inst], end: Inst) {
    if insts.len() < 2 * LEAST || most_live(f, insts, end) <= MOST_VECTORS_OF_LONGS {
        return;
    }
    let run = Run { insts, places: insts.iter().enumerate().map(|(n, i)| (*i, n)).collect() };
    let halves = run.halves(f);
    let some = halves.iter().find(|half| **half != NONE);
    if halves.iter().all(|half| *half == NONE || Some(half) == some) {
        return;
    }
    let needs = run.needs(f, halves);
    let mut order: Vec<usize> = (0..insts.len()).collect();
    order.sort_by_key(|n| needs[*n]);
    // The same number in all lanes is made again for each half, so that it does not wait in a register for the next.
    let mut made: HashMap<(Value, usize), Value> = HashMap::new();
    insts.iter().for_each(|i| f.layout.remove_inst(*i));
    for n in order {
        for (v, m) in run.read(f, n) {
            if shared(f, insts[m]) && needs[n] != needs[m] {
                let copy = *made.entry((v, needs[n])).or_insert_with(|| again(f, insts[m], end));
                f.dfg.map_inst_values(insts[n], |x| if x == v { copy } else { x });
            }
        }
        f.layout.insert_inst(insts[n], end);
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
