//! Registers, and how instructions name them.

use iced_x86::Register;
use regalloc2::{PReg, RegClass};

/// How much of a register an instruction names.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum RegView {
    B,
    H,
    W,
    D,
    X,
    Y,
    Z,
    K,
}

impl RegView {
    /// The registers it names some of.
    pub(super) fn class(self) -> RegClass {
        match self {
            RegView::B | RegView::H | RegView::W | RegView::D => RegClass::Int,
            RegView::X | RegView::Y | RegView::Z => RegClass::Float,
            RegView::K => RegClass::Vector,
        }
    }

    /// The register's name.
    pub(super) fn of(self, reg: PReg) -> Register {
        let n = reg.hw_enc() as u32;
        match self {
            // `spl` to `dil` stand behind `ah` to `bh`.
            RegView::B => match n {
                0..4 => Register::AL + n,
                4..8 => Register::SPL + (n - 4),
                _ => Register::R8L + (n - 8),
            },
            RegView::H => Register::AX + n,
            RegView::W => Register::EAX + n,
            RegView::D => Register::RAX + n,
            RegView::X => Register::XMM0 + n,
            RegView::Y => Register::YMM0 + n,
            RegView::Z => Register::ZMM0 + n,
            RegView::K => Register::K0 + n,
        }
    }
}

/// Always holds the context, which nearly every access needs.
pub(super) const CONTEXT: PReg = PReg::new(15, RegClass::Int);
pub(super) const RAX: PReg = PReg::new(0, RegClass::Int);
pub(super) const ARGS: [PReg; 6] = [
    PReg::new(7, RegClass::Int),
    PReg::new(6, RegClass::Int),
    PReg::new(2, RegClass::Int),
    PReg::new(1, RegClass::Int),
    PReg::new(8, RegClass::Int),
    PReg::new(9, RegClass::Int),
];
/// Registers that a function must give back as they were, `rbp` apart.
pub(super) const KEPT: [u8; 5] = [3, 12, 13, 14, 15];
/// `rsp` and `rbp`.
pub(super) const STACK: [usize; 2] = [4, 5];
