//! Calls that are inlined, and intrinsics.

use smallvec::smallvec;

use super::state::{Lower, Refused, Value, space, stack_position, ty_of};
use crate::intrinsic::Operation;
use crate::ir::{BinOp, CONTRACT, Cmp, List, Mem, MemTy, Op, Space, Ty, UnOp, Val, Warp};
use crate::sema::hir::{Expr, ExprKind, FunctionId, Intrinsic, Stmt};
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
        if self.called.contains(&id) {
            return self.call_function(id, args, ty);
        }
        self.inline(id, body, args, ty)
    }

    /// The body of a function in the place of its call.
    pub(super) fn inline(
        &mut self,
        id: FunctionId,
        body: &[Stmt],
        args: Vec<(QualType, Value)>,
        ty: QualType,
    ) -> Value {
        let program = self.program;
        let function = &program.functions[id.0 as usize];
        let before = self.f.values.len();
        // Calls inline by recursion; half of the stack is left for the tree of one function.
        if self.stack_top.abs_diff(stack_position()) > crate::STACK / 2 {
            self.refused = Some(Refused::Calls);
            return Value::None;
        }
        let after = self.f.new_block();
        let is_void = matches!(program.types.get(ty.id), Type::Void);
        let private = (!is_void).then(|| self.private_for(ty, "result"));
        let (location, scope) = (self.location, self.scope);
        self.open_inlined(id);
        self.push_frame(id, function, Some((after, private)));
        for (i, (_, value)) in args.into_iter().enumerate() {
            let local = crate::sema::hir::LocalId(i as u32);
            let private = self.private_of(local);
            self.declare(local, private, true);
            let place = self.private_ref(private);
            self.store(place, function.params[i], value);
        }
        let targets = std::mem::take(&mut self.targets);
        self.statements(body);
        self.targets = targets;
        self.jump(after);
        self.frames.pop();
        (self.location, self.scope) = (location, scope);
        self.switch_to(after);
        let (times, values) = self.inlined.entry(id).or_default();
        *times += 1;
        *values = (*values).max(self.f.values.len() - before);
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
                values.push((MemTy::B64, self.emit(Op::Generic(Space::Global, address), Ty::I64)));
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
        let format = self.emit(Op::Generic(Space::Global, address), Ty::I64);
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
        let result = match which {
            Intrinsic::Named(operation) => return self.operation(operation, args),
            Intrinsic::To(to) => {
                let address = self.scalar(&args[0]);
                let inside = self.emit(Op::Within(space(to), address), Ty::Pred);
                let there = self.emit(Op::Specific(space(to), address), Ty::I64);
                let null = self.constant(Ty::I64, 0);
                self.emit(Op::Select(inside, there, null), Ty::I64)
            }
            Intrinsic::FenceOf => {
                let address = self.scalar(&args[0]);
                let [local, global] = [Space::Shared, Space::Global]
                    .map(|s| self.emit(Op::Within(s, address), Ty::Pred));
                let [none, one, two] = [0, 1, 2].map(|n| self.constant(Ty::I32, n));
                let rest = self.emit(Op::Select(global, two, none), Ty::I32);
                self.emit(Op::Select(local, one, rest), Ty::I32)
            }
            Intrinsic::Any => self.sign_bits(&args[0], BinOp::Or),
            Intrinsic::All => self.sign_bits(&args[0], BinOp::And),
            Intrinsic::Atomic(op) => {
                let place = self.element_ref(&args[0]);
                let operands: Vec<Val> = args[1..].iter().map(|a| self.scalar(a)).collect();
                let (mem, ..) = self.memory_layout(ty);
                let bits = if mem.size() == 8 { MemTy::B64 } else { MemTy::B32 };
                let m: Mem = self.mem(place, bits, 0);
                if mem == MemTy::F32 {
                    let value = self.emit(Op::Un(UnOp::Bitcast, operands[0]), Ty::I32);
                    let old = self.emit(Op::Atomic(op, m, place.address, value, None), Ty::I32);
                    self.emit(Op::Un(UnOp::Bitcast, old), Ty::F32)
                } else {
                    let compared = operands.get(1).copied();
                    let op = Op::Atomic(op, m, place.address, operands[0], compared);
                    self.emit(op, bits.ty())
                }
            }
        };
        Value::Lanes(smallvec![result])
    }

    /// 1 if the components joined by `join` have their sign bit set, else 0.
    fn sign_bits(&mut self, vector: &Expr, join: BinOp) -> Val {
        let lanes = self.lanes(vector);
        let ty = self.f.ty(lanes[0]);
        let mut v = lanes[0];
        for lane in &lanes[1..] {
            v = self.emit(Op::Bin(join, v, *lane), ty);
        }
        let zero = self.constant(ty, 0);
        let negative = self.emit(Op::Cmp(Cmp::SLt, v, zero), Ty::Pred);
        self.bool_to_int(negative, 1)
    }

    fn operation(&mut self, operation: Operation, args: &[Expr]) -> Value {
        let scalar = args.first().and_then(|a| self.program.types.scalar(a.ty.id));
        let scalar = scalar.unwrap_or(Scalar::U32);
        let ty = ty_of(scalar);
        let v: Vec<Val> = args.iter().map(|a| self.scalar(a)).collect();
        // The analysis has checked that there is a form for the operands.
        const FORM: &str = "the operation has a form for its operands";
        let result = match operation {
            Operation::Register(register) => self.emit(Op::Sreg(register), Ty::I32),
            Operation::Barrier => {
                self.emit(Op::Barrier, Ty::None);
                return Value::None;
            }
            Operation::Fence { device } => {
                self.emit(Op::Fence(device), Ty::None);
                return Value::None;
            }
            Operation::Warp(Warp::Sync) => {
                self.emit(Op::Warp(Warp::Sync, List::new(&v)), Ty::None);
                return Value::None;
            }
            Operation::Warp(Warp::Ballot) => {
                let holds = self.nonzero(v[0]);
                self.emit(Op::Warp(Warp::Ballot, List::new(&[holds, v[1]])), Ty::I32)
            }
            Operation::Warp(what) => self.emit(Op::Warp(what, List::new(&v)), Ty::I32),
            Operation::Unary(forms) => {
                let r = self.emit(Op::Un(forms.of(scalar).expect(FORM), v[0]), ty);
                self.normalize(r, scalar)
            }
            Operation::Count(op) => self.emit(Op::Un(op, v[0]), Ty::I32),
            Operation::Binary(forms) => {
                self.emit(Op::Bin(forms.of(scalar).expect(FORM), v[0], v[1]), ty)
            }
            Operation::Ternary(forms) => {
                self.emit(Op::Tern(forms.of(scalar).expect(FORM), v[0], v[1], v[2]), ty)
            }
            Operation::MultiplyAdd => {
                let product = self.emit_flagged(Op::Bin(BinOp::FMul, v[0], v[1]), ty, CONTRACT);
                self.emit_flagged(Op::Bin(BinOp::FAdd, product, v[2]), ty, CONTRACT)
            }
        };
        Value::Lanes(smallvec![result])
    }
}
