//! Expressions.

use smallvec::{SmallVec, smallvec};

use super::{Lower, Place, Value, space, ty_of};
use crate::ir::{
    Atomic, BinOp, CONTRACT, Cmp, Mem, MemTy, NO_WRAP, Op, Sreg, TernOp, Ty, UnOp, Val,
};
use crate::parse::ast::BinaryOp;
use crate::sema::hir::{AtomicOp, Expr, ExprKind, FunctionId, Intrinsic, MathOp, Rounding};
use crate::sema::types::{QualType, Scalar, Type};

type Lanes = SmallVec<[Val; 16]>;

impl Lower<'_> {
    /// An expression for its effects.
    pub(super) fn effect(&mut self, e: &Expr) {
        if e.is_lvalue() && !matches!(e.kind, ExprKind::Temporary(..)) {
            // Reading a volatile object for nothing is still a read.
            if e.ty.volatile && !self.program.types.is_aggregate(e.ty.id) {
                let place = self.place(e);
                self.load(place, e.ty.value());
            } else if let ExprKind::Deref(p) = &e.kind {
                self.effect(p);
            }
            return;
        }
        self.value(e);
    }

    /// The components of a scalar or vector expression.
    pub(super) fn lanes(&mut self, e: &Expr) -> Lanes {
        match self.value(e) {
            Value::Lanes(lanes) => lanes,
            _ => {
                let (mem, n, _) = self.shape(e.ty);
                let undef = self.constant(mem.ty(), 0);
                SmallVec::from_elem(undef, usize::from(n))
            }
        }
    }

    fn scalar(&mut self, e: &Expr) -> Val {
        self.lanes(e)[0]
    }

    /// Stores the value of an initialiser.
    pub(super) fn initialize(&mut self, place: Place, init: &Expr) {
        if let ExprKind::Aggregate(items) = &init.kind {
            if !self.covers(init.ty, items) {
                self.clear(place, init.ty);
            }
            for (offset, item) in items {
                self.initialize(place.at(*offset as i64), item);
            }
            return;
        }
        let value = self.value(init);
        self.store(place, init.ty, value);
    }

    /// True if the items leave nothing to zero.
    fn covers(&self, ty: QualType, items: &[(u64, Expr)]) -> bool {
        let types = &self.program.types;
        let sizes: u64 = items.iter().map(|(_, e)| types.size(e.ty.id).unwrap_or(0)).sum();
        let nested = items.iter().any(|(_, e)| matches!(e.kind, ExprKind::Aggregate(_)));
        let mut offsets: Vec<u64> = items.iter().map(|i| i.0).collect();
        offsets.sort_unstable();
        offsets.dedup();
        !nested && offsets.len() == items.len() && types.size(ty.id) == Some(sizes)
    }

    /// Where an lvalue is.
    pub(super) fn place(&mut self, e: &Expr) -> Place {
        let mut place = match &e.kind {
            ExprKind::Local(id) => {
                let slot = self.local_slot(*id);
                self.slot_place(slot)
            }
            ExprKind::Global(id) => {
                let global = &self.program.globals[id.0 as usize];
                let (space, align) = (space(global.ty.space), global.align);
                let address = self.emit(Op::GlobalAddr(id.0), Ty::I64);
                Place { space, address, offset: 0, align, volatile: false }
            }
            ExprKind::Deref(pointer) => {
                let address = self.scalar(pointer);
                let align = self.program.types.align(e.ty.id).max(1);
                Place { space: space(e.ty.space), address, offset: 0, align, volatile: false }
            }
            ExprKind::Member(base, offset) => {
                let base = if base.is_lvalue() {
                    self.place(base)
                } else {
                    match self.value(base) {
                        Value::Memory(place) => place,
                        other => {
                            let slot = self.slot_for(base.ty, "value");
                            let place = self.slot_place(slot);
                            self.store(place, base.ty, other);
                            place
                        }
                    }
                };
                base.at(*offset as i64)
            }
            ExprKind::Temporary(id, init) => {
                let slot = self.local_slot(*id);
                let place = self.slot_place(slot);
                self.initialize(place, init);
                place
            }
            // The place of the first component; callers handle the others.
            ExprKind::Swizzle(base, lanes) => {
                let base_place = self.place(base);
                let size = self.program.types.lanes(base.ty.id).map_or(1, |(s, _)| s.size());
                base_place.at(i64::from(lanes[0]) * size as i64)
            }
            _ => {
                let value = self.value(e);
                match value {
                    Value::Memory(place) => place,
                    other => {
                        let slot = self.slot_for(e.ty, "value");
                        let place = self.slot_place(slot);
                        self.store(place, e.ty, other);
                        place
                    }
                }
            }
        };
        place.volatile |= e.ty.volatile;
        place
    }

    /// Places of the components of an lvalue swizzle.
    fn lane_places(&mut self, base: &Expr, lanes: &[u8], volatile: bool) -> Vec<Place> {
        let mut place = self.place(base);
        place.volatile |= volatile;
        let size = self.program.types.lanes(base.ty.id).map_or(1, |(s, _)| s.size());
        lanes.iter().map(|l| place.at((u64::from(*l) * size) as i64)).collect()
    }

    fn load_lvalue(&mut self, e: &Expr) -> Value {
        if let ExprKind::Swizzle(base, lanes) = &e.kind
            && lanes.len() > 1
        {
            let element = self.program.types.lanes(e.ty.id).map_or(Scalar::I32, |l| l.0);
            let mut out = Lanes::new();
            for place in self.lane_places(base, lanes, e.ty.volatile) {
                if let Value::Lanes(one) = self.load(place, QualType::plain(element.into())) {
                    out.extend(one);
                }
            }
            return Value::Lanes(out);
        }
        let place = self.place(e);
        self.load(place, e.ty.value())
    }

    fn store_lvalue(&mut self, e: &Expr, value: Value) {
        if let (ExprKind::Swizzle(base, lanes), Value::Lanes(values)) = (&e.kind, &value)
            && lanes.len() > 1
        {
            let element = self.program.types.lanes(e.ty.id).map_or(Scalar::I32, |l| l.0);
            let places = self.lane_places(base, lanes, e.ty.volatile);
            for (place, v) in places.into_iter().zip(values) {
                self.store(place, QualType::plain(element.into()), Value::Lanes(smallvec![*v]));
            }
            return;
        }
        let place = self.place(e);
        self.store(place, e.ty.value(), value);
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, e: &Expr) -> Value {
        if self.too_large {
            return Value::None;
        }
        let lanes = match &e.kind {
            ExprKind::Error => return Value::None,
            ExprKind::Const(bits) => {
                let ty = match self.program.types.scalar(e.ty.id) {
                    Some(s) => ty_of(s),
                    None => Ty::I64,
                };
                smallvec![self.constant(ty, *bits)]
            }
            ExprKind::Load(object) => return self.load_lvalue(object),
            ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Deref(_)
            | ExprKind::Temporary(..) => {
                return self.load_lvalue(e);
            }
            ExprKind::Member(..) => {
                let place = self.place(e);
                return self.load(place, e.ty.value());
            }
            ExprKind::Swizzle(base, picks) => {
                if base.is_lvalue() {
                    return self.load_lvalue(e);
                }
                let all = self.lanes(base);
                picks.iter().map(|p| all[usize::from(*p)]).collect()
            }
            ExprKind::AddressOf(object) => {
                let place = self.place(object);
                smallvec![self.address(place)]
            }
            ExprKind::Negate(a) => {
                let scalar = self.program.types.lanes(e.ty.id).map_or(Scalar::I32, |l| l.0);
                let (op, flags) = match (scalar.is_float(), scalar) {
                    (true, _) => (UnOp::FNeg, 0),
                    (_, Scalar::I32 | Scalar::I64) => (UnOp::Neg, NO_WRAP),
                    _ => (UnOp::Neg, 0),
                };
                let values = self.lanes(a);
                values
                    .into_iter()
                    .map(|v| {
                        let r = self.emit_flagged(Op::Un(op, v), ty_of(scalar), flags);
                        self.normalize(r, scalar)
                    })
                    .collect()
            }
            ExprKind::Not(a) => {
                let scalar = self.program.types.lanes(e.ty.id).map_or(Scalar::I32, |l| l.0);
                let values = self.lanes(a);
                values
                    .into_iter()
                    .map(|v| {
                        let r = self.emit(Op::Un(UnOp::Not, v), ty_of(scalar));
                        self.normalize(r, scalar)
                    })
                    .collect()
            }
            ExprKind::LogicalNot(a) => {
                let v = self.scalar(a);
                smallvec![self.emit(Op::Un(UnOp::Not, v), Ty::Pred)]
            }
            ExprKind::Binary { op, lhs, rhs, contract } => {
                self.binary(*op, lhs, rhs, e.ty, *contract)
            }
            ExprKind::PointerAdd(p, i, size) => {
                let (p, i) = (self.scalar(p), self.scalar(i));
                smallvec![self.pointer_add(p, i, *size)]
            }
            ExprKind::PointerDiff(a, b, size) => {
                let (a, b) = (self.scalar(a), self.scalar(b));
                let bytes = self.emit(Op::Bin(BinOp::Sub, a, b), Ty::I64);
                // Exact: an arithmetic shift suffices for powers of two.
                if size.is_power_of_two() {
                    let count = self.constant(Ty::I32, u64::from(size.trailing_zeros()));
                    smallvec![self.emit(Op::Bin(BinOp::AShr, bytes, count), Ty::I64)]
                } else {
                    let size = self.constant(Ty::I64, *size);
                    smallvec![self.emit(Op::Bin(BinOp::SDiv, bytes, size), Ty::I64)]
                }
            }
            ExprKind::Convert { value, saturate, rounding } => {
                let (from, _) = self.program.types.lanes(value.ty.id).unwrap_or((Scalar::I32, 1));
                let (to, n) = self.program.types.lanes(e.ty.id).unwrap_or((Scalar::I32, 1));
                let values = self.lanes(value);
                debug_assert_eq!(values.len(), usize::from(n));
                values
                    .into_iter()
                    .map(|v| self.convert(v, from, to, *saturate, *rounding))
                    .collect()
            }
            ExprKind::Bitcast(a) => {
                if matches!(self.program.types.get(e.ty.id), Type::Void) {
                    self.effect(a);
                    return Value::None;
                }
                return self.bitcast(a, e.ty);
            }
            ExprKind::Splat(a) => {
                let n = self.program.types.lanes(e.ty.id).map_or(1, |l| l.1);
                let v = self.scalar(a);
                SmallVec::from_elem(v, usize::from(n))
            }
            ExprKind::Build(parts) => {
                let mut out = Lanes::new();
                for part in parts {
                    out.extend(self.lanes(part));
                }
                out
            }
            ExprKind::Assign(to, value) => {
                let value = self.value(value);
                self.store_lvalue(to, value.clone());
                return value;
            }
            ExprKind::Update { op, lhs, rhs, compute, post, contract } => {
                return self.update(*op, lhs, rhs, *compute, *post, *contract);
            }
            ExprKind::LogicalAnd(..) | ExprKind::LogicalOr(..) => {
                smallvec![self.logical(e)]
            }
            ExprKind::Conditional(c, a, b) => return self.conditional(c, a, b, e.ty),
            ExprKind::VectorSelect(c, a, b) => {
                let (c, a, b) = (self.lanes(c), self.lanes(a), self.lanes(b));
                let ty = self.f.ty(a[0]);
                (0..a.len())
                    .map(|i| {
                        let zero = self.constant(self.f.ty(c[i]), 0);
                        let negative = self.emit(Op::Cmp(Cmp::SLt, c[i], zero), Ty::Pred);
                        self.emit(Op::Select(negative, a[i], b[i]), ty)
                    })
                    .collect()
            }
            ExprKind::Comma(a, b) => {
                self.effect(a);
                return self.value(b);
            }
            ExprKind::Call(f, args) => {
                let args: Vec<(QualType, Value)> =
                    args.iter().map(|a| (a.ty, self.value(a))).collect();
                return self.call(*f, args, e.ty);
            }
            ExprKind::CallPerLane(f, args) => {
                let n = self.program.types.lanes(e.ty.id).map_or(1, |l| usize::from(l.1));
                let args: Vec<Lanes> = args.iter().map(|a| self.lanes(a)).collect();
                let params = self.program.functions[f.0 as usize].params.clone();
                let result = self.program.functions[f.0 as usize].result;
                let mut out = Lanes::new();
                for i in 0..n {
                    let one: Vec<(QualType, Value)> = params
                        .iter()
                        .zip(&args)
                        .map(|(ty, lanes)| {
                            (
                                *ty,
                                Value::Lanes(smallvec![if lanes.len() > 1 {
                                    lanes[i]
                                } else {
                                    lanes[0]
                                }]),
                            )
                        })
                        .collect();
                    if let Value::Lanes(r) = self.call(*f, one, result) {
                        out.extend(r);
                    }
                }
                out
            }
            ExprKind::Intrinsic(which, args) => return self.intrinsic(*which, args, e.ty),
            ExprKind::Aggregate(_) => {
                let slot = self.slot_for(e.ty, "value");
                let place = self.slot_place(slot);
                self.initialize(place, e);
                return Value::Memory(place);
            }
            ExprKind::Shuffle(parts) => self.shuffle(parts),
            ExprKind::VectorLoad(p) => {
                let place = self.element_place(p);
                let (mem, n, _) = self.shape(e.ty);
                (0..n)
                    .map(|i| {
                        let m = self.mem(place, mem, u64::from(i) * mem.size());
                        self.emit(Op::Load(m, place.address), mem.ty())
                    })
                    .collect()
            }
            ExprKind::VectorStore(p, value) => {
                let values = self.lanes(value);
                let place = self.element_place(p);
                let (mem, ..) = self.shape(value.ty);
                for (i, v) in values.into_iter().enumerate() {
                    let m = self.mem(place, mem, i as u64 * mem.size());
                    self.emit(Op::Store(m, place.address, v), Ty::None);
                }
                return Value::None;
            }
        };
        Value::Lanes(lanes)
    }

    /// The memory that a pointer to a component points to.
    fn element_place(&mut self, pointer: &Expr) -> Place {
        let to = self.program.types.pointee(pointer.ty.id).unwrap_or(pointer.ty);
        let address = self.scalar(pointer);
        let align = self.program.types.align(to.id);
        Place { space: space(to.space), address, offset: 0, align, volatile: to.volatile }
    }

    fn address(&mut self, place: Place) -> Val {
        let offset = self.constant(Ty::I64, place.offset as u64);
        self.emit(Op::Bin(BinOp::Add, place.address, offset), Ty::I64)
    }

    fn pointer_add(&mut self, p: Val, i: Val, size: u64) -> Val {
        let size = self.constant(Ty::I64, size);
        let bytes = self.emit(Op::Bin(BinOp::Mul, i, size), Ty::I64);
        self.emit(Op::Bin(BinOp::Add, p, bytes), Ty::I64)
    }

    fn bitcast(&mut self, a: &Expr, to: QualType) -> Value {
        let types = &self.program.types;
        let (Some((from, n)), Some((into, m))) = (types.lanes(a.ty.id), types.lanes(to.id)) else {
            // Pointers and integers of their size.
            return self.value(a);
        };
        let values = self.lanes(a);
        if n == m && from.size() == into.size() {
            let out = values
                .into_iter()
                .map(|v| {
                    let v = self.emit(Op::Un(UnOp::Bitcast, v), ty_of(into));
                    self.normalize(v, into)
                })
                .collect();
            return Value::Lanes(out);
        }
        // Another number of components: through memory.
        let slot = self.slot_for(if n > m { a.ty } else { to }, "bits");
        let place = self.slot_place(slot);
        self.store(place, a.ty, Value::Lanes(values));
        self.load(place, to)
    }

    // Operators

    fn binary(
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
    fn operate(
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
            _ => None,
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
            _ => (BinOp::And, 0),
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
            Scalar::F32 if !self.options.correctly_rounded_divide_sqrt => BinOp::FDivFull,
            _ => BinOp::FDiv,
        }
    }

    fn update(
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
        let places: Vec<Place> = match &lhs.kind {
            ExprKind::Swizzle(base, lanes) => self.lane_places(base, lanes, lhs.ty.volatile),
            _ => {
                let place = self.place(lhs);
                let (mem, n, _) = self.shape(lhs.ty);
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
    fn logical(&mut self, e: &Expr) -> Val {
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

    fn conditional(&mut self, c: &Expr, a: &Expr, b: &Expr, ty: QualType) -> Value {
        let (yes, no, after) = (self.f.new_block(), self.f.new_block(), self.f.new_block());
        self.branch_on(c, yes, no);
        let memory = self.program.types.is_aggregate(ty.id);
        let slot = memory.then(|| self.slot_for(ty, "choice"));
        let mut params = Lanes::new();
        for (block, e) in [(yes, a), (no, b)] {
            self.switch_to(block);
            let value = self.value(e);
            let mut args = SmallVec::new();
            match (value, slot) {
                (value @ Value::Memory(_), Some(slot)) => {
                    let place = self.slot_place(slot);
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
        match slot {
            Some(slot) => Value::Memory(self.slot_place(slot)),
            None if params.is_empty() => Value::None,
            None => Value::Lanes(params),
        }
    }

    fn shuffle(&mut self, parts: &[Expr]) -> Lanes {
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

    // Calls

    fn call(&mut self, id: FunctionId, args: Vec<(QualType, Value)>, ty: QualType) -> Value {
        let program = self.program;
        let function = &program.functions[id.0 as usize];
        let Some(body) = &function.body else { return Value::None };
        let after = self.f.new_block();
        let is_void = matches!(program.types.get(ty.id), Type::Void);
        let slot = (!is_void).then(|| self.slot_for(ty, "result"));
        let location = self.location;
        self.push_frame(id, function, Some((after, slot)));
        for (i, (_, value)) in args.into_iter().enumerate() {
            let local = crate::sema::hir::LocalId(i as u32);
            let slot = self.local_slot(local);
            let place = self.slot_place(slot);
            self.store(place, function.params[i], value);
        }
        let targets = std::mem::take(&mut self.targets);
        self.statements(body);
        self.targets = targets;
        self.jump(after);
        self.frames.pop();
        self.location = location;
        self.switch_to(after);
        match slot {
            Some(slot) => {
                let place = self.slot_place(slot);
                if program.types.is_aggregate(ty.id) {
                    Value::Memory(place)
                } else {
                    self.load(place, ty)
                }
            }
            None => Value::None,
        }
    }

    fn intrinsic(&mut self, which: Intrinsic, args: &[Expr], ty: QualType) -> Value {
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
                let place = self.element_place(&args[0]);
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
