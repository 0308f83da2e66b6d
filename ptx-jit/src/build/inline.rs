//! Copies a kernel and what it calls into one list of blocks.

use ptx_isa::Kind;
use ptx_isa::effect::{AsyncWork, Effect};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::uop::Op as Pure;
use ptx_parse::code::{
    ArgumentLocation, Call, CallArg, Callee, Flow, Inst, Program, function_address,
};

use super::raw::{Item, Operand, Raw, RawBlock, RawInst, RawTerm, UopIndex};
use crate::calls::callees;
use crate::ir::{BlockId, Op, Origin};
use crate::unsupported::Unsupported;

/// Most instructions after inlining.
const MOST: usize = 60_000;

/// Ranges of local memory, first byte and end.
pub(super) type Ranges = Vec<(u32, u32)>;

/// The kernel of a program over variables, and the ranges of local memory whose address is taken.
pub(super) fn inline(program: &Program) -> Result<(Raw, Ranges), Unsupported> {
    let exit = RawBlock { insts: Vec::new(), term: RawTerm::Exit };
    let raw = Raw { blocks: vec![exit], kinds: Vec::new(), entry: 0, frame: 0, stack: 0 };
    let mut b = Inliner { program, raw, taken: Vec::new(), size: 0, active: Vec::new(), below: 0 };
    b.raw.entry = b.function(0, Vec::new(), EXIT)?.0;
    b.stacks();
    Ok((b.raw, b.taken))
}

/// The block that ends the thread.
const EXIT: BlockId = 0;

/// Where stacks begin before it is known how large the frames are: above all of those. Functions that are not active at
/// once have theirs at the same place.
const STACKS: u32 = 1 << 30;

struct Inliner<'a> {
    program: &'a Program,
    raw: Raw,
    taken: Ranges,
    /// Instructions so far.
    size: usize,
    /// Functions that are being copied.
    active: Vec<usize>,
    /// Bytes of the stacks of those.
    below: u32,
}

/// An inlined function.
struct Instance {
    regs: [u32; 3],
    temps: [u32; 3],
    frame: u32,
    frame_end: u32,
    /// Where its stack is, for now, if it has one.
    stack: Option<u32>,
    /// Own parameter ranges that lie in the caller's frame: offset, bytes, place.
    aliases: Vec<(u32, u32, u32)>,
}

impl Instance {
    fn frame_at(&self, offset: u32) -> u32 {
        match self.aliases.iter().find(|a| offset >= a.0 && offset < a.0 + a.1.max(1)) {
            Some(a) => a.2 + (offset - a.0),
            None => match (self.stack, offset.checked_sub(self.frame_end - self.frame)) {
                (Some(stack), Some(inside)) => stack + inside,
                _ => self.frame + offset,
            },
        }
    }
}

/// Where copying is: the function and its instance, the block, and the one behind it in the function.
struct Point<'i> {
    f: usize,
    instance: &'i Instance,
    /// The first block of the instance.
    first: BlockId,
    at: BlockId,
    /// Where the block goes on behind the instruction; `None`: in a block of its own.
    rest: Option<BlockId>,
}

impl Inliner<'_> {
    /// Puts the stacks behind the frames.
    fn stacks(&mut self) {
        let frames = self.raw.frame;
        let place = |o: &mut Operand| {
            if let Operand::Frame(at, _) = o
                && *at >= STACKS
            {
                *at = *at - STACKS + frames;
            }
        };
        for inst in self.raw.blocks.iter_mut().flat_map(|b| &mut b.insts) {
            match &mut inst.item {
                Item::Pure { args, .. } => args.iter_mut().for_each(place),
                Item::Effect { src, .. } => src.iter_mut().for_each(place),
            }
        }
    }

    fn unsupported(&self, f: usize, span: &std::ops::Range<u32>, why: &str) -> Unsupported {
        Unsupported::at(self.program, &Origin { function: f as u32, span: span.clone() }, why)
    }
    fn new_vars(&mut self, counts: [u32; 3]) -> [u32; 3] {
        let mut first = [0; 3];
        for kind in [Kind::P, Kind::W, Kind::D] {
            first[kind as usize] = self.raw.kinds.len() as u32;
            self.raw.kinds.extend(std::iter::repeat_n(kind, counts[kind as usize] as usize));
        }
        first
    }
    fn new_block(&mut self) -> BlockId {
        self.raw.blocks.push(RawBlock { insts: Vec::new(), term: RawTerm::Exit });
        self.raw.blocks.len() as u32 - 1
    }
    fn block(&mut self, b: BlockId) -> &mut RawBlock {
        &mut self.raw.blocks[b as usize]
    }

    /// Copies function `f`; its entry block and instance. Returns go to `back`.
    fn function(
        &mut self,
        f: usize,
        aliases: Vec<(u32, u32, u32)>,
        back: BlockId,
    ) -> Result<(BlockId, Instance), Unsupported> {
        let function = &self.program.functions[f];
        self.size += function.insts.len();
        let start = function.insts.first().map_or(0..0, |i| i.span.clone());
        if self.active.contains(&f) {
            return Err(self.unsupported(f, &start, "the function is recursive"));
        }
        if self.size > MOST {
            return Err(self.unsupported(f, &start, "the kernel is too large"));
        }
        self.active.push(f);
        let still = function.frame_bytes - function.stack_bytes;
        let instance = Instance {
            regs: self.new_vars(function.regs),
            temps: self.new_vars(function.temps),
            frame: self.raw.frame,
            frame_end: self.raw.frame + still,
            stack: (function.stack_bytes > 0).then_some(STACKS + self.below),
            aliases,
        };
        self.raw.frame += still.next_multiple_of(16);
        self.below += function.stack_bytes;
        self.raw.stack = self.raw.stack.max(self.below);
        let first = self.raw.blocks.len() as u32;
        for _ in &function.blocks {
            self.new_block();
        }
        for (n, block) in function.blocks.iter().enumerate() {
            let next = first + n as u32 + 1;
            let mut point =
                Point { f, instance: &instance, first, at: first + n as u32, rest: None };
            let mut open = true;
            for i in block.start..block.end {
                point.rest = (i + 1 == block.end).then_some(next);
                let guard = self.micro_ops(i, &point)?;
                // Control comes last in its block.
                open = self.control(&function.insts[i as usize], guard, &mut point, back)?;
            }
            if open && (next as usize) < first as usize + function.blocks.len() {
                self.block(point.at).term = RawTerm::Jump(next);
            }
        }
        self.active.pop();
        self.below -= function.stack_bytes;
        Ok((first, instance))
    }

    /// Copies the micro-ops of instruction `i`; its guard.
    fn micro_ops(
        &mut self,
        i: u32,
        point: &Point<'_>,
    ) -> Result<Option<(Operand, bool)>, Unsupported> {
        let function = &self.program.functions[point.f];
        let inst = &function.insts[i as usize];
        let origin = Origin { function: point.f as u32, span: inst.span.clone() };
        let guard = match inst.guard {
            None => None,
            Some((g, neg)) => Some((self.operand(g, point.instance, &origin)?, neg)),
        };
        let temp_guard = inst.guard.is_some_and(|(g, _)| matches!(g.src, Src::Temp(_)));
        for uop in inst.uops.clone() {
            let u = &function.uops[uop as usize];
            // Asynchronous work is done when it is issued: only observers see its groups, but for products, for which
            // the warps of a warpgroup wait.
            if let Uop::Effect { effect: Effect::AsyncGroup(work), .. } = u
                && work.of != AsyncWork::MatrixProducts
            {
                continue;
            }
            let free = temp_guard && uop == inst.uops.start;
            let guard = if free { None } else { guard };
            let from = UopIndex { inst: i, uop };
            let inst = self.micro_op(u, from, guard, point.instance, &origin)?;
            self.block(point.at).insts.push(inst);
        }
        Ok(guard)
    }

    /// Ends the block for control that goes to `target`, where the guard holds.
    fn jump(&mut self, point: &mut Point<'_>, guard: Option<(Operand, bool)>, target: BlockId) {
        let rest = match point.rest {
            Some(rest) => rest,
            None => self.new_block(),
        };
        self.block(point.at).term = match guard {
            Some((g, neg)) => RawTerm::Br(g, neg, target, rest),
            None => RawTerm::Jump(target),
        };
        point.at = rest;
    }

    /// Copies the control of an instruction; whether the block goes on behind it.
    fn control(
        &mut self,
        inst: &Inst,
        guard: Option<(Operand, bool)>,
        point: &mut Point<'_>,
        back: BlockId,
    ) -> Result<bool, Unsupported> {
        match &inst.flow {
            Flow::Next => return Ok(true),
            Flow::Bra(b) => self.jump(point, guard, point.first + b),
            Flow::Ret => self.jump(point, guard, back),
            Flow::Exit => self.jump(point, guard, EXIT),
            Flow::Brx { index, targets } => {
                let origin = Origin { function: point.f as u32, span: inst.span.clone() };
                let index = self.operand(*index, point.instance, &origin)?;
                let targets = targets.iter().map(|b| point.first + b).collect();
                let b = self.new_block();
                self.block(b).term = RawTerm::Brx(index, targets, origin);
                self.jump(point, guard, b);
            }
            Flow::Call(call) => self.call(inst, call, guard, point)?,
        }
        Ok(false)
    }

    /// Copies the functions that may be called.
    fn call(
        &mut self,
        inst: &Inst,
        call: &Call,
        guard: Option<(Operand, bool)>,
        point: &mut Point<'_>,
    ) -> Result<(), Unsupported> {
        let head = self.new_block();
        self.jump(point, guard, head);
        let address = match call.callee {
            Callee::Direct(callee) => return self.callee(inst, call, callee as usize, head, point),
            Callee::Indirect(address) => address,
        };
        let origin = Origin { function: point.f as u32, span: inst.span.clone() };
        let address = self.operand(address, point.instance, &origin)?;
        let functions = &self.program.functions;
        let mut at = head;
        for n in callees(self.program, call) {
            let [is, _, _] = self.new_vars([1, 0, 0]);
            let own = Operand::Leaf(Kind::D, Op::Const(function_address(functions[n].id)));
            let item =
                Item::Pure { op: Pure::EqD, k: 0, dst: is, args: vec![address, own], keep: false };
            self.block(at).insts.push(RawInst { item, guard: None, at: origin.span.start });
            let (to, other) = (self.new_block(), self.new_block());
            self.block(at).term = RawTerm::Br(Operand::Var(is), false, to, other);
            self.callee(inst, call, n, to, point)?;
            at = other;
        }
        // None of them: an index beyond its table stops the block, and the interpreter says what was called. The table
        // leads on, so that lanes do not seem to end here.
        let beyond = Operand::Leaf(Kind::W, Op::Const(u64::from(u32::MAX)));
        self.block(at).term = RawTerm::Brx(beyond, vec![point.at], origin);
        Ok(())
    }

    /// Copies a function that is called, from block `head` on: arguments are moved before it, results behind it.
    fn callee(
        &mut self,
        inst: &Inst,
        call: &Call,
        callee: usize,
        head: BlockId,
        point: &Point<'_>,
    ) -> Result<(), Unsupported> {
        let (f, instance) = (point.f, point.instance);
        let target = &self.program.functions[callee];
        let args = call.args.iter().copied().zip(target.params.iter().copied());
        let rets = call.rets.iter().copied().zip(target.rets.iter().copied());
        let pairs: Vec<(CallArg, ArgumentLocation)> = args.chain(rets).collect();
        let mut aliases = Vec::new();
        for (arg, location) in &pairs {
            if let (CallArg::Frame { offset, .. }, ArgumentLocation::Frame { offset: own, bytes }) =
                (arg, location)
            {
                aliases.push((*own, *bytes, instance.frame_at(*offset)));
            }
        }
        let tail = self.new_block();
        let (entry, inner) = self.function(callee, aliases, tail)?;
        self.block(head).term = RawTerm::Jump(entry);
        self.block(tail).term = RawTerm::Jump(point.at);
        let origin = Origin { function: f as u32, span: inst.span.clone() };
        for (n, (arg, location)) in pairs.iter().enumerate() {
            let is_arg = n < call.args.len();
            let moved = match (arg, location) {
                (CallArg::Frame { .. }, ArgumentLocation::Frame { .. }) | (CallArg::Sink, _) => {
                    continue;
                }
                (CallArg::Value(v), ArgumentLocation::Reg(r)) => {
                    let v = self.operand(*v, instance, &origin)?;
                    let r = self.operand(*r, &inner, &origin)?;
                    if is_arg { self.mov(r, v, &origin) } else { self.mov(v, r, &origin) }
                }
                (CallArg::Value(_), ArgumentLocation::Frame { .. })
                | (CallArg::Frame { .. }, ArgumentLocation::Reg(_)) => {
                    let why = "a call that mixes registers and parameter memory";
                    return Err(self.unsupported(f, &inst.span, why));
                }
            };
            let Some(moved) = moved else {
                let why = "a call result that is no register";
                return Err(self.unsupported(f, &inst.span, why));
            };
            self.block(if is_arg { head } else { tail }).insts.push(moved);
        }
        Ok(())
    }

    fn mov(&self, dst: Operand, v: Operand, origin: &Origin) -> Option<RawInst> {
        let Operand::Var(dst) = dst else { return None };
        let op = match self.raw.kind(dst) {
            Kind::P => Pure::MovP,
            Kind::W => Pure::MovW,
            Kind::D => Pure::MovD,
        };
        let item = Item::Pure { op, k: 0, dst, args: vec![v], keep: false };
        Some(RawInst { item, guard: None, at: origin.span.start })
    }

    fn operand(&mut self, v: V, i: &Instance, origin: &Origin) -> Result<Operand, Unsupported> {
        let leaf = |op| Operand::Leaf(v.kind, op);
        Ok(match v.src {
            Src::Reg(n) => Operand::Var(i.regs[v.kind as usize] + n),
            Src::Temp(n) => Operand::Var(i.temps[v.kind as usize] + n),
            Src::Const(c) => leaf(Op::Const(c)),
            // Blocks in clusters are not compiled.
            Src::Shared(at) => leaf(Op::Const(at.into())),
            Src::Special(s) => match s {
                Sreg::Clock
                | Sreg::ClockHi
                | Sreg::Clock64
                | Sreg::GlobalTimer
                | Sreg::GlobalTimerLo
                | Sreg::GlobalTimerHi => {
                    let why = format!("{} is counted by the interpreter", s.name());
                    return Err(Unsupported::at(self.program, origin, &why));
                }
                s => leaf(Op::Special(s)),
            },
            Src::Symbol(n, off) => leaf(Op::Symbol(n, off, false)),
            Src::SymbolLow(n, off) => leaf(Op::Symbol(n, off, true)),
            Src::Function(id) => leaf(Op::Const(function_address(id))),
            Src::Frame(off) => Operand::Frame(i.frame_at(off), false),
            Src::FrameLow(off) => Operand::Frame(i.frame_at(off), true),
        })
    }

    fn micro_op(
        &mut self,
        u: &Uop,
        from: UopIndex,
        guard: Option<(Operand, bool)>,
        i: &Instance,
        origin: &Origin,
    ) -> Result<RawInst, Unsupported> {
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
                    let a = self.operand(*a, i, origin)?;
                    self.taken(a, i);
                    list.push(a);
                }
                let (dst, keep) = dst_of(dst);
                Item::Pure { op: *op, k: *k, dst, args: list, keep }
            }
            Uop::Effect { effect, dst, src } => {
                let mut list = Vec::with_capacity(src.len());
                for (n, a) in src.iter().enumerate() {
                    let a = self.operand(*a, i, origin)?;
                    if n > 0 || !matches!(effect, Effect::Ld(_) | Effect::St(_)) {
                        self.taken(a, i);
                    }
                    list.push(a);
                }
                let dst = dst.iter().map(dst_of).collect();
                Item::Effect { effect: *effect, dst, src: list, origin: origin.clone(), from }
            }
        };
        Ok(RawInst { item, guard, at: origin.span.start })
    }

    /// Notes a range of local memory whose address something reads.
    fn taken(&mut self, a: Operand, i: &Instance) {
        if let Operand::Frame(at, _) = a {
            let end = if at >= i.frame && at < i.frame_end { i.frame_end } else { u32::MAX };
            self.taken.push((at, end));
        }
    }
}
