//! What can be seen of a warp while it handles an instruction: for observers and for reports.

use std::cell::Cell;

use ptx_isa::effect::{Effect, Fault, window};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::{Kind, Space};
use ptx_parse::code::{CallArg, Callee, Flow, Inst, Program};
use ptx_parse::module::Loc;

use crate::clock;
use crate::code::{Kernel, NONE, Step};
use crate::control::{State, Warp};
use crate::cta::{At, Cta, Group};
use crate::ctx::Ctx;
use crate::grid::Grid;
use crate::memory::Memory;
use crate::report::{CodePlace, FaultKind, Position, RegisterValue, Report, WarpPlace};
use crate::rows::{Base, Bases, Operand};

/// A warp at an instruction, while an event of it is handled.
pub struct Moment<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) grid: &'a Grid<'a>,
    pub(crate) cx: &'a Ctx,
    pub(crate) group: &'a Group,
    pub(crate) at: At,
    pub(crate) pc: u32,
    pub(crate) lanes: u32,
    pub(crate) steps: u64,
}

/// The 32 lanes of a register.
#[derive(Copy, Clone, Debug)]
pub enum RegisterRow<'r> {
    /// A predicate: a bit of each lane.
    Bits(u32),
    /// 32 bits a lane.
    Words(&'r [Cell<u32>; 32]),
    /// 64 bits a lane.
    Longs(&'r [Cell<u64>; 32]),
}

impl Moment<'_> {
    pub(crate) fn cta(&self) -> &Cta {
        &self.group.ctas[self.at.cta]
    }

    fn warp_state(&self) -> &Warp {
        &self.cta().warps[self.at.warp]
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        self.kernel
    }

    /// Index of the block.
    pub fn block(&self) -> [u32; 3] {
        self.cta().id
    }

    /// Rank of the block in its cluster.
    pub fn cluster_rank(&self) -> u32 {
        self.cta().rank
    }

    /// Number of the warp in its block.
    pub fn warp(&self) -> u32 {
        self.at.warp as u32
    }

    /// The lanes that execute together here. A guard may have switched some of them off.
    pub fn lanes(&self) -> u32 {
        self.lanes
    }

    /// Lanes of the warp that have not ended.
    pub fn live(&self) -> u32 {
        self.warp_state().live
    }

    /// Lanes of the warp that exist: fewer than 32 in the last warp of some blocks.
    pub fn all(&self) -> u32 {
        self.warp_state().all
    }

    /// Position in the decoded stream, by which [`Kernel::origin`] knows the instruction.
    pub fn pc(&self) -> u32 {
        self.pc
    }

    /// Index of the function in [`Program::functions`](ptx_parse::code::Program).
    pub fn function(&self) -> u32 {
        self.kernel.origin[self.pc as usize].0
    }

    /// Index of the instruction in its function's `insts`; the end of the function has one more.
    pub fn index(&self) -> u32 {
        self.kernel.origin[self.pc as usize].1
    }

    /// The instruction: its row gives the timing class, its micro-ops the registers. `None` at the
    /// end of a function.
    pub fn inst(&self) -> Option<&Inst> {
        let (function, index) = self.kernel.origin[self.pc as usize];
        self.kernel.program.functions[function as usize].insts.get(index as usize)
    }

    /// Where the instruction stands in the text.
    pub fn place(&self) -> CodePlace {
        code_place(self.kernel, self.pc)
    }

    /// Calls that led here, the innermost first.
    pub fn calls(&self) -> Vec<CodePlace> {
        let w = self.warp_state();
        let mut calls = Vec::new();
        let mut up = self.frame();
        while up != NONE && w.frames[up].call_pc != NONE && calls.len() < 64 {
            calls.push(code_place(self.kernel, w.frames[up].call_pc));
            up = w.frames[up].parent;
        }
        calls
    }

    /// Activation of the executing function, or [`NONE`].
    #[inline]
    fn frame(&self) -> u32 {
        self.warp_state().splits.get(self.at.split).map_or(NONE, |s| s.frame)
    }

    /// Number of the block in its grid, x fastest.
    pub fn block_number(&self) -> u64 {
        self.grid.geometry.linear(self.cta().id)
    }

    /// Number in its grid of the block of this rank in the cluster; `None` where there is none.
    pub fn block_of_rank(&self, rank: u32) -> Option<u64> {
        let cta = self.group.ctas.get(rank as usize)?;
        Some(self.grid.geometry.linear(cta.id))
    }

    /// Number in its grid of the block whose shared memory has this `.shared::cluster` address, and the offset there.
    pub fn block_of_shared(&self, address: u64) -> Option<(u64, u64)> {
        let rank = u32::try_from(address / window::SHARED_CTA).ok()?;
        Some((self.block_of_rank(rank)?, address % window::SHARED_CTA))
    }

    /// Number of the cluster, or of the block where there are no clusters.
    pub fn cluster(&self) -> u64 {
        self.group.index
    }

    /// Threads of a block.
    pub fn threads_per_block(&self) -> u32 {
        self.grid.geometry.threads_per_cta()
    }

    /// Lanes that exist and lanes that have not ended, by warp of the block.
    pub fn block_lanes(&self) -> impl Iterator<Item = (u32, u32)> {
        self.cta().warps.iter().map(|w| (w.all, w.live))
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.geometry.grid.iter().map(|n| u64::from(*n)).product()
    }

    /// Bytes of shared memory of a block, static and dynamic.
    pub fn shared_bytes(&self) -> u32 {
        self.grid.geometry.shared_bytes
    }

    /// Bytes of dynamic shared memory of a block.
    pub fn dynamic_bytes(&self) -> u32 {
        self.grid.geometry.dynamic_bytes
    }

    /// The memory of the launch.
    pub fn memory(&self) -> &Memory {
        self.grid.memory
    }

    /// Number of the activation that executes; numbers of ended ones are used again.
    #[inline]
    pub fn activation(&self) -> u32 {
        self.frame()
    }

    /// The local array of an activation that ends last at or before a local address: its name, size, and bytes from
    /// its end to the address. `None` inside of arrays and where nothing lies below.
    pub fn past_local(&self, address: u64) -> Option<(&str, u32, u64)> {
        let w = self.warp_state();
        let mut up = self.frame();
        while up != NONE {
            let a = &w.frames[up];
            let (start, function) = (u64::from(a.local), a.function as usize);
            if address >= start {
                let variables = &self.kernel.program.functions[function].local_vars;
                let below = variables.iter().filter(|v| start + u64::from(v.1) <= address);
                let (name, at, size) = below.max_by_key(|v| v.1)?;
                let end = start + u64::from(*at) + u64::from(*size);
                return (address >= end).then(|| (name.as_str(), *size, address - end));
            }
            up = a.parent;
        }
        None
    }

    /// Whether a local address lies in a local array of an activation that is under way.
    pub fn in_local_array(&self, address: u64) -> bool {
        let w = self.warp_state();
        let mut up = self.frame();
        while up != NONE {
            let a = &w.frames[up];
            let start = u64::from(a.local);
            let function = &self.kernel.program.functions[a.function as usize];
            if address >= start {
                let holds = |v: &(String, u32, u32)| {
                    let from = start + u64::from(v.1);
                    (from..from + u64::from(v.2)).contains(&address)
                };
                return function.local_vars.iter().any(holds);
            }
            up = a.parent;
        }
        false
    }

    /// The bytes that a lane is about to store; `None` where the instruction is no ordinary store.
    pub fn stored(&self, lane: u8) -> Option<Vec<u8>> {
        let step = &self.kernel.code[self.pc as usize];
        if !matches!(step.step, Step::Mem | Step::Effect) {
            return None;
        }
        let info = &self.kernel.effects[step.k as usize];
        let Effect::St(m) = &info.effect else { return None };
        let width = usize::from(m.bytes).min(8);
        let mut bytes = Vec::with_capacity(usize::from(m.bytes) * usize::from(m.count));
        for (operand, kind) in &info.src[1..] {
            // SAFETY: operands of effects carry the kind that they were decoded for, and the bases are those of the
            // executing split.
            let value = unsafe {
                match kind {
                    Kind::P => u64::from(self.cx.bases.p(*operand) >> lane & 1),
                    Kind::W => u64::from(self.cx.bases.w(*operand)[lane as usize & 31]),
                    Kind::D => self.cx.bases.d(*operand)[lane as usize & 31],
                }
            };
            bytes.extend_from_slice(&value.to_le_bytes()[..width]);
        }
        Some(bytes)
    }

    /// Whether two lanes execute the instruction, an effect, with the same operands.
    pub fn alike(&self, one: u8, other: u8) -> bool {
        let step = &self.kernel.code[self.pc as usize];
        let both = 1 << (one & 31) | 1 << (other & 31);
        if !matches!(step.step, Step::Mem | Step::Effect) || self.lanes & both != both {
            return false;
        }
        let [one, other] = [one, other].map(|lane| usize::from(lane & 31));
        self.kernel.effects[step.k as usize].src.iter().all(|(operand, kind)| {
            // SAFETY: as in `stored`.
            unsafe {
                match kind {
                    Kind::P => {
                        let p = self.cx.bases.p(*operand);
                        p >> one & 1 == p >> other & 1
                    }
                    Kind::W => self.cx.bases.w(*operand)[one] == self.cx.bases.w(*operand)[other],
                    Kind::D => self.cx.bases.d(*operand)[one] == self.cx.bases.d(*operand)[other],
                }
            }
        })
    }

    /// Thread index of a lane.
    pub fn thread(&self, lane: u8) -> [u32; 3] {
        self.grid.geometry.thread(self.at.warp as u32, lane)
    }

    /// The 32 lanes of a register of the executing function, by its kind and number there; a
    /// predicate is 0 or 1. `None` when the code does not use it.
    pub fn register(&self, kind: Kind, number: u32) -> Option<[u64; 32]> {
        let (row, bases) = self.row(kind, number)?;
        // SAFETY: the row belongs to this register's kind in the frame of its function.
        Some(unsafe {
            match kind {
                Kind::P => {
                    let p = bases.p(row);
                    std::array::from_fn(|l| (p >> l & 1) as u64)
                }
                Kind::W => bases.w(row).map(u64::from),
                Kind::D => *bases.d(row),
            }
        })
    }

    /// The 32 lanes of a register of the executing function, as they are kept. `None` when the code does not use it.
    #[inline(always)]
    pub fn register_row(&self, kind: Kind, number: u32) -> Option<RegisterRow<'_>> {
        let (row, bases) = self.row(kind, number)?;
        // SAFETY: as in `register`; frames stay while an event is handled.
        Some(unsafe { shared_row(&bases, row, kind) })
    }

    #[inline(always)]
    fn row(&self, kind: Kind, number: u32) -> Option<(Operand, Bases)> {
        let rows = &self.kernel.registers[self.function() as usize][kind as usize];
        let row = *rows.get(number as usize).filter(|o| !o.is_none())?;
        let frame = self.frame();
        if frame == NONE {
            return None;
        }
        let mut bases = Bases([std::ptr::null_mut(); 4]);
        bases.0[Base::Frame as usize] = self.warp_state().frames[frame].rows;
        // Rows outside the frame are constants that lanes share.
        (row.0 & 3 == Base::Frame as u32).then_some((row, bases))
    }

    /// Value of a special register in a lane.
    pub fn special(&self, lane: u8, reg: Sreg) -> u64 {
        if clock::changes(reg) {
            return clock::read(reg, self.steps, self.grid.clock());
        }
        let (id, rank) = (self.cta().id, self.cta().rank);
        self.grid.geometry.special(id, rank, self.at.warp as u32, lane as u32, reg)
    }

    /// Warp instructions that this host thread has issued in the launch.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Reads memory as a lane would.
    ///
    /// # Errors
    /// The fault that the lane would have.
    pub fn read(&self, lane: u8, space: Space, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.cx.read(lane, space, address, out)
    }

    /// Where the warps of the block, and of others of its cluster, stand.
    pub fn warps(&self) -> Vec<WarpPlace> {
        warps(self.kernel, self.group)
    }

    /// A report about one lane.
    pub(crate) fn report(&self, lane: u8, kind: FaultKind, message: String) -> Box<Report> {
        Box::new(Report {
            kind,
            message,
            kernel: self.kernel.name().into(),
            place: Some(self.place()),
            block: self.block(),
            thread: self.thread(lane),
            lanes: self.lanes,
            access: None,
            registers: self.registers(lane),
            calls: self.calls(),
            warps: Vec::new(),
        })
    }

    /// Registers that the instruction reads or writes, in one lane.
    pub fn registers(&self, lane: u8) -> Vec<RegisterValue> {
        let function = &self.kernel.program.functions[self.function() as usize];
        let Some(inst) = self.inst() else { return Vec::new() };
        let mut values: Vec<V> = inst.guard.iter().map(|(v, _)| *v).collect();
        for uop in &function.uops[inst.uops.start as usize..inst.uops.end as usize] {
            match uop {
                Uop::Pure { op, args, .. } => values.extend(&args[..op.args().len()]),
                Uop::Effect { src, .. } => values.extend(src),
            }
        }
        match &inst.flow {
            Flow::Brx { index, .. } => values.push(*index),
            Flow::Call(call) => {
                if let Callee::Indirect(v) = call.callee {
                    values.push(v);
                }
                values.extend(call.args.iter().filter_map(|a| match a {
                    CallArg::Value(v) => Some(*v),
                    CallArg::Frame { .. } | CallArg::Sink => None,
                }));
            }
            Flow::Next | Flow::Bra(_) | Flow::Ret | Flow::Exit => {}
        }
        let mut out: Vec<RegisterValue> = Vec::new();
        for v in values {
            let Src::Reg(number) = v.src else { continue };
            let names = &function.reg_names[v.kind as usize];
            let Some(name) = names.get(number as usize).map(ToString::to_string) else { continue };
            if out.iter().any(|r| r.name == name) {
                continue;
            }
            let Some(values) = self.register(v.kind, number) else { continue };
            let bits = match v.kind {
                Kind::P => 1,
                Kind::W => 32,
                Kind::D => 64,
            };
            out.push(RegisterValue { name, bits, value: values[lane as usize & 31] });
        }
        out
    }
}

/// A row. Its lanes are cells, as an observer that looks at them may set registers.
///
/// # Safety
/// `row` must be an operand of this kind, decoded for what the bases point to, which stays for `'r`.
#[inline(always)]
pub(crate) unsafe fn shared_row<'r>(bases: &Bases, row: Operand, kind: Kind) -> RegisterRow<'r> {
    // SAFETY: the caller vouches for the row, and for how long it is there; cells may be written while others refer to
    // them, and rows belong to one host thread.
    unsafe {
        match kind {
            Kind::P => RegisterRow::Bits(bases.p(row)),
            Kind::W => RegisterRow::Words(&*bases.ptr(row).cast()),
            Kind::D => RegisterRow::Longs(&*bases.ptr(row).cast()),
        }
    }
}

/// The PTX instruction behind a program counter.
pub(crate) fn code_place(kernel: &Kernel, pc: u32) -> CodePlace {
    let (function, index) = kernel.origin[pc as usize];
    place_of(&kernel.program, function, index)
}

/// Where instruction `index` of a function stands in the text.
pub fn place_of(program: &Program, function: u32, index: u32) -> CodePlace {
    let function = &program.functions[function as usize];
    let Some(inst) = function.insts.get(index as usize) else {
        let ptx = Position { file: program.module.to_string(), line: 0, column: 0 };
        let function = function.name.clone();
        return CodePlace { function, ptx, source: None, text: String::new() };
    };
    let (start, end) = (inst.span.start as usize, inst.span.end as usize);
    let text = program.source.get(start..end).unwrap_or("");
    let before = program.source.get(..start).unwrap_or("");
    let line_start = before.rfind('\n').map_or(0, |n| n + 1);
    let ptx = Position {
        file: program.module.to_string(),
        line: before.matches('\n').count() as u32 + 1,
        column: before[line_start..].chars().count() as u32 + 1,
    };
    let source = inst.loc.and_then(|n| Loc::own(&function.locs, n)).map(|loc| {
        let file = program.files.iter().find(|(n, _)| *n == loc.file);
        let file = file.map_or_else(|| format!("file {}", loc.file), |(_, name)| name.clone());
        Position { file, line: loc.line, column: loc.column }
    });
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    CodePlace { function: function.name.clone(), ptx, source, text }
}

/// Where the splits of a group are.
pub(crate) fn warps(kernel: &Kernel, group: &Group) -> Vec<WarpPlace> {
    let mut out = Vec::new();
    for cta in &group.ctas {
        for (warp, w) in cta.warps.iter().enumerate() {
            let mut add = |lanes: u32, state: String, pc: u32| {
                let (block, warp, place) = (cta.id, warp as u32, code_place(kernel, pc));
                out.push(WarpPlace { block, warp, lanes, state, place });
            };
            for s in &w.splits {
                let state = match s.state {
                    State::Ready => "runs".to_string(),
                    State::Bar(n) => format!("waits at barrier {n}"),
                    State::Cluster => "waits at the cluster barrier".into(),
                    State::Sync(m) => format!("waits for lanes {m:#010x}"),
                    State::Product(_) | State::Products(_) => {
                        "waits for the other warps of the warpgroup".into()
                    }
                };
                add(s.mask, state, s.pc);
            }
            for (lanes, pc) in w.waiting_lanes() {
                add(lanes, "waits to reconverge".into(), pc);
            }
        }
    }
    out
}
