//! Loop-invariant code motion: what a loop computes anew each turn with the same result moves before it.

use super::gvn::may_alias;
use crate::ir::graph::{Graph, Loop};
use crate::ir::{BlockId, Edge, Func, Mem, Op, Space, Term, Val};

/// Hoists from all loops, inner ones first; true if anything changed.
pub fn run(f: &mut Func) -> bool {
    let mut changed = insert_preheaders(f);
    let graph = Graph::new(f);
    for l in graph.loops() {
        changed |= hoist(f, &graph, &l);
    }
    changed
}

/// Gives each loop a block of its own that enters it; true if one had none.
pub(super) fn insert_preheaders(f: &mut Func) -> bool {
    let graph = Graph::new(f);
    let mut inserted = false;
    for l in graph.loops() {
        let outside: Vec<BlockId> = graph.preds[l.header.0 as usize]
            .iter()
            .copied()
            .filter(|p| !l.latches.contains(p))
            .collect();
        if let [one] = outside.as_slice()
            && matches!(f.block(*one).term, Term::Jump(_))
        {
            continue;
        }
        inserted = true;
        let pre = f.new_block();
        let types: Vec<_> = f.block(l.header).params.iter().map(|p| f.ty(*p)).collect();
        let args = types.into_iter().map(|t| f.add_param(pre, t)).collect();
        f.block_mut(pre).term = Term::Jump(Edge { block: l.header, args });
        let mut outside = outside;
        outside.sort_unstable();
        outside.dedup();
        for p in outside {
            for edge in f.block_mut(p).term.edges_mut() {
                if edge.block == l.header {
                    edge.block = pre;
                }
            }
        }
    }
    // What all ways into the loop bring along is known in it.
    if inserted {
        super::cfg::remove_trivial_params(f);
    }
    inserted
}

fn hoist(f: &mut Func, graph: &Graph, l: &Loop) -> bool {
    let outside = |p: &&BlockId| !l.latches.contains(p);
    let Some(&pre) = graph.preds[l.header.0 as usize].iter().find(outside) else { return false };
    let mut moved = false;
    let mut inside = vec![false; f.values.len()];
    let mut stores: Vec<(Mem, Val)> = Vec::new();
    let (mut synchronizes, mut calls) = (false, false);
    for &b in &l.blocks {
        for &v in f.block(b).params.iter().chain(&f.block(b).insts) {
            inside[v.0 as usize] = true;
            match f.op(v) {
                Op::Store(m, a, _) | Op::StoreVec(m, a, _) | Op::Atomic(_, m, a, ..) => {
                    stores.push((*m, *a));
                }
                Op::Barrier | Op::Fence(_) | Op::Warp(..) => synchronizes = true,
                // They write what they have a pointer to, private memory too.
                Op::Asm(..) | Op::Call(..) => calls = true,
                _ => {}
            }
        }
    }
    for &b in &l.blocks {
        // Run in every turn: the block stands before every way back and out.
        let always = b == l.header;
        let insts = std::mem::take(&mut f.block_mut(b).insts);
        let mut kept = Vec::with_capacity(insts.len());
        for v in insts {
            let op = f.op(v);
            let mut invariant = true;
            op.for_each_operand(|o| invariant &= !inside[o.0 as usize]);
            let movable = match op {
                Op::Load(m, a) => {
                    let constant = m.space.is_constant();
                    let shared = matches!(m.space, Space::Global | Space::Shared | Space::Generic);
                    always
                        && !m.volatile
                        && (constant || !(calls || shared && synchronizes))
                        && !stores.iter().any(|(sm, sa)| may_alias(f, (m, *a), (sm, *sa)))
                }
                // Cheap where it is used, and a register less over the loop.
                Op::GlobalAddr(_) | Op::PrivateAddr(_) => true,
                op => op.is_pure(),
            };
            if invariant && movable {
                inside[v.0 as usize] = false;
                moved = true;
                f.block_mut(pre).insts.push(v);
            } else {
                kept.push(v);
            }
        }
        f.block_mut(b).insts = kept;
    }
    moved
}
