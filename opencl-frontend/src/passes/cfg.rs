//! Cleaning the control-flow graph: constant branches, empty blocks, straight lines, useless parameters.

use super::replace::Replacements;
use crate::ir::graph::Graph;
use crate::ir::{BasicBlock, BlockId, Edge, Func, Term, Val};

/// Cleans until nothing changes; true if anything did.
pub fn run(f: &mut Func) -> bool {
    let mut any = false;
    loop {
        any |= fold_branches(f);
        let mut graph = Graph::new(f);
        any |= clear_unreachable(f, &graph);
        let mut changed = skip_empty(f);
        if changed {
            graph = Graph::new(f);
        }
        if merge_lines(f, &graph) {
            changed = true;
            graph = Graph::new(f);
        }
        changed |= remove_trivial_params_in(f, &graph);
        if !changed {
            return any;
        }
        any = true;
    }
}

fn fold_branches(f: &mut Func) -> bool {
    let mut changed = false;
    for b in 0..f.blocks.len() {
        if let Term::Branch(c, yes, no) = &f.blocks[b].term {
            let taken = match f.as_const(*c) {
                Some(0) => Some(no.clone()),
                Some(_) => Some(yes.clone()),
                None if yes == no => Some(yes.clone()),
                None => None,
            };
            if let Some(edge) = taken {
                f.blocks[b].term = Term::Jump(edge);
                changed = true;
            }
        }
    }
    changed
}

/// Empties blocks that cannot be reached.
fn clear_unreachable(f: &mut Func, graph: &Graph) -> bool {
    let mut changed = false;
    for b in 0..f.blocks.len() {
        if !graph.reachable(BlockId(b as u32)) {
            let block = &mut f.blocks[b];
            let empty = block.params.is_empty() && block.insts.is_empty();
            changed |= !(empty && matches!(block.term, Term::Open));
            block.params.clear();
            block.insts.clear();
            block.term = Term::Open;
        }
    }
    changed
}

/// Redirects edges into blocks that only jump on.
fn skip_empty(f: &mut Func) -> bool {
    let forward: Vec<Option<Edge>> = (0..f.blocks.len())
        .map(|b| {
            let block = &f.blocks[b];
            match &block.term {
                Term::Jump(e)
                    if block.insts.is_empty()
                        && block.params.is_empty()
                        && e.block.0 as usize != b
                        && b != 0 =>
                {
                    Some(e.clone())
                }
                _ => None,
            }
        })
        .collect();
    if forward.iter().all(Option::is_none) {
        return false;
    }
    let mut changed = false;
    for b in 0..f.blocks.len() {
        let mut term = std::mem::replace(&mut f.blocks[b].term, Term::Open);
        for edge in term.edges_mut() {
            let mut hops = 0;
            while let Some(next) = &forward[edge.block.0 as usize] {
                if hops > f.blocks.len() {
                    break;
                }
                hops += 1;
                *edge = next.clone();
                changed = true;
            }
        }
        f.blocks[b].term = term;
    }
    changed
}

/// Joins a block with its only successor if that has no other predecessor.
fn merge_lines(f: &mut Func, graph: &Graph) -> bool {
    let mut replaced = Replacements::default();
    let mut changed = false;
    let mut gone = vec![false; f.blocks.len()];
    for &b in &graph.order {
        if gone[b.0 as usize] {
            continue;
        }
        while let Term::Jump(edge) = &f.block(b).term {
            let target = edge.block;
            if target == b
                || target.0 == 0
                || graph.preds[target.0 as usize].len() != 1
                || gone[target.0 as usize]
            {
                break;
            }
            let next = std::mem::replace(
                f.block_mut(target),
                BasicBlock {
                    params: Vec::new(),
                    insts: Vec::new(),
                    term: Term::Open,
                    unroll: None,
                },
            );
            let block = f.block_mut(b);
            let Term::Jump(edge) = std::mem::replace(&mut block.term, next.term) else { break };
            for (p, a) in next.params.iter().zip(&edge.args) {
                let a = replaced.get(*a);
                replaced.set(*p, a);
            }
            block.insts.extend(next.insts);
            block.unroll = block.unroll.or(next.unroll);
            gone[target.0 as usize] = true;
            changed = true;
        }
    }
    if changed {
        replaced.apply(f);
    }
    changed
}

/// Removes parameters that receive one value from everywhere.
pub fn remove_trivial_params(f: &mut Func) {
    let graph = Graph::new(f);
    remove_trivial_params_in(f, &graph);
}

fn remove_trivial_params_in(f: &mut Func, graph: &Graph) -> bool {
    let mut replaced = Replacements::default();
    let mut any = false;
    loop {
        let mut changed = false;
        for &b in graph.order.iter().skip(1) {
            let mut i = 0;
            while i < f.block(b).params.len() {
                let p = f.block(b).params[i];
                let mut only: Option<Val> = None;
                let mut several = false;
                for pred in &graph.preds[b.0 as usize] {
                    for edge in f.block(*pred).term.edges() {
                        if edge.block != b {
                            continue;
                        }
                        let arg = replaced.get(edge.args[i]);
                        if arg == p || only == Some(arg) {
                            continue;
                        }
                        several |= only.is_some();
                        only = Some(arg);
                    }
                }
                let Some(value) = only.filter(|_| !several) else {
                    i += 1;
                    continue;
                };
                replaced.set(p, value);
                f.block_mut(b).params.remove(i);
                let mut preds = graph.preds[b.0 as usize].clone();
                preds.sort_unstable();
                preds.dedup();
                for pred in preds {
                    for edge in f.block_mut(pred).term.edges_mut() {
                        if edge.block == b {
                            edge.args.remove(i);
                        }
                    }
                }
                changed = true;
            }
        }
        any |= changed;
        if !changed {
            break;
        }
    }
    if any {
        replaced.apply(f);
    }
    any
}
