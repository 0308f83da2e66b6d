//! Carries out commands where execution rests.

use ptx_interp::Lane;
use ptx_isa::{Space, Ty};

use crate::answer::Answer;
use crate::code::{At, Register};
use crate::command::{Command, HELP, Moment as Time, Motion, Subject, WatchKind, find};
use crate::error::Error;
use crate::eval::{self, Compiled, Place};
use crate::expr::Expr;
use crate::front::Rest;
use crate::runner::apply;
use crate::session::{Edit, LaneId, Resume, Sought, Watched, Watchpoint};

/// What a command leads to.
pub enum Reply {
    /// An answer; execution still rests.
    Answer(Answer),
    /// Execution goes on.
    Resume(Resume),
}

impl<'a> Rest<'a> {
    /// Carries out a command.
    ///
    /// # Errors
    /// When it cannot be done here.
    pub fn execute(&mut self, command: &Command) -> Result<Reply, Error> {
        let resume = |r| Ok(Reply::Resume(r));
        match command {
            Command::Run => resume(Resume::Restart { stop: false }),
            Command::Start => resume(Resume::Restart { stop: true }),
            Command::Forward { motion, count } => {
                if *motion == Motion::Finish && self.moment.is_some() && self.lane()?.depth() == 0 {
                    let text =
                        "the lane is in the kernel itself, which nobody called; `continue` runs it";
                    return Err(Error::Refused(text.into()));
                }
                resume(Resume::Forward { motion: *motion, count: *count, until: None })
            }
            Command::Backward { motion, count } => {
                resume(Resume::Backward { motion: *motion, count: *count })
            }
            Command::Until { location } => {
                self.lane()?;
                let until = self.session.code.locate(location, self.function())?;
                let motion = Motion::Instruction { over: false };
                resume(Resume::Forward { motion, count: 1, until: Some(until) })
            }
            Command::Goto(to) => resume(match to {
                Time::Start => Resume::Goto(0),
                Time::Time(time) => match self.session.end {
                    Some(end) if *time > end => {
                        let text = format!("the launch ends at time {end}");
                        return Err(Error::Refused(text));
                    }
                    _ => Resume::Goto(*time),
                },
                Time::End => Resume::GotoEnd,
            }),
            Command::Who(expr) => self.who(expr).map(Reply::Resume),
            Command::Quit => resume(Resume::Quit),
            other => self.answer(other).map(Reply::Answer),
        }
    }

    fn answer(&mut self, command: &Command) -> Result<Answer, Error> {
        match command {
            Command::Break { location, condition, once } => {
                let function = self.function();
                let session = &mut *self.session;
                let number =
                    session.add_breakpoint(location, condition.clone(), *once, function)?;
                Ok(self.described(number))
            }
            Command::Condition { number, condition } => {
                let at = self.breakpoint(*number)?.at.iter().map(|(at, _)| *at).collect();
                let at = self.session.conditions(at, condition.as_ref())?;
                let b = self.breakpoint(*number)?;
                (b.at, b.condition) = (at, condition.clone());
                Ok(Answer::Done)
            }
            Command::Ignore { number, count } => {
                self.breakpoint(*number)?.ignore = *count;
                Ok(Answer::note(format!("breakpoint {number} lets {count} hits pass")))
            }
            Command::Enable { number, on } => self.enable(*number, *on),
            Command::Delete(number) => self.delete(*number),
            Command::Watch { expr, text, kind } => self.watch(expr, text, *kind),
            Command::CatchBarrier(on) => {
                self.session.catch_barrier = *on;
                Ok(Answer::Done)
            }
            Command::CatchLaunch(on) => {
                self.session.catch_launch = *on;
                Ok(Answer::Done)
            }
            Command::CatchFinding(on) => {
                self.session.catch_finding = *on;
                Ok(Answer::Done)
            }
            Command::Block(_) | Command::Warp(_) | Command::Lane(_) | Command::Thread(_) => {
                self.switch(command)
            }
            Command::Up(by) => self.up(*by),
            Command::Print { expr, text, format } => {
                let compiled = self.compile(expr)?;
                self.value(&compiled, text, *format)
            }
            Command::Display { expr, text, format } => {
                let number = self.session.number();
                self.session.displays.push((number, expr.clone(), text.clone(), *format));
                Ok(self.display(number))
            }
            Command::Undisplay(number) => {
                let before = self.session.displays.len();
                self.session.displays.retain(|d| d.0 != *number);
                match self.session.displays.len() < before {
                    true => Ok(Answer::Done),
                    false => Err(Error::NoSuch { what: "display", number: *number }),
                }
            }
            Command::Lanes { expr, text, format } => {
                let compiled = self.compile(expr)?;
                self.lanes(&compiled, text, *format)
            }
            Command::Examine { expr, space, count, format } => {
                self.examine(expr, *space, *count, *format)
            }
            Command::Matrix { name, rows, columns, format } => {
                self.matrix(name, *rows, *columns, *format)
            }
            Command::Set { to, value, text } => self.set(to, value, text),
            Command::Info(subject) => self.info(*subject),
            Command::Mask => self.mask(),
            Command::Stack => self.stack(),
            Command::Backtrace => self.backtrace(),
            Command::Where => Ok(self.stop_text()),
            Command::List(location) => self.list(location.as_deref()),
            Command::Disassemble(location) => self.disassemble(location.as_deref()),
            Command::Output => {
                let text = String::from_utf8_lossy(&self.session.output()).into_owned();
                Ok(Answer::Drawing { lines: text.lines().map(str::to_owned).collect() })
            }
            Command::Help(name) => help(name.as_deref()),
            Command::Source(_) => {
                Err(Error::Refused("`source` is for the terminal and for scripts".into()))
            }
            Command::Run
            | Command::Start
            | Command::Forward { .. }
            | Command::Backward { .. }
            | Command::Until { .. }
            | Command::Goto(_)
            | Command::Who(_)
            | Command::Quit => Ok(Answer::Done),
        }
    }

    /// The lane in focus.
    pub(crate) fn lane(&self) -> Result<Lane<'a>, Error> {
        let moment = self.moment.ok_or(Error::NotRunning)?;
        let LaneId { block, warp, lane } = self.session.focus;
        moment.lane(block, warp, lane).ok_or_else(|| {
            let text = format!(
                "lane {lane} of warp {warp} has ended, or never was; `info warps` lists lanes"
            );
            Error::NoLane(text)
        })
    }

    /// The instruction that is looked at: where the lane stands, or a call.
    pub(crate) fn at(&self) -> Result<At, Error> {
        let lane = self.lane()?;
        let pc = lane.pc_of(self.session.up).unwrap_or(lane.pc);
        self.session.code.kernel.origin(pc).ok_or(Error::NotRunning)
    }

    /// The function that is looked at; the kernel before it runs.
    pub(crate) fn function(&self) -> u32 {
        self.at().map_or(0, |at| at.0)
    }

    pub(crate) fn compile(&self, expr: &Expr) -> Result<Compiled, Error> {
        eval::compile(expr, &self.session.code, self.at().unwrap_or((0, 0)))
    }

    fn breakpoint(&mut self, number: u64) -> Result<&mut crate::session::Breakpoint, Error> {
        let mut all = self.session.breakpoints.iter_mut();
        all.find(|b| b.number == number).ok_or(Error::NoSuch { what: "breakpoint", number })
    }

    /// What was just set, as a sentence.
    fn described(&self, number: u64) -> Answer {
        let code = &self.session.code;
        let Some(b) = self.session.breakpoints.iter().find(|b| b.number == number) else {
            return Answer::Done;
        };
        let places: Vec<String> = b.at.iter().map(|(at, _)| code.describe(*at)).collect();
        Answer::note(format!("breakpoint {number} at {}", places.join(", ")))
    }

    fn enable(&mut self, number: u64, on: bool) -> Result<Answer, Error> {
        if let Some(w) = self.session.watchpoints.iter_mut().find(|w| w.number == number) {
            w.enabled = on;
        } else {
            self.breakpoint(number)?.enabled = on;
        }
        Ok(Answer::Done)
    }

    fn delete(&mut self, number: Option<u64>) -> Result<Answer, Error> {
        let session = &mut *self.session;
        let before = session.breakpoints.len() + session.watchpoints.len();
        session.breakpoints.retain(|b| number.is_some_and(|n| n != b.number));
        session.watchpoints.retain(|w| number.is_some_and(|n| n != w.number));
        match number {
            Some(number) if before == session.breakpoints.len() + session.watchpoints.len() => {
                Err(Error::NoSuch { what: "breakpoint", number })
            }
            _ => Ok(Answer::Done),
        }
    }

    /// What an expression names: a register, or up to 8 bytes of memory.
    fn watched(&self, expr: &Expr) -> Result<(Watched, Ty), Error> {
        let compiled = self.compile(expr)?;
        match compiled.place() {
            Some(Place::Register(_, register)) => {
                let lane = self.lane()?;
                if self.session.up != 0 {
                    let text =
                        "a register of a caller does not change while it waits; `down` first";
                    return Err(Error::Refused(text.into()));
                }
                let function = lane.at().0;
                Ok((Watched::Register { function, register }, register.ty))
            }
            Some(Place::Memory(space, ty, at)) => {
                let address = match self.lane() {
                    Ok(lane) => at.value(&lane, self.session.up)?.bits,
                    Err(error) => at.constant().ok_or(error)?,
                };
                let (space, address) = self.located(space, address)?;
                let bytes = ty.bits().div_ceil(8);
                Ok((Watched::Memory { space, address, bytes }, ty))
            }
            None => {
                let text = "only a register or memory can be watched: %r5, tile[3], *(f32 *)%rd1";
                Err(Error::Refused(text.into()))
            }
        }
    }

    /// An address in global, shared or local memory.
    fn located(&self, space: Space, address: u64) -> Result<(Space, u64), Error> {
        use ptx_isa::effect::window;
        match window::locate(space, address) {
            (Space::Global | Space::Const, a) => Ok((Space::Global, a)),
            (Space::Shared | Space::SharedCluster, a) => {
                let (rank, at) = ((a / window::SHARED_CTA) as usize, a % window::SHARED_CTA);
                let block =
                    self.moment.as_ref().and_then(|m| m.cluster_blocks().get(rank).copied());
                let own = self.lane().is_ok_and(|lane| block == Some(lane.block()));
                if own || rank == 0 && space == Space::Shared {
                    Ok((Space::Shared, at))
                } else {
                    Err(Error::Refused("this is the shared memory of another block".into()))
                }
            }
            (Space::Local | Space::ParamFunc, a) => Ok((Space::Local, a)),
            _ => Err(Error::Refused("only global, shared and local memory changes".into())),
        }
    }

    fn watch(&mut self, expr: &Expr, text: &str, kind: WatchKind) -> Result<Answer, Error> {
        let (what, ty) = self.watched(expr)?;
        if kind != WatchKind::Write && matches!(what, Watched::Register { .. }) {
            let text = "registers are watched for changes; `watch` does that";
            return Err(Error::Refused(text.into()));
        }
        let number = self.session.number();
        let lane = self.session.focus;
        let (text, enabled) = (text.to_owned(), true);
        let (hits, last, seen) = (0, None, None);
        let mut w = Watchpoint { number, text, what, ty, lane, kind, enabled, hits, last, seen };
        if let Ok(lane) = self.lane() {
            w.last = self.session.watched(&w, &lane);
            w.seen = Some(lane.at());
        }
        let answer = Answer::note(format!("watchpoint {number}: {}", w.text));
        self.session.watchpoints.push(w);
        Ok(answer)
    }

    fn who(&self, expr: &Expr) -> Result<Resume, Error> {
        let (what, _) = self.watched(expr)?;
        let lane = self.session.focus;
        let depth = self.lane().map_or(0, |l| l.depth());
        let text = match &what {
            Watched::Register { function, register } => {
                let all = self.session.code.registers(*function);
                let name = all.iter().find(|(_, r)| r == register).map(|(n, _)| n.clone());
                name.unwrap_or_default()
            }
            Watched::Memory { space, address, bytes } => {
                format!("{bytes} bytes at {} address {address:#x}", eval::space_name(*space))
            }
        };
        Ok(Resume::Who(Sought { what, lane, depth }, text))
    }

    fn switch(&mut self, command: &Command) -> Result<Answer, Error> {
        let moment = self.moment.ok_or(Error::NotRunning)?;
        let mut to = self.session.focus;
        match command {
            Command::Block(block) => {
                if !moment.cluster_blocks().contains(block) {
                    let text = format!(
                        "block {} is not under way; stop in it by a condition: if %ctaid.x == {}",
                        triple(*block),
                        block[0]
                    );
                    return Err(Error::NoLane(text));
                }
                to.block = *block;
            }
            Command::Warp(warp) => to = LaneId { warp: *warp, ..to },
            Command::Lane(lane) => to.lane = *lane,
            Command::Thread(t) => {
                let [x, y, _] = self.session.params.block;
                let inside = (0..3).all(|d| t[d] < self.session.params.block[d]);
                if !inside {
                    let size = triple(self.session.params.block);
                    return Err(Error::NoLane(format!("the block has {size} threads")));
                }
                let number = t[0] + x * (t[1] + y * t[2]);
                (to.warp, to.lane) = (number / 32, (number % 32) as u8);
            }
            _ => {}
        }
        if to.warp >= moment.warp_count() {
            return Err(Error::NoLane(format!("the block has {} warps", moment.warp_count())));
        }
        let chosen = matches!(command, Command::Lane(_) | Command::Thread(_));
        let found = moment.lane(to.block, to.warp, to.lane);
        if found.is_none() && !chosen {
            // Any lane of the warp will do.
            let live = (0..32).find(|l| moment.lane(to.block, to.warp, *l).is_some());
            to.lane = live.unwrap_or(to.lane);
        }
        if moment.lane(to.block, to.warp, to.lane).is_none() {
            let text = format!("lane {} of warp {} has ended, or never was", to.lane, to.warp);
            return Err(Error::NoLane(text));
        }
        self.session.focus = to;
        self.session.up = 0;
        Ok(self.place_text())
    }

    fn up(&mut self, by: i32) -> Result<Answer, Error> {
        let depth = self.lane()?.depth();
        let up = self.session.up.checked_add_signed(by).filter(|up| *up <= depth);
        let text = if by > 0 { "nobody called this function" } else { "no function is further in" };
        self.session.up = up.ok_or_else(|| Error::Refused(text.into()))?;
        Ok(self.place_text())
    }

    fn set(&mut self, to: &Expr, value: &Expr, text: &str) -> Result<Answer, Error> {
        let (target, value) = (self.compile(to)?, self.compile(value)?);
        let lane = self.lane()?;
        let up = self.session.up;
        let value = value.converted(target.ty).value(&lane, up)?.bits;
        let id = self.session.focus;
        let edit = match target.place() {
            Some(Place::Register(_, Register { kind, number, ty })) => {
                Edit::Register { lane: id, up, register: Register { kind, number, ty }, value }
            }
            Some(Place::Memory(space, ty, at)) => {
                let address = at.value(&lane, up)?.bits;
                let (space, address) = self.located(space, address)?;
                let bytes = value.to_le_bytes()[..ty.bits().div_ceil(8) as usize].to_vec();
                // A first look says whether the address can be written.
                lane.read(space, address, &mut bytes.clone())
                    .map_err(|_| eval::unreadable(space, address))?;
                Edit::Memory { lane: id, space, address, bytes }
            }
            None => {
                let text = "only registers and memory can be set: set %r5 = 3, set tile[2] = 1.5";
                return Err(Error::Refused(text.into()));
            }
        };
        if let Some(moment) = self.moment {
            apply(&edit, moment);
        }
        self.session.edit(self.stop.time, edit);
        Ok(Answer::note(text.to_owned()))
    }

    fn info(&self, subject: Subject) -> Result<Answer, Error> {
        match subject {
            Subject::Breakpoints => Ok(self.stops()),
            Subject::Warps => self.warps(),
            Subject::Registers => self.registers(),
            Subject::Args => self.args(),
            Subject::Variables => Ok(self.variables()),
            Subject::Memory => Ok(self.allocations()),
            Subject::Launch => Ok(self.launch()),
            Subject::Files => Ok(self.files()),
            Subject::Functions => Ok(self.functions()),
            Subject::Locals => self.locals(),
        }
    }
}

/// `(x, y, z)`.
pub(crate) fn triple(v: [u32; 3]) -> String {
    format!("({},{},{})", v[0], v[1], v[2])
}

fn help(name: Option<&str>) -> Result<Answer, Error> {
    match name {
        Some(name) => {
            let entry = find(name)?;
            let short = entry.names[1..].join(", ");
            let short = if short.is_empty() { short } else { format!(" (short: {short})") };
            Ok(Answer::note(format!("{}{short}: {}", entry.usage, entry.does)))
        }
        None => {
            let row = |e: &crate::command::Entry| {
                let short = e.names.get(1).copied().unwrap_or("").to_owned();
                vec![e.usage.to_owned(), short, e.does.to_owned()]
            };
            Ok(Answer::table(&["command", "short", "what it does"], HELP.iter().map(row).collect()))
        }
    }
}
