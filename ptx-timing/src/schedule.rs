//! The order in which the assembler would issue the instructions of a basic block.
//!
//! PTX is not what the hardware runs: `ptxas` reorders each basic block so that loads start early
//! and their latencies overlap. A trace in PTX order would wait for every load where its result is
//! first used, several times too long in an unrolled loop. This pass does list scheduling by
//! critical path, as an assembler does, under the dependences of registers and memory.

use crate::allocate::{Allocator, Partners};
use crate::arguments;
use crate::event::{Code, Event, Instruction, Register};
use crate::flights::{Choice, SHARED_WORDS, USUAL, flights, loads};
use crate::live;
use crate::order::Graph;
use crate::pressure::{Piece, Rest, Sizes};
use crate::profile::Profile;
use crate::scoreboard::{Waits, waits};
use ptx_isa::Class;

/// Issue order of every basic block that is worth reordering, by its first instruction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Schedule {
    /// (first instruction, order relative to it), ascending.
    blocks: Vec<(u32, Vec<u32>)>,
    /// (first instruction, 32-bit words that live at most), of all blocks, where that is known.
    pub peaks: Vec<(u32, u32)>,
    /// What instructions wait for besides their operands.
    pub waits: Vec<(u32, Waits)>,
    /// The first instruction of each piece, and the one behind its last.
    pieces: Vec<(u32, u32)>,
}

/// Blocks longer than this are scheduled in pieces of this size; the search is quadratic.
const WINDOW: usize = 512;

/// The instructions of a block, or of a piece of a long one: the first and the one behind the last.
struct Span {
    start: usize,
    stop: usize,
    /// Registers that live behind them, where that is known.
    end: Option<live::Set>,
    /// What the loop around them reads.
    looped: Vec<Register>,
    /// What the outermost loop around them reads.
    around: Vec<Register>,
}

/// The pieces of all blocks in their order.
fn spans(code: &Code) -> Vec<Span> {
    let mut spans = Vec::new();
    let all = code.instructions.len();
    let used = code.instructions.iter().flat_map(|i| i.reads.iter().chain(&i.writes));
    let registers = used.max().map_or(0, |r| *r as usize + 1).max(code.words.len());
    for (b, &first) in code.leaders.iter().enumerate() {
        let end = code.leaders.get(b + 1).map_or(all, |l| (*l as usize).min(all));
        let mut live = code.lives.get(b).map(|list| live::Set::of(registers, list));
        let mut own = Vec::new();
        let starts: Vec<usize> = (first as usize..end).step_by(WINDOW).collect();
        for &start in starts.iter().rev() {
            let stop = end.min(start + WINDOW);
            let looped = code.looped.get(b).cloned().unwrap_or_default();
            let around = code.around.get(b).cloned().unwrap_or_default();
            own.push(Span { start, stop, end: live.clone(), looped, around });
            if let Some(live) = &mut live {
                code.instructions[start..stop].iter().rev().for_each(|i| live::step(i, live));
            }
        }
        own.reverse();
        spans.extend(own);
    }
    spans
}

impl Schedule {
    /// Schedules all basic blocks of a kernel whose launch has so many registers. Without
    /// `Code::leaders` nothing is reordered.
    ///
    /// An assembler that saves registers uses those that cost no resident block ([`Budget`](crate::budget::Budget)),
    /// and those that some piece cannot do without with a few loads under way, up to the next number that costs a
    /// block; it takes fewer loads ahead where these do not last.
    pub fn new(profile: &Profile, code: &Code, registers: u32) -> Self {
        let mut spans = spans(code);
        let saves = profile.assembler.saves_registers;
        let sizes = Sizes::new(code, saves);
        let keeping = sizes.keeping();
        let costs = sizes.costs(code);
        let partners = Partners::new(&code.instructions, &sizes);
        let (budget, own) = (&code.budget, profile.assembler.own_registers);
        let free = budget.free(profile);
        let directed = budget.directed(profile).is_some();
        let room = match directed {
            // What the launch has is what directives allowed.
            true if registers > 0 => registers,
            _ => registers.max(free),
        };
        let mut room = room.saturating_sub(own);
        // What directives allow beyond that is for loads, not for values made early.
        let undirected = budget.without_directives().free(profile).saturating_sub(own);
        let usual = if directed && registers == 0 { room.min(undirected) } else { room };
        if profile.assembler.loads_addends {
            spans.iter_mut().for_each(|span| span.load_arguments(code, &sizes, free));
        }
        let mut orders = Vec::with_capacity(spans.len());
        for span in &spans {
            let graph = Graph::new(profile, code, span.start..span.stop);
            let order = graph.order();
            let piece = span.piece(code);
            let peak = piece.as_ref().map(|p| p.peak(&order, &sizes));
            // What is computed beside loads goes late: an order from the end, and what is kept across blocks.
            let late = piece.as_ref().filter(|piece| saves && piece.list.iter().any(loads));
            let late = late.map(|piece| {
                let order = graph.late_order();
                [&sizes, &keeping].map(|of| Allocator::new(piece, of, &partners).registers(&order))
            });
            // Those that need more than there is, with an order that needs little.
            let lean = piece.filter(|_| !saves || peak.is_some_and(|p| p > usual)).map(|piece| {
                let lean = piece.lean(&graph.before, &sizes);
                (piece, graph, lean)
            });
            orders.push((order, peak, late, lean));
        }
        // What blocks need that take registers of which more cost resident warps.
        let mut dear = vec![0; orders.len()];
        // Registers that are counted: values that machine code makes anew are not known, so that orders get those of
        // wide loads from shared memory besides.
        let mut counted = if saves { usual } else { u32::MAX };
        for (((_, _, _, lean), span), dear) in orders.iter().zip(&spans).zip(&mut dear) {
            let Some((piece, graph, (lean, least))) = lean.as_ref().filter(|_| saves) else {
                continue;
            };
            // A directive that says how many registers there are leaves values in them.
            let anew = Some((&span.around[..], &costs[..])).filter(|_| !directed);
            let with = Needs::new(piece, graph, (lean, *least), &sizes, anew);
            let needs = |words| with.choice(Choice { flights: flights(piece).0, words, ..USUAL });
            let spent = if directed {
                let wide = |i: &Instruction| i.class == Class::LoadShared && i.writes.len() > 1;
                let words = if piece.list.iter().any(wide) { SHARED_WORDS } else { usize::MAX };
                with.choice(Choice { words, ..USUAL }).min(room)
            } else {
                budget.at_no_cost(profile, needs(SHARED_WORDS) + own) - own
            };
            let needs = needs(usize::MAX);
            room = room.max(budget.at_no_cost(profile, needs + own) - own);
            counted = counted.max(spent);
            if needs > free.saturating_sub(own) {
                *dear = needs;
            }
        }
        let most = dear.iter().copied().max().unwrap_or(0);
        let barriers = profile.issue.dependency_barriers as usize;
        let mut out = Self::default();
        for ((span, (mut order, mut peak, late, lean)), dear) in spans.iter().zip(orders).zip(dear)
        {
            // What one block needs is there for the others.
            let dearest = dear > 0 && dear == most;
            let wanted = peak;
            if !saves {
                peak = lean.map(|(_, _, (_, least))| least);
            } else if let Some((piece, graph, (least, _))) = lean
                && peak.is_some_and(|p| p > room)
            {
                let few = Choice { flights: flights(&piece).1, until_first: true, ..USUAL };
                let choice = if few.flights > 0 && dearest { few } else { USUAL };
                order = graph.best_within(&piece, &least, &sizes, (room, choice));
                peak = Some(piece.peak(&order, &sizes));
            }
            if let Some(piece) = span.piece(code).filter(|_| saves) {
                let taken = Allocator::new(&piece, &sizes, &partners).registers(&order);
                let kept = Allocator::new(&piece, &keeping, &partners).registers(&order);
                let ahead =
                    peak.filter(|_| wanted.is_none_or(|wanted| wanted <= room)).unwrap_or(0);
                peak = peak.map(|peak| match late {
                    // What goes late fits: it takes these registers, and what goes ahead as many as it counts, if it
                    // fits too. Around calls ptxas was not seen to do so.
                    Some([late, kept]) if late <= room && !code.calls => {
                        late.max(kept.min(usual)).max(ahead)
                    }
                    late => {
                        let late = late.filter(|_| !dearest).map_or(0, |late| late[0]);
                        peak.max(taken.max(late).min(room)).max(kept.min(usual))
                    }
                });
            }
            out.peaks.extend(peak.map(|peak| (span.start as u32, peak.min(counted))));
            if barriers > 0 {
                let list = &code.instructions[span.start..span.stop];
                let found = waits(list, &order, barriers).into_iter();
                out.waits.extend(found.map(|(i, waits)| (span.start as u32 + i, waits)));
            }
            out.pieces.push((span.start as u32, span.stop as u32));
            if order.iter().enumerate().any(|(i, &o)| i as u32 != o) {
                out.blocks.push((span.start as u32, order));
            }
        }
        out
    }

    /// The instructions of each piece in their order.
    pub fn pieces(&self) -> impl Iterator<Item = Vec<u32>> {
        self.pieces.iter().map(|&(start, stop)| {
            let found = self.blocks.binary_search_by_key(&start, |b| b.0);
            let order = found.ok().map(|at| &self.blocks[at].1);
            order.map_or_else(
                || (start..stop).collect(),
                |order| order.iter().map(|o| start + o).collect(),
            )
        })
    }

    /// Reorders a warp's events block by block.
    pub fn apply(&self, events: &mut [Event]) {
        if self.blocks.is_empty() {
            return;
        }
        let mut buffer = Vec::new();
        let mut at = 0;
        while at < events.len() {
            let first = events[at].pc;
            let Ok(index) = self.blocks.binary_search_by_key(&first, |b| b.0) else {
                at += 1;
                continue;
            };
            let order = &self.blocks[index].1;
            let Some(block) = events.get_mut(at..at + order.len()) else {
                at += 1;
                continue;
            };
            // Only what ran through as one piece is one piece.
            let whole = block.iter().enumerate().all(|(i, e)| e.pc == first + i as u32);
            if whole {
                buffer.clear();
                buffer.extend(order.iter().map(|&o| block[o as usize]));
                block.copy_from_slice(&buffer);
            }
            at += order.len();
        }
    }
}

/// What orders of a piece need that let loads go ahead.
struct Needs<'a> {
    graph: &'a Graph,
    piece: &'a Piece<'a>,
    sizes: &'a Sizes,
    /// The order that needs least, and what that is.
    lean: (&'a [u32], u32),
    /// The same where values of other blocks are made anew there, with what the loop reads of this piece.
    anew: Option<(Sizes, Vec<u32>, u32, Vec<Register>)>,
}

impl<'a> Needs<'a> {
    /// `anew`: what the loops around the piece read, and how many instructions make each register.
    fn new(
        piece: &'a Piece<'a>,
        graph: &'a Graph,
        lean: (&'a [u32], u32),
        sizes: &'a Sizes,
        anew: Option<(&[Register], &[Option<u32>])>,
    ) -> Self {
        let reads = |r: &Register| piece.list.iter().any(|i| i.reads.contains(r));
        let anew = anew.map(|(around, costs)| {
            let elsewhere = around.iter().copied().filter(|r| !reads(r));
            let sizes = sizes.anew(elsewhere, costs);
            let (lean, least) = piece.lean(&graph.before, &sizes);
            let own = piece.looped.iter().copied().filter(reads).collect();
            (sizes, lean, least, own)
        });
        Self { graph, piece, sizes, lean, anew }
    }

    /// Words with a choice of orders: values are made anew to let loads go ahead, not to need less without that.
    fn choice(&self, choice: Choice) -> u32 {
        let peak = |piece: &Piece<'_>, lean: &[u32], sizes: &Sizes| {
            let rest = Rest::new(piece, lean.to_vec(), sizes, u32::MAX);
            piece.peak(&self.graph.order_within(rest, piece, choice), sizes)
        };
        let (lean, least) = self.lean;
        let usual = peak(self.piece, lean, self.sizes).max(least);
        self.anew.iter().fold(usual, |usual, (sizes, lean, least, looped)| {
            let own = Piece { end: self.piece.end.clone(), looped, ..*self.piece };
            usual.min(peak(&own, lean, sizes).max(*least))
        })
    }
}

impl Span {
    /// Leaves as many arguments in registers throughout a loop as there is room for.
    fn load_arguments(&mut self, code: &Code, sizes: &Sizes, registers: u32) {
        let text: Vec<u32> = (0..(self.stop - self.start) as u32).collect();
        loop {
            let Some(piece) = self.piece(code) else { return };
            if arguments::fit(piece.peak(&text, sizes), registers) {
                return;
            }
            let argument = (0..self.looped.len()).filter(|at| sizes.argument(self.looped[*at]));
            let Some(least) = argument.min_by_key(|at| sizes.of(self.looped[*at])) else { return };
            self.looped.remove(least);
        }
    }

    fn piece<'a>(&'a self, code: &'a Code) -> Option<Piece<'a>> {
        let list = &code.instructions[self.start..self.stop];
        self.end.clone().map(|end| Piece { list, end, looped: &self.looped })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Catalog;

    /// Fifty loads, each with a sum behind it: as many go ahead as 32 registers hold.
    #[test]
    fn loads_go_ahead_as_far_as_registers_last() {
        let profile = Catalog::embedded().unwrap().get("H200").unwrap();
        let (address, sum) = (0, 1);
        let mut instructions = Vec::new();
        for value in 2..52 {
            instructions.push(Instruction::new(Class::LoadGlobal, &[value], &[address]));
            instructions.push(Instruction::new(Class::F32Add, &[sum], &[sum, value]));
        }
        let code = Code {
            instructions,
            leaders: vec![0],
            lives: vec![vec![sum]],
            words: vec![1; 52],
            ..Code::default()
        };
        let schedule = Schedule::new(&profile, &code, 0);
        assert_eq!(schedule.peaks, [(0, 29)]);
        let order = &schedule.blocks[0].1;
        let ahead = order.iter().take_while(|i| **i % 2 == 0).count();
        assert!((25..=29).contains(&ahead), "{ahead}");
        // All that is in the text is in the order, once.
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..100));
    }

    /// What ends a block for the assembler, as a quotient of doubles does, keeps the load behind it waiting.
    #[test]
    fn nothing_moves_across_the_end_of_a_block() {
        let profile = Catalog::embedded().unwrap().get("H200").unwrap();
        let order_with = |splits| {
            let instructions = vec![
                Instruction { splits, ..Instruction::new(Class::F64Div, &[1], &[0]) },
                Instruction::new(Class::LoadGlobal, &[3], &[2]),
                Instruction::new(Class::F64Add, &[4], &[1, 3]),
            ];
            let code =
                Code { instructions, leaders: vec![0], words: vec![2; 5], ..Code::default() };
            let schedule = Schedule::new(&profile, &code, 0);
            schedule.blocks.first().map_or(vec![0, 1, 2], |b| b.1.clone())
        };
        assert_eq!(order_with(true), [0, 1, 2]);
        assert_eq!(order_with(false), [1, 0, 2]);
    }

    /// Eight bodies act on one: four words are loaded, a distance is made of them, and sums of that. Not chain after
    /// chain, though all eight loads do not fit into the registers.
    #[test]
    fn chains_go_side_by_side_where_registers_are_short() {
        const STEPS: usize = 14;
        let profile = Catalog::embedded().unwrap().get("H200").unwrap();
        // An address, a place, and three sums.
        let (address, place, sums) = (0, [1, 2, 3], [4, 5, 6]);
        let mut next = 7;
        let mut register = || {
            next += 1;
            next - 1
        };
        let mut instructions = Vec::new();
        for _ in 0..8 {
            let words: [Register; 4] = std::array::from_fn(|_| register());
            instructions.push(Instruction::new(Class::LoadShared, &words, &[address]));
            let distance: [Register; 3] = std::array::from_fn(|_| register());
            for i in 0..3 {
                instructions.push(Instruction::new(
                    Class::F32Add,
                    &[distance[i]],
                    &[words[i], place[i]],
                ));
            }
            let mut last = register();
            instructions.push(Instruction::new(Class::F32Mul, &[last], &[distance[1]]));
            let mut chain = |class: Class, more: &[Register]| {
                let reads: Vec<Register> = more.iter().copied().chain([last]).collect();
                last = register();
                instructions.push(Instruction::new(class, &[last], &reads));
                last
            };
            chain(Class::F32Fma, &[distance[0]]);
            chain(Class::F32Fma, &[distance[2]]);
            let root = chain(Class::F32Rsqrt, &[]);
            chain(Class::F32Mul, &[words[3]]);
            chain(Class::F32Mul, &[root]);
            let force = chain(Class::F32Mul, &[root]);
            for i in 0..3 {
                instructions.push(Instruction::new(
                    Class::F32Fma,
                    &[sums[i]],
                    &[distance[i], force, sums[i]],
                ));
            }
        }
        let code = Code {
            instructions,
            leaders: vec![0],
            lives: vec![vec![0, 1, 2, 3, 4, 5, 6]],
            words: vec![1; next as usize],
            ..Code::default()
        };
        let schedule = Schedule::new(&profile, &code, 0);
        let order = &schedule.blocks[0].1;
        let chain = |i: u32| i as usize / STEPS;
        let changes = order.windows(2).filter(|w| chain(w[0]) != chain(w[1])).count();
        assert!(changes > order.len() / 2, "{changes} changes between chains: {order:?}");
    }

    /// Sixty loads from shared memory and their sum: ptxas 13.5 has ten loads ahead of the first addition, however many
    /// registers there are.
    #[test]
    fn loads_from_shared_memory_go_ahead_as_long_as_one_takes() {
        let profile = Catalog::embedded().unwrap().get("H200").unwrap();
        let load = |i: u32| Instruction::new(Class::LoadShared, &[2 + i], &[0]);
        let add = |i: u32| Instruction::new(Class::F32Add, &[1], &[1, 2 + i]);
        let instructions = (0..60).map(load).chain((0..60).map(add)).collect();
        let code = Code { instructions, leaders: vec![0], words: vec![1; 62], ..Code::default() };
        let order = Schedule::new(&profile, &code, 255).blocks[0].1.clone();
        let ahead = order.iter().take_while(|i| **i < 60).count();
        assert!((10..=12).contains(&ahead), "{ahead}: {order:?}");
    }

    /// Six times a barrier and a sum that nothing waits for: sums go ahead of one barrier, not of two.
    #[test]
    fn barriers_are_passed_one_at_a_time() {
        let profile = Catalog::embedded().unwrap().get("H200").unwrap();
        let mut instructions = vec![Instruction::new(Class::LoadGlobal, &[1], &[0])];
        for i in 0..6 {
            instructions.push(Instruction::new(Class::StoreShared, &[], &[0, 1 + 2 * i]));
            instructions.push(Instruction::new(Class::Barrier, &[], &[]));
            instructions.push(Instruction::new(Class::IntAdd, &[2 + 2 * i], &[0]));
            instructions.push(Instruction::new(Class::LoadShared, &[3 + 2 * i], &[2 + 2 * i]));
        }
        let code = Code { instructions, leaders: vec![0], words: vec![1; 20], ..Code::default() };
        let order = Schedule::new(&profile, &code, 255).blocks[0].1.clone();
        let place = |i: u32| order.iter().position(|o| *o == i);
        let (barrier, sum) = (|i: u32| place(2 + 4 * i), |i: u32| place(3 + 4 * i));
        assert!((1..6).all(|i| sum(i) < barrier(i)), "{order:?}");
        assert!((2..6).all(|i| sum(i) > barrier(i - 1)), "{order:?}");
    }

    /// Twelve loads, each under a predicate that two comparisons make one after the other: the second one may take the
    /// place of the first, and no load waits for the sum of another one.
    #[test]
    fn predicates_are_made_in_the_place_of_others() {
        let profile = Catalog::embedded().unwrap().get("H200").unwrap();
        let (address, bound) = (0, 1);
        let mut instructions = Vec::new();
        for i in 0..12 {
            let (first, both, value) = (20 + i, 40 + i, 60 + i);
            instructions.push(Instruction::new(Class::Compare, &[first], &[address, bound]));
            instructions.push(Instruction::new(Class::Compare, &[both], &[address, first]));
            let load = Instruction::new(Class::LoadGlobal, &[value], &[address]);
            instructions.push(load.guarded(both));
            instructions.push(Instruction::new(Class::Move, &[], &[]).guarded(both));
            instructions.push(Instruction::new(Class::F32Add, &[80 + i], &[value]));
        }
        let words = (0..100).map(|r| u8::from(!(20..60).contains(&r))).collect();
        let code = Code { instructions, leaders: vec![0], words, ..Code::default() };
        let order = Schedule::new(&profile, &code, 255).blocks[0].1.clone();
        let place = |i: u32| order.iter().position(|o| *o == i);
        let last = (0..12).filter_map(|i| place(5 * i + 2)).max();
        assert!((0..12).all(|i| place(5 * i + 4) > last), "{order:?}");
    }

    /// No more than seven predicates are in use at once.
    #[test]
    fn a_warp_has_seven_predicates() {
        let profile = Catalog::embedded().unwrap().get("H200").unwrap();
        // Twelve comparisons that could go at once; what they guard waits for a load.
        let (address, bound, value) = (0, 1, 2);
        let mut instructions = vec![Instruction::new(Class::LoadGlobal, &[value], &[address])];
        for i in 0..12 {
            let predicate = 20 + i;
            instructions.push(Instruction::new(Class::Compare, &[predicate], &[address, bound]));
            let sum = Instruction::new(Class::F32Add, &[40 + i], &[value]);
            instructions.push(Instruction { guard: Some(predicate), ..sum });
        }
        let words = (0..60).map(|r| u8::from(!(20..32).contains(&r))).collect();
        let code = Code { instructions, leaders: vec![0], words, ..Code::default() };
        let order = Schedule::new(&profile, &code, 255).blocks[0].1.clone();
        let change = |i: &u32| match (i, i % 2) {
            (0, _) => 0,
            (_, 1) => 1,
            _ => -1,
        };
        let used = order.iter().scan(0, |used, i| {
            *used += change(i);
            Some(*used)
        });
        assert_eq!(used.max(), Some(7));
    }
}
