//! The last accesses to cells of memory, as far as it takes to be sure that there is no race.
//!
//! A cell is as large as the kernel's smallest access. It holds the code of its last write and of its last read: the
//! *segment* in which it happened, from one barrier of a block to the next, and the thread. Segments of a host thread
//! are numbered on and on, over blocks and launches, so that a comparison of codes says what of an earlier launch is,
//! of another block, of this block before its last barrier, or of now.

/// Bits of a code that name a thread of the block.
const THREAD: u32 = 11;
/// In place of a thread: several threads have read.
const MANY: i32 = 1 << 10;
/// In place of a thread: by atomics.
const ATOMIC: i32 = MANY + 1;
/// Most threads of a block.
pub(super) const THREADS: u64 = 1 << 10;
/// Segments that have numbers.
pub(super) const SEGMENTS: i32 = 1 << 20;

/// First codes of the launch, of the block, and since the block's last barrier.
#[derive(Copy, Clone, Default)]
pub(super) struct Now {
    pub launch: i32,
    pub block: i32,
    pub segment: i32,
}

/// The first code of a segment.
pub(super) fn code(segment: i32) -> i32 {
    segment << THREAD
}

impl Now {
    /// In memory of the block, of which nothing is older than the block.
    pub(super) fn own(self) -> Now {
        Now { launch: self.block, ..self }
    }

    /// The code of a thread.
    fn of(self, thread: u32) -> i32 {
        self.segment + thread as i32
    }

    /// Whether nothing orders what happened at a code before what thread `me` does now.
    #[inline(always)]
    fn unordered(self, code: i32, me: i32) -> bool {
        (code >= self.segment) & (code != me) | self.is_foreign(code)
    }

    /// Whether it was another block of this launch.
    #[inline(always)]
    fn is_foreign(self, code: i32) -> bool {
        (code >= self.launch) & (code < self.block)
    }
}

fn is_atomic(code: i32) -> bool {
    code & ((1 << THREAD) - 1) == ATOMIC
}

/// Cells of a range of memory.
#[derive(Default)]
pub(super) struct Cells {
    pub writes: Vec<i32>,
    reads: Vec<i32>,
}

/// What is known of an access: whether it may race, and whether it reads a cell that was not written in this launch (in
/// a block's memory: by this block).
#[derive(Copy, Clone, Default)]
pub(super) struct Known {
    pub races: bool,
    pub unwritten: bool,
}

impl Cells {
    pub(super) fn new(count: usize) -> Cells {
        Cells { writes: vec![0; count], reads: vec![0; count] }
    }

    pub(super) fn len(&self) -> usize {
        self.writes.len()
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
        let (w, r) = (&self.writes[at..at + count], &mut self.reads[at..at + count]);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { wide::read(w, r, shift, now.of(thread), now) };
        }
        read(w, r, shift, now.of(thread), now)
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
        let (w, r) = (&mut self.writes[at..at + count], &self.reads[at..at + count]);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { wide::write(w, r, shift, now.of(thread), now) };
        }
        write(w, r, shift, now.of(thread), now)
    }

    /// Several lanes read the same cells, the first of them by `thread`.
    pub(super) fn read_together(&mut self, at: usize, count: usize, now: Now) -> Known {
        let mut known = Known::default();
        let many = now.segment | MANY;
        for n in at..at + count {
            let (w, r) = (self.writes[n], self.reads[n]);
            // A lane that has written it itself reads it with others, who have not.
            known.races |= w >= now.segment || now.is_foreign(w);
            known.unwritten |= w < now.launch;
            if !now.is_foreign(r) {
                self.reads[n] = many;
            }
        }
        known
    }

    /// An atomic operation of any threads.
    pub(super) fn update(&mut self, at: usize, count: usize, now: Now) -> Known {
        let mut known = Known::default();
        // Whether other blocks reach these cells.
        let others = now.launch < now.block;
        for n in at..at + count {
            let (w, r) = (self.writes[n], self.reads[n]);
            let atomic = now.segment | ATOMIC;
            let fine = is_atomic(w) || !now.unordered(w, atomic);
            // Its code would be forgotten, which atomics of other blocks may race with.
            let plain = others && w >= now.launch && !is_atomic(w);
            known.races |= !fine || plain || now.unordered(r, atomic);
            known.unwritten |= w < now.launch;
            if !now.is_foreign(w) {
                self.writes[n] = atomic;
            }
        }
        known
    }

    /// Whether accesses of two host threads to the same cells may race; each with the first code of its launch.
    pub(super) fn meet(
        &self,
        own: i32,
        other: &Cells,
        others: i32,
        range: std::ops::Range<usize>,
    ) -> bool {
        let end = range.end.min(self.len()).min(other.len());
        let range = range.start.min(end)..end;
        let pairs = |a: &Cells, b: &Cells, from: i32, to: i32| {
            let (w, bw, br) =
                (&a.writes[range.clone()], &b.writes[range.clone()], &b.reads[range.clone()]);
            let mut bad = false;
            for ((w, bw), br) in w.iter().zip(bw).zip(br) {
                let both = (*w >= from) & (*bw >= to) & !(is_atomic(*w) & is_atomic(*bw));
                bad |= both | (*w >= from) & (*br >= to);
            }
            bad
        };
        pairs(self, other, own, others) || pairs(other, self, others, own)
    }
}

#[inline(always)]
fn read(w: &[i32], r: &mut [i32], shift: u32, me: i32, now: Now) -> Known {
    let mut known = Known::default();
    for (n, (w, r)) in w.iter().zip(r).enumerate() {
        let me = me + (n as i32 >> shift);
        known.races |= now.unordered(*w, me);
        known.unwritten |= *w < now.launch;
        let many = (*r >= now.segment) & (*r != me);
        let new = if many { now.segment | MANY } else { me };
        // What another block has read must not be forgotten; of two that matter the first is enough.
        *r = if now.is_foreign(*r) { *r } else { new };
    }
    known
}

#[inline(always)]
fn write(w: &mut [i32], r: &[i32], shift: u32, me: i32, now: Now) -> Known {
    let mut races = false;
    for (n, (w, r)) in w.iter_mut().zip(r).enumerate() {
        let me = me + (n as i32 >> shift);
        races |= now.unordered(*w, me) | now.unordered(*r, me);
        *w = me;
    }
    Known { races, unwritten: false }
}

/// The same for processors with wider vectors.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{Known, Now};

    #[target_feature(enable = "avx2")]
    pub(super) fn read(w: &[i32], r: &mut [i32], shift: u32, me: i32, now: Now) -> Known {
        super::read(w, r, shift, me, now)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn write(w: &mut [i32], r: &[i32], shift: u32, me: i32, now: Now) -> Known {
        super::write(w, r, shift, me, now)
    }
}
