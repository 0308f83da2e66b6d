//! Passes over the middle form: folding, value numbering, loop-invariant code, dead code.

use std::collections::HashMap;

use flow::{Graph, Loop};
use ptx_isa::Kind;
use ptx_isa::uop::{self, Op as Pure};

use crate::divergence::Divergence;
use crate::early::early_loads;
use crate::exits::{join_exits, values_behind_loops};
use crate::ir::{BlockId, Func, Inst, Op, Term, Val};
use crate::nans::nans;
use crate::reductions;
use crate::variance::Variance;

/// Constant folding, copies and value numbering, until what phis of one value bring is used.
pub(crate) fn fold(f: &mut Func) {
    for _ in 0..2 {
        phis(f);
        number(f);
    }
}

/// Runs all passes.
pub(crate) fn run(f: &mut Func) {
    fold(f);
    hoist(f);
    let map = early_loads(f);
    rename(f, &map);
    dead(f);
    if !f.fast_nan {
        nans(f);
        dead(f);
    }
    join_exits(f);
    turn_choices(f);
    dead(f);
    values_behind_loops(f);
}

fn resolve(map: &[Val], mut v: Val) -> Val {
    while map[v as usize] != v {
        v = map[v as usize];
    }
    v
}

fn rename(f: &mut Func, map: &[Val]) {
    for i in &mut f.insts {
        if !matches!(i.op, Op::Result) {
            i.args.iter_mut().for_each(|a| *a = resolve(map, *a));
        }
    }
    for e in &mut f.effects {
        e.src.iter_mut().for_each(|a| *a = resolve(map, *a));
        if let Some(g) = &mut e.guard {
            g.0 = resolve(map, g.0);
        }
    }
    for b in &mut f.blocks {
        if let Some(v) = b.term.value_mut() {
            *v = resolve(map, *v);
        }
    }
}

/// Removes phis of one value.
fn phis(f: &mut Func) {
    let mut map: Vec<Val> = (0..f.insts.len() as Val).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for b in 0..f.blocks.len() {
            let mut n = 0;
            while let Some(&v) = f.blocks[b].insts.get(n) {
                if f.insts[v as usize].op != Op::Phi {
                    break;
                }
                let mut one = None;
                let mut many = false;
                for a in &f.insts[v as usize].args {
                    let a = resolve(&map, *a);
                    if a != v && one != Some(a) {
                        many |= one.is_some();
                        one = Some(a);
                    }
                }
                match one {
                    Some(one) if !many => {
                        map[v as usize] = one;
                        f.blocks[b].insts.remove(n);
                        changed = true;
                    }
                    _ => n += 1,
                }
            }
        }
    }
    rename(f, &map);
}

/// What an operation on constants and trivial operands is.
fn simplify(f: &Func, op: Pure, k: u32, args: &[Val]) -> Option<Result<Val, u64>> {
    let mut bits = [0; 3];
    let consts: Vec<Option<u64>> = args.iter().map(|a| f.as_const(*a)).collect();
    if consts.iter().all(Option::is_some) {
        for (b, c) in bits.iter_mut().zip(&consts) {
            *b = c.unwrap_or(0);
        }
        return Some(Err(uop::eval(op, bits, k)));
    }
    let is = |n: usize, c: u64| consts.get(n).copied().flatten() == Some(c);
    match op {
        Pure::MovP | Pure::MovW | Pure::MovD => Some(Ok(args[0])),
        Pure::AddW | Pure::AddD | Pure::OrW | Pure::OrD | Pure::XorW | Pure::XorD if is(1, 0) => {
            Some(Ok(args[0]))
        }
        Pure::AddW | Pure::AddD | Pure::OrW | Pure::OrD | Pure::XorW | Pure::XorD if is(0, 0) => {
            Some(Ok(args[1]))
        }
        Pure::SubW
        | Pure::SubD
        | Pure::ShlW
        | Pure::ShrW
        | Pure::SarW
        | Pure::ShlD
        | Pure::ShrD
        | Pure::SarD
            if is(1, 0) =>
        {
            Some(Ok(args[0]))
        }
        Pure::MulW | Pure::MulD if is(1, 1) => Some(Ok(args[0])),
        Pure::MulW | Pure::MulD if is(0, 1) => Some(Ok(args[1])),
        Pure::SelW | Pure::SelD | Pure::SelP => match consts[2] {
            Some(p) => Some(Ok(args[usize::from(p & 1 == 0)])),
            None => (args[0] == args[1]).then_some(Ok(args[0])),
        },
        Pure::AndP if is(1, 1) => Some(Ok(args[0])),
        Pure::AndP if is(0, 1) => Some(Ok(args[1])),
        _ => None,
    }
}

/// Constant folding, copies and global value numbering along the dominator tree.
fn number(f: &mut Func) {
    let tree = f.dominators();
    let mut map: Vec<Val> = (0..f.insts.len() as Val).collect();
    type Key = (Op, Kind, Vec<Val>);
    let mut known: HashMap<Key, Vec<(BlockId, Val)>> = HashMap::new();
    // Leaves are the same everywhere.
    let mut leaves: HashMap<(Op, Kind), Val> = HashMap::new();
    for v in 0..f.insts.len() as Val {
        if f.leaf(v) {
            let i = &f.insts[v as usize];
            map[v as usize] = *leaves.entry((i.op, i.kind)).or_insert(v);
        }
    }
    for b in 0..f.blocks.len() as BlockId {
        let list = std::mem::take(&mut f.blocks[b as usize].insts);
        let mut kept = Vec::with_capacity(list.len());
        for v in list {
            let Op::Pure(op, k) = f.insts[v as usize].op else {
                if let Op::Effect(e) = f.insts[v as usize].op {
                    let e = &mut f.effects[e as usize];
                    e.src.iter_mut().for_each(|a| *a = resolve(&map, *a));
                }
                kept.push(v);
                continue;
            };
            let kind = f.insts[v as usize].kind;
            let args: Vec<Val> =
                f.insts[v as usize].args.iter().map(|a| resolve(&map, *a)).collect();
            f.insts[v as usize].args.clone_from(&args);
            match simplify(f, op, k, &args) {
                Some(Ok(same)) => {
                    map[v as usize] = same;
                    continue;
                }
                Some(Err(c)) => {
                    f.insts[v as usize] = Inst { op: Op::Const(c), kind, args: Vec::new() };
                    map[v as usize] = *leaves.entry((Op::Const(c), kind)).or_insert(v);
                    continue;
                }
                None => {}
            }
            let same = known.entry((Op::Pure(op, k), kind, args)).or_default();
            match same.iter().find(|(at, _)| tree.dominates(*at, b)) {
                Some((_, w)) => map[v as usize] = *w,
                None => {
                    same.push((b, v));
                    kept.push(v);
                }
            }
        }
        f.blocks[b as usize].insts = kept;
    }
    rename(f, &map);
}

/// Choices by the opposite of a condition are the other way round by the condition; so are those by "not equal", as
/// vectors of 256 bits compare for "equal" alone.
fn turn_choices(f: &mut Func) {
    let choice = |f: &Func, v: Val| {
        matches!(f.insts[v as usize].op, Op::Pure(Pure::SelW | Pure::SelD | Pure::SelP, _))
    };
    for v in 0..f.insts.len() as Val {
        while choice(f, v)
            && let by = f.insts[v as usize].args[2] as usize
            && f.insts[by].op == Op::Pure(Pure::NotP, 0)
        {
            let condition = f.insts[by].args[0];
            let args = &mut f.insts[v as usize].args;
            args.swap(0, 1);
            args[2] = condition;
        }
    }
    let mut others = vec![false; f.insts.len()];
    for block in &f.blocks {
        for &v in &block.insts {
            let reads = f.reads(v);
            let kept = if choice(f, v) { &reads[..2] } else { &reads[..] };
            kept.iter().for_each(|x| others[*x as usize] = true);
        }
        block.term.value().into_iter().for_each(|x| others[x as usize] = true);
    }
    let turned: Vec<bool> = (0..f.insts.len())
        .map(|v| {
            let equal = match f.insts[v].op {
                Op::Pure(Pure::NeW, 0) => Pure::EqW,
                Op::Pure(Pure::NeD, 0) => Pure::EqD,
                _ => return false,
            };
            if !others[v] {
                f.insts[v].op = Op::Pure(equal, 0);
            }
            !others[v]
        })
        .collect();
    for v in 0..f.insts.len() as Val {
        if choice(f, v) && turned[f.insts[v as usize].args[2] as usize] {
            f.insts[v as usize].args.swap(0, 1);
        }
    }
}

/// Which blocks are inside a loop of at most `most` instructions.
pub(crate) fn in_small_loop(f: &Func, most: usize) -> Vec<bool> {
    let mut inside = vec![false; f.blocks.len()];
    for l in f.loops() {
        if l.nodes.iter().map(|b| f.blocks[*b as usize].insts.len()).sum::<usize>() <= most {
            l.nodes.iter().for_each(|b| inside[*b as usize] = true);
        }
    }
    inside
}

/// Moves operations whose operands do not change in a loop before it.
fn hoist(f: &mut Func) {
    let tree = f.dominators();
    let mut at = vec![0 as BlockId; f.insts.len()];
    for (b, block) in f.blocks.iter().enumerate() {
        for &v in &block.insts {
            at[v as usize] = b as BlockId;
            if let Op::Effect(e) = f.insts[v as usize].op {
                for &d in &f.effects[e as usize].dst {
                    at[d as usize] = b as BlockId;
                }
            }
        }
    }
    let mut all = f.loops();
    // Inner loops first.
    all.sort_by_key(|l| l.nodes.len());
    for Loop { header: h, nodes: body, .. } in all {
        let into: Vec<BlockId> =
            f.blocks[h as usize].preds.iter().copied().filter(|p| !body.contains(p)).collect();
        let [pre] = into[..] else { continue };
        if !matches!(f.blocks[pre as usize].term, Term::Jump(_)) {
            // Computing more than the program would costs little, but keeps registers busy.
            if f.blocks[pre as usize].term.succs().len() > 2 {
                continue;
            }
        }
        let mut sorted = body.clone();
        sorted.sort_unstable();
        for &b in &sorted {
            let list = std::mem::take(&mut f.blocks[b as usize].insts);
            let mut kept = Vec::with_capacity(list.len());
            for v in list {
                let i = &f.insts[v as usize];
                let fixed = matches!(i.op, Op::Pure(..))
                    && i.args.iter().all(|a| f.leaf(*a) || !body.contains(&at[*a as usize]));
                // Helpers that are not needed on every path stay where they are.
                let cheap = match i.op {
                    Op::Pure(op, k) => f.has_code(op, k) || tree.dominates(b, h),
                    _ => false,
                };
                if fixed && cheap {
                    at[v as usize] = pre;
                    f.blocks[pre as usize].insts.push(v);
                } else {
                    kept.push(v);
                }
            }
            f.blocks[b as usize].insts = kept;
        }
    }
}

/// Puts the computation of a vector of addresses into the block of the access again, whose code can then use the
/// index that the address is made of; whether anything changed.
pub(crate) fn sink(f: &mut Func, divergence: &Divergence) -> bool {
    use ptx_isa::effect::Effect;
    let mut home = vec![BlockId::MAX; f.insts.len()];
    for (b, block) in f.blocks.iter().enumerate() {
        block.insts.iter().for_each(|v| home[*v as usize] = b as BlockId);
    }
    let mut changed = false;
    for b in 0..f.blocks.len() {
        let mut copies: HashMap<Val, Val> = HashMap::new();
        let mut n = 0;
        while n < f.blocks[b].insts.len() {
            let v = f.blocks[b].insts[n];
            n += 1;
            let Op::Effect(e) = f.insts[v as usize].op else { continue };
            let info = &f.effects[e as usize];
            if !matches!(info.effect, Effect::Ld(_) | Effect::St(_) | Effect::Atom(_)) {
                continue;
            }
            let mut chain = Vec::new();
            let mut at = info.src[0];
            while let Op::Pure(op, _) = f.insts[at as usize].op
                && divergence.of[at as usize] == Variance::Varying
                && f.insts[at as usize].kind == Kind::D
                && home[at as usize] != b as BlockId
                && !copies.contains_key(&at)
            {
                let args = &f.insts[at as usize].args;
                let next = match op {
                    Pure::AddD | Pure::SubD => args
                        .iter()
                        .copied()
                        .find(|a| divergence.of[*a as usize] == Variance::Varying),
                    Pure::MovD | Pure::ShlD | Pure::MulD => Some(args[0]),
                    Pure::SextWD
                    | Pure::ZextWD
                    | Pure::MulWideS
                    | Pure::MulWideU
                    | Pure::MadWideS
                    | Pure::MadWideU => None,
                    _ => break,
                };
                chain.push(at);
                match next {
                    Some(next) => at = next,
                    None => break,
                }
            }
            // Innermost first; their operands may be copies too.
            for old in chain.into_iter().rev() {
                let mut i = f.insts[old as usize].clone();
                i.args.iter_mut().for_each(|a| *a = copies.get(a).copied().unwrap_or(*a));
                f.insts.push(i);
                let new = f.insts.len() as Val - 1;
                copies.insert(old, new);
                f.blocks[b].insts.insert(n - 1, new);
                n += 1;
                changed = true;
            }
            let src = &mut f.effects[e as usize].src[0];
            *src = copies.get(src).copied().unwrap_or(*src);
        }
    }
    if changed {
        dead(f);
    }
    changed
}

/// Removes what nobody reads.
fn dead(f: &mut Func) {
    let mut used = vec![false; f.insts.len()];
    let mut work: Vec<Val> = Vec::new();
    for b in &f.blocks {
        work.extend(b.term.value());
        work.extend(b.insts.iter().filter(|v| matches!(f.insts[**v as usize].op, Op::Effect(_))));
    }
    while let Some(v) = work.pop() {
        if !std::mem::replace(&mut used[v as usize], true) {
            work.extend(f.reads(v));
        }
    }
    for b in &mut f.blocks {
        b.insts.retain(|v| used[*v as usize]);
    }
}

/// Splits blocks behind barriers and orders them so that loops are contiguous and every forward
/// edge goes forwards; whether that was possible.
pub(crate) fn arrange(f: &mut Func) -> bool {
    let mut b = 0;
    let mut halves: Vec<u32> = f.gives.iter().chain(&f.takes).copied().collect();
    while b < f.blocks.len() {
        let cut = f.blocks[b].insts.iter().position(|v| match f.insts[*v as usize].op {
            Op::Effect(e) => {
                matches!(f.effects[e as usize].effect, ptx_isa::effect::Effect::Bar(_))
                    && !halves.contains(&e)
            }
            _ => false,
        });
        if let Some(at) = cut
            && let Op::Effect(e) = f.insts[f.blocks[b].insts[at] as usize].op
        {
            let next = f.blocks.len() as BlockId;
            let mut tail = f.blocks[b].insts.split_off(at);
            let mut bar = e;
            if f.effects[e as usize].dst.is_empty() {
                tail.remove(0);
            } else {
                // What the block agrees on: given before the barrier, taken behind it.
                let given = reductions::give(f, e);
                f.blocks[b].insts.push(given);
                bar = f.effects.len() as u32 - 1;
                halves.extend([e, bar]);
            }
            let term = std::mem::replace(&mut f.blocks[b].term, Term::Bar(bar, next));
            for s in term.succs() {
                for p in &mut f.blocks[s as usize].preds {
                    if *p == b as BlockId {
                        *p = next;
                    }
                }
            }
            f.blocks.push(crate::ir::BasicBlock { insts: tail, term, preds: vec![b as BlockId] });
        }
        b += 1;
    }
    skip_empty(f);
    // First by plain reverse post-order, for dominators and loops; then leaving loops last.
    order(f, &[]);
    let mut depth = vec![0u32; f.blocks.len()];
    for l in f.loops() {
        l.nodes.iter().for_each(|b| depth[*b as usize] += 1);
    }
    order(f, &depth);
    let tree = f.dominators();
    let retreats_only_to_headers = f.blocks.iter().enumerate().all(|(b, block)| {
        block.term.succs().iter().all(|s| *s > b as BlockId || tree.dominates(*s, b as BlockId))
    });
    retreats_only_to_headers
        && f.loops().iter().all(|l| {
            let last = l.nodes.iter().max().copied().unwrap_or(l.header);
            l.nodes.iter().min() == Some(&l.header)
                && (last - l.header) as usize + 1 == l.nodes.len()
        })
}

/// Branches past blocks that only jump on, where no phi tells the ways apart or the one way there is no other way to
/// the phis.
fn skip_empty(f: &mut Func) {
    let has_phis = |f: &Func, b: BlockId| {
        let first = f.blocks[b as usize].insts.first();
        first.is_some_and(|v| f.insts[*v as usize].op == Op::Phi)
    };
    for b in 1..f.blocks.len() as BlockId {
        let Term::Jump(to) = f.blocks[b as usize].term else { continue };
        if !f.blocks[b as usize].insts.is_empty() || to == b {
            continue;
        }
        if has_phis(f, to) {
            let [p] = f.blocks[b as usize].preds[..] else { continue };
            // Who goes on behind a barrier brings phis nothing.
            let brings = matches!(f.blocks[p as usize].term, Term::Jump(_) | Term::Br(..));
            let into = &mut f.blocks[to as usize].preds;
            if !brings || into.contains(&p) {
                continue;
            }
            into.iter_mut().filter(|x| **x == b).for_each(|x| *x = p);
            f.blocks[p as usize].term.map(|s| if s == b { to } else { s });
            f.blocks[b as usize].preds.clear();
            f.blocks[b as usize].term = Term::Exit;
            continue;
        }
        let preds = std::mem::take(&mut f.blocks[b as usize].preds);
        for p in &preds {
            f.blocks[*p as usize].term.map(|s| if s == b { to } else { s });
        }
        let into = &mut f.blocks[to as usize].preds;
        into.retain(|p| *p != b);
        for p in preds {
            if !into.contains(&p) {
                into.push(p);
            }
        }
        f.blocks[b as usize].term = Term::Exit;
    }
}

/// Renumbers blocks in reverse post-order; among successors the deeper one comes first.
fn order(f: &mut Func, depth: &[u32]) {
    let n = f.blocks.len();
    let graph = Graph::new(n, |b| {
        let mut s = f.blocks[b as usize].term.succs();
        if !depth.is_empty() {
            s.sort_by_key(|s| depth[*s as usize]);
        }
        s
    });
    let order = graph.reverse_postorder(0);
    let mut new = vec![BlockId::MAX; n];
    for (i, b) in order.iter().enumerate() {
        new[*b as usize] = i as BlockId;
    }
    let mut blocks: Vec<_> = std::mem::take(&mut f.blocks).into_iter().map(Some).collect();
    for b in order {
        let Some(mut block) = blocks[b as usize].take() else { continue };
        block.term.map(|b| new[b as usize]);
        // Every predecessor is reachable: blocks that nothing leads to any more lead nowhere.
        block.preds.iter_mut().for_each(|p| *p = new[*p as usize]);
        f.blocks.push(block);
    }
}
