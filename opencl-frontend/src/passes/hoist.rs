//! The same computation in several branches moves up to where all of them come from.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::ir::graph::Graph;
use crate::ir::{BlockId, Func, Op, Ty, Val};

/// Where an operation is computed: block and value.
type Places = SmallVec<[(BlockId, Val); 2]>;

/// Moves what is computed at least twice; true if anything moved. Value numbering then merges the copies.
pub fn run(f: &mut Func) -> bool {
    let graph = Graph::new(f);
    let mut depth = vec![0u32; f.blocks.len()];
    for l in graph.loops() {
        for b in &l.blocks {
            depth[b.0 as usize] += 1;
        }
    }
    let mut places: FxHashMap<(Op, Ty), Places> = FxHashMap::default();
    let mut keys: Vec<(Op, Ty)> = Vec::new();
    for &b in &graph.order {
        for &v in &f.block(b).insts {
            let op = f.op(v);
            if op.is_pure() && !matches!(op, Op::Param(_) | Op::ParamAddr(_)) {
                let key = (*op, f.ty(v));
                let list = places.entry(key).or_default();
                if list.len() == 1 {
                    keys.push(key);
                }
                list.push((b, v));
            }
        }
    }
    let mut moved = false;
    for key in keys {
        let list = &places[&key];
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
