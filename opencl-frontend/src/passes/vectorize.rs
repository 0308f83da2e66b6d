//! Neighbouring loads, and neighbouring stores, become one access of two or four elements where the
//! alignment that the types promise allows it.

use smallvec::SmallVec;

use super::gvn::may_alias;
use crate::ir::{Func, Mem, Op, Parts, Ty, Val};

/// Runs the pass; true if anything changed.
pub fn run(f: &mut Func) -> bool {
    let mut changed = false;
    for b in 0..f.blocks.len() {
        for width in [4usize, 2] {
            while vectorize_loads(f, b, width) || vectorize_stores(f, b, width) {
                changed = true;
            }
        }
    }
    changed
}

/// The plain load or store at a position: access, address, stored value.
fn access(f: &Func, v: Val, load: bool) -> Option<(Mem, Val, Option<Val>)> {
    match *f.op(v) {
        Op::Load(m, a) if load && !m.volatile => Some((m, a, None)),
        Op::Store(m, a, x) if !load && !m.volatile => Some((m, a, Some(x))),
        _ => None,
    }
}

/// Positions of `width` neighbours in a block, by ascending address, that can be one access.
fn find_run(f: &Func, b: usize, width: usize, load: bool) -> Option<SmallVec<[usize; 4]>> {
    let insts = &f.blocks[b].insts;
    for (i, &v) in insts.iter().enumerate() {
        let Some((m, a, _)) = access(f, v, load) else { continue };
        let size = m.ty.size();
        let total = size * width as u64;
        if total > 16 || u64::from(m.align) < total {
            continue;
        }
        let mut run = SmallVec::from_elem(i, 1);
        for k in 1..width {
            let wanted = m.offset + (k as u64 * size) as i64;
            let found = insts.iter().position(|&w| {
                access(f, w, load).is_some_and(|(n, c, _)| {
                    c == a && n.space == m.space && n.ty == m.ty && n.offset == wanted
                })
            });
            match found {
                Some(p) => run.push(p),
                None => break,
            }
        }
        if run.len() == width && nothing_between(f, b, &run, load) {
            return Some(run);
        }
    }
    None
}

/// Nothing between the first and the last of the run sees or makes a difference.
fn nothing_between(f: &Func, b: usize, run: &[usize], load: bool) -> bool {
    let (Some(&first), Some(&last)) = (run.iter().min(), run.iter().max()) else { return false };
    let insts = &f.blocks[b].insts;
    (first..=last).filter(|i| !run.contains(i)).all(|i| {
        let other = |m: &Mem, a: Val| {
            run.iter().all(|&r| {
                access(f, insts[r], load)
                    .is_some_and(|(rm, ra, _)| !may_alias(f, (&rm, ra), (m, a)))
            })
        };
        match f.op(insts[i]) {
            Op::Barrier
            | Op::Fence(_)
            | Op::Printf(..)
            | Op::Atomic(..)
            | Op::StoreVec(..)
            | Op::Warp(..)
            | Op::Asm(..) => false,
            Op::Store(m, a, _) => other(m, *a),
            Op::Load(m, a) => load || other(m, *a),
            Op::LoadVec(..) => load,
            Op::Const(_)
            | Op::Undef
            | Op::Param(_)
            | Op::ParamAddr(_)
            | Op::BlockParam
            | Op::PrivateAddr(_)
            | Op::GlobalAddr(_)
            | Op::Sreg(_)
            | Op::Bin(..)
            | Op::Un(..)
            | Op::Tern(..)
            | Op::Cmp(..)
            | Op::Select(..)
            | Op::Extract(..)
            | Op::Generic(..)
            | Op::Specific(..)
            | Op::Within(..) => true,
        }
    })
}

fn vectorize_loads(f: &mut Func, b: usize, width: usize) -> bool {
    let Some(run) = find_run(f, b, width, true) else { return false };
    let mut insts = std::mem::take(&mut f.blocks[b].insts);
    let parts: SmallVec<[Val; 4]> = run.iter().map(|i| insts[*i]).collect();
    let Some((m, a, _)) = access(f, parts[0], true) else {
        f.blocks[b].insts = insts;
        return false;
    };
    let at = run.iter().copied().min().unwrap_or(0);
    let loc = f.values[insts[at].0 as usize].loc;
    let vector = f.new_value(Op::LoadVec(m, a, width as u8), Ty::None, 0, loc);
    insts.retain(|v| !parts.contains(v));
    insts.insert(at, vector);
    for (i, &part) in parts.iter().enumerate() {
        f.values[part.0 as usize].op = Op::Extract(vector, i as u8);
        insts.insert(at + 1 + i, part);
    }
    f.blocks[b].insts = insts;
    true
}

fn vectorize_stores(f: &mut Func, b: usize, width: usize) -> bool {
    let Some(run) = find_run(f, b, width, false) else { return false };
    let mut insts = std::mem::take(&mut f.blocks[b].insts);
    let parts: SmallVec<[Val; 4]> = run.iter().map(|i| insts[*i]).collect();
    let values: SmallVec<[Val; 4]> =
        parts.iter().filter_map(|p| access(f, *p, false).and_then(|s| s.2)).collect();
    let (Some((m, a, _)), Some(&last)) = (access(f, parts[0], false), run.iter().max()) else {
        f.blocks[b].insts = insts;
        return false;
    };
    let loc = f.values[insts[last].0 as usize].loc;
    let vector = f.new_value(Op::StoreVec(m, a, Parts::new(&values)), Ty::None, 0, loc);
    insts[last] = vector;
    insts.retain(|v| !parts.contains(v));
    f.blocks[b].insts = insts;
    true
}
