//! What is known of the instructions of a loop that the assembler may repeat.

use std::collections::{HashMap, HashSet};

use ptx_isa::{Class, Operation, Space, Ty};
use ptx_parse::code::Function;

use crate::bits::Bits;
use crate::event::Register;
use crate::facts::Facts;
use crate::trips;

/// A load of one word or two from shared memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedLoad {
    /// The instruction.
    pub at: u32,
    /// Its address is this register plus an offset.
    pub base: Register,
    pub offset: i64,
    pub bytes: u32,
    /// Trailing zero bits that the register has in the first turn.
    pub aligned: u32,
}

/// Instructions that the turns of a block share.
#[derive(Debug, Default)]
pub(crate) struct Folds {
    /// None has them: their results are constants, as the number of the turn is in a loop that is written out.
    pub known: Vec<u32>,
    /// The first has them: results of the others differ by constants, which fit into what reads them.
    pub first: Vec<u32>,
    /// By how much such results differ from turn to turn, where that is known.
    pub differences: HashMap<Register, i64>,
}

/// The instructions of a loop, but the branch.
pub(crate) struct Body<'a, 'b> {
    pub function: &'a Function,
    pub facts: &'a [Facts<'b>],
    pub list: Vec<usize>,
    /// With those that are none of their own.
    pub all: std::ops::Range<usize>,
}

impl Body<'_, '_> {
    pub fn writers(&self, r: Register) -> impl Iterator<Item = usize> + '_ {
        let list = self.list.iter().copied();
        list.filter(move |i| self.facts[*i].instruction.writes.contains(&r))
    }

    /// The constant that an instruction adds to a register.
    pub fn step(&self, i: usize) -> Option<i64> {
        let f = &self.facts[i];
        let i = &f.instruction;
        let adds = matches!(f.op, Operation::Add | Operation::Sub) && f.constants == 1;
        let itself = i.guard.is_none() && i.reads[..] == i.writes[..] && i.writes.len() == 1;
        if f.late || !adds || !itself || self.writers(i.writes[0]).count() != 1 {
            return None;
        }
        trips::added(f)
    }

    pub fn counts(&self, r: Register) -> bool {
        self.writers(r).next().is_some_and(|i| self.step(i).is_some())
    }

    pub fn fixed(&self, r: Register) -> bool {
        self.writers(r).next().is_none()
    }

    /// Registers whose value is known in each turn of a loop that is written out: those that the comparison reads, and
    /// others that start with a constant and have one added.
    pub fn counters(&self, compared: &[Register]) -> Vec<Register> {
        let mut found = compared.to_vec();
        for &i in self.list.iter().filter(|i| self.step(**i).is_some()) {
            let r = self.facts[i].instruction.writes[0];
            let mut others = (0..self.facts.len())
                .filter(|j| *j != i && self.facts[*j].instruction.writes.contains(&r));
            let starts = others.next().is_some_and(|j| {
                let f = &self.facts[j];
                f.constant_move && !self.list.contains(&j)
            });
            if starts && others.next().is_none() && !found.contains(&r) {
                found.push(r);
            }
        }
        found
    }

    /// Whether a step makes a counter that only the comparison reads, or addresses into whose accesses it fits, those
    /// that are made of it once in all turns among them.
    pub fn only_counts(&self, step: usize, compare: usize, first: &[u32]) -> bool {
        let r = self.facts[step].instruction.writes[0];
        let others = |j: &&usize| **j != step && **j != compare && !first.contains(&(**j as u32));
        self.list.iter().filter(others).all(|j| {
            let f = &self.facts[*j];
            let reads = f.instruction.reads.contains(&r) || f.instruction.guard == Some(r);
            let base = f.place.is_some_and(|p| p.base == Some(r));
            !reads || f.instruction.class.is_memory() && base
        })
    }

    /// Machine instructions of a turn without those of `but`, as the assembler weighs them, and how many of them load
    /// from shared and from global memory.
    pub fn size(&self, but: &[usize]) -> (u32, u32, u32) {
        let (mut size, mut shared, mut global) = (0, 0, 0);
        for &i in self.list.iter().filter(|i| !but.contains(i)) {
            let own = &self.facts[i].instruction;
            let guarded = u32::from(self.function.insts[i].guard.is_some());
            size += self.weight(i) + guarded;
            let loads = own.class == Class::LoadShared && !own.fragment;
            shared += if loads { own.merged } else { 0 };
            global += u32::from(own.class == Class::LoadGlobal);
        }
        (size, shared, global)
    }

    /// What an instruction counts when ptxas 13.5 decides how often a loop is repeated, found by the most multiply-adds
    /// that fit beside one, two and three of each. It decides before what machine code makes of them is known: halves
    /// of 64-bit integers count once, quotients by a constant nearly as much as others, whether they share a reciprocal
    /// or not.
    fn weight(&self, i: usize) -> u32 {
        let f = &self.facts[i];
        let own = &f.instruction;
        let ty = f.opcode.types().last();
        let constant = f.arguments.get(1).is_some_and(|a| a.1.is_some());
        let float = ty.is_some_and(|ty| ty.is_float());
        let wide = ty.is_some_and(|ty| ty.bits() == 64 && !float);
        match (own.class, f.op) {
            (Class::AtomicGlobal | Class::AtomicShared, _) if self.exchanges(i) => 2,
            (Class::AtomicGlobal, _) => 12 + own.extra_slots,
            (Class::AtomicShared, _) => 10 + own.extra_slots,
            // Their addresses are computed besides.
            _ if own.fragment => 8 + own.extra_slots,
            (class, _) if class.is_memory() => 2 * own.merged + own.extra_slots,
            (_, Operation::Div | Operation::Rem) if !wide && !float => {
                match (ty == Some(Ty::S32), f.op == Operation::Rem, constant) {
                    (false, false, false) => 21,
                    (false, false, true) => 18,
                    (false, true, false) => 19,
                    (false, true, true) => 16,
                    (true, false, false) => 27,
                    (true, false, true) => 23,
                    (true, true, false) => 24,
                    (true, true, true) => 20,
                }
            }
            (Class::F32Scaled, _) => 6,
            (Class::F32DivApprox, _) if f.opcode.has(".ftz") => 2,
            (Class::F32DivFull, Operation::Div) if f.opcode.has(".ftz") => 8,
            (Class::F32DivFull, Operation::Div) => 12,
            (Class::F32DivApprox | Class::F32DivFull, _) => 7,
            (Class::Shift64 | Class::Bitfield, _) if !constant => 2,
            (Class::F16 | Class::LeadingZeros, _) => 2,
            _ if wide => 1,
            _ => 1 + own.extra_slots,
        }
    }

    /// Whether an atomic is one instruction for any lanes: `exch` and `cas`, and sums of floats in global memory.
    /// Others may be made for the warp, or in a loop in shared memory, and weigh more whatever becomes of them.
    fn exchanges(&self, i: usize) -> bool {
        let Facts { opcode, instruction, .. } = &self.facts[i];
        let float = opcode.types().last().is_some_and(|ty| ty.is_float());
        opcode.has(".exch")
            || opcode.has(".cas")
            || float && instruction.class == Class::AtomicGlobal
    }

    /// What is constant if `counters` are in each turn, and what differs by a constant from turn to turn.
    pub fn folds(&self, counters: &[Register], but: &[usize]) -> Folds {
        // Only of such loops' code is it known that what stays the same, and sums with shifts, are made once.
        let written_out = !counters.is_empty();
        let mut known: HashSet<Register> = counters.iter().copied().collect();
        // Registers that differ from turn to turn by a constant, or not at all.
        let mut even: HashSet<Register> = HashSet::new();
        let mut folds = Folds::default();
        for &i in &self.list {
            let Some(by) = self.step(i) else { continue };
            let w = self.facts[i].instruction.writes[0];
            even.insert(w);
            folds.differences.insert(w, by);
        }
        for &i in self.list.iter().filter(|i| !but.contains(i)) {
            let f = &self.facts[i];
            let own = &f.instruction;
            let once = own.writes.iter().all(|w| self.writers(*w).count() == 1);
            let plain = own.class.is_arithmetic() && own.class != Class::Shuffle && !f.varies;
            if !plain || !once || own.guard.is_some() || own.writes.is_empty() {
                continue;
            }
            let all = |set: &dyn Fn(&Register) -> bool| own.reads.iter().all(set);
            let difference = self.difference(f, &folds.differences);
            if let (&[w], Some(by)) = (&own.writes[..], difference) {
                folds.differences.insert(w, by);
            }
            if !own.reads.is_empty() && all(&|r| known.contains(r)) {
                known.extend(&own.writes);
                folds.known.push(i as u32);
                continue;
            }
            // What is multiplied has to be a constant or stay the same, unless the other factor is a constant. Of
            // products that are wider than their factors it has to in any case: 32 bits may go around.
            let summands = match f.opcode.row.op {
                Operation::Mad => 2..3,
                Operation::Mul => 0..0,
                _ => 0..2,
            };
            let adds = |r: &Register| {
                let own = f.arguments.get(summands.clone()).unwrap_or_default();
                own.iter().any(|a| a.0 == Some(*r))
            };
            let differs = |r: &Register| known.contains(r) || even.contains(r);
            let wide = own.class == Class::IntMulWide;
            let fits = match f.op {
                _ if wide => own.reads.iter().all(|r| !differs(r) || adds(r)),
                Operation::Add | Operation::Sub => true,
                Operation::Shl => f.arguments.last().is_some_and(|a| a.1.is_some()),
                Operation::Mul | Operation::Mad => {
                    f.arguments.iter().take(2).any(|a| a.1.is_some())
                }
                Operation::Other => {
                    written_out && own.class == Class::IntAdd3 && difference.is_some()
                }
                _ => false,
            };
            let whole = f.opcode.types().next().is_some_and(|t| !t.is_float());
            let stays = all(&|r| self.fixed(*r)) || written_out && difference == Some(0);
            if stays || fits && whole && all(&|r| differs(r) || self.fixed(*r)) {
                even.extend(&own.writes);
                folds.first.push(i as u32);
            }
        }
        folds
    }

    /// By how much the result of a sum or product differs from turn to turn, if its operands do by constants.
    fn difference(&self, f: &Facts<'_>, known: &HashMap<Register, i64>) -> Option<i64> {
        let stays = |r: &Register| self.fixed(*r) || known.get(r) == Some(&0);
        if f.instruction.reads.iter().all(stays) {
            return Some(0);
        }
        // What became a part of another instruction.
        let inside = |r: Register| {
            let parts = self.facts[self.all.clone()].iter().filter(|f| f.folded);
            parts.into_iter().find(|f| f.instruction.writes[..] == [r])
        };
        // The difference of an operand, and its value if that is a constant.
        let of = |i: usize| match f.arguments.get(i)? {
            (Some(r), _) => match inside(*r) {
                Some(part) => Some((self.difference(part, known)?, None)),
                None if self.fixed(*r) => Some((0, None)),
                None => Some((*known.get(r)?, None)),
            },
            (None, constant) => Some((0, *constant)),
        };
        let product = |a: (i64, Option<u64>), b: (i64, Option<u64>)| match (a, b) {
            ((0, _), (0, _)) => Some(0),
            ((by, _), (_, Some(times))) | ((_, Some(times)), (by, _)) => {
                by.checked_mul(i64::try_from(times).ok()?)
            }
            _ => None,
        };
        // An instruction that has taken in others has their operands besides.
        let own = match f.opcode.row.op {
            Operation::Mad => 3,
            _ => 2,
        };
        if f.arguments.len() != own || f.opcode.types().next().is_none_or(|t| t.is_float()) {
            return None;
        }
        match f.opcode.row.op {
            Operation::Add => of(0)?.0.checked_add(of(1)?.0),
            Operation::Sub => of(0)?.0.checked_sub(of(1)?.0),
            Operation::Shl => {
                let by = of(1)?.1.filter(|by| *by < 32)?;
                of(0)?.0.checked_mul(1 << by)
            }
            Operation::Mul if !f.opcode.has(".hi") => product(of(0)?, of(1)?),
            Operation::Mad if !f.opcode.has(".hi") => {
                product(of(0)?, of(1)?)?.checked_add(of(2)?.0)
            }
            _ => None,
        }
    }

    /// Whether the counter is known to start below the constant that it is compared with.
    pub fn starts_below(&self, compare: usize) -> bool {
        let bits = Bits::new(self.facts);
        let arguments = &self.facts[compare].arguments;
        let Some(bound) = arguments.iter().find_map(|a| a.1) else { return false };
        let counter = arguments.iter().filter_map(|a| a.0).find(|r| self.counts(*r));
        let mut starts = (0..self.facts.len()).filter(|i| {
            let own = &self.facts[*i].instruction;
            !self.list.contains(i) && counter.is_some_and(|r| own.writes.contains(&r))
        });
        starts.next().is_some_and(|i| {
            let most = bits.result(&self.facts[i]).map(u64::from);
            most.is_some_and(|most| most < bound) && starts.next().is_none()
        })
    }

    /// Whether the assembler leaves a loop alone that lanes leave one by one, as ptxas 13.5 does with those that have
    /// atomics, and with those that store what they have loaded from the same memory, or where that says, unless a
    /// register that a constant is added to in each turn is the address.
    pub fn waits_for_stores(&self) -> bool {
        let class = |i: usize| self.facts[i].instruction.class;
        let atomic = |i: &usize| matches!(class(*i), Class::AtomicGlobal | Class::AtomicShared);
        let memories =
            [(Class::StoreGlobal, Class::LoadGlobal), (Class::StoreShared, Class::LoadShared)];
        let waits = |(store, load): (Class, Class)| {
            let stores = |i: &usize| {
                let base = self.facts[*i].place.and_then(|p| p.base);
                class(*i) == store && !base.is_some_and(|base| self.counts(base))
            };
            let stores = self.list.iter().filter(|i| stores(i));
            let mut left: Vec<Register> =
                stores.flat_map(|i| self.facts[*i].instruction.reads.iter().copied()).collect();
            let mut seen: HashSet<Register> = left.iter().copied().collect();
            while let Some(r) = left.pop() {
                for i in self.writers(r) {
                    if class(i) == load {
                        return true;
                    }
                    let own = &self.facts[i].instruction;
                    left.extend(own.reads.iter().chain(&own.guard).filter(|r| seen.insert(**r)));
                }
            }
            false
        };
        self.list.iter().any(atomic) || memories.into_iter().any(waits)
    }

    /// Loads of words from shared memory that nothing in the loop writes.
    pub fn shared_loads(&self, aligned: &HashMap<Register, u32>, folds: &Folds) -> Vec<SharedLoad> {
        let stays = |i: &usize| {
            let own = &self.facts[*i].instruction;
            let harmless = matches!(
                own.class,
                Class::LoadShared | Class::LoadGlobal | Class::LoadConst | Class::StoreGlobal
            );
            let waits = matches!(own.class, Class::Barrier | Class::WarpSync);
            own.class.is_memory() && !harmless || waits
        };
        let word = |i: &usize| {
            let f = &self.facts[*i];
            let own = &f.instruction;
            let place = f.place.filter(|p| p.space == Space::Shared && p.bytes == 4)?;
            let base = place.base?;
            let one = own.class == Class::LoadShared && own.guard.is_none() && f.merged <= 2;
            let first = self.writers(base).all(|w| folds.first.contains(&(w as u32)));
            let moves = self.fixed(base) || self.counts(base) || first;
            let known = self.fixed(base) || folds.differences.contains_key(&base);
            (one && moves && known).then_some((
                *i,
                base,
                place.offset - own.merged_from,
                4 * f.merged,
            ))
        };
        if self.list.iter().any(stays) {
            return Vec::new();
        }
        let found = self.list.iter().filter_map(word);
        let load = |(at, base, offset, bytes): (usize, Register, i64, u32)| SharedLoad {
            at: at as u32,
            base,
            offset,
            bytes,
            aligned: aligned.get(&base).copied().unwrap_or(0),
        };
        found.map(load).collect()
    }
}
