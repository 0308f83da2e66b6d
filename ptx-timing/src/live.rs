//! Which registers hold a value that is read later, before every instruction of a function.

use ptx_parse::code::Function;

use crate::event::{Instruction, Register};

/// Whether nothing is left of what the results of a guarded instruction held before, at a place of a block: the other
/// side of the same if writes them, too. Either it does behind it, under the opposite guard (under the same one,
/// something would have to read them in between), or it yields them.
pub(crate) fn replaced(block: &[Instruction], at: usize) -> bool {
    let own = &block[at];
    let Some(guard) = own.guard.filter(|_| !own.writes.is_empty()) else { return false };
    let all = |list: &[Register]| own.writes.iter().all(|w| list.contains(w));
    let any = |list: &[Register]| own.writes.iter().any(|w| list.contains(w));
    let touches = |i: &&Instruction| any(&i.reads) || any(&i.writes) || i.writes.contains(&guard);
    let next = block[at + 1..].iter().find(touches);
    next.is_some_and(|i| i.guard == Some(guard) && all(&i.writes) && !any(&i.reads))
        || block.iter().any(|i| i.guard == Some(guard) && all(&i.yields))
}

/// A set of registers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    /// An empty set with room for so many registers.
    pub fn new(registers: usize) -> Self {
        Self(vec![0; registers.div_ceil(64)])
    }

    /// The set of some of so many registers.
    pub fn of(registers: usize, list: &[Register]) -> Self {
        let mut set = Self::new(registers);
        list.iter().for_each(|r| set.insert(*r));
        set
    }

    pub fn insert(&mut self, register: Register) {
        if let Some(word) = self.0.get_mut(register as usize / 64) {
            *word |= 1 << (register % 64);
        }
    }

    pub fn remove(&mut self, register: Register) {
        if let Some(word) = self.0.get_mut(register as usize / 64) {
            *word &= !(1 << (register % 64));
        }
    }

    pub fn contains(&self, register: Register) -> bool {
        self.0.get(register as usize / 64).is_some_and(|word| word >> (register % 64) & 1 != 0)
    }

    /// Adds another set; whether that changed anything.
    fn add(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= b & !*a != 0;
            *a |= b;
        }
        changed
    }

    /// The registers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Register> + '_ {
        self.0.iter().enumerate().flat_map(|(i, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(i as u32 * 64 + bit)
            })
        })
    }
}

/// What lives before an instruction, from what lives behind it.
pub(crate) fn step(instruction: &Instruction, live: &mut Set) {
    if instruction.replaces() {
        for &w in &instruction.writes {
            live.remove(w);
        }
    }
    for &r in instruction.reads.iter().chain(&instruction.guard) {
        live.insert(r);
    }
}

/// Registers that live at the end of each block. `instructions` gives what is left of a block's
/// instructions.
pub(crate) fn at_block_ends<'a, I>(
    function: &Function,
    registers: usize,
    instructions: impl Fn(usize) -> I,
) -> Vec<Set>
where
    I: DoubleEndedIterator<Item = &'a Instruction>,
{
    let blocks = function.blocks.len();
    let mut start: Vec<Set> = vec![Set::new(registers); blocks];
    let mut end = start.clone();
    let mut changed = true;
    while changed {
        changed = false;
        for b in (0..blocks).rev() {
            for &s in &function.blocks[b].succs {
                end[b].add(&start[s as usize]);
            }
            let mut live = end[b].clone();
            for instruction in instructions(b).rev() {
                step(instruction, &mut live);
            }
            changed |= start[b].add(&live);
        }
    }
    end
}
