//! The grammar's actions: they append to the pools of an [`Ast`].
//!
//! Lists (operands, vectors, initialisers) are collected on one scratch stack;
//! the reduction that closes a list moves it into its pool.

use crate::ast::*;
use crate::diag::{Code, Diag};
use crate::expect;
use crate::fold;
use crate::lexer::Tok;
use crate::names::{Name, Names};
use crate::span::Span;
use lalrpop_util::{ErrorRecovery, ParseError};

/// A part of a declaration's head, by offsets.
#[derive(Copy, Clone, Debug)]
pub(crate) enum VarAttr {
    Space(u32, u32),
    Bank(u32, u32, u32),
    Align(u32, u32, u32),
    Attributes(u32),
    Word(u32, u32),
    Ptr(u32, u32),
}

pub(crate) struct Builder<'s> {
    ast: Ast<'s>,
    src: &'s [u8],
    pub(crate) diags: Vec<Diag>,
    scratch: Vec<Operand>,
    /// Operands of a run of operators, each with the place of the operator before it.
    tail: Vec<(u32, Operand)>,
    /// First word and first integer not yet taken by a directive.
    word_mark: u32,
    int_mark: u32,
    /// Head of the declaration being read, and the first variable it declares.
    var: Var,
    var_mark: u32,
    /// Head of the function being read, and its first parameter not yet taken.
    head: Option<Function>,
    param_mark: u32,
    /// The function whose body is being read, and its first statement.
    function: Option<Function>,
    body_first: u32,
    opcode: Name,
    opcode_start: u32,
    opcode_text: Vec<u8>,
    guard: Option<Guard>,
    section: u32,
    section_row: bool,
    section_width: u8,
    warp_sz: Name,
}

impl<'s> Builder<'s> {
    pub(crate) fn new(src: &'s str) -> Builder<'s> {
        let n = src.len();
        // The beginning of the text tells how dense it is, so that pools need not grow.
        let sample = &src.as_bytes()[..n.min(1 << 16)];
        let count = |byte: u8| sample.iter().filter(|&&b| b == byte).count();
        let scale = |in_sample: usize| in_sample * n / sample.len().max(1) + 32;
        let statements = scale(count(b';'));
        let operands = statements + scale(count(b','));
        let mut names = Names::with_capacity(n / 128 + 16);
        let warp_sz = names.intern_text(src.as_bytes(), b"WARP_SZ");
        Builder {
            ast: Ast {
                src,
                names,
                items: Vec::with_capacity(n / 4096 + 16),
                functions: Vec::new(),
                vars: Vec::with_capacity(n / 1024 + 8),
                stmts: Vec::with_capacity(statements),
                instrs: Vec::with_capacity(statements),
                operands: Vec::with_capacity(operands),
                words: Vec::with_capacity(n / 1024 + 16),
                ints: Vec::with_capacity(n / 1024 + 16),
                wide: Vec::new(),
                attrs: Vec::new(),
                directives: Vec::with_capacity(8),
                sections: Vec::new(),
                section_items: Vec::new(),
            },
            src: src.as_bytes(),
            diags: Vec::new(),
            scratch: Vec::with_capacity(64),
            tail: Vec::with_capacity(16),
            word_mark: 0,
            int_mark: 0,
            var: Var::default(),
            var_mark: 0,
            head: None,
            param_mark: 0,
            function: None,
            body_first: 0,
            opcode: Name(0),
            opcode_start: 0,
            opcode_text: Vec::new(),
            guard: None,
            section: 0,
            section_row: false,
            section_width: 1,
            warp_sz,
        }
    }

    /// The tree, and what was found wrong.
    pub(crate) fn finish(
        mut self,
        outcome: Result<(), ParseError<u32, Tok, ()>>,
    ) -> (Ast<'s>, Vec<Diag>) {
        if let Err(error) = outcome {
            let diag = expect::syntax_error(self.ast.src, &error);
            self.diags.push(diag);
            if self.function.is_some() {
                self.function_end(self.src.len() as u32);
            }
        }
        self.diags.sort_by_key(|d| d.span.start);
        (self.ast, self.diags)
    }

    fn text(&self, l: u32, r: u32) -> &'s [u8] {
        &self.src[l as usize..r as usize]
    }

    #[cold]
    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) -> &mut Diag {
        self.diags.push(Diag::error(code, span, message));
        self.diags.last_mut().expect("just pushed")
    }

    #[inline]
    fn intern(&mut self, l: u32, r: u32) -> Name {
        self.ast.names.intern(self.src, l, r)
    }

    // --- recovery ---------------------------------------------------------------

    #[cold]
    fn report(&mut self, e: ErrorRecovery<u32, Tok, ()>) {
        let diag = expect::syntax_error(self.ast.src, &e.error);
        self.diags.push(diag);
        self.scratch.clear();
        self.tail.clear();
        self.guard = None;
        self.word_mark = self.ast.words.len() as u32;
        self.int_mark = self.ast.ints.len() as u32;
    }

    #[cold]
    pub(crate) fn recovered(&mut self, e: ErrorRecovery<u32, Tok, ()>) {
        self.report(e);
        self.head = None;
    }

    /// An error between `.entry` and the body: the body is read all the same.
    #[cold]
    pub(crate) fn broken_head(&mut self, e: ErrorRecovery<u32, Tok, ()>) {
        self.report(e);
        if let Some(head) = &mut self.head {
            head.params = run_since(self.param_mark, self.ast.vars.len());
        }
    }

    #[cold]
    pub(crate) fn abandoned(&mut self) {
        self.head = None;
    }

    // --- words, integers, directives ----------------------------------------------

    fn make_word(&mut self, l: u32, r: u32) -> Word {
        Word { name: self.intern(l, r), start: l, number: 0 }
    }

    pub(crate) fn word(&mut self, l: u32, r: u32) {
        let word = self.make_word(l, r);
        self.ast.words.push(word);
    }

    /// Adds a number to the last word.
    pub(crate) fn word_number(&mut self, l: u32, r: u32) {
        let number = self.small_int(l, r);
        if let Some(word) = self.ast.words.last_mut() {
            word.number = number;
        }
    }

    pub(crate) fn int(&mut self, l: u32, r: u32) {
        let value = self.int_value(l, r).0;
        self.ast.ints.push(value);
    }

    fn take_words(&mut self) -> Run {
        let run = run_since(self.word_mark, self.ast.words.len());
        self.word_mark = self.ast.words.len() as u32;
        run
    }

    fn take_ints(&mut self) -> Run {
        let run = run_since(self.int_mark, self.ast.ints.len());
        self.int_mark = self.ast.ints.len() as u32;
        run
    }

    pub(crate) fn directive(&mut self, kind: DirectiveKind, l: u32, r: u32) {
        let ints = self.take_ints();
        let words = self.take_words();
        let index = self.ast.directives.len() as u32;
        self.ast.directives.push(Directive { kind, span: Span::new(l, r), ints, words });
        if self.function.is_some() {
            self.ast.stmts.push(Stmt::Directive(index));
        } else {
            self.ast.items.push(Item::Directive(index));
        }
    }

    pub(crate) fn keyword(&mut self, l: u32, r: u32, wanted: &str) {
        if self.text(l, r) != wanted.as_bytes() {
            let found = String::from_utf8_lossy(self.text(l, r)).into_owned();
            self.error(
                Code::Syntax,
                Span::new(l, r),
                format!("expected `{wanted}`, found `{found}`"),
            );
        }
    }

    /// Value of an integer literal and whether it is unsigned (PTX ISA 4.5.1).
    fn int_value(&mut self, l: u32, r: u32) -> (u64, bool) {
        let mut text = self.text(l, r);
        let suffix = text.last() == Some(&b'U');
        if suffix {
            text = &text[..text.len() - 1];
        }
        let (radix, digits) = match text {
            [b'0', b'x' | b'X', rest @ ..] => (16, rest),
            [b'0', b'b' | b'B', rest @ ..] => (2, rest),
            [b'0', rest @ ..] => (8, rest),
            _ => (10, text),
        };
        let mut value = 0u64;
        for &digit in digits {
            let digit = match digit {
                b'0'..=b'9' => digit - b'0',
                _ => (digit | 32) - b'a' + 10,
            };
            let next = value.checked_mul(radix).and_then(|v| v.checked_add(u64::from(digit)));
            match next {
                Some(next) => value = next,
                // ptxas lets a decimal number of twenty digits saturate.
                None if radix == 10 && digits.len() <= 20 => return (u64::MAX, true),
                None => {
                    self.error(Code::Literal, Span::new(l, r), "constant does not fit in 64 bits");
                    return (value, true);
                }
            }
        }
        (value, suffix || value > i64::MAX as u64)
    }

    fn small_int(&mut self, l: u32, r: u32) -> u32 {
        let value = self.int_value(l, r).0;
        u32::try_from(value).unwrap_or_else(|_| {
            self.error(Code::Literal, Span::new(l, r), "number does not fit in 32 bits");
            0
        })
    }

    // --- variables ------------------------------------------------------------------

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
                self.var.ptr = Some(PtrAttr { space: DeclSpace::Missing, align: 0 });
            }
        }
    }

    fn var_space(&mut self, l: u32, r: u32) {
        let text = std::str::from_utf8(self.text(l, r)).unwrap_or("");
        let space = DeclSpace::parse(text).unwrap_or_default();
        match &mut self.var.ptr {
            Some(ptr) if ptr.space == DeclSpace::Missing && ptr.align == 0 => ptr.space = space,
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
            None => {
                let found = String::from_utf8_lossy(self.text(l, r)).into_owned();
                self.error(Code::Syntax, span, format!("unexpected `{found}` after the type"))
                    .help("a declaration has one type, followed by the name");
            }
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

    // --- functions --------------------------------------------------------------------

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

    // --- statements ---------------------------------------------------------------------

    pub(crate) fn label(&mut self, l: u32, r: u32) {
        let index = self.ast.words.len() as u32;
        self.word(l, r);
        self.word_mark = index + 1;
        self.ast.stmts.push(Stmt::Label(index));
    }

    pub(crate) fn block_open(&mut self, l: u32) {
        self.ast.stmts.push(Stmt::Open(l));
    }

    pub(crate) fn block_close(&mut self, l: u32) {
        self.ast.stmts.push(Stmt::Close(l));
    }

    #[inline]
    pub(crate) fn guard(&mut self, l: u32, r: u32, negated: bool) {
        let name = self.intern(l, r);
        self.guard = Some(Guard { name, negated });
    }

    #[inline]
    pub(crate) fn opcode(&mut self, l: u32, r: u32) {
        self.opcode = self.intern(l, r);
        self.opcode_start = l;
    }

    /// The first two pieces of an opcode with white space (or a comment) inside.
    #[cold]
    pub(crate) fn spaced_opcode(&mut self, l: u32, r: u32) {
        let text = self.text(l, r);
        let head = text
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.' | b':')))
            .unwrap_or(text.len());
        self.opcode_text.clear();
        self.opcode_text.extend_from_slice(&text[..head]);
        self.opcode_start = l;
        self.spaced_opcode_more(r);
    }

    #[cold]
    pub(crate) fn spaced_opcode_more(&mut self, r: u32) {
        let dot = self.src[..r as usize].iter().rposition(|&b| b == b'.').unwrap_or(0);
        self.opcode_text.extend_from_slice(&self.src[dot..r as usize]);
        self.opcode = self.ast.names.intern_text(self.src, &self.opcode_text);
    }

    #[inline]
    fn push_instr(&mut self, operands: Run, r: u32) {
        let index = self.ast.instrs.len() as u32;
        let span = Span::new(self.opcode_start, r);
        self.ast.instrs.push(Instr::new(self.opcode, span, self.guard.take(), operands));
        self.ast.stmts.push(Stmt::Instr(index));
    }

    pub(crate) fn instr_bare(&mut self, r: u32) {
        let first = self.ast.operands.len() as u32;
        self.push_instr(Run { first, count: 0 }, r);
    }

    #[inline]
    pub(crate) fn instr(&mut self, mark: u32, r: u32) {
        let run = self.drain(mark);
        self.push_instr(run, r);
    }

    // --- operands -------------------------------------------------------------------------

    #[inline]
    pub(crate) fn list_begin(&mut self, o: Operand) -> u32 {
        self.scratch.push(o);
        self.scratch.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn list_item(&mut self, o: Operand) {
        self.scratch.push(o);
    }

    #[inline]
    fn drain(&mut self, mark: u32) -> Run {
        let first = self.ast.operands.len() as u32;
        let items = &self.scratch[mark as usize..];
        let count = items.len() as u32;
        self.ast.operands.extend_from_slice(items);
        self.scratch.truncate(mark as usize);
        Run { first, count }
    }

    fn children(&mut self, items: &[Operand]) -> Run {
        let first = self.ast.operands.len() as u32;
        self.ast.operands.extend_from_slice(items);
        Run { first, count: items.len() as u32 }
    }

    #[inline]
    pub(crate) fn name_operand(&mut self, l: u32, r: u32) -> Operand {
        let name = self.intern(l, r);
        if name == self.warp_sz {
            return imm(Imm::Signed(32), flag::WARP_SZ, l, r);
        }
        make(OperandKind::Name, 0, l, r, name.0, 0)
    }

    pub(crate) fn part_operand(&mut self, l: u32, r: u32) -> Operand {
        let text = self.text(l, r);
        let dot = l + text.iter().position(|&b| b == b'.').unwrap_or(0) as u32;
        self.with_part(l, dot, dot, r)
    }

    /// `name .part`
    #[cold]
    pub(crate) fn spaced_part(&mut self, l: u32, m: u32, r: u32) -> Operand {
        let dot = self.text(m, r).iter().rposition(|&b| b == b'.').unwrap_or(0) as u32;
        self.with_part(l, m, m + dot, r)
    }

    #[inline]
    fn with_part(&mut self, l: u32, end: u32, dot: u32, r: u32) -> Operand {
        let name = self.intern(l, end);
        let part = Part::parse(self.text(dot + 1, r));
        if part.is_none() {
            let text = String::from_utf8_lossy(self.text(dot, r)).into_owned();
            self.error(Code::Selector, Span::new(dot, r), format!("`{text}` is no component of a register"))
                .note("vectors have `.x .y .z .w` (or `.r .g .b .a`), video operands `.b0` to `.b3`, `.h0`, `.h1`");
        }
        make(OperandKind::Name, 0, l, r, name.0, part.map_or(0, |p| p as u32))
    }

    pub(crate) fn sink(&mut self, l: u32, r: u32) -> Operand {
        make(OperandKind::Sink, 0, l, r, 0, 0)
    }

    #[inline]
    pub(crate) fn int_operand(&mut self, l: u32, r: u32) -> Operand {
        let (value, unsigned) = self.int_value(l, r);
        let value = if unsigned { Imm::Unsigned(value) } else { Imm::Signed(value as i64) };
        imm(value, 0, l, r)
    }

    pub(crate) fn float_operand(&mut self, l: u32, r: u32) -> Operand {
        let text = std::str::from_utf8(self.text(l, r)).unwrap_or("");
        let value: f64 = text.parse().unwrap_or_default();
        if value.is_infinite() || value.is_subnormal() {
            self.error(Code::Literal, Span::new(l, r), format!("`{text}` is out of range"))
                .help("decimal constants are normal binary64 numbers; write others as bits: `0d…`");
        }
        imm(Imm::F64(value.to_bits()), 0, l, r)
    }

    pub(crate) fn bits_operand(&mut self, l: u32, r: u32) -> Operand {
        let digits = std::str::from_utf8(self.text(l + 2, r)).unwrap_or("");
        let bits = u64::from_str_radix(digits, 16).unwrap_or_default();
        let value = if digits.len() == 8 { Imm::F32(bits as u32) } else { Imm::F64(bits) };
        imm(value, flag::BITS, l, r)
    }

    #[inline]
    pub(crate) fn memory(&mut self, l: u32, mark: u32, r: u32) -> Operand {
        if self.scratch.len() as u32 == mark + 1 {
            let o = self.scratch[mark as usize];
            let plain = o.kind == OperandKind::Name && o.flags == 0 && o.b == 0;
            if plain || o.kind == OperandKind::Offset {
                self.scratch.truncate(mark as usize);
                return make(OperandKind::Mem, o.flags, l, r, o.a, o.b);
            }
        }
        let run = self.drain(mark);
        make(OperandKind::MemList, 0, l, r, run.first, run.count)
    }

    pub(crate) fn memory_qualified(&mut self, l: u32, mark: u32, dl: u32, r: u32) -> Operand {
        let mut o = self.memory(l, mark, r);
        if self.text(dl, r) == b".unified" {
            o.flags |= flag::UNIFIED;
        } else {
            let text = String::from_utf8_lossy(self.text(dl, r)).into_owned();
            self.error(
                Code::Syntax,
                Span::new(dl, r),
                format!("unexpected `{text}` after an address"),
            )
            .help("only `.unified` may follow an address");
        }
        o
    }

    pub(crate) fn vector(&mut self, l: u32, mark: u32, r: u32) -> Operand {
        let run = self.drain(mark);
        make(OperandKind::Vector, 0, l, r, run.first, run.count)
    }

    pub(crate) fn empty_vector(&mut self, l: u32, r: u32) -> Operand {
        make(OperandKind::Vector, 0, l, r, self.ast.operands.len() as u32, 0)
    }

    pub(crate) fn group(&mut self, l: u32, mark: u32, r: u32) -> Operand {
        let run = self.drain(mark);
        make(OperandKind::Group, 0, l, r, run.first, run.count)
    }

    pub(crate) fn empty_group(&mut self, l: u32, r: u32) -> Operand {
        make(OperandKind::Group, 0, l, r, self.ast.operands.len() as u32, 0)
    }

    pub(crate) fn index(&mut self, l: u32, m: u32, index: Operand, r: u32) -> Operand {
        let base = self.name_operand(l, m);
        let run = self.children(&[base, index]);
        make(OperandKind::Index, 0, l, r, run.first, run.count)
    }

    /// `generic(x)`
    pub(crate) fn function_of(&mut self, l: u32, m: u32, o: Operand, r: u32) -> Operand {
        if self.text(l, m) != b"generic" {
            let text = String::from_utf8_lossy(self.text(l, m)).into_owned();
            self.error(
                Code::Syntax,
                Span::new(l, m),
                format!("`{text}` is no operator on addresses"),
            )
            .help("initialisers know `generic(variable)` and masks such as `0xff(variable)`");
        } else if !matches!(o.kind, OperandKind::Name | OperandKind::Offset) {
            self.error(Code::Syntax, o.span(), "`generic` takes the name of a variable");
        } else {
            let wide = o.flags & flag::WIDE;
            return make(OperandKind::Generic, wide, l, r, o.a, o.b);
        }
        imm(Imm::Signed(0), 0, l, r)
    }

    pub(crate) fn mask(&mut self, l: u32, m: u32, o: Operand, r: u32) -> Operand {
        let mask = self.int_operand(l, m);
        let run = self.children(&[mask, o]);
        make(OperandKind::Mask, 0, l, r, run.first, run.count)
    }

    pub(crate) fn field(&mut self, l: u32, m: u32, o: Operand) -> Operand {
        let name = self.intern(l, m);
        let value = self.children(&[o]).first;
        make(OperandKind::Field, 0, l, end_of(&o), name.0, value)
    }

    // --- constant expressions ---------------------------------------------------------------

    /// The value of a constant operand, which is taken out of the pool if it
    /// was the content of parentheses.
    fn constant(&mut self, o: &Operand) -> Option<Imm> {
        match o.kind {
            OperandKind::Int if o.flags & flag::UNSIGNED != 0 => Some(Imm::Unsigned(o.int_bits())),
            OperandKind::Int => Some(Imm::Signed(o.int_bits() as i64)),
            OperandKind::F32 => Some(Imm::F32(o.a)),
            OperandKind::F64 => Some(Imm::F64(o.int_bits())),
            OperandKind::Group if o.b == 1 => {
                let inner = self.ast.operands[o.a as usize];
                let value = self.constant(&inner)?;
                if self.ast.operands.len() as u32 == o.a + 1 {
                    self.ast.operands.pop();
                }
                Some(value)
            }
            _ => None,
        }
    }

    #[cold]
    fn not_constant(&mut self, o: &Operand) -> Operand {
        let diag = self.error(Code::ConstantExpr, o.span(), "a constant is needed here");
        diag.help("a name may only come first, followed by `+` and a constant: `x+8`, `x+-8`");
        imm(Imm::Signed(0), 0, o.start, end_of(o))
    }

    #[cold]
    fn folded(&mut self, value: Result<Imm, fold::FoldError>, l: u32, r: u32) -> Operand {
        let value = value.unwrap_or_else(|e| {
            let message = match e {
                fold::FoldError::NotInteger => "an integer constant is needed here",
                fold::FoldError::Mixed => "integer and floating-point constants do not mix",
                fold::FoldError::DivisionByZero => "constant expression divides by zero",
                fold::FoldError::NoSuchOperator => "this operator does not apply to this constant",
            };
            self.error(Code::ConstantExpr, Span::new(l, r), message);
            Imm::Signed(0)
        });
        imm(value, 0, l, r)
    }

    pub(crate) fn unary(&mut self, op: u8, l: u32, o: Operand) -> Operand {
        let r = end_of(&o);
        let bit = match op {
            b'-' => flag::NEG,
            b'!' => flag::NOT,
            _ => 0,
        };
        if o.kind == OperandKind::Name && bit != 0 && o.flags == 0 {
            return Operand { flags: bit, start: l, len: length(l, r), ..o };
        }
        if o.flags & flag::BITS != 0 {
            self.error(Code::Syntax, Span::new(l, r), "a constant written as bits takes no sign")
                .help("set the sign bit, the highest one: `0fBF800000` is -1.0");
            return o;
        }
        match self.constant(&o) {
            Some(value) => match fold::unary(op, value) {
                Ok(value) => imm(value, 0, l, r),
                e => self.folded(e, l, r),
            },
            None => self.not_constant(&o),
        }
    }

    #[cold]
    pub(crate) fn cast(&mut self, l: u32, dl: u32, dr: u32, o: Operand) -> Operand {
        let r = end_of(&o);
        let Some(value) = self.constant(&o) else { return self.not_constant(&o) };
        let value = match (self.text(dl, dr), fold::bits(value)) {
            (b".s64", Some(bits)) => Imm::Signed(bits as i64),
            (b".u64", Some(bits)) => Imm::Unsigned(bits),
            _ => {
                self.error(Code::ConstantExpr, Span::new(dl, dr), "this cast is not supported")
                    .help("integers can be cast to `.s64` and `.u64`");
                value
            }
        };
        imm(value, 0, l, r)
    }

    #[cold]
    pub(crate) fn select(&mut self, c: Operand, x: Operand, y: Operand) -> Operand {
        let (l, r) = (c.start, end_of(&y));
        // Later operands first: parenthesised ones lie on top of the pool.
        let Some(yv) = self.constant(&y) else { return self.not_constant(&y) };
        let Some(xv) = self.constant(&x) else { return self.not_constant(&x) };
        let Some(cv) = self.constant(&c) else { return self.not_constant(&c) };
        self.folded(fold::select(cv, xv, yv), l, r)
    }

    #[inline]
    pub(crate) fn tail_begin(&mut self, a: Operand, op: u32, b: Operand) -> u32 {
        let mark = self.tail.len() as u32;
        self.tail.push((a.start, a));
        self.tail.push((op, b));
        mark
    }

    pub(crate) fn tail_item(&mut self, op: u32, b: Operand) {
        self.tail.push((op, b));
    }

    #[inline]
    pub(crate) fn tail_end(&mut self, mark: u32) -> Operand {
        if let [(l, a), (op, b)] = self.tail[mark as usize..] {
            let op = self.src[op as usize];
            let offset = i64::from(b.a as i32);
            let small = b.kind == OperandKind::Int && offset as u64 == b.int_bits();
            if op == b'+' && a.kind == OperandKind::Name && a.flags == 0 && a.b == 0 && small {
                self.tail.truncate(mark as usize);
                return make(OperandKind::Offset, 0, l, end_of(&b), a.a, b.a);
            }
        }
        self.tail_slow(mark)
    }

    #[cold]
    fn tail_slow(&mut self, mark: u32) -> Operand {
        let items = self.tail.split_off(mark as usize);
        let (l, first) = items[0];
        let r = end_of(&items[items.len() - 1].1);
        let op = self.operator(items[1].0);
        let registers = |o: &Operand| matches!(o.kind, OperandKind::Name | OperandKind::Sink);
        if op == b"|" && items.len() == 2 && (registers(&first) || registers(&items[1].1)) {
            let run = self.children(&[first, items[1].1]);
            return make(OperandKind::Pair, 0, l, r, run.first, run.count);
        }
        if !matches!(first.kind, OperandKind::Name | OperandKind::Generic) {
            return self.evaluate(&items);
        }
        if op != b"+" {
            let text = String::from_utf8_lossy(op).into_owned();
            let at = items[1].0;
            let diag = self.error(
                Code::Syntax,
                Span::new(at, at + text.len() as u32),
                format!("unexpected `{text}` after a name"),
            );
            diag.help("only `+` and a constant may follow: write `x+-8` for `x-8`");
            return first;
        }
        if first.flags & !flag::WIDE != 0 || (first.kind == OperandKind::Name && first.b != 0) {
            self.error(Code::Syntax, first.span(), "an offset needs a plain name before it");
            return first;
        }
        let rest = self.evaluate(&items[1..]);
        let Some(offset) = self.constant(&rest).and_then(fold::bits) else {
            self.error(Code::ConstantExpr, rest.span(), "an integer constant is needed here");
            return first;
        };
        let kind = match first.kind {
            OperandKind::Generic => OperandKind::Generic,
            _ => OperandKind::Offset,
        };
        // `generic(x+4)+4`: both offsets count.
        let offset = match first.kind {
            OperandKind::Generic if first.flags & flag::WIDE != 0 => {
                self.ast.wide[first.b as usize].wrapping_add(offset as i64)
            }
            OperandKind::Generic => i64::from(first.b as i32).wrapping_add(offset as i64),
            _ => offset as i64,
        };
        match i32::try_from(offset) {
            Ok(offset) => make(kind, 0, l, r, first.a, offset as u32),
            Err(_) => {
                let index = self.ast.wide.len() as u32;
                self.ast.wide.push(offset);
                make(kind, flag::WIDE, l, r, first.a, index)
            }
        }
    }

    fn operator(&self, at: u32) -> &'s [u8] {
        let rest = &self.src[at as usize..];
        let long = matches!(
            rest.get(..2),
            Some(b"<<" | b">>" | b"<=" | b">=" | b"==" | b"!=" | b"&&" | b"||")
        );
        &rest[..if long { 2 } else { 1 }]
    }

    /// Applies precedence to a flat list of operands and operators.
    fn evaluate(&mut self, items: &[(u32, Operand)]) -> Operand {
        let (l, r) = (items[0].1.start, end_of(&items[items.len() - 1].1));
        let mut values = Vec::with_capacity(items.len());
        for (_, o) in items.iter().rev() {
            match self.constant(o) {
                Some(value) => values.push(value),
                None => return self.not_constant(o),
            }
        }
        let mut done: Vec<Imm> = Vec::new();
        let mut pending: Vec<&[u8]> = Vec::new();
        for (i, &(at, _)) in items.iter().enumerate() {
            if i > 0 {
                let op = self.operator(at);
                while pending.last().is_some_and(|p| fold::precedence(p) >= fold::precedence(op)) {
                    if let Err(e) = apply(&mut done, &mut pending) {
                        return self.folded(Err(e), l, r);
                    }
                }
                pending.push(op);
            }
            done.extend(values.pop());
        }
        while !pending.is_empty() {
            if let Err(e) = apply(&mut done, &mut pending) {
                return self.folded(Err(e), l, r);
            }
        }
        self.folded(done.pop().ok_or(fold::FoldError::NotInteger), l, r)
    }

    // --- sections ---------------------------------------------------------------------------

    pub(crate) fn section(&mut self, l: u32, nl: u32, r: u32) {
        let name = self.make_word(nl, r);
        self.section = self.ast.sections.len() as u32;
        let items = Run { first: self.ast.section_items.len() as u32, count: 0 };
        self.ast.sections.push(Section { name, span: Span::new(l, r), items });
    }

    pub(crate) fn section_end(&mut self, r: u32) {
        let len = self.ast.section_items.len();
        let section = &mut self.ast.sections[self.section as usize];
        section.span.end = r;
        section.items = run_since(section.items.first, len);
        self.ast.items.push(Item::Section(self.section));
    }

    pub(crate) fn section_type(&mut self, l: u32, r: u32) {
        self.section_row = true;
        self.section_width = match self.text(l, r) {
            b".b8" => 1,
            b".b16" => 2,
            b".b32" => 4,
            b".b64" => 8,
            _ => {
                self.error(Code::Type, Span::new(l, r), "illegal type of a section's data")
                    .help("rows begin with `.b8`, `.b16`, `.b32` or `.b64`");
                1
            }
        };
    }

    #[inline]
    fn section_item(&mut self, kind: SectionItemKind, start: u32, a: u32, b: u32) {
        let row = std::mem::take(&mut self.section_row);
        let width = self.section_width;
        self.ast.section_items.push(SectionItem { kind, width, row, start, a, b });
    }

    pub(crate) fn section_label(&mut self, l: u32, r: u32) {
        let name = self.intern(l, r);
        self.section_item(SectionItemKind::Label, l, name.0, 0);
    }

    #[inline]
    pub(crate) fn section_int(&mut self, l: u32, il: u32, r: u32) {
        let magnitude = self.int_value(il, r).0;
        let value = if l == il { magnitude } else { magnitude.wrapping_neg() };
        self.section_item(SectionItemKind::Int, l, value as u32, (value >> 32) as u32);
    }

    pub(crate) fn section_address(&mut self, l: u32, r: u32) {
        let name = self.intern(l, r);
        self.section_item(SectionItemKind::Address, l, name.0, 0);
    }

    pub(crate) fn section_offset(&mut self, l: u32, r: u32, il: u32, ir: u32) {
        let name = self.intern(l, r);
        let offset = self.small_int(il, ir);
        self.section_item(SectionItemKind::Address, l, name.0, offset);
    }

    pub(crate) fn section_difference(&mut self, l: u32, r: u32, ml: u32, mr: u32) {
        let name = self.intern(l, r);
        let minus = self.intern(ml, mr);
        self.section_item(SectionItemKind::Difference, l, name.0, minus.0);
    }
}

fn apply(done: &mut Vec<Imm>, pending: &mut Vec<&[u8]>) -> Result<(), fold::FoldError> {
    if let (Some(op), Some(b), Some(a)) = (pending.pop(), done.pop(), done.pop()) {
        done.push(fold::binary(op, a, b)?);
    }
    Ok(())
}

fn run_since(mark: u32, len: usize) -> Run {
    Run { first: mark, count: len as u32 - mark }
}

#[inline]
fn length(l: u32, r: u32) -> u16 {
    (r - l).min(u32::from(u16::MAX)) as u16
}

#[inline]
fn end_of(o: &Operand) -> u32 {
    o.start + u32::from(o.len)
}

#[inline]
fn make(kind: OperandKind, flags: u8, l: u32, r: u32, a: u32, b: u32) -> Operand {
    Operand { kind, flags, len: length(l, r), start: l, a, b }
}

#[inline]
fn imm(value: Imm, flags: u8, l: u32, r: u32) -> Operand {
    let (kind, flags, bits) = match value {
        Imm::Signed(x) => (OperandKind::Int, flags, x as u64),
        Imm::Unsigned(x) => (OperandKind::Int, flags | flag::UNSIGNED, x),
        Imm::F32(x) => (OperandKind::F32, flags, u64::from(x)),
        Imm::F64(x) => (OperandKind::F64, flags, x),
    };
    make(kind, flags, l, r, bits as u32, (bits >> 32) as u32)
}
