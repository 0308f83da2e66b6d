//! Building values: constants folded, identities applied, constants moved outward so that addresses fold.

use super::fold::{
    eval_bin, eval_cmp, eval_un, exact_reciprocal, is_nan, is_signed_power, one, sign,
};
use super::{BinOp, Cmp, Func, Mem, MemTy, NO_WRAP, Op, Space, TernOp, Ty, UnOp, Val};

/// Appends `op` to `out` unless something simpler says the same; returns the value.
pub fn build(f: &mut Func, out: &mut Vec<Val>, op: Op, ty: Ty, flags: u8, loc: u32) -> Val {
    let mut b = Builder { f, out, loc };
    b.op(op, ty, flags)
}

struct Builder<'b> {
    f: &'b mut Func,
    out: &'b mut Vec<Val>,
    loc: u32,
}

impl Builder<'_> {
    fn raw(&mut self, op: Op, ty: Ty, flags: u8) -> Val {
        let v = self.f.new_value(op, ty, flags, self.loc);
        self.out.push(v);
        v
    }

    fn constant(&mut self, ty: Ty, bits: u64) -> Val {
        self.f.constant(ty, bits)
    }

    fn op(&mut self, op: Op, ty: Ty, flags: u8) -> Val {
        match op {
            Op::Const(bits) => self.constant(ty, bits),
            Op::Bin(b, x, y) => self.bin(b, x, y, ty, flags),
            Op::Un(u, x) => self.un(u, x, ty, flags),
            Op::Cmp(c, x, y) => self.cmp(c, x, y),
            Op::Select(c, x, y) => self.select(c, x, y, ty),
            Op::Tern(t, x, y, z) => self.tern(t, x, y, z, ty, flags),
            Op::Sreg(r) => match self.f.known_sreg(r) {
                Some(v) => self.constant(ty, v),
                None => self.raw(Op::Sreg(r), ty, flags),
            },
            Op::Load(m, a) => {
                let (m, a) = self.address(m, a);
                match self.initial(&m, a) {
                    Some(v) => self.constant(ty, v),
                    None => self.raw(Op::Load(m, a), ty, flags),
                }
            }
            Op::LoadVec(m, a, n) => {
                let (m, a) = self.address(m, a);
                self.raw(Op::LoadVec(m, a, n), ty, flags)
            }
            Op::Store(m, a, x) => {
                let (m, a) = self.address(m, a);
                let x = self.stored(m.ty, x);
                self.raw(Op::Store(m, a, x), ty, flags)
            }
            other => self.raw(other, ty, flags),
        }
    }

    /// Moves a constant part of the address into the offset.
    fn address(&mut self, mut m: Mem, mut a: Val) -> (Mem, Val) {
        while let Op::Bin(BinOp::Add, x, c) = *self.f.op(a) {
            let Some(c) = self.f.as_const(c) else { break };
            let offset = m.offset.wrapping_add(c as i64);
            if i32::try_from(offset).is_err() {
                break;
            }
            m.offset = offset;
            a = x;
        }
        (m, a)
    }

    /// What a load from a program-scope constant gives.
    fn initial(&self, m: &Mem, a: Val) -> Option<u64> {
        let Op::GlobalAddr(g) = *self.f.op(a) else { return None };
        if m.space != Space::Constant || m.volatile {
            return None;
        }
        let at = usize::try_from(m.offset).ok()?;
        let all = self.f.constant_data.get(g as usize)?.as_ref()?;
        let bytes = all.get(at..at.checked_add(m.ty.size() as usize)?)?;
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u64::from_le_bytes(word);
        Some(match m.ty {
            MemTy::S8 => word as i8 as u64,
            MemTy::S16 => word as i16 as u64,
            _ => word,
        })
    }

    /// A narrow store ignores the upper bits: extensions before it do nothing.
    fn stored(&mut self, ty: MemTy, x: Val) -> Val {
        match (ty, self.f.op(x)) {
            (
                MemTy::S8 | MemTy::U8,
                Op::Un(UnOp::SExt8 | UnOp::ZExt8 | UnOp::SExt16 | UnOp::ZExt16, y),
            )
            | (MemTy::S16 | MemTy::U16, Op::Un(UnOp::SExt16 | UnOp::ZExt16, y)) => *y,
            _ => x,
        }
    }

    fn bin(&mut self, op: BinOp, mut x: Val, mut y: Val, ty: Ty, flags: u8) -> Val {
        use BinOp::*;
        if let (Some(a), Some(b)) = (self.f.as_const(x), self.f.as_const(y))
            && let Some(v) = eval_bin(op, self.f.ty(x), a, b)
        {
            return self.constant(ty, v);
        }
        let constant_left = self.f.as_const(x).is_some() && self.f.as_const(y).is_none();
        if op.commutes()
            && (constant_left || (self.f.as_const(y).is_none() && x > y && !ty.is_float()))
        {
            std::mem::swap(&mut x, &mut y);
        }
        let c = self.f.as_const(y);
        let all = ty.mask();
        let shift_ty = Ty::I32;
        match (op, c) {
            (Add | Or | Xor | Shl | LShr | AShr, Some(0)) => return x,
            (Sub, Some(c)) => {
                let negated = self.constant(ty, c.wrapping_neg());
                // The most negative number has no counterpart.
                let flags = if c == 1 << (ty.bits() - 1) { 0 } else { flags };
                return self.bin(Add, x, negated, ty, flags);
            }
            (Mul | And, Some(0)) => return self.constant(ty, 0),
            (Mul | SDiv | UDiv, Some(1)) => return x,
            (SRem | URem, Some(1)) => return self.constant(ty, 0),
            (And, Some(c)) if c == all => return x,
            (Or, Some(c)) if c == all => return y,
            (And, Some(c))
                if self
                    .f
                    .known_below(x)
                    .is_some_and(|limit| limit & !c == 0 && (c + 1).is_power_of_two()) =>
            {
                return x;
            }
            (And, Some(c)) => {
                if let Op::Bin(And, z, d) = *self.f.op(x)
                    && let Some(d) = self.f.as_const(d)
                {
                    let both = self.constant(ty, c & d);
                    return self.bin(And, z, both, ty, 0);
                }
            }
            (AShr, Some(c)) if c >= u64::from(ty.bits()) - 1 && self.f.known_below(x).is_some() => {
                return self.constant(ty, 0);
            }
            (Xor, Some(c)) if c == all => return self.un(UnOp::Not, x, ty, 0),
            (Mul, Some(c)) if c == all => return self.un(UnOp::Neg, x, ty, flags),
            (Mul, Some(c)) if c.is_power_of_two() => {
                let count = self.constant(shift_ty, u64::from(c.trailing_zeros()));
                return self.bin(Shl, x, count, ty, flags);
            }
            (UDiv, Some(c)) if c.is_power_of_two() => {
                let count = self.constant(shift_ty, u64::from(c.trailing_zeros()));
                return self.bin(LShr, x, count, ty, 0);
            }
            (URem, Some(c)) if c.is_power_of_two() => {
                let mask = self.constant(ty, c - 1);
                return self.bin(And, x, mask, ty, 0);
            }
            (SDiv, Some(c)) if is_signed_power(c, ty) => return self.signed_quotient(x, c, ty),
            (SRem, Some(c)) if is_signed_power(c, ty) => {
                let quotient = self.signed_quotient(x, c, ty);
                let whole = self.bin(Mul, quotient, y, ty, 0);
                return self.bin(Sub, x, whole, ty, 0);
            }
            (SMulWide | UMulWide, Some(1)) => {
                return self.un(
                    if op == SMulWide { UnOp::SExt64 } else { UnOp::ZExt64 },
                    x,
                    Ty::I64,
                    0,
                );
            }
            _ => {}
        }
        // Constants outward: (x + c) + d, (x + c) + y, (x + c) << k, (x + c) * k.
        if let Some(c) = c {
            match (op, *self.f.op(x)) {
                (Add, Op::Bin(Add, z, d)) if self.f.as_const(d).is_some() => {
                    let d = self.f.as_const(d).unwrap_or(0);
                    let inner = self.f.values[x.0 as usize].flags;
                    let total = c.wrapping_add(d) & ty.mask();
                    let sum = self.constant(ty, total);
                    // Both additions in range and of one sign: so is their sum, if it exists.
                    let same_sign = sign(c, ty) == sign(d, ty) && sign(total, ty) == sign(c, ty);
                    return self.bin(Add, z, sum, ty, if same_sign { flags & inner } else { 0 });
                }
                (Shl, Op::Bin(Add, z, d))
                    if ty == Ty::I64 && self.f.as_const(d).is_some() && c < 64 =>
                {
                    let d = self.f.as_const(d).unwrap_or(0);
                    let moved = self.bin(Shl, z, y, ty, 0);
                    let shifted = self.constant(ty, d << c);
                    return self.bin(Add, moved, shifted, ty, 0);
                }
                (Mul, Op::Bin(Add, z, d)) if ty == Ty::I64 && self.f.as_const(d).is_some() => {
                    let d = self.f.as_const(d).unwrap_or(0);
                    let moved = self.bin(Mul, z, y, ty, 0);
                    let scaled = self.constant(ty, d.wrapping_mul(c));
                    return self.bin(Add, moved, scaled, ty, 0);
                }
                (Shl, Op::Bin(Shl, z, d)) if self.f.as_const(d).is_some() => {
                    let total = c + self.f.as_const(d).unwrap_or(0);
                    if total >= u64::from(ty.bits()) {
                        return self.constant(ty, 0);
                    }
                    let total = self.constant(shift_ty, total);
                    return self.bin(Shl, z, total, ty, 0);
                }
                // A wide product by a constant times a power of two.
                (Shl, Op::Bin(w @ (SMulWide | UMulWide), z, d))
                    if self.f.as_const(d).is_some() && c < 31 =>
                {
                    let d = self.f.as_const(d).unwrap_or(0);
                    if d << c < 1 << 31 {
                        let scaled = self.constant(Ty::I32, d << c);
                        return self.bin(w, z, scaled, ty, 0);
                    }
                }
                // A wide product of a sum or product that stays in range.
                (SMulWide | UMulWide, Op::Bin(inner, z, d)) if self.f.as_const(d).is_some() => {
                    let d = self.f.as_const(d).unwrap_or(0);
                    let (sc, sd) = (c as u32 as i32, d as u32 as i32);
                    let no_wrap = self.f.values[x.0 as usize].flags & NO_WRAP != 0;
                    // Without a promise, small operands are proof; with one, the signed product is right.
                    let small = self.f.known_below(x).is_some() && self.f.known_below(z).is_some();
                    let exact = if op == SMulWide { small || no_wrap } else { small && sc >= 0 };
                    let factor = match inner {
                        Mul => sc.checked_mul(sd),
                        Shl if d < 31 => sc.checked_mul(1 << d),
                        _ => None,
                    };
                    match (inner, factor) {
                        (Add, _) if exact && (no_wrap || sd >= 0) => {
                            let wide = self.bin(op, z, y, ty, 0);
                            let offset =
                                self.constant(ty, i64::from(sd).wrapping_mul(i64::from(sc)) as u64);
                            return self.bin(Add, wide, offset, ty, 0);
                        }
                        (Mul | Shl, Some(k)) if exact && k > 0 => {
                            let k = self.constant(Ty::I32, k as u64);
                            return self.bin(op, z, k, ty, 0);
                        }
                        _ => {}
                    }
                }
                // An extended index times the size of an element: one wide multiplication.
                (Shl, Op::Un(u @ (UnOp::SExt64 | UnOp::ZExt64), z)) if c < 31 => {
                    let size = self.constant(Ty::I32, 1 << c);
                    let wide = if u == UnOp::SExt64 { SMulWide } else { UMulWide };
                    return self.raw(Op::Bin(wide, z, size), ty, 0);
                }
                (Mul, Op::Un(u @ (UnOp::SExt64 | UnOp::ZExt64), z)) if c < 1 << 31 => {
                    let size = self.constant(Ty::I32, c);
                    let wide = if u == UnOp::SExt64 { SMulWide } else { UMulWide };
                    return self.raw(Op::Bin(wide, z, size), ty, 0);
                }
                _ => {}
            }
        } else if op == Add && ty == Ty::I64 {
            for (p, q) in [(x, y), (y, x)] {
                if let Op::Bin(Add, z, d) = *self.f.op(p)
                    && self.f.as_const(d).is_some()
                {
                    let sum = self.bin(Add, z, q, ty, 0);
                    return self.bin(Add, sum, d, ty, 0);
                }
            }
        }
        if let Some(v) = self.shifts(op, x, y, ty) {
            return v;
        }
        match (op, x == y) {
            (Sub | Xor, true) => return self.constant(ty, 0),
            (And | Or | SMin | SMax | UMin | UMax, true) => return x,
            _ => {}
        }
        match op {
            Add | Sub => {
                // x + -y, x - -y
                if let Op::Un(UnOp::Neg, z) = *self.f.op(y) {
                    return self.bin(if op == Add { Sub } else { Add }, x, z, ty, 0);
                }
                if op == Add
                    && let Op::Un(UnOp::Neg, z) = *self.f.op(x)
                {
                    return self.bin(Sub, y, z, ty, 0);
                }
            }
            FDiv | FDivFull => {
                // By a power of two whose reciprocal is normal: exact.
                if let Some(r) = c.and_then(|c| exact_reciprocal(ty, c)) {
                    let r = self.constant(ty, r);
                    return self.bin(FMul, x, r, ty, flags);
                }
            }
            FMul if c == Some(one(ty)) => return x,
            FAdd => {
                if let Op::Un(UnOp::FNeg, z) = *self.f.op(y) {
                    return self.bin(FSub, x, z, ty, flags);
                }
                if let Op::Un(UnOp::FNeg, z) = *self.f.op(x) {
                    return self.bin(FSub, y, z, ty, flags);
                }
            }
            FSub => {
                if let Op::Un(UnOp::FNeg, z) = *self.f.op(y) {
                    return self.bin(FAdd, x, z, ty, flags);
                }
            }
            _ => {}
        }
        self.raw(Op::Bin(op, x, y), ty, flags)
    }

    /// Shifts that together take the low bits or rotate.
    fn shifts(&mut self, op: BinOp, x: Val, y: Val, ty: Ty) -> Option<Val> {
        use BinOp::*;
        let f = &*self.f;
        match (op, f.op(x), f.op(y)) {
            // x - (x >> k << k)
            (Sub, _, Op::Bin(Shl, z, k)) => {
                let k = f.as_const(*k).filter(|k| *k < u64::from(ty.bits()))?;
                let Op::Bin(LShr | AShr, w, j) = *f.op(*z) else { return None };
                if w != x || f.as_const(j) != Some(k) {
                    return None;
                }
                let mask = self.constant(ty, (1 << k) - 1);
                Some(self.bin(And, x, mask, ty, 0))
            }
            (Or | Xor | Add, Op::Bin(p, v, m), Op::Bin(q, w, n))
                if ty == Ty::I32 && v == w && matches!((p, q), (Shl, LShr) | (LShr, Shl)) =>
            {
                let (v, left, right) = if *p == Shl { (*v, *m, *n) } else { (*v, *n, *m) };
                let rotates = match (f.as_const(left), f.as_const(right)) {
                    (Some(l), Some(r)) => l > 0 && r > 0 && l + r == 32,
                    _ => op == Or && self.complementary(left, right),
                };
                rotates.then(|| self.bin(Rotl, v, left, ty, 0))
            }
            _ => None,
        }
    }

    /// `right` is `(32 - left) & 31` and `left` is below 32.
    fn complementary(&self, left: Val, right: Val) -> bool {
        let f = &*self.f;
        let Op::Bin(BinOp::And, n, mask) = *f.op(right) else { return false };
        let below = matches!(*f.op(left), Op::Bin(BinOp::And, _, m) if f.as_const(m) == Some(31));
        let negated = match *f.op(n) {
            Op::Un(UnOp::Neg, l) => l == left,
            Op::Bin(BinOp::Sub, c, l) => l == left && f.as_const(c) == Some(32),
            _ => false,
        };
        below && negated && f.as_const(mask) == Some(31)
    }

    /// x / c for a power of two c, rounding toward zero.
    fn signed_quotient(&mut self, x: Val, c: u64, ty: Ty) -> Val {
        let k = u64::from(c.trailing_zeros());
        let bits = u64::from(ty.bits());
        if self.f.known_below(x).is_some() {
            let count = self.constant(Ty::I32, k);
            return self.bin(BinOp::LShr, x, count, ty, 0);
        }
        let top = self.constant(Ty::I32, bits - 1);
        let sign = self.bin(BinOp::AShr, x, top, ty, 0);
        let low = self.constant(Ty::I32, bits - k);
        let bias = self.bin(BinOp::LShr, sign, low, ty, 0);
        // Only negative numbers get a bias.
        let sum = self.bin(BinOp::Add, x, bias, ty, NO_WRAP);
        let count = self.constant(Ty::I32, k);
        self.bin(BinOp::AShr, sum, count, ty, 0)
    }

    fn un(&mut self, op: UnOp, x: Val, ty: Ty, flags: u8) -> Val {
        use UnOp::*;
        let from = self.f.ty(x);
        if let Some(a) = self.f.as_const(x)
            && let Some(v) = eval_un(op, from, ty, a)
        {
            return self.constant(ty, v);
        }
        match (op, *self.f.op(x)) {
            (Neg, Op::Un(Neg, y)) | (Not, Op::Un(Not, y)) | (FNeg, Op::Un(FNeg, y)) => return y,
            (FAbs, Op::Un(FNeg | FAbs, y)) => return self.un(FAbs, y, ty, flags),
            (Neg, Op::Bin(BinOp::Sub, a, b)) => return self.bin(BinOp::Sub, b, a, ty, 0),
            (Not, Op::Cmp(c, a, b)) => return self.cmp(c.inverse(), a, b),
            (Bitcast, _) if from == ty => return x,
            (Bitcast, Op::Un(Bitcast, y)) if self.f.ty(y) == ty => return y,
            (Trunc32, Op::Un(ZExt64 | SExt64, y)) => return y,
            (Trunc32, Op::Bin(BinOp::SMulWide | BinOp::UMulWide, p, q)) => {
                return self.bin(BinOp::Mul, p, q, Ty::I32, 0);
            }
            (Trunc32, Op::Bin(BinOp::Shl, p, k))
                if self.f.as_const(k).is_some() && self.cheap_low(p) =>
            {
                if self.f.as_const(k).is_some_and(|k| k >= 32) {
                    return self.constant(Ty::I32, 0);
                }
                let low = self.un(Trunc32, p, Ty::I32, 0);
                return self.bin(BinOp::Shl, low, k, Ty::I32, 0);
            }
            // Arithmetic on extended values whose upper half is dropped.
            (
                Trunc32,
                Op::Bin(
                    b
                    @ (BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor),
                    p,
                    q,
                ),
            ) if self.cheap_low(p) && self.cheap_low(q) => {
                let low_p = self.un(Trunc32, p, Ty::I32, 0);
                let low_q = self.un(Trunc32, q, Ty::I32, 0);
                return self.bin(b, low_p, low_q, Ty::I32, 0);
            }
            (Trunc32, Op::Select(c, p, q)) if self.cheap_low(p) && self.cheap_low(q) => {
                let low_p = self.un(Trunc32, p, Ty::I32, 0);
                let low_q = self.un(Trunc32, q, Ty::I32, 0);
                return self.select(c, low_p, low_q, Ty::I32);
            }
            (SExt64, Op::Bin(BinOp::Add, y, c))
                if self.f.values[x.0 as usize].flags & NO_WRAP != 0 =>
            {
                if let Some(c) = self.f.as_const(c) {
                    let wide = self.un(SExt64, y, Ty::I64, 0);
                    let c = self.constant(Ty::I64, c as u32 as i32 as i64 as u64);
                    return self.bin(BinOp::Add, wide, c, Ty::I64, NO_WRAP);
                }
            }
            (SExt64, _) if self.f.known_below(x).is_some() => {
                return self.un(ZExt64, x, Ty::I64, 0);
            }
            (ZExt8 | SExt16 | ZExt16, _) | (SExt8, _) => {
                if self.in_range(op, x) {
                    return x;
                }
                match (op, *self.f.op(x)) {
                    (ZExt8 | SExt8, Op::Un(ZExt8 | SExt8 | ZExt16 | SExt16, y))
                    | (ZExt16 | SExt16, Op::Un(ZExt16 | SExt16, y)) => {
                        return self.un(op, y, ty, 0);
                    }
                    (ZExt8, _) => {
                        let mask = self.constant(ty, 0xff);
                        return self.bin(BinOp::And, x, mask, ty, 0);
                    }
                    (ZExt16, _) => {
                        let mask = self.constant(ty, 0xffff);
                        return self.bin(BinOp::And, x, mask, ty, 0);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        self.raw(Op::Un(op, x), ty, flags)
    }

    /// The low half can be computed without the whole.
    fn cheap_low(&self, v: Val) -> bool {
        self.low_within(v, 4)
    }

    fn low_within(&self, v: Val, depth: u32) -> bool {
        use BinOp::*;
        match *self.f.op(v) {
            Op::Un(UnOp::ZExt64 | UnOp::SExt64, _) | Op::Const(_) => true,
            Op::Bin(SMulWide | UMulWide, ..) => true,
            Op::Bin(Add | Sub | Mul | And | Or | Xor, p, q) => {
                depth > 0 && self.low_within(p, depth - 1) && self.low_within(q, depth - 1)
            }
            Op::Bin(Shl, p, k) => {
                depth > 0 && self.f.as_const(k).is_some() && self.low_within(p, depth - 1)
            }
            _ => false,
        }
    }

    /// The value already has the range that the extension would give it.
    fn in_range(&self, op: UnOp, x: Val) -> bool {
        let limit = self.f.known_below(x);
        match op {
            UnOp::ZExt8 => limit.is_some_and(|l| l <= 0xff),
            UnOp::ZExt16 => limit.is_some_and(|l| l <= 0xffff),
            UnOp::SExt8 => {
                limit.is_some_and(|l| l <= 0x7f)
                    || matches!(self.f.op(x), Op::Un(UnOp::SExt8, _))
                    || matches!(self.f.op(x), Op::Load(m, _) if m.ty == MemTy::S8)
            }
            _ => {
                limit.is_some_and(|l| l <= 0x7fff)
                    || matches!(self.f.op(x), Op::Un(UnOp::SExt8 | UnOp::SExt16, _))
                    || matches!(self.f.op(x), Op::Load(m, _) if matches!(m.ty, MemTy::S8 | MemTy::S16))
            }
        }
    }

    fn cmp(&mut self, mut c: Cmp, mut x: Val, mut y: Val) -> Val {
        let ty = self.f.ty(x);
        if let (Some(a), Some(b)) = (self.f.as_const(x), self.f.as_const(y))
            && let Some(v) = eval_cmp(c, ty, a, b)
        {
            return self.constant(Ty::Pred, u64::from(v));
        }
        if self.f.as_const(x).is_some() {
            std::mem::swap(&mut x, &mut y);
            c = c.swapped();
        }
        if ty == Ty::Pred {
            match (c, self.f.as_const(y)) {
                (Cmp::Ne, Some(0)) | (Cmp::Eq, Some(1)) => return x,
                (Cmp::Ne, Some(_)) | (Cmp::Eq, Some(_)) => {
                    return self.un(UnOp::Not, x, Ty::Pred, 0);
                }
                (Cmp::Ne, None) => return self.bin(BinOp::Xor, x, y, Ty::Pred, 0),
                _ => {
                    let differs = self.bin(BinOp::Xor, x, y, Ty::Pred, 0);
                    return self.un(UnOp::Not, differs, Ty::Pred, 0);
                }
            }
        }
        if x == y && !ty.is_float() {
            let holds = matches!(c, Cmp::Eq | Cmp::SLe | Cmp::SGe | Cmp::ULe | Cmp::UGe);
            return self.constant(Ty::Pred, u64::from(holds));
        }
        if let Some(k) = self.f.as_const(y) {
            match *self.f.op(x) {
                // A truth value as an integer, compared with a constant.
                Op::Select(p, a, b) => {
                    if let (Some(a), Some(b)) = (self.f.as_const(a), self.f.as_const(b))
                        && let (Some(a), Some(b)) = (eval_cmp(c, ty, a, k), eval_cmp(c, ty, b, k))
                    {
                        return match (a, b) {
                            (true, false) => p,
                            (false, true) => self.un(UnOp::Not, p, Ty::Pred, 0),
                            (both, _) => self.constant(Ty::Pred, u64::from(both)),
                        };
                    }
                }
                Op::Un(UnOp::ZExt64, n) if k <= 0xffff_ffff => {
                    let narrow = match c {
                        Cmp::SLt => Cmp::ULt,
                        Cmp::SLe => Cmp::ULe,
                        Cmp::SGt => Cmp::UGt,
                        Cmp::SGe => Cmp::UGe,
                        other => other,
                    };
                    let k = self.constant(Ty::I32, k);
                    return self.cmp(narrow, n, k);
                }
                Op::Un(UnOp::SExt64, n)
                    if i32::try_from(k as i64).is_ok()
                        && matches!(
                            c,
                            Cmp::Eq | Cmp::Ne | Cmp::SLt | Cmp::SLe | Cmp::SGt | Cmp::SGe
                        ) =>
                {
                    let k = self.constant(Ty::I32, k);
                    return self.cmp(c, n, k);
                }
                _ => {}
            }
            // Unsigned comparisons with the ends of the range.
            match (c, k) {
                (Cmp::ULt, 0) => return self.constant(Ty::Pred, 0),
                (Cmp::UGe, 0) => return self.constant(Ty::Pred, 1),
                (Cmp::ULt, 1) => {
                    let zero = self.constant(ty, 0);
                    return self.cmp(Cmp::Eq, x, zero);
                }
                (Cmp::UGt, 0) => return self.raw(Op::Cmp(Cmp::Ne, x, y), Ty::Pred, 0),
                _ => {}
            }
        } else if let (Op::Un(u, a), Op::Un(v, b)) = (*self.f.op(x), *self.f.op(y))
            && u == v
            && self.f.ty(a) == Ty::I32
        {
            let narrow = match (u, c) {
                (UnOp::SExt64 | UnOp::ZExt64, Cmp::Eq | Cmp::Ne) | (UnOp::SExt64, _) => Some(c),
                (UnOp::ZExt64, Cmp::SLt | Cmp::ULt) => Some(Cmp::ULt),
                (UnOp::ZExt64, Cmp::SLe | Cmp::ULe) => Some(Cmp::ULe),
                (UnOp::ZExt64, Cmp::SGt | Cmp::UGt) => Some(Cmp::UGt),
                (UnOp::ZExt64, Cmp::SGe | Cmp::UGe) => Some(Cmp::UGe),
                _ => None,
            };
            if let Some(c) = narrow {
                return self.cmp(c, a, b);
            }
        }
        self.raw(Op::Cmp(c, x, y), Ty::Pred, 0)
    }

    fn select(&mut self, c: Val, x: Val, y: Val, ty: Ty) -> Val {
        if let Some(k) = self.f.as_const(c) {
            return if k != 0 { x } else { y };
        }
        if x == y {
            return x;
        }
        if let Op::Un(UnOp::Not, p) = *self.f.op(c) {
            return self.select(p, y, x, ty);
        }
        if ty == Ty::Pred {
            match (self.f.as_const(x), self.f.as_const(y)) {
                (Some(1), Some(0)) => return c,
                (Some(0), Some(1)) => return self.un(UnOp::Not, c, ty, 0),
                (Some(1), None) => return self.bin(BinOp::Or, c, y, ty, 0),
                (None, Some(0)) => return self.bin(BinOp::And, c, x, ty, 0),
                (Some(0), None) => {
                    let not = self.un(UnOp::Not, c, ty, 0);
                    return self.bin(BinOp::And, not, y, ty, 0);
                }
                (None, Some(1)) => {
                    let not = self.un(UnOp::Not, c, ty, 0);
                    return self.bin(BinOp::Or, not, x, ty, 0);
                }
                _ => {
                    let yes = self.bin(BinOp::And, c, x, ty, 0);
                    let not = self.un(UnOp::Not, c, ty, 0);
                    let no = self.bin(BinOp::And, not, y, ty, 0);
                    return self.bin(BinOp::Or, yes, no, ty, 0);
                }
            }
        }
        if let Op::Cmp(cmp, a, b) = *self.f.op(c) {
            let op = match (cmp, (a, b) == (x, y), (a, b) == (y, x)) {
                (Cmp::SLt | Cmp::SLe, true, _) | (Cmp::SGt | Cmp::SGe, _, true) => {
                    Some(BinOp::SMin)
                }
                (Cmp::SGt | Cmp::SGe, true, _) | (Cmp::SLt | Cmp::SLe, _, true) => {
                    Some(BinOp::SMax)
                }
                (Cmp::ULt | Cmp::ULe, true, _) | (Cmp::UGt | Cmp::UGe, _, true) => {
                    Some(BinOp::UMin)
                }
                (Cmp::UGt | Cmp::UGe, true, _) | (Cmp::ULt | Cmp::ULe, _, true) => {
                    Some(BinOp::UMax)
                }
                _ => None,
            };
            if let Some(op) = op {
                return self.bin(op, x, y, ty, 0);
            }
        }
        self.raw(Op::Select(c, x, y), ty, 0)
    }

    fn tern(&mut self, t: TernOp, x: Val, y: Val, z: Val, ty: Ty, flags: u8) -> Val {
        if t == TernOp::Fma
            && let (Some(a), Some(b), Some(c)) =
                (self.f.as_const(x), self.f.as_const(y), self.f.as_const(z))
        {
            let v = match ty {
                Ty::F32 => {
                    let (a, b, c) = (
                        f32::from_bits(a as u32),
                        f32::from_bits(b as u32),
                        f32::from_bits(c as u32),
                    );
                    u64::from(a.mul_add(b, c).to_bits())
                }
                _ => f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits(),
            };
            if !is_nan(ty, v) && ty != Ty::F16 {
                return self.constant(ty, v);
            }
        }
        if t == TernOp::Mad && (self.f.as_const(x).is_some() || self.f.as_const(y).is_some()) {
            let product = self.bin(BinOp::Mul, x, y, ty, 0);
            return self.bin(BinOp::Add, product, z, ty, 0);
        }
        self.raw(Op::Tern(t, x, y, z), ty, flags)
    }
}
