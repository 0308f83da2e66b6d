//! Dead code: instructions and block parameters that nothing needs.

use crate::ir::graph::Graph;
use crate::ir::{Func, Op, Space, Term, Val};

/// Removes dead values and stores to variables that are never read; true if there were any.
pub fn run(f: &mut Func) -> bool {
    remove(f, false)
}

/// The same, but every access to memory stays, for those who look at what a program does.
pub fn run_without_loads(f: &mut Func) -> bool {
    remove(f, true)
}

fn remove(f: &mut Func, keep_loads: bool) -> bool {
    let graph = Graph::new(f);
    let mut changed = !f.privates.is_empty() && remove_dead_privates(f, &graph);
    let mut live = vec![false; f.values.len()];
    let mut work: Vec<Val> = Vec::new();
    // Where block parameters are: block and index.
    let mut home: Vec<(u32, u32)> = vec![(u32::MAX, 0); f.values.len()];
    for &b in &graph.order {
        let block = f.block(b);
        for (i, &p) in block.params.iter().enumerate() {
            home[p.0 as usize] = (b.0, i as u32);
        }
        let needed = |v: &Val| {
            let op = f.op(*v);
            op.has_effect() || keep_loads && matches!(op, Op::Load(m, _) if m.space != Space::Param)
        };
        work.extend(block.insts.iter().copied().filter(needed));
        if let Term::Branch(c, ..) = block.term {
            work.push(c);
        }
    }
    while let Some(v) = work.pop() {
        if std::mem::replace(&mut live[v.0 as usize], true) {
            continue;
        }
        f.op(v).for_each_operand(|o| work.push(o));
        let (b, i) = home[v.0 as usize];
        if b != u32::MAX {
            for pred in &graph.preds[b as usize] {
                for edge in f.block(*pred).term.edges() {
                    if edge.block.0 == b
                        && let Some(arg) = edge.args.get(i as usize)
                    {
                        work.push(*arg);
                    }
                }
            }
        }
    }
    let mut keep = |v: Val| {
        changed |= !live[v.0 as usize];
        live[v.0 as usize]
    };
    for &b in &graph.order {
        f.block_mut(b).insts.retain(|v| keep(*v));
        let mut term = std::mem::replace(&mut f.block_mut(b).term, Term::Open);
        for edge in term.edges_mut() {
            let mut params = f.block(edge.block).params.iter();
            edge.args.retain(|_| params.next().is_none_or(|p| live[p.0 as usize]));
        }
        f.block_mut(b).term = term;
    }
    for &b in &graph.order {
        f.block_mut(b).params.retain(|p| keep(*p));
    }
    changed
}

/// Stores to variables whose address serves nothing but stores.
fn remove_dead_privates(f: &mut Func, graph: &Graph) -> bool {
    let mut needed: Vec<bool> = f.privates.iter().map(|p| p.pinned).collect();
    let mut root: Vec<Option<u32>> = vec![None; f.values.len()];
    let all: Vec<Val> =
        graph.order.iter().flat_map(|b| f.block(*b).insts.iter().copied()).collect();
    if !all.iter().any(|v| matches!(f.op(*v), Op::PrivateAddr(_))) {
        return false;
    }
    for &v in &all {
        match *f.op(v) {
            Op::PrivateAddr(s) => root[v.0 as usize] = Some(s.0),
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
        if matches!(op, Op::PrivateAddr(_))
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
    let mut changed = false;
    for &b in &graph.order {
        let mut insts = std::mem::take(&mut f.block_mut(b).insts);
        insts.retain(|v| match f.op(*v) {
            Op::Store(m, a, _) if !m.volatile => {
                let keep = root[a.0 as usize].is_none_or(|s| needed[s as usize]);
                changed |= !keep;
                keep
            }
            _ => true,
        });
        f.block_mut(b).insts = insts;
    }
    changed
}
