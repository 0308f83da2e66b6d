//! Dead code: instructions and block parameters that nothing needs.

use crate::ir::graph::Graph;
use crate::ir::{Block, Func, Op, Term, Val};

/// Removes dead values and stores to variables that are never read.
pub fn run(f: &mut Func) {
    remove_dead_slots(f);
    let graph = Graph::new(f);
    let mut live = vec![false; f.values.len()];
    let mut work: Vec<Val> = Vec::new();
    let mut home: Vec<Option<(Block, usize)>> = vec![None; f.values.len()];
    for &b in &graph.order {
        let block = f.block(b);
        for (i, &p) in block.params.iter().enumerate() {
            home[p.0 as usize] = Some((b, i));
        }
        work.extend(block.insts.iter().copied().filter(|v| f.op(*v).has_effect()));
        if let Term::Branch(c, ..) = block.term {
            work.push(c);
        }
    }
    while let Some(v) = work.pop() {
        if std::mem::replace(&mut live[v.0 as usize], true) {
            continue;
        }
        f.op(v).for_each_operand(|o| work.push(o));
        if let Some((b, i)) = home[v.0 as usize] {
            for pred in &graph.preds[b.0 as usize] {
                for edge in f.block(*pred).term.edges() {
                    if edge.block == b
                        && let Some(arg) = edge.args.get(i)
                    {
                        work.push(*arg);
                    }
                }
            }
        }
    }
    for &b in &graph.order {
        f.block_mut(b).insts.retain(|v| live[v.0 as usize]);
        for edge in f.block_mut(b).term.clone().edges() {
            let keep: Vec<bool> =
                f.block(edge.block).params.iter().map(|p| live[p.0 as usize]).collect();
            for e in f.block_mut(b).term.edges_mut() {
                if e.block == edge.block && e.args.len() == keep.len() {
                    let mut i = 0;
                    e.args.retain(|_| {
                        i += 1;
                        keep[i - 1]
                    });
                }
            }
        }
    }
    for &b in &graph.order {
        f.block_mut(b).params.retain(|p| live[p.0 as usize]);
    }
}

/// Stores to variables whose address serves nothing but stores.
fn remove_dead_slots(f: &mut Func) {
    let mut needed = vec![false; f.slots.len()];
    let mut root: Vec<Option<u32>> = vec![None; f.values.len()];
    let graph = Graph::new(f);
    let all: Vec<Val> = graph.order.iter().flat_map(|b| f.block(*b).insts.clone()).collect();
    for &v in &all {
        match *f.op(v) {
            Op::SlotAddr(s) => root[v.0 as usize] = Some(s.0),
            Op::Bin(_, a, b) => {
                let (x, y) = (root[a.0 as usize], root[b.0 as usize]);
                match (x, y) {
                    (Some(s), None) | (None, Some(s)) => root[v.0 as usize] = Some(s),
                    _ => {
                        for s in [x, y].into_iter().flatten() {
                            needed[s as usize] = true;
                        }
                    }
                }
            }
            _ => {}
        }
    }
    for &v in &all {
        let op = f.op(v);
        if matches!(op, Op::SlotAddr(_))
            || (matches!(op, Op::Bin(..)) && root[v.0 as usize].is_some())
        {
            continue;
        }
        let stored_to = match op {
            Op::Store(m, a, x) if !m.volatile && root[x.0 as usize].is_none() => Some(*a),
            _ => None,
        };
        op.for_each_operand(|o| {
            if Some(o) != stored_to
                && let Some(s) = root[o.0 as usize]
            {
                needed[s as usize] = true;
            }
        });
    }
    for &b in &graph.order {
        for edge in f.block(b).term.edges() {
            for arg in &edge.args {
                if let Some(s) = root[arg.0 as usize] {
                    needed[s as usize] = true;
                }
            }
        }
    }
    for &b in &graph.order {
        let mut insts = std::mem::take(&mut f.block_mut(b).insts);
        insts.retain(|v| match f.op(*v) {
            Op::Store(m, a, _) if !m.volatile => {
                root[a.0 as usize].is_none_or(|s| needed[s as usize])
            }
            _ => true,
        });
        f.block_mut(b).insts = insts;
    }
}
