//! Initial values of variables (PTX ISA 5.4.4).

use ptx_isa::Space;

use super::Verifier;
use super::scope::Def;
use super::types::constant_bits;
use crate::ast::{Arg, Imm, Operand, Var};
use crate::diag::Code;
use crate::module::{Relocation, RelocationTarget, Symbol};

impl Verifier<'_, '_> {
    /// Fills `symbol.init` and `symbol.relocations`; an array without size takes it from here.
    pub(super) fn initial_value(
        &mut self,
        var: &Var,
        init: &Operand,
        symbol: &mut Symbol,
        elem: u64,
        unsized_array: bool,
    ) {
        let ast = self.ast;
        // Sizes of the nested levels: the whole, then what one index of each dimension covers.
        let mut levels: Vec<u64> = Vec::new();
        let mut inner = elem;
        for d in ast.ints(var.dims).iter().rev() {
            levels.push(inner);
            inner = inner.saturating_mul(if *d == Var::UNSIZED { 1 } else { *d });
        }
        levels.reverse();
        if var.vector > 0 {
            levels.push(symbol.ty.bytes() as u64);
        }
        let limit = if unsized_array { u64::MAX } else { symbol.size };
        let end = self.level(init, symbol, 0, &levels, limit);
        if unsized_array {
            symbol.size = end.next_multiple_of(levels.first().copied().unwrap_or(elem).max(1));
        }
    }

    /// One level of braces, or a value; returns the offset behind it.
    fn level(
        &mut self,
        op: &Operand,
        symbol: &mut Symbol,
        at: u64,
        levels: &[u64],
        limit: u64,
    ) -> u64 {
        let ast = self.ast;
        match ast.arg(op) {
            Arg::Vector(items) => {
                let step = levels.first().copied().unwrap_or(symbol.ty.bytes() as u64).max(1);
                let rest = levels.get(1..).unwrap_or(&[]);
                let mut end = at;
                // Flat lists fill the elements of nested dimensions in order.
                let nested = items.first().is_some_and(|i| matches!(ast.arg(i), Arg::Vector(_)));
                let step = if nested { step } else { symbol.ty.bytes() as u64 };
                for (i, item) in items.iter().enumerate() {
                    let from = at + i as u64 * step;
                    if from >= limit {
                        self.error(
                            Code::Initializer,
                            item.span(),
                            "there are more values than elements",
                        );
                        return end;
                    }
                    end = self.level(item, symbol, from, rest, limit).max(from + step);
                }
                end
            }
            _ => self.value(op, symbol, at),
        }
    }

    fn value(&mut self, op: &Operand, symbol: &mut Symbol, at: u64) -> u64 {
        let ast = self.ast;
        let bytes = symbol.ty.bytes() as u64;
        let mut target = None;
        match ast.arg(op) {
            Arg::Imm(imm) => {
                // Integer constants initialise floats by value only when written as floats.
                match constant_bits(symbol.ty, imm) {
                    Ok(bits) => put(&mut symbol.init, at, bits, bytes as usize),
                    Err(found) => {
                        let zero = matches!(imm, Imm::Signed(0) | Imm::Unsigned(0));
                        if zero {
                            put(&mut symbol.init, at, 0, bytes as usize);
                        } else {
                            let text = format!("{found} cannot initialise type `{}`", symbol.ty);
                            self.error(Code::Initializer, op.span(), text);
                        }
                    }
                }
                return at + bytes;
            }
            Arg::Name { name, neg: false, not: false, part: None } => {
                target = Some((name, 0, false, 0))
            }
            Arg::Offset { name, offset } => target = Some((name, offset, false, 0)),
            Arg::Generic { name, offset } => target = Some((name, offset, true, 0)),
            Arg::Mask(mask, inner) => {
                let shift = match ast.arg(mask) {
                    Arg::Imm(Imm::Signed(m)) if m != 0 => (m as u64).trailing_zeros() as u8 & !7,
                    Arg::Imm(Imm::Unsigned(m)) if m != 0 => m.trailing_zeros() as u8 & !7,
                    _ => 0,
                };
                target = match ast.arg(inner) {
                    Arg::Name { name, .. } => Some((name, 0, false, shift)),
                    Arg::Offset { name, offset } => Some((name, offset, false, shift)),
                    Arg::Generic { name, offset } => Some((name, offset, true, shift)),
                    _ => None,
                };
            }
            // Fields of samplers and textures do not change what the driver binds.
            Arg::Field { .. } => return at,
            _ => {}
        }
        let Some((name, addend, generic, shift)) = target else {
            self.error(Code::Initializer, op.span(), "this is no initial value");
            return at + bytes;
        };
        let target = match self.scopes.module.get(name.index()).copied() {
            Some(Def::Symbol(s)) => {
                let space = self.module.symbols[s as usize].space;
                if !matches!(space, Space::Global | Space::Const) {
                    self.error(
                        Code::Initializer,
                        op.span(),
                        "only addresses of `.global` and `.const` variables are constant",
                    );
                }
                RelocationTarget::Symbol(s)
            }
            Some(Def::Func(f)) => RelocationTarget::Function(f),
            _ => {
                let d = self.unknown_name(op.span(), name);
                self.diags.push(*d);
                return at + bytes;
            }
        };
        symbol.relocations.push(Relocation {
            offset: at,
            bytes: bytes as u8,
            target,
            addend,
            generic,
            shift,
        });
        put(&mut symbol.init, at, 0, bytes as usize);
        at + bytes
    }
}

/// Writes the low `bytes` bytes of `bits` at `at`.
fn put(init: &mut Vec<u8>, at: u64, bits: u64, bytes: usize) {
    let at = at as usize;
    if init.len() < at + bytes {
        init.resize(at + bytes, 0);
    }
    let n = bytes.min(8);
    init[at..at + n].copy_from_slice(&bits.to_le_bytes()[..n]);
}
