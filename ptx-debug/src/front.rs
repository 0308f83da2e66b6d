//! What talks to a user, or to a program: terminal, script, debug adapter.

use ptx_interp::Moment;

use crate::session::{Resume, Session, Stop};

/// Execution rests: what a front may look at and change.
pub struct Rest<'a> {
    /// The launch.
    pub session: &'a mut Session,
    /// The warp that executes; `None` before the first instruction and behind the last.
    pub moment: Option<&'a Moment<'a>>,
    /// Why and when.
    pub stop: Stop,
}

/// Decides how execution goes on.
pub trait Front: Send {
    /// Execution rests.
    fn rest(&mut self, rest: &mut Rest<'_>) -> Resume;
}
