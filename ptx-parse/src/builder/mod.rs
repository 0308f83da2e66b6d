//! The grammar's actions: they append to the pools of an [`Ast`].
//!
//! Lists (operands, vectors, initialisers) are collected on one scratch stack;
//! the reduction that closes a list moves it into its pool.

mod declare;
mod expr;
mod operand;
mod section;

use crate::ast::*;
use crate::diag::{Code, Diag};
use crate::expect;
use crate::lexer::Tok;
use crate::names::{Name, Names};
use crate::plain::Queue;
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
    /// Runs of plain statements, see [`crate::plain`].
    pub(crate) queue: Queue,
    pub(crate) scratch: Vec<Operand>,
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
    /// Between the beginning of a body that was taken for a part of the module and its end.
    in_lost_body: bool,
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
            queue: Queue::default(),
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
            in_lost_body: false,
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
        // What follows from a body that was taken for a part of the module says nothing new.
        if !self.in_lost_body {
            let diag = expect::syntax_error(self.ast.src, &e.error);
            self.diags.push(diag);
        }
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

    /// An error outside of functions: all up to the next `;` or `}` is left out, which may be the beginning of a body.
    #[cold]
    pub(crate) fn lost_item(&mut self, e: ErrorRecovery<u32, Tok, ()>, closed: bool) {
        let first = e.dropped_tokens.first().map_or(0, |t| t.0);
        let last = e.dropped_tokens.last().map_or(first, |t| t.2);
        let dropped = self.ast.src.get(first as usize..last as usize).unwrap_or("");
        let opens = dropped.contains('{');
        self.recovered(e);
        self.in_lost_body = !closed && (self.in_lost_body || opens);
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
