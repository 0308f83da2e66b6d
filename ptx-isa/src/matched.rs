//! A row together with the modifiers that an opcode chose.

use std::sync::Arc;

use crate::class::Class;
use crate::matrix::Shape;
use crate::row::Row;
use crate::syntax::{Count, Notation, OperandSlot, SlotTy};
use crate::types::Ty;

/// A row together with the modifiers that an opcode chose.
#[derive(Clone)]
pub struct Match {
    /// The row.
    pub row: &'static Row,
    /// Its parsed notation.
    pub notation: &'static Notation,
    /// For each element of the notation the token chosen, with its dot.
    pub picked: Arc<[Option<&'static str>]>,
    /// Those tokens that are types.
    types: Arc<[Option<Ty>]>,
}

impl Match {
    /// A row with a choice for each element of its notation.
    pub fn new(
        row: &'static Row,
        notation: &'static Notation,
        picked: Arc<[Option<&'static str>]>,
    ) -> Match {
        let types = picked.iter().map(|token| token.and_then(Ty::from_token)).collect();
        Match { row, notation, picked, types }
    }
    /// Chooses `token` for element `at`.
    pub fn choose(&mut self, at: usize, token: Option<&'static str>) {
        Arc::make_mut(&mut self.picked)[at] = token;
        Arc::make_mut(&mut self.types)[at] = token.and_then(Ty::from_token);
    }
    /// The token chosen for set `name` (`"rnd"`), or the literal `name` (`".ftz"`) if present.
    pub fn get(&self, name: &str) -> Option<&'static str> {
        self.notation.elems.iter().position(|e| e.name == name).and_then(|i| self.picked[i])
    }
    /// Whether modifier `token` (`".ftz"`) was chosen anywhere.
    pub fn has(&self, token: &str) -> bool {
        self.picked.contains(&Some(token))
    }
    /// The type chosen for set `name`.
    pub fn ty(&self, name: &str) -> Option<Ty> {
        self.notation.elems.iter().position(|e| e.name == name).and_then(|i| self.types[i])
    }
    /// The types among the chosen modifiers, in order.
    pub fn types(&self) -> impl Iterator<Item = Ty> {
        self.types.iter().flatten().copied()
    }
    /// The shape among the chosen modifiers, of what works on matrices.
    pub fn shape(&self) -> Option<Shape> {
        self.picked.iter().flatten().find_map(|token| Shape::parse(token))
    }
    /// Timing class of this form.
    pub fn class(&self) -> Class {
        (self.row.class)(self)
    }
    /// The opcode, its modifiers in the order of the row.
    pub fn opcode(&self) -> String {
        std::iter::once(self.notation.mnemonic)
            .chain(self.picked.iter().flatten().copied())
            .collect()
    }
    /// The type of operands in `slot`; `None` where any type goes.
    pub fn slot_ty(&self, slot: &OperandSlot) -> Option<Ty> {
        let at = |i: u8| self.types[i as usize];
        match slot.ty {
            SlotTy::Fixed(t) => Some(t),
            SlotTy::Elem(i) => at(i),
            SlotTy::Wide(i) => at(i).and_then(|t| t.wide().or(Some(t))),
            SlotTy::Any => None,
        }
    }
    /// Number of elements in `slot`; `None` is a scalar.
    pub fn slot_count(&self, slot: &OperandSlot) -> Option<u32> {
        match slot.count {
            Count::One => None,
            Count::Fixed(n) => Some(n as u32),
            Count::Elem(i) => {
                self.picked[i as usize].and_then(|t| t.strip_prefix(".v")?.parse().ok())
            }
            Count::RowVector | Count::RowLeast | Count::RowVectorLeast | Count::RowOrNothing => {
                Some(self.row.counts.map_or(1, |f| f(self, slot.name)))
            }
            Count::Row => {
                let n = self.row.counts.map_or(1, |f| f(self, slot.name));
                (n > 1).then_some(n)
            }
        }
    }
}
