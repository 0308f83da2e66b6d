//! Which effects have code of their own, and what the memory that they touch is like.

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
    use AtomOp::*;
    use Space::*;
    matches!(a.place.space, Global | Generic | Shared)
        && matches!(a.bytes, 4 | 8)
        && a.count <= 1
        && matches!(a.op, And | Or | Xor | Exch | Cas | Add | MinU | MaxU | MinS | MaxS)
}

/// Bytes from one lane's own memory to the next one's; 0 where they share it.
pub(super) fn apart(f: &Func, m: &Mem) -> i64 {
    if own(m) { local_bytes(f) as i64 } else { 0 }
}
