//! When the pipes of an SM and the operand ports of its schedulers take instructions.

use super::plan::Pipes;
use super::time::FRACTION;
use super::warp::NEVER;
use crate::profile::Issue;

/// Besides pipes: the instruction needs the scheduler's operand ports. What reads no registers, as branches and
/// what keeps track of them, issues while another instruction is still fetching.
pub(super) const PORTS: u64 = 1 << 63;

/// More than what instructions want of the pipes of any device.
pub(super) const MOST_WANTS: usize = 1 << 8;

/// By number in [`Pipes::wants`]: the first clock at which one of some pipes, and [`PORTS`], take an instruction; 0
/// where it wants nothing.
pub(super) type Takes = [u64; MOST_WANTS];

/// The pipes of one SM: each scheduler's own, and those that all share.
#[derive(Debug)]
pub(super) struct PipeTimes {
    /// When each pipe of each scheduler is free, in 1/1024 clocks, scheduler by scheduler: of a shared pipe for this
    /// scheduler.
    free: Vec<u64>,
    /// When each shared pipe is free for all, and for each scheduler as far as only its own instructions count.
    all: Vec<u64>,
    own: Vec<u64>,
    /// Clocks of one scheduler for a clock of a shared pipe.
    scheduler_cycles: Vec<u64>,
    /// The first clock at which it takes an instruction, which may wait in its queue.
    takes: Vec<u64>,
    /// By scheduler: the first clock at which what an instruction wants takes it.
    takes_wanted: Vec<Takes>,
    /// The same without the ports, scheduler by scheduler.
    pipes_take: Vec<u64>,
    /// How many different things there are to want.
    wants: usize,
    /// What wants each pipe, and the numbers of what wants the ports.
    wanted_by: Vec<Vec<Wanted>>,
    with_ports: Vec<u8>,
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

/// What instructions want, among others of a pipe.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// Its number in [`Pipes::wants`].
    number: u8,
    /// Whether it needs the operand ports.
    ports: bool,
    /// The other pipes that would do.
    others: u64,
}

impl PipeTimes {
    pub fn new(pipes: &Pipes, schedulers: usize, issue: &Issue) -> Self {
        let count = pipes.names.len();
        let wants = || (0..).zip(&pipes.wants);
        let wanting = |pipe: usize| {
            let these = wants().filter(|(_, w)| *w >> pipe & 1 != 0);
            let wanted = |(number, w): (u8, &u64)| Wanted {
                number,
                ports: w & PORTS != 0,
                others: w & !PORTS & !(1 << pipe),
            };
            these.map(wanted).collect()
        };
        Self {
            free: vec![0; count * schedulers],
            all: vec![0; count],
            own: vec![0; count * schedulers],
            scheduler_cycles: pipes.scheduler_cycles.clone(),
            takes: vec![0; count * schedulers],
            takes_wanted: vec![[0; MOST_WANTS]; schedulers],
            pipes_take: vec![0; schedulers * pipes.wants.len()],
            wants: pipes.wants.len(),
            wanted_by: (0..count).map(wanting).collect(),
            with_ports: wants()
                .filter(|(_, w)| *w & PORTS != 0)
                .map(|(number, _)| number)
                .collect(),
            busy: vec![0; count],
            shared: (0..count)
                .filter(|&p| !pipes.per_scheduler[p])
                .fold(0, |mask, p| mask | 1 << p),
            own_queue: issue.pipe_queue_cycles.into(),
            shared_queue: issue.memory_queue_cycles.into(),
            ports: vec![0; schedulers],
        }
    }

    /// First clocks at which a scheduler's pipes take instructions.
    #[inline]
    pub fn takes_wanted(&self, scheduler: usize) -> &Takes {
        &self.takes_wanted[scheduler]
    }

    /// A pipe of a scheduler is free at another time.
    fn update(&mut self, scheduler: usize, pipe: usize) {
        let (count, ports) = (self.busy.len(), self.ports[scheduler]);
        let takes = &self.takes[scheduler * count..][..count];
        let pipes_take = &mut self.pipes_take[scheduler * self.wants..][..self.wants];
        let takes_wanted = &mut self.takes_wanted[scheduler];
        for wanted in &self.wanted_by[pipe] {
            let time = takes[pipe].min(first_of(takes, wanted.others));
            pipes_take[usize::from(wanted.number)] = time;
            let ports = if wanted.ports { ports } else { 0 };
            takes_wanted[usize::from(wanted.number)] = time.max(ports);
        }
    }

    /// Keeps the operand ports of a scheduler busy for some clocks, if any.
    pub fn fetch(&mut self, scheduler: usize, now: u64, clocks: u64) {
        if clocks == 0 {
            return;
        }
        let until = now + clocks;
        self.ports[scheduler] = until;
        let pipes_take = &self.pipes_take[scheduler * self.wants..];
        let takes_wanted = &mut self.takes_wanted[scheduler];
        for &number in self.with_ports.iter() {
            takes_wanted[usize::from(number)] = pipes_take[usize::from(number)].max(until);
        }
    }

    /// Of some pipes the one that is free first.
    pub fn first_free(&self, scheduler: usize, pipes: &[u8]) -> Option<u8> {
        match *pipes {
            [pipe] => Some(pipe),
            _ => pipes.iter().copied().min_by_key(|pipe| self.free(scheduler, *pipe)),
        }
    }

    /// First clock at which a pipe takes an instruction.
    pub fn takes(&self, scheduler: usize, pipe: u8) -> u64 {
        self.takes[scheduler * self.busy.len() + usize::from(pipe)]
    }

    /// When a pipe is free, in 1/1024 clocks.
    pub fn free(&self, scheduler: usize, pipe: u8) -> u64 {
        self.free[scheduler * self.busy.len() + usize::from(pipe)]
    }

    /// Keeps a pipe busy for some time from `now` on, or from when it is free (1/1024 clocks); of that time it waits
    /// for room elsewhere for `room`. The scheduler issues nothing else before `next`. Returns whether it is one that
    /// all schedulers share.
    pub fn occupy(
        &mut self,
        scheduler: usize,
        pipe: u8,
        (now, next): (u64, u64),
        (busy, room): (u64, u64),
    ) -> bool {
        let (pipe, count) = (usize::from(pipe), self.busy.len());
        self.busy[pipe] += busy;
        let at = scheduler * count + pipe;
        let from = now * FRACTION;
        if self.shared >> pipe & 1 == 0 {
            let free = self.free[at].max(from) + busy;
            self.set_free(scheduler, pipe, (free, self.own_queue), next);
            return false;
        }
        self.all[pipe] = self.all[pipe].max(from) + busy;
        self.own[at] = self.own[at].max(from) + (busy - room) * self.scheduler_cycles[pipe] + room;
        for scheduler in 0..self.ports.len() {
            let free = self.all[pipe].max(self.own[scheduler * count + pipe]);
            self.set_free(scheduler, pipe, (free, self.shared_queue), now);
        }
        true
    }

    /// When a pipe of a scheduler is free, which takes instructions so many clocks before. Nobody asks what it takes
    /// before a clock: what ends by then may as well have ended long ago.
    #[inline]
    fn set_free(&mut self, scheduler: usize, pipe: usize, (free, queue): (u64, u64), asked: u64) {
        let at = scheduler * self.busy.len() + pipe;
        let takes = (free / FRACTION).saturating_sub(queue);
        let before = std::mem::replace(&mut self.takes[at], takes);
        self.free[at] = free;
        if takes != before && takes.max(before) > asked {
            self.update(scheduler, pipe);
        }
    }
}

/// First clock at which one of some pipes takes an instruction; `NEVER` if there are none, as mostly.
fn first_of(takes: &[u64], pipes: u64) -> u64 {
    let mut least = NEVER;
    let mut rest = pipes;
    while rest != 0 {
        least = least.min(takes[rest.trailing_zeros() as usize]);
        rest &= rest - 1;
    }
    least
}
