//! Products of the fifth generation's tensor cores (PTX ISA 9.7.18.10).

use super::tcgen05::{GROUP, SINGLE, T, pair, tensor};
use crate::matched::Match;
use crate::meaning::{Arg, Cx};
use crate::row::{EVERYWHERE, Floor, NOWHERE, Reach, Row, Sem, floor};
use crate::tcgen05::Kind;
use crate::tcgen05::product::{self, flag};
use crate::types::ptx;

const M: Row = Row {
    does: "Starts a product of matrices in tensor and shared memory.",
    section: "9.7.18.10.9",
    counts: Some(lane_masks),
    reach: Reach::Cluster,
    sem: Sem::Ops(mma),
    floors: &[
        floor(".block16 .block32", ptx(8, 8), 100),
        Floor {
            tokens: ".kind::i8",
            since: ptx(8, 6),
            sm: 100,
            targets: "sm_100a sm_101a sm_110a",
        },
        NEWEST,
        floor(".kind::mxf4nvf4", ptx(8, 7), 100),
        VECTORS,
    ],
    check: Some(shifted),
    called: |_, slot| if slot == "i" { EVERYWHERE } else { NOWHERE },
    ..T
};
/// The number of factors in a vector is named for single targets; families name the size of a block.
const VECTORS: Floor = Floor {
    tokens: ".scale_vec::1X .scale_vec::2X .scale_vec::4X",
    since: ptx(8, 6),
    sm: 100,
    targets: SINGLE,
};
const NEWEST: Floor = Floor {
    tokens: ".kind::ti16 .collector::b::fill .collector::b::use .collector::b::lastuse .collector::b::discard",
    since: ptx(9, 4),
    sm: 100,
    targets: "sm_107f",
};
/// Sparse products of 4-bit floats.
const SPARSE_FLOORS: &[Floor] = &[
    floor(".block16 .block32", ptx(8, 8), 100),
    Floor { tokens: ".kind::mxf4", since: ptx(8, 6), sm: 100, targets: SINGLE },
    Floor { tokens: ".kind::mxf4nvf4", since: ptx(8, 7), sm: 100, targets: SINGLE },
    VECTORS,
    NEWEST,
];
const KIND: (&str, &str) = ("kind", ".kind::f16 .kind::tf32 .kind::f8f6f4 .kind::i8 .kind::ti16");
const KIND_F: (&str, &str) = ("kind", ".kind::f16 .kind::tf32");
const SCALED: (&str, &str) = ("kind", ".kind::mxf8f6f4 .kind::mxf4 .kind::mxf4nvf4");
const VECTOR: (&str, &str) =
    ("scale_vec", ".scale_vec::1X .scale_vec::2X .scale_vec::4X .block16 .block32");
const COLLECTOR_A: (&str, &str) = (
    "collector",
    ".collector::a::fill .collector::a::use .collector::a::lastuse .collector::a::discard",
);
const KEPT_B: (&str, &str) = (
    "kept",
    ".collector::b::fill .collector::b::use .collector::b::lastuse .collector::b::discard",
);
const COLLECTOR_B: (&str, &str) = (
    "collector",
    ".collector::b0::fill .collector::b0::use .collector::b0::lastuse .collector::b0::discard \
     .collector::b1::fill .collector::b1::use .collector::b1::lastuse .collector::b1::discard \
     .collector::b2::fill .collector::b2::use .collector::b2::lastuse .collector::b2::discard \
     .collector::b3::fill .collector::b3::use .collector::b3::lastuse .collector::b3::discard",
);

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // Products: A from a descriptor or from tensor memory.
    Row {
        syntax: "tcgen05.mma.group.kind{.collector}{.kept} [c], a:.u64, b:.u64, i:.u32, e:pred",
        sets: &[GROUP, KIND, COLLECTOR_A, KEPT_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.group.kind{.collector}{.kept} [c], a:.u64, b:.u64, i:.u32, %mask*!:.b32, e:pred",
        sets: &[GROUP, KIND, COLLECTOR_A, KEPT_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.group.kind{.collector}{.kept} [c], a:.u64, b:.u64, i:.u32, e:pred, #scale=0..15:.u32",
        sets: &[GROUP, KIND_F, COLLECTOR_A, KEPT_B],
        targets: "sm_100f",
        ..M
    },
    Row {
        syntax: "tcgen05.mma.group.kind{.collector}{.kept} [c], a:.u64, b:.u64, i:.u32, %mask*!:.b32, e:pred, #scale=0..15:.u32",
        sets: &[GROUP, KIND_F, COLLECTOR_A, KEPT_B],
        targets: "sm_100f",
        ..M
    },
    Row {
        syntax: "tcgen05.mma.group.kind{.ashift}{.collector}{.kept} [c], [a], b:.u64, i:.u32, e:pred",
        sets: &[GROUP, KIND, COLLECTOR_A, KEPT_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.group.kind{.ashift}{.collector}{.kept} [c], [a], b:.u64, i:.u32, %mask*!:.b32, e:pred",
        sets: &[GROUP, KIND, COLLECTOR_A, KEPT_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.group.kind{.ashift}{.collector}{.kept} [c], [a], b:.u64, i:.u32, e:pred, #scale=0..15:.u32",
        sets: &[GROUP, KIND_F, COLLECTOR_A, KEPT_B],
        targets: "sm_100f",
        ..M
    },
    Row {
        syntax: "tcgen05.mma.group.kind{.ashift}{.collector}{.kept} [c], [a], b:.u64, i:.u32, %mask*!:.b32, e:pred, #scale=0..15:.u32",
        sets: &[GROUP, KIND_F, COLLECTOR_A, KEPT_B],
        targets: "sm_100f",
        ..M
    },
    Row {
        syntax: "tcgen05.mma.group.kind.block_scale{.scale_vec}{.collector}{.kept} [c], a:.u64, b:.u64, i:.u32, [sa], [sb], e:pred",
        sets: &[GROUP, SCALED, VECTOR, COLLECTOR_A, KEPT_B],
        check: Some(scaled),
        ..M
    },
    Row {
        syntax: "tcgen05.mma.group.kind.block_scale{.scale_vec}{.collector}{.kept} [c], [a], b:.u64, i:.u32, [sa], [sb], e:pred",
        sets: &[GROUP, SCALED, VECTOR, COLLECTOR_A, KEPT_B],
        check: Some(scaled),
        ..M
    },
    // Sparse A: metadata in tensor memory.
    Row {
        syntax: "tcgen05.mma.sp.group.kind{.collector}{.kept} [c], a:.u64, b:.u64, [meta], i:.u32, e:pred",
        sets: &[GROUP, KIND, COLLECTOR_A, KEPT_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.sp.group.kind{.collector}{.kept} [c], a:.u64, b:.u64, [meta], i:.u32, %mask*!:.b32, e:pred",
        sets: &[GROUP, KIND, COLLECTOR_A, KEPT_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.sp.group.kind{.collector}{.kept} [c], a:.u64, b:.u64, [meta], i:.u32, e:pred, #scale=0..15:.u32",
        sets: &[GROUP, KIND_F, COLLECTOR_A, KEPT_B],
        targets: "sm_100f",
        ..M
    },
    Row {
        syntax: "tcgen05.mma.sp.group.kind{.collector}{.kept} [c], a:.u64, b:.u64, [meta], i:.u32, %mask*!:.b32, e:pred, #scale=0..15:.u32",
        sets: &[GROUP, KIND_F, COLLECTOR_A, KEPT_B],
        targets: "sm_100f",
        ..M
    },
    Row {
        syntax: "tcgen05.mma.sp.group.kind{.ashift}{.collector}{.kept} [c], [a], b:.u64, [meta], i:.u32, e:pred",
        sets: &[GROUP, KIND, COLLECTOR_A, KEPT_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.sp.group.kind{.ashift}{.collector}{.kept} [c], [a], b:.u64, [meta], i:.u32, %mask*!:.b32, e:pred",
        sets: &[GROUP, KIND, COLLECTOR_A, KEPT_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.sp.group.kind{.ashift}{.collector}{.kept} [c], [a], b:.u64, [meta], i:.u32, e:pred, #scale=0..15:.u32",
        sets: &[GROUP, KIND_F, COLLECTOR_A, KEPT_B],
        targets: "sm_100f",
        ..M
    },
    Row {
        syntax: "tcgen05.mma.sp.group.kind{.ashift}{.collector}{.kept} [c], [a], b:.u64, [meta], i:.u32, %mask*!:.b32, e:pred, #scale=0..15:.u32",
        sets: &[GROUP, KIND_F, COLLECTOR_A, KEPT_B],
        targets: "sm_100f",
        ..M
    },
    Row {
        syntax: "tcgen05.mma.sp.group.kind.block_scale{.scale_vec}{.collector}{.kept} [c], a:.u64, b:.u64, [meta], i:.u32, [sa], [sb], e:pred",
        sets: &[GROUP, SCALED, VECTOR, COLLECTOR_A, KEPT_B],
        check: Some(scaled),
        floors: SPARSE_FLOORS,
        ..M
    },
    Row {
        syntax: "tcgen05.mma.sp.group.kind.block_scale{.scale_vec}{.collector}{.kept} [c], [a], b:.u64, [meta], i:.u32, [sa], [sb], e:pred",
        sets: &[GROUP, SCALED, VECTOR, COLLECTOR_A, KEPT_B],
        check: Some(scaled),
        floors: SPARSE_FLOORS,
        ..M
    },
    // Weight-stationary products.
    Row {
        syntax: "tcgen05.mma.ws.cta_group::1.kind{.collector} [c], a:.u64, b:.u64, i:.u32, e:pred{, zero:.u64}",
        sets: &[KIND, COLLECTOR_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.ws.cta_group::1.kind{.collector} [c], [a], b:.u64, i:.u32, e:pred{, zero:.u64}",
        sets: &[KIND, COLLECTOR_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.ws.sp.cta_group::1.kind{.collector} [c], a:.u64, b:.u64, [meta], i:.u32, e:pred{, zero:.u64}",
        sets: &[KIND, COLLECTOR_B],
        ..M
    },
    Row {
        syntax: "tcgen05.mma.ws.sp.cta_group::1.kind{.collector} [c], [a], b:.u64, [meta], i:.u32, e:pred{, zero:.u64}",
        sets: &[KIND, COLLECTOR_B],
        ..M
    },
];

/// Scale vectors of the block-scaled kinds.
fn scaled(m: &Match) -> Result<(), String> {
    let fits = match (m.get("kind"), m.get("scale_vec")) {
        (Some(".kind::mxf8f6f4"), v) => matches!(v, None | Some(".scale_vec::1X" | ".block32")),
        (Some(".kind::mxf4"), v) => matches!(v, None | Some(".scale_vec::2X" | ".block32")),
        (_, v) => matches!(v, Some(".scale_vec::2X" | ".scale_vec::4X" | ".block16" | ".block32")),
    };
    if fits { Ok(()) } else { Err("this kind does not take this scale vector".into()) }
}

/// What holds rows of A that are shifted is not filled by them, nor used for them. Read off ptxas 13.5.
fn shifted(m: &Match) -> Result<(), String> {
    let kept = matches!(m.get("collector"), Some(".collector::a::fill" | ".collector::a::use"));
    if m.has(".ashift") && kept {
        return Err("modifier .ashift cannot be combined with this collector".into());
    }
    Ok(())
}

/// Elements of the mask that disables output lanes.
fn lane_masks(m: &Match, _: &str) -> u32 {
    if m.has(".cta_group::2") { 8 } else { 4 }
}

fn mma(x: &mut Cx) {
    let Some(kind) = Kind::parse(x.get("kind")) else {
        let kind = x.get("kind");
        x.refuse(format!(
            "products of `{kind}` are not executed: the manual has no layout of them"
        ));
        return;
    };
    let slot =
        |x: &Cx, name: &str| x.m.notation.slots.iter().any(|s| s.name == name) && x.given(name);
    let (ws, sparse) = (x.has(".ws"), x.has(".sp"));
    let in_memory = matches!(x.arg("a"), Arg::Addr(_));
    let a = if in_memory { tensor(x, "a") } else { x.rd("a") };
    let mut src = vec![tensor(x, "c"), a, x.rd("b"), x.rd("i"), x.rd("e")];
    if sparse {
        src.push(tensor(x, "meta"));
    }
    if kind.scales() {
        src.push(tensor(x, "sa"));
        src.push(tensor(x, "sb"));
    }
    let masks = if slot(x, "mask") { x.rd_vec("mask") } else { Vec::new() };
    let disabled = masks.len() as u32;
    src.extend(masks);
    let zero = slot(x, "zero");
    if zero {
        src.push(x.rd("zero"));
    }
    let scale_d = if slot(x, "scale") { x.imm("scale") as u32 } else { 0 };
    if scale_d > 15 {
        x.refuse(format!("D is scaled by 2^-0 to 2^-15, not by 2^-{scale_d}"));
        return;
    }
    let factors = match x.get("scale_vec") {
        ".scale_vec::1X" => 1,
        ".scale_vec::4X" | ".block16" => 4,
        ".scale_vec::2X" => 2,
        // `.block32` and none.
        _ if kind == Kind::Mxf8f6f4 => 1,
        _ => 2,
    };
    let flags = [
        (flag::PAIR, pair(x) != 0),
        (flag::WS, ws),
        (flag::SPARSE, sparse),
        (flag::A_IN_MEMORY, in_memory),
        (flag::ZERO_COLUMNS, zero),
        (flag::SHIFTS_A, x.has(".ashift")),
    ];
    let flags = flags.iter().filter(|f| f.1).map(|f| f.0).sum();
    let k = [kind.code(), flags, disabled, scale_d | factors << 8 | u32::from(x.sm()) << 16];
    x.warp("tcgen05.mma", product::mma, k, &src, &[]);
}
