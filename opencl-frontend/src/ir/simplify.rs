//! Building values: constants folded, identities applied, constants moved outward so that addresses fold.

use super::fold::{eval_bin, eval_cmp, eval_un, is_nan};
use super::func::{Func, NO_WRAP};
use super::op::{Atomic, BinOp, Cmp, Mem, MemTy, Op, Space, TernOp, Ty, UnOp, Val};
use super::rules::{Binary, RULES};

/// Appends `op` to `out` unless something simpler says the same; returns the value.
pub fn build(f: &mut Func, out: &mut Vec<Val>, op: Op, ty: Ty, flags: u8, loc: u32) -> Val {
    let mut b = Builder { f, out, loc };
    b.op(op, ty, flags)
}

/// Where operations are appended.
pub(super) struct Builder<'b> {
    pub(super) f: &'b mut Func,
    out: &'b mut Vec<Val>,
    loc: u32,
}

impl Builder<'_> {
    pub(super) fn raw(&mut self, op: Op, ty: Ty, flags: u8) -> Val {
        let v = self.f.new_value(op, ty, flags, self.loc);
        self.out.push(v);
        v
    }

    pub(super) fn constant(&mut self, ty: Ty, bits: u64) -> Val {
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
            Op::Generic(to, x) => self.generic(to, x, ty),
            Op::Specific(to, x) => match *self.f.op(x) {
                Op::Generic(from, y) if from == to => y,
                _ => self.raw(op, ty, flags),
            },
            Op::Within(to, x) => match *self.f.op(x) {
                Op::Generic(from, _) => self.constant(ty, u64::from(from == to)),
                _ => self.raw(op, ty, flags),
            },
            Op::Atomic(kind, m, a, x, y) => {
                let (m, a) = self.address(m, a);
                if m.space == Space::Local {
                    return self.private_atomic(kind, m, a, x, y);
                }
                self.raw(Op::Atomic(kind, m, a, x, y), ty, flags)
            }
            Op::Undef
            | Op::Param(_)
            | Op::ParamAddr(_)
            | Op::BlockParam
            | Op::PrivateAddr(_)
            | Op::GlobalAddr(_)
            | Op::Extract(..)
            | Op::StoreVec(..)
            | Op::Warp(..)
            | Op::Printf(..)
            | Op::Barrier
            | Op::Fence(_)
            | Op::Call(..)
            | Op::Asm(..) => self.raw(op, ty, flags),
        }
    }

    /// A generic address. Null stays null.
    fn generic(&mut self, from: Space, x: Val, ty: Ty) -> Val {
        match *self.f.op(x) {
            Op::Specific(space, y) if space == from => y,
            Op::Const(0) => x,
            _ => self.raw(Op::Generic(from, x), ty, 0),
        }
    }

    /// No other thread sees private memory, and the device has no atomic operations on it.
    fn private_atomic(&mut self, kind: Atomic, m: Mem, a: Val, x: Val, y: Option<Val>) -> Val {
        let ty = m.ty.ty();
        let old = self.raw(Op::Load(m, a), ty, 0);
        let new = match (kind, y) {
            (Atomic::Exch, _) | (Atomic::Cas, None) => x,
            (Atomic::Cas, Some(y)) => {
                let same = self.cmp(Cmp::Eq, old, x);
                self.select(same, y, old, ty)
            }
            (Atomic::Add, _) => self.bin(BinOp::Add, old, x, ty, 0),
            (Atomic::SMin, _) => self.bin(BinOp::SMin, old, x, ty, 0),
            (Atomic::SMax, _) => self.bin(BinOp::SMax, old, x, ty, 0),
            (Atomic::UMin, _) => self.bin(BinOp::UMin, old, x, ty, 0),
            (Atomic::UMax, _) => self.bin(BinOp::UMax, old, x, ty, 0),
            (Atomic::And, _) => self.bin(BinOp::And, old, x, ty, 0),
            (Atomic::Or, _) => self.bin(BinOp::Or, old, x, ty, 0),
            (Atomic::Xor, _) => self.bin(BinOp::Xor, old, x, ty, 0),
        };
        self.raw(Op::Store(m, a, new), Ty::None, 0);
        old
    }

    /// Moves a constant part of the address into the offset, and finds the space that it lies in.
    fn address(&mut self, mut m: Mem, mut a: Val) -> (Mem, Val) {
        loop {
            let (x, c) = match *self.f.op(a) {
                Op::Bin(BinOp::Add, x, c) => (x, c),
                Op::Generic(space, x) if m.space == Space::Generic => {
                    (m.space, a) = (space, x);
                    continue;
                }
                _ => break,
            };
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
            MemTy::U8
            | MemTy::U16
            | MemTy::B32
            | MemTy::B64
            | MemTy::F16
            | MemTy::F32
            | MemTy::F64 => word,
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

    pub(super) fn bin(&mut self, op: BinOp, mut x: Val, mut y: Val, ty: Ty, flags: u8) -> Val {
        let constants = (self.f.as_const(x), self.f.as_const(y));
        if let (Some(a), Some(b)) = constants
            && let Some(v) = eval_bin(op, self.f.ty(x), a, b)
        {
            return self.constant(ty, v);
        }
        let constant_left = constants.0.is_some() && constants.1.is_none();
        if op.commutes() && (constant_left || (constants.1.is_none() && x > y && !ty.is_float())) {
            std::mem::swap(&mut x, &mut y);
        }
        if let Some(v) = self.generic_sum(op, x, y, ty, flags) {
            return v;
        }
        let binary = Binary { op, x, y, ty, flags, constant: self.f.as_const(y) };
        let simpler = RULES.iter().filter(|r| r.is_for(op)).find_map(|r| (r.apply)(self, binary));
        match simpler {
            Some(v) => v,
            None => self.raw(Op::Bin(op, x, y), ty, flags),
        }
    }

    /// A sum or difference with a generic address of a known space is one in that space.
    fn generic_sum(&mut self, op: BinOp, x: Val, y: Val, ty: Ty, flags: u8) -> Option<Val> {
        match (op, *self.f.op(x), *self.f.op(y)) {
            (BinOp::Sub, Op::Generic(s, a), Op::Generic(t, b)) if s == t => {
                Some(self.bin(op, a, b, ty, flags))
            }
            (_, Op::Generic(..), Op::Generic(..)) => None,
            (BinOp::Add | BinOp::Sub, Op::Generic(s, a), _) => {
                let sum = self.bin(op, a, y, ty, flags);
                Some(self.raw(Op::Generic(s, sum), ty, 0))
            }
            (BinOp::Add, _, Op::Generic(s, b)) => {
                let sum = self.bin(op, b, x, ty, flags);
                Some(self.raw(Op::Generic(s, sum), ty, 0))
            }
            _ => None,
        }
    }

    /// x / c for a power of two c, rounding toward zero.
    pub(super) fn signed_quotient(&mut self, x: Val, c: u64, ty: Ty) -> Val {
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

    pub(super) fn un(&mut self, op: UnOp, x: Val, ty: Ty, flags: u8) -> Val {
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
