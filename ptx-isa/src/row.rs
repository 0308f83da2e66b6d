//! The shape of one entry of the instruction table.

use crate::meaning::Cx;
use crate::table::Match;
use crate::types::{PtxVersion, ptx};

/// One syntax shape of an instruction: everything that is known about it.
///
/// Written as `Row { syntax: "…", …, ..ROW }`; see `rows/` for examples and [`crate::syntax`] for
/// the notation.
pub struct Row {
    /// The manual's notation, for example `add{.sat}.type d, a, b`.
    pub syntax: &'static str,
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
    /// Removed: modules of this version or later may not use it for this target or later.
    pub removed: Option<(PtxVersion, u16)>,
    /// Section of the PTX ISA manual (9.x numbering).
    pub section: &'static str,
    /// Extra rule over the chosen modifiers; the error is the text that a user reads.
    pub check: Option<Check>,
    /// Number of elements of operands written `name*?`, by operand name; 1 is a scalar.
    pub counts: Option<fn(&Match, &str) -> u32>,
    /// Timing class.
    pub class: Class,
    /// How the result relates to the hardware's.
    pub exact: Exactness,
    /// Meaning.
    pub sem: Sem,
}

/// A rule over the chosen modifiers; the error is what a user reads.
pub type Check = fn(&Match) -> Result<(), String>;

/// The defaults of a [`Row`], for struct update syntax.
pub const ROW: Row = Row {
    syntax: "",
    sets: &[],
    since: ptx(1, 0),
    until: None,
    sm: 0,
    targets: "",
    floors: &[],
    removed: None,
    section: "",
    check: None,
    counts: None,
    class: Class::Int,
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

/// Timing class: which unit an instruction occupies.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Class {
    Int,
    IntMul,
    IntMul64,
    IntDiv,
    Logic,
    Shift,
    BitField,
    Compare,
    Move,
    FAdd,
    FMul,
    FFma,
    FDiv,
    FSqrt,
    Special,
    DAdd,
    DMul,
    DFma,
    DDiv,
    DSqrt,
    Half,
    Convert,
    Convert64,
    Video,
    Load,
    Store,
    Atomic,
    Texture,
    Surface,
    Barrier,
    Fence,
    WarpSync,
    Shuffle,
    Vote,
    Reduce,
    Branch,
    Call,
    Exit,
    Matrix,
    Async,
    Misc,
}

/// How a row's results relate to those of hardware, and what proves it.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Exactness {
    /// Equal bit for bit; defined by the manual and IEEE 754.
    Bit,
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
