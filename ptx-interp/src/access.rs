//! Loads and stores of a whole warp: classified as unit stride, uniform or gather, with one bounds
//! check. What does not fit goes lane by lane ([`crate::lane_access`]).

use ptx_isa::effect::{Mem, window};
use std::cell::Cell;

use ptx_isa::{Kind, Space};

use crate::code::{Inst, Run};
use crate::ctx::{Ctx, Site};
use crate::lanes::Isa;
use crate::shape::{self, Base, Lanes, Shape};
use crate::word::Word;

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

const fn is_narrow(class: u8) -> bool {
    class == SHARED_W || class == LOCAL_W
}

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

// The loops below run over slices of `Ctx::lanes` lanes: 32, but the compiler does not know that.
// Told the number it unrolls them first and then makes poor vector code of the pieces.

/// Whether lane `l` of each is at `first + l * B`.
#[inline(always)]
fn is_unit<const B: usize, E: Base>(a: &[E], first: E) -> bool {
    let mut rest = E::cut(0);
    for (l, x) in a.iter().enumerate() {
        rest = rest.join(x.differs(E::cut(first.wide().wrapping_add((l * B) as u64))));
    }
    rest.is_zero()
}

#[inline(always)]
fn is_same<E: Base>(a: &[E], first: E) -> bool {
    let mut rest = E::cut(0);
    for x in a {
        rest = rest.join(x.differs(first));
    }
    rest.is_zero()
}

/// Whether all elements at `a + offset` are aligned and lie in `s`.
#[inline(always)]
fn all_inside<const B: usize, E: Base>(s: &Site, a: &[E], offset: u64) -> bool {
    let Some(most) = s.size.checked_sub(B as u64) else { return false };
    let (mut outside, mut bits) = (0, 0);
    for x in a {
        let address = x.plus(offset);
        outside |= (address.wrapping_sub(s.start) > most) as u64;
        bits |= address;
    }
    outside == 0 && bits & (B as u64 - 1) == 0
}

/// The site that covers `address`: of the instruction, or looked up.
#[inline(always)]
fn site<const S: u8, const STORE: bool>(cx: &Ctx, i: &Inst, address: u64) -> Option<Site> {
    match S {
        SHARED | SHARED_W => Some(cx.shared),
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
    if S == GENERIC && address.wrapping_sub(window::SHARED) < window::SHARED_SIZE {
        // Other blocks' memory goes the slow way: it is not in what this covers.
        return Some(cx.generic_shared());
    }
    let span = cx.memory.span(address)?;
    if STORE && !span.writable {
        return None;
    }
    let s = Site { start: span.start, size: span.size, origin: span.origin() };
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

/// The constant offset.
#[inline(always)]
fn offset(i: &Inst) -> u64 {
    i.args[2].0 as i32 as u64
}

/// Addresses of the executing lanes; the others repeat the first one's.
#[inline(always)]
fn executing<E: Base>(cx: &Ctx, base: &[E; 32], offset: u64, mask: u32) -> [u64; 32] {
    let first = base[mask.trailing_zeros() as usize & 31].plus(offset);
    let mut x = [0; 32];
    for (l, (x, b)) in x.iter_mut().zip(&base[..cx.lanes]).enumerate() {
        let on = 0u64.wrapping_sub((mask >> l & 1) as u64);
        *x = b.plus(offset) & on | first & !on;
    }
    x
}

#[inline(always)]
fn load_row<const S: u8, const B: usize, T: Word, E: Base>(
    cx: &Ctx,
    i: &Inst,
    base: &[E; 32],
    mask: u32,
) -> Option<[T; 32]> {
    let offset = offset(i);
    let lane = mask.trailing_zeros() as usize & 31;
    let first = base[lane].plus(offset);
    let aligned = first & (B as u64 - 1) == 0;
    if is_local(S) {
        let x = executing(cx, base, offset, mask);
        return load_local::<B, T>(cx, &x);
    }
    let s = site::<S, false>(cx, i, first)?;
    if B == 4 {
        cx.shapes.meet(i.k, base);
    }
    if mask == u32::MAX {
        let all = &base[..cx.lanes];
        if aligned {
            if is_unit::<B, E>(all, base[0]) && covers(&s, first, 32 * B as u64) {
                // SAFETY: just checked.
                return Some(unsafe { load_unit::<B, T>(at(&s, first)) });
            }
            if is_same(all, base[0]) && covers(&s, first, B as u64) {
                // SAFETY: just checked.
                return Some([unsafe { T::load::<B>(at(&s, first)) }; 32]);
            }
        }
        if !all_inside::<B, E>(&s, all, offset) {
            return None;
        }
        // SAFETY: just checked.
        return Some(unsafe { load_any::<B, T, E>(&s, base, offset) });
    }
    let x = executing(cx, base, offset, mask);
    // Lanes that do not execute may read along where the whole row is there.
    let zero = first.wrapping_sub((lane * B) as u64);
    let mut rest = 0;
    for (l, x) in x[..cx.lanes].iter().enumerate() {
        let on = 0u64.wrapping_sub((mask >> l & 1) as u64);
        rest |= (x ^ zero.wrapping_add((l * B) as u64)) & on;
    }
    if rest == 0 && aligned && covers(&s, zero, 32 * B as u64) {
        // SAFETY: just checked.
        return Some(unsafe { load_unit::<B, T>(at(&s, zero)) });
    }
    if !all_inside::<B, u64>(&s, &x[..cx.lanes], 0) {
        return None;
    }
    // SAFETY: just checked.
    Some(unsafe { load_any::<B, T, u64>(&s, &x, 0) })
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

/// Loads from anywhere in one allocation. Groups of eight lanes are often together: blocks of 8
/// or 16 threads in `x`.
///
/// # Safety
/// Every element must lie in `s`.
#[inline(always)]
unsafe fn load_any<const B: usize, T: Word, E: Base>(
    s: &Site,
    a: &[E; 32],
    offset: u64,
) -> [T; 32] {
    let mut out = [T::default(); 32];
    for (out, g) in out.as_chunks_mut::<8>().0.iter_mut().zip(a.as_chunks::<8>().0) {
        let first = g[0].plus(offset);
        let p = at(s, first);
        if B == size_of::<T>() && is_unit::<B, E>(g, g[0]) {
            // SAFETY: the caller vouches for every element.
            *out = unsafe { p.cast::<[T; 8]>().read_unaligned() };
        } else if is_same(g, g[0]) {
            // SAFETY: as above.
            *out = [unsafe { T::load::<B>(p) }; 8];
        } else {
            for l in 0..8 {
                let p = at(s, g[l].plus(offset));
                // SAFETY: as above.
                out[l] = unsafe { T::load::<B>(p) };
            }
        }
    }
    out
}

#[inline(always)]
fn store_row<const S: u8, const B: usize, T: Word, E: Base>(
    cx: &Ctx,
    i: &Inst,
    base: &[E; 32],
    mask: u32,
    v: &[T; 32],
) -> bool {
    let offset = offset(i);
    let lane = mask.trailing_zeros() as usize & 31;
    let first = base[lane].plus(offset);
    if is_local(S) {
        let x = executing(cx, base, offset, mask);
        return store_local::<B, T>(cx, &x, mask, v);
    }
    let Some(s) = site::<S, true>(cx, i, first) else { return false };
    if B == 4 {
        cx.shapes.meet(i.k, base);
    }
    if mask == u32::MAX
        && first & (B as u64 - 1) == 0
        && is_unit::<B, E>(&base[..cx.lanes], base[0])
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
    let x = executing(cx, base, offset, mask);
    if !all_inside::<B, u64>(&s, &x[..cx.lanes], 0) {
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
    if all_inside::<B, u64>(&all, &a[..cx.lanes], 0) { cx.local(cx.local.1) } else { None }
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
fn row<const S: u8, const B: usize, T: Word>(cx: &Ctx, i: &Inst, mask: u32) -> Option<[T; 32]> {
    if is_narrow(S) {
        // SAFETY: decoding gave a `W` operand as base for these classes.
        load_row::<S, B, T, u32>(cx, i, unsafe { cx.bases.w(i.args[0]) }, mask)
    } else {
        // SAFETY: decoding gave a `D` operand as base for the others.
        load_row::<S, B, T, u64>(cx, i, unsafe { cx.bases.d(i.args[0]) }, mask)
    }
}

/// Where the first lane's word lies if the lanes' words lie in the shape that the instruction has met last. Lanes that
/// do not execute count as well. `reading`: what is read beside them is there too.
#[inline(always)]
fn in_shape<const S: u8, L: Lanes>(
    cx: &Ctx,
    i: &Inst,
    shape: &Shape,
    reading: bool,
) -> Option<*mut u8> {
    let (s, reading) = match S {
        // There is something behind it.
        SHARED | SHARED_W => (cx.shared, false),
        _ => (cx.sites[i.k as usize].get(), reading),
    };
    // SAFETY: as in `row`; `L` is what the handler is made for.
    let (first, fit) = unsafe {
        if is_narrow(S) {
            let base = cx.bases.w(i.args[0]);
            (base[0].plus(offset(i)), L::fit(base, shape))
        } else {
            let base = cx.bases.d(i.args[0]);
            (base[0].plus(offset(i)), L::fit(base, shape))
        }
    };
    (fit && shape.is_inside(&s, first, reading)).then(|| at(&s, first))
}

/// A load of words that lie in the shape that the instruction has met last; whether they do.
#[inline(always)]
fn load_shape<const S: u8, const B: usize, L: Lanes>(cx: &Ctx, i: &Inst, write: u32) -> bool {
    if B != 4 || is_local(S) {
        return false;
    }
    let Some(shape) = cx.shapes.get(i.k) else { return false };
    let Some(first) = in_shape::<S, L>(cx, i, shape, true) else { return false };
    // SAFETY: `in_shape` found all that is read inside; `L` is what the handler is made for. Decoding gave a `W`
    // destination in the frame.
    unsafe { cx.bases.set_w(i.dst, &L::words(first, shape), write) };
    true
}

/// A store of words that lie in the shape that the instruction has met last; whether they do.
#[inline(always)]
fn store_shape<const S: u8, const B: usize, L: Lanes>(cx: &Ctx, i: &Inst, mask: u32) -> bool {
    if B != 4 || is_local(S) {
        return false;
    }
    let Some(shape) = cx.shapes.get(i.k) else { return false };
    let Some(first) = in_shape::<S, L>(cx, i, shape, false) else { return false };
    // SAFETY: decoding gave a `W` operand as value.
    let v = unsafe { cx.bases.w(i.args[1]) };
    if shape.unit && mask == u32::MAX {
        // SAFETY: `in_shape` found the words of all lanes inside.
        unsafe { first.cast::<[u32; 32]>().write_unaligned(*v) };
        return true;
    }
    // In lane order, as in `store_row`.
    let mut left = mask;
    while left != 0 {
        let l = left.trailing_zeros() as usize;
        left &= left - 1;
        // SAFETY: as above.
        unsafe { v[l].store::<4>(first.wrapping_offset(shape.distance[l] as isize)) }
    }
    true
}

#[inline(always)]
fn do_load<const S: u8, const B: usize>(cx: &Ctx, i: &Inst, mask: u32, write: u32) -> bool {
    if B == 8 {
        let Some(out) = row::<S, 8, u64>(cx, i, mask) else { return false };
        // SAFETY: decoding gave a `D` destination in the frame.
        unsafe { cx.bases.set_d(i.dst, &out, write) };
    } else {
        let Some(mut out) = row::<S, B, u32>(cx, i, mask) else { return false };
        if B < 4 && i.flag {
            out = out.map(|v| v.sign::<B>());
        }
        // SAFETY: decoding gave a `W` destination in the frame.
        unsafe { cx.bases.set_w(i.dst, &out, write) };
    }
    true
}

#[inline(always)]
fn put<const S: u8, const B: usize, T: Word>(cx: &Ctx, i: &Inst, mask: u32, v: &[T; 32]) -> bool {
    if is_narrow(S) {
        // SAFETY: as in `row`.
        store_row::<S, B, T, u32>(cx, i, unsafe { cx.bases.w(i.args[0]) }, mask, v)
    } else {
        // SAFETY: as in `row`.
        store_row::<S, B, T, u64>(cx, i, unsafe { cx.bases.d(i.args[0]) }, mask, v)
    }
}

#[inline(always)]
fn do_store<const S: u8, const B: usize>(cx: &Ctx, i: &Inst, mask: u32) -> bool {
    if B == 8 {
        // SAFETY: decoding gave a `D` operand as value.
        put::<S, 8, u64>(cx, i, mask, unsafe { cx.bases.d(i.args[1]) })
    } else {
        // SAFETY: decoding gave a `W` operand as value.
        put::<S, B, u32>(cx, i, mask, unsafe { cx.bases.w(i.args[1]) })
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

// What has no known shape is a function of its own: it takes all registers, the others few.
macro_rules! instances {
    ($isa:ident $lanes:ident $(#[$feature:meta])?) => {
        mod $isa {
            use super::*;
            /// # Safety
            /// The processor must have the features; `i` must be decoded for what `cx` points to.
            $(#[$feature])?
            unsafe fn load<const S: u8, const B: usize>(cx: &Ctx, i: &Inst, mask: u32, write: u32) -> bool {
                // SAFETY: the same is asked for.
                load_shape::<S, B, shape::$lanes>(cx, i, write) || unsafe { any_load::<S, B>(cx, i, mask, write) }
            }
            /// # Safety
            /// As for `load`.
            #[inline(never)]
            $(#[$feature])?
            unsafe fn any_load<const S: u8, const B: usize>(cx: &Ctx, i: &Inst, mask: u32, write: u32) -> bool {
                do_load::<S, B>(cx, i, mask, write)
            }
            /// # Safety
            /// As for `load`.
            $(#[$feature])?
            unsafe fn store<const S: u8, const B: usize>(cx: &Ctx, i: &Inst, mask: u32, _: u32) -> bool {
                // SAFETY: the same is asked for.
                store_shape::<S, B, shape::$lanes>(cx, i, mask) || unsafe { any_store::<S, B>(cx, i, mask) }
            }
            /// # Safety
            /// As for `load`.
            #[inline(never)]
            $(#[$feature])?
            unsafe fn any_store<const S: u8, const B: usize>(cx: &Ctx, i: &Inst, mask: u32) -> bool {
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

instances!(baseline OneByOne);
#[cfg(target_arch = "x86_64")]
instances!(avx2 Avx2 #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]);
#[cfg(target_arch = "x86_64")]
instances!(avx512 Avx2 #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]);

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
