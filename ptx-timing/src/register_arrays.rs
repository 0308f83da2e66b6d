//! Arrays of a thread that the assembler keeps in registers though they are indexed.
//!
//! Read off ptxas 13.5 for sm_90 with some 3,000 kernels made for it: arrays of 2 to 63 words, one to sixteen accesses
//! by index in and out of loops, 20 to 500 instructions around them; four of these shapes differ by a word at most from
//! sm_75 to sm_120. An access compares its index with that of each word and moves the one that is meant, under a
//! predicate: two machine instructions for a word. An array is kept in registers where that costs no more than the
//! function does: a word of an access counts as one, two words of each are free, a turn of a loop counts sixteen times,
//! and a pointer that several instructions make counts 0.7 for each. Arrays of bytes and of 64 bits that are indexed
//! stay in memory.

use std::collections::{HashMap, HashSet};

use ptx_isa::types::Space;
use ptx_isa::{Class, Operation};
use ptx_parse::code::Function;
use smallvec::SmallVec;

use crate::event::{AccessKind, Instruction, Register};
use crate::facts::{AccessPlace, Facts};
use crate::uses::{Uses, blocks_of, loops, times_written};

/// Bytes of an element.
const WORD: u32 = 4;
/// The most words of an array in registers.
const MOST: u32 = 36;
/// How many times a loop counts, and the loops in loops that do.
const TURNS: u64 = 16;
const DEEPEST: u32 = 3;
/// Words of an array that an access costs nothing for.
const FREE: u64 = 2;
/// What a pointer with one value counts, and each of several.
const POINTER: u64 = 10;
const EACH: u64 = 7;
/// The most predicates that a block keeps for accesses by one index, and that another one finds.
const PREDICATES: u32 = 7;
const KEPT_PREDICATES: u32 = 6;

/// Where in an array an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Byte(i64),
    /// That depends on a register.
    Indexed,
}

/// A register that holds an address: the number of the array among the function's, and where.
type Address = (usize, At);

/// Puts arrays into registers. `words` gets the sizes of these.
pub(crate) fn keep(function: &Function, words: &mut Vec<u8>, facts: &mut [Facts<'_>]) {
    let arrays = function.local_vars.len();
    if arrays == 0 {
        return;
    }
    let addresses = addresses(function, facts);
    let mut kept = vec![true; arrays];
    let mut accesses = vec![Vec::new(); arrays];
    for (i, f) in facts.iter().enumerate() {
        let access = place(function, &addresses, f);
        if let Some((array, at)) = access {
            kept[array] &= of_words(f, at);
            accesses[array].push((i, at));
        }
        // Whose address goes elsewhere lies in memory.
        let made = f.instruction.writes.first().and_then(|w| addresses.get(w));
        for (array, _) in f.arguments.iter().filter_map(|a| addresses.get(&a.0?)) {
            let own = f.place.and_then(|p| p.base).and_then(|b| addresses.get(&b));
            let value =
                f.arguments.iter().filter(|a| a.0.is_some_and(|r| addresses.contains_key(&r)));
            let only = own.is_some() && access.is_some() && value.count() == 1;
            kept[*array] &= only || made.is_some_and(|m| m.0 == *array) && access.is_none();
        }
    }
    let weight = weights(function);
    let times = times_written(facts);
    let size: u64 =
        (0..).zip(facts.iter()).filter(|(_, f)| !f.folded).map(|(i, _)| weight(i)).sum();
    for (array, list) in accesses.iter().enumerate() {
        let count = function.local_vars[array].2 / WORD;
        let indexed = list.iter().filter(|(_, at)| *at == At::Indexed);
        let cost: u64 = indexed
            .map(|(i, _)| {
                let base = facts[*i].place.and_then(|p| p.base);
                let made = base.and_then(|b| times.get(&b)).copied().unwrap_or(1).into();
                weight(*i as u32) * u64::from(count).saturating_sub(FREE) * pointer(made)
            })
            .sum();
        if kept[array] && (1..=MOST).contains(&count) && cost <= size * POINTER {
            let elements: Vec<Register> = (0..count).map(|n| words.len() as Register + n).collect();
            words.extend(elements.iter().map(|_| 1));
            Kept { elements: &elements, list }.put(&blocks_of(function), facts);
            vanish(array, &addresses, facts);
        }
    }
}

/// What an access by a pointer counts that so many instructions make.
fn pointer(made: u64) -> u64 {
    (EACH * made).max(POINTER)
}

/// Whether an access is one of whole elements at a place that is known, or by an index.
fn of_words(f: &Facts<'_>, at: At) -> bool {
    let width = f.opcode.types().last().map(|t| t.bits() / 8);
    let aligned = match at {
        At::Byte(byte) => byte % i64::from(WORD) == 0,
        At::Indexed => true,
    };
    width == Some(WORD) && aligned && f.instruction.guard.is_none()
}

/// How many times an instruction counts.
fn weights(function: &Function) -> impl Fn(u32) -> u64 {
    let mut all = loops(function);
    all.sort_unstable();
    all.dedup_by_key(|l| l.0);
    move |i| {
        let depth = all.iter().filter(|(start, end)| (*start..*end).contains(&i)).count() as u32;
        TURNS.pow(depth.min(DEEPEST))
    }
}

/// The array of the function in which a byte of its frame lies, and where in it.
fn array_of(function: &Function, byte: u32) -> Option<Address> {
    let holds = |(_, first, size): &(String, u32, u32)| (*first..first + size).contains(&byte);
    let array = function.local_vars.iter().position(holds)?;
    Some((array, At::Byte(i64::from(byte - function.local_vars[array].1))))
}

fn further(address: Address, bytes: Option<i64>) -> Address {
    match (address.1, bytes) {
        (At::Byte(at), Some(bytes)) => (address.0, At::Byte(at.wrapping_add(bytes))),
        _ => (address.0, At::Indexed),
    }
}

/// The registers that hold addresses in arrays.
fn addresses(function: &Function, facts: &[Facts<'_>]) -> HashMap<Register, Address> {
    let mut found: HashMap<Register, Address> = HashMap::new();
    loop {
        let mut changed = false;
        for f in facts {
            let &[to] = &f.instruction.writes[..] else { continue };
            let frame = f.frame.and_then(|byte| array_of(function, byte));
            let of = |i: usize| {
                let register = f.arguments.get(i).and_then(|a| a.0);
                register.and_then(|r| found.get(&r)).copied()
            };
            let constant = |i: usize| f.arguments.get(i).and_then(|a| a.1).map(|c| c as i64);
            let now = match f.op {
                Operation::Move | Operation::ConvertAddress => frame.or(of(0)),
                Operation::Add => match (frame.or(of(0)), of(1)) {
                    (Some(base), None) => Some(further(base, constant(1))),
                    (None, Some(base)) => Some(further(base, constant(0))),
                    _ => None,
                },
                _ => None,
            };
            let Some(now) = now else { continue };
            match found.get(&to).copied() {
                None => {
                    found.insert(to, now);
                    changed = true;
                }
                // A pointer that moves.
                Some(old) if old != now && old.1 != At::Indexed => {
                    found.insert(to, (old.0, At::Indexed));
                    changed = true;
                }
                Some(_) => {}
            }
        }
        if !changed {
            return found;
        }
    }
}

/// Where a load or store of local memory goes.
fn place(
    function: &Function,
    addresses: &HashMap<Register, Address>,
    f: &Facts<'_>,
) -> Option<Address> {
    let AccessPlace { base, offset, .. } = f.place.filter(|p| p.space == Space::Local)?;
    let start = match base {
        Some(base) => *addresses.get(&base)?,
        None => array_of(function, f.frame?)?,
    };
    Some(further(start, Some(offset)))
}

/// An array in registers and its accesses.
struct Kept<'a> {
    elements: &'a [Register],
    list: &'a [(usize, At)],
}

impl Kept<'_> {
    fn put(&self, blocks: &[usize], facts: &mut [Facts<'_>]) {
        let costs = self.costs(blocks, facts);
        let of = |facts: &[Facts<'_>], (i, at): (usize, At)| self.at(&facts[i], at).to_vec();
        let stores = |f: &Facts<'_>| f.instruction.kind == AccessKind::Store;
        let known = self.list.iter().filter(|(i, _)| stores(&facts[*i]));
        let known: HashSet<Register> = known.flat_map(|a| of(facts, *a)).collect();
        // What only stores by index write has no value before the first of all.
        let late = self.elements.iter().filter(|e| !known.contains(e)).copied();
        let mut late: SmallVec<[Register; 2]> = late.collect();
        let uses = Uses::new(facts);
        let mut same = HashMap::new();
        for (&(i, at), cost) in self.list.iter().zip(costs) {
            let (store, own) = (stores(&facts[i]), of(facts, (i, at)));
            match at {
                At::Byte(_) if store && !late.is_empty() => move_words(&mut facts[i], &own),
                At::Byte(_) => same_registers(&mut facts[i], &uses, &mut same, &own),
                At::Indexed => self.choose(cost, &mut facts[i]),
            }
            if store {
                let instruction = &mut facts[i].instruction;
                instruction.reads.retain(|r| !late.contains(r));
                late.retain(|r| !instruction.writes.contains(r));
                instruction.writes.extend(std::mem::take(&mut late));
            }
        }
        for f in facts.iter_mut() {
            let rename = |r: &mut Register| *r = same.get(r).copied().unwrap_or(*r);
            f.instruction.reads.iter_mut().for_each(rename);
            f.instruction.writes.iter_mut().for_each(rename);
            f.instruction.guard.iter_mut().for_each(rename);
            f.arguments.iter_mut().filter_map(|a| a.0.as_mut()).for_each(rename);
            f.place.iter_mut().filter_map(|p| p.base.as_mut()).for_each(rename);
        }
    }

    /// The elements that an access at a known place means.
    fn at(&self, f: &Facts<'_>, at: At) -> &[Register] {
        let At::Byte(byte) = at else { return &[] };
        let count = f.place.map_or(1, |p| p.bytes / WORD) as usize;
        let first = usize::try_from(byte / i64::from(WORD)).unwrap_or(usize::MAX);
        self.elements.get(first..first.saturating_add(count)).unwrap_or(&[])
    }

    /// Comparisons and moves of each access by an index. Another one by the same index finds the predicates of the
    /// first where there are enough of them; behind a branch, those that had to make room are fetched.
    fn costs(&self, blocks: &[usize], facts: &[Facts<'_>]) -> Vec<Cost> {
        let count = self.elements.len() as u32;
        let mut costs: Vec<Cost> = Vec::with_capacity(self.list.len());
        // The first access by each index.
        let mut known: HashMap<Register, usize> = HashMap::new();
        for (n, &(i, at)) in self.list.iter().enumerate() {
            let place = facts[i].place;
            let width = place.map_or(1, |p| p.bytes / WORD).max(1);
            let mut own = Cost { compared: count.div_ceil(width), moved: count };
            let base = place.and_then(|p| p.base).filter(|_| at == At::Indexed);
            let before = base.and_then(|b| {
                let first = *known.entry(b).or_insert(n);
                (first != n).then_some(first)
            });
            if let Some(before) = before {
                let (other, _) = self.list[before];
                let load = |i: usize| facts[i].instruction.kind == AccessKind::Load;
                let more = own.compared.saturating_sub(KEPT_PREDICATES);
                match blocks[other] == blocks[i] {
                    true if load(other) && load(i) || count <= PREDICATES => own.compared = 0,
                    true => {}
                    false => {
                        own.compared = more;
                        own.moved += more;
                        costs[before].moved = costs[before].moved.max(count + more);
                    }
                }
            }
            costs.push(own);
        }
        costs
    }

    /// Compares the index with that of each element, and moves what is meant.
    fn choose(&self, cost: Cost, f: &mut Facts<'_>) {
        let old = &f.instruction;
        let mut chosen = Instruction::new(Class::Select, &old.writes, &old.reads);
        chosen.reads.extend(self.elements.iter().copied());
        if old.kind == AccessKind::Store {
            chosen.writes = self.elements.into();
        }
        chosen.chooses = self.elements.len() as u32;
        chosen.extra_slots = cost.compared + cost.moved - 1;
        // Every other move goes through another pipe.
        chosen.units = cost.compared + cost.moved.div_ceil(2);
        f.op = Operation::Other;
        f.place = None;
        f.instruction = chosen;
    }
}

/// Machine instructions of an access by an index.
#[derive(Debug, Clone, Copy)]
struct Cost {
    compared: u32,
    moved: u32,
}

/// The words of a known place are moved.
fn move_words(f: &mut Facts<'_>, own: &[Register]) {
    let old = &f.instruction;
    let mut moved = Instruction::new(Class::Move, &old.writes, own);
    if old.kind == AccessKind::Store {
        let base = f.place.and_then(|p| p.base);
        let values = old.reads.iter().filter(|r| Some(**r) != base);
        moved = Instruction::new(Class::Move, own, &values.copied().collect::<Vec<_>>());
    }
    moved.chooses = 1;
    moved.extra_slots = own.len().saturating_sub(1) as u32;
    f.op = Operation::Other;
    f.place = None;
    f.instruction = moved;
}

/// Where a value is stored that is needed for nothing else, its register is the array's; so it is where one is loaded.
/// `same` gets such registers, with the array's.
fn same_registers(
    f: &mut Facts<'_>,
    uses: &Uses,
    same: &mut HashMap<Register, Register>,
    own: &[Register],
) {
    move_words(f, own);
    let Instruction { reads, writes, .. } = &f.instruction;
    let store = &writes[..] == own;
    let values: &[Register] = if store { reads } else { writes };
    let alone = |r: &Register| {
        let read = uses.uses.get(r).map_or(0, Vec::len);
        let made = uses.definitions.get(r).is_some_and(|d| d.len() == 1);
        made && (!store || read == 1) && !same.contains_key(r)
    };
    if values.len() == own.len() && values.iter().all(alone) {
        same.extend(values.iter().copied().zip(own.iter().copied()));
        f.folded = true;
    }
}

/// Addresses at known places are no values any more, and those by index are indices.
fn vanish(array: usize, addresses: &HashMap<Register, Address>, facts: &mut [Facts<'_>]) {
    for f in facts.iter_mut().filter(|f| !f.folded && f.instruction.chooses == 0) {
        let own = |r: &Register| addresses.get(r).filter(|a| a.0 == array);
        let Some((_, at)) = f.instruction.writes.first().and_then(own) else { continue };
        f.instruction.reads.retain(|r| own(r).is_none());
        match at {
            At::Byte(_) => f.folded = true,
            At::Indexed => {
                f.instruction.class = Class::ShiftLeft;
                f.op = Operation::Other;
            }
        }
    }
}
