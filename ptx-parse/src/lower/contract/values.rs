//! Where the values that registers hold come from: static single assignment on demand (Braun and others, "Simple and
//! Efficient Construction of Static Single Assignment Form", 2013).

use std::collections::HashMap;

use flow::Dominators;
use ptx_isa::meaning::Selection;
use ptx_isa::{Operation, Space, Ty};

use super::blocks::Blocks;
use super::code::{Code, Role};
use crate::module::Operand;

/// Where a register's value was made.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// Nowhere: this register's value at the function's beginning.
    Start(u32),
    /// By this instruction; if it is guarded, the earlier value may have stayed.
    Inst(u32),
    /// In several places, by way.
    Phi(u32),
}

/// A value, looked at through copies.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Value {
    pub source: Source,
    /// Whether the sign is the other one.
    pub negated: bool,
}

/// A value that comes from several places.
struct Phi {
    node: u32,
    reg: u32,
    /// One for each way into the block.
    args: Vec<Source>,
    /// The one value that comes on all ways.
    same: Option<Value>,
    /// Whether [`Values::through`] was here.
    walked: bool,
}

/// The values of a function's registers.
pub(super) struct Values<'a> {
    code: &'a Code<'a>,
    blocks: &'a Blocks,
    pub dominators: Dominators,
    /// By register: the instructions that write it, in the order of the blocks.
    writers: Vec<Vec<u32>>,
    phis: Vec<Phi>,
    phi_of: HashMap<(u32, u32), u32>,
    /// Phis whose arguments are still to be found.
    pending: Vec<u32>,
}

/// Numbers are looked for through this many instructions.
const DEPTH: u32 = 8;

/// Copies are followed through this many instructions.
const COPIES: u32 = 64;

impl<'a> Values<'a> {
    pub fn new(code: &'a Code<'a>, blocks: &'a Blocks) -> Values<'a> {
        let mut writers = vec![Vec::new(); code.body.regs.len()];
        for &i in blocks.nodes.iter().flatten() {
            code.writes(i, &mut |r| {
                let list: &mut Vec<u32> = &mut writers[r as usize];
                if list.last() != Some(&i) {
                    list.push(i);
                }
            });
        }
        let dominators = Dominators::new(&blocks.graph, 0);
        let (phis, phi_of, pending) = (Vec::new(), HashMap::new(), Vec::new());
        Values { code, blocks, dominators, writers, phis, phi_of, pending }
    }

    /// The value of a register where instruction `i` reads it, which control reaches.
    pub fn read(&mut self, reg: u32, i: u32) -> Source {
        let (node, at) = self.blocks.place[i as usize];
        let found = match self.writer_before(reg, node, at) {
            Some(w) => Source::Inst(w),
            None => self.at_start(reg, node),
        };
        self.fill();
        found
    }

    /// The last instruction of a block before place `at` that writes a register.
    fn writer_before(&self, reg: u32, node: u32, at: u32) -> Option<u32> {
        let place = |w: &u32| self.blocks.place[*w as usize];
        let list = &self.writers[reg as usize];
        let n = list.partition_point(|w| place(w).1 < at);
        list[..n].last().copied().filter(|w| place(w).0 == node)
    }

    /// The last instruction of a block that writes a register.
    fn last_writer(&self, reg: u32, node: u32) -> Option<u32> {
        let last = self.blocks.nodes[node as usize].last()?;
        self.writer_before(reg, node, self.blocks.place[*last as usize].1 + 1)
    }

    fn at_start(&mut self, reg: u32, mut node: u32) -> Source {
        match self.writers[reg as usize][..] {
            [] => return Source::Start(reg),
            [w] => {
                let of = self.blocks.place[w as usize].0;
                if of != node && self.dominators.dominates(of, node) {
                    return Source::Inst(w);
                }
            }
            _ => {}
        }
        loop {
            let before = self.blocks.graph.predecessors(node);
            match *before {
                [] => return Source::Start(reg),
                [p] if node != 0 => match self.last_writer(reg, p) {
                    Some(w) => return Source::Inst(w),
                    None => node = p,
                },
                _ => {
                    let next = self.phis.len() as u32;
                    let phi = *self.phi_of.entry((node, reg)).or_insert(next);
                    if phi == next {
                        self.phis.push(Phi {
                            node,
                            reg,
                            args: Vec::new(),
                            same: None,
                            walked: false,
                        });
                        self.pending.push(phi);
                    }
                    return Source::Phi(phi);
                }
            }
        }
    }

    /// Finds the arguments of all phis.
    fn fill(&mut self) {
        let blocks = self.blocks;
        while let Some(phi) = self.pending.pop() {
            let Phi { node, reg, .. } = self.phis[phi as usize];
            let mut args = Vec::new();
            if node == 0 {
                args.push(Source::Start(reg));
            }
            for &p in blocks.graph.predecessors(node) {
                args.push(match self.last_writer(reg, p) {
                    Some(w) => Source::Inst(w),
                    None => self.at_start(reg, p),
                });
            }
            self.phis[phi as usize].args = args;
        }
    }

    /// A value's origin: through copies, and through places where the same comes on all ways as far as
    /// [`Self::simplify`] knows.
    pub fn origin(&mut self, source: Source) -> Value {
        let mut value = Value { source, negated: false };
        for _ in 0..COPIES {
            match value.source {
                Source::Phi(p) => {
                    let Some(same) = self.phis[p as usize].same else { return value };
                    value = Value { source: same.source, negated: value.negated ^ same.negated };
                }
                Source::Inst(i) => {
                    let Some((reg, negates)) = self.code.copies(i) else { return value };
                    let source = self.read(reg, i);
                    value = Value { source, negated: value.negated ^ negates };
                }
                Source::Start(_) => return value,
            }
        }
        value
    }

    /// The origin of what instruction `i` reads in a register.
    pub fn value(&mut self, reg: u32, i: u32) -> Value {
        let source = self.read(reg, i);
        self.origin(source)
    }

    /// Finds the phis that yield the same value on all ways.
    pub fn simplify(&mut self) {
        loop {
            let mut changed = false;
            for p in 0.. {
                if p >= self.phis.len() {
                    break;
                }
                if self.phis[p].same.is_some() {
                    continue;
                }
                let mut same: Option<Value> = None;
                let mut one = true;
                for k in 0..self.phis[p].args.len() {
                    let value = self.origin(self.phis[p].args[k]);
                    match same {
                        _ if value.source == Source::Phi(p as u32) => one &= !value.negated,
                        None => same = Some(value),
                        Some(s) => one &= self.equal(s, value),
                    }
                }
                if one && same.is_some() {
                    self.phis[p].same = same;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Whether two values are the same: also two copies of one constant.
    fn equal(&self, a: Value, b: Value) -> bool {
        if a == b {
            return true;
        }
        let (Source::Inst(x), Source::Inst(y)) = (a.source, b.source) else { return false };
        let body = self.code.body;
        let opcode = |i: u32| body.insts[i as usize].opcode;
        let sources = |i: u32| -> Option<Vec<&Operand>> {
            self.code.loads_constant(i).then(|| {
                let parts = self.code.ops(i)[1..].iter().flat_map(|op| match op {
                    Operand::Addr(base, _) => vec![op, &body.operands[*base as usize]],
                    _ => vec![op],
                });
                parts.filter(|op| !matches!(op, Operand::Addr(..))).collect()
            })
        };
        let offsets = |i: u32| {
            let of = |op: &Operand| match op {
                Operand::Addr(_, offset) => *offset,
                _ => 0,
            };
            self.code.ops(i)[1..].iter().map(of).collect::<Vec<_>>()
        };
        a.negated == b.negated
            && opcode(x) == opcode(y)
            && sources(x).is_some()
            && sources(x) == sources(y)
            && offsets(x) == offsets(y)
    }

    /// Whether a value is an immediate, a kernel parameter or a constant of the module: the assembler puts these into
    /// the instructions that use them.
    pub fn is_constant(&mut self, value: Value) -> bool {
        let Source::Inst(mut i) = value.source else { return false };
        for _ in 0..DEPTH {
            if self.code.loads_constant(i) || self.number(Source::Inst(i), 0).is_some() {
                return true;
            }
            let of_other = match (self.code.op(i), self.code.ops(i)) {
                (Operation::Abs, [_, Operand::Reg(r, Selection::Whole)])
                    if self.code.body.insts[i as usize].guard.is_none() =>
                {
                    *r
                }
                _ => return false,
            };
            let Source::Inst(next) = self.value(of_other, i).source else { return false };
            i = next;
        }
        false
    }

    /// The known integer, or the bits of the known float, that a value is.
    fn number(&mut self, source: Source, depth: u32) -> Option<u64> {
        let Value { source: Source::Inst(i), negated: false } = self.origin(source) else {
            return None;
        };
        if depth > DEPTH || self.code.body.insts[i as usize].guard.is_some() {
            return None;
        }
        let width = |ty: Option<Ty>, n: u64| match ty {
            Some(Ty::U64 | Ty::S64 | Ty::B64) => Some(n),
            Some(Ty::U32 | Ty::S32 | Ty::B32) => Some(u64::from(n as u32)),
            _ => None,
        };
        let ty = self.code.matched(i).types().last();
        match (self.code.op(i), self.code.ops(i)) {
            (Operation::Move, [_, Operand::Imm(n)]) => Some(*n),
            (Operation::Add, [_, a, b]) => {
                let (a, b) = (self.operand(a, i, depth + 1)?, self.operand(b, i, depth + 1)?);
                width(ty, a.wrapping_add(b))
            }
            (Operation::Sub, [_, a, b]) => {
                let (a, b) = (self.operand(a, i, depth + 1)?, self.operand(b, i, depth + 1)?);
                width(ty, a.wrapping_sub(b))
            }
            _ => None,
        }
    }

    /// The number that an operand of instruction `i` is.
    fn operand(&mut self, op: &Operand, i: u32, depth: u32) -> Option<u64> {
        match op {
            Operand::Imm(n) => Some(*n),
            Operand::Reg(r, Selection::Whole) => {
                let source = self.read(*r, i);
                self.number(source, depth)
            }
            _ => None,
        }
    }

    /// The number, or the bits of the float, that an operand of instruction `i` is if the assembler knows it.
    pub fn number_of(&mut self, op: &Operand, i: u32) -> Option<u64> {
        self.operand(op, i, 0)
    }

    /// The instruction that computes the guard of branch `i`, if it compares two integers.
    fn comparison(&mut self, i: u32) -> Option<(u32, bool)> {
        let (guard, negated) = self.code.body.insts[i as usize].guard?;
        let Source::Inst(c) = self.read(guard, i) else { return None };
        let compares = self.code.op(c) == Operation::Compare
            && self.code.body.insts[c as usize].guard.is_none()
            && self.code.ops(c)[3..].iter().all(|op| *op == Operand::Absent)
            && self.code.matched(c).get("cmpi").is_some();
        compares.then_some((c, negated))
    }

    /// Whether the branch `i` is always or never taken.
    pub fn decided(&mut self, i: u32) -> Option<bool> {
        let (c, negated) = self.comparison(i)?;
        let [_, a, b, ..] = self.code.ops(c) else { return None };
        let (a, b) = (self.operand(a, c, 0)?, self.operand(b, c, 0)?);
        Some(self.holds(c, a, b)? != negated)
    }

    /// What comparison `c` says of two numbers.
    fn holds(&self, c: u32, a: u64, b: u64) -> Option<bool> {
        let m = self.code.matched(c);
        let (a, b) = match m.types().last()? {
            Ty::S32 => (i128::from(a as i32), i128::from(b as i32)),
            Ty::U32 | Ty::B32 => (i128::from(a as u32), i128::from(b as u32)),
            Ty::S64 => (i128::from(a as i64), i128::from(b as i64)),
            Ty::U64 | Ty::B64 => (i128::from(a), i128::from(b)),
            _ => return None,
        };
        Some(match m.get("cmpi")? {
            ".eq" => a == b,
            ".ne" => a != b,
            ".lt" | ".lo" => a < b,
            ".le" | ".ls" => a <= b,
            ".gt" | ".hi" => a > b,
            ".ge" | ".hs" => a >= b,
            _ => return None,
        })
    }

    /// How often a loop runs, at most `most` times: branch `i` at its end leads back to block `header` while a counter,
    /// which a number starts and a number steps, compares so with a number.
    pub fn trips(&mut self, header: u32, i: u32, most: u64) -> Option<u64> {
        let (c, negated) = self.comparison(i)?;
        let [_, a, b, ..] = self.code.ops(c) else { return None };
        let counter = |values: &mut Self, op: &Operand| match op {
            Operand::Reg(r, Selection::Whole) => values.counter(header, *r, c),
            _ => None,
        };
        let (start, step, limit, first) = match (counter(self, a), counter(self, b)) {
            (Some((start, step)), None) => (start, step, self.operand(b, c, 0)?, true),
            (None, Some((start, step))) => (start, step, self.operand(a, c, 0)?, false),
            _ => return None,
        };
        let mut value = start;
        for trip in 1..=most {
            let (a, b) = if first { (value, limit) } else { (limit, value) };
            if self.holds(c, a, b)? == negated {
                return Some(trip);
            }
            value = value.wrapping_add(step);
        }
        None
    }

    /// The number that `reg` is when comparison `c` first reads it, and its step from one trip of the loop to the next.
    fn counter(&mut self, header: u32, reg: u32, c: u32) -> Option<(u64, u64)> {
        let read = self.value(reg, c);
        // The counter itself, or the sum that it is next.
        let (phi, ahead) = match read.source {
            Source::Phi(p) => (p, 0),
            Source::Inst(i) => self.step(i)?,
            Source::Start(_) => return None,
        };
        let Phi { node, ref args, .. } = self.phis[phi as usize];
        let [first, second] = args[..] else { return None };
        if node != header || read.negated {
            return None;
        }
        for (start, next) in [(first, second), (second, first)] {
            if let Source::Inst(i) = self.origin(next).source
                && let Some((of, step)) = self.step(i)
                && of == phi
                && let Some(start) = self.number(start, 0)
            {
                return Some((start.wrapping_add(ahead), step));
            }
        }
        None
    }

    /// The phi that instruction `i` adds a number to, and the number.
    fn step(&mut self, i: u32) -> Option<(u32, u64)> {
        if self.code.body.insts[i as usize].guard.is_some() {
            return None;
        }
        let signed = |n: u64, ty: Option<Ty>| match ty {
            Some(Ty::U32 | Ty::S32 | Ty::B32) => i64::from(n as i32) as u64,
            _ => n,
        };
        let ty = self.code.matched(i).types().last();
        let (reg, by) = match (self.code.op(i), self.code.ops(i)) {
            (Operation::Add, [_, Operand::Reg(r, Selection::Whole), Operand::Imm(n)])
            | (Operation::Add, [_, Operand::Imm(n), Operand::Reg(r, Selection::Whole)]) => {
                (*r, signed(*n, ty))
            }
            (Operation::Sub, [_, Operand::Reg(r, Selection::Whole), Operand::Imm(n)]) => {
                (*r, signed(*n, ty).wrapping_neg())
            }
            _ => return None,
        };
        match self.value(reg, i) {
            Value { source: Source::Phi(p), negated: false } => Some((p, by)),
            _ => None,
        }
    }

    /// The instructions whose values may come through a phi, but for those that an earlier call yielded.
    pub fn through(&mut self, phi: u32) -> Vec<u32> {
        let mut work = vec![phi];
        let mut found = Vec::new();
        while let Some(phi) = work.pop() {
            let phi = phi as usize;
            if std::mem::replace(&mut self.phis[phi].walked, true) {
                continue;
            }
            for k in 0..self.phis[phi].args.len() {
                match self.origin(self.phis[phi].args[k]).source {
                    Source::Inst(i) => found.push(i),
                    Source::Phi(p) => work.push(p),
                    Source::Start(_) => {}
                }
            }
        }
        found
    }
}

impl Code<'_> {
    /// The register that instruction `i` copies, and whether it changes the sign.
    pub fn copies(&self, i: u32) -> Option<(u32, bool)> {
        let role = self.role(i);
        match self.ops(i) {
            [_, Operand::Reg(r, Selection::Whole)]
                if matches!(role, Role::Move | Role::Neg) && self.whole_dest(i).is_some() =>
            {
                Some((*r, role == Role::Neg))
            }
            _ => None,
        }
    }

    /// Whether instruction `i` loads a kernel parameter or a constant of the module, or is an immediate.
    pub fn loads_constant(&self, i: u32) -> bool {
        if self.body.insts[i as usize].guard.is_some() {
            return false;
        }
        match (self.op(i), self.ops(i)) {
            (Operation::Move | Operation::Neg | Operation::Abs, [_, Operand::Imm(_)]) => true,
            (Operation::Load, [_, Operand::Addr(base, _), ..]) => {
                match self.body.operands[*base as usize] {
                    Operand::Param(..) => self.entry,
                    Operand::Symbol(s, _) => self.module.symbols[s as usize].space == Space::Const,
                    Operand::Var(v, _) => self.body.vars[v as usize].space == Space::Const,
                    _ => false,
                }
            }
            _ => false,
        }
    }
}
