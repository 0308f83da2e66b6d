//! What `gdbstub` asks, carried over to the thread that debugs.
//!
//! `gdbstub` wants a target that it can ask at any time, while the debugger has one only where execution rests. So it
//! runs on a thread of its own, and its target is a pair of channels.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use gdbstub::arch::{Arch, Registers};
use gdbstub::common::{Signal, Tid};
use gdbstub::conn::{Connection, ConnectionExt};
use gdbstub::outputln;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{DisconnectReason, GdbStub, MultiThreadStopReason};
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{
    MultiThreadBase, MultiThreadResume, MultiThreadResumeOps, MultiThreadSchedulerLocking,
    MultiThreadSchedulerLockingOps, MultiThreadSingleStep, MultiThreadSingleStepOps,
};
use gdbstub::target::ext::base::reverse_exec::{
    ReverseCont, ReverseContOps, ReverseStep, ReverseStepOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwWatchpoint, HwWatchpointOps, SwBreakpoint, SwBreakpointOps,
    WatchKind,
};
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, MonitorCmdOps};
use gdbstub::target::ext::target_description_xml_override::{
    TargetDescriptionXmlOverride, TargetDescriptionXmlOverrideOps,
};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{Target, TargetError, TargetResult};

/// How execution goes on.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Go {
    Continue,
    /// One instruction of this thread.
    Step(usize),
    ReverseStep(usize),
    ReverseContinue,
}

/// A question.
pub(super) enum Ask {
    Description,
    Threads,
    Name(usize),
    Registers(usize),
    SetRegisters(usize, Vec<u8>),
    Read(usize, u64, usize),
    Write(usize, u64, Vec<u8>),
    Break(u64, bool),
    Watch(u64, u64, WatchKind, bool),
    Monitor(String),
    Go(Go),
    /// The client has gone away; whether it wants the kernel to end.
    Gone {
        kill: bool,
    },
}

/// An answer.
pub(super) enum Told {
    Text(String),
    Threads(Vec<usize>),
    Bytes(Vec<Option<u8>>),
    Done(bool),
    /// Execution rests again, or has ended.
    Stopped(MultiThreadStopReason<u64>),
}

/// The architecture as [`super::description`] describes it.
pub(super) enum Ptx {}

/// The bytes of all registers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bytes(Vec<Option<u8>>);

impl Registers for Bytes {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        0
    }

    fn gdb_serialize(&self, write_byte: impl FnMut(Option<u8>)) {
        self.0.iter().copied().for_each(write_byte);
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        self.0 = bytes.iter().map(|b| Some(*b)).collect();
        Ok(())
    }
}

impl Arch for Ptx {
    type Usize = u64;
    type Registers = Bytes;
    type BreakpointKind = usize;
    type RegId = ();
}

/// The other thread has ended: the session is over.
#[derive(Debug)]
pub(super) struct Over;

/// The target of `gdbstub`.
pub(super) struct Proxy {
    asks: Sender<Ask>,
    answers: Receiver<Told>,
    pause: Arc<AtomicBool>,
    go: Go,
}

impl Proxy {
    fn ask(&self, ask: Ask) -> Result<Told, Over> {
        self.asks.send(ask).map_err(|_| Over)?;
        self.answers.recv().map_err(|_| Over)
    }

    fn done(&self, ask: Ask) -> TargetResult<bool, Self> {
        match self.ask(ask).map_err(TargetError::Fatal)? {
            Told::Done(done) => Ok(done),
            _ => Err(TargetError::NonFatal),
        }
    }
}

impl Target for Proxy {
    type Arch = Ptx;
    type Error = Over;

    fn base_ops(&mut self) -> BaseOps<'_, Ptx, Over> {
        BaseOps::MultiThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(
        &mut self,
    ) -> Option<TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadBase for Proxy {
    fn read_registers(&mut self, regs: &mut Bytes, tid: Tid) -> TargetResult<(), Self> {
        match self.ask(Ask::Registers(tid.get())).map_err(TargetError::Fatal)? {
            Told::Bytes(bytes) => {
                regs.0 = bytes;
                Ok(())
            }
            _ => Err(TargetError::NonFatal),
        }
    }

    fn write_registers(&mut self, regs: &Bytes, tid: Tid) -> TargetResult<(), Self> {
        let bytes = regs.0.iter().map(|b| b.unwrap_or(0)).collect();
        match self.done(Ask::SetRegisters(tid.get(), bytes))? {
            true => Ok(()),
            false => Err(TargetError::NonFatal),
        }
    }

    fn read_addrs(&mut self, start: u64, data: &mut [u8], tid: Tid) -> TargetResult<usize, Self> {
        let ask = Ask::Read(tid.get(), start, data.len());
        match self.ask(ask).map_err(TargetError::Fatal)? {
            Told::Bytes(bytes) => {
                for (to, from) in data.iter_mut().zip(&bytes) {
                    *to = from.unwrap_or(0);
                }
                Ok(bytes.len())
            }
            _ => Err(TargetError::NonFatal),
        }
    }

    fn write_addrs(&mut self, start: u64, data: &[u8], tid: Tid) -> TargetResult<(), Self> {
        match self.done(Ask::Write(tid.get(), start, data.to_vec()))? {
            true => Ok(()),
            false => Err(TargetError::NonFatal),
        }
    }

    fn list_active_threads(&mut self, is_active: &mut dyn FnMut(Tid)) -> Result<(), Over> {
        if let Told::Threads(all) = self.ask(Ask::Threads)? {
            all.into_iter().filter_map(Tid::new).for_each(is_active);
        }
        Ok(())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl ThreadExtraInfo for Proxy {
    fn thread_extra_info(&self, tid: Tid, buf: &mut [u8]) -> Result<usize, Over> {
        let Told::Text(text) = self.ask(Ask::Name(tid.get()))? else { return Ok(0) };
        let length = text.len().min(buf.len());
        buf[..length].copy_from_slice(&text.as_bytes()[..length]);
        Ok(length)
    }
}

impl MultiThreadResume for Proxy {
    fn resume(&mut self) -> Result<(), Over> {
        self.asks.send(Ask::Go(self.go)).map_err(|_| Over)
    }

    fn clear_resume_actions(&mut self) -> Result<(), Over> {
        self.go = Go::Continue;
        Ok(())
    }

    fn set_resume_action_continue(&mut self, _: Tid, _: Option<Signal>) -> Result<(), Over> {
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_reverse_step(&mut self) -> Option<ReverseStepOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_reverse_cont(&mut self) -> Option<ReverseContOps<'_, Tid, Self>> {
        Some(self)
    }

    fn support_scheduler_locking(&mut self) -> Option<MultiThreadSchedulerLockingOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadSchedulerLocking for Proxy {
    fn set_resume_action_scheduler_lock(&mut self) -> Result<(), Over> {
        // gdb asks for it when it steps off a breakpoint. Lanes of a warp go together all the same.
        Ok(())
    }
}

impl MultiThreadSingleStep for Proxy {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Over> {
        self.go = Go::Step(tid.get());
        Ok(())
    }
}

impl ReverseStep<Tid> for Proxy {
    fn reverse_step(&mut self, tid: Tid) -> Result<(), Over> {
        self.asks.send(Ask::Go(Go::ReverseStep(tid.get()))).map_err(|_| Over)
    }
}

impl ReverseCont<Tid> for Proxy {
    fn reverse_cont(&mut self) -> Result<(), Over> {
        self.asks.send(Ask::Go(Go::ReverseContinue)).map_err(|_| Over)
    }
}

impl Breakpoints for Proxy {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for Proxy {
    fn add_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.done(Ask::Break(address, true))
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.done(Ask::Break(address, false))
    }
}

impl HwWatchpoint for Proxy {
    fn add_hw_watchpoint(
        &mut self,
        address: u64,
        bytes: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        self.done(Ask::Watch(address, bytes, kind, true))
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u64,
        bytes: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        self.done(Ask::Watch(address, bytes, kind, false))
    }
}

impl MonitorCmd for Proxy {
    fn handle_monitor_cmd(
        &mut self,
        command: &[u8],
        mut out: ConsoleOutput<'_>,
    ) -> Result<(), Over> {
        let command = String::from_utf8_lossy(command).into_owned();
        if let Told::Text(text) = self.ask(Ask::Monitor(command))? {
            text.lines().for_each(|line| outputln!(out, "{}", line));
        }
        Ok(())
    }
}

impl TargetDescriptionXmlOverride for Proxy {
    fn target_description_xml(
        &self,
        annex: &[u8],
        offset: u64,
        length: usize,
        buf: &mut [u8],
    ) -> TargetResult<usize, Self> {
        if annex != b"target.xml" {
            return Err(TargetError::NonFatal);
        }
        let Told::Text(text) = self.ask(Ask::Description).map_err(TargetError::Fatal)? else {
            return Err(TargetError::NonFatal);
        };
        let rest = text.as_bytes().get(offset as usize..).unwrap_or(&[]);
        let count = rest.len().min(length).min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// Waits for the kernel, and for what the client sends meanwhile.
enum Loop {}

impl BlockingEventLoop for Loop {
    type Target = Proxy;
    type Connection = TcpStream;
    type StopReason = MultiThreadStopReason<u64>;

    fn wait_for_stop_reason(
        target: &mut Proxy,
        connection: &mut TcpStream,
    ) -> Result<Event<Self::StopReason>, WaitForStopReasonError<Over, std::io::Error>> {
        loop {
            match target.answers.recv_timeout(Duration::from_millis(5)) {
                Ok(Told::Stopped(reason)) => return Ok(Event::TargetStopped(reason)),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(WaitForStopReasonError::Target(Over));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let lost = WaitForStopReasonError::Connection;
            if ConnectionExt::peek(connection).map_err(lost)?.is_some() {
                let byte = ConnectionExt::read(connection).map_err(lost)?;
                return Ok(Event::IncomingData(byte));
            }
        }
    }

    fn on_interrupt(target: &mut Proxy) -> Result<Option<Self::StopReason>, Over> {
        // The kernel rests at the next look; that is the stop that is reported.
        target.pause.store(true, Ordering::Relaxed);
        Ok(None)
    }
}

/// Serves a client until it goes away or the kernel has ended.
pub(super) fn serve(
    connection: TcpStream,
    asks: Sender<Ask>,
    answers: Receiver<Told>,
    pause: Arc<AtomicBool>,
) {
    let gone = asks.clone();
    let mut target = Proxy { asks, answers, pause: Arc::clone(&pause), go: Go::Continue };
    let done = GdbStub::<Proxy, TcpStream>::new(connection).run_blocking::<Loop>(&mut target);
    let kill = match done {
        Ok(DisconnectReason::Disconnect) => false,
        // A client that is lost cannot say what it wants; nobody is there to read the results.
        Ok(_) | Err(_) => true,
    };
    // The other thread may have ended before.
    let _ = gone.send(Ask::Gone { kill });
    pause.store(true, Ordering::Relaxed);
}

/// Keeps small packets from waiting for each other.
pub(super) fn prepare(connection: &mut TcpStream) -> std::io::Result<()> {
    Connection::on_session_start(connection)
}
