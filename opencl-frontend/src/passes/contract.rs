//! Fusing a multiplication and an addition (FP_CONTRACT, -cl-mad-enable), and integer multiply-add.

use crate::ir::graph::Graph;
use crate::ir::{BinOp, CONTRACT, Func, Op, TernOp, Ty, UnOp, Val};

/// Fuses where both operations allow it and the product has no other use; true if anything changed. Locations of
/// sums and products that were fused are appended to `pairs`.
pub fn run(f: &mut Func, fused: bool, pairs: &mut Vec<(u32, u32)>) -> bool {
    let graph = Graph::new(f);
    let mut uses = vec![0u32; f.values.len()];
    for &b in &graph.order {
        let block = f.block(b);
        for &v in &block.insts {
            f.op(v).for_each_operand(|o| uses[o.0 as usize] += 1);
        }
        for edge in block.term.edges() {
            for a in &edge.args {
                uses[a.0 as usize] += 1;
            }
        }
    }
    let mut changed = false;
    for &b in &graph.order {
        let insts = std::mem::take(&mut f.block_mut(b).insts);
        let mut out = Vec::with_capacity(insts.len());
        for &v in &insts {
            if let Some((op, negated)) = fuse(f, &uses, v, fused) {
                changed = true;
                note(f, v, &op, pairs);
                if let Some(operand) = negated {
                    let ty = f.ty(operand);
                    let n =
                        f.new_value(Op::Un(UnOp::FNeg, operand), ty, 0, f.values[v.0 as usize].loc);
                    out.push(n);
                    let Op::Tern(t, x, y, z) = op else { continue };
                    let swap = |o: Val| if o == operand { n } else { o };
                    // Exactly one operand is negated: the addend, or one factor.
                    let new = if z == operand {
                        Op::Tern(t, x, y, n)
                    } else {
                        Op::Tern(t, swap(x), y, z)
                    };
                    f.values[v.0 as usize].op = new;
                } else {
                    f.values[v.0 as usize].op = op;
                }
            }
            out.push(v);
        }
        f.block_mut(b).insts = out;
    }
    changed
}

/// Notes which product a sum is fused with: the operand that the fused operation lacks.
fn note(f: &Func, sum: Val, fused: &Op, pairs: &mut Vec<(u32, u32)>) {
    let (Op::Bin(_, x, y), Op::Tern(TernOp::Fma, _, _, addend)) = (*f.op(sum), *fused) else {
        return;
    };
    let product = if addend == y { x } else { y };
    let loc = |v: Val| f.values[v.0 as usize].loc;
    pairs.push((loc(sum), loc(product)));
}

/// The fused form of `v`, and the operand to negate first.
fn fuse(f: &Func, uses: &[u32], v: Val, fused: bool) -> Option<(Op, Option<Val>)> {
    let data = &f.values[v.0 as usize];
    let product = |x: Val| -> Option<(Val, Val)> {
        let p = &f.values[x.0 as usize];
        match p.op {
            Op::Bin(BinOp::FMul, a, b) if uses[x.0 as usize] == 1 && p.flags & CONTRACT != 0 => {
                Some((a, b))
            }
            _ => None,
        }
    };
    let integer = |x: Val| -> Option<(TernOp, Val, Val)> {
        match *f.op(x) {
            _ if uses[x.0 as usize] != 1 => None,
            Op::Bin(BinOp::Mul, a, b) if f.ty(x) == Ty::I32 => Some((TernOp::Mad, a, b)),
            Op::Bin(BinOp::SMul24, a, b) => Some((TernOp::SMad24, a, b)),
            Op::Bin(BinOp::UMul24, a, b) => Some((TernOp::UMad24, a, b)),
            _ => None,
        }
    };
    let float = data.flags & CONTRACT != 0
        && data.ty != Ty::F16
        && (fused || data.ty == Ty::F32 || data.ty == Ty::F64);
    match data.op {
        Op::Bin(BinOp::FAdd, x, y) if float => {
            if let Some((a, b)) = product(x) {
                return Some((Op::Tern(TernOp::Fma, a, b, y), None));
            }
            product(y).map(|(a, b)| (Op::Tern(TernOp::Fma, a, b, x), None))
        }
        Op::Bin(BinOp::FSub, x, y) if float => {
            if let Some((a, b)) = product(x) {
                // a*b - y: negate y, unless it is a factor too.
                return (y != a && y != b).then_some((Op::Tern(TernOp::Fma, a, b, y), Some(y)));
            }
            let (a, b) = product(y)?;
            (a != x).then_some((Op::Tern(TernOp::Fma, a, b, x), Some(a)))
        }
        Op::Bin(BinOp::Add, x, y) => {
            let (t, a, b, c) = match (integer(x), integer(y)) {
                (Some((t, a, b)), _) => (t, a, b, y),
                (None, Some((t, a, b))) => (t, a, b, x),
                _ => return None,
            };
            Some((Op::Tern(t, a, b, c), None))
        }
        _ => None,
    }
}
