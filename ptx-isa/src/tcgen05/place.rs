//! Where the elements of the matrices lie in Tensor Memory (PTX ISA 9.7.18.10.5).

use super::instruction::{Form, Instruction};

/// The lanes of one block that a product uses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Rows of D in the block.
    pub rows: u32,
    /// Columns of D.
    n: u32,
    /// Groups of lanes that hold one part of the columns each.
    parts: u32,
    /// Every 16 rows take 32 lanes.
    half: bool,
}

impl Place {
    /// The layout: A to G in the manual.
    pub(super) fn new(i: &Instruction, form: Form) -> Self {
        let rows = if form.pair { i.m / 2 } else { i.m };
        let parts = match form {
            Form { ws: true, .. } => 128 / rows,
            Form { pair: true, sparse: false, .. } => 128 / rows,
            Form { .. } => 1,
        };
        Self { rows, n: i.n, parts, half: rows == 64 && parts == 1 }
    }

    /// Whether the matrices may start at this lane.
    pub(super) const fn starts_at(self, lane: u32) -> bool {
        lane == 0 || self.half && lane == 16
    }

    /// The lane of a row, in the first part of the columns.
    pub(super) const fn lane(self, row: u32) -> u32 {
        if self.half { row / 16 * 32 + row % 16 } else { row }
    }

    /// Lane and column of an element of D.
    pub(super) const fn element(self, row: u32, column: u32) -> (u32, u32) {
        let (part, column) = self.part(column);
        (self.lane(row) + part * self.rows, column)
    }

    /// Which part of the columns one belongs to, and its number there.
    const fn part(self, column: u32) -> (u32, u32) {
        let columns = self.n / self.parts;
        (column / columns, column % columns)
    }

    /// Lane and column of the scale factors of a row of A. Factors are repeated in every 32 lanes; each row takes those
    /// of its own.
    pub(super) const fn row_factor(self, row: u32) -> (u32, u32) {
        (self.lane(row), row / 32)
    }

    /// Lane and column of the scale factors of a column of B.
    pub(super) const fn column_factor(self, column: u32) -> (u32, u32) {
        let (part, column) = self.part(column);
        (part * self.rows + column % 32, column / 32)
    }

    /// Columns that four scale factors of all rows of A, and of all columns of B, take; those of B are allocated for
    /// multiples of 128 (CUTLASS, `tmem_sf_frg` and the traits of `SM103_MXF4_ULTRA_SS_VS`).
    pub(super) const fn factor_columns(self) -> [u32; 2] {
        [self.rows.div_ceil(32), self.n.next_multiple_of(128) / self.parts / 32]
    }

    /// The cells that hold the metadata of a row whose elements have 16 or 32 bits: two lanes, and the half of their
    /// cells.
    pub(super) const fn halves(self, row: u32) -> ([u32; 2], u32) {
        let low = self.lane(row / 16 * 16 + row % 8);
        ([low, low + 8], row / 8 % 2)
    }
}
