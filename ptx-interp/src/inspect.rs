//! What a debugger sees of the cluster under way: where every lane stands, its registers, its memory.
//!
//! A [`Moment`] is about the warp that executes. From it one finds every other lane of the block and
//! of its cluster; lanes of blocks that have ended, or not started, are nowhere.

use ptx_isa::effect::{Fault, window};
use ptx_isa::special::Sreg;
use ptx_isa::{Kind, Space};

use crate::clock;
use crate::code::NONE;
use crate::control::{State, Warp};
use crate::moment::{Moment, RegisterRow, code_place, shared_row};
use crate::report::CodePlace;
use crate::rows::{Base, Bases};

/// What lanes wait for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Waits {
    /// They can run.
    Nothing,
    /// The block's barrier of this number.
    Barrier(u8),
    /// The cluster's barrier.
    ClusterBarrier,
    /// These lanes of their warp, at an instruction with a member mask.
    Lanes(u32),
    /// The other warps of the warpgroup, at a product or for products.
    Warpgroup,
    /// Other lanes, to go on together.
    Reconvergence,
}

/// A point where lanes that went different ways meet.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Reconvergence {
    /// Function and PTX instruction.
    pub at: (u32, u32),
    /// The lanes that meet.
    pub members: u32,
    /// Those that are there.
    pub arrived: u32,
}

/// Lanes of a warp that stand together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    /// The lanes.
    pub lanes: u32,
    /// Function and PTX instruction that they execute next.
    pub at: (u32, u32),
    /// What they wait for.
    pub waits: Waits,
    /// Where they will meet others, the nearest first: the reconvergence stack.
    pub stack: Vec<Reconvergence>,
}

/// A lane of the cluster under way, and where it stands.
#[derive(Copy, Clone)]
pub struct Lane<'a> {
    moment: &'a Moment<'a>,
    cta: usize,
    warp: usize,
    /// Number in its warp.
    pub lane: u8,
    /// The lanes that stand together with it.
    pub lanes: u32,
    /// Position in the decoded stream of the instruction that it executes next.
    pub pc: u32,
    frame: u32,
}

impl<'a> Moment<'a> {
    /// Blocks under way: those of the cluster.
    pub fn cluster_blocks(&self) -> Vec<[u32; 3]> {
        self.group.ctas.iter().map(|c| c.id).collect()
    }

    /// Warps of a block.
    pub fn warp_count(&self) -> u32 {
        self.cta().warps.len() as u32
    }

    fn warp_at(&self, cta: usize, warp: usize) -> Option<&Warp> {
        self.group.ctas.get(cta)?.warps.get(warp)
    }

    /// The pc of split `n`: that of the executing one is not in its warp.
    fn split_pc(&self, cta: usize, warp: usize, n: usize, pc: u32) -> u32 {
        let here = (self.at.cta, self.at.warp, self.at.split) == (cta, warp, n);
        if here { self.pc } else { pc }
    }

    /// Where the lanes of a warp stand; `None` when its block is not under way.
    pub fn splits(&self, block: [u32; 3], warp: u32) -> Option<Vec<Split>> {
        let cta = self.group.ctas.iter().position(|c| c.id == block)?;
        let w = self.warp_at(cta, warp as usize)?;
        let origin = |pc: u32| self.kernel.origin.get(pc as usize).copied().unwrap_or((0, 0));
        let stack = |join: u32| {
            let joins = w.joins(join);
            let one = |j: crate::control::Join| Reconvergence {
                at: origin(j.pc),
                members: j.members,
                arrived: j.arrived,
            };
            joins.map(one).collect::<Vec<_>>()
        };
        let mut all = Vec::new();
        for (n, s) in w.splits.iter().enumerate() {
            let pc = self.split_pc(cta, warp as usize, n, s.pc);
            let waits = match s.state {
                State::Ready => Waits::Nothing,
                State::Bar(n) => Waits::Barrier(n),
                State::Cluster => Waits::ClusterBarrier,
                State::Sync(lanes) => Waits::Lanes(lanes),
                State::Product(_) | State::Products(_) => Waits::Warpgroup,
            };
            all.push(Split { lanes: s.mask, at: origin(pc), waits, stack: stack(s.join) });
        }
        for (n, j) in w.occupied_joins() {
            let waits = Waits::Reconvergence;
            all.push(Split { lanes: j.arrived, at: origin(j.pc), waits, stack: stack(n) });
        }
        Some(all)
    }

    /// A lane of a block of the cluster; `None` when it is not under way or has ended.
    pub fn lane(&'a self, block: [u32; 3], warp: u32, lane: u8) -> Option<Lane<'a>> {
        let cta = self.group.ctas.iter().position(|c| c.id == block)?;
        let w = self.warp_at(cta, warp as usize)?;
        let bit = 1u32.checked_shl(lane.into())?;
        let found = |lanes, pc, frame| {
            Some(Lane { moment: self, cta, warp: warp as usize, lane, lanes, pc, frame })
        };
        if let Some((n, s)) = w.splits.iter().enumerate().find(|(_, s)| s.mask & bit != 0) {
            return found(s.mask, self.split_pc(cta, warp as usize, n, s.pc), s.frame);
        }
        let (_, j) = w.occupied_joins().find(|(_, j)| j.arrived & bit != 0)?;
        found(j.arrived, j.pc, j.frame)
    }

    /// Shared memory of a block under way.
    fn shared_of(&self, cta: usize) -> Option<(*mut u8, u64)> {
        self.cx.cluster.get(cta).copied()
    }
}

impl Lane<'_> {
    fn warp_state(&self) -> &Warp {
        &self.moment.group.ctas[self.cta].warps[self.warp]
    }

    /// Function and PTX instruction that it executes next.
    pub fn at(&self) -> (u32, u32) {
        self.moment.kernel.origin[self.pc as usize]
    }

    /// Thread index in its block.
    pub fn thread(&self) -> [u32; 3] {
        self.moment.grid.geometry.thread(self.warp as u32, self.lane)
    }

    /// Index of its block.
    pub fn block(&self) -> [u32; 3] {
        self.moment.group.ctas[self.cta].id
    }

    /// Number of its warp.
    pub fn warp(&self) -> u32 {
        self.warp as u32
    }

    /// Another lane of those that stand together with it, or this one.
    pub fn sibling(&self, lane: u8) -> Self {
        let there = lane < 32 && self.lanes >> lane & 1 != 0;
        Lane { lane: if there { lane } else { self.lane }, ..*self }
    }

    /// Value of a special register in a lane of its warp.
    pub fn special(&self, lane: u8, reg: Sreg) -> u64 {
        if clock::changes(reg) {
            return clock::read(reg, self.moment.steps, self.moment.grid.clock());
        }
        let cta = &self.moment.group.ctas[self.cta];
        let geometry = &self.moment.grid.geometry;
        geometry.special(cta.id, cta.rank, self.warp as u32, lane as u32, reg)
    }

    /// Activations from the executing one outwards.
    fn frames(&self) -> impl Iterator<Item = u32> {
        let w = self.warp_state();
        let mut frame = self.frame;
        std::iter::from_fn(move || {
            if frame == NONE {
                return None;
            }
            let this = frame;
            frame = w.frames[frame].parent;
            Some(this)
        })
    }

    /// Calls that led here: 0 in the kernel itself.
    pub fn depth(&self) -> u32 {
        self.frames().count().saturating_sub(1) as u32
    }

    /// Where the activation `up` calls outwards stands: where the lane is, or the call.
    pub fn place(&self, up: u32) -> Option<CodePlace> {
        let pc = self.pc_of(up)?;
        Some(code_place(self.moment.kernel, pc))
    }

    /// Position in the decoded stream of the activation `up` calls outwards.
    pub fn pc_of(&self, up: u32) -> Option<u32> {
        let mut pc = self.pc;
        for frame in self.frames().take(up as usize) {
            pc = self.warp_state().frames[frame].call_pc;
        }
        (pc != NONE && up <= self.depth()).then_some(pc)
    }

    /// How many calls outwards an activation of this number is, as [`Moment::activation`] says it.
    pub fn above(&self, activation: u32) -> Option<u32> {
        self.frames().position(|f| f == activation).map(|n| n as u32)
    }

    /// First byte of the local frame of the activation `up` calls outwards.
    pub fn local_frame(&self, up: u32) -> Option<u32> {
        let frame = self.frames().nth(up as usize)?;
        Some(self.warp_state().frames[frame].local)
    }

    /// The 32 lanes of a register of the activation `up` calls outwards, by kind and number; a
    /// predicate is 0 or 1. `None` when the code does not use it.
    pub fn register(&self, up: u32, kind: Kind, number: u32) -> Option<[u64; 32]> {
        let (row, bases) = self.row(up, kind, number)?;
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

    /// The 32 lanes of a register of the activation `up` calls outwards, as they are kept. `None` when the code does
    /// not use it.
    #[inline]
    pub fn register_row(&self, up: u32, kind: Kind, number: u32) -> Option<RegisterRow<'_>> {
        let (row, bases) = self.row(up, kind, number)?;
        // SAFETY: the row belongs to this register's kind in the frame of its function, which stays while an event is
        // handled.
        Some(unsafe { shared_row(&bases, row, kind) })
    }

    fn row(&self, up: u32, kind: Kind, number: u32) -> Option<(crate::rows::Operand, Bases)> {
        let frame = self.frames().nth(up as usize)?;
        let activation = &self.warp_state().frames[frame];
        let rows = &self.moment.kernel.registers[activation.function as usize][kind as usize];
        let row = *rows.get(number as usize).filter(|o| !o.is_none())?;
        let mut bases = Bases([std::ptr::null_mut(); 4]);
        bases.0[Base::Frame as usize] = activation.rows;
        // Rows outside the frame are constants that lanes share.
        (row.0 & 3 == Base::Frame as u32).then_some((row, bases))
    }

    /// Sets a register of the activation `up` calls outwards in this lane; whether there is one.
    pub fn set_register(&self, up: u32, kind: Kind, number: u32, value: u64) -> bool {
        let Some((row, bases)) = self.row(up, kind, number) else { return false };
        let mask = 1 << self.lane;
        // SAFETY: the row belongs to this register's kind in the frame of its function, and nobody
        // holds a reference to it while an event is handled.
        unsafe {
            match kind {
                Kind::P => bases.set_p(row, if value & 1 != 0 { u32::MAX } else { 0 }, mask),
                Kind::W => bases.set_w(row, &[value as u32; 32], mask),
                Kind::D => bases.set_d(row, &[value; 32], mask),
            }
        }
        true
    }

    fn outside(&self, space: Space, address: u64, bytes: usize, write: bool) -> Fault {
        Fault::OutOfBounds { lane: self.lane, space, address, bytes: bytes as u32, write }
    }

    /// Where bytes of shared memory lie. A `.shared` address without a rank is an offset in the own block's.
    fn shared(&self, space: Space, address: u64, bytes: usize) -> Option<*mut u8> {
        let (rank, at) = (address / window::SHARED_CTA, address % window::SHARED_CTA);
        let cta = if rank == 0 && space == Space::Shared { self.cta } else { rank as usize };
        let (p, size) = self.moment.shared_of(cta)?;
        let inside = at <= size && bytes as u64 <= size - at;
        inside.then(|| p.wrapping_add(at as usize))
    }

    /// Reads memory as the lane would.
    ///
    /// # Errors
    /// The fault that it would have.
    pub fn read(&self, space: Space, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        let outside = || self.outside(space, address, out.len(), false);
        let (space, at) = window::locate(space, address);
        match space {
            Space::Shared | Space::SharedCluster => {
                let from = self.shared(space, at, out.len()).ok_or_else(outside)?;
                // SAFETY: `shared` found all bytes inside the block's shared memory.
                unsafe { std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), out.len()) };
            }
            Space::Local | Space::ParamFunc => {
                let local = &self.warp_state().local;
                let end = at.checked_add(out.len() as u64).ok_or_else(outside)?;
                if end > local.len() as u64 / 8 {
                    return Err(outside());
                }
                for (n, b) in out.iter_mut().enumerate() {
                    let at = at as usize + n;
                    let word = local[at / 4 * 32 + self.lane as usize].get();
                    *b = word.to_le_bytes()[at % 4];
                }
            }
            Space::ParamEntry => {
                let params = &self.moment.cx.params;
                let from = params.get(at as usize..).and_then(|p| p.get(..out.len()));
                out.copy_from_slice(from.ok_or_else(outside)?);
            }
            Space::Generic | Space::Global | Space::Const => {
                let wanted = out.len();
                let memory = &self.moment.cx.memory;
                let outside = |_| self.outside(space, address, wanted, false);
                memory.read(at, out).map_err(outside)?;
            }
            Space::Reg | Space::Sreg | Space::Tex => return Err(outside()),
        }
        Ok(())
    }

    /// Writes memory as the host would: constants too, kernel parameters not.
    ///
    /// # Errors
    /// When the bytes are not inside one allocation, or are parameters.
    pub fn write(&self, space: Space, address: u64, data: &[u8]) -> Result<(), Fault> {
        let outside = || self.outside(space, address, data.len(), true);
        let (space, at) = window::locate(space, address);
        match space {
            Space::Shared | Space::SharedCluster => {
                let to = self.shared(space, at, data.len()).ok_or_else(outside)?;
                // SAFETY: `shared` found all bytes inside the block's shared memory.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
            }
            Space::Local | Space::ParamFunc => {
                let local = &self.warp_state().local;
                let end = at.checked_add(data.len() as u64).ok_or_else(outside)?;
                if end > local.len() as u64 / 8 {
                    return Err(outside());
                }
                for (n, b) in data.iter().enumerate() {
                    let at = at as usize + n;
                    let word = &local[at / 4 * 32 + self.lane as usize];
                    let mut bytes = word.get().to_le_bytes();
                    bytes[at % 4] = *b;
                    word.set(u32::from_le_bytes(bytes));
                }
            }
            Space::Generic | Space::Global | Space::Const => {
                self.moment.cx.memory.write(at, data).map_err(|_| outside())?;
            }
            Space::ParamEntry | Space::Reg | Space::Sreg | Space::Tex => return Err(outside()),
        }
        Ok(())
    }
}
