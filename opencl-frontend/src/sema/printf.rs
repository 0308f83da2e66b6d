//! `printf` (6.12.13): the format is read here, and vectors become lists of their components.

use super::analyzer::Sema;
use super::convert::Purpose;
use super::hir::{Expr, ExprKind, Global, GlobalId, Rounding};
use crate::diag::{Code, Diag};
use crate::source::Span;
use crate::types::{QualType, Scalar, Space, Type, TypeId};

/// A conversion of the format.
struct Spec {
    /// `%`, flags, width and precision.
    front: String,
    /// Components of a vector; 1 for scalars.
    lanes: u8,
    /// `hh`, `h`, `hl`, `l` or nothing.
    length: String,
    conversion: char,
}

impl Sema<'_> {
    pub(super) fn printf(&mut self, values: &[Expr], span: Span) -> Expr {
        if self.session.options.cl_std < 120 {
            self.error(Code::Extension, span, "`printf` needs OpenCL C 1.2");
            return self.error_expr(span);
        }
        if self.session.options.sm < 20 {
            let message =
                format!("`printf` needs sm_20; the target is sm_{}", self.session.options.sm);
            self.error(Code::Extension, span, message);
            return self.error_expr(span);
        }
        let Some(text) = values.first().and_then(|v| self.literal_text(v)) else {
            self.error(
                Code::Arguments,
                span,
                "the format of `printf` must be a string literal (6.12.13)",
            );
            return self.error_expr(span);
        };
        let (mut format, mut args) = (String::new(), Vec::new());
        let mut next = values[1..].iter();
        let mut chars = text.chars().peekable();
        let mut good = true;
        while let Some(c) = chars.next() {
            if c != '%' {
                format.push(c);
                continue;
            }
            if chars.next_if_eq(&'%').is_some() {
                format.push_str("%%");
                continue;
            }
            let spec = match read_spec(&mut chars) {
                Ok(spec) => spec,
                Err(message) => {
                    self.error(Code::Arguments, values[0].span, message);
                    return self.error_expr(span);
                }
            };
            let Some(value) = next.next() else {
                let message = format!("`{}{}` has no argument", spec.front, spec.conversion);
                self.error(Code::Arguments, values[0].span, message);
                return self.error_expr(span);
            };
            match self.printf_argument(&spec, value) {
                Some((value, wide)) => {
                    let one = format!(
                        "{}{}{}",
                        spec.front,
                        if wide { "ll" } else { "" },
                        spec.conversion
                    );
                    let all = vec![one; usize::from(spec.lanes)];
                    format.push_str(&all.join(","));
                    args.push(value);
                }
                None => good = false,
            }
        }
        if let Some(extra) = next.next() {
            self.warn(Code::UnusedValue, extra.span, "the format does not use this argument");
        }
        if !good {
            return self.error_expr(span);
        }
        let format = self.global_string(format.chars().map(|c| c as u8).collect());
        Expr { kind: ExprKind::Printf(format, args), ty: QualType::plain(TypeId::INT), span }
    }

    /// The text of a string literal, one character per byte.
    fn literal_text(&self, value: &Expr) -> Option<String> {
        let ExprKind::AddressOf(object) = &value.kind else { return None };
        let ExprKind::Global(id) = object.kind else { return None };
        let global = &self.globals[id.0 as usize];
        let bytes = global.bytes.as_ref()?;
        let Type::Array(element, _) = self.types.get(global.ty.id) else { return None };
        matches!(self.types.scalar(element.id), Some(Scalar::I8 | Scalar::U8))
            .then(|| bytes.iter().take_while(|b| **b != 0).map(|b| char::from(*b)).collect())
    }

    /// A string in global memory, where the device's `printf` reads it.
    fn global_string(&mut self, mut bytes: Vec<u8>) -> GlobalId {
        bytes.push(0);
        let found = self.globals.iter().position(|g| {
            g.ty.space == Space::Global
                && g.ty.constant
                && g.bytes.as_deref() == Some(bytes.as_slice())
        });
        if let Some(i) = found {
            return GlobalId(i as u32);
        }
        let name = self.session.names.intern(&format!("__format{}", self.globals.len()));
        let element =
            QualType { constant: true, space: Space::Global, ..QualType::plain(TypeId::CHAR) };
        let array = self.types.intern(Type::Array(element, Some(bytes.len() as u64)));
        let ty = QualType { id: array, ..element };
        self.globals.push(Global {
            name,
            ty,
            align: 1,
            bytes: Some(bytes),
            owner: None,
            addresses: Vec::new(),
        });
        GlobalId(self.globals.len() as u32 - 1)
    }

    /// The argument in the type that the device's `printf` expects, and whether it has 64 bits.
    fn printf_argument(&mut self, spec: &Spec, value: &Expr) -> Option<(Expr, bool)> {
        let what = format!("%{}{}", spec.length, spec.conversion);
        if spec.conversion == 's' {
            let Some(text) = self.literal_text(value) else {
                self.error(
                    Code::Arguments,
                    value.span,
                    "the argument of `%s` must be a string literal (6.12.13)",
                );
                return None;
            };
            let id = self.global_string(text.chars().map(|c| c as u8).collect());
            let ty = self.globals[id.0 as usize].ty;
            return Some((Expr { kind: ExprKind::Global(id), ty, span: value.span }, false));
        }
        if spec.conversion == 'p' {
            if self.types.pointee(value.ty.id).is_none() {
                self.misfit(&what, value);
                return None;
            }
            return Some((value.clone(), false));
        }
        let Some((scalar, n)) = self.types.lanes(value.ty.id) else {
            self.misfit(&what, value);
            return None;
        };
        if n != spec.lanes {
            let message = format!(
                "`{}{}` prints {} component{}, not `{}`",
                spec.front,
                spec.conversion,
                spec.lanes,
                if spec.lanes == 1 { "" } else { "s" },
                self.value_type_name(value.ty)
            );
            self.error(Code::Arguments, value.span, message);
            return None;
        }
        let float = "fFeEgGaA".contains(spec.conversion);
        if float != scalar.is_float() {
            self.misfit(&what, value);
            return None;
        }
        let signed = matches!(spec.conversion, 'd' | 'i' | 'c');
        let narrow = match (spec.length.as_str(), signed) {
            _ if float => None,
            ("hh", true) => Some(Scalar::I8),
            ("hh", false) => Some(Scalar::U8),
            ("h", true) => Some(Scalar::I16),
            ("h", false) => Some(Scalar::U16),
            _ => None,
        };
        let wide = !float && spec.length == "l";
        let target = match (float, wide, signed) {
            (true, ..) => Scalar::F64,
            (_, true, true) => Scalar::I64,
            (_, true, false) => Scalar::U64,
            (_, false, true) => Scalar::I32,
            (_, false, false) => Scalar::U32,
        };
        if !float && scalar.size() > target.size() {
            let message =
                format!("`{what}` prints 32 bits of a value of type `{}`; use `l`", scalar.name());
            self.warn(Code::ConstantConversion, value.span, message);
        }
        let mut value = value.clone();
        for step in narrow.into_iter().chain([target]) {
            let ty = self.types.vector(step, n);
            value = if n == 1 {
                self.coerce(value, QualType::plain(ty), Purpose::Argument)
            } else {
                self.make_convert(value, ty, false, Rounding::Default)
            };
        }
        Some((value, wide))
    }

    fn misfit(&mut self, what: &str, value: &Expr) {
        let message = format!("`{what}` does not print `{}`", self.value_type_name(value.ty));
        self.report(Diag::error(Code::Arguments, message), value.span);
    }
}

/// Reads one conversion after its `%`.
fn read_spec(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Spec, String> {
    let mut front = String::from("%");
    while let Some(c) = chars.next_if(|c| "-+ #0".contains(*c)) {
        front.push(c);
    }
    while let Some(c) = chars.next_if(|c| c.is_ascii_digit() || *c == '.') {
        front.push(c);
    }
    if chars.peek() == Some(&'*') {
        return Err("`*` is not supported in the format of OpenCL's `printf` (6.12.13.2)".into());
    }
    let mut lanes = 1;
    if chars.next_if_eq(&'v').is_some() {
        let mut digits = String::new();
        while let Some(c) = chars.next_if(char::is_ascii_digit) {
            digits.push(c);
        }
        lanes = match digits.as_str() {
            "2" => 2,
            "3" => 3,
            "4" => 4,
            "8" => 8,
            "16" => 16,
            _ => return Err(format!("`v{digits}` is no vector size; use v2, v3, v4, v8 or v16")),
        };
    }
    let mut length = String::new();
    while let Some(c) = chars.next_if(|c| *c == 'h' || *c == 'l') {
        length.push(c);
    }
    // Not of the language, but everybody writes it.
    if length == "ll" {
        length.pop();
    }
    let known = matches!(length.as_str(), "" | "hh" | "h" | "l") || length == "hl" && lanes > 1;
    if !known {
        return Err(format!("`{length}` is no length modifier here (6.12.13.2)"));
    }
    match chars.next() {
        Some(conversion) if "diouxXfFeEgGaAcsp".contains(conversion) => {
            Ok(Spec { front, lanes, length, conversion })
        }
        Some(other) => Err(format!("`{other}` is no conversion of `printf`")),
        None => Err("the format ends within a conversion".into()),
    }
}
