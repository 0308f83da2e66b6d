//! If-conversion: short branches whose sides only compute become selections.
//!
//! The limits are those of the programming guide (section 3.1.2 on control flow instructions): 7 instructions
//! where the condition likely differs between threads, else 4.

use crate::ir::graph::Graph;
use crate::ir::{BlockId, Edge, Func, Op, Sreg, Term, Val, simplify};

const LIMIT_DIVERGENT: usize = 7;
const LIMIT_UNIFORM: usize = 4;

/// Converts all; true if there were any.
pub fn run(f: &mut Func) -> bool {
    let mut graph = Graph::new(f);
    if !graph.order.iter().any(|b| matches!(f.block(*b).term, Term::Branch(..))) {
        return false;
    }
    let mut changed = false;
    let divergent = divergent_values(f);
    // Inner branches first. What a conversion changes, the way into the join, matters to no later block:
    // only the converted block itself enters the join now, and it no longer branches.
    for i in (0..graph.order.len()).rev() {
        let b = graph.order[i];
        if let Some((sides, join)) = convert(f, &graph, &divergent, b) {
            let gone = |p| p == b || sides.contains(&Some(p));
            graph.preds.replace(join.0 as usize, gone, b);
            changed = true;
        }
    }
    changed
}

/// Values that likely differ between threads: they depend on the thread's number or on memory.
fn divergent_values(f: &Func) -> Vec<bool> {
    let mut out = vec![false; f.values.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for block in &f.blocks {
            for &v in &block.insts {
                if out[v.0 as usize] {
                    continue;
                }
                let mut d = matches!(
                    f.op(v),
                    Op::Sreg(Sreg::Tid(_) | Sreg::Lane)
                        | Op::Load(..)
                        | Op::LoadVec(..)
                        | Op::Atomic(..)
                        | Op::Warp(..)
                );
                f.op(v).for_each_operand(|o| d |= out[o.0 as usize]);
                if d {
                    out[v.0 as usize] = true;
                    changed = true;
                }
            }
            for edge in block.term.edges() {
                for (i, arg) in edge.args.iter().enumerate() {
                    if out[arg.0 as usize]
                        && let Some(p) = f.block(edge.block).params.get(i)
                        && !out[p.0 as usize]
                    {
                        out[p.0 as usize] = true;
                        changed = true;
                    }
                }
            }
        }
    }
    out
}

/// The side's edge to the join, if the side is a block that only `b` enters and that only computes.
fn side(
    f: &Func,
    graph: &Graph,
    b: BlockId,
    edge: &Edge,
    limit: usize,
) -> Option<(Option<BlockId>, Edge)> {
    let block = f.block(edge.block);
    let private = graph.preds[edge.block.0 as usize] == [b] && block.params.is_empty();
    match &block.term {
        Term::Jump(out)
            if private
                && block.insts.len() <= limit
                && block.insts.iter().all(|v| f.op(*v).is_pure()) =>
        {
            Some((Some(edge.block), out.clone()))
        }
        _ => None,
    }
}

/// Converts the branch at the end of a block. Returns the sides that are gone and the join.
fn convert(
    f: &mut Func,
    graph: &Graph,
    divergent: &[bool],
    b: BlockId,
) -> Option<([Option<BlockId>; 2], BlockId)> {
    let Term::Branch(c, yes, no) = f.block(b).term.clone() else { return None };
    let limit = if divergent.get(c.0 as usize).copied().unwrap_or(true) {
        LIMIT_DIVERGENT
    } else {
        LIMIT_UNIFORM
    };
    let (a_side, b_side) = (side(f, graph, b, &yes, limit), side(f, graph, b, &no, limit));
    // Diamond, triangle on either side, or two plain edges to one join.
    let (first, second) = match (a_side, b_side) {
        (Some(x), Some(y)) if x.1.block == y.1.block => (x, y),
        (Some(x), _) if x.1.block == no.block => (x, (None, no.clone())),
        (_, Some(y)) if y.1.block == yes.block => ((None, yes.clone()), y),
        _ if yes.block == no.block => ((None, yes.clone()), (None, no.clone())),
        _ => return None,
    };
    let join = first.1.block;
    if join == b {
        return None;
    }
    let mut insts = std::mem::take(&mut f.block_mut(b).insts);
    let work: usize =
        [first.0, second.0].into_iter().flatten().map(|s| f.block(s).insts.len()).sum();
    let selects = first.1.args.iter().zip(&second.1.args).filter(|(x, y)| x != y).count();
    if work + selects > limit + 1 {
        f.block_mut(b).insts = insts;
        return None;
    }
    for s in [first.0, second.0].into_iter().flatten() {
        let moved = std::mem::take(&mut f.block_mut(s).insts);
        insts.extend(moved);
        f.block_mut(s).term = Term::Open;
    }
    let pairs: Vec<(Val, Val)> =
        first.1.args.iter().copied().zip(second.1.args.iter().copied()).collect();
    let args = pairs
        .into_iter()
        .map(|(x, y)| {
            let ty = f.ty(x);
            simplify::build(f, &mut insts, Op::Select(c, x, y), ty, 0, 0)
        })
        .collect();
    let block = f.block_mut(b);
    block.insts = insts;
    block.term = Term::Jump(Edge { block: join, args });
    Some(([first.0, second.0], join))
}
