//! The observer behind the debugger: it counts time, and lets execution rest where it must.
//!
//! Time is the number of instructions that warps have issued. The launch runs on one host thread
//! and reads no clock, so the same time is the same state in every run; going back is running
//! again from the beginning.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptx_interp::Moment;
use ptx_interp::observer::{BlockEvent, EventSet, Observer, WarpEvent};
use ptx_isa::Space;

use crate::code::At;
use crate::command::Motion;
use crate::front::{Front, Rest};
use crate::goal::{Goal, Search, goal, past, reached, remember};
use crate::session::{Edit, LaneId, Reason, Resume, Session, Sought, Stop, Watched};
use crate::watched::first_value;

/// Instructions between two looks at whether the user wants to stop.
const POLL: u64 = 1 << 14;

/// What a run of the launch is for.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// Forward from the beginning to a stop.
    Forward(Motion),
    /// To a time, there to rest.
    To(u64, Reason),
    /// To a time, looking for the last moment before it that fits.
    Search { goal: Goal, before: u64 },
    /// To a time, looking for the last write before it.
    Who { sought: Sought, text: String, before: u64 },
    /// To the end without stops.
    Through,
}

/// What happens when the run stops.
pub(crate) enum Next {
    /// The launch runs again.
    Again(Plan),
    /// The debugger ends.
    Quit,
}

/// An access that a watchpoint is to look at once it has happened.
pub(crate) struct Touched {
    pub watch: usize,
    pub by: LaneId,
    pub at: At,
    pub wrote: bool,
}

pub(crate) struct Runner<'r> {
    /// Issues so far, that of the instruction under way included.
    pub time: u64,
    /// Issues from this time on are looked at.
    wake: u64,
    /// Every issue is looked at.
    pub every: bool,
    /// Breakpoints, watchpoints and findings let execution rest, or are looked for.
    breaks: bool,
    /// Accesses are looked at.
    accesses: bool,
    /// Positions in the decoded stream that are looked at.
    flags: Vec<bool>,
    pub session: &'r mut Session,
    front: &'r mut dyn Front,
    pause: Arc<AtomicBool>,
    target: Option<(u64, Reason)>,
    goal: Option<Goal>,
    pub search: Option<Search>,
    #[allow(
        clippy::type_complexity,
        reason = "what is sought, its name, until when, and the last write so far"
    )]
    pub who: Option<(Sought, String, u64, Option<(u64, LaneId, At)>)>,
    pub touched: Vec<Touched>,
    left: Option<LaneId>,
    through: bool,
    /// When the user last decided to go on.
    pub rested: Option<u64>,
    pub next: Option<Next>,
}

impl<'r> Runner<'r> {
    pub(crate) fn new(session: &'r mut Session, front: &'r mut dyn Front, plan: Plan) -> Self {
        let pause = Arc::clone(&session.pause);
        let mut runner = Runner {
            time: 0,
            wake: 0,
            every: false,
            breaks: false,
            accesses: false,
            flags: Vec::new(),
            session,
            front,
            pause,
            target: None,
            goal: None,
            search: None,
            who: None,
            touched: Vec::new(),
            left: None,
            through: false,
            rested: None,
            next: None,
        };
        match plan {
            Plan::Forward(Motion::Free) => {}
            Plan::Forward(_) => runner.target = Some((0, Reason::Start)),
            Plan::To(time, reason) => runner.target = Some((time, reason)),
            Plan::Search { goal, before } => {
                let found = VecDeque::new();
                runner.search = Some(Search { goal, before, found, last_line: None });
            }
            Plan::Who { sought, text, before } => {
                runner.who = Some((sought, text, before, None));
            }
            Plan::Through => runner.through = true,
        }
        runner.prepare();
        runner
    }

    /// Chooses what must be looked at.
    fn prepare(&mut self) {
        let s = &*self.session;
        let going_to = self.target.is_some();
        let stops = !self.through && !going_to && self.who.is_none();
        let free = self.search.as_ref().is_none_or(|s| s.goal.motion == Motion::Free);
        let breaks = stops && free;
        let steps = |g: &Goal| g.motion != Motion::Free || g.until.is_some();
        let watch = breaks && s.watchpoints.iter().any(|w| w.enabled);
        let register = |w: &Watched| matches!(w, Watched::Register { .. });
        self.every = stops && self.goal.as_ref().is_some_and(steps)
            || self.search.as_ref().is_some_and(|s| steps(&s.goal))
            || watch && s.watchpoints.iter().any(|w| w.enabled && register(&w.what))
            || self.who.as_ref().is_some_and(|w| register(&w.0.what))
            || self.left.is_some();
        self.accesses = watch && s.watchpoints.iter().any(|w| w.enabled && !register(&w.what))
            || self.who.as_ref().is_some_and(|w| !register(&w.0.what));
        let mut flags = std::mem::take(&mut self.flags);
        flags.clear();
        flags.resize(s.code.kernel.decoded_len(), false);
        if breaks {
            for b in s.breakpoints.iter().filter(|b| b.enabled) {
                for pc in b.at.iter().filter_map(|(at, _)| s.code.pc(*at)) {
                    flags[pc as usize] = true;
                }
            }
            if s.catch_barrier {
                for f in 0..s.code.functions() {
                    let barriers = (0..s.code.insts(f)).filter(|i| s.code.is_barrier((f, *i)));
                    for pc in barriers.filter_map(|i| s.code.pc((f, i))) {
                        flags[pc as usize] = true;
                    }
                }
            }
        }
        self.flags = flags;
        self.breaks = breaks;
        self.wake(self.time);
    }

    /// Chooses the next time to look whatever is issued.
    fn wake(&mut self, now: u64) {
        let mut wake = now + POLL;
        let times = [
            self.target.as_ref().map(|t| t.0),
            self.search.as_ref().map(|s| s.before),
            self.who.as_ref().map(|w| w.2),
        ];
        for time in times.into_iter().flatten() {
            wake = wake.min(time.max(now));
        }
        for (time, _) in &self.session.edits {
            if *time >= now {
                wake = wake.min(*time);
            }
        }
        if self.breaks && self.session.catch_finding {
            let next = self.session.findings.iter().map(|f| f.time).find(|t| *t >= now);
            wake = wake.min(next.unwrap_or(wake));
        }
        self.wake = wake;
    }

    /// A place has been reached where a front may look around.
    fn rest(&mut self, moment: &Moment<'_>, reason: Reason, lane: LaneId) -> ControlFlow<String> {
        let now = self.time - 1;
        let (goal, target) = (self.goal.take(), self.target.take());
        self.left = None;
        self.touched.clear();
        self.session.up = 0;
        self.session.focus = lane;
        if moment.lane(lane.block, lane.warp, lane.lane).is_none() {
            self.session.focus = LaneId::executing(moment);
        }
        let stop = Stop { reason, time: now };
        let resume =
            self.front.rest(&mut Rest { session: self.session, moment: Some(moment), stop });
        self.rested = Some(now);
        if matches!(resume, Resume::Same) {
            (self.goal, self.target) = (goal, target);
            self.prepare();
            return ControlFlow::Continue(());
        }
        self.resume(moment, resume, now)
    }

    fn resume(&mut self, moment: &Moment<'_>, resume: Resume, now: u64) -> ControlFlow<String> {
        let plan = match resume {
            Resume::Forward { motion, count, until } => {
                self.goal = Some(goal(self.session, Some(moment), motion, count, until));
                self.prepare();
                self.wake(now + 1);
                return ControlFlow::Continue(());
            }
            Resume::Goto(time) if time > now => {
                self.target = Some((time, Reason::Time));
                self.prepare();
                self.wake(now + 1);
                return ControlFlow::Continue(());
            }
            Resume::GotoEnd => {
                self.through = true;
                self.prepare();
                return ControlFlow::Continue(());
            }
            Resume::Quit => {
                self.next = Some(Next::Quit);
                return ControlFlow::Break("the debugger has ended".into());
            }
            back => plan(self.session, Some(moment), back, now),
        };
        self.again(plan)
    }

    fn again(&mut self, plan: Plan) -> ControlFlow<String> {
        self.next = Some(Next::Again(plan));
        ControlFlow::Break("the launch runs again".into())
    }

    /// Changes that the user made at this time.
    fn edits(&mut self, now: u64, moment: &Moment<'_>) {
        for (_, edit) in self.session.edits.iter().filter(|(t, _)| *t == now) {
            apply(edit, moment);
        }
    }

    /// Looks at an issue.
    fn issue(&mut self, moment: &Moment<'_>, active: u32) -> ControlFlow<String> {
        let now = self.time - 1;
        if now >= self.wake {
            self.edits(now, moment);
            if let Some((time, _)) = &self.target
                && *time == now
                && let Some((_, reason)) = self.target.take()
            {
                let focus = self.session.focus;
                return self.rest(moment, reason, focus);
            }
            if self.search.as_ref().is_some_and(|s| s.before <= now) {
                return self.searched();
            }
            if self.who.as_ref().is_some_and(|w| w.2 <= now)
                && let Some((_, text, _, found)) = self.who.take()
            {
                let focus = self.session.focus;
                return self.rest(moment, Reason::Writer { text, found }, focus);
            }
            let found = self.finding(now);
            self.wake(now + 1);
            if let Some((reason, lane)) = found {
                match &mut self.search {
                    Some(search) => remember(search, (now, reason, lane)),
                    None => return self.rest(moment, reason, lane),
                }
            }
            if self.pause.swap(false, Ordering::Relaxed) && self.search.is_none() && !self.through {
                return self.rest(moment, Reason::Interrupt, LaneId::executing(moment));
            }
        }
        if self.who.is_some() {
            self.wrote_register(moment, active, now);
            return ControlFlow::Continue(());
        }
        if let Some(search) = &mut self.search
            && search.goal.motion != Motion::Free
        {
            if past(search, self.session, moment) {
                let lane = search.goal.lane;
                remember(search, (now, Reason::Step, lane));
            }
            return ControlFlow::Continue(());
        }
        if self.through || self.target.is_some() {
            return ControlFlow::Continue(());
        }
        let Some((reason, lane)) = self.find(moment, active) else {
            return ControlFlow::Continue(());
        };
        match &mut self.search {
            Some(search) => {
                remember(search, (now, reason, lane));
                ControlFlow::Continue(())
            }
            None => self.rest(moment, reason, lane),
        }
    }

    /// What a checker has found at this time.
    fn finding(&self, now: u64) -> Option<(Reason, LaneId)> {
        let stops = self.breaks && self.session.catch_finding;
        let mut here = self.session.findings.iter().filter(|f| stops && f.time == now);
        let first = here.next()?;
        let rest = here.map(|f| format!("; {}", f.text)).collect::<String>();
        Some((Reason::Finding { text: format!("{}{rest}", first.text) }, first.lane))
    }

    /// The search has come to the present.
    fn searched(&mut self) -> ControlFlow<String> {
        let Some(mut search) = self.search.take() else { return ControlFlow::Continue(()) };
        let (time, reason, lane) = match search.found.len() as u64 == search.goal.count {
            true => search.found.pop_front().unwrap_or((0, Reason::HistoryStart, search.goal.lane)),
            false => (0, Reason::HistoryStart, search.goal.lane),
        };
        self.session.focus = lane;
        self.again(Plan::To(time, reason))
    }

    /// Whether execution must rest here, and which lane is meant.
    fn find(&mut self, moment: &Moment<'_>, active: u32) -> Option<(Reason, LaneId)> {
        if let Some(hit) = self.watches(moment) {
            return Some(hit);
        }
        if let Some(lane) = self.left.take()
            && self.goal.as_ref().is_some_and(|g| g.lane == lane)
        {
            return Some((Reason::LaneEnded(lane), lane));
        }
        if let Some(goal) = &mut self.goal
            && reached(goal, self.session, moment)
        {
            goal.count -= 1;
            let lane = goal.lane;
            if goal.count == 0 {
                return Some((Reason::Step, lane));
            }
            // The next step starts here.
            let (motion, count, until) = (goal.motion, goal.count, goal.until.clone());
            *goal = crate::goal::goal(self.session, Some(moment), motion, count, until);
        }
        if self.flags[moment.pc() as usize] {
            return self.breakpoint(moment, active);
        }
        None
    }

    fn breakpoint(&mut self, moment: &Moment<'_>, active: u32) -> Option<(Reason, LaneId)> {
        let at = (moment.function(), moment.index());
        let here = LaneId::executing(moment);
        let lane = moment.lane(here.block, here.warp, here.lane)?;
        let searching = self.search.is_some();
        let mut free = self.goal.as_mut().filter(|g| g.motion == Motion::Free && g.count > 1);
        for b in self.session.breakpoints.iter_mut().filter(|b| b.enabled) {
            let Some((_, condition)) = b.at.iter().find(|(a, _)| *a == at) else { continue };
            // A lane that its guard switches off does not execute the instruction.
            let lanes = if active != 0 { active } else { moment.lanes() };
            let lanes = match condition {
                None => lanes,
                // What cannot be computed does not hold.
                Some(c) => c.holds(&lane, 0, lanes).unwrap_or(0),
            };
            if lanes == 0 {
                continue;
            }
            if !searching {
                b.hits += 1;
                if b.ignore > 0 {
                    b.ignore -= 1;
                    continue;
                }
                if let Some(goal) = &mut free {
                    goal.count -= 1;
                    return None;
                }
            }
            let number = b.number;
            if b.once && !searching {
                self.session.breakpoints.retain(|b| b.number != number);
            }
            let focus = self.session.focus;
            let same = (focus.block, focus.warp) == (here.block, here.warp);
            let keep = same && lanes >> focus.lane & 1 != 0;
            let lane = if keep { focus.lane } else { lanes.trailing_zeros() as u8 };
            return Some((Reason::Breakpoint { number, lanes }, LaneId { lane, ..here }));
        }
        (self.session.catch_barrier && self.session.code.is_barrier(at))
            .then_some((Reason::Barrier, here))
    }

    pub(crate) fn needs_every(&self) -> bool {
        let register = |w: &Watched| matches!(w, Watched::Register { .. });
        let steps = |g: &Goal| g.motion != Motion::Free || g.until.is_some();
        self.session.watchpoints.iter().any(|w| w.enabled && register(&w.what))
            || self.goal.as_ref().is_some_and(steps)
            || self.left.is_some()
    }

    /// The launch has ended: answers that wait for its end.
    pub(crate) fn at_end(&mut self) -> Option<Reason> {
        if self.search.is_some() {
            let _ = self.searched();
            return None;
        }
        let (_, text, _, found) = self.who.take()?;
        Some(Reason::Writer { text, found })
    }
}

/// Makes a change of the user.
pub(crate) fn apply(edit: &Edit, moment: &Moment<'_>) {
    match edit {
        Edit::Register { lane, up, register, value } => {
            if let Some(lane) = moment.lane(lane.block, lane.warp, lane.lane) {
                lane.set_register(*up, register.kind, register.number, *value);
            }
        }
        Edit::Memory { lane, space, address, bytes } => {
            if let Some(lane) = moment.lane(lane.block, lane.warp, lane.lane) {
                // It could be written when the user changed it.
                let _ = lane.write(*space, *address, bytes);
            }
        }
    }
}

/// The run that a decision asks for.
pub(crate) fn plan(
    session: &Session,
    moment: Option<&Moment<'_>>,
    resume: Resume,
    now: u64,
) -> Plan {
    match resume {
        Resume::Forward { motion, .. } => Plan::Forward(motion),
        Resume::Same => Plan::Forward(Motion::Free),
        Resume::Backward { motion, count } => {
            let goal = goal(session, moment, motion, count, None);
            Plan::Search { goal, before: now }
        }
        Resume::Goto(time) => Plan::To(time, Reason::Time),
        Resume::GotoEnd | Resume::Quit => Plan::Through,
        Resume::Restart { stop: true } => Plan::To(0, Reason::Start),
        Resume::Restart { stop: false } => Plan::Forward(Motion::Free),
        Resume::Who(sought, text) => Plan::Who { sought, text, before: now },
    }
}

impl Observer for Runner<'_> {
    const EVENTS: EventSet =
        EventSet::ISSUE.and(EventSet::ACCESS).and(EventSet::EXIT).and(EventSet::BLOCK);

    #[inline(always)]
    fn wants_issue(&mut self, pc: u32) -> bool {
        let now = self.time;
        self.time = now + 1;
        self.every | (now >= self.wake) | self.flags[pc as usize]
    }

    #[inline(always)]
    fn wants_access(&mut self) -> bool {
        self.accesses
    }

    fn block(&mut self, event: BlockEvent<'_>) {
        let Session { watchpoints, memory, .. } = &mut *self.session;
        for w in watchpoints.iter_mut().filter(|w| w.last.is_none()) {
            match (&event, &w.what) {
                (BlockEvent::LaunchStarts { .. }, Watched::Memory { space: Space::Global, .. }) => {
                    w.last = first_value(memory, &w.what);
                }
                // Shared and local memory of a new block is zero.
                (BlockEvent::Starts { block }, Watched::Memory { .. })
                    if *block == w.lane.block =>
                {
                    w.last = first_value(memory, &w.what);
                }
                _ => {}
            }
        }
    }

    fn warp(&mut self, moment: &Moment<'_>, event: WarpEvent<'_>) -> ControlFlow<String> {
        match event {
            WarpEvent::Issue { active } => self.issue(moment, active),
            WarpEvent::Access(access) => {
                if self.accesses {
                    self.access(moment, access);
                }
                ControlFlow::Continue(())
            }
            WarpEvent::Exit { lanes } => {
                let lane = self.goal.as_ref().map(|g| g.lane);
                if let Some(lane) = lane
                    && self.needs_every()
                    && (lane.block, lane.warp) == (moment.block(), moment.warp())
                    && lanes >> lane.lane & 1 != 0
                {
                    self.left = Some(lane);
                    self.every = true;
                }
                ControlFlow::Continue(())
            }
            WarpEvent::BarrierArrive { .. }
            | WarpEvent::BarrierComplete { .. }
            | WarpEvent::Fence(_)
            | WarpEvent::WarpSync { .. }
            | WarpEvent::Mbarrier(_)
            | WarpEvent::AsyncGroup(_)
            | WarpEvent::Malloc { .. }
            | WarpEvent::Free { .. }
            | WarpEvent::Print { .. } => ControlFlow::Continue(()),
        }
    }
}
