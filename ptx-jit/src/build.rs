//! Lowered program to middle form: inlines calls, turns registers into SSA values.

use std::collections::{BTreeMap, HashMap};

use ptx_isa::effect::Effect;
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::uop::Op as Pure;
use ptx_isa::{Kind, Space};
use ptx_parse::code::{CallArg, Callee, Flow, Program, Slot};

use crate::Unsupported;
use crate::ir::{Block, BlockId, EffectInst, Func, Inst, Op, Place, Term, Val};

/// Most instructions after inlining.
const MOST: usize = 60_000;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Operand {
    Var(u32),
    Leaf(Kind, Op),
    /// Address in the thread's local memory.
    Frame(u32, bool),
}

/// A micro-op of a function: indices of the instruction and of itself.
#[derive(Copy, Clone)]
struct Origin {
    inst: u32,
    uop: u32,
}

enum Item {
    Pure { op: Pure, k: u32, dst: u32, args: Vec<Operand>, keep: bool },
    Effect { effect: Effect, dst: Vec<(u32, bool)>, src: Vec<Operand>, place: Place, from: Origin },
}

struct Row {
    item: Item,
    /// Predicate and whether it is negated.
    guard: Option<(Operand, bool)>,
    /// Start of the instruction in the text.
    at: u32,
}

enum Out {
    Jump(BlockId),
    Br(Operand, bool, BlockId, BlockId),
    Brx(Operand, Vec<BlockId>, Place),
    Exit,
}

struct Raw {
    rows: Vec<Row>,
    out: Out,
}

struct Builder<'a> {
    program: &'a Program,
    blocks: Vec<Raw>,
    kinds: Vec<Kind>,
    exit: BlockId,
    frame: u32,
    /// Ranges of local memory whose address is taken.
    poisoned: Vec<(u32, u32)>,
    size: usize,
}

/// An inlined function.
struct Instance {
    regs: [u32; 3],
    temps: [u32; 3],
    frame: u32,
    frame_end: u32,
    /// Own parameter ranges that lie in the caller's frame: offset, bytes, place.
    aliases: Vec<(u32, u32, u32)>,
}

impl Instance {
    fn frame_at(&self, offset: u32) -> u32 {
        match self.aliases.iter().find(|a| offset >= a.0 && offset < a.0 + a.1.max(1)) {
            Some(a) => a.2 + (offset - a.0),
            None => self.frame + offset,
        }
    }
}

pub(crate) fn build(program: &Program) -> Result<Func, Unsupported> {
    let mut b = Builder {
        program,
        blocks: vec![Raw { rows: Vec::new(), out: Out::Exit }],
        kinds: Vec::new(),
        exit: 0,
        frame: 0,
        poisoned: Vec::new(),
        size: 0,
    };
    let entry = b.inline(0, &mut Vec::new(), Vec::new(), 0)?.0;
    b.promote();
    Ok(b.ssa(entry))
}

impl Builder<'_> {
    fn unsupported(&self, f: usize, span: &std::ops::Range<u32>, why: &str) -> Unsupported {
        Unsupported::at(self.program, &Place { function: f as u32, span: span.clone() }, why)
    }
    fn new_vars(&mut self, counts: [u32; 3]) -> [u32; 3] {
        let mut first = [0; 3];
        for kind in [Kind::P, Kind::W, Kind::D] {
            first[kind as usize] = self.kinds.len() as u32;
            self.kinds.extend(std::iter::repeat_n(kind, counts[kind as usize] as usize));
        }
        first
    }
    fn new_block(&mut self) -> BlockId {
        self.blocks.push(Raw { rows: Vec::new(), out: Out::Exit });
        self.blocks.len() as u32 - 1
    }

    /// Copies function `f`; its entry block and instance. Returns go to `back`.
    fn inline(
        &mut self,
        f: usize,
        stack: &mut Vec<usize>,
        aliases: Vec<(u32, u32, u32)>,
        back: BlockId,
    ) -> Result<(BlockId, Instance), Unsupported> {
        let function = &self.program.functions[f];
        self.size += function.insts.len();
        let start = function.insts.first().map_or(0..0, |i| i.span.clone());
        if stack.contains(&f) {
            return Err(self.unsupported(f, &start, "the function is recursive"));
        }
        if self.size > MOST {
            return Err(self.unsupported(f, &start, "the kernel is too large"));
        }
        stack.push(f);
        let instance = Instance {
            regs: self.new_vars(function.regs),
            temps: self.new_vars(function.temps),
            frame: self.frame,
            frame_end: self.frame + function.frame_bytes,
            aliases,
        };
        self.frame += function.frame_bytes.next_multiple_of(16);
        let first = self.blocks.len() as u32;
        for _ in &function.blocks {
            self.new_block();
        }
        for (n, block) in function.blocks.iter().enumerate() {
            let mut at = first + n as u32;
            let next = first + n as u32 + 1;
            let mut open = true;
            for i in block.start..block.end {
                let inst = &function.insts[i as usize];
                let place = Place { function: f as u32, span: inst.span.clone() };
                let guard = match inst.guard {
                    None => None,
                    Some((g, neg)) => Some((self.operand(g, &instance, &place)?, neg)),
                };
                let temp_guard = inst.guard.is_some_and(|(g, _)| matches!(g.src, Src::Temp(_)));
                for uop in inst.uops.clone() {
                    let u = &function.uops[uop as usize];
                    // Asynchronous work is done when it is issued: only observers see its groups.
                    if matches!(u, Uop::Effect { effect: Effect::AsyncGroup(_), .. }) {
                        continue;
                    }
                    let free = temp_guard && uop == inst.uops.start;
                    let guard = if free { None } else { guard };
                    let row = self.row(u, Origin { inst: i, uop }, guard, &instance, &place)?;
                    self.blocks[at as usize].rows.push(row);
                }
                let rest = if i + 1 == block.end { next } else { u32::MAX };
                let jump = |me: &mut Self, at: &mut BlockId, target: BlockId| {
                    let rest = if rest == u32::MAX { me.new_block() } else { rest };
                    me.blocks[*at as usize].out = match guard {
                        Some((g, neg)) => Out::Br(g, neg, target, rest),
                        None => Out::Jump(target),
                    };
                    *at = rest;
                };
                match &inst.flow {
                    Flow::Next => continue,
                    Flow::Bra(b) => jump(self, &mut at, first + b),
                    Flow::Ret => jump(self, &mut at, back),
                    Flow::Exit => {
                        let exit = self.exit;
                        jump(self, &mut at, exit);
                    }
                    Flow::Brx { index, targets } => {
                        let index = self.operand(*index, &instance, &place)?;
                        let targets = targets.iter().map(|b| first + b).collect();
                        let b = self.new_block();
                        self.blocks[b as usize].out = Out::Brx(index, targets, place.clone());
                        jump(self, &mut at, b);
                    }
                    Flow::Call(call) => {
                        let Callee::Direct(callee) = call.callee else {
                            return Err(self.unsupported(f, &inst.span, "an indirect call"));
                        };
                        let target = &self.program.functions[callee as usize];
                        let pairs: Vec<(CallArg, Slot)> = call
                            .args
                            .iter()
                            .copied()
                            .zip(target.params.iter().copied())
                            .chain(call.rets.iter().copied().zip(target.rets.iter().copied()))
                            .collect();
                        let mut aliases = Vec::new();
                        for (arg, slot) in &pairs {
                            if let (
                                CallArg::Frame { offset, .. },
                                Slot::Frame { offset: own, bytes },
                            ) = (arg, slot)
                            {
                                aliases.push((*own, *bytes, instance.frame_at(*offset)));
                            }
                        }
                        let head = self.new_block();
                        jump(self, &mut at, head);
                        let tail = self.new_block();
                        let (entry, inner) = self.inline(callee as usize, stack, aliases, tail)?;
                        self.blocks[head as usize].out = Out::Jump(entry);
                        self.blocks[tail as usize].out = Out::Jump(at);
                        for (n, (arg, slot)) in pairs.iter().enumerate() {
                            let is_arg = n < call.args.len();
                            let row = match (arg, slot) {
                                (CallArg::Frame { .. }, Slot::Frame { .. })
                                | (CallArg::Sink, _) => continue,
                                (CallArg::Value(v), Slot::Reg(r)) => {
                                    let v = self.operand(*v, &instance, &place)?;
                                    let r = self.operand(*r, &inner, &place)?;
                                    if is_arg {
                                        self.mov(r, v, &place)
                                    } else {
                                        self.mov(v, r, &place)
                                    }
                                }
                                _ => {
                                    let why = "a call that mixes registers and parameter memory";
                                    return Err(self.unsupported(f, &inst.span, why));
                                }
                            };
                            let Some(row) = row else {
                                let why = "a call result that is no register";
                                return Err(self.unsupported(f, &inst.span, why));
                            };
                            let b = if is_arg { head } else { tail };
                            self.blocks[b as usize].rows.push(row);
                        }
                    }
                }
                // Control comes last in its block.
                open = false;
            }
            if open && (next as usize) < first as usize + function.blocks.len() {
                self.blocks[at as usize].out = Out::Jump(next);
            }
        }
        stack.pop();
        Ok((first, instance))
    }

    fn mov(&self, dst: Operand, v: Operand, place: &Place) -> Option<Row> {
        let Operand::Var(dst) = dst else { return None };
        let op = match self.kinds[dst as usize] {
            Kind::P => Pure::MovP,
            Kind::W => Pure::MovW,
            Kind::D => Pure::MovD,
        };
        let item = Item::Pure { op, k: 0, dst, args: vec![v], keep: false };
        Some(Row { item, guard: None, at: place.span.start })
    }

    fn operand(&mut self, v: V, i: &Instance, place: &Place) -> Result<Operand, Unsupported> {
        let leaf = |op| Operand::Leaf(v.kind, op);
        Ok(match v.src {
            Src::Reg(n) => Operand::Var(i.regs[v.kind as usize] + n),
            Src::Temp(n) => Operand::Var(i.temps[v.kind as usize] + n),
            Src::Const(c) => leaf(Op::Const(c)),
            Src::Special(s) => match s {
                Sreg::Clock
                | Sreg::ClockHi
                | Sreg::Clock64
                | Sreg::GlobalTimer
                | Sreg::GlobalTimerLo
                | Sreg::GlobalTimerHi => {
                    let why = format!("{} is counted by the interpreter", s.name());
                    return Err(Unsupported::at(self.program, place, &why));
                }
                s => leaf(Op::Special(s)),
            },
            Src::Symbol(n, off) => leaf(Op::Symbol(n, off, false)),
            Src::SymbolLow(n, off) => leaf(Op::Symbol(n, off, true)),
            Src::Function(_) => {
                return Err(Unsupported::at(self.program, place, "the address of a function"));
            }
            Src::Frame(off) => Operand::Frame(i.frame_at(off), false),
            Src::FrameLow(off) => Operand::Frame(i.frame_at(off), true),
        })
    }

    fn row(
        &mut self,
        u: &Uop,
        from: Origin,
        guard: Option<(Operand, bool)>,
        i: &Instance,
        place: &Place,
    ) -> Result<Row, Unsupported> {
        let dst_of = |v: &V| match v.src {
            Src::Reg(n) => (i.regs[v.kind as usize] + n, true),
            Src::Temp(n) => (i.temps[v.kind as usize] + n, false),
            _ => unreachable!("destinations are registers"),
        };
        let item = match u {
            Uop::Pure { op, dst, args, k } => {
                let n = op.args().len();
                let mut list = Vec::with_capacity(n);
                for a in &args[..n] {
                    let a = self.operand(*a, i, place)?;
                    self.taken(a, i);
                    list.push(a);
                }
                let (dst, keep) = dst_of(dst);
                Item::Pure { op: *op, k: *k, dst, args: list, keep }
            }
            Uop::Effect { effect, dst, src } => {
                let mut list = Vec::with_capacity(src.len());
                for (n, a) in src.iter().enumerate() {
                    let a = self.operand(*a, i, place)?;
                    if n > 0 || !matches!(effect, Effect::Ld(_) | Effect::St(_)) {
                        self.taken(a, i);
                    }
                    list.push(a);
                }
                let dst = dst.iter().map(dst_of).collect();
                Item::Effect { effect: *effect, dst, src: list, place: place.clone(), from }
            }
        };
        Ok(Row { item, guard, at: place.span.start })
    }

    fn taken(&mut self, a: Operand, i: &Instance) {
        if let Operand::Frame(at, _) = a {
            let end = if at >= i.frame && at < i.frame_end { i.frame_end } else { u32::MAX };
            self.poisoned.push((at, end));
        }
    }

    /// Turns cells of local memory that are only read and written whole, at constant addresses,
    /// into variables.
    fn promote(&mut self) {
        // Cells by offset: bytes, or 0 where accesses disagree.
        let mut cells: BTreeMap<u32, u32> = BTreeMap::new();
        // Offset, bytes of an element, elements, whether every element has the cell's kind.
        let mut accesses = Vec::new();
        for block in &self.blocks {
            for row in &block.rows {
                let Item::Effect { effect: Effect::Ld(m) | Effect::St(m), src, dst, .. } =
                    &row.item
                else {
                    continue;
                };
                let Some(Operand::Frame(at, _)) = src.first() else { continue };
                let at = (*at as i64 + m.place.offset) as u32;
                let kind = if m.bytes == 4 { Kind::W } else { Kind::D };
                let plain = matches!(m.bytes, 4 | 8)
                    && dst.iter().all(|d| self.kinds[d.0 as usize] == kind)
                    && src[1..].iter().all(|o| match o {
                        Operand::Var(x) => self.kinds[*x as usize] == kind,
                        Operand::Leaf(k, _) => *k == kind,
                        Operand::Frame(..) => false,
                    });
                accesses.push((at, m.bytes as u32, m.count as u32, plain));
            }
        }
        for (at, bytes, count, plain) in &accesses {
            for n in 0..*count {
                let cell = cells.entry(*at + n * bytes).or_insert(*bytes);
                if cell != bytes || !plain {
                    *cell = 0;
                }
            }
        }
        loop {
            let before = cells.len();
            let poisoned = |at: u32| self.poisoned.iter().any(|(s, e)| at + 16 > *s && at < *e);
            cells.retain(|at, bytes| {
                *bytes != 0
                    && !poisoned(*at)
                    && !accesses.iter().any(|(a, n, count, _)| {
                        // An access that touches the cell without being made of whole cells.
                        let touches = *a < *at + *bytes && *at < *a + *n * count;
                        touches && (n != bytes || !(*at).wrapping_sub(*a).is_multiple_of(*n))
                    })
            });
            let all: Vec<u32> = cells.keys().copied().collect();
            for (a, n, count, _) in &accesses {
                let parts = (0..*count).map(|i| a + i * n);
                if !parts.clone().all(|p| all.binary_search(&p).is_ok()) {
                    parts.for_each(|p| {
                        cells.remove(&p);
                    });
                }
            }
            if cells.len() == before {
                break;
            }
        }
        let vars: HashMap<u32, u32> = cells
            .iter()
            .map(|(at, bytes)| {
                self.kinds.push(if *bytes == 4 { Kind::W } else { Kind::D });
                (*at, self.kinds.len() as u32 - 1)
            })
            .collect();
        let kinds = &self.kinds;
        for block in &mut self.blocks {
            let rows = std::mem::take(&mut block.rows);
            for row in rows {
                let Item::Effect { effect: Effect::Ld(m) | Effect::St(m), src, dst, .. } =
                    &row.item
                else {
                    block.rows.push(row);
                    continue;
                };
                let Some(Operand::Frame(base, _)) = src.first() else {
                    block.rows.push(row);
                    continue;
                };
                let at = (*base as i64 + m.place.offset) as u32;
                let all: Option<Vec<u32>> = (0..m.count as u32)
                    .map(|n| vars.get(&(at + n * m.bytes as u32)).copied())
                    .collect();
                let load = !dst.is_empty();
                let Some(all) = all else {
                    block.rows.push(row);
                    continue;
                };
                for (n, v) in all.iter().enumerate() {
                    let op = if kinds[*v as usize] == Kind::W { Pure::MovW } else { Pure::MovD };
                    let (dst, args, keep) = if load {
                        (dst[n].0, vec![Operand::Var(*v)], dst[n].1)
                    } else {
                        (*v, vec![src[n + 1]], true)
                    };
                    let item = Item::Pure { op, k: 0, dst, args, keep };
                    block.rows.push(Row { item, guard: row.guard, at: row.at });
                }
            }
        }
    }

    /// Reverse post-order, liveness of variables, phis, renaming.
    fn ssa(self, entry: BlockId) -> Func {
        let succs = |b: BlockId| -> Vec<BlockId> {
            match &self.blocks[b as usize].out {
                Out::Jump(t) => vec![*t],
                Out::Br(_, _, a, c) if a == c => vec![*a],
                Out::Br(_, _, a, c) => vec![*a, *c],
                Out::Brx(_, t, _) => {
                    let mut t = t.clone();
                    t.sort_unstable();
                    t.dedup();
                    t
                }
                Out::Exit => Vec::new(),
            }
        };
        // The entry has no predecessors, so that it needs no phis.
        let mut order = Vec::new();
        let mut seen = vec![false; self.blocks.len()];
        seen[entry as usize] = true;
        let mut stack = vec![(entry, succs(entry))];
        while let Some((b, left)) = stack.last_mut() {
            // The last successor (the fall-through) first, so that it comes last in post-order.
            match left.pop() {
                Some(s) => {
                    if !std::mem::replace(&mut seen[s as usize], true) {
                        let next = succs(s);
                        stack.push((s, next));
                    }
                }
                None => {
                    order.push(*b);
                    stack.pop();
                }
            }
        }
        order.reverse();
        // Block 0 of the result is an empty entry.
        let mut number = vec![u32::MAX; self.blocks.len()];
        for (n, b) in order.iter().enumerate() {
            number[*b as usize] = n as u32 + 1;
        }
        let n = order.len() + 1;
        let mut preds: Vec<Vec<BlockId>> = vec![Vec::new(); n];
        preds[1].push(0);
        for b in &order {
            for s in succs(*b) {
                let me = number[*b as usize];
                let list = &mut preds[number[s as usize] as usize];
                if !list.contains(&me) {
                    list.push(me);
                }
            }
        }
        // Liveness.
        let words = self.kinds.len().div_ceil(64);
        let mut live_in = vec![vec![0u64; words]; n];
        let mut reads = vec![vec![0u64; words]; n];
        let mut writes = vec![vec![0u64; words]; n];
        for (i, b) in order.iter().enumerate() {
            let (r, w) = (&mut reads[i + 1], &mut writes[i + 1]);
            let raw = &self.blocks[*b as usize];
            let mut read = |o: &Operand, w: &[u64]| {
                if let Operand::Var(v) = o
                    && w[*v as usize / 64] >> (v % 64) & 1 == 0
                {
                    r[*v as usize / 64] |= 1 << (v % 64);
                }
            };
            for row in &raw.rows {
                if let Some((g, _)) = &row.guard {
                    read(g, w);
                }
                match &row.item {
                    Item::Pure { dst, args, keep, .. } => {
                        args.iter().for_each(|a| read(a, w));
                        if row.guard.is_some() && *keep {
                            read(&Operand::Var(*dst), w);
                        }
                        w[*dst as usize / 64] |= 1 << (dst % 64);
                    }
                    Item::Effect { dst, src, .. } => {
                        src.iter().for_each(|a| read(a, w));
                        for (d, keep) in dst {
                            if row.guard.is_some() && *keep {
                                read(&Operand::Var(*d), w);
                            }
                        }
                        for (d, _) in dst {
                            w[*d as usize / 64] |= 1 << (d % 64);
                        }
                    }
                }
            }
            match &raw.out {
                Out::Br(v, ..) | Out::Brx(v, ..) => read(v, w),
                _ => {}
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for i in (1..n).rev() {
                let mut out = vec![0u64; words];
                for s in succs(order[i - 1]) {
                    for (o, l) in out.iter_mut().zip(&live_in[number[s as usize] as usize]) {
                        *o |= l;
                    }
                }
                for w in 0..words {
                    let new = reads[i][w] | out[w] & !writes[i][w];
                    if new != live_in[i][w] {
                        live_in[i][w] = new;
                        changed = true;
                    }
                }
            }
        }
        let mut f = Func { frame_bytes: self.frame, ..Func::default() };
        let mut zero = [0; 3];
        for kind in [Kind::P, Kind::W, Kind::D] {
            zero[kind as usize] = f.insts.len() as Val;
            f.insts.push(Inst { op: Op::Const(0), kind, args: Vec::new() });
        }
        let mut out_vals: Vec<HashMap<u32, Val>> = vec![HashMap::new(); n];
        let mut phis: Vec<Vec<(u32, Val)>> = vec![Vec::new(); n];
        f.blocks.push(Block { insts: vec![], term: Term::Jump(1), preds: vec![] });
        for i in 1..n {
            let mut now: HashMap<u32, Val> = HashMap::new();
            let mut insts = Vec::new();
            let single = preds[i].len() == 1 && preds[i][0] < i as u32;
            if single {
                let from = out_vals[preds[i][0] as usize].clone();
                now = from;
            } else {
                for v in 0..self.kinds.len() as u32 {
                    if live_in[i][v as usize / 64] >> (v % 64) & 1 != 0 {
                        let id = f.insts.len() as Val;
                        let kind = self.kinds[v as usize];
                        f.insts.push(Inst { op: Op::Phi, kind, args: Vec::new() });
                        insts.push(id);
                        phis[i].push((v, id));
                        now.insert(v, id);
                    }
                }
            }
            let raw = &self.blocks[order[i - 1] as usize];
            let value = |o: &Operand, f: &mut Func, now: &HashMap<u32, Val>| match o {
                Operand::Var(v) => {
                    now.get(v).copied().unwrap_or(zero[self.kinds[*v as usize] as usize])
                }
                Operand::Leaf(kind, op) => {
                    f.insts.push(Inst { op: *op, kind: *kind, args: Vec::new() });
                    f.insts.len() as Val - 1
                }
                Operand::Frame(at, low) => {
                    let kind = if *low { Kind::W } else { Kind::D };
                    f.insts.push(Inst { op: Op::Const(*at as u64), kind, args: Vec::new() });
                    f.insts.len() as Val - 1
                }
            };
            for row in &raw.rows {
                let guard = row.guard.as_ref().map(|(g, neg)| (value(g, &mut f, &now), *neg));
                // The new value where the guard holds, else the old one.
                let merge = |dst: u32,
                             v: Val,
                             f: &mut Func,
                             now: &HashMap<u32, Val>,
                             insts: &mut Vec<Val>| {
                    let Some((g, neg)) = guard else { return v };
                    let kind = self.kinds[dst as usize];
                    let old = now.get(&dst).copied().unwrap_or(zero[kind as usize]);
                    let op = match kind {
                        Kind::P => Pure::SelP,
                        Kind::W => Pure::SelW,
                        Kind::D => Pure::SelD,
                    };
                    let args = if neg { vec![old, v, g] } else { vec![v, old, g] };
                    f.insts.push(Inst { op: Op::Pure(op, 0), kind, args });
                    insts.push(f.insts.len() as Val - 1);
                    f.insts.len() as Val - 1
                };
                match &row.item {
                    Item::Pure { op, k, dst, args, keep } => {
                        let args = args.iter().map(|a| value(a, &mut f, &now)).collect();
                        let kind = self.kinds[*dst as usize];
                        f.insts.push(Inst { op: Op::Pure(*op, *k), kind, args });
                        let id = f.insts.len() as Val - 1;
                        insts.push(id);
                        let v = if *keep { merge(*dst, id, &mut f, &now, &mut insts) } else { id };
                        now.insert(*dst, v);
                    }
                    Item::Effect { effect, dst, src, place, from } => {
                        let src: Vec<Val> = src.iter().map(|a| value(a, &mut f, &now)).collect();
                        if let (Effect::Ld(m), Some(at), [(d, keep)]) =
                            (effect, src.first().and_then(|v| f.as_const(*v)), dst.as_slice())
                            && m.place.space == Space::ParamEntry
                            && m.count == 1
                            && matches!(m.bytes, 1 | 2 | 4 | 8)
                        {
                            let at = (at as i64 + m.place.offset) as u64;
                            let inside = at.checked_add(m.bytes as u64);
                            if inside.is_some_and(|end| end <= self.program.param_bytes as u64)
                                && at.is_multiple_of(m.bytes as u64)
                            {
                                let kind = self.kinds[*d as usize];
                                let op = Op::Param(at as u32, m.bytes, m.signed);
                                f.insts.push(Inst { op, kind, args: Vec::new() });
                                let id = f.insts.len() as Val - 1;
                                let v = if *keep {
                                    merge(*d, id, &mut f, &now, &mut insts)
                                } else {
                                    id
                                };
                                now.insert(*d, v);
                                continue;
                            }
                        }
                        let e = f.effects.len() as u32;
                        f.insts.push(Inst { op: Op::Effect(e), kind: Kind::P, args: Vec::new() });
                        insts.push(f.insts.len() as Val - 1);
                        let results: Vec<Val> = dst
                            .iter()
                            .map(|(d, _)| {
                                let kind = self.kinds[*d as usize];
                                f.insts.push(Inst { op: Op::Result, kind, args: vec![e] });
                                f.insts.len() as Val - 1
                            })
                            .collect();
                        f.effects.push(EffectInst {
                            effect: *effect,
                            guard,
                            src,
                            dst: results.clone(),
                            place: place.clone(),
                            inst: from.inst,
                            uop: from.uop,
                        });
                        let old = now.clone();
                        for ((d, keep), r) in dst.iter().zip(results) {
                            let v = if *keep { merge(*d, r, &mut f, &old, &mut insts) } else { r };
                            now.insert(*d, v);
                        }
                    }
                }
                f.at.resize(f.insts.len(), row.at);
            }
            let t = |b: &BlockId| number[*b as usize];
            let term = match &raw.out {
                Out::Jump(b) => Term::Jump(t(b)),
                Out::Br(v, neg, a, b) => Term::Br(value(v, &mut f, &now), *neg, t(a), t(b)),
                Out::Brx(v, targets, place) => {
                    let v = value(v, &mut f, &now);
                    Term::Brx(v, targets.iter().map(t).collect(), place.clone())
                }
                Out::Exit => Term::Exit,
            };
            f.blocks.push(Block { insts, term, preds: preds[i].clone() });
            out_vals[i] = now;
        }
        for i in 1..n {
            for (var, id) in &phis[i] {
                let kind = self.kinds[*var as usize];
                let args = preds[i]
                    .iter()
                    .map(|p| out_vals[*p as usize].get(var).copied().unwrap_or(zero[kind as usize]))
                    .collect();
                f.insts[*id as usize].args = args;
            }
        }
        f
    }
}
