//! What is known of each value across the lanes of a group.
//!
//! A group is `width` consecutive threads that run in lock step. A value is linear when lane `l`
//! holds that of lane 0 plus a constant of `l`; it is kept as one scalar. Everything else is a
//! vector. Uniform values are linear with all constants 0.

use std::rc::Rc;

use ptx_isa::effect::{Effect, Order};
use ptx_isa::special::Sreg;
use ptx_isa::uop::Op as Pure;
use ptx_isa::{Kind, Space};

use crate::align;
use crate::geometry::Geometry;
use crate::ir::{Func, Inst, Op, Val};
use crate::range::{is_signed, is_unsigned};

/// How a value looks across the lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Variance {
    /// Not reached yet (only while the analysis runs).
    Unknown,
    /// Scalar plus a constant per lane; lane 0's is 0.
    Linear(Rc<[i64]>),
    Varying,
}

impl Variance {
    pub(crate) fn uniform(&self) -> bool {
        matches!(self, Variance::Linear(o) if o.iter().all(|x| *x == 0))
    }
}

/// Lanes' offsets from lane 0 for which sums of 32 bits are looked at more closely.
const SMALL: i64 = 1 << 29;

/// Variance of `%tid` in dimension `d`.
fn tid(g: Geometry, d: usize) -> Variance {
    let [x, y, _] = g.block;
    let w = g.width;
    let lanes = |f: &dyn Fn(u32) -> u32| Variance::Linear((0..w).map(|l| f(l) as i64).collect());
    let one_row = g.block[1] == 1 && g.block[2] == 1;
    if one_row {
        return if d == 0 { lanes(&|l| l) } else { lanes(&|_| 0) };
    }
    if x.is_multiple_of(w) {
        return if d == 0 { lanes(&|l| l) } else { lanes(&|_| 0) };
    }
    if w.is_multiple_of(x) && (g.block[2] == 1 || y.is_multiple_of(w / x)) {
        return match d {
            0 => lanes(&|l| l % x),
            1 => lanes(&|l| l / x),
            _ => lanes(&|_| 0),
        };
    }
    Variance::Varying
}

/// What the values of a kernel are judged by.
pub(crate) struct Facts<'a> {
    pub f: &'a Func,
    pub g: Geometry,
    /// Bounds of values.
    pub ranges: Vec<Option<(i64, i64)>>,
    /// Low zero bits of lane 0's value.
    pub aligns: Vec<u32>,
    /// Values that vary because of the ways that lanes take.
    pub forced: Vec<bool>,
    /// Whether local memory of all lanes holds the same.
    pub alike: bool,
}

impl Facts<'_> {
    /// How each value looks.
    pub(crate) fn variances(&self) -> Vec<Variance> {
        let f = self.f;
        let zero: Rc<[i64]> = vec![0; self.g.width as usize].into();
        let mut of = vec![Variance::Unknown; f.insts.len()];
        for v in 0..f.insts.len() {
            of[v] = match f.insts[v].op {
                Op::Const(_) | Op::Symbol(..) | Op::Param(..) => Variance::Linear(zero.clone()),
                Op::Special(s) => match s {
                    Sreg::TidX => tid(self.g, 0),
                    Sreg::TidY => tid(self.g, 1),
                    Sreg::TidZ => tid(self.g, 2),
                    Sreg::LaneId => Variance::Linear((0..self.g.width as i64).collect()),
                    Sreg::LanemaskEq
                    | Sreg::LanemaskLe
                    | Sreg::LanemaskLt
                    | Sreg::LanemaskGe
                    | Sreg::LanemaskGt
                        if !self.g.scalar() =>
                    {
                        Variance::Varying
                    }
                    _ => Variance::Linear(zero.clone()),
                },
                _ => Variance::Unknown,
            };
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in &f.blocks {
                for &v in &block.insts {
                    if let Op::Effect(e) = f.insts[v as usize].op {
                        let e = &f.effects[e as usize];
                        for &d in &e.dst {
                            let new = if self.forced[d as usize] {
                                Variance::Varying
                            } else {
                                self.loaded(
                                    &e.effect,
                                    e.src.first().map(|s| &of[*s as usize]),
                                    &zero,
                                )
                            };
                            changed |= new != of[d as usize];
                            of[d as usize] = new;
                        }
                        continue;
                    }
                    let new = if self.forced[v as usize] {
                        Variance::Varying
                    } else {
                        self.value(v, &of, &zero)
                    };
                    if new != of[v as usize] {
                        of[v as usize] = new;
                        changed = true;
                    }
                }
            }
        }
        // Never reached by the analysis: loops without entry do not exist, but stay safe.
        for s in &mut of {
            if *s == Variance::Unknown {
                *s = Variance::Varying;
            }
        }
        of
    }

    fn loaded(&self, e: &Effect, base: Option<&Variance>, zero: &Rc<[i64]>) -> Variance {
        match (e, base) {
            (_, Some(Variance::Unknown)) => Variance::Unknown,
            _ if self.g.scalar() => Variance::Linear(zero.clone()),
            (Effect::Ld(m), Some(s)) if s.uniform() && m.order == Order::Weak => {
                let own = match m.place.space {
                    Space::Local | Space::ParamFunc => !self.alike,
                    Space::Generic => self.f.frame_bytes > 0,
                    _ => false,
                };
                if own || m.bytes == 16 {
                    Variance::Varying
                } else {
                    Variance::Linear(zero.clone())
                }
            }
            _ => Variance::Varying,
        }
    }

    /// Whether the mathematical value of `v` is what its 32 bits say, in every lane, and lanes' offsets below
    /// [`SMALL`] are those of the mathematical values too, not what wrapping made of greater ones.
    fn exact(&self, v: Val, unsigned: bool) -> bool {
        self.ranges[v as usize].is_some_and(|(lo, hi)| {
            let fits = if unsigned { is_unsigned((lo, hi)) } else { is_signed((lo, hi)) };
            fits && hi - lo < (1 << 32) - SMALL
        })
    }

    fn value(&self, v: Val, of: &[Variance], zero: &Rc<[i64]>) -> Variance {
        let i = &self.f.insts[v as usize];
        match i.op {
            Op::Phi => {
                let mut out = Variance::Unknown;
                for a in &i.args {
                    out = match (out, &of[*a as usize]) {
                        (o, Variance::Unknown) => o,
                        (Variance::Unknown, s) => s.clone(),
                        (Variance::Linear(x), Variance::Linear(y)) if x == *y => {
                            Variance::Linear(x)
                        }
                        _ => Variance::Varying,
                    };
                }
                // Predicates are vectors or uniform.
                out
            }
            Op::Pure(op, _) => {
                if i.args.iter().any(|a| of[*a as usize] == Variance::Varying) {
                    return Variance::Varying;
                }
                if i.args.iter().any(|a| of[*a as usize] == Variance::Unknown) {
                    return Variance::Unknown;
                }
                if i.args.iter().all(|a| of[*a as usize].uniform()) {
                    return Variance::Linear(zero.clone());
                }
                Operation { facts: self, i, op, of, zero }.variance()
            }
            Op::Canon => of[i.args[0] as usize].clone(),
            Op::Const(_)
            | Op::Special(_)
            | Op::Symbol(..)
            | Op::Param(..)
            | Op::Effect(_)
            | Op::Result => Variance::Varying,
        }
    }
}

/// A pure operation of linear values, of which not all are uniform.
struct Operation<'a> {
    facts: &'a Facts<'a>,
    i: &'a Inst,
    op: Pure,
    of: &'a [Variance],
    zero: &'a Rc<[i64]>,
}

impl Operation<'_> {
    fn operand(&self, n: usize) -> &Variance {
        &self.of[self.i.args[n] as usize]
    }
    fn constant(&self, n: usize) -> Option<u64> {
        self.facts.f.as_const(self.i.args[n])
    }
    /// What the lanes of an operand add to lane 0's value.
    fn offsets(&self, n: usize) -> Rc<[i64]> {
        match self.operand(n) {
            Variance::Linear(o) => o.clone(),
            Variance::Unknown | Variance::Varying => self.zero.clone(),
        }
    }
    /// Linear, by the offset of each lane.
    fn linear(&self, offset: impl Fn(usize) -> i64) -> Variance {
        let narrow = self.i.kind == Kind::W;
        let wrap = |x: i64| if narrow { x as i32 as i64 } else { x };
        Variance::Linear((0..self.zero.len()).map(|l| wrap(offset(l))).collect())
    }
    fn uniform(&self) -> Variance {
        Variance::Linear(self.zero.clone())
    }

    fn variance(&self) -> Variance {
        match self.op {
            Pure::MovW | Pure::MovD => self.operand(0).clone(),
            Pure::AddW | Pure::AddD => {
                let (x, y) = (self.offsets(0), self.offsets(1));
                self.linear(|l| x[l].wrapping_add(y[l]))
            }
            Pure::SubW | Pure::SubD => {
                let (x, y) = (self.offsets(0), self.offsets(1));
                self.linear(|l| x[l].wrapping_sub(y[l]))
            }
            Pure::MulW | Pure::MulD | Pure::MadW => self.product(),
            Pure::ShlW | Pure::ShlD => match self.constant(1) {
                Some(c) if c < if self.i.kind == Kind::W { 32 } else { 64 } => {
                    let x = self.offsets(0);
                    self.linear(|l| x[l].wrapping_shl(c as u32))
                }
                _ => Variance::Varying,
            },
            Pure::TruncDW => {
                let x = self.offsets(0);
                self.linear(|l| x[l])
            }
            Pure::SextWD | Pure::ZextWD if self.whole(0, self.op == Pure::ZextWD) => {
                self.operand(0).clone()
            }
            Pure::MulWideS | Pure::MulWideU | Pure::MadWideS | Pure::MadWideU => {
                self.wide_product()
            }
            Pure::SelW | Pure::SelD
                if self.operand(2).uniform() && self.offsets(0) == self.offsets(1) =>
            {
                self.operand(0).clone()
            }
            Pure::AndW | Pure::AndD | Pure::OrW | Pure::OrD | Pure::XorW | Pure::XorD => {
                match (self.constant(0), self.constant(1)) {
                    (_, Some(c)) => self.bits(0, c),
                    (Some(c), _) => self.bits(1, c),
                    _ => Variance::Varying,
                }
            }
            Pure::ShrW | Pure::SarW | Pure::ShrD | Pure::SarD => match self.constant(1) {
                Some(c) => self.bits(0, c),
                None => Variance::Varying,
            },
            Pure::LtSW | Pure::LeSW | Pure::LtUW | Pure::LeUW => self.comparison(),
            _ => Variance::Varying,
        }
    }

    /// Whether operand `n` in 64 bits is what its 32 bits say, lane by lane.
    fn whole(&self, n: usize, unsigned: bool) -> bool {
        let small = self.offsets(n).iter().all(|o| o.abs() < SMALL);
        small && self.facts.exact(self.i.args[n], unsigned)
    }

    /// A product with a constant, perhaps with a sum.
    fn product(&self) -> Variance {
        let sum = (self.i.args.len() == 3).then(|| self.offsets(2));
        let (x, c) = match (self.constant(0), self.constant(1)) {
            (Some(c), _) => (self.offsets(1), c as i64),
            (_, Some(c)) => (self.offsets(0), c as i64),
            _ if sum.is_some() && self.operand(0).uniform() && self.operand(1).uniform() => {
                return self.operand(2).clone();
            }
            _ => return Variance::Varying,
        };
        self.linear(|l| {
            let product = x[l].wrapping_mul(c);
            sum.as_ref().map_or(product, |z| product.wrapping_add(z[l]))
        })
    }

    /// The same of two words in 64 bits.
    fn wide_product(&self) -> Variance {
        let unsigned = matches!(self.op, Pure::MulWideU | Pure::MadWideU);
        let factor = |n: usize| {
            let c = self.constant(n)?;
            Some(if unsigned { c as u32 as i64 } else { c as u32 as i32 as i64 })
        };
        let (a, c) = match (factor(0), factor(1)) {
            (_, Some(c)) => (0, c),
            (Some(c), _) => (1, c),
            _ if self.operand(0).uniform() && self.operand(1).uniform() => {
                return self.operand(2).clone();
            }
            _ => return Variance::Varying,
        };
        if !self.operand(a).uniform() && !self.whole(a, unsigned) {
            return Variance::Varying;
        }
        let x = self.offsets(a);
        if self.i.args.len() == 3 {
            let z = self.offsets(2);
            self.linear(|l| x[l].wrapping_mul(c).wrapping_add(z[l]))
        } else {
            self.linear(|l| x[l].wrapping_mul(c))
        }
    }

    /// A bit operation of operand `n` and a constant.
    fn bits(&self, n: usize, c: u64) -> Variance {
        let align = self.facts.aligns[self.i.args[n] as usize];
        let offsets = align::bits(self.op, self.i.kind, &self.offsets(n), align, c);
        offsets.map_or(Variance::Varying, Variance::Linear)
    }

    fn comparison(&self) -> Variance {
        let args = [self.i.args[0], self.i.args[1]];
        let aligns = args.map(|v| self.facts.aligns[v as usize]);
        let ranges = args.map(|v| self.facts.ranges[v as usize]);
        let (x, y) = (self.offsets(0), self.offsets(1));
        if align::same_answer(self.facts.f, self.op, args, [&x, &y], aligns, ranges) {
            self.uniform()
        } else {
            Variance::Varying
        }
    }
}
