//! The same computation in several branches moves up to where all of them come from.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::known::Known;
use crate::ir::graph::Graph;
use crate::ir::{BlockId, Func, Op, Val};

/// Where an operation is computed: block and value.
type Places = SmallVec<[(BlockId, Val); 4]>;

/// Moves what is computed at least twice; true if anything moved. Value numbering then merges the copies.
pub fn run(f: &mut Func) -> bool {
    let graph = Graph::new(f);
    let mut depth = vec![0u32; f.blocks.len()];
    for l in graph.loops() {
        for b in &l.blocks {
            depth[b.0 as usize] += 1;
        }
    }
    let placed = graph.order.iter().map(|b| f.block(*b).insts.len()).sum();
    let mut known = Known::new(placed);
    // By value that is the first of its operation: its block.
    let mut home = vec![BlockId(0); f.values.len()];
    // Operations that are there twice, by their first values, in the order in which that was found.
    let mut numbers: FxHashMap<Val, usize> = FxHashMap::default();
    let mut all: Vec<Places> = Vec::new();
    for &b in &graph.order {
        for &v in &f.block(b).insts {
            let op = f.op(v);
            if !op.is_pure() || matches!(op, Op::Param(_) | Op::ParamAddr(_)) {
                continue;
            }
            let Some(first) = known.find_or_add(f, v) else {
                home[v.0 as usize] = b;
                continue;
            };
            let number = *numbers.entry(first).or_insert_with(|| {
                all.push(Places::from_slice(&[(home[first.0 as usize], first)]));
                all.len() - 1
            });
            all[number].push((b, v));
        }
    }
    let mut moved = false;
    for list in all {
        let Some(&(first, kept)) = list.first() else { continue };
        let target = list.iter().fold(first, |to, &(b, _)| graph.common_dominator(to, b));
        let shallow = list.iter().map(|&(b, _)| depth[b.0 as usize]).min().unwrap_or(0);
        if list.iter().any(|&(b, _)| b == target) || depth[target.0 as usize] > shallow {
            continue;
        }
        f.block_mut(first).insts.retain(|v| *v != kept);
        f.block_mut(target).insts.push(kept);
        moved = true;
    }
    moved
}
