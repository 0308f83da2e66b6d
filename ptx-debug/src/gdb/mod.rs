//! The gdb remote protocol: gdb attaches to a kernel as to a program on another machine.
//!
//! A thread of gdb is a lane of the blocks under way. Packets are `gdbstub`'s (`target`); what gdb takes registers and
//! code for is in `description`.

mod description;
mod target;

use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};

use gdbstub::common::Signal;
use gdbstub::stub::MultiThreadStopReason;
use gdbstub::target::ext::base::reverse_exec::ReplayLogPosition;
use gdbstub::target::ext::breakpoints::WatchKind as GdbWatch;
use ptx_interp::Moment;
use ptx_isa::Space;

use crate::command::{self, Command, Motion, WatchKind};
use crate::execute::Reply;
use crate::front::{Front, Rest};
use crate::runner::apply;
use crate::session::{Edit, LaneId, Reason, Resume, Session, Watched};
use description::{CODE, CODE_END, Code, Layout};
use target::{Ask, Go, Told};

/// Serves one client of gdb.
pub struct Server {
    asks: Receiver<Ask>,
    answers: Sender<Told>,
    code: Code,
    layout: Layout,
    /// Breakpoints of the client: the address, and the place in words that hold for other launches too.
    breakpoints: Vec<(u64, String)>,
    /// The first launch has begun.
    attached: bool,
    /// The client waits for a stop.
    running: bool,
    /// The client has gone away.
    gone: bool,
}

impl Server {
    /// A server on a connection; `pause` stops a kernel that runs.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn new(mut connection: TcpStream, pause: &Arc<AtomicBool>) -> std::io::Result<Server> {
        target::prepare(&mut connection)?;
        let (asks, asked) = channel();
        let (answers, answered) = channel();
        let pause = Arc::clone(pause);
        std::thread::spawn(move || target::serve(connection, asks, answered, pause));
        Ok(Server {
            asks: asked,
            answers,
            code: Code::default(),
            layout: Layout::default(),
            breakpoints: Vec::new(),
            attached: false,
            running: false,
            gone: false,
        })
    }

    /// Tells the client that all launches have ended, with this status, and waits until it has heard.
    pub fn finish(&mut self, status: u8) {
        if self.gone {
            return;
        }
        if self.running {
            self.tell(Told::Stopped(MultiThreadStopReason::Exited(status)));
        }
        while let Ok(ask) = self.asks.recv() {
            match ask {
                Ask::Gone { .. } => break,
                Ask::Threads => self.tell(Told::Threads(Vec::new())),
                Ask::Go(_) => self.tell(Told::Stopped(MultiThreadStopReason::Exited(status))),
                _ => self.tell(Told::Done(false)),
            }
        }
    }

    fn tell(&self, told: Told) {
        // A client that has gone away says so itself.
        let _ = self.answers.send(told);
    }

    /// The thread of a lane. Threads are numbered as if all blocks were one after the other.
    fn thread(session: &Session, lane: LaneId) -> usize {
        let [gx, gy, _] = session.params.grid.map(|n| n as usize);
        let [x, y, z] = lane.block.map(|n| n as usize);
        let block = x + gx * (y + gy * z);
        (block * warps(session) + lane.warp as usize) * 32 + lane.lane as usize + 1
    }

    fn lane(session: &Session, thread: usize) -> LaneId {
        let number = thread - 1;
        let (lane, warp) = ((number % 32) as u8, number / 32 % warps(session));
        let block = number / 32 / warps(session);
        let [gx, gy, _] = session.params.grid.map(|n| n as usize);
        let block = [block % gx, block / gx % gy, block / gx / gy].map(|n| n as u32);
        LaneId { block, warp: warp as u32, lane }
    }

    /// What the client is told of a stop.
    fn reason(&self, rest: &Rest<'_>) -> MultiThreadStopReason<u64> {
        let tid = Server::thread(rest.session, rest.session.focus);
        let tid = NonZeroUsize::new(tid).unwrap_or(NonZeroUsize::MIN);
        let signal = |signal| MultiThreadStopReason::SignalWithThread { tid, signal };
        match &rest.stop.reason {
            Reason::Breakpoint { .. } => MultiThreadStopReason::SwBreak(tid),
            Reason::Watchpoint { number, .. } => {
                let found = rest.session.watchpoints.iter().find(|w| w.number == *number);
                match found.map(|w| (&w.what, w.kind)) {
                    Some((Watched::Memory { space, address, .. }, kind)) => {
                        let kind = match kind {
                            WatchKind::Write => GdbWatch::Write,
                            WatchKind::Read => GdbWatch::Read,
                            WatchKind::Any => GdbWatch::ReadWrite,
                        };
                        let addr = generic(*space, *address);
                        MultiThreadStopReason::Watch { tid, kind, addr }
                    }
                    Some((Watched::Register { .. }, _)) | None => signal(Signal::SIGTRAP),
                }
            }
            Reason::HistoryStart => {
                let pos = ReplayLogPosition::Begin;
                MultiThreadStopReason::ReplayLog { tid: Some(tid), pos }
            }
            Reason::Fault(_) => signal(Signal::SIGSEGV),
            Reason::Interrupt => signal(Signal::SIGINT),
            Reason::Ready
            | Reason::Start
            | Reason::Step
            | Reason::Time
            | Reason::Barrier
            | Reason::Finding { .. }
            | Reason::LaneEnded(_)
            | Reason::Ended
            | Reason::Writer { .. } => signal(Signal::SIGTRAP),
        }
    }

    /// Answers a question; `Some` if execution goes on.
    fn answer(&mut self, rest: &mut Rest<'_>, ask: Ask) -> Option<Resume> {
        let told = match ask {
            Ask::Description => Told::Text(self.layout.xml()),
            Ask::Threads => Told::Threads(threads(rest)),
            Ask::Name(thread) => {
                let LaneId { block: [x, y, z], warp, lane } = Server::lane(rest.session, thread);
                let index = rest.moment.and_then(|m| m.lane([x, y, z], warp, lane));
                let [a, b, c] = index.map_or([0; 3], |l| l.thread());
                Told::Text(format!("block ({x},{y},{z}) thread ({a},{b},{c})"))
            }
            Ask::Registers(thread) => match self.registers(rest, thread) {
                Some(bytes) => Told::Bytes(bytes),
                None => Told::Done(false),
            },
            Ask::SetRegisters(thread, bytes) => {
                Told::Done(self.set_registers(rest, thread, &bytes).is_some())
            }
            Ask::Read(thread, address, length) => match self.read(rest, thread, address, length) {
                Some(bytes) => Told::Bytes(bytes.into_iter().map(Some).collect()),
                None => Told::Done(false),
            },
            Ask::Write(thread, address, bytes) => {
                Told::Done(write(rest, thread, address, bytes).is_some())
            }
            Ask::Break(address, on) => Told::Done(self.breakpoint(rest.session, address, on)),
            Ask::Watch(address, bytes, kind, on) => {
                Told::Done(watch(rest, address, bytes, kind, on))
            }
            Ask::Monitor(line) => Told::Text(monitor(rest, &line)),
            Ask::Go(go) => {
                self.running = true;
                return Some(self.go(rest.session, go));
            }
            Ask::Gone { kill } => {
                self.gone = true;
                rest.session.breakpoints.clear();
                rest.session.watchpoints.clear();
                return Some(if kill { Resume::Quit } else { Resume::GotoEnd });
            }
        };
        self.tell(told);
        None
    }

    fn go(&self, session: &mut Session, go: Go) -> Resume {
        let one = Motion::Instruction { over: false };
        match go {
            Go::Continue => Resume::Forward { motion: Motion::Free, count: 1, until: None },
            Go::Step(thread) => {
                session.focus = Server::lane(session, thread);
                Resume::Forward { motion: one, count: 1, until: None }
            }
            Go::ReverseStep(thread) => {
                session.focus = Server::lane(session, thread);
                Resume::Backward { motion: one, count: 1 }
            }
            Go::ReverseContinue => Resume::Backward { motion: Motion::Free, count: 1 },
        }
    }

    fn registers(&mut self, rest: &Rest<'_>, thread: usize) -> Option<Vec<Option<u8>>> {
        let LaneId { block, warp, lane } = Server::lane(rest.session, thread);
        let lane = rest.moment?.lane(block, warp, lane)?;
        let pc = self.code.address(&rest.session.code, lane.at());
        Some(self.layout.bytes(&rest.session.code, &lane, pc))
    }

    fn set_registers(&mut self, rest: &mut Rest<'_>, thread: usize, to: &[u8]) -> Option<()> {
        let before = self.registers(rest, thread)?;
        let (id, moment) = (Server::lane(rest.session, thread), rest.moment?);
        let function = moment.lane(id.block, id.warp, id.lane)?.at().0;
        let changes = self.layout.changes(&rest.session.code, function, &before, to)?;
        for (register, value) in changes {
            let edit = Edit::Register { lane: id, up: 0, register, value };
            apply(&edit, moment);
            rest.session.edit(rest.stop.time, edit);
        }
        Some(())
    }

    fn read(&self, rest: &Rest<'_>, thread: usize, at: u64, length: usize) -> Option<Vec<u8>> {
        if (CODE..CODE_END).contains(&at) {
            // gdb looks at code around the place where it stands; it finds `nop`.
            return Some(vec![0x90; length]);
        }
        let LaneId { block, warp, lane } = Server::lane(rest.session, thread);
        let lane = rest.moment?.lane(block, warp, lane)?;
        let mut bytes = vec![0; length];
        lane.read(Space::Generic, at, &mut bytes).ok()?;
        Some(bytes)
    }

    fn breakpoint(&mut self, session: &mut Session, address: u64, on: bool) -> bool {
        if !on {
            let Some(n) = self.breakpoints.iter().position(|(a, _)| *a == address) else {
                return false;
            };
            let (_, location) = self.breakpoints.remove(n);
            session.breakpoints.retain(|b| b.location != location);
            return true;
        }
        let Some(at) = self.code.at(&session.code, address) else { return false };
        let location = format!("*{}+{}", session.code.function_name(at.0), at.1);
        let set = session.add_breakpoint(&location, None, false, at.0).is_ok();
        if set {
            self.breakpoints.push((address, location));
        }
        set
    }
}

fn warps(session: &Session) -> usize {
    let threads: u32 = session.params.block.iter().product();
    threads.div_ceil(32).max(1) as usize
}

/// All lanes of the blocks under way, the one in focus first.
fn threads(rest: &Rest<'_>) -> Vec<usize> {
    let Some(moment) = rest.moment else { return Vec::new() };
    let mut all = vec![Server::thread(rest.session, rest.session.focus)];
    for block in moment.cluster_blocks() {
        for warp in 0..moment.warp_count() {
            for lane in (0..32).filter(|l| moment.lane(block, warp, *l).is_some()) {
                let id = LaneId { block, warp, lane };
                if id != rest.session.focus {
                    all.push(Server::thread(rest.session, id));
                }
            }
        }
    }
    all
}

/// The generic address of memory that is watched.
fn generic(space: Space, address: u64) -> u64 {
    use ptx_isa::effect::window;
    match space {
        Space::Shared | Space::SharedCluster => window::SHARED + address,
        Space::Local | Space::ParamFunc => window::LOCAL + address,
        _ => address,
    }
}

fn write(rest: &mut Rest<'_>, thread: usize, address: u64, bytes: Vec<u8>) -> Option<()> {
    let moment: &Moment<'_> = rest.moment?;
    let lane = Server::lane(rest.session, thread);
    let here = moment.lane(lane.block, lane.warp, lane.lane)?;
    // A first look says whether the address can be written.
    here.read(Space::Generic, address, &mut bytes.clone()).ok()?;
    let edit = Edit::Memory { lane, space: Space::Generic, address, bytes };
    apply(&edit, moment);
    rest.session.edit(rest.stop.time, edit);
    Some(())
}

fn watch(rest: &mut Rest<'_>, address: u64, bytes: u64, kind: GdbWatch, on: bool) -> bool {
    let (name, kind) = match kind {
        GdbWatch::Write => ("watch", WatchKind::Write),
        GdbWatch::Read => ("rwatch", WatchKind::Read),
        GdbWatch::ReadWrite => ("awatch", WatchKind::Any),
    };
    let ty = match bytes {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        8 => "u64",
        _ => return false,
    };
    let text = format!("*({ty} *){address:#x}");
    if !on {
        let before = rest.session.watchpoints.len();
        rest.session.watchpoints.retain(|w| w.text != text || w.kind != kind);
        return rest.session.watchpoints.len() < before;
    }
    let parsed = command::parse(&format!("{name} {text}"));
    matches!(parsed, Ok(Some(command)) if rest.execute(&command).is_ok())
}

/// Carries out a command of the debugger that lets execution rest.
fn monitor(rest: &mut Rest<'_>, line: &str) -> String {
    let moves = "this lets the kernel run; use gdb's own command for it";
    let command = match command::parse(line) {
        Ok(Some(Command::Quit | Command::Source(_))) => return moves.into(),
        Ok(Some(command)) => command,
        Ok(None) => return String::new(),
        Err(error) => return format!("error: {error}"),
    };
    match rest.execute(&command) {
        Ok(Reply::Answer(answer)) => answer.to_string(),
        Ok(Reply::Resume(_)) => moves.into(),
        Err(error) => format!("error: {error}"),
    }
}

impl Front for Server {
    fn rest(&mut self, rest: &mut Rest<'_>) -> Resume {
        let on = Resume::Forward { motion: Motion::Free, count: 1, until: None };
        match rest.stop.reason {
            _ if self.gone => return on,
            // The client attaches at the first instruction; later launches run to its breakpoints.
            Reason::Ready => {
                if self.attached {
                    return Resume::Restart { stop: false };
                }
                self.attached = true;
                self.layout = Layout::new(&rest.session.code);
                return Resume::Restart { stop: true };
            }
            Reason::Ended => return on,
            _ => {}
        }
        if std::mem::take(&mut self.running) {
            self.tell(Told::Stopped(self.reason(rest)));
        }
        loop {
            let Ok(ask) = self.asks.recv() else { return Resume::Quit };
            if let Some(resume) = self.answer(rest, ask) {
                return resume;
            }
        }
    }
}
