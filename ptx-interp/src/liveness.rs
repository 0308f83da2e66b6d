//! Which rows a function's registers take, and which of them may be read before they are written.

use flow::{BitSet, Graph};
use ptx_isa::Kind;
use ptx_isa::meaning::{Src, Uop, V};
use ptx_parse::code::{ArgumentLocation, CallArg, Callee, Flow, Function, Inst};

use crate::rows::{AreaLayout, row_bytes};

/// Rows of a function's registers and temporaries.
#[derive(Default)]
pub(crate) struct Rows {
    /// Rows handed out so far.
    pub layout: AreaLayout,
    registers: [Vec<Option<u32>>; 3],
    /// Registers that some path reads before it writes them.
    exposed: Vec<(Kind, u32)>,
}

impl Rows {
    /// The row of register `n`.
    pub(crate) fn get(&mut self, kind: Kind, n: u32) -> u32 {
        let registers = &mut self.registers[kind as usize];
        if registers.len() <= n as usize {
            registers.resize(n as usize + 1, None);
        }
        *registers[n as usize].get_or_insert_with(|| self.layout.take(kind))
    }
    /// The row of register `n` if the code names it.
    pub(crate) fn find(&self, kind: Kind, n: u32) -> Option<u32> {
        self.registers[kind as usize].get(n as usize).copied().flatten()
    }
    /// Whether some path reads a register before it writes it.
    pub(crate) fn exposes(&self) -> bool {
        !self.exposed.is_empty()
    }
    /// Ranges of the frame that must be zero at the start, so that reading a register before
    /// writing it gives the same on every run. (Temporaries are written before they are read.)
    pub(crate) fn zero(&self) -> Vec<(u32, u32)> {
        let rows = self.exposed.iter();
        rows.filter_map(|&(k, n)| self.find(k, n).map(|at| (at, row_bytes(k)))).collect()
    }
}

/// Gives the registers of `f` their rows, as decoding meets them.
pub(crate) fn assign(f: &Function) -> Rows {
    Rows { exposed: exposed(f), ..Rows::default() }
}

/// Numbers of all kinds of register in one range.
struct Numbering([usize; 4]);

impl Numbering {
    fn new(f: &Function) -> Numbering {
        let [p, w, d] = f.regs.map(|n| n as usize);
        Numbering([0, p, p + w, p + w + d])
    }
    fn of(&self, v: &V) -> Option<usize> {
        match v.src {
            Src::Reg(n) => Some(self.0[v.kind as usize] + n as usize),
            _ => None,
        }
    }
}

/// Calls `read` and `write` for the registers of an instruction, in order. A write under a guard
/// leaves the register as it was in some lanes, so it counts as neither.
fn visit(f: &Function, inst: &Inst, numbers: &Numbering, set: &mut impl FnMut(usize, bool)) {
    let mut touch = |v: &V, write: bool| {
        if let Some(n) = numbers.of(v) {
            set(n, write);
        }
    };
    let guarded = inst.guard.is_some();
    if let Some((p, _)) = &inst.guard {
        touch(p, false);
    }
    for uop in &f.uops[inst.uops.start as usize..inst.uops.end as usize] {
        match uop {
            Uop::Pure { op, dst, args, .. } => {
                args[..op.args().len()].iter().for_each(|v| touch(v, false));
                if !guarded {
                    touch(dst, true);
                }
            }
            Uop::Effect { dst, src, .. } => {
                src.iter().for_each(|v| touch(v, false));
                if !guarded {
                    dst.iter().for_each(|v| touch(v, true));
                }
            }
        }
    }
    match &inst.flow {
        Flow::Brx { index, .. } => touch(index, false),
        Flow::Call(call) => {
            if let Callee::Indirect(v) = &call.callee {
                touch(v, false);
            }
            for a in &call.args {
                if let CallArg::Value(v) = a {
                    touch(v, false);
                }
            }
            for r in &call.rets {
                if let (CallArg::Value(v), false) = (r, guarded) {
                    touch(v, true);
                }
            }
        }
        Flow::Ret => {
            for r in &f.rets {
                if let ArgumentLocation::Reg(v) = r {
                    touch(v, false);
                }
            }
        }
        _ => {}
    }
}

/// Registers that some path from the entry reads before writing them: what is live there.
fn exposed(f: &Function) -> Vec<(Kind, u32)> {
    let numbers = Numbering::new(f);
    // Per block: read before written, and written.
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for b in &f.blocks {
        let [mut read, mut written] = [(); 2].map(|()| BitSet::with_capacity(numbers.0[3]));
        for inst in &f.insts[b.start as usize..b.end as usize] {
            visit(f, inst, &numbers, &mut |n, write| {
                if write {
                    written.insert(n);
                } else if !written.contains(n) {
                    read.insert(n);
                }
            });
        }
        reads.push(read);
        writes.push(written);
    }
    let graph = Graph::new(f.blocks.len(), |b| f.blocks[b as usize].succs.iter().copied());
    let live = flow::live_in(&graph, reads, &writes);
    let Some(at_entry) = live.first() else { return Vec::new() };
    let mut out = Vec::new();
    for kind in [Kind::P, Kind::W, Kind::D] {
        let first = numbers.0[kind as usize];
        let count = numbers.0[kind as usize + 1] - first;
        out.extend((0..count).filter(|n| at_entry.contains(first + n)).map(|n| (kind, n as u32)));
    }
    out
}
