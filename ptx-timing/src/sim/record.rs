//! What the warps of one SM do, and one warp wherever it is, for the pictures of a report.

use super::report::Stall;
use crate::event::Event;
use crate::report::timeline::{IssueSpan, WarpTimeline};

/// Most issues that are recorded; a timeline is looked at, not computed with.
const MOST: usize = 200_000;

/// A warp of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WarpChoice {
    /// Block in launch order, from 0.
    pub block: u64,
    /// Warp within the block, from 0.
    pub warp: u32,
}

/// A recording under way. Instructions are numbered as in [`crate::event::Code`].
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// SM.
    pub sm: usize,
    /// Clocks that are recorded of it.
    pub until: u64,
    /// Its warps in the order of their start.
    pub warps: Vec<WarpTimeline>,
    issues: usize,
    /// The warp that is followed.
    follow: Option<WarpChoice>,
    /// Its instructions, each with the clock at which it issued.
    pub(crate) followed: Vec<(u32, u64)>,
}

/// What is recorded of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Recorded {
    /// Its number in the timeline.
    timeline: Option<u32>,
    /// It is the one that is followed.
    followed: bool,
}

impl Recording {
    /// Nothing yet of the clocks of an SM, of a warp, or of both.
    pub(super) fn of(timeline: Option<(u32, u64)>, follow: Option<WarpChoice>) -> Option<Self> {
        let (sm, until) = timeline.map_or((0, 0), |(sm, until)| (sm as usize, until));
        let some = timeline.is_some() || follow.is_some();
        let empty =
            || Self { sm, until, warps: Vec::new(), issues: 0, follow, followed: Vec::new() };
        some.then(empty)
    }

    /// A warp starts on an SM, in one of its slots.
    pub(super) fn start_warp(
        &mut self,
        sm: usize,
        warp: WarpChoice,
        slot: u32,
        start: u64,
    ) -> Recorded {
        let timeline = (sm == self.sm && start < self.until).then_some(self.warps.len() as u32);
        if timeline.is_some() {
            let WarpChoice { block, warp } = warp;
            let issues = Vec::new();
            self.warps.push(WarpTimeline { block, warp, slot, start, end: None, issues });
        }
        Recorded { timeline, followed: self.follow == Some(warp) }
    }

    /// A warp issues.
    pub(super) fn issue(&mut self, of: Recorded, at: u64, event: Event, waited: (u64, Stall)) {
        if of.followed && self.followed.len() < MOST {
            self.followed.push((event.pc, at));
        }
        let Some(warp) = of.timeline.filter(|_| at < self.until) else { return };
        self.issues += 1;
        if self.issues >= MOST {
            self.until = at;
            return;
        }
        let (clocks, reason) = waited;
        self.warps[warp as usize].issues.push(IssueSpan {
            at,
            line: event.pc,
            waited: clocks.min(u32::MAX.into()) as u32,
            reason: (clocks > 0).then_some(reason),
            active: event.active,
        });
    }

    /// A warp ends.
    pub(super) fn end_warp(&mut self, of: Recorded, at: u64) {
        if let Some(warp) = of.timeline.filter(|_| at <= self.until) {
            self.warps[warp as usize].end = Some(at);
        }
    }
}
