//! Element types and shapes of the matrix instructions.

use thiserror::Error;

/// Why a matrix instruction cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MatrixError {
    /// The modifiers name no matrix instruction that is modelled.
    #[error("`{0}` is not a matrix instruction that can be executed")]
    Unsupported(String),
    /// A modifier is missing or not known.
    #[error("`{inst}`: {what}")]
    Malformed {
        /// The instruction with its modifiers.
        inst: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A register vector has the wrong number of registers.
    #[error(
        "operand {operand} of `{inst}` holds {got} registers per thread, the shape needs {want}"
    )]
    FragmentSize {
        /// The instruction with its modifiers.
        inst: String,
        /// `a`, `b`, `c` or `d`.
        operand: char,
        /// Registers given.
        got: usize,
        /// Registers that the shape needs.
        want: usize,
    },
    /// The sparsity selector is out of range (PTX section on `mma.sp`).
    #[error("sparsity selector {0} is out of range for `{1}`")]
    Selector(u32, String),
    /// A shared-memory matrix descriptor holds a value without meaning.
    #[error("matrix descriptor {0:#018x}: {1}")]
    Descriptor(u64, &'static str),
    /// Shared memory was touched outside the block's allocation.
    #[error("matrix operand at shared address {0:#x} lies outside the block's shared memory")]
    SharedAddress(u32),
}

/// The modifiers of an opcode with their dots, from the one numbered `first` on.
pub(super) fn modifiers(opcode: &str, first: usize) -> impl Iterator<Item = &str> {
    let starts = opcode.match_indices('.').map(|(at, _)| at);
    let part =
        |at: usize| opcode[at + 1..].split('.').next().map_or("", |m| &opcode[at..=at + m.len()]);
    starts.map(part).skip(first)
}

/// Type of a matrix element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // the names are PTX's
pub enum Elem {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    B1,
    S32,
}

impl Elem {
    /// The type that a modifier names.
    #[must_use]
    pub fn parse(s: &str) -> Option<Self> {
        let s = s.strip_prefix('.')?;
        Self::ALL.into_iter().find(|e| e.name() == s)
    }

    const ALL: [Self; 13] = [
        Self::F16,
        Self::Bf16,
        Self::Tf32,
        Self::F32,
        Self::F64,
        Self::E4m3,
        Self::E5m2,
        Self::S8,
        Self::U8,
        Self::S4,
        Self::U4,
        Self::B1,
        Self::S32,
    ];

    /// The type's name in modifiers, without its dot.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::E4m3 => "e4m3",
            Self::E5m2 => "e5m2",
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::S4 => "s4",
            Self::U4 => "u4",
            Self::B1 => "b1",
            Self::S32 => "s32",
        }
    }

    /// The type with this number (its place in the declaration), as packed constants hold it.
    pub(crate) const fn from_code(code: u32) -> Self {
        Self::ALL[code as usize % Self::ALL.len()]
    }

    /// Bits that one element takes in a register or in memory.
    #[must_use]
    pub const fn bits(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 16,
            Self::Tf32 | Self::F32 | Self::S32 => 32,
            Self::F64 => 64,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 => 4,
            Self::B1 => 1,
        }
    }

    /// Elements in one 32-bit register (one for `f64`, which takes a 64-bit register).
    #[must_use]
    pub const fn per_register(self) -> usize {
        match self {
            Self::F64 => 1,
            _ => 32 / self.bits(),
        }
    }

    /// Whether products of this type follow the floating-point datapath (not `f64`).
    #[must_use]
    pub const fn is_small_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::Tf32 | Self::E4m3 | Self::E5m2)
    }
}

/// Storage order of a matrix operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Rows are contiguous.
    Row,
    /// Columns are contiguous.
    Col,
}

impl Layout {
    /// The layout that a modifier names.
    #[must_use]
    pub fn parse(s: &str) -> Option<Self> {
        match s {
            ".row" => Some(Self::Row),
            ".col" => Some(Self::Col),
            _ => None,
        }
    }
}

/// Shape `mMnNkK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows of A and D.
    pub m: usize,
    /// Columns of B and D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

impl Shape {
    /// The shape in one word.
    pub(crate) const fn pack(self) -> u32 {
        (self.m | self.n << 10 | self.k << 20) as u32
    }

    /// Inverse of [`Shape::pack`].
    pub(crate) const fn unpack(v: u32) -> Self {
        let v = v as usize;
        Self { m: v & 0x3ff, n: v >> 10 & 0x3ff, k: v >> 20 }
    }

    /// The shape that a modifier such as `.m16n8k16` names.
    #[must_use]
    pub fn parse(s: &str) -> Option<Self> {
        let (m, rest) = s.strip_prefix(".m")?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some(Self { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "m{}n{}k{}", self.m, self.n, self.k)
    }
}
