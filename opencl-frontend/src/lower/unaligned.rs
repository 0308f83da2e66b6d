//! Members of packed structs: accesses whose address may not be a multiple of their size
//! (OpenCL C 1.2, 6.11.1). PTX has no such accesses (PTX ISA 6.4.1), so they go piece by piece.

use super::state::Lower;
use crate::ir::{BinOp, Mem, MemTy, Op, Ty, UnOp, Val};
use crate::sema::hir::{Expr, ExprKind};

/// The unsigned access of so many bytes.
fn piece(bytes: u64) -> MemTy {
    match bytes {
        8.. => MemTy::B64,
        4..8 => MemTy::B32,
        2..4 => MemTy::U16,
        _ => MemTy::U8,
    }
}

/// An access of an integer, and the type that the value has then.
fn integer(m: Mem) -> Ty {
    if m.ty.size() == 8 { Ty::I64 } else { Ty::I32 }
}

impl Lower<'_> {
    /// Loads what `m` says, in pieces if it may lie across its alignment.
    pub(super) fn load_part(&mut self, m: Mem, address: Val) -> Val {
        let size = m.ty.size();
        if u64::from(m.align) >= size {
            return self.emit(Op::Load(m, address), m.ty.ty());
        }
        let (unit, ty) = (piece(u64::from(m.align)), integer(m));
        let mut all = None;
        for at in (0..size).step_by(unit.size() as usize) {
            let m = Mem { ty: unit, offset: m.offset + at as i64, ..m };
            let mut v = self.emit(Op::Load(m, address), Ty::I32);
            if ty == Ty::I64 {
                v = self.emit(Op::Un(UnOp::ZExt64, v), ty);
            }
            let count = self.constant(Ty::I32, 8 * at);
            let v = self.emit(Op::Bin(BinOp::Shl, v, count), ty);
            all = Some(match all {
                None => v,
                Some(low) => self.emit(Op::Bin(BinOp::Or, low, v), ty),
            });
        }
        let Some(all) = all else { unreachable!("every access has a size") };
        match m.ty {
            MemTy::S16 => self.emit(Op::Un(UnOp::SExt16, all), Ty::I32),
            MemTy::F16 | MemTy::F32 | MemTy::F64 => {
                self.emit(Op::Un(UnOp::Bitcast, all), m.ty.ty())
            }
            MemTy::S8 | MemTy::U8 | MemTy::U16 | MemTy::B32 | MemTy::B64 => all,
        }
    }

    /// Stores `v` as `m` says, in pieces if it may lie across its alignment.
    pub(super) fn store_part(&mut self, m: Mem, address: Val, v: Val) {
        let size = m.ty.size();
        if u64::from(m.align) >= size {
            self.emit(Op::Store(m, address, v), Ty::None);
            return;
        }
        let (unit, ty) = (piece(u64::from(m.align)), integer(m));
        let float = matches!(m.ty, MemTy::F16 | MemTy::F32 | MemTy::F64);
        let v = if float { self.emit(Op::Un(UnOp::Bitcast, v), ty) } else { v };
        for at in (0..size).step_by(unit.size() as usize) {
            let count = self.constant(Ty::I32, 8 * at);
            let mut part = self.emit(Op::Bin(BinOp::LShr, v, count), ty);
            if ty == Ty::I64 {
                part = self.emit(Op::Un(UnOp::Trunc32, part), Ty::I32);
            }
            let m = Mem { ty: unit, offset: m.offset + at as i64, ..m };
            self.emit(Op::Store(m, address, part), Ty::None);
        }
    }

    /// Alignment of what `pointer` points to where that is an element of an array in a packed
    /// struct; otherwise the type decides.
    pub(super) fn packed_elements(&self, pointer: &Expr) -> Option<u64> {
        match &pointer.kind {
            ExprKind::PointerAdd(p, _, size) => {
                Some(self.packed_elements(p)?.min(1 << size.trailing_zeros().min(16)))
            }
            ExprKind::AddressOf(object) => self.packed_object(object),
            _ => None,
        }
    }

    fn packed_object(&self, object: &Expr) -> Option<u64> {
        match &object.kind {
            ExprKind::Member(base, offset) => {
                let own = self.program.types.align(base.ty.id).max(1);
                let whole = self.packed_object(base).map_or(own, |a| a.min(own));
                Some(whole.min(1 << offset.trailing_zeros().min(16)))
            }
            ExprKind::Deref(pointer) => self.packed_elements(pointer),
            _ => None,
        }
    }
}
