//! The syntax tree: flat pools of small records, names as ids, spans for everything.
//!
//! Nothing is resolved here; an opcode is the text as written. Lists are
//! ranges into pools ([`Run`]). Operands are 16 bytes and instructions 20, so
//! that a module costs about two bytes of memory per byte of text.

mod operand;
mod run;

pub use operand::{Arg, Imm, Operand, Selector};
pub(crate) use operand::{OperandKind, flag};
pub use run::Run;

use crate::names::{Name, Names};
use crate::span::Span;
use ptx_isa::Ty;

/// One module's syntax tree (PTX ISA 4).
#[derive(Clone, Debug)]
pub struct Ast<'s> {
    pub(crate) src: &'s str,
    pub(crate) names: Names,
    /// Module-level statements in order.
    pub items: Vec<Item>,
    pub(crate) functions: Vec<Function>,
    pub(crate) vars: Vec<Var>,
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) instrs: Vec<Instr>,
    pub(crate) operands: Vec<Operand>,
    /// Words and strings of `.target`, `.pragma`, `.alias`, `.branchtargets` and the like.
    pub(crate) words: Vec<Word>,
    /// Integers of `.maxntid` and the like, array dimensions.
    pub(crate) ints: Vec<u64>,
    /// Offsets that do not fit in 32 bits.
    pub(crate) wide: Vec<i64>,
    pub(crate) attrs: Vec<FnAttr>,
    pub(crate) directives: Vec<Directive>,
    pub(crate) sections: Vec<Section>,
    pub(crate) section_items: Vec<SectionItem>,
}

/// A module-level statement.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A variable; index for [`Ast::var`].
    Var(u32),
    /// A `.entry` or `.func`, declared or defined; index for [`Ast::function`].
    Function(u32),
    /// Any other directive; index for [`Ast::directive`].
    Directive(u32),
    /// A debug section; index for [`Ast::section`].
    Section(u32),
}

/// A statement of a function body. Nested blocks are not nodes: their
/// statements stand between [`Stmt::Open`] and [`Stmt::Close`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Stmt {
    /// An instruction; index for [`Ast::instr`].
    Instr(u32),
    /// `name:`; the word holds name and place.
    Label(u32),
    /// A variable; index for [`Ast::var`].
    Var(u32),
    /// A `.loc`, `.pragma`, `.branchtargets`, …; index for [`Ast::directive`].
    Directive(u32),
    /// The prototype of a function (`.extern .func` in a body) or a
    /// `.callprototype`; index for [`Ast::function`].
    Prototype(u32),
    /// `{` at this offset.
    Open(u32),
    /// `}` at this offset.
    Close(u32),
}

/// Linking directive before a declaration (PTX ISA 11.6).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Linkage {
    /// None written: local to the module.
    #[default]
    None,
    /// `.extern`
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

impl Linkage {
    /// The directive as written, or nothing.
    pub fn text(self) -> &'static str {
        match self {
            Linkage::None => "",
            Linkage::Extern => ".extern",
            Linkage::Visible => ".visible",
            Linkage::Weak => ".weak",
            Linkage::Common => ".common",
        }
    }
}

/// State space of a declaration (PTX ISA 5.1).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum DeclSpace {
    /// No space written (an error that the verifier reports).
    #[default]
    Missing,
    /// `.reg`
    Reg,
    /// `.sreg`
    Sreg,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.shared`
    Shared,
    /// `.tex`
    Tex,
}

impl DeclSpace {
    /// The space named by a directive's text.
    pub fn parse(text: &str) -> Option<DeclSpace> {
        Some(match text {
            ".reg" => DeclSpace::Reg,
            ".sreg" => DeclSpace::Sreg,
            ".const" => DeclSpace::Const,
            ".global" => DeclSpace::Global,
            ".local" => DeclSpace::Local,
            ".param" => DeclSpace::Param,
            ".shared" => DeclSpace::Shared,
            ".tex" => DeclSpace::Tex,
            _ => return None,
        })
    }
    /// The directive's text.
    pub fn text(self) -> &'static str {
        match self {
            DeclSpace::Missing => "",
            DeclSpace::Reg => ".reg",
            DeclSpace::Sreg => ".sreg",
            DeclSpace::Const => ".const",
            DeclSpace::Global => ".global",
            DeclSpace::Local => ".local",
            DeclSpace::Param => ".param",
            DeclSpace::Shared => ".shared",
            DeclSpace::Tex => ".tex",
        }
    }
}

/// The `.ptr` attribute of a kernel parameter (PTX ISA 5.1.6.3).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct PtrAttr {
    /// Space that the pointer points into; [`DeclSpace::Missing`] is generic.
    pub space: DeclSpace,
    /// Type of the opaque object that it points to: a texture, sampler or surface.
    pub object: Option<Ty>,
    /// Alignment of what it points to; 0 when not written.
    pub align: u32,
}

/// A word with its place: a name, a string with its quotes, a number.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Word {
    /// The text.
    pub name: Name,
    /// Where it begins.
    pub start: u32,
    /// `n` of `name<n>` in `.branchtargets`, offset in `.loc … function_name x+n`; else 0.
    pub number: u32,
}

/// A declared variable, register, parameter or array (PTX ISA 5.4).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Var {
    /// Its name; `_` in prototypes.
    pub name: Word,
    /// From the first directive to the end of the declarator.
    pub span: Span,
    /// Linking directive.
    pub linkage: Linkage,
    /// State space.
    pub space: DeclSpace,
    /// Bank of `.const[n]`.
    pub bank: Option<u32>,
    /// `.align n`; 0 when not written.
    pub align: u32,
    /// `n` of `.vn`; 0 when not written.
    pub vector: u32,
    /// The type as written, as in `.u32`; `None` when missing.
    pub ty: Option<Word>,
    /// `.ptr` and what follows it.
    pub ptr: Option<PtrAttr>,
    /// Array dimensions in the integer pool, [`Var::UNSIZED`] for `[]`.
    pub dims: Run,
    /// `n` of `name<n>`.
    pub numbered: Option<u32>,
    /// Initialiser, an operand.
    pub init: Option<u32>,
    /// Words of `.attribute(…)`, such as `.managed`.
    pub attributes: Run,
}

impl Var {
    /// The dimension `[]`.
    pub const UNSIZED: u64 = u64::MAX;
}

impl Default for Word {
    fn default() -> Word {
        Word { name: Name(u32::MAX), start: 0, number: 0 }
    }
}

/// What a [`Function`] record stands for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FnKind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
    /// `.callprototype`
    Prototype,
}

/// A kernel, function or prototype (PTX ISA 11.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its name.
    pub name: Word,
    /// Entry, function or prototype.
    pub kind: FnKind,
    /// Linking directive.
    pub linkage: Linkage,
    /// From the first directive to the end of the head.
    pub span: Span,
    /// Return parameters, in the variable pool.
    pub returns: Run,
    /// Parameters, in the variable pool.
    pub params: Run,
    /// `.maxntid`, `.noreturn`, `.pragma` and so on, in the attribute pool.
    pub attrs: Run,
    /// Words of `.attribute(…)`.
    pub attributes: Run,
    /// Statements of the body, in the statement pool; `None` for a declaration.
    pub body: Option<Run>,
    /// Offset of the body's closing brace.
    pub end: u32,
}

/// A directive between a function's head and its body, with its integers or strings.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct FnAttr {
    /// The directive, as in `.maxntid`.
    pub name: Word,
    /// Integers, in the integer pool.
    pub ints: Run,
    /// Strings of `.pragma`, words of `.language`, in the word pool.
    pub words: Run,
}

/// A directive without a record of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directive {
    /// Which one.
    pub kind: DirectiveKind,
    /// Its text's extent.
    pub span: Span,
    /// Its integers, in the integer pool.
    pub ints: Run,
    /// Its words and strings, in the word pool.
    pub words: Run,
}

/// Kinds of [`Directive`], with what their lists hold.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum DirectiveKind {
    /// `.version`: one word, the number as written.
    Version,
    /// `.target`: words.
    Target,
    /// `.address_size`: one integer.
    AddressSize,
    /// `.alias`: two words.
    Alias,
    /// `.pragma`: strings.
    Pragma,
    /// `.file`: index, and time stamp and size when written; one string.
    File,
    /// `.loc`: file, line, column, then those of `inlined_at`; the word of `function_name`.
    Loc,
    /// `.loc_intermediate`: file, line, column.
    LocIntermediate,
    /// `.branchtargets`: words.
    BranchTargets,
    /// `.calltargets`: words.
    CallTargets,
    /// `@@DWARF …`: the line as one word.
    Dwarf,
    /// A `.code_block` of `.nv_intermediate_source_section`: the file index;
    /// words: its name and the text from `.source_begin` to `.source_end`.
    CodeBlock,
}

/// A `.section` (PTX ISA 11.5.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// Its name with the dot.
    pub name: Word,
    /// From `.section` to the closing brace.
    pub span: Span,
    /// Its contents, in the section pool.
    pub items: Run,
}

/// One value or label of a section.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct SectionItem {
    /// What `a` and `b` mean.
    pub kind: SectionItemKind,
    /// Bytes of the value: 1, 2, 4 or 8.
    pub width: u8,
    /// Whether this value begins a row (has its own `.bN`).
    pub row: bool,
    /// Where it stands.
    pub start: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
}

/// Kinds of [`SectionItem`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SectionItemKind {
    /// A number.
    Int,
    /// `label:`
    Label,
    /// `label`, `label+offset` or `.section+offset`.
    Address,
    /// `label1-label2`
    Difference,
}

impl SectionItem {
    /// The number of an [`SectionItemKind::Int`].
    pub fn int(&self) -> i64 {
        (u64::from(self.b) << 32 | u64::from(self.a)) as i64
    }
    /// The name of a label or address, the first one of a difference.
    pub fn name(&self) -> Name {
        Name(self.a)
    }
    /// The offset of an address.
    pub fn offset(&self) -> u32 {
        self.b
    }
    /// The second name of a difference.
    pub fn minus(&self) -> Name {
        Name(self.b)
    }
}

/// An instruction: guard, opcode with modifiers, operands.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Instr {
    /// Opcode with its modifiers, as in `add.s32`.
    pub opcode: Name,
    /// Where the opcode begins.
    pub start: u32,
    guard: u32,
    first: u32,
    count: u16,
    len: u16,
}

/// The guard predicate of an instruction (PTX ISA 9.3).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The predicate register.
    pub name: Name,
    /// Whether it is `@!p`.
    pub negated: bool,
}

impl Instr {
    const NO_GUARD: u32 = u32::MAX;
    const NEGATED: u32 = 1 << 31;

    pub(crate) fn new(opcode: Name, span: Span, guard: Option<Guard>, operands: Run) -> Instr {
        let guard = guard
            .map_or(Instr::NO_GUARD, |g| g.name.0 | if g.negated { Instr::NEGATED } else { 0 });
        Instr {
            opcode,
            start: span.start,
            guard,
            first: operands.first,
            count: operands.count.min(u32::from(u16::MAX)) as u16,
            len: (span.end - span.start).min(u32::from(u16::MAX)) as u16,
        }
    }
    /// The guard.
    #[inline]
    pub fn guard(&self) -> Option<Guard> {
        (self.guard != Instr::NO_GUARD).then_some(Guard {
            name: Name(self.guard & !Instr::NEGATED),
            negated: self.guard & Instr::NEGATED != 0,
        })
    }
    /// The operands, in the operand pool.
    #[inline]
    pub fn operands(&self) -> Run {
        Run { first: self.first, count: u32::from(self.count) }
    }
    /// From the opcode to the semicolon (cut at 64 KiB).
    pub fn span(&self) -> Span {
        Span::new(self.start, self.start + u32::from(self.len))
    }
}

const _: () = assert!(size_of::<Instr>() == 20);
const _: () = assert!(size_of::<Operand>() == 16);
const _: () = assert!(size_of::<Stmt>() == 8);

impl<'s> Ast<'s> {
    /// The text that was parsed.
    pub fn source(&self) -> &'s str {
        self.src
    }
    /// All names.
    pub fn names(&self) -> &Names {
        &self.names
    }
    /// The text of a name.
    #[inline]
    pub fn name(&self, name: Name) -> &str {
        self.names.text(self.src, name)
    }
    /// The text at a span.
    pub fn text(&self, span: Span) -> &'s str {
        self.src.get(span.range()).unwrap_or("")
    }
    /// Number of instructions in all functions.
    pub fn instr_count(&self) -> usize {
        self.instrs.len()
    }
    /// The function of an [`Item::Function`] or [`Stmt::Prototype`].
    pub fn function(&self, index: u32) -> &Function {
        &self.functions[index as usize]
    }
    /// All functions, entries, declarations and prototypes.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
    /// The variable of an [`Item::Var`] or [`Stmt::Var`].
    pub fn var(&self, index: u32) -> &Var {
        &self.vars[index as usize]
    }
    /// Parameters or return parameters.
    pub fn vars(&self, run: Run) -> &[Var] {
        &self.vars[run.range()]
    }
    /// The statements of a body.
    pub fn stmts(&self, run: Run) -> &[Stmt] {
        &self.stmts[run.range()]
    }
    /// The instruction of a [`Stmt::Instr`].
    #[inline]
    pub fn instr(&self, index: u32) -> &Instr {
        &self.instrs[index as usize]
    }
    /// The word of a [`Stmt::Label`].
    pub fn label(&self, index: u32) -> Word {
        self.words[index as usize]
    }
    /// The directive of an [`Item::Directive`] or [`Stmt::Directive`].
    pub fn directive(&self, index: u32) -> &Directive {
        &self.directives[index as usize]
    }
    /// The section of an [`Item::Section`].
    pub fn section(&self, index: u32) -> &Section {
        &self.sections[index as usize]
    }
    /// The contents of a section.
    pub fn section_items(&self, run: Run) -> &[SectionItem] {
        &self.section_items[run.range()]
    }
    /// Words of a directive.
    pub fn words(&self, run: Run) -> &[Word] {
        &self.words[run.range()]
    }
    /// Integers of a directive, dimensions of a variable.
    pub fn ints(&self, run: Run) -> &[u64] {
        &self.ints[run.range()]
    }
    /// Directives between a function's head and its body.
    pub fn attrs(&self, run: Run) -> &[FnAttr] {
        &self.attrs[run.range()]
    }
    /// Operands of an instruction or within an operand.
    #[inline]
    pub fn operands(&self, run: Run) -> &[Operand] {
        &self.operands[run.range()]
    }
    /// The initialiser of a variable.
    pub fn init(&self, var: &Var) -> Option<&Operand> {
        var.init.map(|i| &self.operands[i as usize])
    }
    /// Where a word stands.
    pub fn word_span(&self, word: Word) -> Span {
        Span::new(word.start, word.start + self.name(word.name).len() as u32)
    }
    /// Where an instruction's opcode stands.
    pub fn opcode_span(&self, instr: &Instr) -> Span {
        let len = self.name(instr.opcode).len() as u32;
        Span::new(instr.start, instr.start + len)
    }
    /// Where an instruction's guard stands, from `@` to the predicate's end.
    pub fn guard_span(&self, instr: &Instr) -> Span {
        let before = &self.src.as_bytes()[..instr.start as usize];
        match before.iter().rposition(|&b| b == b'@') {
            Some(at) => Span::new(at as u32, before.trim_ascii_end().len() as u32),
            None => Span::point(instr.start),
        }
    }

    fn offset(&self, operand: &Operand) -> i64 {
        if operand.flags & flag::WIDE != 0 {
            self.wide[operand.b as usize]
        } else {
            i64::from(operand.b as i32)
        }
    }

    /// Whether a constant was written as the name `WARP_SZ`.
    pub fn is_warp_sz(&self, operand: &Operand) -> bool {
        operand.flags & flag::WARP_SZ != 0
    }

    /// The selector after a name with [`Selector::Other`], without the dot.
    pub fn part_text(&self, operand: &Operand) -> &'s str {
        let text = self.text(operand.span());
        text.rsplit_once('.').map_or("", |(_, part)| part)
    }

    /// The parts of `operand`.
    #[inline]
    pub fn arg(&self, operand: &Operand) -> Arg<'_> {
        let name = Name(operand.a);
        let has = |bit| operand.flags & bit != 0;
        let children = || &self.operands[operand.children().range()];
        match operand.kind {
            OperandKind::Name => Arg::Name {
                name,
                neg: has(flag::NEG),
                not: has(flag::NOT),
                part: Selector::from_code(operand.b),
            },
            OperandKind::Offset => Arg::Offset { name, offset: self.offset(operand) },
            OperandKind::Int if has(flag::UNSIGNED) => Arg::Imm(Imm::Unsigned(operand.int_bits())),
            OperandKind::Int => Arg::Imm(Imm::Signed(operand.int_bits() as i64)),
            OperandKind::F32 => Arg::Imm(Imm::F32(operand.a)),
            OperandKind::F64 => Arg::Imm(Imm::F64(operand.int_bits())),
            OperandKind::Sink => Arg::Sink,
            OperandKind::Mem => {
                Arg::Mem { name, offset: self.offset(operand), unified: has(flag::UNIFIED) }
            }
            OperandKind::MemList => Arg::MemList { items: children(), unified: has(flag::UNIFIED) },
            OperandKind::Vector => Arg::Vector(children()),
            OperandKind::Group => Arg::Group(children()),
            OperandKind::Pair => Arg::Pair(&children()[0], &children()[1]),
            OperandKind::Index => Arg::Index(&children()[0], &children()[1]),
            OperandKind::Field => Arg::Field { name, value: &self.operands[operand.b as usize] },
            OperandKind::Generic => Arg::Generic { name, offset: self.offset(operand) },
            OperandKind::Mask => Arg::Mask(&children()[0], &children()[1]),
        }
    }
}
