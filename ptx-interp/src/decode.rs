//! From lowered code to the dense stream that the interpreter executes.

mod turns;

use std::collections::HashMap;
use std::sync::Arc;

use ptx_isa::effect::{Effect, Mem, Order, Sys};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::uop::Op;
use ptx_isa::{Kind, Space};
use ptx_parse::code::function_address;
use ptx_parse::code::{
    ArgumentLocation, CallArg, Callee, Flow, Function, Inst as PtxInst, Program,
};

use crate::access;
use crate::clock;
use crate::code::*;
use crate::lanes::{Isa, handler};
use crate::liveness::{self, Rows};
use crate::parted;
use crate::rows::{AreaLayout, Base, Operand};

impl Kernel {
    /// Decodes `program` for this processor.
    pub fn decode(program: Arc<Program>) -> Kernel {
        Kernel::decode_for(program, Isa::detect())
    }

    /// Decodes `program` for `isa` or, where the processor lacks that, the best it has.
    pub fn decode_for(program: Arc<Program>, isa: Isa) -> Kernel {
        let instructions: usize = program.functions.iter().map(|f| f.insts.len()).sum();
        let mut d = Decoder {
            isa: isa.min(Isa::detect()),
            program: &program,
            code: Vec::new(),
            origin: Vec::new(),
            effects: Vec::new(),
            tables: Vec::new(),
            turns: Vec::new(),
            calls: Vec::new(),
            consts: Interned::for_about(instructions / 4),
            warp: Interned::for_about(8),
            prints: false,
            exposes: false,
        };
        let mut functions = Vec::new();
        let mut registers = Vec::new();
        for (id, f) in program.functions.iter().enumerate() {
            let (info, regs) = d.function(id as u32, f);
            functions.push(info);
            registers.push(regs);
        }
        let Decoder {
            code,
            origin,
            effects,
            tables,
            turns,
            calls,
            consts,
            warp,
            prints,
            exposes,
            ..
        } = d;
        Kernel {
            code,
            origin,
            functions,
            effects,
            tables,
            turns,
            calls,
            const_bytes: consts.area.bytes(),
            fills: consts.list,
            warp_bytes: warp.area.bytes(),
            warp_rows: warp.list,
            registers,
            prints,
            exposes,
            program,
        }
    }
}

/// Rows handed out once per content.
struct Interned<T> {
    area: AreaLayout,
    known: HashMap<(T, u8), u32>,
    list: Vec<(T, Kind, u32)>,
}

impl<T> Interned<T> {
    /// Room for about `values` different ones.
    fn for_about(values: usize) -> Self {
        let area = AreaLayout::default();
        Interned { area, known: HashMap::with_capacity(values), list: Vec::with_capacity(values) }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Interned<T> {
    fn get(&mut self, what: T, kind: Kind) -> u32 {
        let Interned { area, known, list } = self;
        *known.entry((what, kind as u8)).or_insert_with(|| {
            let at = area.take(kind);
            list.push((what, kind, at));
            at
        })
    }
}

struct Decoder<'a> {
    isa: Isa,
    program: &'a Program,
    code: Vec<Inst>,
    origin: Vec<(u32, u32)>,
    effects: Vec<EffectInfo>,
    tables: Vec<Table>,
    turns: Vec<(u32, Vec<Turn>)>,
    calls: Vec<CallInfo>,
    consts: Interned<Fill>,
    warp: Interned<WarpValue>,
    prints: bool,
    exposes: bool,
}

/// What is being decoded.
struct Frame {
    id: u32,
    rows: Rows,
    temps: [Vec<Option<u32>>; 3],
    local_rows: Vec<(u32, Kind, u32)>,
    scratch: HashMap<(Sreg, u8), u32>,
    /// Rows for a 32-bit address, and for that made 64 bits wide.
    address_rows: Option<(u32, u32)>,
    /// PTX instruction being decoded.
    inst: u32,
    first: bool,
    block_start: usize,
}

impl Frame {
    fn address_rows(&mut self) -> (Operand, Operand) {
        let layout = &mut self.rows.layout;
        let make = || (layout.take(Kind::W), layout.take(Kind::D));
        let (narrow, wide) = *self.address_rows.get_or_insert_with(make);
        (Operand::new(Base::Frame, narrow), Operand::new(Base::Frame, wide))
    }
}

/// Where a special register's value is kept.
enum Varies {
    Launch,
    Warp,
    Always,
}

fn varies(s: Sreg) -> Varies {
    use Sreg::*;
    match s {
        NtidX | NtidY | NtidZ | NtidW | NctaidX | NctaidY | NctaidZ | NctaidW | NwarpId | NsmId
        | GridId | IsExplicitCluster | NclusterIdX | NclusterIdY | NclusterIdZ | NclusterIdW
        | ClusterNctaidX | ClusterNctaidY | ClusterNctaidZ | ClusterNctaidW | ClusterNctarank
        | TotalSmemSize | AggrSmemSize | DynamicSmemSize | ReservedSmemBegin | ReservedSmemEnd
        | ReservedSmemCap | ReservedSmem0 | ReservedSmem1 | CurrentGraphExec => Varies::Launch,
        s if s.of_environment().is_some() => Varies::Launch,
        s if clock::changes(s) => Varies::Always,
        _ => Varies::Warp,
    }
}

/// Where lanes of a function meet that meet nowhere in it: a kernel's never do.
fn function_end(id: u32) -> u32 {
    if id == 0 { NONE } else { AT_RETURN }
}

impl Decoder<'_> {
    fn function(&mut self, id: u32, f: &Function) -> (FunctionInfo, [Vec<Operand>; 3]) {
        let entry = self.code.len() as u32;
        let mut fr = Frame {
            id,
            rows: liveness::assign(f),
            temps: Default::default(),
            local_rows: Vec::new(),
            scratch: HashMap::new(),
            address_rows: None,
            inst: 0,
            first: false,
            block_start: 0,
        };
        self.exposes |= fr.rows.exposes();
        let mut block_pc = Vec::with_capacity(f.blocks.len());
        for (b, block) in f.blocks.iter().enumerate() {
            block_pc.push(self.code.len() as u32);
            fr.block_start = self.code.len();
            let mut ended = false;
            for i in block.start..block.end {
                fr.inst = i;
                fr.first = true;
                let last = i + 1 == block.end;
                let count = if last { block.end - block.start } else { 0 };
                ended = self.inst(&mut fr, f, b, &f.insts[i as usize], count);
            }
            if !ended {
                let has_next = b + 1 < f.blocks.len();
                if has_next {
                    self.jump(&mut fr, b as u32 + 1, block.end - block.start);
                } else {
                    self.leave(&mut fr, block.end - block.start);
                }
            }
        }
        if f.blocks.is_empty() {
            self.leave(&mut fr, 0);
        }
        self.patch(entry as usize, &block_pc);
        self.turns(id, f, &block_pc);
        parted::mark(&mut self.code[..], entry as usize);
        let arguments = |locations: &[ArgumentLocation], rows: &mut Rows| -> Box<[Argument]> {
            let argument = |at: &ArgumentLocation| match *at {
                ArgumentLocation::Frame { offset, bytes } => Argument::Frame { offset, bytes },
                ArgumentLocation::Reg(V { kind, src: Src::Reg(n) }) => {
                    Argument::Row(Operand::new(Base::Frame, rows.get(kind, n)), kind)
                }
                ArgumentLocation::Reg(_) => Argument::Dropped,
            };
            locations.iter().map(argument).collect()
        };
        let params = arguments(&f.params, &mut fr.rows);
        let rets = arguments(&f.rets, &mut fr.rows);
        let registers = [Kind::P, Kind::W, Kind::D].map(|kind| {
            let known = |n: u32| {
                fr.rows.find(kind, n).map_or(Operand::NONE, |at| Operand::new(Base::Frame, at))
            };
            (0..f.regs[kind as usize]).map(known).collect()
        });
        let info = FunctionInfo {
            entry,
            frame_bytes: fr.rows.layout.bytes().max(128),
            zero: fr.rows.zero(),
            local_rows: fr.local_rows,
            local_bytes: f.frame_bytes.next_multiple_of(16),
            params,
            rets,
        };
        (info, registers)
    }

    /// Block numbers in control steps become program counters.
    fn patch(&mut self, from: usize, block_pc: &[u32]) {
        let pc = |b: u32| match b {
            NONE | AT_RETURN => b,
            b if b & HERE != 0 => b & !HERE,
            b => block_pc[b as usize],
        };
        for i in &mut self.code[from..] {
            match i.step {
                Step::Jump => i.k = pc(i.k),
                Step::Branch => {
                    i.k = pc(i.k);
                    i.dst = Operand(pc(i.dst.0));
                    i.args[1] = Operand(pc(i.args[1].0));
                }
                Step::Brx => {
                    i.args[1] = Operand(pc(i.args[1].0));
                    for t in self.tables[i.k as usize].targets.iter_mut() {
                        *t = pc(*t);
                    }
                }
                _ => {}
            }
        }
    }

    fn push(&mut self, fr: &mut Frame, inst: Inst) -> usize {
        let first = std::mem::take(&mut fr.first);
        self.code.push(Inst { first, ..inst });
        self.origin.push((fr.id, fr.inst));
        self.code.len() - 1
    }
    fn step(&mut self, fr: &mut Frame, step: Step) -> usize {
        self.push(fr, blank(step, 0))
    }
    fn jump(&mut self, fr: &mut Frame, block: u32, count: u32) {
        let at = self.step(fr, Step::Jump);
        self.code[at].k = block;
        self.code[at].args[2] = Operand(count);
    }
    fn leave(&mut self, fr: &mut Frame, count: u32) {
        let step = if fr.id == 0 { Step::Exit } else { Step::Ret };
        let at = self.step(fr, step);
        self.code[at].args[2] = Operand(count);
    }

    /// Decodes one instruction; whether it ended its block.
    fn inst(&mut self, fr: &mut Frame, f: &Function, b: usize, i: &PtxInst, count: u32) -> bool {
        let uops = &f.uops[i.uops.start as usize..i.uops.end as usize];
        let meet = f.blocks[b].meet.as_ref().map_or(function_end(fr.id), |m| m.block);
        let next = if b + 1 < f.blocks.len() { b as u32 + 1 } else { NONE };
        let guard = i.guard.map(|(v, negated)| (self.operand(fr, v), negated));
        if matches!(i.flow, Flow::Next) {
            match guard {
                None => uops.iter().for_each(|u| self.uop(fr, u)),
                Some(g) if uops.iter().any(may_wait) => self.guarded_wait(fr, uops, g),
                Some(g) => self.guarded(fr, uops, g),
            }
            return false;
        }
        uops.iter().for_each(|u| self.uop(fr, u));
        // A guarded step that has no predicate of its own is skipped by a branch.
        let mut count = count;
        if let (Some((p, negated)), Flow::Brx { .. } | Flow::Call(_) | Flow::Ret) = (guard, &i.flow)
            && !(matches!(i.flow, Flow::Ret) && fr.id == 0)
        {
            let at = self.step(fr, Step::Branch);
            let skip = if next == NONE { HERE | (at as u32 + 2) } else { next };
            let meet = if matches!(i.flow, Flow::Call(_)) { skip } else { meet };
            let br = &mut self.code[at];
            br.flag = !negated;
            br.dst = Operand(skip);
            br.k = HERE | (at as u32 + 1);
            br.args = [p, Operand(meet), Operand(count)];
            count = 0;
        }
        match &i.flow {
            Flow::Next => {}
            Flow::Bra(target) => match guard {
                None => self.jump(fr, *target, count),
                Some((p, negated)) => {
                    let at = self.step(fr, Step::Branch);
                    let other = if next == NONE { HERE | (at as u32 + 1) } else { next };
                    let br = &mut self.code[at];
                    br.flag = negated;
                    br.dst = Operand(*target);
                    br.k = other;
                    br.args = [p, Operand(meet), Operand(count)];
                    if next == NONE {
                        self.leave(fr, 0);
                    }
                }
            },
            Flow::Brx { index, targets } => {
                let index = self.operand(fr, *index);
                let at = self.step(fr, Step::Brx);
                self.code[at].k = self.tables.len() as u32;
                self.code[at].args = [index, Operand(meet), Operand(count)];
                self.tables.push(Table { targets: targets.clone() });
                if guard.is_some() && next == NONE {
                    self.leave(fr, 0);
                }
            }
            Flow::Call(call) => {
                let arg = |d: &mut Self, fr: &mut Frame, a: &CallArg| match *a {
                    CallArg::Frame { offset, bytes } => Argument::Frame { offset, bytes },
                    CallArg::Value(v) => Argument::Row(d.operand(fr, v), v.kind),
                    CallArg::Sink => Argument::Dropped,
                };
                let callee = match call.callee {
                    Callee::Direct(f) => CalleeInfo::Direct(f),
                    Callee::Indirect(v) => CalleeInfo::Indirect(self.operand(fr, v), v.kind),
                };
                let args = call.args.iter().map(|a| arg(self, fr, a)).collect();
                let rets = call.rets.iter().map(|a| arg(self, fr, a)).collect();
                let at = self.step(fr, Step::Call);
                self.code[at].k = self.calls.len() as u32;
                self.code[at].args[2] = Operand(count);
                self.calls.push(CallInfo { callee, args, rets });
                if next == NONE {
                    self.leave(fr, 0);
                } else {
                    self.jump(fr, next, 0);
                }
            }
            Flow::Ret | Flow::Exit => {
                let exits = matches!(i.flow, Flow::Exit) || fr.id == 0;
                match guard {
                    Some((p, negated)) if exits => {
                        let at = self.step(fr, Step::ExitIf);
                        self.code[at].flag = negated;
                        self.code[at].args = [p, Operand(0), Operand(count)];
                        if next == NONE {
                            self.leave(fr, 0);
                        } else {
                            self.jump(fr, next, 0);
                        }
                    }
                    _ => {
                        let at = self.step(fr, if exits { Step::Exit } else { Step::Ret });
                        self.code[at].args[2] = Operand(count);
                        if guard.is_some() && next == NONE {
                            self.leave(fr, 0);
                        }
                    }
                }
            }
        }
        true
    }

    /// Micro-ops under a guard, joined with the guarded instruction before where that is possible.
    fn guarded(&mut self, fr: &mut Frame, uops: &[Uop], (p, negated): (Operand, bool)) {
        let open = self.code[fr.block_start..].iter().rposition(|i| i.step == Step::Guard);
        let open = open.map(|at| at + fr.block_start).filter(|&at| {
            let (g, end) = (&self.code[at], self.code.len() - 1);
            let writes = |i: &Inst| i.step != Step::Effect && i.dst == p;
            self.code[end].step == Step::EndGuard
                && (g.args[0], g.flag) == (p, negated)
                && !self.code[at + 1..end].iter().any(|i| {
                    writes(i)
                        || i.step == Step::Effect
                            && self.effects[i.k as usize].dst.iter().any(|d| d.0 == p)
                })
        });
        let at = if let Some(at) = open {
            self.code.pop();
            self.origin.pop();
            at
        } else {
            let at = self.step(fr, Step::Guard);
            self.code[at].args[0] = p;
            self.code[at].flag = negated;
            at
        };
        uops.iter().for_each(|u| self.uop(fr, u));
        let end = self.step(fr, Step::EndGuard);
        self.code[at].k = end as u32 + 1;
    }

    /// Micro-ops that may wait for others: lanes that do not execute them branch around.
    fn guarded_wait(&mut self, fr: &mut Frame, uops: &[Uop], (p, negated): (Operand, bool)) {
        let at = self.step(fr, Step::Branch);
        uops.iter().for_each(|u| self.uop(fr, u));
        let end = self.step(fr, Step::Jump);
        let after = HERE | (end as u32 + 1);
        self.code[end].k = after;
        let br = &mut self.code[at];
        br.flag = !negated;
        br.dst = Operand(after);
        br.k = HERE | (at as u32 + 1);
        br.args = [p, Operand(after), Operand(0)];
        // Guards before must not be joined across.
        fr.block_start = self.code.len();
    }

    fn uop(&mut self, fr: &mut Frame, u: &Uop) {
        match u {
            Uop::Pure { op, dst, args, k } => {
                let mut rows = [Operand(0); 3];
                for (row, v) in rows.iter_mut().zip(&args[..op.args().len()]) {
                    *row = self.operand(fr, *v);
                }
                self.pure(fr, *op, *dst, rows, *k);
            }
            Uop::Effect { effect, dst, src } => self.effect(fr, effect, dst, src),
        }
    }

    fn pure(&mut self, fr: &mut Frame, op: Op, dst: V, args: [Operand; 3], k: u32) {
        let dst = self.operand(fr, dst);
        let run = handler(self.isa, op);
        self.push(fr, Inst { run, dst, args, ..blank(Step::Pure, k) });
    }

    fn effect(&mut self, fr: &mut Frame, effect: &Effect, dst: &[V], src: &[V]) {
        let mut effect = *effect;
        if let Effect::Ld(m) = effect
            && m.place.space == Space::ParamEntry
            && let (Some(base), 1, [d]) = (src[0].as_const(), m.count, dst)
            && m.bytes <= 8
            && let Ok(offset) = u32::try_from(base.wrapping_add(m.place.offset as u64))
            && offset.checked_add(m.bytes as u32).is_some_and(|e| e <= self.program.param_bytes)
            && offset.is_multiple_of(m.bytes as u32)
        {
            // Parameters are the same in all lanes: a move from a row filled at launch.
            let row = self.consts.get(Fill::Param(offset, m.bytes, m.signed), d.kind);
            let op = if d.kind == Kind::D { Op::MovD } else { Op::MovW };
            let args = [Operand::new(Base::Const, row), Operand(0), Operand(0)];
            return self.pure(fr, op, *d, args, 0);
        }
        self.prints |= matches!(effect, Effect::Sys(Sys::Vprintf | Sys::AssertFail));
        let mut src: Box<[_]> = src.iter().map(|v| (self.operand(fr, *v), v.kind)).collect();
        let dst: Box<[_]> = dst.iter().map(|v| (self.operand(fr, *v), v.kind)).collect();
        if let (Effect::Ld(m) | Effect::St(m), Some((base, Kind::W))) =
            (effect, src.first().copied())
            && matches!(m.place.space, Space::Global | Space::Const | Space::Generic)
        {
            // The fast handlers of these spaces take 64-bit bases; the sum has 32 bits.
            let (narrow, wide) = fr.address_rows();
            let mut sum = base;
            if m.place.offset != 0 {
                let offset = Fill::Value(m.place.offset as u32 as u64);
                let offset = Operand::new(Base::Const, self.consts.get(offset, Kind::W));
                let (run, args) = (handler(self.isa, Op::AddW), [base, offset, Operand(0)]);
                sum = narrow;
                let dst = narrow;
                self.push(fr, Inst { run, dst, args, ..blank(Step::Pure, 0) });
            }
            let (run, args) = (handler(self.isa, Op::ZextWD), [sum, Operand(0), Operand(0)]);
            let dst = wide;
            self.push(fr, Inst { run, dst, args, ..blank(Step::Pure, 0) });
            src[0] = (wide, Kind::D);
            if let Effect::Ld(m) | Effect::St(m) = &mut effect {
                m.place.offset = 0;
            }
        }
        let k = self.effects.len() as u32;
        let mut inst = blank(Step::Effect, k);
        let fast = |m: &Mem, kind: Kind| {
            m.count == 1
                && m.bytes <= 8
                && (m.bytes == 8) == (kind == Kind::D)
                && matches!(m.order, Order::Weak)
                && i32::try_from(m.place.offset).is_ok()
        };
        match &effect {
            Effect::Ld(m) if dst.len() == 1 && fast(m, dst[0].1) => {
                if let Some(run) = access::load(self.isa, m, src[0].1) {
                    inst.run = run;
                    inst.step = Step::Mem;
                    inst.dst = dst[0].0;
                    inst.args = [src[0].0, Operand(0), Operand(m.place.offset as i32 as u32)];
                    inst.flag = m.signed;
                }
            }
            Effect::St(m) if fast(m, src[1].1) => {
                if let Some(run) = access::store(self.isa, m, src[0].1) {
                    inst.run = run;
                    inst.step = Step::Mem;
                    inst.args = [src[0].0, src[1].0, Operand(m.place.offset as i32 as u32)];
                }
            }
            _ => {}
        }
        self.effects.push(EffectInfo { effect, dst, src });
        self.push(fr, inst);
    }

    /// The row of a value.
    fn operand(&mut self, fr: &mut Frame, v: V) -> Operand {
        let constant = |d: &mut Self, fill| Operand::new(Base::Const, d.consts.get(fill, v.kind));
        match v.src {
            Src::Reg(n) => Operand::new(Base::Frame, fr.rows.get(v.kind, n)),
            Src::Temp(n) => {
                let temps = &mut fr.temps[v.kind as usize];
                if temps.len() <= n as usize {
                    temps.resize(n as usize + 1, None);
                }
                let layout = &mut fr.rows.layout;
                let at = *temps[n as usize].get_or_insert_with(|| layout.take(v.kind));
                Operand::new(Base::Frame, at)
            }
            Src::Const(c) => constant(self, Fill::Value(c)),
            Src::Shared(at) => {
                Operand::new(Base::Warp, self.warp.get(WarpValue::Shared(at), v.kind))
            }
            Src::Symbol(id, offset) => constant(self, Fill::Symbol(id, offset)),
            Src::SymbolLow(id, offset) => constant(self, Fill::Symbol(id, offset)),
            Src::Function(f) => {
                let id = self.program.functions.get(f as usize).map_or(f, |f| f.id);
                constant(self, Fill::Value(function_address(id)))
            }
            Src::Frame(offset) | Src::FrameLow(offset) => {
                let known = fr.local_rows.iter().find(|(_, k, o)| (*k, *o) == (v.kind, offset));
                let at = known.map(|(at, ..)| *at).unwrap_or_else(|| {
                    let at = fr.rows.layout.take(v.kind);
                    fr.local_rows.push((at, v.kind, offset));
                    at
                });
                Operand::new(Base::Frame, at)
            }
            Src::Special(s) => match varies(s) {
                Varies::Launch => constant(self, Fill::Special(s)),
                Varies::Warp => {
                    Operand::new(Base::Warp, self.warp.get(WarpValue::Special(s), v.kind))
                }
                Varies::Always => {
                    let layout = &mut fr.rows.layout;
                    let at = fr.scratch.entry((s, v.kind as u8));
                    let at = *at.or_insert_with(|| layout.take(v.kind));
                    let row = Operand::new(Base::Frame, at);
                    let inst = self.step(fr, Step::Special);
                    self.code[inst].dst = row;
                    self.code[inst].k = s as u32;
                    self.code[inst].flag = v.kind == Kind::D;
                    row
                }
            },
        }
    }
}

/// An instruction without operands.
fn blank(step: Step, k: u32) -> Inst {
    let (run, dst, args) = (access::never as Run, Operand::NONE, [Operand(0); 3]);
    Inst { run, step, flag: false, first: false, short: false, dst, args, k }
}

/// Marks a target that is a program counter already.
const HERE: u32 = 1 << 30;

/// Whether a micro-op may wait for other lanes or warps.
fn may_wait(u: &Uop) -> bool {
    matches!(
        u,
        Uop::Effect {
            effect: Effect::Bar(_) | Effect::Warp(_) | Effect::Yield | Effect::Brkpt,
            ..
        }
    )
}
