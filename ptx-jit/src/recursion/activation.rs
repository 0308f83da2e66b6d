//! What an activation of a function has on the stack: its frame, and registers that are kept across calls.

use flow::{BitSet, Graph};
use ptx_isa::Kind;
use ptx_isa::meaning::{Src, Uop, V};
use ptx_parse::code::{ArgumentLocation, Call, CallArg, Callee, Flow, Function, Inst, Program};

use super::local_bytes;
use crate::calls::callees;

/// What an activation has on the stack.
pub(super) struct Activation {
    /// Its bytes, a multiple of 16.
    pub bytes: u32,
    /// Registers that live behind the calls of the circle, by instruction.
    pub kept: Vec<(usize, Vec<V>)>,
}

impl Activation {
    /// Of function `f` of a circle of calls.
    pub(super) fn new(program: &Program, f: usize, circle: &[usize]) -> Activation {
        let function = &program.functions[f];
        let live = live_registers(function);
        let mut kept = Vec::new();
        for (b, block) in function.blocks.iter().enumerate() {
            let Some(last) = block.end.checked_sub(1) else { continue };
            let Flow::Call(call) = &function.insts[last as usize].flow else { continue };
            if !callees(program, call).iter().any(|g| circle.contains(g)) {
                continue;
            }
            let results = call.rets.iter().filter_map(|r| match r {
                CallArg::Value(v) => Some(*v),
                CallArg::Frame { .. } | CallArg::Sink => None,
            });
            let results: Vec<V> = results.collect();
            let behind = live.get(b + 1).into_iter().flat_map(|live| registers(function, live));
            let mut registers: Vec<V> = behind.filter(|v| !results.contains(v)).collect();
            // The longest first, so that each is aligned.
            registers.sort_by_key(|v| v.kind != Kind::D);
            kept.push((last as usize, registers));
        }
        // Where the call returns to is kept as well.
        let most = kept.iter().map(|(_, v)| v.iter().map(|v| size(*v)).sum::<u32>() + 4).max();
        let bytes = local_bytes(function) + most.unwrap_or(0).next_multiple_of(16);
        Activation { bytes, kept }
    }

    /// Registers that live behind the call that instruction `inst` is.
    pub(super) fn kept_at(&self, inst: usize) -> &[V] {
        self.kept.iter().find(|(at, _)| *at == inst).map_or(&[], |(_, v)| v)
    }
}

/// Bytes that a register takes on the stack.
pub(super) fn size(v: V) -> u32 {
    if v.kind == Kind::D { 8 } else { 4 }
}

/// A number for each register of a function.
fn number(f: &Function, v: V) -> Option<usize> {
    let Src::Reg(n) = v.src else { return None };
    let before: u32 = f.regs[..v.kind as usize].iter().sum();
    Some((before + n) as usize)
}

/// The registers of a set.
fn registers(f: &Function, set: &BitSet) -> Vec<V> {
    let mut out = Vec::new();
    let mut first = 0;
    for kind in [Kind::P, Kind::W, Kind::D] {
        let count = f.regs[kind as usize] as usize;
        let inside = set.ones().filter(|n| (first..first + count).contains(n));
        out.extend(inside.map(|n| V { kind, src: Src::Reg((n - first) as u32) }));
        first += count;
    }
    out
}

/// Registers that live at the start of each block.
fn live_registers(f: &Function) -> Vec<BitSet> {
    let count = f.regs.iter().sum::<u32>() as usize;
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for block in &f.blocks {
        let mut touched = Touched {
            f,
            reads: BitSet::with_capacity(count),
            writes: BitSet::with_capacity(count),
        };
        for inst in &f.insts[block.start as usize..block.end as usize] {
            touched.inst(inst);
        }
        reads.push(touched.reads);
        writes.push(touched.writes);
    }
    let graph = Graph::new(f.blocks.len(), |b| f.blocks[b as usize].succs.iter().copied());
    flow::live_in(&graph, reads, &writes)
}

/// Registers that a block reads before it writes them, and those that it writes.
struct Touched<'a> {
    f: &'a Function,
    reads: BitSet,
    writes: BitSet,
}

impl Touched<'_> {
    fn read(&mut self, v: &V) {
        if let Some(n) = number(self.f, *v).filter(|n| !self.writes.contains(*n)) {
            self.reads.insert(n);
        }
    }

    fn write(&mut self, v: &V, guarded: bool) {
        if let Some(n) = number(self.f, *v).filter(|_| !guarded) {
            self.writes.insert(n);
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let guarded = inst.guard.is_some();
        if let Some((guard, _)) = &inst.guard {
            self.read(guard);
        }
        for uop in &self.f.uops[inst.uops.start as usize..inst.uops.end as usize] {
            match uop {
                Uop::Pure { op, dst, args, .. } => {
                    args[..op.args().len()].iter().for_each(|v| self.read(v));
                    self.write(dst, guarded);
                }
                Uop::Effect { dst, src, .. } => {
                    src.iter().for_each(|v| self.read(v));
                    dst.iter().for_each(|v| self.write(v, guarded));
                }
            }
        }
        match &inst.flow {
            Flow::Brx { index, .. } => self.read(index),
            Flow::Call(call) => self.call(call, guarded),
            Flow::Ret => {
                for location in &self.f.rets {
                    if let ArgumentLocation::Reg(v) = location {
                        self.read(v);
                    }
                }
            }
            Flow::Next | Flow::Bra(_) | Flow::Exit => {}
        }
    }

    fn call(&mut self, call: &Call, guarded: bool) {
        if let Callee::Indirect(address) = &call.callee {
            self.read(address);
        }
        for arg in &call.args {
            if let CallArg::Value(v) = arg {
                self.read(v);
            }
        }
        for ret in &call.rets {
            if let CallArg::Value(v) = ret {
                self.write(v, guarded);
            }
        }
    }
}
