//! Functions of the library, compiled when a program calls them.

use std::rc::Rc;

use super::analyzer::{Context, Entity, Sema};
use super::hir::{Expr, FunctionId};
use crate::library;
use crate::parse::ast;
use crate::symbol::Symbol;
use crate::types::Scalar;

impl Sema<'_> {
    /// A function that this source declares, which hides one of the library.
    pub(super) fn is_own(&self, name: Symbol) -> bool {
        !self.context.is_library && matches!(self.lookup(name), Some(Entity::Function))
    }

    /// The functions that a name may call.
    pub(super) fn candidates(&mut self, name: Symbol) -> Vec<FunctionId> {
        if self.is_own(name) {
            return self.own.get(&name).cloned().unwrap_or_default();
        }
        self.load_library(name);
        self.library.get(&name).cloned().unwrap_or_default()
    }

    /// Compiles the part of the library that defines `name`.
    pub(super) fn load_library(&mut self, name: Symbol) {
        if let Some(part) = library::part_of(self.session.names.text(name)) {
            self.load_part(part);
        }
    }

    /// Compiles the part of the library that defines `name` for half-precision arguments, if there is one.
    pub(super) fn load_half(&mut self, name: Symbol, values: &[Expr]) {
        // The argument of `nan` is an integer of the result's size.
        let kind = if self.session.names.text(name) == "nan" { Scalar::U16 } else { Scalar::F16 };
        let half = |e: &Expr| self.types.lanes(e.ty.id).is_some_and(|l| l.0 == kind);
        if values.iter().any(half)
            && let Some(part) = library::half_part_of(self.session.names.text(name))
        {
            self.load_part(part);
        }
    }

    pub(super) fn load_part(&mut self, part: usize) {
        if !self.loaded.insert(part) {
            return;
        }
        let (file, text) = library::part(part);
        self.with_library_options(|sema| {
            let unit = Rc::new(crate::preprocess::preprocess(sema.session, file, &text));
            let (externals, syntax) = crate::parse::heads(sema.session, &unit, &sema.builtin_types);
            sema.units.push(unit.clone());
            sema.library_units.push(true);
            let index = sema.units.len() as u32 - 1;
            let outer = std::mem::replace(&mut sema.context, Context::new(unit, index, true));
            for (start, external) in externals {
                sema.library_external(start, external);
            }
            let inner = std::mem::replace(&mut sema.context, outer);
            sema.parts.insert(index, (inner, syntax));
        });
    }

    /// Checks the functions of the library that have been called, and those that they call.
    pub(super) fn check_wanted(&mut self) {
        self.with_library_options(|sema| {
            while let Some((part, start)) = sema.wanted.pop() {
                let Some((context, syntax)) = sema.parts.remove(&part) else { continue };
                let outer = std::mem::replace(&mut sema.context, context);
                let unit = sema.context.unit.clone();
                let whole = crate::parse::whole(sema.session, &unit, &syntax, start);
                if let Some(ast::External::Function(def)) = whole {
                    sema.function(&def);
                }
                let context = std::mem::replace(&mut sema.context, outer);
                sema.parts.insert(part, (context, syntax));
            }
        });
    }

    pub(super) fn with_library_options(&mut self, work: impl FnOnce(&mut Self)) {
        let saved = (
            std::mem::take(&mut self.session.options.defines),
            std::mem::replace(&mut self.session.options.single_precision_constant, false),
        );
        work(self);
        (self.session.options.defines, self.session.options.single_precision_constant) = saved;
    }
}
