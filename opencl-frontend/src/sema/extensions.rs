//! What clang has beyond the language: statements as an expression, offsets of members, assembly.

use super::analyzer::Sema;
use super::convert::Purpose;
use super::hir::{AsmOperand, AsmOutput, AsmPiece, Expr, ExprKind, Stmt, StmtKind};
use crate::diag::Code;
use crate::parse::ast::{self, Designator};
use crate::parse::literal;
use crate::source::Span;
use crate::symbol::Symbol;
use crate::types::{QualType, Scalar, Type, TypeId};

/// Operands that one piece of assembly may read, those that it writes too included.
const MAX_INPUTS: usize = crate::ir::ASM_INPUTS;

impl Sema<'_> {
    /// `({ … })`: the value of its last statement, if that is an expression.
    pub(super) fn statement_expression(&mut self, list: &[ast::Stmt], span: Span) -> Expr {
        if self.context.function.is_none() {
            let message = "statements in an expression need a function around them";
            self.error(Code::NotConstant, span, message);
            return self.error_expr(span);
        }
        self.open_scope();
        let (last, before) = match list.split_last() {
            Some((ast::Stmt { kind: ast::StmtKind::Expr(Some(last)), .. }, before)) => {
                (Some(last), before)
            }
            _ => (None, list),
        };
        let mut statements = self.block(before);
        let value = last.map(|last| self.value(last));
        self.close_scope();
        let void = QualType::plain(TypeId::VOID);
        let ty = value.as_ref().map_or(void, |v| v.ty);
        let value = match value {
            // A value of no type is only an effect.
            Some(value) if ty.id == TypeId::VOID => {
                let span = value.span;
                statements.push(Stmt { kind: StmtKind::Expr(value), span });
                None
            }
            other => other.map(Box::new),
        };
        Expr { kind: ExprKind::Statements(statements, value), ty, span }
    }

    /// `__builtin_offsetof`
    pub(super) fn offset_of(
        &mut self,
        ty: &ast::TypeName,
        first: ast::Name,
        rest: &[Designator],
        span: Span,
    ) -> Expr {
        let mut ty = self.type_of_name(ty);
        let mut offset = 0;
        let first = Designator::Member(first);
        for designator in std::iter::once(&first).chain(rest) {
            let next = match (designator, self.types.get(ty.id).clone()) {
                (Designator::Member(name), Type::Struct(id)) => {
                    self.types.find_member(id, name.sym)
                }
                (Designator::Index(e), Type::Array(element, _)) => {
                    let index = self.integer_constant(e, "an index");
                    let size = self.types.size(element.id);
                    index.zip(size).map(|(i, size)| ((i as u64).wrapping_mul(size), element))
                }
                _ => None,
            };
            let Some((at, part)) = next else {
                if !self.types.is_error(ty.id) {
                    let message = format!("`{}` has no such member", self.value_type_name(ty));
                    self.error(Code::NoMember, span, message);
                }
                return self.error_expr(span);
            };
            (offset, ty) = (offset + at, part);
        }
        self.constant(self.types.size_type(), offset, span)
    }

    /// `asm`: PTX with operands, as NVIDIA's compilers take it.
    pub(super) fn asm(&mut self, asm: &ast::Asm, span: Span) -> Option<StmtKind> {
        let mut outputs = Vec::new();
        for operand in &asm.outputs {
            let (letter, reads) = match self.constraint(operand.constraint).as_str() {
                text if text.starts_with("=") => {
                    (text.trim_start_matches(['=', '&']).to_string(), false)
                }
                text if text.starts_with("+") => {
                    (text.trim_start_matches(['+', '&']).to_string(), true)
                }
                text => {
                    let message =
                        format!("the constraint `{text}` of an output must start with `=` or `+`");
                    self.error(Code::Operands, operand.span, message);
                    return None;
                }
            };
            let object = self.expr(&operand.value);
            if !self.check_modifiable(&object, operand.value.span) {
                return None;
            }
            let scalar = self.asm_class(&letter, object.ty, operand.span)?;
            if self.types.size(object.ty.id) != Some(scalar.size()) {
                let name = self.value_type_name(object.ty);
                let message = format!("`{name}` has another size than the constraint `{letter}`");
                self.error(Code::Operands, operand.span, message);
                return None;
            }
            outputs.push(AsmOutput { object, scalar, reads });
        }
        let mut inputs = Vec::new();
        for operand in &asm.inputs {
            let letter = self.constraint(operand.constraint);
            let value = self.value(&operand.value);
            if self.types.is_error(value.ty.id) {
                return None;
            }
            let literal = letter == "n";
            if literal && value.constant().is_none() {
                let message = "an operand with the constraint `n` must be a constant";
                self.error(Code::NotConstant, operand.span, message);
                return None;
            }
            let value = if literal {
                value
            } else {
                let scalar = self.asm_class(&letter, value.ty, operand.span)?;
                match self.types.scalar(value.ty.id).filter(|s| *s != Scalar::F16) {
                    Some(_) => {
                        self.coerce(value, QualType::plain(scalar.into()), Purpose::Argument)
                    }
                    None => self.reinterpret(value, scalar.into(), operand.span),
                }
            };
            inputs.push(AsmOperand { value, literal });
        }
        let reading = inputs.len() + outputs.iter().filter(|o| o.reads).count();
        if reading > MAX_INPUTS || outputs.len() > MAX_INPUTS {
            let message = format!("assembly can read and write {MAX_INPUTS} operands, no more");
            self.error(Code::Limit, span, message);
            return None;
        }
        let mut text = Vec::new();
        for part in &asm.text {
            text.extend(literal::string(self.session.names.text(*part)).unwrap_or_default());
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        match pieces(&text, outputs.len() + inputs.len()) {
            Ok(text) => Some(StmtKind::Asm { text, outputs, inputs }),
            Err(message) => {
                self.error(Code::Operands, span, message);
                None
            }
        }
    }

    fn constraint(&self, literal: Symbol) -> String {
        let text = literal::string(self.session.names.text(literal)).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The type of a register that a constraint asks for, for an operand of type `ty`.
    fn asm_class(&mut self, letter: &str, ty: QualType, span: Span) -> Option<Scalar> {
        let wide = self.types.pointee(ty.id).map(|_| self.types.size_type());
        let scalar = self.types.scalar(ty.id).or(wide);
        let class = match letter {
            "h" => Some(Scalar::U16),
            "r" => Some(Scalar::U32),
            "l" => Some(Scalar::U64),
            "f" => Some(Scalar::F32),
            "d" => Some(Scalar::F64),
            _ => None,
        };
        let Some(class) = class else {
            let message = format!("unknown constraint `{letter}`; PTX has h, r, l, f, d and n");
            self.error(Code::Operands, span, message);
            return None;
        };
        let fits = scalar.is_some_and(|s| {
            s.is_float() == class.is_float() && s.size() <= class.size()
                || s == Scalar::F16 && letter == "h"
        });
        if !fits {
            let name = self.value_type_name(ty);
            let message =
                format!("an operand of type `{name}` does not fit the constraint `{letter}`");
            self.error(Code::Operands, span, message);
            return None;
        }
        Some(match scalar {
            // The sign decides how a narrow input is widened.
            Some(s) if class.is_int() && s.is_signed() => class.signed(),
            _ => class,
        })
    }
}

/// The text with its operands, `%0` and so on; `%%` is a percent sign.
fn pieces(text: &str, operands: usize) -> Result<Vec<AsmPiece>, String> {
    let mut out = Vec::new();
    let mut plain = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            plain.push(c);
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            plain.push('%');
            continue;
        }
        let mut number = None;
        while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
            chars.next();
            number = Some((number.unwrap_or(0usize) * 10 + digit as usize).min(1 << 16));
        }
        match number {
            Some(n) if n < operands => {
                out.push(AsmPiece::Text(std::mem::take(&mut plain)));
                out.push(AsmPiece::Operand(n));
            }
            Some(n) => return Err(format!("assembly has no operand %{n}")),
            None => {
                return Err("`%` in assembly needs the number of an operand, or another `%`".into());
            }
        }
    }
    out.push(AsmPiece::Text(plain));
    Ok(out)
}
