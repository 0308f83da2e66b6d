//! Conversions: lvalues to values, promotions, the usual arithmetic conversions, assignments, casts.

use smallvec::SmallVec;

use super::analyzer::Sema;
use super::constant;
use super::hir::{Expr, ExprKind, Rounding};
use crate::diag::{Code, Diag};
use crate::parse::ast::{self, BinaryOp};
use crate::source::Span;
use crate::types::{Access, QualType, Scalar, Space, Type, TypeId};

/// Why a value is converted; names the place in messages.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Assign,
    Initialize,
    Argument,
    Return,
}

impl Purpose {
    fn verb(self) -> &'static str {
        match self {
            Purpose::Assign => "assign",
            Purpose::Initialize => "initialise with",
            Purpose::Argument => "pass",
            Purpose::Return => "return",
        }
    }
}

impl Sema<'_> {
    /// The value of an expression: loads lvalues, turns arrays into pointers.
    pub(super) fn rvalue(&mut self, expr: Expr) -> Expr {
        if let Type::Array(element, _) = *self.types.get(expr.ty.id) {
            let ty = QualType::plain(self.types.pointer(element));
            let span = expr.span;
            return Expr { kind: ExprKind::AddressOf(Box::new(expr)), ty, span };
        }
        if !expr.is_lvalue() {
            return expr;
        }
        let mut expr = expr;
        // Nobody else's writes may be missed; what is read is a plain value.
        if let Type::Atomic(scalar) = *self.types.get(expr.ty.id) {
            (expr.ty.id, expr.ty.volatile) = (scalar.into(), true);
        }
        let (ty, span) = (expr.ty.value(), expr.span);
        if let (ExprKind::Local(id), Some(current)) = (&expr.kind, self.current()) {
            let uses = current.uses.entry(*id).or_default();
            uses.loads += 1;
            uses.first_load.get_or_insert(span);
        }
        if self.types.scalar(ty.id) == Some(Scalar::F16)
            && !self.extension_enabled("cl_khr_fp16", span)
        {
            let diag = Diag::error(
                Code::Extension,
                "reading a half value needs cl_khr_fp16; use vload_half",
            )
            .help("`#pragma OPENCL EXTENSION cl_khr_fp16 : enable`");
            self.report(diag, span);
        }
        Expr { kind: ExprKind::Load(Box::new(expr)), ty, span }
    }

    /// A constant of a scalar type.
    pub(super) fn constant(&self, scalar: Scalar, bits: u64, span: Span) -> Expr {
        Expr { kind: ExprKind::Const(bits), ty: QualType::plain(scalar.into()), span }
    }

    /// A constant scalar or vector from its components.
    pub(super) fn constant_from_lanes(&mut self, id: TypeId, lanes: &[u64], span: Span) -> Expr {
        let (scalar, n) = self.types.lanes(id).unwrap_or((Scalar::I32, 1));
        if n == 1 {
            return self.constant(scalar, lanes[0], span);
        }
        let parts = lanes.iter().map(|bits| self.constant(scalar, *bits, span)).collect();
        Expr { kind: ExprKind::Build(parts), ty: QualType::plain(id), span }
    }

    /// Numeric conversion, folded for constants.
    pub(super) fn make_convert(
        &mut self,
        value: Expr,
        to: TypeId,
        saturate: bool,
        rounding: Rounding,
    ) -> Expr {
        if value.ty.id == to {
            return value;
        }
        let span = value.span;
        let (Some((from, n)), Some((target, _))) =
            (self.types.lanes(value.ty.id), self.types.lanes(to))
        else {
            return self.error_expr(span);
        };
        if let Some(lanes) = value.constant_lanes() {
            let folded: Option<SmallVec<[u64; 16]>> = lanes
                .iter()
                .map(|bits| constant::convert(from, target, *bits, saturate, rounding))
                .collect();
            if let Some(folded) = folded.filter(|f| f.len() == usize::from(n)) {
                return self.constant_from_lanes(to, &folded, span);
            }
        }
        let kind = ExprKind::Convert { value: Box::new(value), saturate, rounding };
        Expr { kind, ty: QualType::plain(to), span }
    }

    fn plain_convert(&mut self, value: Expr, to: TypeId) -> Expr {
        self.make_convert(value, to, false, Rounding::Default)
    }

    /// A vector with the scalar in each component.
    pub(super) fn splat(&mut self, value: Expr, to: TypeId) -> Expr {
        let Some((scalar, n)) = self.types.lanes(to) else { return value };
        let value = self.plain_convert(value, scalar.into());
        if n == 1 {
            return value;
        }
        let span = value.span;
        if let Some(bits) = value.constant() {
            return self.constant_from_lanes(to, &vec![bits; usize::from(n)], span);
        }
        Expr { kind: ExprKind::Splat(Box::new(value)), ty: QualType::plain(to), span }
    }

    /// Integer promotion of a scalar.
    pub(super) fn promote(&mut self, value: Expr) -> Expr {
        match self.types.scalar(value.ty.id) {
            Some(s) if s.is_int() && s.rank() < Scalar::I32.rank() => {
                self.plain_convert(value, TypeId::INT)
            }
            _ => value,
        }
    }

    /// The common type of two scalars (6.2.6).
    fn common_scalar(a: Scalar, b: Scalar) -> Scalar {
        if a.is_float() || b.is_float() {
            return if a.rank() >= b.rank() { a } else { b };
        }
        let wide = a.rank().max(b.rank()).max(4);
        let unsigned = |s: Scalar| !s.is_signed() && s.rank() == wide;
        match (wide, unsigned(a) || unsigned(b)) {
            (4, false) => Scalar::I32,
            (4, true) => Scalar::U32,
            (_, false) => Scalar::I64,
            (_, true) => Scalar::U64,
        }
    }

    /// Brings two arithmetic operands to one type; reports when there is none.
    pub(super) fn usual(
        &mut self,
        what: &str,
        a: Expr,
        b: Expr,
        span: Span,
    ) -> Option<(Expr, Expr)> {
        if self.types.is_error(a.ty.id) || self.types.is_error(b.ty.id) {
            return None;
        }
        let (Some((sa, na)), Some((sb, nb))) =
            (self.types.lanes(a.ty.id), self.types.lanes(b.ty.id))
        else {
            self.bad_operands(what, &a, &b, span);
            return None;
        };
        match (na, nb) {
            (1, 1) => {
                let common = Self::common_scalar(sa, sb).into();
                Some((self.plain_convert(a, common), self.plain_convert(b, common)))
            }
            (_, 1) => {
                self.check_widening(&b, sb, sa, na)?;
                let ty = a.ty.id;
                Some((a, self.splat(b, ty)))
            }
            (1, _) => {
                self.check_widening(&a, sa, sb, nb)?;
                let ty = b.ty.id;
                Some((self.splat(a, ty), b))
            }
            _ if a.ty.id == b.ty.id => Some((a, b)),
            _ => {
                self.bad_operands(what, &a, &b, span);
                None
            }
        }
    }

    /// A scalar operand may not outrank the components of the vector, unless it is a constant (6.2.6).
    fn check_widening(&mut self, value: &Expr, from: Scalar, to: Scalar, n: u8) -> Option<()> {
        let fits = from.rank() <= to.rank() || value.constant().is_some();
        let drops_fraction = from.is_float() && to.is_int();
        if fits && !drops_fraction {
            return Some(());
        }
        let message = format!(
            "a scalar of type `{}` cannot be widened to `{}{n}` without loss",
            from.name(),
            to.name()
        );
        self.error(Code::Operands, value.span, message);
        None
    }

    pub(super) fn bad_operands(&mut self, what: &str, a: &Expr, b: &Expr, span: Span) {
        let (ta, tb) = (self.value_type_name(a.ty), self.value_type_name(b.ty));
        let mut diag = Diag::error(
            Code::Operands,
            format!("operands of `{what}` do not fit: `{ta}` and `{tb}`"),
        );
        if let Some(place) = self.place(a.span) {
            diag = diag.label(place, ta);
        }
        if let Some(place) = self.place(b.span) {
            diag = diag.label(place, tb);
        }
        self.report(diag, span);
    }

    /// Implicit conversion to a type, as by assignment.
    pub(super) fn coerce(&mut self, value: Expr, to: QualType, purpose: Purpose) -> Expr {
        let span = value.span;
        if self.types.is_error(value.ty.id) || self.types.is_error(to.id) {
            return self.error_expr(span);
        }
        if value.ty.id == to.id {
            return value;
        }
        let (from_ty, to_ty) = (self.types.get(value.ty.id).clone(), self.types.get(to.id).clone());
        match (from_ty, to_ty) {
            (Type::Scalar(_), Type::Atomic(inner)) if matches!(purpose, Purpose::Initialize) => {
                self.coerce(value, QualType::plain(inner.into()), purpose)
            }
            (Type::Scalar(from), Type::Scalar(into)) => {
                self.check_constant_change(&value, from, into);
                self.plain_convert(value, to.id)
            }
            // Assignments convert any scalar; only operators ask for its rank (6.2.6).
            (Type::Scalar(_), Type::Vector(..)) => self.splat(value, to.id),
            (_, Type::Pointer(_)) if value.is_null() => {
                Expr { kind: ExprKind::Const(0), ty: to.value(), span }
            }
            (Type::Image(a, Access::ReadWrite), Type::Image(b, _)) if a == b => {
                Expr { kind: ExprKind::Bitcast(Box::new(value)), ty: to.value(), span }
            }
            (Type::Pointer(a), Type::Pointer(b)) => {
                if a.space != b.space && !widens(a.space, b.space) {
                    let message = format!(
                        "cannot {} `{}` where `{}` is wanted: the address spaces differ",
                        purpose.verb(),
                        self.value_type_name(value.ty),
                        self.value_type_name(to)
                    );
                    self.error(Code::AddressSpace, span, message);
                    return self.error_expr(span);
                }
                let void = |id| id == TypeId::VOID;
                if a.id != b.id && !void(a.id) && !void(b.id) {
                    let message = format!(
                        "cannot {} `{}` where `{}` is wanted without a cast",
                        purpose.verb(),
                        self.value_type_name(value.ty),
                        self.value_type_name(to)
                    );
                    self.warn(Code::IncompatiblePointers, span, message);
                } else if (a.constant && !b.constant) || (a.volatile && !b.volatile) {
                    let lost = if a.constant && !b.constant { "const" } else { "volatile" };
                    let message = format!(
                        "`{}` loses `{lost}` where `{}` is wanted",
                        self.value_type_name(value.ty),
                        self.value_type_name(to)
                    );
                    self.warn(Code::IncompatiblePointers, span, message);
                }
                Expr { kind: ExprKind::Bitcast(Box::new(value)), ty: to.value(), span }
            }
            (Type::Pointer(_), Type::Scalar(Scalar::Bool)) => self.truth(value),
            (Type::Scalar(s), Type::Sampler) if s.is_int() && value.constant().is_some() => {
                let bits = value.constant().unwrap_or(0) & 0xffff_ffff;
                Expr { kind: ExprKind::Const(bits), ty: to.value(), span }
            }
            (Type::Scalar(_), Type::Event) if value.constant() == Some(0) => {
                Expr { kind: ExprKind::Const(0), ty: to.value(), span }
            }
            _ => {
                let message = format!(
                    "cannot {} `{}` where `{}` is wanted",
                    purpose.verb(),
                    self.value_type_name(value.ty),
                    self.value_type_name(to)
                );
                let mut diag = Diag::error(Code::Conversion, message);
                if let (Some((_, a)), Some((s, b))) =
                    (self.types.lanes(value.ty.id), self.types.lanes(to.id))
                    && a == b
                    && a > 1
                {
                    diag = diag.help(format!("convert_{}{b}() converts per component", s.name()));
                }
                self.report(diag, span);
                self.error_expr(span)
            }
        }
    }

    fn check_constant_change(&mut self, value: &Expr, from: Scalar, to: Scalar) {
        let Some(bits) = value.constant() else { return };
        if !from.is_int() || !to.is_int() || to == Scalar::Bool || from.bits() <= to.bits() {
            return;
        }
        let kept = constant::wrap(to, bits);
        let negative = from.is_signed() && (bits as i64) < 0;
        // -1 for all bits is idiom; so are bit patterns that fit unsigned.
        if constant::wrap(from, kept) != bits
            && !(negative && constant::wrap(to.signed(), bits) == bits)
            && bits >> to.bits().min(63) != 0
        {
            let shown = if from.is_signed() { (bits as i64).to_string() } else { bits.to_string() };
            let got = if to.is_signed() { (kept as i64).to_string() } else { kept.to_string() };
            self.warn(
                Code::ConstantConversion,
                value.span,
                format!("{shown} becomes {got} in type `{}`", to.name()),
            );
        }
    }

    /// The truth of a scalar or pointer.
    pub(super) fn truth(&mut self, value: Expr) -> Expr {
        let span = value.span;
        match self.types.get(value.ty.id) {
            Type::Scalar(Scalar::Bool) => value,
            Type::Scalar(_) => {
                // A comparison that was only widened to int is still the comparison.
                if let ExprKind::Convert { value: inner, .. } = &value.kind
                    && inner.ty.id == TypeId::BOOL
                {
                    return (**inner).clone();
                }
                self.plain_convert(value, TypeId::BOOL)
            }
            Type::Pointer(_) => {
                self.note_local_null(value.ty);
                let null = Expr { kind: ExprKind::Const(0), ty: value.ty, span };
                let kind = ExprKind::Binary {
                    op: BinaryOp::Ne,
                    lhs: Box::new(value),
                    rhs: Box::new(null),
                    contract: false,
                };
                Expr { kind, ty: QualType::plain(TypeId::BOOL), span }
            }
            Type::Error => value,
            _ => {
                let name = self.value_type_name(value.ty);
                self.error(Code::Operands, span, format!("a condition cannot have type `{name}`"));
                self.error_expr(span)
            }
        }
    }

    /// Notes that a pointer of this type may be compared with null.
    pub(super) fn note_local_null(&mut self, ty: QualType) {
        self.local_null |= self.types.pointee(ty.id).is_some_and(|to| to.space == Space::Local);
    }

    /// An explicit cast.
    pub(super) fn cast(&mut self, value: Expr, to: QualType, span: Span) -> Expr {
        if self.types.is_error(value.ty.id) || self.types.is_error(to.id) {
            return self.error_expr(span);
        }
        let (from_ty, to_ty) = (self.types.get(value.ty.id).clone(), self.types.get(to.id).clone());
        let mut out = match (from_ty, to_ty) {
            (_, Type::Void) => {
                Expr { ty: to.value(), kind: ExprKind::Bitcast(Box::new(value)), span }
            }
            (Type::Scalar(_), Type::Scalar(_)) => self.plain_convert(value, to.id),
            (Type::Scalar(_), Type::Vector(..)) => self.splat(value, to.id),
            (Type::Vector(..), Type::Vector(..)) if value.ty.id == to.id => value,
            (Type::Pointer(a), Type::Pointer(b)) => {
                let converts = widens(a.space, b.space) || widens(b.space, a.space);
                if a.space != b.space && !converts && !value.is_null() {
                    let message = format!(
                        "cannot cast `{}` to `{}`: the address spaces differ (6.5)",
                        self.value_type_name(value.ty),
                        self.value_type_name(to)
                    );
                    self.error(Code::AddressSpace, span, message);
                    return self.error_expr(span);
                }
                if value.is_null() {
                    Expr { kind: ExprKind::Const(0), ty: to.value(), span }
                } else {
                    Expr { kind: ExprKind::Bitcast(Box::new(value)), ty: to.value(), span }
                }
            }
            (Type::Scalar(s), Type::Pointer(_)) if s.is_int() => {
                let size = self.types.size_type();
                // Signed values extend their sign.
                let wide = self.plain_convert(value, size.into());
                match wide.constant() {
                    Some(bits) => Expr { kind: ExprKind::Const(bits), ty: to.value(), span },
                    None => Expr { kind: ExprKind::Bitcast(Box::new(wide)), ty: to.value(), span },
                }
            }
            (Type::Pointer(_), Type::Scalar(Scalar::Bool)) => self.truth(value),
            (Type::Pointer(_), Type::Scalar(s)) if s.is_int() => {
                let size = self.types.size_type();
                let bits = Expr {
                    kind: ExprKind::Bitcast(Box::new(value)),
                    ty: QualType::plain(size.into()),
                    span,
                };
                self.plain_convert(bits, to.id)
            }
            (Type::Struct(a), Type::Struct(b)) if a == b => value,
            // The library sees a descriptor's address in an image, and bits in a sampler.
            (Type::Image(..), Type::Scalar(Scalar::U64))
            | (Type::Sampler, Type::Scalar(Scalar::U32))
                if self.context.is_library =>
            {
                match value.constant() {
                    Some(bits) => self.constant(Scalar::U32, bits, span),
                    None => Expr { kind: ExprKind::Bitcast(Box::new(value)), ty: to.value(), span },
                }
            }
            (Type::Vector(_, n), Type::Vector(s, m)) => {
                let message = format!(
                    "cannot cast `{}` to `{}`",
                    self.value_type_name(value.ty),
                    self.value_type_name(to)
                );
                let mut diag = Diag::error(Code::Conversion, message);
                if n == m {
                    diag = diag.help(format!(
                        "convert_{}{m}() converts, as_{}{m}() keeps the bits",
                        s.name(),
                        s.name()
                    ));
                }
                self.report(diag, span);
                return self.error_expr(span);
            }
            _ => {
                let message = format!(
                    "cannot cast `{}` to `{}`",
                    self.value_type_name(value.ty),
                    self.value_type_name(to)
                );
                self.error(Code::Conversion, span, message);
                return self.error_expr(span);
            }
        };
        out.span = span;
        out
    }

    /// The same bits as another type of the same size.
    pub(super) fn reinterpret(&mut self, value: Expr, to: TypeId, span: Span) -> Expr {
        if value.ty.id == to {
            return value;
        }
        if let (Some(lanes), Some((from, n)), Some((into, m))) =
            (value.constant_lanes(), self.types.lanes(value.ty.id), self.types.lanes(to))
            && n == m
            && from.size() == into.size()
        {
            let raw: SmallVec<[u64; 16]> = lanes
                .iter()
                .map(|bits| {
                    if into.is_float() {
                        bits & (u64::MAX >> (64 - into.bits()))
                    } else {
                        constant::wrap(into, *bits)
                    }
                })
                .collect();
            return self.constant_from_lanes(to, &raw, span);
        }
        Expr { kind: ExprKind::Bitcast(Box::new(value)), ty: QualType::plain(to), span }
    }

    /// An integer constant expression.
    pub(super) fn integer_constant(&mut self, e: &ast::Expr, what: &str) -> Option<i64> {
        let value = self.expr(e);
        let value = self.rvalue(value);
        if self.types.is_error(value.ty.id) {
            return None;
        }
        let is_int = self.types.scalar(value.ty.id).is_some_and(|s| s.is_int());
        match value.constant() {
            Some(bits) if is_int => Some(bits as i64),
            _ => {
                self.error(
                    Code::NotConstant,
                    e.span,
                    format!("{what} must be an integer constant expression"),
                );
                None
            }
        }
    }

    /// The value of an integer constant expression, whatever its type.
    pub(super) fn wide_constant(&mut self, e: &ast::Expr, what: &str) -> Option<i128> {
        let value = self.expr(e);
        let value = self.rvalue(value);
        match (value.constant(), self.types.scalar(value.ty.id)) {
            (Some(bits), Some(Scalar::U64)) => Some(bits.into()),
            (Some(bits), Some(scalar)) if scalar.is_int() => Some((bits as i64).into()),
            _ if self.types.is_error(value.ty.id) => None,
            _ => {
                let message = format!("{what} must be an integer constant expression");
                self.error(Code::NotConstant, e.span, message);
                None
            }
        }
    }

    /// An operation on two operands of one type, folded for constants.
    pub(super) fn make_binary(&mut self, op: BinaryOp, lhs: Expr, rhs: Expr, span: Span) -> Expr {
        use BinaryOp::*;
        let Some((scalar, n)) = self.types.lanes(lhs.ty.id) else {
            // Pointers: comparisons only.
            self.note_local_null(lhs.ty);
            let kind =
                ExprKind::Binary { op, lhs: Box::new(lhs), rhs: Box::new(rhs), contract: false };
            let compared = Expr { kind, ty: QualType::plain(TypeId::BOOL), span };
            return self.plain_convert(compared, TypeId::INT);
        };
        let compares = matches!(op, Lt | Gt | Le | Ge | Eq | Ne | LogicalAnd | LogicalOr);
        let result = match (compares, n) {
            (false, _) => lhs.ty.id,
            (true, 1) => TypeId::BOOL,
            (true, n) => self.types.vector(scalar.signed(), n),
        };
        if matches!(op, Div | Rem)
            && scalar.is_int()
            && rhs.constant_lanes().is_some_and(|l| l.contains(&0))
        {
            self.warn(Code::DivisionByZero, span, "division by zero");
        } else if let (Some(a), Some(b)) = (lhs.constant_lanes(), rhs.constant_lanes()) {
            let folded: Option<SmallVec<[u64; 16]>> = a
                .iter()
                .zip(&b)
                .map(|(x, y)| constant::binary(op, scalar, *x, *y))
                .map(|v| v.map(|v| if compares && n > 1 && v != 0 { u64::MAX } else { v }))
                .collect();
            if let Some(folded) = folded {
                let value = self.constant_from_lanes(result, &folded, span);
                return if result == TypeId::BOOL {
                    self.plain_convert(value, TypeId::INT)
                } else {
                    value
                };
            }
        }
        let contract = self.context.contract;
        let kind = ExprKind::Binary { op, lhs: Box::new(lhs), rhs: Box::new(rhs), contract };
        let value = Expr { kind, ty: QualType::plain(result), span };
        if result == TypeId::BOOL { self.plain_convert(value, TypeId::INT) } else { value }
    }
}

impl Expr {
    /// A null pointer constant: 0, or 0 cast to `void*`.
    pub fn is_null(&self) -> bool {
        self.constant() == Some(0)
            && (self.ty.id == TypeId::INT || self.ty.id.0 > 1 && !is_float_type(self.ty.id))
    }
}

fn is_float_type(id: TypeId) -> bool {
    [Scalar::F16, Scalar::F32, Scalar::F64].into_iter().any(|s| TypeId::from(s) == id)
}

/// Spaces whose objects can be written.
pub(super) fn writable(space: Space) -> bool {
    space != Space::Constant
}

/// Whether a pointer to the first space is one to the second without a cast.
pub(super) fn widens(from: Space, to: Space) -> bool {
    to == Space::Generic && matches!(from, Space::Private | Space::Global | Space::Local)
}
