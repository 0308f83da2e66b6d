//! When the pipes of an SM and the operand ports of its schedulers take instructions.

use super::plan::Pipes;
use super::time::FRACTION;
use super::warp::NEVER;
use crate::profile::Issue;

/// Besides pipes: the instruction needs the scheduler's operand ports. What reads no registers, as branches and
/// what keeps track of them, issues while another instruction is still fetching.
pub(super) const PORTS: u64 = 1 << 63;

/// Besides pipes: the instruction goes to global memory.
pub(super) const GLOBAL: u64 = 1 << 62;

/// The pipes of one SM: each scheduler's own, and those that all share.
#[derive(Debug)]
pub(super) struct PipeTimes {
    /// When each pipe of each scheduler is free, in 1/1024 clocks, scheduler by scheduler. A shared pipe has the
    /// same time in all.
    free: Vec<u64>,
    /// The first clock at which it takes an instruction, which may wait in its queue.
    takes: Vec<u64>,
    /// How long each pipe was busy, over all schedulers, in 1/1024 clocks.
    pub busy: Vec<u64>,
    /// Which of them all schedulers share.
    shared: u64,
    /// Clocks of work that may wait at a scheduler's own pipe, and at a shared one.
    own_queue: u64,
    shared_queue: u64,
    /// When the operand ports of each scheduler are free, in clocks.
    ports: Vec<u64>,
}

impl PipeTimes {
    pub fn new(pipes: &Pipes, schedulers: usize, issue: &Issue) -> Self {
        let count = pipes.names.len();
        Self {
            free: vec![0; count * schedulers],
            takes: vec![0; count * schedulers],
            busy: vec![0; count],
            shared: (0..count)
                .filter(|&p| !pipes.per_scheduler[p])
                .fold(0, |mask, p| mask | 1 << p),
            own_queue: issue.pipe_queue_cycles.into(),
            shared_queue: issue.memory_queue_cycles.into(),
            ports: vec![0; schedulers],
        }
    }

    /// First clock at which what an instruction wants takes it: one of some pipes, and [`PORTS`]; 0 if it
    /// wants nothing.
    pub fn ready(&self, scheduler: usize, wants: u64) -> u64 {
        let pipes = wants & !(PORTS | GLOBAL);
        let ports = if wants & PORTS == 0 { 0 } else { self.ports[scheduler] };
        ports.max(self.one_of(scheduler, pipes))
    }

    /// First clock at which one of some pipes takes an instruction; 0 if there is none.
    fn one_of(&self, scheduler: usize, pipes: u64) -> u64 {
        let takes = &self.takes[scheduler * self.busy.len()..];
        // Mostly it is one.
        if pipes & pipes.wrapping_sub(1) == 0 {
            return if pipes == 0 { 0 } else { takes[pipes.trailing_zeros() as usize] };
        }
        let mut least = NEVER;
        let mut rest = pipes;
        while rest != 0 {
            least = least.min(takes[rest.trailing_zeros() as usize]);
            rest &= rest - 1;
        }
        least
    }

    /// Keeps the operand ports of a scheduler busy until a clock.
    pub fn fetch(&mut self, scheduler: usize, until: u64) {
        self.ports[scheduler] = until;
    }

    /// First clock at which a pipe takes an instruction.
    pub fn takes(&self, scheduler: usize, pipe: u8) -> u64 {
        self.takes[scheduler * self.busy.len() + usize::from(pipe)]
    }

    /// When a pipe is free, in 1/1024 clocks.
    pub fn free(&self, scheduler: usize, pipe: u8) -> u64 {
        self.free[scheduler * self.busy.len() + usize::from(pipe)]
    }

    /// Keeps a pipe busy for some time from `now` on, or from when it is free (1/1024 clocks). Returns whether it is one
    /// that all schedulers share.
    pub fn occupy(&mut self, scheduler: usize, pipe: u8, now: u64, busy: u64) -> bool {
        let (pipe, count) = (usize::from(pipe), self.busy.len());
        self.busy[pipe] += busy;
        let at = scheduler * count + pipe;
        let free = self.free[at].max(now * FRACTION) + busy;
        if self.shared >> pipe & 1 == 0 {
            (self.free[at], self.takes[at]) =
                (free, (free / FRACTION).saturating_sub(self.own_queue));
            return false;
        }
        let takes = (free / FRACTION).saturating_sub(self.shared_queue);
        for at in (pipe..self.free.len()).step_by(count) {
            (self.free[at], self.takes[at]) = (free, takes);
        }
        true
    }
}
