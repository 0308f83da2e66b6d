//! The kernel's instructions as a profile sees them: pipes, intervals, latencies.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::error::SimulateError;
use super::pipes::PORTS;
use super::report::Stall;
use super::time::fixed;
use super::warp::{
    FROM_MEMORY, GUARD_EXTRA, IN_HALVES, PIPE_SHIFT, RegisterState, STATE_BITS, state_bits,
};
use crate::arguments;
use crate::event::{AccessKind, Code, Detail, Instruction, Path, Register};
use crate::profile::{ClassTiming, PathTiming, Profile};
use crate::scoreboard::{Waits, comes_at_a_known_time};
use crate::selections::under_predicate;
use ptx_isa::Class;

/// One instruction, resolved for a device.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Pipes that can take it, as indices into [`Pipes::names`].
    pub pipes: SmallVec<[u8; 2]>,
    /// How long it keeps a pipe busy, in 1/1024 clocks.
    pub interval: u64,
    /// Clocks until its result can be used by an instruction on the same pipe.
    pub latency: u64,
    /// Its pipes as a mask, and `PORTS` where it fetches operands.
    pub pipe_mask: u64,
    /// The number of this mask in [`Pipes::wants`]; there are fewer than 128 classes, each with ports or without.
    pub wants: u8,
    /// Whether it goes to global memory.
    pub global: bool,
    /// What its results say about themselves, see `sm`.
    pub state: u64,
    /// Clocks that it holds the scheduler.
    pub issue_cycles: u64,
    /// Clocks in which its scheduler issues nothing else, where these are more.
    pub dispatch_cycles: u64,
    /// Issue slots.
    pub slots: u64,
    /// A branch, which stays where it is.
    pub control: bool,
    /// What predicates it reads it waits for as for a guard: branches and barriers.
    pub guarded: bool,
    /// The warp's next instruction has to wait until this one is done: branches, what has some, fences, clocks.
    pub holds: bool,
    /// Arithmetic that takes a known time.
    pub arithmetic: bool,
    /// Double precision, which blocks the other schedulers on 2.x.
    pub f64: bool,
    /// Registers read and written, and the guard.
    pub reads: SmallVec<[Register; 4]>,
    pub writes: SmallVec<[Register; 2]>,
    pub guard: Option<Register>,
    /// What it waits for besides.
    pub waits: Waits,
    /// Registers that it fetches through the scheduler's operand ports, with their words. Empty where
    /// there is no limit.
    pub operands: SmallVec<[(Register, u8); 4]>,
    /// Whether these are more than a clock delivers.
    pub operands_wait: bool,
    /// Clocks more per further value of an instruction that goes value by value.
    pub value_latency: f64,
    /// Clocks until the warp can issue again, where that is longer than an issue.
    pub pause: u64,
    /// How often its accesses pass: twice for compare-and-swap.
    pub passes: u64,
    /// Issue slots of each of its accesses, of a load or store of a matrix; others it has once.
    pub fragment: Option<u64>,
    /// A product of a warpgroup, which goes on while the warp does.
    pub product: bool,
    /// A sum of 64 bits, which takes others half by half, or what takes the lower half only.
    pub in_halves: bool,
    /// Clocks that each access behind its first takes longer to come back.
    pub access_latency: u64,
    /// What it costs where all lanes or some take another path.
    pub paths: [Option<PathTiming>; 2],
    /// Clocks that a result of memory takes besides: lanes that are added up first.
    pub added: u64,
    /// Clocks that machine code itself puts between the instruction before and this one, and behind a block's last.
    pub gap: u64,
    pub tail: u64,
}

/// What an instruction costs as it is executed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// As in [`Plan`].
    pub latency: u64,
    pub interval: u64,
    pub slots: u64,
    /// Clocks that it holds the scheduler, and those until that issues another warp's instruction.
    pub issue_cycles: u64,
    pub dispatch_cycles: u64,
}

/// Clocks more that results take to some of those that read them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Further {
    /// To another pipe.
    pub cross_pipe: u64,
    /// From a comparison to what it guards.
    pub guard: u64,
    /// To what does not take a sum of 64 bits half by half.
    pub upper_half: u64,
}

impl Further {
    pub fn new(profile: &Profile) -> Self {
        let compared = profile.class.get(&Class::Compare).map_or(0, |c| c.latency);
        Self {
            cross_pipe: profile.issue.cross_pipe_latency.into(),
            guard: profile.issue.guard_latency.saturating_sub(compared).into(),
            upper_half: profile.issue.upper_half_latency.into(),
        }
    }
}

impl Plan {
    /// When its operands are there, not before a clock, and what it waits for last.
    #[inline]
    pub fn operands_at(
        &self,
        states: &[RegisterState],
        from: (u64, Stall),
        more: &Further,
    ) -> (u64, Stall) {
        let (mut at, mut last) = (from.0, 0);
        // Without branches: nobody can tell which operand comes last.
        let mut wait = |state: RegisterState, extra: u64| {
            let time = (state >> STATE_BITS) + extra;
            last = if time > at { state } else { last };
            at = at.max(time);
        };
        for &register in self.reads.iter() {
            let state = states[register as usize];
            let pipe = state >> PIPE_SHIFT & 63;
            let same = state & FROM_MEMORY != 0 || self.pipe_mask >> pipe & 1 != 0;
            let across = if same || state == 0 { 0 } else { more.cross_pipe };
            let upper = if state & IN_HALVES != 0 && !self.in_halves { more.upper_half } else { 0 };
            let guard = if self.guarded && state & GUARD_EXTRA != 0 { more.guard } else { 0 };
            wait(state, across.max(upper).max(guard));
        }
        for &register in self.writes.iter().chain(&self.waits) {
            wait(states[register as usize], 0);
        }
        if let Some(register) = self.guard {
            let state = states[register as usize];
            wait(state, if state & GUARD_EXTRA != 0 { more.guard } else { 0 });
        }
        let memory = last & FROM_MEMORY != 0;
        let reason = if memory { Stall::Memory } else { Stall::Execution };
        (at, if at > from.0 { reason } else { from.1 })
    }

    /// The costs with what depends on operands and lanes.
    pub fn cost(&self, detail: Detail) -> Cost {
        let usual = Cost {
            latency: self.latency,
            interval: self.interval,
            slots: self.slots,
            issue_cycles: self.issue_cycles,
            dispatch_cycles: self.dispatch_cycles.max(self.issue_cycles),
        };
        let path = match detail {
            Detail::Path(Path::Other) => self.paths[0],
            Detail::Path(Path::Mixed) => self.paths[1],
            Detail::Diverges { alone: true } => {
                let more = self.issue_cycles / self.slots.max(1);
                return Cost {
                    slots: self.slots + 1,
                    issue_cycles: self.issue_cycles + more,
                    dispatch_cycles: usual.dispatch_cycles + more,
                    ..usual
                };
            }
            // A part of a matrix is loaded and stored by one instruction for each word of a lane.
            Detail::Memory { count, .. } => {
                let Some(each) = self.fragment else { return usual };
                let slots = self.slots + each * u64::from(count.max(1) - 1);
                let issue_cycles = self.issue_cycles / self.slots.max(1) * slots;
                let dispatch_cycles = self.dispatch_cycles.max(issue_cycles);
                return Cost { slots, issue_cycles, dispatch_cycles, ..usual };
            }
            _ => None,
        };
        let Some(path) = path else { return usual };
        let issue_cycles = self.issue_cycles / self.slots.max(1) * u64::from(path.instructions);
        Cost {
            latency: path.latency.into(),
            interval: fixed(path.dispatch_cycles.into()),
            slots: path.instructions.into(),
            issue_cycles,
            dispatch_cycles: issue_cycles.max(path.dispatch_cycles.into()),
        }
    }
}

/// The device's pipes.
#[derive(Debug, Clone)]
pub(super) struct Pipes {
    pub names: Vec<String>,
    pub per_scheduler: Vec<bool>,
    /// Clocks of one scheduler for a clock of a pipe that all share.
    pub scheduler_cycles: Vec<u64>,
    /// What instructions want of them, see [`Plan::pipe_mask`]. The first one is nothing.
    pub wants: Vec<u64>,
}

/// The registers of a warp, as plans number them.
#[derive(Debug, Default)]
pub(super) struct Registers {
    /// Of each, whether it is a guard.
    pub guards: Vec<bool>,
}

impl Registers {
    /// Numbers the registers of plans in the order of their use: those that instructions use together lie together.
    pub fn renumber(code: &Code, plans: &mut [Plan]) -> Self {
        let mut registers = Self::default();
        let mut numbers = HashMap::new();
        let mut number = |register: &mut Register| {
            *register = *numbers.entry(*register).or_insert_with_key(|register| {
                registers.guards.push(code.words.get(*register as usize) == Some(&0));
                registers.guards.len() as Register - 1
            });
        };
        for plan in plans {
            let Plan { reads, writes, guard, waits, operands, .. } = plan;
            reads.iter_mut().chain(writes).chain(guard).chain(waits).for_each(&mut number);
            operands.iter_mut().for_each(|(register, _)| number(register));
        }
        registers
    }
}

/// The words that an arithmetic instruction fetches through the operand ports.
fn operands(
    ports: u32,
    code: &Code,
    arguments: &HashSet<Register>,
    instruction: &Instruction,
) -> SmallVec<[(Register, u8); 4]> {
    let words = |r: &Register| code.words.get(*r as usize).copied().unwrap_or(1);
    // The tensor cores fetch what a product is added to by themselves.
    if ports == 0 || instruction.class.is_memory() || instruction.class == Class::MmaWarpgroup {
        return SmallVec::new();
    }
    // Of an array each of its machine instructions takes one word.
    let own = instruction.reads.len().saturating_sub(instruction.chooses as usize);
    instruction.reads[..own]
        .iter()
        // Those are constants of the machine code.
        .filter(|r| !arguments.contains(*r))
        .map(|r| (*r, words(r)))
        .collect()
}

/// Arithmetic of an instruction or two whose result comes at a known time.
fn is_arithmetic(instruction: &Instruction, timing: &ClassTiming) -> bool {
    let class = instruction.class;
    comes_at_a_known_time(instruction)
        && timing.instructions <= 2
        && !matches!(class, Class::Branch | Class::WarpSync | Class::WarpgroupWait)
        && !class.has_branches()
        && !instruction.clock
}

/// Clocks between a reduction and the warp's next instruction.
fn pause(profile: &Profile, instruction: &Instruction) -> u64 {
    match (instruction.class, instruction.kind) {
        (Class::AtomicShared, AccessKind::Reduction) => {
            profile.atomics.shared_reduction_cycles.into()
        }
        (Class::AtomicGlobal, AccessKind::Reduction) => {
            profile.atomics.global_reduction_cycles.into()
        }
        _ => 0,
    }
}

/// Clocks in which a scheduler issues nothing else.
fn dispatch_cycles(timing: &ClassTiming, code: &Code, instruction: &Instruction) -> u64 {
    let wide = |r: &Register| code.words.get(*r as usize) == Some(&2);
    let more = if instruction.reads.iter().any(wide) { timing.wide_operand_cycles } else { 0 };
    u64::from(timing.dispatch_cycles + more)
}

/// Latency, and time in the memory pipe, of adding up the lanes of a warp before an atomic and handing
/// out the result: five steps of a scan, one on, one back. Each is a shuffle and a guarded addition. Through
/// the same pipe go the atomic of warps with absent lanes, which is switched off, and the number of the lane,
/// a special register, at half the rate.
fn scan(profile: &Profile) -> Option<(u64, u64)> {
    const STEPS: u32 = 7;
    const BESIDES: u32 = 3;
    let [shuffle, add, vote] =
        [Class::Shuffle, Class::IntAdd, Class::Vote].map(|c| profile.timing_of(c));
    let (shuffle, add, vote) = (shuffle?, add?, vote?);
    let cross = profile.issue.cross_pipe_latency;
    let latency = STEPS * (shuffle.latency + add.latency + 2 * cross) + vote.latency + add.latency;
    Some((latency.into(), fixed(f64::from(STEPS + BESIDES) * 32.0 / shuffle.per_clock)))
}

/// Resolves all instructions; also returns the pipes and the number of registers.
pub(super) fn plan(
    profile: &Profile,
    code: &Code,
) -> Result<(Vec<Plan>, Pipes, usize), SimulateError> {
    let names: Vec<String> = profile.pipes.keys().cloned().collect();
    let per_scheduler: Vec<bool> = profile.pipes.values().map(|p| p.per_scheduler).collect();
    let issue = &profile.issue;
    let arguments = arguments::of(&code.instructions);
    let mut registers = 0;
    let mut plans = Vec::with_capacity(code.instructions.len());
    // Work of the block so far, by pipe: the assembler chooses where both could take an addition.
    let mut work: Vec<f64> = vec![0.0; names.len()];
    for (pc, instruction) in code.instructions.iter().enumerate() {
        let class = instruction.class;
        if code.leaders.binary_search(&(pc as u32)).is_ok() {
            work.fill(0.0);
        }
        let timing = profile.timing_of(class).ok_or_else(|| SimulateError::UnsupportedClass {
            device: profile.name.clone(),
            class,
            pc: pc as u32,
        })?;
        let pipes: SmallVec<[u8; 2]> = timing
            .pipes
            .iter()
            .filter_map(|p| names.iter().position(|n| n == p).map(|i| i as u8))
            .collect();
        // `per_clock` is the rate of all units of all listed pipes together.
        let units: u32 = pipes
            .iter()
            .map(|&p| if per_scheduler[usize::from(p)] { issue.schedulers } else { 1 })
            .sum();
        // What keeps track of a branch goes through the same pipe, as the other half of 64 bits does, and what takes a
        // byte out of a word.
        let doubled = matches!(class, Class::Branch | Class::Logic | Class::ConvertFromInt);
        let times = if doubled { 1 + instruction.extra_slots } else { 1 };
        let clocks = 32.0 * f64::from(units * times) / timing.per_clock;
        let pipes: SmallVec<[u8; 2]> = match class {
            Class::IntAdd | Class::ShiftLeft | Class::Move => {
                let busy = |p: &u8| work[usize::from(*p)];
                pipes
                    .iter()
                    .copied()
                    .min_by(|a, b| busy(a).total_cmp(&busy(b)))
                    .into_iter()
                    .collect()
            }
            _ => pipes,
        };
        for pipe in &pipes {
            work[usize::from(*pipe)] += clocks / pipes.len() as f64;
        }
        let interval = fixed(clocks) * u64::from(instruction.units);
        let all = instruction.reads.iter().chain(&instruction.writes).chain(&instruction.guard);
        registers = all.map(|r| *r as usize + 1).fold(registers, usize::max);
        let state = state_bits(pipes.first().copied().unwrap_or(0), class);
        plans.push(Plan {
            pipe_mask: pipes.iter().fold(0, |m, p| m | 1 << (p & 63)),
            wants: 0,
            global: matches!(class, Class::LoadGlobal | Class::StoreGlobal | Class::AtomicGlobal),
            pipes,
            interval,
            latency: (timing.latency + more_for_window(instruction)).into(),
            state,
            issue_cycles: u64::from(issue.cycles)
                * u64::from(timing.instructions + instruction.extra_slots),
            dispatch_cycles: dispatch_cycles(timing, code, instruction),
            slots: (timing.instructions + instruction.extra_slots).into(),
            control: matches!(class, Class::Branch),
            guarded: matches!(class, Class::Branch | Class::Barrier)
                || under_predicate(code, instruction),
            holds: class.has_branches()
                || matches!(class, Class::Branch | Class::WarpgroupWait)
                || instruction.clock,
            arithmetic: is_arithmetic(instruction, timing),
            f64: issue.f64_blocks_other_schedulers
                && matches!(
                    class,
                    Class::F64Add
                        | Class::F64Fma
                        | Class::F64MinMax
                        | Class::F64Div
                        | Class::F64Rcp
                        | Class::F64Sqrt
                        | Class::F64Rsqrt
                ),
            reads: instruction.reads.clone(),
            writes: instruction.writes.clone(),
            guard: instruction.guard,
            waits: Waits::new(),
            operands_wait: false,
            operands: operands(issue.operand_words, code, &arguments, instruction),
            value_latency: timing.value_latency,
            pause: pause(profile, instruction),
            passes: if instruction.compares && class == Class::AtomicShared { 2 } else { 1 },
            added: 0,
            gap: 0,
            tail: 0,
            paths: [timing.other, timing.mixed],
            fragment: instruction.fragment.then(|| timing.instructions.into()),
            product: class == Class::MmaWarpgroup,
            // Constant memory has addresses of 32 bits.
            in_halves: matches!(class, Class::IntAdd64 | Class::LoadConst),
            access_latency: 0,
        });
        if let Some(plan) = plans.last_mut() {
            add_steps(profile, instruction, timing.latency, plan);
        }
    }
    let wants = wants(issue.operand_words, code, &mut plans);
    let scheduler_cycles = profile.pipes.values().map(|p| p.scheduler_cycles.into()).collect();
    Ok((plans, Pipes { names, per_scheduler, scheduler_cycles, wants }, registers))
}

/// Clocks until the address of a shared variable is there, behind the block's window in the cluster's: a shift and an
/// addition in uniform registers, by control words of ptxas 13.5 for sm_90.
fn more_for_window(instruction: &Instruction) -> u32 {
    if instruction.class == Class::SpecialRegister && instruction.extra_slots > 0 { 12 } else { 0 }
}

/// What takes an instruction's results longer than its class: steps that its machine code goes through.
fn add_steps(profile: &Profile, instruction: &Instruction, latency: u32, plan: &mut Plan) {
    if instruction.class == Class::LoadMatrix {
        let shared = &profile.shared;
        plan.added = latency.saturating_sub(shared.latency).into();
        plan.access_latency =
            (f64::from(shared.extra_step_latency) - shared.step_cycles).max(0.0) as u64;
    }
    if instruction.chooses > 1 {
        // From the last comparison to the last move.
        plan.added = plan.issue_cycles + u64::from(profile.issue.guard_latency);
    }
    let scans = instruction.one_lane && !instruction.writes.is_empty();
    if scans
        && profile.timing_of(Class::Shuffle).is_some()
        && let Some((latency, interval)) = scan(profile)
    {
        plan.added = latency;
        plan.interval += interval;
    }
}

/// Says of each instruction whether it fetches operands and what it wants of the pipes; returns what there is to want.
fn wants(ports: u32, code: &Code, plans: &mut [Plan]) -> Vec<u64> {
    let mut wants = vec![0];
    for (plan, instruction) in plans.iter_mut().zip(&code.instructions) {
        let words: u32 = plan.operands.iter().map(|o| u32::from(o.1)).sum();
        plan.operands_wait = ports > 0 && words > ports;
        if words > 0 || instruction.class.is_memory() {
            plan.pipe_mask |= PORTS;
        }
        let known = wants.iter().position(|w| *w == plan.pipe_mask);
        plan.wants = known.unwrap_or(wants.len()) as u8;
        if known.is_none() {
            wants.push(plan.pipe_mask);
        }
    }
    wants
}
