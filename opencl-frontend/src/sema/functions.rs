//! Functions and kernels: heads, bodies, the rules for kernels.

use rustc_hash::FxHashMap;

use super::analyzer::{Current, Entity, Sema, Uses};
use super::hir::{Function, FunctionId, Local, Stmt, StmtKind};
use super::specifiers::Specifiers;
use crate::diag::{Code, Diag};
use crate::parse::ast::{self, Attribute, AttributeArg, Declarator, External};
use crate::source::Span;
use crate::types::{QualType, Scalar, Space, Type, TypeId};

/// What stands before the body of a function.
struct Head {
    id: FunctionId,
    name: ast::Name,
    result: QualType,
    params: Vec<(Option<ast::Name>, QualType, Span)>,
    restricted: Vec<bool>,
}

impl Sema<'_> {
    /// Finds the function part of a declarator: `f(...)` behind pointers of its result.
    pub(super) fn split_function<'d>(
        &mut self,
        base: QualType,
        named: bool,
        d: &'d Declarator,
        span: Span,
    ) -> Option<(ast::Name, QualType, &'d [ast::Param])> {
        match d {
            Declarator::Function(inner, params, variadic) => match **inner {
                Declarator::Name(name) => {
                    if *variadic {
                        self.error(
                            Code::InvalidType,
                            span,
                            "OpenCL C has no functions with variable arguments (6.9.e)",
                        );
                    }
                    Some((name, base, params))
                }
                _ => None,
            },
            Declarator::Pointer(_, inner) if inner.params().is_some() => {
                // The pointer belongs to the result: apply it alone.
                let Declarator::Pointer(qualifiers, inner) = d else { return None };
                let one = Declarator::Pointer(qualifiers.clone(), Box::new(Declarator::Abstract));
                let result = self.declarator_type(base, named, &one, span);
                self.split_function(result, false, inner, span)
            }
            _ => None,
        }
    }

    /// Declares the function that a definition defines.
    fn function_head(&mut self, def: &ast::FunctionDef) -> Option<Head> {
        let specifiers = self.specifiers(&def.specifiers, None);
        let Some((name, result, params)) = self.split_function(
            specifiers.ty,
            specifiers.explicit_space.is_some(),
            &def.declarator,
            def.span,
        ) else {
            self.error(Code::Syntax, def.span, "this is not a function declarator");
            return None;
        };
        let mut attributes = specifiers.attributes.clone();
        attributes.extend(def.attributes.iter().cloned());
        let restricted: Vec<bool> = params.iter().map(|p| is_restrict(&p.declarator)).collect();
        let params = self.param_types(params);
        let id = self.declare_function(name, &specifiers, result, &params, &attributes)?;
        Some(Head { id, name, result, params, restricted })
    }

    /// A declaration of the library; the body of a function waits until something calls it.
    pub(super) fn library_external(&mut self, start: usize, external: External) {
        match external {
            External::Function(def) => {
                if let Some(head) = self.function_head(&def) {
                    self.waiting.insert(head.id, (self.context.index, start));
                }
            }
            other => self.external(&other),
        }
    }

    pub(super) fn function(&mut self, def: &ast::FunctionDef) {
        let Some(Head { id, name, result, params, restricted }) = self.function_head(def) else {
            return;
        };
        if self.functions[id.0 as usize].body.is_some() {
            let at = self.functions[id.0 as usize].span;
            let mut diag = Diag::error(
                Code::Redefinition,
                format!("function `{}` is defined twice", self.text(name.sym)),
            );
            if let Some(place) = self.place(at) {
                diag = diag.note(Some(place), "first defined here");
            }
            return self.report(diag, name.span);
        }
        let mut locals = Vec::new();
        self.open_scope();
        for (param, ty, span) in &params {
            let id = super::hir::LocalId(locals.len() as u32);
            let sym = param.map_or(crate::symbol::fixed::VOID, |n| n.sym);
            let restrict = restricted.get(locals.len()).copied().unwrap_or(false);
            locals.push(Local { name: sym, ty: *ty, align: None, restrict });
            match param {
                Some(param) => self.declare_name(*param, Entity::Local(id)),
                None => self.error(
                    Code::Syntax,
                    *span,
                    "a parameter of a function definition needs a name",
                ),
            }
        }
        let is_kernel = self.functions[id.0 as usize].is_kernel;
        self.functions[id.0 as usize].span = name.span;
        let current = Current {
            id,
            name: name.sym,
            result,
            is_kernel,
            locals,
            labels: FxHashMap::default(),
            label_count: 0,
            calls: Vec::new(),
            loops: 0,
            switches: Vec::new(),
            uses: FxHashMap::default(),
            variables: Vec::new(),
            depth: 0,
        };
        let contract = self.context.contract;
        let outer = self.context.function.replace(current);
        let body = self.block(&def.body);
        self.check_labels();
        self.check_uses();
        if result.id != TypeId::VOID && !self.types.is_error(result.id) && falls_through(&body) {
            let message = format!("`{}` can end without returning a value", self.text(name.sym));
            self.warn(Code::ReturnType, def.end, message);
        }
        self.close_scope();
        self.context.contract = contract;
        if let Some(current) = std::mem::replace(&mut self.context.function, outer) {
            let f = &mut self.functions[id.0 as usize];
            f.locals = current.locals;
            f.labels = current.label_count;
            f.calls = current.calls;
            f.body = Some(body);
        }
    }

    pub(super) fn declare_function(
        &mut self,
        name: ast::Name,
        specifiers: &Specifiers,
        result: QualType,
        params: &[(Option<ast::Name>, QualType, Span)],
        attributes: &[Attribute],
    ) -> Option<FunctionId> {
        let param_types: Vec<QualType> = params.iter().map(|p| p.1).collect();
        if matches!(self.types.get(result.id), Type::Array(..) | Type::Function(..)) {
            self.error(Code::InvalidType, name.span, "a function cannot return this type");
        }
        if matches!(self.types.get(result.id), Type::Image(..) | Type::Sampler) {
            let message = "images and samplers can only be parameters (6.9.b)";
            self.error(Code::InvalidType, name.span, message);
        }
        if specifiers.is_kernel {
            self.check_kernel(name, result, params);
        }
        let table = if self.context.is_library { &self.library } else { &self.own };
        let existing = table.get(&name.sym).cloned().unwrap_or_default();
        let same = existing.iter().copied().find(|id| {
            let f = &self.functions[id.0 as usize];
            f.params.len() == param_types.len()
                && f.params.iter().zip(&param_types).all(|(a, b)| a.id == b.id)
        });
        let kernel = self.kernel_attributes(attributes);
        if let Some(id) = same {
            if self.functions[id.0 as usize].result.id != result.id {
                let message =
                    format!("`{}` is declared with two result types", self.text(name.sym));
                self.error(Code::Redefinition, name.span, message);
                return None;
            }
            let f = &mut self.functions[id.0 as usize];
            f.is_kernel |= specifiers.is_kernel;
            f.attributes.required_size = f.attributes.required_size.or(kernel.required_size);
            f.attributes.size_hint = f.attributes.size_hint.or(kernel.size_hint);
            f.attributes.vec_type_hint = f.attributes.vec_type_hint.or(kernel.vec_type_hint);
            if self.lookup(name.sym).is_none() {
                self.declare_name(name, Entity::Function);
            }
            return Some(id);
        }
        let overloadable =
            self.context.is_library || self.has_attribute(attributes, "overloadable");
        if let Some(first) = existing.first()
            && !overloadable
        {
            let at = self.functions[first.0 as usize].span;
            let message =
                format!("`{}` is declared twice with different parameters", self.text(name.sym));
            let mut diag = Diag::error(Code::Redefinition, message);
            if let Some(place) = self.place(at) {
                diag = diag.note(Some(place), "first declared here");
            }
            self.report(diag, name.span);
            return None;
        }
        if !self.context.is_library && self.context.scopes.len() == 1 {
            self.declare_name(name, Entity::Function);
        }
        if specifiers.is_static && !self.context.is_library {
            self.internal.push(name.sym);
        }
        let id = FunctionId(self.functions.len() as u32);
        let elementwise =
            attributes.iter().find(|a| self.attribute_name(a) == "elementwise").map(|a| {
                match a.args.first() {
                    Some(AttributeArg::Expr(ast::Expr { kind: ast::ExprKind::Int(v), .. })) => {
                        v.value as u32
                    }
                    _ => 0,
                }
            });
        self.functions.push(Function {
            name: name.sym,
            result: result.value(),
            params: param_types,
            locals: Vec::new(),
            is_kernel: specifiers.is_kernel,
            attributes: kernel,
            body: None,
            labels: 0,
            elementwise: elementwise.filter(|_| self.context.is_library),
            calls: Vec::new(),
            unit: self.context.index,
            span: name.span,
        });
        let table = if self.context.is_library { &mut self.library } else { &mut self.own };
        table.entry(name.sym).or_default().push(id);
        Some(id)
    }

    /// Warns about variables that nothing uses, and those that are read though nothing gives them a value.
    fn check_uses(&mut self) {
        // After an error a use may be missing.
        if self.session.has_errors() {
            return;
        }
        let Some(current) = self.current() else { return };
        let (variables, uses) =
            (std::mem::take(&mut current.variables), std::mem::take(&mut current.uses));
        for (id, name, has_value) in variables {
            let text = self.text(name.sym);
            match uses.get(&id) {
                None if self.session.options.all_warnings => {
                    let message = format!("variable `{text}` is not used");
                    self.warn(Code::UnusedVariable, name.span, message);
                }
                Some(Uses { references, loads, first_load: Some(at) })
                    if !has_value && references == loads =>
                {
                    let message = format!("variable `{text}` is read but never given a value");
                    self.warn(Code::Uninitialized, *at, message);
                }
                _ => {}
            }
        }
    }

    /// The rules for kernels (6.7, 6.9).
    fn check_kernel(
        &mut self,
        name: ast::Name,
        result: QualType,
        params: &[(Option<ast::Name>, QualType, Span)],
    ) {
        if result.id != TypeId::VOID {
            self.error(Code::Kernel, name.span, "a kernel must return void");
        }
        if self.text(name.sym) == "main" {
            self.error(Code::Kernel, name.span, "a kernel cannot be named `main`");
        }
        for (_, ty, span) in params {
            let name = self.value_type_name(*ty);
            let problem = match *self.types.get(ty.id) {
                Type::Pointer(to) if matches!(to.space, Space::Private | Space::Generic) => Some(
                    "must point to the __global, __local or __constant address space (6.9.a)"
                        .to_string(),
                ),
                // Since 2.0 a pointer may point to others.
                Type::Pointer(to)
                    if matches!(self.types.get(to.id), Type::Pointer(_))
                        && self.session.options.cl_std < 200 =>
                {
                    Some("cannot be a pointer to a pointer (6.9.a)".to_string())
                }
                Type::Scalar(Scalar::Bool) => Some("cannot have type bool (6.9.k)".to_string()),
                Type::Scalar(Scalar::F16) if !self.extension_enabled("cl_khr_fp16", *span) => {
                    Some("cannot have type half without cl_khr_fp16 (6.9.k)".to_string())
                }
                Type::Event => Some("cannot have type event_t (6.9.k)".to_string()),
                Type::Struct(_) if self.holds_pointer(ty.id) => {
                    Some("cannot be a struct that holds pointers (6.9.p)".to_string())
                }
                _ => None,
            };
            if let Some(problem) = problem {
                self.error(
                    Code::Kernel,
                    *span,
                    format!("a kernel parameter of type `{name}` {problem}"),
                );
            }
        }
    }
}

/// A pointer with `restrict`.
fn is_restrict(declarator: &Declarator) -> bool {
    matches!(declarator, Declarator::Pointer(list, _) if list
        .iter()
        .any(|s| matches!(s.kind, ast::SpecifierKind::Keyword(crate::symbol::fixed::RESTRICT))))
}

/// Whether control can reach the end of a list of statements, judged by their form.
fn falls_through(list: &[Stmt]) -> bool {
    list.last().is_none_or(|last| match &last.kind {
        StmtKind::Return(_) | StmtKind::Goto(_) => false,
        StmtKind::Block(list) => falls_through(list),
        StmtKind::If(_, a, Some(b)) => {
            falls_through(std::slice::from_ref(&**a)) || falls_through(std::slice::from_ref(&**b))
        }
        StmtKind::Loop { condition, body, .. } => {
            let endless = condition.as_ref().is_none_or(|c| c.constant().is_some_and(|v| v != 0));
            !endless || has_break(body)
        }
        // Fallthrough out of a switch depends on its cases: stay silent.
        StmtKind::Switch { .. } => false,
        StmtKind::Expr(_)
        | StmtKind::Declare(..)
        | StmtKind::If(_, _, None)
        | StmtKind::Label(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Asm { .. } => true,
    })
}

fn has_break(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::Block(list) => list.iter().any(has_break),
        StmtKind::If(_, a, b) => has_break(a) || b.as_ref().is_some_and(|b| has_break(b)),
        // A break within one of these leaves it alone.
        StmtKind::Loop { .. } | StmtKind::Switch { .. } => false,
        StmtKind::Expr(_)
        | StmtKind::Declare(..)
        | StmtKind::Label(_)
        | StmtKind::Goto(_)
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Asm { .. } => false,
    }
}
