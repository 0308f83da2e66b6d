//! `tld4` (PTX ISA 9.7.10.4) over [`crate::texture`].

use super::texture::{
    ARRAY, CUBE, FACES, OBJECTS, OFFSET, coordinates, faces, fetch_lanes, geometry, handle, layer,
    resident, scalars, unsampled,
};
use crate::class::Class;
use crate::effect::{Fault, Flow, Machine, WarpOp};
use crate::meaning::Cx;
use crate::row::{ROW, Row, Sem};
use crate::types::{Kind, ptx};

const COMPONENT: (&str, &str) = ("comp", ".r .g .b .a");
const TLD4: Row = Row {
    does: "Gathers one component of the four texels around a point.",
    counts: Some(coordinates),
    since: ptx(2, 2),
    sm: 20,
    section: "9.7.10.4",
    class: |_| Class::Texture,
    layer,
    scalars,
    unsampled,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "tld4.comp.2d.v4.dtype.f32 d*4{|p}:dtype, [a:.texref{, b:.samplerref}, c*+:.f32]{, e*~:.s32}{, f:.f32}",
        sets: &[COMPONENT, ("dtype", ".u32 .s32 .f32")],
        sem: Sem::Ops(tld4),
        ..TLD4
    },
    Row {
        syntax: "tld4.comp.a2d.v4.dtype.f32 d*4{|p}:dtype, [a:.texref{, b:.samplerref}, c*4:any]{, e*~:.s32}{, f:.f32}",
        sets: &[COMPONENT, ("dtype", ".u32 .s32 .f32")],
        since: ptx(4, 3),
        sm: 30,
        sem: Sem::Ops(tld4),
        ..TLD4
    },
    Row {
        syntax: "tld4.comp.geom.v4.dtype.f32 d*4{|p}:dtype, [a:.texref{, b:.samplerref}, c*4:any]{, n:.s32}{, f:.f32}",
        sets: &[COMPONENT, CUBE, ("dtype", ".u32 .s32 .f32")],
        since: ptx(4, 3),
        sm: 30,
        exact: OBJECTS,
        sem: Sem::Ops(tld4),
        ..TLD4
    },
];

fn tld4(x: &mut Cx) {
    let (dimensions, layered) = geometry(x);
    let component = match x.get("comp") {
        ".g" => 1,
        ".b" => 2,
        ".a" => 3,
        _ => 0,
    };
    let mut flags = dimensions | faces(x) | if layered { ARRAY } else { 0 };
    let mut src = vec![handle(x)];
    src.extend(x.rd_vec("c"));
    src.truncate(1 + dimensions as usize + usize::from(layered));
    let offsets = x.m.notation.slots.iter().any(|s| s.name == "e");
    if offsets && x.given("e") {
        flags |= OFFSET;
        let offset = x.rd_vec("e");
        src.extend(offset.into_iter().take(2));
    }
    let values = x.warp("tld4", gather, [flags, component, 0, 0], &src, &[Kind::W; 4]);
    x.wr_vec("d", &values);
    resident(x);
}

fn gather(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let component = op.k[1] as usize;
    fetch_lanes(m, op.k[0], &|texture, at, lane, read| {
        if op.k[0] & FACES != 0 {
            let ([x, y, _], layer) = at.on_face(lane, texture)?;
            return texture.gather(component, [x, y], layer, read);
        }
        let [x, y, _] = at.floats(lane, texture);
        texture.gather(component, [x, y], at.layers[lane], read)
    })
}
