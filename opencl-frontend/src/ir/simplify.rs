//! Building values: constants folded, identities applied, constants moved outward so that addresses fold.

use super::{BinOp, Cmp, Func, Mem, MemTy, NO_WRAP, Op, Round, TernOp, Ty, UnOp, Val};

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
            Op::Load(m, a) => {
                let (m, a) = self.address(m, a);
                self.raw(Op::Load(m, a), ty, flags)
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
            match (op, self.f.op(x).clone()) {
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

    /// x / c for a power of two c, rounding toward zero.
    fn signed_quotient(&mut self, x: Val, c: u64, ty: Ty) -> Val {
        let k = u64::from(c.trailing_zeros());
        let bits = u64::from(ty.bits());
        if self.known_below(x).is_some() {
            let count = self.constant(Ty::I32, k);
            return self.bin(BinOp::LShr, x, count, ty, 0);
        }
        let top = self.constant(Ty::I32, bits - 1);
        let sign = self.bin(BinOp::AShr, x, top, ty, 0);
        let low = self.constant(Ty::I32, bits - k);
        let bias = self.bin(BinOp::LShr, sign, low, ty, 0);
        let sum = self.bin(BinOp::Add, x, bias, ty, 0);
        let count = self.constant(Ty::I32, k);
        self.bin(BinOp::AShr, sum, count, ty, 0)
    }

    /// A bound `m` of the form 2^k-1 such that the value is known to be at most `m`, well below the sign.
    fn known_below(&self, x: Val) -> Option<u64> {
        match self.f.op(x) {
            Op::Load(m, _) if m.ty == MemTy::U8 => Some(0xff),
            Op::Load(m, _) if m.ty == MemTy::U16 => Some(0xffff),
            Op::Un(UnOp::ZExt8, _) => Some(0xff),
            Op::Un(UnOp::ZExt16, _) => Some(0xffff),
            Op::Un(UnOp::ZExt64, _) => Some(0xffff_ffff),
            Op::Sreg(super::Sreg::Tid(_) | super::Sreg::Ntid(_)) => Some(0x7ff),
            Op::Bin(BinOp::And, _, c) => {
                let c = self.f.as_const(*c)?;
                (c < self.f.ty(x).mask() / 2).then(|| (c + 1).next_power_of_two() - 1)
            }
            Op::Select(_, a, b) => {
                let (a, b) = (self.f.as_const(*a)?, self.f.as_const(*b)?);
                let top = a.max(b);
                (top < self.f.ty(x).mask() / 2).then(|| (top + 1).next_power_of_two() - 1)
            }
            _ => None,
        }
    }

    fn un(&mut self, op: UnOp, x: Val, ty: Ty, flags: u8) -> Val {
        use UnOp::*;
        let from = self.f.ty(x);
        if let Some(a) = self.f.as_const(x)
            && let Some(v) = eval_un(op, from, ty, a)
        {
            return self.constant(ty, v);
        }
        match (op, self.f.op(x).clone()) {
            (Neg, Op::Un(Neg, y)) | (Not, Op::Un(Not, y)) | (FNeg, Op::Un(FNeg, y)) => return y,
            (FAbs, Op::Un(FNeg | FAbs, y)) => return self.un(FAbs, y, ty, flags),
            (Neg, Op::Bin(BinOp::Sub, a, b)) => return self.bin(BinOp::Sub, b, a, ty, 0),
            (Not, Op::Cmp(c, a, b)) => return self.cmp(c.inverse(), a, b),
            (Bitcast, _) if from == ty => return x,
            (Bitcast, Op::Un(Bitcast, y)) if self.f.ty(y) == ty => return y,
            (Trunc32, Op::Un(ZExt64 | SExt64, y)) => return y,
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
            (SExt64, _) if self.known_below(x).is_some() => return self.un(ZExt64, x, Ty::I64, 0),
            (ZExt8 | SExt16 | ZExt16, _) | (SExt8, _) => {
                if self.in_range(op, x) {
                    return x;
                }
                match (op, self.f.op(x).clone()) {
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

    fn cheap_low(&self, v: Val) -> bool {
        matches!(self.f.op(v), Op::Un(UnOp::ZExt64 | UnOp::SExt64, _) | Op::Const(_))
    }

    /// The value already has the range that the extension would give it.
    fn in_range(&self, op: UnOp, x: Val) -> bool {
        let limit = self.known_below(x);
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
            match self.f.op(x).clone() {
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
        } else if let (Op::Un(u, a), Op::Un(v, b)) = (self.f.op(x).clone(), self.f.op(y).clone())
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

fn sign(c: u64, ty: Ty) -> bool {
    c >> (ty.bits() - 1) & 1 == 1
}

fn is_signed_power(c: u64, ty: Ty) -> bool {
    c.is_power_of_two() && c > 1 && !sign(c, ty)
}

fn one(ty: Ty) -> u64 {
    match ty {
        Ty::F16 => 0x3c00,
        Ty::F32 => u64::from(1f32.to_bits()),
        Ty::F64 => 1f64.to_bits(),
        _ => 1,
    }
}

fn exact_reciprocal(ty: Ty, c: u64) -> Option<u64> {
    match ty {
        Ty::F32 => {
            let v = f32::from_bits(c as u32);
            let exponent = (c >> 23 & 0xff) as i32;
            (c & 0x7f_ffff == 0 && (4..250).contains(&exponent))
                .then(|| u64::from((1.0 / v).to_bits()))
        }
        Ty::F64 => {
            let exponent = (c >> 52 & 0x7ff) as i32;
            (c & 0xf_ffff_ffff_ffff == 0 && (4..2040).contains(&exponent))
                .then(|| (1.0 / f64::from_bits(c)).to_bits())
        }
        _ => None,
    }
}

fn is_nan(ty: Ty, bits: u64) -> bool {
    match ty {
        Ty::F16 => bits & 0x7fff > 0x7c00,
        Ty::F32 => f32::from_bits(bits as u32).is_nan(),
        Ty::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

fn signed(ty: Ty, v: u64) -> i64 {
    if ty == Ty::I32 { i64::from(v as u32 as i32) } else { v as i64 }
}

/// The result of an operation on constants; `None` where it is left to the target.
pub fn eval_bin(op: BinOp, ty: Ty, a: u64, b: u64) -> Option<u64> {
    use BinOp::*;
    let (sa, sb) = (signed(ty, a), signed(ty, b));
    let bits = ty.bits();
    let count = b.min(u64::from(bits)) as u32;
    let v = match op {
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        Mul => a.wrapping_mul(b),
        SMulWide => sa.wrapping_mul(sb) as u64,
        UMulWide => a.wrapping_mul(b),
        SMulHi => ((i128::from(sa) * i128::from(sb)) >> bits) as u64,
        UMulHi => ((u128::from(a) * u128::from(b)) >> bits) as u64,
        SMul24 | UMul24 => {
            let low = |v: u64| {
                if op == SMul24 {
                    i64::from(((v as u32) << 8) as i32 >> 8)
                } else {
                    (v & 0xff_ffff) as i64
                }
            };
            low(a).wrapping_mul(low(b)) as u64
        }
        SDiv | SRem
            if sb == 0
                || (sb == -1 && sa == if bits == 32 { i64::from(i32::MIN) } else { i64::MIN }) =>
        {
            return None;
        }
        UDiv | URem if b == 0 => return None,
        SDiv => sa.wrapping_div(sb) as u64,
        SRem => sa.wrapping_rem(sb) as u64,
        UDiv => a / b,
        URem => a % b,
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Shl => a.checked_shl(count).filter(|_| count < bits).unwrap_or(0),
        LShr => a.checked_shr(count).filter(|_| count < bits).unwrap_or(0),
        AShr => (sa >> count.min(bits - 1)) as u64,
        SMin => sa.min(sb) as u64,
        SMax => sa.max(sb) as u64,
        UMin => a.min(b),
        UMax => a.max(b),
        FAdd | FSub | FMul | FDiv | FMin | FMax => return eval_float(op, ty, a, b),
        FDivFull | FDivApprox | FAddRz => return None,
    };
    let result = if matches!(op, SMulWide | UMulWide) { v } else { v & ty.mask() };
    Some(result)
}

fn eval_float(op: BinOp, ty: Ty, a: u64, b: u64) -> Option<u64> {
    let v = match ty {
        Ty::F32 => {
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            if x.is_nan() || y.is_nan() {
                return None;
            }
            u64::from(
                match op {
                    BinOp::FAdd => x + y,
                    BinOp::FSub => x - y,
                    BinOp::FMul => x * y,
                    BinOp::FDiv => x / y,
                    _ if x == y => return None,
                    BinOp::FMin => x.min(y),
                    _ => x.max(y),
                }
                .to_bits(),
            )
        }
        Ty::F64 => {
            let (x, y) = (f64::from_bits(a), f64::from_bits(b));
            if x.is_nan() || y.is_nan() {
                return None;
            }
            match op {
                BinOp::FAdd => x + y,
                BinOp::FSub => x - y,
                BinOp::FMul => x * y,
                BinOp::FDiv => x / y,
                _ if x == y => return None,
                BinOp::FMin => x.min(y),
                _ => x.max(y),
            }
            .to_bits()
        }
        _ => return None,
    };
    (!is_nan(ty, v)).then_some(v)
}

/// The result of a conversion or unary operation on a constant.
pub fn eval_un(op: UnOp, from: Ty, to: Ty, a: u64) -> Option<u64> {
    use UnOp::*;
    let v = match op {
        Neg => a.wrapping_neg(),
        Not => !a,
        FNeg => a ^ 1 << (from.bits() - 1),
        FAbs => a & !(1 << (from.bits() - 1)),
        SAbs => signed(from, a).wrapping_abs() as u64,
        SExt64 => a as u32 as i32 as i64 as u64,
        ZExt64 | Trunc32 => a,
        SExt8 => a as i8 as i64 as u64,
        ZExt8 => u64::from(a as u8),
        SExt16 => a as i16 as i64 as u64,
        ZExt16 => u64::from(a as u16),
        Bitcast => a,
        Popc => u64::from(a.count_ones()),
        Clz => u64::from(a.leading_zeros() - (64 - from.bits())),
        Brev => a.reverse_bits() >> (64 - from.bits()),
        SToF(Round::Nearest) | UToF(Round::Nearest) => {
            let signed_source = matches!(op, SToF(_));
            let s = signed(from, a);
            match (to, signed_source) {
                (Ty::F32, true) => u64::from((s as f32).to_bits()),
                (Ty::F32, false) => u64::from((a as f32).to_bits()),
                (Ty::F64, true) => (s as f64).to_bits(),
                (Ty::F64, false) => (a as f64).to_bits(),
                _ => return None,
            }
        }
        FToF(Round::Nearest) => match (from, to) {
            (Ty::F32, Ty::F64) if !is_nan(from, a) => f64::from(f32::from_bits(a as u32)).to_bits(),
            (Ty::F64, Ty::F32) if !is_nan(from, a) => {
                u64::from((f64::from_bits(a) as f32).to_bits())
            }
            _ => return None,
        },
        FToS(Round::Zero) | FToU(Round::Zero) => {
            let x = match from {
                Ty::F32 => f64::from(f32::from_bits(a as u32)),
                Ty::F64 => f64::from_bits(a),
                _ => return None,
            };
            if x.is_nan() {
                return None;
            }
            // Rust's casts saturate, as `cvt` does.
            match (op, to) {
                (FToS(_), Ty::I32) => x as i32 as u64,
                (FToS(_), _) => x as i64 as u64,
                (_, Ty::I32) => u64::from(x as u32),
                _ => x as u64,
            }
        }
        _ => return None,
    };
    Some(v & to.mask())
}

/// The result of a comparison of constants.
pub fn eval_cmp(c: Cmp, ty: Ty, a: u64, b: u64) -> Option<bool> {
    use Cmp::*;
    if ty.is_float() {
        let value = |v: u64| match ty {
            Ty::F32 => Some(f64::from(f32::from_bits(v as u32))),
            Ty::F64 => Some(f64::from_bits(v)),
            _ => None,
        };
        let order = value(a)?.partial_cmp(&value(b)?);
        return Some(match c {
            FEq => order.is_some_and(|o| o.is_eq()),
            FNe => order.is_none_or(|o| o.is_ne()),
            FLt => order.is_some_and(|o| o.is_lt()),
            FLe => order.is_some_and(|o| o.is_le()),
            FGt => order.is_some_and(|o| o.is_gt()),
            FGe => order.is_some_and(|o| o.is_ge()),
            FULt => order.is_none_or(|o| o.is_lt()),
            FULe => order.is_none_or(|o| o.is_le()),
            FUGt => order.is_none_or(|o| o.is_gt()),
            FUGe => order.is_none_or(|o| o.is_ge()),
            _ => return None,
        });
    }
    let (s, u) = (signed(ty, a).cmp(&signed(ty, b)), a.cmp(&b));
    Some(match c {
        Eq => a == b,
        Ne => a != b,
        SLt => s.is_lt(),
        SLe => s.is_le(),
        SGt => s.is_gt(),
        SGe => s.is_ge(),
        ULt => u.is_lt(),
        ULe => u.is_le(),
        UGt => u.is_gt(),
        UGe => u.is_ge(),
        _ => return None,
    })
}
