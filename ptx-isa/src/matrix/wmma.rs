//! `wmma.load`, `wmma.store` and `wmma.mma` (PTX section "Matrix multiply-accumulate operation using
//! wmma instructions").
//!
//! The manual leaves the fragment layout open; this is the one that an H200 uses. It is that of
//! `mma` over tiles of 16x8 results: A's tiles along m, B's along n, each tile as in
//! [`super::mma`]. `m8n32k16` runs transposed (B takes A's place), and the eight f16 registers of A
//! and B repeat where the matrix is smaller.

use super::datapath::{Datapath, Factors};
use super::dot::{self, Plane};
use super::double;
use super::fragment::Rows;
use super::integers::Integers;
use super::mma::{self, BitOp, F64Round};
use super::types::{Elem, Layout, MatrixError, Shape, modifiers};

/// Which matrix a fragment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are PTX's
pub enum Operand {
    A,
    B,
    C,
    D,
}

/// A fragment of one operand: which element sits in which lane and register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Shape of the whole product.
    pub shape: Shape,
    /// Operand.
    pub operand: Operand,
    /// Element type.
    pub elem: Elem,
}

/// How the elements of a register are moved.
struct Access {
    /// Bytes of each access.
    bytes: usize,
    /// Accesses per register.
    pieces: usize,
    /// Bits from one to the next.
    shift: usize,
}

impl Fragment {
    fn extent(&self) -> (usize, usize) {
        let Shape { m, n, k } = self.shape;
        match self.operand {
            Operand::A => (m, k),
            Operand::B => (k, n),
            Operand::C | Operand::D => (m, n),
        }
    }

    /// Registers per lane (64-bit registers for f64).
    #[must_use]
    pub fn registers(&self) -> usize {
        let (rows, cols) = self.extent();
        match (self.elem, self.operand) {
            // f16 multiplicands always take eight registers.
            (Elem::F16, Operand::A | Operand::B) => 8,
            (Elem::F64, _) => rows * cols / 32,
            _ => rows * cols / (32 * self.elem.per_register()),
        }
    }

    /// Row and column of element `sub` of register `reg` in `lane`.
    #[must_use]
    pub fn place(&self, reg: usize, lane: usize, sub: usize) -> (usize, usize) {
        let (first, own) = (self.first(reg), self.own(lane, sub));
        (first.0 + own.0, first.1 + own.1)
    }

    /// In a transposed product m and n swap, and A and B with them.
    fn swapped(&self) -> bool {
        self.shape.m == 8 && self.shape.n == 32
    }

    /// The place of a register's first element.
    fn first(&self, reg: usize) -> (usize, usize) {
        let Shape { m, n, k } = self.shape;
        let per = self.elem.per_register();
        let swapped = self.swapped();
        let long = if swapped { n } else { m };
        let halves = long.min(16) / 8;
        let multiplicand = |outer: usize, halves: usize| {
            let blocks = (k / (4 * per)).max(1);
            let reg = reg % (outer / 8 * blocks);
            let (tile, q) = (reg / (halves * blocks), reg % (halves * blocks));
            (tile * 8 * halves + q % halves * 8, q / halves * 4 * per)
        };
        match self.operand {
            Operand::A => multiplicand(m, if swapped { 1 } else { halves }),
            Operand::B => {
                let (x, k) = multiplicand(n, if swapped { halves } else { 1 });
                (k, x)
            }
            Operand::C | Operand::D => {
                // Two neighbouring columns per lane, in one register if they are f16.
                let pair = if self.elem == Elem::F16 { 1 } else { 2 };
                let (tile, q) = (reg / (halves * pair), reg % (halves * pair));
                let tall = (long / 16).max(1);
                let x = tile % tall * 16 + q / pair * 8;
                let y = tile / tall * 8 + q % pair;
                if swapped { (y, x) } else { (x, y) }
            }
        }
    }

    /// What a lane and the element in its register add to that.
    fn own(&self, lane: usize, sub: usize) -> (usize, usize) {
        let (x, y) = (lane / 4, lane % 4);
        match self.operand {
            Operand::A => (x, y * self.elem.per_register() + sub),
            Operand::B => (y * self.elem.per_register() + sub, x),
            Operand::C | Operand::D => {
                let y = y * 2 + if self.elem == Elem::F16 { sub } else { 0 };
                if self.swapped() { (y, x) } else { (x, y) }
            }
        }
    }

    /// The same for all lanes, `pieces` elements of each.
    fn lanes(&self, pieces: usize) -> Vec<(usize, usize)> {
        let pieces = |lane: usize| (0..pieces).map(move |sub| self.own(lane, sub));
        (0..32).flat_map(pieces).collect()
    }

    /// Byte offset from the operand's start of the element at (`row`, `col`), `stride` elements
    /// between rows (or columns). Sub-byte elements are whole words along the contiguous axis.
    fn offset(&self, layout: Layout, stride: u64, row: usize, col: usize) -> u64 {
        let (slow, fast) = match layout {
            Layout::Row => (row, col),
            Layout::Col => (col, row),
        };
        (stride.wrapping_mul(slow as u64).wrapping_add(fast as u64))
            .wrapping_mul(self.elem.bits() as u64)
            / 8
    }

    /// Loads the fragment: `read(offset, bytes)` returns little-endian memory at a byte offset from
    /// the operand's start. Registers come back 64 bits wide (only f64 uses the upper half).
    pub fn load<E>(
        &self,
        layout: Layout,
        stride: u64,
        mut read: impl FnMut(u64, usize) -> Result<u64, E>,
    ) -> Result<Vec<[u64; 32]>, E> {
        let Access { bytes, pieces, shift } = self.access(layout);
        let mut out = vec![[0u64; 32]; self.registers()];
        let own = self.lanes(pieces);
        for reg in 0..out.len() {
            let first = self.first(reg);
            // Of smaller matrices several registers hold the same elements, which are loaded once.
            if let Some(same) = (0..reg).find(|r| self.first(*r) == first) {
                out[reg] = out[same];
                continue;
            }
            for (v, own) in out[reg].iter_mut().zip(own.chunks_exact(pieces)) {
                for (sub, (row, col)) in own.iter().enumerate() {
                    let at = self.offset(layout, stride, first.0 + row, first.1 + col);
                    *v |= read(at, bytes)? << (shift * sub);
                }
            }
        }
        Ok(out)
    }

    /// Stores the fragment: `write(offset, bytes, value)`.
    pub fn store<E>(
        &self,
        layout: Layout,
        stride: u64,
        regs: &[[u64; 32]],
        mut write: impl FnMut(u64, usize, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let Access { bytes, pieces, shift } = self.access(layout);
        let own = self.lanes(pieces);
        for (reg, lanes) in regs.iter().enumerate() {
            let first = self.first(reg);
            for (&v, own) in lanes.iter().zip(own.chunks_exact(pieces)) {
                for (sub, (row, col)) in own.iter().enumerate() {
                    let part =
                        if bytes == 8 { v } else { v >> (shift * sub) & ((1 << (8 * bytes)) - 1) };
                    let at = self.offset(layout, stride, first.0 + row, first.1 + col);
                    write(at, bytes, part)?;
                }
            }
        }
        Ok(())
    }

    /// How a register is loaded and stored: at once where its elements are neighbours in memory, as they are in a
    /// matrix that lies as the fragment has it.
    fn access(&self, layout: Layout) -> Access {
        let (bits, per) = (self.elem.bits(), self.elem.per_register());
        if bits < 8 {
            return Access { bytes: 4, pieces: 1, shift: 0 };
        }
        let (first, second) = (self.own(0, 0), self.own(0, 1));
        let step = (second.0 - first.0, second.1 - first.1);
        let together = match layout {
            Layout::Row => step == (0, 1),
            Layout::Col => step == (1, 0),
        };
        if together && per > 1 {
            Access { bytes: bits / 8 * per, pieces: 1, shift: 0 }
        } else {
            Access { bytes: bits / 8, pieces: per, shift: bits % 64 }
        }
    }

    /// The matrix as raw elements, row after row (A, C, D) or column after column (B).
    fn unpack(&self, regs: &Rows, out: &mut Vec<u32>) {
        let (rows, cols) = self.extent();
        out.clear();
        out.resize(rows * cols, 0);
        let bits = self.elem.bits();
        let per = self.elem.per_register();
        let own = self.lanes(per);
        for (reg, lanes) in regs.iter().enumerate() {
            let first = self.first(reg);
            for (&v, own) in lanes.iter().zip(own.chunks_exact(per)) {
                for (sub, (row, col)) in own.iter().enumerate() {
                    let (row, col) = (first.0 + row, first.1 + col);
                    let at = if self.operand == Operand::B {
                        col * rows + row
                    } else {
                        row * cols + col
                    };
                    out[at] = if bits == 32 { v } else { v >> (sub * bits) & ((1 << bits) - 1) };
                }
            }
        }
    }

    fn pack(&self, raw: &[u32], regs: &mut Rows) {
        let cols = self.extent().1;
        let bits = self.elem.bits();
        let per = self.elem.per_register();
        let own = self.lanes(per);
        for (reg, lanes) in regs.iter_mut().enumerate() {
            let first = self.first(reg);
            for (v, own) in lanes.iter_mut().zip(own.chunks_exact(per)) {
                *v = own.iter().enumerate().fold(0, |acc, (sub, (row, col))| {
                    acc | raw[(first.0 + row) * cols + first.1 + col] << (sub * bits)
                });
            }
        }
    }
}

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
        let (mut ra, mut rb, mut acc) = (Vec::new(), Vec::new(), Vec::new());
        self.a.unpack(a, &mut ra);
        self.b.unpack(b, &mut rb);
        self.c.unpack(c, &mut acc);
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
