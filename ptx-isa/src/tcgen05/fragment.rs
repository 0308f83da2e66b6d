//! Which cell of Tensor Memory a thread's register holds in `tcgen05.ld` and `tcgen05.st`.

/// Shape and form of a load or store.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fragment {
    /// Shape.
    pub shape: Shape,
    /// Registers of a thread.
    pub registers: u32,
    /// Two columns of 16 bits make a register.
    pub packed: bool,
}

/// Base shapes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    L32x32b,
    L16x64b,
    L16x128b,
    L16x256b,
    L16x32bx2,
}

const SHAPES: [Shape; 5] =
    [Shape::L32x32b, Shape::L16x64b, Shape::L16x128b, Shape::L16x256b, Shape::L16x32bx2];

impl Shape {
    /// The shape that a modifier names.
    pub(crate) fn parse(token: &str) -> Option<Self> {
        let names = [".32x32b", ".16x64b", ".16x128b", ".16x256b", ".16x32bx2"];
        names.iter().position(|n| *n == token).map(|at| SHAPES[at])
    }

    /// Lanes of Tensor Memory that a warp reaches.
    pub(crate) const fn lanes(self) -> u32 {
        if matches!(self, Self::L32x32b) { 32 } else { 16 }
    }
}

impl Fragment {
    /// One word for constants of micro-ops.
    pub(crate) fn pack(self) -> u32 {
        let shape = SHAPES.iter().position(|s| *s == self.shape).unwrap_or(0) as u32;
        shape | u32::from(self.packed) << 4 | self.registers << 8
    }

    /// Inverse of [`Fragment::pack`].
    pub(crate) fn unpack(v: u32) -> Self {
        let shape = SHAPES[(v & 15) as usize % SHAPES.len()];
        Self { shape, packed: v >> 4 & 1 != 0, registers: v >> 8 }
    }

    /// Lane and column, from the start of the access, of register `r` of thread `t`, in columns as wide as registers.
    /// The upper half of a warp's second access of `.16x32bx2` counts from that one's start.
    pub(crate) const fn cell(self, t: u32, r: u32) -> (u32, u32) {
        match self.shape {
            Shape::L32x32b => (t, r),
            Shape::L16x64b => (t / 4 + 8 * (t % 2), t / 2 % 2 + 2 * r),
            Shape::L16x128b => (t / 4 + 8 * (r % 2), t % 4 + 4 * (r / 2)),
            Shape::L16x256b => (t / 4 + 8 * (r / 2 % 2), 2 * (t % 4) + r % 2 + 8 * (r / 4)),
            Shape::L16x32bx2 => (t % 16, r),
        }
    }

    /// Whether thread `t` belongs to the second access of `.16x32bx2`.
    pub(crate) const fn second(self, t: u32) -> bool {
        matches!(self.shape, Shape::L16x32bx2) && t >= 16
    }
}
