//! Whether a kernel can tell how its work-items are grouped.

use super::func::{Func, ParamKind, Term};
use super::graph::Graph;
use super::op::{BinOp, Op, Space, Sreg, TernOp, Val};

/// Whether a kernel does the same whatever the size of its work-groups: it asks for places and sizes in the whole range
/// only, and its work-items share and wait for nothing. `is_local` says which variables of the program are local.
///
/// Groups of one work-item, as programs launch on processors, leave lanes of vectors empty; the driver may put work-items
/// of such a kernel together. What the passes made of a sum that is the global id must still look like one: a kernel
/// where it does not counts as one that knows its groups.
pub fn any_size(f: &Func, is_local: impl Fn(u32) -> bool) -> bool {
    let local = |p: &super::ParamData| matches!(p.kind, ParamKind::Pointer(Space::Shared, _));
    if !f.is_kernel || f.required_size.is_some() || f.debug.is_some() || f.params.iter().any(local)
    {
        return false;
    }
    let sreg = |v: Val| match f.op(v) {
        Op::Sreg(s) => Some(*s),
        _ => None,
    };
    // `ctaid * ntid` and `nctaid * ntid` of one dimension: the dimension, and what is multiplied by the size.
    let factors = |a: Val, b: Val| match (sreg(a)?, sreg(b)?) {
        (Sreg::Ntid(d), other) | (other, Sreg::Ntid(d)) => match other {
            Sreg::Ctaid(e) | Sreg::Nctaid(e) if d == e => Some((d, other)),
            _ => None,
        },
        _ => None,
    };
    let product = |v: Val| match *f.op(v) {
        Op::Bin(BinOp::Mul, a, b) => factors(a, b),
        _ => None,
    };
    // The sum of a product of places and of the place in the group.
    let is_place = |of: Option<(u8, Sreg)>, rest: Val| match (of, sreg(rest)) {
        (Some((d, Sreg::Ctaid(_))), Some(Sreg::Tid(e))) => d == e,
        _ => false,
    };
    let of_group = |v: Val| match sreg(v) {
        Some(Sreg::Tid(_) | Sreg::Ntid(_) | Sreg::Ctaid(_) | Sreg::Nctaid(_)) => true,
        Some(Sreg::EnvReg(_) | Sreg::Lane) => false,
        None => matches!(product(v), Some((_, Sreg::Ctaid(_)))),
    };
    let mut any = true;
    let mut used = |v: Val, well: bool| any &= well || !of_group(v);
    // Blocks that nothing leads to keep what they had.
    for &b in &Graph::new(f).order {
        let block = f.block(b);
        for &v in &block.insts {
            let op = f.op(v);
            let groups = match *op {
                Op::Barrier | Op::Warp(..) | Op::Call(..) | Op::Asm(..) => true,
                Op::Sreg(Sreg::Lane) => true,
                Op::GlobalAddr(g) => is_local(g),
                _ => false,
            };
            if groups {
                return false;
            }
            match *op {
                Op::Bin(BinOp::Mul, a, b) if factors(a, b).is_some() => {
                    used(a, true);
                    used(b, true);
                }
                Op::Bin(BinOp::Add, a, b) if is_place(product(a), b) || is_place(product(b), a) => {
                    used(a, true);
                    used(b, true);
                }
                Op::Tern(TernOp::Mad, a, b, rest) if factors(a, b).is_some() => {
                    let own = factors(a, b);
                    let size = matches!(own, Some((_, Sreg::Nctaid(_))));
                    let place = is_place(own, rest);
                    used(a, size || place);
                    used(b, size || place);
                    used(rest, place);
                }
                _ => op.for_each_operand(|operand| used(operand, false)),
            }
        }
        if let Term::Branch(condition, ..) = block.term {
            used(condition, false);
        }
        for edge in block.term.edges() {
            for arg in &edge.args {
                used(*arg, false);
            }
        }
    }
    any
}
