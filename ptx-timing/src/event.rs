//! What the timing model replays: the warp instructions that a kernel issued.
//!
//! A kernel's static part ([`Code`]) is given once; a block's trace ([`BlockTrace`]) holds, per
//! warp, one [`Event`] for each issued instruction in program order. Divergence needs nothing
//! special: each side of a branch appears with its own active mask. The model assigns SMs and
//! times; the trace says only what was executed.

use std::ops::Range;

use smallvec::SmallVec;

use crate::access::WarpAccess;
use crate::budget::Budget;
use crate::pattern::Patterns;
use crate::work::Work;
use ptx_isa::Class;
use ptx_isa::types::Space as IsaSpace;

/// Number of a register within the kernel; predicates share the number space.
pub type Register = u32;

/// What a memory instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// `ld`, `tex`
    Load,
    /// `st`
    Store,
    /// `atom`
    Atomic,
    /// `red`: an atomic whose result nobody waits for
    Reduction,
}

/// How lanes that part at a branch come to where they meet again. Each group of lanes that comes there issues what
/// brings them together (`BSYNC`) by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrives {
    /// Nothing brings them together.
    #[default]
    Nowhere,
    /// One side after the other.
    Apart,
    /// Lanes that take the branch are there. The larger side goes on first: if that is theirs, they are alone; if not,
    /// they wait until the others have branched there, too.
    Taken,
}

impl Arrives {
    /// Whether lanes that take a branch, or the others, come alone.
    pub fn alone(self, taken: u32, others: u32) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Apart => true,
            Self::Taken => taken > others,
        }
    }
}

/// Static part of one PTX instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Timing class.
    pub class: Class,
    /// Registers it reads, address registers included, the guard not.
    pub reads: SmallVec<[Register; 4]>,
    /// Registers it writes.
    pub writes: SmallVec<[Register; 2]>,
    /// Predicate that guards it.
    pub guard: Option<Register>,
    /// Memory instructions: what they do.
    pub kind: AccessKind,
    /// Memory instructions: the cache operator bypasses L1 (`.cg`, `.cv`, `volatile`).
    pub bypass_l1: bool,
    /// A load or store that is not weak: `volatile`, `relaxed`, `acquire`, `release`, `mmio`.
    pub strong: bool,
    /// Machine instructions besides those of the class.
    pub extra_slots: u32,
    /// Shared memory: accesses that this one does at once, and where its own bytes lie among
    /// theirs.
    pub merged: u32,
    /// See `merged`.
    pub merged_from: i64,
    /// Atomics: lanes are merged before, one goes to memory.
    pub one_lane: bool,
    /// Reads a clock: the warp goes on when it has the number.
    pub clock: bool,
    /// The assembler moves no memory access across it: copies, and waits for them.
    pub orders: bool,
    /// Of these, a copy that lanes start, each of its own bytes: fewer accesses wait for it.
    pub copies: bool,
    /// Accesses local memory by name (`ld.local`, `st.local`): no access to other memory meets it.
    pub local: bool,
    /// A load of what nobody writes while the kernel runs (`.nc`).
    pub read_only: bool,
    /// Atomics: compare-and-swap, which sends two operands; in shared memory it reads in one pass and writes in
    /// another.
    pub compares: bool,
    /// Under a guard, lanes that are off have no older value of its results to keep: nothing else writes these, or what
    /// stands on the other side of an if does.
    pub only: bool,
    /// What it writes in the text, though not in machine code: it is on one side of an if of which all are executed,
    /// and the other one loads it.
    pub yields: SmallVec<[Register; 4]>,
    /// Loads or stores a value that has no register: no other access meets its address.
    pub spill: bool,
    /// Loads or stores a part of a matrix for `wmma`: a machine instruction for each of its accesses.
    pub fragment: bool,
    /// The assembler ends a block with it ([`ptx_isa::row::Row::splits`]): nothing moves across.
    pub splits: bool,
    /// Reads other lanes of the warp where some may be absent; of a block that has several such instructions there is
    /// another code for that.
    pub parted: bool,
    /// Branches: what lanes that part at it add to how often the warp comes to where they meet again.
    pub arrives: Arrives,
    /// Products of a warpgroup: how many times what their class takes they keep the pipe.
    pub units: u32,
    /// Accesses an array of so many words that the assembler keeps in registers: no memory.
    pub chooses: u32,
    /// Address register, and the bytes from there that a lane accesses, where both are known. Accesses
    /// of other bytes from the same address do not meet.
    pub place: Option<(Register, i64, u32)>,
}

impl Instruction {
    /// An instruction without memory access or guard.
    pub fn new(class: Class, writes: &[Register], reads: &[Register]) -> Self {
        let kind = match class {
            Class::StoreGlobal | Class::StoreShared => AccessKind::Store,
            Class::AtomicGlobal | Class::AtomicShared => AccessKind::Atomic,
            _ => AccessKind::Load,
        };
        Self {
            class,
            reads: reads.into(),
            writes: writes.into(),
            guard: None,
            kind,
            bypass_l1: false,
            strong: false,
            extra_slots: 0,
            merged: 1,
            merged_from: 0,
            one_lane: false,
            clock: false,
            orders: false,
            copies: false,
            local: false,
            read_only: false,
            compares: false,
            only: false,
            yields: SmallVec::new(),
            spill: false,
            fragment: false,
            splits: false,
            parted: false,
            arrives: Arrives::Nowhere,
            units: 1,
            chooses: 0,
            place: None,
        }
    }

    /// Whether what its results held before ends here.
    pub fn replaces(&self) -> bool {
        self.guard.is_none() || self.only
    }

    /// The same under a guard.
    pub fn guarded(self, predicate: Register) -> Self {
        Self { guard: Some(predicate), ..self }
    }
}

/// Static part of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Code {
    /// Instructions; an event's `pc` is an index here.
    pub instructions: Vec<Instruction>,
    /// First instruction of each basic block, ascending. The simulator reorders the instructions
    /// inside a block as the assembler would; with an empty list it keeps the trace's order.
    pub leaders: Vec<u32>,
    /// Registers that hold a value which is read behind each basic block, in the order of `leaders`; with an
    /// empty list the simulator does not know how many registers an order of instructions needs.
    pub lives: Vec<Vec<Register>>,
    /// Registers that the innermost loop around each basic block reads, in the order of `leaders`.
    pub looped: Vec<Vec<Register>>,
    /// Registers that the outermost loop around each basic block reads, in the order of `leaders`.
    pub around: Vec<Vec<Register>>,
    /// 32-bit words of each register; those beyond the list have one.
    pub words: Vec<u8>,
    /// Bytes of local memory that a thread uses, as far as the text says.
    pub local_bytes: u32,
    /// Whether there are functions besides the kernel: what lives over a call has registers of its own.
    pub calls: bool,
    /// What the text says about blocks, which decides how many registers the assembler spends.
    pub budget: Budget,
}

/// State space that an access reached. Generic addresses are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Device memory.
    Global,
    /// Per-thread memory; addresses as the hardware lays it out, interleaved by lane.
    Local,
    /// Shared memory; byte offsets from the block's base.
    Shared,
    /// Constant memory, and parameters where they live there.
    Const,
    /// Texture fetches.
    Texture,
}

impl Space {
    /// That of an access by the text; `None` = it costs nothing here.
    pub(crate) fn of(space: IsaSpace) -> Option<Self> {
        Some(match space {
            IsaSpace::Generic | IsaSpace::Global => Self::Global,
            IsaSpace::Shared | IsaSpace::SharedCluster => Self::Shared,
            IsaSpace::Local => Self::Local,
            IsaSpace::Const | IsaSpace::ParamEntry => Self::Const,
            _ => return None,
        })
    }
}

/// What happens to a warp's asynchronous copies or products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyGroup {
    /// Those since the last commit become a group.
    Commit,
    /// Waits until so many of the latest groups are pending at most.
    Wait(u16),
    /// Waits for all.
    WaitAll,
}

/// One access of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TracedAccess {
    /// Address of the first lane, and the lanes' pattern from there.
    pub base: u64,
    pub pattern: u32,
    /// Space reached.
    pub space: Space,
    /// How it differs from what the instruction says.
    pub differs: Differs,
}

/// How an access differs from what its instruction says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Differs {
    /// What it does, where that is not [`Instruction::kind`].
    pub does: Option<AccessKind>,
    /// Part of a copy that the warp does not wait for at once.
    pub copy: bool,
    /// Bypasses L1, whatever the instruction says.
    pub bypass_l1: bool,
}

/// What an event carries beyond its mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Nothing.
    #[default]
    None,
    /// Accesses to memory, by [`WarpTrace::push_access`].
    Memory {
        /// Index of the first.
        first: u32,
        /// How many.
        count: u16,
    },
    /// A commit of, or wait for, asynchronous copies.
    Copies(CopyGroup),
    /// The same of products of matrices.
    Products(CopyGroup),
    /// Work that is done value by value: how many different ones there are.
    Values(u8),
    /// Operands that send the machine code of some lanes another way.
    Path(Path),
    /// A branch that some lanes take and some do not.
    Diverges {
        /// One side comes alone to where they meet again: the instruction there issues once more.
        alone: bool,
    },
    /// `bar.sync` and `bar.arrive`.
    Barrier {
        /// Barrier number.
        id: u8,
        /// Whether the warp waits (`sync`) or goes on (`arrive`).
        wait: bool,
        /// Warps that the barrier expects; 0 = all of the block.
        warps: u16,
    },
}

/// Which lanes of a warp take the other path through an instruction's machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// All of them.
    Other,
    /// Some, so that the warp goes both ways.
    Mixed,
}

/// One issued warp instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Index into [`Code::instructions`].
    pub pc: u32,
    /// Lanes that execute it, the guard applied; 0 = issued without effect.
    pub active: u32,
    /// Memory access or barrier.
    pub detail: Detail,
}

/// Traces are long: four events in a line of the host's caches.
const _: () = assert!(size_of::<Event>() == 16);

/// What one warp did, from entry to exit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WarpTrace {
    /// In program order.
    pub events: Vec<Event>,
    /// What the events refer to.
    pub(crate) accesses: Vec<TracedAccess>,
    /// Patterns of a trace made by hand; a recorder keeps those of a block together.
    own: Patterns,
}

impl WarpTrace {
    /// An empty trace with room for so many events and accesses.
    pub(crate) fn with_capacity((events, accesses): (usize, usize)) -> Self {
        let accesses = Vec::with_capacity(accesses);
        Self { events: Vec::with_capacity(events), accesses, own: Patterns::default() }
    }

    /// Adds an instruction by all lanes.
    pub fn push(&mut self, pc: u32) {
        self.events.push(Event { pc, active: u32::MAX, detail: Detail::None });
    }

    /// Adds a memory access.
    pub fn push_access(&mut self, pc: u32, space: Space, access: WarpAccess) {
        let (base, pattern) = self.own.add(pc, &access);
        let first = self.accesses.len() as u32;
        self.accesses.push(TracedAccess { base, pattern, space, differs: Differs::default() });
        let detail = Detail::Memory { first, count: 1 };
        self.events.push(Event { pc, active: access.mask, detail });
    }

    /// Adds an access to the last event.
    pub(crate) fn add_access(
        &mut self,
        patterns: &mut Patterns,
        access: &WarpAccess,
        space: Space,
        differs: Differs,
    ) {
        let Some(event) = self.events.last_mut() else { return };
        let next = self.accesses.len() as u32;
        event.detail = match event.detail {
            Detail::Memory { first, count } => match count.checked_add(1) {
                Some(count) => Detail::Memory { first, count },
                // More than an instruction can make.
                None => return,
            },
            Detail::None => Detail::Memory { first: next, count: 1 },
            // A barrier or commit accesses nothing.
            Detail::Barrier { .. }
            | Detail::Copies(_)
            | Detail::Products(_)
            | Detail::Values(_)
            | Detail::Path(_)
            | Detail::Diverges { .. } => return,
        };
        let (base, pattern) = patterns.add(event.pc, access);
        self.accesses.push(TracedAccess { base, pattern, space, differs });
    }

    /// An event whose lanes access more: so many bytes from so far ahead of where theirs begin.
    pub(crate) fn widen(
        &mut self,
        patterns: &mut Patterns,
        mut event: Event,
        (width, ahead): (u32, i64),
    ) -> Event {
        if let Detail::Memory { first, count: 1 } = event.detail
            && let Some(&own) = self.accesses.get(first as usize)
        {
            let pattern = patterns.wide(own.pattern, width);
            let base = own.base.wrapping_add_signed(-ahead);
            event.detail = Detail::Memory { first: self.accesses.len() as u32, count: 1 };
            self.accesses.push(TracedAccess { base, pattern, ..own });
        }
        event
    }

    /// One event for what groups of lanes do in events of their own. Accesses of these become one access each, as far
    /// as they are alike.
    pub(crate) fn gather(
        &mut self,
        patterns: &mut Patterns,
        pc: u32,
        parts: impl Iterator<Item = (u32, Event)> + Clone,
    ) -> Event {
        let active = parts.clone().fold(0, |all, (lanes, event)| all | lanes & event.active);
        let detail = parts.clone().find(|(lanes, event)| lanes & event.active != 0);
        let mut event = Event { pc, active, detail: detail.map_or(Detail::None, |d| d.1.detail) };
        let Detail::Memory { .. } = event.detail else { return event };
        let mut made: Vec<(WarpAccess, TracedAccess)> = Vec::new();
        for (lanes, part) in parts {
            let Detail::Memory { first, count } = part.detail else { continue };
            let own = first as usize..first as usize + usize::from(count);
            for traced in self.accesses.get(own).unwrap_or_default() {
                let mut access = patterns.list.at(traced.pattern, traced.base);
                access.mask &= lanes;
                let alike = |(other, of): &&mut (WarpAccess, TracedAccess)| {
                    (of.space, of.differs, other.width)
                        == (traced.space, traced.differs, access.width)
                        && other.mask & access.mask == 0
                };
                match made.iter_mut().find(alike) {
                    _ if access.mask == 0 => {}
                    Some((other, _)) => {
                        access.lanes().for_each(|(lane, at)| other.addresses[lane] = at);
                        other.mask |= access.mask;
                    }
                    None => made.push((access, *traced)),
                }
            }
        }
        let first = self.accesses.len() as u32;
        let count = u16::try_from(made.len()).unwrap_or(u16::MAX);
        for (access, of) in made.into_iter().take(count.into()) {
            let (base, pattern) = patterns.add(pc, &access);
            self.accesses.push(TracedAccess { base, pattern, ..of });
        }
        event.detail = if count == 0 { Detail::None } else { Detail::Memory { first, count } };
        event
    }

    /// Adds a barrier for the whole block.
    pub fn push_barrier(&mut self, pc: u32) {
        let detail = Detail::Barrier { id: 0, wait: true, warps: 0 };
        self.events.push(Event { pc, active: u32::MAX, detail });
    }
}

/// What one thread block did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockTrace {
    /// Warp 0 first.
    pub warps: Vec<WarpTrace>,
    /// Patterns of the warps' accesses.
    pub(crate) patterns: Patterns,
}

impl BlockTrace {
    /// A block of warps whose traces were made one by one.
    pub fn new(mut warps: Vec<WarpTrace>) -> Self {
        let mut patterns = Patterns::default();
        for warp in &mut warps {
            let first = patterns.append(std::mem::take(&mut warp.own));
            warp.accesses.iter_mut().for_each(|a| a.pattern += first);
        }
        Self { warps, patterns }
    }

    /// Bytes that it takes in memory, about.
    pub(crate) fn bytes(&self) -> u64 {
        let warp = |w: &WarpTrace| {
            w.events.capacity() * size_of::<Event>()
                + w.accesses.capacity() * size_of::<TracedAccess>()
        };
        (self.warps.iter().map(warp).sum::<usize>() + self.patterns.list.bytes()) as u64
    }

    /// What has been recorded, in as much memory as it takes. The memory that it was recorded in serves another block.
    pub(crate) fn take(&mut self) -> Self {
        let take = |warp: &mut WarpTrace| {
            let taken = WarpTrace {
                events: warp.events.as_slice().into(),
                accesses: warp.accesses.as_slice().into(),
                own: Patterns::default(),
            };
            warp.events.clear();
            warp.accesses.clear();
            taken
        };
        Self { warps: self.warps.iter_mut().map(take).collect(), patterns: self.patterns.take() }
    }

    /// Frees what only recording needs.
    pub(crate) fn finish(&mut self) {
        self.patterns.finish();
    }
}

/// Where the traces come from. The simulator asks for a block when an SM is about to start it, so
/// that only resident blocks are held in memory.
pub trait BlockSource {
    /// Why a trace could not be made.
    type Error;

    /// Thread blocks of the grid.
    fn blocks(&self) -> u64;

    /// The trace of one block. Blocks are asked for in ascending order, each once; some may be left out.
    fn trace(&mut self, block: u64) -> Result<BlockTrace, Self::Error>;

    /// Told before blocks are asked for: which these will be, behind those of earlier calls, and whether these are all.
    fn want(&mut self, _blocks: &[Range<u64>], _all: bool) {}

    /// How much all blocks of the grid have to do, where that is known. Asked when all traces have been.
    fn work(&mut self) -> Option<Work> {
        None
    }
}

/// A source from a function, for blocks whose traces are cheap to make.
#[derive(Debug)]
pub struct FnSource<F> {
    blocks: u64,
    make: F,
}

impl<F: FnMut(u64) -> BlockTrace> FnSource<F> {
    /// `make(b)` gives the trace of block `b`.
    pub fn new(blocks: u64, make: F) -> Self {
        Self { blocks, make }
    }
}

impl<F: FnMut(u64) -> BlockTrace> BlockSource for FnSource<F> {
    type Error = std::convert::Infallible;

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn trace(&mut self, block: u64) -> Result<BlockTrace, Self::Error> {
        Ok((self.make)(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two groups of lanes load in turns of their own is one access of both.
    #[test]
    fn events_of_groups_become_one() {
        let (mut trace, mut patterns) = (WarpTrace::default(), Patterns::default());
        for (pc, first) in [(1, 0_u64), (2, 4096)] {
            trace.events.push(Event { pc, active: u32::MAX, detail: Detail::None });
            let all = WarpAccess::from_lanes(4, (0..32).map(|lane| Some(first + 4 * lane)));
            trace.add_access(&mut patterns, &all, Space::Global, Differs::default());
        }
        let parts = [(0xffff, trace.events[0]), (0xff_0000, trace.events[1])];
        let event = trace.gather(&mut patterns, 7, parts.into_iter());
        assert_eq!((event.pc, event.active), (7, 0xff_ffff));
        let Detail::Memory { first, count: 1 } = event.detail else { panic!("{event:?}") };
        let traced = trace.accesses[first as usize];
        let access = patterns.list.at(traced.pattern, traced.base);
        assert_eq!((access.mask, access.addresses[15]), (0xff_ffff, 60));
        assert_eq!(access.addresses[16], 4096 + 64);
    }
}
