//! Clusters and dependent launches (PTX ISA 9.7.15, 9.7.10.26, 9.7.10.27, 9.7.21.5).

use super::async_copy::at;
use crate::async_copy;
use crate::class::Class;
use crate::effect::{Bar, BarKind, Effect, window};
use crate::matrix::run::space_code;
use crate::meaning::{Cx, V};
use crate::row::{AddressWidth, Exactness, Floor, ROW, Reach, Row, Sem, Sink, floor};
use crate::types::{Kind, Space, ptx};
use crate::uop::Op;

pub(super) const C: Row =
    Row { since: ptx(7, 8), sm: 90, class: |_| Class::Move, exact: Exactness::Bit, ..ROW };
const BARRIER: Row =
    Row { section: "9.7.15.3", class: |_| Class::Barrier, reach: Reach::Cluster, ..C };
const SEM_FLOORS: &[Floor] = &[floor(".release .relaxed .acquire", ptx(8, 0), 90)];
const CLUSTER: (&str, &str) = ("space", ".shared::cluster");

const CLUSTERLAUNCHCONTROL: Row = Row {
    does: "Reads the answer to a request to cancel a launch.",
    section: "9.7.15.19",
    sink: |_| Sink::Allowed,
    ..C
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "barrier.cluster.arrive{.sem}{.aligned}",
        does: "Arrives at the barrier of the cluster without waiting.",
        sets: &[("sem", ".release .relaxed")],
        floors: SEM_FLOORS,
        sem: Sem::Ops(|x| barrier(x, BarKind::ClusterArrive)),
        ..BARRIER
    },
    Row {
        syntax: "barrier.cluster.wait{.acquire}{.aligned}",
        does: "Waits until all threads of the cluster have arrived at its barrier.",
        floors: SEM_FLOORS,
        waits: true,
        sem: Sem::Ops(|x| barrier(x, BarKind::ClusterWait)),
        ..BARRIER
    },
    Row {
        syntax: "mapa{.space}.type d, &a, b:.u32",
        does: "Maps an address in shared memory to that of another block of the cluster.",
        sets: &[CLUSTER, ("type", ".u32 .u64 .s32 .s64")],
        section: "9.7.10.26",
        sem: Sem::Ops(mapa),
        ..C
    },
    Row {
        syntax: "getctarank{.space}.type d:.u32, &a",
        does: "Gives the rank of the block that a shared address belongs to.",
        sets: &[CLUSTER, ("type", ".u32 .u64 .s32 .s64")],
        section: "9.7.10.27",
        sem: Sem::Ops(getctarank),
        ..C
    },
    // Launches. Grids run one after another here, so there is nothing to wait for.
    Row {
        syntax: "griddepcontrol.action",
        does: "Waits for the grids that this one depends on, or lets those start that depend on it.",
        sets: &[("action", ".launch_dependents .wait")],
        section: "9.7.15.14",
        sem: Sem::Ops(|_| {}),
        ..C
    },
    Row {
        syntax: "setmaxnreg.action.sync.aligned.type #a=24|32|40|48|56|64|72|80|88|96|104|112|120|128|136|144|152|160|168|176|184|192|200|208|216|224|232|240|248|256:.u32",
        does: "Changes the number of registers of each thread of the warp.",
        // ptxas takes the signed type as well.
        sets: &[("action", ".inc .dec"), ("type", ".u32 .s32")],
        section: "9.7.21.5",
        sink: |_| Sink::Allowed,
        since: ptx(8, 0),
        targets: "sm_90a sm_100a sm_101a sm_103a sm_110a sm_120a sm_121a sm_100f sm_101f sm_103f sm_110f sm_120f",
        // The registers of a thread are not limited here.
        sem: Sem::Ops(|_| {}),
        ..C
    },
    Row {
        syntax: "clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128 [a], [mbar]",
        does: "Asks to cancel the launch of a cluster that has not started.",
        addresses: AddressWidth::Any,
        section: "9.7.15.18",
        reach: Reach::Cluster,
        sink: |_| Sink::Allowed,
        since: ptx(8, 6),
        sm: 100,
        floors: &[Floor {
            tokens: ".multicast::cluster::all",
            since: ptx(8, 6),
            sm: 100,
            targets: "sm_100a sm_101a sm_103a sm_110a sm_120a sm_121a sm_100f sm_101f sm_103f sm_110f sm_120f",
        }],
        exact: Exactness::Manual,
        sem: Sem::Ops(|x| {
            let src = [at(x, "a"), at(x, "mbar")];
            let everywhere = x.has(".multicast::cluster::all");
            let space = if x.has(".shared::cta") { Space::Shared } else { Space::Generic };
            let k = [space_code(space), u32::from(everywhere), 0, 0];
            x.warp("clusterlaunchcontrol.try_cancel", async_copy::try_cancel, k, &src, &[]);
        }),
        ..C
    },
    Row {
        syntax: "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p:pred, a:.b128",
        sink: |_| Sink::Never,
        since: ptx(8, 6),
        sm: 100,
        exact: Exactness::Manual,
        sem: Sem::Ops(|x| {
            let (low, _) = x.rd_pair("a");
            let bit = x.op2(Op::AndD, low, V::d(1));
            let word = x.op1(Op::TruncDW, bit);
            let none = x.op2(Op::EqW, word, V::w(0));
            let canceled = x.op1(Op::NotP, none);
            x.wr("p", canceled);
        }),
        ..CLUSTERLAUNCHCONTROL
    },
    Row {
        syntax: "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 d*4:.b32, a:.b128",
        since: ptx(8, 6),
        sm: 100,
        exact: Exactness::Manual,
        sem: Sem::Ops(|x| {
            let all = [answer(x, 0), answer(x, 1), answer(x, 2), V::w(0)];
            x.wr_vec("d", &all);
        }),
        ..CLUSTERLAUNCHCONTROL
    },
    Row {
        syntax: "clusterlaunchcontrol.query_cancel.which.b32.b128 d:.b32, a:.b128",
        sets: &[("which", ".get_first_ctaid::x .get_first_ctaid::y .get_first_ctaid::z")],
        since: ptx(8, 6),
        sm: 100,
        exact: Exactness::Manual,
        sem: Sem::Ops(|x| {
            let which = match x.get("which") {
                ".get_first_ctaid::y" => 1,
                ".get_first_ctaid::z" => 2,
                _ => 0,
            };
            let value = answer(x, which);
            x.wr("d", value);
        }),
        ..CLUSTERLAUNCHCONTROL
    },
];

/// Index of the cancelled block in an answer: x, y and z lie behind the word with the flag.
fn answer(x: &mut Cx, which: u32) -> V {
    let (low, high) = x.rd_pair("a");
    let half = match which {
        0 => x.op2(Op::ShrD, low, V::w(32)),
        1 => high,
        _ => x.op2(Op::ShrD, high, V::w(32)),
    };
    x.op1(Op::TruncDW, half)
}

fn barrier(x: &mut Cx, kind: BarKind) {
    let aligned = x.has(".aligned");
    x.effect(Effect::Bar(Bar { kind, counted: false, aligned }), &[], &[]);
}

const RANK_SHIFT: u32 = window::SHARED_CTA.trailing_zeros();

/// Replaces the CTA part of a shared address by a rank. The shared window of generic addresses
/// starts at a multiple of all its CTAs, so generic addresses differ by that start alone.
///
/// The own rank gives the own address, which `.shared` accesses may use; those of other ranks only
/// `.shared::cluster` ones (an H200 ends the others with 715).
fn mapa(x: &mut Cx) {
    let (a, rank) = (x.rd("a"), x.rd("b"));
    let base = x.op2(Op::ShlW, rank, V::w(RANK_SHIFT));
    if a.kind == Kind::W {
        let offset = x.op2(Op::AndW, a, V::w(window::SHARED_CTA as u32 - 1));
        let at = x.op2(Op::OrW, base, offset);
        x.wr("d", at);
    } else {
        let offset = x.op2(Op::AndD, a, V::d(window::SHARED_CTA - 1));
        let wide = x.op1(Op::ZextWD, base);
        let at = x.op2(Op::OrD, wide, offset);
        let start = if x.get("space").is_empty() { window::SHARED } else { 0 };
        let generic = x.op2(Op::AddD, at, V::d(start));
        x.wr("d", generic);
    }
}

/// The rank in a shared address.
fn getctarank(x: &mut Cx) {
    let a = x.rd("a");
    let local = if a.kind == Kind::W {
        a
    } else {
        let start = if x.get("space").is_empty() { window::SHARED } else { 0 };
        let inside = x.op2(Op::SubD, a, V::d(start));
        x.op1(Op::TruncDW, inside)
    };
    let rank = x.op2(Op::ShrW, local, V::w(RANK_SHIFT));
    x.wr("d", rank);
}
