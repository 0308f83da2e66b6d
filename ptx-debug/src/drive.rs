//! Runs a launch, and runs it again for every step back.

use std::sync::{Arc, Mutex, PoisonError};

use ptx_interp::{LaunchError, Report, Stats, launch_observed};

use crate::command::Motion;
use crate::error::Error;
use crate::front::{Front, Rest};
use crate::runner::{Next, Plan, Runner, plan as planned};
use crate::session::{End, LaneId, Reason, Resume, Session, Stop};

/// Debugs a launch: execution rests before its first instruction, wherever the user wants, and
/// behind its last.
///
/// # Errors
/// When the launch is not possible, or cannot run again.
pub fn debug(session: &mut Session, front: &mut dyn Front) -> Result<End, Error> {
    let mut plan = match session.catch_launch {
        false => Plan::Forward(Motion::Free),
        true => match outside(session, front, Reason::Ready, 0) {
            Resume::Quit => return Ok(End::Quit),
            resume => planned(session, None, resume, 0),
        },
    };
    loop {
        session.rewind()?;
        let Run { result, time, rested, next, answer } = run(session, front, plan)?;
        match next {
            Some(Next::Again(again)) => {
                plan = again;
                continue;
            }
            Some(Next::Quit) => return Ok(End::Quit),
            None => {}
        }
        match result {
            Ok(stats) if answer.is_none() && !session.catch_launch => {
                return Ok(End::Finished(stats));
            }
            Ok(stats) => {
                session.end = Some(time);
                let reason = answer.unwrap_or(Reason::Ended);
                plan = match outside(session, front, reason, time) {
                    Resume::Quit => return Ok(End::Quit),
                    Resume::Forward { .. } => return Ok(End::Finished(stats)),
                    resume => planned(session, None, resume, time),
                };
            }
            Err(LaunchError::Fault(report)) => {
                let last = time.saturating_sub(1);
                session.end = Some(last);
                if rested == Some(last) {
                    return Ok(End::Fault(report));
                }
                session.focus = lane_of(session, &report);
                plan = Plan::To(last, Reason::Fault(report));
            }
            Err(other) => return Err(Error::Refused(other.to_string())),
        }
    }
}

/// The lane of the thread that a report is about.
fn lane_of(session: &Session, report: &Report) -> LaneId {
    let ([x, y, z], [width, height, _]) = (report.thread, session.params.block);
    let number = x + width * (y + height * z);
    LaneId { block: report.block, warp: number / 32, lane: (number % 32) as u8 }
}

/// A run of the launch that has ended or was stopped.
struct Run {
    result: Result<Stats, LaunchError>,
    /// Issues.
    time: u64,
    /// When the user last decided to go on.
    rested: Option<u64>,
    next: Option<Next>,
    /// The answer to a question that was to be answered at the end.
    answer: Option<Reason>,
}

fn run(session: &mut Session, front: &mut dyn Front, plan: Plan) -> Result<Run, Error> {
    let kernel = Arc::clone(&session.code.kernel);
    let (memory, params) = (session.memory.clone(), session.params.clone());
    let slot = Mutex::new(Some(Runner::new(session, front, plan)));
    let take = || {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.take().expect("a launch on one host thread makes one observer")
    };
    let (result, mut runners) = launch_observed(&kernel, &memory, &params, &take);
    let Some(mut runner) = runners.pop() else {
        let why = result.err().map_or_else(String::new, |e| e.to_string());
        return Err(Error::Refused(why));
    };
    let answer = if runner.next.is_none() { runner.at_end() } else { None };
    let (time, rested, next) = (runner.time, runner.rested, runner.next.take());
    Ok(Run { result, time, rested, next, answer })
}

/// Execution rests before the launch or behind it.
fn outside(session: &mut Session, front: &mut dyn Front, reason: Reason, time: u64) -> Resume {
    session.up = 0;
    front.rest(&mut Rest { session, moment: None, stop: Stop { reason, time } })
}
