//! Values that lie in registers with numbers that follow one another.
//!
//! What a load of two or four words brings, what a store of them takes, and the rows and columns of a product of
//! matrices start at a multiple of their number of words.

use std::collections::{HashMap, HashSet};

use crate::event::{AccessKind, Instruction, Register};
use crate::pressure::Sizes;
use ptx_isa::Class;

/// The longest tuple in words.
const WORDS: usize = 4;

/// The tuples of a block's values; a value is in one at most, the first that is found.
#[derive(Debug, Default)]
pub(crate) struct Tuples {
    lists: Vec<Vec<Register>>,
    of: HashMap<Register, usize>,
}

impl Tuples {
    pub fn new(list: &[Instruction], sizes: &Sizes) -> Self {
        let mut out = Self::default();
        for i in list {
            let reads = &i.reads[..];
            match i.class {
                Class::MmaSmall | Class::MmaLarge | Class::MmaF64 => {
                    if let Some(factors) = reads.len().checked_sub(i.writes.len()) {
                        let (factors, sum) = reads.split_at(factors);
                        // Of most shapes the left factor has twice the right one's registers.
                        let left = match factors.len() {
                            n if n % 3 == 0 => n / 3 * 2,
                            n => n / 2,
                        };
                        out.add(sum, WORDS, sizes);
                        out.add(&factors[..left], WORDS, sizes);
                        out.add(&factors[left..], 2, sizes);
                    }
                    out.add(&i.writes, WORDS, sizes);
                }
                Class::LoadGlobal | Class::LoadShared | Class::LoadConst | Class::LoadMatrix
                    if i.kind == AccessKind::Load =>
                {
                    out.add(&i.writes, WORDS, sizes);
                }
                // An address comes first.
                Class::StoreGlobal | Class::StoreShared if reads.len() > 2 => {
                    out.add(&reads[1..], WORDS, sizes);
                }
                _ => {}
            }
        }
        out
    }

    /// Adds values of one size, as tuples of so many words at most.
    fn add(&mut self, values: &[Register], most: usize, sizes: &Sizes) {
        let Some(words) = values.first().map(|v| sizes.of(*v) as usize).filter(|w| *w > 0) else {
            return;
        };
        if values.iter().any(|v| sizes.of(*v) as usize != words) {
            return;
        }
        for part in values.chunks((most / words).max(1)) {
            let different: HashSet<Register> = part.iter().copied().collect();
            let whole = part.len() > 1 && part.len().is_power_of_two();
            if whole
                && different.len() == part.len()
                && !part.iter().any(|v| self.of.contains_key(v))
            {
                self.of.extend(part.iter().map(|v| (*v, self.lists.len())));
                self.lists.push(part.to_vec());
            }
        }
    }

    /// The tuple that a value is in.
    pub fn of(&self, value: Register) -> Option<&[Register]> {
        self.of.get(&value).map(|t| &self.lists[*t][..])
    }
}
