//! The kernel's instructions as a profile sees them: pipes, intervals, latencies.

use smallvec::SmallVec;

use super::error::SimulateError;
use super::sm::state_bits;
use super::time::fixed;
use crate::event::{Code, Register};
use crate::profile::Profile;
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
    /// Its pipes as a mask.
    pub pipe_mask: u64,
    /// What its results say about themselves, see `sm`.
    pub state: u64,
    /// Clocks that it holds the scheduler.
    pub issue_cycles: u64,
    /// Issue slots.
    pub slots: u64,
    /// The warp's next instruction has to wait for the latency (branches).
    pub control: bool,
    /// Double precision, which blocks the other schedulers on 2.x.
    pub f64: bool,
    /// Registers read and written, and the guard.
    pub reads: SmallVec<[Register; 4]>,
    pub writes: SmallVec<[Register; 2]>,
    pub guard: Option<Register>,
}

/// The device's pipes.
#[derive(Debug, Clone)]
pub(super) struct Pipes {
    pub names: Vec<String>,
    pub per_scheduler: Vec<bool>,
}

/// Resolves all instructions; also returns the pipes and the number of registers.
pub(super) fn plan(
    profile: &Profile,
    code: &Code,
) -> Result<(Vec<Plan>, Pipes, usize), SimulateError> {
    let names: Vec<String> = profile.pipes.keys().cloned().collect();
    let per_scheduler: Vec<bool> = profile.pipes.values().map(|p| p.per_scheduler).collect();
    let issue = &profile.issue;
    let mut registers = 0;
    let mut plans = Vec::with_capacity(code.instructions.len());
    for (pc, instruction) in code.instructions.iter().enumerate() {
        let class = instruction.class;
        let timing = profile.class.get(&class).ok_or_else(|| SimulateError::UnsupportedClass {
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
        let interval = fixed(32.0 * f64::from(units) / timing.per_clock);
        let all = instruction.reads.iter().chain(&instruction.writes).chain(&instruction.guard);
        registers = all.map(|r| *r as usize + 1).fold(registers, usize::max);
        let compare = matches!(class, Class::Compare | Class::Compare64);
        let state = state_bits(pipes.first().copied().unwrap_or(0), class.is_memory(), compare);
        plans.push(Plan {
            pipe_mask: pipes.iter().fold(0, |m, p| m | 1 << (p & 63)),
            pipes,
            interval,
            latency: timing.latency.into(),
            state,
            issue_cycles: u64::from(issue.cycles)
                * u64::from(timing.instructions + instruction.extra_slots),
            slots: (timing.instructions + instruction.extra_slots).into(),
            control: matches!(class, Class::Branch),
            f64: issue.f64_blocks_other_schedulers
                && matches!(
                    class,
                    Class::F64Add
                        | Class::F64Fma
                        | Class::F64MinMax
                        | Class::F64Div
                        | Class::F64Rcp
                        | Class::F64Sqrt
                ),
            reads: instruction.reads.clone(),
            writes: instruction.writes.clone(),
            guard: instruction.guard,
        });
    }
    Ok((plans, Pipes { names, per_scheduler }, registers))
}
