//! Rules for operations on two values, in the order in which they are tried: the first that answers wins.
//!
//! Constants stand on the right when a rule looks at an operation, unless both operands are constant.

use super::fold::{exact_reciprocal, is_signed_power, one, sign};
use super::func::NO_WRAP;
use super::op::{BinOp, Op, Ty, UnOp, Val};
use super::simplify::Builder;
use BinOp::*;

/// An operation on two values, before it is built.
#[derive(Clone, Copy)]
pub(super) struct Binary {
    pub(super) op: BinOp,
    pub(super) x: Val,
    pub(super) y: Val,
    pub(super) ty: Ty,
    pub(super) flags: u8,
    /// The bits of `y`, if it is a constant.
    pub(super) constant: Option<u64>,
}

/// What says the same in a simpler way; `None` if the rule does not apply.
type Apply = fn(&mut Builder<'_>, Binary) -> Option<Val>;

/// A rule, and the operations that it is for.
pub(super) struct Rule {
    ops: u64,
    pub(super) apply: Apply,
}

impl Rule {
    /// Whether the rule is for `op`.
    pub(super) fn is_for(&self, op: BinOp) -> bool {
        self.ops >> op as u32 & 1 == 1
    }
}

const fn rule(ops: &[BinOp], apply: Apply) -> Rule {
    let (mut set, mut i) = (0, 0);
    while i < ops.len() {
        set |= 1 << ops[i] as u32;
        i += 1;
    }
    Rule { ops: set, apply }
}

/// All rules. Earlier ones leave less to later ones: moving one may change what is built.
pub(super) const RULES: &[Rule] = &[
    // A constant on the right.
    rule(&[Add, Or, Xor, Shl, LShr, AShr], by_zero),
    rule(&[Sub], subtraction_of_constant),
    rule(&[Mul, And], zeroed),
    rule(&[Mul, SDiv, UDiv], by_one),
    rule(&[SRem, URem], remainder_of_one),
    rule(&[And], and_all_bits),
    rule(&[Or], or_all_bits),
    rule(&[And], and_of_small_value),
    rule(&[And], and_of_and),
    rule(&[AShr], sign_of_small_value),
    rule(&[Xor], xor_all_bits),
    rule(&[Mul], by_minus_one),
    rule(&[Mul], product_as_shift),
    rule(&[UDiv], quotient_as_shift),
    rule(&[URem], remainder_as_mask),
    rule(&[SDiv], signed_quotient_as_shift),
    rule(&[SRem], signed_remainder),
    rule(&[SMulWide, UMulWide], wide_by_one),
    // A constant on the right, and one within the left operand: constants outward, so that addresses fold.
    rule(&[Add], sum_of_sum),
    rule(&[Shl], shift_of_sum),
    rule(&[Mul], product_of_sum),
    rule(&[Shl], shift_of_shift),
    rule(&[Shl], shift_of_wide_product),
    rule(&[SMulWide, UMulWide], wide_product_of_sum),
    rule(&[Shl], shift_of_extension),
    rule(&[Mul], product_of_extension),
    // No constant on the right.
    rule(&[Add], sum_with_inner_constant),
    // Any operands.
    rule(&[Sub], low_bits),
    rule(&[Or, Xor, Add], rotation),
    rule(&[Sub, Xor], difference_with_itself),
    rule(&[And, Or, SMin, SMax, UMin, UMax], same_operands),
    rule(&[Add, Sub], negated_operand),
    rule(&[FDiv, FDivFull], by_power_of_two),
    rule(&[FMul], by_float_one),
    rule(&[FAdd], sum_of_negated),
    rule(&[FSub], difference_of_negated),
];

/// `x + 0`, `x | 0`, `x << 0`, …
fn by_zero(_: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.constant? == 0).then_some(b.x)
}

/// `x - c` = `x + -c`.
fn subtraction_of_constant(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let c = b.constant?;
    let negated = build.constant(b.ty, c.wrapping_neg());
    // The most negative number has no counterpart.
    let flags = if c == 1 << (b.ty.bits() - 1) { 0 } else { b.flags };
    Some(build.bin(Add, b.x, negated, b.ty, flags))
}

/// `x * 0`, `x & 0`.
fn zeroed(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.constant? == 0).then(|| build.constant(b.ty, 0))
}

/// `x * 1`, `x / 1`.
fn by_one(_: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.constant? == 1).then_some(b.x)
}

/// `x % 1`.
fn remainder_of_one(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.constant? == 1).then(|| build.constant(b.ty, 0))
}

fn and_all_bits(_: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.constant? == b.ty.mask()).then_some(b.x)
}

fn or_all_bits(_: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.constant? == b.ty.mask()).then_some(b.y)
}

/// A mask of low bits that leaves `x` as it is.
fn and_of_small_value(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let c = b.constant?;
    let limit = build.f.known_below(b.x)?;
    (limit & !c == 0 && (c + 1).is_power_of_two()).then_some(b.x)
}

/// `(z & d) & c`.
fn and_of_and(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let (c, z, d) = inner(build, b, And)?;
    let both = build.constant(b.ty, c & d);
    Some(build.bin(And, z, both, b.ty, 0))
}

/// The sign of a value that is not negative.
fn sign_of_small_value(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let all_out = b.constant? >= u64::from(b.ty.bits()) - 1;
    (all_out && build.f.known_below(b.x).is_some()).then(|| build.constant(b.ty, 0))
}

fn xor_all_bits(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.constant? == b.ty.mask()).then(|| build.un(UnOp::Not, b.x, b.ty, 0))
}

fn by_minus_one(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.constant? == b.ty.mask()).then(|| build.un(UnOp::Neg, b.x, b.ty, b.flags))
}

/// `x * 2^k` = `x << k`.
fn product_as_shift(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let count = exponent(build, b)?;
    Some(build.bin(Shl, b.x, count, b.ty, b.flags))
}

/// `x / 2^k` = `x >> k`.
fn quotient_as_shift(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let count = exponent(build, b)?;
    Some(build.bin(LShr, b.x, count, b.ty, 0))
}

/// `x % 2^k` = `x & (2^k - 1)`.
fn remainder_as_mask(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let c = b.constant.filter(|c| c.is_power_of_two())?;
    let mask = build.constant(b.ty, c - 1);
    Some(build.bin(And, b.x, mask, b.ty, 0))
}

fn signed_quotient_as_shift(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let c = b.constant.filter(|c| is_signed_power(*c, b.ty))?;
    Some(build.signed_quotient(b.x, c, b.ty))
}

/// `x % 2^k` = `x - x / 2^k * 2^k`.
fn signed_remainder(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let c = b.constant.filter(|c| is_signed_power(*c, b.ty))?;
    let quotient = build.signed_quotient(b.x, c, b.ty);
    let whole = build.bin(Mul, quotient, b.y, b.ty, 0);
    Some(build.bin(Sub, b.x, whole, b.ty, 0))
}

fn wide_by_one(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let extension = if b.op == SMulWide { UnOp::SExt64 } else { UnOp::ZExt64 };
    (b.constant? == 1).then(|| build.un(extension, b.x, Ty::I64, 0))
}

/// `(z + d) + c`.
fn sum_of_sum(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let (c, z, d) = inner(build, b, Add)?;
    let inner_flags = build.f.values[b.x.0 as usize].flags;
    let total = c.wrapping_add(d) & b.ty.mask();
    let sum = build.constant(b.ty, total);
    // Both additions in range and of one sign: so is their sum, if it exists.
    let same_sign = sign(c, b.ty) == sign(d, b.ty) && sign(total, b.ty) == sign(c, b.ty);
    Some(build.bin(Add, z, sum, b.ty, if same_sign { b.flags & inner_flags } else { 0 }))
}

/// `(z + d) << c`, for addresses. Elements are seldom larger than 256 bytes, and a shift by more is mostly half of a
/// rotation, whose other half stays as it is.
fn shift_of_sum(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let (c, z, d) = inner(build, b, Add).filter(|(c, ..)| b.ty == Ty::I64 && *c <= 8)?;
    let moved = build.bin(Shl, z, b.y, b.ty, 0);
    let shifted = build.constant(b.ty, d << c);
    Some(build.bin(Add, moved, shifted, b.ty, 0))
}

/// `(z + d) * c`, for addresses.
fn product_of_sum(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let (c, z, d) = inner(build, b, Add).filter(|_| b.ty == Ty::I64)?;
    let moved = build.bin(Mul, z, b.y, b.ty, 0);
    let scaled = build.constant(b.ty, d.wrapping_mul(c));
    Some(build.bin(Add, moved, scaled, b.ty, 0))
}

/// `(z << d) << c`.
fn shift_of_shift(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let (c, z, d) = inner(build, b, Shl)?;
    let total = c + d;
    if total >= u64::from(b.ty.bits()) {
        return Some(build.constant(b.ty, 0));
    }
    let total = build.constant(Ty::I32, total);
    Some(build.bin(Shl, z, total, b.ty, 0))
}

/// A wide product by a constant, times a power of two.
fn shift_of_wide_product(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let Op::Bin(wide @ (SMulWide | UMulWide), z, d) = *build.f.op(b.x) else { return None };
    let c = b.constant.filter(|c| *c < 31)?;
    let scaled = build.f.as_const(d)? << c;
    if scaled >= 1 << 31 {
        return None;
    }
    let scaled = build.constant(Ty::I32, scaled);
    Some(build.bin(wide, z, scaled, b.ty, 0))
}

/// A wide product of a sum or product that stays in range.
fn wide_product_of_sum(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let Op::Bin(inner, z, d) = *build.f.op(b.x) else { return None };
    let (c, d) = (b.constant?, build.f.as_const(d)?);
    let (sc, sd) = (c as u32 as i32, d as u32 as i32);
    let no_wrap = build.f.values[b.x.0 as usize].flags & NO_WRAP != 0;
    // Without a promise, small operands are proof; with one, the signed product is right.
    let small = build.f.known_below(b.x).is_some() && build.f.known_below(z).is_some();
    let exact = if b.op == SMulWide { small || no_wrap } else { small && sc >= 0 };
    if !exact {
        return None;
    }
    let factor = match inner {
        Add if no_wrap || sd >= 0 => {
            let wide = build.bin(b.op, z, b.y, b.ty, 0);
            let offset = build.constant(b.ty, i64::from(sd).wrapping_mul(i64::from(sc)) as u64);
            return Some(build.bin(Add, wide, offset, b.ty, 0));
        }
        Mul => sc.checked_mul(sd)?,
        Shl if d < 31 => sc.checked_mul(1 << d)?,
        _ => return None,
    };
    if factor <= 0 {
        return None;
    }
    let factor = build.constant(Ty::I32, factor as u64);
    Some(build.bin(b.op, z, factor, b.ty, 0))
}

/// An extended index times the size of an element: one wide multiplication.
fn shift_of_extension(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let c = b.constant.filter(|c| *c < 31)?;
    extended_product(build, b, 1 << c)
}

fn product_of_extension(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let c = b.constant.filter(|c| *c < 1 << 31)?;
    extended_product(build, b, c)
}

fn extended_product(build: &mut Builder<'_>, b: Binary, size: u64) -> Option<Val> {
    let (wide, z) = match *build.f.op(b.x) {
        Op::Un(UnOp::SExt64, z) => (SMulWide, z),
        Op::Un(UnOp::ZExt64, z) => (UMulWide, z),
        _ => return None,
    };
    let size = build.constant(Ty::I32, size);
    Some(build.raw(Op::Bin(wide, z, size), b.ty, 0))
}

/// `(z + d) + y` = `(z + y) + d`, for addresses.
fn sum_with_inner_constant(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    if b.constant.is_some() || b.ty != Ty::I64 {
        return None;
    }
    for (p, q) in [(b.x, b.y), (b.y, b.x)] {
        if let Op::Bin(Add, z, d) = *build.f.op(p)
            && build.f.as_const(d).is_some()
        {
            let sum = build.bin(Add, z, q, b.ty, 0);
            return Some(build.bin(Add, sum, d, b.ty, 0));
        }
    }
    None
}

/// `x - (x >> k << k)` takes the low bits.
fn low_bits(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let f = &*build.f;
    let Op::Bin(Shl, z, k) = *f.op(b.y) else { return None };
    let k = f.as_const(k).filter(|k| *k < u64::from(b.ty.bits()))?;
    let Op::Bin(LShr | AShr, w, j) = *f.op(z) else { return None };
    if w != b.x || f.as_const(j) != Some(k) {
        return None;
    }
    let mask = build.constant(b.ty, (1 << k) - 1);
    Some(build.bin(And, b.x, mask, b.ty, 0))
}

/// Two shifts that together rotate.
fn rotation(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let f = &*build.f;
    let (Op::Bin(p, v, m), Op::Bin(q, w, n)) = (*f.op(b.x), *f.op(b.y)) else { return None };
    if b.ty != Ty::I32 || v != w || !matches!((p, q), (Shl, LShr) | (LShr, Shl)) {
        return None;
    }
    let (left, right) = if p == Shl { (m, n) } else { (n, m) };
    let rotates = match (f.as_const(left), f.as_const(right)) {
        (Some(l), Some(r)) => l > 0 && r > 0 && l + r == 32,
        _ => b.op == Or && complementary(build, left, right),
    };
    rotates.then(|| build.bin(Rotl, v, left, b.ty, 0))
}

/// `right` is `(32 - left) & 31` and `left` is below 32.
fn complementary(build: &Builder<'_>, left: Val, right: Val) -> bool {
    let f = &*build.f;
    let Op::Bin(And, n, mask) = *f.op(right) else { return false };
    let below = matches!(*f.op(left), Op::Bin(And, _, m) if f.as_const(m) == Some(31));
    let negated = match *f.op(n) {
        Op::Un(UnOp::Neg, l) => l == left,
        Op::Bin(Sub, c, l) => l == left && f.as_const(c) == Some(32),
        _ => false,
    };
    below && negated && f.as_const(mask) == Some(31)
}

fn difference_with_itself(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.x == b.y).then(|| build.constant(b.ty, 0))
}

fn same_operands(_: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.x == b.y).then_some(b.x)
}

/// `x + -z`, `x - -z`, `-z + y`.
fn negated_operand(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    if let Op::Un(UnOp::Neg, z) = *build.f.op(b.y) {
        return Some(build.bin(if b.op == Add { Sub } else { Add }, b.x, z, b.ty, 0));
    }
    let Op::Un(UnOp::Neg, z) = *build.f.op(b.x) else { return None };
    (b.op == Add).then(|| build.bin(Sub, b.y, z, b.ty, 0))
}

/// A divisor that is a power of two whose reciprocal is normal: the product is exact.
fn by_power_of_two(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let reciprocal = exact_reciprocal(b.ty, b.constant?)?;
    let reciprocal = build.constant(b.ty, reciprocal);
    Some(build.bin(FMul, b.x, reciprocal, b.ty, b.flags))
}

fn by_float_one(_: &mut Builder<'_>, b: Binary) -> Option<Val> {
    (b.constant? == one(b.ty)).then_some(b.x)
}

fn sum_of_negated(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    if let Op::Un(UnOp::FNeg, z) = *build.f.op(b.y) {
        return Some(build.bin(FSub, b.x, z, b.ty, b.flags));
    }
    let Op::Un(UnOp::FNeg, z) = *build.f.op(b.x) else { return None };
    Some(build.bin(FSub, b.y, z, b.ty, b.flags))
}

fn difference_of_negated(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let Op::Un(UnOp::FNeg, z) = *build.f.op(b.y) else { return None };
    Some(build.bin(FAdd, b.x, z, b.ty, b.flags))
}

/// `(z op d) … c`: the constant on the right, and the operands of an operation `op` on a constant on the left.
fn inner(build: &Builder<'_>, b: Binary, op: BinOp) -> Option<(u64, Val, u64)> {
    match *build.f.op(b.x) {
        Op::Bin(found, z, d) if found == op => Some((b.constant?, z, build.f.as_const(d)?)),
        _ => None,
    }
}

/// `k` where the constant on the right is `2^k`, as a shift count.
fn exponent(build: &mut Builder<'_>, b: Binary) -> Option<Val> {
    let c = b.constant.filter(|c| c.is_power_of_two())?;
    Some(build.constant(Ty::I32, u64::from(c.trailing_zeros())))
}
