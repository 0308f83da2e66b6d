//! Weak loads and stores behind their check: whole slices where lanes lie side by side, else lane by lane.

use std::collections::HashMap;

use cranelift_codegen::ir::types::{I8X16, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{InstBuilder, Value};
use ptx_isa::Kind;
use ptx_isa::effect::Mem;

use super::address::{Address, addresses};
use super::checked::checked;
use super::choices::{may_be_rows, rows_or_gather};
use super::found::{Found, apart, differs, lane, lanes, or_scratch, unit};
use super::gather::{
    gather, gather_narrow, gathers, gathers_narrow, load_narrow, pairs, pairs_of, scatter,
    scatter_narrow, scatters, store_row, words_of,
};
use super::one::{load_one, store_one};
use super::results::{finish, jump_with, regroup};
use super::rows::{load_columns, rows, rows_of, stays, store_rows};
use super::slow::{executing, skip_if_none, slow};
use super::spaced::{load_spaced, spaced};
use super::whole_words::{load_words, whole_words, words_of_elements};
use crate::clif::{cast, plain, widen16};
use crate::generator::{Gen, Rep};
use crate::ir::Val;

pub(super) fn load(g: &mut Gen<'_, '_>, e: u32, m: Mem) {
    let info = &g.f.effects[e as usize];
    let (base, dst) = (info.src[0], info.dst.clone());
    let mask = executing(g, e);
    let address = addresses(g, base, &m.place);
    let stop = skip_if_none(g, e, mask.as_deref());
    let total = m.bytes as u64 * m.count as u64;
    let (join, found) = checked(g, e, &address, mask.as_deref(), &m.place, total);
    let slices = dst.iter().all(|d| g.offsets(*d).is_none());
    let words = whole_words(g, &m, &dst).filter(|_| slices);
    let by_words = words.and_then(|w| load_words(g, &m, &w, (base, &found), mask.as_deref()));
    let mut out = match by_words {
        Some(elements) => elements.into_iter().map(Rep::Slices).collect(),
        None => load_found(g, e, &m, (base, &found), mask.as_deref()),
    };
    if let Some(join) = join {
        jump_with(g, join, &out);
        g.b.switch_to_block(join);
        let params = g.b.block_params(join).to_vec();
        out = regroup(g, &dst, &params);
    }
    finish(g, e, out, stop);
}

/// What effect `e` loads from where it was found.
fn load_found(
    g: &mut Gen<'_, '_>,
    e: u32,
    m: &Mem,
    (base, found): (Val, &Found),
    mask: Option<&[Value]>,
) -> Vec<Rep> {
    let dst = g.f.effects[e as usize].dst.clone();
    let mut out = Vec::new();
    match found {
        Found::Linear(host, o) if o.iter().all(|x| *x == o[0] && i32::try_from(*x).is_ok()) => {
            for (i, d) in dst.iter().enumerate() {
                let kind = g.kind(*d);
                let at = o[0] as i32 + i as i32 * m.bytes as i32;
                let v = load_one(g, m, kind, *host, at);
                out.push(if g.offsets(*d).is_some() {
                    Rep::Scalar(v)
                } else {
                    let n = if kind == Kind::D { 2 * g.slices() } else { g.slices() };
                    let s = g.b.ins().splat(g.form.of(kind), v);
                    Rep::Slices(vec![s; n])
                });
            }
        }
        Found::Linear(host, o)
            if m.count == 1 && unit_of(g, o, m.bytes as i64) && widens(m, g.kind(dst[0])) =>
        {
            out.push(Rep::Slices(load_unit(g, m, g.kind(dst[0]), *host, o)));
        }
        Found::Linear(host, o)
            if spaced(g, m, o)
                && dst.len() == m.count as usize
                && dst.iter().all(|d| g.kind(*d) == Kind::W && g.offsets(*d).is_none()) =>
        {
            out.extend(load_spaced(g, m, *host, o).into_iter().map(Rep::Slices));
        }
        Found::Linear(host, o) if rows(g, m, o) && dst.len() == m.count as usize => {
            let turned = !stays(g, e);
            out.extend(load_columns(g, m, (*host, o), turned).into_iter().map(Rep::Slices));
        }
        _ if pairs(g, m, found).is_some()
            && dst.len() == m.count as usize
            && dst.iter().all(|d| g.kind(*d) == Kind::W) =>
        {
            let whole = pairs(g, m, found).unwrap_or(*m);
            for n in 0..dst.len() as i32 / 2 {
                let x = gather(g, &whole, Kind::D, found, mask, 8 * n);
                out.extend([false, true].map(|upper| Rep::Slices(words_of(g, &x, upper))));
            }
        }
        Found::Index(host, index, shift)
            if mask.is_none()
                && dst.iter().all(|d| g.kind(*d) == Kind::W && g.offsets(*d).is_none())
                && may_be_rows(g, base, m, found) =>
        {
            out.push(Rep::Slices(rows_or_gather(g, m, *host, index, *shift)));
        }
        _ if gathers(g, m, found) => {
            for (i, d) in dst.iter().enumerate() {
                let step = i as i32 * i32::from(m.bytes);
                let x = gather(g, m, g.kind(*d), found, mask, step);
                out.push(Rep::Slices(x));
            }
        }
        _ if gathers_narrow(g, m, found) && dst.iter().all(|d| g.kind(*d) == Kind::W) => {
            for i in 0..dst.len() as i32 {
                out.push(Rep::Slices(gather_narrow(g, m, found, i * i32::from(m.bytes))));
            }
        }
        _ => {
            out.extend(load_lanes(g, m, found, &dst).into_iter().map(Rep::Slices));
        }
    }
    out
}

/// Lane by lane: each address right before what is loaded there, so that few of them live at once.
fn load_lanes(g: &mut Gen<'_, '_>, m: &Mem, found: &Found, dst: &[Val]) -> Vec<Vec<Value>> {
    let (apart, per) = (apart(g, m), g.per());
    let mut columns = vec![Vec::new(); dst.len()];
    let mut made: Vec<HashMap<(Value, i32), Value>> = vec![HashMap::new(); dst.len()];
    for s in 0..g.slices() {
        let mut places = Vec::with_capacity(per);
        for (i, d) in dst.iter().enumerate() {
            let (kind, step) = (g.kind(*d), i as i32 * i32::from(m.bytes));
            let mut values = Vec::with_capacity(per);
            for l in 0..per {
                if i == 0 {
                    places.push(lane(g, found, apart, per * s + l));
                }
                let (p, at) = places[l];
                let known = made[i].get(&(p, at)).copied();
                let x = known.unwrap_or_else(|| load_one(g, m, kind, p, at + step));
                made[i].insert((p, at), x);
                values.push(x);
            }
            columns[i].extend(g.pack(kind, &values, false));
        }
    }
    columns
}

/// Whether the lanes of each slice lie side by side.
fn unit_of(g: &Gen<'_, '_>, o: &[i64], bytes: i64) -> bool {
    o.chunks(g.per()).all(|c| unit(c, bytes))
}

/// Whether there is a vector load for the element.
pub(super) fn widens(m: &Mem, kind: Kind) -> bool {
    match kind {
        Kind::D => m.bytes == 8,
        Kind::P | Kind::W => m.bytes <= 4,
    }
}

pub(super) fn load_unit(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    kind: Kind,
    host: Value,
    o: &[i64],
) -> Vec<Value> {
    o.chunks(g.form.per(kind))
        .map(|c| {
            let at = c[0] as i32;
            match m.bytes {
                8 => g.b.ins().load(g.form.d(), plain(), host, at),
                4 => g.b.ins().load(g.form.w(), plain(), host, at),
                _ if g.form.words() => load_narrow(g, m, host, at),
                2 => {
                    let v = g.b.ins().load(I64, plain(), host, at);
                    let v = g.b.ins().scalar_to_vector(I64X2, v);
                    widen16(&mut g.b, v, m.signed)
                }
                _ => {
                    let v = g.b.ins().load(I32, plain(), host, at);
                    let v = g.b.ins().scalar_to_vector(I32X4, v);
                    let v = g.b.ins().bitcast(I8X16, cast(), v);
                    let v =
                        if m.signed { g.b.ins().swiden_low(v) } else { g.b.ins().uwiden_low(v) };
                    widen16(&mut g.b, v, m.signed)
                }
            }
        })
        .collect()
}

pub(super) fn store(g: &mut Gen<'_, '_>, e: u32, m: Mem) {
    let info = &g.f.effects[e as usize];
    let (base, src) = (info.src[0], info.src[1..].to_vec());
    let mask = executing(g, e);
    let values: Vec<Vec<Value>> = if g.g.scalar() {
        src.iter().map(|v| vec![g.scalar(*v)]).collect()
    } else {
        src.iter().map(|v| g.vector(*v)).collect()
    };
    let address = addresses(g, base, &m.place);
    let stop = skip_if_none(g, e, mask.as_deref());
    let uniform = (!differs(g, &m) || g.g.scalar())
        && matches!(&address, Address::Linear(_, o) if o.iter().all(|o| *o == 0));
    if uniform && src.iter().any(|v| g.offsets(*v).is_none_or(|o| o.iter().any(|o| *o != 0))) {
        // Which lane wins is the helper's business.
        let out = slow(g, e, mask.as_deref(), Some((&address, m.place.offset)));
        finish(g, e, out, stop);
        return;
    }
    let total = m.bytes as u64 * m.count as u64;
    let (join, found) = checked(g, e, &address, mask.as_deref(), &m.place, total);
    let (m, src, values) = match whole_words(g, &m, &src).filter(|_| !uniform) {
        Some(whole) => {
            let words = words_of_elements(g, &m, &values);
            (whole, src[..words.len()].to_vec(), words)
        }
        None => (m, src, values),
    };
    let join = join.unwrap_or_else(|| g.b.create_block());
    let whole = m.count == 1
        && (m.bytes >= 4 || g.form.words())
        && (g.kind(src[0]) == Kind::D) == (m.bytes == 8)
        && matches!(&found, Found::Linear(_, o) if unit_of(g, o, m.bytes as i64));
    // Masks of one bit a lane are no more work than none.
    let masks = g.form.bit_masks() && whole && m.bytes >= 4;
    let words_only = src.iter().all(|v| g.kind(*v) == Kind::W);
    let turned = words_only && matches!(&found, Found::Linear(_, o) if rows(g, &m, o));
    match &found {
        Found::Linear(host, _) if uniform => {
            for (i, v) in src.iter().enumerate() {
                let v = g.scalar(*v);
                store_one(g, &m, v, *host, i as i32 * m.bytes as i32);
            }
        }
        Found::Linear(host, o) if whole || turned => {
            let part = mask.as_ref().filter(|_| !masks).map(|mask| {
                let all = g.all_of(mask);
                let (on, part) = (g.b.create_block(), g.b.create_block());
                g.b.ins().brif(all, on, &[], part, &[]);
                g.b.switch_to_block(on);
                part
            });
            if turned {
                for (n, c) in o.chunks(g.per()).enumerate() {
                    let x: Vec<Value> = values.iter().map(|v| v[n]).collect();
                    let rows = if stays(g, e) { x } else { rows_of(g, &x) };
                    store_rows(g, &rows, *host, c[0] as i32);
                }
            } else {
                let kind = g.kind(src[0]);
                for (n, c) in o.chunks(g.form.per(kind)).enumerate() {
                    let on = mask.as_deref().filter(|_| masks);
                    let on = on.map(|on| if kind == Kind::D { g.half_mask(on, n) } else { on[n] });
                    store_row(g, values[0][n], *host, c[0] as i32, on, m.bytes.into());
                }
            }
            if let Some(part) = part {
                g.b.ins().jump(join, &[]);
                g.b.switch_to_block(part);
                store_lanes(g, &m, &found, mask.as_deref(), &src, &values);
            }
        }
        _ => store_lanes(g, &m, &found, mask.as_deref(), &src, &values),
    }
    g.b.ins().jump(join, &[]);
    g.b.switch_to_block(join);
    finish(g, e, Vec::new(), stop);
}

/// Lane by lane in lane order; lanes that are off write a scratch word.
pub(super) fn store_lanes(
    g: &mut Gen<'_, '_>,
    m: &Mem,
    found: &Found,
    mask: Option<&[Value]>,
    src: &[Val],
    values: &[Vec<Value>],
) {
    let words = src.iter().all(|v| g.kind(*v) == Kind::W);
    if let Some(whole) = pairs(g, m, found).filter(|_| words && scatters(g, m, found, mask)) {
        for (n, x) in values.chunks(2).enumerate() {
            let x = pairs_of(g, &x[0], &x[1]);
            scatter(g, &whole, Kind::D, found, mask, 8 * n as i32, &x);
        }
        return;
    }
    if words && gathers_narrow(g, m, found) {
        for (i, x) in values.iter().enumerate() {
            scatter_narrow(g, m, found, mask, i as i32 * i32::from(m.bytes), x);
        }
        return;
    }
    if gathers(g, m, found) && scatters(g, m, found, mask) {
        for (i, x) in values.iter().enumerate() {
            let step = i as i32 * i32::from(m.bytes);
            scatter(g, m, g.kind(src[i]), found, mask, step, x);
        }
        return;
    }
    let apart = apart(g, m);
    let bits = mask.map(|mask| g.bits_of(mask));
    for (l, (p, at)) in lanes(g, found, apart).into_iter().enumerate() {
        let (p, at) = match &bits {
            Some(bits) => (or_scratch(g, bits, l, p, at), 0),
            None => (p, at),
        };
        for (i, v) in values.iter().enumerate() {
            let x = g.lane(v, g.kind(src[i]), l);
            store_one(g, m, x, p, at + i as i32 * m.bytes as i32);
        }
    }
}
