//! CTA barriers and memory fences (PTX ISA 9.7.13.1, 9.7.13.4).

use crate::class::{self, Class};
use crate::effect::{Bar, BarKind, Effect, Fence, Order, Proxy, Scope};
use crate::matched::Match;
use crate::meaning::Cx;
use crate::row::{Floor, NOWHERE, Operation, ROW, Reach, Row, Sem, floor};
use crate::types::{Kind, ptx};
use std::ops::Range;

const BAR: Row = Row {
    section: "9.7.13.1",
    class: |_| Class::Barrier,
    op: Operation::Barrier,
    reach: Reach::Block,
    waits: true,
    ..ROW
};
const FLOORS: &[Floor] = &[floor(".cta", ptx(7, 8), 0)];
const RED_OP: (&str, &str) = ("op", ".and .or");

const BAR_CTA: Row =
    Row { does: "Waits until the threads of the block have arrived at a barrier.", ..BAR };
const BAR_CTA_FORM: Row = Row { does: "Arrives at a barrier of the block without waiting.", ..BAR };
const BAR_CTA_FORM_FORM: Row =
    Row { does: "Waits at a barrier of the block and combines a predicate of its threads.", ..BAR };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "bar{.cta}.sync a:.u32{, b:.u32}",
        floors: FLOORS,
        sem: Sem::Ops(|x| barrier(x, BarKind::Sync)),
        ..BAR_CTA
    },
    Row {
        syntax: "bar{.cta}.arrive a:.u32, b:.u32",
        since: ptx(2, 0),
        sm: 20,
        floors: FLOORS,
        waits: false,
        sem: Sem::Ops(|x| barrier(x, BarKind::Arrive)),
        ..BAR_CTA_FORM
    },
    Row {
        syntax: "bar{.cta}.red.popc.u32 d, a:.u32{, b:.u32}, {!}c:pred",
        since: ptx(2, 0),
        sm: 20,
        floors: FLOORS,
        sem: Sem::Ops(|x| barrier(x, BarKind::RedPopc)),
        ..BAR_CTA_FORM_FORM
    },
    Row {
        syntax: "bar{.cta}.red.op.pred p, a:.u32{, b:.u32}, {!}c:pred",
        sets: &[RED_OP],
        since: ptx(2, 0),
        sm: 20,
        floors: FLOORS,
        sem: Sem::Ops(barrier_vote),
        ..BAR_CTA_FORM_FORM
    },
    Row {
        syntax: "barrier{.cta}.sync{.aligned} a:.u32{, b:.u32}",
        since: ptx(6, 0),
        sm: 30,
        called: unaligned,
        floors: FLOORS,
        sem: Sem::Ops(|x| barrier(x, BarKind::Sync)),
        ..BAR_CTA
    },
    Row {
        syntax: "barrier{.cta}.arrive{.aligned} a:.u32, b:.u32",
        since: ptx(6, 0),
        sm: 30,
        called: unaligned,
        floors: FLOORS,
        waits: false,
        sem: Sem::Ops(|x| barrier(x, BarKind::Arrive)),
        ..BAR_CTA_FORM
    },
    Row {
        syntax: "barrier{.cta}.red.popc{.aligned}.u32 d, a:.u32{, b:.u32}, {!}c:pred",
        since: ptx(6, 0),
        sm: 30,
        called: unaligned,
        floors: FLOORS,
        sem: Sem::Ops(|x| barrier(x, BarKind::RedPopc)),
        ..BAR_CTA_FORM_FORM
    },
    Row {
        syntax: "barrier{.cta}.red.op{.aligned}.pred p, a:.u32{, b:.u32}, {!}c:pred",
        sets: &[RED_OP],
        since: ptx(6, 0),
        sm: 30,
        called: unaligned,
        floors: FLOORS,
        sem: Sem::Ops(barrier_vote),
        ..BAR_CTA_FORM_FORM
    },
    Row {
        syntax: "membar.level",
        does: "Makes earlier accesses to memory visible before later ones.",
        sets: &[("level", ".cta .gl .sys")],
        since: ptx(1, 4),
        floors: &[floor(".sys", ptx(2, 0), 20)],
        section: "9.7.13.4",
        class: class::fence,
        sem: Sem::Ops(fence),
        ..ROW
    },
    Row {
        syntax: "fence{.sem}.scope",
        does: "Orders earlier accesses to memory before later ones.",
        sets: &[("sem", ".sc .acq_rel .acquire .release")],
        since: ptx(6, 0),
        sm: 70,
        floors: &[floor(".cluster", ptx(7, 8), 90), floor(".acquire .release", ptx(8, 6), 90)],
        section: "9.7.13.4",
        class: class::fence,
        sem: Sem::Ops(fence),
        ..ROW
    },
];

/// `[number, count, predicate]` as the form has them.
fn barrier(x: &mut Cx, kind: BarKind) {
    let mut src = vec![x.rd("a")];
    let counted = x.given("b");
    if counted {
        let b = x.rd("b");
        src.push(b);
    }
    let red = !matches!(kind, BarKind::Sync | BarKind::Arrive);
    if red {
        let c = x.rd("c");
        src.push(c);
    }
    // `bar` is short for `barrier….aligned`.
    let aligned = x.m.notation.mnemonic == "bar" || x.has(".aligned");
    let results: &[Kind] = match kind {
        BarKind::RedPopc => &[Kind::W],
        BarKind::RedAnd | BarKind::RedOr => &[Kind::P],
        _ => &[],
    };
    let r = x.effect(Effect::Bar(Bar { kind, counted, aligned }), &src, results);
    if let Some(v) = r.first() {
        x.wr(if kind == BarKind::RedPopc { "d" } else { "p" }, *v);
    }
}

fn barrier_vote(x: &mut Cx) {
    barrier(x, if x.has(".and") { BarKind::RedAnd } else { BarKind::RedOr });
}

fn fence(x: &mut Cx) {
    let order = match x.get("sem") {
        ".acquire" => Order::Acquire,
        ".release" => Order::Release,
        ".acq_rel" | "" if x.m.notation.mnemonic == "fence" => Order::AcqRel,
        _ => Order::SeqCst,
    };
    let scope = match (x.get("level"), x.get("scope")) {
        (".cta", _) | (_, ".cta") => Scope::Cta,
        (".gl", _) | (_, ".gpu") => Scope::Gpu,
        (_, ".cluster") => Scope::Cluster,
        _ => Scope::Sys,
    };
    let fence = Fence { order, scope, proxy: Proxy::Generic, inits: false };
    x.effect(Effect::Fence(fence), &[], &[]);
}

/// Barriers that threads of a warp reach one by one.
fn unaligned(m: &Match, _: &str) -> Range<u16> {
    if m.has(".aligned") { NOWHERE } else { 0..90 }
}
