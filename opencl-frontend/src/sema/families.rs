//! Built-in functions that exist for every type, and so are rules instead of library code.

use super::analyzer::Sema;
use super::convert::Purpose;
use super::hir::{Expr, ExprKind, Intrinsic, Rounding};
use crate::diag::{Code, Diag};
use crate::source::Span;
use crate::types::{QualType, Scalar, Space, Type, TypeId, builtin_type};

impl Sema<'_> {
    /// A call of a family member; `None` if the name belongs to none.
    pub(super) fn family(&mut self, name: &str, values: &[Expr], span: Span) -> Option<Expr> {
        if let Some(rest) = name.strip_prefix("convert_") {
            return Some(self.convert_call(name, rest, values, span));
        }
        if let Some(to) = name.strip_prefix("as_") {
            let to = self.scalar_or_vector(to)?;
            return Some(self.as_call(name, to, values, span));
        }
        if let Some(rest) = name.strip_prefix("vload") {
            return self.vector_load(name, rest, values, span);
        }
        if let Some(rest) = name.strip_prefix("vstore") {
            return self.vector_store(name, rest, values, span);
        }
        if let Some(value) = self.atomic(name, values, span) {
            return Some(value);
        }
        match name {
            "printf" => Some(self.printf(values, span)),
            "to_global" => self.pointer_in(name, values, Space::Global, span),
            "to_local" => self.pointer_in(name, values, Space::Local, span),
            "to_private" => self.pointer_in(name, values, Space::Private, span),
            "get_fence" => self.pointer_in(name, values, Space::Generic, span),
            "any" | "all" => Some(self.any_all(name, values, span)),
            "select" => Some(self.select(values, span)),
            "shuffle" | "shuffle2" => Some(self.shuffle(name, values, span)),
            "isequal" | "isnotequal" | "isgreater" | "isgreaterequal" | "isless"
            | "islessequal" | "islessgreater" | "isfinite" | "isinf" | "isnan" | "isnormal"
            | "isordered" | "isunordered" | "signbit" => Some(self.relation(name, values, span)),
            "async_work_group_copy" | "async_work_group_strided_copy" => {
                Some(self.async_copy(name, values, span))
            }
            "prefetch" => {
                // A hint; the arguments are still evaluated.
                let mut out = self.constant(Scalar::I32, 0, span);
                for value in values {
                    let ty = QualType::plain(TypeId::INT);
                    let zero = self.constant(Scalar::I32, 0, span);
                    let both = Expr {
                        kind: ExprKind::Comma(Box::new(value.clone()), Box::new(zero)),
                        ty,
                        span,
                    };
                    out = Expr { kind: ExprKind::Comma(Box::new(out), Box::new(both)), ty, span };
                }
                Some(Expr {
                    kind: ExprKind::Bitcast(Box::new(out)),
                    ty: QualType::plain(TypeId::VOID),
                    span,
                })
            }
            _ if name.starts_with("__builtin_") => self.builtin(name, values, span),
            _ => None,
        }
    }

    /// Functions that clang has in every language.
    fn builtin(&mut self, name: &str, values: &[Expr], span: Span) -> Option<Expr> {
        let rest = name.strip_prefix("__builtin_")?;
        match (rest, values) {
            ("inff" | "huge_valf", []) => Some(self.constant(Scalar::F32, 0x7f80_0000, span)),
            ("inf" | "huge_val", []) => {
                Some(self.constant(Scalar::F64, 0x7ff0_0000_0000_0000, span))
            }
            ("nanf", [] | [_]) => Some(self.constant(Scalar::F32, 0x7fc0_0000, span)),
            ("nan", [_]) => Some(self.constant(Scalar::F64, 0x7ff8_0000_0000_0000, span)),
            ("expect", [value, _]) => Some(self.coerce(
                value.clone(),
                QualType::plain(Scalar::I64.into()),
                Purpose::Argument,
            )),
            ("constant_p", [value]) => {
                let known = u64::from(value.constant().is_some());
                Some(self.constant(Scalar::I32, known, span))
            }
            // Promises and hints: nothing is lost without them.
            ("unreachable", [])
            | ("assume" | "prefetch", [_])
            | ("prefetch", [_, _] | [_, _, _]) => {
                let zero = self.constant(Scalar::I32, 0, span);
                let void = QualType::plain(TypeId::VOID);
                Some(Expr { kind: ExprKind::Bitcast(Box::new(zero)), ty: void, span })
            }
            _ => self.builtin_function(rest, values, span),
        }
    }

    /// `__builtin_NAME` where the library has the function under a name of its own.
    fn builtin_function(&mut self, rest: &str, values: &[Expr], span: Span) -> Option<Expr> {
        const BITS: &[(&str, &str, Scalar)] = &[
            ("clz", "clz", Scalar::U32),
            ("clzl", "clz", Scalar::U64),
            ("clzll", "clz", Scalar::U64),
            ("ctz", "__ctz", Scalar::U32),
            ("ctzl", "__ctz", Scalar::U64),
            ("ctzll", "__ctz", Scalar::U64),
            ("ffs", "__ffs", Scalar::U32),
            ("popcount", "popcount", Scalar::U32),
            ("popcountl", "popcount", Scalar::U64),
            ("popcountll", "popcount", Scalar::U64),
            ("bswap16", "__bswap", Scalar::U16),
            ("bswap32", "__bswap", Scalar::U32),
            ("bswap64", "__bswap", Scalar::U64),
        ];
        let plain = |scalar: Scalar| QualType::plain(scalar.into());
        if let Some((_, function, scalar)) = BITS.iter().find(|row| row.0 == rest) {
            let [value] = values else { return None };
            let value = self.coerce(value.clone(), plain(*scalar), Purpose::Argument);
            let result = self.call_library(function, vec![value], span);
            let swaps = *function == "__bswap";
            return Some(if swaps { result } else { self.cast(result, plain(Scalar::I32), span) });
        }
        // Math: `sqrtf` in single, `sqrt` in double precision.
        let known = |name: &str| crate::library::part_of(name).is_some();
        let (function, scalar) = match rest.strip_suffix('f').filter(|name| known(name)) {
            Some(name) => (name, Scalar::F32),
            None if known(rest) => (rest, Scalar::F64),
            None => return None,
        };
        let values = values
            .iter()
            .map(|v| match self.types.scalar(v.ty.id) {
                Some(_) => self.coerce(v.clone(), plain(scalar), Purpose::Argument),
                None => v.clone(),
            })
            .collect();
        Some(self.call_library(function, values, span))
    }

    /// `to_global` and the like, and `get_fence`, for which the space is the generic one.
    fn pointer_in(&mut self, name: &str, values: &[Expr], to: Space, span: Span) -> Option<Expr> {
        if !self.has_generic_space() {
            return None;
        }
        let target = match values {
            [pointer] => self.types.pointee(pointer.ty.id),
            _ => None,
        };
        let Some(target) = target.filter(|t| t.space != Space::Constant) else {
            let form = format!("{name}(generic pointer)");
            return Some(self.wrong_arguments(name, values, &form, span));
        };
        let generic = self.in_space(target, Space::Generic);
        let generic = QualType::plain(self.types.pointer(generic));
        let pointer = self.coerce(values[0].clone(), generic, Purpose::Argument);
        if to == Space::Generic {
            let kind = ExprKind::Intrinsic(Intrinsic::FenceOf, vec![pointer]);
            return Some(Expr { kind, ty: QualType::plain(TypeId::UINT), span });
        }
        let result = self.in_space(target, to);
        let ty = QualType::plain(self.types.pointer(result));
        self.note_local_null(ty);
        let kind = ExprKind::Intrinsic(Intrinsic::To(to), vec![pointer]);
        Some(Expr { kind, ty, span })
    }

    fn scalar_or_vector(&mut self, name: &str) -> Option<TypeId> {
        if let Some(s) = Scalar::ALL.into_iter().find(|s| s.name() == name && *s != Scalar::Bool) {
            return Some(s.into());
        }
        builtin_type(name, &mut self.types).filter(|id| self.types.lanes(*id).is_some())
    }

    pub(super) fn wrong_arguments(
        &mut self,
        name: &str,
        values: &[Expr],
        form: &str,
        span: Span,
    ) -> Expr {
        let arguments: Vec<String> = values.iter().map(|v| self.value_type_name(v.ty)).collect();
        let diag = Diag::error(
            Code::Arguments,
            format!("`{name}({})` does not fit", arguments.join(", ")),
        )
        .note(None, format!("the form is {form}"));
        self.report(diag, span);
        self.error_expr(span)
    }

    /// `convert_T[_sat][_rte|_rtz|_rtp|_rtn]` (6.2.3).
    fn convert_call(&mut self, name: &str, rest: &str, values: &[Expr], span: Span) -> Expr {
        let mut parts = rest.split('_');
        let to = parts.next().and_then(|t| self.scalar_or_vector(t));
        let (mut saturate, mut rounding) = (false, Rounding::Default);
        let mut valid = to.is_some();
        for part in parts {
            match part {
                "sat" if !saturate && rounding == Rounding::Default => saturate = true,
                "rte" => rounding = Rounding::NearestEven,
                "rtz" => rounding = Rounding::Zero,
                "rtp" => rounding = Rounding::Up,
                "rtn" => rounding = Rounding::Down,
                _ => valid = false,
            }
        }
        let Some(to) = to.filter(|_| valid) else {
            self.error(Code::Undeclared, span, format!("`{name}` is not a conversion"));
            return self.error_expr(span);
        };
        let Some((target, n)) = self.types.lanes(to) else { return self.error_expr(span) };
        if saturate && target.is_float() {
            self.error(
                Code::Conversion,
                span,
                "saturation is only for conversions to integers (6.2.3.3)",
            );
            return self.error_expr(span);
        }
        let fits = values.len() == 1 && self.types.lanes(values[0].ty.id).is_some_and(|l| l.1 == n);
        if !fits {
            return self.wrong_arguments(
                name,
                values,
                &format!("{name}(a value of {n} components)"),
                span,
            );
        }
        let mut out = self.make_convert(values[0].clone(), to, saturate, rounding);
        out.span = span;
        out
    }

    /// `__builtin_convertvector`: component by component, as `convert_…` without a suffix.
    pub(super) fn convert_vector(&mut self, value: Expr, to: TypeId, span: Span) -> Expr {
        let counts = (self.types.lanes(value.ty.id), self.types.lanes(to));
        match counts {
            (Some((_, n)), Some((_, m))) if n == m => {
                let mut out = self.make_convert(value, to, false, Rounding::Default);
                out.span = span;
                out
            }
            _ => {
                let form = "__builtin_convertvector(value, type with as many components)";
                self.wrong_arguments("__builtin_convertvector", &[value], form, span)
            }
        }
    }

    pub(super) fn as_call(&mut self, name: &str, to: TypeId, values: &[Expr], span: Span) -> Expr {
        let [value] = values else {
            return self.wrong_arguments(name, values, &format!("{name}(value)"), span);
        };
        let sizes = self.types.lanes(value.ty.id).is_some()
            && self.types.size(value.ty.id) == self.types.size(to);
        if !sizes {
            let message = format!(
                "`{name}` needs a value of the same size; `{}` has another",
                self.value_type_name(value.ty)
            );
            self.error(Code::Conversion, span, message);
            return self.error_expr(span);
        }
        self.reinterpret(value.clone(), to, span)
    }

    /// Element address `pointer + offset * n` for vload and vstore.
    fn vector_address(&mut self, pointer: &Expr, offset: &Expr, n: u64, element: u64) -> Expr {
        let span = offset.span;
        let signed =
            self.types.scalar(offset.ty.id).is_some_and(|s| s.is_signed() || s.bits() < 64);
        let wide = if signed { Scalar::I64 } else { Scalar::U64 };
        let index = self.make_convert(offset.clone(), wide.into(), false, Rounding::Default);
        let kind = ExprKind::PointerAdd(Box::new(pointer.clone()), Box::new(index), n * element);
        Expr { kind, ty: pointer.ty, span }
    }

    /// Splits `[a]_half[n][_round]` or `n`.
    fn vector_suffix(rest: &str) -> Option<(bool, bool, u8, Rounding)> {
        let (body, rounding) = match rest.rsplit_once('_') {
            Some((body, "rte")) => (body, Rounding::NearestEven),
            Some((body, "rtz")) => (body, Rounding::Zero),
            Some((body, "rtp")) => (body, Rounding::Up),
            Some((body, "rtn")) => (body, Rounding::Down),
            _ => (rest, Rounding::Default),
        };
        let (half, aligned, count) = if let Some(n) = body.strip_prefix("a_half") {
            (true, true, n)
        } else if let Some(n) = body.strip_prefix("_half") {
            (true, false, n)
        } else {
            (false, false, body)
        };
        let n = match count {
            "" if half => 1,
            "2" => 2,
            "3" => 3,
            "4" => 4,
            "8" => 8,
            "16" => 16,
            _ => return None,
        };
        (half || rounding == Rounding::Default).then_some((half, aligned, n, rounding))
    }

    fn vector_load(&mut self, name: &str, rest: &str, values: &[Expr], span: Span) -> Option<Expr> {
        let (half, aligned, n, _) = Self::vector_suffix(rest)?;
        let form = format!("{name}(size_t offset, const element* pointer)");
        let (Some(offset), Some(pointer), 2) = (values.first(), values.get(1), values.len()) else {
            return Some(self.wrong_arguments(name, values, &form, span));
        };
        let element = self.types.pointee(pointer.ty.id).and_then(|to| self.types.scalar(to.id));
        let index = self.types.scalar(offset.ty.id).is_some_and(|s| s.is_int());
        let plain_half = !half && self.extension_enabled("cl_khr_fp16", span);
        let Some(element) = element
            .filter(|e| index && ((*e == Scalar::F16) == half || plain_half) && *e != Scalar::Bool)
        else {
            return Some(self.wrong_arguments(name, values, &form, span));
        };
        let stride = if aligned && n == 3 { 4 } else { u64::from(n) };
        let address = self.vector_address(pointer, offset, stride, element.size());
        let loaded = self.types.vector(element, n);
        let value = Expr {
            kind: ExprKind::VectorLoad(Box::new(address)),
            ty: QualType::plain(loaded),
            span,
        };
        Some(if half {
            let to = self.types.vector(Scalar::F32, n);
            self.make_convert(value, to, false, Rounding::Default)
        } else {
            value
        })
    }

    fn vector_store(
        &mut self,
        name: &str,
        rest: &str,
        values: &[Expr],
        span: Span,
    ) -> Option<Expr> {
        let (half, aligned, n, rounding) = Self::vector_suffix(rest)?;
        let form = format!("{name}(vector value, size_t offset, element* pointer)");
        let [value, offset, pointer] = values else {
            return Some(self.wrong_arguments(name, values, &form, span));
        };
        let to = self.types.pointee(pointer.ty.id);
        let element = to.and_then(|to| self.types.scalar(to.id));
        let index = self.types.scalar(offset.ty.id).is_some_and(|s| s.is_int());
        let plain_half = !half && self.extension_enabled("cl_khr_fp16", span);
        let Some(element) =
            element.filter(|e| index && ((*e == Scalar::F16) == half || plain_half))
        else {
            return Some(self.wrong_arguments(name, values, &form, span));
        };
        if to.is_some_and(|to| to.constant || to.space == Space::Constant) {
            self.error(
                Code::NotAssignable,
                pointer.span,
                format!("`{name}` cannot write through a pointer to const"),
            );
            return Some(self.error_expr(span));
        }
        let wanted = self.types.vector(element, n);
        let value = if half {
            let fits = matches!(self.types.lanes(value.ty.id), Some((Scalar::F32 | Scalar::F64, m)) if m == n);
            if !fits {
                return Some(self.wrong_arguments(name, values, &form, span));
            }
            self.make_convert(value.clone(), wanted, false, rounding)
        } else if value.ty.id == wanted || self.types.scalar(value.ty.id).is_some() {
            self.coerce(value.clone(), QualType::plain(wanted), Purpose::Argument)
        } else {
            return Some(self.wrong_arguments(name, values, &form, span));
        };
        let stride = if aligned && n == 3 { 4 } else { u64::from(n) };
        let address = self.vector_address(pointer, offset, stride, element.size());
        let kind = ExprKind::VectorStore(Box::new(address), Box::new(value));
        Some(Expr { kind, ty: QualType::plain(TypeId::VOID), span })
    }

    fn any_all(&mut self, name: &str, values: &[Expr], span: Span) -> Expr {
        let fits = values.len() == 1
            && self.types.lanes(values[0].ty.id).is_some_and(|(s, _)| s.is_signed());
        if !fits {
            return self.wrong_arguments(
                name,
                values,
                &format!("int {name}(signed integer vector)"),
                span,
            );
        }
        let which = if name == "any" { Intrinsic::Any } else { Intrinsic::All };
        Expr {
            kind: ExprKind::Intrinsic(which, values.to_vec()),
            ty: QualType::plain(TypeId::INT),
            span,
        }
    }

    /// `select(a, b, c)`: c ? b : a (6.12.6).
    fn select(&mut self, values: &[Expr], span: Span) -> Expr {
        let form = "gentype select(gentype a, gentype b, integers of the same size c)";
        let [a, b, c] = values else { return self.wrong_arguments("select", values, form, span) };
        let (Some((sc, nc)), Some((sa, na))) =
            (self.types.lanes(c.ty.id), self.types.lanes(a.ty.id))
        else {
            return self.wrong_arguments("select", values, form, span);
        };
        let Some((a, b)) = (if a.ty.id == b.ty.id {
            Some((a.clone(), b.clone()))
        } else {
            self.usual("select", a.clone(), b.clone(), span)
        }) else {
            return self.error_expr(span);
        };
        if nc != na || !sc.is_int() || (na > 1 && sc.size() != sa.size()) {
            return self.wrong_arguments("select", values, form, span);
        }
        let ty = a.ty;
        if na == 1 {
            let condition = self.truth(c.clone());
            return Expr {
                kind: ExprKind::Conditional(Box::new(condition), Box::new(b), Box::new(a)),
                ty,
                span,
            };
        }
        let signed = self.types.vector(sc.signed(), nc);
        let condition = self.reinterpret(c.clone(), signed, span);
        Expr {
            kind: ExprKind::VectorSelect(Box::new(condition), Box::new(b), Box::new(a)),
            ty,
            span,
        }
    }

    fn shuffle(&mut self, name: &str, values: &[Expr], span: Span) -> Expr {
        let sources = if name == "shuffle" { 1 } else { 2 };
        let form = format!(
            "{name}(vector{}, unsigned integer vector mask)",
            if sources == 2 { ", vector" } else { "" }
        );
        let lanes: Vec<_> = values.iter().map(|v| self.types.lanes(v.ty.id)).collect();
        let (Some(Some((scalar, n))), Some(Some((mask, m)))) =
            (lanes.first().copied(), lanes.get(sources).copied())
        else {
            return self.wrong_arguments(name, values, &form, span);
        };
        let same =
            values.len() == sources + 1 && (sources == 1 || values[0].ty.id == values[1].ty.id);
        let mask_fits =
            mask.is_int() && !mask.is_signed() && mask.size() == scalar.size() && n > 1 && m > 1;
        if !same || !mask_fits {
            return self.wrong_arguments(name, values, &form, span);
        }
        let ty = QualType::plain(self.types.vector(scalar, m));
        Expr { kind: ExprKind::Shuffle(values.to_vec()), ty, span }
    }

    /// Floating-point tests: 1 for scalars, -1 per component for vectors.
    fn relation(&mut self, name: &str, values: &[Expr], span: Span) -> Expr {
        let mut values = values.to_vec();
        if let [a, b] = values.as_slice()
            && a.ty.id != b.ty.id
        {
            match self.usual(name, a.clone(), b.clone(), span) {
                Some((a, b)) => values = vec![a, b],
                None => return self.error_expr(span),
            }
        }
        let lanes = values.first().and_then(|v| self.types.lanes(v.ty.id));
        let Some((scalar, n)) = lanes else {
            return self.wrong_arguments(name, &values, &format!("{name}(floating values)"), span);
        };
        if scalar.is_int() {
            let target = TypeId::FLOAT;
            if n > 1 {
                return self.wrong_arguments(
                    name,
                    &values,
                    &format!("{name}(floating values)"),
                    span,
                );
            }
            values = values
                .into_iter()
                .map(|v| self.make_convert(v, target, false, Rounding::Default))
                .collect();
        }
        let value = self.call_library(&format!("__t_{name}"), values, span);
        if self.types.is_error(value.ty.id) || n > 1 {
            return value;
        }
        let ty = value.ty;
        let positive = Expr { kind: ExprKind::Negate(Box::new(value)), ty, span };
        self.make_convert(positive, TypeId::INT, false, Rounding::Default)
    }

    /// Copies between local and global memory by all work-items (6.12.10): by element size.
    fn async_copy(&mut self, name: &str, values: &[Expr], span: Span) -> Expr {
        let strided = name.contains("strided");
        let form = format!(
            "event_t {name}(destination, source, size_t count,{} event_t event)",
            if strided { " size_t stride," } else { "" }
        );
        let pointers = (
            values.first().and_then(|v| self.types.pointee(v.ty.id)),
            values.get(1).and_then(|v| self.types.pointee(v.ty.id)),
        );
        let (Some(to), Some(from)) = pointers else {
            return self.wrong_arguments(name, values, &form, span);
        };
        let spaces = matches!(
            (to.space, from.space),
            (Space::Local, Space::Global) | (Space::Global, Space::Local)
        );
        let wanted = if strided { 5 } else { 4 };
        let element = self
            .types
            .lanes(to.id)
            .filter(|_| to.id == from.id && spaces && values.len() == wanted && !to.constant);
        let Some(_) = element else { return self.wrong_arguments(name, values, &form, span) };
        let carrier = match self.types.size(to.id) {
            Some(1) => self.types.vector(Scalar::U8, 1),
            Some(2) => self.types.vector(Scalar::U16, 1),
            Some(4) => self.types.vector(Scalar::U32, 1),
            Some(8) => self.types.vector(Scalar::U32, 2),
            Some(16) => self.types.vector(Scalar::U32, 4),
            Some(32) => self.types.vector(Scalar::U32, 8),
            Some(64) => self.types.vector(Scalar::U32, 16),
            _ => self.types.vector(Scalar::U64, 16),
        };
        let retyped = |sema: &mut Self, value: &Expr, to: QualType| {
            let ty = QualType::plain(sema.types.pointer(QualType {
                id: carrier,
                volatile: false,
                ..to
            }));
            Expr { kind: ExprKind::Bitcast(Box::new(value.clone())), ty, span }
        };
        let mut args = vec![
            retyped(self, &values[0], to),
            retyped(self, &values[1], QualType { constant: true, ..from }),
        ];
        let size_t = QualType::plain(self.types.size_type().into());
        for value in &values[2..wanted - 1] {
            args.push(self.coerce(value.clone(), size_t, Purpose::Argument));
        }
        if !strided {
            args.push(self.constant(self.types.size_type(), 1, span));
        }
        let event = self.types.intern(Type::Event);
        args.push(self.coerce(
            values[wanted - 1].clone(),
            QualType::plain(event),
            Purpose::Argument,
        ));
        self.call_library("__async_copy", args, span)
    }
}
