//! Asynchronous copies by single lanes (PTX ISA 9.7.10.28.3).

use crate::async_copy::{self, Report, bulk_flag};
use crate::class;
use crate::effect::{AsyncGroup, AsyncGroupOp, AsyncWork, Effect};
use crate::matched::Match;
use crate::matrix::run::space_code;
use crate::meaning::{Addr, Cx, V};
use crate::row::{AddressWidth, Exactness, Floor, ROW, Reach, Row, Sem, Sink, floor};
use crate::rows::matrix_move::absolute;
use crate::types::{Space, Ty, ptx};

pub(super) const C: Row = Row {
    since: ptx(7, 0),
    sm: 80,
    class: class::load,
    sink: |_| Sink::Allowed,
    addresses: AddressWidth::Any,
    exact: Exactness::Bit,
    floors: &[floor(".L2::cache_hint .L2::64B .L2::128B .L2::256B", ptx(7, 4), 80)],
    ..ROW
};
pub(super) const BULK: Row =
    Row { since: ptx(8, 0), sm: 90, reach: Reach::Block, floors: BULK_FLOORS, ..C };
const BULK_FLOORS: &[Floor] =
    &[floor(".weak", ptx(9, 3), 90), floor(".multicast::cluster::16b", ptx(9, 4), 90)];
const TO: (&str, &str) = ("to", ".shared .shared::cta");
/// From sm_120 on, ptxas writes other instructions for copies to a cluster: they move global addresses of 64 bits.
pub(super) const TO_CLUSTER: AddressWidth = AddressWidth::AnyBelow(120);
const PREFETCH: (&str, &str) = ("prefetch", ".L2::64B .L2::128B .L2::256B");
pub(super) const MULTICAST: (&str, &str) =
    ("multicast", ".multicast::cluster .multicast::cluster::16b");
/// What a copy says of its data to the mbarrier.
pub(super) const REPORT: (&str, &str) = (
    "report",
    ".mbarrier::report::disabled \
     .mbarrier::report::validity::per_16bytes::8 .mbarrier::report::validity::per_16bytes::80 \
     .mbarrier::report::validity::per_16bytes::8000 .mbarrier::report::validity::per_16bytes::80000000 \
     .mbarrier::report::validity::per_element::ff",
);
pub(super) const OP: (&str, &str) = ("op", ".add .min .max .inc .dec .and .or .xor");

const CP: Row = Row {
    does: "Starts a copy of 4, 8 or 16 bytes from global to shared memory.",
    section: "9.7.10.28.3.1",
    ..C
};
const CP_ASYNC: Row = Row {
    does: "Waits until copies that this thread has started are complete.",
    section: "9.7.10.28.3.3",
    ..C
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "cp.async.ca.to.global{.prefetch} [a], [b], #n=4|8|16:.u32{, size=0..n:.u32}",
        sets: &[TO, PREFETCH],
        sem: Sem::Ops(small),
        ..CP
    },
    Row {
        syntax: "cp.async.ca.to.global{.prefetch} [a], [b], #n=4|8|16:.u32, ignore:pred",
        since: ptx(7, 5),
        sets: &[TO, PREFETCH],
        sem: Sem::Ops(small),
        ..CP
    },
    Row {
        syntax: "cp.async.ca.to.global.L2::cache_hint{.prefetch} [a], [b], #n=4|8|16:.u32{, size=0..n:.u32}, policy:.u64",
        sets: &[TO, PREFETCH],
        sem: Sem::Ops(small),
        ..CP
    },
    Row {
        syntax: "cp.async.ca.to.global.L2::cache_hint{.prefetch} [a], [b], #n=4|8|16:.u32, ignore:pred, policy:.u64",
        since: ptx(7, 5),
        sets: &[TO, PREFETCH],
        sem: Sem::Ops(small),
        ..CP
    },
    Row {
        syntax: "cp.async.cg.to.global{.prefetch} [a], [b], #n=16:.u32{, size=0..n:.u32}",
        sets: &[TO, PREFETCH],
        sem: Sem::Ops(small),
        ..CP
    },
    Row {
        syntax: "cp.async.cg.to.global{.prefetch} [a], [b], #n=16:.u32, ignore:pred",
        since: ptx(7, 5),
        sets: &[TO, PREFETCH],
        sem: Sem::Ops(small),
        ..CP
    },
    Row {
        syntax: "cp.async.cg.to.global.L2::cache_hint{.prefetch} [a], [b], #n=16:.u32{, size=0..n:.u32}, policy:.u64",
        sets: &[TO, PREFETCH],
        sem: Sem::Ops(small),
        ..CP
    },
    Row {
        syntax: "cp.async.cg.to.global.L2::cache_hint{.prefetch} [a], [b], #n=16:.u32, ignore:pred, policy:.u64",
        since: ptx(7, 5),
        sets: &[TO, PREFETCH],
        sem: Sem::Ops(small),
        ..CP
    },
    Row {
        syntax: "cp.async.commit_group",
        does: "Closes the group of the copies that this thread has started.",
        section: "9.7.10.28.3.2",
        sem: Sem::Ops(|x| group(x, AsyncWork::Copies, AsyncGroupOp::Commit)),
        ..C
    },
    Row {
        syntax: "cp.async.wait_group #n:.u32",
        sem: Sem::Ops(|x| wait_group(x, AsyncWork::Copies)),
        ..CP_ASYNC
    },
    Row {
        syntax: "cp.async.wait_all",
        sem: Sem::Ops(|x| group(x, AsyncWork::Copies, AsyncGroupOp::WaitAll)),
        ..CP_ASYNC
    },
];

/// Operations and types of reductions into shared memory.
pub(super) fn shared_reduction(m: &Match) -> Result<(), String> {
    let legal: &[Ty] = match m.get("op") {
        Some(".add") => &[Ty::U32, Ty::S32, Ty::U64],
        Some(".min" | ".max") => &[Ty::U32, Ty::S32],
        Some(".inc" | ".dec") => &[Ty::U32],
        _ => &[Ty::B32],
    };
    combination(m, legal)
}

pub(super) fn combination(m: &Match, legal: &[Ty]) -> Result<(), String> {
    match m.ty("type") {
        Some(t) if !legal.contains(&t) => {
            Err(format!("reduction `{}` does not take type `{t}`", m.get("op").unwrap_or("")))
        }
        _ => Ok(()),
    }
}

pub(super) fn at(x: &mut Cx, name: &str) -> V {
    let a: Addr = x.addr(name);
    absolute(x, a)
}

fn slot(x: &Cx, name: &str) -> bool {
    x.m.notation.slots.iter().any(|s| s.name == name) && x.given(name)
}

/// What a copy looks for in its data, as its meaning takes it.
pub(super) fn report(x: &Cx) -> u32 {
    Report::parse(x.m.get("report").unwrap_or("")) as u32
}

/// A commit of, or wait for, asynchronous work.
pub(super) fn group(x: &mut Cx, of: AsyncWork, what: AsyncGroupOp) {
    x.effect(Effect::AsyncGroup(AsyncGroup { of, what }), &[], &[]);
}

/// A wait for the groups before the last `n`.
pub(super) fn wait_group(x: &mut Cx, of: AsyncWork) {
    let wait = AsyncGroupOp::Wait { pending: x.imm("n") as u32, read: x.has(".read") };
    group(x, of, wait);
}

fn small(x: &mut Cx) {
    let bytes = x.imm("n") as u32;
    let legal: &[u32] = if x.has(".cg") { &[16] } else { &[4, 8, 16] };
    if !legal.contains(&bytes) {
        x.refuse(format!("`cp.async` of {bytes} bytes: the size must be one of {legal:?}"));
        return;
    }
    let ignore = slot(x, "ignore");
    let size = if slot(x, "size") { x.rd("size") } else { V::w(bytes) };
    let mut src = vec![at(x, "a"), at(x, "b"), size];
    if ignore {
        src.push(x.rd("ignore"));
    }
    let k = [bytes, u32::from(ignore), 0, 0];
    x.warp("cp.async", async_copy::copy_small, k, &src, &[]);
}

/// Spaces to and from of a bulk operation.
pub(super) fn spaces(x: &Cx) -> [u32; 2] {
    let pair = if x.has(".bulk_group") {
        [Space::Global, Space::Shared]
    } else if x.has(".global") {
        let to = if x.has(".shared::cta") { Space::Shared } else { Space::SharedCluster };
        [to, Space::Global]
    } else {
        [Space::SharedCluster, Space::Shared]
    };
    pair.map(space_code)
}

pub(super) fn bulk_operands(x: &mut Cx) -> (Vec<V>, u32) {
    let mut flags = 0;
    let mut src = vec![at(x, "a"), at(x, "b"), x.rd("size")];
    if slot(x, "mbar") {
        flags |= bulk_flag::MBARRIER;
        src.push(at(x, "mbar"));
    }
    if slot(x, "mask") {
        flags |= if x.has(".cp_mask") { bulk_flag::MASK } else { bulk_flag::MULTICAST };
        src.push(x.rd("mask"));
    }
    (src, flags)
}
