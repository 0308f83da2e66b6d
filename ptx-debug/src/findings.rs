//! When what a checker found happens.
//!
//! A finding names threads, instructions and bytes; execution rests at times. So the launch runs once more, and these
//! are looked for: the access to those bytes, behind the access that it conflicts with, or else where the thread first
//! comes to the instruction.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use ptx_interp::observer::{EventSet, MemoryAccess, Observer, WarpEvent};
use ptx_interp::{LaunchParams, Memory, Moment, launch_observed};
use ptx_isa::effect::window;

use crate::code::CodeMap;
use crate::session::LaneId;

/// A thread at an instruction.
#[derive(Clone, Debug)]
pub struct Place {
    /// Function.
    pub function: String,
    /// Line of the PTX text.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// Block.
    pub block: [u32; 3],
    /// Thread in its block.
    pub thread: [u32; 3],
}

/// What a checker found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// In words.
    pub text: String,
    /// Who does it, the later one first.
    pub places: Vec<Place>,
    /// First address and bytes of the memory, if it is about memory.
    pub bytes: Option<(u64, u64)>,
}

/// A finding in the history of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Instructions that warps have issued.
    pub time: u64,
    /// The lane.
    pub lane: LaneId,
    /// In words.
    pub text: String,
}

/// Times of one place that are kept.
const MOST: usize = 4096;

/// A place of a finding, and when it came to be executed.
struct Sought {
    finding: usize,
    lane: LaneId,
    /// Whether a position in the decoded stream is the instruction.
    at: Vec<bool>,
    bytes: Option<(u64, u64)>,
    first: Option<u64>,
    accesses: Vec<u64>,
}

struct Finder {
    time: u64,
    wanted: Vec<bool>,
    sought: Vec<Sought>,
}

impl Finder {
    fn here(&mut self, moment: &Moment<'_>) -> impl Iterator<Item = &mut Sought> {
        let (pc, block, warp) = (moment.pc() as usize, moment.block(), moment.warp());
        let lanes = moment.lanes();
        self.sought.iter_mut().filter(move |s| {
            s.at[pc]
                && (s.lane.block, s.lane.warp) == (block, warp)
                && lanes >> s.lane.lane & 1 != 0
        })
    }

    fn access(&mut self, moment: &Moment<'_>, a: &MemoryAccess<'_>) {
        let time = self.time - 1;
        for s in self.here(moment) {
            let lane = s.lane.lane as usize;
            let Some((start, bytes)) = s.bytes.filter(|_| a.lanes >> lane & 1 != 0) else {
                continue;
            };
            let at = window::locate(a.space, a.addresses[lane]).1;
            let meets =
                at < start.saturating_add(bytes) && start < at.saturating_add(a.bytes.into());
            if meets && s.accesses.len() < MOST && s.accesses.last() != Some(&time) {
                s.accesses.push(time);
            }
        }
    }
}

impl Observer for Finder {
    const EVENTS: EventSet = EventSet::ISSUE.and(EventSet::ACCESS);

    #[inline(always)]
    fn wants_issue(&mut self, pc: u32) -> bool {
        self.time += 1;
        self.wanted[pc as usize]
    }

    fn warp(&mut self, moment: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        match event {
            WarpEvent::Issue { .. } => {
                let time = self.time - 1;
                self.here(moment).for_each(|s| _ = s.first.get_or_insert(time));
            }
            WarpEvent::Access(access) if self.wanted[moment.pc() as usize] => {
                self.access(moment, access);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Runs a launch on one host thread, and says when what was found happens; in the order of time. What never does is
/// left out.
pub fn times(
    code: &CodeMap,
    memory: &Memory,
    params: &LaunchParams,
    findings: &[Finding],
) -> Vec<Found> {
    let count = code.kernel.decoded_len();
    let mut finder = Finder { time: 0, wanted: vec![false; count], sought: Vec::new() };
    for (n, finding) in findings.iter().enumerate() {
        for place in &finding.places {
            let is = |pc: usize| {
                code.kernel.origin(pc as u32).is_some_and(|at| {
                    code.ptx_line(at) == place.line
                        && code.function_name(at.0) == place.function
                        && code.text(at) == place.text
                })
            };
            let at: Vec<bool> = (0..count).map(is).collect();
            finder.wanted.iter_mut().zip(&at).for_each(|(w, a)| *w |= a);
            let [width, height, _] = params.block;
            let [x, y, z] = place.thread;
            let number = x + width * (y + height * z);
            let lane = LaneId { block: place.block, warp: number / 32, lane: (number % 32) as u8 };
            let (bytes, accesses) = (finding.bytes, Vec::new());
            finder.sought.push(Sought { finding: n, lane, at, bytes, first: None, accesses });
        }
    }
    let params = LaunchParams { threads: 1, steady_clock: true, ..params.clone() };
    let slot = Mutex::new(Some(finder));
    let take = || {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.take().expect("a launch on one host thread makes one observer")
    };
    // A fault ends the launch; what was found has happened by then.
    let (_, finders) = launch_observed(&code.kernel, memory, &params, &take);
    let Some(finder) = finders.first() else { return Vec::new() };
    let mut all: Vec<Found> = Vec::new();
    for (n, finding) in findings.iter().enumerate() {
        let mut of = finder.sought.iter().filter(|s| s.finding == n);
        let Some(later) = of.next() else { continue };
        let after = of.next().and_then(|earlier| earlier.accesses.first().copied()).unwrap_or(0);
        let access = later.accesses.iter().find(|t| **t >= after).or(later.accesses.first());
        if let Some(time) = access.copied().or(later.first) {
            all.push(Found { time, lane: later.lane, text: finding.text.clone() });
        }
    }
    all.sort_by_key(|f| f.time);
    all
}
