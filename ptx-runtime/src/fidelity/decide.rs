//! Which branches depend on results that are not exact.
//!
//! Values are followed through registers, calls and memory without regard to the order of instructions, so what is
//! found may depend on them; what is not found does not. A store makes every load of its space depend on what it
//! stored: what is found by way of memory alone is said to be so.

use std::collections::{BTreeMap, HashSet};

use ptx_isa::effect::Effect;
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::reach::Reach;
use ptx_isa::row::{Exactness, Row};
use ptx_isa::{Kind, Space};
use ptx_parse::code::{ArgumentLocation, Call, CallArg, Callee, Flow, Function, Inst, Program};

use super::Decided;

/// Branches that depend on results by the manual or within an error, by function and line.
pub(super) fn branches(program: &Program) -> Vec<Decided> {
    let inexact = |i: &Inst| {
        matches!(
            program.matches[i.opcode as usize].row.exact,
            Exactness::Manual | Exactness::Ulp(_)
        )
    };
    if !program.functions.iter().flat_map(|f| &f.insts).any(inexact) {
        return Vec::new();
    }
    let mut found = BTreeMap::new();
    for through_memory in [true, false] {
        let mut values = Values { program, through_memory, ..Values::new(program) };
        values.follow();
        for (n, f) in program.functions.iter().enumerate() {
            for inst in f.insts.iter().filter(|i| values.decide(n, i)) {
                let start = inst.span.start as usize;
                let before = program.source.get(..start).unwrap_or("");
                let line = before.bytes().filter(|b| *b == b'\n').count() as u32 + 1;
                // The second pass, by registers alone, has the last word.
                found.insert((f.name.clone(), line), through_memory);
            }
        }
    }
    found
        .into_iter()
        .map(|((function, line), through_memory)| Decided { function, line, through_memory })
        .collect()
}

/// What can hold the result of an instruction.
enum Holder {
    /// Of a function.
    Register(u32),
    /// Of an instruction.
    Temporary(u32),
}

impl Holder {
    fn of(v: V) -> Option<Holder> {
        match v.src {
            Src::Reg(n) => Some(Holder::Register(n)),
            Src::Temp(n) => Some(Holder::Temporary(n)),
            Src::Const(_)
            | Src::Special(_)
            | Src::Shared(_)
            | Src::Symbol(..)
            | Src::SymbolLow(..)
            | Src::Function(_)
            | Src::Frame(_)
            | Src::FrameLow(_) => None,
        }
    }
}

/// Values that depend on an inexact result.
struct Values<'a> {
    program: &'a Program,
    through_memory: bool,
    /// Registers, by function.
    regs: HashSet<(usize, Kind, u32)>,
    /// Places of a thread's own frame: local memory, arguments in it.
    local: bool,
    shared: bool,
    global: bool,
}

impl<'a> Values<'a> {
    fn new(program: &'a Program) -> Values<'a> {
        let regs = HashSet::new();
        Values { program, through_memory: false, regs, local: false, shared: false, global: false }
    }

    /// Until nothing is added.
    fn follow(&mut self) {
        loop {
            let before = (self.regs.len(), self.local, self.shared, self.global);
            for (n, f) in self.program.functions.iter().enumerate() {
                for inst in &f.insts {
                    self.inst(n, f, inst);
                }
            }
            if before == (self.regs.len(), self.local, self.shared, self.global) {
                return;
            }
        }
    }

    fn has(&self, f: usize, temps: &HashSet<(Kind, u32)>, v: V) -> bool {
        match Holder::of(v) {
            Some(Holder::Register(n)) => self.regs.contains(&(f, v.kind, n)),
            Some(Holder::Temporary(n)) => temps.contains(&(v.kind, n)),
            None => false,
        }
    }

    fn set(&mut self, f: usize, temps: &mut HashSet<(Kind, u32)>, v: V) {
        match Holder::of(v) {
            Some(Holder::Register(n)) => _ = self.regs.insert((f, v.kind, n)),
            Some(Holder::Temporary(n)) => _ = temps.insert((v.kind, n)),
            None => {}
        }
    }

    /// What memory of a space may hold.
    fn memory(&mut self, space: Space) -> Vec<&mut bool> {
        match space {
            Space::Local | Space::ParamFunc => vec![&mut self.local],
            Space::Shared | Space::SharedCluster => vec![&mut self.shared],
            Space::Global | Space::Tex => vec![&mut self.global],
            Space::Generic => vec![&mut self.local, &mut self.shared, &mut self.global],
            Space::Const | Space::ParamEntry | Space::Reg | Space::Sreg => Vec::new(),
        }
    }

    fn inst(&mut self, f: usize, function: &Function, inst: &Inst) {
        let mut temps = HashSet::new();
        let row = self.program.matches[inst.opcode as usize].row;
        let own = matches!(row.exact, Exactness::Manual | Exactness::Ulp(_));
        for uop in &function.uops[inst.uops.start as usize..inst.uops.end as usize] {
            // A guard chooses between the result and what was there.
            let guarded = inst.guard.is_some_and(|(g, _)| self.has(f, &temps, g));
            match uop {
                Uop::Pure { dst, args, .. } => {
                    if own || guarded || args.iter().any(|a| self.has(f, &temps, *a)) {
                        self.set(f, &mut temps, *dst);
                    }
                }
                Uop::Effect { effect, dst, src } => {
                    let given = own || guarded || src.iter().any(|s| self.has(f, &temps, *s));
                    if self.effect(row, effect, given) {
                        for d in dst {
                            self.set(f, &mut temps, *d);
                        }
                    }
                }
            }
        }
        match &inst.flow {
            Flow::Call(call) => self.call(f, &temps, call),
            Flow::Next | Flow::Bra(_) | Flow::Brx { .. } | Flow::Ret | Flow::Exit => {}
        }
    }

    /// What an effect takes to memory, if one of its sources depends; whether its results depend.
    fn effect(&mut self, row: &Row, effect: &Effect, given: bool) -> bool {
        let (reads, writes, space) = match effect {
            Effect::Ld(m) => (true, false, m.place.space),
            Effect::St(m) => (false, true, m.place.space),
            Effect::Atom(a) => (true, true, a.place.space),
            // Which memory it touches is its own affair, if it takes an address or (those of warpgroups) descriptors.
            Effect::Warp(_) if !row.syntax.contains('[') && row.reach != Reach::Warpgroup => {
                return given;
            }
            Effect::Warp(_) | Effect::Sys(_) => (true, true, Space::Generic),
            Effect::Bar(_)
            | Effect::Fence(_)
            | Effect::AsyncGroup(_)
            | Effect::Trap
            | Effect::Brkpt
            | Effect::Yield => return given,
        };
        if !self.through_memory {
            return given;
        }
        let places = self.memory(space);
        let held = reads && places.iter().any(|p| **p);
        if writes && (given || held && matches!(effect, Effect::Warp(_))) {
            places.into_iter().for_each(|p| *p = true);
        }
        given || held
    }

    fn call(&mut self, f: usize, temps: &HashSet<(Kind, u32)>, call: &Call) {
        let callees: Vec<usize> = match call.callee {
            Callee::Direct(n) => vec![n as usize],
            Callee::Indirect(_) => (1..self.program.functions.len()).collect(),
        };
        for callee in callees {
            let Some(function) = self.program.functions.get(callee) else { continue };
            for (arg, at) in call.args.iter().zip(&function.params) {
                match (arg, at) {
                    (CallArg::Value(v), ArgumentLocation::Reg(p)) if self.has(f, temps, *v) => {
                        self.set(callee, &mut HashSet::new(), *p);
                    }
                    (CallArg::Value(v), ArgumentLocation::Frame { .. })
                        if self.has(f, temps, *v) =>
                    {
                        self.local = true;
                    }
                    _ => {}
                }
            }
            for (ret, at) in call.rets.iter().zip(&function.rets) {
                let depends = match at {
                    ArgumentLocation::Reg(r) => self.has(callee, &HashSet::new(), *r),
                    ArgumentLocation::Frame { .. } => self.local,
                };
                match ret {
                    CallArg::Value(v) if depends => self.set(f, &mut HashSet::new(), *v),
                    CallArg::Frame { .. } if depends => self.local = true,
                    CallArg::Value(_) | CallArg::Frame { .. } | CallArg::Sink => {}
                }
            }
        }
    }

    /// Whether where control goes depends.
    fn decide(&self, f: usize, inst: &Inst) -> bool {
        let has = |v: V| self.has(f, &HashSet::new(), v);
        let guarded = inst.guard.is_some_and(|(g, _)| has(g));
        match &inst.flow {
            Flow::Next => false,
            Flow::Bra(_) | Flow::Ret | Flow::Exit => guarded,
            Flow::Brx { index, .. } => guarded || has(*index),
            Flow::Call(call) => guarded || matches!(call.callee, Callee::Indirect(v) if has(v)),
        }
    }
}
