//! Unrolling: loops with a known, small number of turns become straight code; others that the programmer
//! marks are left alone unless their number of turns is known.

use rustc_hash::FxHashMap;

use crate::ir::fold::{eval_bin, eval_cmp};
use crate::ir::graph::{Graph, Loop};
use crate::ir::{BlockId, Edge, Func, Op, Term, Val};

/// Instructions that unrolling may make of a loop by itself, and when asked to.
const SIZE: usize = 400;
const SIZE_ASKED: usize = 8000;
/// Turns that are counted at most.
const TURNS: usize = 1024;

/// Unrolls what can be unrolled, where loops have preheaders; true if anything changed.
pub fn run(f: &mut Func) -> bool {
    let graph = Graph::new(f);
    let mut touched = vec![false; f.blocks.len()];
    let mut changed = false;
    // Innermost first; a loop around an unrolled one waits for the next round.
    for l in graph.loops() {
        if l.blocks.iter().any(|b| touched[b.0 as usize]) {
            continue;
        }
        if let Some(turns) = count_turns(f, &graph, &l)
            && wanted(f, &l, turns)
            && closed(f, &graph, &l)
        {
            unroll(f, &graph, &l, turns);
            for b in &l.blocks {
                touched[b.0 as usize] = true;
            }
            changed = true;
        }
    }
    changed
}

fn wanted(f: &Func, l: &Loop, turns: usize) -> bool {
    let size: usize = l.blocks.iter().map(|b| f.block(*b).insts.len() + 1).sum();
    match f.block(l.header).unroll {
        Some(1) => false,
        Some(0) => size * turns <= SIZE_ASKED,
        Some(n) => size * turns <= SIZE_ASKED && (n as usize >= turns || size * turns <= SIZE),
        None => size * turns <= SIZE,
    }
}

/// The number of turns, if the loop ends only by a test at its single latch that constants decide.
fn count_turns(f: &Func, graph: &Graph, l: &Loop) -> Option<usize> {
    let [latch] = l.latches.as_slice() else { return None };
    let Term::Branch(c, yes, no) = &f.block(*latch).term else { return None };
    let (back, stays_if) = if yes.block == l.header && no.block != l.header {
        (yes, true)
    } else if no.block == l.header && yes.block != l.header {
        (no, false)
    } else {
        return None;
    };
    let Op::Cmp(cmp, x, y) = *f.op(*c) else { return None };
    let pre = graph.preds[l.header.0 as usize].iter().find(|p| **p != *latch)?;
    let Term::Jump(enter) = &f.block(*pre).term else { return None };
    // The values that decide, as functions of the header's parameters.
    let params = &f.block(l.header).params;
    let mut state: FxHashMap<Val, u64> = FxHashMap::default();
    for (p, a) in params.iter().zip(&enter.args) {
        if let Some(v) = f.as_const(*a) {
            state.insert(*p, v);
        }
    }
    for turn in 1..=TURNS {
        let (a, b) = (evaluate(f, &state, x, 0)?, evaluate(f, &state, y, 0)?);
        if eval_cmp(cmp, f.ty(x), a, b)? != stays_if {
            return Some(turn);
        }
        let mut next = FxHashMap::default();
        for (p, a) in params.iter().zip(&back.args) {
            if state.contains_key(p)
                && let Some(v) = evaluate(f, &state, *a, 0)
            {
                next.insert(*p, v);
            }
        }
        state = next;
    }
    None
}

fn evaluate(f: &Func, state: &FxHashMap<Val, u64>, v: Val, depth: u32) -> Option<u64> {
    if let Some(known) = state.get(&v) {
        return Some(*known);
    }
    match *f.op(v) {
        Op::Const(bits) => Some(bits),
        Op::Bin(op, a, b) if depth < 8 => {
            let (x, y) = (evaluate(f, state, a, depth + 1)?, evaluate(f, state, b, depth + 1)?);
            eval_bin(op, f.ty(a), x, y)
        }
        _ => None,
    }
}

/// No value of the loop is used outside but through the parameters of blocks after it, or from the latch.
fn closed(f: &Func, graph: &Graph, l: &Loop) -> bool {
    let latch = l.latches[0];
    let single_exit = l.blocks.iter().all(|b| {
        *b == latch || f.block(*b).term.edges().iter().all(|e| l.blocks.contains(&e.block))
    });
    if single_exit {
        return true;
    }
    let mut inside = vec![false; f.values.len()];
    for &b in &l.blocks {
        for v in f.block(b).params.iter().chain(&f.block(b).insts) {
            inside[v.0 as usize] = true;
        }
    }
    graph.order.iter().filter(|b| !l.blocks.contains(b)).all(|b| {
        let block = f.block(*b);
        let mut clean = true;
        for &v in &block.insts {
            f.op(v).for_each_operand(|o| clean &= !inside[o.0 as usize]);
        }
        if let Term::Branch(c, ..) = block.term {
            clean &= !inside[c.0 as usize];
        }
        clean && block.term.edges().iter().all(|e| e.args.iter().all(|a| !inside[a.0 as usize]))
    })
}

/// Copies the body `turns - 1` times; the original is the last turn, so that uses behind it stay right.
fn unroll(f: &mut Func, graph: &Graph, l: &Loop, turns: usize) {
    let latch = l.latches[0];
    let Some(&pre) = graph.preds[l.header.0 as usize].iter().find(|p| **p != latch) else { return };
    let Term::Jump(enter) = f.block(pre).term.clone() else { return };
    let (back, exit) = match f.block(latch).term.clone() {
        Term::Branch(_, yes, no) if yes.block == l.header => (yes, no),
        Term::Branch(_, yes, no) => (no, yes),
        _ => return,
    };
    let params = f.block(l.header).params.clone();
    let mut from = pre;
    let mut incoming = enter.args.clone();
    for _ in 1..turns {
        let mut map: FxHashMap<Val, Val> =
            params.iter().copied().zip(incoming.iter().copied()).collect();
        let blocks: FxHashMap<BlockId, BlockId> =
            l.blocks.iter().map(|b| (*b, f.new_block())).collect();
        // Definitions first: a block may use values of one that stands later in the list.
        for &b in &l.blocks {
            if b != l.header {
                for p in f.block(b).params.clone() {
                    let ty = f.ty(p);
                    let new = f.add_param(blocks[&b], ty);
                    map.insert(p, new);
                }
            }
            for v in f.block(b).insts.clone() {
                let d = f.values[v.0 as usize].clone();
                let new = f.new_value(d.op, d.ty, d.flags, d.loc);
                f.block_mut(blocks[&b]).insts.push(new);
                map.insert(v, new);
            }
        }
        let get = |v: Val| map.get(&v).copied().unwrap_or(v);
        for &b in &l.blocks {
            let copy = blocks[&b];
            for v in f.block(copy).insts.clone() {
                let mut op = *f.op(v);
                op.map_operands(get);
                f.values[v.0 as usize].op = op;
            }
            let mut term = f.block(b).term.clone();
            if b == latch {
                // Filled in when the next turn exists.
                term = Term::Open;
            }
            if let Term::Branch(c, ..) = &mut term {
                *c = get(*c);
            }
            for edge in term.edges_mut() {
                if let Some(new) = blocks.get(&edge.block) {
                    edge.block = *new;
                }
                for a in &mut edge.args {
                    *a = get(*a);
                }
            }
            f.block_mut(copy).term = term;
        }
        f.block_mut(from).term = Term::Jump(Edge::to(blocks[&l.header]));
        from = blocks[&latch];
        incoming = back.args.iter().map(|a| get(*a)).collect();
    }
    f.block_mut(from).term = Term::Jump(Edge { block: l.header, args: incoming });
    f.block_mut(latch).term = Term::Jump(exit);
    f.block_mut(l.header).unroll = None;
}
