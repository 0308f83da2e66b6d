//! The shape of one entry of the instruction table.

use crate::class::Class;
use crate::matched::Match;
use crate::meaning::{Cx, V};
pub use crate::reach::Reach;
use crate::types::{PtxVersion, Space, Ty, ptx};
use std::ops::Range;

/// One syntax shape of an instruction: everything that is known about it.
///
/// Written as `Row { syntax: "…", …, ..ROW }`; see `rows/` for examples and [`crate::syntax`] for
/// the notation.
pub struct Row {
    /// The manual's notation, for example `add{.sat}.type d, a, b`.
    pub syntax: &'static str,
    /// What it does, in one sentence for people.
    pub does: &'static str,
    /// What the variables of `syntax` stand for: name and alternatives, `("type", ".u32 .s32")`.
    pub sets: &'static [(&'static str, &'static str)],
    /// First PTX version.
    pub since: PtxVersion,
    /// Last PTX version, for shapes that later versions refuse (PTX 1.3's short forms).
    pub until: Option<PtxVersion>,
    /// Least target (`20` is sm_20; 0 is every target).
    pub sm: u16,
    /// Targets with a suffix that have it (`"sm_90a sm_100f"`); empty: every target from `sm` on.
    pub targets: &'static str,
    /// Higher floors of single modifiers.
    pub floors: &'static [Floor],
    /// Single modifiers that ended before their row, each with the last PTX version that has it.
    pub ended: &'static [(&'static str, PtxVersion)],
    /// Removed: modules of this version or later may not use it for this target or later.
    pub removed: Option<(PtxVersion, u16)>,
    /// Section of the PTX ISA manual (9.x numbering).
    pub section: &'static str,
    /// Extra rule over the chosen modifiers; the error is the text that a user reads.
    pub check: Option<Check>,
    /// How wide the registers of its memory operands are.
    pub addresses: AddressWidth,
    /// Number of elements of operands written `name*?`, by operand name; 1 is a scalar.
    pub counts: Option<fn(&Match, &str) -> u32>,
    /// Timing class by the chosen modifiers: a constant (`|_| Class::Logic`) or a rule of [`crate::class`].
    pub class: fn(&Match) -> Class,
    /// What it computes, where others than [`Row::sem`] ask for it.
    pub op: Operation,
    /// The factors of the product that the hardware's assembler ends it in, where it does: it joins that product with an
    /// addition, as it joins any other; read off the SASS of ptxas 13.
    pub factors: fn(&Match) -> Option<Factors>,
    /// Whether the hardware's assembler ends a basic block here, because it makes branches of the instruction or
    /// orders memory by it; read off the SASS of ptxas 13.5 for sm_75 to sm_120.
    pub splits: fn(&Match) -> bool,
    /// The threads that it exchanges values with.
    pub reach: Reach,
    /// Whether it may wait until threads of other warps have done something.
    pub waits: bool,
    /// Whether the sink `_` stands for what is written.
    pub sink: fn(&Match) -> Sink,
    /// Whether a conversion of integers takes special registers.
    pub specials: bool,
    /// What ptxas 13.5 takes as constants in vectors.
    pub constants: Constants,
    /// Whether the name of a variable in a space may be an address.
    pub named: fn(&Match, Space) -> bool,
    /// Whether a register stands for a vector of which the other elements are 0, by the name of the slot.
    pub scalars: fn(&Match, &str) -> bool,
    /// Which element of the coordinates is a layer's number, for which ptxas takes no floats.
    pub layer: fn(&Match) -> Option<usize>,
    /// From which targets on the form takes no sampler of its own beside a texture that has one; by how many elements
    /// the level has, 0 where it is no vector.
    pub unsampled: fn(&Match, usize) -> Option<u16>,
    /// The parts of a slot's vector whose constants ptxas 13.5 looks at apart, for [`Constants::Pair`].
    pub parts: fn(&Match, &str) -> Parts,
    /// The targets (`sm`) on which ptxas 13.5 calls a function of its own in the instruction's place, by the name of a
    /// slot: what is there becomes an argument of the call, and neither `%r1+4` nor the name of a function may be one.
    pub called: fn(&Match, &str) -> Range<u16>,
    /// How the result relates to the hardware's.
    pub exact: Exactness,
    /// Meaning.
    pub sem: Sem,
}

/// How wide the address registers of a row may be. Read off ptxas 13.5, which refuses the others.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum AddressWidth {
    /// Global and generic addresses are as wide as the module's; those of other spaces have 32 or 64 bits.
    Module,
    /// As [`AddressWidth::Module`], but never of less than 32 bits.
    ModuleWords,
    /// As wide as you like, in every space: what copies asynchronously.
    Any,
    /// As [`AddressWidth::Any`] below this target, from it on as [`AddressWidth::Module`].
    AnyBelow(u16),
    /// 32 or 64 bits, in every space, for the first address: ptxas hands it to code of its own.
    Words,
    /// As [`AddressWidth::Words`] in the generic space, as [`AddressWidth::Any`] in others.
    GenericWords,
    /// Addresses in Tensor Memory, which have 32 bits.
    Tensor,
}

/// Whether the sink `_` stands for what an instruction writes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Sink {
    /// A register is written.
    Never,
    /// The value may be thrown away.
    Allowed,
    /// There is no value that could be written: only the sink goes.
    Only,
}

/// Constants in the vectors of an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Constants {
    /// As in scalars.
    Free,
    /// A vector of constants alone has the type of its constants (`.s32`, `.f32` or, of decimal numbers, `.f64`), which
    /// must be the operand's if that has 32 bits.
    Vector,
    /// Every constant has its own type, which must be the operand's.
    Each,
    /// As in [`Constants::Vector`]; from the first target on and below the second as in [`Constants::Each`], for
    /// operands without type too.
    EachFrom(u16, u16),
    /// As in [`Constants::Vector`], and as [`Row::parts`] says.
    Pair,
    /// As in scalars, but decimal numbers are `.f64`, which no operand of 32 bits takes.
    Single,
}

/// Appends what computes the two factors of a product.
pub type Factors = fn(&mut Cx) -> [V; 2];

/// Parts of a vector that are vectors of their own to ptxas.
#[derive(Copy, Clone, Debug)]
pub struct Parts {
    /// Elements of a part.
    pub length: usize,
    /// How many parts, from the first element on.
    pub count: usize,
    /// Which types of constants are refused in a part that has nothing but constants.
    pub refused: fn(&Ty) -> bool,
}

/// No target.
pub const NOWHERE: Range<u16> = 0..0;
/// Every target.
pub const EVERYWHERE: Range<u16> = 0..u16::MAX;

/// A rule over the chosen modifiers; the error is what a user reads.
pub type Check = fn(&Match) -> Result<(), String>;

/// The defaults of a [`Row`], for struct update syntax.
pub const ROW: Row = Row {
    syntax: "",
    does: "",
    sets: &[],
    since: ptx(1, 0),
    until: None,
    sm: 0,
    targets: "",
    floors: &[],
    ended: &[],
    removed: None,
    section: "",
    check: None,
    addresses: AddressWidth::Module,
    counts: None,
    class: |m| panic!("the row `{}` states no timing class", m.row.syntax),
    op: Operation::Other,
    factors: |_| None,
    splits: |m| m.class().has_branches(),
    reach: Reach::Lane,
    waits: false,
    sink: |_| Sink::Never,
    specials: true,
    constants: Constants::Free,
    named: |_, _| true,
    scalars: |_, _| false,
    layer: |_| None,
    unsampled: |_, _| None,
    parts: |_, _| Parts { length: 2, count: 0, refused: |_| true },
    called: |_, _| NOWHERE,
    exact: Exactness::Bit,
    sem: Sem::None,
};

/// A floor that one modifier brings: from `since` and `sm` on (and only `targets`, if not empty).
pub struct Floor {
    /// Modifiers with their dots, separated by spaces (`".bf16 .bf16x2"`).
    pub tokens: &'static str,
    /// First PTX version.
    pub since: PtxVersion,
    /// Least target.
    pub sm: u16,
    /// As [`Row::targets`].
    pub targets: &'static str,
}

/// A [`Floor`] without a list of targets.
pub const fn floor(tokens: &'static str, since: PtxVersion, sm: u16) -> Floor {
    Floor { tokens, since, sm, targets: "" }
}

/// What an instruction computes, for those who rewrite code or look for patterns in it: contraction of multiply-adds,
/// the model of the assembler, advice. Most rows are [`Operation::Other`]; nobody asks for theirs.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// Nothing that others look for.
    Other,
    /// `d = a + b`
    Add,
    /// `d = a - b`
    Sub,
    /// `d = a * b`, the half of an integer product that a modifier names
    Mul,
    /// `d = a * b + c`, the product rounded or cut as by [`Operation::Mul`]
    Mad,
    /// `d = a * b + c`, rounded once
    Fma,
    /// `d = a / b`
    Div,
    /// `d = a % b`
    Rem,
    /// `d = -a`
    Neg,
    /// `d = |a|`
    Abs,
    /// `d = a & b`
    And,
    /// `d = a | b`
    Or,
    /// `d = a ^ b`
    Xor,
    /// `d = !a`
    Not,
    /// `d = 2^a`
    PowerOfTwo,
    /// `d = a << b`
    Shl,
    /// `d = a >> b`, filled with zeros or with the sign
    Shr,
    /// Shifts a pair of words and gives one of them.
    Funnel,
    /// Puts bits of a number into another one.
    Insert,
    /// `p = a cmp b`
    Compare,
    /// Copies a value, a special register or an address.
    Move,
    /// Converts a value to another type.
    Convert,
    /// Converts an address to or from the generic space.
    ConvertAddress,
    /// Loads from memory.
    Load,
    /// Stores to memory.
    Store,
    /// Arrives at a barrier of the block.
    Barrier,
    /// Reads or moves the stack pointer.
    Stack,
}

/// How a row's results relate to those of hardware, and what proves it.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Exactness {
    /// Equal bit for bit; defined by the manual and IEEE 754.
    Bit,
    /// What the manual says, with the sums of the nearest recorded datapath where it leaves them open; no hardware that
    /// has the instruction was recorded.
    Manual,
    /// Equal bit for bit to the recorded unit named (approximate functions, matrix units).
    Recorded(&'static str),
    /// Within the given error in units in the last place.
    Ulp(f32),
    /// The value is up to the implementation (clocks, ids, opaque objects).
    Implementation,
}

/// The meaning of a row.
#[derive(Copy, Clone)]
pub enum Sem {
    /// Appends micro-ops.
    Ops(fn(&mut Cx<'_>)),
    /// Steers control flow; lowering builds edges from it.
    Control(Control),
    /// In the table so that it parses and verifies; a launch that reaches it is refused by name.
    None,
}

/// Control-flow instructions.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Control {
    Bra,
    BrxIdx,
    Call,
    Ret,
    Exit,
}
