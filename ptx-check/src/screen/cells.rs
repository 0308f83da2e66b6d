//! The last accesses to cells of memory, as far as it takes to be sure that there is no race.
//!
//! A cell is as large as the kernel's smallest access, at most 4 bytes. Its code says what was done to it last: in
//! which *segment*, from one barrier of a block to the next, and by which thread. Segments of a host thread are
//! numbered on and on, over blocks and launches, so that a comparison of codes says what of an earlier launch is, of
//! another block, of this block before its last barrier, or of now. Compiled code reads and writes the codes of cells
//! of 4 bytes itself, by the same rules ([`ptx_isa::watch`] has the numbers), and asks here where it is not sure.

use ptx_isa::watch::{ATOMIC, BEFORE, FIELD, MANY, Now, SEGMENT, WRITTEN};

/// Most threads of a block.
pub(super) const THREADS: u64 = 1 << 10;
/// Segments that have numbers.
pub(super) const SEGMENTS: u32 = 1 << (u32::BITS - SEGMENT);

/// The first code of a segment.
pub(super) fn code(segment: u32) -> u32 {
    segment << SEGMENT
}

/// In memory of the block, of which nothing is older than the block.
pub(super) fn own(now: Now) -> Now {
    Now { launch: now.block, ..now }
}

/// Whether it was another block of this launch.
#[inline(always)]
fn is_foreign(now: Now, code: u32) -> bool {
    (code >= now.launch) & (code < now.block)
}

/// Whether it was written by atomics, and not touched otherwise.
fn is_atomic(code: u32) -> bool {
    code & ((1 << SEGMENT) - 1) == ATOMIC | WRITTEN
}

/// Cells of a range of memory.
#[derive(Default)]
pub(super) struct Cells(pub Vec<u32>);

/// What is known of an access: whether it may race, and whether it reads a cell that was not touched in this launch (in
/// a block's memory: by this block). What was read has passed, so it was written before.
#[derive(Copy, Clone, Default)]
pub(super) struct Known {
    pub races: bool,
    pub unwritten: bool,
}

impl Cells {
    pub(super) fn new(count: usize) -> Cells {
        Cells(vec![0; count])
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Lanes from thread `thread` on read cells side by side from `at` on, `1 << shift` each.
    pub(super) fn read(
        &mut self,
        at: usize,
        count: usize,
        shift: u32,
        thread: u32,
        now: Now,
    ) -> Known {
        let cells = &mut self.0[at..at + count];
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { wide::read(cells, shift, now.segment + thread, now) };
        }
        read(cells, shift, now.segment + thread, now)
    }

    /// As `read`, for writes.
    pub(super) fn write(
        &mut self,
        at: usize,
        count: usize,
        shift: u32,
        thread: u32,
        now: Now,
    ) -> Known {
        let cells = &mut self.0[at..at + count];
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { wide::write(cells, shift, now.segment + thread, now) };
        }
        write(cells, shift, now.segment + thread, now)
    }

    /// Several lanes read the same cells.
    pub(super) fn read_together(&mut self, at: usize, count: usize, now: Now) -> Known {
        let mut known = Known::default();
        // A lane that has written it itself reads it with others, who have not.
        for c in &mut self.0[at..at + count] {
            let one = read_one(c, now.segment + MANY, now);
            known.races |= one.races;
            known.unwritten |= one.unwritten;
        }
        known
    }

    /// An atomic operation of any threads.
    pub(super) fn update(&mut self, at: usize, count: usize, now: Now) -> Known {
        let mut known = Known::default();
        let atomic = now.segment | ATOMIC | WRITTEN;
        for c in &mut self.0[at..at + count] {
            let foreign = is_foreign(now, *c);
            known.races |= (foreign & !is_atomic(*c))
                | ((*c >= now.segment) & (*c | BEFORE != atomic | BEFORE));
            known.unwritten |= *c < now.launch;
            // Atomics of other blocks may race with what this one did before.
            let plain = (*c >= now.launch) & !is_atomic(*c);
            if !foreign {
                *c = atomic | if plain { BEFORE } else { 0 };
            }
        }
        known
    }

    /// Whether accesses of two host threads to the same cells may race; each with the first code of its launch.
    pub(super) fn meet(&self, own: u32, other: &Cells, others: u32) -> bool {
        let mut bad = false;
        for (a, b) in self.0.iter().zip(&other.0) {
            let both = (*a >= own) & (*b >= others) & ((*a | *b) & (WRITTEN | BEFORE) != 0);
            bad |= both & !(is_atomic(*a) & is_atomic(*b));
        }
        bad
    }

    /// Makes all of a launch, whose first code is `launch`, part of its first segment, `first`.
    pub(super) fn renumber(&mut self, launch: u32, first: u32) {
        for c in &mut self.0 {
            let kept = *c & ((1 << SEGMENT) - 1) | first;
            *c = if *c >= launch { kept } else { 0 };
        }
    }

    /// Whether the launch has written a cell.
    pub(super) fn written(&self, n: usize, launch: u32) -> bool {
        (self.0[n] >= launch) & (self.0[n] & (WRITTEN | BEFORE) != 0)
    }
}

#[inline(always)]
fn read_one(c: &mut u32, me: u32, now: Now) -> Known {
    let old = *c;
    let foreign = is_foreign(now, old);
    let written = old & (WRITTEN | BEFORE) != 0;
    let current = old >= now.segment;
    let same = (old ^ me) & FIELD == 0;
    let other = current & (old & WRITTEN != 0) & !same;
    let before = if written & (old >= now.launch) { BEFORE } else { 0 };
    // What another block has read must not be forgotten; of two that matter the first is enough.
    let many = now.segment | MANY | (old & BEFORE);
    let new = if current { many } else { me | before };
    *c = if foreign | same | other { old } else { new };
    Known { races: (foreign & written) | other, unwritten: old < now.launch }
}

#[inline(always)]
fn read(cells: &mut [u32], shift: u32, me: u32, now: Now) -> Known {
    let mut known = Known::default();
    for (n, c) in cells.iter_mut().enumerate() {
        let one = read_one(c, me + (n as u32 >> shift), now);
        known.races |= one.races;
        known.unwritten |= one.unwritten;
    }
    known
}

#[inline(always)]
fn write(cells: &mut [u32], shift: u32, me: u32, now: Now) -> Known {
    let mut races = false;
    for (n, c) in cells.iter_mut().enumerate() {
        let me = me + (n as u32 >> shift);
        races |= is_foreign(now, *c) | ((*c >= now.segment) & ((*c ^ me) & FIELD != 0));
        *c = me | WRITTEN;
    }
    Known { races, unwritten: false }
}

/// The same for processors with wider vectors.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Known, Now};

    #[target_feature(enable = "avx2")]
    pub(super) fn read(cells: &mut [u32], shift: u32, me: u32, now: Now) -> Known {
        super::read(cells, shift, me, now)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn write(cells: &mut [u32], shift: u32, me: u32, now: Now) -> Known {
        super::write(cells, shift, me, now)
    }
}
