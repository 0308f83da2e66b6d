//! Words for types and roundings.

use crate::ir::{MemTy, Round, Ty};

/// Type suffix of a move.
pub(super) fn move_type(ty: Ty) -> &'static str {
    match ty {
        Ty::None | Ty::Pred => "pred",
        Ty::F16 => "b16",
        Ty::I32 => "u32",
        Ty::I64 => "u64",
        Ty::F32 => "f32",
        Ty::F64 => "f64",
    }
}

/// Type suffix of an operation on bits.
pub(super) fn bits(ty: Ty) -> &'static str {
    match ty {
        Ty::None | Ty::Pred => "pred",
        Ty::F16 => "b16",
        Ty::I32 | Ty::F32 => "b32",
        Ty::I64 | Ty::F64 => "b64",
    }
}

/// Type suffix of a signed integer.
pub(super) fn signed(ty: Ty) -> &'static str {
    if ty == Ty::I64 { "s64" } else { "s32" }
}

/// Type suffix of an unsigned integer.
pub(super) fn unsigned(ty: Ty) -> &'static str {
    if ty == Ty::I64 { "u64" } else { "u32" }
}

/// Type suffix of an operation on floats.
pub(super) fn float(ty: Ty) -> &'static str {
    match ty {
        Ty::F16 => "f16",
        Ty::F64 => "f64",
        Ty::F32 => "f32",
        // Asked for with every operation, written with those on floats.
        Ty::None | Ty::Pred | Ty::I32 | Ty::I64 => "f32",
    }
}

/// How an operation rounds.
pub(super) fn rounding(round: Round) -> &'static str {
    match round {
        Round::Nearest => "rn",
        Round::Zero => "rz",
        Round::Up => "rp",
        Round::Down => "rm",
    }
}

/// How a conversion to an integral value rounds.
pub(super) fn integral(round: Round) -> &'static str {
    match round {
        Round::Nearest => "rni",
        Round::Zero => "rzi",
        Round::Up => "rpi",
        Round::Down => "rmi",
    }
}

/// The type of a load, a store or a parameter.
pub(super) fn memory_type(ty: MemTy) -> &'static str {
    match ty {
        MemTy::S8 => "s8",
        MemTy::U8 => "u8",
        MemTy::S16 => "s16",
        MemTy::U16 => "u16",
        MemTy::B32 => "u32",
        MemTy::B64 => "u64",
        MemTy::F16 => "b16",
        MemTy::F32 => "f32",
        MemTy::F64 => "f64",
    }
}

/// The type of a store: it takes the low bits, whatever the sign.
pub(super) fn stored_type(ty: MemTy) -> &'static str {
    match ty {
        MemTy::S8 => "u8",
        MemTy::S16 => "u16",
        MemTy::U8 | MemTy::U16 | MemTy::B32 | MemTy::B64 | MemTy::F16 | MemTy::F32 | MemTy::F64 => {
            memory_type(ty)
        }
    }
}
