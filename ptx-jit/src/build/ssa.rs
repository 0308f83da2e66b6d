//! Turns variables into values: the order of blocks, which variables live where, phis, renaming.

use std::collections::HashMap;

use flow::{BitSet, Graph};
use ptx_isa::effect::Effect;
use ptx_isa::uop::Op as Pure;
use ptx_isa::{Kind, Space};

use super::raw::{Item, Operand, Raw, RawBlock, RawInst, RawTerm};
use crate::ir::{BasicBlock, BlockId, EffectInst, Func, Inst, Op, Term, Val};

/// The kernel over values; it has `param_bytes` of parameters.
pub(super) fn ssa(raw: &Raw, param_bytes: u32) -> Func {
    let order = Order::new(raw);
    let live = live_variables(raw, &order);
    let mut r = Renamer::new(raw, param_bytes);
    let n = order.preds.len();
    r.f.blocks.push(BasicBlock { insts: vec![], term: Term::Jump(1), preds: vec![] });
    let mut ends: Vec<HashMap<u32, Val>> = vec![HashMap::new(); n];
    let mut phis: Vec<Vec<(u32, Val)>> = vec![Vec::new(); n];
    for i in 1..n {
        match order.preds[i][..] {
            [only] if only < i as BlockId => r.now.clone_from(&ends[only as usize]),
            _ => phis[i] = r.phis(&live[i]),
        }
        let block = order.block(raw, i);
        block.insts.iter().for_each(|inst| r.inst(inst));
        let term = r.term(&block.term, &order);
        let insts = std::mem::take(&mut r.insts);
        r.f.blocks.push(BasicBlock { insts, term, preds: order.preds[i].clone() });
        ends[i] = std::mem::take(&mut r.now);
    }
    // What each way brings is known now.
    for i in 1..n {
        for (var, id) in &phis[i] {
            let brought = |p: &BlockId| ends[*p as usize].get(var).copied();
            let zero = r.zero[raw.kind(*var) as usize];
            let args = order.preds[i].iter().map(|p| brought(p).unwrap_or(zero)).collect();
            r.f.insts[*id as usize].args = args;
        }
    }
    r.f
}

/// Reachable blocks in reverse post-order. Number 0 is an empty entry, which has no predecessors and so needs no phis.
struct Order {
    /// Raw blocks from number 1 on.
    blocks: Vec<BlockId>,
    /// Number of each raw block.
    number: Vec<BlockId>,
    /// Distinct predecessors by number.
    preds: Vec<Vec<BlockId>>,
}

impl Order {
    fn new(raw: &Raw) -> Order {
        // The last successor (the fall-through) first, so that it comes last in the order.
        let succs = |b: BlockId| raw.blocks[b as usize].term.succs().into_iter().rev();
        let blocks = Graph::new(raw.blocks.len(), succs).reverse_postorder(raw.entry);
        let mut number = vec![BlockId::MAX; raw.blocks.len()];
        for (n, b) in blocks.iter().enumerate() {
            number[*b as usize] = n as BlockId + 1;
        }
        let mut preds: Vec<Vec<BlockId>> = vec![Vec::new(); blocks.len() + 1];
        preds[1].push(0);
        for b in &blocks {
            for s in raw.blocks[*b as usize].term.succs() {
                preds[number[s as usize] as usize].push(number[*b as usize]);
            }
        }
        Order { blocks, number, preds }
    }

    fn block<'a>(&self, raw: &'a Raw, number: usize) -> &'a RawBlock {
        &raw.blocks[self.blocks[number - 1] as usize]
    }

    fn of(&self, raw: BlockId) -> BlockId {
        self.number[raw as usize]
    }
}

/// Variables that live at the start of each block, by number.
fn live_variables(raw: &Raw, order: &Order) -> Vec<BitSet> {
    let n = order.preds.len();
    let (mut reads, mut writes) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for i in 0..n {
        let [mut read, mut written] = [(); 2].map(|()| BitSet::with_capacity(raw.kinds.len()));
        if i > 0 {
            touch(order.block(raw, i), &mut read, &mut written);
        }
        reads.push(read);
        writes.push(written);
    }
    let graph = Graph::new(n, |i| match i {
        0 => vec![1],
        i => {
            let succs = order.block(raw, i as usize).term.succs();
            succs.into_iter().map(|s| order.of(s)).collect()
        }
    });
    flow::live_in(&graph, reads, &writes)
}

/// Variables that a block reads before it writes them, and those that it writes.
fn touch(block: &RawBlock, reads: &mut BitSet, writes: &mut BitSet) {
    let mut read = |o: &Operand, writes: &BitSet| {
        if let Operand::Var(v) = o
            && !writes.contains(*v as usize)
        {
            reads.insert(*v as usize);
        }
    };
    for inst in &block.insts {
        if let Some((g, _)) = &inst.guard {
            read(g, writes);
        }
        let guarded = inst.guard.is_some();
        match &inst.item {
            Item::Pure { dst, args, keep, .. } => {
                args.iter().for_each(|a| read(a, writes));
                if guarded && *keep {
                    read(&Operand::Var(*dst), writes);
                }
                writes.insert(*dst as usize);
            }
            Item::Effect { dst, src, .. } => {
                src.iter().for_each(|a| read(a, writes));
                for (d, _) in dst.iter().filter(|(_, keep)| guarded && *keep) {
                    read(&Operand::Var(*d), writes);
                }
                dst.iter().for_each(|(d, _)| writes.insert(*d as usize));
            }
        }
    }
    match &block.term {
        RawTerm::Br(v, ..) | RawTerm::Brx(v, ..) => read(v, writes),
        RawTerm::Jump(_) | RawTerm::Exit => {}
    }
}

/// A predicate and whether it is negated.
type Guard = Option<(Val, bool)>;

/// Gives variables values, block by block.
struct Renamer<'a> {
    raw: &'a Raw,
    param_bytes: u32,
    f: Func,
    /// 0 of each kind.
    zero: [Val; 3],
    /// Values of the variables, and the instructions of the block so far.
    now: HashMap<u32, Val>,
    insts: Vec<Val>,
}

impl Renamer<'_> {
    fn new(raw: &Raw, param_bytes: u32) -> Renamer<'_> {
        let mut f =
            Func { frame_bytes: raw.frame + raw.stack, stack_bytes: raw.stack, ..Func::default() };
        let mut zero = [0; 3];
        for kind in [Kind::P, Kind::W, Kind::D] {
            zero[kind as usize] = f.insts.len() as Val;
            f.insts.push(Inst { op: Op::Const(0), kind, args: Vec::new() });
        }
        Renamer { raw, param_bytes, f, zero, now: HashMap::new(), insts: Vec::new() }
    }

    /// A value that stands in no block.
    fn value(&mut self, op: Op, kind: Kind, args: Vec<Val>) -> Val {
        self.f.insts.push(Inst { op, kind, args });
        self.f.insts.len() as Val - 1
    }
    /// An instruction of the block.
    fn push(&mut self, op: Op, kind: Kind, args: Vec<Val>) -> Val {
        let v = self.value(op, kind, args);
        self.insts.push(v);
        v
    }
    /// What a variable holds.
    fn held(&self, var: u32) -> Val {
        self.now.get(&var).copied().unwrap_or(self.zero[self.raw.kind(var) as usize])
    }
    fn operand(&mut self, o: &Operand) -> Val {
        match o {
            Operand::Var(v) => self.held(*v),
            Operand::Leaf(kind, op) => self.value(*op, *kind, Vec::new()),
            Operand::Frame(at, low) => {
                let kind = if *low { Kind::W } else { Kind::D };
                self.value(Op::Const(u64::from(*at)), kind, Vec::new())
            }
        }
    }

    /// Starts a block where ways meet: a phi for each variable that lives there.
    fn phis(&mut self, live: &BitSet) -> Vec<(u32, Val)> {
        let mut phis = Vec::new();
        for v in live.ones().map(|v| v as u32) {
            let id = self.push(Op::Phi, self.raw.kind(v), Vec::new());
            phis.push((v, id));
            self.now.insert(v, id);
        }
        phis
    }

    /// The new value where the guard holds, else the old one.
    fn merge(&mut self, guard: Guard, kind: Kind, new: Val, old: Val) -> Val {
        let Some((g, neg)) = guard else { return new };
        let op = match kind {
            Kind::P => Pure::SelP,
            Kind::W => Pure::SelW,
            Kind::D => Pure::SelD,
        };
        let args = if neg { vec![old, new, g] } else { vec![new, old, g] };
        self.push(Op::Pure(op, 0), kind, args)
    }

    /// Gives a variable its value, where the guard holds if it is to keep the old one elsewhere.
    fn set(&mut self, guard: Guard, (var, keep): (u32, bool), new: Val, old: Val) {
        let guard = guard.filter(|_| keep);
        let v = self.merge(guard, self.raw.kind(var), new, old);
        self.now.insert(var, v);
    }

    fn inst(&mut self, inst: &RawInst) {
        let guard = inst.guard.as_ref().map(|(g, neg)| (self.operand(g), *neg));
        match &inst.item {
            Item::Pure { op, k, dst, args, keep } => {
                let args = args.iter().map(|a| self.operand(a)).collect();
                let new = self.push(Op::Pure(*op, *k), self.raw.kind(*dst), args);
                let old = self.held(*dst);
                self.set(guard, (*dst, *keep), new, old);
            }
            Item::Effect { effect, dst, src, origin, from } => {
                let src: Vec<Val> = src.iter().map(|a| self.operand(a)).collect();
                if let [to] = dst[..]
                    && let Some(param) = self.parameter(effect, &src)
                {
                    let new = self.value(param, self.raw.kind(to.0), Vec::new());
                    let old = self.held(to.0);
                    self.set(guard, to, new, old);
                } else {
                    let e = self.f.effects.len() as u32;
                    self.push(Op::Effect(e), Kind::P, Vec::new());
                    let result = |(d, _): &(u32, bool)| {
                        self.f.insts.push(Inst {
                            op: Op::Result,
                            kind: self.raw.kind(*d),
                            args: vec![e],
                        });
                        self.f.insts.len() as Val - 1
                    };
                    let results: Vec<Val> = dst.iter().map(result).collect();
                    self.f.effects.push(EffectInst {
                        effect: *effect,
                        guard,
                        src,
                        dst: results.clone(),
                        origin: origin.clone(),
                        inst: from.inst,
                        uop: from.uop,
                    });
                    let olds: Vec<Val> = dst.iter().map(|(d, _)| self.held(*d)).collect();
                    for ((to, new), old) in dst.iter().zip(results).zip(olds) {
                        self.set(guard, *to, new, old);
                    }
                }
            }
        }
        self.f.at.resize(self.f.insts.len(), inst.at);
    }

    /// The parameter that a load reads, if it lies inside and is aligned.
    fn parameter(&self, effect: &Effect, src: &[Val]) -> Option<Op> {
        let Effect::Ld(m) = effect else { return None };
        let base = self.f.as_const(*src.first()?)?;
        if m.place.space != Space::ParamEntry || m.count != 1 || !matches!(m.bytes, 1 | 2 | 4 | 8) {
            return None;
        }
        let at = (base as i64 + m.place.offset) as u64;
        let bytes = u64::from(m.bytes);
        let inside = at.checked_add(bytes).is_some_and(|end| end <= self.param_bytes.into());
        let aligned = at.is_multiple_of(bytes);
        (inside && aligned).then_some(Op::Param(at as u32, m.bytes, m.signed))
    }

    fn term(&mut self, term: &RawTerm, order: &Order) -> Term {
        match term {
            RawTerm::Jump(b) => Term::Jump(order.of(*b)),
            RawTerm::Br(v, neg, a, b) => {
                Term::Br(self.operand(v), *neg, order.of(*a), order.of(*b))
            }
            RawTerm::Brx(v, targets, origin) => {
                let v = self.operand(v);
                Term::Brx(v, targets.iter().map(|b| order.of(*b)).collect(), origin.clone())
            }
            RawTerm::Exit => Term::Exit,
        }
    }
}
