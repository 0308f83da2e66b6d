//! `redux` (PTX ISA 9.7.13.12).

use super::warp::{across, groups, lanes};
use crate::class::Class;
use crate::effect::{Fault, Flow, Machine, WarpOp};
use crate::meaning::Cx;
use crate::num::fp32;
use crate::row::{Exactness, ROW, Reach, Row, Sem};
use crate::types::{Kind, ptx};

const REDUX: Row = Row {
    does: "Combines the values of the lanes that take part and gives all of them the result.",
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "redux.sync.op.type d, a, members:.u32",
        sets: &[("op", ".add .min .max"), ("type", ".u32 .s32")],
        since: ptx(7, 0),
        sm: 80,
        called: |_, _| 0..90,
        section: "9.7.13.12",
        class: |_| Class::Redux,
        reach: Reach::Warp,
        sem: Sem::Ops(redux),
        ..REDUX
    },
    Row {
        syntax: "redux.sync.op.b32 d:.u32, a:.u32, members:.u32",
        sets: &[("op", ".and .or .xor")],
        since: ptx(7, 0),
        sm: 80,
        called: |_, _| 0..90,
        section: "9.7.13.12",
        class: |_| Class::Redux,
        reach: Reach::Warp,
        sem: Sem::Ops(redux),
        ..REDUX
    },
    Row {
        syntax: "redux.sync.op{.abs}{.NaN}.f32 d, a, members:.u32",
        sets: &[("op", ".min .max")],
        since: ptx(8, 6),
        sm: 100,
        targets: "sm_100a sm_100f sm_103a sm_103f",
        section: "9.7.13.12",
        class: |_| Class::Redux,
        reach: Reach::Warp,
        exact: Exactness::Manual,
        sem: Sem::Ops(redux_float),
        ..REDUX
    },
];

fn redux(x: &mut Cx) {
    let k = match (x.get("op"), x.ty().signed()) {
        (".add", _) => 0,
        (".min", false) => 1,
        (".min", true) => 2,
        (".max", false) => 3,
        (".max", true) => 4,
        (".and", _) => 5,
        (".or", _) => 6,
        _ => 7,
    };
    let a = x.rd("a");
    let r = across(x, "redux", run_redux, k, true, &[a], &[Kind::W]);
    x.wr("d", r[0]);
}

/// Minimum or maximum of numbers: NaNs count with `.NaN` only.
fn redux_float(x: &mut Cx) {
    let k =
        u32::from(x.has(".max")) | u32::from(x.has(".NaN")) << 1 | u32::from(x.has(".abs")) << 2;
    let a = x.rd("a");
    let r = across(x, "redux", run_redux_float, k, true, &[a], &[Kind::W]);
    x.wr("d", r[0]);
}

fn run_redux_float(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let flag = |bit: u32| op.k[0] >> bit & 1 != 0;
    let magnitude = if flag(2) { 0x7fff_ffff } else { u32::MAX };
    let a = m.src_w(0).map(|v| v & magnitude);
    let groups = groups(m, op, 1);
    let join = |s: u32, v: u32| fp32::min_max(flag(0), false, flag(1), false, s, v);
    let mut d = [0; 32];
    for l in 0..32 {
        // A lane alone meets itself, so that a NaN becomes the canonical one.
        let all = lanes(groups[l]).map(|j| a[j]).reduce(join);
        d[l] = all.map_or(0, |v| join(v, v));
    }
    m.set_w(0, &d);
    Ok(Flow::Next)
}

fn run_redux(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let a = m.src_w(0);
    let groups = groups(m, op, 1);
    let join = |s: u32, v: u32| match op.k[0] {
        0 => s.wrapping_add(v),
        1 => s.min(v),
        2 => (s as i32).min(v as i32) as u32,
        3 => s.max(v),
        4 => (s as i32).max(v as i32) as u32,
        5 => s & v,
        6 => s | v,
        _ => s ^ v,
    };
    let mut d = [0; 32];
    for l in 0..32 {
        d[l] = lanes(groups[l]).map(|j| a[j]).reduce(join).unwrap_or(0);
    }
    m.set_w(0, &d);
    Ok(Flow::Next)
}
