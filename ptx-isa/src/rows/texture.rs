//! Texture and surface instructions (PTX ISA 9.7.10, 9.7.11) over [`crate::texture`].
//!
//! Textures have one mip level here, so that explicit levels and gradients select it.

use half::f16;

use crate::class::Class;
use crate::effect::{AtomOp, Fault, Flow, Machine, WarpOp};
use crate::meaning::{Cx, V};
use crate::row::{ROW, Row, Sem};
use crate::table::Match;
use crate::texture::{Address, Boundary, Channel, Texture};
use crate::types::{Kind, Space, ptx};
use crate::uop::Op;

const GEOMETRY: (&str, &str) = ("geom", ".1d .2d .3d");
const LAYERED: (&str, &str) = ("geom", ".a1d .a2d");
const CUBE: (&str, &str) = ("geom", ".cube .acube");
const MULTISAMPLE: (&str, &str) = ("geom", ".2dms .a2dms");
const DTYPE: (&str, &str) = ("dtype", ".u32 .s32 .f32 .f16");
const CTYPE: (&str, &str) = ("ctype", ".s32 .f32");
const COMPONENT: (&str, &str) = ("comp", ".r .g .b .a");
const COP: (&str, &str) = ("cop", ".ca .cg .cs .cv");
const STORE_COP: (&str, &str) = ("cop", ".wb .cg .cs .wt");
const SURFACE_TYPE: (&str, &str) = ("type", ".b8 .b16 .b32 .b64");
const CLAMP: (&str, &str) = ("clamp", ".trap .clamp .zero");
const REDUCTION: (&str, &str) = ("op", ".add .min .max .and .or");

const TEX: Row =
    Row { counts: Some(coordinates), section: "9.7.10.3", class: |_| Class::Texture, ..ROW };
const TLD4: Row = Row {
    counts: Some(coordinates),
    since: ptx(2, 2),
    sm: 20,
    section: "9.7.10.4",
    class: |_| Class::Texture,
    ..ROW
};
const SURFACE: Row =
    Row { counts: Some(coordinates), since: ptx(2, 0), sm: 20, class: |_| Class::Texture, ..ROW };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "tex.geom.v4.dtype.ctype d*4{|p}:dtype, [a:any, c*?:ctype]{, e*?:.s32}{, f:.f32}",
        sets: &[GEOMETRY, DTYPE, CTYPE],
        sem: Sem::Ops(tex),
        ..TEX
    },
    Row {
        syntax: "tex.geom.v4.dtype.ctype d*4{|p}:dtype, [a:any, b:any, c*?:ctype]{, e*?:.s32}{, f:.f32}",
        sets: &[GEOMETRY, DTYPE, CTYPE],
        since: ptx(1, 5),
        sem: Sem::Ops(tex),
        ..TEX
    },
    Row {
        syntax: "tex.geom.v4.dtype.ctype d*4{|p}:dtype, [a:any, c*?:any]{, e*?:.s32}{, f:.f32}",
        sets: &[LAYERED, DTYPE, CTYPE],
        since: ptx(2, 3),
        sm: 20,
        sem: Sem::Ops(tex),
        ..TEX
    },
    Row {
        syntax: "tex.geom.v4.dtype.ctype d*4{|p}:dtype, [a:any, b:any, c*?:any]{, e*?:.s32}{, f:.f32}",
        sets: &[LAYERED, DTYPE, CTYPE],
        since: ptx(2, 3),
        sm: 20,
        sem: Sem::Ops(tex),
        ..TEX
    },
    Row {
        syntax: "tex.geom.v4.dtype.f32 d*4{|p}:dtype, [a:any, c*4:any]{, f:.f32}",
        sets: &[CUBE, DTYPE],
        since: ptx(3, 0),
        sm: 20,
        sem: Sem::None,
        ..TEX
    },
    Row {
        syntax: "tex.geom.v4.dtype.s32 d*4{|p}:dtype, [a:any, c*4:any]",
        sets: &[MULTISAMPLE, DTYPE],
        since: ptx(3, 2),
        sm: 30,
        sem: Sem::None,
        ..TEX
    },
    Row {
        syntax: "tex.base.geom.v4.dtype.ctype d*4{|p}:dtype, [a:any, c*?:ctype]{, e*?:.s32}{, f:.f32}",
        sets: &[GEOMETRY, DTYPE, CTYPE],
        since: ptx(3, 1),
        sem: Sem::Ops(tex),
        ..TEX
    },
    Row {
        syntax: "tex.level.geom.v4.dtype.ctype d*4{|p}:dtype, [a:any, c*?:ctype], lod:ctype{, e*?:.s32}{, f:.f32}",
        sets: &[GEOMETRY, DTYPE, CTYPE],
        since: ptx(3, 1),
        sem: Sem::Ops(tex),
        ..TEX
    },
    Row {
        syntax: "tex.level.geom.v4.dtype.ctype d*4{|p}:dtype, [a:any, c*?:any], lod:ctype{, e*?:.s32}{, f:.f32}",
        sets: &[LAYERED, DTYPE, CTYPE],
        since: ptx(3, 1),
        sm: 20,
        sem: Sem::Ops(tex),
        ..TEX
    },
    Row {
        syntax: "tex.grad.geom.v4.dtype.f32 d*4{|p}:dtype, [a:any, c*?:.f32], x*?:.f32, y*?:.f32{, e*?:.s32}{, f:.f32}",
        sets: &[GEOMETRY, DTYPE],
        since: ptx(3, 1),
        sem: Sem::Ops(tex),
        ..TEX
    },
    Row {
        syntax: "tex.grad.geom.v4.dtype.f32 d*4{|p}:dtype, [a:any, c*?:any], x*?:.f32, y*?:.f32{, e*?:.s32}{, f:.f32}",
        sets: &[LAYERED, DTYPE],
        since: ptx(3, 1),
        sm: 20,
        sem: Sem::Ops(tex),
        ..TEX
    },
    Row {
        syntax: "tex.geom.v2.f16x2.ctype d*2{|p}:.f16x2, [a:any, c*?:ctype]",
        sets: &[GEOMETRY, CTYPE],
        since: ptx(4, 2),
        sm: 53,
        sem: Sem::Ops(tex_pairs),
        ..TEX
    },
    Row {
        syntax: "tld4.comp.2d.v4.dtype.f32 d*4{|p}:dtype, [a:any, c*?:.f32]{, e*?:.s32}{, f:.f32}",
        sets: &[COMPONENT, ("dtype", ".u32 .s32 .f32")],
        sem: Sem::Ops(tld4),
        ..TLD4
    },
    Row {
        syntax: "tld4.comp.2d.v4.dtype.f32 d*4{|p}:dtype, [a:any, b:any, c*?:.f32]{, e*?:.s32}{, f:.f32}",
        sets: &[COMPONENT, ("dtype", ".u32 .s32 .f32")],
        sem: Sem::Ops(tld4),
        ..TLD4
    },
    Row {
        syntax: "tld4.comp.a2d.v4.dtype.f32 d*4{|p}:dtype, [a:any, c*4:any]{, e*?:.s32}{, f:.f32}",
        sets: &[COMPONENT, ("dtype", ".u32 .s32 .f32")],
        since: ptx(4, 3),
        sm: 30,
        sem: Sem::Ops(tld4),
        ..TLD4
    },
    Row {
        syntax: "tld4.comp.geom.v4.dtype.f32 d*4{|p}:dtype, [a:any, c*4:any]",
        sets: &[COMPONENT, CUBE, ("dtype", ".u32 .s32 .f32")],
        since: ptx(4, 3),
        sm: 30,
        sem: Sem::None,
        ..TLD4
    },
    Row {
        syntax: "txq.query.b32 d, [a]",
        sets: &[(
            "query",
            ".width .height .depth .channel_data_type .channel_order .normalized_coords .array_size .num_mipmap_levels .num_samples .force_unnormalized_coords .filter_mode .addr_mode_0 .addr_mode_1 .addr_mode_2",
        )],
        since: ptx(1, 5),
        section: "9.7.10.5",
        sem: Sem::Ops(query),
        ..TEX
    },
    Row {
        syntax: "suq.query.b32 d, [a]",
        sets: &[(
            "query",
            ".width .height .depth .channel_data_type .channel_order .array_size .memory_layout",
        )],
        since: ptx(1, 5),
        section: "9.7.11.4",
        sem: Sem::Ops(query),
        sm: 0,
        ..SURFACE
    },
    Row {
        syntax: "suld.b.geom{.cop}{.vec}.type{.clamp} d*vec>, [a:any, b*?:.s32]",
        sets: &[GEOMETRY, COP, SURFACE_TYPE, CLAMP],
        section: "9.7.11.1",
        sem: Sem::Ops(suld),
        ..SURFACE
    },
    Row {
        syntax: "suld.b.geom{.cop}{.vec}.type{.clamp} d*vec>, [a:any, b*?:any]",
        sets: &[LAYERED, COP, SURFACE_TYPE, CLAMP],
        since: ptx(3, 0),
        section: "9.7.11.1",
        sem: Sem::Ops(suld),
        ..SURFACE
    },
    Row {
        syntax: "sust.b.geom{.cop}{.vec}.type{.clamp} [a:any, b*?:.s32], c*vec>",
        sets: &[GEOMETRY, STORE_COP, SURFACE_TYPE, CLAMP],
        section: "9.7.11.2",
        sem: Sem::Ops(sust),
        ..SURFACE
    },
    Row {
        syntax: "sust.b.geom{.cop}{.vec}.type{.clamp} [a:any, b*?:any], c*vec>",
        sets: &[LAYERED, STORE_COP, SURFACE_TYPE, CLAMP],
        since: ptx(3, 0),
        section: "9.7.11.2",
        sem: Sem::Ops(sust),
        ..SURFACE
    },
    Row {
        syntax: "sust.p.geom{.vec}.type{.clamp} [a:any, b*?:.s32], c*vec",
        sets: &[GEOMETRY, ("type", ".b32 .u32 .s32 .f32"), CLAMP],
        section: "9.7.11.2",
        sem: Sem::None,
        ..SURFACE
    },
    Row {
        syntax: "sured.b.op.geom.type{.clamp} [a:any, b*?:.s32], c",
        sets: &[REDUCTION, GEOMETRY, ("type", ".u32 .u64 .s32 .b32 .s64"), CLAMP],
        section: "9.7.11.3",
        sem: Sem::Ops(sured),
        ..SURFACE
    },
    Row {
        syntax: "sured.p.op.geom.type{.clamp} [a:any, b*?:.s32], c",
        sets: &[REDUCTION, GEOMETRY, ("type", ".b32 .b64"), CLAMP],
        section: "9.7.11.3",
        sem: Sem::None,
        ..SURFACE
    },
];

/// Elements of coordinate vectors.
fn coordinates(m: &Match, _: &str) -> u32 {
    match m.get("geom").unwrap_or(".2d") {
        ".1d" => 1,
        ".2d" | ".a1d" => 2,
        _ => 4,
    }
}

fn geometry(x: &Cx) -> (u32, bool) {
    match x.m.get("geom") {
        Some(".1d") => (1, false),
        Some(".3d") => (3, false),
        Some(".a1d") => (1, true),
        Some(".a2d") => (2, true),
        _ => (2, x.has(".a2d")),
    }
}

/// The handle of the object that operand `a` names.
fn handle(x: &mut Cx) -> V {
    let v = x.rd("a");
    if v.kind == Kind::W { x.op1(Op::ZextWD, v) } else { v }
}

/// Bits of the first constant of the warp operations of this family.
const INTEGER: u32 = 8;
const ARRAY: u32 = 16;
const OFFSET: u32 = 32;

fn tex_results(x: &mut Cx) -> Vec<V> {
    let (dimensions, layered) = geometry(x);
    let integer = x.m.get("ctype") == Some(".s32");
    let mut flags =
        dimensions | if layered { ARRAY } else { 0 } | if integer { INTEGER } else { 0 };
    let mut src = vec![handle(x)];
    src.extend(x.rd_vec("c"));
    src.truncate(1 + (dimensions + u32::from(layered)) as usize);
    if x.m.shape.slots.iter().any(|s| s.name == "e") && x.given("e") {
        flags |= OFFSET;
        let offset = x.rd_vec("e");
        src.extend(offset.into_iter().take(dimensions as usize));
    }
    x.warp("tex", sample, [flags, 0, 0, 0], &src, &[Kind::W; 4])
}

/// Every texel is resident.
fn resident(x: &mut Cx) {
    x.wr_second("d", V::p(true));
}

fn tex(x: &mut Cx) {
    let mut values = tex_results(x);
    if x.m.get("dtype") == Some(".f16") {
        values = values.into_iter().map(|v| to_half(x, v)).collect();
    }
    x.wr_vec("d", &values);
    resident(x);
}

fn tex_pairs(x: &mut Cx) {
    let values = tex_results(x);
    let halves: Vec<V> = values.into_iter().map(|v| to_half(x, v)).collect();
    let low = x.op2(Op::Pack16, halves[0], halves[1]);
    let high = x.op2(Op::Pack16, halves[2], halves[3]);
    x.wr_vec("d", &[low, high]);
    resident(x);
}

/// A fetched float rounded to half precision, to nearest even.
fn to_half(x: &mut Cx, v: V) -> V {
    x.warp("tex.f16", halve, [0; 4], &[v], &[Kind::W])[0]
}

fn halve(m: &mut dyn Machine, _: &WarpOp) -> Result<Flow, Fault> {
    let v = m.src_w(0).map(|bits| u32::from(f16::from_f32(f32::from_bits(bits)).to_bits()));
    m.set_w(0, &v);
    Ok(Flow::Next)
}

fn tld4(x: &mut Cx) {
    let (_, layered) = geometry(x);
    let component = match x.get("comp") {
        ".g" => 1,
        ".b" => 2,
        ".a" => 3,
        _ => 0,
    };
    let mut flags = 2 | if layered { ARRAY } else { 0 };
    let mut src = vec![handle(x)];
    src.extend(x.rd_vec("c"));
    src.truncate(3 + usize::from(layered));
    if x.given("e") {
        flags |= OFFSET;
        let offset = x.rd_vec("e");
        src.extend(offset.into_iter().take(2));
    }
    let values = x.warp("tld4", gather, [flags, component, 0, 0], &src, &[Kind::W; 4]);
    x.wr_vec("d", &values);
    resident(x);
}

/// The lanes of `mask`.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

fn no_object(lane: usize, what: &str, handle: u64) -> Fault {
    Fault::Operand {
        lane: lane as u8,
        message: format!("{handle:#x} is not the handle of a {what}"),
    }
}

/// The coordinates of every lane and the layer, from the sources after the handle.
struct Coordinates {
    words: [[u32; 32]; 3],
    layers: [u32; 32],
    offsets: [[u32; 32]; 3],
}

impl Coordinates {
    fn read(m: &dyn Machine, flags: u32) -> Coordinates {
        let dimensions = (flags & 7) as usize;
        let mut next = 1;
        let mut source = || {
            next += 1;
            m.src_w(next - 1)
        };
        let layers = if flags & ARRAY != 0 { source() } else { [0; 32] };
        let mut words = [[0; 32]; 3];
        words[..dimensions].iter_mut().for_each(|w| *w = source());
        let mut offsets = [[0; 32]; 3];
        if flags & OFFSET != 0 {
            offsets[..dimensions].iter_mut().for_each(|o| *o = source());
        }
        Coordinates { words, layers, offsets }
    }
    fn integers(&self, lane: usize) -> [i32; 3] {
        std::array::from_fn(|d| {
            (self.words[d][lane] as i32).wrapping_add(self.offsets[d][lane] as i32)
        })
    }
    /// Floating-point coordinates; texel offsets are added in the texture's unit.
    fn floats(&self, lane: usize, texture: &Texture) -> [f32; 3] {
        std::array::from_fn(|d| {
            let unit = if texture.normalized { 1.0 / texture.size[d] as f32 } else { 1.0 };
            let offset = self.offsets[d][lane] as i32;
            let at = f32::from_bits(self.words[d][lane]);
            if offset == 0 { at } else { at + offset as f32 * unit }
        })
    }
}

fn sample(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let flags = op.k[0];
    fetch_lanes(m, flags, &|texture, at, lane, read| {
        let layer = at.layers[lane];
        if flags & INTEGER != 0 {
            texture.fetch(at.integers(lane), layer, read)
        } else {
            texture.sample(at.floats(lane, texture), layer, read)
        }
    })
}

fn gather(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let component = op.k[1] as usize;
    fetch_lanes(m, op.k[0], &|texture, at, lane, read| {
        let [x, y, _] = at.floats(lane, texture);
        texture.gather(component, [x, y], at.layers[lane], read)
    })
}

type ReadMemory<'a> = crate::texture::Read<'a, Fault>;
type FetchLane<'a> =
    dyn Fn(&Texture, &Coordinates, usize, &mut ReadMemory<'_>) -> Result<[u32; 4], Fault> + 'a;

fn fetch_lanes(m: &mut dyn Machine, flags: u32, fetch: &FetchLane<'_>) -> Result<Flow, Fault> {
    let handles = m.src_d(0);
    let at = Coordinates::read(m, flags);
    let mut out = [[0; 32]; 4];
    for lane in lanes(m.mask()) {
        let texture =
            m.texture(handles[lane]).ok_or_else(|| no_object(lane, "texture", handles[lane]))?;
        let read =
            &mut |address: u64, bytes: &mut [u8]| m.read(lane as u8, Space::Global, address, bytes);
        let texel = fetch(&texture, &at, lane, read)?;
        for (out, value) in out.iter_mut().zip(texel) {
            out[lane] = value;
        }
    }
    for (i, values) in out.iter().enumerate() {
        m.set_w(i, values);
    }
    Ok(Flow::Next)
}

fn query(x: &mut Cx) {
    let base = x.addr("a").base;
    let base = if base.kind == Kind::W { x.op1(Op::ZextWD, base) } else { base };
    let sets = x.m.row.sets[0].1;
    let wanted = x.get("query");
    let index = sets.split_ascii_whitespace().position(|q| q == wanted).unwrap_or(0);
    let surface = u32::from(x.m.shape.mnemonic == "suq");
    let v = x.warp("txq", answer, [index as u32, surface, 0, 0], &[base], &[Kind::W])[0];
    x.wr("d", v);
}

/// Order of the queries in the row of `txq`; `suq` has the first five, then its own.
fn answer(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let handles = m.src_d(0);
    let mut out = [0; 32];
    for lane in lanes(m.mask()) {
        let t =
            m.texture(handles[lane]).ok_or_else(|| no_object(lane, "texture", handles[lane]))?;
        let mode = |d: usize| match t.address[d] {
            Address::Wrap => 0,
            Address::Mirror => 1,
            Address::Clamp => 2,
            Address::Border => 3,
        };
        out[lane] = match (op.k[1], op.k[0]) {
            (_, 0) => t.size[0],
            (_, 1) => t.size[1],
            (_, 2) => t.size[2],
            (_, 3) => data_type(&t),
            // The values of OpenCL's CL_R, CL_RG, CL_RGBA.
            (_, 4) => [0x10b0, 0x10b2, 0x10b5][t.channels.trailing_zeros().min(2) as usize],
            (0, 5) => u32::from(t.normalized),
            (0, 6) | (1, 5) => t.layers,
            (0, 7) | (0, 8) => 1,
            (0, 9) => u32::from(!t.normalized),
            (0, 10) => u32::from(t.linear),
            (0, d @ 11..=13) => mode(d as usize - 11),
            _ => 0,
        };
    }
    m.set_w(0, &out);
    Ok(Flow::Next)
}

/// The values of OpenCL's channel data types.
fn data_type(t: &Texture) -> u32 {
    match (t.channel, t.read_normalized) {
        (Channel::S8, true) => 0x10d0,
        (Channel::S16, true) => 0x10d1,
        (Channel::U8, true) => 0x10d2,
        (Channel::U16, true) => 0x10d3,
        (Channel::S8, false) => 0x10d7,
        (Channel::S16, false) => 0x10d8,
        (Channel::S32, _) => 0x10d9,
        (Channel::U8, false) => 0x10da,
        (Channel::U16, false) => 0x10db,
        (Channel::U32, _) => 0x10dc,
        (Channel::F16, _) => 0x10dd,
        (Channel::F32, _) => 0x10de,
    }
}

/// Handle and coordinates of a surface access, and its first constant.
fn surface(x: &mut Cx) -> (Vec<V>, u32) {
    let (dimensions, layered) = geometry(x);
    let boundary = match x.m.get("clamp") {
        Some(".clamp") => 1,
        Some(".zero") => 2,
        _ => 0,
    };
    let mut src = vec![handle(x)];
    src.extend(x.rd_vec("b"));
    src.truncate(1 + (dimensions + u32::from(layered)) as usize);
    (src, dimensions | if layered { ARRAY } else { 0 } | boundary << 8)
}

fn boundary(flags: u32) -> Boundary {
    match flags >> 8 {
        1 => Boundary::Clamp,
        2 => Boundary::Zero,
        _ => Boundary::Trap,
    }
}

/// Byte x, row, and plane or layer.
fn surface_place(at: &Coordinates, lane: usize, flags: u32) -> [i32; 3] {
    let [x, y, z] = at.integers(lane);
    if flags & ARRAY != 0 { [x, y, at.layers[lane] as i32] } else { [x, y, z] }
}

fn outside(lane: usize, place: [i32; 3]) -> Fault {
    let [x, y, z] = place;
    let message = format!("byte {x} of row {y}, plane {z} is outside the surface");
    Fault::Operand { lane: lane as u8, message }
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

fn load(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let [flags, count, bytes, _] = op.k;
    let handles = m.src_d(0);
    let at = Coordinates::read(m, flags);
    let mut out = [[0u64; 32]; 4];
    for lane in lanes(m.mask()) {
        let t =
            m.texture(handles[lane]).ok_or_else(|| no_object(lane, "surface", handles[lane]))?;
        let place = surface_place(&at, lane, flags);
        let mut data = [0; 32];
        let size = (count * bytes) as usize;
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
    let (mut src, flags) = surface(x);
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
    let handles = m.src_d(0);
    let at = Coordinates::read(m, flags);
    let values: Vec<[u64; 32]> = (0..count).map(|i| wide(m, (first + i) as usize, bytes)).collect();
    for lane in lanes(m.mask()) {
        let t =
            m.texture(handles[lane]).ok_or_else(|| no_object(lane, "surface", handles[lane]))?;
        let place = surface_place(&at, lane, flags);
        let mut data = Vec::with_capacity((count * bytes) as usize);
        for value in &values {
            data.extend(&value[lane].to_le_bytes()[..bytes as usize]);
        }
        t.surface_write(place, boundary(flags), &data).ok_or_else(|| outside(lane, place))?;
    }
    Ok(Flow::Next)
}

const REDUCTIONS: [&str; 5] = [".add", ".min", ".max", ".and", ".or"];

fn sured(x: &mut Cx) {
    let (mut src, flags) = surface(x);
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
    let handles = m.src_d(0);
    let at = Coordinates::read(m, flags);
    let values = wide(m, first as usize, bytes);
    let op = match (operation & 0xff, operation >> 8 != 0) {
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
        let place = surface_place(&at, lane, flags);
        let value = values[lane];
        let update = |old: u64| op.apply(bytes as u8, false, old, value, 0);
        t.surface_update(place, boundary(flags), bytes as usize, update)
            .ok_or_else(|| outside(lane, place))?;
    }
    Ok(Flow::Next)
}
