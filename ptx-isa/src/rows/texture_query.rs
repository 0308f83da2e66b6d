//! `txq` and `suq` (PTX ISA 9.7.10.5, 9.7.11.4).

use super::texture::{SURFACE, TEX, handles, lanes, no_object};
use crate::effect::{Fault, Flow, Machine, WarpOp};
use crate::meaning::{Cx, V};
use crate::row::{Exactness, Row, Sem};
use crate::texture::{Address, Channel, Texture, kind_bits};
use crate::types::{Kind, Ty, ptx};
use crate::uop::Op;

const TEXTURE_QUERIES: &str = ".width .height .depth .channel_data_type .channel_order .normalized_coords .array_size .num_mipmap_levels .num_samples";
const SAMPLER_QUERIES: &str =
    ".force_unnormalized_coords .filter_mode .addr_mode_0 .addr_mode_1 .addr_mode_2";
const SURFACE_QUERIES: &str =
    ".width .height .depth .channel_data_type .channel_order .array_size .memory_layout";

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "txq.query.b32 d, [%a:.texref]",
        does: "Gives a property of a texture.",
        sets: &[("query", TEXTURE_QUERIES)],
        since: ptx(1, 5),
        section: "9.7.10.5",
        sem: Sem::Ops(query),
        ..TEX
    },
    Row {
        syntax: "txq.query.b32 d, [%a:.samplerref>]",
        does: "Gives a property of a sampler.",
        sets: &[("query", ".filter_mode .addr_mode_0 .addr_mode_1 .addr_mode_2")],
        since: ptx(1, 5),
        section: "9.7.10.5",
        sem: Sem::Ops(query),
        ..TEX
    },
    Row {
        syntax: "txq.query.b32 d, [%a:.samplerref]",
        does: "Tells whether a sampler takes coordinates in texels.",
        sets: &[("query", ".force_unnormalized_coords")],
        since: ptx(1, 5),
        section: "9.7.10.5",
        sem: Sem::Ops(query),
        ..TEX
    },
    Row {
        syntax: "txq.level.query.b32 d, [%a:.texref], lod:.u32",
        does: "Gives the size of a mip level of a texture.",
        sets: &[("query", ".width .height .depth")],
        since: ptx(4, 3),
        sm: 30,
        section: "9.7.10.5",
        exact: Exactness::Manual,
        sem: Sem::Ops(query),
        ..TEX
    },
    Row {
        syntax: "istypep.kind p:pred, a:.u64",
        does: "Tests whether an address is that of a texture, sampler or surface variable.",
        sets: &[("kind", ".texref .samplerref .surfref")],
        since: ptx(4, 0),
        sm: 30,
        section: "9.7.10.6",
        sem: Sem::Ops(|x| {
            let ty = match x.get("kind") {
                ".texref" => Ty::TexRef,
                ".samplerref" => Ty::SamplerRef,
                _ => Ty::SurfRef,
            };
            let a = x.rd("a");
            let kind = x.op2(Op::AndD, a, V::d(kind_bits(ty)));
            let p = x.op2(Op::NeD, kind, V::d(0));
            x.wr("p", p);
        }),
        ..TEX
    },
    Row {
        syntax: "suq.query.b32 d, [%a:.surfref]",
        does: "Gives a property of a surface.",
        sets: &[("query", SURFACE_QUERIES)],
        since: ptx(1, 5),
        section: "9.7.11.4",
        sem: Sem::Ops(query),
        sm: 0,
        ..SURFACE
    },
];

fn query(x: &mut Cx) {
    let handle = x.rd("a");
    let handle = if handle.kind == Kind::W { x.op1(Op::ZextWD, handle) } else { handle };
    let surface = x.m.notation.mnemonic == "suq";
    let queries = match surface {
        true => [SURFACE_QUERIES, ""],
        false => [TEXTURE_QUERIES, SAMPLER_QUERIES],
    };
    let wanted = x.get("query");
    let mut names = queries.iter().flat_map(|q| q.split_ascii_whitespace());
    let index = names.position(|q| q == wanted).unwrap_or(0);
    let level = x.has(".level");
    let k = [index as u32, u32::from(surface), u32::from(level), 0];
    let mut src = vec![handle];
    if level {
        src.push(x.rd("lod"));
    }
    let v = x.warp("txq", answer, k, &src, &[Kind::W])[0];
    x.wr("d", v);
}

/// Numbers of the queries: those of textures, then those of samplers; `suq` has its own.
fn answer(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let handles = handles(m);
    let levels = if op.k[2] != 0 { m.src_w(1) } else { [0; 32] };
    let mut out = [0; 32];
    for lane in lanes(m.mask()) {
        let texture =
            m.texture(handles[lane]).ok_or_else(|| no_object(lane, "texture", handles[lane]))?;
        // A level that is not there has no size.
        let Some(t) = texture.level(levels[lane]) else { continue };
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
            (_, 3) => data_type(t),
            // The values of OpenCL's CL_R, CL_RG, CL_RGBA.
            (_, 4) => [0x10b0, 0x10b2, 0x10b5][t.channels.trailing_zeros().min(2) as usize],
            (0, 5) => u32::from(t.normalized),
            (0, 6) | (1, 5) => t.layers,
            (0, 7) => texture.levels(),
            (0, 8) => 1,
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
