//! `wmma.load` and `wmma.store` (PTX ISA 9.7.16.4.3, 9.7.16.4.4).

use super::wmma::{FLOORS, WIDE};
use crate::class;
use crate::matched::Match;
use crate::matrix::{Elem, WmmaMove, run};
use crate::meaning::{Cx, V};
use crate::row::{AddressWidth, Constants, Exactness, ROW, Reach, Row, Sem};
use crate::rows::mma::{known, together};
use crate::types::{Kind, ptx};

const LOAD: Row = Row {
    does: "Loads a matrix from memory into a fragment of the warp.",
    section: "9.7.16.4.3",
    since: ptx(6, 0),
    sm: 70,
    class: class::load,
    reach: Reach::Warp,
    addresses: AddressWidth::Words,
    exact: Exactness::Recorded("fragment layout, H200"),
    counts: Some(move_count),
    floors: FLOORS,
    sem: Sem::Ops(load),
    ..ROW
};
const STORE: Row = Row {
    does: "Stores a fragment of the warp as a matrix in memory.",
    section: "9.7.16.4.4",
    class: class::store,
    sem: Sem::Ops(store),
    ..LOAD
};
const LAYOUT: (&str, &str) = ("layout", ".row .col");
const SPACE: (&str, &str) = ("space", ".global .shared .shared::cta");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // Loads.
    Row {
        syntax: "wmma.load.matrix.sync.layout.shape{.space}.f16 d*8:.b32, [a]{, stride:.u32}",
        until: Some(ptx(6, 2)),
        sets: &[("matrix", ".a .b"), LAYOUT, WIDE, SPACE],
        floors: FLOORS,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.matrix.sync.aligned.layout.shape{.space}.f16 d*8:.b32, [a]{, stride:.u32}",
        since: ptx(6, 3),
        sets: &[("matrix", ".a .b"), LAYOUT, WIDE, SPACE],
        floors: FLOORS,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.matrix.sync.aligned.layout.shape{.space}.bf16 d*!:.b32, [a]{, stride:.u32}",
        sets: &[("matrix", ".a .b"), LAYOUT, WIDE, SPACE],
        since: ptx(7, 0),
        sm: 80,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.matrix.sync.aligned.layout.shape{.space}.etype d*!:.b32, [a]{, stride:.u32}",
        sets: &[("matrix", ".a .b"), LAYOUT, WIDE, SPACE, ("etype", ".s8 .u8")],
        since: ptx(6, 3),
        sm: 72,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.matrix.sync.aligned.layout.m16n16k8{.space}.tf32 d*4:.b32, [a]{, stride:.u32}",
        sets: &[("matrix", ".a .b"), LAYOUT, SPACE],
        since: ptx(7, 0),
        sm: 80,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.matrix.sync.aligned.layout.m8n8k4{.space}.f64 d*!:.f64, [a]{, stride:.u32}",
        sets: &[("matrix", ".a .b .c"), LAYOUT, SPACE],
        since: ptx(7, 0),
        sm: 80,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.a.sync.aligned.row.shape{.space}.etype d*1:.b32, [a]{, stride:.u32}",
        sets: &[("shape", ".m8n8k32 .m8n8k128"), SPACE, ("etype", ".s4 .u4 .b1")],
        check: Some(sub_byte),
        since: ptx(6, 3),
        sm: 75,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.b.sync.aligned.col.shape{.space}.etype d*1:.b32, [a]{, stride:.u32}",
        sets: &[("shape", ".m8n8k32 .m8n8k128"), SPACE, ("etype", ".s4 .u4 .b1")],
        check: Some(sub_byte),
        since: ptx(6, 3),
        sm: 75,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.c.sync.layout.shape{.space}.f16 d*4:.b32, [a]{, stride:.u32}",
        until: Some(ptx(6, 2)),
        sets: &[LAYOUT, WIDE, SPACE],
        floors: FLOORS,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.c.sync.aligned.layout.shape{.space}.f16 d*4:.b32, [a]{, stride:.u32}",
        since: ptx(6, 3),
        sets: &[LAYOUT, WIDE, SPACE],
        floors: FLOORS,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.c.sync.layout.shape{.space}.f32 d*8:.f32, [a]{, stride:.u32}",
        until: Some(ptx(6, 2)),
        sets: &[LAYOUT, ("shape", ".m16n16k16 .m32n8k16 .m8n32k16 .m16n16k8"), SPACE],
        floors: FLOORS,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.c.sync.aligned.layout.shape{.space}.f32 d*8:.f32, [a]{, stride:.u32}",
        since: ptx(6, 3),
        sets: &[LAYOUT, ("shape", ".m16n16k16 .m32n8k16 .m8n32k16 .m16n16k8"), SPACE],
        floors: FLOORS,
        ..LOAD
    },
    Row {
        syntax: "wmma.load.c.sync.aligned.layout.shape{.space}.s32 d*!:.s32, [a]{, stride:.u32}",
        sets: &[LAYOUT, ("shape", ".m16n16k16 .m32n8k16 .m8n32k16 .m8n8k32 .m8n8k128"), SPACE],
        since: ptx(6, 3),
        sm: 72,
        floors: FLOORS,
        ..LOAD
    },
    // Stores.
    Row {
        syntax: "wmma.store.d.sync.layout.shape{.space}.f16 [a], r*4:.b32{, stride:.u32}",
        until: Some(ptx(6, 2)),
        sets: &[LAYOUT, WIDE, SPACE],
        floors: FLOORS,
        ..STORE
    },
    Row {
        syntax: "wmma.store.d.sync.aligned.layout.shape{.space}.f16 [a], r*4:.b32{, stride:.u32}",
        since: ptx(6, 3),
        sets: &[LAYOUT, WIDE, SPACE],
        floors: FLOORS,
        ..STORE
    },
    Row {
        syntax: "wmma.store.d.sync.layout.shape{.space}.f32 [a], r*8:.f32{, stride:.u32}",
        until: Some(ptx(6, 2)),
        sets: &[LAYOUT, ("shape", ".m16n16k16 .m32n8k16 .m8n32k16 .m16n16k8"), SPACE],
        floors: FLOORS,
        constants: Constants::Each,
        ..STORE
    },
    Row {
        syntax: "wmma.store.d.sync.aligned.layout.shape{.space}.f32 [a], r*8:.f32{, stride:.u32}",
        since: ptx(6, 3),
        sets: &[LAYOUT, ("shape", ".m16n16k16 .m32n8k16 .m8n32k16 .m16n16k8"), SPACE],
        floors: FLOORS,
        constants: Constants::Each,
        ..STORE
    },
    Row {
        syntax: "wmma.store.d.sync.aligned.layout.shape{.space}.s32 [a], r*!:.s32{, stride:.u32}",
        sets: &[LAYOUT, ("shape", ".m16n16k16 .m32n8k16 .m8n32k16 .m8n8k32 .m8n8k128"), SPACE],
        since: ptx(6, 3),
        sm: 72,
        floors: FLOORS,
        ..STORE
    },
    Row {
        syntax: "wmma.store.d.sync.aligned.layout.m8n8k4{.space}.f64 [a], r*2:.f64{, stride:.u32}",
        sets: &[LAYOUT, SPACE],
        since: ptx(7, 0),
        sm: 80,
        ..STORE
    },
];

fn sub_byte(m: &Match) -> Result<(), String> {
    let bits = m.get("etype") == Some(".b1");
    if bits == (m.get("shape") == Some(".m8n8k128")) {
        Ok(())
    } else {
        Err("`.b1` goes with shape `.m8n8k128`, `.s4` and `.u4` with `.m8n8k32`".into())
    }
}

fn move_count(m: &Match, _: &str) -> u32 {
    WmmaMove::parse(&m.opcode()).map_or(1, |d| d.fragment.registers()) as u32
}

/// Address and stride of a load or store; without a stride the matrix is dense.
fn address(x: &mut Cx, m: &WmmaMove) -> (Vec<V>, u32) {
    let space = super::memory::space(x);
    let a = x.addr("a");
    let base = super::matrix_move::absolute(x, a);
    let stride = x.rd_or("stride", V::w(m.dense_stride()));
    (vec![base, stride], run::space_code(space))
}

fn load(x: &mut Cx) {
    let Some(m) = known(x, WmmaMove::parse(&x.m.opcode())) else { return };
    let (src, space) = address(x, &m);
    let [k0, k1] = m.pack();
    let kind = if m.fragment.elem == Elem::F64 { Kind::D } else { Kind::W };
    let results = vec![kind; m.fragment.registers()];
    let values = together(x, "wmma.load", run::wmma_load, [k0, k1, space, 0], src, &results);
    x.wr_vec("d", &values);
}

fn store(x: &mut Cx) {
    let Some(m) = known(x, WmmaMove::parse(&x.m.opcode())) else { return };
    let (mut src, space) = address(x, &m);
    src.extend(x.rd_vec("r"));
    let [k0, k1] = m.pack();
    together(x, "wmma.store", run::wmma_store, [k0, k1, space, 0], src, &[]);
}
