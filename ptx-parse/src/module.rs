//! A verified module: names are ids, opcodes are rows, types are checked.
//!
//! Produced by `verify`, consumed by `lower`. Everything is in flat pools; ranges index them.
//! Spans point into the source text.

use std::ops::Range;
use std::sync::Arc;

use ptx_isa::meaning::{ModuleInfo, Selection};
use ptx_isa::special::Sreg;
use ptx_isa::{Match, Space, Ty};

pub use crate::lazy::Lazy;

/// Byte range of the source text.
pub type SpanRange = Range<u32>;

/// A verified module.
#[derive(Clone)]
pub struct Module {
    /// Name for reports: a file name or `<input>`.
    pub name: Arc<str>,
    /// The text.
    pub source: Arc<str>,
    /// `.version`, `.target`, `.address_size`.
    pub info: ModuleInfo,
    /// Whether lowering fuses a multiplication and an addition without a rounding, as the assembler does unless it is
    /// told `--fmad=false`. The text does not say it.
    pub contraction: bool,
    /// Module-scope variables.
    pub symbols: Vec<Symbol>,
    /// Kernels and device functions, declared or defined; a declaration and its definition are one.
    pub functions: Vec<Func>,
    /// Distinct opcodes of the module.
    pub matches: Lazy<Vec<Match>>,
    /// `.file` table: index and name.
    pub files: Vec<(u32, String)>,
    /// Names of registers, and prefixes of numbered ones: functions use the same few.
    pub reg_names: Vec<Arc<str>>,
}

/// How a name is visible to other modules.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub enum Linkage {
    #[default]
    Internal,
    Visible,
    Extern,
    Weak,
    Common,
}

/// A variable at module scope or, for `.local`, `.shared`, `.const` and `.param`, of a body.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Name in the text.
    pub name: Text,
    /// State space.
    pub space: Space,
    /// Element type.
    pub ty: Ty,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes; 0 for an array without size (`.extern .shared x[]`).
    pub size: u64,
    /// Whether it was declared as an array.
    pub array: bool,
    /// Visibility.
    pub linkage: Linkage,
    /// `.attribute(.managed)`.
    pub managed: bool,
    /// Initial bytes; shorter than `size` means zeros after.
    pub init: Vec<u8>,
    /// Addresses inside `init`.
    pub relocations: Vec<Relocation>,
    /// Where the name is declared.
    pub span: SpanRange,
}

/// An address in an initialiser.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// Byte offset in the variable.
    pub offset: u64,
    /// Bytes to fill: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whose address.
    pub target: RelocationTarget,
    /// Added to it.
    pub addend: i64,
    /// `generic(…)`: convert to a generic address.
    pub generic: bool,
    /// `mask(…)`: the byte of the address that is kept, as its shift in bits (`0xff` is 0).
    pub shift: u8,
}

/// What an initialiser takes the address of.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum RelocationTarget {
    /// [`Module::symbols`] index.
    Symbol(u32),
    /// [`Module::functions`] index.
    Function(u32),
}

/// A piece of the module's text, shared with it: cloning allocates nothing. Use it as a `&str`.
#[derive(Clone)]
pub struct Text {
    source: Arc<str>,
    start: u32,
    end: u32,
}

impl Text {
    /// The piece at `span` of `source`; nothing if it has no such piece.
    pub fn new(source: &Arc<str>, span: SpanRange) -> Text {
        Text { source: source.clone(), start: span.start, end: span.end }
    }
    /// The text.
    pub fn as_str(&self) -> &str {
        self
    }
    /// Where it stands in `source`, if it is a piece of that.
    pub(crate) fn place(&self, source: &Arc<str>) -> Option<SpanRange> {
        Arc::ptr_eq(&self.source, source).then_some(self.start..self.end)
    }
}

impl std::ops::Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        self.source.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text { source: Arc::from(text), start: 0, end: text.len() as u32 }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        **self == **other
    }
}

impl Eq for Text {}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        **self == **other
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self)
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, f)
    }
}

/// A parameter or result of a kernel or function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Name (may be `_`).
    pub name: Text,
    /// Element type.
    pub ty: Ty,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes (0: `[]`).
    pub size: u32,
    /// Whether it is declared as an array.
    pub array: bool,
    /// `.reg` parameter: the body's register id (as in [`Operand::Reg`]); `u32::MAX` in a mere
    /// declaration.
    pub reg: Option<u32>,
    /// `.ptr{.space}{.align n}`: space and alignment of what it points to.
    pub ptr: Option<(Space, u32)>,
}

/// A kernel or device function.
#[derive(Clone)]
pub struct Func {
    /// Name.
    pub name: Text,
    /// Whether it is an `.entry`.
    pub entry: bool,
    /// Visibility.
    pub linkage: Linkage,
    /// Results (device functions).
    pub rets: Vec<Param>,
    /// Parameters.
    pub params: Vec<Param>,
    /// `.noreturn`.
    pub noreturn: bool,
    /// Performance directives.
    pub tuning: Tuning,
    /// The body; `None` for a declaration.
    pub body: Option<Lazy<Body>>,
    /// `.alias`: the function that this name stands for.
    pub alias: Option<u32>,
    /// Where the name is declared.
    pub span: SpanRange,
}

/// Performance-tuning and cluster directives of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// `.maxntid`.
    pub max_ntid: Option<[u32; 3]>,
    /// `.reqntid`.
    pub req_ntid: Option<[u32; 3]>,
    /// `.maxnreg`.
    pub max_nreg: Option<u32>,
    /// `.minnctapersm`.
    pub min_ncta_per_sm: Option<u32>,
    /// `.maxnctapersm`.
    pub max_ncta_per_sm: Option<u32>,
    /// `.reqnctapercluster`.
    pub req_ncta_per_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`.
    pub max_cluster_rank: Option<u32>,
    /// `.explicitcluster`.
    pub explicit_cluster: bool,
}

/// A function's body.
#[derive(Clone, Default)]
pub struct Body {
    /// Registers: type and name, by id. Vector registers take one id per component.
    pub regs: Vec<Reg>,
    /// Variables declared in the body (all scopes), `.local .shared .const .global .param`.
    pub vars: Vec<Symbol>,
    /// Instructions in order.
    pub insts: Vec<Inst>,
    /// Operands of all instructions.
    pub operands: Vec<Operand>,
    /// Labels: name and the instruction before which it stands (may be `insts.len()`).
    pub labels: Vec<(SpanRange, u32)>,
    /// `.branchtargets` tables: label ids.
    pub branch_targets: Vec<Vec<u32>>,
    /// `.calltargets` tables: function ids.
    pub call_targets: Vec<Vec<u32>>,
    /// `.callprototype` signatures.
    pub prototypes: Vec<Prototype>,
    /// Source positions of `.loc`, referenced by instructions.
    pub locs: Vec<Loc>,
    /// Where `.pragma "nounroll"` stands: before these instructions (may be `insts.len()`).
    pub nounroll: Vec<u32>,
    /// Closing brace.
    pub end: SpanRange,
}

/// A virtual register.
#[derive(Clone, Debug)]
pub struct Reg {
    /// Name in the text: [`Module::reg_names`] index.
    pub name: u32,
    /// For `%r<100>` declarations the number after the prefix.
    pub number: Option<u32>,
    /// Type.
    pub ty: Ty,
}

/// A call signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prototype {
    /// Results.
    pub rets: Vec<Param>,
    /// Parameters.
    pub params: Vec<Param>,
    /// `.noreturn`.
    pub noreturn: bool,
}

/// A `.loc` position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Loc {
    /// `.file` index.
    pub file: u32,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
    /// The position that this one was inlined at: an earlier one of [`Body::locs`].
    pub inlined: Option<u32>,
}

impl Loc {
    /// The position `n` as its reader thinks of it: of the frames that were inlined there, the innermost in the file of
    /// the outermost. Helpers from headers are told by the line that calls them.
    pub fn own(locs: &[Loc], n: u32) -> Option<Loc> {
        let frames = || {
            std::iter::successors(locs.get(n as usize), |loc| {
                loc.inlined.and_then(|outer| locs.get(outer as usize))
            })
            // A chain that a damaged container holds may be a circle.
            .take(64)
        };
        let file = frames().last()?.file;
        frames().find(|loc| loc.file == file).copied()
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Inst {
    /// [`Module::matches`] index.
    pub opcode: u32,
    /// Predicate register id and whether it is negated.
    pub guard: Option<(u32, bool)>,
    /// One operand per slot of the row's shape, in [`Body::operands`].
    pub operands: Range<u32>,
    /// From the guard or opcode to the semicolon.
    pub span: SpanRange,
    /// [`Body::locs`] index of the `.loc` in force.
    pub loc: Option<u32>,
}

/// A resolved operand. Ranges index [`Body::operands`].
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// Optional operand that was left out.
    Absent,
    /// `_`.
    Sink,
    /// Register, by [`Body::regs`] id.
    Reg(u32, Selection),
    /// `!p`.
    NotReg(u32),
    /// `-r`, register with selector, where the slot allows a minus sign.
    MinusReg(u32, Selection),
    /// `r+4` as a value: an integer register and what is added to it.
    Sum(u32, i64),
    /// Immediate as the bits of its slot's type (zero-extended).
    Imm(u64),
    /// Special register.
    Special(Sreg),
    /// `%envregN`.
    Envreg(u8),
    /// Address of a module variable plus offset.
    Symbol(u32, i64),
    /// Address of a body variable plus offset.
    Var(u32, i64),
    /// Address of the executing function's parameter (results first, then parameters).
    Param(u32, i64),
    /// Function.
    Func(u32),
    /// Label.
    Label(u32),
    /// [`Body::branch_targets`] table.
    BranchTargets(u32),
    /// `{a, b, …}`.
    Vector(Range<u32>),
    /// `d|p`: destination, then predicate.
    Both(Range<u32>),
    /// `[base + offset]`; the base is one of `Reg`, `Imm`, `Symbol`, `Var`, `Param`, in the pool.
    Addr(u32, i64),
    /// Operands of `call`.
    Call(Box<CallOperands>),
}

/// The operands of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct CallOperands {
    /// Callee: `Func` or `Reg`.
    pub callee: Operand,
    /// Results, in order: `Var` (a `.param` block), `Reg` or `Sink`.
    pub rets: Range<u32>,
    /// Arguments: `Var`, `Param`, `Reg`, `Imm`.
    pub args: Range<u32>,
    /// For an indirect call what is known of the callee.
    pub targets: Option<CallTargets>,
}

/// What restricts an indirect call.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum CallTargets {
    /// [`Body::prototypes`] index.
    Prototype(u32),
    /// [`Body::call_targets`] index.
    Table(u32),
}
