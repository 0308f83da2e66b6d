//! `wgmma.mma_async` (PTX section "Asynchronous Warpgroup Level Matrix Multiply-Accumulate").

use super::descriptor::{Descriptor, Major};
use super::dot::{self, Plane, Round, Run, Sum, fused};
use super::fragment::{Rows, acc16, acc32, extend, half, set_half, unpack_a};
use super::mma::{self, BitOp, FRACTION, add_s32};
use super::sparse::{self, Metadata};
use super::types::{Elem, MatrixError, Shape};

/// A `wgmma.mma_async` or `wgmma.mma_async.sp` instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wgmma {
    /// The instruction's text, for messages.
    pub inst: String,
    /// Shape (`m` is 64).
    pub shape: Shape,
    /// Type of D.
    pub d: Elem,
    /// Type of A.
    pub a: Elem,
    /// Type of B.
    pub b: Elem,
    /// `.satfinite`.
    pub sat: bool,
    /// `.sp`.
    pub sparse: bool,
}

/// Where A comes from.
#[derive(Debug, Clone, Copy)]
pub enum WgmmaA<'a> {
    /// Four registers per lane of this warp.
    Registers(&'a Rows),
    /// A matrix descriptor, the same in all four warps.
    Shared(u64),
}

/// Operands of one issue besides A and D.
#[derive(Debug, Clone, Copy)]
pub struct WgmmaArgs<'a> {
    /// Descriptor of B.
    pub b: u64,
    /// `scale-d`: whether D is added.
    pub scale_d: bool,
    /// `imm-scale-a` is -1.
    pub negate_a: bool,
    /// `imm-scale-b` is -1.
    pub negate_b: bool,
    /// `imm-trans-a`.
    pub transpose_a: bool,
    /// `imm-trans-b`.
    pub transpose_b: bool,
    /// Metadata register and selector of the sparse forms.
    pub metadata: Option<(&'a [u32; 32], u32)>,
}

/// Fraction bits of the datapath for 8-bit floats.
const FRACTION8: u32 = 13;

impl Wgmma {
    /// Parses the instruction with its modifiers.
    pub fn parse(inst: &str) -> Result<Self, MatrixError> {
        let bad = |what| MatrixError::Malformed { inst: inst.into(), what };
        let rest = inst
            .strip_prefix("wgmma.mma_async.")
            .ok_or_else(|| MatrixError::Unsupported(inst.into()))?;
        let (mut shape, mut types, mut sat, mut sparse) = (None, Vec::new(), false, false);
        for t in rest.split('.') {
            match t {
                "sync" | "aligned" | "and" | "popc" => {}
                "satfinite" => sat = true,
                "sp" => sparse = true,
                _ => {
                    if let Some(e) = Elem::parse(t) {
                        types.push(e);
                    } else if let Some(s) = Shape::parse(t) {
                        shape = Some(s);
                    } else {
                        return Err(MatrixError::Unsupported(inst.into()));
                    }
                }
            }
        }
        let [d, a, b] = types.try_into().map_err(|_| bad("three types expected"))?;
        let shape = shape.ok_or_else(|| bad("no shape"))?;
        let out = Self { inst: inst.into(), shape, d, a, b, sat, sparse };
        if out.known() { Ok(out) } else { Err(MatrixError::Unsupported(inst.into())) }
    }

    fn known(&self) -> bool {
        use Elem::{B1, Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
        let types = match (self.d, self.a, self.b) {
            (F16 | F32, F16, F16) | (F32, Bf16, Bf16) | (F32, Tf32, Tf32) => true,
            (F16 | F32, E4m3 | E5m2, E4m3 | E5m2) => true,
            (S32, S8 | U8, S8 | U8) => true,
            (S32, B1, B1) => !self.sparse,
            _ => false,
        };
        // 32 bytes of A per row, twice as many columns when A is sparse.
        let k = 256 / self.a.bits() * if self.sparse { 2 } else { 1 };
        let n = self.shape.n;
        types && self.shape.m == 64 && self.shape.k == k && n.is_multiple_of(8) && (8..=256).contains(&n)
    }

    /// Registers per lane of A (when in registers) and D.
    #[must_use]
    pub fn registers(&self) -> [usize; 2] {
        [4, self.shape.n / if self.d == Elem::F16 { 4 } else { 2 }]
    }

    /// Runs one warp's 16 rows: `warp` is the warp's rank in its warpgroup, `d` holds D's registers
    /// before and after. `read` fills a buffer from shared memory.
    pub fn run<E: From<MatrixError>>(
        &self,
        warp: usize,
        d: &mut Rows,
        a: WgmmaA<'_>,
        args: &WgmmaArgs<'_>,
        mut read: impl FnMut(u32, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let size = |operand, got, want| {
            if got == want {
                Ok(())
            } else {
                Err(MatrixError::FragmentSize { inst: self.inst.clone(), operand, got, want })
            }
        };
        let [na, nd] = self.registers();
        size('d', d.len(), nd)?;
        let Shape { n, k, .. } = self.shape;
        let stored = if self.sparse { k / 2 } else { k };
        let bits = self.a.bits();
        let mut ra = Vec::new();
        match a {
            WgmmaA::Registers(regs) => {
                size('a', regs.len(), na)?;
                unpack_a(16, stored, self.a, regs, &mut ra);
            }
            WgmmaA::Shared(desc) => {
                let major = Major::new(args.transpose_a);
                Descriptor::decode(desc)?.gather(major, 16 * warp, 16, stored, bits, &mut ra, &mut read)?;
            }
        }
        let mut rb = Vec::new();
        Descriptor::decode(args.b)?.gather(
            Major::new(args.transpose_b),
            0,
            n,
            k,
            bits,
            &mut rb,
            &mut read,
        )?;
        let map = match args.metadata {
            Some((meta, selector)) if self.sparse => Some(
                Metadata::warp(k, self.a, meta, selector)
                    .ok_or_else(|| MatrixError::Selector(selector, self.inst.clone()))?,
            ),
            None if !self.sparse => None,
            _ => return Err(MatrixError::Unsupported(self.inst.clone()).into()),
        };
        match (dot::format(self.a), dot::format(self.b)) {
            (Some(fa), Some(fb)) => {
                let mut pa = Plane::decode(&ra, fa);
                let mut pb = Plane::decode(&rb, fb);
                let negate = |m: &mut Vec<i32>| m.iter_mut().for_each(|v| *v = -*v);
                if args.negate_a {
                    negate(&mut pa.m);
                }
                if args.negate_b {
                    negate(&mut pb.m);
                }
                self.floats(d, &pa, &pb, &rb, map.as_ref(), args);
            }
            _ => self.integers(d, &ra, &rb, map.as_ref(), args.scale_d),
        }
        Ok(())
    }

    fn floats(
        &self,
        d: &mut Rows,
        pa: &Plane,
        pb: &Plane,
        rb: &[u32],
        map: Option<&Metadata>,
        args: &WgmmaArgs<'_>,
    ) {
        let Shape { n, k, .. } = self.shape;
        let stored = if self.sparse { k / 2 } else { k };
        let fracs = pa.frac + pb.frac;
        let mut gathered = Plane::default();
        for i in 0..16 {
            let row = pa.run(i * stored, stored);
            for j in 0..n {
                let col = match map {
                    None => pb.run(j * k, k),
                    Some(map) if self.b == Elem::Tf32 => {
                        gathered = sparse::gather_tf32(&rb[j * k..][..k], map.row(i));
                        if args.negate_b {
                            gathered.m.iter_mut().for_each(|v| *v = -*v);
                        }
                        gathered.run(0, stored)
                    }
                    Some(map) => {
                        sparse::gather(&mut gathered, pb, j * k, map.row(i));
                        gathered.run(0, stored)
                    }
                };
                if self.d == Elem::F16 {
                    let (lane, reg, h) = acc16(i, j);
                    let c = if args.scale_d { half(d[reg][lane], h).into() } else { 0 };
                    let v = self.float(row, col, fracs, dot::F16, c);
                    set_half(&mut d[reg][lane], h, v as u16);
                } else {
                    let (lane, reg) = acc32(i, j);
                    let c = if args.scale_d { d[reg][lane] } else { 0 };
                    d[reg][lane] = self.float(row, col, fracs, dot::F32, c);
                }
            }
        }
    }

    /// One element: 8-bit floats run on a datapath of 13 fraction bits.
    fn float(&self, a: Run<'_>, b: Run<'_>, fracs: u32, cf: dot::Format, c: u32) -> u32 {
        let eight = self.a.bits() == 8;
        let bits = if eight { FRACTION8 } else { FRACTION };
        let sum: Sum = fused(a, b, fracs, cf.decode(c), cf.frac, bits);
        if self.d == Elem::F16 {
            sum.to_f16().into()
        } else {
            sum.to_f32(if eight { FRACTION8 } else { 23 }, Round::Zero)
        }
    }

    fn integers(&self, d: &mut Rows, ra: &[u32], rb: &[u32], map: Option<&Metadata>, scale_d: bool) {
        let Shape { n, k, .. } = self.shape;
        let k = if self.a == Elem::B1 { k / 32 } else { k };
        let stored = if self.sparse { k / 2 } else { k };
        let wide = |raw: &[u32], t: Elem| raw.iter().map(|&v| extend(v, t)).collect::<Vec<_>>();
        let (ia, ib) = (wide(ra, self.a), wide(rb, self.b));
        for i in 0..16 {
            let row = &ia[i * stored..][..stored];
            for j in 0..n {
                let col = &ib[j * k..][..k];
                let s = match (self.a, map) {
                    (Elem::B1, _) => mma::bits(row, col, BitOp::And),
                    (_, None) => row.iter().zip(col).map(|(x, y)| x * y).sum(),
                    (_, Some(map)) => row.iter().zip(map.row(i)).map(|(x, &at)| x * col[usize::from(at)]).sum(),
                };
                let (lane, reg) = acc32(i, j);
                let c = if scale_d { d[reg][lane] } else { 0 };
                d[reg][lane] = add_s32(s, c, self.sat);
            }
        }
    }
}
