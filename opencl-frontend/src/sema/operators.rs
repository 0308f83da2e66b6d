//! Operators.

use smallvec::SmallVec;

use super::analyzer::Sema;
use super::convert::{Purpose, widens, writable};
use super::hir::{Expr, ExprKind, Rounding};
use crate::diag::Code;
use crate::parse::ast::{self, BinaryOp, UnaryOp};
use crate::source::Span;
use crate::types::{QualType, Scalar, Space, Type, TypeId};

impl Sema<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: &ast::Expr, span: Span) -> Expr {
        match op {
            UnaryOp::AddressOf => {
                let object = match &operand.kind {
                    ast::ExprKind::Index(a, b) => self.index(a, b, true, operand.span),
                    _ => self.expr(operand),
                };
                if self.types.is_error(object.ty.id) {
                    return self.error_expr(span);
                }
                if matches!(object.kind, ExprKind::Swizzle(..)) {
                    self.error(
                        Code::Operands,
                        span,
                        "the address of a vector component cannot be taken (6.1.7)",
                    );
                    return self.error_expr(span);
                }
                if !object.is_lvalue() {
                    self.error(Code::Operands, span, "`&` needs an object in memory");
                    return self.error_expr(span);
                }
                let ty = QualType::plain(self.types.pointer(object.ty));
                if let ExprKind::Deref(pointer) = object.kind {
                    return Expr { ty, span, ..*pointer };
                }
                Expr { kind: ExprKind::AddressOf(Box::new(object)), ty, span }
            }
            UnaryOp::Deref => {
                let pointer = self.value(operand);
                self.deref(pointer, "*", span)
            }
            UnaryOp::PreInc | UnaryOp::PreDec | UnaryOp::PostInc | UnaryOp::PostDec => {
                self.increment(op, operand, span)
            }
            UnaryOp::Plus | UnaryOp::Minus | UnaryOp::Not => {
                let value = self.value(operand);
                let value = self.promote(value);
                let Some((scalar, _)) = self.types.lanes(value.ty.id) else {
                    return self.bad_operand(op, &value, span);
                };
                if op == UnaryOp::Not && scalar.is_float() {
                    return self.bad_operand(op, &value, span);
                }
                if let Some(lanes) = value.constant_lanes().filter(|_| op != UnaryOp::Plus) {
                    let folded: SmallVec<[u64; 16]> = lanes
                        .iter()
                        .map(|bits| match (op, scalar.is_float()) {
                            (UnaryOp::Minus, true) => bits ^ 1 << (scalar.bits() - 1),
                            (UnaryOp::Minus, false) => {
                                super::constant::wrap(scalar, bits.wrapping_neg())
                            }
                            _ => super::constant::wrap(scalar, !bits),
                        })
                        .collect();
                    return self.constant_from_lanes(value.ty.id, &folded, span);
                }
                let ty = value.ty;
                match op {
                    UnaryOp::Plus => value,
                    UnaryOp::Minus => Expr { kind: ExprKind::Negate(Box::new(value)), ty, span },
                    UnaryOp::Not
                    | UnaryOp::LogicalNot
                    | UnaryOp::Deref
                    | UnaryOp::AddressOf
                    | UnaryOp::PreInc
                    | UnaryOp::PreDec
                    | UnaryOp::PostInc
                    | UnaryOp::PostDec => Expr { kind: ExprKind::Not(Box::new(value)), ty, span },
                }
            }
            UnaryOp::LogicalNot => {
                let value = self.value(operand);
                if let Type::Vector(scalar, n) = *self.types.get(value.ty.id) {
                    let zero =
                        self.constant_from_lanes(value.ty.id, &vec![0; usize::from(n)], span);
                    let _ = scalar;
                    return self.make_binary(BinaryOp::Eq, value, zero, span);
                }
                let truth = self.truth(value);
                if self.types.is_error(truth.ty.id) {
                    return truth;
                }
                let negated = match truth.constant() {
                    Some(v) => self.constant(Scalar::Bool, u64::from(v == 0), span),
                    None => Expr {
                        kind: ExprKind::LogicalNot(Box::new(truth)),
                        ty: QualType::plain(TypeId::BOOL),
                        span,
                    },
                };
                self.make_convert(negated, TypeId::INT, false, Rounding::Default)
            }
        }
    }

    fn bad_operand(&mut self, op: UnaryOp, value: &Expr, span: Span) -> Expr {
        if !self.types.is_error(value.ty.id) {
            let text = match op {
                UnaryOp::Plus => "+",
                UnaryOp::Minus => "-",
                UnaryOp::Not => "~",
                UnaryOp::LogicalNot => "!",
                UnaryOp::Deref => "*",
                UnaryOp::AddressOf => "&",
                UnaryOp::PreInc | UnaryOp::PostInc => "++",
                UnaryOp::PreDec | UnaryOp::PostDec => "--",
            };
            let name = self.value_type_name(value.ty);
            self.error(Code::Operands, span, format!("`{text}` cannot be applied to `{name}`"));
        }
        self.error_expr(span)
    }

    fn increment(&mut self, op: UnaryOp, operand: &ast::Expr, span: Span) -> Expr {
        let object = self.expr(operand);
        if !self.check_modifiable(&object, span) {
            return self.error_expr(span);
        }
        let post = matches!(op, UnaryOp::PostInc | UnaryOp::PostDec);
        let down = matches!(op, UnaryOp::PreDec | UnaryOp::PostDec);
        let ty = object.ty.value();
        let contract = self.context.contract;
        let binary = if down { BinaryOp::Sub } else { BinaryOp::Add };
        if let Some(to) = self.types.pointee(ty.id) {
            let Some(size) = self.object_size(to, span) else { return self.error_expr(span) };
            let step = self.constant(Scalar::I64, size, span);
            let kind = ExprKind::Update {
                op: binary,
                lhs: Box::new(object),
                rhs: Box::new(step),
                compute: ty,
                post,
                contract,
            };
            return Expr { kind, ty, span };
        }
        let Some((scalar, n)) = self.types.lanes(ty.id).filter(|(s, _)| *s != Scalar::Bool) else {
            let name = self.value_type_name(ty);
            self.error(
                Code::Operands,
                span,
                format!("`{name}` cannot be incremented or decremented"),
            );
            return self.error_expr(span);
        };
        let one = if scalar.is_float() { super::constant::float_bits(scalar, 1.0) } else { 1 };
        let rhs = self.constant_from_lanes(ty.id, &vec![one; usize::from(n)], span);
        let kind = ExprKind::Update {
            op: binary,
            lhs: Box::new(object),
            rhs: Box::new(rhs),
            compute: ty,
            post,
            contract,
        };
        Expr { kind, ty, span }
    }

    pub(super) fn check_modifiable(&mut self, object: &Expr, span: Span) -> bool {
        if self.types.is_error(object.ty.id) {
            return false;
        }
        let problem = if !object.is_lvalue() {
            Some("this is not an object that can be assigned to".to_string())
        } else if let ExprKind::Swizzle(_, lanes) = &object.kind
            && (1..lanes.len()).any(|i| lanes[..i].contains(&lanes[i]))
        {
            Some("a component occurs twice in the vector to assign to (6.1.7)".to_string())
        } else if !writable(object.ty.space) {
            Some("objects in the __constant address space cannot be written".to_string())
        } else if object.ty.constant {
            Some(format!("this object is const (`{}`)", self.type_name(object.ty)))
        } else if matches!(self.types.get(object.ty.id), Type::Array(..)) {
            Some("an array cannot be assigned to".to_string())
        } else if matches!(self.types.get(object.ty.id), Type::Atomic(_)) {
            Some("an atomic object is written by functions, such as `atomic_store`".to_string())
        } else {
            None
        };
        match problem {
            Some(message) => {
                self.error(Code::NotAssignable, span, message);
                false
            }
            None => true,
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, lhs: Expr, rhs: Expr, span: Span) -> Expr {
        use BinaryOp::*;
        if self.types.is_error(lhs.ty.id) || self.types.is_error(rhs.ty.id) {
            return self.error_expr(span);
        }
        let (left_to, right_to) = (self.types.pointee(lhs.ty.id), self.types.pointee(rhs.ty.id));
        match (op, left_to, right_to) {
            (Add, Some(_), None) => return self.pointer_add(lhs, rhs, false, span),
            (Add, None, Some(_)) => return self.pointer_add(rhs, lhs, false, span),
            (Sub, Some(_), None) => return self.pointer_add(lhs, rhs, true, span),
            (Sub, Some(a), Some(b)) if widens(a.space, b.space) => {
                let lhs = self.in_generic(lhs, a);
                return self.binary(op, lhs, rhs, span);
            }
            (Sub, Some(a), Some(b)) if widens(b.space, a.space) => {
                let rhs = self.in_generic(rhs, b);
                return self.binary(op, lhs, rhs, span);
            }
            (Sub, Some(a), Some(b)) => {
                if a.id != b.id || a.space != b.space {
                    self.bad_operands("-", &lhs, &rhs, span);
                    return self.error_expr(span);
                }
                let Some(size) = self.object_size(a, span) else { return self.error_expr(span) };
                let ty = QualType::plain(self.types.size_type().signed().into());
                return Expr {
                    kind: ExprKind::PointerDiff(Box::new(lhs), Box::new(rhs), size.max(1)),
                    ty,
                    span,
                };
            }
            (Lt | Gt | Le | Ge | Eq | Ne, Some(a), Some(b)) => {
                if widens(a.space, b.space) {
                    let lhs = self.in_generic(lhs, a);
                    return self.binary(op, lhs, rhs, span);
                }
                if widens(b.space, a.space) {
                    let rhs = self.in_generic(rhs, b);
                    return self.binary(op, lhs, rhs, span);
                }
                if a.space != b.space && !lhs.is_null() && !rhs.is_null() {
                    self.error(
                        Code::AddressSpace,
                        span,
                        "these pointers have different address spaces",
                    );
                    return self.error_expr(span);
                }
                if a.id != b.id && a.id != TypeId::VOID && b.id != TypeId::VOID {
                    let message = format!(
                        "comparing `{}` with `{}`",
                        self.value_type_name(lhs.ty),
                        self.value_type_name(rhs.ty)
                    );
                    self.warn(Code::IncompatiblePointers, span, message);
                }
                return self.make_binary(op, lhs, rhs, span);
            }
            (Lt | Gt | Le | Ge | Eq | Ne, Some(_), None) if rhs.is_null() => {
                let null = Expr { ty: lhs.ty, ..rhs };
                return self.make_binary(op, lhs, null, span);
            }
            (Lt | Gt | Le | Ge | Eq | Ne, None, Some(_)) if lhs.is_null() => {
                let null = Expr { ty: rhs.ty, ..lhs };
                return self.make_binary(op, null, rhs, span);
            }
            (LogicalAnd | LogicalOr, _, _) => return self.logical(op, lhs, rhs, span),
            _ => {}
        }
        let (Some((sa, na)), Some((sb, nb))) =
            (self.types.lanes(lhs.ty.id), self.types.lanes(rhs.ty.id))
        else {
            self.bad_operands(op.text(), &lhs, &rhs, span);
            return self.error_expr(span);
        };
        let integers_only = matches!(op, Rem | Shl | Shr | And | Or | Xor);
        if integers_only && (sa.is_float() || sb.is_float()) {
            self.bad_operands(op.text(), &lhs, &rhs, span);
            return self.error_expr(span);
        }
        if matches!(op, Shl | Shr) {
            return self.shift(op, lhs, rhs, na, nb, span);
        }
        match self.usual(op.text(), lhs, rhs, span) {
            Some((a, b)) => self.make_binary(op, a, b, span),
            None => self.error_expr(span),
        }
    }

    /// Shifts take the type of the left operand; the count wraps at its width (6.3.j).
    fn shift(&mut self, op: BinaryOp, lhs: Expr, rhs: Expr, na: u8, nb: u8, span: Span) -> Expr {
        if na == 1 && nb > 1 {
            self.bad_operands(op.text(), &lhs, &rhs, span);
            return self.error_expr(span);
        }
        let lhs = self.promote(lhs);
        let width = self.types.lanes(lhs.ty.id).map_or(32, |(s, _)| s.bits());
        if let Some(count) = rhs.constant()
            && (count >= u64::from(width))
        {
            let message =
                format!("shift count {} is not below the width, {width}; it wraps", count as i64);
            self.warn(Code::ShiftCount, span, message);
        }
        let to = lhs.ty.id;
        let rhs = if nb == 1 {
            self.splat(rhs, to)
        } else if na == nb {
            self.make_convert(rhs, to, false, Rounding::Default)
        } else {
            self.bad_operands(op.text(), &lhs, &rhs, span);
            return self.error_expr(span);
        };
        self.make_binary(op, lhs, rhs, span)
    }

    fn logical(&mut self, op: BinaryOp, lhs: Expr, rhs: Expr, span: Span) -> Expr {
        if self.types.is_vector(lhs.ty.id) || self.types.is_vector(rhs.ty.id) {
            let Some((a, b)) = self.usual(op.text(), lhs, rhs, span) else {
                return self.error_expr(span);
            };
            // Per component, and both sides are evaluated (6.3.g).
            let Some((_, n)) = self.types.lanes(a.ty.id) else { return self.error_expr(span) };
            let zeros = vec![0; usize::from(n)];
            let zero = self.constant_from_lanes(a.ty.id, &zeros, span);
            let x = self.make_binary(BinaryOp::Ne, a, zero.clone(), span);
            let y = self.make_binary(BinaryOp::Ne, b, zero, span);
            let bitwise = if op == BinaryOp::LogicalAnd { BinaryOp::And } else { BinaryOp::Or };
            return self.make_binary(bitwise, x, y, span);
        }
        let a = self.truth(lhs);
        let b = self.truth(rhs);
        if self.types.is_error(a.ty.id) || self.types.is_error(b.ty.id) {
            return self.error_expr(span);
        }
        let ty = QualType::plain(TypeId::BOOL);
        let is_and = op == BinaryOp::LogicalAnd;
        let value = match (a.constant(), b.constant()) {
            (Some(0), _) if is_and => self.constant(Scalar::Bool, 0, span),
            (Some(v), _) if !is_and && v != 0 => self.constant(Scalar::Bool, 1, span),
            (Some(_), _) => b,
            _ if is_and => Expr { kind: ExprKind::LogicalAnd(Box::new(a), Box::new(b)), ty, span },
            _ => Expr { kind: ExprKind::LogicalOr(Box::new(a), Box::new(b)), ty, span },
        };
        self.make_convert(value, TypeId::INT, false, Rounding::Default)
    }

    pub(super) fn assign(
        &mut self,
        op: Option<BinaryOp>,
        a: &ast::Expr,
        b: &ast::Expr,
        span: Span,
    ) -> Expr {
        let object = self.expr(a);
        let value = self.value(b);
        if !self.check_modifiable(&object, a.span) || self.types.is_error(value.ty.id) {
            return self.error_expr(span);
        }
        let ty = object.ty.value();
        if self.types.scalar(ty.id) == Some(Scalar::F16)
            && !self.extension_enabled("cl_khr_fp16", span)
        {
            self.error(
                Code::Extension,
                span,
                "writing a half value needs cl_khr_fp16; use vstore_half",
            );
            return self.error_expr(span);
        }
        let Some(op) = op else {
            let value = self.coerce(value, ty, Purpose::Assign);
            if self.types.is_error(value.ty.id) {
                return value;
            }
            return Expr { kind: ExprKind::Assign(Box::new(object), Box::new(value)), ty, span };
        };
        let contract = self.context.contract;
        if self.types.pointee(ty.id).is_some() && matches!(op, BinaryOp::Add | BinaryOp::Sub) {
            // Let the pointer rules judge the operand; its scaled index is the step.
            let dummy = Expr { kind: ExprKind::Const(0), ty, span };
            let moved = self.pointer_add(dummy, value, op == BinaryOp::Sub, span);
            let ExprKind::PointerAdd(_, index, size) = moved.kind else {
                return self.error_expr(span);
            };
            let size = self.constant(Scalar::I64, size, span);
            let index = self.make_convert(*index, Scalar::I64.into(), false, Rounding::Default);
            let step = self.make_binary(BinaryOp::Mul, index, size, span);
            let kind = ExprKind::Update {
                op: BinaryOp::Add,
                lhs: Box::new(object),
                rhs: Box::new(step),
                compute: ty,
                post: false,
                contract,
            };
            return Expr { kind, ty, span };
        }
        // Type the operation on a stand-in for the object's value.
        let stand_in = Expr { kind: ExprKind::Load(Box::new(object.clone())), ty, span: a.span };
        if !self.types.is_vector(ty.id) && self.types.is_vector(value.ty.id) {
            self.bad_operands(&format!("{}=", op.text()), &object, &value, span);
            return self.error_expr(span);
        }
        let result = self.binary(op, stand_in, value, span);
        let ExprKind::Binary { lhs, rhs, .. } = result.kind else { return self.error_expr(span) };
        let compute = lhs.ty;
        if self.types.lanes(compute.id).map(|l| l.1) != self.types.lanes(ty.id).map(|l| l.1) {
            self.bad_operands(&format!("{}=", op.text()), &object, &rhs, span);
            return self.error_expr(span);
        }
        let kind =
            ExprKind::Update { op, lhs: Box::new(object), rhs, compute, post: false, contract };
        Expr { kind, ty, span }
    }

    /// A pointer to `to` as a generic one.
    fn in_generic(&mut self, pointer: Expr, to: QualType) -> Expr {
        let to = self.in_space(to, Space::Generic);
        let ty = QualType::plain(self.types.pointer(to));
        self.coerce(pointer, ty, Purpose::Assign)
    }

    pub(super) fn conditional(
        &mut self,
        c: &ast::Expr,
        a: &ast::Expr,
        b: &ast::Expr,
        span: Span,
    ) -> Expr {
        let condition = self.value(c);
        let yes = self.value(a);
        let no = self.value(b);
        if [&condition, &yes, &no].iter().any(|e| self.types.is_error(e.ty.id)) {
            return self.error_expr(span);
        }
        if let Type::Vector(cs, cn) = *self.types.get(condition.ty.id) {
            let Some((yes, no)) = self.usual("?:", yes, no, span) else {
                return self.error_expr(span);
            };
            let to = match self.types.lanes(yes.ty.id) {
                Some((s, 1)) => self.types.vector(s, cn),
                _ => yes.ty.id,
            };
            let fits = cs.is_int()
                && self.types.lanes(to).is_some_and(|(s, n)| n == cn && s.size() == cs.size());
            if !fits {
                let message = format!(
                    "a condition of type `{}` cannot choose between values of type `{}` (6.3.i)",
                    self.value_type_name(condition.ty),
                    self.value_type_name(yes.ty)
                );
                self.error(Code::Operands, span, message);
                return self.error_expr(span);
            }
            let yes = if yes.ty.id == to { yes } else { self.splat(yes, to) };
            let no = if no.ty.id == to { no } else { self.splat(no, to) };
            let kind = ExprKind::VectorSelect(Box::new(condition), Box::new(yes), Box::new(no));
            return Expr { kind, ty: QualType::plain(to), span };
        }
        let condition = self.truth(condition);
        let (left_to, right_to) = (self.types.pointee(yes.ty.id), self.types.pointee(no.ty.id));
        let (yes, no) = match (left_to, right_to) {
            _ if yes.ty.id == no.ty.id => (yes, no),
            (Some(_), _) if no.is_null() => {
                let null = Expr { kind: ExprKind::Const(0), ty: yes.ty, span: no.span };
                (yes, null)
            }
            (_, Some(_)) if yes.is_null() => {
                let null = Expr { kind: ExprKind::Const(0), ty: no.ty, span: yes.span };
                (null, no)
            }
            (Some(x), Some(y))
                if x.space != y.space
                    && self.has_generic_space()
                    && x.space != Space::Constant
                    && y.space != Space::Constant =>
            {
                let (yes, no) = (self.in_generic(yes, x), self.in_generic(no, y));
                let to = if x.id == TypeId::VOID || y.constant { no.ty } else { yes.ty };
                (self.coerce(yes, to, Purpose::Assign), self.coerce(no, to, Purpose::Assign))
            }
            (Some(x), Some(y)) => {
                let to = if x.id == TypeId::VOID || y.constant { no.ty } else { yes.ty };
                (self.coerce(yes, to, Purpose::Assign), self.coerce(no, to, Purpose::Assign))
            }
            _ => match self.usual("?:", yes, no, span) {
                Some(pair) => pair,
                None => return self.error_expr(span),
            },
        };
        let ty = yes.ty;
        if self.types.is_error(ty.id)
            || self.types.is_error(no.ty.id)
            || self.types.is_error(condition.ty.id)
        {
            return self.error_expr(span);
        }
        match condition.constant() {
            Some(v) => Expr { span, ..if v != 0 { yes } else { no } },
            None => Expr {
                kind: ExprKind::Conditional(Box::new(condition), Box::new(yes), Box::new(no)),
                ty,
                span,
            },
        }
    }
}
