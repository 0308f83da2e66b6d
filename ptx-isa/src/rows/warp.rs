//! Exchange and agreement between the lanes of a warp (PTX ISA 9.7.9.5, 9.7.13).

use crate::class::Class;
use crate::effect::{Fault, Flow, Machine, WarpFn, WarpOp};
use crate::meaning::{Cx, V};
use crate::row::{ROW, Reach, Row, Sem};
use crate::types::{Kind, ptx};

const SHFL_MODE: (&str, &str) = ("mode", ".up .down .bfly .idx");
const VOTE_MODE: (&str, &str) = ("mode", ".all .any .uni");

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "shfl.mode.b32 d{|p}, a, b, c",
        sets: &[SHFL_MODE],
        since: ptx(3, 0),
        sm: 30,
        removed: Some((ptx(6, 4), 70)),
        section: "9.7.9.5",
        class: |_| Class::Shuffle,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| shuffle(x, false)),
        ..ROW
    },
    Row {
        syntax: "shfl.sync.mode.b32 d{|p}, a, b, c, members",
        sets: &[SHFL_MODE],
        since: ptx(6, 0),
        sm: 30,
        section: "9.7.9.6",
        class: |_| Class::Shuffle,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| shuffle(x, true)),
        ..ROW
    },
    Row {
        syntax: "vote.mode.pred d, {!}a",
        sets: &[VOTE_MODE],
        since: ptx(1, 2),
        sm: 12,
        removed: Some((ptx(6, 4), 70)),
        section: "9.7.13.8",
        class: |_| Class::Vote,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| vote(x, false)),
        ..ROW
    },
    Row {
        syntax: "vote.ballot.b32 d, {!}a:pred",
        since: ptx(2, 0),
        sm: 20,
        removed: Some((ptx(6, 4), 70)),
        section: "9.7.13.8",
        class: |_| Class::Vote,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| vote(x, false)),
        ..ROW
    },
    Row {
        syntax: "vote.sync.mode.pred d, {!}a, members:.b32",
        sets: &[VOTE_MODE],
        since: ptx(6, 0),
        sm: 30,
        section: "9.7.13.9",
        class: |_| Class::Vote,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| vote(x, true)),
        ..ROW
    },
    Row {
        syntax: "vote.sync.ballot.b32 d, {!}a:pred, members",
        since: ptx(6, 0),
        sm: 30,
        section: "9.7.13.9",
        class: |_| Class::Vote,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| vote(x, true)),
        ..ROW
    },
    Row {
        syntax: "match.any.sync.type d:.b32, a, members:.b32",
        sets: &[("type", ".b32 .b64")],
        since: ptx(6, 0),
        sm: 70,
        section: "9.7.13.10",
        class: |_| Class::Match,
        reach: Reach::Warp,
        sink: true,
        sem: Sem::Ops(match_lanes),
        ..ROW
    },
    Row {
        syntax: "match.all.sync.type d{|p}:.b32, a, members:.b32",
        sets: &[("type", ".b32 .b64")],
        since: ptx(6, 0),
        sm: 70,
        section: "9.7.13.10",
        class: |_| Class::Match,
        reach: Reach::Warp,
        sink: true,
        sem: Sem::Ops(match_lanes),
        ..ROW
    },
    Row {
        syntax: "activemask.b32 d",
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
        syntax: "redux.sync.op.type d, a, members:.b32",
        sets: &[("op", ".add .min .max"), ("type", ".u32 .s32")],
        since: ptx(7, 0),
        sm: 80,
        section: "9.7.13.12",
        class: |_| Class::Redux,
        reach: Reach::Warp,
        sem: Sem::Ops(redux),
        ..ROW
    },
    Row {
        syntax: "redux.sync.op.b32 d, a, members",
        sets: &[("op", ".and .or .xor")],
        since: ptx(7, 0),
        sm: 80,
        section: "9.7.13.12",
        class: |_| Class::Redux,
        reach: Reach::Warp,
        sem: Sem::Ops(redux),
        ..ROW
    },
    Row {
        syntax: "redux.sync.op{.abs}{.NaN}.f32 d, a, members:.b32",
        sets: &[("op", ".min .max")],
        since: ptx(8, 6),
        sm: 100,
        targets: "sm_100a sm_100f sm_103a sm_103f",
        section: "9.7.13.12",
        class: |_| Class::Redux,
        reach: Reach::Warp,
        sem: Sem::None,
        ..ROW
    },
    Row {
        syntax: "elect.sync d|p, members:.b32",
        sink: true,
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
    Row {
        syntax: "bar.warp.sync members:.b32",
        since: ptx(6, 0),
        sm: 30,
        section: "9.7.13.2",
        class: |_| Class::WarpSync,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| {
            let members = x.rd("members");
            x.warp_sync("bar.warp.sync", |_, _| Ok(Flow::Next), [0; 4], 0, &[members], &[]);
        }),
        ..ROW
    },
];

/// Appends the warp function; with `sync`, the member mask is the last source.
fn across(
    x: &mut Cx,
    name: &'static str,
    run: WarpFn,
    k: u32,
    sync: bool,
    src: &[V],
    results: &[Kind],
) -> Vec<V> {
    let k = [k, sync as u32, 0, 0];
    if !sync {
        return x.warp(name, run, k, src, results);
    }
    let mut src = src.to_vec();
    let members = x.rd("members");
    src.push(members);
    x.warp_sync(name, run, k, src.len() as u8 - 1, &src, results)
}

/// For each lane the lanes that take part with it: its member mask, or all that execute.
fn groups(m: &dyn Machine, op: &WarpOp, members: usize) -> [u32; 32] {
    let mask = m.mask();
    if op.k[1] == 0 { [mask; 32] } else { m.src_w(members).map(|v| v & mask) }
}

/// Lanes of a mask in rising order.
fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros();
            mask &= mask - 1;
            lane as usize
        })
    })
}

fn shuffle(x: &mut Cx, sync: bool) {
    let mode = match x.get("mode") {
        ".up" => 0,
        ".down" => 1,
        ".bfly" => 2,
        _ => 3,
    };
    let (a, b, c) = (x.rd("a"), x.rd("b"), x.rd("c"));
    let r = across(x, "shfl", run_shuffle, mode, sync, &[a, b, c], &[Kind::W, Kind::P]);
    x.wr("d", r[0]);
    x.wr_second("d", r[1]);
}

fn run_shuffle(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let (a, b, c) = (m.src_w(0), m.src_w(1), m.src_w(2));
    let mut d = [0; 32];
    let mut p = 0;
    for lane in 0..32u32 {
        let l = lane as usize;
        let (distance, clamp, segment) = (b[l] & 31, c[l] & 31, c[l] >> 8 & 31);
        let low = lane & segment;
        let high = low | clamp & !segment & 31;
        let (from, inside) = match op.k[0] {
            0 => {
                let j = lane as i32 - distance as i32;
                (j, j >= high as i32)
            }
            1 => {
                let j = lane + distance;
                (j as i32, j <= high)
            }
            2 => {
                let j = lane ^ distance;
                (j as i32, j <= high)
            }
            _ => {
                let j = low | distance & !segment;
                (j as i32, j <= high)
            }
        };
        d[l] = a[if inside { from as usize & 31 } else { l }];
        p |= (inside as u32) << lane;
    }
    m.set_w(0, &d);
    m.set_p(1, p);
    Ok(Flow::Next)
}

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

fn redux(x: &mut Cx) {
    let k = match (x.get("op"), x.ty().signed()) {
        (".add", _) => 0,
        (".min", false) => 1,
        (".min", true) => 2,
        (".max", false) => 3,
        (".max", true) => 4,
        (".and", _) => 5,
        (".or", _) => 6,
        _ => 7,
    };
    let a = x.rd("a");
    let r = across(x, "redux", run_redux, k, true, &[a], &[Kind::W]);
    x.wr("d", r[0]);
}

fn run_redux(m: &mut dyn Machine, op: &WarpOp) -> Result<Flow, Fault> {
    let a = m.src_w(0);
    let groups = groups(m, op, 1);
    let join = |s: u32, v: u32| match op.k[0] {
        0 => s.wrapping_add(v),
        1 => s.min(v),
        2 => (s as i32).min(v as i32) as u32,
        3 => s.max(v),
        4 => (s as i32).max(v as i32) as u32,
        5 => s & v,
        6 => s | v,
        _ => s ^ v,
    };
    let mut d = [0; 32];
    for l in 0..32 {
        d[l] = lanes(groups[l]).map(|j| a[j]).reduce(join).unwrap_or(0);
    }
    m.set_w(0, &d);
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
