//! Code for debuggers: every statement and variable as the source has it, with the results of optimised code.
//!
//! Optimisation keeps every bit, but for one choice: which sums are fused with which products. That depends on what
//! other passes found. So the function is optimised first as if nobody looked, and what that chose is done here as
//! well. Operations have locations of their own to be found by (`Lower::own_location`).

use rustc_hash::{FxHashMap, FxHashSet};

use super::replace::Replacements;
use super::{Optimizer, Pass, dce, improve, promote};
use crate::ir::{BinOp, BlockId, CONTRACT, Func, Op, Space, TernOp, UnOp, Val};
use crate::options::Options;

/// Runs the passes that keep statements and variables.
pub(super) fn optimize(f: &mut Func, options: &Options) {
    let pairs = choices(f, options);
    let mut o = Optimizer { f, version: 0, clean: Default::default() };
    o.run_all(&[Pass::Cfg, Pass::Promote]);
    o.step("agree", |f| fuse(f, &pairs));
    // Functions of the library become what is left of them for their arguments.
    let own = set_volatile(o.f, true);
    for _ in 0..2 {
        o.run(Pass::Gvn);
        o.step("dce", dce::run_without_loads);
        o.run(Pass::Cfg);
    }
    if !own {
        set_volatile(o.f, false);
    }
}

/// Makes accesses to variables ones that no pass may leave out, or not; true if there were such in the source.
fn set_volatile(f: &mut Func, volatile: bool) -> bool {
    let mut any = false;
    for value in &mut f.values {
        if let Op::Load(m, _) | Op::Store(m, ..) = &mut value.op
            && m.space == Space::Local
        {
            any |= m.volatile;
            m.volatile = volatile;
        }
    }
    any
}

/// The products that optimised code fuses each sum with, by their locations.
fn choices(f: &Func, options: &Options) -> FxHashMap<u32, FxHashSet<u32>> {
    let mut plain = unpinned(f);
    let mut pairs = Vec::new();
    improve(&mut plain, options, &mut pairs);
    let mut out: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
    for (sum, product) in pairs {
        out.entry(sum).or_default().insert(product);
    }
    // An operation that repeated another one went, and its result is the other's. The last to go comes first here:
    // what it was merged with may have gone as well.
    for (kept, gone) in plain.debug.map(|d| d.merged).unwrap_or_default().into_iter().rev() {
        if let Some(products) = out.get(&kept).cloned() {
            out.entry(gone).or_default().extend(products);
        }
    }
    out
}

/// The function with variables that may leave memory.
fn unpinned(f: &Func) -> Func {
    let mut plain = f.clone();
    plain.privates.iter_mut().for_each(|p| p.pinned = false);
    plain
}

/// Fuses the sums that are in `pairs`; true if there were any.
fn fuse(f: &mut Func, pairs: &FxHashMap<u32, FxHashSet<u32>>) -> bool {
    if pairs.is_empty() {
        return false;
    }
    let known = f.values.len() as u32;
    let mut stored = promote::promote(&mut unpinned(f)).unwrap_or_default();
    let mut changed = false;
    for b in 0..f.blocks.len() {
        let insts = std::mem::take(&mut f.block_mut(BlockId(b as u32)).insts);
        let mut out = Vec::with_capacity(insts.len());
        for v in insts {
            if let Some(products) = pairs.get(&f.values[v.0 as usize].loc)
                && let Some((op, negated)) = fused(f, v, products, &mut stored, known)
            {
                changed = true;
                let (ty, loc) = (f.ty(v), f.values[v.0 as usize].loc);
                let op = match (op, negated) {
                    (op, None) => op,
                    (Op::Tern(t, a, b, c), Some(which)) => {
                        let mut operands = [a, b, c];
                        let of = Op::Un(UnOp::FNeg, operands[which]);
                        operands[which] = f.new_value(of, ty, 0, loc);
                        out.push(operands[which]);
                        Op::Tern(t, operands[0], operands[1], operands[2])
                    }
                    (op, Some(_)) => op,
                };
                f.values[v.0 as usize].op = op;
            }
            out.push(v);
        }
        f.block_mut(BlockId(b as u32)).insts = out;
    }
    changed
}

/// The fused form of a sum, and which of its operands is to be negated.
fn fused(
    f: &Func,
    v: Val,
    products: &FxHashSet<u32>,
    stored: &mut Replacements,
    known: u32,
) -> Option<(Op, Option<usize>)> {
    let (op, x, y) = match *f.op(v) {
        Op::Bin(op @ (BinOp::FAdd | BinOp::FSub), x, y) => (op, x, y),
        _ => return None,
    };
    // The product, also where it went through a variable.
    let mut product = |x: Val| {
        let from = stored.get(x);
        let data = f.values.get(from.0 as usize).filter(|_| from.0 < known)?;
        match data.op {
            Op::Bin(BinOp::FMul, a, b) if data.flags & CONTRACT != 0 => Some((a, b, data.loc)),
            _ => None,
        }
    };
    let (left, right) = (product(x), product(y));
    let chosen = |p: &Option<(Val, Val, u32)>| p.is_some_and(|p| products.contains(&p.2));
    // A product that repeats another one is known by that one's location: then the first one, as `contract` does.
    let take_right = left.is_none() || chosen(&right) && !chosen(&left);
    let subtract = op == BinOp::FSub;
    match (left, right) {
        (Some((a, b, _)), _) if !take_right => {
            Some((Op::Tern(TernOp::Fma, a, b, y), subtract.then_some(2)))
        }
        (_, Some((a, b, _))) => Some((Op::Tern(TernOp::Fma, a, b, x), subtract.then_some(0))),
        _ => None,
    }
}
