//! `st.async` and `red.async` (PTX ISA 9.7.10.12, 9.7.15.7).

use super::async_copy::{BULK, OP, at, shared_reduction};
use crate::async_copy::{self, Reduce};
use crate::effect::{Atom, AtomOp, Cache, Effect, Mem, Order, Scope};
use crate::matched::Match;
use crate::matrix::run::space_code;
use crate::meaning::Cx;
use crate::row::{AddressWidth, EVERYWHERE, Exactness, NOWHERE, Operation, Reach, Row, Sem};
use crate::rows::memory::space;
use crate::types::{Kind, Space, ptx};
use crate::uop::Op;

const CLUSTER: (&str, &str) = ("space", ".shared::cluster");

const ST: Row = Row {
    does: "Starts a store to shared memory of the cluster, which counts at an mbarrier when it is done.",
    addresses: AddressWidth::Words,
    ..BULK
};
const RED: Row = Row {
    does: "Starts a reduction in shared memory of the cluster, which counts at an mbarrier when it is done.",
    addresses: AddressWidth::Words,
    ..BULK
};

const ST_BULK: Row = Row {
    does: "Fills a block of shared memory with zeros.",
    section: "9.7.10.14",
    op: Operation::Store,
    addresses: AddressWidth::Words,
    since: ptx(8, 6),
    sm: 100,
    floors: &[],
    reach: Reach::Lane,
    exact: Exactness::Manual,
    ..BULK
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "st.async{.weak}{.space}.mbarrier::complete_tx::bytes{.vec}.type [a], b*vec, [mbar]",
        sets: &[CLUSTER, ("type", ".b32 .b64 .u32 .u64 .s32 .s64 .f32 .f64")],
        section: "9.7.10.12",
        op: Operation::Store,
        floors: &[],
        since: ptx(8, 1),
        check: Some(sixteen_bytes),
        sem: Sem::Ops(store),
        ..ST
    },
    Row {
        syntax: "st.async{.weak}{.space}.mbarrier::complete_tx::bytes.b128 [a], b:.b128, [mbar]",
        sets: &[CLUSTER],
        section: "9.7.10.12",
        op: Operation::Store,
        floors: &[],
        since: ptx(9, 2),
        sem: Sem::Ops(store_wide),
        ..ST
    },
    Row {
        syntax: "st.async{.mmio}.release.scope{.global}.type [a], b",
        sets: &[
            ("scope", ".gpu .sys"),
            ("type", ".b8 .b16 .b32 .b64 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64"),
        ],
        section: "9.7.10.12",
        op: Operation::Store,
        since: ptx(8, 7),
        // Those of 16 bits are one instruction.
        called: |m, _| if m.types().any(|ty| ty.bits() == 16) { NOWHERE } else { EVERYWHERE },
        check: Some(mmio),
        sm: 100,
        exact: Exactness::Manual,
        sem: Sem::Ops(store_global),
        ..ST
    },
    Row {
        syntax: "st.bulk{.weak}{.shared::cta} [a], size=0..16777216&%8:.u64, #init=0:.u32",
        named: |m, _| !m.has(".shared::cta"),
        sem: Sem::Ops(fill),
        ..ST_BULK
    },
    Row {
        syntax: "st.bulk{.weak}{.shared::cta} [a], size=0..16777216&%8:.u32, #init=0:.u32",
        named: |m, _| !m.has(".shared::cta"),
        since: ptx(9, 0),
        sem: Sem::Ops(fill),
        ..ST_BULK
    },
    Row {
        syntax: "red.async.relaxed.cluster{.space}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]",
        sets: &[CLUSTER, OP, ("type", ".b32 .u32 .s32 .u64")],
        section: "9.7.15.7",
        since: ptx(8, 1),
        check: Some(shared_reduction),
        sem: Sem::Ops(reduce),
        ..RED
    },
    Row {
        syntax: "red.async{.mmio}.release.scope{.global}.add.type [a], b",
        sets: &[("scope", ".gpu .sys"), ("type", ".u32 .s32 .u64 .s64")],
        section: "9.7.15.7",
        since: ptx(8, 7),
        called: |_, _| EVERYWHERE,
        check: Some(mmio),
        sm: 100,
        exact: Exactness::Manual,
        sem: Sem::Ops(reduce_global),
        ..RED
    },
];

/// Memory-mapped stores and reductions are visible to the whole system.
fn mmio(m: &Match) -> Result<(), String> {
    if m.has(".mmio") && m.get("scope") == Some(".gpu") {
        Err("`.mmio` needs scope `.sys`".into())
    } else {
        Ok(())
    }
}

fn sixteen_bytes(m: &Match) -> Result<(), String> {
    if m.get("vec") == Some(".v4") && m.ty("type").is_some_and(|t| t.bits() == 64) {
        Err("vectors hold at most 16 bytes".into())
    } else {
        Ok(())
    }
}

fn store(x: &mut Cx) {
    let bytes = x.ty_of("type").bytes();
    let mut src = vec![at(x, "a"), at(x, "mbar")];
    src.extend(x.rd_vec("b"));
    let k = [bytes, src.len() as u32 - 2, space_code(space(x)), 0];
    x.warp("st.async", async_copy::store, k, &src, &[]);
}

fn reduce(x: &mut Cx) {
    let op = Reduce::parse(x.get("op")).unwrap_or(Reduce::Add);
    let k = [async_copy::pack_reduce(op, x.ty_of("type")), space_code(space(x)), 0, 0];
    let src = [at(x, "a"), at(x, "mbar"), x.rd("b")];
    x.warp("red.async", async_copy::reduce, k, &src, &[]);
}

fn fill(x: &mut Cx) {
    let size = x.rd("size");
    let size = if size.kind == Kind::W { x.op1(Op::ZextWD, size) } else { size };
    let space = if x.has(".shared::cta") { Space::Shared } else { Space::Generic };
    let src = [at(x, "a"), size];
    x.warp("st.bulk", async_copy::fill, [space_code(space), 0, 0, 0], &src, &[]);
}

/// 16 bytes as two halves.
fn store_wide(x: &mut Cx) {
    let (low, high) = x.rd_pair("b");
    let src = [at(x, "a"), at(x, "mbar"), low, high];
    x.warp("st.async", async_copy::store, [8, 2, space_code(space(x)), 0], &src, &[]);
}

fn scope(x: &Cx) -> Scope {
    if x.has(".sys") { Scope::Sys } else { Scope::Gpu }
}

/// The space of a global or generic address.
fn global(x: &Cx) -> Space {
    if x.has(".global") { Space::Global } else { Space::Generic }
}

/// A store with release order, complete when it is issued.
fn store_global(x: &mut Cx) {
    let a = x.addr("a");
    let value = x.rd("b");
    let mem = Mem {
        place: x.place(a, global(x)),
        bytes: x.ty_of("type").bytes() as u8,
        count: 1,
        signed: false,
        order: Order::Release,
        scope: scope(x),
        cache: Cache::Default,
    };
    x.effect(Effect::St(mem), &[a.base, value], &[]);
}

/// An addition with release order, complete when it is issued.
fn reduce_global(x: &mut Cx) {
    let a = x.addr("a");
    let value = x.rd("b");
    let atom = Atom {
        place: x.place(a, global(x)),
        op: AtomOp::Add,
        bytes: x.ty_of("type").bytes() as u8,
        count: 1,
        order: Order::Release,
        scope: scope(x),
    };
    x.effect(Effect::Atom(atom), &[a.base, value], &[]);
}
