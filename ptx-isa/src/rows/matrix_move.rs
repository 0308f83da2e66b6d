//! `ldmatrix`, `stmatrix` and `movmatrix` (PTX ISA 9.7.16.5).

use crate::class::Class;
use crate::matched::Match;
use crate::matrix::{moves, run};
use crate::meaning::{Addr, Cx, V};
use crate::row::{AddressWidth, Constants, Exactness, ROW, Reach, Row, Sem, floor};
use crate::rows::mma::together;
use crate::types::{Kind, ptx};
use crate::uop::Op;

const SS: (&str, &str) = ("ss", ".shared .shared::cta");
const NUM: (&str, &str) = ("num", ".x1 .x2 .x4");
const BLACKWELL: &str =
    "sm_100a sm_101a sm_103a sm_110a sm_120a sm_121a sm_100f sm_101f sm_110f sm_120f";
const LOAD: Row = Row {
    does: "Loads small matrices from shared memory into fragments of the warp.",
    section: "9.7.16.5.15",
    since: ptx(6, 5),
    sm: 75,
    class: |_| Class::LoadMatrix,
    reach: Reach::Warp,
    addresses: AddressWidth::GenericWords,
    exact: Exactness::Bit,
    counts: Some(count),
    sem: Sem::Ops(load),
    ..ROW
};
const STORE: Row = Row {
    does: "Stores fragments of the warp as small matrices in shared memory.",
    section: "9.7.16.5.16",
    since: ptx(7, 8),
    sm: 90,
    class: |_| Class::LoadMatrix,
    sem: Sem::Ops(store),
    ..LOAD
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "ldmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16 d*!:.b32, [a]",
        sets: &[NUM, SS],
        floors: &[floor(".shared::cta", ptx(7, 8), 75)],
        ..LOAD
    },
    Row {
        syntax: "ldmatrix.sync.aligned.m16n16.num.trans{.ss}.b8 d*!:.b32, [a]",
        sets: &[("num", ".x1 .x2"), SS],
        since: ptx(8, 6),
        sm: 100,
        targets: BLACKWELL,
        counts: Some(count_square),
        sem: Sem::Ops(load_bytes),
        exact: Exactness::Manual,
        ..LOAD
    },
    Row {
        syntax: "ldmatrix.sync.aligned.m8n16.num{.ss}.b8x16.src d*!:.b32, [a]",
        sets: &[NUM, SS, ("src", ".b6x16_p32 .b4x16_p64")],
        since: ptx(8, 6),
        sm: 100,
        targets: BLACKWELL,
        sem: Sem::Ops(load_bytes),
        exact: Exactness::Manual,
        ..LOAD
    },
    Row {
        syntax: "ldmatrix.sync.aligned.m8n16.num{.ss}.s8.s4 d*!:.b32, [a]",
        sets: &[NUM, SS],
        since: ptx(9, 4),
        sm: 90,
        targets: "sm_90a sm_100a sm_100f sm_110f sm_120f",
        sem: Sem::Ops(load_bytes),
        ..LOAD
    },
    Row {
        syntax: "ldmatrix.sync.aligned.m16n16.num.trans{.ss}.b8x16.src d*!:.b32, [a]",
        sets: &[("num", ".x1 .x2"), SS, ("src", ".b6x16_p32 .b4x16_p64")],
        since: ptx(8, 6),
        sm: 100,
        targets: BLACKWELL,
        counts: Some(count_square),
        sem: Sem::Ops(load_bytes),
        exact: Exactness::Manual,
        ..LOAD
    },
    Row {
        syntax: "stmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16 [a], r*!:.b32",
        sets: &[NUM, SS],
        constants: Constants::Vector,
        ..STORE
    },
    Row {
        syntax: "stmatrix.sync.aligned.m16n8.num.trans{.ss}.b8 [a], r*!:.b32",
        sets: &[NUM, SS],
        since: ptx(8, 6),
        sm: 100,
        targets: BLACKWELL,
        sem: Sem::Ops(store_bytes),
        exact: Exactness::Manual,
        constants: Constants::Vector,
        ..STORE
    },
    Row {
        syntax: "movmatrix.sync.aligned.m8n8.trans.b16 d:.b32, %a:.b32",
        does: "Transposes a fragment across the lanes of the warp.",
        section: "9.7.16.5.17",
        since: ptx(7, 8),
        sm: 75,
        class: |_| Class::Shuffle,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| {
            let a = x.rd("a");
            let values = together(x, "movmatrix", run::movmatrix, [0; 4], vec![a], &[Kind::W]);
            x.wr("d", values[0]);
        }),
        ..ROW
    },
];

fn number(m: &Match) -> u32 {
    m.get("num").and_then(|n| n[2..].parse().ok()).unwrap_or(1)
}

fn count(m: &Match, _: &str) -> u32 {
    number(m)
}

/// A 16x16 matrix of bytes takes two registers.
fn count_square(m: &Match, _: &str) -> u32 {
    2 * number(m)
}

/// The address of a memory operand as one `D` value.
pub(super) fn absolute(x: &mut Cx, a: Addr) -> V {
    let base = if a.base.kind == Kind::W { x.op1(Op::ZextWD, a.base) } else { a.base };
    if a.offset == 0 { base } else { x.op2(Op::AddD, base, V::d(a.offset as u64)) }
}

fn load(x: &mut Cx) {
    let n = number(x.m);
    let a = absolute(x, x.addr("a"));
    let k = [n, u32::from(x.has(".trans")), shared(x), 0];
    let values = together(x, "ldmatrix", run::ldmatrix, k, vec![a], &vec![Kind::W; n as usize]);
    x.wr_vec("d", &values);
}

fn store(x: &mut Cx) {
    let n = number(x.m);
    let mut src = vec![absolute(x, x.addr("a"))];
    src.extend(x.rd_vec("r"));
    let k = [n, u32::from(x.has(".trans")), shared(x), 0];
    together(x, "stmatrix", run::stmatrix, k, src, &[]);
}

/// Code of the space that `.ss` names; generic without it.
fn shared(x: &Cx) -> u32 {
    u32::from(!x.get("ss").is_empty()) * 2
}

/// Matrices of bytes, or of shorter elements that become bytes.
fn load_bytes(x: &mut Cx) {
    let n = number(x.m);
    let square = x.has(".m16n16");
    let source = match x.get("src") {
        ".b6x16_p32" => 6,
        ".b4x16_p64" => 4,
        _ if x.has(".s4") => moves::SIGNED4,
        _ => 8,
    };
    let a = absolute(x, x.addr("a"));
    let k = [n, u32::from(square), shared(x), source];
    let results = vec![Kind::W; n as usize * if square { 2 } else { 1 }];
    let values = together(x, "ldmatrix", run::ldmatrix_bytes, k, vec![a], &results);
    x.wr_vec("d", &values);
}

fn store_bytes(x: &mut Cx) {
    let n = number(x.m);
    let mut src = vec![absolute(x, x.addr("a"))];
    src.extend(x.rd_vec("r"));
    together(x, "stmatrix", run::stmatrix_bytes, [n, 0, shared(x), 0], src, &[]);
}
