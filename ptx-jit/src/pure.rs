//! Pure micro-ops over slices, natively or by the micro-op's own function.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};
use ptx_isa::Kind;
use ptx_isa::uop::Op as Pure;

use crate::clif::{as_type, before_cast};
use crate::clif::{at, plain};
use crate::ctx::Ctx;
use crate::generator::{Gen, Rep};
use crate::ir::Val;
use crate::native::{approximated, exact_nan};
use crate::ops::Halves;

impl Gen<'_, '_> {
    pub(crate) fn halves_of(&self, kind: Kind, v: &[Value], s: usize) -> Halves {
        if kind == Kind::D { [v[2 * s], v[2 * s + 1]] } else { [v[s], v[s]] }
    }

    pub(crate) fn pure(&mut self, v: Val, op: Pure, k: u32) {
        let args = self.f.insts[v as usize].args.clone();
        let consts: Vec<Option<u64>> = args.iter().map(|a| self.f.as_const(*a)).collect();
        let fused = matches!(op, Pure::FmaF32 | Pure::FmaF64);
        let allowed = self.fma || !fused;
        let scalar = args.iter().all(|a| self.linear(*a)) && self.linear(v);
        if scalar {
            let parts: Vec<Halves> = args
                .iter()
                .map(|a| {
                    let x = self.scalar(*a);
                    [x, x]
                })
                .collect();
            let r = if allowed { self.code_of(false, op, k, &parts, &consts) } else { None };
            let r = match r {
                Some(r) if exact_nan(op) && !self.f.fast_nan => {
                    let nan = self.emitter(false).nan64(r);
                    self.or_exact(nan, op, k, &args, vec![r[0]], true)[0]
                }
                Some(r) => r[0],
                None => self.call_lanes(op, k, &args, true, false)[0],
            };
            self.define(v, Rep::Scalar(r));
            return;
        }
        if let Some(r) = self.shift_by_one(v, op, &args) {
            self.define(v, Rep::Slices(r));
            return;
        }
        let values: Vec<Vec<Value>> = args.iter().map(|a| self.vector(*a)).collect();
        let mut out = Vec::new();
        let mut same: HashMap<Vec<Value>, Halves> = HashMap::new();
        for s in 0..self.slices() {
            let parts: Vec<Halves> = args
                .iter()
                .zip(&values)
                .map(|(a, v)| self.halves_of(self.kind(*a), v, s))
                .collect();
            let key: Vec<Value> = parts.iter().flatten().copied().collect();
            let r = match same.get(&key) {
                Some(r) => Some(*r),
                None if allowed => self.code_of(true, op, k, &parts, &consts),
                None => None,
            };
            let Some(r) = r else {
                let r = self.call_lanes(op, k, &args, false, false);
                self.define(v, Rep::Slices(r));
                return;
            };
            same.insert(key, r);
            out.push(r[0]);
            if op.ret() == Kind::D {
                out.push(r[1]);
            }
        }
        if exact_nan(op) && !self.f.fast_nan {
            let mut any = None;
            for s in 0..self.slices() {
                let m = self.emitter(true).nan64([out[2 * s], out[2 * s + 1]]);
                any = Some(match any {
                    None => m,
                    Some(a) => self.b.ins().bor(a, m),
                });
            }
            if let Some(any) = any {
                let nan = self.any(any);
                out = self.or_exact(nan, op, k, &args, out, false);
            }
        }
        self.define(v, Rep::Slices(out));
    }

    /// Code of `op` for one slice or scalar, if it has some.
    fn code_of(
        &mut self,
        vector: bool,
        op: Pure,
        k: u32,
        args: &[Halves],
        consts: &[Option<u64>],
    ) -> Option<Halves> {
        if self.f.fast_approx && self.fma && approximated(op) {
            let [a, b] = [args.first()?[0], args.last()?[0]];
            return self.emitter(vector).approximate(op, k, a, b).map(|r| [r, r]);
        }
        self.emitter(vector).pure(op, k, args, consts)
    }

    /// A shift of all lanes by the same amount, which only the launch tells.
    fn shift_by_one(&mut self, v: Val, op: Pure, args: &[Val]) -> Option<Vec<Value>> {
        let long = matches!(op, Pure::ShlD | Pure::ShrD);
        if !long && !matches!(op, Pure::ShlW | Pure::ShrW | Pure::SarW) {
            return None;
        }
        let n = *args.get(1)?;
        if !self.divergence.of[n as usize].uniform()
            || self.f.as_const(n).is_some()
            || self.linear(v)
        {
            return None;
        }
        let x = self.vector(args[0]);
        let n = self.scalar(n);
        if self.form.words() {
            let n = if long { self.b.ins().uextend(I64, n) } else { n };
            let ty = if long { self.form.d() } else { self.form.w() };
            let n = self.b.ins().splat(ty, n);
            return Some(x.into_iter().map(|x| self.emitter(true).shift(op, x, n)).collect());
        }
        if op == Pure::SarW {
            let most = self.b.ins().iconst(I32, 31);
            let n = self.b.ins().umin(n, most);
            return Some(x.into_iter().map(|x| self.b.ins().sshr(x, n)).collect());
        }
        let inside =
            self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, n, if long { 64 } else { 32 });
        let (cell, kind) = if long { (I64, Kind::D) } else { (I32, Kind::W) };
        let keep = self.b.ins().bmask(cell, inside);
        let keep = self.b.ins().splat(self.form.of(kind), keep);
        let left = matches!(op, Pure::ShlW | Pure::ShlD);
        let one = |x| {
            let r = if left { self.b.ins().ishl(x, n) } else { self.b.ins().ushr(x, n) };
            self.b.ins().band(r, keep)
        };
        Some(x.into_iter().map(one).collect())
    }

    /// `fast`, or where `bad` holds the values of the micro-op's own function.
    pub(crate) fn or_exact(
        &mut self,
        bad: Value,
        op: Pure,
        k: u32,
        args: &[Val],
        fast: Vec<Value>,
        scalar: bool,
    ) -> Vec<Value> {
        let (cold, join) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        // Numbers cross as numbers: they stay in vector registers.
        let mut types = Vec::new();
        let mut pass = Vec::new();
        for x in &fast {
            let number = before_cast(&self.b, *x);
            let ty = self.b.func.dfg.value_type(number);
            types.push((self.b.func.dfg.value_type(*x), ty));
            self.b.append_block_param(join, ty);
            pass.push(BlockArg::Value(number));
        }
        self.b.ins().brif(bad, cold, &[], join, &pass);
        self.b.switch_to_block(cold);
        let slow = self.call_lanes(op, k, args, scalar, true);
        let mut pass = Vec::new();
        for (x, (_, ty)) in slow.iter().zip(&types) {
            pass.push(BlockArg::Value(as_type(&mut self.b, *x, *ty)));
        }
        self.b.ins().jump(join, &pass);
        self.b.switch_to_block(join);
        let params = self.b.block_params(join).to_vec();
        params.into_iter().zip(types).map(|(x, (ty, _))| as_type(&mut self.b, x, ty)).collect()
    }

    pub(crate) fn src_at(n: usize) -> i32 {
        at!(src) + n as i32 * 256
    }
    pub(crate) fn dst_at(n: usize) -> i32 {
        at!(dst) + n as i32 * 256
    }

    /// Runs the micro-op's own function over the lanes, or once for a scalar; `seldom`: on a way that is seldom taken,
    /// so that the call keeps all registers.
    pub(crate) fn call_lanes(
        &mut self,
        op: Pure,
        k: u32,
        args: &[Val],
        scalar: bool,
        seldom: bool,
    ) -> Vec<Value> {
        for (n, a) in args.iter().enumerate() {
            let at = Self::src_at(n);
            if scalar {
                let x = self.scalar(*a);
                let x = if self.kind(*a) == Kind::P { self.b.ins().bmask(I32, x) } else { x };
                self.b.ins().store(plain(), x, self.ctx, at);
            } else {
                let x = self.vector_here(*a);
                self.stage(&x, at);
            }
        }
        let k = self.b.ins().iconst(I64, k as i64);
        let n = self.b.ins().iconst(I64, if scalar { 1 } else { self.g.width as i64 });
        if self.form.words() && !seldom {
            // What lives on is kept by the caller, which is less than all registers.
            let table = self.b.ins().load(I64, plain(), self.ctx, at!(lanes));
            let f = self.b.ins().load(I64, plain(), table, op as i32 * 8);
            let place = |g: &mut Self, at: i32| g.b.ins().iadd_imm_u(g.ctx, i64::from(at));
            let dst = place(self, Self::dst_at(0));
            let [x, y, z] = [0, 1, 2].map(|n| place(self, Self::src_at(n)));
            let sig = self.lane_function;
            self.b.ins().call_indirect(sig, f, &[dst, x, y, z, k, n]);
        } else {
            let f = self.b.ins().load(I64, plain(), self.ctx, at!(lane_thunk));
            let op_n = self.b.ins().iconst(I64, op as i64);
            let sig = self.helper_lanes;
            self.b.ins().call_indirect(sig, f, &[self.ctx, op_n, k, n]);
        }
        if scalar {
            let at = Self::dst_at(0);
            return vec![match op.ret() {
                Kind::D => self.b.ins().load(I64, plain(), self.ctx, at),
                Kind::W => self.b.ins().load(I32, plain(), self.ctx, at),
                Kind::P => {
                    let x = self.b.ins().load(I32, plain(), self.ctx, at);
                    self.b.ins().icmp_imm_u(IntCC::NotEqual, x, 0)
                }
            }];
        }
        self.unstage(op.ret(), Self::dst_at(0))
    }

    pub(crate) fn canon(&mut self, v: Val) {
        let a = self.f.insts[v as usize].args[0];
        match self.rep(a) {
            Rep::Scalar(x) => {
                let r = self.emitter(false).canon32(x);
                self.define(v, Rep::Scalar(r));
            }
            Rep::Slices(s) => {
                let r = s.into_iter().map(|x| self.emitter(true).canon32(x)).collect();
                self.define(v, Rep::Slices(r));
            }
        }
    }
}
