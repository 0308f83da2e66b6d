//! Events for checkers, timing models, debuggers and tracers.
//!
//! An [`Observer`] is told what warps do, in the order in which they do it: instructions, accesses
//! to memory, barriers, fences, copies, allocations. While it handles an event it may look at the
//! warp's registers and memory ([`Moment`]), and it may stop the launch.
//!
//! The interpreter is compiled once per observer type. Code for events that the type does not want
//! ([`Observer::EVENTS`]) is not generated; with [`Nobody`] nothing is left of the hooks. A pair of
//! observers is an observer.

use std::ops::ControlFlow;

use ptx_isa::Space;
use ptx_isa::effect::{
    Accessor, AsyncGroup, BarKind, Cache, Fence, MbarrierEvent, Order, Proxy, Scope,
};

use crate::moment::Moment;
use crate::report::Report;

/// Kinds of event.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct EventSet(u16);

impl EventSet {
    /// None.
    pub const NONE: EventSet = EventSet(0);
    /// [`WarpEvent::Issue`].
    pub const ISSUE: EventSet = EventSet(1);
    /// [`WarpEvent::Access`].
    pub const ACCESS: EventSet = EventSet(1 << 1);
    /// [`WarpEvent::BarrierArrive`] and [`WarpEvent::BarrierComplete`].
    pub const BARRIER: EventSet = EventSet(1 << 2);
    /// [`WarpEvent::Fence`], [`WarpEvent::WarpSync`], [`WarpEvent::Mbarrier`] and
    /// [`WarpEvent::AsyncGroup`].
    pub const SYNC: EventSet = EventSet(1 << 3);
    /// [`WarpEvent::Malloc`] and [`WarpEvent::Free`].
    pub const HEAP: EventSet = EventSet(1 << 4);
    /// [`WarpEvent::Print`].
    pub const PRINT: EventSet = EventSet(1 << 5);
    /// [`WarpEvent::Exit`].
    pub const EXIT: EventSet = EventSet(1 << 6);
    /// Every [`BlockEvent`].
    pub const BLOCK: EventSet = EventSet(1 << 7);
    /// All.
    pub const ALL: EventSet = EventSet((1 << 8) - 1);

    /// The kinds of both.
    pub const fn and(self, other: EventSet) -> EventSet {
        EventSet(self.0 | other.0)
    }

    /// Whether there is a common kind.
    pub const fn has(self, other: EventSet) -> bool {
        self.0 & other.0 != 0
    }
}

/// What an access does to memory.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Reads and writes it at once.
    Update,
}

/// A warp's access to memory, before it happens and before it is checked: the address may lie
/// outside every allocation.
///
/// Loads, stores and atomics are one access of all executing lanes. Other instructions (copies,
/// matrix loads, textures) make one for each lane and piece, in the order of the manual's meaning.
#[derive(Copy, Clone, Debug)]
pub struct MemoryAccess<'a> {
    /// The kind of instruction.
    pub by: Accessor,
    /// What it does.
    pub action: Action,
    /// State space as the instruction names it; [`window::locate`](ptx_isa::effect::window::locate)
    /// resolves generic addresses. In [`Space::Tex`] an address is the byte in the array of the
    /// texture or surface `texture`.
    pub space: Space,
    /// Bytes per lane.
    pub bytes: u32,
    /// Ordering.
    pub order: Order,
    /// Scope of the ordering.
    pub scope: Scope,
    /// The way by which it reaches memory.
    pub proxy: Proxy,
    /// Cache operator.
    pub cache: Cache,
    /// Executing lanes.
    pub lanes: u32,
    /// Address per lane; lanes that do not execute hold anything.
    pub addresses: &'a [u64; 32],
    /// Handle of the texture or surface in [`Space::Tex`], else 0.
    pub texture: u64,
}

/// A barrier of several warps.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum BarrierName {
    /// The block's barrier of this number.
    Cta(u8),
    /// The cluster's.
    Cluster,
}

/// What a warp does. Events come before their effect, so that registers and memory are as before.
#[derive(Copy, Clone, Debug)]
pub enum WarpEvent<'a> {
    /// It issues a PTX instruction.
    Issue {
        /// Lanes whose guard holds; of a branch, those that take it.
        active: u32,
    },
    /// It accesses memory.
    Access(&'a MemoryAccess<'a>),
    /// Lanes arrive at a barrier.
    BarrierArrive {
        /// Which.
        barrier: BarrierName,
        /// Arriving lanes.
        lanes: u32,
        /// What the instruction does there: wait, arrive, reduce.
        kind: BarKind,
        /// Threads that the barrier waits for; `None`: all of the block or cluster.
        threads: Option<u32>,
        /// Whether all lanes of the warp must execute it together.
        aligned: bool,
    },
    /// A barrier is complete and lets its lanes go; this warp came last, or left.
    BarrierComplete {
        /// Which.
        barrier: BarrierName,
    },
    /// A fence.
    Fence(Fence),
    /// Lanes of the warp have met at an instruction with a member mask (`bar.warp.sync`,
    /// `shfl.sync`, ...).
    WarpSync {
        /// The lanes that execute it together.
        lanes: u32,
        /// Member mask of each lane.
        members: &'a [u32; 32],
        /// Whether it orders the lanes' accesses to memory, as `bar.warp.sync` does.
        orders: bool,
    },
    /// An operation on an mbarrier object that has just happened. The access to its word is an event
    /// of its own.
    Mbarrier(MbarrierEvent),
    /// Asynchronous work is committed or waited for.
    AsyncGroup(AsyncGroup),
    /// A lane has allocated memory with `malloc`; 0 is failure.
    Malloc {
        /// Lane.
        lane: u8,
        /// First address.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
    /// A lane frees memory.
    Free {
        /// Lane.
        lane: u8,
        /// What it gives to `free`.
        address: u64,
    },
    /// A lane has printed.
    Print {
        /// Lane.
        lane: u8,
        /// What, formatted.
        text: &'a [u8],
    },
    /// Lanes end.
    Exit {
        /// Which.
        lanes: u32,
    },
}

impl WarpEvent<'_> {
    /// The kind that it belongs to.
    pub const fn set(&self) -> EventSet {
        match self {
            WarpEvent::Issue { .. } => EventSet::ISSUE,
            WarpEvent::Access(_) => EventSet::ACCESS,
            WarpEvent::BarrierArrive { .. } | WarpEvent::BarrierComplete { .. } => {
                EventSet::BARRIER
            }
            WarpEvent::Fence(_)
            | WarpEvent::WarpSync { .. }
            | WarpEvent::Mbarrier(_)
            | WarpEvent::AsyncGroup(_) => EventSet::SYNC,
            WarpEvent::Malloc { .. } | WarpEvent::Free { .. } => EventSet::HEAP,
            WarpEvent::Print { .. } => EventSet::PRINT,
            WarpEvent::Exit { .. } => EventSet::EXIT,
        }
    }
}

/// What happens to blocks and their launch on one host thread.
#[derive(Copy, Clone, Debug)]
pub enum BlockEvent<'a> {
    /// The thread begins to take blocks.
    LaunchStarts {
        /// Number of the launch in the process, `%gridid`.
        grid: u64,
    },
    /// A block starts.
    Starts {
        /// Its index.
        block: [u32; 3],
    },
    /// A block has ended.
    Ends {
        /// Its index.
        block: [u32; 3],
        /// PTX instructions that warps have issued on this thread so far.
        steps: u64,
    },
    /// A block, or another of its cluster, is stopped by a fault. It does not end.
    Faults {
        /// What the launch will report, unless an earlier block faults too.
        report: &'a Report,
    },
    /// The thread has no more blocks.
    LaunchEnds,
}

/// Receives the events of one host thread, block after block.
///
/// A launch makes one for each of its threads and returns them all, also when it faults. Blocks of a
/// cluster, and blocks that wait for one another, are under way at the same time on one thread.
pub trait Observer: Send {
    /// The events that it wants; code for the others is not generated.
    const EVENTS: EventSet = EventSet::ALL;

    /// Asked before every [`WarpEvent::Issue`], with the position of the instruction in the decoded
    /// stream ([`Kernel::origin`](crate::Kernel::origin)); `false` saves the event. It is inlined, so
    /// that an observer that waits for few instructions costs little elsewhere.
    #[inline(always)]
    fn wants_issue(&mut self, pc: u32) -> bool {
        let _ = pc;
        true
    }

    /// Asked before every [`WarpEvent::Access`] of a load, store or atomic; `false` saves the event.
    #[inline(always)]
    fn wants_access(&mut self) -> bool {
        true
    }

    /// A block or the launch begins or ends.
    fn block(&mut self, event: BlockEvent<'_>) {
        let _ = event;
    }

    /// A warp does something. `Break` stops the launch with this message
    /// ([`FaultKind::Cancelled`](crate::FaultKind)).
    fn warp(&mut self, moment: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        let _ = (moment, event);
        ControlFlow::Continue(())
    }
}

/// Observes nothing.
pub struct Nobody;

impl Observer for Nobody {
    const EVENTS: EventSet = EventSet::NONE;
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    const EVENTS: EventSet = A::EVENTS.and(B::EVENTS);

    // One that does not want an event is told if the other does.
    #[inline(always)]
    fn wants_issue(&mut self, pc: u32) -> bool {
        let first = A::EVENTS.has(EventSet::ISSUE) && self.0.wants_issue(pc);
        let second = B::EVENTS.has(EventSet::ISSUE) && self.1.wants_issue(pc);
        first || second
    }

    #[inline(always)]
    fn wants_access(&mut self) -> bool {
        let first = A::EVENTS.has(EventSet::ACCESS) && self.0.wants_access();
        let second = B::EVENTS.has(EventSet::ACCESS) && self.1.wants_access();
        first || second
    }

    fn block(&mut self, event: BlockEvent<'_>) {
        if A::EVENTS.has(EventSet::BLOCK) {
            self.0.block(event);
        }
        if B::EVENTS.has(EventSet::BLOCK) {
            self.1.block(event);
        }
    }

    fn warp(&mut self, moment: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        // Both see the event that one of them stops at.
        let first = match A::EVENTS.has(event.set()) {
            true => self.0.warp(moment, event),
            false => ControlFlow::Continue(()),
        };
        let second = match B::EVENTS.has(event.set()) {
            true => self.1.warp(moment, event),
            false => ControlFlow::Continue(()),
        };
        first?;
        second
    }
}
