//! The order in which the assembler would issue the instructions of a basic block.
//!
//! PTX is not what the hardware runs: `ptxas` reorders each basic block so that loads start early
//! and their latencies overlap. A trace in PTX order would wait for every load where its result is
//! first used, several times too long in an unrolled loop. This pass does list scheduling by
//! critical path, as an assembler does, under the dependences of registers and memory.

use std::cmp::Reverse;

use crate::effects::{MemoryEffect, apart, effect, ordered};
use crate::event::{Code, Event, Register};
use crate::flights::{Flights, flights, loads as loads_words};
use crate::live;
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

/// A load goes ahead with no more instructions than this, itself among them.
const GROUP: usize = 24;

/// Instructions that could go next, of which the most urgent ones are tried.
const TRIED: usize = 6;

/// How registers are shared out between loads and what is computed.
#[derive(Clone, Copy)]
struct Choice {
    /// Words that loads leave to others.
    reserve: u32,
    /// Whether values are made before they are needed, where nothing else can go.
    fills: bool,
    /// Loads whose results nobody has read yet, at most.
    flights: usize,
    /// Whether the first reader of a load ends its way; else the last does.
    until_first: bool,
}

/// Loads take all.
const USUAL: Choice = Choice { reserve: 0, fills: false, flights: usize::MAX, until_first: false };

/// What is tried besides: words that loads leave to others, and whether values are made before they are needed.
const CHOICES: [(u32, bool); 3] = [(0, true), (4, true), (8, true)];

/// The instructions of a block, or of a piece of a long one: the first and the one behind the last.
struct Span {
    start: usize,
    stop: usize,
    /// Registers that live behind them, where that is known.
    end: Option<live::Set>,
    /// What the loop around them reads.
    looped: Vec<Register>,
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
            own.push(Span { start, stop, end: live.clone(), looped });
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
    /// An assembler that saves registers uses those that cost no resident warp, and those that some
    /// block cannot do without with a few loads under way, up to the next number that costs a warp; it takes fewer
    /// loads ahead where these do not last.
    pub fn new(profile: &Profile, code: &Code, registers: u32) -> Self {
        let spans = spans(code);
        let saves = profile.assembler.saves_registers;
        let sizes = Sizes::new(code, saves);
        let free = profile.limits.registers_per_sm / profile.limits.max_threads_per_sm.max(1);
        let own = profile.assembler.own_registers;
        let mut room = registers.max(free).saturating_sub(own);
        let mut orders = Vec::with_capacity(spans.len());
        for span in &spans {
            let graph = Graph::new(profile, code, span);
            let order = graph.order();
            let piece = span.piece(code);
            let peak = piece.as_ref().map(|p| p.peak(&order, &sizes));
            // Those that need more than there is, with an order that needs little.
            let lean = piece.filter(|_| !saves || peak.is_some_and(|p| p > room)).map(|piece| {
                let lean = piece.lean(&graph.before, &sizes);
                (piece, graph, lean)
            });
            orders.push((order, peak, lean));
        }
        // What blocks need that take registers of which more cost resident warps, and how many loads they have under
        // way at most.
        let mut dear = vec![(0, 0); orders.len()];
        for ((_, _, lean), dear) in orders.iter().zip(&mut dear) {
            let Some((piece, graph, (lean, least))) = lean.as_ref().filter(|_| saves) else {
                continue;
            };
            let (flights, most) = flights(piece);
            let rest = Rest::new(piece, lean.clone(), &sizes, u32::MAX);
            let some = graph.order_within(rest, piece, Choice { flights, ..USUAL });
            let needs = piece.peak(&some, &sizes).max(*least);
            room = room.max(at_no_cost(profile, needs + own) - own);
            if needs > free.saturating_sub(own) {
                *dear = (needs, most);
            }
        }
        let most = dear.iter().map(|d| d.0).max().unwrap_or(0);
        let barriers = profile.issue.dependency_barriers as usize;
        let mut out = Self::default();
        for ((span, (mut order, mut peak, lean)), dear) in spans.iter().zip(orders).zip(dear) {
            if !saves {
                peak = lean.map(|(_, _, (_, least))| least);
            } else if let Some((piece, graph, (least, _))) = lean
                && peak.is_some_and(|p| p > room)
            {
                // What one block needs is there for the others.
                let few = Choice { flights: dear.1, until_first: true, ..USUAL };
                let usual = if dear.1 > 0 && dear.0 == most { few } else { USUAL };
                order = graph.best_within(&piece, &least, &sizes, (room, usual));
                peak = Some(piece.peak(&order, &sizes));
            }
            if let Some(piece) = span.piece(code).filter(|_| saves) {
                let more = piece.peak_at_ease(&order, &sizes).min(room);
                peak = peak.map(|peak| peak.max(more));
            }
            out.peaks.extend(peak.map(|peak| (span.start as u32, peak)));
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

/// The most registers with which as many warps are resident as with these.
fn at_no_cost(profile: &Profile, registers: u32) -> u32 {
    let limits = &profile.limits;
    let unit = (profile.allocation.register_unit / limits.warp_size).max(1);
    let given = registers.next_multiple_of(unit);
    let share = limits.registers_per_sm / profile.issue.schedulers.max(1) / limits.warp_size;
    let warps = share / given.max(1);
    let most = share.checked_div(warps).map_or(given, |most| most / unit * unit);
    most.min(limits.max_registers_per_thread).max(registers.min(limits.max_registers_per_thread))
}

impl Span {
    fn piece<'a>(&'a self, code: &'a Code) -> Option<Piece<'a>> {
        let list = &code.instructions[self.start..self.stop];
        self.end.clone().map(|end| Piece { list, end, looped: &self.looped })
    }
}

fn latency(profile: &Profile, code: &Code, pc: usize) -> u64 {
    let class = code.instructions[pc].class;
    let of_memory = match class {
        Class::LoadShared | Class::LoadMatrix => profile.shared.latency,
        Class::LoadConst => profile.constant.latency,
        // The assembler does not know where a load will hit.
        Class::LoadGlobal | Class::Texture => {
            profile.l2.as_ref().map_or(profile.dram.latency, |l2| l2.hit_latency)
        }
        _ => 0,
    };
    let own = profile.timing_of(class).map_or(0, |t| t.latency);
    u64::from(own.max(of_memory)).max(1)
}

/// What has to come before what.
struct Graph {
    /// Successors with the clocks that lie between, and predecessors.
    successors: Vec<Vec<(usize, u64)>>,
    before: Vec<Vec<u32>>,
    /// Clocks from an instruction to the end along the longest path.
    height: Vec<u64>,
    /// The scheduler's own pipe that an instruction goes through, and the clocks that it keeps it.
    pipe: Vec<Option<(usize, u64)>>,
    /// How many instructions read the predicate that each makes.
    made: Vec<u32>,
    /// Which instructions make the predicates that each reads.
    guards: Vec<Vec<u32>>,
}

/// The pipe of a scheduler that takes nothing else for some clocks once it took the instruction; nothing
/// where there is a choice of pipes, or one that all schedulers share.
fn own_pipe(profile: &Profile, class: Class) -> Option<(usize, u64)> {
    let timing = profile.timing_of(class)?;
    let [name] = &timing.pipes[..] else { return None };
    let (index, (_, pipe)) = profile.pipes.iter().enumerate().find(|(_, (n, _))| *n == name)?;
    let clocks = 32.0 * f64::from(profile.issue.schedulers) / timing.per_clock;
    pipe.per_scheduler.then_some((index, (clocks.round() as u64).max(1)))
}

/// Whether an instruction makes predicates.
fn compares(class: Class) -> bool {
    matches!(class, Class::Compare | Class::Compare64)
}

impl Graph {
    fn new(profile: &Profile, code: &Code, span: &Span) -> Self {
        let list = &code.instructions[span.start..span.stop];
        let n = list.len();
        let mut successors: Vec<Vec<(usize, u64)>> = vec![Vec::new(); n];
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); n];
        let effects: Vec<MemoryEffect> =
            (span.start..span.stop).map(|pc| effect(code, pc)).collect();
        let latencies: Vec<u64> =
            (span.start..span.stop).map(|pc| latency(profile, code, pc)).collect();
        let guards_after = u64::from(profile.issue.guard_latency);
        // Control stays where it is, at the end, as does what ends a block.
        let control = |i: usize| list[i].class == Class::Branch || list[i].splits;
        for late in 0..n {
            let l = &list[late];
            for early in 0..late {
                let e = &list[early];
                let reads = |r: &Register| l.reads.contains(r) || l.guard.as_ref() == Some(r);
                let raw = e.writes.iter().any(reads);
                let war = l.writes.iter().any(|w| e.reads.contains(w) || e.guard == Some(*w));
                let waw = l.writes.iter().any(|w| e.writes.contains(w));
                let memory = ordered(effects[early], effects[late]) && !apart(list, early, late);
                let guard = l.guard.filter(|g| e.writes.contains(g) && compares(e.class));
                let distance = match () {
                    () if guard.is_some() => latencies[early].max(guards_after),
                    () if raw => latencies[early],
                    () if war || waw || memory || control(late) || control(early) => 1,
                    () => continue,
                };
                successors[early].push((late, distance));
                before[late].push(early as u32);
            }
        }
        let mut height = vec![0_u64; n];
        for i in (0..n).rev() {
            height[i] = successors[i].iter().map(|&(s, d)| height[s] + d).max().unwrap_or(0);
        }
        let pipe = list.iter().map(|i| own_pipe(profile, i.class)).collect();
        // How many instructions read the predicate that each makes, and who makes those that each reads.
        let predicate = |r: &Register| code.words.get(*r as usize) == Some(&0);
        let mut made = vec![0; n];
        let mut guards = vec![Vec::new(); n];
        for late in 0..n {
            let reads = list[late].reads.iter().chain(&list[late].guard).filter(|r| predicate(r));
            for r in reads {
                let maker = (0..late).rev().find(|i| list[*i].writes.contains(r));
                let Some(maker) = maker.filter(|i| compares(list[*i].class)) else { continue };
                made[maker] += 1;
                guards[late].push(maker as u32);
            }
        }
        Self { successors, before, height, pipe, made, guards }
    }

    /// An order by critical path, as offsets: of the instructions whose operands are there the one from
    /// which the way is longest.
    fn order(&self) -> Vec<u32> {
        let mut clock = Clock::new(self);
        while let Some(first) = clock.next() {
            clock.now = clock.now.max(first);
            let could = clock.ready.iter().filter(|i| clock.start(**i) <= clock.now);
            let best =
                could.max_by_key(|i| (!clock.short(**i), self.height[**i as usize], Reverse(**i)));
            let Some(&best) = best else { break };
            // Where there is no predicate left, the time passes until one is.
            let others = clock.ready.iter().filter(|i| !clock.short(**i));
            match others.map(|i| clock.start(*i)).min().filter(|_| clock.short(best)) {
                Some(later) => clock.now = later,
                None => clock.issue(best),
            }
        }
        clock.order
    }

    /// Of some orders for which registers last the usual one, or one that a warp alone is through with in less than
    /// three quarters of the time.
    fn best_within(
        &self,
        piece: &Piece<'_>,
        lean: &[u32],
        sizes: &Sizes,
        (room, usual): (u32, Choice),
    ) -> Vec<u32> {
        let order = |choice: &Choice| {
            let rest = Rest::new(piece, lean.to_vec(), sizes, room);
            let order = self.order_within(rest, piece, *choice);
            (self.clocks(&order), order)
        };
        let first = order(&usual);
        let choices = CHOICES.map(|(reserve, fills)| Choice { reserve, fills, ..usual });
        let others = choices.iter().map(order).min_by_key(|o| o.0);
        // What other warps hide anyway is not worth another order.
        others.filter(|(clocks, _)| clocks * 4 < first.0 * 3).unwrap_or(first).1
    }

    /// The clocks until a warp alone has issued all instructions in an order.
    fn clocks(&self, order: &[u32]) -> u64 {
        let mut clock = Clock::new(self);
        for &i in order {
            clock.now = clock.now.max(clock.start(i));
            clock.issue(i);
        }
        clock.now
    }

    /// An order for which registers last. Loads go ahead, each with what its address needs, as far as they
    /// do; besides, values are made when they are needed.
    fn order_within(&self, mut rest: Rest<'_>, piece: &Piece<'_>, choice: Choice) -> Vec<u32> {
        let mut flights = Flights::new(piece, choice.flights, choice.until_first);
        let mut loads: Vec<u32> = (0..piece.list.len() as u32)
            .filter(|i| loads_words(&piece.list[*i as usize]))
            .collect();
        loads.sort_by_key(|i| Reverse(self.height[*i as usize]));
        let mut clock = Clock::new(self);
        while let Some(next) = rest.next() {
            // Loads of which nothing waits for others.
            // Few at a time go in their order, so that those whose results are taken together are.
            let more = match () {
                () if flights.full() => 0,
                () if choice.flights < usize::MAX => 1,
                () => loads.len(),
            };
            let ahead = loads.iter().take(more);
            let ahead = ahead.filter_map(|load| self.pending(*load, &clock)).take(TRIED);
            let found = ahead.into_iter().find(|group| rest.take(group, choice.reserve));
            if let Some(group) = found {
                group.iter().for_each(|i| flights.issue(*i));
                group.iter().for_each(|i| clock.issue(*i));
                loads.retain(|load| !group.contains(load));
                continue;
            }
            let could = |i: &&u32| {
                clock.earliest[**i as usize] <= clock.now && (**i == next || !clock.short(**i))
            };
            let mut others: Vec<u32> = clock.ready.iter().filter(could).copied().collect();
            others.sort_by_key(|i| (Reverse(self.height[*i as usize]), *i));
            let (needed, early): (Vec<u32>, Vec<u32>) =
                others.into_iter().partition(|i| *i == next || rest.frees(*i));
            let waits = |i: &u32| flights.full() && loads_words(&piece.list[*i as usize]);
            let early = early.into_iter().filter(|i| choice.fills && !waits(i)).take(TRIED);
            let mut tried = needed.into_iter().take(TRIED).chain(early);
            let found = tried.find(|i| rest.take(&[*i], 0));
            let later = clock.ready.iter().map(|i| clock.earliest[*i as usize]);
            match (found, later.filter(|t| *t > clock.now).min()) {
                (Some(i), _) => {
                    flights.issue(i);
                    clock.issue(i);
                    loads.retain(|load| *load != i);
                }
                // The time passes until there is another one.
                (None, Some(later)) => clock.now = later,
                (None, None) => {
                    rest.take(&[next], 0);
                    flights.issue(next);
                    clock.issue(next);
                    loads.retain(|load| *load != next);
                }
            }
        }
        clock.order
    }

    /// A load with all that it needs and that is not there yet, if nothing of that has to wait.
    fn pending(&self, load: u32, clock: &Clock<'_>) -> Option<Vec<u32>> {
        let mut group = vec![load];
        let mut at = 0;
        while let Some(&i) = group.get(at) {
            at += 1;
            if clock.earliest[i as usize] > clock.now || group.len() > GROUP || clock.short(i) {
                return None;
            }
            for &b in &self.before[i as usize] {
                if !clock.issued[b as usize] && !group.contains(&b) {
                    group.push(b);
                }
            }
        }
        group.sort_unstable();
        Some(group)
    }
}

/// An order under way.
struct Clock<'a> {
    graph: &'a Graph,
    now: u64,
    waits: Vec<usize>,
    earliest: Vec<u64>,
    ready: Vec<u32>,
    issued: Vec<bool>,
    order: Vec<u32>,
    /// When each pipe takes the next instruction.
    free: Vec<u64>,
    /// How many instructions have still to read the predicate that each made, and how many predicates are in use.
    unread: Vec<u32>,
    predicates: usize,
}

/// Predicates of a warp.
const PREDICATES: usize = 7;

impl<'a> Clock<'a> {
    fn new(graph: &'a Graph) -> Self {
        let n = graph.height.len();
        let waits: Vec<usize> = graph.before.iter().map(Vec::len).collect();
        let ready = (0..n as u32).filter(|i| waits[*i as usize] == 0).collect();
        let order = Vec::with_capacity(n);
        let pipes = graph.pipe.iter().flatten().map(|p| p.0 + 1).max().unwrap_or(0);
        let (earliest, issued, free) = (vec![0; n], vec![false; n], vec![0; pipes]);
        let (unread, predicates) = (graph.made.clone(), 0);
        Self { graph, now: 0, waits, earliest, ready, issued, order, free, unread, predicates }
    }

    /// Whether an instruction has to wait for a predicate to become free.
    fn short(&self, i: u32) -> bool {
        self.predicates >= PREDICATES && self.graph.made[i as usize] > 0
    }

    /// When an instruction has its operands and its pipe.
    fn start(&self, i: u32) -> u64 {
        let pipe = self.graph.pipe[i as usize].map_or(0, |(pipe, _)| self.free[pipe]);
        self.earliest[i as usize].max(pipe)
    }

    /// When the first of the instructions that could be next starts.
    fn next(&self) -> Option<u64> {
        self.ready.iter().map(|i| self.start(*i)).min()
    }

    fn issue(&mut self, i: u32) {
        self.ready.retain(|r| *r != i);
        self.issued[i as usize] = true;
        self.order.push(i);
        self.predicates += usize::from(self.graph.made[i as usize] > 0);
        for maker in &self.graph.guards[i as usize] {
            let unread = &mut self.unread[*maker as usize];
            *unread = unread.saturating_sub(1);
            self.predicates -= usize::from(*unread == 0).min(self.predicates);
        }
        if let Some((pipe, clocks)) = self.graph.pipe[i as usize] {
            self.free[pipe] = self.now.max(self.free[pipe]) + clocks;
        }
        for &(s, d) in &self.graph.successors[i as usize] {
            self.earliest[s] = self.earliest[s].max(self.now + d);
            self.waits[s] -= 1;
            if self.waits[s] == 0 {
                self.ready.push(s as u32);
            }
        }
        self.now += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Instruction;
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
