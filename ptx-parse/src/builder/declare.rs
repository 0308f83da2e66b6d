//! Actions of declarations: variables, heads of functions.

use super::{Builder, VarAttr, run_since};
use crate::ast::*;
use crate::diag::Code;
use crate::span::Span;
use ptx_isa::Ty;
use ptx_isa::types::TyClass;

impl Builder<'_> {
    pub(crate) fn var_begin(&mut self, attr: VarAttr) {
        let start = match attr {
            VarAttr::Space(l, _)
            | VarAttr::Bank(l, ..)
            | VarAttr::Align(l, ..)
            | VarAttr::Attributes(l)
            | VarAttr::Word(l, _)
            | VarAttr::Ptr(l, _) => l,
        };
        self.var = Var { span: Span::point(start), ..Var::default() };
        self.var_mark = self.ast.vars.len() as u32;
        self.var_attr(attr);
    }

    pub(crate) fn var_attr(&mut self, attr: VarAttr) {
        match attr {
            VarAttr::Space(l, r) => self.var_space(l, r),
            VarAttr::Bank(l, il, r) => {
                let word = self.text(l, il).split(|&b| b == b'[').next().unwrap_or(b"");
                let end = l + word.trim_ascii_end().len() as u32;
                self.var.bank = Some(self.small_int(il, r));
                self.var_space(l, end);
            }
            VarAttr::Align(l, il, r) => {
                let align = self.small_int(il, r);
                let late = self.var.ty.is_some() && self.var.space != DeclSpace::Param;
                match &mut self.var.ptr {
                    Some(ptr) if ptr.align == 0 => ptr.align = align,
                    _ if self.var.align == 0 && !late => {
                        self.var.align = align;
                        if align == 0 {
                            // Kept apart from "not written".
                            self.var.align = u32::MAX;
                        }
                    }
                    _ => {
                        let diag = self.error(Code::Syntax, Span::new(l, r), "misplaced `.align`");
                        diag.help("write it once, before the type: `.global .align 8 .b8 x[16]`");
                    }
                }
            }
            VarAttr::Attributes(_) => self.var.attributes = self.take_words(),
            VarAttr::Word(l, r) => self.var_word(l, r),
            VarAttr::Ptr(l, r) => {
                if self.var.ptr.is_some() || self.var.ty.is_none() {
                    self.error(Code::Syntax, Span::new(l, r), "misplaced `.ptr`").help(
                        "write it once, after the type: `.param .u64 .ptr .global .align 8 x`",
                    );
                }
                self.var.ptr = Some(PtrAttr { space: DeclSpace::Missing, object: None, align: 0 });
            }
        }
    }

    fn var_space(&mut self, l: u32, r: u32) {
        let text = std::str::from_utf8(self.text(l, r)).unwrap_or("");
        let space = DeclSpace::parse(text).unwrap_or_default();
        match &mut self.var.ptr {
            Some(ptr)
                if ptr.space == DeclSpace::Missing && ptr.object.is_none() && ptr.align == 0 =>
            {
                ptr.space = space;
            }
            None if self.var.space == DeclSpace::Missing && self.var.ty.is_none() => {
                self.var.space = space;
            }
            _ => {
                self.error(
                    Code::Syntax,
                    Span::new(l, r),
                    format!("misplaced state space `{text}`"),
                )
                .help("a declaration names one state space, before the type");
            }
        }
    }

    fn var_word(&mut self, l: u32, r: u32) {
        let vector = match self.text(l, r) {
            [b'.', b'v', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => digits
                .iter()
                .try_fold(0u32, |n, d| n.checked_mul(10)?.checked_add(u32::from(d - b'0'))),
            _ => None,
        };
        let span = Span::new(l, r);
        match vector {
            Some(n) if self.var.ty.is_none() && self.var.vector == 0 => self.var.vector = n,
            Some(_) => {
                self.error(Code::Syntax, span, "misplaced vector size")
                    .help("write it before the type: `.v4 .f32`");
            }
            None if self.var.ty.is_none() => self.var.ty = Some(self.make_word(l, r)),
            None if self.points_to_object(l, r) => {}
            None => {
                let found = String::from_utf8_lossy(self.text(l, r)).into_owned();
                self.error(Code::Syntax, span, format!("unexpected `{found}` after the type"))
                    .help("a declaration has one type, followed by the name");
            }
        }
    }

    /// `.ptr .texref`: takes the type of the object that a pointer points to.
    fn points_to_object(&mut self, l: u32, r: u32) -> bool {
        let ty = std::str::from_utf8(self.text(l, r)).ok().and_then(Ty::from_token);
        let opaque = ty.filter(|ty| ty.class() == TyClass::Opaque);
        match &mut self.var.ptr {
            Some(ptr)
                if ptr.space == DeclSpace::Missing && ptr.object.is_none() && ptr.align == 0 =>
            {
                ptr.object = opaque;
                opaque.is_some()
            }
            _ => false,
        }
    }

    pub(crate) fn declarator(&mut self, l: u32, r: u32) {
        let name = self.make_word(l, r);
        let span = Span::new(self.var.span.start, r);
        self.ast.vars.push(Var { name, span, ..self.var.clone() });
        self.int_mark = self.ast.ints.len() as u32;
    }

    pub(crate) fn numbered(&mut self, l: u32, r: u32) {
        let count = self.small_int(l, r);
        if let Some(var) = self.ast.vars.last_mut() {
            var.numbered = Some(count);
        }
    }

    /// The integer just read is a dimension.
    pub(crate) fn dimension(&mut self) {
        if let Some(var) = self.ast.vars.last_mut() {
            var.dims = run_since(self.int_mark, self.ast.ints.len());
        }
    }

    pub(crate) fn unsized_dimension(&mut self) {
        self.ast.ints.push(Var::UNSIZED);
        self.dimension();
    }

    pub(crate) fn declarator_end(&mut self, r: u32) {
        self.int_mark = self.ast.ints.len() as u32;
        if let Some(var) = self.ast.vars.last_mut() {
            var.span.end = r;
        }
    }

    pub(crate) fn declarator_init(&mut self, init: Operand, r: u32) {
        let index = self.ast.operands.len() as u32;
        self.ast.operands.push(init);
        if let Some(var) = self.ast.vars.last_mut() {
            var.init = Some(index);
        }
        self.declarator_end(r);
    }

    pub(crate) fn vars_end(&mut self) {
        for index in self.var_mark..self.ast.vars.len() as u32 {
            if self.function.is_some() {
                self.ast.stmts.push(Stmt::Var(index));
            } else {
                self.ast.items.push(Item::Var(index));
            }
        }
    }

    pub(crate) fn vars_linked(&mut self, l: u32, r: u32) {
        let linkage = self.linkage(l, r);
        for var in &mut self.ast.vars[self.var_mark as usize..] {
            var.linkage = linkage;
            var.span.start = l;
        }
        self.vars_end();
    }

    fn linkage(&self, l: u32, r: u32) -> Linkage {
        match self.text(l, r) {
            b".extern" => Linkage::Extern,
            b".visible" => Linkage::Visible,
            b".weak" => Linkage::Weak,
            _ => Linkage::Common,
        }
    }

    /// `.entry`, `.func` or `.callprototype` at `k..r`, the declaration begins at `l`.
    pub(crate) fn function(&mut self, l: u32, k: u32, r: u32, linked: bool) {
        let kind = match self.text(k, r) {
            b".entry" => FnKind::Entry,
            b".func" => FnKind::Func,
            _ => FnKind::Prototype,
        };
        let linkage = if linked {
            let word = self.text(l, k);
            let end = word.iter().position(|b| !b.is_ascii_alphabetic() && *b != b'.');
            self.linkage(l, end.map_or(k, |n| l + n as u32))
        } else {
            Linkage::None
        };
        self.head = Some(Function {
            name: Word::default(),
            kind,
            linkage,
            span: Span::new(l, r),
            returns: Run::default(),
            params: Run::default(),
            attrs: Run { first: self.ast.attrs.len() as u32, count: 0 },
            attributes: Run::default(),
            body: None,
            end: r,
        });
        self.param_mark = self.ast.vars.len() as u32;
    }

    pub(crate) fn function_attributes(&mut self) {
        let words = self.take_words();
        if let Some(head) = &mut self.head {
            head.attributes = words;
        }
    }

    fn take_params(&mut self) -> Run {
        let run = run_since(self.param_mark, self.ast.vars.len());
        self.param_mark = self.ast.vars.len() as u32;
        run
    }

    pub(crate) fn returns_end(&mut self) {
        let run = self.take_params();
        if let Some(head) = &mut self.head {
            head.returns = run;
        }
    }

    pub(crate) fn function_name(&mut self, l: u32, r: u32) {
        let name = self.make_word(l, r);
        if let Some(head) = &mut self.head {
            head.name = name;
            head.span.end = r;
        }
    }

    pub(crate) fn params_end(&mut self, r: u32) {
        let run = self.take_params();
        if let Some(head) = &mut self.head {
            head.params = run;
            head.span.end = r;
        }
    }

    pub(crate) fn param(&mut self, r: u32) {
        self.declarator_end(r);
    }

    pub(crate) fn fn_attr(&mut self, l: u32, r: u32) {
        let name = self.make_word(l, r);
        let ints = self.take_ints();
        let words = self.take_words();
        self.ast.attrs.push(FnAttr { name, ints, words });
        if let Some(head) = &mut self.head {
            head.attrs.count += 1;
        }
    }

    pub(crate) fn head_end(&mut self, r: u32) {
        if let Some(head) = &mut self.head {
            head.span.end = r;
        }
    }

    pub(crate) fn declaration_end(&mut self, r: u32) {
        let Some(mut head) = self.head.take() else { return };
        head.end = r;
        let index = self.ast.functions.len() as u32;
        self.ast.functions.push(head);
        if self.function.is_some() {
            self.ast.stmts.push(Stmt::Prototype(index));
        } else {
            self.ast.items.push(Item::Function(index));
        }
    }

    pub(crate) fn body_open(&mut self) {
        self.function = self.head.take();
        self.body_first = self.ast.stmts.len() as u32;
    }

    pub(crate) fn function_end(&mut self, r: u32) {
        let Some(mut function) = self.function.take() else { return };
        function.body = Some(run_since(self.body_first, self.ast.stmts.len()));
        function.end = r;
        let index = self.ast.functions.len() as u32;
        self.ast.functions.push(function);
        self.ast.items.push(Item::Function(index));
    }
}
