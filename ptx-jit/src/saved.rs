//! Which values need not be saved where a group waits at a barrier, because their place holds them already.

use flow::BitSet;

use crate::ir::{BlockId, Func, Op, Term, Val};

/// What is saved when.
#[derive(Default)]
pub(crate) struct Saved {
    /// Values that are saved at the end of each block, which makes them: a barrier in a loop around none of their
    /// blocks would save them in each turn.
    early: Vec<Vec<Val>>,
    /// For each block that ends with a barrier: values that the barrier need not save.
    there: Vec<BitSet>,
}

impl Saved {
    /// Of the values that live at the start of each block (`live_at`) and have a place.
    pub(crate) fn new(f: &Func, live_at: impl Fn(BlockId) -> Vec<Val>) -> Saved {
        let n = f.blocks.len();
        let mut saved = Saved { early: vec![Vec::new(); n], there: vec![BitSet::default(); n] };
        // A wait in a loop saves from within a block.
        if !f.waits.is_empty() {
            return saved;
        }
        let made: Vec<BitSet> = (0..n).map(|b| made(f, b)).collect();
        let barriers: Vec<(usize, BlockId, Vec<Val>)> = (0..n)
            .filter_map(|b| match f.blocks[b].term {
                Term::Bar(_, next) => Some((b, next, live_at(next))),
                _ => None,
            })
            .collect();
        let early = early(f, &made, &barriers);
        for (b, made) in made.iter().enumerate() {
            saved.early[b] = made.intersection(&early).map(|v| v as Val).collect();
        }
        // What is in its place at the end of each block, on all ways there.
        let mut at_end: Vec<Option<BitSet>> = vec![None; n];
        loop {
            let mut changed = false;
            for b in 0..n {
                let mut here = at_start(f, b, &at_end);
                here.difference_with(&made[b]);
                saved.there[b] = here.clone();
                if let Some((_, _, live)) = barriers.iter().find(|(at, ..)| *at == b) {
                    live.iter().for_each(|v| here.grow_and_insert(*v as usize));
                }
                changed |= at_end[b].as_ref() != Some(&here);
                at_end[b] = Some(here);
            }
            if !changed {
                break;
            }
        }
        for (b, next, _) in &barriers {
            saved.there[*b].union_with(&early);
            // The way there has set them.
            saved.there[*b].difference_with(&phis(f, *next));
        }
        saved
    }

    /// Values to save at the end of a block.
    pub(crate) fn early(&self, block: BlockId) -> &[Val] {
        self.early.get(block as usize).map_or(&[], Vec::as_slice)
    }

    /// Whether the barrier at the end of a block need not save a value.
    pub(crate) fn is_there(&self, block: BlockId, v: Val) -> bool {
        self.there.get(block as usize).is_some_and(|there| there.contains(v as usize))
    }
}

/// Values that a block makes.
fn made(f: &Func, b: usize) -> BitSet {
    let mut made = BitSet::with_capacity(f.insts.len());
    for &v in &f.blocks[b].insts {
        made.insert(v as usize);
        if let Op::Effect(e) = f.insts[v as usize].op {
            f.effects[e as usize].dst.iter().for_each(|d| made.insert(*d as usize));
        }
    }
    made
}

fn phis(f: &Func, b: BlockId) -> BitSet {
    let mut phis = BitSet::with_capacity(f.insts.len());
    let all = f.blocks[b as usize].insts.iter().filter(|v| f.insts[**v as usize].op == Op::Phi);
    all.for_each(|v| phis.insert(*v as usize));
    phis
}

/// Values that live at a barrier in a loop, and that are made where all loops are around the barrier as well.
fn early(f: &Func, made: &[BitSet], barriers: &[(usize, BlockId, Vec<Val>)]) -> BitSet {
    let mut early = BitSet::with_capacity(f.insts.len());
    let loops = f.loops();
    let around = |b: usize| loops.iter().filter(move |l| l.nodes.contains(&(b as BlockId)));
    for (b, _, live) in barriers {
        for &v in live {
            let Some(home) = made.iter().position(|m| m.contains(v as usize)) else { continue };
            let further = around(*b).count() > around(home).count();
            if further && around(home).all(|l| l.nodes.contains(&(*b as BlockId))) {
                early.insert(v as usize);
            }
        }
    }
    early
}

/// What is in its place on all ways to the start of a block that are known so far.
fn at_start(f: &Func, b: usize, at_end: &[Option<BitSet>]) -> BitSet {
    let mut ways = f.blocks[b].preds.iter().filter_map(|p| at_end[*p as usize].as_ref());
    let none = || BitSet::with_capacity(f.insts.len());
    if b == 0 {
        return none();
    }
    let Some(first) = ways.next() else { return none() };
    let mut all = first.clone();
    all.grow(f.insts.len());
    ways.for_each(|way| all.intersect_with(way));
    all
}

#[cfg(test)]
mod tests {
    use ptx_parse::lower::lower;

    use super::Saved;
    use crate::ir::{BlockId, Func, Term, Val};
    use crate::live::Liveness;
    use crate::middle::middle;
    use crate::options::Options;
    use crate::range::Assumptions;

    /// A loop over two barriers: `%r1` and `%r3` are made in front of it, `%r5` between its barriers.
    const LOOP: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 to, .param .u32 n)
{
    .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p; .shared .align 4 .b32 a[64];
    ld.param.u64 %rd1, [to]; ld.param.u32 %r6, [n];
    mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, a; add.u32 %r3, %r3, %r2; mov.u32 %r4, 0;
$again:
    st.shared.u32 [%r3], %r4; bar.sync 0;
    ld.shared.u32 %r5, [a+4]; bar.sync 0;
    add.u32 %r4, %r4, %r5; xor.b32 %r4, %r4, %r1; sub.u32 %r6, %r6, 1; setp.ne.u32 %p, %r6, 0;
    @%p bra $again;
    cvt.u64.u32 %rd2, %r2; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r4; ret;
}
";

    fn live_at(f: &Func, b: BlockId) -> Vec<Val> {
        let live = &Liveness::new(f).starts[b as usize];
        live.ones().map(|v| v as Val).filter(|v| !f.leaf(*v)).collect()
    }

    #[test]
    fn barriers_of_a_loop_save_what_changes() {
        let (module, _) = ptx_parse::parse_and_verify(LOOP, "k.ptx");
        let program = lower(&module.expect("it parses"), 0).expect("it is lowered");
        let widest = crate::backend::widest();
        let none = Assumptions::none();
        let kernel = middle(&program, [64, 1, 1], &none, Options::default(), widest).unwrap();
        let f = &kernel.func;
        let saved = Saved::new(f, |b| live_at(f, b));
        let mut counts = Vec::new();
        for (b, block) in f.blocks.iter().enumerate() {
            let Term::Bar(_, next) = block.term else { continue };
            let live = live_at(f, next);
            let there = live.iter().filter(|v| saved.is_there(b as BlockId, **v)).count();
            counts.push((live.len() - there, there > 0));
        }
        // The first one saves the sum and the counter, the second one what was loaded.
        assert_eq!(counts, [(2, true), (1, true)]);
        let early: usize = (0..f.blocks.len()).map(|b| saved.early(b as BlockId).len()).sum();
        assert!(early > 0, "what is made in front of the loop is saved there");
    }
}
