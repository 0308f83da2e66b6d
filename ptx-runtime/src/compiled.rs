//! Launches of compiled code.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ptx_check::screen::Screening;
use ptx_interp::report::{CodePlace, Position};
use ptx_interp::{
    Access, BlockQueue, Checked, FaultKind, Kernel, LaunchError, LaunchParams, Memory, Output,
    Report, system,
};
use ptx_isa::effect::{Fault, Machine, Sys};
use ptx_isa::special::Sreg;
use ptx_isa::texture::Texture;
use ptx_jit::{Blocks, Device, Span, Stop, SystemCall, Watcher, run_blocks};

use crate::watcher::watcher;

/// What compiled code sees of the device.
pub(crate) struct LaunchDevice<'a> {
    memory: &'a Memory,
    params: &'a LaunchParams,
    checked: &'a Checked,
    deadline: Option<Instant>,
    /// Bytes of a pointer.
    pointer: u32,
    output: Output,
    /// What blocks that run have printed.
    texts: Mutex<BTreeMap<u64, Vec<u8>>>,
    /// Blocks with an assertion that failed.
    asserted: Mutex<Vec<u64>>,
    /// What looks at a checked launch.
    screening: Option<&'a Screening<'a>>,
}

impl LaunchDevice<'_> {
    /// Takes what a block has printed.
    fn text(&self, block: u64) -> Vec<u8> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.remove(&block).unwrap_or_default()
    }
    fn asserted(&self) -> std::sync::MutexGuard<'_, Vec<u64>> {
        self.asserted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: bytes of an allocation stay mapped while the memory lives (`Memory::host_span`; on host
// memory the caller of `Context::on_host_memory` vouches for the mappings), and the runtime makes no
// references to them.
unsafe impl Device for LaunchDevice<'_> {
    fn span(&self, address: u64) -> Option<Span> {
        let s = self.memory.host_span(address)?;
        Some(Span { start: s.start, size: s.size, writable: s.writable, host: s.host })
    }
    fn is_constant(&self, address: u64) -> bool {
        self.memory.find(address).is_some_and(|a| a.access == Access::Constant)
    }
    fn spans_hold_while(&self) -> Option<u64> {
        self.memory.spans_hold_while()
    }
    fn special(&self, block: [u32; 3], reg: Sreg) -> u64 {
        self.checked.special(block, reg)
    }
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.params.textures.get(&handle).cloned()
    }
    fn system(&self, call: &SystemCall, memory: &mut dyn Machine) -> Result<u64, Fault> {
        let fault = |message: &str| Fault::Operand { lane: call.lane, message: message.into() };
        let [first, second, ..] = call.args;
        match call.sys {
            Sys::Vprintf => {
                let mut text = self.text(call.block);
                let before = text.len();
                let used = system::print(memory, call.lane, &mut text, first, second, self.pointer);
                // Nothing goes out before the block has ended: if it faults, the interpreter prints it.
                let kept = self.output.hold(call.block, false, &mut text, before);
                let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
                texts.insert(call.block, text);
                Ok(used?.filter(|_| kept).unwrap_or(u32::MAX).into())
            }
            Sys::Malloc if first == 0 => Ok(0),
            Sys::Malloc => Ok(self.memory.alloc_heap(first).unwrap_or(0)),
            Sys::Free => Err(fault("`free` is not compiled")),
            Sys::AssertFail => {
                self.asserted().push(call.block);
                Err(fault("an assertion failed"))
            }
        }
    }
    fn watcher(&self) -> Option<Box<dyn Watcher + '_>> {
        self.screening.map(|screening| watcher(screening.screen()))
    }
    fn go_on(&self) -> bool {
        let cancelled = self.params.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed));
        !cancelled && self.deadline.is_none_or(|d| Instant::now() <= d)
    }
}

/// Thread instructions that pay for another host thread: waking one takes some microseconds, in which compiled code
/// executes about as many.
const THREAD: u64 = 200_000;

/// A launch that takes one thread less has ended before many others are awake.
const SMALL: Duration = Duration::from_micros(100);

/// What a host thread's part of a launch takes at least: the thread is woken for it, and brings data to its caches.
const PART: Duration = Duration::from_micros(50);

/// What a host thread takes at a time takes at least so long: one call runs several blocks.
const CHUNK: Duration = Duration::from_micros(4);

/// Runs the whole grid of about `work` thread instructions; the number of blocks.
pub(crate) fn run(
    kernel: &Kernel,
    code: &ptx_jit::Kernel,
    checked: &Checked,
    memory: &Memory,
    params: &LaunchParams,
    work: u64,
) -> Result<u64, LaunchError> {
    memory.launch_starts();
    let device = device(kernel, checked, memory, params, None);
    let total = total(params);
    let mut queue = BlockQueue::new(0..total, threads(params, work));
    if let Some(time) = code.expected(total) {
        suit(&mut queue, total, time);
    }
    run_queue(kernel, code, &device, &queue)?;
    Ok(total)
}

/// For a grid whose blocks take one thread about so long: where that is little, fewer host threads come, and each takes
/// more blocks at a time.
fn suit(queue: &mut BlockQueue<Stop>, total: u64, time: Duration) {
    let parts = |part: Duration| {
        u64::try_from(time.as_nanos().div_ceil(part.as_nanos())).unwrap_or(u64::MAX).max(1)
    };
    if time < SMALL {
        queue.patient(SMALL);
    } else {
        queue.call_at_most(parts(PART));
    }
    queue.take_at_least(total / parts(CHUNK));
}

/// Blocks of the grid.
pub(crate) fn total(params: &LaunchParams) -> u64 {
    params.grid.iter().map(|n| u64::from(*n)).product()
}

/// Host threads for about `work` thread instructions.
pub(crate) fn threads(params: &LaunchParams, work: u64) -> usize {
    if work < 2 * THREAD { 1 } else { params.threads }
}

/// The device as a launch's compiled blocks see it; `screening`: what looks at a checked launch.
pub(crate) fn device<'a>(
    kernel: &Kernel,
    checked: &'a Checked,
    memory: &'a Memory,
    params: &'a LaunchParams,
    screening: Option<&'a Screening<'a>>,
) -> LaunchDevice<'a> {
    LaunchDevice {
        memory,
        params,
        checked,
        deadline: params.deadline(),
        pointer: u32::from(kernel.program().info.address_bits) / 8,
        output: Output::new(params.output.clone(), 0),
        texts: Mutex::default(),
        asserted: Mutex::default(),
        screening,
    }
}

/// Runs the blocks of a queue; a stop is told as the interpreter sees it.
pub(crate) fn run_queue(
    kernel: &Kernel,
    code: &ptx_jit::Kernel,
    device: &LaunchDevice<'_>,
    queue: &BlockQueue<Stop>,
) -> Result<(), LaunchError> {
    let Err((block, stop)) = run_to_stop(kernel, code, device, queue) else { return Ok(()) };
    let LaunchDevice { memory, params, deadline, .. } = *device;
    // The interpreter tells the thread and its registers, or where the launch just was. It runs one block alone, which
    // may wait for what other blocks or its own first run will not do.
    let again = match stop {
        Stop::Device => Some(Instant::now()),
        _ if code.waits() => Instant::now().checked_add(AGAIN),
        _ => deadline,
    };
    match ptx_interp::launch_block(kernel, memory, params, block, again) {
        Err(LaunchError::Fault(told))
            if told.kind == FaultKind::Timeout && stop != Stop::Device =>
        {
            Err(LaunchError::Fault(Box::new(report(kernel, device, block, stop))))
        }
        Err(error) => Err(error),
        // It had changed what it reads, so that it goes another way now.
        Ok(_) => Err(LaunchError::Fault(Box::new(report(kernel, device, block, stop)))),
    }
}

/// Runs the blocks of a queue; the first that stopped, and why.
pub(crate) fn run_to_stop(
    kernel: &Kernel,
    code: &ptx_jit::Kernel,
    device: &LaunchDevice<'_>,
    queue: &BlockQueue<Stop>,
) -> Result<(), (u64, Stop)> {
    let LaunchDevice { params, checked, .. } = *device;
    let launch = ptx_jit::Launch {
        device,
        grid: params.grid,
        params: &params.params,
        symbols: &params.symbols,
        shared_bytes: checked.shared_bytes(),
    };
    let resident = checked.resident(params);
    let ran = queue.run(|| {
        let begun = Instant::now();
        let mut blocks = Queued { queue, taken: 0..0, device, prints: kernel.prints(), ran: 0 };
        run_blocks(code, &launch, resident, &mut blocks);
        (begun.elapsed(), blocks.ran)
    });
    // A thread that came late had little to do beside its start.
    let paces =
        ran.into_iter().filter_map(|(time, blocks)| time.checked_div(u32::try_from(blocks).ok()?));
    paces.min().into_iter().for_each(|pace| code.took(pace));
    let first = queue.take_first_stop();
    // Up to the fault the output of earlier blocks is complete.
    device.output.flush(first.as_ref().map_or(u64::MAX, |(block, _)| *block));
    first.map_or(Ok(()), Err)
}

/// Longest time for which the interpreter looks for a fault that compiled code has found, where threads wait for
/// others.
const AGAIN: Duration = Duration::from_millis(500);

/// The blocks of a host thread.
struct Queued<'a> {
    queue: &'a BlockQueue<Stop>,
    taken: Range<u64>,
    device: &'a LaunchDevice<'a>,
    /// Whether the kernel has text to print.
    prints: bool,
    /// How many were taken.
    ran: u64,
}

impl Blocks for Queued<'_> {
    fn take(&mut self) -> Option<u64> {
        let next = self.taken.next().or_else(|| {
            self.taken = self.queue.take();
            self.taken.next()
        });
        self.ran += u64::from(next.is_some());
        next
    }
    fn take_more(&mut self, most: u64) -> u64 {
        let more = most.min(self.taken.end - self.taken.start);
        self.taken.start += more;
        self.ran += more;
        more
    }
    fn wants(&self, block: u64, waits: bool) -> bool {
        // Who waits while another block has stopped may wait for that one.
        if waits { !self.queue.stopped() } else { self.queue.wants(block) }
    }
    fn ended(&mut self, block: u64, how: Result<(), Stop>) {
        match how {
            Err(stop) => {
                // What it has printed the interpreter prints again, unless nobody lets that run.
                if stop == Stop::Device {
                    self.device.output.finished(block, self.device.text(block));
                }
                self.queue.stop(block, stop);
            }
            Ok(()) => {
                if self.prints {
                    self.device.output.finished(block, self.device.text(block));
                }
                if let Some(progress) = &self.device.params.progress {
                    progress.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

/// What is known without running the block again.
fn report(kernel: &Kernel, device: &LaunchDevice<'_>, block: u64, stop: Stop) -> Report {
    let params = device.params;
    let [x, y, _] = params.grid.map(u64::from);
    let kind = match &stop {
        Stop::Fault { fault: Fault::OutOfBounds { .. }, .. } => FaultKind::OutOfBounds,
        Stop::Fault { fault: Fault::Misaligned { .. }, .. } => FaultKind::Misaligned,
        Stop::Fault { .. } if device.asserted().contains(&block) => FaultKind::Assertion,
        Stop::Fault { .. } => FaultKind::Operand,
        Stop::BranchIndex => FaultKind::BranchIndex,
        // Such launches are interpreted as a whole, so that nobody asks.
        Stop::Watched => FaultKind::Operand,
        Stop::Stuck => FaultKind::Deadlock,
        Stop::Device if params.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed)) => {
            FaultKind::Cancelled
        }
        Stop::Device => FaultKind::Timeout,
    };
    let message = match (&stop, &kind) {
        (Stop::Device, FaultKind::Cancelled) => "the launch was cancelled".into(),
        (Stop::Device, _) => {
            format!("the launch exceeds its time limit of {:?}", params.timeout.unwrap_or_default())
        }
        (stop, _) => stop.to_string(),
    };
    let mut report = Report {
        kind,
        message,
        kernel: kernel.name().into(),
        place: None,
        block: [(block % x) as u32, (block / x % y) as u32, (block / x / y) as u32],
        thread: [0; 3],
        lanes: 0,
        access: None,
        registers: Vec::new(),
        calls: Vec::new(),
        warps: Vec::new(),
    };
    if let Stop::Fault { function, span, thread, .. } = stop {
        let program = kernel.program();
        let before = program.source.get(..span.start as usize).unwrap_or("");
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        let ptx = Position {
            file: program.module.to_string(),
            line: before.matches('\n').count() as u32 + 1,
            column: before[line_start..].chars().count() as u32 + 1,
        };
        let text = program.source.get(span.start as usize..span.end as usize).unwrap_or("");
        report.thread = thread;
        report.place = Some(CodePlace {
            function: program.functions[function as usize].name.clone(),
            ptx,
            source: None,
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
        });
    }
    report
}
