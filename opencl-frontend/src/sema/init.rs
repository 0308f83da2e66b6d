//! Initialisers (C99 6.7.8), and constants as bytes.

use super::analyzer::Sema;
use super::convert::Purpose;
use super::hir::{Address, Expr, ExprKind, GlobalId};
use crate::diag::Code;
use crate::parse::ast::{self, Designator, Init, InitItem};
use crate::parse::literal;
use crate::source::Span;
use crate::types::{QualType, Scalar, Space, Type, TypeId};

/// What a variable holds at first.
pub(super) struct Initial {
    pub(super) bytes: Vec<u8>,
    pub(super) addresses: Vec<Address>,
}

/// Position in a braced list, with the expressions already checked.
struct Cursor<'i> {
    items: &'i [InitItem],
    next: usize,
    checked: Vec<Option<Expr>>,
}

impl<'i> Cursor<'i> {
    fn new(items: &'i [InitItem]) -> Self {
        Cursor { items, next: 0, checked: vec![None; items.len()] }
    }
}

impl Sema<'_> {
    /// The value that an initialiser gives to an object of type `ty`; completes arrays without extent.
    pub(super) fn initializer(&mut self, ty: &mut QualType, init: &Init) -> Expr {
        match init {
            Init::Expr(e) => {
                if let Some(value) = self.string_initializer(ty, e) {
                    return value;
                }
                let value = self.value(e);
                if matches!(self.types.get(ty.id), Type::Array(..)) {
                    if !self.types.is_error(value.ty.id) {
                        self.error(Code::Initializer, e.span, "an array needs a list in braces");
                    }
                    return self.error_expr(e.span);
                }
                self.coerce(value, ty.value(), Purpose::Initialize)
            }
            Init::List(items, span) => {
                if !self.types.is_aggregate(ty.id) {
                    return self.braced_scalar(*ty, items, *span);
                }
                let mut out = Vec::new();
                let mut cursor = Cursor::new(items);
                let count = self.fill(*ty, 0, &mut cursor, true, &mut out, *span);
                if let Type::Array(element, None) = *self.types.get(ty.id) {
                    ty.id = self.types.intern(Type::Array(element, Some(count.max(1))));
                }
                Expr { kind: ExprKind::Aggregate(out), ty: ty.value(), span: *span }
            }
        }
    }

    /// A character array initialised with a string.
    fn string_initializer(&mut self, ty: &mut QualType, e: &ast::Expr) -> Option<Expr> {
        let Type::Array(element, n) = *self.types.get(ty.id) else { return None };
        let ast::ExprKind::Str(parts) = &e.kind else { return None };
        if !matches!(self.types.scalar(element.id), Some(Scalar::I8 | Scalar::U8)) {
            return None;
        }
        let mut bytes = Vec::new();
        for part in parts {
            bytes.extend(literal::string(self.session.names.text(*part)).unwrap_or_default());
        }
        bytes.push(0);
        let n = n.unwrap_or(bytes.len() as u64);
        if bytes.len() as u64 - 1 > n {
            self.error(Code::Initializer, e.span, "the string is longer than the array");
        }
        ty.id = self.types.intern(Type::Array(element, Some(n)));
        let scalar = self.types.scalar(element.id)?;
        let items = bytes
            .iter()
            .take(n as usize)
            .enumerate()
            .map(|(i, b)| {
                (
                    i as u64,
                    self.constant(scalar, super::constant::wrap(scalar, u64::from(*b)), e.span),
                )
            })
            .collect();
        Some(Expr { kind: ExprKind::Aggregate(items), ty: ty.value(), span: e.span })
    }

    /// A scalar or vector in braces.
    fn braced_scalar(&mut self, ty: QualType, items: &[InitItem], span: Span) -> Expr {
        if let Some(item) = items.iter().find(|i| !i.designators.is_empty()) {
            let _ = item;
            self.error(Code::Initializer, span, "designators need an array or a struct");
            return self.error_expr(span);
        }
        if let Type::Vector(scalar, n) = *self.types.get(ty.id) {
            let mut cursor = Cursor::new(items);
            let value = self.vector_parts(ty, scalar, n, &mut cursor, span);
            if cursor.next < items.len() {
                self.error(Code::Initializer, span, "too many initialisers for the vector");
            }
            return value;
        }
        match items {
            [one] => match &one.value {
                Init::Expr(e) => {
                    let value = self.value(e);
                    self.coerce(value, ty.value(), Purpose::Initialize)
                }
                Init::List(inner, span) => self.braced_scalar(ty, inner, *span),
            },
            [] => {
                self.error(Code::Initializer, span, "an empty list cannot initialise a scalar");
                self.error_expr(span)
            }
            _ => {
                self.error(Code::Initializer, span, "too many initialisers for a scalar");
                self.error_expr(span)
            }
        }
    }

    /// Takes the components of a vector from a list; missing ones are zero.
    fn vector_parts(
        &mut self,
        ty: QualType,
        scalar: Scalar,
        n: u8,
        cursor: &mut Cursor<'_>,
        span: Span,
    ) -> Expr {
        let mut parts = Vec::new();
        let mut count = 0;
        while count < n && cursor.next < cursor.items.len() {
            let Some(value) = self.current_value(cursor) else {
                cursor.next += 1;
                self.error(Code::Initializer, span, "a component of a vector cannot be a list");
                return self.error_expr(span);
            };
            cursor.next += 1;
            let lanes = self.types.lanes(value.ty.id).map_or(1, |l| l.1);
            let target = self.types.vector(scalar, lanes);
            if count == 0 && lanes == n {
                return self.coerce(value, ty.value(), Purpose::Initialize);
            }
            parts.push(self.coerce(value, QualType::plain(target), Purpose::Initialize));
            count += lanes;
        }
        if count > n {
            self.error(Code::Initializer, span, "too many components for the vector");
            return self.error_expr(span);
        }
        for _ in count..n {
            parts.push(self.constant(scalar, 0, span));
        }
        Expr { kind: ExprKind::Build(parts), ty: ty.value(), span }
    }

    /// The expression at the cursor, checked once. `None` for a list.
    fn current_value(&mut self, cursor: &mut Cursor<'_>) -> Option<Expr> {
        let Init::Expr(e) = &cursor.items[cursor.next].value else { return None };
        if cursor.checked[cursor.next].is_none() {
            let value = self.value(e);
            cursor.checked[cursor.next] = Some(value);
        }
        cursor.checked[cursor.next].clone()
    }

    /// Initialises an aggregate from the list; returns the number of elements for arrays.
    fn fill(
        &mut self,
        ty: QualType,
        base: u64,
        cursor: &mut Cursor<'_>,
        braced: bool,
        out: &mut Vec<(u64, Expr)>,
        span: Span,
    ) -> u64 {
        let (mut index, mut count) = (0u64, 0u64);
        while cursor.next < cursor.items.len() {
            let item = &cursor.items[cursor.next];
            if !item.designators.is_empty() {
                if !braced {
                    return count;
                }
                match self.designate(ty, &item.designators[0]) {
                    Some(i) => index = i,
                    None => {
                        cursor.next += 1;
                        continue;
                    }
                }
            }
            let Some((offset, part)) = self.part(ty, index) else {
                if braced {
                    self.error(Code::Initializer, span, "too many initialisers");
                    cursor.next = cursor.items.len();
                }
                return count;
            };
            let deeper = &item.designators.get(1..).unwrap_or_default();
            if deeper.is_empty() {
                self.fill_part(part, base + offset, cursor, out);
            } else {
                // `.a.b[2] = v`: resolve the rest, then one value.
                let (mut part, mut at) = (part, base + offset);
                let mut valid = true;
                for designator in *deeper {
                    let next = self.designate(part, designator).and_then(|i| self.part(part, i));
                    match next {
                        Some((o, p)) => (at, part) = (at + o, p),
                        None => valid = false,
                    }
                }
                if valid {
                    self.fill_part(part, at, cursor, out);
                } else {
                    cursor.next += 1;
                }
            }
            index += 1;
            count = count.max(index);
            if count > 1 << 26 {
                self.error(Code::Limit, span, "this initialiser is too large");
                return 1;
            }
        }
        count
    }

    /// Part `index` of an aggregate: its offset and type.
    fn part(&mut self, ty: QualType, index: u64) -> Option<(u64, QualType)> {
        match *self.types.get(ty.id) {
            Type::Array(element, n) => {
                let size = self.types.size(element.id)?;
                (n.is_none_or(|n| index < n)).then_some((index * size, element))
            }
            Type::Struct(id) => {
                let s = &self.types.structs[id.0 as usize];
                if s.is_union && index > 0 && index >= 1 << 32 {
                    return None;
                }
                // Members of a union are numbered from 2^32 on when designated, so that only one follows.
                let index = if s.is_union && index >= 1 << 31 {
                    index - (1 << 31)
                } else if s.is_union && index > 0 {
                    return None;
                } else {
                    index
                };
                let member = s.members.as_ref()?.get(index as usize)?;
                Some((member.offset, member.ty))
            }
            _ => None,
        }
    }

    /// The part that a designator names.
    fn designate(&mut self, ty: QualType, designator: &Designator) -> Option<u64> {
        match (designator, self.types.get(ty.id).clone()) {
            (Designator::Index(e), Type::Array(_, n)) => {
                let index = self.integer_constant(e, "an array designator")?;
                if index < 0 || n.is_some_and(|n| index as u64 >= n) {
                    self.error(Code::Initializer, e.span, "this index is outside of the array");
                    return None;
                }
                Some(index as u64)
            }
            (Designator::Member(name), Type::Struct(id)) => {
                let s = &self.types.structs[id.0 as usize];
                let found = s.members.iter().flatten().position(|m| m.name == Some(name.sym));
                let is_union = s.is_union;
                match found {
                    Some(i) => {
                        Some(if is_union && i > 0 { i as u64 + (1 << 31) } else { i as u64 })
                    }
                    None => {
                        let message = format!(
                            "`{}` has no member `{}`",
                            self.value_type_name(ty),
                            self.text(name.sym)
                        );
                        self.error(Code::NoMember, name.span, message);
                        None
                    }
                }
            }
            (Designator::Member(name), _) => {
                self.error(Code::Initializer, name.span, "a member designator needs a struct");
                None
            }
            (Designator::Index(e), _) => {
                self.error(Code::Initializer, e.span, "an index designator needs an array");
                None
            }
        }
    }

    fn fill_part(
        &mut self,
        ty: QualType,
        at: u64,
        cursor: &mut Cursor<'_>,
        out: &mut Vec<(u64, Expr)>,
    ) {
        let item = &cursor.items[cursor.next];
        match &item.value {
            Init::List(_, _) => {
                let mut part = ty;
                let value = self.initializer(&mut part, &item.value);
                cursor.next += 1;
                out.push((at, value));
            }
            Init::Expr(e) => {
                let mut part = ty;
                if let Some(value) = self.string_initializer(&mut part, e) {
                    cursor.next += 1;
                    out.push((at, value));
                    return;
                }
                let Some(value) = self.current_value(cursor) else { return };
                if self.types.is_aggregate(ty.id)
                    && value.ty.id != ty.id
                    && !self.types.is_error(value.ty.id)
                {
                    // Braces left out: the parts come from this list.
                    let before = cursor.next;
                    self.fill_unbraced(ty, at, cursor, out, e.span);
                    if cursor.next == before {
                        self.error(Code::Initializer, e.span, "this value does not fit here");
                        cursor.next += 1;
                    }
                    return;
                }
                // Without braces of its own a vector takes one value, as in an assignment: a scalar goes to all
                // components.
                cursor.next += 1;
                let value = self.coerce(value, ty.value(), Purpose::Initialize);
                out.push((at, value));
            }
        }
    }

    fn fill_unbraced(
        &mut self,
        ty: QualType,
        at: u64,
        cursor: &mut Cursor<'_>,
        out: &mut Vec<(u64, Expr)>,
        span: Span,
    ) {
        let mut index = 0;
        while cursor.next < cursor.items.len() && cursor.items[cursor.next].designators.is_empty()
            || index == 0
        {
            let Some((offset, part)) = self.part(ty, index) else { return };
            if cursor.next >= cursor.items.len() {
                return;
            }
            self.fill_part(part, at + offset, cursor, out);
            index += 1;
            if index > 1 << 26 {
                return self.error(Code::Limit, span, "this initialiser is too large");
            }
        }
    }

    /// Writes a constant value into the bytes of a variable.
    pub(super) fn constant_bytes(&mut self, value: &Expr, to: &mut Initial, at: u64) {
        match &value.kind {
            ExprKind::Aggregate(items) => {
                for (offset, item) in items {
                    self.constant_bytes(item, to, at + offset);
                }
            }
            ExprKind::Build(_) | ExprKind::Const(_) => {
                let size = match self.types.lanes(value.ty.id) {
                    Some((scalar, _)) => scalar.size(),
                    None => self.types.pointer_size,
                };
                let Some(lanes) = value.constant_lanes() else { return self.not_constant(value) };
                for (i, lane) in lanes.iter().enumerate() {
                    let start = (at + i as u64 * size) as usize;
                    if let Some(target) = to.bytes.get_mut(start..start + size as usize) {
                        target.copy_from_slice(&lane.to_le_bytes()[..size as usize]);
                    }
                }
            }
            ExprKind::Bitcast(inner)
                if value.ty.id != TypeId::VOID && matches!(inner.kind, ExprKind::Const(_)) =>
            {
                self.constant_bytes(inner, to, at);
            }
            ExprKind::AddressOf(_) | ExprKind::PointerAdd(..) | ExprKind::Bitcast(_) => {
                self.constant_address(value, to, at);
            }
            ExprKind::Error => {}
            _ => self.not_constant(value),
        }
    }

    /// Notes the address of a variable.
    fn constant_address(&mut self, value: &Expr, to: &mut Initial, at: u64) {
        let (Some((of, offset)), Some(target)) =
            (variable_address(value), self.types.pointee(value.ty.id))
        else {
            return self.not_constant(value);
        };
        let generic = target.space == Space::Generic;
        if self.globals[of.0 as usize].ty.space == Space::Local {
            return self.not_constant(value);
        }
        if !at.is_multiple_of(8) {
            let message =
                "addresses in initial values are compiled where they are aligned to 8 bytes only";
            return self.error(Code::Unsupported, value.span, message);
        }
        to.addresses.push(Address { at, of, offset, generic });
    }

    fn not_constant(&mut self, value: &Expr) {
        self.error(
            Code::NotConstant,
            value.span,
            "the initialiser of a program-scope variable must be constant (6.5.3)",
        );
    }
}

/// The variable that a constant pointer points into, and how many bytes into it.
fn variable_address(pointer: &Expr) -> Option<(GlobalId, i64)> {
    match &pointer.kind {
        ExprKind::AddressOf(object) => variable_place(object),
        ExprKind::Bitcast(inner) => variable_address(inner),
        ExprKind::PointerAdd(base, index, size) => {
            let (of, offset) = variable_address(base)?;
            let bytes = (index.constant()? as i64).checked_mul(*size as i64)?;
            Some((of, offset.checked_add(bytes)?))
        }
        _ => None,
    }
}

fn variable_place(object: &Expr) -> Option<(GlobalId, i64)> {
    match &object.kind {
        ExprKind::Global(id) => Some((*id, 0)),
        ExprKind::Member(base, offset) => {
            let (of, before) = variable_place(base)?;
            Some((of, before.checked_add(*offset as i64)?))
        }
        ExprKind::Deref(pointer) => variable_address(pointer),
        _ => None,
    }
}
