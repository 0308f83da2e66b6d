//! `mma` (PTX ISA 9.7.16.5).

use crate::class;
use crate::matched::Match;
use crate::matrix::{Elem, MatrixError, Mma, Scale, ScaledMma, narrow, run};
use crate::meaning::{Cx, V};
use crate::num::narrow::Narrow;
use crate::row::{Constants, Exactness, Floor, ROW, Reach, Row, Sem, floor};
use crate::types::{Kind, Ty, ptx};

const LAYOUT: [(&str, &str); 2] = [("alayout", ".row .col"), ("blayout", ".row .col")];
pub(super) const M: Row = Row {
    does: "Multiplies two matrices held by the warp and adds a third.",
    section: "9.7.16.5.14",
    class: class::matrix,
    reach: Reach::Warp,
    exact: Exactness::Recorded("tensor core, H200"),
    counts: Some(counts),
    sem: Sem::Ops(mma),
    constants: Constants::Vector,
    ..ROW
};

/// Targets without products of 8-bit floats, for which ptxas converts them to halves.
pub(super) const FLOAT8: Constants = Constants::EachFrom(90, 120);

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // f16, four 8x8 products.
    Row {
        syntax: "mma.sync.aligned.m8n8k4.alayout.blayout.f16.f16.f16.f16 d*4:.b32, a*2:.b32, b*2:.b32, c*4:.b32",
        sets: &LAYOUT,
        since: ptx(6, 4),
        sm: 70,
        ..M
    },
    Row {
        syntax: "mma.sync.aligned.m8n8k4.alayout.blayout.dtype.f16.f16.ctype d*8:.f32, a*2:.b32, b*2:.b32, c*4:.b32",
        sets: &[
            ("alayout", ".row .col"),
            ("blayout", ".row .col"),
            ("dtype", ".f16 .f32"),
            ("ctype", ".f16 .f32"),
        ],
        check: Some(wide_result),
        since: ptx(6, 4),
        sm: 70,
        ..M
    },
    Row {
        syntax: "mma.sync.aligned.m8n8k4.alayout.blayout.f32.f16.f16.f32 d*8:.f32, a*2:.b32, b*2:.b32, c*8:.f32",
        sets: &LAYOUT,
        since: ptx(6, 4),
        sm: 70,
        ..M
    },
    // f16, bf16, tf32.
    Row {
        syntax: "mma.sync.aligned.shape.row.col.f16.f16.f16.f16 d*2:.b32, a*!:.b32, b*!:.b32, c*2:.b32",
        sets: &[("shape", ".m16n8k8 .m16n8k16")],
        since: ptx(6, 5),
        sm: 75,
        floors: &[floor(".m16n8k16", ptx(7, 0), 80)],
        ..M
    },
    Row {
        syntax: "mma.sync.aligned.shape.row.col.f32.f16.f16.f32 d*4:.f32, a*!:.b32, b*!:.b32, c*4:.f32",
        sets: &[("shape", ".m16n8k8 .m16n8k16")],
        since: ptx(6, 5),
        sm: 75,
        floors: &[floor(".m16n8k16", ptx(7, 0), 80)],
        ..M
    },
    Row {
        syntax: "mma.sync.aligned.shape.row.col.f32.bf16.bf16.f32 d*4:.f32, a*!:.b32, b*!:.b32, c*4:.f32",
        sets: &[("shape", ".m16n8k8 .m16n8k16")],
        since: ptx(7, 0),
        sm: 80,
        ..M
    },
    Row {
        syntax: "mma.sync.aligned.shape.row.col.f32.tf32.tf32.f32 d*4:.f32, a*!:.b32, b*!:.b32, c*4:.f32",
        sets: &[("shape", ".m16n8k4 .m16n8k8")],
        since: ptx(7, 0),
        sm: 80,
        ..M
    },
    // 8-bit floats.
    Row {
        syntax: "mma.sync.aligned.shape.row.col.f32.atype.btype.f32 d*4:.f32, a*!:.b32, b*!:.b32, c*4:.f32",
        sets: &[FP8_SHAPE, ("atype", ".e4m3 .e5m2"), ("btype", ".e4m3 .e5m2")],
        constants: FLOAT8,
        since: ptx(8, 4),
        sm: 89,
        floors: &[floor(".m16n8k16", ptx(8, 7), 89)],
        ..M
    },
    Row {
        syntax: "mma.sync.aligned.shape.row.col.f16.atype.btype.f16 d*2:.b32, a*!:.b32, b*!:.b32, c*2:.b32",
        sets: &[FP8_SHAPE, ("atype", ".e4m3 .e5m2"), ("btype", ".e4m3 .e5m2")],
        constants: FLOAT8,
        since: ptx(8, 7),
        sm: 89,
        ..M
    },
    Row {
        syntax: "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.atype.btype.f32 d*4:.f32, a*4:.b32, b*2:.b32, c*4:.f32",
        constants: FLOAT8,
        sets: &[F8F6F4[0], F8F6F4[1], KIND8],
        floors: NARROW_FLOATS,
        since: ptx(8, 7),
        sm: 100,
        targets: "sm_100a sm_103a sm_110a sm_120a sm_121a sm_100f sm_120f",
        sem: Sem::Ops(scaled),
        exact: Exactness::Manual,
        counts: None,
        ..M
    },
    Row {
        syntax: "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.atype.btype.f16 d*2:.b32, a*4:.b32, b*2:.b32, c*2:.b32",
        constants: FLOAT8,
        sets: &[F8F6F4[0], F8F6F4[1], KIND8],
        floors: NARROW_FLOATS,
        since: ptx(8, 7),
        sm: 100,
        targets: "sm_100a sm_103a sm_110a sm_120a sm_121a sm_100f sm_120f",
        sem: Sem::Ops(scaled),
        exact: Exactness::Manual,
        counts: None,
        ..M
    },
    // Block-scaled kinds.
    Row {
        syntax: "mma.sync.aligned.m16n8k64.row.col.kind.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 d*4:.f32, a*4:.b32, b*2:.b32, c*4:.f32, %e*?:.b32, f*2=0|2;0..1:.b16, %g*?:.b32, h*2=0|2;0..3:.b16",
        sets: &[KIND4],
        check: Some(scale),
        ..SCALED
    },
    Row {
        syntax: "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.stype d*4:.f32, a*4:.b32, b*2:.b32, c*4:.f32, %e*?:.b32, f*2=0;0..1:.b16, %g*?:.b32, h*2=0;0..3:.b16",
        sets: &[FACTOR4],
        ..SCALED
    },
    Row {
        syntax: "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32.atype.btype.f32.ue8m0 d*4:.f32, a*4:.b32, b*2:.b32, c*4:.f32, %e*?:.b32, f*2=0..3;0..1:.b16, %g*?:.b32, h*2=0..3;0..3:.b16",
        sets: &F8F6F4,
        ..SCALED
    },
    // f64.
    Row {
        syntax: "mma.sync.aligned.shape.row.col{.rnd}.f64.f64.f64.f64 d*!:.f64, a*!:.f64, b*!:.f64, c*!:.f64",
        sets: &[("shape", ".m8n8k4 .m16n8k4 .m16n8k8 .m16n8k16")],
        since: ptx(7, 0),
        sm: 80,
        floors: &[floor(".m16n8k4 .m16n8k8 .m16n8k16", ptx(7, 8), 90)],
        ..M
    },
    // Integers and bits.
    Row {
        syntax: "mma.sync.aligned.shape.row.col{.satfinite}.s32.atype.btype.s32 d*!:.s32, a*!:.b32, b*!:.b32, c*!:.s32",
        sets: &[
            ("shape", ".m8n8k16 .m16n8k16 .m16n8k32"),
            ("atype", ".u8 .s8"),
            ("btype", ".u8 .s8"),
        ],
        since: ptx(6, 5),
        sm: 75,
        floors: &[floor(".m16n8k16 .m16n8k32", ptx(7, 0), 80)],
        exact: Exactness::Bit,
        ..M
    },
    Row {
        syntax: "mma.sync.aligned.shape.row.col{.satfinite}.s32.atype.btype.s32 d*!:.s32, a*!:.b32, b*!:.b32, c*!:.s32",
        sets: &[
            ("shape", ".m8n8k32 .m16n8k32 .m16n8k64"),
            ("atype", ".u4 .s4"),
            ("btype", ".u4 .s4"),
        ],
        since: ptx(6, 5),
        sm: 75,
        floors: &[floor(".m16n8k32 .m16n8k64", ptx(7, 0), 80)],
        exact: Exactness::Bit,
        ..M
    },
    Row {
        syntax: "mma.sync.aligned.shape.row.col.s32.b1.b1.s32.bitop.popc d*!:.s32, a*!:.b32, b*!:.b32, c*!:.s32",
        sets: &[("shape", ".m8n8k128 .m16n8k128 .m16n8k256"), ("bitop", ".xor .and")],
        since: ptx(7, 0),
        sm: 75,
        floors: &[floor(".m16n8k128 .m16n8k256", ptx(7, 0), 80), floor(".and", ptx(7, 1), 80)],
        exact: Exactness::Bit,
        ..M
    },
];

const FP8_SHAPE: (&str, &str) = ("shape", ".m16n8k16 .m16n8k32");

/// Floats of 6 and 4 bits are for consumer Blackwell.
pub(super) const NARROW_FLOATS: &[Floor] = &[Floor {
    tokens: ".e3m2 .e2m3 .e2m1",
    since: ptx(8, 7),
    sm: 120,
    targets: "sm_120a sm_121a sm_120f",
}];
pub(super) const F8F6F4: [(&str, &str); 2] =
    [("atype", ".e4m3 .e5m2 .e3m2 .e2m3 .e2m1"), ("btype", ".e4m3 .e5m2 .e3m2 .e2m3 .e2m1")];

pub(super) const KIND8: (&str, &str) = ("kind", ".kind::f8f6f4");

/// `m8n8k4` takes an f16 accumulator into an f32 result, never the other way round.
fn wide_result(m: &Match) -> Result<(), String> {
    match (m.get("dtype"), m.get("ctype")) {
        (Some(".f32"), Some(".f16")) => Ok(()),
        (_, Some(c)) => {
            Err(format!(".dtype must be `{c}` when .ctype is `{c}` for `mma` with shape `.m8n8k4`"))
        }
        _ => Ok(()),
    }
}

pub(super) const KIND4: (&str, &str) = ("kind", ".kind::mxf4 .kind::mxf4nvf4");
pub(super) const FACTOR4: (&str, &str) = ("stype", ".ue8m0 .ue4m3");
const SCALED: Row = Row {
    since: ptx(8, 7),
    sm: 120,
    targets: "sm_120a sm_121a sm_120f",
    sem: Sem::Ops(scaled),
    exact: Exactness::Manual,
    counts: Some(|_, _| 1),
    ..M
};

/// One of the 4-bit kinds names its scale vector.
pub(super) fn scale(m: &Match) -> Result<(), String> {
    if m.get("kind") == Some(".kind::mxf4nvf4") && !m.has(".scale_vec::2X") {
        return Err("`.kind::mxf4nvf4` names its scale vector".into());
    }
    Ok(())
}

pub(super) fn counts(m: &Match, name: &str) -> u32 {
    let registers = Mma::parse(&m.opcode()).map_or([1; 4], |d| d.registers());
    let index = match name {
        "a" => 0,
        "b" => 1,
        "c" => 2,
        _ => 3,
    };
    registers[index] as u32
}

/// What a meaning does with a descriptor that cannot run.
pub(super) fn known<T>(x: &mut Cx, parsed: Result<T, MatrixError>) -> Option<T> {
    parsed.map_err(|e| x.refuse(e.to_string())).ok()
}

fn mma(x: &mut Cx) {
    let Some(m) = known(x, Mma::parse(&x.m.opcode())) else { return };
    let mut src = x.rd_vec("a");
    src.extend(x.rd_vec("b"));
    src.extend(x.rd_vec("c"));
    let [k0, k1] = m.pack();
    let mut k = [k0, k1, 0, 0];
    if m.sparse {
        src.push(x.rd("e"));
        k[2] = x.imm("f") as u32;
    }
    let kind = if m.a == Elem::F64 { Kind::D } else { Kind::W };
    let values = together(x, "mma", run::mma, k, src, &vec![kind; m.registers()[3]]);
    x.wr_vec("d", &values);
}

/// The kinds of narrow floats, with and without block scaling.
pub(super) fn scaled(x: &mut Cx) {
    let four = x.has(".kind::mxf4") || x.has(".kind::mxf4nvf4");
    let of = |x: &Cx, set: &str| narrow(x.get(set)).unwrap_or(Narrow::E2m1);
    let has_scale = x.m.notation.slots.iter().any(|s| s.name == "h");
    let blocks = match four {
        true if x.has(".scale_vec::4X") => 4,
        true => 2,
        false => 1,
    };
    let m = ScaledMma {
        a: of(x, "atype"),
        b: of(x, "btype"),
        f16: x.slot_ty("d") != Some(Ty::F32),
        packed: four,
        sparse: x.m.notation.slots.iter().any(|s| s.name == "meta"),
        scale: has_scale.then(|| Scale { blocks, ue4m3: x.has(".ue4m3") }),
    };
    let mut src = x.rd_vec("a");
    src.extend(x.rd_vec("b"));
    src.extend(x.rd_vec("c"));
    let mut selector = 0;
    if m.sparse {
        src.push(x.rd("meta"));
        selector = x.imm("sel") as u32;
    }
    if has_scale {
        src.push(x.rd("e"));
        src.extend(x.rd_vec("f"));
        src.push(x.rd("g"));
        src.extend(x.rd_vec("h"));
    }
    let results = vec![Kind::W; m.registers()[2]];
    let values = together(x, "mma", run::scaled_mma, [m.pack(), selector, 0, 0], src, &results);
    x.wr_vec("d", &values);
}

/// Appends a function that the whole warp executes together (`.sync.aligned`).
pub(super) fn together(
    x: &mut Cx,
    name: &'static str,
    run: crate::effect::WarpFn,
    k: [u32; 4],
    mut src: Vec<V>,
    results: &[Kind],
) -> Vec<V> {
    let members = src.len() as u8;
    src.push(V::w(u32::MAX));
    x.warp_sync(name, run, k, members, &src, results)
}
