//! `tex` (PTX ISA 9.7.10.3) over [`crate::texture`].
//!
//! Levels and gradients choose among the levels of a mipmapped texture.

use crate::class::Class;
use crate::effect::{Accessor, ArrayTouch, Fault, Flow, Machine, WarpOp};
use crate::matched::Match;
use crate::meaning::{Cx, V};
use crate::row::{Exactness, Floor, ROW, Row, Sem, floor};
use crate::texture::{Boundary, Detail, HANDLE, TexelSource, Texture, cube_face};
use crate::types::{Kind, Space, ptx};
use crate::uop::Op;
use half::f16;

const PLANE: (&str, &str) = ("geom", ".1d .2d");
pub(super) const GEOMETRY: (&str, &str) = ("geom", ".1d .2d .3d");
pub(super) const LAYERED: (&str, &str) = ("geom", ".a1d .a2d");
pub(super) const CUBE: (&str, &str) = ("geom", ".cube .acube");
const MULTISAMPLE: (&str, &str) = ("geom", ".2dms .a2dms");
const DTYPE: (&str, &str) = ("dtype", ".u32 .s32 .f32 .f16 .f16x2");
const CTYPE: (&str, &str) = ("ctype", ".s32 .f32");
/// Integer coordinates, which take no depth to compare with.
const WHOLE: (&str, &str) = ("ctype", ".s32");
const NUMBER: (&str, &str) = ("ctype", ".f32");
pub(super) const TEX: Row = Row {
    does: "Samples a texture.",
    counts: Some(coordinates),
    section: "9.7.10.3",
    class: |_| Class::Texture,
    layer,
    unsampled,
    scalars,
    ..ROW
};
const TEXELS: Row = Row { floors: FLOORS, check: Some(texels), sem: Sem::Ops(tex), ..TEX };
const ARRAYS: Row = Row { since: ptx(2, 3), sm: 20, ..TEXELS };
const CUBES: Row = Row { since: ptx(3, 0), sm: 20, exact: OBJECTS, ..TEXELS };
/// What textures return that earlier recordings do not have.
pub(super) const OBJECTS: Exactness = Exactness::Recorded("texture objects, H100");
pub(super) const SURFACE: Row = Row {
    counts: Some(coordinates),
    since: ptx(2, 0),
    sm: 20,
    class: |_| Class::Texture,
    scalars: |m, name| {
        name == "b" && !(m.has(".p") && m.get("geom") == Some(".3d") && m.get("vec") == Some(".v4"))
    },
    ..ROW
};
const FLOORS: &[Floor] =
    &[floor(".base .level .grad", ptx(3, 1), 0), floor(".f16 .f16x2", ptx(4, 2), 53)];

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "tex{.base}.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:ctype]{, e*~:.s32}{, f:.f32}",
        sets: &[PLANE, DTYPE, NUMBER],
        ..TEXELS
    },
    Row {
        syntax: "tex{.base}.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:ctype]{, e*~:.s32}",
        sets: &[PLANE, DTYPE, WHOLE],
        ..TEXELS
    },
    Row {
        syntax: "tex{.base}.3d.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*4:ctype]{, e*4:.s32}{, #n:.s32}",
        sets: &[DTYPE, CTYPE],
        ..TEXELS
    },
    Row {
        syntax: "tex{.base}.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:any]{, e*~:.s32}{, f:.f32}",
        sets: &[LAYERED, DTYPE, NUMBER],
        ..ARRAYS
    },
    Row {
        syntax: "tex{.base}.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:any]{, e*~:.s32}",
        sets: &[LAYERED, DTYPE, WHOLE],
        ..ARRAYS
    },
    Row {
        syntax: "tex{.base}.geom.vec.dtype.f32 d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*4:any]{, n:.s32}{, f:.f32}",
        sets: &[CUBE, DTYPE],
        ..CUBES
    },
    Row {
        syntax: "tex{.base}.geom.v4.dtype.s32 d*4{|p}:dtype, [a:.texref{, b:.samplerref}, c*4:any]{, e*~:.s32}",
        sets: &[MULTISAMPLE, ("dtype", ".u32 .s32 .f32 .f16")],
        since: ptx(3, 2),
        sm: 30,
        floors: FLOORS,
        exact: OBJECTS,
        sem: Sem::Ops(multisampled),
        ..TEX
    },
    Row {
        syntax: "tex.level.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:ctype], lod*+:ctype{, e*~:.s32}{, f:.f32}",
        sets: &[PLANE, DTYPE, NUMBER],
        ..TEXELS
    },
    Row {
        syntax: "tex.level.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:ctype], lod*+:ctype{, e*~:.s32}",
        sets: &[PLANE, DTYPE, WHOLE],
        ..TEXELS
    },
    Row {
        syntax: "tex.level.3d.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*4:ctype], lod*+:ctype{, e*4:.s32}{, #n:.s32}",
        sets: &[DTYPE, CTYPE],
        ..TEXELS
    },
    Row {
        syntax: "tex.level.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:any], lod*+:ctype{, e*~:.s32}{, f:.f32}",
        sets: &[LAYERED, DTYPE, NUMBER],
        ..ARRAYS
    },
    Row {
        syntax: "tex.level.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:any], lod*+:ctype{, e*~:.s32}",
        sets: &[LAYERED, DTYPE, WHOLE],
        ..ARRAYS
    },
    Row {
        syntax: "tex.level.geom.vec.dtype.f32 d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*4:any], lod*+:.f32{, n:.s32}{, f:.f32}",
        sets: &[CUBE, DTYPE],
        ..CUBES
    },
    Row {
        syntax: "tex.grad.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:ctype], x*!:.f32, y*!:.f32{, e*~:.s32}{, f:.f32}",
        sets: &[PLANE, DTYPE, NUMBER],
        ..TEXELS
    },
    Row {
        syntax: "tex.grad.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:ctype], x*!:.f32, y*!:.f32{, e*~:.s32}",
        sets: &[PLANE, DTYPE, WHOLE],
        ..TEXELS
    },
    Row {
        syntax: "tex.grad.3d.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*4:ctype], x*4:.f32, y*4:.f32{, e*4:.s32}{, #n:.s32}",
        sets: &[DTYPE, CTYPE],
        ..TEXELS
    },
    Row {
        syntax: "tex.grad.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:any], x*!:.f32, y*!:.f32{, e*~:.s32}{, f:.f32}",
        sets: &[LAYERED, DTYPE, NUMBER],
        ..ARRAYS
    },
    Row {
        syntax: "tex.grad.geom.vec.dtype.ctype d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:any], x*!:.f32, y*!:.f32{, e*~:.s32}",
        sets: &[LAYERED, DTYPE, WHOLE],
        ..ARRAYS
    },
    Row {
        syntax: "tex.grad.geom.vec.dtype.f32 d*vec{|p}:dtype, [a:.texref{, b:.samplerref}, c*4:any], x*!+:.f32, y*!+:.f32{, f:.f32}",
        sets: &[CUBE, DTYPE],
        ..CUBES
    },
];

/// Four numbers, or two pairs of halves.
fn texels(m: &Match) -> Result<(), String> {
    match (m.get("dtype"), m.get("vec")) {
        (Some(".f16x2"), Some(".v4")) => Err("pairs of halves come as `.v2`".into()),
        (Some(".f16x2"), _) | (_, Some(".v4")) => Ok(()),
        (dtype, _) => Err(format!("`{}` comes as `.v4`", dtype.unwrap_or(""))),
    }
}

/// The element that is the number of a layer.
pub(super) fn layer(m: &Match) -> Option<usize> {
    match m.get("geom") {
        Some(".a1d" | ".a2d" | ".acube") => Some(0),
        Some(".a2dms") => Some(1),
        None if m.has(".a2d") => Some(0),
        _ => None,
    }
}

/// Whether ptxas 13.5 takes one register for the coordinates.
pub(super) fn scalars(m: &Match, name: &str) -> bool {
    name == "c" && layer(m).is_none() && m.get("geom") != Some(".2dms")
}

/// From which targets on ptxas 13.5 takes no sampler of its own.
pub(super) fn unsampled(m: &Match, level: usize) -> Option<u16> {
    match m.get("geom") {
        Some(".acube") => Some(0),
        // With a vector for the level, it sees cubes and no longer 3-D textures.
        Some(".cube") if level > 0 => Some(0),
        _ if m.has(".3d") && level == 4 => None,
        _ if m.has(".level") => m.has(".3d").then_some(0),
        Some(".cube") => Some(0),
        _ if !m.has(".grad") => None,
        Some(".1d" | ".2d") => None,
        Some(".a1d" | ".a2d") => Some(0),
        _ => Some(90),
    }
}

/// Elements of the vectors of coordinates, offsets and gradients.
pub(super) fn coordinates(m: &Match, name: &str) -> u32 {
    let geometry = m
        .get("geom")
        .or_else(|| [".3d", ".2d", ".a2d"].into_iter().find(|literal| m.has(literal)))
        .unwrap_or(".2d");
    if name == "lod" {
        return 1;
    }
    // Offsets and gradients leave the layer out.
    let layer = !matches!(name, "e" | "x" | "y");
    match geometry {
        ".1d" => 1,
        ".a1d" => 1 + u32::from(layer),
        ".2d" => 2,
        ".a2d" => 2 + 2 * u32::from(layer),
        ".2dms" | ".a2dms" if !layer => 2,
        // Any gradient of a cube, which has three elements that matter.
        _ if !layer && name != "e" && m.get("geom").is_some_and(|g| g.ends_with("cube")) => 1,
        _ => 4,
    }
}

pub(super) fn geometry(x: &Cx) -> (u32, bool) {
    match x.m.get("geom") {
        Some(".1d") => (1, false),
        Some(".3d") => (3, false),
        None if x.has(".3d") => (3, false),
        Some(".a1d") => (1, true),
        Some(".a2d") => (2, true),
        // A direction.
        Some(".cube") => (3, false),
        Some(".acube") => (3, true),
        _ => (2, x.has(".a2d")),
    }
}

/// The handle of the object that operand `a` names.
pub(super) fn handle(x: &mut Cx) -> V {
    let v = x.rd("a");
    if v.kind == Kind::W { x.op1(Op::ZextWD, v) } else { v }
}

/// Bits of the first constant of the warp operations of this family.
const INTEGER: u32 = 8;

pub(super) const ARRAY: u32 = 16;

pub(super) const OFFSET: u32 = 32;

/// The coordinates are a direction, which selects a face.
pub(super) const FACES: u32 = 64;

/// The coordinates count texels and not bytes.
pub(super) const FORMATTED: u32 = 128;

/// The last source is the number of a sample.
const SAMPLES: u32 = 1 << 16;

/// The last source is a level of detail.
const LEVEL: u32 = 1 << 17;

/// The last sources are two gradients.
const GRADIENTS: u32 = 1 << 18;

/// Whether the geometry is that of cube maps.
pub(super) fn faces(x: &Cx) -> u32 {
    let cube = x.m.get("geom").is_some_and(|g| g.ends_with("cube"));
    if cube { FACES } else { 0 }
}

fn tex_results(x: &mut Cx) -> Vec<V> {
    let (dimensions, layered) = geometry(x);
    let integer = x.m.get("ctype") == Some(".s32");
    let mut flags =
        dimensions | if layered { ARRAY } else { 0 } | if integer { INTEGER } else { 0 };
    flags |= faces(x);
    let mut src = vec![handle(x)];
    src.extend(x.rd_vec("c"));
    src.truncate(1 + (dimensions + u32::from(layered)) as usize);
    if x.m.notation.slots.iter().any(|s| s.name == "e") && x.given("e") {
        flags |= OFFSET;
        let offset = x.rd_vec("e");
        src.extend(offset.into_iter().take(dimensions as usize));
    }
    if x.has(".base") {
        // ptxas 13.5 names level 0.
        flags |= LEVEL;
        src.push(V::w(0));
    } else if x.has(".level") {
        flags |= LEVEL;
        src.push(x.rd_vec("lod")[0]);
    } else if x.has(".grad") {
        flags |= GRADIENTS;
        for side in ["x", "y"] {
            let side = x.rd_vec(side);
            src.extend(side.into_iter().take(dimensions as usize));
        }
    }
    x.warp("tex", sample, [flags, 0, 0, 0], &src, &[Kind::W; 4])
}

/// Every texel is resident.
pub(super) fn resident(x: &mut Cx) {
    x.wr_second("d", V::p(true));
}

fn tex(x: &mut Cx) {
    let values = tex_results(x);
    results(x, values);
}

/// `tex` of a texture with several samples a texel. The number of the sample comes first, before the layer too (as on an
/// H100; the manual says both).
fn multisampled(x: &mut Cx) {
    let layered = x.get("geom") == ".a2dms";
    let mut src = vec![handle(x)];
    let c = x.rd_vec("c");
    src.extend(&c[1..]);
    src.truncate(if layered { 4 } else { 3 });
    let mut flags = 2 | if layered { ARRAY } else { 0 } | INTEGER | SAMPLES;
    if x.given("e") {
        flags |= OFFSET;
        let offset = x.rd_vec("e");
        src.extend(offset.into_iter().take(2));
    }
    src.push(c[0]);
    let values = x.warp("tex", sample, [flags, 0, 0, 0], &src, &[Kind::W; 4]);
    results(x, values);
}

/// Writes what was fetched.
fn results(x: &mut Cx, mut values: Vec<V>) {
    if x.m.get("dtype") == Some(".f16x2") {
        return pairs(x, values);
    }
    if x.m.get("dtype") == Some(".f16") {
        values = values.into_iter().map(|v| to_half(x, v)).collect();
    }
    x.wr_vec("d", &values);
    resident(x);
}

fn pairs(x: &mut Cx, values: Vec<V>) {
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

/// The handles in source 0.
pub(super) fn handles(m: &dyn Machine) -> [u64; 32] {
    m.src_d(0).map(|v| v & HANDLE)
}

/// The lanes of `mask`.
pub(super) fn lanes(mask: u32) -> impl DoubleEndedIterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

pub(super) fn no_object(lane: usize, what: &str, handle: u64) -> Fault {
    Fault::operand(lane, format!("{handle:#x} is not the handle of a {what}"))
}

/// The coordinates of every lane and the layer, from the sources after the handle.
pub(super) struct Coordinates {
    words: [[u32; 32]; 3],
    pub(super) layers: [u32; 32],
    offsets: [[u32; 32]; 3],
    samples: [u32; 32],
    level: [u32; 32],
    gradients: [[[u32; 32]; 3]; 2],
}

impl Coordinates {
    pub(super) fn read(m: &dyn Machine, flags: u32) -> Coordinates {
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
        let samples = if flags & SAMPLES != 0 { source() } else { [0; 32] };
        let level = if flags & LEVEL != 0 { source() } else { [0; 32] };
        let mut gradients = [[[0; 32]; 3]; 2];
        if flags & GRADIENTS != 0 {
            for side in &mut gradients {
                side[..dimensions].iter_mut().for_each(|g| *g = source());
            }
        }
        Coordinates { words, layers, offsets, samples, level, gradients }
    }
    /// The level of detail that the instruction asks for.
    fn detail(&self, lane: usize, flags: u32) -> Detail {
        if flags & LEVEL != 0 {
            Detail::Level(f32::from_bits(self.level[lane]))
        } else if flags & GRADIENTS != 0 {
            Detail::Gradients(self.gradients.map(|side| side.map(|g| f32::from_bits(g[lane]))))
        } else {
            Detail::Plain
        }
    }
    pub(super) fn integers(&self, lane: usize) -> [i32; 3] {
        std::array::from_fn(|d| {
            (self.words[d][lane] as i32).wrapping_add(self.offsets[d][lane] as i32)
        })
    }
    /// Floating-point coordinates; texel offsets are added in the texture's unit.
    pub(super) fn floats(&self, lane: usize, texture: &Texture) -> [f32; 3] {
        std::array::from_fn(|d| {
            let unit = if texture.normalized { 1.0 / texture.size[d] as f32 } else { 1.0 };
            let offset = self.offsets[d][lane] as i32;
            let at = f32::from_bits(self.words[d][lane]);
            if offset == 0 { at } else { at + offset as f32 * unit }
        })
    }
    /// Coordinates and layer on the face of a cube map that a direction selects.
    pub(super) fn on_face(&self, lane: usize, texture: &Texture) -> Result<([f32; 3], u32), Fault> {
        if texture.layers == 0 || !texture.layers.is_multiple_of(6) || !texture.normalized {
            let message = "the texture is no cube map with normalised coordinates";
            return Err(Fault::operand(lane, message));
        }
        let (face, at) = cube_face(self.words.map(|w| f32::from_bits(w[lane])));
        // Cubes behind the last one are the last one.
        let cube = self.layers[lane].min(texture.layers / 6 - 1);
        Ok(([at[0], at[1], 0.0], 6 * cube + face))
    }
}

fn sample(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let flags = op.k[0];
    fetch_lanes(m, flags, &|texture, at, lane, read| {
        let layer = at.layers[lane];
        if flags & GRADIENTS != 0
            && let Some(why) = texture.refuses_gradients(flags & FACES != 0)
        {
            return Err(Fault::operand(lane, why));
        }
        let detail = at.detail(lane, flags);
        if flags & FACES != 0 {
            let (place, layer) = at.on_face(lane, texture)?;
            return texture.sample_detail(detail, &|_| place, layer, read);
        }
        // Nothing makes textures of several samples: there is the first one, and the others are 0, as on an H100.
        if at.samples[lane] != 0 {
            return Ok([0; 4]);
        }
        if flags & INTEGER != 0 {
            // The level itself, whatever the texture's limits. What is not there is 0, as on an H200.
            let level = if flags & LEVEL != 0 { at.level[lane] } else { 0 };
            let Some(level) = texture.level(level) else { return Ok([0; 4]) };
            level.fetch(at.integers(lane), layer, read)
        } else {
            texture.sample_detail(detail, &|level| at.floats(lane, level), layer, read)
        }
    })
}

type FetchLane<'a> = dyn Fn(&Texture, &Coordinates, usize, &mut dyn TexelSource<Fault>) -> Result<[u32; 4], Fault>
    + 'a;

/// Texels for one lane.
struct LaneTexels<'a> {
    machine: &'a mut dyn Machine,
    lane: u8,
    handle: u64,
}

impl TexelSource<Fault> for LaneTexels<'_> {
    fn memory(&mut self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.machine.read(Accessor::Texture, self.lane, Space::Global, address, out)
    }
    fn array(&mut self, offset: u64, bytes: u32) -> Result<(), Fault> {
        self.machine.touches_array(self.lane, self.handle, offset, bytes, ArrayTouch::Fetch)
    }
}

pub(super) fn fetch_lanes(
    m: &mut dyn Machine,
    flags: u32,
    fetch: &FetchLane<'_>,
) -> Result<Flow, Fault> {
    let handles = handles(m);
    let at = Coordinates::read(m, flags);
    let mut out = [[0; 32]; 4];
    for lane in lanes(m.mask()) {
        let texture =
            m.texture(handles[lane]).ok_or_else(|| no_object(lane, "texture", handles[lane]))?;
        let mut texels = LaneTexels { machine: m, lane: lane as u8, handle: handles[lane] };
        let texel = fetch(&texture, &at, lane, &mut texels)?;
        for (out, value) in out.iter_mut().zip(texel) {
            out[lane] = value;
        }
    }
    for (i, values) in out.iter().enumerate() {
        m.set_w(i, values);
    }
    Ok(Flow::Next)
}

/// Handle and coordinates of a surface access, and its first constant.
pub(super) fn surface(x: &mut Cx) -> (Vec<V>, u32) {
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

pub(super) fn boundary(flags: u32) -> Boundary {
    match flags >> 8 & 0xff {
        1 => Boundary::Clamp,
        2 => Boundary::Zero,
        _ => Boundary::Trap,
    }
}
