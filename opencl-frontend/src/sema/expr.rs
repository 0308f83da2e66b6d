//! Expressions.

use smallvec::SmallVec;

use super::analyzer::{Entity, Sema};
use super::hir::{Expr, ExprKind, Rounding};
use crate::diag::{Code, Diag};
use crate::parse::ast;
use crate::parse::literal::{self, FloatSuffix};
use crate::source::Span;
use crate::symbol::{Symbol, fixed};
use crate::types::{QualType, Scalar, Type, TypeId};

impl Sema<'_> {
    /// An expression as a value.
    pub(super) fn value(&mut self, e: &ast::Expr) -> Expr {
        let expr = self.expr(e);
        self.rvalue(expr)
    }

    /// An expression, lvalues kept.
    pub(super) fn expr(&mut self, e: &ast::Expr) -> Expr {
        let span = e.span;
        match &e.kind {
            ast::ExprKind::Name(name) => self.name(*name, span),
            ast::ExprKind::Int(v) => {
                let scalar = match (v.unsigned, v.long) {
                    (false, false) if v.value <= i32::MAX as u64 => Scalar::I32,
                    (false, false) if v.value <= u64::from(u32::MAX) && !v.decimal => Scalar::U32,
                    (true, false) if v.value <= u64::from(u32::MAX) => Scalar::U32,
                    (false, _) if v.value <= i64::MAX as u64 => Scalar::I64,
                    _ => Scalar::U64,
                };
                self.constant(scalar, v.value, span)
            }
            ast::ExprKind::Float(v) => match v.suffix {
                FloatSuffix::None if self.session.options.single_precision_constant => {
                    self.constant(Scalar::F32, u64::from(v.single.to_bits()), span)
                }
                FloatSuffix::None => {
                    let id = self.double(span);
                    match self.types.scalar(id) {
                        Some(Scalar::F32) => {
                            self.constant(Scalar::F32, u64::from(v.single.to_bits()), span)
                        }
                        _ => self.constant(Scalar::F64, v.value.to_bits(), span),
                    }
                }
                FloatSuffix::Float => {
                    self.constant(Scalar::F32, u64::from(v.single.to_bits()), span)
                }
                FloatSuffix::Half => {
                    if !self.extension_enabled("cl_khr_fp16", span) {
                        self.error(Code::Extension, span, "half literals need cl_khr_fp16");
                    }
                    self.constant(
                        Scalar::F16,
                        super::constant::float_bits(Scalar::F16, v.value),
                        span,
                    )
                }
            },
            ast::ExprKind::Char(v) => self.constant(Scalar::I32, i64::from(*v) as u64, span),
            ast::ExprKind::Str(parts) => {
                let mut bytes = Vec::new();
                for part in parts {
                    match literal::string(self.session.names.text(*part)) {
                        Ok(more) => bytes.extend(more),
                        Err(message) => self.error(Code::Literal, span, message),
                    }
                }
                let id = self.string_global(bytes);
                let ty = self.globals[id.0 as usize].ty;
                Expr { kind: ExprKind::Global(id), ty, span }
            }
            ast::ExprKind::Paren(inner) => Expr { span, ..self.expr(inner) },
            ast::ExprKind::Call(callee, args) => self.call(callee, args, span),
            ast::ExprKind::Member { base, arrow, name } => self.member(base, *arrow, *name, span),
            ast::ExprKind::Index(base, index) => self.index(base, index, false, span),
            ast::ExprKind::Unary(op, operand) => self.unary(*op, operand, span),
            ast::ExprKind::Cast(ty, operand) => self.cast_expr(ty, operand, span),
            ast::ExprKind::Compound(ty, items) => {
                let mut ty = self.type_of_name(ty);
                let init = ast::Init::List(items.clone(), span);
                let value = self.initializer(&mut ty, &init);
                if self.context.function.is_none() {
                    return value;
                }
                let id = self.new_local(fixed::VOID, ty.value(), None);
                Expr { kind: ExprKind::Temporary(id, Box::new(value)), ty: ty.value(), span }
            }
            ast::ExprKind::SizeofExpr(operand) => {
                let ty = self.unevaluated(operand);
                self.sizeof(ty, span)
            }
            ast::ExprKind::SizeofType(ty) => {
                let ty = self.type_of_name(ty);
                self.sizeof(ty, span)
            }
            ast::ExprKind::AlignofType(ty) => {
                let ty = self.type_of_name(ty);
                let align = self.types.align(ty.id);
                self.constant(self.types.size_type(), align, span)
            }
            ast::ExprKind::VecStepExpr(operand) => {
                let ty = self.unevaluated(operand);
                self.vec_step(ty, span)
            }
            ast::ExprKind::VecStepType(ty) => {
                let ty = self.type_of_name(ty);
                self.vec_step(ty, span)
            }
            ast::ExprKind::Binary(op, a, b) => {
                let lhs = self.value(a);
                let rhs = self.value(b);
                self.binary(*op, lhs, rhs, span)
            }
            ast::ExprKind::Assign(op, a, b) => self.assign(*op, a, b, span),
            ast::ExprKind::Conditional(c, a, b) => self.conditional(c, a, b, span),
            ast::ExprKind::Statements(list) => self.statement_expression(list, span),
            ast::ExprKind::AsType(value, ty) => {
                let value = self.value(value);
                let to = self.type_of_name(ty);
                self.as_call("__builtin_astype", to.id, &[value], span)
            }
            ast::ExprKind::ConvertVector(value, ty) => {
                let value = self.value(value);
                let to = self.type_of_name(ty);
                self.convert_vector(value, to.id, span)
            }
            ast::ExprKind::OffsetOf(ty, first, rest) => self.offset_of(ty, *first, rest, span),
            ast::ExprKind::Comma(a, b) => {
                let first = self.expr(a);
                let second = self.value(b);
                let ty = second.ty;
                Expr { kind: ExprKind::Comma(Box::new(first), Box::new(second)), ty, span }
            }
        }
    }

    /// The type of an expression that is not evaluated.
    fn unevaluated(&mut self, operand: &ast::Expr) -> QualType {
        let calls = self.context.function.as_ref().map(|f| f.calls.len());
        let ty = self.expr(operand).ty;
        if let (Some(n), Some(current)) = (calls, self.current()) {
            current.calls.truncate(n);
        }
        ty
    }

    fn sizeof(&mut self, ty: QualType, span: Span) -> Expr {
        if matches!(self.types.get(ty.id), Type::Image(..) | Type::Sampler) {
            let name = self.value_type_name(ty);
            self.error(Code::Operands, span, format!("`{name}` has no size (6.3.k)"));
            return self.error_expr(span);
        }
        match self.object_size(ty, span) {
            Some(size) => self.constant(self.types.size_type(), size, span),
            None => self.error_expr(span),
        }
    }

    fn vec_step(&mut self, ty: QualType, span: Span) -> Expr {
        let n = match self.types.lanes(ty.id) {
            Some((_, 3)) => 4,
            Some((_, n)) => u64::from(n),
            None => 1,
        };
        self.constant(Scalar::I32, n, span)
    }

    fn name(&mut self, name: Symbol, span: Span) -> Expr {
        match self.lookup(name) {
            Some(Entity::Local(id)) => {
                if let Some(current) = self.current() {
                    current.uses.entry(id).or_default().references += 1;
                }
                let ty = self.context.function.as_ref().map(|f| f.locals[id.0 as usize].ty);
                Expr {
                    kind: ExprKind::Local(id),
                    ty: ty.unwrap_or(QualType::plain(TypeId::ERROR)),
                    span,
                }
            }
            Some(Entity::Global(id)) => {
                let ty = self.globals[id.0 as usize].ty;
                Expr { kind: ExprKind::Global(id), ty, span }
            }
            Some(Entity::Enumerator(bits, scalar)) => self.constant(scalar, bits, span),
            Some(Entity::Sampler(bits)) => {
                let ty = QualType::plain(self.types.intern(Type::Sampler));
                Expr { kind: ExprKind::Const(u64::from(bits)), ty, span }
            }
            Some(Entity::Typedef(_)) => {
                self.error(
                    Code::Syntax,
                    span,
                    format!("`{}` is a type, not a value", self.text(name)),
                );
                self.error_expr(span)
            }
            Some(Entity::Function) => {
                let message = format!(
                    "function `{}` can only be called; OpenCL C has no function pointers (6.9.a)",
                    self.text(name)
                );
                self.error(Code::Operands, span, message);
                self.error_expr(span)
            }
            None if name == fixed::FUNC_NAME => {
                let text =
                    self.context.function.as_ref().map(|f| self.text(f.name)).unwrap_or_default();
                let id = self.string_global(text.into_bytes());
                let ty = self.globals[id.0 as usize].ty;
                Expr { kind: ExprKind::Global(id), ty, span }
            }
            None if self.session.failed_names.contains(&name) => self.error_expr(span),
            None => {
                let message = format!("`{}` is not declared", self.text(name));
                let diag = self.undeclared(name, message);
                self.report(diag, span);
                // Once is enough.
                if let Some(scope) = self.context.scopes.last_mut() {
                    scope
                        .names
                        .insert(name, (Entity::Typedef(QualType::plain(TypeId::ERROR)), span));
                }
                let entity = self
                    .context
                    .function
                    .is_some()
                    .then(|| self.new_local(name, QualType::plain(TypeId::ERROR), None));
                if let (Some(id), Some(scope)) = (entity, self.context.scopes.last_mut()) {
                    scope.names.insert(name, (Entity::Local(id), span));
                }
                self.error_expr(span)
            }
        }
    }

    // Members, components, elements

    fn member(&mut self, base: &ast::Expr, arrow: bool, name: ast::Name, span: Span) -> Expr {
        let mut object = self.expr(base);
        if arrow {
            let pointer = self.rvalue(object);
            object = self.deref(pointer, "->", span);
        }
        if self.types.is_error(object.ty.id) {
            return self.error_expr(span);
        }
        match *self.types.get(object.ty.id) {
            Type::Vector(scalar, n) => self.swizzle(object, scalar, n, name, span),
            Type::Struct(id) => {
                let Some((offset, part)) = self.types.find_member(id, name.sym) else {
                    let text = self.text(name.sym);
                    let message =
                        format!("`{}` has no member `{text}`", self.value_type_name(object.ty));
                    let members =
                        self.types.structs[id.0 as usize].members.as_deref().unwrap_or_default();
                    let names: Vec<String> = members
                        .iter()
                        .filter_map(|m| m.name)
                        .map(|n| self.session.names.text(n).to_string())
                        .collect();
                    let mut diag = Diag::error(Code::NoMember, message);
                    if let Some(meant) =
                        crate::diag::closest(&text, names.iter().map(String::as_str))
                    {
                        diag = diag.help(format!("did you mean `{meant}`?"));
                    }
                    self.report(diag, name.span);
                    return self.error_expr(span);
                };
                let ty = self.part_of(object.ty, part);
                Expr { kind: ExprKind::Member(Box::new(object), offset), ty, span }
            }
            Type::Pointer(to) if matches!(self.types.get(to.id), Type::Struct(_)) => {
                let diag = Diag::error(
                    Code::NoMember,
                    format!("`{}` is a pointer", self.value_type_name(object.ty)),
                )
                .help("use `->` instead of `.`");
                self.report(diag, name.span);
                self.error_expr(span)
            }
            _ => {
                let message = format!("`{}` has no members", self.value_type_name(object.ty));
                self.error(Code::NoMember, name.span, message);
                self.error_expr(span)
            }
        }
    }

    /// Components of a vector (6.1.7).
    fn swizzle(
        &mut self,
        object: Expr,
        scalar: Scalar,
        n: u8,
        name: ast::Name,
        span: Span,
    ) -> Expr {
        let text = self.text(name.sym);
        let lanes = match swizzle_lanes(&text, n) {
            Ok(lanes) => lanes,
            Err(message) => {
                self.error(Code::Swizzle, name.span, message);
                return self.error_expr(span);
            }
        };
        let id = self.types.vector(scalar, lanes.len() as u8);
        let ty = QualType { id, ..object.ty };
        // Components of components.
        if let ExprKind::Swizzle(inner, outer) = object.kind {
            let composed = lanes.iter().map(|l| outer[usize::from(*l)]).collect();
            return Expr { kind: ExprKind::Swizzle(inner, composed), ty, span };
        }
        Expr { kind: ExprKind::Swizzle(Box::new(object), lanes), ty, span }
    }

    pub(super) fn deref(&mut self, pointer: Expr, what: &str, span: Span) -> Expr {
        match *self.types.get(pointer.ty.id) {
            Type::Pointer(to) => {
                if to.id == TypeId::VOID {
                    self.error(Code::Operands, span, "a pointer to void cannot be dereferenced");
                    return self.error_expr(span);
                }
                if let ExprKind::AddressOf(object) = pointer.kind {
                    if object.ty.id == to.id {
                        return Expr { ty: to, span, ..*object };
                    }
                    let pointer = Expr { kind: ExprKind::AddressOf(object), ..pointer };
                    return Expr { kind: ExprKind::Deref(Box::new(pointer)), ty: to, span };
                }
                Expr { kind: ExprKind::Deref(Box::new(pointer)), ty: to, span }
            }
            Type::Error => self.error_expr(span),
            _ => {
                let name = self.value_type_name(pointer.ty);
                self.error(Code::Operands, span, format!("`{what}` needs a pointer, not `{name}`"));
                self.error_expr(span)
            }
        }
    }

    /// `base[index]`; the element behind the last may be named where only its address is taken.
    pub(super) fn index(
        &mut self,
        base: &ast::Expr,
        index: &ast::Expr,
        address: bool,
        span: Span,
    ) -> Expr {
        let a = self.value(base);
        let b = self.value(index);
        self.check_bounds(&a, &b, address);
        let (pointer, index) = if self.types.pointee(a.ty.id).is_some() { (a, b) } else { (b, a) };
        if self.types.is_error(pointer.ty.id) || self.types.is_error(index.ty.id) {
            return self.error_expr(span);
        }
        if self.types.pointee(pointer.ty.id).is_none() {
            let name = self.value_type_name(index.ty);
            let mut diag = Diag::error(Code::Operands, format!("`{name}` cannot be indexed"));
            if self.types.is_vector(index.ty.id) {
                diag = diag.help("select a component with `.s0` to `.sf`");
            }
            self.report(diag, span);
            return self.error_expr(span);
        }
        let moved = self.pointer_add(pointer, index, false, span);
        self.deref(moved, "[]", span)
    }

    /// Warns about a constant index outside of an array. One element at the end of a struct may stand for many.
    fn check_bounds(&mut self, array: &Expr, index: &Expr, address: bool) {
        let ExprKind::AddressOf(object) = &array.kind else { return };
        let (Type::Array(_, Some(n)), Some(at)) = (self.types.get(object.ty.id), index.constant())
        else {
            return;
        };
        let n = *n;
        let flexible = n <= 1 && matches!(object.kind, ExprKind::Member(..));
        let signed = self.types.scalar(index.ty.id).is_some_and(|s| s.is_signed());
        if signed && (at as i64) < 0 {
            let message = format!("index {} lies before the array", at as i64);
            self.warn(Code::ArrayBounds, index.span, message);
        } else if !flexible && at >= n + u64::from(address) {
            let message = format!("index {at} lies behind the array, which has {n} elements");
            self.warn(Code::ArrayBounds, index.span, message);
        }
    }

    /// Pointer plus or minus an integer.
    pub(super) fn pointer_add(
        &mut self,
        pointer: Expr,
        index: Expr,
        negative: bool,
        span: Span,
    ) -> Expr {
        let ty = pointer.ty;
        let Some(to) = self.types.pointee(ty.id) else { return self.error_expr(span) };
        let size = if to.id == TypeId::VOID { Some(1) } else { self.object_size(to, span) };
        let Some(size) = size else { return self.error_expr(span) };
        let Some(scalar) = self.types.scalar(index.ty.id).filter(|s| s.is_int()) else {
            if !self.types.is_error(index.ty.id) {
                let name = self.value_type_name(index.ty);
                self.error(
                    Code::Operands,
                    index.span,
                    format!("an index must be an integer, not `{name}`"),
                );
            }
            return self.error_expr(span);
        };
        let wide = if scalar.is_signed() || scalar.bits() < 64 { Scalar::I64 } else { Scalar::U64 };
        let mut index = self.make_convert(index, wide.into(), false, Rounding::Default);
        if negative {
            index = match index.constant() {
                Some(v) => self.constant(Scalar::I64, v.wrapping_neg(), index.span),
                None => {
                    let (ty, at) = (index.ty, index.span);
                    Expr { kind: ExprKind::Negate(Box::new(index)), ty, span: at }
                }
            };
        }
        Expr { kind: ExprKind::PointerAdd(Box::new(pointer), Box::new(index), size), ty, span }
    }

    /// A cast, or a vector literal: `(float4)(a, b, c, d)` (6.1.6).
    fn cast_expr(&mut self, ty: &ast::TypeName, operand: &ast::Expr, span: Span) -> Expr {
        let to = self.type_of_name(ty);
        if let (Type::Vector(scalar, n), ast::ExprKind::Paren(inner)) =
            (self.types.get(to.id).clone(), &operand.kind)
            && matches!(inner.kind, ast::ExprKind::Comma(..))
        {
            let mut parts = Vec::new();
            comma_parts(inner, &mut parts);
            return self.vector_literal(to.id, scalar, n, &parts, span);
        }
        let value = self.value(operand);
        if matches!(self.types.get(to.id), Type::Struct(_) | Type::Array(..))
            && value.ty.id != to.id
        {
            let name = self.value_type_name(to);
            self.error(Code::Conversion, span, format!("cannot cast to `{name}`"));
            return self.error_expr(span);
        }
        self.cast(value, to, span)
    }

    fn vector_literal(
        &mut self,
        to: TypeId,
        scalar: Scalar,
        n: u8,
        parts: &[&ast::Expr],
        span: Span,
    ) -> Expr {
        let mut values = Vec::new();
        let mut count = 0;
        for part in parts {
            let value = self.value(part);
            let Some((_, lanes)) = self.types.lanes(value.ty.id) else {
                if !self.types.is_error(value.ty.id) {
                    let name = self.value_type_name(value.ty);
                    self.error(
                        Code::Initializer,
                        part.span,
                        format!("`{name}` cannot be part of a vector"),
                    );
                }
                return self.error_expr(span);
            };
            count += usize::from(lanes);
            let target = self.types.vector(scalar, lanes);
            if lanes > 1 && value.ty.id != target {
                let message = format!(
                    "a part of type `{}` does not fit into a vector of `{}`",
                    self.value_type_name(value.ty),
                    scalar.name()
                );
                self.error(Code::Initializer, part.span, message);
                return self.error_expr(span);
            }
            values.push(self.make_convert(value, target, false, Rounding::Default));
        }
        if count != usize::from(n) {
            let name = self.value_type_name(QualType::plain(to));
            let message = format!("`{name}` needs {n} components, {count} given");
            self.error(Code::Initializer, span, message);
            return self.error_expr(span);
        }
        Expr { kind: ExprKind::Build(values), ty: QualType::plain(to), span }
    }
}

fn comma_parts<'e>(e: &'e ast::Expr, out: &mut Vec<&'e ast::Expr>) {
    let mut stack = vec![e];
    let mut reversed = Vec::new();
    // Left-nested: unwind iteratively.
    while let Some(e) = stack.pop() {
        match &e.kind {
            ast::ExprKind::Comma(a, b) => {
                reversed.push(&**b);
                stack.push(a);
            }
            _ => reversed.push(e),
        }
    }
    reversed.reverse();
    out.extend(reversed);
}

/// The components that a selector names, for a vector of `n`.
pub(super) fn swizzle_lanes(text: &str, n: u8) -> Result<SmallVec<[u8; 16]>, String> {
    // The half of a 3-component vector counts a fourth, undefined one.
    let even = if n == 3 { 4 } else { n };
    let half = even / 2;
    let whole: Option<SmallVec<[u8; 16]>> = match text {
        "lo" => Some((0..half).collect()),
        "hi" => Some((half..even).collect()),
        "even" => Some((0..even).step_by(2).collect()),
        "odd" => Some((1..even).step_by(2).collect()),
        _ => None,
    };
    if let Some(lanes) = whole {
        return Ok(lanes.into_iter().map(|l| l.min(n - 1)).collect());
    }
    let colours = text.chars().all(|c| "rgba".contains(c));
    let lanes: SmallVec<[u8; 16]> =
        if let Some(digits) = text.strip_prefix(['s', 'S']).filter(|d| !d.is_empty()) {
            digits
                .chars()
                .map(|c| {
                    c.to_digit(16)
                        .map(|d| d as u8)
                        .ok_or_else(|| format!("`{c}` is not a component number"))
                })
                .collect::<Result<_, _>>()?
        } else {
            text.chars()
            .map(|c| match c {
                'x' => Ok(0),
                'y' => Ok(1),
                'z' => Ok(2),
                'w' => Ok(3),
                'r' if colours => Ok(0),
                'g' if colours => Ok(1),
                'b' if colours => Ok(2),
                'a' if colours => Ok(3),
                _ => Err(format!(
                    "`{text}` is not a vector component; use xyzw, s0 to sf, lo, hi, even or odd"
                )),
            })
            .collect::<Result<_, _>>()?
        };
    if let Some(bad) = lanes.iter().find(|l| **l >= n) {
        return Err(format!("component {bad} is outside of a vector of {n}"));
    }
    match lanes.len() {
        1 | 2 | 3 | 4 | 8 | 16 => Ok(lanes),
        other => Err(format!("{other} components do not make a vector")),
    }
}

#[cfg(test)]
mod tests {
    use super::swizzle_lanes;

    #[test]
    fn selectors() {
        let ok = |t, n| swizzle_lanes(t, n).map(|l| l.to_vec());
        assert_eq!(ok("wzyx", 4), Ok(vec![3, 2, 1, 0]));
        assert_eq!(ok("s0f", 16), Ok(vec![0, 15]));
        assert_eq!(ok("hi", 8), Ok(vec![4, 5, 6, 7]));
        assert_eq!(ok("odd", 4), Ok(vec![1, 3]));
        assert_eq!(ok("even", 2), Ok(vec![0]));
        assert!(ok("z", 2).is_err() && ok("xs", 4).is_err() && ok("xyzxy", 4).is_err());
        assert_eq!(ok("wx", 16), Ok(vec![3, 0]));
        assert_eq!(ok("bgra", 4), Ok(vec![2, 1, 0, 3]));
        assert!(ok("xg", 4).is_err());
    }
}
