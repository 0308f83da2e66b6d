//! `shfl` and `bar.warp.sync` (PTX ISA 9.7.9.5, 9.7.9.6, 9.7.13.2), and what all functions over a warp share.

use crate::class::Class;
use crate::effect::{Fault, Flow, Machine, WarpFn, WarpOp};
use crate::meaning::{Cx, V};
use crate::row::{ROW, Reach, Row, Sem};
use crate::types::{Kind, ptx};

const SHFL_MODE: (&str, &str) = ("mode", ".up .down .bfly .idx");

const SHFL: Row =
    Row { does: "Gives each lane the value of another.", class: |_| Class::Shuffle, ..ROW };

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "shfl.mode.b32 d{|p}, a, b, c",
        sets: &[SHFL_MODE],
        since: ptx(3, 0),
        sm: 30,
        removed: Some((ptx(6, 4), 70)),
        section: "9.7.9.5",
        reach: Reach::Warp,
        sem: Sem::Ops(|x| shuffle(x, false)),
        ..SHFL
    },
    Row {
        syntax: "shfl.sync.mode.b32 d{|p}, a, b, c, members:.u32",
        sets: &[SHFL_MODE],
        since: ptx(6, 0),
        sm: 30,
        section: "9.7.9.6",
        called: |_, _| 0..90,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| shuffle(x, true)),
        ..SHFL
    },
    Row {
        syntax: "bar.warp.sync members:.u32",
        does: "Waits until the lanes that take part have arrived.",
        since: ptx(6, 0),
        sm: 30,
        section: "9.7.13.2",
        class: |_| Class::WarpSync,
        called: |_, _| 0..90,
        reach: Reach::Warp,
        sem: Sem::Ops(|x| {
            let members = x.rd("members");
            x.warp_barrier("bar.warp.sync", members);
        }),
        ..ROW
    },
];

/// Appends the warp function; with `sync`, the member mask is the last source.
pub(super) fn across(
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
pub(super) fn groups(m: &dyn Machine, op: &WarpOp, members: usize) -> [u32; 32] {
    let mask = m.mask();
    if op.k[1] == 0 { [mask; 32] } else { m.src_w(members).map(|v| v & mask) }
}

/// Lanes of a mask in rising order.
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
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
