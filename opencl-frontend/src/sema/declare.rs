//! Declarations at file and block scope.

use super::analyzer::{Entity, Sema};
use super::hir::Stmt;
use crate::diag::Code;
use crate::parse::ast::{self, External};
use crate::types::Type;

impl Sema<'_> {
    pub(super) fn external(&mut self, external: &External) {
        match external {
            External::Function(def) => self.function(def),
            External::Decl(decl) => {
                let mut none = Vec::new();
                self.declaration(decl, &mut none);
            }
            External::FpContract(on) => self.context.contract = *on,
            External::Empty => {}
        }
    }

    /// A declaration at file or block scope. Statements that initialise go to `out`.
    pub(super) fn declaration(&mut self, decl: &ast::Decl, out: &mut Vec<Stmt>) {
        let alias = match decl.items.as_slice() {
            [first, ..] => first.declarator.name().map(|n| n.sym),
            [] => None,
        };
        let specifiers = self.specifiers(&decl.specifiers, alias);
        if decl.items.is_empty() {
            let declares = decl.specifiers.iter().any(|s| {
                matches!(s.kind, ast::SpecifierKind::Struct(_) | ast::SpecifierKind::Enum(_))
            });
            if !declares {
                self.warn(Code::UnusedValue, decl.span, "this declaration declares nothing");
            }
        }
        let named = specifiers.explicit_space.is_some();
        for item in &decl.items {
            let mut attributes = specifiers.attributes.clone();
            attributes.extend(item.attributes.iter().cloned());
            if !specifiers.is_typedef
                && item.declarator.params().is_some()
                && let Some((name, result, params)) =
                    self.split_function(specifiers.ty, named, &item.declarator, item.span)
            {
                let params = self.param_types(params);
                self.declare_function(name, &specifiers, result, &params, &attributes);
                if item.init.is_some() {
                    self.error(Code::Initializer, item.span, "a function cannot be initialised");
                }
                continue;
            }
            let ty = self.declarator_type(specifiers.ty, named, &item.declarator, item.span);
            let Some(name) = item.declarator.name() else { continue };
            if matches!(self.types.get(ty.id), Type::Function(..)) {
                self.error(
                    Code::InvalidType,
                    name.span,
                    "OpenCL C has no pointers to functions (6.9.a)",
                );
                continue;
            }
            if specifiers.is_typedef {
                let ty = self.vector_attribute(ty, &attributes);
                self.declare_name(name, Entity::Typedef(ty));
                continue;
            }
            if specifiers.is_kernel {
                self.error(Code::Specifiers, name.span, "only functions can be kernels");
            }
            self.variable(name, ty, &specifiers, &attributes, item, out);
        }
    }
}
