//! Surface loads, stores and reductions (PTX ISA 9.7.11) over [`crate::texture`].

use super::texture::{
    ARRAY, Coordinates, FORMATTED, GEOMETRY, LAYERED, SURFACE, boundary, handles, lanes, no_object,
    surface,
};
use crate::effect::{ArrayTouch, AtomOp, Fault, Flow, Machine, WarpOp};
use crate::matched::Match;
use crate::meaning::Cx;
use crate::row::{Exactness, Row, Sem, floor};
use crate::texture::{Channel, Texture};
use crate::types::{Kind, Ty, ptx};

const COP: (&str, &str) = ("cop", ".ca .cg .cs .cv");
const STORE_COP: (&str, &str) = ("cop", ".wb .cg .cs .wt");
const SURFACE_TYPE: (&str, &str) = ("type", ".b8 .b16 .b32 .b64");
const CLAMP: (&str, &str) = ("clamp", ".trap .clamp .zero");
const REDUCTION: (&str, &str) = ("op", ".add .min .max .and .or");

const SULD: Row =
    Row { does: "Loads from a surface.", section: "9.7.11.1", check: Some(short), ..SURFACE };
const SUST: Row =
    Row { does: "Stores to a surface.", section: "9.7.11.2", check: Some(short), ..SURFACE };
const SURED: Row = Row {
    does: "Updates a word of a surface atomically.",
    section: "9.7.11.3",
    check: Some(reduced),
    ..SURFACE
};

const FORMATS: Exactness = Exactness::Recorded("surface formats, H100");

/// A vector has 128 bits at most.
fn short(m: &Match) -> Result<(), String> {
    match (m.get("vec"), m.ty("type")) {
        (Some(".v4"), Some(Ty::B64)) => Err("a vector has 128 bits at most".into()),
        _ => Ok(()),
    }
}

/// Operations of unformatted (`.b`) and formatted reductions with the types that they take.
fn reduced(m: &Match) -> Result<(), String> {
    let (op, ty) = (m.get("op").unwrap_or(""), m.ty("type").unwrap_or(Ty::B32));
    let legal: &[Ty] = match (m.has(".p"), op) {
        (true, ".min" | ".max") => &[Ty::B32, Ty::B64],
        (true, _) | (false, ".and" | ".or") => &[Ty::B32],
        (false, ".add") => &[Ty::U32, Ty::S32, Ty::U64],
        // Those of 64 bits are newer, and have a row of their own.
        _ if m.row.since >= ptx(8, 1) => &[Ty::U64, Ty::S64],
        _ => &[Ty::U32, Ty::S32],
    };
    if legal.contains(&ty) { Ok(()) } else { Err(format!("`{op}` does not take type `{ty}`")) }
}

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "suld.b.geom{.cop}{.vec}.type.clamp d*vec+>, [a:.surfref, b*+:.s32]",
        sets: &[GEOMETRY, COP, SURFACE_TYPE, CLAMP],
        sem: Sem::Ops(suld),
        ..SULD
    },
    Row {
        syntax: "suld.b.geom{.cop}{.vec}.type.clamp d*vec+>, [a:.surfref, b*+:.s32]",
        sets: &[LAYERED, COP, SURFACE_TYPE, CLAMP],
        since: ptx(3, 0),
        sem: Sem::Ops(suld),
        ..SULD
    },
    Row {
        syntax: "sust.b.geom{.cop}{.vec}.type.clamp [a:.surfref, b*+:.s32], c*vec+>",
        sets: &[GEOMETRY, STORE_COP, SURFACE_TYPE, CLAMP],
        sem: Sem::Ops(sust),
        ..SUST
    },
    Row {
        syntax: "sust.b.geom{.cop}{.vec}.type.clamp [a:.surfref, b*+:.s32], c*vec+>",
        sets: &[LAYERED, STORE_COP, SURFACE_TYPE, CLAMP],
        since: ptx(3, 0),
        sem: Sem::Ops(sust),
        ..SUST
    },
    Row {
        syntax: "sust.p.geom{.vec}.type.clamp [a:.surfref, b*+:.s32], c*vec+>",
        sets: &[GEOMETRY, ("type", ".b32"), CLAMP],
        exact: FORMATS,
        sem: Sem::Ops(sust),
        ..SUST
    },
    Row {
        syntax: "sured.b.op.geom.type.clamp [a:.surfref, b*+:.s32], c>",
        sets: &[REDUCTION, GEOMETRY, ("type", ".u32 .u64 .s32 .b32 .s64"), CLAMP],
        sem: Sem::Ops(sured),
        ..SURED
    },
    Row {
        syntax: "sured.b.op.geom.type.clamp [a:.surfref, b*+:.s32], c>",
        sets: &[("op", ".min .max"), GEOMETRY, ("type", ".u64 .s64"), CLAMP],
        since: ptx(8, 1),
        sem: Sem::Ops(sured),
        ..SURED
    },
    Row {
        syntax: "sured.p.op.geom.type.clamp [a:.surfref, b*+:.s32], c>",
        sets: &[REDUCTION, GEOMETRY, ("type", ".b32 .b64"), CLAMP],
        floors: &[floor(".b64", ptx(8, 1), 0)],
        exact: FORMATS,
        sem: Sem::Ops(sured),
        ..SURED
    },
];

/// Byte x, row, and plane or layer.
fn surface_place(at: &Coordinates, lane: usize, flags: u32, texel: usize) -> [i32; 3] {
    let [x, y, z] = at.integers(lane);
    let x = if flags & FORMATTED != 0 { x.saturating_mul(texel as i32) } else { x };
    if flags & ARRAY != 0 { [x, y, at.layers[lane] as i32] } else { [x, y, z] }
}

fn outside(lane: usize, place: [i32; 3]) -> Fault {
    let [x, y, z] = place;
    let message = format!("byte {x} of row {y}, plane {z} is outside the surface");
    Fault::operand(lane, message)
}

/// Elements of an access and bytes of each.
fn elements(x: &Cx) -> (usize, u32) {
    let count = x.m.get("vec").and_then(|v| v[2..].parse().ok()).unwrap_or(1);
    (count, x.ty().bits() / 8)
}

fn suld(x: &mut Cx) {
    let (src, flags) = surface(x);
    let (count, bytes) = elements(x);
    let kind = if bytes == 8 { Kind::D } else { Kind::W };
    let k = [flags, count as u32, bytes, 0];
    let values = x.warp("suld", load, k, &src, &vec![kind; count]);
    x.wr_vec("d", &values);
}

/// Tells that a lane touches the array of a surface, unless the access has no effect.
fn touch(
    m: &mut dyn Machine,
    lane: usize,
    handle: u64,
    (surface, place, flags): (&Texture, [i32; 3], u32),
    bytes: usize,
    touch: ArrayTouch,
) -> Result<(), Fault> {
    match surface.surface_offset(place, boundary(flags), bytes) {
        Some(Some(offset)) => {
            m.touches_array(lane as u8, handle, offset as u64, bytes as u32, touch)
        }
        Some(None) => Ok(()),
        None => Err(outside(lane, place)),
    }
}

fn load(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [flags, count, bytes, _] = op.k;
    let handles = handles(m);
    let at = Coordinates::read(m, flags);
    let mut out = [[0u64; 32]; 4];
    for lane in lanes(m.mask()) {
        let t =
            m.texture(handles[lane]).ok_or_else(|| no_object(lane, "surface", handles[lane]))?;
        let place = surface_place(&at, lane, flags, t.texel_bytes());
        let mut data = [0; 32];
        let size = (count * bytes) as usize;
        touch(m, lane, handles[lane], (&t, place, flags), size, ArrayTouch::Read)?;
        t.surface_read(place, boundary(flags), &mut data[..size])
            .ok_or_else(|| outside(lane, place))?;
        for (out, element) in out.iter_mut().zip(data[..size].chunks(bytes as usize)) {
            let mut word = [0; 8];
            word[..element.len()].copy_from_slice(element);
            out[lane] = u64::from_le_bytes(word);
        }
    }
    for (i, values) in out.iter().enumerate().take(count as usize) {
        if bytes == 8 {
            m.set_d(i, values);
        } else {
            m.set_w(i, &values.map(|v| v as u32));
        }
    }
    Ok(Flow::Next)
}

fn sust(x: &mut Cx) {
    let (mut src, mut flags) = surface(x);
    if x.has(".p") {
        flags |= FORMATTED;
    }
    let (count, bytes) = elements(x);
    let first = src.len() as u32;
    src.extend(x.rd_vec("c"));
    x.warp("sust", store, [flags, count as u32, bytes, first], &src, &[]);
}

/// Source `i` as 64 bits.
fn wide(m: &dyn Machine, i: usize, bytes: u32) -> [u64; 32] {
    if bytes == 8 { m.src_d(i) } else { m.src_w(i).map(u64::from) }
}

fn store(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [flags, count, bytes, first] = op.k;
    let handles = handles(m);
    let at = Coordinates::read(m, flags);
    let values: Vec<[u64; 32]> = (0..count).map(|i| wide(m, (first + i) as usize, bytes)).collect();
    // Of lanes that write the same texel the first one wins (H100); it is the first one's fault that is reported, too.
    let mut outcome = Ok(Flow::Next);
    for lane in lanes(m.mask()).rev() {
        let numbers: Vec<u64> = values.iter().map(|value| value[lane]).collect();
        if let Err(fault) = store_lane(m, lane, handles[lane], (&at, flags), (&numbers, bytes)) {
            outcome = Err(fault);
        }
    }
    outcome
}

/// Writes the texel, or bytes, of one lane.
fn store_lane(
    m: &mut dyn Machine,
    lane: usize,
    handle: u64,
    (at, flags): (&Coordinates, u32),
    (values, bytes): (&[u64], u32),
) -> Result<(), Fault> {
    let t = m.texture(handle).ok_or_else(|| no_object(lane, "surface", handle))?;
    let place = surface_place(at, lane, flags, t.texel_bytes());
    let mut data = Vec::with_capacity(values.len() * bytes as usize);
    if flags & FORMATTED != 0 {
        // Numbers that the texel has no component for are ignored, components without a number become 0.
        for c in 0..usize::from(t.channels) {
            let number = values.get(c).map_or(0, |value| *value as u32);
            let size = t.channel.bytes();
            data.extend(&t.channel.component(number).to_le_bytes()[..size]);
        }
    } else {
        for value in values {
            data.extend(&value.to_le_bytes()[..bytes as usize]);
        }
    }
    touch(m, lane, handle, (&t, place, flags), data.len(), ArrayTouch::Write)?;
    t.surface_write(place, boundary(flags), &data).ok_or_else(|| outside(lane, place))
}

const REDUCTIONS: [&str; 5] = [".add", ".min", ".max", ".and", ".or"];

fn sured(x: &mut Cx) {
    let (mut src, mut flags) = surface(x);
    if x.has(".p") {
        flags |= FORMATTED;
    }
    let first = src.len() as u32;
    src.push(x.rd("c"));
    let ty = x.ty();
    let wanted = x.get("op");
    let operation = REDUCTIONS.iter().position(|o| *o == wanted).unwrap_or(0) as u32;
    let signed = u32::from(ty.name().starts_with('s'));
    x.warp("sured", reduce, [flags, operation | signed << 8, ty.bits() / 8, first], &src, &[]);
}

fn reduce(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [flags, operation, bytes, first] = op.k;
    let handles = handles(m);
    let at = Coordinates::read(m, flags);
    let values = wide(m, first as usize, bytes);
    let action = |signed: bool| match (operation & 0xff, signed) {
        (0, _) => AtomOp::Add,
        (1, true) => AtomOp::MinS,
        (2, true) => AtomOp::MaxS,
        (1, false) => AtomOp::MinU,
        (2, false) => AtomOp::MaxU,
        (3, _) => AtomOp::And,
        (_, _) => AtomOp::Or,
    };
    for lane in lanes(m.mask()) {
        let t =
            m.texture(handles[lane]).ok_or_else(|| no_object(lane, "surface", handles[lane]))?;
        // A sample is as long as the number that is reduced, whatever the texels are.
        let place = surface_place(&at, lane, flags, bytes as usize);
        let value = values[lane];
        let signed = match flags & FORMATTED != 0 {
            true => matches!(t.channel, Channel::S8 | Channel::S16 | Channel::S32),
            false => operation >> 8 != 0,
        };
        let update = |old: u64| action(signed).apply(bytes as u8, false, old, value, 0);
        touch(m, lane, handles[lane], (&t, place, flags), bytes as usize, ArrayTouch::Update)?;
        t.surface_update(place, boundary(flags), bytes as usize, update)
            .ok_or_else(|| outside(lane, place))?;
    }
    Ok(Flow::Next)
}
