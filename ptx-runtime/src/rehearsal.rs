//! How long a thread of a launch will run: one is rehearsed on scalars, and nothing of it stays.
//!
//! Loops turn as often as the launch's parameters and memory say, which no look at the code alone can tell.

use std::collections::HashMap;

use ptx_interp::{Checked, Kernel, LaunchParams, Memory};
use ptx_isa::effect::{Effect, Mem, window};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::uop::eval;
use ptx_isa::{Kind, Space};
use ptx_parse::code::{Flow, Function};

/// Whether a thread of the launch executes at least `most` PTX instructions. The first of the grid and one in its midst
/// are asked; `false` where that depends on what other threads do.
pub(crate) fn lasts(kernel: &Kernel, memory: &Memory, launch: &LaunchParams, most: u64) -> bool {
    let Ok(checked) = Checked::new(kernel, launch) else { return false };
    let midst = |n: [u32; 3]| n.map(|n| n / 2);
    [([0; 3], [0; 3]), (midst(launch.grid), midst(launch.block))].into_iter().any(|at| {
        let function = &kernel.program().functions[0];
        let row = |count: u32| vec![Some(0); count as usize];
        let mut thread = Rehearsal {
            memory,
            launch,
            checked: &checked,
            at,
            regs: function.regs.map(row),
            temps: function.temps.map(row),
            stored: HashMap::new(),
        };
        thread.lasts(function, most)
    })
}

/// A value; `None`: not known.
type Value = Option<u64>;

/// What ends a rehearsal early: it depends on what is not known.
struct Unknown;

/// A thread on its way.
struct Rehearsal<'a> {
    memory: &'a Memory,
    launch: &'a LaunchParams,
    checked: &'a Checked,
    /// Block and thread.
    at: ([u32; 3], [u32; 3]),
    /// By kind and number.
    regs: [Vec<Value>; 3],
    temps: [Vec<Value>; 3],
    /// What the thread has stored, by state space and address.
    stored: HashMap<(Space, u64), Value>,
}

impl Rehearsal<'_> {
    fn lasts(&mut self, function: &Function, most: u64) -> bool {
        let mut pc = 0;
        for _ in 0..most {
            match self.step(function, pc) {
                Ok(Some(next)) => pc = next,
                Ok(None) | Err(Unknown) => return false,
            }
        }
        true
    }

    /// Executes an instruction; the next one, if the thread goes on.
    fn step(&mut self, function: &Function, pc: usize) -> Result<Option<usize>, Unknown> {
        let inst = &function.insts[pc];
        let mut uops = &function.uops[inst.uops.start as usize..inst.uops.end as usize];
        let mut on = Some(true);
        if let Some((guard, negated)) = inst.guard {
            if let (Src::Temp(_), Some((first, rest))) = (guard.src, uops.split_first()) {
                self.uop(first, Some(true))?;
                uops = rest;
            }
            on = self.get(guard).map(|g| (g & 1 != 0) != negated);
        }
        if on != Some(false) {
            for uop in uops {
                self.uop(uop, on)?;
            }
        }
        let goes = match &inst.flow {
            Flow::Next => return Ok(Some(pc + 1)),
            other if on == Some(true) => other,
            _ => return if on == Some(false) { Ok(Some(pc + 1)) } else { Err(Unknown) },
        };
        let start = |block: u32| Ok(Some(function.blocks[block as usize].start as usize));
        match goes {
            Flow::Next => Ok(Some(pc + 1)),
            Flow::Bra(to) => start(*to),
            Flow::Brx { index, targets } => {
                let index = self.get(*index).ok_or(Unknown)?;
                targets.get(index as usize).map_or(Ok(None), |to| start(*to))
            }
            Flow::Call(_) => Err(Unknown),
            Flow::Ret | Flow::Exit => Ok(None),
        }
    }

    /// A micro-op, where the guard holds (`on`), or may hold.
    fn uop(&mut self, uop: &Uop, on: Option<bool>) -> Result<(), Unknown> {
        match uop {
            Uop::Pure { op, dst, args, k } => {
                let count = op.args().len();
                let mut known = [0; 3];
                let all = args.iter().zip(&mut known).take(count).all(|(arg, known)| {
                    let value = self.get(*arg);
                    *known = value.unwrap_or(0);
                    value.is_some()
                });
                let value = (all && on.is_some()).then(|| eval(*op, known, *k));
                self.set(*dst, value);
            }
            Uop::Effect { effect, dst, src } => {
                let mut results = vec![None; dst.len()];
                match effect {
                    Effect::Ld(m) => results = self.load(m, src, dst),
                    Effect::St(m) => self.store(m, src),
                    Effect::Sys(_) => return Err(Unknown),
                    Effect::Atom(_) | Effect::Bar(_) | Effect::Fence(_) | Effect::Warp(_) => {}
                    Effect::AsyncGroup(_) | Effect::Trap | Effect::Brkpt | Effect::Yield => {}
                }
                for (dst, value) in dst.iter().zip(results) {
                    self.set(*dst, value.filter(|_| on.is_some()));
                }
            }
        }
        Ok(())
    }

    /// The state space of an access and its address there, unless other threads may write it.
    fn place(&self, m: &Mem, base: V) -> Option<(Space, u64)> {
        let address = self.get(base)?.wrapping_add(m.place.offset as u64);
        let address = if base.kind == Kind::W { address & 0xffff_ffff } else { address };
        match window::locate(m.place.space, address) {
            (Space::Const, a) => Some((Space::Global, a)),
            (Space::ParamFunc, a) => Some((Space::Local, a)),
            (space @ (Space::Global | Space::Local | Space::ParamEntry), a) => Some((space, a)),
            _ => None,
        }
    }

    fn load(&self, m: &Mem, src: &[V], dst: &[V]) -> Vec<Value> {
        let at = self.place(m, src[0]);
        let size = u64::from(m.bytes);
        let one = |n: usize| {
            let (space, address) = at.map(|(s, a)| (s, a.wrapping_add(n as u64 * size)))?;
            let found = match self.stored.get(&(space, address)) {
                Some(stored) => *stored,
                None => self.before(space, address, size),
            }?;
            let unused = 64 - 8 * size as u32;
            let value = found << unused >> unused;
            if !m.signed {
                return Some(value);
            }
            let value = (value << unused) as i64 >> unused;
            Some(if dst[n].kind == Kind::D { value as u64 } else { u64::from(value as u32) })
        };
        if size > 8 { vec![None; dst.len()] } else { (0..dst.len()).map(one).collect() }
    }

    /// What memory holds before the launch.
    fn before(&self, space: Space, address: u64, size: u64) -> Value {
        let mut bytes = [0; 8];
        let out = &mut bytes[..size as usize];
        match space {
            Space::Global => self.memory.read(address, out).ok()?,
            Space::ParamEntry => {
                let from = usize::try_from(address).ok()?;
                out.copy_from_slice(self.launch.params.get(from..from.checked_add(out.len())?)?);
            }
            _ => {}
        }
        Some(u64::from_le_bytes(bytes))
    }

    fn store(&mut self, m: &Mem, src: &[V]) {
        let Some((space, address)) = self.place(m, src[0]) else { return };
        for (n, v) in src[1..].iter().enumerate() {
            let at = address.wrapping_add(n as u64 * u64::from(m.bytes));
            self.stored.insert((space, at), self.get(*v));
        }
    }

    fn get(&self, v: V) -> Value {
        let symbol = |id: u32, add: i64| {
            let start = self.launch.symbols.get(id as usize)?;
            Some(start.wrapping_add(add as u64))
        };
        match v.src {
            Src::Reg(n) => self.regs[v.kind as usize][n as usize],
            Src::Temp(n) => self.temps[v.kind as usize][n as usize],
            Src::Const(c) => Some(c),
            // The first block of a cluster.
            Src::Shared(at) => Some(u64::from(at)),
            Src::Special(register) => self.special(register),
            Src::Symbol(id, add) => symbol(id, add),
            Src::SymbolLow(id, add) => symbol(id, add).map(|a| a & 0xffff_ffff),
            Src::Function(_) => None,
            Src::Frame(at) | Src::FrameLow(at) => Some(u64::from(at)),
        }
    }

    fn special(&self, register: Sreg) -> Value {
        let (block, thread) = self.at;
        let [x, y, _] = self.launch.block;
        let linear = thread[0] + x * (thread[1] + y * thread[2]);
        Some(match register {
            Sreg::TidX => u64::from(thread[0]),
            Sreg::TidY => u64::from(thread[1]),
            Sreg::TidZ => u64::from(thread[2]),
            Sreg::LaneId => u64::from(linear % 32),
            Sreg::WarpId => u64::from(linear / 32),
            Sreg::Clock | Sreg::ClockHi | Sreg::Clock64 => return None,
            Sreg::GlobalTimer | Sreg::GlobalTimerLo | Sreg::GlobalTimerHi => return None,
            other => self.checked.special(block, other),
        })
    }

    fn set(&mut self, v: V, value: Value) {
        match v.src {
            Src::Reg(n) => self.regs[v.kind as usize][n as usize] = value,
            Src::Temp(n) => self.temps[v.kind as usize][n as usize] = value,
            _ => {}
        }
    }
}
