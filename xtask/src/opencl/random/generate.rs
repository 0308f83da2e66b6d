//! Makes random programs without undefined behaviour whose loops end soon.

use super::ast::{Bin, Call, Expr, Function, Kernel, Kind, Stmt, Ty, VarKind};
use crate::rng::Rng;

struct Maker<'r> {
    rng: &'r mut Rng,
    functions: Vec<Function>,
    vars: Vec<VarKind>,
    /// Variables that have a value where the program stands, and may be written.
    scope: Vec<(usize, bool)>,
    in_kernel: bool,
    /// Statements that may still be made.
    budget: usize,
    /// Turns of the loops around the place, multiplied.
    turns: usize,
    loops: usize,
    returns: Option<Ty>,
}

/// A kernel with its helper functions.
pub fn kernel(number: usize, seed: u64) -> Kernel {
    let mut rng = Rng(seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f));
    let rng = &mut rng;
    let mut functions = Vec::new();
    for _ in 0..rng.below(4) {
        let function = function(rng, &functions);
        functions.push(function);
    }
    let size = 8 + rng.below(30);
    let mut m = Maker::new(rng, functions, true, size);
    m.containers();
    let mut body = Vec::new();
    // What inner blocks assign to, so that their work shows in the results.
    for _ in 0..3 + m.rng.below(3) {
        let ty = m.rng.pick(&Ty::ALL);
        m.fresh(ty, &mut body);
    }
    while m.budget > 0 {
        if m.rng.chance(8) {
            let from = m.expr(Ty::U32, 2);
            let to = m.fresh(Ty::U32, &mut body);
            let distance = m.rng.below(32);
            body.push(Stmt::Exchange { from, distance, to });
        } else {
            m.statement(&mut body, 0);
        }
    }
    let mut results = Vec::new();
    for (v, _) in m.scope.clone() {
        match m.vars[v] {
            VarKind::Scalar(ty) => results.push(Expr { ty, kind: Kind::Var(v) }),
            VarKind::Vector => {
                for lane in 0..4 {
                    results.push(Expr { ty: Ty::U32, kind: Kind::Lane(v, lane) });
                }
            }
            VarKind::Array(ty) => {
                for i in 0..8 {
                    let i = Expr { ty: Ty::U32, kind: Kind::Const(i) };
                    results.push(Expr { ty, kind: Kind::Element(v, Box::new(i)) });
                }
            }
        }
    }
    Kernel { number, functions: m.functions, vars: m.vars, body, results }
}

fn function(rng: &mut Rng, before: &[Function]) -> Function {
    let size = 2 + rng.below(8);
    let mut m = Maker::new(rng, before.to_vec(), false, size);
    let params = 1 + m.rng.below(3);
    for v in 0..params {
        let ty = m.rng.pick(&Ty::ALL);
        let kind = match m.rng.below(10) {
            0 => VarKind::Vector,
            1 | 2 => VarKind::Array(ty),
            _ => VarKind::Scalar(ty),
        };
        m.vars.push(kind);
        m.scope.push((v, true));
    }
    m.containers();
    let ty = m.rng.pick(&Ty::ALL);
    m.returns = Some(ty);
    let mut body = Vec::new();
    while m.budget > 0 {
        m.statement(&mut body, 0);
    }
    let result = m.expr(ty, 3);
    Function { vars: m.vars, params, body, result }
}

impl<'r> Maker<'r> {
    fn new(rng: &'r mut Rng, functions: Vec<Function>, in_kernel: bool, budget: usize) -> Self {
        Maker {
            rng,
            functions,
            vars: Vec::new(),
            scope: Vec::new(),
            in_kernel,
            budget,
            turns: 1,
            loops: 0,
            returns: None,
        }
    }

    /// Vectors and arrays are declared at the top.
    fn containers(&mut self) {
        for _ in 0..self.rng.below(3) {
            let ty = self.rng.pick(&Ty::ALL);
            let kind = if self.rng.chance(40) { VarKind::Vector } else { VarKind::Array(ty) };
            self.scope.push((self.vars.len(), true));
            self.vars.push(kind);
        }
    }

    fn fresh(&mut self, ty: Ty, body: &mut Vec<Stmt>) -> usize {
        let value = self.expr(ty, 3);
        let v = self.vars.len();
        self.vars.push(VarKind::Scalar(ty));
        self.scope.push((v, true));
        body.push(Stmt::Let(v, value));
        v
    }

    /// Variables of a kind that can be written, or read.
    fn candidates(&self, write: bool, fits: impl Fn(VarKind) -> bool) -> Vec<usize> {
        let visible = self.scope.iter().filter(|s| !write || s.1);
        visible.map(|s| s.0).filter(|v| fits(self.vars[*v])).collect()
    }

    fn inner(&mut self, depth: usize, loop_turns: usize) -> Vec<Stmt> {
        let scope = self.scope.len();
        let turns = self.turns;
        self.turns *= loop_turns.max(1);
        self.loops += usize::from(loop_turns > 0);
        let mut body = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            self.statement(&mut body, depth + 1);
        }
        self.loops -= usize::from(loop_turns > 0);
        self.turns = turns;
        self.scope.truncate(scope);
        body
    }

    fn statement(&mut self, body: &mut Vec<Stmt>, depth: usize) {
        self.budget = self.budget.saturating_sub(1);
        let compound = depth < 3 && self.budget > 0;
        match self.rng.below(20) {
            0..=3 => {
                let ty = self.rng.pick(&Ty::ALL);
                self.fresh(ty, body);
            }
            4..=6 => {
                let all = self.candidates(true, |s| matches!(s, VarKind::Scalar(_)));
                if !all.is_empty() {
                    let v = self.rng.pick(&all);
                    let VarKind::Scalar(ty) = self.vars[v] else { return };
                    let e = self.expr(ty, 3);
                    body.push(Stmt::Assign(v, e));
                }
            }
            7 | 8 => {
                let unsigned =
                    |s| matches!(s, VarKind::Scalar(Ty::U32 | Ty::U64 | Ty::U8 | Ty::F32));
                let all = self.candidates(true, unsigned);
                if !all.is_empty() {
                    let v = self.rng.pick(&all);
                    let VarKind::Scalar(ty) = self.vars[v] else { return };
                    let op = if ty == Ty::F32 {
                        self.rng.pick(&[Bin::Add, Bin::Sub, Bin::Mul])
                    } else {
                        self.rng.pick(&[
                            Bin::Add,
                            Bin::Sub,
                            Bin::Xor,
                            Bin::Shl,
                            Bin::Shr,
                            Bin::And,
                            Bin::Or,
                        ])
                    };
                    let e = self.expr(ty, 2);
                    body.push(Stmt::Update(v, op, e));
                }
            }
            9 | 10 => self.of_many(body),
            11..=13 if compound => {
                let c = self.condition(2);
                let yes = self.inner(depth, 0);
                let no = if self.rng.chance(50) { self.inner(depth, 0) } else { Vec::new() };
                body.push(Stmt::If(c, yes, no));
            }
            14 | 15 if compound && self.turns < 200 => self.counted_loop(body, depth),
            16 if compound && self.turns < 200 => {
                let count = self.expr(Ty::U32, 2);
                let seven = Expr { ty: Ty::U32, kind: Kind::Const(7) };
                let count = binary(Bin::And, count, seven);
                let var = self.vars.len();
                self.vars.push(VarKind::Scalar(Ty::U32));
                self.scope.push((var, false));
                let inner = self.inner(depth, 8);
                self.scope.retain(|s| s.0 != var);
                body.push(Stmt::While { var, count, body: inner });
            }
            17 if compound => {
                let e = self.expr(Ty::U32, 2);
                let e = binary(Bin::And, e, Expr { ty: Ty::U32, kind: Kind::Const(3) });
                // `continue` may stand in a switch, `break` would leave the switch only: both are allowed.
                let cases = (0..1 + self.rng.below(3))
                    .map(|_| (self.inner(depth, 0), self.rng.chance(30)))
                    .collect();
                let other = self.inner(depth, 0);
                body.push(Stmt::Switch(e, cases, other));
            }
            18 if self.loops > 0 => {
                let c = self.condition(2);
                body.push(if self.rng.chance(50) { Stmt::BreakIf(c) } else { Stmt::ContinueIf(c) });
            }
            19 => {
                if let Some(ty) = self.returns
                    && depth > 0
                {
                    let c = self.condition(2);
                    let e = self.expr(ty, 2);
                    body.push(Stmt::ReturnIf(c, e));
                }
            }
            _ => {}
        }
    }

    /// A statement that writes part of an array or a vector, or all of a vector.
    fn of_many(&mut self, body: &mut Vec<Stmt>) {
        let vectors = self.candidates(true, |s| s == VarKind::Vector);
        let arrays = self.candidates(true, |s| matches!(s, VarKind::Array(_)));
        if !arrays.is_empty() && self.rng.chance(60) {
            let v = self.rng.pick(&arrays);
            let VarKind::Array(ty) = self.vars[v] else { return };
            let (i, e) = (self.index(), self.expr(ty, 3));
            body.push(Stmt::SetElement(v, i, e));
        } else if !vectors.is_empty() && self.rng.chance(50) {
            let v = self.rng.pick(&vectors);
            let (lane, e) = (self.rng.below(4), self.expr(Ty::U32, 2));
            body.push(Stmt::SetLane(v, lane, e));
        } else if !vectors.is_empty() {
            let (v, w) = (self.rng.pick(&vectors), self.rng.pick(&vectors));
            let op = self.rng.pick(&[Bin::Add, Bin::Sub, Bin::Mul, Bin::Xor, Bin::Shl, Bin::Shr]);
            let lanes = [(); 8].map(|()| self.rng.below(4));
            let (a, b) = (
                [lanes[0], lanes[1], lanes[2], lanes[3]],
                [lanes[4], lanes[5], lanes[6], lanes[7]],
            );
            body.push(Stmt::Vector(v, op, a, w, b));
        }
    }

    /// A loop with a known or computed number of turns.
    fn counted_loop(&mut self, body: &mut Vec<Stmt>, depth: usize) {
        let var = self.vars.len();
        self.vars.push(VarKind::Scalar(Ty::I32));
        let most = 1 + self.rng.below(8);
        let bound = if !self.in_kernel || self.rng.chance(60) {
            Expr { ty: Ty::I32, kind: Kind::Const(most as u64) }
        } else {
            // Not changed by the body: only what no statement can write.
            let id = Expr { ty: Ty::I32, kind: Kind::GlobalId };
            binary(Bin::And, id, Expr { ty: Ty::I32, kind: Kind::Const(7) })
        };
        let step = 1 + self.rng.below(2) as u64;
        self.scope.push((var, false));
        let inner = self.inner(depth, 8);
        self.scope.retain(|s| s.0 != var);
        body.push(Stmt::For { var, bound, step, body: inner });
    }

    fn condition(&mut self, depth: usize) -> Expr {
        let ty = self.rng.pick(&Ty::ALL);
        let op = self.rng.pick(&[Bin::Lt, Bin::Le, Bin::Eq, Bin::Ne]);
        let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
        let c = binary(op, a, b);
        if depth > 0 && self.rng.chance(25) {
            let other = self.condition(depth - 1);
            return binary(self.rng.pick(&[Bin::LogicalAnd, Bin::LogicalOr]), c, other);
        }
        c
    }

    fn index(&mut self) -> Expr {
        let counters = self.candidates(false, |s| matches!(s, VarKind::Scalar(Ty::I32 | Ty::U32)));
        if !counters.is_empty() && self.rng.chance(60) {
            let v = self.rng.pick(&counters);
            let VarKind::Scalar(ty) = self.vars[v] else { return self.constant(Ty::U32) };
            return Expr { ty, kind: Kind::Var(v) };
        }
        if self.rng.chance(50) { self.constant(Ty::U32) } else { self.expr(Ty::U32, 1) }
    }

    fn constant(&mut self, ty: Ty) -> Expr {
        let bits = if ty == Ty::F32 {
            let v =
                self.rng.pick(&[0.0f32, 1.0, -1.0, 0.5, 3.25, -100.0, 1e10, 1e-10, 65536.0, -0.0]);
            u64::from(v.to_bits())
        } else {
            let small = self.rng.below(40) as u64;
            let edges =
                [u64::MAX, 1 << 31, (1 << 31) - 1, 255, 256, 65535, 1 << 63, 0x5555_5555_5555_5555];
            let edge = self.rng.pick(&edges);
            let any = self.rng.next();
            self.rng.pick(&[small, small, small, edge, any])
        };
        let mask = if ty.bits() == 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
        Expr { ty, kind: Kind::Const(bits & mask) }
    }

    /// An expression whose value is of this type.
    fn expr(&mut self, ty: Ty, depth: usize) -> Expr {
        let e = self.any(ty, depth);
        if e.ty == ty { e } else { Expr { ty, kind: Kind::Cast(Box::new(e)) } }
    }

    /// An expression of about this type.
    fn any(&mut self, ty: Ty, depth: usize) -> Expr {
        if depth == 0 || self.rng.chance(20) {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        let float = ty == Ty::F32;
        match self.rng.below(16) {
            0..=5 if float => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                binary(self.rng.pick(&[Bin::Add, Bin::Sub, Bin::Mul]), a, b)
            }
            0..=7 if !float => {
                let op = self.rng.pick(&[
                    Bin::Add,
                    Bin::Sub,
                    Bin::Mul,
                    Bin::Div,
                    Bin::Rem,
                    Bin::And,
                    Bin::Or,
                    Bin::Xor,
                    Bin::Shl,
                    Bin::Shr,
                ]);
                // Sometimes of two types, so that they are converted.
                let other = if self.rng.chance(20) { self.rng.pick(&Ty::ALL[..8]) } else { ty };
                let (a, b) = (self.expr(ty, depth), self.expr(other, depth));
                binary(op, a, b)
            }
            8 => self.condition(depth),
            9 => {
                let from = self.rng.pick(&Ty::ALL);
                let a = self.expr(from, depth);
                Expr { ty, kind: Kind::Cast(Box::new(a)) }
            }
            10 => {
                let c = self.condition(depth);
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                let result = ty.common(ty);
                // Narrow operands are promoted.
                Expr { ty: result, kind: Kind::Select(Box::new(c), Box::new(a), Box::new(b)) }
            }
            11 => {
                let a = self.expr(ty, depth);
                if float {
                    return Expr { ty, kind: Kind::Neg(Box::new(a)) };
                }
                let result = ty.promoted();
                let kind = if self.rng.chance(50) {
                    Kind::Not(Box::new(a))
                } else {
                    Kind::Neg(Box::new(a))
                };
                Expr { ty: result, kind }
            }
            12 | 13 => self.call(ty, depth),
            14 if !self.functions.is_empty() => self.function(ty, depth),
            _ => self.leaf(ty),
        }
    }

    fn call(&mut self, ty: Ty, depth: usize) -> Expr {
        let (call, result, count) = if ty == Ty::F32 {
            self.rng.pick(&[
                (Call::Fma, Ty::F32, 3),
                (Call::Fabs, Ty::F32, 1),
                (Call::Floor, Ty::F32, 1),
            ])
        } else {
            let same = self.rng.pick(&[Ty::I32, Ty::U32, Ty::I64, Ty::U64]);
            let word = self.rng.pick(&[Ty::I32, Ty::U32]);
            self.rng.pick(&[
                (Call::Min, same, 2),
                (Call::Max, same, 2),
                (Call::Rotate, Ty::U32, 2),
                (Call::Popcount, Ty::U32, 1),
                (Call::MulHi, Ty::U32, 2),
                (Call::AddSat, word, 2),
                (Call::SubSat, word, 2),
            ])
        };
        let args = (0..count).map(|_| self.expr(result, depth)).collect();
        Expr { ty: result, kind: Kind::Call(call, args) }
    }

    fn function(&mut self, ty: Ty, depth: usize) -> Expr {
        let n = self.rng.below(self.functions.len());
        let (kinds, result) = {
            let f = &self.functions[n];
            (f.vars[..f.params].to_vec(), f.result.ty)
        };
        let mut args = Vec::new();
        let mut used = Vec::new();
        for kind in kinds {
            if let VarKind::Scalar(t) = kind {
                args.push(self.expr(t, depth.min(1)));
                continue;
            }
            // Another variable for each pointer. A function that writes through one must not stand in an
            // expression that also reads it: the order would be open. Arguments that are arrays therefore
            // come from functions' own and are left out here.
            let all = self.candidates(true, |s| s == kind && matches!(s, VarKind::Vector));
            if all.is_empty() {
                return self.leaf(ty);
            }
            let v = self.rng.pick(&all);
            used.push(v);
            args.push(Expr { ty: Ty::U32, kind: Kind::Var(v) });
        }
        Expr { ty: result, kind: Kind::Function(n, args) }
    }

    fn leaf(&mut self, ty: Ty) -> Expr {
        match self.rng.below(10) {
            0 | 1 => self.constant(ty),
            2 if self.in_kernel => {
                let from = self.rng.pick(&[Ty::I32, Ty::U64, Ty::F32]);
                let i = self.constant(Ty::U32);
                Expr { ty: from, kind: Kind::Input(from, Box::new(i)) }
            }
            3 if self.in_kernel => Expr { ty: Ty::I32, kind: Kind::GlobalId },
            4 => {
                let i = self.index_leaf();
                Expr { ty: Ty::U32, kind: Kind::Table(Box::new(i)) }
            }
            5 => {
                let arrays = self.candidates(false, |s| matches!(s, VarKind::Array(_)));
                let vectors = self.candidates(false, |s| s == VarKind::Vector);
                if !arrays.is_empty() && self.rng.chance(60) {
                    let v = self.rng.pick(&arrays);
                    let VarKind::Array(element) = self.vars[v] else { return self.constant(ty) };
                    let i = self.index_leaf();
                    Expr { ty: element, kind: Kind::Element(v, Box::new(i)) }
                } else if !vectors.is_empty() {
                    let v = self.rng.pick(&vectors);
                    Expr { ty: Ty::U32, kind: Kind::Lane(v, self.rng.below(4)) }
                } else {
                    self.constant(ty)
                }
            }
            _ => {
                let same = self.candidates(false, |s| s == VarKind::Scalar(ty));
                let all = self.candidates(false, |s| matches!(s, VarKind::Scalar(_)));
                let from = if same.is_empty() || self.rng.chance(20) { all } else { same };
                if from.is_empty() {
                    return self.constant(ty);
                }
                let v = self.rng.pick(&from);
                let VarKind::Scalar(t) = self.vars[v] else { return self.constant(ty) };
                Expr { ty: t, kind: Kind::Var(v) }
            }
        }
    }

    fn index_leaf(&mut self) -> Expr {
        let all = self.candidates(false, |s| matches!(s, VarKind::Scalar(Ty::I32 | Ty::U32)));
        if all.is_empty() || self.rng.chance(40) {
            return self.constant(Ty::U32);
        }
        let v = self.rng.pick(&all);
        let VarKind::Scalar(ty) = self.vars[v] else { return self.constant(Ty::U32) };
        Expr { ty, kind: Kind::Var(v) }
    }
}

/// The operation with the type that C gives it.
fn binary(op: Bin, a: Expr, b: Expr) -> Expr {
    let ty = match op {
        _ if op.is_truth() => Ty::I32,
        Bin::Shl | Bin::Shr => a.ty.promoted(),
        _ => a.ty.common(b.ty),
    };
    Expr { ty, kind: Kind::Bin(op, Box::new(a), Box::new(b)) }
}
