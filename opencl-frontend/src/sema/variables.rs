//! Variables: private, `__local`, constants of the program, samplers.

use super::analyzer::{Entity, Sema};
use super::hir::{Global, GlobalId, Stmt, StmtKind};
use super::init::Initial;
use super::specifiers::Specifiers;
use crate::diag::{Code, Diag};
use crate::parse::ast::{self, Attribute};
use crate::types::{QualType, Scalar, Space, Type, TypeId};

impl Sema<'_> {
    pub(super) fn variable(
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
        if self.is_no_variable(name, ty, at_file_scope) {
            return;
        }
        let constant_space = ty.space == Space::Constant;
        // Variables of the program, and static ones of functions, can be written since OpenCL C 2.0.
        if self.has_generic_space()
            && (at_file_scope || specifiers.is_static)
            && matches!(ty.space, Space::Private | Space::Global)
        {
            ty = self.in_space(ty, Space::Global);
            return self.program_variable(name, ty, align, item, specifiers);
        }
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
            ty.constant = true;
            return self.program_variable(name, ty, align, item, specifiers);
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
        if matches!(self.types.get(ty.id), Type::Atomic(_)) && item.init.is_some() {
            let message = format!(
                "`{text}` must be initialised with `atomic_init`: it is atomic, and of a function"
            );
            self.error(Code::Initializer, name.span, message);
        }
        // The extent of an array may come from its initialiser, which may not use the variable yet: the
        // scope begins after the declarator, so declare first and complete the type afterwards.
        let id = self.new_local(name.sym, ty, align);
        self.declare_name(name, Entity::Local(id));
        if let Some(current) = self.current() {
            current.variables.push((id, name, item.init.is_some()));
        }
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

    /// Whether its type is one that no such variable can have, which is said.
    fn is_no_variable(&mut self, name: ast::Name, ty: QualType, at_file_scope: bool) -> bool {
        let message = match self.types.get(ty.id) {
            Type::Image(..) | Type::Event if at_file_scope => {
                "images and events cannot be program-scope variables"
            }
            Type::Image(..) => "a variable cannot be an image; only parameters can (6.9.b)",
            _ => return false,
        };
        self.error(Code::InvalidType, name.span, message);
        true
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

    /// A variable with a fixed address: constant, or in global memory.
    fn program_variable(
        &mut self,
        name: ast::Name,
        mut ty: QualType,
        align: Option<u64>,
        item: &ast::InitDeclarator,
        specifiers: &Specifiers,
    ) {
        let writable = ty.space == Space::Global;
        let is_shared = self.context.function.is_none() && !specifiers.is_static;
        let known = self.shared.get(&name.sym).copied().filter(|_| is_shared);
        if item.init.is_none() && (specifiers.is_extern || !writable) {
            if !specifiers.is_extern {
                let message = format!("constant `{}` must be initialised", self.text(name.sym));
                return self.error(Code::Initializer, name.span, message);
            }
            // Defined later, or in another program that this one is linked with.
            let id = known.unwrap_or_else(|| {
                let id = GlobalId(self.globals.len() as u32);
                let align = self.types.align(ty.id).max(align.unwrap_or(1));
                self.globals.push(Global {
                    name: name.sym,
                    ty,
                    align,
                    bytes: None,
                    owner: None,
                    addresses: Vec::new(),
                });
                self.shared.insert(name.sym, id);
                self.undefined.push((id, self.context.index, name.span));
                id
            });
            if self.globals[id.0 as usize].ty.id != ty.id {
                let message = format!("`{}` is declared with two types", self.text(name.sym));
                self.error(Code::Redefinition, name.span, message);
            }
            return self.declare_name(name, Entity::Global(id));
        }
        // The scope begins behind the declarator, so that a variable may hold its own address.
        let id = known.unwrap_or_else(|| {
            self.globals.push(Global {
                name: name.sym,
                ty,
                align: 1,
                bytes: None,
                owner: None,
                addresses: Vec::new(),
            });
            GlobalId(self.globals.len() as u32 - 1)
        });
        self.declare_name(name, Entity::Global(id));
        let value = item.init.as_ref().map(|init| self.initializer(&mut ty, init));
        let Some(size) = self.object_size(ty, name.span) else { return };
        let mut initial = Initial { bytes: vec![0; size as usize], addresses: Vec::new() };
        if let Some(value) = value
            && !self.session.has_errors()
        {
            self.constant_bytes(&value, &mut initial, 0);
        }
        let Initial { bytes, addresses } = initial;
        let align = self.types.align(ty.id).max(align.unwrap_or(1));
        let global = &mut self.globals[id.0 as usize];
        let problem = match global.bytes {
            Some(_) => Some("is defined twice"),
            None if known.is_some() && global.ty.id != ty.id => Some("is declared with two types"),
            None => None,
        };
        (global.bytes, global.addresses) = (Some(bytes), addresses);
        (global.ty, global.align) = (ty, align);
        if let Some(problem) = problem {
            let message = format!("constant `{}` {problem}", self.text(name.sym));
            return self.error(Code::Redefinition, name.span, message);
        }
        if is_shared {
            self.shared.insert(name.sym, id);
        }
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
        // The library's own serve one call after another.
        if !is_kernel && !self.context.is_library {
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
        self.globals.push(Global {
            name: name.sym,
            ty,
            align,
            bytes: None,
            owner: Some(owner),
            addresses: Vec::new(),
        });
        self.declare_name(name, Entity::Global(id));
    }
}
