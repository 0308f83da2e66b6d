//! Who wrote bytes of global memory last.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use ptx_interp::observer::{Action, EventSet, MemoryAccess, Observer, WarpEvent};
use ptx_interp::{LaunchError, LaunchParams, Memory, Moment, Stats, launch_observed};
use ptx_isa::Space;
use ptx_isa::effect::window;

use crate::code::{At, CodeMap};
use crate::session::LaneId;

/// A write of a byte.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Write {
    /// Instructions that warps had issued.
    pub time: u64,
    /// The lane that wrote.
    pub by: LaneId,
    /// Its thread.
    pub thread: [u32; 3],
    /// The instruction.
    pub at: At,
}

struct Writers<'w> {
    time: u64,
    /// Addresses that are asked about.
    wanted: &'w [u64],
    found: BTreeMap<u64, Write>,
}

impl Writers<'_> {
    fn access(&mut self, moment: &Moment<'_>, a: &MemoryAccess<'_>) {
        for lane in (0..32u8).filter(|l| a.lanes >> l & 1 != 0) {
            let (space, start) = window::locate(a.space, a.addresses[lane as usize]);
            if !matches!(space, Space::Global) {
                continue;
            }
            let end = start.saturating_add(u64::from(a.bytes));
            let from = self.wanted.partition_point(|w| *w < start);
            for address in self.wanted[from..].iter().take_while(|w| **w < end) {
                let by = LaneId { lane, ..LaneId::executing(moment) };
                let thread = moment.thread(lane);
                let at = (moment.function(), moment.index());
                let write = Write { time: self.time - 1, by, thread, at };
                self.found.insert(*address, write);
            }
        }
    }
}

impl Observer for Writers<'_> {
    const EVENTS: EventSet = EventSet::ISSUE.and(EventSet::ACCESS);

    #[inline(always)]
    fn wants_issue(&mut self, _pc: u32) -> bool {
        self.time += 1;
        false
    }

    fn warp(&mut self, moment: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        if let WarpEvent::Access(access) = event
            && matches!(access.action, Action::Write | Action::Update)
        {
            self.access(moment, access);
        }
        ControlFlow::Continue(())
    }
}

/// Runs a launch on one host thread, and says who wrote which of the `wanted` addresses last. These
/// are in rising order.
pub fn writers(
    code: &CodeMap,
    memory: &Memory,
    params: &LaunchParams,
    wanted: &[u64],
) -> (Result<Stats, LaunchError>, BTreeMap<u64, Write>) {
    let params = LaunchParams { threads: 1, steady_clock: true, ..params.clone() };
    let slot = Mutex::new(Some(Writers { time: 0, wanted, found: BTreeMap::new() }));
    let take = || {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.take().expect("a launch on one host thread makes one observer")
    };
    let (result, mut all) = launch_observed(&code.kernel, memory, &params, &take);
    (result, all.pop().map_or_else(BTreeMap::new, |w| w.found))
}
