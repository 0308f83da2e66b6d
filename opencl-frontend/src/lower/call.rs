//! Calls and intrinsics.

use smallvec::smallvec;

use super::state::{Lower, Value, ty_of};
use crate::ir::{Atomic, BinOp, CONTRACT, Cmp, Mem, MemTy, Op, Sreg, TernOp, Ty, UnOp, Val};
use crate::sema::hir::{AtomicOp, Expr, ExprKind, FunctionId, Intrinsic, MathOp};
use crate::types::{QualType, Scalar, Type};

impl Lower<'_> {
    pub(super) fn call(
        &mut self,
        id: FunctionId,
        args: Vec<(QualType, Value)>,
        ty: QualType,
    ) -> Value {
        let program = self.program;
        let function = &program.functions[id.0 as usize];
        let Some(body) = &function.body else { return Value::None };
        let after = self.f.new_block();
        let is_void = matches!(program.types.get(ty.id), Type::Void);
        let private = (!is_void).then(|| self.private_for(ty, "result"));
        let location = self.location;
        self.push_frame(id, function, Some((after, private)));
        for (i, (_, value)) in args.into_iter().enumerate() {
            let local = crate::sema::hir::LocalId(i as u32);
            let private = self.private_of(local);
            let place = self.private_ref(private);
            self.store(place, function.params[i], value);
        }
        let targets = std::mem::take(&mut self.targets);
        self.statements(body);
        self.targets = targets;
        self.jump(after);
        self.frames.pop();
        self.location = location;
        self.switch_to(after);
        match private {
            Some(private) => {
                let place = self.private_ref(private);
                if program.types.is_aggregate(ty.id) {
                    Value::Memory(place)
                } else {
                    self.load(place, ty)
                }
            }
            None => Value::None,
        }
    }

    /// Arguments go to private memory, each at its natural alignment.
    pub(super) fn printf(&mut self, format: u32, args: &[Expr]) -> Val {
        let mut values: Vec<(MemTy, Val)> = Vec::new();
        for arg in args {
            if let ExprKind::Global(id) = arg.kind {
                let address = self.emit(Op::GlobalAddr(id.0), Ty::I64);
                values.push((MemTy::B64, self.emit(Op::Generic(address), Ty::I64)));
                continue;
            }
            let (mem, ..) = self.memory_layout(arg.ty);
            values.extend(self.lanes(arg).into_iter().map(|v| (mem, v)));
        }
        let mut offset = 0u64;
        let mut places = Vec::with_capacity(values.len());
        for (mem, _) in &values {
            offset = offset.next_multiple_of(mem.size());
            places.push(offset);
            offset += mem.size();
        }
        let address = self.emit(Op::GlobalAddr(format), Ty::I64);
        let format = self.emit(Op::Generic(address), Ty::I64);
        let buffer = if values.is_empty() {
            self.constant(Ty::I64, 0)
        } else {
            let private = self.new_private(offset.next_multiple_of(8), 8, "printf".into());
            let place = self.private_ref(private);
            for ((mem, v), offset) in values.into_iter().zip(places) {
                let m = self.mem(place, mem, offset);
                self.emit(Op::Store(m, place.address, v), Ty::None);
            }
            place.address
        };
        // The device returns the number of arguments, or less than 0; OpenCL 0 or -1.
        let r = self.emit(Op::Printf(format, buffer), Ty::I32);
        let shift = self.constant(Ty::I32, 31);
        self.emit(Op::Bin(BinOp::AShr, r, shift), Ty::I32)
    }

    pub(super) fn intrinsic(&mut self, which: Intrinsic, args: &[Expr], ty: QualType) -> Value {
        let one = |v: Val| Value::Lanes(smallvec![v]);
        match which {
            Intrinsic::ThreadId(d) => one(self.emit(Op::Sreg(Sreg::Tid(d)), Ty::I32)),
            Intrinsic::BlockSize(d) => {
                if let Some(size) = self.f.required_size {
                    return one(self.constant(Ty::I32, u64::from(size[usize::from(d)])));
                }
                one(self.emit(Op::Sreg(Sreg::Ntid(d)), Ty::I32))
            }
            Intrinsic::BlockId(d) => one(self.emit(Op::Sreg(Sreg::Ctaid(d)), Ty::I32)),
            Intrinsic::GridSize(d) => one(self.emit(Op::Sreg(Sreg::Nctaid(d)), Ty::I32)),
            Intrinsic::EnvReg(n) => one(self.emit(Op::Sreg(Sreg::EnvReg(n)), Ty::I32)),
            Intrinsic::Barrier => {
                self.emit(Op::Barrier, Ty::None);
                Value::None
            }
            Intrinsic::Fence(device) => {
                self.emit(Op::Fence(device), Ty::None);
                Value::None
            }
            Intrinsic::Any | Intrinsic::All => {
                let lanes = self.lanes(&args[0]);
                let scalar = self.program.types.lanes(args[0].ty.id).map_or(Scalar::I32, |l| l.0);
                let bin = if which == Intrinsic::Any { BinOp::Or } else { BinOp::And };
                let mut v = lanes[0];
                for lane in &lanes[1..] {
                    v = self.emit(Op::Bin(bin, v, *lane), ty_of(scalar));
                }
                let zero = self.constant(ty_of(scalar), 0);
                let negative = self.emit(Op::Cmp(Cmp::SLt, v, zero), Ty::Pred);
                one(self.bool_to_int(negative, 1))
            }
            Intrinsic::Atomic(op) => {
                let place = self.element_ref(&args[0]);
                let scalar = self.program.types.scalar(ty.id).unwrap_or(Scalar::I32);
                let operands: Vec<Val> = args[1..].iter().map(|a| self.scalar(a)).collect();
                let mem = match scalar.size() {
                    8 => MemTy::B64,
                    _ => MemTy::B32,
                };
                let m: Mem = self.mem(place, mem, 0);
                let op = match (op, scalar.is_signed()) {
                    (AtomicOp::Exchange, _) => Atomic::Exch,
                    (AtomicOp::CompareExchange, _) => Atomic::Cas,
                    (AtomicOp::Min, true) => Atomic::SMin,
                    (AtomicOp::Min, _) => Atomic::UMin,
                    (AtomicOp::Max, true) => Atomic::SMax,
                    (AtomicOp::Max, _) => Atomic::UMax,
                    (AtomicOp::And, _) => Atomic::And,
                    (AtomicOp::Or, _) => Atomic::Or,
                    (AtomicOp::Xor, _) => Atomic::Xor,
                    _ => Atomic::Add,
                };
                if scalar == Scalar::F32 {
                    let bits = self.emit(Op::Un(UnOp::Bitcast, operands[0]), Ty::I32);
                    let old = self.emit(Op::Atomic(op, m, place.address, bits, None), Ty::I32);
                    return one(self.emit(Op::Un(UnOp::Bitcast, old), Ty::F32));
                }
                one(self.emit(
                    Op::Atomic(op, m, place.address, operands[0], operands.get(1).copied()),
                    mem.ty(),
                ))
            }
            Intrinsic::Math(op) => {
                let scalar = self.program.types.scalar(args[0].ty.id).unwrap_or(Scalar::F32);
                let v: Vec<Val> = args.iter().map(|a| self.scalar(a)).collect();
                one(self.math(op, scalar, &v))
            }
        }
    }

    fn math(&mut self, op: MathOp, scalar: Scalar, v: &[Val]) -> Val {
        use MathOp::*;
        let ty = ty_of(scalar);
        let signed = scalar.is_signed();
        let float = scalar.is_float();
        let pick = |s: BinOp, u: BinOp| if signed { s } else { u };
        let bin = match op {
            Min if float => Some(BinOp::FMin),
            Max if float => Some(BinOp::FMax),
            Min => Some(pick(BinOp::SMin, BinOp::UMin)),
            Max => Some(pick(BinOp::SMax, BinOp::UMax)),
            MulHi => Some(pick(BinOp::SMulHi, BinOp::UMulHi)),
            Mul24 => Some(pick(BinOp::SMul24, BinOp::UMul24)),
            DivRn => Some(BinOp::FDiv),
            DivFull => Some(BinOp::FDivFull),
            DivApprox => Some(BinOp::FDivApprox),
            AddRz => Some(BinOp::FAddRz),
            _ => None,
        };
        if let Some(bin) = bin {
            return self.emit(Op::Bin(bin, v[0], v[1]), ty);
        }
        let un = match op {
            SqrtRn => UnOp::SqrtRn,
            SqrtApprox => UnOp::SqrtApprox,
            RsqrtApprox => UnOp::RsqrtApprox,
            RcpApprox => UnOp::RcpApprox,
            RcpRn => UnOp::RcpRn,
            SinApprox => UnOp::SinApprox,
            CosApprox => UnOp::CosApprox,
            Ex2Approx => UnOp::Ex2Approx,
            Lg2Approx => UnOp::Lg2Approx,
            Floor => UnOp::FloorF,
            Ceil => UnOp::CeilF,
            Trunc => UnOp::TruncF,
            Rint => UnOp::RintF,
            Abs if float => UnOp::FAbs,
            Abs => UnOp::SAbs,
            Saturate => UnOp::Saturate,
            Popcount => return self.emit(Op::Un(UnOp::Popc, v[0]), Ty::I32),
            Clz => return self.emit(Op::Un(UnOp::Clz, v[0]), Ty::I32),
            ReverseBits => UnOp::Brev,
            Fma => return self.emit(Op::Tern(TernOp::Fma, v[0], v[1], v[2]), ty),
            Mad if float => {
                let product = self.emit_flagged(Op::Bin(BinOp::FMul, v[0], v[1]), ty, CONTRACT);
                return self.emit_flagged(Op::Bin(BinOp::FAdd, product, v[2]), ty, CONTRACT);
            }
            Mad => return self.emit(Op::Tern(TernOp::Mad, v[0], v[1], v[2]), ty),
            _ => {
                let t = if signed { TernOp::SMad24 } else { TernOp::UMad24 };
                return self.emit(Op::Tern(t, v[0], v[1], v[2]), ty);
            }
        };
        let r = self.emit(Op::Un(un, v[0]), ty);
        if un == UnOp::SAbs { self.normalize(r, scalar) } else { r }
    }
}
