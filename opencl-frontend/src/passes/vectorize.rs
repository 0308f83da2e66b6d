//! Neighbouring loads, and neighbouring stores, become one access of two or four elements where the
//! alignment that the types promise allows it.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::gvn::may_alias;
use crate::ir::{Func, Mem, MemTy, Op, Parts, Space, Ty, Val};

/// Neighbours further apart than this are left alone: what lies between them is looked at.
const REACH: usize = 1 << 12;

/// Runs the pass; true if anything changed.
pub fn run(f: &mut Func) -> bool {
    let mut changed = false;
    for b in 0..f.blocks.len() {
        for width in [4usize, 2] {
            changed |= vectorize_loads(f, b, width);
            changed |= vectorize_stores(f, b, width);
        }
    }
    changed
}

/// Address, space, kind and offset.
type Place = (Val, Space, MemTy, i64);

/// The positions of the plain loads or stores of a block, by what they access.
fn places(f: &Func, b: usize, load: bool) -> FxHashMap<Place, SmallVec<[usize; 1]>> {
    let mut places: FxHashMap<Place, SmallVec<[usize; 1]>> = FxHashMap::default();
    for (i, &v) in f.blocks[b].insts.iter().enumerate() {
        if let Some((m, a, _)) = access(f, v, load) {
            places.entry((a, m.space, m.ty, m.offset)).or_default().push(i);
        }
    }
    places
}

/// The plain load or store at a position: access, address, stored value.
fn access(f: &Func, v: Val, load: bool) -> Option<(Mem, Val, Option<Val>)> {
    match *f.op(v) {
        Op::Load(m, a) if load && !m.volatile => Some((m, a, None)),
        Op::Store(m, a, x) if !load && !m.volatile => Some((m, a, Some(x))),
        _ => None,
    }
}

/// Positions of `width` neighbours, by ascending address from the access at `i`, that can be one access.
fn find_run(
    f: &Func,
    b: usize,
    width: usize,
    load: bool,
    i: usize,
    places: &FxHashMap<Place, SmallVec<[usize; 1]>>,
) -> Option<SmallVec<[usize; 4]>> {
    let insts = &f.blocks[b].insts;
    let (m, a, _) = access(f, insts[i], load)?;
    let size = m.ty.size();
    let total = size * width as u64;
    if total > 16 || u64::from(m.align) < total {
        return None;
    }
    let mut run: SmallVec<[usize; 4]> = SmallVec::from_elem(i, 1);
    for k in 1..width {
        let wanted = m.offset + (k as u64 * size) as i64;
        let all = places.get(&(a, m.space, m.ty, wanted))?;
        // Those that are part of a vector by now are no plain accesses.
        run.push(all.iter().copied().find(|&p| access(f, insts[p], load).is_some())?);
    }
    let near = run.iter().max()? - run.iter().min()? <= REACH;
    (near && nothing_between(f, b, &run, load)).then_some(run)
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
            | Op::Call(..)
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
    let places = places(f, b, true);
    // What stands in the place of the first load of each run: the vector and its parts.
    let mut vectors: FxHashMap<usize, SmallVec<[Val; 5]>> = FxHashMap::default();
    for i in 0..f.blocks[b].insts.len() {
        let Some(run) = find_run(f, b, width, true, i, &places) else { continue };
        let parts: SmallVec<[Val; 4]> = run.iter().map(|p| f.blocks[b].insts[*p]).collect();
        let Some((m, a, _)) = access(f, parts[0], true) else { continue };
        let at = run.iter().copied().min().unwrap_or(i);
        let loc = f.values[f.blocks[b].insts[at].0 as usize].loc;
        let vector = f.new_value(Op::LoadVec(m, a, width as u8), Ty::None, 0, loc);
        for (lane, &part) in parts.iter().enumerate() {
            f.values[part.0 as usize].op = Op::Extract(vector, lane as u8);
        }
        vectors.insert(at, std::iter::once(vector).chain(parts).collect());
    }
    if vectors.is_empty() {
        return false;
    }
    let moved: FxHashSet<Val> = vectors.values().flatten().copied().collect();
    let insts = std::mem::take(&mut f.blocks[b].insts);
    let mut out = Vec::with_capacity(insts.len() + vectors.len());
    for (i, v) in insts.into_iter().enumerate() {
        match vectors.get(&i) {
            Some(group) => out.extend_from_slice(group),
            None if moved.contains(&v) => {}
            None => out.push(v),
        }
    }
    f.blocks[b].insts = out;
    true
}

fn vectorize_stores(f: &mut Func, b: usize, width: usize) -> bool {
    let places = places(f, b, false);
    // Stands where a store was until all are found.
    let mut gone = None;
    for i in 0..f.blocks[b].insts.len() {
        let Some(run) = find_run(f, b, width, false, i, &places) else { continue };
        let parts: SmallVec<[Val; 4]> = run.iter().map(|p| f.blocks[b].insts[*p]).collect();
        let values: SmallVec<[Val; 4]> =
            parts.iter().filter_map(|p| access(f, *p, false).and_then(|s| s.2)).collect();
        let (Some((m, a, _)), Some(&last)) = (access(f, parts[0], false), run.iter().max()) else {
            continue;
        };
        let loc = f.values[f.blocks[b].insts[last].0 as usize].loc;
        let vector = f.new_value(Op::StoreVec(m, a, Parts::new(&values)), Ty::None, 0, loc);
        let gone = *gone.get_or_insert_with(|| f.new_value(Op::Undef, Ty::None, 0, 0));
        for p in run {
            f.blocks[b].insts[p] = if p == last { vector } else { gone };
        }
    }
    if let Some(gone) = gone {
        f.blocks[b].insts.retain(|v| *v != gone);
    }
    gone.is_some()
}
