//! What is known of values without running the program: upper bounds.

use super::func::Func;
use super::op::{BinOp, MemTy, Op, Sreg, UnOp, Val};

/// How far definitions are followed.
const DEPTH: u32 = 4;

impl Func {
    /// A bound `m` of the form 2^k-1, below the sign bit: the value is known to lie from 0 to `m`.
    pub fn known_below(&self, x: Val) -> Option<u64> {
        self.below(x, DEPTH)
    }

    fn below(&self, x: Val, depth: u32) -> Option<u64> {
        let fits = |limit: u64| {
            let rounded = limit.checked_add(1)?.checked_next_power_of_two()? - 1;
            (rounded <= self.ty(x).mask() / 2).then_some(rounded)
        };
        let deeper = |v: Val| if depth == 0 { None } else { self.below(v, depth - 1) };
        match *self.op(x) {
            Op::Const(c) => fits(c),
            Op::Load(m, _) if m.ty == MemTy::U8 => Some(0xff),
            Op::Load(m, _) if m.ty == MemTy::U16 => Some(0xffff),
            Op::Un(UnOp::ZExt8, _) => Some(0xff),
            Op::Un(UnOp::ZExt16, _) => Some(0xffff),
            Op::Un(UnOp::ZExt64, y) => deeper(y).or(Some(0xffff_ffff)),
            Op::Un(UnOp::Popc | UnOp::Clz, _) => Some(0x7f),
            Op::Sreg(s) => Some(self.sreg_limit(s)?),
            Op::Bin(BinOp::And, a, b) => match (deeper(a), deeper(b)) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (one, other) => one.or(other),
            },
            Op::Bin(BinOp::LShr, a, c) => {
                let c = self.as_const(c).filter(|c| *c < u64::from(self.ty(x).bits()))?;
                fits(deeper(a).unwrap_or(self.ty(a).mask()) >> c)
            }
            Op::Bin(BinOp::Add, a, b) => fits(deeper(a)?.checked_add(deeper(b)?)?),
            Op::Bin(BinOp::Or | BinOp::Xor, a, b) => fits(deeper(a)? | deeper(b)?),
            Op::Bin(BinOp::Mul | BinOp::UMulWide, a, b) => {
                fits(deeper(a)?.checked_mul(deeper(b)?)?)
            }
            Op::Bin(BinOp::Shl, a, c) => {
                let c = self.as_const(c).filter(|c| *c < 32)?;
                fits(deeper(a)?.checked_mul(1 << c)?)
            }
            Op::Bin(BinOp::URem, _, c) => fits(self.as_const(c)?.checked_sub(1)?),
            Op::Select(_, a, b) => fits(deeper(a)?.max(deeper(b)?)),
            _ => None,
        }
    }

    /// Limits of the launch (CUDA C++ Programming Guide, table of technical specifications), and of
    /// `reqd_work_group_size`.
    fn sreg_limit(&self, s: Sreg) -> Option<u64> {
        let required =
            |n: u8| self.required_size.map(|size| u64::from(size[usize::from(n.min(2))]));
        match s {
            Sreg::Tid(n) => {
                let size = required(n).unwrap_or(if n == 2 { 64 } else { 1024 });
                Some(size.max(1).next_power_of_two() - 1)
            }
            Sreg::Ntid(n) => Some(if n == 2 { 0x7f } else { 0x7ff }),
            Sreg::Ctaid(0) | Sreg::Nctaid(0) => Some(0x7fff_ffff),
            Sreg::Ctaid(_) | Sreg::Nctaid(_) => Some(0xffff),
            Sreg::EnvReg(_) => None,
            Sreg::Lane => Some(31),
        }
    }

    /// The value of a special register, where `reqd_work_group_size` decides it.
    pub fn known_sreg(&self, s: Sreg) -> Option<u64> {
        match s {
            Sreg::Ntid(n) => Some(u64::from(self.required_size?[usize::from(n.min(2))])),
            _ => None,
        }
    }
}
