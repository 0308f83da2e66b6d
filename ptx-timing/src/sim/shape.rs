//! What a lane pattern costs at a given alignment, computed once and used at many bases.
//!
//! Coalescing, bank conflicts and the rest depend only on the lane offsets and on where the base
//! lies within its largest granule, so a block's accesses have few distinct shapes.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use super::lines::{count_written, lines, steps, written_to_lines};
use super::time::fixed;
use crate::access::WarpAccess;
use crate::atomic;
use crate::banks::{Direction, bank_cost};
use crate::coalesce::{Path, device_transactions, transactions};
use crate::constant;
use crate::event::{AccessKind, Instruction, Space, TracedAccess};
use crate::host::prefetch;
use crate::pattern::PatternList;
use crate::profile::{Profile, Protocol};

/// Everything is the same when all addresses move by a multiple of this.
const GRANULE: u64 = 256;

/// Most 32-byte sectors of a part.
pub(super) const MAX_SECTORS: usize = 8;

/// Bytes of what masks count.
pub(super) const SECTOR: u64 = 32;

/// One request to the memory system: a line with the sectors in use, or a segment on 1.x.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// First byte, from the base rounded down to [`GRANULE`].
    pub offset: u64,
    /// Sectors from there.
    pub sectors: u8,
    /// Bytes that move.
    pub bytes: u32,
    /// Bytes that lanes write, by sector.
    pub written: [u8; MAX_SECTORS],
    /// When the SM's memory pipe has got this far, in 1/1024 clocks after the start.
    pub delay: u32,
}

impl Part {
    /// Sectors written in full, and only in part.
    pub fn whole_and_partial(&self) -> (u32, u32) {
        let used = |s: &usize| self.sectors >> s & 1 != 0;
        let all = (0..MAX_SECTORS).filter(used).count() as u32;
        let whole = (0..MAX_SECTORS).filter(used).filter(|s| self.written[*s] >= 32).count();
        (whole as u32, all - whole as u32)
    }
}

/// Cost of an access.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    /// Requests to the memory system, in [`Shapes::parts`].
    pub parts: Range<u32>,
    /// How long the memory pipe is busy, in 1/1024 clocks.
    pub busy: u64,
    /// Shared and constant memory: clocks until the result.
    pub latency: u32,
    /// Sectors, segments or distinct constant addresses.
    pub transactions: u32,
    /// Bytes of the transactions.
    pub moved: u32,
    /// Bytes in use, and the transactions that they would need.
    pub used: u32,
    pub ideal: u32,
    /// Shared memory: steps, and those beyond a conflict-free access.
    pub steps: u32,
    pub conflicts: u32,
    /// Lanes, and bytes per lane.
    pub width: u32,
}

/// The shapes of the patterns of a block, and of the blocks after it that have the same ones. Most patterns of irregular
/// kernels occur once: what is kept is what comes again.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    patterns: PatternList,
    /// Per pattern: one more than the index of the latest of its shapes in `known`, [`SEEN`] if it has come once, 0 if
    /// it has not.
    latest: Vec<u32>,
    known: Vec<Known>,
    parts: Vec<Part>,
    /// What came once, and its parts.
    once: (Shape, Vec<Part>),
}

/// What so few lanes access in device memory is computed as quickly as found.
const FEW_LANES: u32 = 4;

/// See [`Shapes::latest`].
const SEEN: u32 = u32::MAX;

/// A shape of a pattern.
#[derive(Debug)]
struct Known {
    /// What it depends on besides the pattern.
    key: u32,
    /// The pattern's shape before it, as in [`Shapes::latest`].
    before: u32,
    shape: Shape,
}

impl Shapes {
    fn new(patterns: PatternList) -> Self {
        Self { latest: vec![0; patterns.len()], patterns, ..Self::default() }
    }

    /// The shapes of a block that starts: those of the one that started last, where their patterns are the same.
    pub fn start(latest: &mut Rc<RefCell<Self>>, patterns: PatternList) -> Rc<RefCell<Self>> {
        let same = latest.borrow().patterns == patterns;
        if !same {
            *latest = Rc::new(RefCell::new(Self::new(patterns)));
        }
        latest.clone()
    }

    /// Lets the host's caches fetch what [`Shapes::get`] looks at first.
    pub fn warm(&self, pattern: u32) {
        prefetch(&self.latest, pattern as usize);
        self.patterns.warm(pattern);
    }

    /// Lets them fetch the offsets of a pattern.
    pub fn warm_offsets(&self, pattern: u32) {
        self.patterns.warm_offsets(pattern);
    }

    /// Whether few lanes take part in a pattern.
    pub fn of_few(&self, pattern: u32) -> bool {
        self.patterns.lanes(pattern) <= FEW_LANES
    }

    /// Where the shape of a pattern is that has a key.
    fn find(&self, pattern: u32, key: u32) -> Option<usize> {
        let mut at = self.latest[pattern as usize];
        while at != 0 && at != SEEN {
            let index = at as usize - 1;
            if self.known[index].key == key {
                return Some(index);
            }
            at = self.known[index].before;
        }
        None
    }

    /// The shape of a pattern at a base, and the base that its parts count from.
    pub fn get(
        &mut self,
        profile: &Profile,
        instruction: &Instruction,
        traced: TracedAccess,
    ) -> (&Shape, &[Part], u64) {
        let TracedAccess { base, pattern, space, .. } = traced;
        let origin = base & !(GRANULE - 1);
        let kind = traced.differs.does.unwrap_or(instruction.kind);
        let bypass = instruction.bypass_l1 || traced.differs.bypass_l1;
        let key = (base - origin) as u32
            | (space as u32) << 8
            | (kind as u32) << 12
            | u32::from(bypass) << 16;
        let found = self.find(pattern, key);
        let before = self.latest[pattern as usize];
        if found.is_none() {
            let access = self.patterns.at(pattern, base);
            let few = access.active() <= FEW_LANES && matches!(space, Space::Global | Space::Local);
            let first = if before == 0 { 0 } else { self.parts.len() };
            let parts = if before == 0 { &mut self.once.1 } else { &mut self.parts };
            parts.truncate(first);
            let mut shape = compute(profile, (kind, bypass), space, &access, origin, parts);
            shape.parts = first as u32..parts.len() as u32;
            if before == 0 {
                self.latest[pattern as usize] = if few { 0 } else { SEEN };
                self.once.0 = shape;
                return (&self.once.0, &self.once.1, origin);
            }
            self.known.push(Known { key, before, shape });
            self.latest[pattern as usize] = self.known.len() as u32;
        }
        let index = found.unwrap_or(self.known.len() - 1);
        let shape = &self.known[index].shape;
        (shape, &self.parts[shape.parts.start as usize..shape.parts.end as usize], origin)
    }
}

/// What an access costs: sectors, transactions or segments, steps in shared memory, addresses in constant memory.
pub(crate) fn cost(
    profile: &Profile,
    instruction: &Instruction,
    space: Space,
    does: Option<AccessKind>,
    access: &WarpAccess,
) -> u32 {
    let kind = (does.unwrap_or(instruction.kind), instruction.bypass_l1);
    let origin = access.lanes().map(|lane| lane.1).min().unwrap_or(0) & !(GRANULE - 1);
    let shape = compute(profile, kind, space, access, origin, &mut Vec::new());
    if space == Space::Shared { shape.steps } else { shape.transactions }
}

fn compute(
    p: &Profile,
    (kind, bypass): (AccessKind, bool),
    space: Space,
    access: &WarpAccess,
    origin: u64,
    out: &mut Vec<Part>,
) -> Shape {
    let mut shape = Shape { width: access.width, ..Shape::default() };
    let mut used = None;
    match (space, kind) {
        (Space::Shared, kind) => shared(p, kind, access, &mut shape),
        (Space::Const, _) => constant_memory(p, access, origin, &mut shape, out),
        (Space::Texture, _) => texture(p, access, origin, &mut shape, out),
        (_, AccessKind::Load) => {
            let path = if bypass { Path::LoadBypass } else { Path::Load };
            used = device(p, path, access, origin, &mut shape, out);
        }
        (_, AccessKind::Store) => used = device(p, Path::Store, access, origin, &mut shape, out),
        (_, AccessKind::Atomic | AccessKind::Reduction) => {
            atomics(p, access, origin, &mut shape, out);
        }
    }
    let used = used.unwrap_or_else(|| access.distinct_bytes());
    shape.used = used as u32;
    if !matches!(space, Space::Shared | Space::Const) {
        shape.ideal = used.div_ceil(p.global.sector_bytes.max(1).into()) as u32;
    }
    shape
}

fn shared(p: &Profile, kind: AccessKind, access: &WarpAccess, shape: &mut Shape) {
    let (s, a) = (&p.shared, &p.atomics);
    let (steps, conflicts, latency, extra) = match kind {
        AccessKind::Atomic | AccessKind::Reduction => {
            let steps = atomic::shared_steps(s.banks, access);
            (steps, steps.saturating_sub(1), a.shared_latency, a.shared_same_address_latency)
        }
        AccessKind::Load | AccessKind::Store => {
            let load = kind == AccessKind::Load;
            let direction = if load { Direction::Load } else { Direction::Store };
            let cost = bank_cost(s, direction, access);
            (cost.steps, cost.conflicts, s.latency, s.extra_step_latency)
        }
    };
    (shape.steps, shape.conflicts) = (steps, conflicts);
    shape.latency = latency + steps.saturating_sub(1) * extra;
    shape.busy = fixed(f64::from(steps) * s.step_cycles);
}

fn constant_memory(
    p: &Profile,
    access: &WarpAccess,
    origin: u64,
    shape: &mut Shape,
    out: &mut Vec<Part>,
) {
    let (latency, busy) = constant::hit_cost(&p.constant, access);
    shape.latency = latency;
    shape.busy = fixed(busy);
    shape.transactions = constant::distinct_addresses(p.constant.scope, access);
    let line = u64::from(p.constant.cache.line_bytes.max(1));
    for t in &transactions(Protocol::WarpLines, line as u32, line as u32, access) {
        out.push(Part { bytes: line as u32, ..part(t.address, origin) });
    }
}

fn texture(p: &Profile, access: &WarpAccess, origin: u64, shape: &mut Shape, out: &mut Vec<Part>) {
    let Some(level) = &p.texture else { return };
    let first = out.len();
    lines(level.line_bytes, level.sector_bytes, access, origin, out);
    shape.transactions = out[first..].iter().map(|part| part.sectors.count_ones()).sum();
    shape.moved = out[first..].iter().map(|part| part.bytes).sum();
    shape.busy = fixed(f64::from(access.active() * access.width) / level.bytes_per_clock);
}

pub(super) fn part(address: u64, origin: u64) -> Part {
    Part {
        offset: address.wrapping_sub(origin),
        sectors: 1,
        bytes: 0,
        written: [0; MAX_SECTORS],
        delay: 0,
    }
}

/// Returns the bytes in use, if it comes across them.
fn device(
    p: &Profile,
    path: Path,
    access: &WarpAccess,
    origin: u64,
    shape: &mut Shape,
    out: &mut Vec<Part>,
) -> Option<u64> {
    let g = &p.global;
    let protocol = match path {
        Path::Load => g.load,
        Path::LoadBypass => g.load_bypass,
        Path::Store => g.store,
    };
    let first = out.len();
    let mut used = None;
    let slots = if protocol == Protocol::WarpSectors {
        let touched = lines(g.line_bytes, g.sector_bytes, access, origin, out);
        used = touched.bytes();
        shape.transactions = out[first..].iter().map(|part| part.sectors.count_ones()).sum();
        shape.moved = out[first..].iter().map(|part| part.bytes).sum();
        match g.lines_at_once {
            // Every line is looked up by itself; its sectors pass together.
            0 => (out.len() - first).max(1) as f64,
            most => f64::from(steps(most as usize, access, &out[first..], origin, &touched)),
        }
    } else {
        let list = device_transactions(g, path, access);
        shape.transactions = list.len() as u32;
        shape.moved = list.iter().map(|t| t.bytes).sum();
        for (i, t) in list.iter().enumerate() {
            // Only the 1.x protocol repeats a transaction: lanes that read one word. Each takes its
            // turn at the pipe, but memory is asked once.
            if i > 0 && list[i - 1] == *t {
                continue;
            }
            let sectors = ((1_u32 << (t.bytes / SECTOR as u32).clamp(1, 8)) - 1) as u8;
            let delay = (i as f64 * g.cycles_per_transaction) as u32;
            let start = part(t.address, origin);
            out.push(Part { sectors, bytes: t.bytes, delay, ..start });
        }
        list.len() as f64
    };
    if protocol == Protocol::WarpSectors {
        for (i, part) in out[first..].iter_mut().enumerate() {
            part.delay = (i as f64 * g.cycles_per_transaction * slots
                / shape.transactions.max(1) as f64) as u32;
        }
    }
    if path == Path::Store && protocol == Protocol::WarpSectors {
        written_to_lines(g.line_bytes, access, origin, &mut out[first..]);
    } else if path == Path::Store {
        count_written(access, origin, &mut out[first..]);
    }
    // However few transactions there are, the data of all lanes has to pass.
    let data =
        p.l1.as_ref()
            .map_or(0.0, |l1| f64::from(access.active() * access.width) / l1.bytes_per_clock);
    shape.busy = fixed((slots * g.cycles_per_transaction).max(data));
    used
}

fn atomics(p: &Profile, access: &WarpAccess, origin: u64, shape: &mut Shape, out: &mut Vec<Part>) {
    let g = &p.global;
    let first = out.len();
    for pass in atomic::passes(access) {
        // Every pass is a request of its own to each of its lines.
        let start = out.len();
        let mut own = Vec::new();
        lines(g.line_bytes, g.sector_bytes, &pass, origin, &mut own);
        written_to_lines(g.line_bytes, &pass, origin, &mut own);
        out.extend(own);
        for (i, part) in out[start..].iter_mut().enumerate() {
            part.delay = ((start - first + i) as f64 * g.cycles_per_transaction) as u32;
        }
    }
    let parts = &out[first..];
    shape.transactions = parts.iter().map(|part| part.sectors.count_ones()).sum();
    shape.moved = parts.iter().map(|part| part.bytes).sum();
    shape.busy = fixed(parts.len().max(1) as f64 * g.cycles_per_transaction);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Catalog;

    /// Wavefronts that an H200 counted for loads of 4 bytes at distances of so many words.
    #[test]
    fn wavefronts_of_strided_loads() {
        let profile = Catalog::embedded().unwrap().get("H200").unwrap();
        for (stride, wavefronts) in
            [(0, 1), (1, 1), (4, 4), (9, 3), (12, 6), (17, 5), (24, 12), (31, 8), (32, 32), (33, 8)]
        {
            let access = WarpAccess::from_lanes(4, (0..32).map(|l| Some(4096 + l * stride * 4)));
            let mut parts = Vec::new();
            let kind = (AccessKind::Load, false);
            let shape = compute(&profile, kind, Space::Global, &access, 4096, &mut parts);
            assert_eq!(shape.busy, fixed(f64::from(wavefronts)), "stride {stride}");
        }
    }
}
