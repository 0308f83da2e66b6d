//! Signs: values that are never negative, found over loops too, and what that makes simpler.

use super::replace::Replacements;
use crate::ir::graph::Graph;
use crate::ir::{BinOp, Cmp, Func, MemTy, NO_WRAP, Op, Ty, UnOp, Val};

/// Replaces signs and comparisons that are known; true if there were any.
pub fn run(f: &mut Func) -> bool {
    let graph = Graph::new(f);
    let at_least_zero = never_negative(f, &graph);
    let nn = |v: Val| at_least_zero[v.0 as usize];
    let mut replaced = Replacements::default();
    let mut any = false;
    for &b in &graph.order {
        for v in f.block(b).insts.clone() {
            let ty = f.ty(v);
            let known = match *f.op(v) {
                Op::Bin(BinOp::AShr, x, c)
                    if nn(x) && f.as_const(c).is_some_and(|c| c >= u64::from(ty.bits()) - 1) =>
                {
                    Some(0)
                }
                Op::Cmp(c @ (Cmp::SGe | Cmp::SLt), x, k) if f.as_const(k) == Some(0) && nn(x) => {
                    Some(u64::from(c == Cmp::SGe))
                }
                _ => None,
            };
            if let Some(bits) = known {
                let constant = f.constant(ty, bits);
                replaced.set(v, constant);
                any = true;
            }
        }
    }
    if any {
        replaced.apply(f);
    }
    any
}

/// Assumes the best of every value and takes back what does not follow, until nothing changes.
fn never_negative(f: &Func, graph: &Graph) -> Vec<bool> {
    let mut out: Vec<bool> = f
        .values
        .iter()
        .map(|d| match d.op {
            Op::Const(c) => c >> (d.ty.bits() - 1) & 1 == 0,
            // Any value may be chosen, but the choice is made elsewhere.
            Op::Undef => false,
            _ => matches!(d.ty, Ty::I32 | Ty::I64),
        })
        .collect();
    let entry_params = &f.block(crate::ir::BlockId(0)).params;
    for p in entry_params {
        out[p.0 as usize] = false;
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &b in &graph.order {
            let block = f.block(b);
            for &v in &block.insts {
                if out[v.0 as usize] && !follows(f, &out, v) {
                    out[v.0 as usize] = false;
                    changed = true;
                }
            }
            for edge in block.term.edges() {
                for (p, a) in f.block(edge.block).params.iter().zip(&edge.args) {
                    if out[p.0 as usize] && !out[a.0 as usize] {
                        out[p.0 as usize] = false;
                        changed = true;
                    }
                }
            }
        }
    }
    out
}

fn follows(f: &Func, nn: &[bool], v: Val) -> bool {
    use BinOp::*;
    let n = |v: Val| nn[v.0 as usize];
    let no_wrap = f.values[v.0 as usize].flags & NO_WRAP != 0;
    if f.known_below(v).is_some() {
        return true;
    }
    match *f.op(v) {
        Op::Load(m, _) => matches!(m.ty, MemTy::U8 | MemTy::U16),
        Op::Un(UnOp::ZExt64 | UnOp::ZExt8 | UnOp::ZExt16 | UnOp::Popc | UnOp::Clz, _) => true,
        Op::Un(UnOp::SExt64, x) => n(x),
        Op::Bin(And, x, y) => n(x) || n(y),
        Op::Bin(Or | Xor | SMulWide | SDiv | SMin, x, y) => n(x) && n(y),
        Op::Bin(SMax | UMin, x, y) => n(x) || n(y),
        Op::Bin(Add, x, y) | Op::Bin(Mul, x, y) => no_wrap && n(x) && n(y),
        Op::Bin(Shl, x, _) => no_wrap && n(x),
        Op::Bin(LShr, x, c) => n(x) || f.as_const(c).is_some_and(|c| c > 0),
        Op::Bin(AShr | UDiv | SRem, x, _) => n(x),
        Op::Bin(URem, x, y) => n(x) || n(y),
        Op::Select(_, x, y) => n(x) && n(y),
        _ => false,
    }
}
