//! Declarators to types.

use super::analyzer::Sema;
use crate::diag::Code;
use crate::parse::ast::{self, Declarator, SpecifierKind};
use crate::source::Span;
use crate::symbol::fixed;
use crate::types::{QualType, Space, Type, TypeId};

impl Sema<'_> {
    /// Whether pointers to what has no address space are generic, and program-scope variables can be written.
    pub(super) fn has_generic_space(&self) -> bool {
        !self.context.is_library && self.session.options.has_generic_space()
    }

    /// The type that a declarator makes of the base type. `named`: its specifiers name an address space.
    pub(super) fn declarator_type(
        &mut self,
        base: QualType,
        named: bool,
        declarator: &Declarator,
        span: Span,
    ) -> QualType {
        match declarator {
            Declarator::Abstract | Declarator::Name(_) => base,
            Declarator::Pointer(qualifiers, inner) => {
                let mut base = base;
                if !named && base.space == Space::Private && self.has_generic_space() {
                    base = self.in_space(base, Space::Generic);
                }
                let mut named = false;
                let mut ty = QualType::plain(self.types.pointer(base));
                for qualifier in qualifiers {
                    match qualifier.kind {
                        SpecifierKind::Keyword(fixed::CONST) => ty.constant = true,
                        SpecifierKind::Keyword(fixed::VOLATILE) => ty.volatile = true,
                        SpecifierKind::Keyword(fixed::GLOBAL) => ty.space = Space::Global,
                        SpecifierKind::Keyword(fixed::LOCAL) => ty.space = Space::Local,
                        SpecifierKind::Keyword(fixed::CONSTANT) => {
                            ty.space = Space::Constant;
                            ty.constant = true;
                        }
                        SpecifierKind::Keyword(fixed::PRIVATE) => named = true,
                        SpecifierKind::Keyword(fixed::GENERIC) => {
                            self.check_generic(qualifier.span);
                            ty.space = Space::Generic;
                        }
                        _ => {}
                    }
                }
                if matches!(self.types.get(base.id), Type::Function(..)) {
                    self.error(
                        Code::InvalidType,
                        span,
                        "OpenCL C has no pointers to functions (6.9.a)",
                    );
                    ty.id = TypeId::ERROR;
                }
                if matches!(self.types.get(base.id), Type::Image(..) | Type::Sampler) {
                    let name = self.value_type_name(base);
                    self.error(
                        Code::InvalidType,
                        span,
                        format!("OpenCL C has no pointers to `{name}` (6.9.b)"),
                    );
                    ty.id = TypeId::ERROR;
                }
                self.declarator_type(ty, named, inner, span)
            }
            Declarator::Array(inner, extent) => {
                let mut n = None;
                if let Some(extent) = extent {
                    n = self.integer_constant(extent, "an array extent").map(|v| v.max(-1) as u64);
                    if n == Some(u64::MAX) {
                        self.error(
                            Code::InvalidType,
                            extent.span,
                            "an array extent must not be negative",
                        );
                        n = Some(1);
                    }
                    n = n.or(Some(1));
                }
                let bad = match self.types.get(base.id) {
                    Type::Function(..) => Some("functions"),
                    Type::Image(..) => Some("images"),
                    Type::Sampler => Some("samplers"),
                    Type::Void => Some("void"),
                    Type::Array(_, None) => Some("arrays without an extent"),
                    _ => None,
                };
                if let Some(bad) = bad {
                    self.error(Code::InvalidType, span, format!("there are no arrays of {bad}"));
                    return self.declarator_type(
                        QualType::plain(TypeId::ERROR),
                        named,
                        inner,
                        span,
                    );
                }
                let id = self.types.intern(Type::Array(base, n));
                self.declarator_type(QualType { id, ..base }, named, inner, span)
            }
            Declarator::Function(inner, params, variadic) => {
                if *variadic {
                    self.error(
                        Code::InvalidType,
                        span,
                        "OpenCL C has no functions with variable arguments (6.9.e)",
                    );
                }
                let params = self.param_types(params);
                let types: Box<[QualType]> = params.iter().map(|p| p.1.value()).collect();
                let id = self.types.intern(Type::Function(base.value(), types));
                self.declarator_type(QualType::plain(id), false, inner, span)
            }
        }
    }

    /// Names and types of parameters, arrays turned into pointers.
    pub(super) fn param_types(
        &mut self,
        params: &[ast::Param],
    ) -> Vec<(Option<ast::Name>, QualType, Span)> {
        if let [only] = params
            && matches!(only.declarator, Declarator::Abstract)
            && matches!(only.specifiers.as_slice(), [s] if matches!(s.kind, SpecifierKind::Keyword(fixed::VOID)))
        {
            return Vec::new();
        }
        let mut out = Vec::new();
        for param in params {
            let base = self.specifiers(&param.specifiers, None);
            let named = base.explicit_space.is_some();
            let mut ty = self.declarator_type(base.ty, named, &param.declarator, param.span);
            if let Type::Array(mut element, _) = *self.types.get(ty.id) {
                if !named && element.space == Space::Private && self.has_generic_space() {
                    element = self.in_space(element, Space::Generic);
                }
                ty = QualType::plain(self.types.pointer(element));
            } else if ty.space != Space::Private {
                let message = format!(
                    "a parameter cannot itself be in the {} address space",
                    ty.space.name()
                );
                self.error(Code::AddressSpace, param.span, message);
                ty.space = Space::Private;
            }
            if matches!(self.types.get(ty.id), Type::Void | Type::Function(..)) {
                let name = self.value_type_name(ty);
                self.error(
                    Code::InvalidType,
                    param.span,
                    format!("a parameter cannot have type `{name}`"),
                );
                ty.id = TypeId::ERROR;
            }
            out.push((param.declarator.name(), ty, param.span));
        }
        out
    }

    /// The type that a type name names.
    pub(super) fn type_of_name(&mut self, name: &ast::TypeName) -> QualType {
        let base = self.specifiers(&name.specifiers, None);
        self.declarator_type(base.ty, base.explicit_space.is_some(), &name.declarator, name.span)
    }
}
