//! The functions of a circle of calls as one.

use flow::{Dominators, Graph, Loop};
use ptx_isa::Kind;
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::uop::Op;
use ptx_parse::code::{
    ArgumentLocation, Call, CallArg, Callee, Flow, Function, Inst, Program, function_address,
};

use super::activation::{Activation, size};
use super::writer::{Address, Block, Writer};
use super::{RETURN_ADDRESS, local_bytes, refused};
use crate::calls::callees;
use crate::unsupported::Unsupported;

/// Most places that the hub leads to.
const MOST_STATES: usize = 256;

/// Most bytes of a frame: it is zero where a function begins.
const MOST_FRAME: u32 = 2 << 10;

/// Most bytes of the stack of a thread.
const MOST_STACK: u64 = 4 << 20;

/// A function of the circle.
struct Member {
    /// Index in [`Program::functions`].
    f: usize,
    activation: Activation,
    /// Numbers that its registers of each kind begin with.
    regs: [u32; 3],
    /// The first of its blocks.
    first: Block,
    /// Where it is entered, and the number of that in the hub's table.
    entry: Block,
    entered: u32,
    /// Its loops with calls of the circle.
    again: Vec<Again>,
}

/// A loop of a member with calls of the circle.
#[derive(Clone)]
struct Again {
    /// Blocks of the member: where the loop begins, and which go back there.
    head: u32,
    latches: Vec<u32>,
    /// The block that goes there through the hub.
    through: Block,
}

/// The functions of a circle on their way into one.
pub(super) struct Merge<'a> {
    program: &'a Program,
    members: Vec<Member>,
    /// The member that others call.
    outer: usize,
    /// Most local memory of calls, as the interpreter counts it.
    limit: u32,
    w: Writer,
    /// Where the activation's frame begins, and how much local memory the interpreter counts below it.
    sp: V,
    depth: V,
    /// Where the hub leads, and where a return does.
    next: V,
    back: V,
    /// Calls and returns of the circle go through one block, and so do the loops that they stand in: every circle of
    /// control flow that a call makes begins there, as loops that are compiled must have one beginning.
    hub: Block,
    /// Where the hub leads to, by number. Number 0 is the way out.
    states: Vec<Block>,
    leave: Block,
    overflow: Block,
    /// Bytes in front of the stack: parameters and results of the outer call, and of calls to functions outside.
    still: u32,
}

impl<'a> Merge<'a> {
    /// The circle `members`, which calls from outside enter in function `outer`.
    pub(super) fn new(
        program: &'a Program,
        members: Vec<usize>,
        outer: usize,
        limit: u32,
    ) -> Result<Merge<'a>, Unsupported> {
        let first = program.functions[outer].insts.first();
        let first = first.ok_or_else(|| refused(program, outer, "an empty function"))?;
        let mut w = Writer::new(first);
        let start = w.block();
        debug_assert_eq!(start, 0, "a function begins with its first block");
        let mut states = vec![w.block()];
        let mut all = Vec::new();
        for &f in &members {
            let function = &program.functions[f];
            if function.frame_bytes > MOST_FRAME {
                let why = format!(
                    "a recursive function with {} bytes of local memory",
                    function.frame_bytes
                );
                return Err(refused(program, f, &why));
            }
            let regs = w.regs;
            w.regs.iter_mut().zip(function.regs).for_each(|(all, own)| *all += own);
            let entry = w.block();
            let first = entry + 1;
            function.blocks.iter().for_each(|_| _ = w.block());
            let activation = Activation::new(program, f, &members);
            let entered = states.len() as u32;
            states.push(entry);
            let again = loops_with_calls(function, &activation)
                .into_iter()
                .map(|l| Again { head: l.header, latches: l.latches, through: w.block() })
                .collect();
            all.push(Member { f, activation, regs, first, entry, entered, again });
        }
        let [sp, depth, next, back] = [Kind::D, Kind::W, Kind::W, Kind::W].map(|k| w.reg(k));
        let [hub, leave, overflow] = [(); 3].map(|()| w.block());
        let still = local_bytes(&program.functions[outer]);
        Ok(Merge {
            program,
            outer: members.iter().position(|f| *f == outer).unwrap_or(0),
            members: all,
            limit,
            w,
            sp,
            depth,
            next,
            back,
            hub,
            states,
            leave,
            overflow,
            still,
        })
    }

    /// The function, in place of the outer one; calls from outside find `depth` bytes of local memory in use.
    pub(super) fn function(mut self, depth: u32) -> Result<Function, Unsupported> {
        for m in 0..self.members.len() {
            self.entry(m);
            self.body(m)?;
        }
        self.borders(depth);
        let outer = &self.members[self.outer];
        let original = &self.program.functions[outer.f];
        let stack = self.stack(depth);
        if self.states.len() > MOST_STATES || stack > MOST_STACK {
            let states = self.states.len();
            let why =
                format!("recursion with {states} places to go on at and a stack of {stack} bytes");
            return Err(refused(self.program, outer.f, &why));
        }
        let place = |location: &ArgumentLocation| match location {
            ArgumentLocation::Reg(v) => ArgumentLocation::Reg(moved(*v, outer)),
            frame @ ArgumentLocation::Frame { .. } => *frame,
        };
        let functions = self.members.iter().map(|m| &self.program.functions[m.f]);
        let most = |kind: usize| functions.clone().map(|f| f.temps[kind]).max().unwrap_or(0);
        let mut f = Function {
            temps: [most(0), most(1), most(2)],
            frame_bytes: self.still + stack as u32,
            stack_bytes: stack as u32,
            params: original.params.iter().map(place).collect(),
            rets: original.rets.iter().map(place).collect(),
            ..original.clone()
        };
        self.w.finish(&mut f);
        Ok(f)
    }

    /// Bytes that activations may take before the interpreter's count of them reaches the limit.
    fn stack(&self, depth: u32) -> u64 {
        let of = |m: &Member| u64::from(m.activation.bytes);
        let left = u64::from(self.limit.saturating_sub(depth));
        let most = |m: &Member| {
            let counted = local_bytes(&self.program.functions[m.f]) + RETURN_ADDRESS;
            (left * of(m)).div_ceil(u64::from(counted))
        };
        let calls = self.members.iter().map(most).max().unwrap_or(0);
        let last = self.members.iter().map(of).max().unwrap_or(0);
        (calls + last).next_multiple_of(16)
    }

    /// The ways in and out, which every call and every return of the circle take.
    fn borders(&mut self, depth: u32) {
        let Merge { sp, next, back, hub, leave, overflow, .. } = *self;
        let outer = &self.members[self.outer];
        let original = &self.program.functions[outer.f];
        let start = 0;
        self.w.copy(start, sp, V { kind: Kind::D, src: Src::Frame(self.still) });
        self.w.copy(start, self.depth, V::w(depth));
        self.w.copy(start, next, V::w(outer.entered));
        self.w.copy(start, back, V::w(0));
        let frame =
            |offset: u32| Address { base: V { kind: Kind::D, src: Src::Frame(offset) }, offset: 0 };
        for location in &original.params {
            if let ArgumentLocation::Frame { offset, bytes } = *location {
                self.w.transfer(start, frame(offset), Address { base: sp, offset }, bytes);
            }
        }
        self.w.jump(start, hub);
        let targets = self.states.clone().into();
        self.w.inst(hub, [], None, Flow::Brx { index: next, targets });
        self.w.copy(leave, next, back);
        self.w.jump(leave, hub);
        // An index beyond its table stops the block, and the interpreter says how deep the calls were. The table leads
        // on, so that lanes do not seem to end here.
        let targets = Box::from([hub]);
        self.w.inst(overflow, [], None, Flow::Brx { index: V::w(u32::MAX), targets });
        let done = self.states[0];
        for location in &original.rets {
            if let ArgumentLocation::Frame { offset, bytes } = *location {
                self.w.transfer(done, Address { base: sp, offset }, frame(offset), bytes);
            }
        }
        self.w.inst(done, [], None, Flow::Ret);
    }

    /// The way into a member: its frame is zero, but for the parameters.
    fn entry(&mut self, m: usize) {
        let Member { f, entry, first, .. } = self.members[m];
        for Again { head, through, .. } in self.members[m].again.clone() {
            let state = self.state(first + head);
            self.w.copy(through, self.next, V::w(state));
            self.w.jump(through, self.hub);
        }
        let function = &self.program.functions[f];
        let mut given: Vec<(u32, u32)> = function
            .params
            .iter()
            .filter_map(|p| match *p {
                ArgumentLocation::Frame { offset, bytes } => Some((offset, offset + bytes)),
                ArgumentLocation::Reg(_) => None,
            })
            .collect();
        given.sort_unstable();
        given.push((function.frame_bytes, function.frame_bytes));
        let mut at = 0;
        for (start, end) in given {
            self.w.clear(entry, self.sp, at..start.max(at));
            at = at.max(end);
        }
        self.w.jump(entry, first);
    }

    /// The number of a block in the hub's table.
    fn state(&mut self, block: Block) -> u32 {
        self.states.push(block);
        self.states.len() as u32 - 1
    }

    /// Where block `n` of a member goes for its block `to`.
    fn target(&self, m: usize, n: u32, to: u32) -> Block {
        let Member { first, again, .. } = &self.members[m];
        let back = again.iter().find(|a| a.head == to && a.latches.contains(&n));
        back.map_or(first + to, |a| a.through)
    }

    /// The blocks of a member.
    fn body(&mut self, m: usize) -> Result<(), Unsupported> {
        let Member { f, first, .. } = self.members[m];
        let function = &self.program.functions[f];
        for (n, block) in function.blocks.iter().enumerate() {
            let at = first + n as u32;
            for i in block.start..block.end {
                self.instruction(m, n as u32, i as usize)?;
            }
            if n + 1 < function.blocks.len() {
                let next = self.target(m, n as u32, n as u32 + 1);
                self.w.jump(at, next);
            }
        }
        Ok(())
    }

    /// Instruction `i` in block `n` of a member.
    fn instruction(&mut self, m: usize, n: u32, i: usize) -> Result<(), Unsupported> {
        let at = self.members[m].first + n;
        let function = &self.program.functions[self.members[m].f];
        let inst = &function.insts[i];
        self.w.from(inst);
        let uops = &function.uops[inst.uops.start as usize..inst.uops.end as usize];
        let uops: Vec<Uop> = uops.iter().map(|u| self.uop(m, at, u)).collect();
        let guard = inst.guard.map(|(v, neg)| (self.operand(m, at, v), neg));
        let flow = match &inst.flow {
            Flow::Next => Flow::Next,
            Flow::Exit => Flow::Exit,
            Flow::Bra(b) => Flow::Bra(self.target(m, n, *b)),
            Flow::Brx { index, targets } => {
                let index = self.operand(m, at, *index);
                let targets = targets.iter().map(|b| self.target(m, n, *b)).collect();
                Flow::Brx { index, targets }
            }
            Flow::Ret => Flow::Bra(self.leave),
            Flow::Call(call) => {
                // A block of its own, behind which the next one comes whether the guard holds or not.
                let head = self.w.block();
                self.w.inst(at, uops, guard, Flow::Bra(head));
                let next = self.target(m, n, n + 1);
                return self.call(m, head, i, inst, call, next);
            }
        };
        self.w.inst(at, uops, guard, flow);
        Ok(())
    }

    fn uop(&mut self, m: usize, at: Block, uop: &Uop) -> Uop {
        match uop {
            Uop::Pure { op, dst, args, k } => {
                let count = op.args().len();
                let mut list = *args;
                list[..count].iter_mut().for_each(|v| *v = self.operand(m, at, *v));
                Uop::Pure { op: *op, dst: moved(*dst, &self.members[m]), args: list, k: *k }
            }
            Uop::Effect { effect, dst, src } => Uop::Effect {
                effect: *effect,
                dst: dst.iter().map(|v| moved(*v, &self.members[m])).collect(),
                src: src.iter().map(|v| self.operand(m, at, *v)).collect(),
            },
        }
    }

    /// What a member reads, as this function has it: addresses in its frame are on the stack.
    fn operand(&mut self, m: usize, at: Block, v: V) -> V {
        let address = |w: &mut Writer, sp: V, offset: u32| {
            w.value(at, Op::AddD, &[sp, V::d(u64::from(offset))])
        };
        match v.src {
            Src::Frame(offset) => address(&mut self.w, self.sp, offset),
            Src::FrameLow(offset) => {
                let long = address(&mut self.w, self.sp, offset);
                self.w.value(at, Op::TruncDW, &[long])
            }
            Src::Reg(_)
            | Src::Temp(_)
            | Src::Const(_)
            | Src::Special(_)
            | Src::Shared(_)
            | Src::Symbol(..)
            | Src::SymbolLow(..)
            | Src::Function(_) => moved(v, &self.members[m]),
        }
    }

    /// A call of member `m` from block `head` on, and on to block `next`.
    fn call(
        &mut self,
        m: usize,
        head: Block,
        i: usize,
        inst: &Inst,
        call: &Call,
        next: Block,
    ) -> Result<(), Unsupported> {
        let all = callees(self.program, call);
        let inner = |f: &usize| self.members.iter().position(|x| x.f == *f);
        if !all.iter().any(|f| inner(f).is_some()) {
            self.outside(m, head, call, &call.callee, next);
            return Ok(());
        }
        let Callee::Indirect(address) = call.callee else {
            let callee = all.first().and_then(inner).unwrap_or(0);
            return self.inside(m, callee, head, i, call, next);
        };
        let address = self.operand(m, head, address);
        let mut at = head;
        for f in all {
            self.w.from(inst);
            let own = V::d(function_address(self.program.functions[f].id));
            let is = self.w.value(at, Op::EqD, &[address, own]);
            let to = self.w.block();
            self.w.branch(at, (is, false), to);
            match self.members.iter().position(|x| x.f == f) {
                Some(callee) => self.inside(m, callee, to, i, call, next)?,
                None => self.outside(m, to, call, &Callee::Direct(f as u32), next),
            }
            let other = self.w.block();
            self.w.jump(at, other);
            at = other;
        }
        // None of them: the interpreter says what was called.
        self.w.jump(at, self.overflow);
        Ok(())
    }

    /// A call to a function that is not of the circle: what it takes and gives stands before the stack meanwhile.
    fn outside(&mut self, m: usize, at: Block, call: &Call, callee: &Callee, next: Block) {
        let callee = match callee {
            Callee::Direct(f) => Callee::Direct(*f),
            Callee::Indirect(v) => Callee::Indirect(self.operand(m, at, *v)),
        };
        let mut moves = Vec::new();
        let mut place = |this: &mut Self, arg: &CallArg| match *arg {
            CallArg::Frame { offset, bytes } => {
                let still = this.still;
                this.still += bytes.next_multiple_of(16);
                moves.push((offset, still, bytes));
                CallArg::Frame { offset: still, bytes }
            }
            CallArg::Value(v) => CallArg::Value(this.operand(m, at, v)),
            CallArg::Sink => CallArg::Sink,
        };
        let args: Box<[CallArg]> = call.args.iter().map(|a| place(self, a)).collect();
        let rets: Box<[CallArg]> = call.rets.iter().map(|a| place(self, a)).collect();
        let frames =
            |args: &[CallArg]| args.iter().filter(|a| matches!(a, CallArg::Frame { .. })).count();
        let (given, taken) = moves.split_at(frames(&args));
        let still =
            |offset: u32| Address { base: V { kind: Kind::D, src: Src::Frame(offset) }, offset: 0 };
        let base = self.sp;
        for &(offset, to, bytes) in given {
            self.w.transfer(at, Address { base, offset }, still(to), bytes);
        }
        self.w.inst(at, [], None, Flow::Call(Box::new(Call { callee, args, rets })));
        for &(offset, from, bytes) in taken {
            self.w.transfer(at, still(from), Address { base, offset }, bytes);
        }
        self.w.jump(at, next);
    }

    /// A call from member `m` to another one or to itself.
    fn inside(
        &mut self,
        m: usize,
        callee: usize,
        at: Block,
        i: usize,
        call: &Call,
        next: Block,
    ) -> Result<(), Unsupported> {
        let Merge { program, sp, depth, back, .. } = *self;
        let (from, to) = (&self.members[m], &self.members[callee]);
        let (function, target) = (&program.functions[from.f], &program.functions[to.f]);
        if !agree(&call.args, &target.params) || !agree(&call.rets, &target.rets) {
            let why = "a call that mixes registers and parameter memory";
            return Err(refused(program, from.f, why));
        }
        let above = from.activation.bytes;
        let counted = local_bytes(function) + RETURN_ADDRESS;
        let inner = local_bytes(target);
        let mut kept: Vec<V> = from.activation.kept_at(i).iter().map(|v| moved(*v, from)).collect();
        kept.push(back);
        let kept = places(&kept, local_bytes(function));
        for (v, offset) in &kept {
            let word = match v.kind {
                Kind::P => self.w.value(at, Op::BoolW, &[*v]),
                Kind::W | Kind::D => *v,
            };
            self.w.store(at, word, size(*v), Address { base: sp, offset: *offset });
        }
        // All arguments are read before a parameter is written: it may be the same register.
        let mut given = Vec::new();
        for (arg, param) in call.args.iter().zip(&target.params) {
            match (*arg, *param) {
                (CallArg::Value(v), ArgumentLocation::Reg(p)) => {
                    let v = self.operand(m, at, v);
                    let held = self.w.reg(p.kind);
                    self.w.copy(at, held, v);
                    given.push((moved(p, &self.members[callee]), held));
                }
                (CallArg::Frame { offset, bytes }, ArgumentLocation::Frame { offset: own, .. }) => {
                    let own = Address { base: sp, offset: above + own };
                    self.w.transfer(at, Address { base: sp, offset }, own, bytes);
                }
                (CallArg::Value(_), ArgumentLocation::Frame { .. })
                | (CallArg::Frame { .. }, ArgumentLocation::Reg(_))
                | (CallArg::Sink, _) => {}
            }
        }
        for (param, held) in given {
            self.w.copy(at, param, held);
        }
        let behind = self.w.block();
        let site = self.state(behind);
        self.w.copy(at, back, V::w(site));
        self.w.copy(at, self.next, V::w(self.members[callee].entered));
        self.w.set(at, sp, Op::AddD, &[sp, V::d(u64::from(above))]);
        self.w.set(at, depth, Op::AddW, &[depth, V::w(counted)]);
        let top = self.w.value(at, Op::AddW, &[depth, V::w(inner)]);
        let over = self.w.value(at, Op::LtUW, &[V::w(self.limit), top]);
        self.w.branch(at, (over, false), self.overflow);
        self.w.jump(at, self.hub);

        let at = behind;
        let mut results = Vec::new();
        for (ret, own) in call.rets.iter().zip(&target.rets) {
            if let (CallArg::Value(v), ArgumentLocation::Reg(r)) = (*ret, *own) {
                let held = self.w.reg(r.kind);
                self.w.copy(at, held, moved(r, &self.members[callee]));
                results.push((moved(v, &self.members[m]), held));
            }
        }
        self.w.set(at, sp, Op::SubD, &[sp, V::d(u64::from(above))]);
        self.w.set(at, depth, Op::SubW, &[depth, V::w(counted)]);
        for (ret, own) in call.rets.iter().zip(&target.rets) {
            if let (CallArg::Frame { offset, bytes }, ArgumentLocation::Frame { offset: own, .. }) =
                (*ret, *own)
            {
                let own = Address { base: sp, offset: above + own };
                self.w.transfer(at, own, Address { base: sp, offset }, bytes);
            }
        }
        for (v, offset) in &kept {
            let from = Address { base: sp, offset: *offset };
            match v.kind {
                Kind::P => {
                    let word = self.w.reg(Kind::W);
                    self.w.load(at, word, 4, from);
                    self.w.set(at, *v, Op::NeW, &[word, V::w(0)]);
                }
                Kind::W | Kind::D => self.w.load(at, *v, size(*v), from),
            }
        }
        for (ret, held) in results {
            self.w.copy(at, ret, held);
        }
        self.w.jump(at, next);
        Ok(())
    }
}

/// Whether registers go to registers, and memory to memory.
fn agree(args: &[CallArg], own: &[ArgumentLocation]) -> bool {
    args.iter().zip(own).all(|pair| match pair {
        (CallArg::Sink, _)
        | (CallArg::Value(_), ArgumentLocation::Reg(_))
        | (CallArg::Frame { .. }, ArgumentLocation::Frame { .. }) => true,
        (CallArg::Value(_), ArgumentLocation::Frame { .. })
        | (CallArg::Frame { .. }, ArgumentLocation::Reg(_)) => false,
    })
}

/// The loops of a function in which it calls the circle.
fn loops_with_calls(function: &Function, activation: &Activation) -> Vec<Loop> {
    let succs = |b: u32| function.blocks[b as usize].succs.iter().copied();
    let graph = Graph::new(function.blocks.len(), succs);
    let calls = |n: &u32| {
        let block = &function.blocks[*n as usize];
        activation.kept.iter().any(|(at, _)| (block.start..block.end).contains(&(*at as u32)))
    };
    let mut loops = flow::loops(&graph, &Dominators::new(&graph, 0));
    loops.retain(|l| l.nodes.iter().any(calls));
    loops
}

/// A register of a member, as the function has it.
fn moved(v: V, member: &Member) -> V {
    match v.src {
        Src::Reg(n) => V { src: Src::Reg(n + member.regs[v.kind as usize]), ..v },
        _ => v,
    }
}

/// Places for registers, one behind the other.
fn places(registers: &[V], mut at: u32) -> Vec<(V, u32)> {
    let mut out = Vec::new();
    for v in registers {
        out.push((*v, at));
        at += size(*v);
    }
    out
}
