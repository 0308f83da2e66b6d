//! Loads and stores by words, of slices whose lanes do not lie side by side: gathers and scatters of elements of 4 and
//! 8 bytes; vectors of 2 and 4 words.

use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::Kind;
use ptx_isa::effect::Mem;

use super::found::{Found, apart, at_once, unit};
use super::one::load_one;
use super::rows::in_turn;
use super::which::own;
use crate::clif::{as_type, at, plain, vconst32};
use crate::ctx::Ctx;
use crate::form::Form;
use crate::generator::Gen;
use crate::x86::words::{self, Word};

/// Whether lanes that are there can be read and written at once.
pub(super) fn gathers(g: &Gen<'_, '_>, m: &Mem, found: &Found) -> bool {
    let near = |o: &i64| i32::try_from(*o).is_ok();
    at_once(g, m)
        && match found {
            Found::Linear(_, o) => o.iter().all(near),
            Found::Index(..) | Found::Lanes(_) => true,
        }
}

/// Whether lanes under a mask can be written so: masks that are vectors are for lanes side by side only.
pub(super) fn scatters(g: &Gen<'_, '_>, m: &Mem, found: &Found, mask: Option<&[Value]>) -> bool {
    let side_by_side = |o: &[i64]| o.chunks(g.per()).all(|c| unit(c, m.bytes.into()));
    g.form.bit_masks()
        || mask.is_none()
        || matches!(found, Found::Linear(_, o) if m.count == 1 && side_by_side(o))
}

/// The access by pairs of words, if lanes have two or four at places of their own: half as many elements.
pub(super) fn pairs(g: &Gen<'_, '_>, m: &Mem, found: &Found) -> Option<Mem> {
    let apart = matches!(found, Found::Index(..) | Found::Lanes(_));
    let paired = m.bytes == 4 && matches!(m.count, 2 | 4) && apart && !own(m);
    (paired && gathers(g, m, found)).then_some(Mem { bytes: 8, count: 1, ..*m })
}

/// The lower or upper words of pairs.
pub(super) fn words_of(g: &mut Gen<'_, '_>, pairs: &[Value], upper: bool) -> Vec<Value> {
    let mut e = g.emitter(true);
    pairs.chunks(2).map(|d| e.words_of([d[0], d[1]], upper)).collect()
}

/// Pairs of lower and upper words.
pub(super) fn pairs_of(g: &mut Gen<'_, '_>, low: &[Value], upper: &[Value]) -> Vec<Value> {
    let ty = g.form.d();
    let mut out = Vec::new();
    let form = g.form;
    for (x, y) in low.iter().zip(upper) {
        for first in [0, u32::from(form.lanes / 2)] {
            let pair = g.emitter(true).permute(*x, *y, &in_turn(form, first, 1));
            out.push(as_type(&mut g.b, pair, ty));
        }
    }
    out
}

/// Where the lanes of a slice are.
enum At {
    /// Side by side, or all there: at a constant distance.
    Row(Value, i32),
    Same(Value, i32),
    /// Among few words at constant distances, for each vector.
    Near(Value, Vec<Near>),
    /// At a base, and numbers of units of `1 << shift` bytes.
    Index(Value, Value, u32),
    /// At two vectors of addresses.
    Lanes([Value; 2]),
}

/// Where the lanes of each slice are, `step` bytes further, for loads or for stores.
fn places(g: &mut Gen<'_, '_>, m: &Mem, found: &Found, step: i32, loads: bool) -> Vec<At> {
    match found {
        Found::Linear(host, o) => {
            let chunks: Vec<&[i64]> = o.chunks(g.per()).collect();
            let at = |c: &[i64]| c[0] as i32 + step;
            let mut base = None;
            let mut place = |c: &&[i64]| {
                if unit(c, m.bytes.into()) {
                    return At::Row(*host, at(c));
                }
                if c.iter().all(|o| *o == c[0]) {
                    return At::Same(*host, at(c));
                }
                if loads
                    && m.bytes >= 4
                    && let Some(near) = near(g.form, m, c, step)
                {
                    return At::Near(*host, near);
                }
                let base = *base.get_or_insert_with(|| further(g, *host, step));
                let c: Vec<u32> = c.iter().map(|o| *o as u32).collect();
                At::Index(base, vconst32(&mut g.b, &c), 0)
            };
            chunks.iter().map(&mut place).collect()
        }
        Found::Index(host, index, shift) => {
            let base = further(g, *host, step);
            let (apart, per) = (apart(g, m), g.per());
            let slices = index.iter().enumerate().map(|(s, x)| {
                let x = if apart == 0 {
                    *x
                } else {
                    let first = |l: usize| (l as i64 * apart >> shift) as u32;
                    let c: Vec<u32> = (per * s..per * (s + 1)).map(first).collect();
                    let c = vconst32(&mut g.b, &c);
                    g.b.ins().iadd(*x, c)
                };
                At::Index(base, x, *shift)
            });
            slices.collect()
        }
        Found::Lanes(a) => {
            let halves: Vec<Value> = if step == 0 {
                a.clone()
            } else {
                let step = g.same64(step as u64);
                a.iter().map(|x| g.b.ins().iadd(*x, step)).collect()
            };
            halves.chunks(2).map(|c| At::Lanes([c[0], c[1]])).collect()
        }
    }
}

/// Most vectors of words that lie side by side, of which the elements of one vector are picked: half as many loads as
/// elements.
pub(super) const MOST_ROWS: u32 = 8;

/// Words that few vectors hold, and which of them the lanes' elements are.
pub(super) struct Near {
    /// Bytes to the first.
    pub(super) at: i32,
    pub(super) count: u32,
    pub(super) words: Vec<u32>,
}

/// Elements at the offsets, of each vector, if they are near one another.
fn near(form: Form, m: &Mem, o: &[i64], step: i32) -> Option<Vec<Near>> {
    let per = u32::from(m.bytes) / 4;
    let vector = |o: &[i64]| {
        let (least, most) = (o.iter().min()?, o.iter().max()?);
        let reach = most - least + i64::from(m.bytes);
        if reach > i64::from(MOST_ROWS) * i64::from(form.bytes())
            || o.iter().any(|o| (o - least) % 4 != 0)
        {
            return None;
        }
        let word = |n: u32| ((o[(n / per) as usize] - least) / 4) as u32 + n % per;
        Some(Near {
            at: *least as i32 + step,
            count: (reach / 4) as u32,
            words: (0..u32::from(form.lanes)).map(word).collect(),
        })
    };
    o.chunks(form.lanes() / per as usize).map(vector).collect()
}

/// The elements of one vector.
pub(super) fn pick(g: &mut Gen<'_, '_>, host: Value, near: &Near) -> Value {
    let (ty, lanes) = (g.form.w(), u32::from(g.form.lanes));
    let row = |g: &mut Gen<'_, '_>, n: u32| {
        let at = near.at + g.form.bytes() * n as i32;
        load_row(g, host, at, (near.count - lanes * n).min(lanes))
    };
    let permute = |g: &mut Gen<'_, '_>, x: Value, y: Value, which: &[u32]| {
        let which = vconst32(&mut g.b, which);
        g.word(Word::Permute, 0, &[x, y, which], ty)
    };
    // Of each two rows those elements that they hold, in the lanes where they belong; then the lanes of each two of
    // these, and so on.
    let mut parts = Vec::new();
    for n in (0..near.count.div_ceil(lanes)).step_by(2) {
        let first = row(g, n);
        let second = if near.count > lanes * (n + 1) { row(g, n + 1) } else { first };
        let which: Vec<u32> = near.words.iter().map(|w| w.wrapping_sub(lanes * n)).collect();
        let here: Vec<bool> = which.iter().map(|w| *w < 2 * lanes).collect();
        let which: Vec<u32> = which.iter().map(|w| w % (2 * lanes)).collect();
        parts.push((permute(g, first, second, &which), here));
    }
    while parts.len() > 1 {
        let pairs = parts.chunks(2).map(|pair| {
            let [(x, first), (y, second)] = pair else { return pair[0].clone() };
            let lane = |n: u32| if first[n as usize] { n } else { n + lanes };
            let which: Vec<u32> = (0..lanes).map(lane).collect();
            let here = first.iter().zip(second).map(|(x, y)| x | y).collect();
            (permute(g, *x, *y, &which), here)
        });
        parts = pairs.collect();
    }
    parts[0].0
}

/// A vector of which the first words are there.
pub(super) fn load_row(g: &mut Gen<'_, '_>, host: Value, at: i32, there: u32) -> Value {
    let ty = g.form.w();
    if there == u32::from(g.form.lanes) {
        return g.b.ins().load(ty, plain(), host, at);
    }
    // Nothing behind them need be there.
    let on = constant_mask(g, 0..there);
    let p = further(g, host, at);
    g.word(Word::LoadMasked, 4, &[on, p], ty)
}

/// The mask of some lanes of a slice.
pub(super) fn constant_mask(g: &mut Gen<'_, '_>, lanes: std::ops::Range<u32>) -> Value {
    if g.form.bit_masks() {
        return g.b.ins().iconst(words::MASK, (1i64 << lanes.end) - (1i64 << lanes.start));
    }
    let on = |n| if lanes.contains(&n) { u32::MAX } else { 0 };
    let lanes: Vec<u32> = (0..u32::from(g.form.lanes)).map(on).collect();
    vconst32(&mut g.b, &lanes)
}

fn further(g: &mut Gen<'_, '_>, host: Value, step: i32) -> Value {
    if step == 0 { host } else { g.b.ins().iadd_imm_s(host, i64::from(step)) }
}

/// Elements as vectors of their size: `W`, or two of `D` for 8 bytes.
fn cell(m: &Mem) -> Kind {
    if m.bytes == 8 { Kind::D } else { Kind::W }
}

/// Elements `step` bytes behind the lanes' addresses, as values of `kind`.
pub(super) fn gather(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    kind: Kind,
    found: &Found,
    mask: Option<&[Value]>,
    step: i32,
) -> Vec<Value> {
    let cell = cell(m);
    let ty = g.form.of(cell);
    // All lanes of a line were checked, whether they are on or not. Where masks are vectors, lanes that are off got the
    // first address.
    let mask = mask.filter(|_| g.form.bit_masks() && !matches!(found, Found::Linear(..)));
    let mask = mask.map_or_else(|| g.all_lanes(), <[Value]>::to_vec);
    let bytes = u32::from(m.bytes);
    let line = g.form.bytes();
    let mut out = Vec::new();
    for (s, at) in places(g, m, found, step, true).into_iter().enumerate() {
        let parts = if cell == Kind::D { 2 } else { 1 };
        for half in 0..parts {
            let on = if parts == 2 { g.half_mask(&mask, 2 * s + half) } else { mask[s] };
            let x = match &at {
                At::Row(host, at) => g.b.ins().load(ty, plain(), *host, *at + line * half as i32),
                At::Same(host, at) => {
                    let x = g.b.ins().load(ty.lane_type(), plain(), *host, *at);
                    g.b.ins().splat(ty, x)
                }
                At::Near(host, near) => {
                    let x = pick(g, *host, &near[half]);
                    as_type(&mut g.b, x, ty)
                }
                At::Index(base, index, shift) => {
                    let number = bytes | shift << 8 | (half as u32) << 16;
                    g.word(Word::Gather, number, &[on, *base, *index], ty)
                }
                At::Lanes(a) if parts == 2 => g.word(Word::GatherLong, 0, &[on, a[half]], ty),
                At::Lanes(a) => g.word(Word::GatherWords, 0, &[on, a[0], a[1]], ty),
            };
            if cell == Kind::W && kind == Kind::D {
                let mut e = g.emitter(true);
                out.extend(if m.signed { e.sext(x) } else { e.zext(x) });
            } else {
                out.push(x);
            }
        }
    }
    out
}

/// Whether elements of one or two bytes can be put together from where the lanes are.
pub(super) fn gathers_narrow(g: &Gen<'_, '_>, m: &Mem, found: &Found) -> bool {
    let near = |o: &i64| i32::try_from(*o).is_ok();
    g.form.words()
        && m.bytes < 4
        && match found {
            Found::Linear(_, o) => o.iter().all(near),
            Found::Index(_, _, shift) => apart(g, m) % (1 << shift) == 0,
            Found::Lanes(_) => true,
        }
}

/// Elements of one or two bytes `step` bytes behind the lanes' addresses, as words.
pub(super) fn gather_narrow(g: &mut Gen<'_, '_>, m: &Mem, found: &Found, step: i32) -> Vec<Value> {
    let (ty, bytes) = (g.form.w(), u32::from(m.bytes));
    let mut out = Vec::new();
    for at in places(g, m, found, step, true) {
        let x = match at {
            At::Row(host, at) => {
                out.push(load_narrow(g, m, host, at));
                continue;
            }
            At::Same(host, at) => {
                let x = load_one(g, m, Kind::W, host, at);
                out.push(g.b.ins().splat(ty, x));
                continue;
            }
            At::Index(base, index, shift) => {
                g.word(Word::GatherNarrow, bytes | shift << 8, &[base, index], ty)
            }
            At::Lanes(a) => g.word(Word::GatherNarrowAt, bytes, &[a[0], a[1]], ty),
            // For words only.
            At::Near(host, near) => pick(g, host, &near[0]),
        };
        let above = 32 - 8 * bytes;
        let mut e = g.emitter(true);
        out.push(if m.signed {
            let x = e.shl(x, above);
            e.sar(x, above)
        } else {
            x
        });
    }
    out
}

/// As [`gather`], the other way.
pub(super) fn scatter(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    kind: Kind,
    found: &Found,
    mask: Option<&[Value]>,
    step: i32,
    values: &[Value],
) {
    let cell = cell(m);
    let bytes = u32::from(m.bytes);
    let words: Vec<Value> = if kind == Kind::D && cell == Kind::W {
        values.chunks(2).map(|d| g.emitter(true).words_of([d[0], d[1]], false)).collect()
    } else {
        values.to_vec()
    };
    let on = mask.map_or_else(|| g.all_lanes(), <[Value]>::to_vec);
    let line = g.form.bytes();
    for (s, at) in places(g, m, found, step, false).into_iter().enumerate() {
        let parts = if cell == Kind::D { 2 } else { 1 };
        for half in 0..parts {
            let x = words[parts * s + half];
            let on = if parts == 2 { g.half_mask(&on, 2 * s + half) } else { on[s] };
            match &at {
                At::Row(host, at) => {
                    let at = *at + line * half as i32;
                    store_row(g, x, *host, at, mask.map(|_| on), bytes);
                }
                // For loads only.
                At::Near(..) => {}
                At::Same(host, at) => {
                    let base = further(g, *host, *at);
                    let index = g.same32(0);
                    let number = bytes | (half as u32) << 16;
                    words::call(&mut g.b, Word::Scatter, number, &[on, base, index, x], None);
                }
                At::Index(base, index, shift) => {
                    let number = bytes | shift << 8 | (half as u32) << 16;
                    words::call(&mut g.b, Word::Scatter, number, &[on, *base, *index, x], None);
                }
                At::Lanes(a) if parts == 2 => {
                    words::call(&mut g.b, Word::ScatterLong, 0, &[on, a[half], x], None);
                }
                At::Lanes(a) => {
                    words::call(&mut g.b, Word::ScatterWords, 0, &[on, a[0], a[1], x], None);
                }
            }
        }
    }
}

/// As [`gather_narrow`], the other way; lanes that are off write a scratch word.
pub(super) fn scatter_narrow(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    found: &Found,
    mask: Option<&[Value]>,
    step: i32,
    values: &[Value],
) {
    let bytes = u32::from(m.bytes);
    for (s, at) in places(g, m, found, step, false).into_iter().enumerate() {
        let x = values[s];
        let (base, index, shift) = match at {
            At::Row(host, at) if mask.is_none() => {
                store_row(g, x, host, at, None, bytes);
                continue;
            }
            At::Lanes(a) => {
                store_at(g, a, mask, s, bytes, x);
                continue;
            }
            At::Index(base, index, shift) => (base, index, shift),
            At::Row(host, at) => {
                let lanes: Vec<u32> = (0..u32::from(g.form.lanes)).map(|l| l * bytes).collect();
                (further(g, host, at), vconst32(&mut g.b, &lanes), 0)
            }
            At::Same(host, at) => (further(g, host, at), g.same32(0), 0),
            // For loads only.
            At::Near(..) => continue,
        };
        if mask.is_none() {
            let number = bytes | shift << 8;
            words::call(&mut g.b, Word::ScatterNarrow, number, &[base, index, x], None);
            continue;
        }
        let base = g.b.ins().splat(g.form.d(), base);
        let halves: Vec<Value> = g.emitter(true).zext(index).into_iter().collect();
        let a = std::array::from_fn(|half| {
            let doubled = |g: &mut Gen<'_, '_>, x: Value| g.b.ins().iadd(x, x);
            let distance = (0..shift).fold(halves[half], |x, _| doubled(g, x));
            g.b.ins().iadd(base, distance)
        });
        store_at(g, a, mask, s, bytes, x);
    }
}

/// The low bytes of the words of slice `s` to addresses, or to the scratch word where the mask is off.
fn store_at(
    g: &mut Gen<'_, '_>,
    mut a: [Value; 2],
    mask: Option<&[Value]>,
    s: usize,
    bytes: u32,
    x: Value,
) {
    if let Some(mask) = mask {
        let scratch = g.b.ins().iadd_imm_u(g.ctx, at!(scratch) as i64);
        let scratch = g.b.ins().splat(g.form.d(), scratch);
        for (half, at) in a.iter_mut().enumerate() {
            let on = g.half_mask(mask, 2 * s + half);
            *at = g.emitter(true).sel(on, *at, scratch);
        }
    }
    words::call(&mut g.b, Word::ScatterNarrowAt, bytes, &[a[0], a[1], x], None);
}

/// Lanes side by side, all of them or those of a mask.
pub(super) fn store_row(
    g: &mut Gen<'_, '_>,
    x: Value,
    host: Value,
    at: i32,
    mask: Option<Value>,
    bytes: u32,
) {
    match mask {
        Some(mask) => {
            let p = further(g, host, at);
            words::call(&mut g.b, Word::StoreMasked, bytes, &[mask, x, p], None);
        }
        None if bytes < 4 => {
            let p = further(g, host, at);
            words::call(&mut g.b, Word::StoreNarrow, bytes, &[x, p], None);
        }
        None => {
            g.b.ins().store(plain(), x, host, at);
        }
    }
}

/// A slice of elements of 1 or 2 bytes side by side.
pub(super) fn load_narrow(g: &mut Gen<'_, '_>, m: &Mem, host: Value, at: i32) -> Value {
    let p = further(g, host, at);
    let number = u32::from(m.bytes) | u32::from(m.signed) << 8;
    let ty = g.form.w();
    g.word(Word::LoadNarrow, number, &[p], ty)
}
