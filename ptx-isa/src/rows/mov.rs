//! Moves between registers, address conversion (PTX ISA 9.7.9).

use crate::class::{self, Class};
use crate::effect::{Fault, Flow, Machine, WarpOp, window};
use crate::matched::Match;
use crate::meaning::{Arg, Cx, Src, V};
use crate::row::{Operation, ROW, Row, Sem, floor};
use crate::special::Sreg;
use crate::types::{Kind, Ty, ptx};
use crate::uop::Op;

const ADDRESS: (&str, &str) = ("type", ".u32 .u64");

const MOV: Row = Row {
    does: "Copies a register, a constant, a special register or an address.",
    section: "9.7.9.3",
    class: |_| Class::Move,
    op: Operation::Move,
    ..ROW
};
const MOV_TYPE: Row = Row {
    does: "Packs a vector into a register, or unpacks it.",
    section: "9.7.9.4",
    class: |_| Class::Move,
    op: Operation::Move,
    ..ROW
};

const ISSPACEP: Row = Row {
    does: "Tests whether a generic address lies in a state space.",
    sets: &[(
        "space",
        ".const .global .local .shared .shared::cta .shared::cluster .param .param::entry",
    )],
    since: ptx(2, 0),
    sm: 20,
    floors: &[
        floor(".const", ptx(3, 1), 20),
        floor(".param", ptx(7, 7), 70),
        floor(".param::entry", ptx(8, 3), 70),
        floor(".shared::cta", ptx(7, 8), 30),
        floor(".shared::cluster", ptx(7, 8), 90),
    ],
    section: "9.7.9.19",
    class: class::add,
    sem: Sem::Ops(isspacep),
    ..ROW
};

/// Rows of this family.
pub static ROWS: &[Row] = &[
    Row {
        syntax: "mov.type d, &a",
        sets: &[("type", ".pred .b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64")],
        sem: Sem::Ops(|x| {
            let a = x.rd("a");
            x.wr("d", a);
        }),
        ..MOV
    },
    Row {
        syntax: "mov.b128 d, &a",
        since: ptx(8, 3),
        sm: 70,
        sem: Sem::Ops(|x| {
            let (lo, hi) = x.rd_pair("a");
            x.wr_pair("d", lo, hi);
        }),
        ..MOV
    },
    // Whole vectors: not in the manual, taken by ptxas.
    Row {
        syntax: "mov.vec.type d*vec, &a*vec",
        sets: &[("type", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64 .f32 .f64")],
        check: Some(|m| {
            let wide = m.has(".v4") && m.ty("type").is_some_and(|t| t.bits() == 64);
            if wide { Err("vectors have at most 128 bits".into()) } else { Ok(()) }
        }),
        sem: Sem::Ops(|x| {
            let values = x.rd_vec("a");
            x.wr_vec("d", &values);
        }),
        ..MOV
    },
    // Any vector whose elements fill the scalar: packing, then unpacking.
    Row {
        syntax: "mov.type d, &a*?:any",
        sets: &[("type", ".b16 .b32 .b64 .b128")],
        counts: Some(|_, _| 0),
        floors: &[floor(".b128", ptx(8, 3), 70)],
        sem: Sem::Ops(pack),
        ..MOV_TYPE
    },
    Row {
        syntax: "mov.type d*?:any, &a",
        sets: &[("type", ".b16 .b32 .b64 .b128")],
        counts: Some(|_: &Match, _: &str| 0),
        floors: &[floor(".b128", ptx(8, 3), 70)],
        sem: Sem::Ops(unpack),
        ..MOV_TYPE
    },
    Row { syntax: "isspacep.space d:pred, a:.u64", ..ISSPACEP },
    Row { syntax: "isspacep.space d:pred, a:.u32", ..ISSPACEP },
    Row {
        syntax: "cvta.space.type d, &a",
        does: "Converts an address of a state space to a generic one.",
        sets: &[
            (
                "space",
                ".const .global .local .shared .shared::cta .shared::cluster .param .param::entry",
            ),
            ADDRESS,
        ],
        since: ptx(2, 0),
        sm: 20,
        floors: &[
            floor(".const", ptx(3, 1), 20),
            floor(".param", ptx(7, 7), 70),
            floor(".param::entry", ptx(8, 3), 70),
            floor(".shared::cta", ptx(7, 8), 30),
            floor(".shared::cluster", ptx(7, 8), 90),
        ],
        section: "9.7.9.20",
        class: class::add,
        op: Operation::ConvertAddress,
        sem: Sem::Ops(|x| cvta(x, true)),
        ..ROW
    },
    Row {
        syntax: "cvta.to.space.type d, a",
        does: "Converts a generic address to one of a state space.",
        sets: &[
            (
                "space",
                ".const .global .local .shared .shared::cta .shared::cluster .param .param::entry",
            ),
            ADDRESS,
        ],
        since: ptx(2, 0),
        sm: 20,
        floors: &[
            floor(".const", ptx(3, 1), 20),
            floor(".param", ptx(7, 7), 70),
            floor(".param::entry", ptx(8, 3), 70),
            floor(".shared::cta", ptx(7, 8), 30),
            floor(".shared::cluster", ptx(7, 8), 90),
        ],
        section: "9.7.9.20",
        class: class::add,
        op: Operation::ConvertAddress,
        sem: Sem::Ops(|x| cvta(x, false)),
        ..ROW
    },
];

/// Width in bits of vector elements when `total` bits are made of `n`.
fn element_bits(total: u32, n: usize) -> u32 {
    total / n.max(1) as u32
}

/// Vector to scalar: the first element is the lowest.
fn pack(x: &mut Cx) {
    let Arg::Vector(items) = x.arg("a") else {
        return x.refuse("the source is no vector");
    };
    let total = x.ty().bits();
    let bits = element_bits(total, items.len());
    let ty = Ty::parse(&format!("b{bits}"));
    let parts: Vec<V> = items.iter().map(|a| x.rd_arg(a, ty)).collect();
    // Join neighbours until at most two 64-bit halves are left.
    let join = |x: &mut Cx, parts: &[V], bits: u32| -> V {
        let mut value = parts[0];
        for (i, p) in parts.iter().enumerate().skip(1) {
            let up = x.op2(Op::ShlW, *p, V::w(bits * i as u32));
            value = x.op2(Op::OrW, value, up);
        }
        value
    };
    match (total, bits) {
        (16 | 32, _) => {
            let d = join(x, &parts, bits);
            x.wr("d", d);
        }
        (64, _) => {
            let half = parts.len() / 2;
            let (lo, hi) = match bits {
                32 => (parts[0], parts[1]),
                _ => (join(x, &parts[..half], bits), join(x, &parts[half..], bits)),
            };
            let d = x.op2(Op::PackWD, lo, hi);
            x.wr("d", d);
        }
        _ => {
            let halves: Vec<V> = match bits {
                64 => parts,
                _ => parts.chunks(2).map(|c| x.op2(Op::PackWD, c[0], c[1])).collect(),
            };
            x.wr_pair("d", halves[0], halves[1]);
        }
    }
}

/// Scalar to vector.
fn unpack(x: &mut Cx) {
    let Arg::Vector(items) = x.arg("d") else {
        return x.refuse("the destination is no vector");
    };
    let total = x.ty().bits();
    let bits = element_bits(total, items.len());
    let words: Vec<V> = if total == 128 {
        let (lo, hi) = x.rd_pair("a");
        vec![lo, hi]
    } else {
        vec![x.rd("a")]
    };
    for (i, item) in items.iter().enumerate() {
        let at = i as u32 * bits;
        let word = words[at as usize / 64];
        let v = match (word.kind, bits) {
            (Kind::D, 64) => word,
            (Kind::D, _) => {
                let half = x.op1(if at % 64 < 32 { Op::TruncDW } else { Op::HighDW }, word);
                field(x, half, at % 32, bits)
            }
            _ => field(x, word, at, bits),
        };
        x.wr_arg(item, v, None);
    }
}

/// `bits` bits of a `W` value from bit `at`.
fn field(x: &mut Cx, v: V, at: u32, bits: u32) -> V {
    let down = if at == 0 { v } else { x.op2(Op::ShrW, v, V::w(at)) };
    x.zext(down, bits)
}

/// First generic address and size of the window that a `.space` modifier names; `None` for global.
fn window_of(space: &str) -> Option<(u64, u64)> {
    match space {
        ".shared" | ".shared::cta" | ".shared::cluster" => {
            Some((window::SHARED, window::SHARED_SIZE))
        }
        ".local" => Some((window::LOCAL, window::LOCAL_SIZE)),
        ".param" | ".param::entry" => Some((window::PARAM, window::PARAM_SIZE)),
        _ => None,
    }
}

fn isspacep(x: &mut Cx) {
    let a = x.rd("a");
    let a = if a.kind == Kind::W { x.op1(Op::ZextWD, a) } else { a };
    let p = match window_of(x.get("space")) {
        Some((start, size)) => {
            let cta = x.get("space") != ".shared::cluster" && start == window::SHARED;
            let mut off = x.op2(Op::SubD, a, V::d(start));
            if cta && x.sm() >= 90 {
                // The CTA's own part starts where its rank says.
                let rank = V { kind: Kind::W, src: Src::Special(Sreg::ClusterCtarank) };
                let own = x.op2(Op::ShlW, rank, V::w(window::SHARED_CTA.trailing_zeros()));
                let own = x.op1(Op::ZextWD, own);
                off = x.op2(Op::SubD, off, own);
            }
            let size = if cta { window::SHARED_CTA } else { size };
            x.op2(Op::LtUD, off, V::d(size))
        }
        // Constant memory lies among global memory here: the engine knows which addresses are constants'.
        None => {
            let constant = x.warp("isspacep", lies_in_constants, [0; 4], &[a], &[Kind::P])[0];
            if x.get("space") == ".const" {
                constant
            } else {
                let global = x.op2(Op::LeUD, V::d(window::GLOBAL), a);
                x.op2(Op::AndNotP, global, constant)
            }
        }
    };
    x.wr("d", p);
}

/// Whether a generic address lies in a `.const` variable.
fn lies_in_constants(m: &mut dyn Machine, _: &WarpOp) -> Result<Flow, Fault> {
    let addresses = m.src_d(0);
    let constant = |lane: &usize| m.is_constant(addresses[*lane]);
    let found = (0..32).filter(|lane| m.mask() >> lane & 1 != 0).filter(constant);
    let bits = found.fold(0, |bits, lane| bits | 1 << lane);
    m.set_p(0, bits);
    Ok(Flow::Next)
}

/// Adds (or, for `.to`, subtracts) the start of the window.
fn cvta(x: &mut Cx, to_generic: bool) {
    let (a, wide) = (x.rd("a"), x.ty().bits() == 64);
    let d = match window_of(x.get("space")) {
        None => a,
        Some((start, _)) => match (wide, to_generic) {
            (true, true) => x.op2(Op::AddD, a, V::d(start)),
            (true, false) => x.op2(Op::SubD, a, V::d(start)),
            (false, true) => x.op2(Op::AddW, a, V::w(start as u32)),
            (false, false) => x.op2(Op::SubW, a, V::w(start as u32)),
        },
    };
    x.wr("d", d);
}
