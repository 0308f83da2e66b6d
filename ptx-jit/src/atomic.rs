//! Atomic read-modify-write: the new value of a word.

use ptx_isa::effect::AtomOp;
use ptx_isa::num::half::{self, Clamp, Half};
use ptx_isa::num::{fp32, fp64};

/// What `op` makes of `old`; `shared`: in shared memory, which matters for float additions.
pub(crate) fn apply(op: AtomOp, bytes: u8, shared: bool, old: u64, b: u64, c: u64) -> u64 {
    let sign = |v: u64| if bytes == 8 { v as i64 } else { v as i32 as i64 };
    let (x, y) = (old as u32, b as u32);
    let add = |h: Half, a, b| half::add(h, false, Clamp::None, a, b);
    let min_max = |h: Half, max: bool, a, b| half::min_max(h, max, false, false, false, a, b);
    match op {
        AtomOp::And => old & b,
        AtomOp::Or => old | b,
        AtomOp::Xor => old ^ b,
        AtomOp::Exch => b,
        AtomOp::Cas if old == b => c,
        AtomOp::Cas => old,
        AtomOp::Add => old.wrapping_add(b),
        AtomOp::Inc if old >= b => 0,
        AtomOp::Inc => old + 1,
        AtomOp::Dec if old == 0 || old > b => b,
        AtomOp::Dec => old - 1,
        AtomOp::MinU => old.min(b),
        AtomOp::MaxU => old.max(b),
        AtomOp::MinS => sign(old).min(sign(b)) as u64,
        AtomOp::MaxS => sign(old).max(sign(b)) as u64,
        AtomOp::AddF32 => fp32::atomic_add(shared, x, y) as u64,
        AtomOp::AddF64 => fp64::atomic_add(shared, old, b),
        AtomOp::AddF16 => add(Half::F16, x, y) as u64,
        AtomOp::AddBf16 => add(Half::Bf16, x, y) as u64,
        AtomOp::AddF16x2 => half::x2([x, y], |[a, b]| add(Half::F16, a, b)) as u64,
        AtomOp::AddBf16x2 => half::x2([x, y], |[a, b]| add(Half::Bf16, a, b)) as u64,
        AtomOp::MinF16 => min_max(Half::F16, false, x, y) as u64,
        AtomOp::MaxF16 => min_max(Half::F16, true, x, y) as u64,
        AtomOp::MinBf16 => min_max(Half::Bf16, false, x, y) as u64,
        AtomOp::MaxBf16 => min_max(Half::Bf16, true, x, y) as u64,
        AtomOp::MinF16x2 => half::x2([x, y], |[a, b]| min_max(Half::F16, false, a, b)) as u64,
        AtomOp::MaxF16x2 => half::x2([x, y], |[a, b]| min_max(Half::F16, true, a, b)) as u64,
        AtomOp::MinBf16x2 => half::x2([x, y], |[a, b]| min_max(Half::Bf16, false, a, b)) as u64,
        AtomOp::MaxBf16x2 => half::x2([x, y], |[a, b]| min_max(Half::Bf16, true, a, b)) as u64,
    }
}
