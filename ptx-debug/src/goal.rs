//! Where steps lead, forward and back.

use std::collections::VecDeque;

use ptx_interp::{Lane, Moment};

use crate::code::At;
use crate::command::Motion;
use crate::session::{LaneId, Reason, Session};

/// Where a step leads.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    pub motion: Motion,
    pub count: u64,
    pub until: Option<Vec<At>>,
    pub lane: LaneId,
    depth: u32,
    line: (Option<u32>, u32),
    lanes: u32,
}

/// Looks for moments of the past.
pub(crate) struct Search {
    pub goal: Goal,
    pub before: u64,
    pub found: VecDeque<(u64, Reason, LaneId)>,
    pub last_line: Option<(u32, (Option<u32>, u32))>,
}

/// Keeps the last moments that were found, as many as were asked for.
pub(crate) fn remember(search: &mut Search, moment: (u64, Reason, LaneId)) {
    search.found.push_back(moment);
    if search.found.len() as u64 > search.goal.count {
        search.found.pop_front();
    }
}

/// A goal for the lane in focus.
pub(crate) fn goal(
    session: &Session,
    moment: Option<&Moment<'_>>,
    motion: Motion,
    count: u64,
    until: Option<Vec<At>>,
) -> Goal {
    let lane = session.focus;
    let stands = moment.and_then(|m| m.lane(lane.block, lane.warp, lane.lane));
    let depth = stands.as_ref().map_or(0, Lane::depth);
    let line = stands.as_ref().map_or((None, 0), |l| session.code.step_line(l.at()));
    let lanes = stands.as_ref().map_or(0, |l| l.lanes);
    Goal { motion, count: count.max(1), until, lane, depth, line, lanes }
}

/// Whether the lane of a goal executes at this moment.
fn lane_of<'m>(goal: &Goal, moment: &'m Moment<'m>) -> Option<Lane<'m>> {
    let LaneId { block, warp, lane } = goal.lane;
    if moment.warp() != warp || moment.block() != block || moment.lanes() >> lane & 1 == 0 {
        return None;
    }
    moment.lane(block, warp, lane)
}

/// Whether a step forward has come to its goal.
pub(crate) fn reached(goal: &Goal, session: &Session, moment: &Moment<'_>) -> bool {
    let here = moment.warp() == goal.lane.warp && moment.block() == goal.lane.block;
    if goal.motion == Motion::Warp && goal.until.is_none() {
        return here;
    }
    let Some(lane) = lane_of(goal, moment) else { return false };
    let at = lane.at();
    if let Some(until) = &goal.until {
        return until.contains(&at);
    }
    match goal.motion {
        Motion::Free | Motion::Warp => false,
        Motion::Instruction { over: false } => true,
        Motion::Instruction { over: true } => lane.depth() <= goal.depth,
        Motion::Line { over } => {
            let depth = lane.depth();
            let other = depth != goal.depth || session.code.step_line(at) != goal.line;
            other && !(over && depth > goal.depth)
        }
        Motion::Finish => lane.depth() < goal.depth,
        Motion::Barrier => session.code.is_barrier(at),
        Motion::Reconverge => lane.lanes & !goal.lanes != 0,
    }
}

/// Whether a step back might come to rest here.
pub(crate) fn past(search: &mut Search, session: &Session, moment: &Moment<'_>) -> bool {
    let goal = &search.goal;
    if goal.motion == Motion::Warp {
        return moment.warp() == goal.lane.warp && moment.block() == goal.lane.block;
    }
    let Some(lane) = lane_of(goal, moment) else { return false };
    match goal.motion {
        Motion::Line { over } => {
            let depth = lane.depth();
            if over && depth > goal.depth {
                return false;
            }
            let line = Some((depth, session.code.step_line(lane.at())));
            let entered = search.last_line != line;
            search.last_line = line;
            entered
        }
        Motion::Instruction { over: true } => lane.depth() <= goal.depth,
        Motion::Instruction { over: false } => true,
        Motion::Finish => lane.depth() < goal.depth,
        Motion::Barrier => session.code.is_barrier(lane.at()),
        Motion::Reconverge => lane.lanes & !goal.lanes != 0,
        Motion::Free | Motion::Warp => false,
    }
}
