//! Variables, registers and parameters (PTX ISA 5.1 to 5.4).

use super::Verifier;
use super::scope::{Binding, Family};
use crate::ast::{self, DeclSpace, Linkage as AstLinkage, Var, Word};
use crate::diag::{Code, closest};
use crate::module::{Linkage, Param, Reg, Symbol, Text};
use crate::span::Span;
use ptx_isa::types::{TyClass, ptx};
use ptx_isa::{Space, Ty};
use std::sync::Arc;

/// Types that a declaration may name.
const DECLARABLE: &[Ty] = &[
    Ty::Pred,
    Ty::B8,
    Ty::B16,
    Ty::B32,
    Ty::B64,
    Ty::B128,
    Ty::U8,
    Ty::U16,
    Ty::U32,
    Ty::U64,
    Ty::S8,
    Ty::S16,
    Ty::S32,
    Ty::S64,
    Ty::F16,
    Ty::F16x2,
    Ty::F32,
    Ty::F64,
    Ty::TexRef,
    Ty::SamplerRef,
    Ty::SurfRef,
];

pub(super) fn linkage(l: AstLinkage) -> Linkage {
    match l {
        AstLinkage::None => Linkage::Internal,
        AstLinkage::Extern => Linkage::Extern,
        AstLinkage::Visible => Linkage::Visible,
        AstLinkage::Weak => Linkage::Weak,
        AstLinkage::Common => Linkage::Common,
    }
}

/// Layout of a declared variable.
pub(super) struct Layout {
    pub ty: Ty,
    /// Bytes of one element (a vector is one element).
    pub element: u32,
    pub align: u32,
    /// Bytes; 0 when not given (`[]`).
    pub size: u64,
    pub array: bool,
}

/// Parameters that a declared one stands for: the components of a vector of registers.
pub(super) fn components(var: &Var) -> u32 {
    if var.space == DeclSpace::Reg && matches!(var.vector, 2 | 4) { var.vector } else { 1 }
}

impl Verifier<'_> {
    pub(super) fn span_of(&self, word: Word) -> Span {
        self.ast.word_span(word)
    }

    /// Binds a name, reporting a second declaration.
    pub(super) fn bind(&mut self, word: Word, binding: Binding) {
        let span = self.span_of(word);
        self.reserved(word);
        let text = self.text(word.name);
        let family = self.scopes.member(text.as_bytes()).map(|(f, _)| (f.scope, f.place));
        let twice = match self.scopes.declare(word.name, binding, span) {
            Err(first) => Some(first),
            Ok(()) => family.filter(|f| f.0 == self.scopes.depth() - 1).map(|f| f.1),
        };
        if let Some(first) = twice {
            self.duplicate(word, first);
        }
    }

    /// A word of the language as a name.
    pub(super) fn reserved(&mut self, word: Word) {
        if self.text(word.name) == "WARP_SZ" {
            let span = self.span_of(word);
            self.error(Code::Declaration, span, "`WARP_SZ` is a constant of PTX, not a name");
        }
    }

    #[cold]
    pub(super) fn duplicate(&mut self, word: Word, first: Span) {
        let span = self.span_of(word);
        let name = self.text(word.name);
        self.error(Code::Duplicate, span, format!("`{name}` is declared twice in this scope"))
            .also(first, "first declared here");
    }

    /// The declared type.
    fn declared_type(&mut self, var: &Var) -> Ty {
        let Some(word) = var.ty else {
            let span = self.span_of(var.name);
            let name = self.text(var.name.name);
            self.error(Code::Type, span, format!("`{name}` has no type"))
                .help("write one before the name, such as `.b32`");
            return Ty::B32;
        };
        let text = self.text(word.name);
        let span = self.span_of(word);
        match Ty::from_token(text).filter(|t| DECLARABLE.contains(t)) {
            Some(ty) => {
                match ty {
                    Ty::B128 => self.need(span, "type `.b128`", ptx(8, 3), 70),
                    Ty::F16 | Ty::F16x2 => self.need(span, "this type", ptx(4, 2), 53),
                    _ => {}
                }
                ty
            }
            None => {
                let names: Vec<&str> = DECLARABLE.iter().map(|t| t.name()).collect();
                let other = match &text[1..] {
                    "int" => Some("s32"),
                    "uint" => Some("u32"),
                    "float" => Some("f32"),
                    "double" => Some("f64"),
                    "long" => Some("s64"),
                    "char" => Some("s8"),
                    "bool" => Some("pred"),
                    _ => None,
                };
                let near = other.or_else(|| closest(&text[1..], names.iter().copied()));
                let diag =
                    self.error(Code::Type, span, format!("`{text}` is no type of a variable"));
                match near {
                    Some(near) => diag.help(format!("did you mean `.{near}`?")),
                    None => diag.help("use the `.b` type of the same width"),
                };
                Ty::B32
            }
        }
    }

    /// Type, size and alignment, with the rules that hold in every space.
    pub(super) fn layout(&mut self, var: &Var) -> Layout {
        let ast = self.ast;
        let ty = self.declared_type(var);
        let span = var.span;
        let vector = match var.vector {
            0 => 1,
            n @ (2 | 4) if n * ty.bits() <= 128 => n,
            n => {
                self.error(Code::Type, span, format!("`.v{n}` of `{ty}` is no vector type"))
                    .note("vectors have two or four elements and at most 128 bits");
                1
            }
        };
        let element = ty.bytes() * vector;
        let mut size = u64::from(element);
        let mut array = false;
        for (i, &dim) in ast.ints(var.dims).iter().enumerate() {
            array = true;
            match dim {
                Var::UNSIZED if i == 0 => size = 0,
                Var::UNSIZED => {
                    self.error(Code::Declaration, span, "only the first dimension may be empty");
                }
                n => size = size.saturating_mul(n),
            }
        }
        if size > 1 << 40 {
            self.error(Code::Limit, span, "the variable is larger than any memory");
            size = u64::from(element);
        }
        let align = match var.align {
            0 => element.max(1),
            u32::MAX => {
                self.bad_align(span);
                element.max(1)
            }
            n if !n.is_power_of_two() => {
                self.bad_align(span);
                element.max(1)
            }
            n => n.max(1),
        };
        Layout { ty, element, align, size, array }
    }

    #[cold]
    fn bad_align(&mut self, span: Span) {
        self.error(Code::Declaration, span, "an alignment is a power of two");
    }

    fn space(&mut self, var: &Var) -> Space {
        match var.space {
            DeclSpace::Reg => Space::Reg,
            DeclSpace::Sreg => Space::Sreg,
            DeclSpace::Const => Space::Const,
            DeclSpace::Global => Space::Global,
            DeclSpace::Local => Space::Local,
            DeclSpace::Param => Space::ParamFunc,
            DeclSpace::Shared => Space::Shared,
            DeclSpace::Tex => Space::Tex,
            DeclSpace::Missing => {
                let span = self.span_of(var.name);
                self.error(Code::Space, span, "the declaration names no state space").help(
                    "begin it with `.reg`, `.global`, `.shared`, `.local`, `.const` or `.param`",
                );
                Space::Global
            }
        }
    }

    pub(super) fn module_var(&mut self, var: &Var) {
        let name = self.text(var.name.name);
        let span = self.span_of(var.name);
        let abi = self.module.info.version >= ptx(2, 0) && self.module.info.target.sm >= 20;
        match var.space {
            DeclSpace::Reg if abi => {
                self.error(Code::Space, span, "registers belong into a function")
                    .note("module-scope registers ended with the call ABI (PTX 2.0 on sm_20)");
            }
            DeclSpace::Local if abi => {
                self.error(Code::Space, span, "`.local` variables belong into a function")
                    .note("module-scope `.local` ended with the call ABI (PTX 2.0 on sm_20)");
            }
            DeclSpace::Param => {
                self.error(Code::Space, span, "parameters are not declared at module scope");
            }
            DeclSpace::Tex if self.module.info.version >= ptx(1, 5) => {
                self.error(Code::Space, span, "`.tex` variables ended with PTX 1.5")
                    .help(format!("write `.global .texref {name};`"));
            }
            _ => {}
        }
        if var.space == DeclSpace::Reg {
            // PTX 1.x inlines all functions: each kernel has registers of its own.
            if !abi {
                self.module_regs.push(var.clone());
            }
            return;
        }
        self.variable(var, true);
    }

    /// A variable in memory, at module scope or in a body.
    pub(super) fn variable(&mut self, var: &Var, at_module: bool) {
        let ast = self.ast;
        let span = self.span_of(var.name);
        let name = self.text(var.name.name);
        let space = self.space(var);
        let layout = self.layout(var);
        self.check_variable(var, space, &layout, at_module);
        let managed = ast.words(var.attributes).iter().any(|w| self.text(w.name) == ".managed");
        if managed {
            self.need(span, "`.managed`", ptx(4, 0), 30);
            if space != Space::Global {
                self.error(Code::Space, span, "`.managed` variables are `.global`");
            }
        }
        // PTX 1.x: a texture reference in a space of its own.
        let texture = space == Space::Tex;
        let mut symbol = Symbol {
            name: Text::new(&self.module.source, span.start..span.end),
            space: if texture { Space::Global } else { space },
            ty: if texture { Ty::TexRef } else { layout.ty },
            align: layout.align,
            size: if texture { 8 } else { layout.size },
            array: layout.array,
            linkage: linkage(var.linkage),
            managed,
            init: Vec::new(),
            relocations: Vec::new(),
            span: span.start..span.end,
        };
        if let Some(init) = ast.init(var) {
            self.initialise(&mut symbol, var, &layout, init);
        }
        let external = matches!(var.linkage, AstLinkage::Extern);
        if symbol.size == 0 && symbol.array && !external {
            self.error(Code::Declaration, span, format!("array `{name}` has no size"))
                .help("write its number of elements, an initialiser, or `.extern`");
        }
        let Some(copies) = var.numbered else { return self.add_variable(var, symbol, at_module) };
        for i in 0..copies {
            let name = format!("{name}{i}");
            self.add_variable(
                var,
                Symbol { name: name.as_str().into(), ..symbol.clone() },
                at_module,
            );
        }
    }

    fn add_variable(&mut self, var: &Var, symbol: Symbol, at_module: bool) {
        let word = match var.numbered {
            None => Some(var.name),
            // `x<4>` declares x0 to x3, of which the text may use some.
            Some(_) => ast::Ast::names(self.ast)
                .find(self.ast.source(), &symbol.name)
                .map(|name| Word { name, ..var.name }),
        };
        let hoisted = matches!(symbol.space, Space::Global | Space::Const | Space::Tex);
        let binding = if at_module || hoisted {
            if at_module
                && let Some(word) = word
                && self.redeclared(word, &symbol)
            {
                return;
            }
            self.module.symbols.push(symbol);
            Binding::Symbol(self.module.symbols.len() as u32 - 1)
        } else {
            self.body.vars.push(symbol);
            Binding::Var(self.body.vars.len() as u32 - 1)
        };
        if let Some(word) = word {
            self.bind(word, binding);
        }
    }

    /// An `.extern` declaration and the definition of the same variable are one.
    fn redeclared(&mut self, word: Word, symbol: &Symbol) -> bool {
        let Binding::Symbol(old) = self.scopes.get(word.name) else { return false };
        let earlier = &mut self.module.symbols[old as usize];
        let open = earlier.linkage == Linkage::Extern;
        let defines = matches!(symbol.linkage, Linkage::Extern | Linkage::Visible | Linkage::Weak);
        if earlier.space != symbol.space || !(open && defines || symbol.linkage == Linkage::Extern)
        {
            return false;
        }
        if symbol.linkage != Linkage::Extern {
            *earlier = symbol.clone();
        }
        true
    }

    fn check_variable(&mut self, var: &Var, space: Space, layout: &Layout, at_module: bool) {
        let span = self.span_of(var.name);
        let name = self.text(var.name.name);
        if layout.ty == Ty::Pred {
            self.error(Code::Type, span, format!("predicate `{name}` must be a `.reg`"));
        }
        if layout.ty.class() == TyClass::Opaque
            && !matches!(space, Space::Global | Space::ParamFunc)
        {
            self.error(Code::Space, span, format!("`{}` variables are `.global`", layout.ty));
        }
        if layout.ty == Ty::SamplerRef
            && space == Space::Global
            && !self.module.info.target.texmode_independent
        {
            self.error(Code::Target, span, "`.samplerref` needs `.target …, texmode_independent`");
        }
        if var.bank.is_some() && self.module.info.version >= ptx(2, 2) {
            self.error(Code::Space, span, "constant banks ended with PTX 2.2");
        }
        if !at_module && var.linkage != AstLinkage::None {
            self.error(Code::Declaration, span, "linking directives stand at module scope only")
                .help("declare the variable before the function");
        }
        if var.linkage == AstLinkage::Common {
            self.need(span, "`.common`", ptx(5, 0), 20);
            if space != Space::Global {
                self.error(Code::Space, span, "`.common` variables are `.global`");
            }
        }
        if space == Space::Sreg {
            self.error(Code::Space, span, "special registers are not declared");
        }
        if self.text(var.name.name) == "_" {
            self.error(Code::Declaration, span, "`_` is no name of a variable");
        }
    }

    /// `.reg` declarations.
    pub(super) fn registers(&mut self, var: &Var) {
        let layout = self.layout(var);
        let span = self.span_of(var.name);
        let name = self.text(var.name.name);
        if layout.array {
            self.error(Code::Declaration, span, format!("array `{name}` cannot be a register"))
                .help("`.reg` takes `name<n>` for n registers, `.local` takes arrays");
        }
        if var.init.is_some() {
            self.error(Code::Initializer, span, "registers have no initial value")
                .help("write a `mov` instruction");
        }
        if layout.ty.class() == TyClass::Opaque {
            self.error(Code::Type, span, format!("`{}` is no type of a register", layout.ty));
        }
        if var.linkage != AstLinkage::None {
            self.error(Code::Declaration, span, "linking directives stand at module scope only");
        }
        let vector = (layout.element / layout.ty.bytes().max(1)).max(1) as u8;
        if let Some(count) = var.numbered {
            if let Some(first) = self.family_twice(var) {
                self.duplicate(var.name, first);
            }
            let ast = self.ast;
            if let Some(first) = self.scopes.declared_member(name, count, |name| ast.name(name)) {
                self.duplicate(var.name, first);
            }
            let name = self.shared(var.name.name);
            let family = Family {
                prefix: var.name.name,
                text: self.module.reg_names[name as usize].clone(),
                name,
                count,
                ty: layout.ty,
                vector,
                place: span,
                scope: self.scopes.depth() - 1,
            };
            self.scopes.add_family(family, |name| ast.name(name));
            return;
        }
        let text = self.shared(var.name.name);
        let binding = self.new_register(text, None, layout.ty, vector);
        self.bind(var.name, binding);
    }

    /// Place of a family with the same prefix in the same scope.
    fn family_twice(&self, var: &Var) -> Option<Span> {
        let earlier = self.scopes.family(var.name.name)?;
        (earlier.scope == self.scopes.depth() - 1).then_some(earlier.place)
    }

    /// The place of a name among [`Module::reg_names`](crate::module::Module::reg_names).
    fn shared(&mut self, name: crate::Name) -> u32 {
        let text = self.text(name);
        let known = &mut self.module.reg_names;
        *self.shared.entry(name).or_insert_with(|| {
            known.push(Arc::from(text));
            known.len() as u32 - 1
        })
    }

    /// Adds the register (or a vector's components) to the body.
    pub(super) fn new_register(
        &mut self,
        name: u32,
        number: Option<u32>,
        ty: Ty,
        vector: u8,
    ) -> Binding {
        let first = self.body.regs.len() as u32;
        if vector <= 1 {
            self.body.regs.push(Reg { name, number, ty });
            return Binding::Reg(first);
        }
        for part in ["x", "y", "z", "w"].iter().take(usize::from(vector)) {
            let number = number.map_or(String::new(), |n| n.to_string());
            let whole = &self.module.reg_names[name as usize];
            let component = Arc::from(format!("{whole}{number}.{part}"));
            self.module.reg_names.push(component);
            let name = self.module.reg_names.len() as u32 - 1;
            self.body.regs.push(Reg { name, number: None, ty });
        }
        Binding::Regs(first, vector)
    }

    /// A parameter or result; registers are added to the body when `define`. A vector of registers is as many
    /// parameters as it has components.
    pub(super) fn param(&mut self, var: &Var, entry: bool, define: bool) -> Vec<Param> {
        let name = self.text(var.name.name);
        let span = self.span_of(var.name);
        let layout = self.layout(var);
        let mut reg = None;
        match var.space {
            DeclSpace::Param => {}
            DeclSpace::Reg if !entry => {
                reg = Some(u32::MAX);
                if define {
                    let text = self.shared(var.name.name);
                    let binding = self.new_register(text, None, layout.ty, components(var) as u8);
                    if let Binding::Reg(first) | Binding::Regs(first, _) = binding {
                        reg = Some(first);
                    }
                    self.bind(var.name, binding);
                }
            }
            _ => {
                let spaces = if entry { "`.param`" } else { "`.param` or `.reg`" };
                self.error(Code::Space, span, format!("parameter `{name}` must be in {spaces}"));
            }
        }
        if var.vector > 0 && var.space == DeclSpace::Param {
            self.error(Code::Type, span, format!("parameter `{name}` cannot be a vector"))
                .help("declare an aligned array: `.param .align 16 .b8 x[16]`");
        }
        if layout.ty == Ty::Pred && var.space == DeclSpace::Param {
            self.error(Code::Type, span, format!("predicate `{name}` must be a `.reg`"));
        }
        if layout.array && layout.size == 0 && entry {
            self.error(Code::Declaration, span, format!("parameter array `{name}` has no size"));
        }
        let ptr = var.ptr.map(|ptr| {
            let space = match ptr.space {
                DeclSpace::Global => Space::Global,
                DeclSpace::Shared => Space::Shared,
                DeclSpace::Local => Space::Local,
                DeclSpace::Const => Space::Const,
                DeclSpace::Missing if ptr.object.is_some() => Space::Tex,
                DeclSpace::Missing => Space::Generic,
                _ => {
                    self.error(
                        Code::Space,
                        span,
                        "`.ptr` points into `.global`, `.shared`, `.local` or `.const`",
                    );
                    Space::Generic
                }
            };
            (space, if ptr.align == 0 { 4 } else { ptr.align })
        });
        if let Some(written) = var.ptr {
            self.need(span, "`.ptr`", ptx(2, 2), 0);
            if !entry {
                self.error(Code::Declaration, span, "`.ptr` is for parameters of kernels");
            }
            if written.align > 0 && !written.align.is_power_of_two() {
                self.bad_align(span);
            }
        }
        let size = layout.size.min(u64::from(u32::MAX)) as u32;
        let param = Param {
            name: Text::new(&self.module.source, span.start..span.end),
            ty: layout.ty,
            align: layout.align,
            size,
            array: layout.array,
            reg,
            ptr,
        };
        let parts = components(var);
        if parts == 1 {
            return vec![param];
        }
        let part = |i: u32| Param {
            name: format!("{name}.{}", ["x", "y", "z", "w"][i as usize & 3]).as_str().into(),
            align: layout.ty.bytes(),
            size: layout.ty.bytes(),
            reg: reg.map(|first| first.saturating_add(i)),
            ..param.clone()
        };
        (0..parts).map(part).collect()
    }
}
