//! One warp that a report follows from its start to its end: what it executed, with which lanes, and its accesses.

use ptx_interp::Moment;

use crate::access::WarpAccess;
use crate::event::{AccessKind, Space};
use crate::sim::WarpChoice;

/// Instructions that are kept of a warp.
const MOST_STEPS: usize = 1 << 18;

/// Accesses that are kept.
const MOST_ACCESSES: usize = 1 << 14;

/// An instruction that the warp executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathStep {
    /// Function and instruction of the PTX text.
    pub function: u32,
    pub index: u32,
    /// Lanes that came to it, its guard not applied.
    pub lanes: u32,
    /// What of it parts lanes.
    pub parts: Parts,
}

/// How an instruction parts the lanes of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    /// Not at all.
    Not,
    /// Lanes end there.
    Ends,
    /// Lanes may go different ways.
    Branches,
    /// The same in the text; the assembler gives both ways predicates instead.
    Predicates,
}

/// An access of the warp.
#[derive(Debug, Clone)]
pub(crate) struct PathAccess {
    /// Index of its instruction in [`Path::steps`].
    pub step: u32,
    pub space: Space,
    /// What it does, where that is not what the instruction does.
    pub does: Option<AccessKind>,
    pub access: WarpAccess,
}

/// What a warp did.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub warp: WarpChoice,
    /// In the order in which it executed them.
    pub steps: Vec<PathStep>,
    pub accesses: Vec<PathAccess>,
    /// It executed or accessed more.
    pub truncated: bool,
}

impl Path {
    /// Of a warp that has not started.
    pub fn new(warp: WarpChoice) -> Self {
        Self { warp, steps: Vec::new(), accesses: Vec::new(), truncated: false }
    }

    /// It comes to an instruction.
    pub fn step(&mut self, moment: &Moment<'_>, parts: Parts) {
        let (function, index) = (moment.function(), moment.index());
        let step = PathStep { function, index, lanes: moment.lanes(), parts };
        // What waits for other warps is tried until they are there: it is one instruction.
        if parts == Parts::Not && self.steps.last() == Some(&step) {
            return;
        }
        if self.steps.len() < MOST_STEPS {
            self.steps.push(step);
        } else {
            self.truncated = true;
        }
    }

    /// An access by the instruction that it came to last.
    pub fn access(&mut self, space: Space, does: Option<AccessKind>, access: &WarpAccess) {
        let Some(step) = self.steps.len().checked_sub(1).filter(|_| !self.truncated) else {
            return;
        };
        if self.accesses.len() < MOST_ACCESSES {
            self.accesses.push(PathAccess { step: step as u32, space, does, access: *access });
        } else {
            self.truncated = true;
        }
    }
}
