//! Builds the reports of faults from the state in which they happen.

use ptx_isa::effect::{Fault, window};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::{Kind, Space};
use ptx_parse::code::{CallArg, Callee, Flow};

use crate::code::NONE;
use crate::control::{State, Warp};
use crate::cta::Group;
use crate::effects::Trouble;
use crate::observer::Observer;
use crate::report::*;
use crate::rows::{Base, Bases};
use crate::worker::{At, Stopped, Worker};

impl<O: Observer> Worker<'_, O> {
    /// Thread index of a lane.
    pub(crate) fn thread(&self, warp: usize, lane: u8) -> [u32; 3] {
        [Sreg::TidX, Sreg::TidY, Sreg::TidZ]
            .map(|r| self.l.geometry.special([0; 3], 0, warp as u32, lane as u32, r) as u32)
    }

    /// The PTX instruction behind a program counter.
    pub(crate) fn code_place(&self, pc: u32) -> CodePlace {
        let program = &self.k.program;
        let (f, n) = self.k.origin[pc as usize];
        let function = &program.functions[f as usize];
        let Some(inst) = function.insts.get(n as usize) else {
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
        let source = inst.loc.and_then(|n| function.locs.get(n as usize)).map(|loc| {
            let file = program.files.iter().find(|(n, _)| *n == loc.file);
            let file = file.map_or_else(|| format!("file {}", loc.file), |(_, name)| name.clone());
            Position { file, line: loc.line, column: loc.column }
        });
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        CodePlace { function: function.name.clone(), ptx, source, text }
    }

    /// A report about one lane of a split.
    #[allow(clippy::too_many_arguments)]
    fn report(
        &self,
        group: &Group,
        at: At,
        pc: u32,
        mask: u32,
        lane: u8,
        kind: FaultKind,
        message: String,
    ) -> Box<Report> {
        let cta = &group.ctas[at.cta];
        let w = &cta.warps[at.warp];
        let frame = w.splits.get(at.split).map_or(NONE, |s| s.frame);
        let mut calls = Vec::new();
        let mut up = frame;
        while up != NONE && w.frames[up].call_pc != NONE && calls.len() < 64 {
            calls.push(self.code_place(w.frames[up].call_pc));
            up = w.frames[up].parent;
        }
        Box::new(Report {
            kind,
            message,
            kernel: self.k.name().into(),
            place: Some(self.code_place(pc)),
            block: cta.id,
            thread: self.thread(at.warp, lane),
            lanes: mask,
            access: None,
            registers: self.registers(w, frame, pc, lane),
            calls,
            warps: Vec::new(),
        })
    }

    /// Registers that the instruction at `pc` reads or writes, in one lane.
    fn registers(&self, w: &Warp, frame: u32, pc: u32, lane: u8) -> Vec<RegisterValue> {
        let (f, n) = self.k.origin[pc as usize];
        let function = &self.k.program.functions[f as usize];
        let Some(inst) = function.insts.get(n as usize) else { return Vec::new() };
        if frame == NONE {
            return Vec::new();
        }
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
                    _ => None,
                }));
            }
            _ => {}
        }
        let mut bases = Bases([std::ptr::null_mut(); 4]);
        bases.0[Base::Frame as usize] = w.frames[frame].rows;
        let mut out: Vec<RegisterValue> = Vec::new();
        for v in values {
            let Src::Reg(number) = v.src else { continue };
            let known = self.k.registers[f as usize][v.kind as usize].get(number as usize);
            let Some(&row) = known.filter(|o| !o.is_none()) else { continue };
            let names = &function.reg_names[v.kind as usize];
            let Some(name) = names.get(number as usize).map(ToString::to_string) else { continue };
            if out.iter().any(|r| r.name == name) {
                continue;
            }
            let l = lane as usize & 31;
            // SAFETY: the row belongs to this register's kind in the frame of its function.
            let (bits, value) = unsafe {
                match v.kind {
                    Kind::P => (1, (bases.p(row) >> l & 1) as u64),
                    Kind::W => (32, bases.w(row)[l] as u64),
                    Kind::D => (64, bases.d(row)[l]),
                }
            };
            out.push(RegisterValue { name, bits, value });
        }
        out
    }

    #[cold]
    pub(crate) fn trouble_report(
        &self,
        group: &Group,
        at: At,
        pc: u32,
        mask: u32,
        trouble: Trouble,
    ) -> Stopped {
        match trouble {
            Trouble::Fault(f) => self.fault_report(group, at, pc, mask, f),
            Trouble::Kind(lane, kind, message) => {
                self.report(group, at, pc, mask, lane, kind, message)
            }
        }
    }

    #[cold]
    pub(crate) fn fault_report(
        &self,
        group: &Group,
        at: At,
        pc: u32,
        mask: u32,
        fault: Fault,
    ) -> Stopped {
        let message = fault.to_string();
        match fault {
            Fault::OutOfBounds { lane, space, address, bytes, write } => {
                let (kind, message) = self.outside(space, address, bytes, write);
                let mut r = self.report(group, at, pc, mask, lane, kind, message);
                r.access = Some(self.access_info(space, address, bytes, write));
                r
            }
            Fault::Misaligned { lane, space, address, bytes, write } => {
                let kind = FaultKind::Misaligned;
                let message = format!(
                    "misaligned {} at {} address {address:#x}: it must be a multiple of {bytes}",
                    verb(write),
                    space_name(space)
                );
                let mut r = self.report(group, at, pc, mask, lane, kind, message);
                r.access = Some(self.access_info(space, address, bytes, write));
                r
            }
            Fault::Operand { lane, message } => {
                self.report(group, at, pc, mask, lane, FaultKind::Operand, message)
            }
            _ => self.report(group, at, pc, mask, 0, FaultKind::Operand, message),
        }
    }

    /// What kind of bad access it is, as a sentence.
    fn outside(&self, space: Space, address: u64, bytes: u32, write: bool) -> (FaultKind, String) {
        let generic = space == Space::Generic;
        let param = generic && address.wrapping_sub(window::PARAM) < window::PARAM_SIZE;
        if write && (space == Space::ParamEntry || param) {
            let message = format!("write of {bytes} bytes to kernel parameters at {address:#x}");
            return (FaultKind::ReadOnly, message);
        }
        if write
            && address >= window::GLOBAL
            && let Some(a) = self.cx.memory.find(address)
            && a.access == crate::memory::Access::ReadOnly
        {
            let message =
                format!("write of {bytes} bytes to constant memory at {address:#x} (`{}`)", a.name);
            return (FaultKind::ReadOnly, message);
        }
        let small = matches!(space, Space::Generic | Space::Global | Space::Const);
        if small && address < 0x1_0000 {
            let message = format!("null pointer: {} of {bytes} bytes at {address:#x}", verb(write));
            return (FaultKind::NullPointer, message);
        }
        let message = format!(
            "out of bounds: {} of {bytes} bytes at {} address {address:#x}{}",
            verb(write),
            space_name(space),
            match space {
                Space::Shared | Space::SharedCluster =>
                    format!(" (the block has {} bytes)", self.l.geometry.shared_bytes),
                Space::Local | Space::ParamFunc =>
                    format!(" (the thread's frame ends at {:#x})", self.cx.local.1),
                Space::ParamEntry =>
                    format!(" (the kernel has {} bytes)", self.k.program.param_bytes),
                _ => String::new(),
            }
        );
        (FaultKind::OutOfBounds, message)
    }

    fn access_info(&self, space: Space, address: u64, bytes: u32, write: bool) -> AccessInfo {
        let global = matches!(space, Space::Generic | Space::Global | Space::Const);
        let near = global && address >= window::PARAM + window::PARAM_SIZE;
        let nearest = if near {
            self.cx.memory.nearest(address)
        } else if space == Space::Shared {
            self.shared_variable(address).map(|a| (a, address)).map(|(a, at)| {
                let d = if at < a.start {
                    -((a.start - at) as i64)
                } else if at - a.start < a.size {
                    0
                } else {
                    (at - a.start - a.size + 1) as i64
                };
                (a, d)
            })
        } else {
            None
        };
        AccessInfo { space: space_name(space).into(), address, bytes, write, nearest }
    }

    /// The shared variable that starts last at or below `address`.
    fn shared_variable(&self, address: u64) -> Option<crate::memory::Allocation> {
        let vars = &self.k.program.shared_vars;
        let (name, at, size) = vars.iter().filter(|v| v.1 as u64 <= address).max_by_key(|v| v.1)?;
        let size = if *size == 0 { self.l.geometry.dynamic_bytes } else { *size };
        Some(crate::memory::Allocation {
            start: *at as u64,
            size: size as u64,
            name: name.as_str().into(),
            access: crate::memory::Access::ReadWrite,
            heap: false,
        })
    }

    #[cold]
    pub(crate) fn branch_index_report(
        &self,
        group: &Group,
        at: At,
        pc: u32,
        mask: u32,
        index: u32,
    ) -> Stopped {
        let table = &self.k.tables[self.k.code[pc as usize].k as usize];
        let message =
            format!("branch with index {index}: the table has {} targets", table.targets.len());
        let lane = crate::effects::first(mask);
        self.report(group, at, pc, mask, lane, FaultKind::BranchIndex, message)
    }

    /// Every warp waits.
    #[cold]
    pub(crate) fn deadlock(&self, group: &Group) -> Stopped {
        let warps = self.waiting(group);
        let mut divergent = false;
        for cta in &group.ctas {
            for w in &cta.warps {
                let mut places: Vec<_> =
                    w.splits.iter().filter(|s| matches!(s.state, State::Bar(_))).collect();
                places.dedup_by_key(|s| s.pc);
                let held: u32 = w.splits.iter().fold(0, |m, s| m | s.mask);
                divergent |= places.len() > 1 || !places.is_empty() && held != w.live;
            }
        }
        let (kind, message) = if divergent {
            let message = "deadlock: lanes of a warp wait at different places of a barrier";
            (FaultKind::DivergentBarrier, message)
        } else {
            (FaultKind::Deadlock, "deadlock: every warp of the block waits at a barrier")
        };
        let at = group
            .ctas
            .iter()
            .enumerate()
            .find_map(|(cta, c)| {
                let warp = c.warps.iter().position(|w| !w.splits.is_empty())?;
                Some(At { cta, warp, split: c.warps[warp].splits.len() - 1 })
            })
            .unwrap_or(At { cta: 0, warp: 0, split: 0 });
        self.whole_report(group, at, kind, message.into(), warps)
    }

    /// A limit of the launch was reached while this group ran.
    #[cold]
    pub(crate) fn limit_report(&self, group: &Group, kind: FaultKind, message: String) -> Stopped {
        let warps = self.waiting(group);
        let mut message = message;
        let held = group.ctas.iter().flat_map(|c| &c.warps).any(Warp::has_waiting);
        if self.stack && held && kind != FaultKind::Cancelled {
            message.push_str(
                "; lanes wait for others of their warp to reconverge: below sm_70 a lane that waits \
                 for another lane of its warp never ends",
            );
        }
        let at = group
            .ctas
            .iter()
            .enumerate()
            .find_map(|(cta, c)| {
                let warp = c.warps.iter().position(|w| !w.splits.is_empty())?;
                Some(At { cta, warp, split: c.warps[warp].splits.len() - 1 })
            })
            .unwrap_or(At { cta: 0, warp: 0, split: 0 });
        self.whole_report(group, at, kind, message, warps)
    }

    fn whole_report(
        &self,
        group: &Group,
        at: At,
        kind: FaultKind,
        message: String,
        warps: Vec<WarpPlace>,
    ) -> Stopped {
        let cta = &group.ctas[at.cta];
        let split = cta.warps.get(at.warp).and_then(|w| w.splits.get(at.split));
        match split {
            Some(s) => {
                let lane = crate::effects::first(s.mask);
                let mut r = self.report(group, at, s.pc, s.mask, lane, kind, message);
                r.registers.clear();
                r.warps = warps;
                r
            }
            None => Box::new(Report {
                kind,
                message,
                kernel: self.k.name().into(),
                place: None,
                block: cta.id,
                thread: [0; 3],
                lanes: 0,
                access: None,
                registers: Vec::new(),
                calls: Vec::new(),
                warps,
            }),
        }
    }

    /// Where the splits of a group are.
    fn waiting(&self, group: &Group) -> Vec<WarpPlace> {
        let mut out = Vec::new();
        for cta in &group.ctas {
            for (warp, w) in cta.warps.iter().enumerate() {
                for s in &w.splits {
                    let state = match s.state {
                        State::Ready => "runs".to_string(),
                        State::Bar(n) => format!("waits at barrier {n}"),
                        State::Cluster => "waits at the cluster barrier".into(),
                        State::Sync(m) => format!("waits for lanes {m:#010x}"),
                    };
                    out.push(WarpPlace {
                        block: cta.id,
                        warp: warp as u32,
                        lanes: s.mask,
                        state,
                        place: self.code_place(s.pc),
                    });
                }
                for (lanes, pc) in w.waiting_lanes() {
                    out.push(WarpPlace {
                        block: cta.id,
                        warp: warp as u32,
                        lanes,
                        state: "waits to reconverge".into(),
                        place: self.code_place(pc),
                    });
                }
            }
        }
        out
    }
}

fn verb(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Shared => "shared",
        Space::SharedCluster => "shared::cluster",
        Space::Local | Space::ParamFunc => "local",
        Space::Const => "const",
        Space::ParamEntry => "param",
        Space::Reg | Space::Sreg | Space::Tex => "register",
    }
}
