//! Shapes of accesses: how the addresses of a row's lanes lie to one another.
//!
//! A block of 16 x 16 threads reads a column of a tile, a sorting network its pairs: neither side by side nor all at
//! one place, but in the same way in every warp and every turn. An instruction that has met such addresses keeps their
//! shape, and later ones of the same shape are known by one comparison. Then each quarter of the row is read by two
//! loads of a vector and a permutation of both, and the check is one for all lanes.

use std::cell::{Cell, OnceCell};

use crate::ctx::Site;

/// Bytes of the words that have shapes.
const WORD: u32 = 4;
/// Words that eight lanes may lie apart: what two vectors hold.
const WINDOW: u32 = 16;
/// Bytes behind the last word that reading a window may touch.
pub(crate) const SLACK: u64 = (WINDOW * WORD) as u64;
/// Shapes of a launch that are kept.
const MOST: usize = 32;
/// Times that an instruction learns a shape: addresses that go on changing have none.
const LESSONS: u8 = 16;
/// Farthest that a lane may be from the first one: far below what 32 bits tell apart.
const FAR: i64 = 1 << 30;

/// Base address of a lane: 32 or 64 bits.
pub(crate) trait Base: Copy {
    /// The address `offset` bytes further, with as many bits as the base.
    fn plus(self, offset: u64) -> u64;
    /// The distance from `first`, modulo what the base holds.
    fn minus(self, first: Self) -> Self;
    /// A distance as the base has it.
    fn distance(bytes: i32) -> Self;
    /// The distance as a number.
    fn signed(self) -> i64;
    /// A row of bases: narrow or wide ones.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "as of `Shape`"))]
    fn row(bases: &[Self; 32]) -> Result<&[u32; 32], &[u64; 32]>;
    fn wide(self) -> u64;
    fn cut(address: u64) -> Self;
    /// Bits in which `self` and `other` differ.
    fn differs(self, other: Self) -> Self;
    fn join(self, other: Self) -> Self;
    fn is_zero(self) -> bool;
}
macro_rules! base {
    ($t:ty, $signed:ty, $row:ident) => {
        impl Base for $t {
            #[inline(always)]
            fn plus(self, offset: u64) -> u64 {
                self.wrapping_add(offset as $t) as u64
            }
            #[inline(always)]
            fn minus(self, first: $t) -> $t {
                self.wrapping_sub(first)
            }
            #[inline(always)]
            fn distance(bytes: i32) -> $t {
                bytes as $signed as $t
            }
            #[inline(always)]
            fn signed(self) -> i64 {
                self as $signed as i64
            }
            #[inline(always)]
            fn row(bases: &[$t; 32]) -> Result<&[u32; 32], &[u64; 32]> {
                $row(bases)
            }
            #[inline(always)]
            fn wide(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn cut(address: u64) -> $t {
                address as $t
            }
            #[inline(always)]
            fn differs(self, other: $t) -> $t {
                self ^ other
            }
            #[inline(always)]
            fn join(self, other: $t) -> $t {
                self | other
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0
            }
        }
    };
}
base!(u32, i32, Ok);
base!(u64, i64, Err);

/// How the addresses of a row lie to one another: words of which eight lanes each are near one another.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "windows are for vectors"))]
pub(crate) struct Shape {
    /// Bytes from the first lane's address, by lane.
    pub distance: [i32; 32],
    /// The least distance of each eight lanes.
    pub window: [i32; 4],
    /// Each lane's word behind that.
    pub word: [[u32; 8]; 4],
    /// Whether all of these are words of one vector.
    pub narrow: bool,
    /// Whether the lanes lie side by side.
    pub unit: bool,
    /// The least distance of all, and that of the end of the farthest word.
    low: i64,
    high: i64,
    /// Where reading by windows ends.
    reach: i64,
}

impl Shape {
    /// The shape of distances; nothing where lanes are too far from one another.
    fn of(distance: [i32; 32]) -> Option<Shape> {
        let least = |d: &[i32]| d.iter().copied().min().unwrap_or(0);
        let eights = distance.as_chunks::<8>().0;
        let window: [i32; 4] = std::array::from_fn(|e| least(&eights[e]));
        let word = std::array::from_fn(|e| eights[e].map(|d| d.abs_diff(window[e]) / WORD));
        let most = word.as_flattened().iter().copied().max().unwrap_or(0);
        if most >= WINDOW || distance.iter().any(|d| !d.unsigned_abs().is_multiple_of(WORD)) {
            return None;
        }
        let (low, narrow) = (i64::from(least(&distance)), most < WINDOW / 2);
        let high = distance.iter().copied().max().unwrap_or(0);
        let high = i64::from(high) + i64::from(WORD);
        let bytes = if narrow { WINDOW / 2 * WORD } else { WINDOW * WORD };
        let reach = i64::from(window.into_iter().max().unwrap_or(0)) + i64::from(bytes);
        let reach = reach.max(high);
        let unit = (0..).zip(distance).all(|(lane, d)| d == lane * WORD as i32);
        Some(Shape { distance, window, word, narrow, unit, low, high, reach })
    }

    /// Whether the words of all lanes are aligned and lie in `s` when the first lane's is at `first`; with `reading`
    /// all that [`Lanes::words`] touches.
    #[inline(always)]
    pub(crate) fn is_inside(&self, s: &Site, first: u64, reading: bool) -> bool {
        let at = first.wrapping_sub(s.start);
        let end = if reading { self.reach } else { self.high };
        at < s.size
            && at as i64 + self.low >= 0
            && at as i64 + end <= s.size as i64
            && first & (WORD as u64 - 1) == 0
    }
}

/// What an instruction has learnt.
#[derive(Default)]
struct Learnt {
    /// The number of its shape and one, or 0.
    shape: Cell<u8>,
    /// How often it has learnt.
    lessons: Cell<u8>,
}

/// Shapes that a host thread has met in a launch.
pub(crate) struct Shapes {
    known: [OnceCell<Box<Shape>>; MOST],
    of: Box<[Learnt]>,
}

impl Shapes {
    /// None yet, of so many instructions.
    pub(crate) fn new(instructions: usize) -> Shapes {
        Shapes {
            known: [const { OnceCell::new() }; MOST],
            of: (0..instructions).map(|_| Learnt::default()).collect(),
        }
    }

    /// The shape that instruction `k` has met last.
    #[inline(always)]
    pub(crate) fn get(&self, k: u32) -> Option<&Shape> {
        let shape = self.of[k as usize].shape.get();
        if shape == 0 { None } else { self.known[(shape as usize - 1) % MOST].get().map(|s| &**s) }
    }

    /// Instruction `k` has met lanes with these bases.
    #[inline(always)]
    pub(crate) fn meet<B: Base>(&self, k: u32, base: &[B; 32]) {
        if self.of[k as usize].lessons.get() < LESSONS {
            self.learn(k, base);
        }
    }

    #[cold]
    #[inline(never)]
    fn learn<B: Base>(&self, k: u32, base: &[B; 32]) {
        let learnt = &self.of[k as usize];
        learnt.lessons.set(learnt.lessons.get() + 1);
        let far = base.map(|b| b.minus(base[0]).signed());
        if far.iter().any(|d| d.abs() >= FAR) {
            return;
        }
        let distance = far.map(|d| d as i32);
        for (n, known) in self.known.iter().enumerate() {
            let is_new = known.get().is_none();
            if is_new && let Some(shape) = Shape::of(distance) {
                let _ = known.set(Box::new(shape));
            }
            if known.get().is_some_and(|shape| shape.distance == distance) {
                learnt.shape.set(n as u8 + 1);
                return;
            }
            if is_new {
                return;
            }
        }
    }
}

/// What handlers do with shapes.
pub(crate) trait Lanes {
    /// Whether lanes with these bases lie like the shape's.
    ///
    /// # Safety
    /// The processor must have what this is made for; the same holds below.
    unsafe fn fit<B: Base>(base: &[B; 32], shape: &Shape) -> bool;
    /// The words of a shape whose first lane's is at `p`.
    ///
    /// # Safety
    /// What the shape reaches behind the first lane's word must be readable, and all words.
    unsafe fn words(p: *const u8, shape: &Shape) -> [u32; 32];
}

/// One lane after the other.
pub(crate) struct OneByOne;

impl Lanes for OneByOne {
    #[inline(always)]
    unsafe fn fit<B: Base>(base: &[B; 32], shape: &Shape) -> bool {
        let mut rest = B::cut(0);
        for (b, d) in base.iter().zip(&shape.distance) {
            rest = rest.join(b.minus(base[0]).differs(B::distance(*d)));
        }
        rest.is_zero()
    }
    #[inline(always)]
    unsafe fn words(p: *const u8, shape: &Shape) -> [u32; 32] {
        let word = |d: i32| p.wrapping_offset(d as isize).cast::<u32>();
        // SAFETY: the caller vouches for each lane's word.
        shape.distance.map(|d| unsafe { word(d).read_unaligned() })
    }
}

/// By AVX2, eight lanes at a time.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Avx2, Base, Lanes, Shape};

    impl Lanes for Avx2 {
        #[inline(always)]
        unsafe fn fit<B: Base>(base: &[B; 32], shape: &Shape) -> bool {
            // SAFETY: the caller vouches for AVX2.
            unsafe {
                match B::row(base) {
                    Ok(narrow) => fit_narrow(narrow, shape),
                    Err(wide) => fit_wide(wide, shape),
                }
            }
        }
        #[inline(always)]
        unsafe fn words(p: *const u8, shape: &Shape) -> [u32; 32] {
            // SAFETY: the caller vouches for AVX2 and the memory.
            unsafe { words(p, shape) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn fit_narrow(base: &[u32; 32], shape: &Shape) -> bool {
        let first = _mm256_set1_epi32(base[0].cast_signed());
        let mut rest = _mm256_setzero_si256();
        for (b, d) in base.as_chunks::<8>().0.iter().zip(shape.distance.as_chunks::<8>().0) {
            // SAFETY: both are 32 bytes, loaded at any alignment.
            let (b, d) = unsafe {
                (_mm256_loadu_si256(b.as_ptr().cast()), _mm256_loadu_si256(d.as_ptr().cast()))
            };
            rest = _mm256_or_si256(rest, _mm256_xor_si256(_mm256_sub_epi32(b, first), d));
        }
        _mm256_testz_si256(rest, rest) != 0
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn fit_wide(base: &[u64; 32], shape: &Shape) -> bool {
        let first = _mm256_set1_epi64x(base[0].cast_signed());
        let mut rest = _mm256_setzero_si256();
        for (b, d) in base.as_chunks::<4>().0.iter().zip(shape.distance.as_chunks::<4>().0) {
            // SAFETY: 32 and 16 bytes, loaded at any alignment.
            let (b, d) = unsafe {
                (_mm256_loadu_si256(b.as_ptr().cast()), _mm_loadu_si128(d.as_ptr().cast()))
            };
            let d = _mm256_cvtepi32_epi64(d);
            rest = _mm256_or_si256(rest, _mm256_xor_si256(_mm256_sub_epi64(b, first), d));
        }
        _mm256_testz_si256(rest, rest) != 0
    }

    /// # Safety
    /// As of [`Lanes::words`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn words(p: *const u8, shape: &Shape) -> [u32; 32] {
        let mut out = [0; 32];
        for (e, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let p: *const __m256i = p.wrapping_offset(shape.window[e] as isize).cast();
            // SAFETY: the shape reaches to the end of each window; rows and words of a shape are 32 bytes each.
            unsafe {
                let word = _mm256_loadu_si256(shape.word[e].as_ptr().cast());
                let mut lanes = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(p), word);
                if !shape.narrow {
                    let second = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(p.add(1)), word);
                    // Bit 3 of the word's number becomes the sign, by which the mixture goes.
                    let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(word));
                    let (a, b) = (_mm256_castsi256_ps(lanes), _mm256_castsi256_ps(second));
                    lanes = _mm256_castps_si256(_mm256_blendv_ps(a, b, upper));
                }
                _mm256_storeu_si256(out.as_mut_ptr().cast(), lanes);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the lanes of a shape read of memory that counts, by each way.
    fn read(distance: [i32; 32], first: usize) -> Option<[u32; 32]> {
        let memory: Vec<u32> = (0..256).collect();
        let shape = Shape::of(distance)?;
        let bytes = 4 * memory.len() as u64 - SLACK;
        let s = Site { start: 1 << 20, size: bytes, origin: std::ptr::null_mut() };
        if !shape.is_inside(&s, s.start + 4 * first as u64, false) {
            return None;
        }
        let p = memory[first..].as_ptr().cast();
        // SAFETY: the shape's words lie in the memory, and so does the slack behind them.
        let words = unsafe { OneByOne::words(p, &shape) };
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as above, and the processor has AVX2.
            assert_eq!(unsafe { Avx2::words(p, &shape) }, words);
        }
        Some(words)
    }

    /// Whether lanes fit, by each way.
    fn fit<B: Base>(base: &[B; 32], shape: &Shape) -> bool {
        // SAFETY: it asks nothing of the processor.
        let fit = unsafe { OneByOne::fit(base, shape) };
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            assert_eq!(unsafe { Avx2::fit(base, shape) }, fit);
        }
        fit
    }

    #[test]
    fn lanes_read_their_words() {
        let shapes: [fn(i32) -> i32; 6] =
            [|l| l % 16, |l| l / 16 * 16, |l| 2 * l, |l| 2 * l - (l & 3), |l| -l, |l| (l ^ 5) - 5];
        for word in shapes {
            let lanes = std::array::from_fn(|l| word(l as i32));
            let words = read(lanes.map(|w| 4 * w), 100).unwrap();
            assert_eq!(words, lanes.map(|w| (100 + w) as u32));
        }
    }

    #[test]
    fn what_is_far_apart_or_outside_has_no_shape() {
        assert!(read(std::array::from_fn(|l| 12 * l as i32), 0).is_none());
        assert!(read(std::array::from_fn(|l| 2 * l as i32), 0).is_none());
        let lanes: [i32; 32] = std::array::from_fn(|l| 4 * l as i32);
        // 240 words are there.
        assert!(read(lanes, 208).is_some() && read(lanes, 209).is_none());
        let back = lanes.map(|d| -d);
        assert!(read(back, 31).is_some() && read(back, 30).is_none());
    }

    #[test]
    fn instructions_learn_and_give_up() {
        let shapes = Shapes::new(2);
        let pairs: [u32; 32] = std::array::from_fn(|l| 1000 + 8 * l as u32);
        shapes.meet(0, &pairs);
        let wide = pairs.map(|p| u64::from(p) + (1 << 40));
        shapes.meet(1, &wide);
        let (a, b) = (shapes.get(0).unwrap(), shapes.get(1).unwrap());
        assert!(std::ptr::eq(a, b) && fit(&pairs, a) && fit(&wide, b));
        for lane in 1..32 {
            let mut other = wide;
            other[lane] ^= 1 << (lane + 8);
            assert!(!fit(&other, b) && !fit(&other.map(|w| (w >> 4) as u32), b), "{lane}");
        }
        // Lane 31 goes to and fro: that was one lesson, and the last turn is one too many.
        let mut other = pairs;
        for turn in 0..LESSONS as u32 {
            other[31] = pairs[31] + turn % 2 * 4;
            shapes.meet(0, &other);
        }
        assert!(!fit(&other, shapes.get(0).unwrap()));
    }
}
