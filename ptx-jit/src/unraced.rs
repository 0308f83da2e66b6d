//! Accesses to shared memory that race with nothing, so that nobody need look at them.
//!
//! Threads of a block that come to the same barrier all go on from there at once, and nothing of what they do before
//! the next barrier is ordered. So an access races only with what threads can come to from a barrier from which they
//! come to it, both without another barrier. A read races with nothing where nobody writes there, whatever its
//! addresses are. Others do not where the words that each thread touches are known ([`Places`]) and are no other
//! thread's.

use std::collections::HashSet;
use std::ops::Range;

use ptx_isa::Space;
use ptx_isa::effect::{Access, Touches};
use ptx_isa::special::Sreg;

use crate::geometry::Geometry;
use crate::ir::{BlockId, Func, Op, Term, Val};

/// Most values of threads that are found out for a kernel; half of the words that are looked at for it.
const MOST: usize = 1 << 20;
/// Words of shared memory that are told apart; no block has more.
const WORDS: usize = 1 << 16;

/// Those accesses, by effect, where races are looked for.
pub(crate) fn unraced(f: &Func, g: Geometry) -> HashSet<u32> {
    if !f.watched.tracked().is_some_and(|tracked| tracked.races) {
        return HashSet::new();
    }
    let mut starts: Vec<BlockId> = vec![0];
    starts.extend(f.blocks.iter().filter_map(|b| match b.term {
        Term::Bar(_, next) => Some(next),
        Term::Jump(_) | Term::Br(..) | Term::Brx(..) | Term::Exit => None,
    }));
    let effects = |b: BlockId| {
        let values = f.blocks[b as usize].insts.iter();
        values.filter_map(|v| match f.insts[*v as usize].op {
            Op::Effect(e) => Some(e),
            _ => None,
        })
    };
    let places = Places::new(f, g);
    let mut between = Between::new(&places);
    let (mut unraced, mut raced) = (HashSet::new(), HashSet::new());
    for start in starts {
        let mut seen = vec![false; f.blocks.len()];
        let mut open = vec![start];
        let mut here = Vec::new();
        while let Some(b) = open.pop() {
            if std::mem::replace(&mut seen[b as usize], true) {
                continue;
            }
            // What other instructions do to memory ends a launch that is watched.
            here.extend(effects(b).filter(|e| may_share(f, *e)));
            let block = &f.blocks[b as usize];
            if !matches!(block.term, Term::Bar(..)) {
                open.extend(block.term.succs());
            }
        }
        between.look(f, &here);
        raced.extend(here.iter().copied().filter(|e| !between.alone(f, *e)));
        unraced.extend(here);
    }
    unraced.retain(|e| !raced.contains(e));
    unraced
}

/// Whether an effect may touch shared memory.
fn may_share(f: &Func, e: u32) -> bool {
    let access = f.effects[e as usize].effect.access();
    access.is_some_and(|a| matches!(a.place.space, Space::Shared | Space::Generic))
}

fn touches(f: &Func, e: u32) -> Option<Touches> {
    f.effects[e as usize].effect.access().map(|a| a.touches)
}

/// Where each thread of a block accesses shared memory, as far as that follows from its number alone.
struct Places<'a> {
    f: &'a Func,
    g: Geometry,
    /// By value, those of all threads where they are known and asked for.
    of: Vec<Vec<u64>>,
}

impl Places<'_> {
    fn new(f: &Func, g: Geometry) -> Places<'_> {
        let (known, order) = known(f);
        let mut wanted = vec![false; f.insts.len()];
        for v in &order {
            if let Op::Effect(e) = f.insts[*v as usize].op
                && may_share(f, e)
                && let Some(address) = f.effects[e as usize].src.first()
            {
                wanted[*address as usize] = known[*address as usize];
            }
        }
        for v in order.iter().rev() {
            let i = &f.insts[*v as usize];
            if wanted[*v as usize] && matches!(i.op, Op::Pure(..)) {
                i.args.iter().for_each(|a| wanted[*a as usize] = true);
            }
        }
        let mut places = Places { f, g, of: vec![Vec::new(); f.insts.len()] };
        let threads = g.threads() as usize;
        let most = MOST / threads.max(1);
        let wanted = order.into_iter().filter(|v| wanted[*v as usize]);
        for v in wanted.filter(|v| matches!(f.insts[*v as usize].op, Op::Pure(..))).take(most) {
            let all: Option<Vec<u64>> = (0..threads).map(|t| places.pure(v, t)).collect();
            places.of[v as usize] = all.unwrap_or_default();
        }
        places
    }

    fn pure(&self, v: Val, thread: usize) -> Option<u64> {
        let i = &self.f.insts[v as usize];
        let Op::Pure(op, k) = i.op else { return None };
        let mut args = [0; 3];
        for (to, a) in args.iter_mut().zip(&i.args) {
            *to = self.value(*a, thread)?;
        }
        Some(ptx_isa::uop::eval(op, args, k))
    }

    /// The value that a thread has; `None`: it is not known.
    fn value(&self, v: Val, thread: usize) -> Option<u64> {
        match self.f.insts[v as usize].op {
            Op::Const(c) => Some(c),
            Op::Special(s) => number(s, self.g, thread as u32),
            _ => self.of[v as usize].get(thread).copied(),
        }
    }

    /// The words of shared memory that a thread touches by an effect.
    fn words(&self, e: u32, thread: usize) -> Option<Range<usize>> {
        let e = &self.f.effects[e as usize];
        let access = e.effect.access().filter(|a| a.place.space == Space::Shared)?;
        let at = self.value(*e.src.first()?, thread)?.wrapping_add(access.place.offset as u64);
        // Addresses of 32 bits wrap.
        let first = at as u32 as usize;
        let end = (first + access.bytes as usize).div_ceil(4);
        (end <= WORDS).then_some(first / 4..end)
    }
}

/// Whether each value follows from constants and the thread's number, and the values in the order of the code.
fn known(f: &Func) -> (Vec<bool>, Vec<Val>) {
    let one = Geometry { block: [1; 3], width: 1 };
    let leaf = |op: &Op| match op {
        Op::Const(_) => true,
        Op::Special(s) => number(*s, one, 0).is_some(),
        _ => false,
    };
    let mut known: Vec<bool> = f.insts.iter().map(|i| leaf(&i.op)).collect();
    let order: Vec<Val> = f.blocks.iter().flat_map(|b| b.insts.iter().copied()).collect();
    for v in &order {
        let i = &f.insts[*v as usize];
        if let Op::Pure(..) = i.op {
            known[*v as usize] = i.args.len() <= 3 && i.args.iter().all(|a| known[*a as usize]);
        }
    }
    (known, order)
}

/// What a special register is for a thread, by its number in the block alone.
fn number(s: Sreg, g: Geometry, thread: u32) -> Option<u64> {
    let [x, y, _] = g.block;
    let n = match s {
        Sreg::TidX => thread % x,
        Sreg::TidY => thread / x % y,
        Sreg::TidZ => thread / x / y,
        Sreg::LaneId => thread % 32,
        _ => return None,
    };
    Some(n.into())
}

/// Who touches a word.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Who {
    Nobody,
    Thread(u16),
    Several,
}

impl Who {
    fn and(self, thread: usize) -> Who {
        match self {
            Who::Nobody => Who::Thread(thread as u16),
            Who::Thread(t) if usize::from(t) == thread => self,
            Who::Thread(_) | Who::Several => Who::Several,
        }
    }
    fn at_most(self, thread: usize) -> bool {
        self == Who::Nobody || self == Who::Thread(thread as u16)
    }
}

/// What is done between one barrier and the next.
struct Between<'a> {
    places: &'a Places<'a>,
    /// By word: who writes and who reads there.
    words: Vec<[Who; 2]>,
    /// Whether there are writes.
    writes: bool,
    /// Whether there are writes, and reads, that may be anywhere.
    anywhere: [bool; 2],
    /// Words that may still be looked at.
    left: usize,
}

impl<'a> Between<'a> {
    fn new(places: &'a Places<'a>) -> Between<'a> {
        Between { places, words: Vec::new(), writes: false, anywhere: [false; 2], left: 2 * MOST }
    }

    /// The words that an effect touches, by thread, where all of them are known.
    fn all(&mut self, e: u32) -> Option<Vec<Range<usize>>> {
        let threads = self.places.g.threads() as usize;
        let first = self.places.words(e, 0)?;
        self.left = self.left.checked_sub(threads * first.len())?;
        (0..threads).map(|t| self.places.words(e, t)).collect()
    }

    /// Looks at these effects, which nothing orders.
    fn look(&mut self, f: &Func, here: &[u32]) {
        self.words.fill([Who::Nobody; 2]);
        self.anywhere = [false; 2];
        self.writes = here.iter().any(|e| touches(f, *e) != Some(Touches::Read));
        if !self.writes {
            return;
        }
        for e in here {
            let kind = usize::from(touches(f, *e) == Some(Touches::Read));
            let Some(all) = self.all(*e) else {
                self.anywhere[kind] = true;
                continue;
            };
            let end = all.iter().map(|words| words.end).max().unwrap_or(0);
            self.words.resize(end.max(self.words.len()), [Who::Nobody; 2]);
            for (thread, words) in all.into_iter().enumerate() {
                for word in &mut self.words[words] {
                    word[kind] = word[kind].and(thread);
                }
            }
        }
    }

    /// Whether what an effect touches is shared memory, and no other thread's access races with that.
    fn alone(&mut self, f: &Func, e: u32) -> bool {
        let reads = match f.effects[e as usize].effect.access() {
            Some(Access { place, touches: Touches::Read, .. }) if place.space == Space::Shared => {
                true
            }
            Some(Access { place, touches: Touches::Write, .. }) if place.space == Space::Shared => {
                false
            }
            _ => return false,
        };
        if !self.writes {
            return true;
        }
        let [writes_anywhere, reads_anywhere] = self.anywhere;
        if writes_anywhere || !reads && reads_anywhere {
            return false;
        }
        let Some(all) = self.all(e) else { return false };
        all.into_iter().enumerate().all(|(thread, words)| {
            self.words[words]
                .iter()
                .all(|[write, read]| write.at_most(thread) && (reads || read.at_most(thread)))
        })
    }
}

#[cfg(test)]
mod tests {
    use ptx_isa::effect::Touches;
    use ptx_parse::lower::lower;

    use super::{touches, unraced};
    use crate::geometry::Geometry;
    use crate::middle::middle;
    use crate::options::{Options, Tracked, Watched};
    use crate::range::Assumptions;

    /// Of a body with shared words, of which each of 64 threads has the address of its own in `%r2`: how many reads
    /// and writes race with nothing.
    fn counts(body: &str) -> [usize; 2] {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 to)\n{{
            .reg .b32 %r<16>; .reg .pred %p<4>; .shared .align 4 .b32 a[128];
            mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, a; add.u32 %r2, %r2, %r3;
            xor.b32 %r4, %r1, 1; shl.b32 %r4, %r4, 2; add.u32 %r4, %r4, %r3; {body} ret;\n}}\n"
        );
        let (module, _) = ptx_parse::parse_and_verify(&text, "k.ptx");
        let program = lower(&module.expect("it parses"), 0).expect("it is lowered");
        let tracked =
            Tracked { races: true, unwritten: false, shared_words: true, global_words: true };
        let options = Options { watched: Watched::Accesses(tracked), ..Options::default() };
        let widest = crate::backend::widest();
        let kernel = middle(&program, [64, 1, 1], &Assumptions::none(), options, widest).unwrap();
        let found = unraced(&kernel.func, Geometry { block: [64, 1, 1], width: 16 });
        let of = |wanted| found.iter().filter(|e| touches(&kernel.func, **e) == wanted).count();
        [of(Some(Touches::Read)), of(Some(Touches::Write))]
    }

    #[test]
    fn words_of_their_own_race_with_nothing() {
        let own = "ld.shared.u32 %r5, [%r2]; add.u32 %r5, %r5, 1; st.shared.u32 [%r2], %r5;";
        assert_eq!(counts(own), [1, 1]);
        // The word behind is the next thread's.
        let next = "ld.shared.u32 %r5, [%r2+4]; add.u32 %r5, %r5, 1; st.shared.u32 [%r2], %r5;";
        assert_eq!(counts(next), [0, 0]);
        // All words of the upper half are nobody else's.
        let upper = "ld.shared.u32 %r5, [%r2+256]; add.u32 %r5, %r5, 1; st.shared.u32 [%r2], %r5;";
        assert_eq!(counts(upper), [1, 1]);
    }

    #[test]
    fn barriers_order_what_threads_exchange() {
        let turn = "st.shared.u32 [%r2], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4]; bar.sync 0;
            st.shared.u32 [%r2], %r5;";
        assert_eq!(counts(turn), [1, 2]);
        // The second write is not ordered behind the read of a neighbour.
        let early = "st.shared.u32 [%r2], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4];
            st.shared.u32 [%r2], %r5;";
        assert_eq!(counts(early), [0, 1]);
    }

    #[test]
    fn what_may_be_anywhere_races() {
        let place = "ld.param.u32 %r6, [to]; add.u32 %r6, %r6, %r3;";
        let own = "ld.shared.u32 %r5, [%r2]; st.shared.u32 [%r2], %r1;";
        assert_eq!(counts(&format!("{place} {own} st.shared.u32 [%r6], %r5;")), [0, 0]);
        // A read that may be anywhere does not trouble reads.
        let read = "ld.shared.u32 %r7, [%r6]; add.u32 %r5, %r5, %r7; st.shared.u32 [%r2], %r5;";
        assert_eq!(counts(&format!("{place} {own} {read}")), [1, 0]);
        assert_eq!(counts(&format!("{own} atom.shared.add.u32 %r7, [%r4], %r5;")), [0, 0]);
        assert_eq!(counts("st.shared.u32 [%r3], %r1;"), [0, 0]);
    }
}
