//! Moves between registers as the assembler allocates them: a move costs nothing where both ends can get
//! the same register.
//!
//! PTX has a register file per type and a new register for nearly every value, so compilers write a
//! move where a float becomes bits for a shuffle, and at the end of a loop where a variable gets its
//! next value. The assembler joins source and destination unless both values are needed at once.

use std::collections::{HashMap, HashSet};

use ptx_isa::{Operation, Reach};
use ptx_parse::code::Function;

use crate::event::Register;
use crate::facts::Facts;
use crate::live;
use crate::uses::{Uses, blocks_of, dominators, loops};

/// Most members of a joined group, so that long chains stay cheap to compare.
const MOST: usize = 64;

/// A move of a whole register into another of the same size.
fn copied(f: &Facts<'_>, words: &dyn Fn(Register) -> u32) -> Option<(Register, Register)> {
    let i = &f.instruction;
    let (&[to], &[from]) = (&i.writes[..], &i.reads[..]) else { return None };
    let plain = f.op == Operation::Move && i.guard.is_none() && !f.folded && !f.varies;
    let same = words(to) == words(from) && f.constants == 0;
    (plain && same && i.class == ptx_isa::Class::Move).then_some((to, from))
}

/// Joins the registers of moves and folds the moves. `words` gives the size of a register. The order in which the
/// instructions mean their registers: next values are made behind what reads the last one.
pub(crate) fn join(
    function: &Function,
    registers: usize,
    words: &dyn Fn(Register) -> u32,
    facts: &mut [Facts<'_>],
) -> Vec<usize> {
    let mut sequence: Vec<usize> = (0..facts.len()).collect();
    let moves: Vec<(usize, Register, Register)> = (0..facts.len())
        .filter_map(|i| copied(&facts[i], words).map(|(to, from)| (i, to, from)))
        .collect();
    if moves.is_empty() {
        return sequence;
    }
    let late = Late::new(function, facts);
    let places: Vec<Option<(usize, usize)>> =
        moves.iter().map(|&(_, to, from)| late.place(facts, to, from)).collect();
    let order = late.order(function, places.iter().flatten().copied(), facts);
    let apart = apart(function, registers, &moves, &order, facts);
    let mut groups: HashMap<Register, Vec<Register>> = HashMap::new();
    let mut leader: HashMap<Register, Register> = HashMap::new();
    for &(_, to, from) in &moves {
        for r in [to, from] {
            leader.insert(r, r);
            groups.insert(r, vec![r]);
        }
    }
    for (&(i, to, from), place) in moves.iter().zip(&places) {
        let (a, b) = (leader[&to], leader[&from]);
        if a != b {
            let meets = |x: &Register| groups[&b].iter().any(|y| apart.contains(&pair(*x, *y)));
            if groups[&a].len() + groups[&b].len() > MOST || groups[&a].iter().any(meets) {
                continue;
            }
            let moved = groups.remove(&a).unwrap_or_default();
            for &r in &moved {
                leader.insert(r, b);
            }
            groups.entry(b).or_default().extend(moved);
        }
        facts[i].folded = true;
        if let Some((made, first)) = *place {
            facts[made].late = late.passes(made, first, to);
            if facts[made].late {
                late.move_behind(&mut sequence, (made, first), to);
            }
        }
    }
    let rename = |r: &mut Register| *r = leader.get(r).copied().unwrap_or(*r);
    for f in facts.iter_mut() {
        f.instruction.reads.iter_mut().for_each(rename);
        f.instruction.writes.iter_mut().for_each(rename);
        f.instruction.guard.iter_mut().for_each(rename);
    }
    sequence
}

fn pair(a: Register, b: Register) -> (Register, Register) {
    (a.min(b), a.max(b))
}

/// Pairs of registers of moves whose values are needed at once.
fn apart(
    function: &Function,
    registers: usize,
    moves: &[(usize, Register, Register)],
    order: &[Vec<usize>],
    facts: &[Facts<'_>],
) -> HashSet<(Register, Register)> {
    let mut candidates = live::Set::new(registers);
    for &(_, to, from) in moves {
        candidates.insert(to);
        candidates.insert(from);
    }
    let block = |b: usize| order[b].iter().map(|i| &facts[*i]);
    let ends = live::at_block_ends(function, registers, |b| block(b).map(|f| &f.instruction));
    let copies: HashMap<Register, Vec<Register>> =
        moves.iter().fold(HashMap::new(), |mut all: HashMap<_, Vec<_>>, &(_, to, from)| {
            all.entry(to).or_default().push(from);
            all
        });
    let mut apart = HashSet::new();
    for (b, end) in ends.iter().enumerate() {
        let mut live = end.clone();
        for f in block(b).rev() {
            let i = &f.instruction;
            for &w in i.writes.iter().filter(|w| candidates.contains(**w)) {
                // The copy itself is no reason to keep the two apart.
                let copy = i.reads.len() == 1
                    && f.op == Operation::Move
                    && copies.get(&w).is_some_and(|from| from.contains(&i.reads[0]));
                for r in live.iter().filter(|r| *r != w && candidates.contains(*r)) {
                    if !(copy && r == i.reads[0]) {
                        apart.insert(pair(w, r));
                    }
                }
            }
            live::step(i, &mut live);
        }
    }
    apart
}

/// Where instructions can move to.
struct Late {
    uses: Uses,
    block: Vec<usize>,
    dominators: flow::Dominators,
    loops: Vec<(u32, u32)>,
}

impl Late {
    fn new(function: &Function, facts: &[Facts<'_>]) -> Self {
        Self {
            uses: Uses::new(facts),
            block: blocks_of(function),
            dominators: dominators(function),
            loops: loops(function),
        }
    }

    /// The instructions of each block. Next values of variables are made as late as can be: where they are read first,
    /// so that what still reads the last value comes before them.
    fn order(
        &self,
        function: &Function,
        places: impl Iterator<Item = (usize, usize)>,
        facts: &[Facts<'_>],
    ) -> Vec<Vec<usize>> {
        let left = |i: &usize| !facts[*i].folded;
        let indices = |b: u32, e: u32| (b as usize..e as usize).filter(left).collect::<Vec<_>>();
        let mut order: Vec<_> =
            function.blocks.iter().map(|block| indices(block.start, block.end)).collect();
        for (made, at) in places {
            order[self.block[made]].retain(|i| *i != made);
            let list = &mut order[self.block[at]];
            let place = list.iter().position(|i| *i == at).unwrap_or(list.len());
            list.insert(place, made);
        }
        order
    }

    /// Whether an instruction on its way to another one passes any that read a register.
    fn passes(&self, made: usize, first: usize, register: Register) -> bool {
        let readers = self.uses.uses.get(&register).map_or(&[][..], |u| &u[..]);
        self.block[made] != self.block[first]
            || readers.iter().any(|u| (made + 1..=first).contains(u))
    }

    /// Moves what makes a variable's next value behind what reads the last one: ahead of what reads the next one first,
    /// or, if that is in another block, behind the last reader in its own.
    fn move_behind(
        &self,
        sequence: &mut [usize],
        (made, first): (usize, usize),
        variable: Register,
    ) {
        let place = |sequence: &[usize], i: usize| sequence.iter().position(|s| *s == i);
        let behind = |u: &&usize| self.block[**u] == self.block[made] && **u > made;
        let readers = self.uses.uses.get(&variable).map_or(&[][..], |u| &u[..]);
        let to = match self.block[made] == self.block[first] {
            true => place(sequence, first),
            false => readers
                .iter()
                .filter(behind)
                .filter_map(|u| place(sequence, *u))
                .max()
                .map(|at| at + 1),
        };
        if let (Some(from), Some(to)) = (place(sequence, made), to)
            && from < to
        {
            sequence[from..to].rotate_left(1);
        }
    }

    /// The innermost loop around an instruction.
    fn innermost(&self, i: usize) -> Option<(u32, u32)> {
        let around = self.loops.iter().filter(|(start, end)| (*start..*end).contains(&(i as u32)));
        around.min_by_key(|(start, end)| end - start).copied()
    }

    /// What makes the next value `from` of `to` in a loop, and the instruction that reads it first.
    fn place(&self, facts: &[Facts<'_>], to: Register, from: Register) -> Option<(usize, usize)> {
        let &[made] = &self.uses.definitions.get(&from)?[..] else { return None };
        let f = &facts[made];
        let own = &f.instruction;
        let pure = own.class.is_arithmetic()
            && f.opcode.row.reach == Reach::Lane
            && own.guard.is_none()
            && own.writes.len() == 1;
        let others = |r: &Register| *r == to || self.uses.written_once(*r);
        if !pure || !own.reads.iter().all(others) {
            return None;
        }
        let around = self.innermost(made)?;
        let readers = self.uses.uses.get(&from)?;
        let dominates = |a: usize, b: usize| self.dominators.dominates(a as u32, b as u32);
        let first = *readers
            .iter()
            .find(|u| readers.iter().all(|v| dominates(self.block[**u], self.block[*v])))?;
        let behind = first > made && dominates(self.block[made], self.block[first]);
        let there = |e: &usize| {
            let inside = (around.0..around.1).contains(&(*e as u32));
            let before = self.block[*e] == self.block[made] && *e < made;
            !inside || before || self.block[*e] == self.block[first] && *e >= first
        };
        let kept = self.uses.definitions.get(&to)?.iter().all(there);
        (behind && kept && self.innermost(first) == Some(around)).then_some((made, first))
    }
}
