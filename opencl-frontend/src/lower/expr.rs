//! Expressions.

use smallvec::{SmallVec, smallvec};

use super::state::{Lower, MemRef, Value, space, ty_of};
use crate::ir::{BinOp, Cmp, NO_WRAP, Op, Ty, UnOp, Val};
use crate::sema::hir::{Expr, ExprKind};
use crate::types::{self, QualType, Scalar, Type};

pub(super) type Lanes = SmallVec<[Val; 16]>;

impl Lower<'_> {
    /// An expression for its effects.
    pub(super) fn effect(&mut self, e: &Expr) {
        if e.is_lvalue() && !matches!(e.kind, ExprKind::Temporary(..)) {
            // Reading a volatile object for nothing is still a read, and so is any that nobody optimises.
            if (e.ty.volatile || self.options.opt_disable)
                && !self.program.types.is_aggregate(e.ty.id)
            {
                let place = self.lvalue(e);
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
                let (mem, n, _) = self.memory_layout(e.ty);
                let undef = self.constant(mem.ty(), 0);
                SmallVec::from_elem(undef, usize::from(n))
            }
        }
    }

    pub(super) fn scalar(&mut self, e: &Expr) -> Val {
        self.lanes(e)[0]
    }

    /// Stores the value of an initialiser.
    pub(super) fn initialize(&mut self, place: MemRef, init: &Expr) {
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
    pub(super) fn lvalue(&mut self, e: &Expr) -> MemRef {
        let mut place = match &e.kind {
            ExprKind::Local(id) => {
                let private = self.private_of(*id);
                self.private_ref(private)
            }
            ExprKind::Global(id) => {
                let global = &self.program.globals[id.0 as usize];
                let (space, align) = (space(global.ty.space), global.align);
                let address = self.emit(Op::GlobalAddr(id.0), Ty::I64);
                MemRef { space, address, offset: 0, align, volatile: false }
            }
            ExprKind::Deref(pointer) => {
                let address = self.scalar(pointer);
                let natural = self.program.types.align(e.ty.id).max(1);
                let align = self.packed_elements(pointer).map_or(natural, |a| a.min(natural));
                MemRef { space: space(e.ty.space), address, offset: 0, align, volatile: false }
            }
            ExprKind::Member(base, offset) => {
                let base = if base.is_lvalue() {
                    self.lvalue(base)
                } else {
                    match self.value(base) {
                        Value::Memory(place) => place,
                        other => {
                            let private = self.private_for(base.ty, "value");
                            let place = self.private_ref(private);
                            self.store(place, base.ty, other);
                            place
                        }
                    }
                };
                base.at(*offset as i64)
            }
            ExprKind::Temporary(id, init) => {
                let private = self.private_of(*id);
                let place = self.private_ref(private);
                self.initialize(place, init);
                place
            }
            // The place of the first component; callers handle the others.
            ExprKind::Swizzle(base, lanes) => {
                let base_place = self.lvalue(base);
                let size = self.program.types.lanes(base.ty.id).map_or(1, |(s, _)| s.size());
                base_place.at(i64::from(lanes[0]) * size as i64)
            }
            _ => {
                let value = self.value(e);
                match value {
                    Value::Memory(place) => place,
                    other => {
                        let private = self.private_for(e.ty, "value");
                        let place = self.private_ref(private);
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
    pub(super) fn lane_refs(&mut self, base: &Expr, lanes: &[u8], volatile: bool) -> Vec<MemRef> {
        let mut place = self.lvalue(base);
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
            for place in self.lane_refs(base, lanes, e.ty.volatile) {
                if let Value::Lanes(one) = self.load(place, QualType::plain(element.into())) {
                    out.extend(one);
                }
            }
            return Value::Lanes(out);
        }
        let place = self.lvalue(e);
        self.load(place, e.ty.value())
    }

    fn store_lvalue(&mut self, e: &Expr, value: Value) {
        if let (ExprKind::Swizzle(base, lanes), Value::Lanes(values)) = (&e.kind, &value)
            && lanes.len() > 1
        {
            let element = self.program.types.lanes(e.ty.id).map_or(Scalar::I32, |l| l.0);
            let places = self.lane_refs(base, lanes, e.ty.volatile);
            for (place, v) in places.into_iter().zip(values) {
                self.store(place, QualType::plain(element.into()), Value::Lanes(smallvec![*v]));
            }
            return;
        }
        let place = self.lvalue(e);
        self.store(place, e.ty.value(), value);
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, e: &Expr) -> Value {
        if self.refused.is_some() {
            return Value::None;
        }
        let lanes = match &e.kind {
            ExprKind::Error => return Value::None,
            ExprKind::Const(bits) => {
                let ty = match self.program.types.scalar(e.ty.id) {
                    Some(s) => ty_of(s),
                    None => self.mem_ty(e.ty.id).ty(),
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
                let place = self.lvalue(e);
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
                let place = self.lvalue(object);
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
            ExprKind::Statements(list, value) => {
                self.statements(list);
                return value.as_ref().map_or(Value::None, |v| self.value(v));
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
                    let mut one: Vec<(QualType, Value)> = Vec::with_capacity(args.len());
                    for (ty, lanes) in params.iter().zip(&args) {
                        let v = match self.program.types.pointee(ty.id) {
                            Some(to) => {
                                let size = self.program.types.size(to.id).unwrap_or(1);
                                let offset = self.constant(Ty::I64, i as u64 * size);
                                self.emit(Op::Bin(BinOp::Add, lanes[0], offset), Ty::I64)
                            }
                            None => lanes[if lanes.len() > 1 { i } else { 0 }],
                        };
                        one.push((*ty, Value::Lanes(smallvec![v])));
                    }
                    if let Value::Lanes(r) = self.call(*f, one, result) {
                        out.extend(r);
                    }
                }
                out
            }
            ExprKind::Intrinsic(which, args) => return self.intrinsic(*which, args, e.ty),
            ExprKind::Aggregate(_) => {
                let private = self.private_for(e.ty, "value");
                let place = self.private_ref(private);
                self.initialize(place, e);
                return Value::Memory(place);
            }
            ExprKind::Printf(format, args) => smallvec![self.printf(format.0, args)],
            ExprKind::Shuffle(parts) => self.shuffle(parts),
            ExprKind::VectorLoad(p) => {
                let place = self.element_ref(p);
                let (mem, n, _) = self.memory_layout(e.ty);
                (0..n)
                    .map(|i| {
                        let m = self.mem(place, mem, u64::from(i) * mem.size());
                        self.emit(Op::Load(m, place.address), mem.ty())
                    })
                    .collect()
            }
            ExprKind::VectorStore(p, value) => {
                let values = self.lanes(value);
                let place = self.element_ref(p);
                let (mem, ..) = self.memory_layout(value.ty);
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
    pub(super) fn element_ref(&mut self, pointer: &Expr) -> MemRef {
        let to = self.program.types.pointee(pointer.ty.id).unwrap_or(pointer.ty);
        let address = self.scalar(pointer);
        let align = self.program.types.align(to.id);
        MemRef { space: space(to.space), address, offset: 0, align, volatile: to.volatile }
    }

    fn address(&mut self, place: MemRef) -> Val {
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
            let spaces = (types.pointee(a.ty.id), types.pointee(to.id));
            let converted = match spaces.0.zip(spaces.1) {
                Some((from, into)) if from.space == into.space => None,
                Some((from, into)) if into.space == types::Space::Generic => {
                    Some((space(from.space), true))
                }
                Some((from, into)) if from.space == types::Space::Generic => {
                    Some((space(into.space), false))
                }
                _ => None,
            };
            let Some((space, widens)) = converted else { return self.value(a) };
            let v = self.scalar(a);
            let op = if widens { Op::Generic(space, v) } else { Op::Specific(space, v) };
            return Value::Lanes(smallvec![self.emit(op, Ty::I64)]);
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
        let private = self.private_for(if n > m { a.ty } else { to }, "bits");
        let place = self.private_ref(private);
        self.store(place, a.ty, Value::Lanes(values));
        self.load(place, to)
    }
}
