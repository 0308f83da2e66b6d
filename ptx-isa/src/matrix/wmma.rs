//! `wmma.load`, `wmma.store` and `wmma.mma` (PTX section "Matrix multiply-accumulate operation using
//! wmma instructions").
//! The layout of fragments is in [`super::wmma_fragment`].

use super::datapath::{Datapath, Factors};
use super::dot::{self, Plane};
use super::double;
use super::fragment::Rows;
use super::integers::Integers;
use super::mma::{self, BitOp, F64Round};
use super::types::{Elem, Layout, MatrixError, Shape, modifiers};
use super::wmma_fragment::{Fragment, Operand};

/// A `wmma.load` or `wmma.store` instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WmmaMove {
    /// What is moved.
    pub fragment: Fragment,
    /// Order in memory.
    pub layout: Layout,
    /// `wmma.store`.
    pub store: bool,
}

impl WmmaMove {
    /// Parses `wmma.load.a.sync.aligned.row.m16n16k16{.space}.f16` and its kin.
    pub fn parse(inst: &str) -> Result<Self, MatrixError> {
        let bad = |what| MatrixError::Malformed { inst: inst.into(), what };
        let mut tokens = modifiers(inst, 0);
        let store = match tokens.next() {
            Some(".load") => false,
            Some(".store") => true,
            _ => return Err(MatrixError::Unsupported(inst.into())),
        };
        let operand = match (tokens.next(), store) {
            (Some(".a"), false) => Operand::A,
            (Some(".b"), false) => Operand::B,
            (Some(".c"), false) => Operand::C,
            (Some(".d"), true) => Operand::D,
            _ => return Err(bad("no operand")),
        };
        let (mut layout, mut shape, mut elem) = (None, None, None);
        for t in tokens {
            layout = layout.or_else(|| Layout::parse(t));
            shape = shape.or_else(|| Shape::parse(t));
            elem = elem.or_else(|| Elem::parse(t));
        }
        let fragment = Fragment {
            shape: shape.ok_or_else(|| bad("no shape"))?,
            operand,
            elem: elem.ok_or_else(|| bad("no type"))?,
        };
        if !known_fragment(&fragment) {
            return Err(MatrixError::Unsupported(inst.into()));
        }
        Ok(Self { fragment, layout: layout.ok_or_else(|| bad("no layout"))?, store })
    }
}

fn known_fragment(f: &Fragment) -> bool {
    use Elem::{B1, Bf16, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
    let acc = matches!(f.operand, Operand::C | Operand::D);
    match (f.shape.m, f.shape.n, f.shape.k) {
        (16, 16, 16) | (32, 8, 16) | (8, 32, 16) => {
            if acc {
                matches!(f.elem, F16 | F32 | S32)
            } else {
                matches!(f.elem, F16 | Bf16 | S8 | U8)
            }
        }
        (16, 16, 8) => f.elem == if acc { F32 } else { Tf32 },
        (8, 8, 4) => f.elem == F64,
        (8, 8, 32) => {
            if acc {
                f.elem == S32
            } else {
                matches!(f.elem, S4 | U4)
            }
        }
        (8, 8, 128) => f.elem == if acc { S32 } else { B1 },
        _ => false,
    }
}

/// A `wmma.mma` instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wmma {
    /// Fragments of D, A, B and C.
    pub d: Fragment,
    /// A.
    pub a: Fragment,
    /// B.
    pub b: Fragment,
    /// C.
    pub c: Fragment,
    /// `.satfinite`.
    pub sat: bool,
    /// Rounding of f64 steps.
    pub round: F64Round,
    /// Operation on single bits.
    pub bit_op: BitOp,
}

impl Wmma {
    /// Parses `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32` and its kin.
    pub fn parse(inst: &str) -> Result<Self, MatrixError> {
        let bad = |what| MatrixError::Malformed { inst: inst.into(), what };
        let (mut shape, mut types) = (None, Vec::new());
        let (mut sat, mut round, mut bit_op) = (false, F64Round::Rn, BitOp::Xor);
        for t in modifiers(inst, 1) {
            match t {
                ".satfinite" => sat = true,
                ".rn" => round = F64Round::Rn,
                ".rz" => round = F64Round::Rz,
                ".rm" => round = F64Round::Rm,
                ".rp" => round = F64Round::Rp,
                ".and" => bit_op = BitOp::And,
                ".sync" | ".aligned" | ".row" | ".col" | ".xor" | ".popc" => {}
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
        let shape = shape.ok_or_else(|| bad("no shape"))?;
        // f16 products name only D and C.
        let [d, a, b, c] = match types[..] {
            [d, c] => [d, Elem::F16, Elem::F16, c],
            [d, a, b, c] => [d, a, b, c],
            _ => return Err(bad("two or four types expected")),
        };
        let fragment = |operand, elem| Fragment { shape, operand, elem };
        let out = Self {
            d: fragment(Operand::D, d),
            a: fragment(Operand::A, a),
            b: fragment(Operand::B, b),
            c: fragment(Operand::C, c),
            sat,
            round,
            bit_op,
        };
        let integer = !matches!(a, Elem::F16 | Elem::Bf16 | Elem::Tf32 | Elem::F64);
        let fits = a == b
            && [out.d, out.a, out.b, out.c].iter().all(known_fragment)
            && (d == Elem::S32) == integer
            && (c == Elem::S32) == integer
            && (a != Elem::Bf16 || (d, c) == (Elem::F32, Elem::F32));
        if fits { Ok(out) } else { Err(MatrixError::Unsupported(inst.into())) }
    }

    /// Registers per lane of A, B, C and D (64-bit registers for f64).
    #[must_use]
    pub fn registers(&self) -> [usize; 4] {
        [self.a.registers(), self.b.registers(), self.c.registers(), self.d.registers()]
    }

    fn check(&self, sizes: [usize; 4]) -> Result<(), MatrixError> {
        for ((operand, got), want) in
            ['a', 'b', 'c', 'd'].into_iter().zip(sizes).zip(self.registers())
        {
            if got != want {
                return Err(MatrixError::FragmentSize {
                    inst: self.to_string(),
                    operand,
                    got,
                    want,
                });
            }
        }
        Ok(())
    }

    /// `d = a * b + c` for f64 (`m8n8k4`, whose fragments are those of `mma`).
    pub fn run_f64(
        &self,
        d: &mut [[u64; 32]],
        a: &[[u64; 32]],
        b: &[[u64; 32]],
        c: &[[u64; 32]],
    ) -> Result<(), MatrixError> {
        if self.a.elem != Elem::F64 {
            return Err(MatrixError::Unsupported(self.to_string()));
        }
        self.check([a.len(), b.len(), c.len(), d.len()])?;
        double::run(self.a.shape, self.round, d, a, b, c);
        Ok(())
    }

    /// `d = a * b + c` for every other type.
    pub fn run(&self, d: &mut Rows, a: &Rows, b: &Rows, c: &Rows) -> Result<(), MatrixError> {
        if self.a.elem == Elem::F64 {
            return Err(MatrixError::Unsupported(self.to_string()));
        }
        self.check([a.len(), b.len(), c.len(), d.len()])?;
        let Shape { n, k, .. } = self.a.shape;
        let (ra, rb, mut acc) = (self.a.unpack(a), self.b.unpack(b), self.c.unpack(c));
        if let (Some(fa), Some(fb)) = (dot::format(self.a.elem), dot::format(self.b.elem)) {
            // tf32 runs in two steps of four.
            let path = if self.a.elem == Elem::Tf32 {
                Datapath::halves(k, self.c.elem, self.d.elem)
            } else {
                Datapath::single(k, self.c.elem, self.d.elem)
            };
            let factors = Factors {
                a: Plane::decode(&ra, fa),
                b: Plane::decode(&rb, fb),
                raw_b: &rb,
                b_type: self.b.elem,
                n,
                stored: k,
                k,
                map: None,
            };
            path.run(&factors, &mut acc);
        } else {
            let factors = Integers {
                a: (&ra, self.a.elem),
                b: (&rb, self.b.elem),
                stored: k,
                k,
                map: None,
                bit_op: self.bit_op,
                sat: self.sat,
            };
            factors.add_to(&mut acc, n);
        }
        self.d.pack(&acc, d);
        Ok(())
    }
}

impl std::fmt::Display for Wmma {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let types = [self.d, self.a, self.b, self.c].map(|x| x.elem.name()).join(".");
        write!(f, "{}.{types}", self.a.shape)
    }
}

impl Wmma {
    /// The descriptor as two words, for constants of micro-ops.
    #[must_use]
    pub fn pack(&self) -> [u32; 2] {
        let types = [self.d.elem, self.a.elem, self.b.elem, self.c.elem];
        let flags = [self.sat, false, false, false];
        [self.a.shape.pack(), mma::pack_word(types, flags, self.round, self.bit_op)]
    }

    /// Inverse of [`Wmma::pack`].
    #[must_use]
    pub fn unpack(v: [u32; 2]) -> Self {
        let shape = Shape::unpack(v[0]);
        let ([d, a, b, c], [sat, ..], round, bit_op) = mma::unpack_word(v[1]);
        let of = |operand, elem| Fragment { shape, operand, elem };
        Self {
            d: of(Operand::D, d),
            a: of(Operand::A, a),
            b: of(Operand::B, b),
            c: of(Operand::C, c),
            sat,
            round,
            bit_op,
        }
    }
}

impl WmmaMove {
    /// Elements between rows (columns) of a matrix without gaps.
    #[must_use]
    pub fn dense_stride(&self) -> u32 {
        let (rows, cols) = self.fragment.extent();
        (if self.layout == Layout::Row { cols } else { rows }) as u32
    }

    /// The descriptor as two words, for constants of micro-ops.
    #[must_use]
    pub fn pack(&self) -> [u32; 2] {
        let f = &self.fragment;
        let flags = u32::from(self.layout == Layout::Col) << 16 | u32::from(self.store) << 17;
        [f.shape.pack(), f.elem as u32 | (f.operand as u32) << 8 | flags]
    }

    /// Inverse of [`WmmaMove::pack`].
    #[must_use]
    pub fn unpack(v: [u32; 2]) -> Self {
        let operand = [Operand::A, Operand::B, Operand::C, Operand::D][(v[1] >> 8 & 3) as usize];
        Self {
            fragment: Fragment {
                shape: Shape::unpack(v[0]),
                operand,
                elem: Elem::from_code(v[1] & 15),
            },
            layout: if v[1] >> 16 & 1 != 0 { Layout::Col } else { Layout::Row },
            store: v[1] >> 17 & 1 != 0,
        }
    }
}
