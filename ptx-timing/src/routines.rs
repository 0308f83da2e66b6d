//! Registers of what is done by a sequence of machine instructions, a routine in line or behind a call.
//!
//! ptxas 13.5 for sm_90, with a kernel that loads some values and two operands, does one such instruction and stores
//! the values and the result, and perhaps the operands: where registers are short, the most values of 8 to 61 with
//! which the kernel has 32, 40, 48, 56 and 64 registers, where they are not, what it has with 0 to 24 values.
//! What constants save and how many are mixed: ptxas 13.0, which agrees in the numbers of the tests, with one to six of
//! them by arguments, constants or each other.

use crate::event::Instruction;
use ptx_isa::Class;

/// Words in use while a routine runs, besides those of values that have nothing to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Routine {
    /// Where registers are short, operands and results among them.
    pub least: u32,
    /// Where they are not, operands and results among them.
    pub usual: u32,
    /// What comes to that where an operand is read later.
    pub later: u32,
    pub kind: Kind,
}

/// What decides how many words of a routine come to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In line. A constant in the place of an operand saves so many words, where registers are short and where not.
    /// So many others of these that do not wait for it are done at the same time, and take what is `beside` it more.
    Mixed { constant: (u32, u32), beside: u32, others: usize },
    /// In line, at the end of a block: nothing else is done meanwhile. Whether operands that are read later lie
    /// elsewhere meanwhile, where registers are short.
    Alone { copies: bool },
    /// Called: loads have come by then, so that it takes any registers that are free, so many behind the last one at
    /// least. Operands as in line.
    Called { copies: bool, behind: u32 },
}

/// Words that a quotient takes besides its operands where the reciprocal of the divisor is at hand, which is one of
/// them.
pub(crate) const KNOWN_QUOTIENT: u32 = 3;

impl Routine {
    const fn new(least: u32, usual: u32, kind: Kind) -> Option<Self> {
        Some(Self { least, usual, later: 0, kind })
    }

    const fn with_later(least: u32, (usual, later): (u32, u32), kind: Kind) -> Option<Self> {
        Some(Self { least, usual, later, kind })
    }

    /// That of an instruction, if it is done by one.
    fn of_class(class: Class) -> Option<Self> {
        use Kind::{Alone, Called, Mixed};
        match class {
            Class::IntMul64 => {
                Self::with_later(5, (6, 2), Mixed { constant: (1, 2), beside: 2, others: 2 })
            }
            Class::IntDiv => Self::new(5, 5, Mixed { constant: (2, 2), beside: 4, others: 2 }),
            Class::IntDivSigned => {
                Self::new(7, 8, Mixed { constant: (2, 2), beside: 6, others: 2 })
            }
            Class::IntMulHi64 => Self::new(8, 9, Mixed { constant: (2, 2), beside: 6, others: 1 }),
            Class::F32Sqrt => Self::new(6, 8, Called { copies: true, behind: 2 }),
            Class::F32Rcp => Self::new(7, 10, Called { copies: true, behind: 2 }),
            Class::F32Div => Self::new(9, 11, Called { copies: false, behind: 4 }),
            Class::F64Div => Self::new(18, 21, Called { copies: true, behind: 2 }),
            Class::F64Rcp => Self::new(9, 9, Alone { copies: true }),
            Class::F64Rsqrt => Self::new(9, 9, Alone { copies: false }),
            Class::IntDiv64 => Self::with_later(11, (14, 2), Alone { copies: false }),
            Class::IntDivSigned64 => Self::new(13, 17, Alone { copies: false }),
            Class::F64Sqrt => Self::new(14, 15, Alone { copies: false }),
            _ => None,
        }
    }

    /// That of an instruction, if it is done by one, with so many operands in registers.
    pub fn of(i: &Instruction, registers: usize) -> Option<Self> {
        let Self { least, usual, later, kind } = Self::of_class(i.class)?;
        let less = match kind {
            Kind::Mixed { constant, .. } if registers < 2 => constant,
            Kind::Mixed { .. } | Kind::Alone { .. } | Kind::Called { .. } => (0, 0),
        };
        Some(Self { least: least - less.0, usual: usual - less.1, later, kind })
    }

    /// Words that operands which are read later take besides, of so many, where registers are short.
    pub fn copied(&self, later: u32) -> u32 {
        match self.kind {
            Kind::Alone { copies: true } | Kind::Called { copies: true, .. } => later,
            Kind::Alone { .. } | Kind::Called { .. } | Kind::Mixed { .. } => 0,
        }
    }
}
