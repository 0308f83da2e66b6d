//! Reads an instruction's text and calls the numerics: for tests only.

use ptx_isa::num::cmp::{self, Rel, Test};
use ptx_isa::num::cvt::{self, Ty};
use ptx_isa::num::half::{self, Clamp, Half};
use ptx_isa::num::narrow::{self, Mods, Narrow};
use ptx_isa::num::{Rnd, fp32, fp64};

/// An instruction's dotted parts.
pub struct Inst<'a> {
    /// Without the dots.
    pub parts: Vec<&'a str>,
}

impl<'a> Inst<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { parts: text.split('.').collect() }
    }
    pub fn has(&self, m: &str) -> bool {
        self.parts[1..].contains(&m)
    }
    pub fn last(&self) -> &'a str {
        self.parts[self.parts.len() - 1]
    }
    pub fn rnd(&self) -> Option<Rnd> {
        self.parts[1..].iter().find_map(|p| {
            Some(match *p {
                "rn" | "rni" => Rnd::Rn,
                "rz" | "rzi" => Rnd::Rz,
                "rm" | "rmi" => Rnd::Rm,
                "rp" | "rpi" => Rnd::Rp,
                "rna" => Rnd::Rna,
                _ => return None,
            })
        })
    }
    fn clamp(&self) -> Clamp {
        if self.has("sat") {
            Clamp::Sat
        } else if self.has("relu") {
            Clamp::Relu
        } else {
            Clamp::None
        }
    }
    fn rel(&self) -> Option<Rel> {
        cmp::RELS.iter().find(|(n, _)| self.parts[1] == *n).map(|r| r.1)
    }
}

pub fn is_float_compare(inst: &str) -> bool {
    matches!(Inst::new(inst).last(), "f16" | "f16x2" | "bf16" | "bf16x2" | "f32" | "f64")
}

pub fn is_scalar_float_atomic(inst: &str) -> bool {
    let i = Inst::new(inst);
    is_float_compare(inst)
        && i.has("add")
        && !i.parts.iter().any(|p| ["v2", "v4", "v8"].contains(p))
}

fn half_of(t: &str) -> Option<(Half, bool)> {
    Some(match t {
        "f16" => (Half::F16, false),
        "f16x2" => (Half::F16, true),
        "bf16" => (Half::Bf16, false),
        "bf16x2" => (Half::Bf16, true),
        _ => return None,
    })
}

fn narrow_of(t: &str) -> Option<Narrow> {
    Some(match t {
        "e4m3x2" => Narrow::E4m3,
        "e5m2x2" => Narrow::E5m2,
        _ => return None,
    })
}

pub fn ty(t: &str) -> Option<Ty> {
    Some(match t {
        "u8" => Ty::U8,
        "u16" => Ty::U16,
        "u32" => Ty::U32,
        "u64" => Ty::U64,
        "s8" => Ty::S8,
        "s16" => Ty::S16,
        "s32" => Ty::S32,
        "s64" => Ty::S64,
        "f16" => Ty::F16,
        "bf16" => Ty::Bf16,
        "f32" => Ty::F32,
        "f64" => Ty::F64,
        _ => return None,
    })
}

/// A function over each half of its operands.
fn halves<const N: usize>(o: [u32; N], f: impl Fn([u32; N]) -> u32) -> u32 {
    (f(o.map(|v| v >> 16)) & 0xffff) << 16 | (f(o.map(|v| v & 0xffff)) & 0xffff)
}

/// What the instruction returns for the operands; `None` if it is unknown here.
pub fn eval(text: &str, negate_c: bool, ops: &[u64]) -> Option<Vec<u64>> {
    let i = Inst::new(text);
    let op = i.parts[0];
    match op {
        "cvt" => return convert(&i, ops),
        "setp" | "set" => return compare(&i, negate_c, ops),
        "atom" | "red" => return atomic(&i, ops),
        "slct" => {
            // c >= 0, where NaN and, flushed, -0 decide as the manual says.
            let ge = cmp::f32(Rel::Ge, i.has("ftz"), ops[2] as u32, 0);
            return Some(vec![if ge { ops[0] } else { ops[1] }]);
        }
        "testp" => {
            let t = match i.parts[1] {
                "finite" => Test::Finite,
                "infinite" => Test::Infinite,
                "number" => Test::Number,
                "notanumber" => Test::NotANumber,
                "normal" => Test::Normal,
                _ => Test::Subnormal,
            };
            let r = if i.last() == "f32" {
                cmp::test32(t, ops[0] as u32)
            } else {
                cmp::test64(t, ops[0])
            };
            return Some(vec![r.into()]);
        }
        _ => {}
    }
    let (ftz, sat, nan, xs) = (i.has("ftz"), i.has("sat"), i.has("NaN"), i.has("xorsign"));
    let r = i.rnd().unwrap_or(Rnd::Rn);
    Some(vec![match i.last() {
        "f32" => {
            let v: Vec<u32> = ops.iter().map(|v| *v as u32).collect();
            u64::from(match op {
                "add" => fp32::add(r, ftz, sat, v[0], v[1]),
                "sub" => fp32::sub(r, ftz, sat, v[0], v[1]),
                "mul" => fp32::mul(r, ftz, sat, v[0], v[1]),
                "fma" | "mad" => {
                    let soft = fp32::fma::<false>(r, ftz, sat, v[0], v[1], v[2]);
                    assert_eq!(
                        soft,
                        fp32::fma::<true>(r, ftz, sat, v[0], v[1], v[2]),
                        "{text} {v:x?}"
                    );
                    soft
                }
                "div" => fp32::div(r, ftz, v[0], v[1]),
                "rcp" => fp32::rcp(r, ftz, v[0]),
                "sqrt" => fp32::sqrt(r, ftz, v[0]),
                "abs" => fp32::abs(ftz, v[0]),
                "neg" => fp32::neg(ftz, v[0]),
                "copysign" => fp32::copysign(v[0], v[1]),
                "min" | "max" if v.len() == 2 => {
                    fp32::min_max(op == "max", ftz, nan, xs, v[0], v[1])
                }
                _ => return None,
            })
        }
        "f64" => match op {
            "add" => fp64::add(r, ops[0], ops[1]),
            "sub" => fp64::sub(r, ops[0], ops[1]),
            "mul" => fp64::mul(r, ops[0], ops[1]),
            "fma" | "mad" => {
                let soft = fp64::fma::<false>(r, ops[0], ops[1], ops[2]);
                assert_eq!(soft, fp64::fma::<true>(r, ops[0], ops[1], ops[2]), "{text} {ops:x?}");
                soft
            }
            "div" => fp64::div(r, ops[0], ops[1]),
            "rcp" => fp64::rcp(r, ops[0]),
            "sqrt" => fp64::sqrt(r, ops[0]),
            "abs" => fp64::abs(ops[0]),
            "neg" => fp64::neg(ops[0]),
            "copysign" => fp64::copysign(ops[0], ops[1]),
            "min" | "max" => fp64::min_max(op == "max", ops[0], ops[1]),
            _ => return None,
        },
        t => {
            let (k, packed) = half_of(t)?;
            let c = i.clamp();
            let f = |o: [u32; 3]| match op {
                "add" => half::add(k, ftz, c, o[0], o[1]),
                "sub" => half::sub(k, ftz, c, o[0], o[1]),
                "mul" => half::mul(k, ftz, c, o[0], o[1]),
                "fma" if i.has("oob") => half::fma_oob(k, c, o[0], o[1], o[2]),
                "fma" => half::fma(k, ftz, c, o[0], o[1], o[2]),
                "abs" => half::abs(k, ftz, o[0]),
                "neg" => half::neg(k, ftz, o[0]),
                _ => half::min_max(k, op == "max", ftz, nan, xs, o[0], o[1]),
            };
            if !["add", "sub", "mul", "fma", "abs", "neg", "min", "max"].contains(&op) {
                return None;
            }
            let o = [0, 1, 2].map(|n| ops.get(n).copied().unwrap_or(0) as u32);
            u64::from(if packed { halves(o, f) } else { f(o) })
        }
    }])
}

fn convert(i: &Inst, ops: &[u64]) -> Option<Vec<u64>> {
    let (ftz, sat, relu, fin) = (i.has("ftz"), i.has("sat"), i.has("relu"), i.has("satfinite"));
    let (o0, o1) = (ops[0] as u32, ops.get(1).copied().unwrap_or(0) as u32);
    if i.has("pack") {
        let t = i.parts[3];
        let c = ops.get(2).copied().unwrap_or(0) as u32;
        return Some(vec![cvt::pack(t[1..].parse().ok()?, t.starts_with('s'), o0, o1, c).into()]);
    }
    let n = i.parts.len();
    let (d, s) = (i.parts[n - 2], i.parts[n - 1]);
    let rnd = i.rnd();
    let integral = i.parts.iter().any(|p| ["rni", "rzi", "rmi", "rpi"].contains(p));
    if let Some(n) = narrow_of(d) {
        let m = Mods { relu, pzo: false };
        let one = |a| narrow::from_f32(n, rnd.unwrap_or(Rnd::Rn), m, None, a);
        let [a, b] = match half_of(s) {
            Some((k, _)) => [o0 >> 16, o0 & 0xffff].map(|v| half::widen_bits(k, v)),
            None => [o0, o1],
        };
        return Some(vec![(one(a) << n.stride() | one(b)).into()]);
    }
    if let Some(n) = narrow_of(s) {
        let one = |a| narrow::to_f16(n, relu, a);
        return Some(vec![(one(o0 >> n.stride()) << 16 | one(o0)).into()]);
    }
    if s == "f32" && (relu || fin || d.ends_with("x2")) {
        let (k, packed) = match half_of(d) {
            Some(h) => h,
            None if d == "tf32" => {
                return Some(vec![cvt::f32_to_tf32(rnd?, relu, fin, o0).into()]);
            }
            None => return None,
        };
        let one = |a| cvt::f32_to_half(k, rnd.unwrap_or(Rnd::Rn), relu, fin, a);
        return Some(vec![if packed { one(o0) << 16 | one(o1) } else { one(o0) }.into()]);
    }
    if d == "tf32" {
        return Some(vec![cvt::f32_to_tf32(rnd?, relu, fin, o0).into()]);
    }
    let (dt, st) = (ty(d)?, ty(s)?);
    Some(vec![match (dt.is_float(), st.is_float()) {
        (false, false) => cvt::int_to_int(dt, st, sat, ops[0]),
        (true, false) => cvt::int_to_float(dt, st, rnd?, sat, ops[0]),
        (false, true) => cvt::float_to_int(dt, st, rnd?, ftz, ops[0]),
        (true, true) if integral => cvt::round_float(dt, rnd?, ftz, sat, ops[0]),
        (true, true) if dt == st => cvt::copy_float(dt, ftz, sat, ops[0]),
        (true, true) => {
            let r = rnd.unwrap_or(Rnd::Rn);
            let ftz = ftz && !(dt == Ty::F16 && matches!(r, Rnd::Rm | Rnd::Rp));
            cvt::float_to_float(dt, st, r, ftz, sat, ops[0])
        }
    }])
}

fn compare(i: &Inst, negate_c: bool, ops: &[u64]) -> Option<Vec<u64>> {
    let rel = i.rel()?;
    let ftz = i.has("ftz");
    let t = i.last();
    let c = ops.get(2).map(|c| (*c != 0) != negate_c);
    let merge = |r: bool| match c {
        None => r,
        Some(c) if i.has("and") => r & c,
        Some(c) if i.has("or") => r | c,
        Some(c) => r ^ c,
    };
    let one = |a: u64, b: u64| match t {
        "f32" => cmp::f32(rel, ftz, a as u32, b as u32),
        "f64" => cmp::f64(rel, a, b),
        _ => cmp::half(
            half_of(t).map_or(Half::F16, |h| h.0),
            rel,
            ftz,
            a as u32 & 0xffff,
            b as u32 & 0xffff,
        ),
    };
    let packed = t.ends_with("x2");
    let lo = one(ops[0], ops[1]);
    if i.parts[0] == "setp" {
        let second = if packed { merge(one(ops[0] >> 16, ops[1] >> 16)) } else { merge(!lo) };
        return Some(vec![merge(lo).into(), second.into()]);
    }
    let d = i.parts[i.parts.len() - 2];
    let value = |r: bool| match d {
        "f32" => {
            if r {
                0x3f80_0000
            } else {
                0
            }
        }
        "f16" | "f16x2" => {
            if r {
                0x3c00
            } else {
                0
            }
        }
        "bf16" | "bf16x2" => {
            if r {
                0x3f80
            } else {
                0
            }
        }
        _ => {
            if !r {
                0
            } else if packed {
                0xffff
            } else {
                u64::MAX
            }
        }
    };
    let r = value(merge(lo));
    Some(vec![if packed {
        r & 0xffff | value(merge(one(ops[0] >> 16, ops[1] >> 16))) << 16
    } else {
        r
    }])
}

fn atomic(i: &Inst, ops: &[u64]) -> Option<Vec<u64>> {
    let (a, b) = (ops[0] as u32, ops[1] as u32);
    let new = match i.last() {
        "f32" => fp32::atomic_add(i.has("shared"), a, b).into(),
        "f64" => fp64::atomic_add(i.has("shared"), ops[0], ops[1]),
        t => {
            let (k, packed) = half_of(t)?;
            let f = |o: [u32; 2]| half::add(k, false, Clamp::None, o[0], o[1]);
            if packed { halves([a, b], f) } else { f([a, b]) }.into()
        }
    };
    Some(vec![new, ops[0]])
}
