//! `wgmma.mma_async` (PTX section "Asynchronous Warpgroup Level Matrix Multiply-Accumulate").

use super::datapath::{Datapath, Factors};
use super::descriptor::{Descriptor, Major, Packing};
use super::dot::{self, Plane};
use super::fragment::{Rows, pack_acc, unpack_a, unpack_acc};
use super::integers::Integers;
use super::mma::{self, BitOp};
use super::sparse::Metadata;
use super::types::{Elem, MatrixError, Shape, modifiers};

/// A `wgmma.mma_async` or `wgmma.mma_async.sp` instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wgmma {
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

impl Wgmma {
    /// Parses the modifiers of an opcode such as `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16`.
    pub fn parse(inst: &str) -> Result<Self, MatrixError> {
        let bad = |what| MatrixError::Malformed { inst: inst.into(), what };
        let (mut shape, mut types, mut sat, mut sparse) = (None, Vec::new(), false, false);
        for t in modifiers(inst, 1) {
            match t {
                ".sync" | ".aligned" | ".and" | ".popc" => {}
                ".satfinite" => sat = true,
                ".sp" => sparse = true,
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
        let out = Self { shape, d, a, b, sat, sparse };
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
        types
            && self.shape.m == 64
            && self.shape.k == k
            && n.is_multiple_of(8)
            && (8..=256).contains(&n)
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
                Err(MatrixError::FragmentSize { inst: self.to_string(), operand, got, want })
            }
        };
        let [na, nd] = self.registers();
        size('d', d.len(), nd)?;
        let Shape { n, k, .. } = self.shape;
        let stored = if self.sparse { k / 2 } else { k };
        // Single bits come as words of 32.
        let (per, packing) = match self.a {
            Elem::B1 => (32, Packing::Dense(32)),
            t => (1, Packing::Dense(t.bits() as u32)),
        };
        let mut ra = Vec::new();
        match a {
            WgmmaA::Registers(regs) => {
                size('a', regs.len(), na)?;
                unpack_a(16, stored, self.a, regs, &mut ra);
            }
            WgmmaA::Shared(desc) => {
                let major = Major::new(args.transpose_a);
                Descriptor::decode(desc)?.gather(
                    major,
                    (16 * warp, 16),
                    stored / per,
                    packing,
                    &mut ra,
                    &mut read,
                )?;
            }
        }
        let mut rb = Vec::new();
        Descriptor::decode(args.b)?.gather(
            Major::new(args.transpose_b),
            (0, n),
            k / per,
            packing,
            &mut rb,
            &mut read,
        )?;
        let map = match args.metadata {
            Some((meta, selector)) if self.sparse => Some(
                Metadata::warp(k, self.a, meta, selector)
                    .ok_or_else(|| MatrixError::Selector(selector, self.to_string()))?,
            ),
            None if !self.sparse => None,
            _ => return Err(MatrixError::Unsupported(self.to_string()).into()),
        };
        match (dot::format(self.a), dot::format(self.b)) {
            (Some(fa), Some(fb)) => {
                let mut factors = Factors {
                    a: Plane::decode(&ra, fa),
                    b: Plane::decode(&rb, fb),
                    raw_b: &rb,
                    b_type: self.b,
                    n,
                    stored,
                    k,
                    map,
                };
                // One sign for the whole product.
                if args.negate_a != args.negate_b {
                    factors.a.negate();
                }
                self.floats(d, &factors, args.scale_d);
            }
            _ => self.integers(d, &ra, &rb, map.as_ref(), args.scale_d),
        }
        Ok(())
    }

    fn floats(&self, d: &mut Rows, factors: &Factors<'_>, scale_d: bool) {
        let path = if self.a.bits() == 8 {
            Datapath::narrow(factors.stored, self.d)
        } else {
            Datapath::single(factors.stored, self.d, self.d)
        };
        let n = factors.n;
        let f16 = self.d == Elem::F16;
        let mut acc = if scale_d { unpack_acc(16, n, f16, d) } else { vec![0; 16 * n] };
        path.run(factors, &mut acc);
        pack_acc(16, n, f16, &acc, d);
    }

    fn integers(
        &self,
        d: &mut Rows,
        ra: &[u32],
        rb: &[u32],
        map: Option<&Metadata>,
        scale_d: bool,
    ) {
        let Shape { n, k, .. } = self.shape;
        let k = if self.a == Elem::B1 { k / 32 } else { k };
        let stored = if self.sparse { k / 2 } else { k };
        let mut acc = if scale_d { unpack_acc(16, n, false, d) } else { vec![0; 16 * n] };
        let factors = Integers {
            a: (ra, self.a),
            b: (rb, self.b),
            stored,
            k,
            map,
            bit_op: BitOp::And,
            sat: self.sat,
        };
        factors.add_to(&mut acc, n);
        pack_acc(16, n, false, &acc, d);
    }
}

impl std::fmt::Display for Wgmma {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sparse = if self.sparse { ".sp" } else { "" };
        let types = [self.d, self.a, self.b].map(Elem::name).join(".");
        write!(f, "{}.{types}{sparse}", self.shape)
    }
}

impl Wgmma {
    /// The descriptor as two words, for constants of micro-ops.
    #[must_use]
    pub fn pack(&self) -> [u32; 2] {
        let types = [self.d, self.a, self.b, self.d];
        let flags = [self.sat, self.sparse, false, false];
        [self.shape.pack(), mma::pack_word(types, flags, mma::F64Round::Rn, BitOp::And)]
    }

    /// Inverse of [`Wgmma::pack`].
    #[must_use]
    pub fn unpack(v: [u32; 2]) -> Self {
        let ([d, a, b, _], [sat, sparse, ..], ..) = mma::unpack_word(v[1]);
        Self { shape: Shape::unpack(v[0]), d, a, b, sat, sparse }
    }
}
