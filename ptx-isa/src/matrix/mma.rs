//! `mma.sync` and `mma.sp` (PTX sections "Multiply-and-Accumulate Instruction: mma" and "mma.sp").

use super::datapath::{Datapath, Factors, regroup};
use super::dot::{self, Plane};
use super::fragment::{Rows, a_registers, pack_acc, unpack_a, unpack_acc, unpack_b};
use super::integers::Integers;
use super::sparse::Metadata;
use super::types::{Elem, Layout, MatrixError, Shape, modifiers};
use super::volta;

/// Rounding of an f64 product step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names are PTX's
pub enum F64Round {
    Rn,
    Rz,
    Rm,
    Rp,
}

/// How single bits are combined before they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names are PTX's
pub enum BitOp {
    Xor,
    And,
}

/// An `mma` or `mma.sp` instruction, parsed once from its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mma {
    /// Shape.
    pub shape: Shape,
    /// Storage order of A (only `m8n8k4` with f16 has a choice).
    pub a_layout: Layout,
    /// Storage order of B.
    pub b_layout: Layout,
    /// Type of D.
    pub d: Elem,
    /// Type of A.
    pub a: Elem,
    /// Type of B.
    pub b: Elem,
    /// Type of C.
    pub c: Elem,
    /// `.satfinite`.
    pub sat: bool,
    /// Rounding of f64 steps.
    pub round: F64Round,
    /// Operation on single bits.
    pub bit_op: BitOp,
    /// `mma.sp`.
    pub sparse: bool,
}

impl Mma {
    /// Parses the modifiers of an opcode such as `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`; whose
    /// they are is the row's to say.
    pub fn parse(inst: &str) -> Result<Self, MatrixError> {
        let bad = |what| MatrixError::Malformed { inst: inst.into(), what };
        let tokens = modifiers(inst, 0);
        let (mut shape, mut layouts, mut types) = (None, Vec::new(), Vec::new());
        let mut out = Self {
            shape: Shape { m: 0, n: 0, k: 0 },
            a_layout: Layout::Row,
            b_layout: Layout::Col,
            d: Elem::F32,
            a: Elem::F16,
            b: Elem::F16,
            c: Elem::F32,
            sat: false,
            round: F64Round::Rn,
            bit_op: BitOp::Xor,
            sparse: false,
        };
        for t in tokens {
            match t {
                ".sync" | ".aligned" | ".popc" => {}
                ".sp" | ".sp::ordered_metadata" => out.sparse = true,
                ".satfinite" => out.sat = true,
                ".rn" => out.round = F64Round::Rn,
                ".rz" => out.round = F64Round::Rz,
                ".rm" => out.round = F64Round::Rm,
                ".rp" => out.round = F64Round::Rp,
                ".xor" => out.bit_op = BitOp::Xor,
                ".and" => out.bit_op = BitOp::And,
                _ => {
                    if let Some(l) = Layout::parse(t) {
                        layouts.push(l);
                    } else if let Some(e) = Elem::parse(t) {
                        types.push(e);
                    } else if let Some(s) = Shape::parse(t) {
                        shape = Some(s);
                    } else {
                        return Err(MatrixError::Unsupported(inst.into()));
                    }
                }
            }
        }
        out.shape = shape.ok_or_else(|| bad("no shape"))?;
        [out.a_layout, out.b_layout] =
            layouts.try_into().map_err(|_| bad("two layouts expected"))?;
        [out.d, out.a, out.b, out.c] = types.try_into().map_err(|_| bad("four types expected"))?;
        if !out.known() {
            return Err(MatrixError::Unsupported(inst.into()));
        }
        Ok(out)
    }

    /// Whether the manual lists this combination of shape and types.
    fn known(&self) -> bool {
        use Elem::{B1, Bf16, E4m3, E5m2, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
        let Shape { m, n, k } = self.shape;
        let acc_f = matches!(self.d, F16 | F32) && self.d == self.c;
        let acc32 = self.d == F32 && self.c == F32;
        let acci = self.d == S32 && self.c == S32;
        let ks: &[usize] = match (self.a, self.b) {
            (F16, F16) if !self.sparse && (m, n, k) == (8, 8, 4) => {
                return acc_f || (self.d, self.c) == (F32, F16);
            }
            (F16, F16) if acc_f => {
                if self.sparse {
                    &[16, 32]
                } else {
                    &[8, 16]
                }
            }
            (Bf16, Bf16) if acc32 => {
                if self.sparse {
                    &[16, 32]
                } else {
                    &[8, 16]
                }
            }
            (Tf32, Tf32) if acc32 => {
                if self.sparse {
                    &[8, 16]
                } else {
                    &[4, 8]
                }
            }
            (E4m3 | E5m2, E4m3 | E5m2) if acc_f => {
                if self.sparse {
                    &[64]
                } else {
                    &[16, 32]
                }
            }
            (F64, F64) if self.d == F64 && self.c == F64 && !self.sparse => {
                return n == 8 && (m == 8 && k == 4 || m == 16 && matches!(k, 4 | 8 | 16));
            }
            (S8 | U8, S8 | U8) if acci => {
                if self.sparse {
                    &[32, 64]
                } else {
                    &[16, 32]
                }
            }
            (S4 | U4, S4 | U4) if acci => {
                if self.sparse {
                    &[64, 128]
                } else {
                    &[32, 64]
                }
            }
            (B1, B1) if acci && !self.sparse => &[128, 256],
            _ => return false,
        };
        let narrow = acci && !self.sparse && m == 8 && k == ks[0];
        n == 8
            && (m == 16 && ks.contains(&k) || narrow)
            && (self.a_layout, self.b_layout) == (Layout::Row, Layout::Col)
    }

    /// Elements of A stored per row (half of k in a sparse matrix).
    fn stored_k(&self) -> usize {
        if self.sparse { self.shape.k / 2 } else { self.shape.k }
    }

    /// Registers per lane of A, B, C and D (64-bit registers for f64).
    #[must_use]
    pub fn registers(&self) -> [usize; 4] {
        let Shape { m, n, k } = self.shape;
        if self.a == Elem::F64 {
            return [m * k / 32, n * k / 32, m * n / 32, m * n / 32];
        }
        let acc = |t: Elem| m * n / (32 * t.per_register());
        if volta::is_volta(self) {
            // Four independent 8x8 products, two registers of A and B each.
            return [2, 2, 4 * acc(self.c), 4 * acc(self.d)];
        }
        [
            a_registers(m, self.stored_k(), self.a),
            a_registers(n, k, self.b),
            acc(self.c),
            acc(self.d),
        ]
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

    /// `d = a * b + c` for every type but f64.
    pub fn run(&self, d: &mut Rows, a: &Rows, b: &Rows, c: &Rows) -> Result<(), MatrixError> {
        if self.sparse || self.a == Elem::F64 {
            return Err(MatrixError::Unsupported(self.to_string()));
        }
        self.check([a.len(), b.len(), c.len(), d.len()])?;
        if volta::is_volta(self) {
            volta::run(self, d, a, b, c);
        } else {
            self.product(d, a, b, c, None);
        }
        Ok(())
    }

    /// `d = a * b + c` where A is sparse: `meta` holds each lane's metadata register.
    pub fn run_sparse(
        &self,
        d: &mut Rows,
        a: &Rows,
        b: &Rows,
        c: &Rows,
        meta: &[u32; 32],
        selector: u32,
    ) -> Result<(), MatrixError> {
        if !self.sparse {
            return Err(MatrixError::Unsupported(self.to_string()));
        }
        self.check([a.len(), b.len(), c.len(), d.len()])?;
        let map = Metadata::warp(self.shape.k, self.a, meta, selector)
            .ok_or_else(|| MatrixError::Selector(selector, self.to_string()))?;
        self.product(d, a, b, c, Some(map));
        Ok(())
    }

    /// `d = a * b + c` for f64: registers are 64 bits wide.
    pub fn run_f64(
        &self,
        d: &mut [[u64; 32]],
        a: &[[u64; 32]],
        b: &[[u64; 32]],
        c: &[[u64; 32]],
    ) -> Result<(), MatrixError> {
        if self.a != Elem::F64 {
            return Err(MatrixError::Unsupported(self.to_string()));
        }
        self.check([a.len(), b.len(), c.len(), d.len()])?;
        super::double::run(self.shape, self.round, d, a, b, c);
        Ok(())
    }

    fn product(&self, d: &mut Rows, a: &Rows, b: &Rows, c: &Rows, map: Option<Metadata>) {
        let Shape { m, n, k } = self.shape;
        let (mut ra, mut rb) = (Vec::new(), Vec::new());
        let stored = self.stored_k();
        unpack_a(m, stored, self.a, a, &mut ra);
        unpack_b(n, k, self.b, b, &mut rb);
        if let (Some(fa), Some(fb)) = (dot::format(self.a), dot::format(self.b)) {
            let eight = self.a.bits() == 8;
            let mut map = map;
            if eight {
                regroup(&mut ra, stored);
                match &mut map {
                    None => regroup(&mut rb, k),
                    Some(map) => map.regroup(),
                }
            }
            let path = if eight {
                Datapath::via_f16(stored, self.d)
            } else {
                Datapath::single(stored, self.c, self.d)
            };
            let mut acc = unpack_acc(m, n, self.c == Elem::F16, c);
            let factors = Factors {
                a: Plane::decode(&ra, fa),
                b: Plane::decode(&rb, fb),
                raw_b: &rb,
                b_type: self.b,
                n,
                stored,
                k,
                map,
            };
            path.run(&factors, &mut acc);
            pack_acc(m, n, self.d == Elem::F16, &acc, d);
            return;
        }
        let (stored, k) = if self.a == Elem::B1 { (k / 32, k / 32) } else { (stored, k) };
        let mut acc = unpack_acc(m, n, false, c);
        let factors = Integers {
            a: (&ra, self.a),
            b: (&rb, self.b),
            stored,
            k,
            map: map.as_ref(),
            bit_op: self.bit_op,
            sat: self.sat,
        };
        factors.add_to(&mut acc, n);
        pack_acc(m, n, false, &acc, d);
    }
}

impl std::fmt::Display for Mma {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sparse = if self.sparse { ".sp" } else { "" };
        let types = [self.d, self.a, self.b, self.c].map(Elem::name).join(".");
        write!(f, "{}.{types}{sparse}", self.shape)
    }
}

const ROUNDS: [F64Round; 4] = [F64Round::Rn, F64Round::Rz, F64Round::Rm, F64Round::Rp];

/// Flags, rounding and bit operation in one word, beside the types.
pub(super) fn pack_word(types: [Elem; 4], flags: [bool; 4], round: F64Round, op: BitOp) -> u32 {
    let mut v = 0;
    for (i, t) in types.into_iter().enumerate() {
        v |= (t as u32) << (4 * i);
    }
    for (i, b) in flags.into_iter().enumerate() {
        v |= u32::from(b) << (16 + i);
    }
    v | (round as u32) << 20 | (op as u32) << 22
}

/// Inverse of [`pack_word`].
pub(super) fn unpack_word(v: u32) -> ([Elem; 4], [bool; 4], F64Round, BitOp) {
    (
        std::array::from_fn(|i| Elem::from_code(v >> (4 * i) & 15)),
        std::array::from_fn(|i| v >> (16 + i) & 1 != 0),
        ROUNDS[(v >> 20 & 3) as usize],
        if v >> 22 & 1 == 0 { BitOp::Xor } else { BitOp::And },
    )
}

impl Mma {
    /// The descriptor as two words, for constants of micro-ops.
    #[must_use]
    pub fn pack(&self) -> [u32; 2] {
        let col = |l| l == Layout::Col;
        let flags = [self.sat, self.sparse, col(self.a_layout), col(self.b_layout)];
        [
            self.shape.pack(),
            pack_word([self.d, self.a, self.b, self.c], flags, self.round, self.bit_op),
        ]
    }

    /// Inverse of [`Mma::pack`].
    #[must_use]
    pub fn unpack(v: [u32; 2]) -> Self {
        let ([d, a, b, c], [sat, sparse, ac, bc], round, bit_op) = unpack_word(v[1]);
        let layout = |col| if col { Layout::Col } else { Layout::Row };
        Self {
            shape: Shape::unpack(v[0]),
            a_layout: layout(ac),
            b_layout: layout(bc),
            d,
            a,
            b,
            c,
            sat,
            round,
            bit_op,
            sparse,
        }
    }
}
