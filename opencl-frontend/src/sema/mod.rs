//! Semantic analysis: syntax trees to the typed tree, with every rule of the language checked on the way.

mod analyzer;
mod atomics;
mod attributes;
mod call;
pub mod constant;
mod convert;
mod declarators;
mod declare;
mod demand;
mod enums;
mod expr;
mod extensions;
mod families;
mod functions;
pub mod hir;
mod init;
mod operators;
mod printf;
mod program;
mod specifiers;
mod stmt;
mod structs;
mod variables;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::options::Options;
use crate::preprocess::Unit;
use crate::session::Session;
use crate::types::{self, Types, builtin_type_names};
use analyzer::{Context, Sema};
use hir::Program;

/// A source text with the options that it is compiled with.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name in diagnostics.
    pub name: String,
    /// Text.
    pub text: String,
    /// Options; those for code generation do not matter here.
    pub options: Options,
}

/// Checks sources that make one program. Returns it and the token tables that its spans refer to.
/// A partial program may call functions that it only declares.
pub fn analyze(
    session: &mut Session,
    sources: &[Source],
    partial: bool,
) -> (Program, Vec<Rc<Unit>>) {
    let mut types = Types::new(8);
    let mut builtin_types = FxHashMap::default();
    let newer = sources.iter().any(|s| s.options.cl_std >= 200);
    let added = types::TYPES_OF_2_0.iter().filter(|_| newer).copied();
    for name in builtin_type_names().iter().map(String::as_str).chain(added) {
        if let Some(id) = types::builtin_type(name, &mut types) {
            builtin_types.insert(session.names.intern(name), id);
        }
    }
    let context = Context::new(Rc::new(Unit::default()), 0, false);
    let mut sema = Sema {
        session,
        types,
        functions: Vec::new(),
        globals: Vec::new(),
        own: FxHashMap::default(),
        library: FxHashMap::default(),
        loaded: FxHashSet::default(),
        waiting: FxHashMap::default(),
        wanted: Vec::new(),
        parts: FxHashMap::default(),
        builtin_types: Rc::new(builtin_types),
        units: Vec::new(),
        library_units: Vec::new(),
        context,
        strings: FxHashMap::default(),
        internal: Vec::new(),
        shared: FxHashMap::default(),
        undefined: Vec::new(),
        unfinished: Vec::new(),
        first_struct: 0,
        local_null: false,
    };
    let options = sema.session.options.clone();
    for source in sources {
        sema.source(source);
    }
    sema.session.options = options;
    sema.check_recursion();
    if !partial {
        sema.check_definitions();
    }
    let units = std::mem::take(&mut sema.units);
    let program = Program {
        types: sema.types,
        functions: sema.functions,
        globals: sema.globals,
        local_null: sema.local_null,
        library_units: sema.library_units,
    };
    (program, units)
}

impl Sema<'_> {
    /// Checks one source.
    fn source(&mut self, source: &Source) {
        self.session.options = source.options.clone();
        let unit = Rc::new(crate::preprocess::preprocess(self.session, &source.name, &source.text));
        let externals = crate::parse::parse(self.session, &unit, &self.builtin_types);
        self.units.push(unit.clone());
        self.library_units.push(false);
        self.context = Context::new(unit, self.units.len() as u32 - 1, false);
        self.first_struct = self.types.structs.len();
        for external in &externals {
            if self.session.too_many_errors() {
                break;
            }
            self.external(external);
        }
        self.check_wanted();
        for name in std::mem::take(&mut self.internal) {
            self.own.remove(&name);
        }
    }
}
