//! Enumerations. As in clang, an enumerator that does not fit into an int widens the type.

use super::analyzer::{Entity, Sema, Tag};
use super::constant::wrap;
use crate::diag::Code;
use crate::parse::ast;
use crate::source::Span;
use crate::types::{QualType, Scalar, TypeId};

impl Sema<'_> {
    /// The type of the objects of an enumeration.
    pub(super) fn enum_specifier(&mut self, e: &ast::EnumSpecifier, span: Span) -> QualType {
        let Some(enumerators) = &e.enumerators else {
            return QualType::plain(self.known_enum(e, span));
        };
        let values = self.enumerators(enumerators);
        let best = best_type(&values);
        for ((name, _), value) in enumerators.iter().zip(&values) {
            let fits = i32::try_from(*value).is_ok();
            let scalar = if fits { Scalar::I32 } else { best };
            self.retype_enumerator(name.sym, wrap(scalar, *value as u64), scalar);
        }
        if let Some(tag) = e.tag {
            let scope = self.context.scopes.last_mut().expect("a scope is open");
            let new = (Tag::Enum(best.into()), tag.span);
            if scope.tags.insert(tag.sym, new).is_some() {
                let message = format!("`{}` is defined twice", self.text(tag.sym));
                self.error(Code::Redefinition, tag.span, message);
            }
        }
        QualType::plain(best.into())
    }

    /// `enum tag` without a list.
    fn known_enum(&mut self, e: &ast::EnumSpecifier, span: Span) -> TypeId {
        let Some(tag) = e.tag else { return TypeId::INT };
        let name = self.text(tag.sym);
        match self.lookup_tag(tag.sym) {
            Some(Tag::Enum(ty)) => ty,
            Some(Tag::Struct(_)) => {
                self.error(Code::Redefinition, span, format!("`{name}` is not an enum"));
                TypeId::INT
            }
            None => {
                self.error(Code::Undeclared, span, format!("unknown enum `{name}`"));
                TypeId::INT
            }
        }
    }

    /// The values of a list. Each name is declared behind its value, so that later ones can use it.
    fn enumerators(&mut self, list: &[(ast::Name, Option<ast::Expr>)]) -> Vec<i128> {
        let mut values = Vec::with_capacity(list.len());
        let mut next = 0i128;
        for (name, value) in list {
            if let Some(value) = value {
                next = self.wide_constant(value, "an enumerator").unwrap_or(next);
            }
            if i64::try_from(next).is_err() && u64::try_from(next).is_err() {
                let message = "the value of an enumerator must fit into 64 bits";
                self.error(Code::NotConstant, name.span, message);
                next = 0;
            }
            let scalar = best_type(&[next]);
            let scalar = if i32::try_from(next).is_ok() { Scalar::I32 } else { scalar };
            let bits = wrap(scalar, next as u64);
            self.declare_name(*name, Entity::Enumerator(bits, scalar));
            values.push(next);
            next += 1;
        }
        values
    }

    /// Gives an enumerator the type that the complete list decides.
    fn retype_enumerator(&mut self, name: crate::symbol::Symbol, bits: u64, scalar: Scalar) {
        let scope = self.context.scopes.last_mut().expect("a scope is open");
        if let Some((Entity::Enumerator(old, ty), _)) = scope.names.get_mut(&name) {
            (*old, *ty) = (bits, scalar);
        }
    }
}

/// The smallest of the types that clang considers which holds all values: unsigned where none is negative.
fn best_type(values: &[i128]) -> Scalar {
    let (low, high) = values.iter().fold((0, 0), |(l, h), v| (*v.min(&l), *v.max(&h)));
    match low < 0 {
        true if low >= i32::MIN.into() && high <= i32::MAX.into() => Scalar::I32,
        true => Scalar::I64,
        false if high <= u32::MAX.into() => Scalar::U32,
        false => Scalar::U64,
    }
}
