//! Which registers and constants fit a slot (PTX ISA 9.4 and tables 27, 28).

use ptx_isa::Ty;
use ptx_isa::types::TyClass;

use crate::ast::Imm;

/// Whether a register declared `declared` may stand where the instruction says `ty`.
pub(super) fn register_fits(ty: Ty, declared: Ty, relaxed: bool) -> bool {
    if ty == Ty::Pred || declared == Ty::Pred {
        return ty == declared;
    }
    let (want, have) = (ty.bits(), declared.bits());
    if have < want || have > want && !relaxed {
        return false;
    }
    if have > want {
        // A wider register holds an integer or bits, never a float.
        return match ty.class() {
            TyClass::Float | TyClass::Half => declared.class() == TyClass::Bits,
            _ => !matches!(declared.class(), TyClass::Float | TyClass::Half),
        };
    }
    match (ty.class(), declared.class()) {
        (_, TyClass::Bits) | (TyClass::Bits, _) => true,
        (TyClass::Uint | TyClass::Sint, TyClass::Uint | TyClass::Sint) => true,
        (a, b) => a == b,
    }
}

/// The bits of constant `imm` at type `ty`, or why it may not stand there.
pub(super) fn constant_bits(ty: Ty, imm: Imm) -> Result<u64, &'static str> {
    let float = |v: f64| -> Result<u64, &'static str> {
        match ty {
            Ty::F64 => Ok(v.to_bits()),
            Ty::F32 => Ok((v as f32).to_bits() as u64),
            _ => Err("a floating-point constant"),
        }
    };
    match imm {
        Imm::Signed(v) => integer(ty, v as u64),
        Imm::Unsigned(v) => integer(ty, v),
        Imm::F32(bits) => match ty {
            Ty::F32 | Ty::B32 => Ok(bits as u64),
            Ty::F64 => Ok((f32::from_bits(bits) as f64).to_bits()),
            _ => float(f32::from_bits(bits) as f64),
        },
        Imm::F64(bits) => match ty {
            Ty::B64 => Ok(bits),
            _ => float(f64::from_bits(bits)),
        },
    }
}

fn integer(ty: Ty, v: u64) -> Result<u64, &'static str> {
    match ty.class() {
        TyClass::Float | TyClass::Half => Err("an integer constant"),
        TyClass::Pred => Ok((v != 0) as u64),
        _ if ty.bits() < 64 => Ok(v & ((1u64 << ty.bits()) - 1)),
        _ => Ok(v),
    }
}
