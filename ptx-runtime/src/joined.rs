//! Blocks of one thread put together, so that their threads are lanes of warps and vectors.
//!
//! Programs launch such blocks where they take the device for a processor. A block of one thread waits for nobody at
//! its barriers, and its shared memory is that thread's alone. So the blocks of a row of the grid can be the threads of
//! one block: each asks for its place as before, and has the shared memory of its block in its local memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptx_interp::{FaultKind, Kernel, LaunchError, LaunchParams, Memory, Report};
use ptx_isa::effect::{BarKind, Effect, Mem, MemoryPlace, Order};
use ptx_isa::meaning::{Src, Uop, V};
use ptx_isa::special::Sreg;
use ptx_isa::uop::Op;
use ptx_isa::{Kind, Space};
use ptx_parse::code::{Flow, Function, MOST_LOCAL, Program};

use crate::backend::Codes;

/// Most blocks that are put together.
const MOST: u64 = 256;

/// Numbers that are chosen first: code is made for each, and programs try many sizes of a grid before they settle.
const USUAL: [u32; 2] = [256, 32];

/// Fewest blocks for which it pays.
const LEAST: u32 = 4;

/// Most bytes of local memory of blocks that are put together: they stay in a processor's cache.
const ROOM: u64 = 512 << 10;

/// Longest time for which a fault is looked for in the block alone.
const AGAIN: Duration = Duration::from_millis(500);

/// The kernel whose blocks are put together, with code of its own.
pub(crate) struct Joined {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) codes: Arc<Codes>,
}

impl Joined {
    /// The kernel for blocks with so many bytes of shared memory; `None` where they can tell.
    pub(crate) fn new(kernel: &Kernel, shared: u32) -> Option<Joined> {
        if kernel.prints() {
            // Text comes in the order of blocks.
            return None;
        }
        let program = joined(kernel.program(), shared)?;
        Some(Joined { kernel: Arc::new(Kernel::decode(Arc::new(program))), codes: Arc::default() })
    }

    /// The launch of it for a launch of the kernel, and how many blocks are one.
    pub(crate) fn launch(&self, launch: &LaunchParams) -> Option<(LaunchParams, u32)> {
        let own = self.kernel.program().functions[0].frame_bytes;
        let threads = match launch.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        // Host threads are not left without a block.
        let blocks = launch.grid.iter().fold(1u64, |n, d| n.saturating_mul(u64::from(*d)));
        let shared_out = (blocks / threads.max(1) as u64).clamp(u64::from(LEAST), MOST);
        let most = shared_out.min(ROOM / u64::from(own.max(1))) as u32;
        let fits = |n: &u32| *n <= most && launch.grid[0].is_multiple_of(*n);
        let count = USUAL.into_iter().chain((LEAST..=most).rev()).find(fits)?;
        let [x, y, z] = launch.grid;
        let launch = LaunchParams {
            grid: [x / count, y, z],
            block: [count, 1, 1],
            shared_bytes: 0,
            stack_bytes: own,
            ..launch.clone()
        };
        Some((launch, count))
    }
}

/// Whether blocks of a launch may be put together, as far as the launch knows.
pub(crate) fn may_join(launch: &LaunchParams) -> bool {
    launch.block == [1; 3]
        && launch.grid[0] >= LEAST
        && launch.cluster == [0; 3]
        && !launch.cooperative
        && launch.step_limit.is_none()
        && launch.progress.is_none()
}

/// What a fault of joined blocks is in the launch that was asked for: the interpreter runs the block alone. Where that
/// ends well, because it reads what it has changed, the fault with the block's place.
pub(crate) fn told(
    kernel: &Kernel,
    memory: &Memory,
    launch: &LaunchParams,
    count: u32,
    mut report: Box<Report>,
) -> LaunchError {
    report.block[0] = report.block[0] * count + report.thread[0];
    report.thread = [0; 3];
    if matches!(report.kind, FaultKind::Timeout | FaultKind::Cancelled) {
        return LaunchError::Fault(report);
    }
    let [x, y, z] = report.block.map(u64::from);
    let [width, height, _] = launch.grid.map(u64::from);
    let index = x + width * (y + height * z);
    match ptx_interp::launch_block(kernel, memory, launch, index, Instant::now().checked_add(AGAIN))
    {
        Err(LaunchError::Fault(own)) if own.kind != FaultKind::Timeout => LaunchError::Fault(own),
        _ => LaunchError::Fault(report),
    }
}

/// The program of blocks of many threads that does what blocks of one thread with `shared` bytes of shared memory do;
/// `None` where it does something that depends on the block or the warp otherwise.
fn joined(program: &Program, shared: u32) -> Option<Program> {
    let [function] = &program.functions[..] else { return None };
    let cluster = program.tuning.req_ncta_per_cluster.is_some() || program.tuning.explicit_cluster;
    if cluster
        || program.info.address_bits != 64
        || function.insts.iter().any(|i| matches!(i.flow, Flow::Call(_)))
    {
        return None;
    }
    // Compiled code keeps cells of 16 bytes in registers that nothing else may reach.
    let start = function.frame_bytes.checked_add(16)?.next_multiple_of(128);
    // Room is counted in grains of 16 bytes.
    let room = shared.checked_next_multiple_of(16)?;
    let frame_bytes = start.checked_add(room).filter(|bytes| *bytes <= MOST_LOCAL)?;
    let mut rewriter = Rewriter {
        start,
        room,
        // Threads of one warp take turns from sm_70 on; before, one may wait for another for ever.
        may_wait: program.info.target.sm >= 70,
        generic: shared == 0,
        first: function.temps,
        temps: function.temps,
        uops: Vec::with_capacity(function.uops.len() + 8),
    };
    let mut own = Function { frame_bytes, uops: Vec::new(), ..function.clone() };
    for inst in &mut own.insts {
        let first = rewriter.uops.len() as u32;
        for uop in &function.uops[inst.uops.start as usize..inst.uops.end as usize] {
            rewriter.add(uop)?;
        }
        inst.uops = first..rewriter.uops.len() as u32;
        let by_thread = matches!(inst.flow, Flow::Brx { index, .. } if is_own(index));
        if by_thread || inst.guard.is_some_and(|(v, _)| is_own(v)) {
            return None;
        }
    }
    own.uops = rewriter.uops;
    own.temps = rewriter.temps;
    let mut tuning = program.tuning.clone();
    (tuning.max_ntid, tuning.req_ntid) = (None, None);
    Some(Program {
        functions: vec![own],
        shared_bytes: 0,
        shared_vars: Vec::new(),
        tuning,
        joined: Some(shared),
        ..program.clone()
    })
}

/// What is different for a thread of a block: micro-ops alone take care of it.
fn is_own(v: V) -> bool {
    matches!(v.src, Src::Special(_) | Src::Shared(_))
}

/// Writes the micro-ops of a program anew.
struct Rewriter {
    /// Where the block's shared memory lies in local memory.
    start: u32,
    /// Its bytes.
    room: u32,
    may_wait: bool,
    /// Whether generic addresses may be used: there is no shared memory that they could reach.
    generic: bool,
    /// Temporaries of the program by kind.
    first: [u32; 3],
    /// The same with those added.
    temps: [u32; 3],
    uops: Vec<Uop>,
}

/// Temporaries that one micro-op needs.
#[derive(Default)]
struct Temps([u32; 3]);

impl Rewriter {
    fn add(&mut self, uop: &Uop) -> Option<()> {
        let mut temps = Temps::default();
        match uop {
            Uop::Pure { op, dst, args, k } => {
                let mut own = *args;
                for arg in &mut own {
                    *arg = self.value(*arg, &mut temps)?;
                }
                self.uops.push(Uop::Pure { op: *op, dst: *dst, args: own, k: *k });
            }
            Uop::Effect { effect: Effect::Bar(bar), dst, .. } => {
                // Nobody else takes part.
                if bar.kind != BarKind::Sync || bar.counted || !dst.is_empty() {
                    return None;
                }
            }
            Uop::Effect { effect, dst, src } => {
                let mut src = src.clone();
                for v in &mut src {
                    *v = self.value(*v, &mut temps)?;
                }
                let effect = self.effect(effect, &mut src, &mut temps)?;
                self.uops.push(Uop::Effect { effect, dst: dst.clone(), src });
            }
        }
        Some(())
    }

    /// The effect on other memory; `None` where it is not known to be one thread's alone.
    fn effect(&mut self, effect: &Effect, src: &mut [V], temps: &mut Temps) -> Option<Effect> {
        if let Some(access) = effect.access() {
            let waits = match effect {
                Effect::Ld(m) => m.order != Order::Weak && m.place.space != Space::Shared,
                Effect::Atom(_) => true,
                _ => false,
            };
            let elsewhere = match access.place.space {
                Space::Generic => self.generic,
                Space::SharedCluster => false,
                Space::Shared => !matches!(effect, Effect::Atom(_)),
                _ => true,
            };
            if !elsewhere || waits && !self.may_wait {
                return None;
            }
        }
        Some(match *effect {
            Effect::Ld(m) if m.place.space == Space::Shared => {
                Effect::Ld(self.access(m, src, temps))
            }
            Effect::St(m) if m.place.space == Space::Shared => {
                Effect::St(self.access(m, src, temps))
            }
            Effect::Ld(_) | Effect::St(_) | Effect::Atom(_) | Effect::Fence(_) | Effect::Trap => {
                *effect
            }
            Effect::Bar(_)
            | Effect::AsyncGroup(_)
            | Effect::Brkpt
            | Effect::Yield
            | Effect::Sys(_)
            | Effect::Warp(_) => return None,
        })
    }

    /// An access of the block's shared memory where that lies now.
    fn access(&mut self, m: Mem, src: &mut [V], temps: &mut Temps) -> Mem {
        let base = src[0];
        let offset = m.place.offset;
        let size = i64::from(m.bytes) * i64::from(m.count);
        let frame = |at: u32| V { kind: Kind::D, src: Src::Frame(at) };
        let own =
            Mem { place: MemoryPlace { space: Space::Local, offset: 0 }, order: Order::Weak, ..m };
        let fixed = base.as_const().map(|at| (at as i64).wrapping_add(offset));
        if let Some(at) = fixed.filter(|at| *at >= 0 && at + size <= i64::from(self.room)) {
            src[0] = frame(self.start + at as u32);
            return own;
        }
        let none = V::w(0);
        let mut at = match (offset, base.kind) {
            (0, _) => base,
            (_, Kind::W) => self.pure(Op::AddW, Kind::W, [base, V::w(offset as u32), none], temps),
            _ => self.pure(Op::AddD, Kind::D, [base, V::d(offset as u64), none], temps),
        };
        if at.kind == Kind::W {
            at = self.pure(Op::ZextWD, Kind::D, [at, none, none], temps);
        }
        // What lies before it or behind it is no memory: local memory ends where it does.
        let room = V::d(self.room.into());
        let inside = self.pure(Op::LtUD, Kind::P, [at, room, none], temps);
        let at = self.pure(Op::SelD, Kind::D, [at, room, inside], temps);
        src[0] = self.pure(Op::AddD, Kind::D, [frame(self.start), at, none], temps);
        own
    }

    /// A value as the thread of the block has it.
    fn value(&mut self, v: V, temps: &mut Temps) -> Option<V> {
        use Sreg::*;
        let fixed = |n: u64| V { kind: v.kind, src: Src::Const(n) };
        let special = |s: Sreg| V { kind: Kind::W, src: Src::Special(s) };
        Some(match v.src {
            Src::Shared(at) => fixed(at.into()),
            Src::Special(s) => match s {
                TidX | TidY | TidZ | LaneId if v.kind == Kind::W => fixed(0),
                NtidX | NtidY | NtidZ if v.kind == Kind::W => fixed(1),
                CtaidX if v.kind == Kind::W => {
                    self.pure(Op::MadW, v.kind, [v, special(NtidX), special(TidX)], temps)
                }
                NctaidX if v.kind == Kind::W => {
                    self.pure(Op::MulW, v.kind, [v, special(NtidX), V::w(0)], temps)
                }
                CtaidY | CtaidZ | NctaidY | NctaidZ => v,
                s => s.of_environment().map(|_| v)?,
            },
            Src::Reg(_)
            | Src::Temp(_)
            | Src::Const(_)
            | Src::Symbol(..)
            | Src::SymbolLow(..)
            | Src::Function(_)
            | Src::Frame(_)
            | Src::FrameLow(_) => v,
        })
    }

    /// The result of a micro-op in front.
    fn pure(&mut self, op: Op, kind: Kind, args: [V; 3], temps: &mut Temps) -> V {
        let used = &mut temps.0[kind as usize];
        let number = self.first[kind as usize] + *used;
        *used += 1;
        let most = &mut self.temps[kind as usize];
        *most = (*most).max(number + 1);
        let dst = V { kind, src: Src::Temp(number) };
        self.uops.push(Uop::Pure { op, dst, args, k: 0 });
        dst
    }
}
