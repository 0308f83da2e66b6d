//! Products of small floating-point matrices on one of the hardware's datapaths.

use super::columns::{Cut, WIDTH};
use super::dot::{self, Eight, Format, Plane, Round, Run, Sum, fused};
use super::sparse::{self, Metadata};
use super::types::Elem;

/// How one product element is formed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Datapath {
    /// Terms per group: the groups chain, each result being the next one's accumulator.
    pub steps: [usize; 2],
    /// Fraction bits kept when terms are aligned.
    pub bits: u32,
    /// Fraction bits of an f32 result that survive.
    pub keep: u32,
    /// Type of C.
    pub c: Elem,
    /// Type of D.
    pub d: Elem,
    /// The groups start from zero and C is added by one rounded addition at the end.
    pub from_zero: bool,
}

/// Fraction bits kept when the terms of one `mma` are aligned.
const FRACTION: u32 = 25;
/// The same on the warpgroup's datapath for 8-bit floats.
const FRACTION8: u32 = 13;

/// Decoded operands of a product, `k` elements per row of A (stored ones) and per column of B.
pub(super) struct Factors<'a> {
    pub a: Plane,
    pub b: Plane,
    /// Undecoded B, for metadata that mixes halves.
    pub raw_b: &'a [u32],
    pub b_type: Elem,
    pub n: usize,
    /// Elements per row of A.
    pub stored: usize,
    /// Elements per column of B.
    pub k: usize,
    pub map: Option<Metadata>,
}

impl Datapath {
    /// One group of all products and C.
    pub(super) const fn single(k: usize, c: Elem, d: Elem) -> Self {
        Self { steps: [k, 0], bits: FRACTION, keep: 23, c, d, from_zero: false }
    }

    /// Two groups of half the products each.
    pub(super) const fn halves(k: usize, c: Elem, d: Elem) -> Self {
        Self { steps: [k / 2, k / 2], ..Self::single(k, c, d) }
    }

    /// The warpgroup's narrow datapath for 8-bit floats.
    pub(super) const fn narrow(k: usize, d: Elem) -> Self {
        Self { bits: FRACTION8, keep: FRACTION8, ..Self::single(k, d, d) }
    }

    /// 8-bit floats where the hardware has no unit: as f16, two groups, then one addition.
    pub(super) const fn via_f16(k: usize, d: Elem) -> Self {
        Self { from_zero: true, ..Self::halves(k, d, d) }
    }

    /// f32 results are cut, f16 results rounded to nearest even.
    #[inline]
    fn finish(&self, s: Sum) -> u32 {
        if self.d == Elem::F16 { s.to_f16().into() } else { s.to_f32(self.keep, Round::Zero) }
    }

    fn add(&self, x: u32, c: u32) -> u32 {
        if self.d == Elem::F16 {
            dot::add_f16(x as u16, c as u16).into()
        } else {
            dot::add_f32(x, c)
        }
    }

    fn format(t: Elem) -> Format {
        if t == Elem::F16 { dot::F16 } else { dot::F32 }
    }

    /// The groups with the format of the accumulator that each takes.
    fn groups(&self) -> impl Iterator<Item = (std::ops::Range<usize>, Format)> {
        let (first, later) = (Self::format(self.c), Self::format(self.d));
        let [x, y] = self.steps;
        let second = (y != 0).then_some((x..x + y, later));
        std::iter::once((0..x, first)).chain(second)
    }

    /// One element by the careful path.
    fn element(&self, a: Run<'_>, b: Run<'_>, fracs: u32, c: u32) -> u32 {
        let mut acc = if self.from_zero { 0 } else { c };
        for (steps, f) in self.groups() {
            let sum = fused(
                a.part(steps.clone()),
                b.part(steps),
                fracs,
                f.decode(acc),
                f.frac,
                self.bits,
            );
            acc = self.finish(sum);
        }
        if self.from_zero { self.add(acc, c) } else { acc }
    }

    /// Eight elements of a row at once; `None` where the careful path must run.
    fn eight(&self, a: Run<'_>, b: &Eight, fracs: u32, c: &mut [u32]) -> Option<()> {
        let mut acc: [u32; WIDTH] = [0; WIDTH];
        if !self.from_zero {
            acc.copy_from_slice(c);
        }
        for (steps, f) in self.groups() {
            if self.d == Elem::F32 && f.frac == dot::F32.frac {
                let cut = Cut { up: self.bits - fracs, bits: self.bits, keep: self.keep };
                if b.add_f32(a, steps.clone(), cut, &mut acc) {
                    continue;
                }
            }
            let mut nums = [f.decode(0); WIDTH];
            for (num, raw) in nums.iter_mut().zip(acc) {
                *num = f.decode(raw);
            }
            let sums = b.row(a, steps, fracs, &nums, f.frac, self.bits)?;
            for (raw, sum) in acc.iter_mut().zip(sums) {
                *raw = self.finish(sum);
            }
        }
        for (v, x) in c.iter_mut().zip(acc) {
            *v = if self.from_zero { self.add(x, *v) } else { x };
        }
        Some(())
    }

    /// `acc = a * b + acc`; `acc` holds raw elements, row after row.
    pub(super) fn run(&self, f: &Factors<'_>, acc: &mut [u32]) {
        let fracs = f.a.frac + f.b.frac;
        let mut gathered = Plane::default();
        let blocks = if f.map.is_none() { f.n / WIDTH } else { 0 };
        let eights: Vec<Option<Eight>> =
            (0..blocks).map(|x| Eight::new(&f.b, x * WIDTH, f.k, self.steps[0])).collect();
        for (i, row) in acc.chunks_exact_mut(f.n).enumerate() {
            let a = f.a.run(i * f.stored, f.stored);
            for (x, c) in row.chunks_exact_mut(WIDTH).enumerate() {
                let fast = eights.get(x).and_then(Option::as_ref);
                if fast.and_then(|b| self.eight(a, b, fracs, c)).is_some() {
                    continue;
                }
                for (j, c) in c.iter_mut().enumerate() {
                    let at = (x * WIDTH + j) * f.k;
                    let b = match &f.map {
                        None => f.b.run(at, f.k),
                        Some(map) => {
                            if f.b_type == Elem::Tf32 {
                                sparse::gather_tf32(
                                    &mut gathered,
                                    &f.raw_b[at..][..f.k],
                                    map.row(i),
                                );
                            } else {
                                sparse::gather(&mut gathered, &f.b, at, map.row(i));
                            }
                            gathered.run(0, f.stored)
                        }
                    };
                    *c = self.element(a, b, fracs, *c);
                }
            }
        }
    }
}

/// Brings the elements with k mod 4 in {0, 1} of every run of `k` before the others: the order in
/// which 8-bit floats are split into two f16 products.
pub(super) fn regroup<T: Copy>(v: &mut [T], k: usize) {
    for run in v.chunks_exact_mut(k) {
        let quads =
            |h: usize| (0..run.len() / 4).flat_map(move |q| [4 * q + 2 * h, 4 * q + 2 * h + 1]);
        let order: Vec<T> = quads(0).chain(quads(1)).map(|i| run[i]).collect();
        run.copy_from_slice(&order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next bits from a fixed start.
    fn next(seed: &mut u64) -> u32 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        (*seed >> 20) as u32
    }

    /// A number of some size; those of moderate size are seldom cut away altogether.
    fn raw(bits: u32, size: u32, format: Format) -> u32 {
        let any = bits & u32::MAX >> (31 - format.frac - format.exp);
        let exp = match size {
            0 => return any << format.skip,
            1 => bits % 2,
            2 => (1 << format.exp) - 2 - bits % 3,
            _ => format.bias.cast_unsigned() - 6 + bits % 6,
        };
        let all = ((1 << format.exp) - 1) << format.frac;
        (any & !all | exp << format.frac) << format.skip
    }

    #[test]
    fn columns_side_by_side_are_as_one_by_one() {
        let mut seed = 0x9e37_79b9_7f4a_7c15;
        let k = 16;
        for (t, d) in [
            (Elem::F16, Elem::F32),
            (Elem::F16, Elem::F16),
            (Elem::Bf16, Elem::F32),
            (Elem::Tf32, Elem::F32),
            (Elem::E4m3, Elem::F32),
        ] {
            let format = dot::format(t).expect("a float");
            let mut together = 0;
            for path in [
                Datapath::single(k, d, d),
                Datapath::halves(k, d, d),
                Datapath::via_f16(k, d),
                Datapath { bits: FRACTION8, keep: FRACTION8, ..Datapath::single(k, d, d) },
            ] {
                // More fraction bits than the narrow path keeps have no place there.
                if path.bits < 2 * format.frac {
                    continue;
                }
                for round in 0..2000 {
                    // All of an operand are small, great, moderate or of every size: sums of small times moderate
                    // ones are beyond the normal numbers.
                    let mut number = |format, kind: u32| {
                        let bits = next(&mut seed);
                        raw(bits, if kind == 0 { bits >> 28 } else { kind }, format)
                    };
                    let mut elements = |n: usize, kind: u32| -> Vec<u32> {
                        (0..n).map(|_| number(format, kind)).collect()
                    };
                    let (ra, rb) = (elements(k, round % 4), elements(k * WIDTH, round / 4 % 4));
                    let (a, b) = (Plane::decode(&ra, format), Plane::decode(&rb, format));
                    let accumulator = Datapath::format(d);
                    let c: [u32; WIDTH] =
                        std::array::from_fn(|_| number(accumulator, round / 16 % 4));
                    let fracs = a.frac + b.frac;
                    let one = |j: usize| path.element(a.run(0, k), b.run(j * k, k), fracs, c[j]);
                    let want: [u32; WIDTH] = std::array::from_fn(one);
                    let mut got = c;
                    let side = Eight::new(&b, 0, k, path.steps[0]);
                    if side.and_then(|b| path.eight(a.run(0, k), &b, fracs, &mut got)).is_some() {
                        together += 1;
                        assert_eq!(got, want, "{t:?} {path:?} {ra:x?} {rb:x?} {c:x?}");
                    }
                }
            }
            assert!(together > 10, "{t:?}: {together}");
        }
    }
}
