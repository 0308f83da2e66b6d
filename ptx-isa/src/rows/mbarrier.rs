//! `mbarrier` objects and arrivals (PTX ISA 9.7.15.16.12 to 9.7.15.16.18).

use crate::class::{self, Class};
use crate::effect::{Order, Scope, WarpFn};
use crate::matched::Match;
use crate::matrix::run::space_code;
use crate::mbarrier::{self, arrive_flag};
use crate::meaning::{Cx, V};
use crate::row::{AddressWidth, Exactness, Floor, ROW, Reach, Row, Sem, Sink, floor};
use crate::rows::matrix_move::absolute;
use crate::rows::memory::space;
use crate::types::{Kind, Space, ptx};

pub(super) const B: Row = Row {
    since: ptx(7, 0),
    sm: 80,
    class: |_| Class::Barrier,
    reach: Reach::Block,
    sink: state,
    exact: Exactness::Implementation,
    floors: FLOORS,
    check: Some(scoped),
    named: |_, space| space == Space::Shared,
    ..ROW
};
pub(super) const CTA: (&str, &str) = ("space", ".shared .shared::cta");
const ANY: (&str, &str) = ("space", ".shared .shared::cta .shared::cluster");
pub(super) const LAYOUT: (&str, &str) = ("layout", ".layout::v0 .layout::v1");
const RELEASE: (&str, &str) = ("sem", ".release .relaxed");
pub(super) const SCOPE: (&str, &str) = ("scope", ".cta .cluster");
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
const MULTICAST: Row = Row {
    since: ptx(9, 4),
    sm: 107,
    targets: "sm_107a sm_107f",
    reach: Reach::Cluster,
    exact: Exactness::Manual,
    ..B
};

const MBARRIER: Row = Row {
    does: "Changes the number of transactions that the phase of an mbarrier waits for.",
    ..B
};
const MBARRIER_ARRIVE: Row = Row { does: "Arrives at an mbarrier.", section: "9.7.15.16.16", ..B };
const MBARRIER_ARRIVE_DROP: Row = Row {
    does: "Arrives at an mbarrier and takes part in no later phase.",
    section: "9.7.15.16.17",
    ..B
};
const MBARRIER_ARRIVE_FORM: Row =
    Row { does: "Arrives at an mbarrier.", section: "9.7.15.16.16", ..MULTICAST };
const MBARRIER_ARRIVE_DROP_FORM: Row = Row {
    does: "Arrives at an mbarrier and takes part in no later phase.",
    section: "9.7.15.16.17",
    ..MULTICAST
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "mbarrier.init{.layout}{.space}.b64 [mbar], count=1..1048575:.u32",
        does: "Makes an mbarrier object for so many arrivals.",
        sets: &[LAYOUT, CTA],
        section: "9.7.15.16.12",
        sem: Sem::Ops(init),
        ..B
    },
    Row {
        syntax: "mbarrier.inval{.space}.b64 [mbar]",
        does: "Ends the life of an mbarrier object.",
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
        syntax: "mbarrier.expect_tx{.sem}{.scope}{.space}.b64 [mbar], count:.u32",
        sets: &[("sem", ".relaxed"), SCOPE, ANY],
        since: ptx(8, 0),
        sm: 90,
        floors: TX_FLOORS,
        section: "9.7.15.16.14",
        sem: Sem::Ops(|x| transactions(x, arrive_flag::EXPECT | arrive_flag::TX_ONLY)),
        ..MBARRIER
    },
    Row {
        syntax: "mbarrier.complete_tx{.sem}{.scope}{.space}.b64 [mbar], count:.u32",
        sets: &[("sem", ".relaxed"), SCOPE, ANY],
        since: ptx(8, 0),
        sm: 90,
        floors: TX_FLOORS,
        section: "9.7.15.16.15",
        sem: Sem::Ops(|x| transactions(x, arrive_flag::COMPLETE)),
        ..MBARRIER
    },
    Row {
        syntax: "mbarrier.tx{.sem}{.scope}{.space}.multicast::cluster::32b.b64 [mbar], count:.u32, mask:.u32",
        does: "Changes the number of transactions that the phase of an mbarrier waits for.",
        sets: &[
            ("tx", ".expect_tx .complete_tx"),
            ("sem", ".relaxed"),
            SCOPE,
            ("space", ".shared::cluster"),
        ],
        section: "9.7.15.16.14",
        sem: Sem::Ops(|x| {
            let flags = tx_flag(x);
            multicast(x, flags);
        }),
        ..MULTICAST
    },
    // Arrivals.
    Row {
        syntax: "mbarrier.arrive{.sem}{.scope}{.space}.b64 d:.u64, [mbar], count=1..4294967295:.u32",
        sets: &[RELEASE, SCOPE, ANY],
        since: ptx(7, 8),
        sm: 90,
        sem: Sem::Ops(|x| arrivals(x, 0)),
        ..MBARRIER_ARRIVE
    },
    Row {
        syntax: "mbarrier.arrive{.sem}{.scope}{.space}.b64 d:.u64, [mbar]",
        sets: &[RELEASE, SCOPE, ANY],
        sem: Sem::Ops(|x| arrivals(x, 0)),
        ..MBARRIER_ARRIVE
    },
    Row {
        syntax: "mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.b64 d:.u64, [mbar], count:.u32",
        sets: &[RELEASE, SCOPE, ANY],
        sem: Sem::Ops(|x| arrivals(x, arrive_flag::EXPECT)),
        ..MBARRIER_ARRIVE
    },
    Row {
        syntax: "mbarrier.arrive.noComplete{.sem}{.scope}{.space}.b64 d:.u64, [mbar], count=1..4294967295:.u32",
        sets: &[("sem", ".release"), ("scope", ".cta"), CTA],
        sem: Sem::Ops(|x| arrivals(x, 0)),
        ..MBARRIER_ARRIVE
    },
    Row {
        syntax: "mbarrier.arrive_drop{.sem}{.scope}{.space}.b64 d:.u64, [mbar], count=1..4294967295:.u32",
        sets: &[RELEASE, SCOPE, ANY],
        since: ptx(7, 8),
        sm: 90,
        sem: Sem::Ops(|x| arrivals(x, arrive_flag::DROP)),
        ..MBARRIER_ARRIVE_DROP
    },
    Row {
        syntax: "mbarrier.arrive_drop{.sem}{.scope}{.space}.b64 d:.u64, [mbar]",
        sets: &[RELEASE, SCOPE, ANY],
        sem: Sem::Ops(|x| arrivals(x, arrive_flag::DROP)),
        ..MBARRIER_ARRIVE_DROP
    },
    Row {
        syntax: "mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.b64 d:.u64, [mbar], count:.u32",
        sets: &[RELEASE, SCOPE, ANY],
        sem: Sem::Ops(|x| arrivals(x, arrive_flag::DROP | arrive_flag::EXPECT)),
        ..MBARRIER_ARRIVE_DROP
    },
    Row {
        syntax: "mbarrier.arrive_drop.noComplete{.sem}{.scope}{.space}.b64 d:.u64, [mbar], count=1..4294967295:.u32",
        sets: &[("sem", ".release"), ("scope", ".cta"), CTA],
        sem: Sem::Ops(|x| arrivals(x, arrive_flag::DROP)),
        ..MBARRIER_ARRIVE_DROP
    },
    Row {
        syntax: "mbarrier.arrive{.sem}{.scope}{.space}.multicast::cluster::32b.b64 d:.u64, [mbar]{, count=1..4294967295:.u32}, mask:.u32",
        sets: &[RELEASE, SCOPE, ("space", ".shared::cluster")],
        sem: Sem::Ops(|x| multicast(x, 0)),
        ..MBARRIER_ARRIVE_FORM
    },
    Row {
        syntax: "mbarrier.arrive.expect_tx{.sem}{.scope}{.space}.multicast::cluster::32b.b64 d:.u64, [mbar], count:.u32, mask:.u32",
        sets: &[RELEASE, SCOPE, ("space", ".shared::cluster")],
        sem: Sem::Ops(|x| multicast(x, arrive_flag::EXPECT)),
        ..MBARRIER_ARRIVE_FORM
    },
    Row {
        syntax: "mbarrier.arrive_drop{.sem}{.scope}{.space}.multicast::cluster::32b.b64 d:.u64, [mbar]{, count=1..4294967295:.u32}, mask:.u32",
        sets: &[RELEASE, SCOPE, ("space", ".shared::cluster")],
        sem: Sem::Ops(|x| multicast(x, arrive_flag::DROP)),
        ..MBARRIER_ARRIVE_DROP_FORM
    },
    Row {
        syntax: "mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.space}.multicast::cluster::32b.b64 d:.u64, [mbar], count:.u32, mask:.u32",
        sets: &[RELEASE, SCOPE, ("space", ".shared::cluster")],
        sem: Sem::Ops(|x| multicast(x, arrive_flag::DROP | arrive_flag::EXPECT)),
        ..MBARRIER_ARRIVE_DROP_FORM
    },
    Row {
        syntax: "cp.async.mbarrier.arrive{.noinc}{.space}.b64 [mbar]",
        does: "Lets an mbarrier count an arrival once this thread's copies are complete.",
        sets: &[CTA],
        section: "9.7.15.16.18",
        class: class::load,
        addresses: AddressWidth::Words,
        named: |_, _| true,
        // Copies are complete when issued, so the arrival happens at once.
        sem: Sem::Ops(|x| {
            let increments = !x.has(".noinc");
            let increment = if increments { arrive_flag::INCREMENT } else { 0 };
            let flags = increment | arrive_flag::AFTER_COPIES;
            let src = [address(x), V::w(1)];
            let k = [flags, space_code(space(x)), 0, 0];
            let kinds = if increments { &[] } else { &[Kind::D][..] };
            x.warp("cp.async.mbarrier.arrive", mbarrier::arrive, k, &src, kinds);
        }),
        ..B
    },
];

/// Floors of the transaction operations, which had `.relaxed` from the start.
const TX_FLOORS: &[Floor] = &[];

/// Only threads of its own block learn the state of an mbarrier.
fn state(m: &Match) -> Sink {
    if m.has(".shared::cluster") { Sink::Only } else { Sink::Allowed }
}

/// `.sem` and `.scope` come together.
fn scoped(m: &Match) -> Result<(), String> {
    if m.get("sem").is_some() == m.get("scope").is_some() {
        Ok(())
    } else {
        Err("memory ordering and scope must be given together, as in `.release.cta`".into())
    }
}

pub(super) fn address(x: &mut Cx) -> V {
    let a = x.addr("mbar");
    absolute(x, a)
}

fn init(x: &mut Cx) {
    let src = [address(x), x.rd("count")];
    let k = [space_code(space(x)), u32::from(x.has(".layout::v1")), 0, 0];
    x.warp("mbarrier.init", mbarrier::init, k, &src, &[]);
}

/// Order and scope, as the operations take them.
pub(super) fn synchronisation(x: &Cx) -> u32 {
    let order = if x.get("sem") == ".relaxed" { Order::Relaxed } else { Order::AcqRel };
    let scope = if x.get("scope") == ".cluster" { Scope::Cluster } else { Scope::Cta };
    mbarrier::pack_sync(order, scope)
}

fn transactions(x: &mut Cx, flags: u32) {
    let src = [address(x), x.rd("count")];
    let k = [flags, space_code(space(x)), synchronisation(x), 0];
    x.warp("mbarrier.tx", mbarrier::arrive, k, &src, &[]);
}

fn arrivals(x: &mut Cx, flags: u32) {
    let counted = x.m.notation.slots.iter().any(|s| s.name == "count");
    let src = [address(x), if counted { x.rd("count") } else { V::w(1) }];
    let k = [flags, space_code(space(x)), synchronisation(x), 0];
    let state = x.warp("mbarrier.arrive", mbarrier::arrive as WarpFn, k, &src, &[Kind::D]);
    x.wr("d", state[0]);
}

fn tx_flag(x: &Cx) -> u32 {
    if x.has(".complete_tx") {
        arrive_flag::COMPLETE
    } else {
        arrive_flag::EXPECT | arrive_flag::TX_ONLY
    }
}

/// The same at an object in every block of a mask.
fn multicast(x: &mut Cx, flags: u32) {
    let counted = x.m.notation.slots.iter().any(|s| s.name == "count") && x.given("count");
    let src = [address(x), if counted { x.rd("count") } else { V::w(1) }, x.rd("mask")];
    let k = [flags, space_code(space(x)), synchronisation(x), 1];
    x.warp("mbarrier.arrive", mbarrier::arrive, k, &src, &[]);
    if x.m.notation.slots.iter().any(|s| s.name == "d") {
        x.wr("d", V::d(0));
    }
}
