//! Tensor-core instructions of the fifth generation (PTX ISA 9.7.18) but for their products: see [`crate::tcgen05`].

use super::async_copy::{MULTICAST, at};
use crate::class::{self, Class};
use crate::matched::Match;
use crate::matrix::run::space_code;
use crate::meaning::{Cx, V};
use crate::row::{AddressWidth, Constants, Exactness, Floor, ROW, Reach, Row, Sem, floor};
use crate::rows::mma::together;
use crate::tcgen05::moves::{self, Spread, reduction};
use crate::tcgen05::{Fragment, Shape};
use crate::types::{Kind, Space, ptx};
use crate::uop::Op;

const TARGETS: &str = "sm_100a sm_101a sm_103a sm_110a sm_100f sm_101f sm_103f sm_110f";
/// Targets that reduce what they load.
const REDUCING: &str = "sm_101a sm_103a sm_110a sm_101f sm_103f sm_110f";
/// Targets of what no family keeps.
pub(super) const SINGLE: &str = "sm_100a sm_101a sm_103a sm_107a sm_110a";
pub(super) const T: Row = Row {
    since: ptx(8, 6),
    sm: 100,
    targets: TARGETS,
    class: class::matrix,
    reach: Reach::Block,
    addresses: AddressWidth::Tensor,
    exact: Exactness::Manual,
    ..ROW
};
const ALLOC: Row = Row {
    section: "9.7.18.7.1",
    class: |_| Class::Move,
    floors: &[floor(".exclusive", ptx(9, 4), 100)],
    ..T
};
const LOAD: Row = Row {
    does: "Loads from tensor memory.",
    section: "9.7.18.8.1",
    class: class::load,
    counts: Some(registers),
    sem: Sem::Ops(load),
    ..T
};
/// Loads that keep two of four elements each.
const HALVED: Row = Row {
    since: ptx(9, 4),
    targets: "sm_107a",
    counts: Some(
        |m, name| if name == "dmeta" { repetitions(m).div_ceil(32) } else { repetitions(m) / 2 },
    ),
    sem: Sem::Ops(|x| {
        x.refuse("loads from tensor memory that compress what they load are not executed")
    }),
    ..LOAD
};
const STORE: Row = Row {
    does: "Stores to tensor memory.",
    section: "9.7.18.8.2",
    class: class::store,
    counts: Some(registers),
    sem: Sem::Ops(store),
    ..T
};
const COPY: Row = Row {
    does: "Starts a copy from shared to tensor memory.",
    section: "9.7.18.9.1",
    class: class::load,
    reach: Reach::Cluster,
    sem: Sem::Ops(copy),
    ..T
};
pub(super) const GROUP: (&str, &str) = ("group", ".cta_group::1 .cta_group::2");
const NUM: (&str, &str) = ("num", ".x1 .x2 .x4 .x8 .x16 .x32 .x64 .x128");
const NUM_RED: (&str, &str) = ("num", ".x2 .x4 .x8 .x16 .x32 .x64 .x128");
const NUM_HALVED: (&str, &str) = ("num", ".x4 .x8 .x16 .x32 .x64 .x128");
const SHAPE: (&str, &str) = ("shape", ".16x64b .16x128b .16x256b .32x32b");

const TCGEN05: Row = Row {
    does: "Lets an mbarrier count an arrival once earlier operations of the tensor core are complete.",
    section: "9.7.18.12.1",
    class: class::load,
    addresses: AddressWidth::Words,
    reach: Reach::Cluster,
    sem: Sem::Ops(commit),
    floors: &[
        floor(".multicast::cluster::16b", ptx(9, 4), 100),
        Floor {
            tokens: ".multicast::cluster::32b .sync_restrict::shared::read::mma::a",
            since: ptx(9, 4),
            sm: 100,
            targets: "sm_107f",
        },
    ],
    ..T
};
const RESTRICT: (&str, &str) = ("restrict", ".sync_restrict::shared::read::mma::a");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "tcgen05.alloc{.exclusive}.group.sync.aligned{.shared::cta}.b32 [a], n=32|64|128|256|512:.u32",
        does: "Allocates columns of tensor memory.",
        sets: &[GROUP],
        addresses: AddressWidth::Words,
        reach: Reach::Cluster,
        waits: true,
        sem: Sem::Ops(allocate),
        ..ALLOC
    },
    Row {
        syntax: "tcgen05.dealloc{.exclusive}.group.sync.aligned.b32 a:.u32, n=32|64|128|256|512:.u32",
        does: "Frees columns of tensor memory.",
        sets: &[GROUP],
        sem: Sem::Ops(|x| {
            let src = vec![x.rd("a"), x.rd("n")];
            together(x, "tcgen05.dealloc", moves::free, [0; 4], src, &[]);
        }),
        ..ALLOC
    },
    Row {
        syntax: "tcgen05.relinquish_alloc_permit.group.sync.aligned",
        does: "Gives up the right to allocate tensor memory.",
        sets: &[GROUP],
        sem: Sem::Ops(|x| {
            let name = "tcgen05.relinquish_alloc_permit";
            together(x, name, moves::relinquish, [0; 4], Vec::new(), &[]);
        }),
        ..ALLOC
    },
    Row {
        syntax: "tcgen05.ld.sync.aligned.shape.num{.pack::16b}.b32 d*!:.b32, [a]",
        sets: &[SHAPE, NUM],
        check: Some(fits),
        ..LOAD
    },
    Row {
        syntax: "tcgen05.ld.sync.aligned.16x32bx2.num{.pack::16b}.b32 d*!:.b32, [a], #half:.u32",
        sets: &[NUM],
        ..LOAD
    },
    Row {
        syntax: "tcgen05.ld.red.sync.aligned.32x32b.num.op{.abs}{.NaN}.f32 d*!:.f32, dr:.f32, [a]",
        sets: &[NUM_RED, ("op", ".min .max")],
        since: ptx(8, 8),
        targets: REDUCING,
        ..LOAD
    },
    Row {
        syntax: "tcgen05.ld.red.sync.aligned.32x32b.num.op.type d*!, dr, [a]",
        sets: &[NUM_RED, ("op", ".min .max"), ("type", ".u32 .s32")],
        since: ptx(8, 8),
        targets: REDUCING,
        ..LOAD
    },
    Row {
        syntax: "tcgen05.ld.red.sync.aligned.16x32bx2.num.op{.abs}{.NaN}.f32 d*!:.f32, dr:.f32, [a], #half:.u32",
        sets: &[NUM_RED, ("op", ".min .max")],
        since: ptx(8, 8),
        targets: REDUCING,
        ..LOAD
    },
    Row {
        syntax: "tcgen05.ld.red.sync.aligned.16x32bx2.num.op.type d*!, dr, [a], #half:.u32",
        sets: &[NUM_RED, ("op", ".min .max"), ("type", ".u32 .s32")],
        since: ptx(8, 8),
        targets: REDUCING,
        ..LOAD
    },
    Row {
        syntax: "tcgen05.ld.spcompress.sync.aligned.32x32b.num.op.sp::2:4{.abs}.f32.b2 dmeta*!:.b32, d*!:.f32, [a]",
        sets: &[NUM_HALVED, ("op", ".min .max")],
        ..HALVED
    },
    Row {
        syntax: "tcgen05.ld.red.spcompress.sync.aligned.32x32b.num.op.sp::2:4{.abs}.f32.b2 dmeta*!:.b32, d*!:.f32, dr:.f32, [a]",
        sets: &[NUM_HALVED, ("op", ".min .max")],
        ..HALVED
    },
    Row {
        syntax: "tcgen05.st.sync.aligned.shape.num{.unpack::16b}.b32 [a], b*!:.b32",
        sets: &[SHAPE, NUM],
        check: Some(fits),
        constants: Constants::Each,
        ..STORE
    },
    Row {
        syntax: "tcgen05.st.sync.aligned.16x32bx2.num{.unpack::16b}.b32 [a], #half:.u32, b*!:.b32",
        sets: &[NUM],
        constants: Constants::Each,
        ..STORE
    },
    Row {
        syntax: "tcgen05.what.sync.aligned",
        does: "Waits until loads from or stores to tensor memory are complete.",
        sets: &[("what", ".wait::ld .wait::st")],
        section: "9.7.18.8.3",
        class: |_| Class::WarpSync,
        // Loads and stores are complete when they are issued.
        sem: Sem::Ops(|_| {}),
        ..T
    },
    Row {
        syntax: "tcgen05.cp.group.shape{.fmt}{.src} [a], b:.u64",
        sets: &[
            GROUP,
            ("shape", ".128x256b .4x256b .128x128b"),
            ("fmt", ".b8x16"),
            ("src", ".b6x16_p32 .b4x16_p64"),
        ],
        check: Some(converted),
        ..COPY
    },
    Row {
        syntax: "tcgen05.cp.group.64x128b.multicast{.fmt}{.src} [a], b:.u64",
        sets: &[
            GROUP,
            ("multicast", ".warpx2::02_13 .warpx2::01_23"),
            ("fmt", ".b8x16"),
            ("src", ".b6x16_p32 .b4x16_p64"),
        ],
        check: Some(converted),
        ..COPY
    },
    Row {
        syntax: "tcgen05.cp.group.32x128b.warpx4{.fmt}{.src} [a], b:.u64",
        sets: &[GROUP, ("fmt", ".b8x16"), ("src", ".b6x16_p32 .b4x16_p64")],
        check: Some(converted),
        ..COPY
    },
    Row {
        syntax: "tcgen05.shift.group.down [a]",
        does: "Starts to shift the rows of a matrix in tensor memory.",
        sets: &[GROUP],
        targets: SINGLE,
        section: "9.7.18.9.2",
        class: class::load,
        reach: Reach::Cluster,
        sem: Sem::Ops(|x| {
            let src = [tensor(x, "a")];
            x.warp("tcgen05.shift", moves::shift, [pair(x), 0, 0, 0], &src, &[]);
        }),
        ..T
    },
    // Synchronisation.
    Row {
        syntax: "tcgen05.fence",
        does: "Orders operations of the tensor core with the synchronisation of threads.",
        sets: &[("fence", ".fence::before_thread_sync .fence::after_thread_sync")],
        section: "9.7.18.11.1",
        class: |_| Class::WarpSync,
        sem: Sem::Ops(|_| {}),
        ..T
    },
    Row {
        syntax: "tcgen05.commit.group.mbarrier::arrive::one{.restrict}{.shared::cluster}.b64 [a]",
        sets: &[GROUP, RESTRICT],
        ..TCGEN05
    },
    Row {
        syntax: "tcgen05.commit.group.mbarrier::arrive::one{.restrict}{.shared::cluster}.multicast.b64 [a], mask=0..65535:.b16",
        sets: &[GROUP, RESTRICT, MULTICAST],
        ..TCGEN05
    },
    Row {
        syntax: "tcgen05.commit.group.mbarrier::arrive::one{.restrict}{.shared::cluster}.multicast::cluster::32b.b64 [a], mask:.b32",
        sets: &[GROUP, RESTRICT],
        ..TCGEN05
    },
];

/// Registers of a load or store: the shape's share times the repetitions.
fn registers(m: &Match, name: &str) -> u32 {
    let share = match m.get("shape") {
        Some(".16x128b") => 2,
        Some(".16x256b") => 4,
        _ => 1,
    };
    if name == "dr" { 1 } else { share * repetitions(m) }
}

fn repetitions(m: &Match) -> u32 {
    m.get("num").and_then(|n| n[2..].parse().ok()).unwrap_or(1)
}

pub(super) fn fits(m: &Match) -> Result<(), String> {
    if registers(m, "d") > 128 {
        Err(format!(
            "shape `{}` with `{}` takes more than 128 registers",
            m.get("shape").unwrap_or(""),
            m.get("num").unwrap_or("")
        ))
    } else {
        Ok(())
    }
}

/// Both formats of a conversion, or none.
fn converted(m: &Match) -> Result<(), String> {
    if m.get("fmt").is_some() == m.get("src").is_some() {
        Ok(())
    } else {
        Err("a conversion names the formats to and from, as in `.b8x16.b4x16_p64`".into())
    }
}

/// Address of memory operand `name` in Tensor Memory.
pub(super) fn tensor(x: &mut Cx, name: &str) -> V {
    let a = x.addr(name);
    match a.offset {
        0 => a.base,
        offset => x.op2(Op::AddW, a.base, V::w(offset as u32)),
    }
}

pub(super) fn pair(x: &Cx) -> u32 {
    u32::from(x.has(".cta_group::2"))
}

fn allocate(x: &mut Cx) {
    let src = vec![at(x, "a"), x.rd("n")];
    let space = if x.has(".shared::cta") { Space::Shared } else { Space::Generic };
    let k = [pair(x), space_code(space), 0, 0];
    together(x, "tcgen05.alloc", moves::allocate, k, src, &[]);
}

fn fragment(x: &mut Cx, name: &str) -> [u32; 2] {
    let shape = [".32x32b", ".16x32bx2"].into_iter().find(|t| x.has(t));
    let shape = shape.unwrap_or_else(|| x.get("shape"));
    let shape = Shape::parse(shape).unwrap_or(Shape::L32x32b);
    let packed = x.has(".pack::16b") || x.has(".unpack::16b");
    let second = if shape == Shape::L16x32bx2 { x.imm("half") as u32 } else { 0 };
    [Fragment { shape, registers: registers(x.m, name), packed }.pack(), second]
}

fn load(x: &mut Cx) {
    let [fragment, second] = fragment(x, "d");
    let src = vec![tensor(x, "a")];
    let reduces = x.m.notation.slots.iter().any(|s| s.name == "dr");
    let mut k = 0;
    if reduces {
        let float = !matches!(x.get("type"), ".u32" | ".s32");
        let flags = [
            (reduction::ON, true),
            (reduction::MAX, x.has(".max")),
            (reduction::FLOAT, float),
            (reduction::SIGNED, x.has(".s32")),
            (reduction::MAGNITUDE, x.has(".abs")),
            (reduction::NAN, x.has(".NaN")),
        ];
        k = flags.iter().filter(|f| f.1).map(|f| f.0).sum();
    }
    let count = registers(x.m, "d") as usize;
    let results = vec![Kind::W; count + usize::from(reduces)];
    let values = together(x, "tcgen05.ld", moves::load, [fragment, second, k, 0], src, &results);
    x.wr_vec("d", &values[..count]);
    if reduces {
        x.wr("dr", values[count]);
    }
}

fn store(x: &mut Cx) {
    let [fragment, second] = fragment(x, "b");
    let mut src = vec![tensor(x, "a")];
    src.extend(x.rd_vec("b"));
    together(x, "tcgen05.st", moves::store, [fragment, second, 0, 0], src, &[]);
}

fn copy(x: &mut Cx) {
    let src = [tensor(x, "a"), x.rd("b")];
    let spread = match () {
        () if x.has(".warpx2::02_13") => Spread::Halves,
        () if x.has(".warpx2::01_23") => Spread::Pairs,
        () if x.has(".warpx4") => Spread::All,
        () if x.has(".4x256b") => Spread::Quarters,
        () => Spread::Once,
    };
    let bytes = if x.has(".128x256b") || x.has(".4x256b") { 32 } else { 16 };
    let bits = match () {
        () if x.has(".b4x16_p64") => 4,
        () if x.has(".b6x16_p32") => 6,
        () => 8,
    };
    let k = [pair(x), spread.code(), bytes, bits];
    x.warp("tcgen05.cp", moves::copy, k, &src, &[]);
}

fn commit(x: &mut Cx) {
    let mut src = vec![at(x, "a")];
    let multicast = x.m.notation.slots.iter().any(|s| s.name == "mask");
    if multicast {
        src.push(x.rd("mask"));
    }
    let space = if x.has(".shared::cluster") { Space::SharedCluster } else { Space::Generic };
    let k = [space_code(space), u32::from(multicast), 0, 0];
    x.warp("tcgen05.commit", moves::commit, k, &src, &[]);
}
