//! Words in which all launches of a version agree, as constants, and the branches that they decide.
//!
//! A kernel that reads an image asks for its format at each access: with the format a constant, one way of many is left.

use ptx_isa::effect::{Effect, Order};
use ptx_isa::fixed::FixedWord;
use ptx_isa::{Kind, Space};

use crate::ir::{BlockId, Func, Op, Term, Val};
use crate::opt;

/// Makes constants of words, and jumps of branches on what follows from them.
pub(crate) fn decide(f: &mut Func, words: &[FixedWord]) {
    if words.is_empty() {
        return;
    }
    // Addresses are told as parameters.
    opt::fold(f);
    constants(f, words);
    opt::fold(f);
    while branches(f) {
        opt::fold(f);
    }
    join(f);
}

/// Puts constants in the place of words.
fn constants(f: &mut Func, words: &[FixedWord]) {
    let value = |param: u32, behind: Option<u32>| {
        words.iter().find(|w| (w.param, w.behind) == (param, behind)).map(|w| u64::from(w.value))
    };
    for i in &mut f.insts {
        if let Op::Param(at, 4, _) = i.op
            && i.kind == Kind::W
            && let Some(value) = value(at, None)
        {
            i.op = Op::Const(value);
        }
    }
    for b in 0..f.blocks.len() {
        let mut list = std::mem::take(&mut f.blocks[b].insts);
        list.retain(|v| {
            let known =
                loaded(f, *v).and_then(|(at, behind, to)| Some((value(at, Some(behind))?, to)));
            if let Some((value, to)) = known {
                let to = &mut f.insts[to as usize];
                (to.op, to.args) = (Op::Const(value), Vec::new());
            }
            known.is_none()
        });
        f.blocks[b].insts = list;
    }
}

/// The parameter, the distance and the result of an instruction that loads a word behind a parameter.
fn loaded(f: &Func, v: Val) -> Option<(u32, u32, Val)> {
    let Op::Effect(e) = f.insts[v as usize].op else { return None };
    let load = &f.effects[e as usize];
    let Effect::Ld(m) = &load.effect else { return None };
    let (&[base], &[to]) = (load.src.as_slice(), load.dst.as_slice()) else { return None };
    let Op::Param(at, 8, _) = f.insts[base as usize].op else { return None };
    let word = m.place.space == Space::Global
        && (m.bytes, m.count, m.order) == (4, 1, Order::Weak)
        && load.guard.is_none()
        && f.insts[to as usize].kind == Kind::W;
    word.then_some((at, u32::try_from(m.place.offset).ok()?, to))
}

/// Makes jumps of branches on constants; whether there were any.
fn branches(f: &mut Func) -> bool {
    let mut any = false;
    for b in 0..f.blocks.len() as BlockId {
        let Term::Br(v, negated, yes, no) = f.blocks[b as usize].term else { continue };
        let Some(condition) = f.as_const(v) else { continue };
        let (to, lost) = if (condition & 1 == 1) != negated { (yes, no) } else { (no, yes) };
        f.blocks[b as usize].term = Term::Jump(to);
        if lost != to {
            leave(f, b, lost);
        }
        any = true;
    }
    if any {
        prune(f);
    }
    any
}

/// A block is no predecessor of another one any more.
fn leave(f: &mut Func, from: BlockId, to: BlockId) {
    let Some(at) = f.blocks[to as usize].preds.iter().position(|p| *p == from) else { return };
    f.blocks[to as usize].preds.remove(at);
    for n in 0..f.blocks[to as usize].insts.len() {
        let phi = &mut f.insts[f.blocks[to as usize].insts[n] as usize];
        if phi.op != Op::Phi {
            break;
        }
        phi.args.remove(at);
    }
}

/// Takes out blocks that are not reached. The others keep their order.
fn prune(f: &mut Func) {
    let mut reached = vec![false; f.blocks.len()];
    f.graph().reverse_postorder(0).iter().for_each(|b| reached[*b as usize] = true);
    let mut new = vec![BlockId::MAX; f.blocks.len()];
    let mut count = 0;
    for b in 0..f.blocks.len() {
        if reached[b] {
            new[b] = count;
            count += 1;
            continue;
        }
        for s in f.blocks[b].term.succs() {
            if reached[s as usize] {
                leave(f, b as BlockId, s);
            }
        }
    }
    let mut keep = reached.iter();
    f.blocks.retain(|_| keep.next().is_some_and(|r| *r));
    for block in &mut f.blocks {
        block.term.map(|b| new[b as usize]);
        block.preds.iter_mut().for_each(|p| *p = new[*p as usize]);
    }
}

/// Makes one block of two where only the first leads to the second, and to nothing else.
fn join(f: &mut Func) {
    for b in 0..f.blocks.len() {
        while let Term::Jump(next) = f.blocks[b].term
            && next as usize != b
            && next != 0
            && f.blocks[next as usize].preds == [b as BlockId]
            && !f.blocks[next as usize]
                .insts
                .first()
                .is_some_and(|v| f.insts[*v as usize].op == Op::Phi)
        {
            let insts = std::mem::take(&mut f.blocks[next as usize].insts);
            f.blocks[b].insts.extend(insts);
            let term = std::mem::replace(&mut f.blocks[next as usize].term, Term::Exit);
            for s in term.succs() {
                let preds = &mut f.blocks[s as usize].preds;
                preds.iter_mut().filter(|p| **p == next).for_each(|p| *p = b as BlockId);
            }
            f.blocks[b].term = term;
        }
    }
    prune(f);
}
