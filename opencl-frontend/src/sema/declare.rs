//! Declarations: functions, kernels, variables, typedefs.

use super::hir::{Function, FunctionId, Global, GlobalId, KernelAttributes, Local, Stmt, StmtKind};
use super::specifiers::Specifiers;
use super::types::{QualType, Scalar, Space, Type, TypeId};
use super::{Current, Entity, Sema};
use crate::diag::{Code, Diag};
use crate::parse::ast::{self, Attribute, AttributeArg, Declarator, External};
use crate::source::Span;
use rustc_hash::FxHashMap;

/// What stands before the body of a function.
struct Head {
    id: FunctionId,
    name: ast::Name,
    result: QualType,
    params: Vec<(Option<ast::Name>, QualType, Span)>,
    restricted: Vec<bool>,
}

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

    /// Finds the function part of a declarator: `f(...)` behind pointers of its result.
    fn split_function<'d>(
        &mut self,
        base: QualType,
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
                let result = self.declarator_type(base, &one, span);
                self.split_function(result, inner, span)
            }
            _ => None,
        }
    }

    /// Declares the function that a definition defines.
    fn function_head(&mut self, def: &ast::FunctionDef) -> Option<Head> {
        let specifiers = self.specifiers(&def.specifiers, None);
        let Some((name, result, params)) =
            self.split_function(specifiers.ty, &def.declarator, def.span)
        else {
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
            depth: 0,
        };
        let contract = self.context.contract;
        let outer = self.context.function.replace(current);
        let body = self.block(&def.body);
        self.check_labels();
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

    fn declare_function(
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

    fn kernel_attributes(&mut self, attributes: &[Attribute]) -> KernelAttributes {
        let mut out = KernelAttributes::default();
        for attribute in attributes {
            match self.attribute_name(attribute).as_str() {
                "reqd_work_group_size" => out.required_size = self.three_sizes(attribute),
                "work_group_size_hint" => out.size_hint = self.three_sizes(attribute),
                "vec_type_hint" => {
                    if let [AttributeArg::Type(name)] = attribute.args.as_slice() {
                        out.vec_type_hint = Some(self.type_of_name(name).id);
                    } else {
                        self.error(
                            Code::Attribute,
                            attribute.name.span,
                            "vec_type_hint takes a type",
                        );
                    }
                }
                "elementwise" | "overloadable" | "always_inline" | "noinline" | "pure"
                | "const" | "unused" | "nothrow" | "aligned" | "packed" | "endian" | "flatten"
                | "hot" | "cold" | "convergent" => {}
                name => {
                    let message = format!("unknown attribute `{name}` ignored");
                    self.warn(Code::IgnoredAttribute, attribute.name.span, message);
                }
            }
        }
        out
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
                Type::Pointer(to) if to.space == Space::Private => Some(
                    "must point to the __global, __local or __constant address space (6.9.a)"
                        .to_string(),
                ),
                Type::Pointer(to) if matches!(self.types.get(to.id), Type::Pointer(_)) => {
                    Some("cannot be a pointer to a pointer (6.9.a)".to_string())
                }
                Type::Scalar(s @ (Scalar::Bool | Scalar::F16)) => {
                    Some(format!("cannot have type {} (6.9.k)", s.name()))
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
        for item in &decl.items {
            let mut attributes = specifiers.attributes.clone();
            attributes.extend(item.attributes.iter().cloned());
            if !specifiers.is_typedef
                && item.declarator.params().is_some()
                && let Some((name, result, params)) =
                    self.split_function(specifiers.ty, &item.declarator, item.span)
            {
                let params = self.param_types(params);
                self.declare_function(name, &specifiers, result, &params, &attributes);
                if item.init.is_some() {
                    self.error(Code::Initializer, item.span, "a function cannot be initialised");
                }
                continue;
            }
            let ty = self.declarator_type(specifiers.ty, &item.declarator, item.span);
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

    /// `__attribute__((ext_vector_type(n)))` of clang, for sources that carry it.
    fn vector_attribute(&mut self, ty: QualType, attributes: &[Attribute]) -> QualType {
        for attribute in attributes {
            if self.attribute_name(attribute) == "ext_vector_type"
                && let [AttributeArg::Expr(e)] = attribute.args.as_slice()
                && let Some(n) = self.integer_constant(e, "a vector size")
                && let (Some(scalar), 2 | 3 | 4 | 8 | 16) = (self.types.scalar(ty.id), n)
            {
                return QualType { id: self.types.vector(scalar, n as u8), ..ty };
            }
        }
        ty
    }

    fn variable(
        &mut self,
        name: ast::Name,
        mut ty: QualType,
        specifiers: &Specifiers,
        attributes: &[Attribute],
        item: &ast::InitDeclarator,
        out: &mut Vec<Stmt>,
    ) {
        let text = self.text(name.sym);
        if ty.id == TypeId::VOID {
            self.error(Code::InvalidType, name.span, format!("variable `{text}` has type void"));
            ty.id = TypeId::ERROR;
        }
        if self.types.scalar(ty.id) == Some(Scalar::F16)
            && !self.extension_enabled("cl_khr_fp16", name.span)
        {
            let diag = Diag::error(
                Code::Extension,
                format!("variable `{text}` of type half needs cl_khr_fp16"),
            )
            .help("`#pragma OPENCL EXTENSION cl_khr_fp16 : enable`");
            self.report(diag, name.span);
        }
        if matches!(self.types.get(ty.id), Type::Sampler) {
            return self.sampler_variable(name, ty, item);
        }
        let align = self.aligned(attributes);
        let at_file_scope = self.context.function.is_none();
        if specifiers.is_static && self.session.options.cl_std < 120 {
            self.error(Code::Specifiers, name.span, "`static` needs OpenCL C 1.2");
        }
        if let Type::Image(..) | Type::Event = self.types.get(ty.id)
            && at_file_scope
        {
            self.error(
                Code::InvalidType,
                name.span,
                "images and events cannot be program-scope variables",
            );
            return;
        }
        if matches!(self.types.get(ty.id), Type::Image(..)) {
            self.error(
                Code::InvalidType,
                name.span,
                "a variable cannot be an image; only parameters can (6.9.b)",
            );
            return;
        }
        let constant_space = ty.space == Space::Constant;
        if at_file_scope || (constant_space && specifiers.explicit_space == Some(Space::Constant)) {
            if !constant_space {
                let message = format!(
                    "program-scope variable `{text}` must be in the __constant address space (6.5)"
                );
                let diag = Diag::error(Code::AddressSpace, message)
                    .help("write `__constant` before its type");
                self.report(diag, name.span);
                ty = self.in_space(ty, Space::Constant);
            }
            return self.constant_variable(name, ty, align, item, specifiers);
        }
        if specifiers.is_extern {
            return self.error(
                Code::Unsupported,
                name.span,
                "`extern` variables are not supported",
            );
        }
        if ty.space == Space::Global {
            return self.error(
                Code::AddressSpace,
                name.span,
                "a variable cannot be in the __global address space (6.5.1)",
            );
        }
        if specifiers.is_static && ty.space == Space::Private {
            return self.error(
                Code::Specifiers,
                name.span,
                "a variable of a function cannot be static (6.8)",
            );
        }
        if ty.space == Space::Local {
            return self.local_variable(name, ty, align, item);
        }
        // The extent of an array may come from its initialiser, which may not use the variable yet: the
        // scope begins after the declarator, so declare first and complete the type afterwards.
        let id = self.new_local(name.sym, ty, align);
        self.declare_name(name, Entity::Local(id));
        let init = item.init.as_ref().map(|init| self.initializer(&mut ty, init));
        if matches!(self.types.get(ty.id), Type::Array(_, None)) {
            self.error(
                Code::InvalidType,
                name.span,
                format!("array `{text}` needs an extent or an initialiser"),
            );
            ty.id = TypeId::ERROR;
        }
        if self.object_size(ty, name.span).is_none() {
            ty.id = TypeId::ERROR;
        }
        if let Some(current) = self.current() {
            current.locals[id.0 as usize].ty = ty;
        }
        out.push(Stmt { kind: StmtKind::Declare(id, init), span: item.span });
    }

    /// A sampler: a constant of the program (6.12.14.1).
    fn sampler_variable(&mut self, name: ast::Name, ty: QualType, item: &ast::InitDeclarator) {
        let text = self.text(name.sym);
        let fixed = ty.constant || ty.space == Space::Constant;
        if !fixed && self.context.function.is_none() {
            let message =
                format!("program-scope sampler `{text}` must be const or __constant (6.12.14.1)");
            self.error(Code::AddressSpace, name.span, message);
        }
        let value = match &item.init {
            Some(ast::Init::Expr(e)) => self.integer_constant(e, "the value of a sampler"),
            Some(ast::Init::List(_, span)) => {
                self.error(Code::Initializer, *span, "a sampler is initialised with one constant");
                None
            }
            None => {
                self.error(
                    Code::Initializer,
                    name.span,
                    format!("sampler `{text}` must be initialised"),
                );
                None
            }
        };
        self.declare_name(name, Entity::Sampler(value.unwrap_or(0) as u32));
    }

    fn constant_variable(
        &mut self,
        name: ast::Name,
        mut ty: QualType,
        align: Option<u64>,
        item: &ast::InitDeclarator,
        specifiers: &Specifiers,
    ) {
        ty.constant = true;
        let is_shared = self.context.function.is_none() && !specifiers.is_static;
        let known = self.shared.get(&name.sym).copied().filter(|_| is_shared);
        let Some(init) = &item.init else {
            if !specifiers.is_extern {
                let message = format!("constant `{}` must be initialised", self.text(name.sym));
                return self.error(Code::Initializer, name.span, message);
            }
            // Defined later, or in another program that this one is linked with.
            let id = known.unwrap_or_else(|| {
                let id = GlobalId(self.globals.len() as u32);
                let align = self.types.align(ty.id).max(align.unwrap_or(1));
                self.globals.push(Global { name: name.sym, ty, align, bytes: None, owner: None });
                self.shared.insert(name.sym, id);
                self.undefined.push((id, self.context.index, name.span));
                id
            });
            if self.globals[id.0 as usize].ty.id != ty.id {
                let message = format!("`{}` is declared with two types", self.text(name.sym));
                self.error(Code::Redefinition, name.span, message);
            }
            return self.declare_name(name, Entity::Global(id));
        };
        let value = self.initializer(&mut ty, init);
        let Some(size) = self.object_size(ty, name.span) else { return };
        let mut bytes = vec![0; size as usize];
        if !self.session.has_errors() {
            self.constant_bytes(&value, &mut bytes, 0);
        }
        let align = self.types.align(ty.id).max(align.unwrap_or(1));
        if let Some(id) = known {
            let global = &mut self.globals[id.0 as usize];
            let problem = match global.bytes {
                Some(_) => Some("is defined twice"),
                None if global.ty.id != ty.id => Some("is declared with two types"),
                None => None,
            };
            global.bytes = Some(bytes);
            global.align = align;
            if let Some(problem) = problem {
                let message = format!("constant `{}` {problem}", self.text(name.sym));
                return self.error(Code::Redefinition, name.span, message);
            }
            return self.declare_name(name, Entity::Global(id));
        }
        let id = GlobalId(self.globals.len() as u32);
        self.globals.push(Global { name: name.sym, ty, align, bytes: Some(bytes), owner: None });
        if is_shared {
            self.shared.insert(name.sym, id);
        }
        self.declare_name(name, Entity::Global(id));
    }

    fn local_variable(
        &mut self,
        name: ast::Name,
        ty: QualType,
        align: Option<u64>,
        item: &ast::InitDeclarator,
    ) {
        let text = self.text(name.sym);
        if let Some(init) = &item.init {
            let span = match init {
                ast::Init::Expr(e) => e.span,
                ast::Init::List(_, span) => *span,
            };
            self.error(
                Code::Initializer,
                span,
                format!("__local variable `{text}` cannot be initialised (6.5.2)"),
            );
        }
        let (is_kernel, depth, owner) = match &self.context.function {
            Some(f) => (f.is_kernel, f.depth, f.id),
            None => return,
        };
        if !is_kernel {
            let message = format!("__local variable `{text}` must be declared in a kernel (6.5.2)");
            self.error(Code::AddressSpace, name.span, message);
        } else if depth > 1 {
            let message = format!(
                "__local variable `{text}` must be declared at the outermost scope of the kernel (6.5.2)"
            );
            self.error(Code::AddressSpace, name.span, message);
        }
        if matches!(self.types.get(ty.id), Type::Array(_, None)) {
            return self.error(
                Code::InvalidType,
                name.span,
                format!("array `{text}` needs an extent"),
            );
        }
        if self.object_size(ty, name.span).is_none() {
            return;
        }
        let align = self.types.align(ty.id).max(align.unwrap_or(1));
        let id = GlobalId(self.globals.len() as u32);
        self.globals.push(Global { name: name.sym, ty, align, bytes: None, owner: Some(owner) });
        self.declare_name(name, Entity::Global(id));
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
        _ => true,
    })
}

fn has_break(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::Block(list) => list.iter().any(has_break),
        StmtKind::If(_, a, b) => has_break(a) || b.as_ref().is_some_and(|b| has_break(b)),
        _ => false,
    }
}
