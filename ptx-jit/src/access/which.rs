//! Which effects have code of their own, and what the memory that they touch is like.

use cranelift_codegen::ir::AtomicRmwOp;
use ptx_isa::Space;
use ptx_isa::effect::{Atom, AtomOp, Mem};

use crate::ir::Func;

/// Fast accesses need this.
pub(crate) fn quick(m: &Mem) -> bool {
    use Space::*;
    let space = matches!(m.place.space, Global | Generic | Shared | Const | Local | ParamFunc);
    space && matches!(m.bytes, 1 | 2 | 4 | 8) && m.count <= 4
}

/// Whether every thread has its own memory there.
pub(crate) fn own(m: &Mem) -> bool {
    matches!(m.place.space, Space::Local | Space::ParamFunc)
}

/// Bytes of local memory per thread.
pub(crate) fn local_bytes(f: &Func) -> usize {
    (f.frame_bytes as usize).next_multiple_of(16)
}

/// Atomics with code of their own.
pub(super) fn quick_atom(a: &Atom) -> bool {
    matches!(a.place.space, Space::Global | Space::Generic | Space::Shared)
        && matches!(a.bytes, 4 | 8)
        && a.count <= 1
        && (a.op == AtomOp::Cas || rmw(a.op).is_some())
}

/// Cranelift's operation, for those that need no loop.
pub(super) fn rmw(op: AtomOp) -> Option<AtomicRmwOp> {
    Some(match op {
        AtomOp::And => AtomicRmwOp::And,
        AtomOp::Or => AtomicRmwOp::Or,
        AtomOp::Xor => AtomicRmwOp::Xor,
        AtomOp::Add => AtomicRmwOp::Add,
        AtomOp::MinU => AtomicRmwOp::Umin,
        AtomOp::MaxU => AtomicRmwOp::Umax,
        AtomOp::MinS => AtomicRmwOp::Smin,
        AtomOp::MaxS => AtomicRmwOp::Smax,
        AtomOp::Exch => AtomicRmwOp::Xchg,
        AtomOp::Cas
        | AtomOp::Inc
        | AtomOp::Dec
        | AtomOp::AddF32
        | AtomOp::AddF32Noftz
        | AtomOp::AddF64
        | AtomOp::AddF16
        | AtomOp::AddF16x2
        | AtomOp::AddBf16
        | AtomOp::AddBf16x2
        | AtomOp::MinF16
        | AtomOp::MaxF16
        | AtomOp::MinF16x2
        | AtomOp::MaxF16x2
        | AtomOp::MinBf16
        | AtomOp::MaxBf16
        | AtomOp::MinBf16x2
        | AtomOp::MaxBf16x2 => return None,
    })
}
