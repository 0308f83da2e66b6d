//! Atomics and reductions to memory (PTX ISA 9.7.13.5, 9.7.13.6).

use super::memory::{order, scope, space};
use crate::class;
use crate::effect::{Atom, AtomOp, Effect, Order};
use crate::matched::Match;
use crate::meaning::Cx;
use crate::row::{Floor, ROW, Row, Sem, Sink, floor};
use crate::types::{Kind, Ty, ptx};

const SPACE: (&str, &str) = ("space", ".global .shared .shared::cta .shared::cluster");
const SEM: (&str, &str) = ("sem", ".relaxed .acquire .release .acq_rel");
const RED_SEM: (&str, &str) = ("sem", ".relaxed .release");
const HINT: (&str, &str) = ("hint", ".L2::cache_hint");

const FLOORS: &[Floor] = &[
    floor(".relaxed .acquire .release .acq_rel", ptx(6, 0), 70),
    floor(".cta .gpu .sys", ptx(5, 0), 60),
    floor(".cluster", ptx(7, 8), 90),
    floor(".shared", ptx(1, 2), 12),
    floor(".shared::cta", ptx(7, 8), 30),
    floor(".shared::cluster", ptx(7, 8), 90),
    floor(".L2::cache_hint", ptx(7, 4), 80),
    floor(".u64 .b64", ptx(1, 2), 12),
    floor(".s64", ptx(3, 1), 32),
    floor(".f32", ptx(2, 0), 20),
    floor(".f64", ptx(5, 0), 60),
    floor(".f16x2", ptx(6, 2), 60),
    floor(".f16", ptx(6, 3), 70),
    floor(".bf16 .bf16x2", ptx(7, 8), 90),
    floor(".b16", ptx(6, 3), 70),
    floor(".b128", ptx(8, 3), 90),
];

const ATOM: Row = Row {
    does: "Updates a word in memory atomically and returns what was there.",
    since: ptx(1, 1),
    sm: 11,
    section: "9.7.13.5",
    class: class::atomic,
    sink: |_| Sink::Allowed,
    floors: FLOORS,
    check: Some(hinted),
    sem: Sem::Ops(atomic),
    ..ROW
};
const RED: Row = Row {
    does: "Updates a word in memory atomically.",
    since: ptx(1, 2),
    section: "9.7.13.6",
    ..ATOM
};
const VECTOR: Row = Row {
    does: "Updates a vector in memory, each element atomically, and returns what was there.",
    since: ptx(8, 1),
    sm: 90,
    ..ATOM
};
const RED_VECTOR: Row = Row {
    does: "Updates a vector in memory, each element atomically.",
    section: "9.7.13.6",
    check: Some(releases),
    ..VECTOR
};

const LOGIC: &[(&str, &str)] = &[SPACE, SEM, HINT, ("op", ".and .or .xor"), ("type", ".b32 .b64")];
const RED_LOGIC: &[(&str, &str)] =
    &[SPACE, RED_SEM, HINT, ("op", ".and .or .xor"), ("type", ".b32 .b64")];
const ADD: &[(&str, &str)] = &[SPACE, SEM, HINT, ("type", ".u32 .s32 .u64 .f32 .f64")];
const RED_ADD: &[(&str, &str)] = &[SPACE, RED_SEM, HINT, ("type", ".u32 .s32 .u64 .f32 .f64")];
const MIN_MAX: &[(&str, &str)] =
    &[SPACE, SEM, HINT, ("op", ".min .max"), ("type", ".u32 .s32 .u64 .s64")];
const RED_MIN_MAX: &[(&str, &str)] =
    &[SPACE, RED_SEM, HINT, ("op", ".min .max"), ("type", ".u32 .s32 .u64 .s64")];
const HALF: &[(&str, &str)] = &[SPACE, SEM, HINT, ("type", ".f16 .f16x2 .bf16 .bf16x2")];
const RED_HALF: &[(&str, &str)] = &[SPACE, RED_SEM, HINT, ("type", ".f16 .f16x2 .bf16 .bf16x2")];
const VEC_HALF: &[(&str, &str)] = &[
    ("sem", ".relaxed .acquire .release .acq_rel"),
    HINT,
    ("op", ".add .min .max"),
    ("vec", ".v2 .v4 .v8"),
    ("type", ".f16 .bf16"),
];
const VEC_HALF_X2: &[(&str, &str)] =
    &[SEM, HINT, ("op", ".add .min .max"), ("vec", ".v2 .v4"), ("type", ".f16x2 .bf16x2")];
const VEC_F32: &[(&str, &str)] = &[SEM, HINT, ("vec", ".v2 .v4")];

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "atom{.sem}{.scope}{.space}.op{.hint}.type d, [a], b{, policy:.u64}",
        sets: LOGIC,
        ..ATOM
    },
    Row {
        syntax: "atom{.sem}{.scope}{.space}.exch{.hint}.type d, [a], b{, policy:.u64}",
        sets: &[SPACE, SEM, HINT, ("type", ".b32 .b64 .b128")],
        ..ATOM
    },
    Row {
        syntax: "atom{.sem}{.scope}{.space}.cas{.hint}.type d, [a], b, c{, policy:.u64}",
        sets: &[SPACE, SEM, HINT, ("type", ".b16 .b32 .b64 .b128")],
        ..ATOM
    },
    Row {
        syntax: "atom{.sem}{.scope}{.space}.add{.hint}.type d, [a], b{, policy:.u64}",
        sets: ADD,
        ..ATOM
    },
    Row {
        syntax: "atom{.sem}{.scope}{.space}.op{.hint}.u32 d, [a], b{, policy:.u64}",
        sets: &[SPACE, SEM, HINT, ("op", ".inc .dec")],
        ..ATOM
    },
    Row {
        syntax: "atom{.sem}{.scope}{.space}.op{.hint}.type d, [a], b{, policy:.u64}",
        sets: MIN_MAX,
        ..ATOM
    },
    Row {
        syntax: "atom{.sem}{.scope}{.space}.add.noftz{.hint}.type d, [a], b{, policy:.u64}",
        sets: HALF,
        since: ptx(6, 2),
        sm: 60,
        ..ATOM
    },
    Row {
        syntax: "atom{.sem}{.scope}{.space}.add.noftz{.hint}.f32 d, [a], b{, policy:.u64}",
        sets: &[SPACE, SEM, HINT],
        since: ptx(9, 4),
        sm: 90,
        sem: Sem::Ops(atomic),
        ..ATOM
    },
    Row {
        syntax: "atom{.sem}{.scope}{.global}.add{.hint}.vec.f32 d*vec, [a], b*vec{, policy:.u64}",
        sets: VEC_F32,
        ..VECTOR
    },
    Row {
        syntax: "atom{.sem}{.scope}{.global}.op.noftz{.hint}.vec.type d*vec, [a], b*vec{, policy:.u64}",
        sets: VEC_HALF,
        ..VECTOR
    },
    Row {
        syntax: "atom{.sem}{.scope}{.global}.op.noftz{.hint}.vec.type d*vec, [a], b*vec{, policy:.u64}",
        sets: VEC_HALF_X2,
        ..VECTOR
    },
    Row {
        syntax: "red{.sem}{.scope}{.space}.op{.hint}.type [a], b{, policy:.u64}",
        sets: RED_LOGIC,
        ..RED
    },
    Row {
        syntax: "red{.sem}{.scope}{.space}.add{.hint}.type [a], b{, policy:.u64}",
        sets: RED_ADD,
        ..RED
    },
    Row {
        syntax: "red{.sem}{.scope}{.space}.op{.hint}.u32 [a], b{, policy:.u64}",
        sets: &[SPACE, RED_SEM, HINT, ("op", ".inc .dec")],
        ..RED
    },
    Row {
        syntax: "red{.sem}{.scope}{.space}.op{.hint}.type [a], b{, policy:.u64}",
        sets: RED_MIN_MAX,
        ..RED
    },
    Row {
        syntax: "red{.sem}{.scope}{.space}.add.noftz{.hint}.type [a], b{, policy:.u64}",
        sets: RED_HALF,
        since: ptx(6, 2),
        sm: 60,
        ..RED
    },
    Row {
        syntax: "red{.sem}{.scope}{.space}.add.noftz{.hint}.f32 [a], b{, policy:.u64}",
        sets: &[SPACE, RED_SEM, HINT],
        since: ptx(9, 4),
        sm: 90,
        sem: Sem::Ops(atomic),
        ..RED
    },
    Row {
        syntax: "red{.sem}{.scope}{.global}.add{.hint}.vec.f32 [a], b*vec{, policy:.u64}",
        sets: VEC_F32,
        ..RED_VECTOR
    },
    Row {
        syntax: "red{.sem}{.scope}{.global}.op.noftz{.hint}.vec.type [a], b*vec{, policy:.u64}",
        sets: VEC_HALF,
        ..RED_VECTOR
    },
    Row {
        syntax: "red{.sem}{.scope}{.global}.op.noftz{.hint}.vec.type [a], b*vec{, policy:.u64}",
        sets: VEC_HALF_X2,
        ..RED_VECTOR
    },
];

/// A cache policy is for global memory, and not for comparisons.
fn hinted(m: &Match) -> Result<(), String> {
    let elsewhere = m.get("space").filter(|space| *space != ".global");
    match (m.get("hint"), elsewhere) {
        (Some(hint), Some(space)) => {
            Err(format!("`{hint}` is for global memory, `{space}` has no such cache"))
        }
        (Some(hint), None) if m.has(".cas") => Err(format!("`.cas` takes no `{hint}`")),
        _ => Ok(()),
    }
}

/// Reductions return nothing: they only release.
fn releases(m: &Match) -> Result<(), String> {
    match m.get("sem") {
        Some(sem @ (".acquire" | ".acq_rel")) => Err(format!("a reduction has no `{sem}`")),
        _ => hinted(m),
    }
}

fn operation(x: &Cx) -> AtomOp {
    let ty = x.ty();
    let named = |token: &str| x.has(token);
    if named(".and") {
        AtomOp::And
    } else if named(".or") {
        AtomOp::Or
    } else if named(".xor") {
        AtomOp::Xor
    } else if named(".exch") {
        AtomOp::Exch
    } else if named(".cas") {
        AtomOp::Cas
    } else if named(".inc") {
        AtomOp::Inc
    } else if named(".dec") {
        AtomOp::Dec
    } else if named(".add") {
        match ty {
            Ty::F32 if named(".noftz") => AtomOp::AddF32Noftz,
            Ty::F32 => AtomOp::AddF32,
            Ty::F64 => AtomOp::AddF64,
            Ty::F16 => AtomOp::AddF16,
            Ty::F16x2 => AtomOp::AddF16x2,
            Ty::Bf16 => AtomOp::AddBf16,
            Ty::Bf16x2 => AtomOp::AddBf16x2,
            _ => AtomOp::Add,
        }
    } else {
        let min = named(".min");
        let pick = |a, b| if min { a } else { b };
        match ty {
            Ty::S32 | Ty::S64 => pick(AtomOp::MinS, AtomOp::MaxS),
            Ty::F16 => pick(AtomOp::MinF16, AtomOp::MaxF16),
            Ty::F16x2 => pick(AtomOp::MinF16x2, AtomOp::MaxF16x2),
            Ty::Bf16 => pick(AtomOp::MinBf16, AtomOp::MaxBf16),
            Ty::Bf16x2 => pick(AtomOp::MinBf16x2, AtomOp::MaxBf16x2),
            _ => pick(AtomOp::MinU, AtomOp::MaxU),
        }
    }
}

fn atomic(x: &mut Cx) {
    let ty = x.ty();
    let returns = x.m.notation.slots[0].dest;
    let count = x.get("vec").strip_prefix(".v").and_then(|n| n.parse().ok()).unwrap_or(1u8);
    let atom = Atom {
        place: x.place(x.addr("a"), space(x)),
        op: operation(x),
        bytes: ty.bytes() as u8,
        count,
        order: order(x, Order::Relaxed),
        scope: scope(x),
    };
    let mut src = vec![x.addr("a").base];
    let cas = atom.op == AtomOp::Cas;
    if ty == Ty::B128 {
        let (lo, hi) = x.rd_pair("b");
        src.extend([lo, hi]);
        if cas {
            let (lo, hi) = x.rd_pair("c");
            src.extend([lo, hi]);
        }
        let old = x.effect(Effect::Atom(atom), &src, &[Kind::D, Kind::D]);
        return x.wr_pair("d", old[0], old[1]);
    }
    src.extend(x.rd_vec("b"));
    if cas {
        let c = x.rd("c");
        src.push(c);
    }
    if returns {
        let old = x.effect(Effect::Atom(atom), &src, &vec![ty.kind(); count as usize]);
        x.wr_vec("d", &old);
    } else {
        x.effect(Effect::Atom(atom), &src, &[]);
    }
}
