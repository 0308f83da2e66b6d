//! Operands and their parts (PTX ISA 6.4): a record of 16 bytes, children in one arena.

use super::Run;
use crate::names::Name;
use crate::span::Span;

/// An operand (PTX ISA 6). [`Ast::arg`](super::Ast::arg) gives its parts.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    pub(crate) kind: OperandKind,
    pub(crate) flags: u8,
    pub(crate) len: u16,
    pub(crate) start: u32,
    pub(crate) a: u32,
    pub(crate) b: u32,
}

/// The forms an operand's record can have; `a` and `b` as noted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum OperandKind {
    /// name, selector
    Name,
    /// name, offset (or index into `wide`)
    Offset,
    /// low and high half
    Int,
    /// low and high half of the bits
    F32,
    F64,
    Sink,
    /// `[name]`: name, offset
    Mem,
    /// `[…]` of any other form: first child, count
    MemList,
    /// `{…}`: first child, count
    Vector,
    /// `(…)`: first child, count
    Group,
    /// `p|q`: first child, 2
    Pair,
    /// `name[…]`: first child, 2
    Index,
    /// `name = value` of a sampler's initialiser: name, child
    Field,
    /// `generic(x)`: name, offset
    Generic,
    /// `0xff00(x)`: first child, 2
    Mask,
}

/// Bits of [`Operand::flags`].
pub(crate) mod flag {
    /// `-x`
    pub const NEG: u8 = 1;
    /// `!x`
    pub const NOT: u8 = 2;
    /// The offset stands in `wide`.
    pub const WIDE: u8 = 4;
    /// `[…].unified`
    pub const UNIFIED: u8 = 8;
    /// An integer of unsigned type.
    pub const UNSIGNED: u8 = 16;
    /// Written `WARP_SZ`.
    pub const WARP_SZ: u8 = 32;
    /// Written `0f…` or `0d…`.
    pub const BITS: u8 = 64;
}

/// A component or part of a register: `.x`, `.b0`, `.h1` (PTX ISA 6.4.2, 9.7.17).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Selector {
    /// `.x` or `.r`: vector component 0.
    X = 1,
    /// `.y` or `.g`: vector component 1.
    Y,
    /// `.z` or `.b`: vector component 2.
    Z,
    /// `.w` or `.a`: vector component 3.
    W,
    /// `.b0`: byte 0, for video instructions.
    B0,
    /// `.b1`
    B1,
    /// `.b2`
    B2,
    /// `.b3`
    B3,
    /// `.h0`: half-word 0.
    H0,
    /// `.h1`
    H1,
    /// Some other run of selectors, as in `.b7654` or `.h10` (SIMD video
    /// instructions); its text follows the name in the source.
    Other,
}

impl Selector {
    /// The part named by a selector without its dot.
    pub(crate) fn parse(text: &[u8]) -> Option<Selector> {
        Some(match text {
            b"x" | b"r" => Selector::X,
            b"y" | b"g" => Selector::Y,
            b"z" | b"b" => Selector::Z,
            b"w" | b"a" => Selector::W,
            b"b0" => Selector::B0,
            b"b1" => Selector::B1,
            b"b2" => Selector::B2,
            b"b3" => Selector::B3,
            b"h0" => Selector::H0,
            b"h1" => Selector::H1,
            [b'b' | b'h', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => Selector::Other,
            _ => return None,
        })
    }
    pub(crate) fn from_code(code: u32) -> Option<Selector> {
        const ALL: [Selector; 11] = [
            Selector::X,
            Selector::Y,
            Selector::Z,
            Selector::W,
            Selector::B0,
            Selector::B1,
            Selector::B2,
            Selector::B3,
            Selector::H0,
            Selector::H1,
            Selector::Other,
        ];
        ALL.get((code as usize).checked_sub(1)?).copied()
    }
    /// The canonical selector, without the dot; nothing for [`Selector::Other`].
    pub fn text(self) -> &'static str {
        ["x", "y", "z", "w", "b0", "b1", "b2", "b3", "h0", "h1", ""][self as usize - 1]
    }
}

/// A constant after folding (PTX ISA 4.5).
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Imm {
    /// An integer of type `.s64`.
    Signed(i64),
    /// An integer of type `.u64`.
    Unsigned(u64),
    /// `0f…`: bits of a binary32.
    F32(u32),
    /// `0d…` or decimal notation: bits of a binary64.
    F64(u64),
}

/// The parts of an operand.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Arg<'a> {
    /// A register, variable, label or function: `-x`, `!x`, `x.y`.
    Name {
        /// The name without a selector.
        name: Name,
        /// `-x`
        neg: bool,
        /// `!x`
        not: bool,
        /// `.x`, `.b0` …
        part: Option<Selector>,
    },
    /// `name+offset` outside brackets.
    Offset {
        /// The name.
        name: Name,
        /// Bytes added.
        offset: i64,
    },
    /// A constant.
    Imm(Imm),
    /// `_`
    Sink,
    /// `[name]`, `[name+offset]`.
    Mem {
        /// Base register or variable.
        name: Name,
        /// Bytes added.
        offset: i64,
        /// `.unified` follows.
        unified: bool,
    },
    /// `[number]`, `[a, {b, c}]` and other lists in brackets.
    MemList {
        /// What stands between the brackets.
        items: &'a [Operand],
        /// `.unified` follows.
        unified: bool,
    },
    /// `{a, b}`
    Vector(&'a [Operand]),
    /// `(a, b)`: arguments of a call; a parenthesised constant where only one is meant.
    Group(&'a [Operand]),
    /// `p|q`
    Pair(&'a Operand, &'a Operand),
    /// `name[index]`
    Index(&'a Operand, &'a Operand),
    /// `field = value` in an initialiser of a sampler or texture.
    Field {
        /// Its name.
        name: Name,
        /// Its value.
        value: &'a Operand,
    },
    /// `generic(name)+offset` in an initialiser.
    Generic {
        /// The variable.
        name: Name,
        /// Bytes added.
        offset: i64,
    },
    /// `0xff00(address)` in an initialiser: one byte of an address.
    Mask(&'a Operand, &'a Operand),
}

impl Operand {
    /// Where it stands (cut at 64 KiB).
    #[inline]
    pub fn span(&self) -> Span {
        Span::new(self.start, self.start + u32::from(self.len))
    }
    pub(crate) fn children(&self) -> Run {
        Run { first: self.a, count: self.b }
    }
    pub(crate) fn int_bits(&self) -> u64 {
        u64::from(self.b) << 32 | u64::from(self.a)
    }
}
