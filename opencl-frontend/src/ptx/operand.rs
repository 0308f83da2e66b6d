//! Operands as text.

use std::fmt::{Display, Formatter};

use super::regs::Reg;

/// What stands for a value in the text.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Operand<'w> {
    /// Nothing uses the value.
    Nothing,
    Reg(Reg),
    Int(i64),
    Half(u64),
    Single(u32),
    Double(u64),
    Name(&'w str),
}

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Operand::Nothing => Ok(()),
            Operand::Reg(r) => r.fmt(f),
            Operand::Int(value) => value.fmt(f),
            Operand::Half(bits) => write!(f, "0x{bits:04X}"),
            Operand::Single(bits) => write!(f, "0f{bits:08X}"),
            Operand::Double(bits) => write!(f, "0d{bits:016X}"),
            Operand::Name(name) => f.write_str(name),
        }
    }
}

/// An address with its brackets.
#[derive(Clone, Copy)]
pub(super) struct Address<'w> {
    pub base: Operand<'w>,
    pub offset: i64,
}

impl Display for Address<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.offset {
            0 => write!(f, "[{}]", self.base),
            offset => write!(f, "[{}+{offset}]", self.base),
        }
    }
}

/// Things with commas between them.
pub(super) struct List<'l, T>(pub &'l [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            item.fmt(f)?;
        }
        Ok(())
    }
}
