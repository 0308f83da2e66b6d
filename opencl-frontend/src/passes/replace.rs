//! Replacing values by others throughout a function.

use crate::ir::{Func, Term, Val};

/// What each value has become.
#[derive(Default)]
pub struct Replacements {
    map: Vec<Val>,
}

impl Replacements {
    /// From now on `old` is `new`.
    pub fn set(&mut self, old: Val, new: Val) {
        // Values beyond the end stand for themselves.
        if self.map.len() <= old.0 as usize {
            self.map.extend((self.map.len() as u32..=old.0).map(Val));
        }
        self.map[old.0 as usize] = new;
    }

    /// What a value has become in the end.
    pub fn get(&mut self, v: Val) -> Val {
        let mut end = v;
        while let Some(&next) = self.map.get(end.0 as usize) {
            if next == end {
                break;
            }
            end = next;
        }
        let mut at = v;
        while at != end {
            let next = self.map[at.0 as usize];
            self.map[at.0 as usize] = end;
            at = next;
        }
        end
    }

    /// Rewrites every operand of the function.
    pub fn apply(&mut self, f: &mut Func) {
        for b in 0..f.blocks.len() {
            let insts = std::mem::take(&mut f.blocks[b].insts);
            for &v in &insts {
                f.values[v.0 as usize].op.map_operands(|o| self.get(o));
            }
            f.blocks[b].insts = insts;
            self.apply_term(f, b);
        }
    }

    fn apply_term(&mut self, f: &mut Func, b: usize) {
        if let Term::Branch(c, ..) = &mut f.blocks[b].term {
            *c = self.get(*c);
        }
        for edge in f.blocks[b].term.edges_mut() {
            for arg in &mut edge.args {
                *arg = self.get(*arg);
            }
        }
    }
}
