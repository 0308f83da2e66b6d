//! Values of the middle form as scalars and slices.

use std::collections::HashMap;

use cranelift_codegen::ir::types::{I8, I32, I64};
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;
use ptx_isa::Kind;
use ptx_isa::special::Sreg;
use ptx_isa::uop::Op as Pure;

use crate::clif::as_type;
use crate::clif::{at, plain};
use crate::clif::{vconst32, vconst64};
use crate::ctx::{Ctx, FIRST_PARAMS};
use crate::generator::{Gen, Rep};
use crate::ir::{Op, Val};
use crate::x86::words::{MASK, Word};

impl Gen<'_, '_> {
    /// The representation of `v` here.
    pub(crate) fn rep(&mut self, v: Val) -> Rep {
        if let Some(r) = self.now.get(&v) {
            return r.clone();
        }
        let r = if self.f.leaf(v) {
            self.leaf(v)
        } else {
            let vars = self.homes.get(&v).map(|h| h.vars.clone()).unwrap_or_default();
            let vals: Vec<Value> = vars.iter().map(|x| self.b.use_var(*x)).collect();
            if self.linear(v) {
                let ty = if self.kind(v) == Kind::D { I64 } else { I32 };
                let x = match self.kind(v) {
                    Kind::P => vals[0],
                    Kind::W | Kind::D => as_type(&mut self.b, vals[0], ty),
                };
                Rep::Scalar(x)
            } else {
                Rep::Slices(vals)
            }
        };
        self.now.insert(v, r.clone());
        r
    }

    /// Whether `v` can be read here though nothing in this block is known to read it: it is computed in this block,
    /// constant, or lives on. A variable whose value is not read again may be stale: barriers do not save it, and lanes
    /// that left a loop do not keep it.
    pub(crate) fn available(&self, v: Val) -> bool {
        let lives =
            || self.homes.contains_key(&v) && self.live_in[self.here as usize].contains(v as usize);
        self.now.contains_key(&v) || self.f.leaf(v) || lives()
    }

    /// Whether `v` is kept as its lane 0 here.
    pub(crate) fn is_scalar(&mut self, v: Val) -> bool {
        matches!(self.rep(v), Rep::Scalar(_))
    }

    /// Lane 0 of a linear value.
    pub(crate) fn scalar(&mut self, v: Val) -> Value {
        match self.rep(v) {
            Rep::Scalar(x) => x,
            Rep::Slices(_) => unreachable!("value {v} is no scalar"),
        }
    }

    /// `v` as slices.
    pub(crate) fn vector(&mut self, v: Val) -> Vec<Value> {
        if let Some(r) = self.vectors.get(&v) {
            return r.clone();
        }
        let r = match self.rep(v) {
            Rep::Slices(s) => s,
            Rep::Scalar(x) => self.spread(v, x),
        };
        self.vectors.insert(v, r.clone());
        r
    }

    /// `v` as slices, for this place only: on a path that is seldom taken.
    pub(crate) fn vector_here(&mut self, v: Val) -> Vec<Value> {
        match self.vectors.get(&v) {
            Some(x) => x.clone(),
            None => match self.rep(v) {
                Rep::Slices(s) => s,
                Rep::Scalar(x) => self.spread(v, x),
            },
        }
    }

    pub(crate) fn spread(&mut self, v: Val, x: Value) -> Vec<Value> {
        let offs = self.offsets(v).map(<[i64]>::to_vec).unwrap_or_default();
        let konst = self.f.as_const(v);
        let kind = self.kind(v);
        let mut splat = None;
        let mut out: Vec<Value> = Vec::new();
        let mut made: HashMap<Vec<i64>, Value> = HashMap::new();
        let per = self.form.per(kind);
        for lanes in offs.chunks(per) {
            if let Some(y) = made.get(lanes) {
                out.push(*y);
                continue;
            }
            let y = match (kind, konst) {
                (Kind::P, Some(c)) => self.mask_of(c & 1 != 0),
                (Kind::W, Some(c)) => self.same32(c as u32),
                (Kind::D, Some(c)) => self.same64(c),
                _ => {
                    let base = match splat {
                        Some(s) => s,
                        None => {
                            let s = match kind {
                                Kind::P => self.form.full(&mut self.b, x),
                                Kind::W | Kind::D => self.b.ins().splat(self.form.of(kind), x),
                            };
                            splat = Some(s);
                            s
                        }
                    };
                    if lanes.iter().all(|o| *o == 0) {
                        base
                    } else if kind == Kind::D {
                        let c: Vec<u64> = lanes.iter().map(|o| *o as u64).collect();
                        let c = vconst64(&mut self.b, &c);
                        self.b.ins().iadd(base, c)
                    } else {
                        let c: Vec<u32> = lanes.iter().map(|o| *o as u32).collect();
                        let c = vconst32(&mut self.b, &c);
                        self.b.ins().iadd(base, c)
                    }
                }
            };
            made.insert(lanes.to_vec(), y);
            out.push(y);
        }
        out
    }

    pub(crate) fn leaf(&mut self, v: Val) -> Rep {
        let kind = self.kind(v);
        let op = self.f.insts[v as usize].op;
        let fit = |me: &mut Self, x: Value| match kind {
            Kind::D => x,
            Kind::W => me.b.ins().ireduce(I32, x),
            Kind::P => {
                let x = me.b.ins().ireduce(I8, x);
                me.b.ins().band_imm_u(x, 1)
            }
        };
        match op {
            Op::Const(c) => Rep::Scalar(match kind {
                Kind::P => self.b.ins().iconst(I8, (c & 1) as i64),
                Kind::W => self.b.ins().iconst(I32, c as u32 as i64),
                Kind::D => self.b.ins().iconst(I64, c as i64),
            }),
            Op::Symbol(n, off, _) => {
                let base = self.b.ins().load(I64, plain(), self.ctx, at!(symbols));
                let a = self.b.ins().load(I64, plain(), base, n as i32 * 8);
                let a = if off == 0 { a } else { self.b.ins().iadd_imm_s(a, off) };
                Rep::Scalar(fit(self, a))
            }
            Op::Param(at, bytes, signed) => {
                let (base, at) = if at as usize + bytes as usize <= FIRST_PARAMS {
                    (self.ctx, at!(first_params) + at as i32)
                } else {
                    (self.b.ins().load(I64, plain(), self.ctx, at!(params)), at as i32)
                };
                let long = kind == Kind::D;
                let x = match (bytes, long, signed) {
                    (1, false, false) => self.b.ins().uload8(I32, plain(), base, at),
                    (1, false, true) => self.b.ins().sload8(I32, plain(), base, at),
                    (2, false, false) => self.b.ins().uload16(I32, plain(), base, at),
                    (2, false, true) => self.b.ins().sload16(I32, plain(), base, at),
                    (1, true, false) => self.b.ins().uload8(I64, plain(), base, at),
                    (1, true, true) => self.b.ins().sload8(I64, plain(), base, at),
                    (2, true, false) => self.b.ins().uload16(I64, plain(), base, at),
                    (2, true, true) => self.b.ins().sload16(I64, plain(), base, at),
                    (4, true, false) => self.b.ins().uload32(plain(), base, at),
                    (4, true, true) => self.b.ins().sload32(plain(), base, at),
                    (8, true, _) => self.b.ins().load(I64, plain(), base, at),
                    _ => self.b.ins().load(I32, plain(), base, at),
                };
                Rep::Scalar(x)
            }
            Op::Special(s) => self.special(v, s, kind),
            _ => unreachable!("no leaf"),
        }
    }

    /// `t / c` of a thread's number; threads are few.
    fn quotient(&mut self, t: Value, c: i64) -> Value {
        match c {
            1 => t,
            c if (c as u64).is_power_of_two() => {
                self.b.ins().ushr_imm_u(t, i64::from(c.trailing_zeros()))
            }
            c => {
                // Below 2^11, times the inverse in 32 bits, rounded up.
                let inverse = (1i64 << 32) / c + 1;
                let product = self.b.ins().imul_imm_s(t, inverse);
                self.b.ins().ushr_imm_u(product, 32)
            }
        }
    }

    /// `t % c` of a thread's number.
    fn remainder(&mut self, t: Value, c: i64) -> Value {
        if (c as u64).is_power_of_two() {
            return self.b.ins().band_imm_u(t, c - 1);
        }
        let q = self.quotient(t, c);
        let whole = self.b.ins().imul_imm_s(q, c);
        self.b.ins().isub(t, whole)
    }

    pub(crate) fn special(&mut self, v: Val, s: Sreg, kind: Kind) -> Rep {
        let [x, y, _] = self.g.block;
        let one_row = self.g.block[1] == 1 && self.g.block[2] == 1;
        let dim = match s {
            Sreg::TidX => Some(0),
            Sreg::TidY => Some(1),
            Sreg::TidZ => Some(2),
            _ => None,
        };
        let narrow =
            |me: &mut Self, v: Value| if kind == Kind::W { me.b.ins().ireduce(I32, v) } else { v };
        if let Some(d) = dim {
            let t = self.b.use_var(self.thread0);
            if self.linear(v) {
                // Lane 0's coordinates.
                let c = match (d, one_row) {
                    (0, true) => t,
                    (_, true) => self.b.ins().iconst(I64, 0),
                    (0, false) => self.remainder(t, x as i64),
                    (1, false) => {
                        let r = self.quotient(t, x as i64);
                        self.remainder(r, y as i64)
                    }
                    _ => self.quotient(t, x as i64 * y as i64),
                };
                return Rep::Scalar(narrow(self, c));
            }
            if self.form.words() {
                return Rep::Slices(self.coordinates(d, kind));
            }
            return Rep::Slices(self.by_lane(kind, |me, l| {
                let t = me.b.ins().iadd_imm_u(t, l as i64);
                match d {
                    0 => me.remainder(t, x as i64),
                    1 => {
                        let r = me.quotient(t, x as i64);
                        me.remainder(r, y as i64)
                    }
                    _ => me.quotient(t, x as i64 * y as i64),
                }
            }));
        }
        let t = self.b.use_var(self.thread0);
        let lane0 = self.b.ins().band_imm_u(t, 31);
        match s {
            Sreg::LaneId => return Rep::Scalar(narrow(self, lane0)),
            Sreg::WarpId => {
                let w = self.b.ins().ushr_imm_u(t, 5);
                return Rep::Scalar(narrow(self, w));
            }
            Sreg::LanemaskEq
            | Sreg::LanemaskLe
            | Sreg::LanemaskLt
            | Sreg::LanemaskGe
            | Sreg::LanemaskGt => {
                let mask = |me: &mut Self, l: u32| {
                    let n = me.b.ins().iadd_imm_u(lane0, l as i64);
                    let one = me.b.ins().iconst(I64, 1);
                    let eq = me.b.ins().ishl(one, n);
                    let lt = me.b.ins().isub(eq, one);
                    let le = me.b.ins().bor(eq, lt);
                    let r = match s {
                        Sreg::LanemaskEq => eq,
                        Sreg::LanemaskLe => le,
                        Sreg::LanemaskLt => lt,
                        Sreg::LanemaskGe => me.b.ins().bnot(lt),
                        _ => me.b.ins().bnot(le),
                    };
                    me.b.ins().band_imm_u(r, 0xffff_ffff)
                };
                if self.g.scalar() {
                    let x = mask(self, 0);
                    return Rep::Scalar(narrow(self, x));
                }
                if self.form.words() {
                    return Rep::Slices(self.lanemasks(s, lane0, kind));
                }
                return Rep::Slices(self.by_lane(kind, mask));
            }
            _ => {}
        }
        let at = at!(special) + s as i32 * 8;
        Rep::Scalar(match kind {
            Kind::D => self.b.ins().load(I64, plain(), self.ctx, at),
            Kind::W => self.b.ins().load(I32, plain(), self.ctx, at),
            Kind::P => self.b.ins().load(I8, plain(), self.ctx, at),
        })
    }

    /// Slices from one `i64` per lane.
    pub(crate) fn by_lane(
        &mut self,
        kind: Kind,
        mut f: impl FnMut(&mut Self, u32) -> Value,
    ) -> Vec<Value> {
        let lanes: Vec<Value> = (0..self.g.width).map(|l| f(self, l)).collect();
        self.pack(kind, &lanes, true)
    }

    /// Slices from scalars of the lanes; `long`: they are `i64` whatever the kind.
    pub(crate) fn pack(&mut self, kind: Kind, lanes: &[Value], long: bool) -> Vec<Value> {
        let (per, ty) = (self.form.per(kind), self.form.of(kind));
        if self.form.words() {
            return self.pack_by_word(kind, lanes, long);
        }
        lanes
            .chunks(per)
            .map(|c| {
                let mut v = None;
                for (n, x) in c.iter().enumerate() {
                    let x =
                        if long && kind != Kind::D { self.b.ins().ireduce(I32, *x) } else { *x };
                    v = Some(match v {
                        None => self.b.ins().scalar_to_vector(ty, x),
                        Some(v) => self.b.ins().insertlane(v, x, n as u8),
                    });
                }
                v.expect("chunks are not empty")
            })
            .collect()
    }

    fn pack_by_word(&mut self, kind: Kind, lanes: &[Value], long: bool) -> Vec<Value> {
        let ty = if kind == Kind::D { self.form.d() } else { self.form.w() };
        let vectors = lanes.chunks(self.form.per(kind)).map(|c| {
            let narrow = long && kind != Kind::D;
            let mut one = |x: &Value| if narrow { self.b.ins().ireduce(I32, *x) } else { *x };
            let v = if c.iter().all(|x| *x == c[0]) {
                let x = one(&c[0]);
                self.b.ins().splat(ty, x)
            } else {
                let parts: Vec<Value> = c.iter().map(one).collect();
                self.word(Word::Pack, 0, &parts, ty)
            };
            if ty != self.form.of(kind) { self.word(Word::Signs, 0, &[v], MASK) } else { v }
        });
        vectors.collect()
    }

    /// `%lanemask_*` of slices, of which the first lane is `lane0`.
    fn lanemasks(&mut self, s: Sreg, lane0: Value, kind: Kind) -> Vec<Value> {
        let first = self.b.ins().ireduce(I32, lane0);
        let first = self.b.ins().splat(self.form.w(), first);
        let mut out = Vec::new();
        for slice in 0..self.slices() {
            let lanes = self.lane_numbers(slice);
            let n = self.b.ins().iadd(first, lanes);
            let unit = self.same32(1);
            let eq = self.emitter(true).shift(Pure::ShlW, unit, n);
            let lt = self.b.ins().isub(eq, unit);
            let le = self.b.ins().bor(eq, lt);
            let x = match s {
                Sreg::LanemaskEq => eq,
                Sreg::LanemaskLe => le,
                Sreg::LanemaskLt => lt,
                Sreg::LanemaskGe => self.b.ins().bnot(lt),
                _ => self.b.ins().bnot(le),
            };
            if kind == Kind::D {
                out.extend(self.emitter(true).zext(x));
            } else {
                out.push(x);
            }
        }
        out
    }

    /// Numbers of the lanes of slice `n` in their group.
    pub(crate) fn lane_numbers(&mut self, n: usize) -> Value {
        let per = self.per();
        let lanes: Vec<u32> = (n * per..(n + 1) * per).map(|l| l as u32).collect();
        vconst32(&mut self.b, &lanes)
    }

    /// The threads' coordinates in dimension `d`, as slices.
    fn coordinates(&mut self, d: u32, kind: Kind) -> Vec<Value> {
        let [x, y, _] = self.g.block;
        let first = self.b.use_var(self.thread0);
        let first = self.b.ins().ireduce(I32, first);
        let first = self.b.ins().splat(self.form.w(), first);
        let mut out = Vec::new();
        for s in 0..self.slices() {
            let lanes = self.lane_numbers(s);
            let t = self.b.ins().iadd(first, lanes);
            let c = match d {
                0 => self.remainders(t, x),
                1 => {
                    let row = self.quotients(t, x);
                    self.remainders(row, y)
                }
                _ => self.quotients(t, x * y),
            };
            if kind == Kind::D {
                out.extend(self.emitter(true).zext(c));
            } else {
                out.push(c);
            }
        }
        out
    }

    /// `t / c` of threads' numbers; threads are few.
    fn quotients(&mut self, t: Value, c: u32) -> Value {
        if c.is_power_of_two() {
            return self.b.ins().ushr_imm_u(t, i64::from(c.trailing_zeros()));
        }
        // Below 2^11, times the inverse in 21 bits, rounded up: `c` is 2^10 at most.
        let inverse = self.same32((1 << 21) / c + 1);
        let product = self.b.ins().imul(t, inverse);
        self.b.ins().ushr_imm_u(product, 21)
    }

    /// `t % c` of threads' numbers.
    fn remainders(&mut self, t: Value, c: u32) -> Value {
        if c.is_power_of_two() {
            let low = self.same32(c - 1);
            return self.b.ins().band(t, low);
        }
        let q = self.quotients(t, c);
        let c = self.same32(c);
        let whole = self.b.ins().imul(q, c);
        self.b.ins().isub(t, whole)
    }

    /// Lane `l` of slices.
    pub(crate) fn lane(&mut self, slices: &[Value], kind: Kind, l: usize) -> Value {
        let per = self.form.per(kind);
        self.b.ins().extractlane(slices[l / per], (l % per) as u8)
    }

    /// Gives `v` its value.
    pub(crate) fn define(&mut self, v: Val, r: Rep) {
        let r = match (r, self.linear(v)) {
            (Rep::Scalar(x), false) => Rep::Slices(self.spread_plain(v, x)),
            (r, _) => r,
        };
        let r = if self.divergence.kept[v as usize] { self.keep(v, r) } else { r };
        if let Some(h) = self.homes.get(&v) {
            let vars = h.vars.clone();
            match &r {
                Rep::Scalar(x) => self.set_scalar(v, vars[0], *x),
                Rep::Slices(s) => {
                    vars.iter().zip(s).for_each(|(var, x)| self.b.def_var(*var, *x));
                }
            }
        }
        self.vectors.remove(&v);
        self.now.insert(v, r);
    }

    /// Gives the variable of a scalar its value.
    pub(crate) fn set_scalar(&mut self, v: Val, var: Variable, x: Value) {
        let ty = self.types(v)[0];
        let x = as_type(&mut self.b, x, ty);
        self.b.def_var(var, x);
    }

    /// The same scalar in every lane.
    pub(crate) fn spread_plain(&mut self, v: Val, x: Value) -> Vec<Value> {
        let n = self.slices();
        match self.kind(v) {
            Kind::P => {
                let s = self.form.full(&mut self.b, x);
                vec![s; n]
            }
            Kind::W => {
                let s = self.b.ins().splat(self.form.w(), x);
                vec![s; n]
            }
            Kind::D => {
                let s = self.b.ins().splat(self.form.d(), x);
                vec![s; 2 * n]
            }
        }
    }

    /// New value in executing lanes, the old one in the others.
    pub(crate) fn keep(&mut self, v: Val, r: Rep) -> Rep {
        let (Some(mask), Rep::Slices(new)) = (self.mask.clone(), &r) else { return r };
        let Some(vars) = self.homes.get(&v).map(|h| h.vars.clone()) else { return r };
        let old: Vec<Value> = vars.iter().map(|x| self.b.use_var(*x)).collect();
        Rep::Slices(self.blend(self.kind(v), &mask, new, &old))
    }

    /// `mask ? a : b` by slices.
    pub(crate) fn blend(
        &mut self,
        kind: Kind,
        mask: &[Value],
        a: &[Value],
        b: &[Value],
    ) -> Vec<Value> {
        let mut out = Vec::with_capacity(a.len());
        for s in 0..mask.len() {
            let mut e = self.emitter(true);
            if kind == Kind::D {
                let m = e.masks_of_d(mask[s]);
                for h in 0..2 {
                    let r = e.sel(m[h], a[2 * s + h], b[2 * s + h]);
                    out.push(r);
                }
            } else {
                let r = match kind {
                    Kind::P => e.sel_p(mask[s], a[s], b[s]),
                    Kind::W | Kind::D => e.sel(mask[s], a[s], b[s]),
                };
                out.push(r);
            }
        }
        out
    }
}
