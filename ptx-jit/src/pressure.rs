//! How many vector registers a kernel needs at once.

use flow::{BitSet, Loop};

use crate::divergence::Divergence;
use crate::ir::{Func, Op, Val};
use crate::live::{self, Liveness};
use crate::native::makes_number;
use crate::variance::Variance;

/// Most blocks of a loop that counts as one in which registers matter.
const LARGE: usize = 12;

/// Vectors of 64-bit values up to which registers hold all that is alive at once; beyond that, the halves of the values
/// are computed one after the other ([`crate::uniform_loads`], `x86/halves`). The rest of 32 registers is for what is in
/// between.
pub(crate) const MOST_VECTORS_OF_LONGS: usize = 28;

/// Loops in which registers matter.
fn loops(f: &Func) -> Vec<Loop> {
    f.loops().into_iter().filter(|l| l.nodes.len() <= LARGE).collect()
}

/// Most vector registers that one slice needs at once, in loops if there are any.
pub(crate) fn pressure(f: &Func, divergence: &Divergence) -> u32 {
    let most = most_live(f, divergence, |_| true);
    let inside = loops(f).into_iter().flat_map(|l| l.nodes).map(|b| most[b as usize]).max();
    inside.or_else(|| most.iter().copied().max()).unwrap_or(0)
}

/// Whether two slices are worth it although 32 registers do not hold both: what the loops compute fits, and what they
/// only read is little beside what they do, so that it may lie in memory.
pub(crate) fn two_slices_from_memory(f: &Func, divergence: &Divergence) -> bool {
    /// Vectors that the loops may compute at once, of one slice.
    const MADE: u32 = 12;
    /// Instructions for each vector that is loaded again in each turn.
    const WORK: u32 = 4;
    let loops = loops(f);
    let all = most_live(f, divergence, |_| true);
    let fits = |around: &Loop| {
        let (made, work) = computes(f, divergence, around);
        let own = most_live(f, divergence, |v| made.contains(v as usize));
        let most = |live: &[u32]| around.nodes.iter().map(|b| live[*b as usize]).max().unwrap_or(0);
        let (own, all) = (most(&own), most(&all));
        own <= MADE && work >= WORK * (all - own)
    };
    !loops.is_empty() && loops.iter().all(fits)
}

/// The values that a loop computes, and how many instructions on vectors a turn has.
fn computes(f: &Func, divergence: &Divergence, around: &Loop) -> (BitSet, u32) {
    let mut made = BitSet::with_capacity(f.insts.len());
    let mut work = 0;
    for &v in around.nodes.iter().flat_map(|b| &f.blocks[*b as usize].insts) {
        made.insert(v as usize);
        match f.insts[v as usize].op {
            Op::Effect(e) => {
                f.effects[e as usize].dst.iter().for_each(|d| made.insert(*d as usize))
            }
            Op::Pure(..) => work += weight(f, divergence, v),
            _ => {}
        }
    }
    (made, work)
}

/// Vector registers that one slice needs for a value.
fn weight(f: &Func, divergence: &Divergence, v: Val) -> u32 {
    if divergence.of[v as usize] != Variance::Varying || f.leaf(v) {
        return 0;
    }
    if f.insts[v as usize].kind == ptx_isa::Kind::D { 2 } else { 1 }
}

/// Most vector registers that one slice needs at once in each block for values of 64 bits, which are two vectors each.
pub(crate) fn pressure_of_longs(f: &Func, divergence: &Divergence) -> Vec<u32> {
    most_live(f, divergence, |v| f.insts[v as usize].kind == ptx_isa::Kind::D)
}

/// Most vector registers that one slice needs at once in each block, for the values that count.
fn most_live(f: &Func, divergence: &Divergence, counts: impl Fn(Val) -> bool) -> Vec<u32> {
    let live = Liveness::new(f);
    let weight = |v: Val| if counts(v) { weight(f, divergence, v) } else { 0 };
    let sum = |now: &BitSet| now.ones().map(|v| weight(v as Val)).sum::<u32>();
    let in_block = |b: usize| {
        let mut now = live.end(f, b as u32);
        let mut most = sum(&now);
        for v in f.blocks[b].insts.iter().rev() {
            live::step(f, *v, &mut now);
            most = most.max(sum(&now));
        }
        most
    };
    (0..f.blocks.len()).map(in_block).collect()
}

/// Whether the instructions on vectors of one slice leave the processor idle, as they wait for one another: in loops,
/// or in a kernel too long for groups to overlap.
pub(crate) fn waits_for_results(f: &Func, divergence: &Divergence) -> bool {
    /// Instructions that a processor has in flight, at least.
    const WINDOW: u32 = 64;
    /// Cycles of work for each hundred of waiting that keep it busy.
    const BUSY: u32 = 80;
    let inside: Vec<u32> = loops(f).into_iter().flat_map(|l| l.nodes).collect();
    let counts = |b: &u32| inside.is_empty() || inside.contains(b);
    let (mut all, mut work, mut chains) = (0, 0, 0);
    let mut ready = vec![0u32; f.insts.len()];
    for b in (0..f.blocks.len() as u32).filter(counts) {
        let mut longest = 0;
        for &v in &f.blocks[b as usize].insts {
            let made = weight(f, divergence, v);
            // In sixths of a cycle: how many start in one, and how long a result takes.
            let (each, latency) = match f.insts[v as usize].op {
                _ if made == 0 => (0, 0),
                Op::Pure(op, _) if makes_number(op) => (3, 24),
                Op::Pure(..) => (2, 6),
                _ => (0, 0),
            };
            let waits = f.reads(v).into_iter().map(|a| ready[a as usize]).max().unwrap_or(0);
            ready[v as usize] = waits + latency;
            if let Op::Effect(e) = f.insts[v as usize].op {
                f.effects[e as usize].dst.iter().for_each(|d| ready[*d as usize] = waits);
            }
            all += made;
            work += made * each;
            longest = longest.max(waits + latency);
        }
        chains += longest;
        ready.fill(0);
    }
    (!inside.is_empty() || all > WINDOW) && 100 * work < BUSY * chains
}
