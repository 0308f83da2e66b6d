//! Loops that two branches in a row leave for the same place: one branch, on both conditions.
//!
//! Where lanes leave at different times, each block has a mask, a test of it and a choice of what its lanes go on with:
//! `while (x > 1 && n < 200)` is one block so, and its turns have one mask.
//!
//! And what is read behind a loop: a phi there, which alone is kept for lanes that have left. In the loop a counter is
//! the same for all lanes then that are still there.

use std::collections::HashMap;

use flow::Loop;
use ptx_isa::Kind;
use ptx_isa::uop::Op as Pure;

use crate::ir::{BlockId, Func, Inst, Op, Term, Val};

/// Most instructions of the second block: all turns compute them now, also those that the first branch ends.
const MOST: usize = 8;

/// Where a block stays in the loop, and where it leaves it for: the condition, whether it stays where that holds.
struct Exit {
    condition: Val,
    stays: bool,
    next: BlockId,
    out: BlockId,
}

/// Joins such branches.
pub(crate) fn join_exits(f: &mut Func) {
    let loops = f.loops();
    for a in 0..f.blocks.len() as BlockId {
        while let Some((first, second)) = two_exits(f, &loops, a) {
            join(f, a, &first, &second);
        }
    }
}

/// The way on from `b` to `next`, and the other one.
fn exit(f: &Func, b: BlockId, next: BlockId) -> Option<Exit> {
    let Term::Br(condition, negated, yes, no) = f.blocks[b as usize].term else { return None };
    let stays = (yes == next) != negated;
    let out = if yes == next { no } else { yes };
    (out != next).then_some(Exit { condition, stays, next, out })
}

/// The branches of `a` and of the block behind it, if they leave the same loop for the same place with the same values.
fn two_exits(f: &Func, loops: &[Loop], a: BlockId) -> Option<(Exit, Exit)> {
    f.blocks[a as usize].term.succs().into_iter().find_map(|b| {
        let first = exit(f, a, b)?;
        let block = &f.blocks[b as usize];
        let plain = |v: &Val| match f.insts[*v as usize].op {
            Op::Pure(op, k) => f.has_code(op, k),
            Op::Canon => true,
            _ => false,
        };
        if block.preds != [a] || block.insts.len() > MOST || !block.insts.iter().all(plain) {
            return None;
        }
        let next = block.term.succs().into_iter().find(|s| *s != first.out)?;
        let second = exit(f, b, next).filter(|second| second.out == first.out)?;
        let leave = |l: &Loop| {
            l.nodes.contains(&a) && l.nodes.contains(&b) && !l.nodes.contains(&first.out)
        };
        (loops.iter().any(leave) && same_values(f, [a, b], first.out)).then_some((first, second))
    })
}

/// Whether both blocks bring the phis of `to` the same.
fn same_values(f: &Func, from: [BlockId; 2], to: BlockId) -> bool {
    let block = &f.blocks[to as usize];
    let [a, b] = from.map(|b| block.preds.iter().position(|p| *p == b));
    let (Some(a), Some(b)) = (a, b) else { return false };
    let mut phis = block.insts.iter().take_while(|v| f.insts[**v as usize].op == Op::Phi);
    phis.all(|v| f.insts[*v as usize].args[a] == f.insts[*v as usize].args[b])
}

/// `a` computes what the block behind it does, and goes on where both would.
fn join(f: &mut Func, a: BlockId, first: &Exit, second: &Exit) {
    let b = first.next;
    let (p, q) = (first.condition, second.condition);
    let (op, args, negated) = match (first.stays, second.stays) {
        (true, true) => (Pure::AndP, [p, q], false),
        (true, false) => (Pure::AndNotP, [p, q], false),
        (false, true) => (Pure::AndNotP, [q, p], false),
        (false, false) => (Pure::OrP, [p, q], true),
    };
    f.insts.push(Inst { op: Op::Pure(op, 0), kind: Kind::P, args: args.to_vec() });
    let both = f.insts.len() as Val - 1;
    let moved = std::mem::take(&mut f.blocks[b as usize].insts);
    let block = &mut f.blocks[a as usize];
    block.insts.extend(moved);
    block.insts.push(both);
    block.term = Term::Br(both, negated, second.next, first.out);
    // Nothing leads to the second block any more.
    f.blocks[b as usize].term = Term::Exit;
    f.blocks[b as usize].preds.clear();
    for p in &mut f.blocks[second.next as usize].preds {
        if *p == b {
            *p = a;
        }
    }
    let out = &mut f.blocks[first.out as usize];
    let Some(n) = out.preds.iter().position(|p| *p == b) else { return };
    out.preds.remove(n);
    let phis = out.insts.iter().take_while(|v| f.insts[**v as usize].op == Op::Phi);
    for v in phis.copied().collect::<Vec<_>>() {
        f.insts[v as usize].args.remove(n);
    }
}

/// Gives what is read behind a loop a phi where the loop is left, if that is one place, to which only the loop leads.
pub(crate) fn values_behind_loops(f: &mut Func) {
    let mut loops = f.loops();
    // Inner ones first: what they give may be read behind outer ones.
    loops.sort_by_key(|l| l.nodes.len());
    for l in loops {
        let mut outs: Vec<BlockId> = Vec::new();
        for b in &l.nodes {
            outs.extend(f.blocks[*b as usize].term.succs().iter().filter(|s| !l.nodes.contains(s)));
        }
        outs.sort_unstable();
        outs.dedup();
        let [out] = outs[..] else { continue };
        if f.blocks[out as usize].preds.iter().all(|p| l.nodes.contains(p)) {
            give_phis(f, &l, out);
        }
    }
}

fn give_phis(f: &mut Func, l: &Loop, out: BlockId) {
    let mut inside = vec![false; f.insts.len()];
    for v in l.nodes.iter().flat_map(|b| &f.blocks[*b as usize].insts) {
        inside[*v as usize] = true;
        if let Op::Effect(e) = f.insts[*v as usize].op {
            f.effects[e as usize].dst.iter().for_each(|d| inside[*d as usize] = true);
        }
    }
    let ways = f.blocks[out as usize].preds.len();
    let mut phis: Vec<Val> = Vec::new();
    let mut made: HashMap<Val, Val> = HashMap::new();
    let mut behind = |insts: &mut Vec<Inst>, v: &mut Val| {
        if inside.get(*v as usize) == Some(&true) {
            *v = *made.entry(*v).or_insert_with(|| {
                let kind = insts[*v as usize].kind;
                insts.push(Inst { op: Op::Phi, kind, args: vec![*v; ways] });
                phis.push(insts.len() as Val - 1);
                insts.len() as Val - 1
            });
        }
    };
    for b in (0..f.blocks.len()).filter(|b| !l.nodes.contains(&(*b as BlockId))) {
        for v in f.blocks[b].insts.clone() {
            let mut args = std::mem::take(&mut f.insts[v as usize].args);
            let phi = f.insts[v as usize].op == Op::Phi;
            for (n, a) in args.iter_mut().enumerate() {
                // A phi reads where its ways come from.
                if !phi || !l.nodes.contains(&f.blocks[b].preds[n]) {
                    behind(&mut f.insts, a);
                }
            }
            f.insts[v as usize].args = args;
            if let Op::Effect(e) = f.insts[v as usize].op {
                let e = &mut f.effects[e as usize];
                e.src.iter_mut().for_each(|a| behind(&mut f.insts, a));
                e.guard.iter_mut().for_each(|g| behind(&mut f.insts, &mut g.0));
            }
        }
        if let Some(v) = f.blocks[b].term.value_mut() {
            behind(&mut f.insts, v);
        }
    }
    f.blocks[out as usize].insts.splice(0..0, phis);
}
