//! How long a thread of a launch will run: one is rehearsed on scalars, and nothing of it stays.
//!
//! Loops turn as often as the launch's parameters and memory say, which no look at the code alone can tell.

use std::collections::HashMap;

use ptx_interp::{Checked, Kernel, LaunchParams, Memory};
use ptx_isa::effect::{Atom, Effect, Mem, MemoryPlace, Sys, window};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::uop::eval;
use ptx_isa::{Kind, Space};
use ptx_parse::code::{
    ArgumentLocation, Call, CallArg, Callee, Flow, Function, Program, function_of_address,
};

/// Whether a thread of the launch executes at least `most` PTX instructions. The first of the grid and one in its midst
/// are asked; `false` where that depends on what other threads do.
pub(crate) fn lasts(kernel: &Kernel, memory: &Memory, launch: &LaunchParams, most: u64) -> bool {
    let Ok(checked) = Checked::new(kernel, launch) else { return false };
    let midst = |n: [u32; 3]| n.map(|n| n / 2);
    [([0; 3], [0; 3]), (midst(launch.grid), midst(launch.block))].into_iter().any(|at| {
        let program = kernel.program();
        let mut thread = Rehearsal {
            program,
            memory,
            launch,
            checked: &checked,
            at,
            alone: launch.grid == [1; 3] && launch.block == [1; 3],
            frames: vec![Frame::new(program, 0, 0)],
            stored: HashMap::new(),
        };
        thread.lasts(most)
    })
}

/// A value; `None`: not known.
type Value = Option<u64>;

/// What ends a rehearsal early: it depends on what is not known.
struct Unknown;

/// Most calls in one another that are followed.
const DEPTH: usize = 64;

/// A function on its way.
struct Frame<'a> {
    function: &'a Function,
    /// Where its frame begins in local memory.
    base: u64,
    /// By kind and number.
    regs: [Vec<Value>; 3],
    temps: [Vec<Value>; 3],
    /// The call that began it, and the caller's instruction behind that.
    by: Option<(&'a Call, usize)>,
}

impl<'a> Frame<'a> {
    fn new(program: &'a Program, function: usize, base: u64) -> Frame<'a> {
        let function = &program.functions[function];
        let row = |count: u32| vec![Some(0); count as usize];
        let (regs, temps) = (function.regs.map(row), function.temps.map(row));
        Frame { function, base, regs, temps, by: None }
    }
}

/// A thread on its way.
struct Rehearsal<'a> {
    program: &'a Program,
    memory: &'a Memory,
    launch: &'a LaunchParams,
    checked: &'a Checked,
    /// Block and thread.
    at: ([u32; 3], [u32; 3]),
    /// Whether the launch has no other thread.
    alone: bool,
    /// Functions in one another; the last one runs.
    frames: Vec<Frame<'a>>,
    /// What the thread has stored, by state space and address.
    stored: HashMap<(Space, u64), Value>,
}

impl<'a> Rehearsal<'a> {
    fn lasts(&mut self, most: u64) -> bool {
        let mut pc = 0;
        for _ in 0..most {
            match self.step(pc) {
                Ok(Some(next)) => pc = next,
                Ok(None) | Err(Unknown) => return false,
            }
        }
        true
    }

    fn frame(&self) -> &Frame<'a> {
        &self.frames[self.frames.len() - 1]
    }

    fn frame_mut(&mut self) -> &mut Frame<'a> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// Executes an instruction; the next one, if the thread goes on.
    fn step(&mut self, pc: usize) -> Result<Option<usize>, Unknown> {
        let function = self.frame().function;
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
            Flow::Call(call) => self.call(call, pc + 1),
            Flow::Ret => Ok(self.returns()),
            Flow::Exit => Ok(None),
        }
    }

    /// Begins a function; its first instruction.
    fn call(&mut self, call: &'a Call, back: usize) -> Result<Option<usize>, Unknown> {
        let callee = match call.callee {
            Callee::Direct(function) => function as usize,
            Callee::Indirect(v) => {
                let id = self.get(v).and_then(function_of_address).ok_or(Unknown)?;
                self.program.functions.iter().position(|f| f.id == id).ok_or(Unknown)?
            }
        };
        if self.frames.len() == DEPTH {
            return Err(Unknown);
        }
        let caller = self.frame();
        let base = caller.base + u64::from(caller.function.frame_bytes).next_multiple_of(16);
        let from = caller.base;
        let values: Vec<Value> = call.args.iter().map(|arg| self.argument(arg)).collect();
        self.frames
            .push(Frame { by: Some((call, back)), ..Frame::new(self.program, callee, base) });
        let params = self.frame().function.params.iter();
        for ((arg, param), value) in call.args.iter().zip(params).zip(values) {
            self.pass((arg, from), (param, base), value);
        }
        Ok(Some(0))
    }

    /// Ends a function; the caller's next instruction, if there is a caller.
    fn returns(&mut self) -> Option<usize> {
        let ended = self.frames.pop()?;
        let (call, back) = ended.by?;
        let base = self.frame().base;
        for (ret, location) in call.rets.iter().zip(&ended.function.rets) {
            match (*ret, *location) {
                (CallArg::Value(v), ArgumentLocation::Reg(own)) => {
                    let value = match own.src {
                        Src::Reg(n) => ended.regs[own.kind as usize][n as usize],
                        _ => None,
                    };
                    self.set(v, value);
                }
                (CallArg::Frame { offset: to, bytes }, ArgumentLocation::Frame { offset, .. }) => {
                    self.copy(ended.base + u64::from(offset), base + u64::from(to), bytes);
                }
                _ => {}
            }
        }
        Some(back)
    }

    fn argument(&self, arg: &CallArg) -> Value {
        match arg {
            CallArg::Value(v) => self.get(*v),
            CallArg::Frame { .. } | CallArg::Sink => None,
        }
    }

    /// Hands an argument over; frames begin at the addresses beside them.
    fn pass(
        &mut self,
        (arg, from): (&CallArg, u64),
        (param, to): (&ArgumentLocation, u64),
        value: Value,
    ) {
        match (*arg, *param) {
            (_, ArgumentLocation::Reg(r)) => self.set(r, value),
            (CallArg::Frame { offset, bytes }, ArgumentLocation::Frame { offset: own, .. }) => {
                self.copy(from + u64::from(offset), to + u64::from(own), bytes);
            }
            _ => {}
        }
    }

    /// Copies what is known of local memory.
    fn copy(&mut self, from: u64, to: u64, bytes: u32) {
        for n in 0..u64::from(bytes) {
            match self.stored.get(&(Space::Local, from + n)).copied() {
                Some(value) => self.stored.insert((Space::Local, to + n), value),
                None => self.stored.remove(&(Space::Local, to + n)),
            };
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
                    Effect::Atom(a) => results.fill(self.atom(a, src)),
                    Effect::Sys(Sys::AssertFail) => return Err(Unknown),
                    // What they return is not known, and memory of the kernel's own is not looked at.
                    Effect::Sys(Sys::Vprintf | Sys::Malloc | Sys::Free) => {}
                    Effect::Bar(_) | Effect::Fence(_) | Effect::Warp(_) => {}
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
    fn place(&self, place: &MemoryPlace, base: V) -> Option<(Space, u64)> {
        let address = self.get(base)?.wrapping_add(place.offset as u64);
        let address = if base.kind == Kind::W { address & 0xffff_ffff } else { address };
        match window::locate(place.space, address) {
            (Space::Const, a) => Some((Space::Global, a)),
            (Space::ParamFunc, a) => Some((Space::Local, a)),
            // The first block of a cluster.
            (Space::Shared | Space::SharedCluster, a) if self.alone => Some((Space::Shared, a)),
            (space @ (Space::Global | Space::Local | Space::ParamEntry), a) => Some((space, a)),
            _ => None,
        }
    }

    fn load(&self, m: &Mem, src: &[V], dst: &[V]) -> Vec<Value> {
        let at = self.place(&m.place, src[0]);
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
            Space::Shared => return None,
            Space::ParamEntry => {
                let from = usize::try_from(address).ok()?;
                out.copy_from_slice(self.launch.params.get(from..from.checked_add(out.len())?)?);
            }
            _ => {}
        }
        Some(u64::from_le_bytes(bytes))
    }

    /// An atomic of the only thread; the old value.
    fn atom(&mut self, a: &Atom, src: &[V]) -> Value {
        let at =
            self.place(&a.place, src[0]).filter(|_| self.alone && a.count == 1 && a.bytes <= 8);
        let (space, address) = at?;
        let old = match self.stored.get(&(space, address)) {
            Some(stored) => *stored,
            None => self.before(space, address, u64::from(a.bytes)),
        };
        let operand = |n: usize| src.get(n).map_or(Some(0), |v| self.get(*v));
        let new = match (old, operand(1), operand(2)) {
            (Some(old), Some(b), Some(c)) => {
                Some(a.op.apply(a.bytes, space == Space::Shared, old, b, c))
            }
            _ => None,
        };
        self.stored.insert((space, address), new);
        old
    }

    fn store(&mut self, m: &Mem, src: &[V]) {
        let Some((space, address)) = self.place(&m.place, src[0]) else { return };
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
            Src::Reg(n) => self.frame().regs[v.kind as usize][n as usize],
            Src::Temp(n) => self.frame().temps[v.kind as usize][n as usize],
            Src::Const(c) => Some(c),
            // The first block of a cluster.
            Src::Shared(at) => Some(u64::from(at)),
            Src::Special(register) => self.special(register),
            Src::Symbol(id, add) => symbol(id, add),
            Src::SymbolLow(id, add) => symbol(id, add).map(|a| a & 0xffff_ffff),
            Src::Function(_) => None,
            Src::Frame(at) | Src::FrameLow(at) => Some(self.frame().base + u64::from(at)),
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
            Src::Reg(n) => self.frame_mut().regs[v.kind as usize][n as usize] = value,
            Src::Temp(n) => self.frame_mut().temps[v.kind as usize][n as usize] = value,
            _ => {}
        }
    }
}
