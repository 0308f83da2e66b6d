//! Atomic functions (6.12.11): `atomic_…` for 32 bits, `atom_…` for 64 bits too.

use super::analyzer::Sema;
use super::constant::wrap;
use super::convert::Purpose;
use super::hir::{Expr, ExprKind, Intrinsic};
use crate::diag::Code;
use crate::ir::Atomic;
use crate::source::Span;
use crate::types::{QualType, Scalar, Space};
use Effect::*;

/// What an atomic function does to the object.
#[derive(Clone, Copy)]
enum Effect {
    /// An operation of the device: on signed integers, on others.
    Operation(Atomic, Atomic),
    /// Adds a constant.
    Step(i64),
    /// Subtracts the operand.
    Subtract,
}

struct Function {
    /// What follows `atomic_` or `atom_`.
    name: &'static str,
    /// Number of operands after the pointer.
    operands: usize,
    effect: Effect,
    /// The target that has it for 64 bits: in global memory, in local memory.
    wide: (u32, u32),
}

const fn row(name: &'static str, operands: usize, effect: Effect, wide: (u32, u32)) -> Function {
    Function { name, operands, effect, wide }
}

const FUNCTIONS: &[Function] = &[
    row("add", 1, Operation(Atomic::Add, Atomic::Add), (12, 20)),
    row("sub", 1, Subtract, (12, 20)),
    row("xchg", 1, Operation(Atomic::Exch, Atomic::Exch), (12, 20)),
    row("cmpxchg", 2, Operation(Atomic::Cas, Atomic::Cas), (12, 20)),
    row("min", 1, Operation(Atomic::SMin, Atomic::UMin), (32, 32)),
    row("max", 1, Operation(Atomic::SMax, Atomic::UMax), (32, 32)),
    row("and", 1, Operation(Atomic::And, Atomic::And), (32, 32)),
    row("or", 1, Operation(Atomic::Or, Atomic::Or), (32, 32)),
    row("xor", 1, Operation(Atomic::Xor, Atomic::Xor), (32, 32)),
    row("inc", 0, Step(1), (12, 20)),
    row("dec", 0, Step(-1), (12, 20)),
];

impl Sema<'_> {
    /// A call of an atomic function; `None` if the name is not one.
    pub(super) fn atomic(&mut self, name: &str, values: &[Expr], span: Span) -> Option<Expr> {
        let (rest, long) = match (name.strip_prefix("atomic_"), name.strip_prefix("atom_")) {
            (Some(rest), _) => (rest, false),
            (None, Some(rest)) => (rest, true),
            (None, None) => return None,
        };
        let function = FUNCTIONS.iter().find(|f| f.name == rest)?;
        let form = format!(
            "{name}(volatile __global or __local int* pointer{})",
            [", value", ", value"][..function.operands].concat()
        );
        let to = values.first().and_then(|p| self.types.pointee(p.ty.id));
        let scalar = to.and_then(|to| self.types.scalar(to.id));
        let right_type = match scalar {
            Some(Scalar::I32 | Scalar::U32) => true,
            Some(Scalar::I64 | Scalar::U64) => long,
            Some(Scalar::F32) => matches!(function.effect, Operation(Atomic::Exch, _)),
            _ => false,
        };
        let (Some(to), Some(scalar), true) =
            (to, scalar, right_type && values.len() == function.operands + 1)
        else {
            return Some(self.wrong_arguments(name, values, &form, span));
        };
        let needs = match (to.space, scalar.size()) {
            (Space::Global, 4) => 11,
            (Space::Global, _) => function.wide.0,
            (Space::Local, 4) => 12,
            (Space::Local, _) => function.wide.1,
            (Space::Generic, _) => 70,
            (Space::Private | Space::Constant, _) => {
                return Some(self.wrong_arguments(name, values, &form, span));
            }
        };
        if to.constant {
            return Some(self.wrong_arguments(name, values, &form, span));
        }
        let sm = self.session.options.sm;
        if sm < needs {
            let message = format!("`{name}` on this type needs sm_{needs}; the target is sm_{sm}");
            self.error(Code::Extension, span, message);
            return Some(self.error_expr(span));
        }
        let ty = QualType::plain(scalar.into());
        let mut args = vec![values[0].clone()];
        for value in &values[1..] {
            args.push(self.coerce(value.clone(), ty, Purpose::Argument));
        }
        let op = match function.effect {
            Operation(signed, _) if scalar.is_signed() => signed,
            Operation(_, other) => other,
            Step(by) => {
                args.push(self.constant(scalar, wrap(scalar, by as u64), span));
                Atomic::Add
            }
            Subtract => {
                let value = args.remove(1);
                let (ty, at) = (value.ty, value.span);
                args.push(match value.constant() {
                    Some(v) => self.constant(scalar, wrap(scalar, v.wrapping_neg()), at),
                    None => Expr { kind: ExprKind::Negate(Box::new(value)), ty, span: at },
                });
                Atomic::Add
            }
        };
        Some(Expr { kind: ExprKind::Intrinsic(Intrinsic::Atomic(op), args), ty, span })
    }
}
