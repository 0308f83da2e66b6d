//! The memory system as the pipeline sees it: when a result is there, and how long the SM's memory
//! pipe is busy. L2 and device memory are shared by all SMs.

use smallvec::SmallVec;

use super::report::PcCounts;
use super::time::{FRACTION, fixed};
use crate::access::WarpAccess;
use crate::atomic;
use crate::banks::{Direction, bank_cost};
use crate::cache::{Cache, CacheCounts, Evicted};
use crate::coalesce::{Path, Transaction, device_transactions, transactions};
use crate::constant;
use crate::dram::Dram;
use crate::event::{AccessKind, Instruction, Space};
use crate::profile::{Profile, Protocol};

/// Slots of the table that serialises atomics on one address. Two addresses that share a slot
/// delay each other; with this many slots that is rare.
const ATOMIC_SLOTS: usize = 1 << 16;

/// Outcome of one access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AccessTiming {
    /// When a dependent instruction can issue.
    pub done: u64,
    /// How long the memory pipe is busy, in 1/1024 clocks.
    pub busy: u64,
}

/// A server that moves bytes at a fixed rate, first come, first served.
#[derive(Debug, Clone)]
struct Port {
    free_at: u64,
    per_byte: f64,
    busy: u64,
}

impl Port {
    fn new(bytes_per_clock: f64) -> Self {
        Self { free_at: 0, per_byte: FRACTION as f64 / bytes_per_clock, busy: 0 }
    }

    /// Queues a transfer at `now`; returns the clocks it has to wait.
    fn wait(&mut self, now: u64, bytes: u32) -> u64 {
        let start = self.free_at.max(now * FRACTION);
        let time = (f64::from(bytes) * self.per_byte) as u64;
        self.free_at = start + time;
        self.busy += time;
        start / FRACTION - now
    }
}

/// Caches and ports of one SM.
#[derive(Debug, Clone)]
struct SmMemory {
    l1: Option<Cache>,
    texture: Option<Cache>,
    constant: Cache,
    port: Port,
}

/// The whole memory system.
#[derive(Debug, Clone)]
pub(super) struct Memory<'a> {
    profile: &'a Profile,
    sms: Vec<SmMemory>,
    l2: Option<Cache>,
    /// What L2 sends to the SMs, and what it takes from them if that is apart.
    l2_port: Port,
    l2_writes: Option<Port>,
    /// Bytes of L2 bandwidth that a request takes besides its data.
    request_bytes: u32,
    /// Cost of a written and of a partly written sector, as multiples of a read one.
    write_costs: (f64, f64),
    dram: Dram,
    atomics: Vec<u64>,
}

impl<'a> Memory<'a> {
    pub fn new(profile: &'a Profile, sms: u32) -> Self {
        let sm = SmMemory {
            l1: profile.l1.as_ref().map(Cache::new),
            texture: profile.texture.as_ref().map(Cache::new),
            constant: Cache::new(&profile.constant.cache),
            port: Port::new(profile.global.sm_bytes_per_clock),
        };
        // Without an L2 the ports of the memory channels are the only common limit.
        let l2_rate = profile.l2.as_ref().map_or(f64::INFINITY, |l2| l2.bytes_per_clock);
        Self {
            profile,
            sms: vec![sm; sms as usize],
            l2: profile.l2.as_ref().map(Cache::new),
            l2_port: Port::new(l2_rate),
            l2_writes: profile.l2.as_ref().filter(|l2| l2.full_duplex).map(|_| Port::new(l2_rate)),
            request_bytes: profile.l2.as_ref().map_or(0, |l2| l2.request_bytes),
            write_costs: profile
                .l2
                .as_ref()
                .map_or((1.0, 1.0), |l2| (l2.write_cost, l2.partial_write_cost)),
            dram: Dram::new(profile),
            atomics: vec![0; ATOMIC_SLOTS],
        }
    }

    /// Bytes read from and written to device memory.
    pub fn dram_bytes(&self) -> (u64, u64) {
        self.dram.bytes()
    }

    /// When the last store has reached the point from which it cannot be lost: L2, or device memory
    /// where there is none.
    pub fn drained_at(&self) -> u64 {
        match self.l2 {
            Some(_) => {
                let port = self.l2_writes.as_ref().unwrap_or(&self.l2_port);
                port.free_at.div_ceil(FRACTION)
            }
            None => self.dram.drained_at(),
        }
    }

    /// Clocks that L2 was busy in its busier direction.
    pub fn l2_busy(&self) -> f64 {
        let writes = self.l2_writes.as_ref().map_or(0, |port| port.busy);
        self.l2_port.busy.max(writes) as f64 / FRACTION as f64
    }

    /// Counts of L1, summed over SMs, and of L2.
    pub fn cache_counts(&self) -> (CacheCounts, CacheCounts) {
        let mut l1 = CacheCounts::default();
        for sm in &self.sms {
            if let Some(c) = sm.l1.as_ref().map(Cache::counts) {
                l1.read_hits += c.read_hits;
                l1.read_misses += c.read_misses;
                l1.write_hits += c.write_hits;
                l1.write_misses += c.write_misses;
                l1.written_back += c.written_back;
            }
        }
        (l1, self.l2.as_ref().map(Cache::counts).unwrap_or_default())
    }

    /// One access of one warp, issued by `sm` at `now`.
    pub fn access(
        &mut self,
        sm: usize,
        now: u64,
        instruction: &Instruction,
        space: Space,
        access: &WarpAccess,
        counts: &mut PcCounts,
    ) -> AccessTiming {
        if access.mask == 0 {
            return AccessTiming { done: now, busy: 0 };
        }
        counts.requests += 1;
        counts.width = counts.width.max(access.width);
        counts.local |= space == Space::Local;
        let used = access.distinct_bytes();
        counts.bytes_used += used;
        if !matches!(space, Space::Shared | Space::Const) {
            let unit = u64::from(self.profile.global.sector_bytes);
            counts.ideal_sectors += used.div_ceil(unit.max(1));
        }
        let timing = match (space, instruction.kind) {
            (Space::Shared, kind) => self.shared(now, kind, access, counts),
            (Space::Const, _) => self.constant(sm, now, access, counts),
            (Space::Texture, _) => self.texture(sm, now, access, counts),
            (_, AccessKind::Load) => self.load(sm, now, instruction, space, access, counts),
            (_, AccessKind::Store) => self.store(sm, now, access, counts),
            (_, AccessKind::Atomic | AccessKind::Reduction) => self.atomic(sm, now, access, counts),
        };
        if matches!(instruction.kind, AccessKind::Load | AccessKind::Atomic) {
            counts.latency += timing.done - now;
        }
        timing
    }

    fn shared(
        &self,
        now: u64,
        kind: AccessKind,
        access: &WarpAccess,
        counts: &mut PcCounts,
    ) -> AccessTiming {
        let s = &self.profile.shared;
        let a = &self.profile.atomics;
        let atomic = matches!(kind, AccessKind::Atomic | AccessKind::Reduction);
        let (steps, nominal, latency, extra) = if atomic {
            let steps = atomic::shared_steps(s.banks, access);
            (steps, 1, a.shared_latency, a.shared_same_address_latency)
        } else {
            let direction =
                if kind == AccessKind::Load { Direction::Load } else { Direction::Store };
            let cost = bank_cost(s, direction, access);
            (cost.steps, cost.requests, s.latency, s.extra_step_latency)
        };
        counts.shared_steps += u64::from(steps);
        counts.shared_conflicts += u64::from(steps.saturating_sub(nominal));
        AccessTiming {
            done: now + u64::from(latency) + u64::from(steps.saturating_sub(1) * extra),
            busy: fixed(f64::from(steps) * s.step_cycles),
        }
    }

    fn constant(
        &mut self,
        sm: usize,
        now: u64,
        access: &WarpAccess,
        counts: &mut PcCounts,
    ) -> AccessTiming {
        let c = &self.profile.constant;
        let (mut latency, busy) = constant::hit_cost(c, access);
        counts.sectors += u64::from(constant::distinct_addresses(c.scope, access));
        for (_, address) in access.lanes() {
            if !self.sms[sm].constant.read(address).hit {
                latency = latency.max(c.miss_latency);
            }
        }
        AccessTiming { done: now + u64::from(latency), busy: fixed(busy) }
    }

    fn texture(
        &mut self,
        sm: usize,
        now: u64,
        access: &WarpAccess,
        counts: &mut PcCounts,
    ) -> AccessTiming {
        let Some(level) = &self.profile.texture else {
            return AccessTiming { done: now, busy: 0 };
        };
        let sectors =
            transactions(Protocol::WarpSectors, level.line_bytes, level.sector_bytes, access);
        counts.sectors += sectors.len() as u64;
        let mut done = now + u64::from(level.hit_latency);
        for (i, t) in sectors.iter().enumerate() {
            let overhead = self.overhead(&sectors, i);
            let hit = self.sms[sm].texture.as_mut().is_none_or(|c| c.read(t.address).hit);
            if !hit {
                // The texture path is longer than the plain one by what a hit shows.
                done = done.max(self.beyond_l1(sm, now, t, overhead, counts));
            }
        }
        let busy = f64::from(access.active() * access.width) / level.bytes_per_clock;
        AccessTiming { done, busy: fixed(busy) }
    }

    fn load(
        &mut self,
        sm: usize,
        now: u64,
        instruction: &Instruction,
        space: Space,
        access: &WarpAccess,
        counts: &mut PcCounts,
    ) -> AccessTiming {
        let g = &self.profile.global;
        let cached = if space == Space::Local { g.local_in_l1 } else { g.load_in_l1 };
        let path = if instruction.bypass_l1 { Path::LoadBypass } else { Path::Load };
        let list = device_transactions(g, path, access);
        counts.sectors += list.len() as u64;
        counts.bytes += list.iter().map(|t| u64::from(t.bytes)).sum::<u64>();
        let per_slot = self.transactions_per_slot(path);
        let mut done = now;
        for (i, t) in list.iter().enumerate() {
            // Only the 1.x protocol repeats a transaction: lanes that read one word. Each takes its
            // turn at the pipe, but memory is asked once.
            if i > 0 && list[i - 1] == *t {
                continue;
            }
            let overhead = self.overhead(&list, i);
            let start = now + (i as f64 / per_slot * g.cycles_per_transaction) as u64;
            let l1 = self.sms[sm].l1.as_mut().filter(|_| cached && !instruction.bypass_l1);
            let at = match l1 {
                None => self.beyond_l1(sm, start, t, overhead, counts),
                Some(l1) => {
                    let outcome = l1.read(t.address);
                    let hit_latency = self.profile.l1.as_ref().map_or(0, |l1| l1.hit_latency);
                    let hit_at = start + u64::from(hit_latency);
                    if outcome.hit {
                        // The line may still be on its way.
                        l1.ready_at(t.address).max(hit_at)
                    } else {
                        let at = self.beyond_l1(sm, start, t, overhead, counts).max(hit_at);
                        if let Some(l1) = &mut self.sms[sm].l1 {
                            l1.set_ready(t.address, at);
                        }
                        at
                    }
                }
            };
            done = done.max(at);
        }
        AccessTiming { done, busy: self.pipe_time(path, list.len(), access) }
    }

    fn store(
        &mut self,
        sm: usize,
        now: u64,
        access: &WarpAccess,
        counts: &mut PcCounts,
    ) -> AccessTiming {
        let list = device_transactions(&self.profile.global, Path::Store, access);
        counts.sectors += list.len() as u64;
        counts.bytes += list.iter().map(|t| u64::from(t.bytes)).sum::<u64>();
        for (i, t) in list.iter().enumerate() {
            let overhead = self.overhead(&list, i);
            if let Some(l1) = &mut self.sms[sm].l1 {
                l1.write(t.address, t.bytes);
            }
            self.sms[sm].port.wait(now, t.bytes);
            match &mut self.l2 {
                None => {
                    self.dram.write(now, t.address, t.bytes);
                }
                Some(l2) => {
                    let written = written_bytes(access, t);
                    let cost =
                        if written < t.bytes { self.write_costs.1 } else { self.write_costs.0 };
                    let bytes = (f64::from(t.bytes) * cost) as u32 + overhead;
                    match &mut self.l2_writes {
                        Some(port) => port.wait(now, bytes),
                        None => self.l2_port.wait(now, bytes),
                    };
                    let outcome = l2.write(t.address, written);
                    self.write_back(now, outcome.evicted);
                }
            }
        }
        AccessTiming { done: now, busy: self.pipe_time(Path::Store, list.len(), access) }
    }

    fn atomic(
        &mut self,
        sm: usize,
        now: u64,
        access: &WarpAccess,
        counts: &mut PcCounts,
    ) -> AccessTiming {
        let g = &self.profile.global;
        let a = &self.profile.atomics;
        let totals = atomic::global_counts(g.line_bytes, g.sector_bytes, access);
        counts.sectors += u64::from(totals.sectors);
        counts.bytes += u64::from(totals.sectors * g.sector_bytes);
        let step = fixed(a.global_same_address_cycles);
        let mut last = now * FRACTION;
        for (_, address) in access.lanes() {
            let word = address >> 2;
            let slot = (word ^ (word >> 16) ^ (word >> 32)) as usize % ATOMIC_SLOTS;
            let start = self.atomics[slot].max(now * FRACTION);
            self.atomics[slot] = start + step;
            last = last.max(start);
        }
        let moved = f64::from(totals.sectors * g.sector_bytes) * self.write_costs.0;
        let bytes = moved as u32 + totals.lines * self.request_bytes;
        let mut wait = self.l2_writes.as_mut().unwrap_or(&mut self.l2_port).wait(now, bytes);
        wait = wait.max(self.sms[sm].port.wait(now, totals.sectors * g.sector_bytes));
        let mut done = last / FRACTION + wait + u64::from(a.global_latency);
        for t in &transactions(Protocol::WarpSectors, g.line_bytes, g.sector_bytes, access) {
            match &mut self.l2 {
                None => {
                    let read = self.dram.read(now, t.address, t.bytes);
                    let written = self.dram.write(now, t.address, t.bytes);
                    done = done.max(read.max(written) + u64::from(a.global_latency));
                }
                Some(l2) => {
                    let outcome = l2.read(t.address);
                    l2.write(t.address, t.bytes);
                    if outcome.fill {
                        let end = self.dram.read(now, t.address, t.bytes);
                        done = done.max(end + u64::from(self.profile.dram.latency));
                    }
                    self.write_back(now, outcome.evicted);
                }
            }
        }
        let passes = f64::from(totals.lines.max(1)) * g.cycles_per_transaction;
        AccessTiming { done, busy: fixed(passes) }
    }

    /// When the data of a transaction that L1 does not have reaches the SM.
    fn beyond_l1(
        &mut self,
        sm: usize,
        now: u64,
        t: &Transaction,
        overhead: u32,
        counts: &mut PcCounts,
    ) -> u64 {
        let port_wait = self.sms[sm].port.wait(now, t.bytes);
        let Some(l2) = &mut self.l2 else {
            counts.dram_bytes += u64::from(t.bytes);
            let end = self.dram.read(now, t.address, t.bytes);
            return end.max(now + port_wait) + u64::from(self.profile.dram.latency);
        };
        let level_latency = self.profile.l2.as_ref().map_or(0, |l2| u64::from(l2.hit_latency));
        let wait = port_wait.max(self.l2_port.wait(now, t.bytes + overhead));
        let hit_at = now + wait + level_latency;
        let mut done = hit_at;
        let sector = l2.sector_bytes();
        let burst = self.dram.burst_bytes().max(u64::from(sector));
        let mut evicted: SmallVec<[Evicted; 4]> = SmallVec::new();
        for address in (t.address..t.address + u64::from(t.bytes)).step_by(sector as usize) {
            let outcome = l2.read(address);
            if !outcome.fill {
                done = done.max(l2.ready_at(address));
                continue;
            }
            // Device memory transfers whole bursts, and what comes along is kept.
            let first = address / burst * burst;
            counts.dram_bytes += burst;
            let end = self.dram.read(now, first, burst as u32);
            for other in (first..first + burst).step_by(sector as usize) {
                l2.came_along(other);
            }
            let at = end.max(now + wait) + u64::from(self.profile.dram.latency);
            l2.set_ready(address, at);
            done = done.max(at);
            evicted.extend(outcome.evicted);
        }
        for line in evicted {
            self.write_back(now, Some(line));
        }
        done
    }

    /// What transaction `i` costs L2 besides its data: the first one of each line is a request.
    fn overhead(&self, list: &[Transaction], i: usize) -> u32 {
        if self.request_bytes == 0 {
            return 0;
        }
        let line = |t: &Transaction| t.address / u64::from(self.profile.global.line_bytes);
        let seen = list[..i].iter().any(|earlier| line(earlier) == line(&list[i]));
        if seen { 0 } else { self.request_bytes }
    }

    /// Writes what L2 evicts to device memory. Where the device does so,
    /// a sector of which only some bytes were written is read first.
    fn write_back(&mut self, now: u64, evicted: Option<Evicted>) {
        let (Some(e), Some(l2)) = (evicted, &self.l2) else { return };
        let sector = l2.sector_bytes();
        if self.profile.dram.read_before_partial_write && e.partial > 0 {
            self.dram.read(now, e.address, e.partial * sector);
        }
        self.dram.write(now, e.address, e.sectors * sector);
    }

    /// Transactions that the memory pipe handles at once: the sectors of a line, one otherwise.
    fn transactions_per_slot(&self, path: Path) -> f64 {
        let g = &self.profile.global;
        let protocol = match path {
            Path::Load => g.load,
            Path::LoadBypass => g.load_bypass,
            Path::Store => g.store,
        };
        match protocol {
            Protocol::WarpSectors => f64::from(g.line_bytes / g.sector_bytes),
            _ => 1.0,
        }
    }

    fn pipe_time(&self, path: Path, transactions: usize, access: &WarpAccess) -> u64 {
        let g = &self.profile.global;
        let slots = (transactions as f64 / self.transactions_per_slot(path)).max(1.0);
        // However few transactions there are, the data of all lanes has to pass.
        let data = self
            .profile
            .l1
            .as_ref()
            .map_or(0.0, |l1| f64::from(access.active() * access.width) / l1.bytes_per_clock);
        fixed((slots * g.cycles_per_transaction).max(data))
    }
}

/// Bytes of a transaction that the lanes write, lanes on one address counted once.
fn written_bytes(access: &WarpAccess, t: &Transaction) -> u32 {
    let end = t.address + u64::from(t.bytes);
    let mut bytes = [0_u64; 2];
    for (_, address) in access.lanes() {
        let (first, last) = access.span(address);
        if last >= t.address && first < end {
            for byte in first.max(t.address)..=last.min(end - 1) {
                let offset = (byte - t.address) as usize;
                bytes[offset / 64 % 2] |= 1 << (offset % 64);
            }
        }
    }
    bytes[0].count_ones() + bytes[1].count_ones()
}
