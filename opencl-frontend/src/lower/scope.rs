//! Scopes and variables, as debuggers are told of them.

use super::state::Lower;
use crate::ir::debug::{Scope, Variable};
use crate::ir::{DebugInfo, PrivateVar};
use crate::sema::hir::{FunctionId, LocalId, Stmt, StmtKind};
use crate::source::Span;

impl Lower<'_> {
    /// Whether the scope is another one than that of the location.
    pub(super) fn scope_changed(&self) -> bool {
        let debug = self.f.debug.as_ref();
        debug.is_some_and(|d| d.scope_of.get(self.location as usize) != Some(&self.scope))
    }

    /// A new location, in the scope that is open.
    pub(super) fn new_location(&mut self, place: (u32, u32)) -> u32 {
        self.f.locations.push(place);
        if let Some(debug) = &mut self.f.debug {
            debug.scope_of.push(self.scope);
        }
        self.f.locations.len() as u32 - 1
    }

    /// The location for an operation that may be contracted. It has one of its own where another pass must find the
    /// same operation in other code of this function (`passes::agree`).
    pub(super) fn own_location(&mut self) -> u32 {
        match self.f.debug {
            None => self.location,
            Some(_) => {
                let (place, scope) = (self.f.locations[self.location as usize], self.scope);
                if let Some(debug) = &self.f.debug {
                    self.scope = debug.scope_of[self.location as usize];
                }
                let new = self.new_location(place);
                self.scope = scope;
                new
            }
        }
    }

    /// The location of the head of a function, for what happens before its first statement.
    pub(super) fn at_head(&mut self, unit: u32, span: Span) {
        if self.f.debug.is_some() {
            self.location = self.new_location((unit, span.first));
        }
    }

    /// The location of the statement again, for what belongs to it behind its parts.
    pub(super) fn back_at(&mut self, span: Span) {
        if self.f.debug.is_some() {
            self.set_location(span);
        }
    }

    fn open(&mut self, inlined: Option<(u32, u32)>) {
        let parent = Some(self.scope);
        if let Some(debug) = &mut self.f.debug {
            debug.scopes.push(Scope { parent, inlined, variables: Vec::new() });
            self.scope = debug.scopes.len() as u32 - 1;
        }
    }

    /// Code of the library is not told of: it belongs to the line that called it.
    fn is_library(&self, id: FunctionId) -> bool {
        let unit = self.program.functions[id.0 as usize].unit as usize;
        self.program.library_units.get(unit).is_some_and(|l| *l)
    }

    /// Opens the scope of a function in the place of its call. What is called first is the function itself.
    pub(super) fn open_inlined(&mut self, id: FunctionId) {
        if !self.frames.is_empty() && !self.is_library(id) {
            self.open(Some((id.0, self.location)));
        }
    }

    /// Opens the scope of a block or loop if it declares something.
    pub(super) fn open_block(&mut self, list: &[Stmt]) {
        let declares = list.iter().any(|s| matches!(s.kind, StmtKind::Declare(..)));
        let library = self.frames.last().is_some_and(|f| self.is_library(f.function));
        if declares && !library {
            self.open(None);
        }
    }

    /// Tells of a variable from here on.
    pub(super) fn declare(&mut self, id: LocalId, private: PrivateVar, is_parameter: bool) {
        let Some(frame) = self.frames.last() else { return };
        let function = frame.function;
        if self.f.debug.is_none() || self.is_library(function) {
            return;
        }
        // Where the name means another variable up to here, a scope begins, which ends with the one around it.
        let shadows = match &self.f.debug {
            Some(debug) if !is_parameter => self.means_another(debug, function, id),
            _ => false,
        };
        if shadows {
            self.open(None);
        }
        self.f.privates[private.0 as usize].pinned = true;
        let variable = Variable { function: function.0, local: id.0, private, is_parameter };
        if let Some(debug) = &mut self.f.debug {
            debug.scopes[self.scope as usize].variables.push(variable);
        }
    }

    fn means_another(&self, debug: &DebugInfo, function: FunctionId, id: LocalId) -> bool {
        let locals = &self.program.functions[function.0 as usize].locals;
        let name = locals[id.0 as usize].name;
        let mut at = Some(self.scope);
        while let Some(scope) = at.map(|at| &debug.scopes[at as usize]) {
            let same =
                |v: &Variable| v.function == function.0 && locals[v.local as usize].name == name;
            if scope.variables.iter().any(same) {
                return true;
            }
            at = scope.parent.filter(|_| scope.inlined.is_none());
        }
        false
    }
}
