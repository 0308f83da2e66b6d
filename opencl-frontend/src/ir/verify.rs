//! Structural checks of the IR, run by tests and in debug builds after each pass.

use super::func::{Func, Term};
use super::graph::Graph;
use super::op::{BinOp, BlockId, Op, Ty, Val};

/// The first broken rule, if any.
pub fn verify(f: &Func) -> Result<(), String> {
    let graph = Graph::new(f);
    let mut home: Vec<Option<(BlockId, usize)>> = vec![None; f.values.len()];
    for &b in &graph.order {
        let block = f.block(b);
        for &p in &block.params {
            if home[p.0 as usize].replace((b, 0)).is_some() {
                return Err(format!("v{} is defined twice", p.0));
            }
        }
        for (i, &v) in block.insts.iter().enumerate() {
            if home[v.0 as usize].replace((b, i + 1)).is_some() {
                return Err(format!("v{} is defined twice", v.0));
            }
        }
    }
    let tree = intervals(f, &graph);
    let check = |v: Val, b: BlockId, at: usize| -> Result<(), String> {
        if matches!(f.op(v), Op::Const(_) | Op::Undef) {
            return Ok(());
        }
        let Some((db, di)) = home[v.0 as usize] else {
            return Err(format!("v{} is used in b{} but defined nowhere", v.0, b.0));
        };
        let (outer, inner) = (tree[db.0 as usize], tree[b.0 as usize]);
        let before = if db == b { di < at } else { outer.0 <= inner.0 && inner.1 <= outer.1 };
        if before {
            Ok(())
        } else {
            Err(format!("v{} in b{} does not dominate its use in b{}", v.0, db.0, b.0))
        }
    };
    for &b in &graph.order {
        let block = f.block(b);
        for (i, &v) in block.insts.iter().enumerate() {
            let mut result = Ok(());
            f.op(v).for_each_operand(|o| {
                if result.is_ok() {
                    result = check(o, b, i + 1);
                }
            });
            result?;
            types(f, v)?;
        }
        if let Term::Branch(c, ..) = block.term {
            check(c, b, usize::MAX)?;
            if f.ty(c) != Ty::Pred {
                return Err(format!("branch in b{} on a value that is no predicate", b.0));
            }
        }
        if matches!(block.term, Term::Open) {
            return Err(format!("b{} has no end", b.0));
        }
        for edge in block.term.edges() {
            let target = f.block(edge.block);
            if target.params.len() != edge.args.len() {
                return Err(format!(
                    "b{} passes {} values to b{}",
                    b.0,
                    edge.args.len(),
                    edge.block.0
                ));
            }
            for (p, a) in target.params.iter().zip(&edge.args) {
                check(*a, b, usize::MAX)?;
                if f.ty(*p) != f.ty(*a) {
                    return Err(format!("v{} passed for v{} has another type", a.0, p.0));
                }
            }
        }
    }
    Ok(())
}

/// When a walk over the dominator tree enters and leaves each block: a block dominates those within its interval.
fn intervals(f: &Func, graph: &Graph) -> Vec<(usize, usize)> {
    let mut intervals = vec![(0, 0); f.blocks.len()];
    for (at, (b, end)) in graph.walk().enumerate() {
        intervals[b.0 as usize] = (at, end);
    }
    intervals
}

fn types(f: &Func, v: Val) -> Result<(), String> {
    let ty = f.ty(v);
    let same = |a: Val, b: Val| f.ty(a) == f.ty(b);
    let good = match f.op(v) {
        Op::Bin(BinOp::Shl | BinOp::LShr | BinOp::AShr, a, b) => {
            f.ty(*a) == ty && f.ty(*b) == Ty::I32
        }
        Op::Bin(BinOp::SMulWide | BinOp::UMulWide, a, b) => {
            ty == Ty::I64 && f.ty(*a) == Ty::I32 && f.ty(*b) == Ty::I32
        }
        Op::Bin(_, a, b) => same(*a, *b) && f.ty(*a) == ty,
        Op::Cmp(_, a, b) => same(*a, *b) && ty == Ty::Pred,
        Op::Select(c, a, b) => f.ty(*c) == Ty::Pred && same(*a, *b) && f.ty(*a) == ty,
        Op::Load(m, a) => f.ty(*a) == Ty::I64 && m.ty.ty() == ty,
        Op::Store(m, a, x) => f.ty(*a) == Ty::I64 && m.ty.ty() == f.ty(*x),
        _ => true,
    };
    if good {
        Ok(())
    } else {
        Err(format!("operands of v{} = {:?} have the wrong types", v.0, f.op(v)))
    }
}
