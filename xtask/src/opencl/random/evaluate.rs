//! The reference: runs a random program on the host, statement by statement.

use super::ast::{Bin, Call, Expr, Function, Kernel, Kind, Stmt, TABLE, Ty, VarKind};

/// Work-items in a group; groups of a launch.
pub const GROUP: usize = 32;
pub const GROUPS: usize = 2;

/// The inputs of a launch.
pub struct Inputs {
    pub int: Vec<i32>,
    pub ulong: Vec<u64>,
    pub float: Vec<f32>,
}

/// A variable's value: one scalar, four lanes or eight elements, as bits of their type.
type Bits = [u64; 8];

#[derive(Clone)]
struct Frame {
    vars: Vec<Bits>,
}

enum Flow {
    Next,
    Break,
    Continue,
    Return(u64),
}

struct Item<'k> {
    kernel: &'k Kernel,
    inputs: &'k Inputs,
    id: usize,
    kinds: &'k [VarKind],
}

/// The bits of `v` as a value of the type.
fn wrap(ty: Ty, v: u64) -> u64 {
    match ty {
        Ty::I8 => v as i8 as u64,
        Ty::U8 => u64::from(v as u8),
        Ty::I16 => v as i16 as u64,
        Ty::U16 => u64::from(v as u16),
        Ty::I32 => v as i32 as u64,
        Ty::U32 | Ty::F32 => u64::from(v as u32),
        Ty::I64 | Ty::U64 => v,
    }
}

fn float(v: u64) -> f32 {
    f32::from_bits(v as u32)
}

fn convert(v: u64, from: Ty, to: Ty) -> u64 {
    match (from, to) {
        (Ty::F32, Ty::F32) => v,
        (Ty::F32, _) => {
            let (low, high) = if to.signed() { (-100.0, 100.0) } else { (0.0, 200.0) };
            let x = float(v);
            let x: f32 = if x >= low { x } else { low };
            let x = if x <= high { x } else { high };
            x as i64 as u64
        }
        (_, Ty::F32) if from == Ty::U64 => u64::from((v as f32).to_bits()),
        (_, Ty::F32) => u64::from((v as i64 as f32).to_bits()),
        _ => wrap(to, v),
    }
}

/// What each work-item writes, in order.
pub fn run(kernel: &Kernel, inputs: &Inputs) -> Vec<u64> {
    let mut out = Vec::new();
    for group in 0..GROUPS {
        let mut frames: Vec<Frame> = Vec::new();
        for _ in 0..GROUP {
            frames.push(Frame { vars: fresh(&kernel.vars, 0) });
        }
        let item =
            |lid: usize| Item { kernel, inputs, id: group * GROUP + lid, kinds: &kernel.vars };
        for s in &kernel.body {
            if let Stmt::Exchange { from, distance, to } = s {
                let shared: Vec<u64> = frames
                    .iter_mut()
                    .enumerate()
                    .map(|(lid, f)| wrap(Ty::U32, item(lid).value(f, from)))
                    .collect();
                for (lid, f) in frames.iter_mut().enumerate() {
                    f.vars[*to][0] = shared[(lid + distance) & 31];
                }
                continue;
            }
            for (lid, f) in frames.iter_mut().enumerate() {
                item(lid).stmt(f, s);
            }
        }
        for (lid, f) in frames.iter_mut().enumerate() {
            for r in &kernel.results {
                let v = item(lid).value(f, r);
                out.push(match r.ty {
                    Ty::F32 if float(v).is_nan() => 0x7fc0_0000,
                    _ => v,
                });
            }
        }
    }
    out
}

fn fresh(kinds: &[VarKind], first: usize) -> Vec<Bits> {
    kinds
        .iter()
        .enumerate()
        .map(|(i, kind)| {
            let v = (first + i) as u64;
            match kind {
                VarKind::Scalar(_) => [0; 8],
                VarKind::Vector => [v, 1, 2, 3, 0, 0, 0, 0],
                VarKind::Array(Ty::F32) => {
                    [1, 2, 3, 4, 5, 6, 7, v].map(|n| u64::from((n as f32).to_bits()))
                }
                VarKind::Array(ty) => [1, 2, 3, 4, 5, 6, 7, v].map(|n| wrap(*ty, n)),
            }
        })
        .collect()
}

impl Item<'_> {
    fn scalar(&self, v: usize) -> Ty {
        match self.kinds[v] {
            VarKind::Scalar(ty) | VarKind::Array(ty) => ty,
            VarKind::Vector => Ty::U32,
        }
    }

    fn truth(&self, f: &mut Frame, e: &Expr) -> bool {
        let v = self.value(f, e);
        if e.ty == Ty::F32 { float(v) != 0.0 } else { v != 0 }
    }

    fn body(&self, f: &mut Frame, body: &[Stmt]) -> Flow {
        for s in body {
            match self.stmt(f, s) {
                Flow::Next => {}
                other => return other,
            }
        }
        Flow::Next
    }

    fn stmt(&self, f: &mut Frame, s: &Stmt) -> Flow {
        match s {
            Stmt::Let(v, e) | Stmt::Assign(v, e) => {
                let x = self.value(f, e);
                f.vars[*v][0] = convert(x, e.ty, self.scalar(*v));
            }
            Stmt::Update(v, op, e) => {
                let ty = self.scalar(*v);
                let y = self.value(f, e);
                let x = f.vars[*v][0];
                let common = ty.common(e.ty);
                let r = self.binary(*op, ty, x, e.ty, y);
                f.vars[*v][0] = convert(r, common, ty);
            }
            Stmt::SetLane(v, lane, e) => {
                let x = self.value(f, e);
                f.vars[*v][*lane] = convert(x, e.ty, Ty::U32);
            }
            Stmt::Vector(v, op, a, w, b) => {
                let (x, y) = (f.vars[*v], f.vars[*w]);
                for i in 0..4 {
                    f.vars[*v][i] = self.binary(*op, Ty::U32, x[a[i]], Ty::U32, y[b[i]]);
                }
            }
            Stmt::SetElement(v, i, e) => {
                // Both sides are free of side effects.
                let i = self.value(f, i) as usize & 7;
                let x = self.value(f, e);
                f.vars[*v][i] = convert(x, e.ty, self.scalar(*v));
            }
            Stmt::If(c, yes, no) => {
                let taken = if self.truth(f, c) { yes } else { no };
                return self.body(f, taken);
            }
            Stmt::For { var, bound, step, body } => {
                f.vars[*var][0] = 0;
                while (f.vars[*var][0] as i32) < self.value(f, bound) as i32 {
                    match self.body(f, body) {
                        Flow::Break => break,
                        Flow::Return(v) => return Flow::Return(v),
                        _ => {}
                    }
                    f.vars[*var][0] += step;
                }
            }
            Stmt::While { var, count, body } => {
                f.vars[*var][0] = self.value(f, count);
                while f.vars[*var][0] > 0 {
                    f.vars[*var][0] -= 1;
                    match self.body(f, body) {
                        Flow::Break => break,
                        Flow::Return(v) => return Flow::Return(v),
                        _ => {}
                    }
                }
            }
            Stmt::Switch(e, cases, other) => {
                let at = self.value(f, e) as usize;
                let mut running = false;
                for (i, (body, falls)) in cases.iter().enumerate() {
                    running |= i == at;
                    if running {
                        match self.body(f, body) {
                            Flow::Next => {}
                            Flow::Break => return Flow::Next,
                            flow => return flow,
                        }
                        if !falls {
                            return Flow::Next;
                        }
                    }
                }
                return match self.body(f, other) {
                    Flow::Break => Flow::Next,
                    flow => flow,
                };
            }
            Stmt::BreakIf(c) => {
                if self.truth(f, c) {
                    return Flow::Break;
                }
            }
            Stmt::ContinueIf(c) => {
                if self.truth(f, c) {
                    return Flow::Continue;
                }
            }
            Stmt::ReturnIf(c, e) => {
                if self.truth(f, c) {
                    return Flow::Return(self.value(f, e));
                }
            }
            Stmt::Exchange { .. } => unreachable!("only at the top of a kernel"),
        }
        Flow::Next
    }

    fn value(&self, f: &mut Frame, e: &Expr) -> u64 {
        match &e.kind {
            Kind::Const(bits) => wrap(e.ty, *bits),
            Kind::Var(v) => f.vars[*v][0],
            Kind::Lane(v, lane) => f.vars[*v][*lane],
            Kind::Element(v, i) => {
                let i = self.value(f, i) as usize & 7;
                f.vars[*v][i]
            }
            Kind::Table(i) => u64::from(TABLE[self.value(f, i) as usize & 15]),
            Kind::Input(ty, i) => {
                let at = self.id + (self.value(f, i) as usize & 3);
                match ty {
                    Ty::I32 => self.inputs.int[at] as u64,
                    Ty::U64 => self.inputs.ulong[at],
                    _ => u64::from(self.inputs.float[at].to_bits()),
                }
            }
            Kind::GlobalId => self.id as u64,
            Kind::Bin(Bin::LogicalAnd, a, b) => u64::from(self.truth(f, a) && self.truth(f, b)),
            Kind::Bin(Bin::LogicalOr, a, b) => u64::from(self.truth(f, a) || self.truth(f, b)),
            Kind::Bin(op, a, b) => {
                let (x, y) = (self.value(f, a), self.value(f, b));
                self.binary(*op, a.ty, x, b.ty, y)
            }
            Kind::Not(a) => {
                let v = self.value(f, a);
                wrap(e.ty, !convert(v, a.ty, e.ty))
            }
            Kind::Neg(a) => {
                let v = self.value(f, a);
                match e.ty {
                    Ty::F32 => v ^ 0x8000_0000,
                    ty => wrap(ty, convert(v, a.ty, ty).wrapping_neg()),
                }
            }
            Kind::Cast(a) => {
                let v = self.value(f, a);
                convert(v, a.ty, e.ty)
            }
            Kind::Select(c, a, b) => {
                let taken = if self.truth(f, c) { a } else { b };
                let v = self.value(f, taken);
                convert(v, taken.ty, e.ty)
            }
            Kind::Call(call, args) => {
                let v: Vec<u64> = args.iter().map(|a| self.value(f, a)).collect();
                builtin(*call, e.ty, &v)
            }
            Kind::Function(n, args) => self.call(f, &self.kernel.functions[*n], args),
        }
    }

    fn call(&self, f: &mut Frame, function: &Function, args: &[Expr]) -> u64 {
        let mut vars = fresh(&function.vars, 0);
        for (i, a) in args.iter().enumerate() {
            // Vectors and arrays are passed by the name of a variable.
            match (function.vars[i], &a.kind) {
                (VarKind::Scalar(ty), _) => vars[i][0] = convert(self.value(f, a), a.ty, ty),
                (_, Kind::Var(v)) => vars[i] = f.vars[*v],
                _ => unreachable!("an array that is no variable"),
            }
        }
        let inner = Item { kinds: &function.vars, ..*self };
        let mut frame = Frame { vars };
        let result = match inner.body(&mut frame, &function.body) {
            Flow::Return(v) => v,
            _ => inner.value(&mut frame, &function.result),
        };
        for (i, a) in args.iter().enumerate() {
            if let (VarKind::Array(_), Kind::Var(v)) = (function.vars[i], &a.kind) {
                f.vars[*v] = frame.vars[i];
            }
        }
        result
    }

    fn binary(&self, op: Bin, ta: Ty, x: u64, tb: Ty, y: u64) -> u64 {
        if matches!(op, Bin::Shl | Bin::Shr) {
            let ty = ta.promoted();
            let x = convert(x, ta, ty);
            let n = y as u32 & (ty.bits() - 1);
            return wrap(
                ty,
                match op {
                    Bin::Shl => x << n,
                    _ if ty.signed() => (x as i64 >> n) as u64,
                    _ => x >> n,
                },
            );
        }
        let ty = ta.common(tb);
        let (x, y) = (convert(x, ta, ty), convert(y, tb, ty));
        if ty == Ty::F32 {
            let (a, b) = (float(x), float(y));
            let r = match op {
                Bin::Add => a + b,
                Bin::Sub => a - b,
                Bin::Mul => a * b,
                Bin::Lt => return u64::from(a < b),
                Bin::Le => return u64::from(a <= b),
                Bin::Eq => return u64::from(a == b),
                _ => return u64::from(a != b),
            };
            return u64::from(r.to_bits());
        }
        let (a, b) = (x as i64, y as i64);
        let signed = ty.signed();
        let mask = if signed { 0x7fff } else { 0xff_ffff };
        let divisor = y & mask | 1;
        let r = match op {
            Bin::Add => x.wrapping_add(y),
            Bin::Sub => x.wrapping_sub(y),
            Bin::Mul => x.wrapping_mul(y),
            Bin::Div if signed => (a / divisor as i64) as u64,
            Bin::Div => x / divisor,
            Bin::Rem if signed => (a % divisor as i64) as u64,
            Bin::Rem => x % divisor,
            Bin::And => x & y,
            Bin::Or => x | y,
            Bin::Xor => x ^ y,
            Bin::Lt => u64::from(if signed { a < b } else { x < y }),
            Bin::Le => u64::from(if signed { a <= b } else { x <= y }),
            Bin::Eq => u64::from(x == y),
            _ => u64::from(x != y),
        };
        wrap(if op.is_truth() { Ty::I32 } else { ty }, r)
    }
}

fn builtin(call: Call, ty: Ty, v: &[u64]) -> u64 {
    let signed = ty.signed();
    let r = match call {
        Call::Min if signed => (v[0] as i64).min(v[1] as i64) as u64,
        Call::Min => v[0].min(v[1]),
        Call::Max if signed => (v[0] as i64).max(v[1] as i64) as u64,
        Call::Max => v[0].max(v[1]),
        Call::Rotate => u64::from((v[0] as u32).rotate_left(v[1] as u32 & 31)),
        Call::Popcount => u64::from((v[0] as u32).count_ones()),
        Call::MulHi => (v[0] * v[1]) >> 32,
        Call::AddSat if signed => i64::from((v[0] as i32).saturating_add(v[1] as i32)) as u64,
        Call::AddSat => u64::from((v[0] as u32).saturating_add(v[1] as u32)),
        Call::SubSat if signed => i64::from((v[0] as i32).saturating_sub(v[1] as i32)) as u64,
        Call::SubSat => u64::from((v[0] as u32).saturating_sub(v[1] as u32)),
        Call::Fma => u64::from(float(v[0]).mul_add(float(v[1]), float(v[2])).to_bits()),
        Call::Fabs => v[0] & 0x7fff_ffff,
        Call::Floor => u64::from(float(v[0]).floor().to_bits()),
    };
    wrap(ty, r)
}
