//! Agreement between the lanes of a warp (PTX ISA 9.7.13.8 to 9.7.13.14).

use super::warp::{across, groups, lanes};
use crate::class::Class;
use crate::effect::{Fault, Flow, Machine, WarpOp};
use crate::meaning::Cx;
use crate::row::{ROW, Reach, Row, Sem, Sink};
use crate::types::{Kind, ptx};

const VOTE_MODE: (&str, &str) = ("mode", ".all .any .uni");

const VOTE: Row = Row {
    does: "Combines a predicate over the lanes that take part.",
    class: |_| Class::Vote,
    ..ROW
};
const VOTE_BALLOT: Row = Row {
    does: "Gives a mask of the lanes whose predicate is true.",
    class: |_| Class::Vote,
    ..ROW
};
const MATCH: Row = Row {
    does: "Finds the lanes that hold the same value.",
    section: "9.7.13.10",
    class: |_| Class::Match,
    sink: |_| Sink::Allowed,
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "vote.mode.pred d, {!}a",
        sets: &[VOTE_MODE],
        since: ptx(1, 2),
        sm: 12,
        removed: Some((ptx(6, 4), 70)),
        section: "9.7.13.8",
        reach: Reach::Warp,
        sem: Sem::Ops(|x| vote(x, false)),
        ..VOTE
    },
    Row {
        syntax: "vote.ballot.b32 d, {!}a:pred",
        since: ptx(2, 0),
        sm: 20,
        removed: Some((ptx(6, 4), 70)),
        section: "9.7.13.8",
        reach: Reach::Warp,
        sem: Sem::Ops(|x| vote(x, false)),
        ..VOTE_BALLOT
    },
    Row {
        syntax: "vote.sync.mode.pred d, {!}a, members:.u32",
        sets: &[VOTE_MODE],
        since: ptx(6, 0),
        sm: 30,
        section: "9.7.13.9",
        called: |_, _| 0..90,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| vote(x, true)),
        ..VOTE
    },
    Row {
        syntax: "vote.sync.ballot.b32 d, {!}a:pred, members:.u32",
        since: ptx(6, 0),
        sm: 30,
        section: "9.7.13.9",
        called: |_, _| 0..90,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| vote(x, true)),
        ..VOTE_BALLOT
    },
    Row {
        syntax: "match.any.sync.type d:.u32, a, members:.u32",
        sets: &[("type", ".b32 .b64")],
        since: ptx(6, 0),
        sm: 70,
        called: |_, _| 0..90,
        reach: Reach::Warp,
        sem: Sem::Ops(match_lanes),
        ..MATCH
    },
    Row {
        syntax: "match.all.sync.type d{|p}:.u32, a, members:.u32",
        sets: &[("type", ".b32 .b64")],
        since: ptx(6, 0),
        sm: 70,
        called: |_, _| 0..90,
        reach: Reach::Warp,
        sem: Sem::Ops(match_lanes),
        ..MATCH
    },
    Row {
        syntax: "activemask.b32 d",
        does: "Gives a mask of the lanes that execute it.",
        since: ptx(6, 2),
        sm: 30,
        section: "9.7.13.11",
        class: |_| Class::Vote,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| {
            let d = x.warp("activemask", run_activemask, [0; 4], &[], &[Kind::W]);
            x.wr("d", d[0]);
        }),
        ..ROW
    },
    Row {
        syntax: "elect.sync d|p:.u32, members:.u32",
        does: "Elects one of the lanes that take part.",
        sink: |_| Sink::Allowed,
        since: ptx(8, 0),
        sm: 90,
        section: "9.7.13.14",
        class: |_| Class::Vote,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| {
            let members = x.rd("members");
            let kinds = [Kind::W, Kind::P];
            let r = x.warp_sync("elect.sync", run_elect, [0; 4], 0, &[members], &kinds);
            x.wr("d", r[0]);
            x.wr_second("d", r[1]);
        }),
        ..ROW
    },
];

fn vote(x: &mut Cx, sync: bool) {
    let a = x.rd("a");
    if x.has(".ballot") {
        let r = across(x, "vote.ballot", run_vote, 3, sync, &[a], &[Kind::W]);
        return x.wr("d", r[0]);
    }
    let mode = match x.get("mode") {
        ".all" => 0,
        ".any" => 1,
        _ => 2,
    };
    let r = across(x, "vote", run_vote, mode, sync, &[a], &[Kind::P]);
    x.wr("d", r[0]);
}

fn run_vote(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let a = m.src_p(0);
    let groups = groups(m, op, 1);
    let yes = groups.map(|g| a & g);
    if op.k[0] == 3 {
        m.set_w(0, &yes);
        return Ok(Flow::Next);
    }
    let mut p = 0;
    for l in 0..32 {
        let (yes, group) = (yes[l], groups[l]);
        let holds = match op.k[0] {
            0 => yes == group,
            1 => yes != 0,
            _ => yes == group || yes == 0,
        };
        p |= (holds as u32) << l;
    }
    m.set_p(0, p);
    Ok(Flow::Next)
}

fn match_lanes(x: &mut Cx) {
    let all = x.has(".all");
    let wide = x.ty().bits() == 64;
    let a = x.rd("a");
    let k = all as u32 | (wide as u32) << 1;
    let r = across(x, "match", run_match, k, true, &[a], &[Kind::W, Kind::P]);
    x.wr("d", r[0]);
    x.wr_second("d", r[1]);
}

fn run_match(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let a = if op.k[0] & 2 != 0 { m.src_d(0) } else { m.src_w(0).map(u64::from) };
    let groups = groups(m, op, 1);
    let mut d = [0; 32];
    let mut p = 0;
    for l in 0..32 {
        let same = lanes(groups[l]).filter(|j| a[*j] == a[l]).fold(0, |s, j| s | 1 << j);
        let agree = same == groups[l];
        d[l] = if op.k[0] & 1 == 0 || agree { same } else { 0 };
        p |= (agree as u32) << l;
    }
    m.set_w(0, &d);
    m.set_p(1, p);
    Ok(Flow::Next)
}

fn run_activemask(m: &mut dyn Machine, _: &WarpOp) -> Result<Flow, Fault> {
    let mask = m.mask();
    m.set_w(0, &[mask; 32]);
    Ok(Flow::Next)
}

/// The lowest lane of the member mask is elected.
fn run_elect(m: &mut dyn Machine, _: &WarpOp) -> Result<Flow, Fault> {
    let mask = m.mask();
    let groups = m.src_w(0).map(|v| v & mask);
    let leader = groups.map(|g| g.trailing_zeros() & 31);
    let p = (0..32).filter(|l| leader[*l] == *l as u32).fold(0, |p, l| p | 1 << l);
    m.set_w(0, &leader);
    m.set_p(1, p);
    Ok(Flow::Next)
}
