//! Waits for an `mbarrier` and questions about it (PTX ISA 9.7.15.16.19 to 9.7.15.16.21).

use super::mbarrier::{B, CTA, LAYOUT, SCOPE, address, synchronisation};
use crate::effect::Effect;
use crate::matrix::run::space_code;
use crate::mbarrier;
use crate::meaning::{Arg, Cx, V};
use crate::row::{Reach, Row, Sem, Sink};
use crate::rows::memory::space;
use crate::types::{Kind, ptx};
use crate::uop::Op;

const ACQUIRE: (&str, &str) = ("sem", ".acquire .relaxed");
const PHASE: (&str, &str) = ("phase", ".phase_type::primary .phase_type::conditional");

const MBARRIER: Row = Row {
    does: "Tests whether a phase of an mbarrier is complete.",
    section: "9.7.15.16.19",
    sink: |_| Sink::Never,
    ..B
};
const MBARRIER_TRY_WAIT: Row = Row {
    does: "Waits a limited time until a phase of an mbarrier is complete.",
    section: "9.7.15.16.19",
    sink: |_| Sink::Never,
    ..B
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // Waits.
    Row {
        syntax: "mbarrier.test_wait{.phase}{.sem}{.scope}{.space}.b64 p:pred, [mbar], state:.u64",
        sets: &[("phase", ".phase_type::primary"), ACQUIRE, SCOPE, CTA],
        waits: true,
        sem: Sem::Ops(wait),
        ..MBARRIER
    },
    Row {
        syntax: "mbarrier.test_wait.parity{.phase}{.sem}{.scope}{.space}.b64 p:pred, [mbar], parity=0|1:.u32",
        sets: &[PHASE, ACQUIRE, SCOPE, CTA],
        waits: true,
        sem: Sem::Ops(wait),
        ..MBARRIER
    },
    Row {
        syntax: "mbarrier.try_wait{.phase}{.sem}{.scope}{.space}.b64 p:pred, [mbar], state:.u64{, hint:.u32}",
        sets: &[("phase", ".phase_type::primary"), ACQUIRE, SCOPE, CTA],
        since: ptx(7, 8),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..MBARRIER_TRY_WAIT
    },
    Row {
        syntax: "mbarrier.try_wait.parity{.phase}{.sem}{.scope}{.space}.b64 p:pred, [mbar], parity=0|1:.u32{, hint:.u32}",
        sets: &[PHASE, ACQUIRE, SCOPE, CTA],
        since: ptx(7, 8),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..MBARRIER_TRY_WAIT
    },
    Row {
        syntax: "mbarrier.test_wait.phase_type::primary{.sem}{.scope}{.space}.b64 p|q:pred{, dv:.b8}, [mbar], state:.u64",
        sets: &[ACQUIRE, SCOPE, CTA],
        since: ptx(9, 3),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..MBARRIER
    },
    Row {
        syntax: "mbarrier.test_wait.parity.phase_type::primary{.sem}{.scope}{.space}.b64 p|q:pred{, dv:.b8}, [mbar], parity:.u32",
        sets: &[ACQUIRE, SCOPE, CTA],
        since: ptx(9, 3),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..MBARRIER
    },
    Row {
        syntax: "mbarrier.try_wait.phase_type::primary{.sem}{.scope}{.space}.b64 p|q:pred{, dv:.b8}, [mbar], state:.u64{, hint:.u32}",
        sets: &[ACQUIRE, SCOPE, CTA],
        since: ptx(9, 3),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..MBARRIER_TRY_WAIT
    },
    Row {
        syntax: "mbarrier.try_wait.parity.phase_type::primary{.sem}{.scope}{.space}.b64 p|q:pred{, dv:.b8}, [mbar], parity:.u32{, hint:.u32}",
        sets: &[ACQUIRE, SCOPE, CTA],
        since: ptx(9, 3),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..MBARRIER_TRY_WAIT
    },
    Row {
        syntax: "mbarrier.pending_count{.layout::v0}.b64 d:.u32, state:.u64",
        does: "Gives the arrivals that a phase still waited for.",
        section: "9.7.15.16.20",
        sink: |_| Sink::Never,
        reach: Reach::Lane,
        sem: Sem::Ops(|x| {
            let state = x.rd("state");
            let low = x.op1(Op::TruncDW, state);
            let count = x.op2(Op::AndW, low, V::w((1 << 20) - 1));
            x.wr("d", count);
        }),
        ..B
    },
    Row {
        syntax: "mbarrier.check_layout.layout{.space}.b64 p:pred, [mbar]",
        does: "Tests the layout of an mbarrier object.",
        sets: &[LAYOUT, CTA],
        section: "9.7.15.16.21",
        named: |_, _| true,
        since: ptx(9, 3),
        sm: 90,
        sem: Sem::Ops(|x| {
            let src = [address(x)];
            let k = [space_code(space(x)), u32::from(x.has(".layout::v1")), 0, 0];
            let has = x.warp("mbarrier.check_layout", mbarrier::check_layout, k, &src, &[Kind::P]);
            x.wr("p", has[0]);
        }),
        ..B
    },
];

fn wait(x: &mut Cx) {
    let parity = x.has(".parity");
    let what = x.rd(if parity { "parity" } else { "state" });
    let src = [address(x), what];
    let conditional = u32::from(x.has(".phase_type::conditional"));
    let k = [u32::from(parity), space_code(space(x)), synchronisation(x), conditional];
    let done = x.warp("mbarrier.test_wait", mbarrier::test, k, &src, &[Kind::P, Kind::P]);
    // A wait in a loop should let those run that it waits for.
    x.effect(Effect::Yield, &[], &[]);
    x.wr("p", done[0]);
    if matches!(x.arg("p"), Arg::Both(..)) {
        x.wr_second("p", done[1]);
    }
    if x.m.notation.slots.iter().any(|s| s.name == "dv") && x.given("dv") {
        x.wr("dv", V::w(0));
    }
}
