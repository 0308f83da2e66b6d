//! The state of the analysis: scopes, types, functions, what has been reported.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::hir::{Expr, ExprKind, Function, FunctionId, Global, GlobalId, LabelId, Local, LocalId};
use crate::absent;
use crate::diag::{Code, Diag};
use crate::library;
use crate::parse::{State, ast};
use crate::preprocess::Unit;
use crate::session::Session;
use crate::source::Span;
use crate::symbol::{Symbol, fixed};
use crate::types::{QualType, Scalar, Space, StructId, Type, TypeId, Types};

/// What a name in scope stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entity {
    Local(LocalId),
    Global(GlobalId),
    /// Its bits, and its type.
    Enumerator(u64, Scalar),
    Typedef(QualType),
    Function,
    /// A constant sampler.
    Sampler(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Tag {
    Struct(StructId),
    /// With the type of its objects.
    Enum(TypeId),
}

#[derive(Default)]
pub(super) struct Scope {
    pub(super) names: FxHashMap<Symbol, (Entity, Span)>,
    pub(super) tags: FxHashMap<Symbol, (Tag, Span)>,
}

/// State of the function being checked.
pub(super) struct Current {
    pub(super) id: FunctionId,
    pub(super) name: Symbol,
    pub(super) result: QualType,
    pub(super) is_kernel: bool,
    pub(super) locals: Vec<Local>,
    pub(super) labels: FxHashMap<Symbol, (LabelId, Option<Span>, Span)>,
    pub(super) label_count: u32,
    pub(super) calls: Vec<(FunctionId, Span)>,
    pub(super) loops: u32,
    pub(super) switches: Vec<SwitchState>,
    /// How each variable is used.
    pub(super) uses: FxHashMap<LocalId, Uses>,
    /// Variables with their names; whether they have an initial value.
    pub(super) variables: Vec<(LocalId, ast::Name, bool)>,
    /// Depth of blocks within the body: `__local` variables belong to the outermost.
    pub(super) depth: u32,
}

/// How a function uses a variable.
#[derive(Default)]
pub(super) struct Uses {
    /// Times that it is named.
    pub(super) references: u32,
    /// Those of them that only read its value.
    pub(super) loads: u32,
    /// The first of these.
    pub(super) first_load: Option<Span>,
}

pub(super) struct SwitchState {
    pub(super) scalar: Scalar,
    pub(super) cases: Vec<(u64, LabelId)>,
    /// Where each value stands.
    pub(super) places: FxHashMap<u64, Span>,
    pub(super) default: Option<LabelId>,
    /// Loops outside of the switch, for `continue`.
    pub(super) loops: u32,
}

/// Everything that belongs to one token table.
pub(super) struct Context {
    pub(super) unit: Rc<Unit>,
    pub(super) index: u32,
    pub(super) is_library: bool,
    pub(super) scopes: Vec<Scope>,
    pub(super) function: Option<Current>,
    pub(super) contract: bool,
}

/// State of the analysis.
pub struct Sema<'s> {
    pub(super) session: &'s mut Session,
    pub(super) types: Types,
    pub(super) functions: Vec<Function>,
    pub(super) globals: Vec<Global>,
    pub(super) own: FxHashMap<Symbol, Vec<FunctionId>>,
    pub(super) library: FxHashMap<Symbol, Vec<FunctionId>>,
    pub(super) loaded: FxHashSet<usize>,
    /// Functions of the library that nothing has called yet, with their unit and first token.
    pub(super) waiting: FxHashMap<FunctionId, (u32, usize)>,
    /// Those of them that have been called since.
    pub(super) wanted: Vec<(u32, usize)>,
    /// Where the parts of the library were left, by the number of their unit.
    pub(super) parts: FxHashMap<u32, (Context, State)>,
    pub(super) builtin_types: Rc<FxHashMap<Symbol, TypeId>>,
    pub(super) units: Vec<Rc<Unit>>,
    pub(super) context: Context,
    pub(super) strings: FxHashMap<Vec<u8>, GlobalId>,
    pub(super) library_units: Vec<bool>,
    /// `static` functions of the current source.
    pub(super) internal: Vec<Symbol>,
    /// Program-scope constants that other sources may name.
    pub(super) shared: FxHashMap<Symbol, GlobalId>,
    /// Constants that are only declared so far, with the place.
    pub(super) undefined: Vec<(GlobalId, u32, Span)>,
    /// Structs whose members are being declared.
    pub(super) unfinished: Vec<StructId>,
    /// First struct of the current source: structs of earlier ones may be the same.
    pub(super) first_struct: usize,
    /// A pointer into local memory is compared, or may come out as null.
    pub(super) local_null: bool,
}

impl Context {
    pub(super) fn new(unit: Rc<Unit>, index: u32, is_library: bool) -> Context {
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
    // Diagnostics

    pub(super) fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diag::error(code, message), span);
    }

    pub(super) fn warn(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diag::warning(code, message), span);
    }

    pub(super) fn report(&mut self, diag: Diag, span: Span) {
        // A warning inside the library is none of the user's business.
        if self.context.is_library && diag.severity == crate::diag::Severity::Warning {
            return;
        }
        let unit = self.context.unit.clone();
        self.session.report_at(diag, &unit, span);
    }

    /// The place of a span in the files, for notes and labels.
    pub(super) fn place(&self, span: Span) -> Option<crate::source::FileSpan> {
        self.session.place(Diag::error(Code::Internal, ""), &self.context.unit, span).span
    }

    pub(super) fn text(&self, symbol: Symbol) -> String {
        self.session.names.text(symbol).to_string()
    }

    pub(super) fn type_name(&self, ty: QualType) -> String {
        self.types.name(ty, &self.session.names)
    }

    pub(super) fn value_type_name(&self, ty: QualType) -> String {
        self.types.name(ty.value(), &self.session.names)
    }

    pub(super) fn error_expr(&self, span: Span) -> Expr {
        Expr { kind: ExprKind::Error, ty: QualType::plain(TypeId::ERROR), span }
    }

    // Scopes

    pub(super) fn open_scope(&mut self) {
        self.context.scopes.push(Scope::default());
    }

    pub(super) fn close_scope(&mut self) {
        self.context.scopes.pop();
    }

    pub(super) fn lookup(&self, name: Symbol) -> Option<Entity> {
        self.context.scopes.iter().rev().find_map(|s| s.names.get(&name)).map(|e| e.0)
    }

    pub(super) fn lookup_tag(&self, name: Symbol) -> Option<Tag> {
        self.context.scopes.iter().rev().find_map(|s| s.tags.get(&name)).map(|t| t.0)
    }

    /// Enters a name into the innermost scope; reports a clash.
    pub(super) fn declare_name(&mut self, name: ast::Name, entity: Entity) {
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

    /// The error for a name that is declared nowhere.
    pub(super) fn undeclared(&self, name: Symbol, message: String) -> Diag {
        if let Some(diag) = absent::refusal(self.session.names.text(name)) {
            return diag;
        }
        let diag = Diag::error(Code::Undeclared, message);
        match self.suggest(name) {
            Some(meant) => diag.help(format!("did you mean `{meant}`?")),
            None => diag,
        }
    }

    /// A name that could have been meant where `name` was not found.
    fn suggest(&self, name: Symbol) -> Option<String> {
        // Nobody will read it.
        if self.session.too_many_errors() {
            return None;
        }
        let mut candidates: Vec<String> = library::names().map(str::to_string).collect();
        for scope in &self.context.scopes {
            candidates.extend(scope.names.keys().map(|k| self.text(*k)));
        }
        crate::diag::closest(self.session.names.text(name), candidates.iter().map(String::as_str))
            .map(str::to_string)
    }

    /// A string literal as a constant array.
    pub(super) fn string_global(&mut self, mut bytes: Vec<u8>) -> GlobalId {
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
        self.globals.push(Global {
            name,
            ty,
            align: 1,
            bytes: Some(bytes.clone()),
            owner: None,
            addresses: Vec::new(),
        });
        self.strings.insert(bytes, id);
        id
    }

    /// Is the extension enabled at this token?
    pub(super) fn extension_enabled(&self, name: &str, span: Span) -> bool {
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

    pub(super) fn current(&mut self) -> Option<&mut Current> {
        self.context.function.as_mut()
    }

    pub(super) fn new_local(&mut self, name: Symbol, ty: QualType, align: Option<u64>) -> LocalId {
        match self.current() {
            Some(current) => {
                current.locals.push(Local { name, ty, align, restrict: false });
                LocalId(current.locals.len() as u32 - 1)
            }
            None => LocalId(0),
        }
    }
}
