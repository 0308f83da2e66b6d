//! Loads and stores of a whole warp: classified as unit stride, uniform or gather, with one bounds
//! check. What does not fit goes lane by lane ([`crate::lane_access`]).

use ptx_isa::Space;
use ptx_isa::effect::{Mem, window};

use crate::code::{Inst, Run};
use crate::lanes::Isa;
use crate::worker::{Ctx, Site};

/// Handler of instructions that are no handler's: always asks for the slow path.
pub(crate) unsafe fn never(_: &Ctx, _: &Inst, _: u32, _: u32) -> bool {
    false
}

/// Space classes of the fast handlers.
const GLOBAL: u8 = 0;
const GENERIC: u8 = 1;
const SHARED: u8 = 2;
const LOCAL: u8 = 3;

fn class(space: Space) -> Option<u8> {
    Some(match space {
        Space::Global | Space::Const => GLOBAL,
        Space::Generic => GENERIC,
        Space::Shared => SHARED,
        Space::Local | Space::ParamFunc => LOCAL,
        _ => return None,
    })
}

/// Value of one lane of a row that an access moves.
trait Word: Copy + Default {
    /// From memory of `B` bytes (the value is zero-extended).
    unsafe fn load<const B: usize>(p: *const u8) -> Self;
    unsafe fn store<const B: usize>(self, p: *mut u8);
    fn sign<const B: usize>(self) -> Self;
}

impl Word for u32 {
    #[inline(always)]
    unsafe fn load<const B: usize>(p: *const u8) -> u32 {
        // SAFETY: the caller checked `B` readable bytes.
        unsafe {
            match B {
                1 => *p as u32,
                2 => p.cast::<u16>().read_unaligned() as u32,
                _ => p.cast::<u32>().read_unaligned(),
            }
        }
    }
    #[inline(always)]
    unsafe fn store<const B: usize>(self, p: *mut u8) {
        // SAFETY: the caller checked `B` writable bytes.
        unsafe {
            match B {
                1 => *p = self as u8,
                2 => p.cast::<u16>().write_unaligned(self as u16),
                _ => p.cast::<u32>().write_unaligned(self),
            }
        }
    }
    #[inline(always)]
    fn sign<const B: usize>(self) -> u32 {
        match B {
            1 => self as i8 as u32,
            2 => self as i16 as u32,
            _ => self,
        }
    }
}

impl Word for u64 {
    #[inline(always)]
    unsafe fn load<const B: usize>(p: *const u8) -> u64 {
        // SAFETY: the caller checked 8 readable bytes.
        unsafe { p.cast::<u64>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store<const B: usize>(self, p: *mut u8) {
        // SAFETY: the caller checked 8 writable bytes.
        unsafe { p.cast::<u64>().write_unaligned(self) }
    }
    #[inline(always)]
    fn sign<const B: usize>(self) -> u64 {
        self
    }
}

/// Lanes' addresses, classified.
enum Pattern {
    /// Lane `l` at `zero + l * B`.
    Unit,
    Same,
    /// All executing lanes in `low..=high`.
    Any {
        low: u64,
        high: u64,
    },
    Misaligned,
}

#[inline(always)]
fn lane_bits(mask: u32, l: usize) -> u64 {
    0u64.wrapping_sub((mask >> l & 1) as u64)
}

/// Classifies the addresses `a`; `first` is the one of the first executing lane and `zero` that
/// of lane 0 if the stride is one element.
#[inline(always)]
fn classify<const B: usize>(a: &[u64; 32], first: u64, zero: u64, mask: u32) -> Pattern {
    let (mut unit, mut same) = (0, 0);
    if mask == u32::MAX {
        for l in 0..32 {
            unit |= a[l] ^ zero.wrapping_add((l * B) as u64);
            same |= a[l] ^ first;
        }
    } else {
        for l in 0..32 {
            unit |= (a[l] ^ zero.wrapping_add((l * B) as u64)) & lane_bits(mask, l);
            same |= (a[l] ^ first) & lane_bits(mask, l);
        }
    }
    if first & (B as u64 - 1) == 0 {
        if unit == 0 {
            return Pattern::Unit;
        }
        if same == 0 {
            return Pattern::Same;
        }
    }
    let (mut low, mut high, mut bits) = (first, first, first);
    for l in 0..32 {
        let on = lane_bits(mask, l);
        let x = a[l] & on | first & !on;
        low = low.min(x);
        high = high.max(x);
        bits |= x;
    }
    if bits & (B as u64 - 1) != 0 { Pattern::Misaligned } else { Pattern::Any { low, high } }
}

#[inline(always)]
fn addresses(cx: &Ctx, i: &Inst) -> [u64; 32] {
    let offset = i.args[2].0 as i32 as u64;
    // SAFETY: decoding gave a `D` operand as base of the access.
    let base = unsafe { *cx.bases.d(i.args[0]) };
    let mut a = [0; 32];
    for l in 0..32 {
        a[l] = base[l].wrapping_add(offset);
    }
    a
}

/// The site that covers `address`: of the instruction, or looked up.
#[inline(always)]
fn site<const S: u8, const STORE: bool>(cx: &Ctx, i: &Inst, address: u64) -> Option<Site> {
    match S {
        SHARED => Some(cx.shared_site(0)),
        _ => {
            let s = cx.sites[i.k as usize].get();
            if address.wrapping_sub(s.start) < s.size {
                return Some(s);
            }
            miss::<S, STORE>(cx, i, address)
        }
    }
}

#[cold]
#[inline(never)]
fn miss<const S: u8, const STORE: bool>(cx: &Ctx, i: &Inst, address: u64) -> Option<Site> {
    if S == GENERIC && address.wrapping_sub(window::SHARED) < window::SHARED_CTA {
        return Some(cx.shared_site(window::SHARED));
    }
    let span = cx.memory.span(address)?;
    if STORE && !span.writable {
        return None;
    }
    let s = Site { start: span.start, size: span.size, origin: cx.memory.origin() };
    cx.sites[i.k as usize].set(s);
    Some(s)
}

/// Whether `bytes` bytes at `address` lie in `s`.
#[inline(always)]
fn covers(s: &Site, address: u64, bytes: u64) -> bool {
    let at = address.wrapping_sub(s.start);
    at <= s.size && bytes <= s.size - at
}

#[inline(always)]
fn at(s: &Site, address: u64) -> *mut u8 {
    s.origin.wrapping_add(address as usize)
}

#[inline(always)]
fn load_row<const S: u8, const B: usize, T: Word>(
    cx: &Ctx,
    i: &Inst,
    mask: u32,
) -> Option<[T; 32]> {
    let a = addresses(cx, i);
    let lane = mask.trailing_zeros() as usize & 31;
    let first = a[lane];
    if S == LOCAL {
        return load_local::<B, T>(cx, &a, first, mask);
    }
    let s = site::<S, false>(cx, i, first)?;
    let zero = first.wrapping_sub((lane * B) as u64);
    let mut out = [T::default(); 32];
    match classify::<B>(&a, first, zero, mask) {
        Pattern::Unit if covers(&s, zero, 32 * B as u64) => {
            let p = at(&s, zero);
            if B == size_of::<T>() {
                // SAFETY: `covers` holds for all 32 elements.
                out = unsafe { p.cast::<[T; 32]>().read_unaligned() };
            } else {
                for l in 0..32 {
                    // SAFETY: as above.
                    out[l] = unsafe { T::load::<B>(p.add(l * B)) };
                }
            }
        }
        Pattern::Unit => {
            let last = 31 - mask.leading_zeros() as usize;
            if !covers(&s, first, ((last - lane + 1) * B) as u64) {
                return None;
            }
            let p = at(&s, zero);
            for l in lane..=last {
                // SAFETY: `covers` holds from the first to the last executing lane.
                out[l] = unsafe { T::load::<B>(p.wrapping_add(l * B)) };
            }
        }
        Pattern::Same => {
            if !covers(&s, first, B as u64) {
                return None;
            }
            // SAFETY: `covers` holds for the element.
            out = [unsafe { T::load::<B>(at(&s, first)) }; 32];
        }
        Pattern::Any { low, high } => {
            if !covers(&s, low, (high - low).saturating_add(B as u64)) {
                return None;
            }
            for l in 0..32 {
                let on = lane_bits(mask, l);
                let address = a[l] & on | first & !on;
                // SAFETY: every executing lane's element lies between `low` and `high + B`, which
                // the site covers; the others read the first one's.
                out[l] = unsafe { T::load::<B>(at(&s, address)) };
            }
        }
        Pattern::Misaligned => return None,
    }
    Some(out)
}

#[inline(always)]
fn store_row<const S: u8, const B: usize, T: Word>(
    cx: &Ctx,
    i: &Inst,
    mask: u32,
    v: &[T; 32],
) -> bool {
    let a = addresses(cx, i);
    let lane = mask.trailing_zeros() as usize & 31;
    let first = a[lane];
    if S == LOCAL {
        return store_local::<B, T>(cx, &a, first, mask, v);
    }
    let Some(s) = site::<S, true>(cx, i, first) else { return false };
    let zero = first.wrapping_sub((lane * B) as u64);
    match classify::<B>(&a, first, zero, mask) {
        Pattern::Unit => {
            let last = 31 - mask.leading_zeros() as usize;
            if !covers(&s, first, ((last - lane + 1) * B) as u64) {
                return false;
            }
            let p = at(&s, zero);
            if mask == u32::MAX && B == size_of::<T>() {
                // SAFETY: `covers` holds for all 32 elements.
                unsafe { p.cast::<[T; 32]>().write_unaligned(*v) }
            } else if mask == u32::MAX {
                for l in 0..32 {
                    // SAFETY: `covers` holds for all 32 elements.
                    unsafe { v[l].store::<B>(p.add(l * B)) }
                }
            } else {
                let mut left = mask;
                while left != 0 {
                    let l = left.trailing_zeros() as usize;
                    left &= left - 1;
                    // SAFETY: `covers` holds from the first to the last executing lane.
                    unsafe { v[l].store::<B>(p.wrapping_add(l * B)) }
                }
            }
        }
        Pattern::Same => {
            if !covers(&s, first, B as u64) {
                return false;
            }
            let last = 31 - mask.leading_zeros() as usize;
            // SAFETY: `covers` holds for the element; the last lane's value stays.
            unsafe { v[last].store::<B>(at(&s, first)) }
        }
        Pattern::Any { low, high } => {
            if !covers(&s, low, (high - low).saturating_add(B as u64)) {
                return false;
            }
            let mut left = mask;
            while left != 0 {
                let l = left.trailing_zeros() as usize;
                left &= left - 1;
                // SAFETY: every executing lane's element lies between `low` and `high + B`, which
                // the site covers.
                unsafe { v[l].store::<B>(at(&s, a[l])) }
            }
        }
        Pattern::Misaligned => return false,
    }
    true
}

/// Local memory: word `w` of lane `l` is word `w * 32 + l`. Elements of 4 and 8 bytes only.
#[inline(always)]
fn load_local<const B: usize, T: Word>(
    cx: &Ctx,
    a: &[u64; 32],
    first: u64,
    mask: u32,
) -> Option<[T; 32]> {
    let words = cx.local(local_end::<B>(a, first, mask)?)?;
    let mut out = [T::default(); 32];
    for l in 0..32 {
        let on = lane_bits(mask, l);
        let w = (a[l] & on | first & !on) as usize / 4 * 32 + l;
        let mut bytes = [0u8; 8];
        bytes[..4].copy_from_slice(&words[w].get().to_le_bytes());
        if B == 8 {
            bytes[4..].copy_from_slice(&words[w + 32].get().to_le_bytes());
        }
        // SAFETY: eight bytes are there.
        out[l] = unsafe { T::load::<B>(bytes.as_ptr()) };
    }
    Some(out)
}

#[inline(always)]
fn store_local<const B: usize, T: Word>(
    cx: &Ctx,
    a: &[u64; 32],
    first: u64,
    mask: u32,
    v: &[T; 32],
) -> bool {
    let Some(words) = local_end::<B>(a, first, mask).and_then(|end| cx.local(end)) else {
        return false;
    };
    for l in 0..32 {
        if mask >> l & 1 == 0 {
            continue;
        }
        let w = a[l] as usize / 4 * 32 + l;
        let mut bytes = [0u8; 8];
        // SAFETY: eight bytes are there.
        unsafe { v[l].store::<B>(bytes.as_mut_ptr()) };
        words[w].set(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        if B == 8 {
            words[w + 32].set(u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]));
        }
    }
    true
}

/// One past the last byte that the executing lanes touch; `None` when one is not aligned.
#[inline(always)]
fn local_end<const B: usize>(a: &[u64; 32], first: u64, mask: u32) -> Option<u64> {
    let (mut high, mut bits) = (first, first);
    for l in 0..32 {
        let on = lane_bits(mask, l);
        let x = a[l] & on | first & !on;
        high = high.max(x);
        bits |= x;
    }
    (bits & (B as u64 - 1) == 0).then(|| high.saturating_add(B as u64))
}

#[inline(always)]
fn do_load<const S: u8, const B: usize>(cx: &Ctx, i: &Inst, mask: u32, write: u32) -> bool {
    if B == 8 {
        let Some(out) = load_row::<S, 8, u64>(cx, i, mask) else { return false };
        // SAFETY: decoding gave a `D` destination in the frame.
        unsafe { cx.bases.set_d(i.dst, &out, write) };
    } else {
        let Some(mut out) = load_row::<S, B, u32>(cx, i, mask) else { return false };
        if B < 4 && i.flag {
            out = out.map(|v| v.sign::<B>());
        }
        // SAFETY: decoding gave a `W` destination in the frame.
        unsafe { cx.bases.set_w(i.dst, &out, write) };
    }
    true
}

#[inline(always)]
fn do_store<const S: u8, const B: usize>(cx: &Ctx, i: &Inst, mask: u32) -> bool {
    if B == 8 {
        // SAFETY: decoding gave a `D` operand as value.
        store_row::<S, 8, u64>(cx, i, mask, &unsafe { *cx.bases.d(i.args[1]) })
    } else {
        // SAFETY: decoding gave a `W` operand as value.
        store_row::<S, B, u32>(cx, i, mask, &unsafe { *cx.bases.w(i.args[1]) })
    }
}

macro_rules! by_shape {
    ($f:ident, $class:expr, $bytes:expr) => {
        match ($class, $bytes) {
            (GLOBAL, 1) => $f::<GLOBAL, 1>,
            (GLOBAL, 2) => $f::<GLOBAL, 2>,
            (GLOBAL, 4) => $f::<GLOBAL, 4>,
            (GLOBAL, 8) => $f::<GLOBAL, 8>,
            (GENERIC, 1) => $f::<GENERIC, 1>,
            (GENERIC, 2) => $f::<GENERIC, 2>,
            (GENERIC, 4) => $f::<GENERIC, 4>,
            (GENERIC, 8) => $f::<GENERIC, 8>,
            (SHARED, 1) => $f::<SHARED, 1>,
            (SHARED, 2) => $f::<SHARED, 2>,
            (SHARED, 4) => $f::<SHARED, 4>,
            (SHARED, 8) => $f::<SHARED, 8>,
            (LOCAL, 4) => $f::<LOCAL, 4>,
            (LOCAL, 8) => $f::<LOCAL, 8>,
            _ => return None,
        }
    };
}

macro_rules! instances {
    ($isa:ident $(#[$feature:meta])?) => {
        mod $isa {
            use super::*;
            /// # Safety
            /// The processor must have the features; `i` must be decoded for what `cx` points to.
            $(#[$feature])?
            unsafe fn load<const S: u8, const B: usize>(cx: &Ctx, i: &Inst, mask: u32, write: u32) -> bool {
                do_load::<S, B>(cx, i, mask, write)
            }
            /// # Safety
            /// As for `load`.
            $(#[$feature])?
            unsafe fn store<const S: u8, const B: usize>(cx: &Ctx, i: &Inst, mask: u32, _: u32) -> bool {
                do_store::<S, B>(cx, i, mask)
            }
            pub(super) fn pick(store_it: bool, class: u8, bytes: u8) -> Option<Run> {
                let run: Run = if store_it {
                    by_shape!(store, class, bytes)
                } else {
                    by_shape!(load, class, bytes)
                };
                Some(run)
            }
        }
    };
}

instances!(baseline);
#[cfg(target_arch = "x86_64")]
instances!(avx2 #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]);
#[cfg(target_arch = "x86_64")]
instances!(avx512 #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]);

fn pick(isa: Isa, store: bool, m: &Mem) -> Option<Run> {
    let class = class(m.place.space)?;
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::pick(store, class, m.bytes),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::pick(store, class, m.bytes),
        _ => baseline::pick(store, class, m.bytes),
    }
}

/// The fast handler of a load of one element, if there is one.
pub(crate) fn load(isa: Isa, m: &Mem) -> Option<Run> {
    pick(isa, false, m)
}

/// The fast handler of a store of one element, if there is one.
pub(crate) fn store(isa: Isa, m: &Mem) -> Option<Run> {
    pick(isa, true, m)
}
