//! `setp` (PTX ISA 9.7.7.2, 9.7.8.2).

use super::compare::{INT, combine, integer_relation, packed_relation, rel, relation, source};
use super::float::FTZ;
use crate::class;
use crate::meaning::Cx;
use crate::row::{Operation, ROW, Row, Sem, Sink};
use crate::types::ptx;
use crate::uop::Op;

const SETP: Row = Row {
    does: "Compares two values and gives a predicate and its opposite.",
    class: class::compare,
    op: Operation::Compare,
    sink: |_| Sink::Allowed,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    // setp
    Row {
        syntax: "setp.cmpi.type p{|q}, a, b",
        sets: &[INT],
        check: Some(integer_relation),
        section: "9.7.7.2",
        sem: Sem::Ops(setp),
        ..SETP
    },
    Row {
        syntax: "setp.cmpi.bool.type p{|q}, a, b, {!}c:pred",
        sets: &[INT],
        check: Some(integer_relation),
        section: "9.7.7.2",
        sem: Sem::Ops(setp),
        ..SETP
    },
    Row {
        syntax: "setp.cmpf{.ftz}.f32 p{|q}, a, b",
        floors: &[FTZ],
        section: "9.7.7.2",
        sem: Sem::Ops(setp),
        ..SETP
    },
    Row {
        syntax: "setp.cmpf.bool{.ftz}.f32 p{|q}, a, b, {!}c:pred",
        floors: &[FTZ],
        section: "9.7.7.2",
        sem: Sem::Ops(setp),
        ..SETP
    },
    Row { syntax: "setp.cmpf.f64 p{|q}, a, b", section: "9.7.7.2", sem: Sem::Ops(setp), ..SETP },
    Row {
        syntax: "setp.cmpf.bool.f64 p{|q}, a, b, {!}c:pred",
        section: "9.7.7.2",
        sem: Sem::Ops(setp),
        ..SETP
    },
    // The manual has no second destination for scalar halves, nor does ptxas.
    Row {
        syntax: "setp.cmpf{.ftz}.f16 p, a, b",
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.8.2",
        sem: Sem::Ops(setp),
        ..SETP
    },
    Row {
        syntax: "setp.cmpf.bool{.ftz}.f16 p, a, b, {!}c:pred",
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.8.2",
        sem: Sem::Ops(setp),
        ..SETP
    },
    Row {
        syntax: "setp.cmpf{.ftz}.f16x2 p{|q}, a, b",
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.8.2",
        sem: Sem::Ops(setp_packed),
        ..SETP
    },
    Row {
        syntax: "setp.cmpf.bool{.ftz}.f16x2 p{|q}, a, b, {!}c:pred",
        since: ptx(4, 2),
        sm: 53,
        section: "9.7.8.2",
        sem: Sem::Ops(setp_packed),
        ..SETP
    },
    Row {
        syntax: "setp.cmpf.bf16 p, a, b",
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.2",
        sem: Sem::Ops(setp),
        ..SETP
    },
    Row {
        syntax: "setp.cmpf.bool.bf16 p, a, b, {!}%c:pred",
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.2",
        sem: Sem::Ops(setp),
        ..SETP
    },
    Row {
        syntax: "setp.cmpf.bf16x2 p{|q}, a, b",
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.2",
        sem: Sem::Ops(setp_packed),
        ..SETP
    },
    Row {
        syntax: "setp.cmpf.bool.bf16x2 p{|q}, a, b, {!}%c:pred",
        since: ptx(7, 8),
        sm: 90,
        section: "9.7.8.2",
        sem: Sem::Ops(setp_packed),
        ..SETP
    },
];

fn setp(x: &mut Cx) {
    let (ty, rel) = (source(x), rel(x));
    let (a, b) = (x.rd("a"), x.rd("b"));
    let p = relation(x, ty, rel, a, b);
    if matches!(x.arg("p"), crate::meaning::Arg::Both(..)) {
        let not = x.op1(Op::NotP, p);
        let second = combine(x, not);
        x.wr_second("p", second);
    }
    let first = combine(x, p);
    x.wr("p", first);
}

fn setp_packed(x: &mut Cx) {
    let (low, high) = packed_relation(x);
    x.wr("p", low);
    x.wr_second("p", high);
}
