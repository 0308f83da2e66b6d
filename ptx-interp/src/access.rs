//! Loads and stores of a whole warp: classified as unit stride, uniform or gather, with one bounds
//! check. What does not fit goes lane by lane ([`crate::lane_access`]).

use ptx_isa::effect::{Mem, window};
use std::cell::Cell;

use ptx_isa::{Kind, Space};

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
/// The same with a 32-bit base, as compilers write them.
const SHARED_W: u8 = 4;
const LOCAL_W: u8 = 5;

const fn is_local(class: u8) -> bool {
    class == LOCAL || class == LOCAL_W
}

fn class(space: Space, base: Kind) -> Option<u8> {
    Some(match space {
        Space::Shared if base == Kind::W => SHARED_W,
        Space::Local | Space::ParamFunc if base == Kind::W => LOCAL_W,
        _ if base == Kind::W => return None,
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

#[inline(always)]
fn lane_bits(mask: u32, l: usize) -> u64 {
    0u64.wrapping_sub((mask >> l & 1) as u64)
}

/// Whether lane `l` of each is at `start + l * B`.
#[inline(always)]
fn is_unit<const B: usize, const N: usize>(a: &[u64; N], start: u64) -> bool {
    let mut unit = true;
    for l in 0..N {
        unit &= a[l] == start.wrapping_add((l * B) as u64);
    }
    unit
}

#[inline(always)]
fn is_same<const N: usize>(a: &[u64; N], first: u64) -> bool {
    let mut same = true;
    for l in 0..N {
        same &= a[l] == first;
    }
    same
}

/// Whether all elements are aligned and lie in `s`.
#[inline(always)]
fn all_inside<const B: usize>(s: &Site, a: &[u64; 32]) -> bool {
    let Some(most) = s.size.checked_sub(B as u64) else { return false };
    let mut inside = true;
    for l in 0..32 {
        inside &= a[l].wrapping_sub(s.start) <= most;
    }
    let mut aligned = true;
    for l in 0..32 {
        aligned &= a[l] & (B as u64 - 1) == 0;
    }
    inside & aligned
}

/// Address of one lane: the base plus the constant offset.
#[inline(always)]
fn address<const S: u8>(cx: &Ctx, i: &Inst, lane: usize) -> u64 {
    // SAFETY: decoding gave a base of the kind that the class says.
    let base = unsafe {
        if S == SHARED_W || S == LOCAL_W {
            cx.bases.w(i.args[0])[lane] as u64
        } else {
            cx.bases.d(i.args[0])[lane]
        }
    };
    base.wrapping_add(i.args[2].0 as i32 as u64)
}

#[inline(always)]
fn addresses<const S: u8>(cx: &Ctx, i: &Inst) -> [u64; 32] {
    let offset = i.args[2].0 as i32 as u64;
    let mut a = [0; 32];
    if S == SHARED_W || S == LOCAL_W {
        // SAFETY: decoding gave a `W` operand as base of the access.
        let base = unsafe { *cx.bases.w(i.args[0]) };
        for l in 0..32 {
            a[l] = (base[l] as u64).wrapping_add(offset);
        }
    } else {
        // SAFETY: decoding gave a `D` operand as base of the access.
        let base = unsafe { *cx.bases.d(i.args[0]) };
        for l in 0..32 {
            a[l] = base[l].wrapping_add(offset);
        }
    }
    a
}

/// The site that covers `address`: of the instruction, or looked up.
#[inline(always)]
fn site<const S: u8, const STORE: bool>(cx: &Ctx, i: &Inst, address: u64) -> Option<Site> {
    match S {
        SHARED | SHARED_W => Some(cx.shared_site(0)),
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

/// Addresses of the executing lanes; the others repeat the first one's.
#[inline(always)]
fn executing(a: &[u64; 32], first: u64, mask: u32) -> [u64; 32] {
    let mut x = [0; 32];
    for l in 0..32 {
        let on = lane_bits(mask, l);
        x[l] = a[l] & on | first & !on;
    }
    x
}

#[inline(always)]
fn load_row<const S: u8, const B: usize, T: Word>(
    cx: &Ctx,
    i: &Inst,
    mask: u32,
) -> Option<[T; 32]> {
    let a = addresses::<S>(cx, i);
    if mask == u32::MAX {
        let first = a[0];
        if is_local(S) {
            return load_local::<B, T>(cx, &a);
        }
        let s = site::<S, false>(cx, i, first)?;
        return load_all::<B, T>(&s, &a, first);
    }
    let lane = mask.trailing_zeros() as usize & 31;
    let first = address::<S>(cx, i, lane);
    let x = executing(&a, first, mask);
    if is_local(S) {
        return load_local::<B, T>(cx, &x);
    }
    let s = site::<S, false>(cx, i, first)?;
    // Lanes that do not execute may read along where the whole row is there.
    let zero = first.wrapping_sub((lane * B) as u64);
    let mut rest = 0;
    for l in 0..32 {
        rest |= (a[l] ^ zero.wrapping_add((l * B) as u64)) & lane_bits(mask, l);
    }
    if rest == 0 && first & (B as u64 - 1) == 0 && covers(&s, zero, 32 * B as u64) {
        // SAFETY: just checked.
        return Some(unsafe { load_unit::<B, T>(at(&s, zero)) });
    }
    load_any::<B, T>(&s, &x)
}

/// # Safety
/// `32 * B` bytes must be readable at `p`.
#[inline(always)]
unsafe fn load_unit<const B: usize, T: Word>(p: *const u8) -> [T; 32] {
    if B == size_of::<T>() {
        // SAFETY: the caller checked the bytes.
        return unsafe { p.cast::<[T; 32]>().read_unaligned() };
    }
    let mut out = [T::default(); 32];
    for l in 0..32 {
        // SAFETY: the caller checked the bytes.
        out[l] = unsafe { T::load::<B>(p.add(l * B)) };
    }
    out
}

#[inline(always)]
fn load_all<const B: usize, T: Word>(s: &Site, a: &[u64; 32], first: u64) -> Option<[T; 32]> {
    if first & (B as u64 - 1) == 0 {
        if is_unit::<B, 32>(a, first) && covers(s, first, 32 * B as u64) {
            // SAFETY: just checked.
            return Some(unsafe { load_unit::<B, T>(at(s, first)) });
        }
        if is_same(a, first) && covers(s, first, B as u64) {
            // SAFETY: just checked.
            return Some([unsafe { T::load::<B>(at(s, first)) }; 32]);
        }
    }
    load_any::<B, T>(s, a)
}

/// Loads from anywhere in one allocation. Groups of eight lanes are often together: blocks of 8
/// or 16 threads in `x`.
#[inline(always)]
fn load_any<const B: usize, T: Word>(s: &Site, a: &[u64; 32]) -> Option<[T; 32]> {
    if !all_inside::<B>(s, a) {
        return None;
    }
    let (groups, _) = a.as_chunks::<8>();
    let mut out = [[T::default(); 8]; 4];
    for (out, g) in out.iter_mut().zip(groups) {
        let p = at(s, g[0]);
        if B == size_of::<T>() && is_unit::<B, 8>(g, g[0]) {
            // SAFETY: every element lies in the site.
            *out = unsafe { p.cast::<[T; 8]>().read_unaligned() };
        } else if is_same(g, g[0]) {
            // SAFETY: as above.
            *out = [unsafe { T::load::<B>(p) }; 8];
        } else {
            for l in 0..8 {
                // SAFETY: as above.
                out[l] = unsafe { T::load::<B>(at(s, g[l])) };
            }
        }
    }
    let mut row = [T::default(); 32];
    for l in 0..32 {
        row[l] = out[l / 8][l % 8];
    }
    Some(row)
}

#[inline(always)]
fn store_row<const S: u8, const B: usize, T: Word>(
    cx: &Ctx,
    i: &Inst,
    mask: u32,
    v: &[T; 32],
) -> bool {
    let a = addresses::<S>(cx, i);
    let lane = mask.trailing_zeros() as usize & 31;
    let first = address::<S>(cx, i, lane);
    if is_local(S) {
        let x = executing(&a, first, mask);
        return store_local::<B, T>(cx, &x, mask, v);
    }
    let Some(s) = site::<S, true>(cx, i, first) else { return false };
    if mask == u32::MAX
        && first & (B as u64 - 1) == 0
        && is_unit::<B, 32>(&a, first)
        && covers(&s, first, 32 * B as u64)
    {
        let p = at(&s, first);
        if B == size_of::<T>() {
            // SAFETY: `covers` holds for all 32 elements.
            unsafe { p.cast::<[T; 32]>().write_unaligned(*v) }
        } else {
            for l in 0..32 {
                // SAFETY: as above.
                unsafe { v[l].store::<B>(p.add(l * B)) }
            }
        }
        return true;
    }
    let x = executing(&a, first, mask);
    if !all_inside::<B>(&s, &x) {
        return false;
    }
    // In lane order: where lanes store to one address, the last one's value stays.
    let mut left = mask;
    while left != 0 {
        let l = left.trailing_zeros() as usize;
        left &= left - 1;
        // SAFETY: every executing lane's element lies in the site.
        unsafe { v[l].store::<B>(at(&s, x[l])) }
    }
    true
}

/// Local memory: word `w` of lane `l` is word `w * 32 + l`. Elements of 4 and 8 bytes only. Every
/// lane has an address; those that do not execute repeat another's.
#[inline(always)]
fn load_local<const B: usize, T: Word>(cx: &Ctx, a: &[u64; 32]) -> Option<[T; 32]> {
    let words = local_words::<B>(cx, a)?;
    let mut out = [T::default(); 32];
    for l in 0..32 {
        let w = a[l] as usize / 4 * 32 + l;
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

/// The warp's local memory, if every element is aligned and inside.
#[inline(always)]
fn local_words<'a, const B: usize>(cx: &'a Ctx, a: &[u64; 32]) -> Option<&'a [Cell<u32>]> {
    let all = Site { start: 0, size: cx.local.1, origin: std::ptr::null_mut() };
    if all_inside::<B>(&all, a) { cx.local(cx.local.1) } else { None }
}

#[inline(always)]
fn store_local<const B: usize, T: Word>(cx: &Ctx, a: &[u64; 32], mask: u32, v: &[T; 32]) -> bool {
    let Some(words) = local_words::<B>(cx, a) else { return false };
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
            (SHARED_W, 1) => $f::<SHARED_W, 1>,
            (SHARED_W, 2) => $f::<SHARED_W, 2>,
            (SHARED_W, 4) => $f::<SHARED_W, 4>,
            (SHARED_W, 8) => $f::<SHARED_W, 8>,
            (LOCAL_W, 4) => $f::<LOCAL_W, 4>,
            (LOCAL_W, 8) => $f::<LOCAL_W, 8>,
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

fn pick(isa: Isa, store: bool, m: &Mem, base: Kind) -> Option<Run> {
    let class = class(m.place.space, base)?;
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::pick(store, class, m.bytes),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => avx512::pick(store, class, m.bytes),
        _ => baseline::pick(store, class, m.bytes),
    }
}

/// The fast handler of a load of one element, if there is one.
pub(crate) fn load(isa: Isa, m: &Mem, base: Kind) -> Option<Run> {
    pick(isa, false, m, base)
}

/// The fast handler of a store of one element, if there is one.
pub(crate) fn store(isa: Isa, m: &Mem, base: Kind) -> Option<Run> {
    pick(isa, true, m, base)
}
