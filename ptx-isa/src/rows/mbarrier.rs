//! `mbarrier` (PTX ISA 9.7.15.16).

use crate::class::{self, Class};
use crate::effect::{Effect, WarpFn};
use crate::matrix::run::space_code;
use crate::mbarrier::{self, arrive_flag};
use crate::meaning::{Arg, Cx, V};
use crate::row::{AddressWidth, Exactness, Floor, ROW, Reach, Row, Sem, floor};
use crate::rows::matrix_move::absolute;
use crate::rows::memory::space;
use crate::table::Match;
use crate::types::{Kind, ptx};
use crate::uop::Op;

const B: Row = Row {
    since: ptx(7, 0),
    sm: 80,
    class: |_| Class::Barrier,
    reach: Reach::Block,
    sink: true,
    exact: Exactness::Implementation,
    floors: FLOORS,
    check: Some(scoped),
    ..ROW
};
const CTA: (&str, &str) = ("space", ".shared .shared::cta");
const ANY: (&str, &str) = ("space", ".shared .shared::cta .shared::cluster");
const LAYOUT: (&str, &str) = ("layout", ".layout::v0 .layout::v1");
const RELEASE: (&str, &str) = ("sem", ".release .relaxed");
const ACQUIRE: (&str, &str) = ("sem", ".acquire .relaxed");
const SCOPE: (&str, &str) = ("scope", ".cta .cluster");
const PHASE: (&str, &str) = ("phase", ".phase_type::primary .phase_type::conditional");
const FLOORS: &[Floor] = &[
    floor(".shared::cta", ptx(7, 8), 80),
    floor(".shared::cluster", ptx(8, 0), 90),
    floor(".layout::v0 .layout::v1", ptx(9, 3), 90),
    floor(".release .acquire .cta", ptx(8, 0), 80),
    floor(".cluster .expect_tx", ptx(8, 0), 90),
    floor(".relaxed", ptx(8, 6), 90),
    floor(".parity", ptx(7, 1), 80),
    floor(".phase_type::primary .phase_type::conditional", ptx(9, 3), 90),
];
/// Forms for every CTA of a mask.
const MULTICAST: Row =
    Row { since: ptx(9, 4), sm: 107, targets: "sm_107a sm_107f", sem: Sem::None, ..B };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "mbarrier.init{.layout}{.space}.b64 [a], count:.u32",
        sets: &[LAYOUT, CTA],
        section: "9.7.15.16.12",
        sem: Sem::Ops(init),
        ..B
    },
    Row {
        syntax: "mbarrier.inval{.space}.b64 [a]",
        sets: &[CTA],
        section: "9.7.15.16.13",
        sem: Sem::Ops(|x| {
            let src = [address(x)];
            let k = [space_code(space(x)), 0, 0, 0];
            x.warp("mbarrier.inval", mbarrier::invalidate, k, &src, &[]);
        }),
        ..B
    },
    Row {
        syntax: "mbarrier.expect_tx{.sem}{.scope}{.space}.b64 [a], count:.u32",
        sets: &[("sem", ".relaxed"), SCOPE, ANY],
        since: ptx(8, 0),
        sm: 90,
        floors: TX_FLOORS,
        section: "9.7.15.16.14",
        sem: Sem::Ops(|x| transactions(x, arrive_flag::EXPECT | arrive_flag::TX_ONLY)),
        ..B
    },
    Row {
        syntax: "mbarrier.complete_tx{.sem}{.scope}{.space}.b64 [a], count:.u32",
        sets: &[("sem", ".relaxed"), SCOPE, ANY],
        since: ptx(8, 0),
        sm: 90,
        floors: TX_FLOORS,
        section: "9.7.15.16.15",
        sem: Sem::Ops(|x| transactions(x, arrive_flag::COMPLETE)),
        ..B
    },
    Row {
        syntax: "mbarrier.tx{.sem}{.scope}{.space}.multicast::cluster::32b.b64 [a], count:.u32, mask:.u32",
        sets: &[
            ("tx", ".expect_tx .complete_tx"),
            ("sem", ".relaxed"),
            SCOPE,
            ("space", ".shared::cluster"),
        ],
        section: "9.7.15.16.14",
        ..MULTICAST
    },
    // Arrivals. With `.shared::cluster` the state is the sink `_`.
    Row {
        syntax: "mbarrier.arrive{.sem}{.scope}{.space}.b64 d:.b64, [a], count:.u32",
        sets: &[RELEASE, SCOPE, ANY],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.15.16.16",
        sem: Sem::Ops(|x| arrivals(x, 0)),
        ..B
    },
    Row {
        syntax: "mbarrier.arrive{.sem}{.scope}{.space}.b64 d:.b64, [a]",
        sets: &[RELEASE, SCOPE, ANY],
        section: "9.7.15.16.16",
        sem: Sem::Ops(|x| arrivals(x, 0)),
        ..B
    },
    Row {
        syntax: "mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.b64 d:.b64, [a], count:.u32",
        sets: &[RELEASE, SCOPE, ANY],
        section: "9.7.15.16.16",
        sem: Sem::Ops(|x| arrivals(x, arrive_flag::EXPECT)),
        ..B
    },
    Row {
        syntax: "mbarrier.arrive.noComplete{.sem}{.scope}{.space}.b64 d:.b64, [a], count:.u32",
        sets: &[("sem", ".release"), ("scope", ".cta"), CTA],
        section: "9.7.15.16.16",
        sem: Sem::Ops(|x| arrivals(x, 0)),
        ..B
    },
    Row {
        syntax: "mbarrier.arrive_drop{.sem}{.scope}{.space}.b64 d:.b64, [a], count:.u32",
        sets: &[RELEASE, SCOPE, ANY],
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.15.16.17",
        sem: Sem::Ops(|x| arrivals(x, arrive_flag::DROP)),
        ..B
    },
    Row {
        syntax: "mbarrier.arrive_drop{.sem}{.scope}{.space}.b64 d:.b64, [a]",
        sets: &[RELEASE, SCOPE, ANY],
        section: "9.7.15.16.17",
        sem: Sem::Ops(|x| arrivals(x, arrive_flag::DROP)),
        ..B
    },
    Row {
        syntax: "mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.b64 d:.b64, [a], count:.u32",
        sets: &[RELEASE, SCOPE, ANY],
        section: "9.7.15.16.17",
        sem: Sem::Ops(|x| arrivals(x, arrive_flag::DROP | arrive_flag::EXPECT)),
        ..B
    },
    Row {
        syntax: "mbarrier.arrive_drop.noComplete{.sem}{.scope}{.space}.b64 d:.b64, [a], count:.u32",
        sets: &[("sem", ".release"), ("scope", ".cta"), CTA],
        section: "9.7.15.16.17",
        sem: Sem::Ops(|x| arrivals(x, arrive_flag::DROP)),
        ..B
    },
    Row {
        syntax: "mbarrier.arrive{.sem}{.scope}{.space}.multicast::cluster::32b.b64 d:.b64, [a]{, count:.u32}, mask:.u32",
        sets: &[RELEASE, SCOPE, ("space", ".shared::cluster")],
        section: "9.7.15.16.16",
        ..MULTICAST
    },
    Row {
        syntax: "mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.multicast::cluster::32b.b64 d:.b64, [a], count:.u32, mask:.u32",
        sets: &[RELEASE, SCOPE, ("space", ".shared::cluster")],
        section: "9.7.15.16.16",
        ..MULTICAST
    },
    Row {
        syntax: "mbarrier.arrive_drop{.sem}{.scope}{.space}.multicast::cluster::32b.b64 d:.b64, [a]{, count:.u32}, mask:.u32",
        sets: &[RELEASE, SCOPE, ("space", ".shared::cluster")],
        section: "9.7.15.16.17",
        ..MULTICAST
    },
    Row {
        syntax: "mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.multicast::cluster::32b.b64 d:.b64, [a], count:.u32, mask:.u32",
        sets: &[RELEASE, SCOPE, ("space", ".shared::cluster")],
        section: "9.7.15.16.17",
        ..MULTICAST
    },
    Row {
        syntax: "cp.async.mbarrier.arrive{.noinc}{.space}.b64 [a]",
        sets: &[CTA],
        section: "9.7.15.16.18",
        class: class::load,
        addresses: AddressWidth::Any,
        // Copies are complete when issued, so the arrival happens at once.
        sem: Sem::Ops(|x| {
            let flags = if x.has(".noinc") { 0 } else { arrive_flag::INCREMENT };
            let src = [address(x), V::w(1)];
            let k = [flags, space_code(space(x)), 0, 0];
            let kinds = if flags == 0 { &[Kind::D][..] } else { &[] };
            x.warp("cp.async.mbarrier.arrive", mbarrier::arrive, k, &src, kinds);
        }),
        ..B
    },
    // Waits.
    Row {
        syntax: "mbarrier.test_wait{.phase}{.sem}{.scope}{.space}.b64 p:pred, [a], state:.b64",
        sets: &[("phase", ".phase_type::primary"), ACQUIRE, SCOPE, CTA],
        section: "9.7.15.16.19",
        waits: true,
        sem: Sem::Ops(wait),
        ..B
    },
    Row {
        syntax: "mbarrier.test_wait.parity{.phase}{.sem}{.scope}{.space}.b64 p:pred, [a], parity=0|1:.u32",
        sets: &[PHASE, ACQUIRE, SCOPE, CTA],
        section: "9.7.15.16.19",
        waits: true,
        sem: Sem::Ops(wait),
        ..B
    },
    Row {
        syntax: "mbarrier.try_wait{.phase}{.sem}{.scope}{.space}.b64 p:pred, [a], state:.b64{, hint:.u32}",
        sets: &[("phase", ".phase_type::primary"), ACQUIRE, SCOPE, CTA],
        section: "9.7.15.16.19",
        since: ptx(7, 8),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..B
    },
    Row {
        syntax: "mbarrier.try_wait.parity{.phase}{.sem}{.scope}{.space}.b64 p:pred, [a], parity=0|1:.u32{, hint:.u32}",
        sets: &[PHASE, ACQUIRE, SCOPE, CTA],
        section: "9.7.15.16.19",
        since: ptx(7, 8),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..B
    },
    Row {
        syntax: "mbarrier.test_wait.phase_type::primary{.sem}{.scope}{.space}.b64 p|q:pred{, dv:.b8}, [a], state:.b64",
        sets: &[ACQUIRE, SCOPE, CTA],
        section: "9.7.15.16.19",
        since: ptx(9, 3),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..B
    },
    Row {
        syntax: "mbarrier.test_wait.parity.phase_type::primary{.sem}{.scope}{.space}.b64 p|q:pred{, dv:.b8}, [a], parity=0|1:.u32",
        sets: &[ACQUIRE, SCOPE, CTA],
        section: "9.7.15.16.19",
        since: ptx(9, 3),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..B
    },
    Row {
        syntax: "mbarrier.try_wait.phase_type::primary{.sem}{.scope}{.space}.b64 p|q:pred{, dv:.b8}, [a], state:.b64{, hint:.u32}",
        sets: &[ACQUIRE, SCOPE, CTA],
        section: "9.7.15.16.19",
        since: ptx(9, 3),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..B
    },
    Row {
        syntax: "mbarrier.try_wait.parity.phase_type::primary{.sem}{.scope}{.space}.b64 p|q:pred{, dv:.b8}, [a], parity=0|1:.u32{, hint:.u32}",
        sets: &[ACQUIRE, SCOPE, CTA],
        section: "9.7.15.16.19",
        since: ptx(9, 3),
        sm: 90,
        waits: true,
        sem: Sem::Ops(wait),
        ..B
    },
    Row {
        syntax: "mbarrier.pending_count{.layout::v0}.b64 d:.u32, state:.b64",
        section: "9.7.15.16.20",
        sem: Sem::Ops(|x| {
            let state = x.rd("state");
            let low = x.op1(Op::TruncDW, state);
            let count = x.op2(Op::AndW, low, V::w((1 << 20) - 1));
            x.wr("d", count);
        }),
        ..B
    },
    Row {
        syntax: "mbarrier.check_layout.layout{.shared::cta}.b64 p:pred, [a]",
        sets: &[LAYOUT],
        section: "9.7.15.16.21",
        since: ptx(9, 3),
        sm: 90,
        // Objects of layout v1 cannot be made here.
        sem: Sem::Ops(|x| {
            let v0 = x.has(".layout::v0");
            x.wr("p", V::p(v0));
        }),
        ..B
    },
];

/// Floors of the transaction operations, which had `.relaxed` from the start.
const TX_FLOORS: &[Floor] = &[];

/// `.sem` and `.scope` come together.
fn scoped(m: &Match) -> Result<(), String> {
    if m.get("sem").is_some() == m.get("scope").is_some() {
        Ok(())
    } else {
        Err("memory ordering and scope must be given together, as in `.release.cta`".into())
    }
}

fn address(x: &mut Cx) -> V {
    let a = x.addr("a");
    absolute(x, a)
}

fn init(x: &mut Cx) {
    if x.has(".layout::v1") {
        x.refuse("mbarrier objects of `.layout::v1` are not executed");
        return;
    }
    let src = [address(x), x.rd("count")];
    let k = [space_code(space(x)), 0, 0, 0];
    x.warp("mbarrier.init", mbarrier::init, k, &src, &[]);
}

fn transactions(x: &mut Cx, flags: u32) {
    let src = [address(x), x.rd("count")];
    let k = [flags, space_code(space(x)), 0, 0];
    x.warp("mbarrier.tx", mbarrier::arrive, k, &src, &[]);
}

fn arrivals(x: &mut Cx, flags: u32) {
    let counted = x.m.shape.slots.iter().any(|s| s.name == "count");
    let src = [address(x), if counted { x.rd("count") } else { V::w(1) }];
    let k = [flags, space_code(space(x)), 0, 0];
    let state = x.warp("mbarrier.arrive", mbarrier::arrive as WarpFn, k, &src, &[Kind::D]);
    x.wr("d", state[0]);
}

fn wait(x: &mut Cx) {
    let parity = x.has(".parity");
    let what = x.rd(if parity { "parity" } else { "state" });
    let src = [address(x), what];
    let k = [u32::from(parity), space_code(space(x)), 0, 0];
    let done = x.warp("mbarrier.test_wait", mbarrier::test, k, &src, &[Kind::P]);
    // A wait in a loop should let those run that it waits for.
    x.effect(Effect::Yield, &[], &[]);
    x.wr("p", done[0]);
    if matches!(x.arg("p"), Arg::Both(..)) {
        x.wr_second("p", V::p(false));
    }
    if x.m.shape.slots.iter().any(|s| s.name == "dv") && x.given("dv") {
        x.wr("dv", V::w(0));
    }
}
