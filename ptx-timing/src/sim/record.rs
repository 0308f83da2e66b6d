//! What the warps of one SM do, for the timeline of a report.

use super::report::Stall;
use crate::event::Event;
use crate::report::timeline::{IssueSpan, WarpTimeline};

/// Most issues that are recorded; a timeline is looked at, not computed with.
const MOST: usize = 200_000;

/// A timeline under way. Instructions are numbered as in [`crate::event::Code`].
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// SM.
    pub sm: usize,
    /// Clocks that are recorded.
    pub until: u64,
    /// Warps in the order of their start.
    pub warps: Vec<WarpTimeline>,
    issues: usize,
}

impl Recording {
    /// Nothing yet.
    pub fn new(sm: usize, until: u64) -> Self {
        Self { sm, until, warps: Vec::new(), issues: 0 }
    }

    /// A warp starts; its number if it is recorded.
    pub(super) fn start_warp(
        &mut self,
        block: u64,
        warp: u32,
        slot: u32,
        start: u64,
    ) -> Option<usize> {
        if start >= self.until {
            return None;
        }
        self.warps.push(WarpTimeline { block, warp, slot, start, end: None, issues: Vec::new() });
        Some(self.warps.len() - 1)
    }

    /// A recorded warp issues.
    pub(super) fn issue(&mut self, warp: usize, at: u64, event: Event, waited: (u64, Stall)) {
        if at >= self.until {
            return;
        }
        self.issues += 1;
        if self.issues >= MOST {
            self.until = at;
            return;
        }
        let (clocks, reason) = waited;
        self.warps[warp].issues.push(IssueSpan {
            at,
            line: event.pc,
            waited: clocks.min(u32::MAX.into()) as u32,
            reason: (clocks > 0).then_some(reason),
            active: event.active,
        });
    }

    /// A recorded warp ends.
    pub(super) fn end_warp(&mut self, warp: usize, at: u64) {
        if at <= self.until {
            self.warps[warp].end = Some(at);
        }
    }
}
