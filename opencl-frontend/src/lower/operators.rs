//! Operators, choices and shuffles.

use smallvec::{SmallVec, smallvec};

use super::expr::Lanes;
use super::state::{Lower, MemRef, Value, ty_of};
use crate::ir::{BinOp, CONTRACT, Cmp, NO_WRAP, Op, Ty, UnOp, Val};
use crate::parse::ast::BinaryOp;
use crate::sema::hir::{Expr, ExprKind, Rounding};
use crate::types::{QualType, Scalar};

impl Lower<'_> {
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        lhs: &Expr,
        rhs: &Expr,
        ty: QualType,
        contract: bool,
    ) -> Lanes {
        let a = self.lanes(lhs);
        let b = self.lanes(rhs);
        let scalar = self.program.types.lanes(lhs.ty.id).map(|l| l.0);
        let vector = self.program.types.is_vector(ty.id);
        let out: Lanes =
            a.into_iter().zip(b).map(|(x, y)| self.operate(op, scalar, x, y, contract)).collect();
        if vector && self.f.ty(out[0]) == Ty::Pred {
            // Vectors compare to 0 and -1 of the component's width.
            let wide = self.program.types.lanes(ty.id).is_some_and(|(s, _)| s.size() == 8);
            return out
                .into_iter()
                .map(|p| {
                    let t = if wide { Ty::I64 } else { Ty::I32 };
                    let (yes, no) = (self.constant(t, u64::MAX), self.constant(t, 0));
                    self.emit(Op::Select(p, yes, no), t)
                })
                .collect();
        }
        out
    }

    /// One component of an operator. `None` as type: pointers.
    pub(super) fn operate(
        &mut self,
        op: BinaryOp,
        scalar: Option<Scalar>,
        x: Val,
        y: Val,
        contract: bool,
    ) -> Val {
        use BinaryOp::*;
        let s = scalar.unwrap_or(Scalar::U64);
        let ty = ty_of(s);
        let (float, signed) = (s.is_float(), s.is_signed());
        let compare = match op {
            Lt if float => Some(Cmp::FLt),
            Gt if float => Some(Cmp::FGt),
            Le if float => Some(Cmp::FLe),
            Ge if float => Some(Cmp::FGe),
            Eq if float => Some(Cmp::FEq),
            Ne if float => Some(Cmp::FNe),
            Lt => Some(if signed { Cmp::SLt } else { Cmp::ULt }),
            Gt => Some(if signed { Cmp::SGt } else { Cmp::UGt }),
            Le => Some(if signed { Cmp::SLe } else { Cmp::ULe }),
            Ge => Some(if signed { Cmp::SGe } else { Cmp::UGe }),
            Eq => Some(Cmp::Eq),
            Ne => Some(Cmp::Ne),
            Add | Sub | Mul | Div | Rem | Shl | Shr | And | Or | Xor | LogicalAnd | LogicalOr => {
                None
            }
        };
        if let Some(c) = compare {
            return self.emit(Op::Cmp(c, x, y), Ty::Pred);
        }
        if s == Scalar::F16 && self.options.sm < 53 {
            // No half arithmetic on this target: single precision and one rounding.
            let wide =
                |l: &mut Self, v| l.convert(v, Scalar::F16, Scalar::F32, false, Rounding::Default);
            let (a, b) = (wide(self, x), wide(self, y));
            let r = self.operate(op, Some(Scalar::F32), a, b, false);
            return self.convert(r, Scalar::F32, Scalar::F16, false, Rounding::Default);
        }
        let contracted = if contract || self.options.mad_enable { CONTRACT } else { 0 };
        let wraps = if matches!(s, Scalar::I32 | Scalar::I64) { NO_WRAP } else { 0 };
        let (bin, flags) = match (op, float) {
            (Add, true) => (BinOp::FAdd, contracted),
            (Sub, true) => (BinOp::FSub, contracted),
            (Mul, true) => (BinOp::FMul, contracted),
            (Div, true) => {
                if s == Scalar::F16 {
                    let wide = |l: &mut Self, v| {
                        l.convert(v, Scalar::F16, Scalar::F32, false, Rounding::Default)
                    };
                    let (a, b) = (wide(self, x), wide(self, y));
                    let r = self.emit(Op::Bin(BinOp::FDiv, a, b), Ty::F32);
                    return self.convert(r, Scalar::F32, Scalar::F16, false, Rounding::Default);
                }
                (self.division(s), 0)
            }
            (Add, _) => (BinOp::Add, wraps),
            (Sub, _) => (BinOp::Sub, wraps),
            (Mul, _) => (BinOp::Mul, wraps),
            (Div, _) => (if signed { BinOp::SDiv } else { BinOp::UDiv }, 0),
            (Rem, _) => (if signed { BinOp::SRem } else { BinOp::URem }, 0),
            (And, _) => (BinOp::And, 0),
            (Or, _) => (BinOp::Or, 0),
            (Xor, _) => (BinOp::Xor, 0),
            (Shl | Shr, _) => {
                let narrow =
                    if ty == Ty::I64 { self.emit(Op::Un(UnOp::Trunc32, y), Ty::I32) } else { y };
                let mask = self.constant(Ty::I32, u64::from(s.bits() - 1));
                let count = self.emit(Op::Bin(BinOp::And, narrow, mask), Ty::I32);
                let bin = match (op, signed) {
                    (Shl, _) => BinOp::Shl,
                    (_, true) => BinOp::AShr,
                    _ => BinOp::LShr,
                };
                let r = self.emit(Op::Bin(bin, x, count), ty);
                return if op == Shl { self.normalize(r, s) } else { r };
            }
            (Lt | Gt | Le | Ge | Eq | Ne, _) => unreachable!("comparisons are handled above"),
            (LogicalAnd | LogicalOr, _) => {
                unreachable!("logical operators have expressions of their own")
            }
        };
        let r = self.emit_flagged(Op::Bin(bin, x, y), ty, flags);
        if matches!(bin, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::SDiv) {
            self.normalize(r, s)
        } else {
            r
        }
    }

    fn division(&self, s: Scalar) -> BinOp {
        match s {
            Scalar::F32 if self.options.fast_relaxed_math => BinOp::FDivApprox,
            Scalar::F32 if !self.options.divides_exactly() => BinOp::FDivFull,
            _ => BinOp::FDiv,
        }
    }

    pub(super) fn update(
        &mut self,
        op: BinaryOp,
        lhs: &Expr,
        rhs: &Expr,
        compute: QualType,
        post: bool,
        contract: bool,
    ) -> Value {
        let right = self.lanes(rhs);
        // One evaluation of the place: its address may have effects.
        let element = self.program.types.lanes(lhs.ty.id).map(|l| l.0);
        let places: Vec<MemRef> = match &lhs.kind {
            ExprKind::Swizzle(base, lanes) => self.lane_refs(base, lanes, lhs.ty.volatile),
            _ => {
                let place = self.lvalue(lhs);
                let (mem, n, _) = self.memory_layout(lhs.ty);
                (0..n).map(|i| place.at(i64::from(i) * mem.size() as i64)).collect()
            }
        };
        let one = match element {
            Some(s) => QualType::plain(s.into()),
            None => lhs.ty.value(),
        };
        let target = self.program.types.lanes(compute.id).map(|l| l.0);
        let (mut before, mut after) = (Lanes::new(), Lanes::new());
        let mut loaded = Vec::new();
        for place in &places {
            if let Value::Lanes(v) = self.load(*place, one) {
                loaded.push(v[0]);
            }
        }
        for (i, old) in loaded.into_iter().enumerate() {
            let step = right[if right.len() > 1 { i } else { 0 }];
            let new = match (element, target) {
                (Some(from), Some(to)) => {
                    let wide = self.convert(old, from, to, false, Rounding::Default);
                    let r = self.operate(op, Some(to), wide, step, contract);
                    self.convert(r, to, from, false, Rounding::Default)
                }
                _ => {
                    let bin = if op == BinaryOp::Sub { BinOp::Sub } else { BinOp::Add };
                    self.emit(Op::Bin(bin, old, step), Ty::I64)
                }
            };
            before.push(old);
            after.push(new);
        }
        for (place, v) in places.iter().zip(&after) {
            self.store(*place, one, Value::Lanes(smallvec![*v]));
        }
        Value::Lanes(if post { before } else { after })
    }

    /// `&&` and `||` as a value.
    pub(super) fn logical(&mut self, e: &Expr) -> Val {
        let (yes, no, after) = (self.f.new_block(), self.f.new_block(), self.f.new_block());
        self.branch_on(e, yes, no);
        let result = self.f.add_param(after, Ty::Pred);
        for (block, truth) in [(yes, 1), (no, 0)] {
            self.switch_to(block);
            let v = self.constant(Ty::Pred, truth);
            let edge = crate::ir::Edge { block: after, args: smallvec![v] };
            self.terminate(crate::ir::Term::Jump(edge));
        }
        self.switch_to(after);
        result
    }

    pub(super) fn conditional(&mut self, c: &Expr, a: &Expr, b: &Expr, ty: QualType) -> Value {
        let (yes, no, after) = (self.f.new_block(), self.f.new_block(), self.f.new_block());
        self.branch_on(c, yes, no);
        let memory = self.program.types.is_aggregate(ty.id);
        let private = memory.then(|| self.private_for(ty, "choice"));
        let mut params = Lanes::new();
        for (block, e) in [(yes, a), (no, b)] {
            self.switch_to(block);
            let value = self.value(e);
            let mut args = SmallVec::new();
            match (value, private) {
                (value @ Value::Memory(_), Some(private)) => {
                    let place = self.private_ref(private);
                    self.store(place, ty, value);
                }
                (Value::Lanes(lanes), _) => {
                    if params.is_empty() {
                        params = lanes
                            .iter()
                            .map(|v| self.f.ty(*v))
                            .collect::<Vec<_>>()
                            .into_iter()
                            .map(|t| self.f.add_param(after, t))
                            .collect();
                    }
                    args.extend(lanes);
                }
                _ => {}
            }
            self.terminate(crate::ir::Term::Jump(crate::ir::Edge { block: after, args }));
        }
        self.switch_to(after);
        match private {
            Some(private) => Value::Memory(self.private_ref(private)),
            None if params.is_empty() => Value::None,
            None => Value::Lanes(params),
        }
    }

    pub(super) fn shuffle(&mut self, parts: &[Expr]) -> Lanes {
        let Some((mask, sources)) = parts.split_last() else { return Lanes::new() };
        let mut all = Lanes::new();
        for source in sources {
            all.extend(self.lanes(source));
        }
        let count = all.len().next_power_of_two() as u64;
        let ty = self.f.ty(all[0]);
        let mask = self.lanes(mask);
        mask.into_iter()
            .map(|m| {
                let mt = self.f.ty(m);
                let limit = self.constant(mt, count - 1);
                let index = self.emit(Op::Bin(BinOp::And, m, limit), mt);
                let mut r = all[0];
                for (i, v) in all.clone().into_iter().enumerate().skip(1) {
                    let k = self.constant(mt, i as u64);
                    let hit = self.emit(Op::Cmp(Cmp::Eq, index, k), Ty::Pred);
                    r = self.emit(Op::Select(hit, v, r), ty);
                }
                r
            })
            .collect()
    }
}
