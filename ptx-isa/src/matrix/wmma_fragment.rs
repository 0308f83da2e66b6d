//! Where the elements of a `wmma` fragment lie: in lanes and registers, in memory and in the matrix.
//!
//! The manual leaves the fragment layout open; this is the one that an H200 uses. It is that of
//! `mma` over tiles of 16x8 results: A's tiles along m, B's along n, each tile as in
//! [`super::mma`]. `m8n32k16` runs transposed (B takes A's place), and the eight f16 registers of A
//! and B repeat where the matrix is smaller.

use super::fragment::Rows;
use super::types::{Elem, Layout, Shape};

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

/// The numbers of a fragment's elements, in some order: the sum of its register's and its lane's part.
struct Numbers {
    /// Of each register's first element.
    first: Vec<u64>,
    /// By the place in a register: what each lane adds.
    own: Vec<[u64; 32]>,
}

impl Fragment {
    pub(super) fn extent(&self) -> (usize, usize) {
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

    /// The numbers of a matrix's elements, `along.0` from one row to the next and `along.1` from one column to the
    /// next: of each register's first element, and what the lanes' pieces add to that.
    fn numbers(&self, pieces: usize, along: (u64, u64)) -> Numbers {
        let number = |(row, col): (usize, usize)| {
            along.0.wrapping_mul(row as u64).wrapping_add(along.1.wrapping_mul(col as u64))
        };
        let own = |sub: usize| std::array::from_fn(|lane| number(self.own(lane, sub)));
        Numbers {
            first: (0..self.registers()).map(|reg| number(self.first(reg))).collect(),
            own: (0..pieces).map(own).collect(),
        }
    }

    /// Numbers of elements in memory, `stride` elements between rows (or columns).
    fn in_memory(&self, pieces: usize, layout: Layout, stride: u64) -> Numbers {
        let along = match layout {
            Layout::Row => (stride, 1),
            Layout::Col => (1, stride),
        };
        self.numbers(pieces, along)
    }

    /// Numbers of elements in a matrix without gaps: row after row (A, C, D) or column after column (B).
    fn in_matrix(&self) -> Numbers {
        let (rows, cols) = self.extent();
        let along = if self.operand == Operand::B { (1, rows as u64) } else { (cols as u64, 1) };
        self.numbers(self.elem.per_register(), along)
    }

    /// Byte offsets of one piece of all lanes. Sub-byte elements are whole words along the contiguous axis.
    fn offsets(&self, first: u64, own: &[u64; 32]) -> [u64; 32] {
        own.map(|own| first.wrapping_add(own).wrapping_mul(self.elem.bits() as u64) / 8)
    }

    /// Loads the fragment: `read(offsets, bytes)` returns all lanes' little-endian memory at byte offsets from
    /// the operand's start. Registers come back 64 bits wide (only f64 uses the upper half).
    pub fn load<E>(
        &self,
        layout: Layout,
        stride: u64,
        mut read: impl FnMut(&[u64; 32], usize) -> Result<[u64; 32], E>,
    ) -> Result<Vec<[u64; 32]>, E> {
        let Access { bytes, pieces, shift } = self.access(layout);
        let Numbers { first, own } = self.in_memory(pieces, layout, stride);
        let mut out = vec![[0u64; 32]; first.len()];
        for reg in 0..out.len() {
            // Of smaller matrices several registers hold the same elements, which are loaded once.
            if let Some(same) = first[..reg].iter().position(|other| *other == first[reg]) {
                out[reg] = out[same];
                continue;
            }
            for (sub, own) in own.iter().enumerate() {
                let part = read(&self.offsets(first[reg], own), bytes)?;
                for (v, part) in out[reg].iter_mut().zip(part) {
                    *v |= part << (shift * sub);
                }
            }
        }
        Ok(out)
    }

    /// Stores the fragment: `write(offsets, bytes, values)` for all lanes.
    pub fn store<E>(
        &self,
        layout: Layout,
        stride: u64,
        regs: &[[u64; 32]],
        mut write: impl FnMut(&[u64; 32], usize, &[u64; 32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Access { bytes, pieces, shift } = self.access(layout);
        let Numbers { first, own } = self.in_memory(pieces, layout, stride);
        for (first, lanes) in first.into_iter().zip(regs) {
            for (sub, own) in own.iter().enumerate() {
                let parts = lanes.map(|v| v >> (shift * sub));
                write(&self.offsets(first, own), bytes, &parts)?;
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
    pub(super) fn unpack(&self, regs: &Rows) -> Vec<u32> {
        let (rows, cols) = self.extent();
        let mut out = vec![0; rows * cols];
        let bits = self.elem.bits();
        let mask = u32::MAX >> (32 - bits);
        let Numbers { first, own } = self.in_matrix();
        for (first, lanes) in first.into_iter().zip(regs) {
            for (sub, own) in own.iter().enumerate() {
                for (v, own) in lanes.iter().zip(own) {
                    out[(first + own) as usize] = v >> (sub * bits) & mask;
                }
            }
        }
        out
    }

    /// Inverse of [`Fragment::unpack`].
    pub(super) fn pack(&self, raw: &[u32], regs: &mut Rows) {
        let bits = self.elem.bits();
        let Numbers { first, own } = self.in_matrix();
        for (first, lanes) in first.into_iter().zip(regs) {
            *lanes = [0; 32];
            for (sub, own) in own.iter().enumerate() {
                for (v, own) in lanes.iter_mut().zip(own) {
                    *v |= raw[(first + own) as usize] << (sub * bits);
                }
            }
        }
    }
}
