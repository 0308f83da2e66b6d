//! Semantic analysis: syntax trees to the typed tree, with every rule of the language checked on the way.

mod call;
pub mod constant;
mod convert;
mod declare;
mod expr;
mod families;
pub mod hir;
mod init;
mod operators;
mod printf;
mod specifiers;
mod stmt;
pub mod types;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::Session;
use crate::diag::{Code, Diag};
use crate::library;
use crate::parse::{State, ast};
use crate::preprocess::Unit;
use crate::source::Span;
use crate::symbol::{Symbol, fixed};
use hir::{
    Expr, ExprKind, Function, FunctionId, Global, GlobalId, LabelId, Local, LocalId, Program,
};
use types::{QualType, Scalar, Space, StructId, Type, TypeId, Types};

pub use types::builtin_type_names;

/// What a name in scope stands for.
#[derive(Clone, Copy, Debug)]
enum Entity {
    Local(LocalId),
    Global(GlobalId),
    Enumerator(i64),
    Typedef(QualType),
    Function,
    /// A constant sampler.
    Sampler(u32),
}

#[derive(Clone, Copy, Debug)]
enum Tag {
    Struct(StructId),
    Enum,
}

#[derive(Default)]
struct Scope {
    names: FxHashMap<Symbol, (Entity, Span)>,
    tags: FxHashMap<Symbol, (Tag, Span)>,
}

/// State of the function being checked.
struct Current {
    id: FunctionId,
    name: Symbol,
    result: QualType,
    is_kernel: bool,
    locals: Vec<Local>,
    labels: FxHashMap<Symbol, (LabelId, Option<Span>, Span)>,
    label_count: u32,
    calls: Vec<(FunctionId, Span)>,
    loops: u32,
    switches: Vec<SwitchState>,
    /// Depth of blocks within the body: `__local` variables belong to the outermost.
    depth: u32,
}

struct SwitchState {
    scalar: Scalar,
    cases: Vec<(u64, LabelId, Span)>,
    default: Option<LabelId>,
    /// Loops outside of the switch, for `continue`.
    loops: u32,
}

/// Everything that belongs to one token table.
struct Context {
    unit: Rc<Unit>,
    index: u32,
    is_library: bool,
    scopes: Vec<Scope>,
    function: Option<Current>,
    contract: bool,
}

/// State of the analysis.
pub struct Sema<'s> {
    session: &'s mut Session,
    types: Types,
    functions: Vec<Function>,
    globals: Vec<Global>,
    own: FxHashMap<Symbol, Vec<FunctionId>>,
    library: FxHashMap<Symbol, Vec<FunctionId>>,
    loaded: FxHashSet<usize>,
    /// Functions of the library that nothing has called yet, with their unit and first token.
    waiting: FxHashMap<FunctionId, (u32, usize)>,
    /// Those of them that have been called since.
    wanted: Vec<(u32, usize)>,
    /// Where the parts of the library were left, by the number of their unit.
    parts: FxHashMap<u32, (Context, State)>,
    builtin_types: Rc<FxHashMap<Symbol, TypeId>>,
    units: Vec<Rc<Unit>>,
    context: Context,
    strings: FxHashMap<Vec<u8>, GlobalId>,
    library_units: Vec<bool>,
    /// `static` functions of the current source.
    internal: Vec<Symbol>,
    /// Program-scope constants that other sources may name.
    shared: FxHashMap<Symbol, GlobalId>,
    /// Constants that are only declared so far, with the place.
    undefined: Vec<(GlobalId, u32, Span)>,
    /// Structs whose members are being declared.
    unfinished: Vec<StructId>,
    /// First struct of the current source: structs of earlier ones may be the same.
    first_struct: usize,
}

/// A source text with the options that it is compiled with.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name in diagnostics.
    pub name: String,
    /// Text.
    pub text: String,
    /// Options; those for code generation do not matter here.
    pub options: crate::Options,
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
    for name in builtin_type_names() {
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
        library_units: sema.library_units,
    };
    (program, units)
}

impl Context {
    fn new(unit: Rc<Unit>, index: u32, is_library: bool) -> Context {
        Context {
            unit,
            index,
            is_library,
            scopes: vec![Scope::default()],
            function: None,
            contract: true,
        }
    }
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

    /// What is used is defined.
    fn check_definitions(&mut self) {
        for (id, unit, span) in std::mem::take(&mut self.undefined) {
            let global = &self.globals[id.0 as usize];
            if global.bytes.is_none() && !self.session.has_errors() {
                let message =
                    format!("constant `{}` is declared but not defined", self.text(global.name));
                let unit = self.units[unit as usize].clone();
                self.session.report_at(Diag::error(Code::Undeclared, message), &unit, span);
            }
        }
        for f in 0..self.functions.len() {
            let callees: Vec<(FunctionId, Span)> = self.functions[f].calls.clone();
            for (callee, span) in callees {
                if self.functions[callee.0 as usize].body.is_none() && !self.session.has_errors() {
                    let name = self.text(self.functions[callee.0 as usize].name);
                    let diag = Diag::error(
                        Code::Undeclared,
                        format!("function `{name}` is declared but not defined"),
                    );
                    let unit = self.units[self.functions[f].unit as usize].clone();
                    self.session.report_at(diag, &unit, span);
                }
            }
        }
    }

    // Diagnostics

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diag::error(code, message), span);
    }

    fn warn(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diag::warning(code, message), span);
    }

    fn report(&mut self, diag: Diag, span: Span) {
        // A warning inside the library is none of the user's business.
        if self.context.is_library && diag.severity == crate::diag::Severity::Warning {
            return;
        }
        let unit = self.context.unit.clone();
        self.session.report_at(diag, &unit, span);
    }

    /// The place of a span in the files, for notes and labels.
    fn place(&self, span: Span) -> Option<crate::source::FileSpan> {
        self.session.place(Diag::error(Code::Internal, ""), &self.context.unit, span).span
    }

    fn text(&self, symbol: Symbol) -> String {
        self.session.names.text(symbol).to_string()
    }

    fn type_name(&self, ty: QualType) -> String {
        self.types.name(ty, &self.session.names)
    }

    fn value_type_name(&self, ty: QualType) -> String {
        self.types.name(ty.value(), &self.session.names)
    }

    fn error_expr(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Error, ty: QualType::plain(TypeId::ERROR), span }
    }

    // Scopes

    fn open_scope(&mut self) {
        self.context.scopes.push(Scope::default());
    }

    fn close_scope(&mut self) {
        self.context.scopes.pop();
    }

    fn lookup(&self, name: Symbol) -> Option<Entity> {
        self.context.scopes.iter().rev().find_map(|s| s.names.get(&name)).map(|e| e.0)
    }

    fn lookup_tag(&self, name: Symbol) -> Option<Tag> {
        self.context.scopes.iter().rev().find_map(|s| s.tags.get(&name)).map(|t| t.0)
    }

    /// Enters a name into the innermost scope; reports a clash.
    fn declare_name(&mut self, name: ast::Name, entity: Entity) {
        let scope = self.context.scopes.last_mut().expect("a scope is open");
        let old = scope.names.insert(name.sym, (entity, name.span));
        let Some((old, at)) = old else { return };
        let harmless = match (old, entity) {
            (Entity::Typedef(a), Entity::Typedef(b)) => a == b,
            (Entity::Function, Entity::Function) => true,
            (Entity::Global(a), Entity::Global(b)) => a == b,
            _ => false,
        };
        if !harmless {
            let mut diag = Diag::error(
                Code::Redefinition,
                format!("`{}` is declared twice", self.text(name.sym)),
            );
            if let Some(place) = self.place(at) {
                diag = diag.note(Some(place), "first declared here");
            }
            self.report(diag, name.span);
        }
    }

    /// All names that could have been meant where `name` was not found.
    fn suggest(&self, name: Symbol) -> Option<String> {
        let mut candidates: Vec<String> = library::names().map(str::to_string).collect();
        for scope in &self.context.scopes {
            candidates.extend(scope.names.keys().map(|k| self.text(*k)));
        }
        crate::diag::closest(self.session.names.text(name), candidates.iter().map(String::as_str))
            .map(str::to_string)
    }

    // Functions

    /// A function that this source declares, which hides one of the library.
    fn is_own(&self, name: Symbol) -> bool {
        !self.context.is_library && matches!(self.lookup(name), Some(Entity::Function))
    }

    /// The functions that a name may call.
    fn candidates(&mut self, name: Symbol) -> Vec<FunctionId> {
        if self.is_own(name) {
            return self.own.get(&name).cloned().unwrap_or_default();
        }
        self.load_library(name);
        self.library.get(&name).cloned().unwrap_or_default()
    }

    /// Compiles the part of the library that defines `name`.
    fn load_library(&mut self, name: Symbol) {
        if let Some(part) = library::part_of(self.session.names.text(name)) {
            self.load_part(part);
        }
    }

    /// Compiles the part of the library that defines `name` for half-precision arguments, if there is one.
    fn load_half(&mut self, name: Symbol, values: &[Expr]) {
        // The argument of `nan` is an integer of the result's size.
        let kind = if self.session.names.text(name) == "nan" { Scalar::U16 } else { Scalar::F16 };
        let half = |e: &Expr| self.types.lanes(e.ty.id).is_some_and(|l| l.0 == kind);
        if values.iter().any(half)
            && let Some(part) = library::half_part_of(self.session.names.text(name))
        {
            self.load_part(part);
        }
    }

    fn load_part(&mut self, part: usize) {
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
    fn check_wanted(&mut self) {
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

    fn with_library_options(&mut self, work: impl FnOnce(&mut Self)) {
        let saved = (
            std::mem::take(&mut self.session.options.defines),
            std::mem::replace(&mut self.session.options.single_precision_constant, false),
        );
        work(self);
        (self.session.options.defines, self.session.options.single_precision_constant) = saved;
    }

    /// Refuses recursion (6.9.i), with the cycle.
    fn check_recursion(&mut self) {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.functions.len()];
        let mut reports = Vec::new();
        for start in 0..self.functions.len() {
            // Explicit stack: (function, next callee).
            let mut stack: Vec<(usize, usize)> = vec![(start, 0)];
            if marks[start] != Mark::New {
                continue;
            }
            marks[start] = Mark::Open;
            while let Some((f, next)) = stack.last_mut() {
                let Some(&(callee, span)) = self.functions[*f].calls.get(*next) else {
                    marks[*f] = Mark::Done;
                    stack.pop();
                    continue;
                };
                *next += 1;
                let c = callee.0 as usize;
                match marks[c] {
                    Mark::New => {
                        marks[c] = Mark::Open;
                        stack.push((c, 0));
                    }
                    Mark::Open => {
                        let from = stack.iter().position(|(f, _)| *f == c).unwrap_or(0);
                        let cycle: Vec<usize> = stack[from..].iter().map(|(f, _)| *f).collect();
                        reports.push((cycle, span, stack.last().map_or(0, |s| s.0)));
                    }
                    Mark::Done => {}
                }
            }
        }
        for (cycle, span, caller) in reports {
            let mut path: Vec<String> =
                cycle.iter().map(|f| self.text(self.functions[*f].name)).collect();
            let first = path[0].clone();
            path.push(first.clone());
            let message = format!("`{first}` calls itself; OpenCL C does not allow recursion");
            let mut diag = Diag::error(Code::Recursion, message);
            if cycle.len() > 1 {
                diag = diag.note(None, format!("through {}", path.join(" -> ")));
            }
            let unit = self.units[self.functions[caller].unit as usize].clone();
            self.session.report_at(diag, &unit, span);
        }
    }

    /// A string literal as a constant array.
    fn string_global(&mut self, mut bytes: Vec<u8>) -> GlobalId {
        bytes.push(0);
        if let Some(&id) = self.strings.get(&bytes) {
            return id;
        }
        let name = self.session.names.intern(&format!("__str{}", self.strings.len()));
        let element =
            QualType { constant: true, space: Space::Constant, ..QualType::plain(TypeId::CHAR) };
        let array = self.types.intern(Type::Array(element, Some(bytes.len() as u64)));
        let id = GlobalId(self.globals.len() as u32);
        let ty = QualType { id: array, ..element };
        self.globals.push(Global { name, ty, align: 1, bytes: Some(bytes.clone()), owner: None });
        self.strings.insert(bytes, id);
        id
    }

    /// Is the extension enabled at this token?
    fn extension_enabled(&self, name: &str, span: Span) -> bool {
        if self.context.is_library {
            return true;
        }
        let sym = self.session.names.find(name);
        let mut enabled = false;
        for event in &self.context.unit.extensions {
            if event.token > span.first {
                break;
            }
            if event.name == fixed::ALL || Some(event.name) == sym {
                enabled = event.enabled;
            }
        }
        enabled
    }

    fn current(&mut self) -> Option<&mut Current> {
        self.context.function.as_mut()
    }

    fn new_local(&mut self, name: Symbol, ty: QualType, align: Option<u64>) -> LocalId {
        match self.current() {
            Some(current) => {
                current.locals.push(Local { name, ty, align, restrict: false });
                LocalId(current.locals.len() as u32 - 1)
            }
            None => LocalId(0),
        }
    }
}
