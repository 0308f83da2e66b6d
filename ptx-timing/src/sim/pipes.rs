//! When the pipes of an SM and the operand ports of its schedulers take instructions.

use super::plan::Pipes;
use super::time::FRACTION;
use crate::profile::Issue;

/// Besides pipes: the instruction needs the scheduler's operand ports. What reads no registers, as branches and
/// what keeps track of them, issues while another instruction is still fetching.
pub(super) const PORTS: u64 = 1 << 63;

/// More than what instructions want of the pipes of any device. Beyond the number, so that what the schedulers of all
/// SMs look at does not lie in the same few sets of the host's caches.
pub(super) const MOST_WANTS: usize = (1 << 8) + 8;

/// By number in [`Pipes::wants`]: the first clock at which one of some pipes, and [`PORTS`], take an instruction; 0
/// where it wants nothing.
pub(super) type Takes = [u64; MOST_WANTS];

/// What all SMs know of their pipes.
#[derive(Debug)]
pub(super) struct Wanting {
    /// What wants each pipe, and the numbers of what wants the ports.
    wanted_by: Vec<Vec<Wanted>>,
    with_ports: Vec<u8>,
    /// Clocks of one scheduler for a clock of a shared pipe.
    scheduler_cycles: Vec<u64>,
    /// Which of them all schedulers share.
    shared: u64,
    /// Clocks of work that may wait at a scheduler's own pipe, and at a shared one.
    own_queue: u64,
    shared_queue: u64,
}

impl Wanting {
    pub fn new(pipes: &Pipes, issue: &Issue) -> Self {
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
            wanted_by: (0..count).map(wanting).collect(),
            with_ports: wants()
                .filter(|(_, w)| *w & PORTS != 0)
                .map(|(number, _)| number)
                .collect(),
            scheduler_cycles: pipes.scheduler_cycles.clone(),
            shared: (0..count)
                .filter(|&p| !pipes.per_scheduler[p])
                .fold(0, |mask, p| mask | 1 << p),
            own_queue: issue.pipe_queue_cycles.into(),
            shared_queue: issue.memory_queue_cycles.into(),
        }
    }
}

/// The pipes of one SM: each scheduler's own, and those that all share.
#[derive(Debug)]
pub(super) struct PipeTimes {
    /// Each pipe of each scheduler, pipe by pipe.
    times: Vec<PipeTime>,
    /// Of each pipe: when it is free for all if it is shared, and how long it was busy over all schedulers, in 1/1024
    /// clocks.
    all: Vec<(u64, u64)>,
    /// By scheduler: the first clock at which what an instruction wants takes it.
    takes_wanted: Vec<Takes>,
    /// The same without the ports, scheduler by scheduler.
    pipes_take: Vec<u64>,
    /// How many different things there are to want.
    wants: usize,
    /// When the operand ports of each scheduler are free, in clocks.
    ports: Vec<u64>,
}

/// A pipe of a scheduler, or what a shared pipe is for this scheduler.
#[derive(Debug, Clone, Copy, Default)]
struct PipeTime {
    /// When it is free, in 1/1024 clocks.
    free: u64,
    /// Of a shared pipe: the same as far as only the instructions of this scheduler count.
    own: u64,
    /// The first clock at which it takes an instruction, which may wait in its queue.
    takes: u64,
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
    pub fn new(pipes: &Pipes, schedulers: usize) -> Self {
        let count = pipes.names.len();
        Self {
            times: vec![PipeTime::default(); count * schedulers],
            all: vec![(0, 0); count],
            takes_wanted: vec![[0; MOST_WANTS]; schedulers],
            pipes_take: vec![0; schedulers * pipes.wants.len()],
            wants: pipes.wants.len(),
            ports: vec![0; schedulers],
        }
    }

    /// How long a pipe was busy, over all schedulers, in 1/1024 clocks.
    pub fn busy(&self, pipe: usize) -> u64 {
        self.all[pipe].1
    }

    /// First clocks at which a scheduler's pipes take instructions.
    #[inline]
    pub fn takes_wanted(&self, scheduler: usize) -> &Takes {
        &self.takes_wanted[scheduler]
    }

    /// A pipe of a scheduler takes instructions at another time.
    fn update(&mut self, scheduler: usize, wanted_by: &[Wanted], takes: u64) {
        let ports = self.ports[scheduler];
        let pipes_take = &mut self.pipes_take[scheduler * self.wants..][..self.wants];
        let takes_wanted = &mut self.takes_wanted[scheduler];
        for wanted in wanted_by {
            let mut time = takes;
            let mut others = wanted.others;
            while others != 0 {
                let other = others.trailing_zeros() as usize;
                time = time.min(self.times[other * self.ports.len() + scheduler].takes);
                others &= others - 1;
            }
            let number = usize::from(wanted.number);
            pipes_take[number] = time;
            takes_wanted[number] = if wanted.ports { time.max(ports) } else { time };
        }
    }

    /// Keeps the operand ports of a scheduler busy for some clocks, if any.
    pub fn fetch(&mut self, scheduler: usize, now: u64, clocks: u64, wanting: &Wanting) {
        if clocks == 0 {
            return;
        }
        let until = now + clocks;
        self.ports[scheduler] = until;
        let pipes_take = &self.pipes_take[scheduler * self.wants..];
        let takes_wanted = &mut self.takes_wanted[scheduler];
        for &number in &wanting.with_ports {
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

    fn time(&self, scheduler: usize, pipe: u8) -> &PipeTime {
        &self.times[usize::from(pipe) * self.ports.len() + scheduler]
    }

    /// First clock at which a pipe takes an instruction.
    pub fn takes(&self, scheduler: usize, pipe: u8) -> u64 {
        self.time(scheduler, pipe).takes
    }

    /// When a pipe is free, in 1/1024 clocks.
    pub fn free(&self, scheduler: usize, pipe: u8) -> u64 {
        self.time(scheduler, pipe).free
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
        wanting: &Wanting,
    ) -> bool {
        let (pipe, schedulers) = (usize::from(pipe), self.ports.len());
        let from = now * FRACTION;
        let first = pipe * schedulers;
        let wanted_by = &wanting.wanted_by[pipe];
        let (all, sum) = &mut self.all[pipe];
        *sum += busy;
        if wanting.shared >> pipe & 1 == 0 {
            let time = &mut self.times[first + scheduler];
            time.free = time.free.max(from) + busy;
            if let Some(takes) = time.takes(wanting.own_queue, next) {
                self.update(scheduler, wanted_by, takes);
            }
            return false;
        }
        *all = (*all).max(from) + busy;
        let all = *all;
        let own = &mut self.times[first + scheduler].own;
        *own = (*own).max(from) + (busy - room) * wanting.scheduler_cycles[pipe] + room;
        for scheduler in 0..schedulers {
            let time = &mut self.times[first + scheduler];
            time.free = all.max(time.own);
            if let Some(takes) = time.takes(wanting.shared_queue, now) {
                self.update(scheduler, wanted_by, takes);
            }
        }
        true
    }
}

impl PipeTime {
    /// Takes instructions so many clocks before it is free. Returns when, if it has not been the same. Nobody asks what
    /// it takes before a clock: what ends by then may as well have ended long ago.
    #[inline]
    fn takes(&mut self, queue: u64, asked: u64) -> Option<u64> {
        let takes = (self.free / FRACTION).saturating_sub(queue);
        let before = std::mem::replace(&mut self.takes, takes);
        (takes != before && takes.max(before) > asked).then_some(takes)
    }
}
