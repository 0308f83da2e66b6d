//! The memory system as the pipeline sees it: when a result is there, and how long the SM's memory
//! pipe is busy. L2 and device memory are shared by all SMs.

use std::collections::VecDeque;

use super::asked::Asked;
use super::port::{Port, WayIn};
use super::report::{CacheUse, PcCounts};
use super::shape::{Part, SECTOR, Shape};
use super::time::FRACTION;
use super::units::{NEIGHBOURS, atomic_unit, group_of, half_of, sm_spread};
use super::waiting::{Queue, Waiting};
use crate::cache::{Cache, Evicted};
use crate::dram::{Dram, hash, one_of};
use crate::event::{AccessKind, Instruction, Space, TracedAccess};
use crate::profile::{Atomics, CacheLevel, Profile};

/// Clocks of writes to device memory that may be under way before L2 takes no more stores.
const UNDER_WAY: u64 = 1024;

/// Bytes whose reads from device memory take one time.
pub(super) const LINE: u64 = 128;

/// Caches and ports of one SM.
#[derive(Debug, Clone)]
struct SmMemory {
    l1: Option<Cache>,
    texture: Option<Cache>,
    constant: Cache,
    reads: Port,
    writes: Port,
    /// Lines that wait to leave for L2, the oldest first.
    stores: Queue,
    /// The same of lines that L1 holds: they leave some time later.
    held: Queue,
    atomics_free_at: u64,
    /// Stores and atomics on their way: when L2 begins with them, in 1/1024 clocks, and their sectors.
    pending: VecDeque<(u64, u32)>,
    /// Sum of these sectors.
    pending_sectors: u32,
}

impl SmMemory {
    /// Sectors are on their way until a time, in 1/1024 clocks.
    fn wait_for(&mut self, until: u64, sectors: u32) {
        self.pending.push_back((until, sectors));
        self.pending_sectors += sectors;
    }
}

/// The whole memory system.
#[derive(Debug, Clone)]
pub(super) struct Memory<'a> {
    profile: &'a Profile,
    sms: Vec<SmMemory>,
    l2: Option<Cache>,
    /// What L2 sends to the SMs, and what it takes from them where both share the way.
    l2_reads: Port,
    /// What L2 sends to each group of SMs.
    groups: Vec<Port>,
    /// What L2 takes from the SMs and from device memory, where that has a way of its own.
    l2_writes: Option<WayIn>,
    /// L2 takes no stores before this clock.
    writes_held: u64,
    dram: Dram,
    /// When each unit for atomics is free, in 1/1024 clocks.
    atomic_units: Vec<u64>,
    /// Clocks that an SM waits longer for the other half of L2.
    far: u64,
    /// Clocks that lines in L2 take more than the mean.
    spread: Vec<i64>,
    /// Clocks that each SM waits longer for L2 than the mean.
    sm_spread: Vec<i64>,
    /// What SMs that go to L2 together have asked for last.
    asked: Asked,
}

impl<'a> Memory<'a> {
    /// `l1_bytes`: of one SM in this launch.
    pub fn new(profile: &'a Profile, sms: u32, l1_bytes: Option<u64>) -> Self {
        let l1 = profile.l1.as_ref().zip(l1_bytes);
        let sm = SmMemory {
            l1: l1.map(|(l1, bytes)| Cache::new(&CacheLevel { bytes, ..l1.clone() })),
            texture: profile.texture.as_ref().map(Cache::new),
            constant: Cache::new(&profile.constant.cache),
            reads: Port::new(profile.global.sm_bytes_per_clock),
            writes: Port::new(profile.global.sm_write_bytes_per_clock),
            stores: Queue::default(),
            held: Queue::default(),
            atomics_free_at: 0,
            pending: VecDeque::new(),
            pending_sectors: 0,
        };
        // Without an L2 the ports of the memory channels are the only common limit.
        let together = profile.l2.as_ref().map_or(0, |l2| l2.merged_sms);
        let l2_rate = profile.l2.as_ref().map_or(f64::INFINITY, |l2| l2.bytes_per_clock);
        Self {
            profile,
            sms: vec![sm; sms as usize],
            l2: profile.l2.as_ref().map(Cache::new),
            l2_reads: Port::new(l2_rate),
            groups: profile.l2.as_ref().map_or_else(Vec::new, |l2| {
                vec![Port::new(l2.group_bytes_per_clock); l2.groups as usize]
            }),
            l2_writes: profile.l2.as_ref().and_then(|l2| l2.fill_cost).map(|_| WayIn::new(l2_rate)),
            writes_held: 0,
            dram: Dram::new(profile),
            atomic_units: vec![0; profile.atomics.units.max(1) as usize],
            far: profile.l2.as_ref().map_or(0, |l2| l2.far_cycles.into()),
            spread: profile
                .l2
                .iter()
                .flat_map(|l2| l2.spread.iter().map(|clocks| i64::from(*clocks)))
                .collect(),
            sm_spread: (0..sms as usize).map(|sm| sm_spread(profile, sm)).collect(),
            asked: Asked::new(sms, together),
        }
    }

    /// All SMs have come to a clock, about.
    pub fn all_at(&mut self, clock: u64) {
        self.l2_reads.all_at = clock;
        self.groups.iter_mut().for_each(|way| way.all_at = clock);
        self.dram.all_at = clock;
    }

    /// Bytes read from and written to device memory.
    pub fn dram_bytes(&self) -> (u64, u64) {
        self.dram.bytes()
    }

    /// Share of the clocks up to `end` that device memory was in use.
    pub fn dram_use(&self, end: u64) -> f64 {
        self.dram.used(end)
    }

    /// When the last access has reached the point from which it cannot be lost: L2, or device memory
    /// where there is none.
    pub fn drained_at(&mut self) -> u64 {
        for sm in 0..self.sms.len() {
            self.let_out(sm, u64::MAX, 1);
        }
        let atomics = self.atomic_units.iter().max().map_or(0, |t| t.div_ceil(FRACTION));
        let stores = match self.l2 {
            Some(_) => {
                // Atomics go the way of reads.
                let writes = self.l2_writes.as_ref().map_or(0, |way| way.port.free_at);
                self.l2_reads.free_at.max(writes).div_ceil(FRACTION)
            }
            None => self.dram.drained_at(),
        };
        atomics.max(stores)
    }

    /// Clocks that L2 was busy: the busier of its ways.
    pub fn l2_busy(&self) -> f64 {
        let writes = self.l2_writes.as_ref().map_or(0, |way| way.port.busy);
        self.l2_reads.busy.max(writes) as f64 / FRACTION as f64
    }

    /// Counts of the caches, those of the SMs added up.
    pub fn cache_counts(&self) -> CacheUse {
        let mut all = CacheUse::default();
        for sm in &self.sms {
            let counts =
                |cache: &Option<Cache>| cache.as_ref().map(Cache::counts).unwrap_or_default();
            all.l1 += counts(&sm.l1);
            all.texture += counts(&sm.texture);
            all.constant += sm.constant.counts();
        }
        all.l2 = self.l2.as_ref().map(Cache::counts).unwrap_or_default();
        all
    }

    /// One access of one warp, issued by `sm` at `now`; returns when a dependent instruction can issue, and how long the
    /// SM's memory pipe had to wait for room, in 1/1024 clocks. `parts` count from `origin`. `side`: the shared-memory
    /// side of a copy, of which only the banks count.
    #[allow(clippy::too_many_arguments)]
    pub fn access(
        &mut self,
        sm: usize,
        now: u64,
        instruction: &Instruction,
        traced: TracedAccess,
        side: bool,
        (shape, parts, origin): (&Shape, &[Part], u64),
        counts: &mut PcCounts,
    ) -> (u64, u64) {
        let TracedAccess { space, differs, .. } = traced;
        let kind = differs.does.unwrap_or(instruction.kind);
        if !side {
            counts.requests += 1;
            counts.width = counts.width.max(shape.width);
            counts.bytes_used += u64::from(shape.used);
        }
        counts.local |= space == Space::Local;
        counts.ideal_sectors += u64::from(shape.ideal);
        counts.sectors += u64::from(shape.transactions);
        counts.bytes += u64::from(shape.moved);
        counts.shared_steps += u64::from(shape.steps);
        counts.shared_conflicts += u64::from(shape.conflicts);
        let mut held = 0;
        let done = match (space, kind) {
            (Space::Shared, _) => now + u64::from(shape.latency),
            (Space::Const, _) => self.constant(sm, now, shape, parts, origin),
            (Space::Texture, _) => self.texture(sm, now, parts, origin, counts),
            (_, AccessKind::Load) => {
                let g = &self.profile.global;
                let l1 = if space == Space::Local { g.local_in_l1 } else { g.load_in_l1 };
                let bypass = instruction.bypass_l1 || differs.bypass_l1;
                self.load(sm, now, l1 && !bypass, parts, origin, counts)
            }
            (_, AccessKind::Store) => {
                held = self.make_room(sm, now);
                let apart = instruction.bypass_l1 || shape.width < 4;
                self.store(sm, now, (space == Space::Local, apart), parts, origin)
            }
            (_, AccessKind::Atomic | AccessKind::Reduction) => {
                held = self.make_room(sm, now);
                self.atomic(sm, now, parts, origin, instruction.compares)
            }
        };
        if !side && matches!(kind, AccessKind::Load | AccessKind::Atomic) {
            counts.latency += done - now;
        }
        (done, held)
    }

    fn constant(&mut self, sm: usize, now: u64, s: &Shape, parts: &[Part], origin: u64) -> u64 {
        let mut latency = s.latency;
        for part in parts {
            let address = origin.wrapping_add(part.offset);
            if !self.sms[sm].constant.read(address).hit {
                latency = latency.max(self.profile.constant.miss_latency);
            }
        }
        now + u64::from(latency)
    }

    fn texture(
        &mut self,
        sm: usize,
        now: u64,
        parts: &[Part],
        origin: u64,
        counts: &mut PcCounts,
    ) -> u64 {
        let Some(level) = &self.profile.texture else { return now };
        let mut done = now + u64::from(level.hit_latency);
        for part in parts {
            let address = origin.wrapping_add(part.offset);
            let missing = match self.sms[sm].texture.as_mut() {
                Some(cache) => !cache.read_line(address, part.sectors).hit & part.sectors,
                None => part.sectors,
            };
            counts.hits += u64::from((part.sectors & !missing).count_ones());
            if missing != 0 {
                let missing = Part { sectors: missing, bytes: bytes_of(missing), ..*part };
                done = done.max(self.beyond_l1(sm, now, &missing, address, counts));
            }
        }
        done
    }

    fn load(
        &mut self,
        sm: usize,
        now: u64,
        l1: bool,
        parts: &[Part],
        origin: u64,
        counts: &mut PcCounts,
    ) -> u64 {
        let hit_latency = self.profile.l1.as_ref().map_or(0, |l1| u64::from(l1.hit_latency));
        let mut done = now;
        self.warm(sm, parts, origin);
        for part in parts {
            let address = origin.wrapping_add(part.offset);
            let start = now + u64::from(part.delay);
            let cache = self.sms[sm].l1.as_mut().filter(|_| l1);
            let Some(cache) = cache else {
                done = done.max(self.beyond_l1(sm, start, part, address, counts));
                continue;
            };
            // Fermi's L1 has no sectors: any granule stands for the line.
            let lined = u64::from(cache.sector_bytes()) > SECTOR;
            let mask = if lined { 1 } else { part.sectors };
            let lookup = cache.read_line(address, mask);
            // A line that hits may still be on its way.
            let mut at = (start + hit_latency).max(lookup.ready);
            let missing = mask & !lookup.hit;
            counts.hits += u64::from((mask & lookup.hit).count_ones());
            if missing != 0 {
                let asked = match lined {
                    true => *part,
                    false => Part { sectors: missing, bytes: bytes_of(missing), ..*part },
                };
                at = at.max(self.beyond_l1(sm, start, &asked, address, counts));
                if let Some(l1) = &mut self.sms[sm].l1 {
                    l1.fill(lookup.place, 0, at);
                }
            }
            done = done.max(at);
        }
        done
    }

    /// Lets the host's caches fetch something of what an access of a warp will look at.
    pub fn warm_next(&self, sm: usize, access: &TracedAccess) {
        if access.space != Space::Global {
            return;
        }
        self.sms[sm].l1.iter().chain(&self.l2).for_each(|cache| cache.warm(access.base));
    }

    /// Lets the host's caches fetch what accesses to many lines will look at.
    fn warm(&self, sm: usize, parts: &[Part], origin: u64) {
        if parts.len() < MANY_LINES {
            return;
        }
        for cache in self.sms[sm].l1.iter().chain(&self.l2) {
            parts.iter().for_each(|part| cache.warm(origin.wrapping_add(part.offset)));
        }
    }

    /// `local`: L1 keeps it, where it has local memory. `apart`: does not go along with others.
    fn store(
        &mut self,
        sm: usize,
        now: u64,
        (local, apart): (bool, bool),
        parts: &[Part],
        origin: u64,
    ) -> u64 {
        let keeps = local && self.profile.global.local_in_l1;
        self.warm(sm, parts, origin);
        for part in parts {
            let address = origin.wrapping_add(part.offset);
            let mut held = false;
            if let Some(l1) = &mut self.sms[sm].l1 {
                let lined = u64::from(l1.sector_bytes()) > SECTOR;
                let sectors = if lined { 1 } else { part.sectors };
                held = self.profile.global.held_store_cycles > 0 && l1.holds(address, sectors);
                if keeps {
                    l1.keep_line(address, sectors);
                } else {
                    l1.write_line(address, sectors, &part.written);
                }
            }
            let sent = now + u64::from(part.delay);
            let most = self.profile.global.merged_store_lines as usize;
            let bytes = self.sent_bytes(part);
            if most == 0 || apart {
                let leaves = sent + self.sms[sm].writes.wait(sent, bytes);
                self.leave(sm, leaves, part, address);
                continue;
            }
            self.let_out(sm, sent, most);
            let sm = &mut self.sms[sm];
            let queue = if held { &mut sm.held } else { &mut sm.stores };
            if let Some(waiting) = queue.find(address) {
                let more = part.sectors & !waiting.sectors;
                waiting.sectors |= part.sectors;
                for (sum, bytes) in waiting.written.iter_mut().zip(part.written) {
                    *sum = (*sum + bytes).min(SECTOR as u8);
                }
                if more != 0 {
                    waiting.bytes += bytes_of(more);
                    sm.writes.wait(sent, bytes_of(more));
                }
                continue;
            }
            let leaves = sent + sm.writes.wait(sent, bytes);
            queue.push(Waiting { line: address, part: *part, leaves });
        }
        now
    }

    /// Lets out what has left an SM by `now`, and what it has no room for.
    fn let_out(&mut self, sm: usize, now: u64, most: usize) {
        let global = &self.profile.global;
        let [later, held] = [global.merged_store_cycles, global.held_store_cycles].map(u64::from);
        loop {
            let stores = &mut self.sms[sm].stores;
            let full = stores.len() >= most;
            let left = |leaves: u64| full || leaves.saturating_add(later) <= now;
            let Some(w) = stores.pop_if(left) else { break };
            self.leave(sm, w.leaves, &w.part, w.line);
        }
        let left = |leaves: u64| leaves.saturating_add(held) <= now;
        while let Some(w) = self.sms[sm].held.pop_if(left) {
            self.leave(sm, w.leaves, &w.part, w.line);
        }
    }

    /// What a request to write takes of the way from an SM to L2.
    fn sent_bytes(&self, part: &Part) -> u32 {
        let (whole, partial) = part.whole_and_partial();
        let more = f64::from(partial) * (self.profile.global.sm_partial_write_cost - 1.0);
        match whole + partial {
            0 => part.bytes,
            all => (f64::from(part.bytes) * (1.0 + more / f64::from(all))) as u32,
        }
    }

    /// A line of stores goes to L2, or to device memory where there is none.
    fn leave(&mut self, sm: usize, sent: u64, part: &Part, address: u64) {
        let (Some(cache), Some(l2)) = (&mut self.l2, &self.profile.l2) else {
            self.dram.write(sent, address, part.bytes);
            return;
        };
        let (whole, partial) = part.whole_and_partial();
        let cost = f64::from(whole) * l2.write_cost + f64::from(partial) * l2.partial_write_cost;
        let bytes = (cost * SECTOR as f64) as u32 + l2.request_bytes + l2.write_request_bytes;
        let sent = sent.max(self.writes_held);
        let taken = sent
            + match &mut self.l2_writes {
                Some(way) => way.store(sent, bytes),
                None => self.l2_reads.wait(sent, bytes),
            };
        let evicted = cache.write_line(address, part.sectors, &part.written);
        let cleaned = cache.clean();
        let end = self.write_back(sent, evicted).max(self.write_back(sent, cleaned));
        // As much as L2 holds is dirty: it takes more as device memory takes what has to go.
        self.writes_held = self.writes_held.max(end.saturating_sub(UNDER_WAY));
        self.sms[sm].wait_for(taken * FRACTION, part.sectors.count_ones());
    }

    /// `compares`: the data is there twice, what to compare with and what to store.
    fn atomic(&mut self, sm: usize, now: u64, parts: &[Part], origin: u64, compares: bool) -> u64 {
        let a = &self.profile.atomics;
        let own_step = (self.profile.global.sm_atomic_cycles * FRACTION as f64) as u64;
        let mut done = now;
        for part in parts {
            let address = origin.wrapping_add(part.offset);
            // The SM sends one request after another, then the unit in charge of the address does.
            let sm_memory = &mut self.sms[sm];
            let sent = sm_memory.atomics_free_at.max(now * FRACTION);
            sm_memory.atomics_free_at = sent + own_step;
            // What it is and where goes ahead of the data.
            let head = (self.profile.global.sm_atomic_cycles - 1.0).max(0.0)
                * self.profile.global.sm_write_bytes_per_clock;
            let bytes = part.bytes + head as u32;
            let sent = sent + sm_memory.writes.wait(sent / FRACTION, bytes) * FRACTION;
            let unit = atomic_unit(a, address);
            let start = self.atomic_units[unit].max(sent);
            self.atomic_units[unit] = start + (unit_cycles(a, part) * FRACTION as f64) as u64;
            let sectors = part.sectors.count_ones();
            self.sms[sm].wait_for(start, sectors);
            let latency = u64::from(a.global_latency).saturating_add_signed(self.sm_spread[sm]);
            let mut at = start / FRACTION + latency;
            match (&mut self.l2, &self.profile.l2) {
                (Some(cache), Some(l2)) => {
                    let bytes = (f64::from(part.bytes) * l2.write_cost) as u32 + l2.request_bytes;
                    // Requests go one after the other, whether of reads or of atomics.
                    let request = a.request_bytes + if compares { part.bytes } else { 0 };
                    at += self.l2_reads.wait(now, bytes.max(request));
                    let (lookup, evicted) = cache.update_line(address, part.sectors);
                    if lookup.fill != 0 {
                        let end = self.fill(now, address, lookup.fill, lookup.place);
                        at = at.max(end);
                    }
                    self.write_back(now, lookup.evicted.or(evicted));
                }
                _ => {
                    let read = self.dram.read(now, address, part.bytes);
                    let written = self.dram.write(now, address, part.bytes);
                    at = at.max(read.max(written) + u64::from(a.global_latency));
                }
            }
            done = done.max(at);
        }
        done
    }

    /// Waits until there is room for an SM's next store or atomic; returns how long, in 1/1024 clocks.
    fn make_room(&mut self, sm: usize, now: u64) -> u64 {
        let most = self.profile.atomics.sm_pending_sectors;
        let sm = &mut self.sms[sm];
        let mut until = now * FRACTION;
        while let Some((start, sectors)) = sm.pending.front().copied() {
            if start > until && (most == 0 || sm.pending_sectors < most) {
                break;
            }
            until = until.max(start);
            sm.pending_sectors -= sectors;
            sm.pending.pop_front();
        }
        until - now * FRACTION
    }

    /// When the data of a request that L1 does not have reaches the SM.
    fn beyond_l1(
        &mut self,
        sm: usize,
        now: u64,
        part: &Part,
        address: u64,
        counts: &mut PcCounts,
    ) -> u64 {
        let port_wait = self.sms[sm].reads.wait(now, part.bytes);
        let line = (address, part.sectors);
        if let Some(done) = self.asked.under_way(sm, now + port_wait, line) {
            return done;
        }
        let (Some(cache), Some(l2)) = (&mut self.l2, &self.profile.l2) else {
            counts.dram_bytes += u64::from(part.bytes);
            let end = self.dram.read(now, address, part.bytes);
            return end.max(now + port_wait) + self.profile.dram_latency();
        };
        let bytes = (part.bytes + l2.request_bytes).max(l2.request_min_bytes);
        let group = group_of(sm, self.profile.device.multiprocessors as usize, self.groups.len());
        let own_wait = self.groups.get_mut(group).map_or(0, |way| way.wait(now, bytes));
        let wait = port_wait.max(own_wait).max(self.l2_reads.wait(now, bytes));
        let lookup = cache.read_line(address, part.sectors);
        let near = half_of(address / LINE) == (sm / NEIGHBOURS & 1) as u64;
        let far = if near { 0 } else { self.far };
        let copies = far > 0 && !lookup.copied;
        if copies {
            cache.copy(lookup.place);
        }
        // Device memory has another hash.
        let apart = one_of(&self.spread, hash(address / LINE) >> 8);
        let asked = (now + wait + u64::from(l2.hit_latency)).saturating_add_signed(apart);
        // When the half that is in charge of the line has it.
        let mut there = lookup.ready;
        if lookup.fill != 0 {
            counts.dram_bytes += u64::from(bytes_of(lookup.fill));
            there = there.max(self.fill(now + wait, address, lookup.fill, lookup.place));
        }
        self.write_back(now, lookup.evicted);
        let done = if copies { asked.max(there) + far } else { asked.max(there + far) };
        let done = done.saturating_add_signed(self.sm_spread[sm]);
        self.asked.note(sm, now, line, done);
        done
    }

    /// Fills sectors of a line in L2 from device memory; returns when they are there.
    fn fill(&mut self, now: u64, line: u64, sectors: u8, place: crate::cache::LinePlace) -> u64 {
        // Device memory transfers whole bursts, and what comes along is kept.
        let burst = self.dram.burst_bytes().max(SECTOR);
        let per_burst = (burst / SECTOR).min(8) as u32;
        let group = ((1_u32 << per_burst) - 1) as u8;
        let mut along = 0;
        let mut end = 0;
        let mut rest = sectors;
        while rest != 0 {
            let first = rest.trailing_zeros() / per_burst * per_burst;
            let whole = group << first;
            along |= whole;
            rest &= !whole;
            let address = line + u64::from(first) * SECTOR;
            end = end.max(self.dram.read(now, address, burst as u32));
        }
        let apart = self.dram.apart(line / LINE);
        // As many reads come from the near half as from the far one.
        let near = self.profile.dram_latency().saturating_sub(self.far / 2);
        let mut done = (end + near).saturating_add_signed(apart);
        let cost = self.profile.l2.as_ref().and_then(|l2| l2.fill_cost);
        if let (Some(cost), Some(way)) = (cost, &mut self.l2_writes) {
            done = way.fill(now, done, (f64::from(bytes_of(along)) * cost) as u32);
        }
        if let Some(l2) = &mut self.l2 {
            l2.fill(place, along, done);
        }
        done
    }

    /// Writes what L2 evicts to device memory; returns when that is done. Where the device does so,
    /// a sector of which only some bytes were written is read first.
    fn write_back(&mut self, now: u64, evicted: Option<Evicted>) -> u64 {
        let Some(e) = evicted else { return 0 };
        let sector = SECTOR as u32;
        if self.profile.dram.read_before_partial_write && e.partial > 0 {
            self.dram.read(now, e.address, e.partial * sector);
            self.dram.turn_round(e.address);
        }
        self.dram.write(now, e.address, e.sectors * sector)
    }
}

/// Lines of an access from which on it pays to look at all of them first.
const MANY_LINES: usize = 2;

/// How long a unit does a request.
fn unit_cycles(a: &Atomics, part: &Part) -> f64 {
    let Some(whole_sector) = a.whole_sector_cycles else { return a.global_same_address_cycles };
    let (whole, partial) = part.whole_and_partial();
    f64::from(whole) * whole_sector + f64::from(partial) * a.global_same_address_cycles
}

fn bytes_of(sectors: u8) -> u32 {
    sectors.count_ones() * SECTOR as u32
}
