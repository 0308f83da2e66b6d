//! Register rows: where the 32 lanes of a value live, and how operands name them.
//!
//! A warp's registers are rows of 32 lanes: 128 bytes for a `W`, 256 for a `D`, one `u32` mask
//! for a `P`. An operand is a byte offset with the number of its base in the low two bits, so the
//! inner loop finds a row by one load and one addition. Rows of one function's activation share
//! the frame base; constants and what is equal for the whole launch share the constant base; what
//! belongs to the warp (`%tid`, `%ctaid`, …) the warp base.
//!
//! Everything here is raw: an [`Operand`] is only made by decoding, which knows the sizes of the
//! three areas, and areas are allocated at those sizes.

use ptx_isa::Kind;

/// Byte offset of a row and, in the low two bits, its base.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Operand(pub u32);

/// Base of an operand.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub(crate) enum Base {
    /// Registers and temporaries of the executing function.
    Frame = 0,
    /// Constants, parameters, values equal in the launch.
    Const = 1,
    /// Values of the warp.
    Warp = 2,
}

impl Operand {
    pub(crate) const NONE: Operand = Operand(u32::MAX);
    pub(crate) const fn new(base: Base, offset: u32) -> Operand {
        Operand(offset | base as u32)
    }
    pub(crate) const fn offset(self) -> u32 {
        self.0 & !3
    }
    /// Whether all lanes hold the same by construction.
    pub(crate) const fn is_const(self) -> bool {
        self.0 & 3 == Base::Const as u32
    }
    pub(crate) fn is_none(self) -> bool {
        self == Operand::NONE
    }
}

/// Bytes of a row of `kind`.
pub(crate) const fn row_bytes(kind: Kind) -> u32 {
    match kind {
        Kind::P => 4,
        Kind::W => 128,
        Kind::D => 256,
    }
}

/// Hands out rows of an area: `W` and `D` rows at multiples of 128, masks packed into rows.
#[derive(Default)]
pub(crate) struct AreaLayout {
    top: u32,
    masks: u32,
}

impl AreaLayout {
    pub(crate) fn take(&mut self, kind: Kind) -> u32 {
        if kind == Kind::P {
            if self.masks.is_multiple_of(128) {
                self.masks = self.top;
                self.top += 128;
            }
            self.masks += 4;
            return self.masks - 4;
        }
        self.top += row_bytes(kind);
        self.top - row_bytes(kind)
    }
    pub(crate) fn bytes(&self) -> u32 {
        self.top
    }
}

/// The three bases that operands refer to.
#[derive(Copy, Clone)]
#[repr(C)]
pub(crate) struct Bases(pub [*mut u8; 4]);

impl Bases {
    #[inline(always)]
    pub(crate) fn ptr(&self, o: Operand) -> *mut u8 {
        self.0[(o.0 & 3) as usize].wrapping_add(o.offset() as usize)
    }
    /// # Safety
    /// `o` must be a `W` operand decoded for what the bases point to. The same holds below.
    #[inline(always)]
    pub(crate) unsafe fn w(&self, o: Operand) -> &[u32; 32] {
        // SAFETY: a `W` operand is a row of 128 bytes, aligned to 128, in its area.
        unsafe { &*self.ptr(o).cast() }
    }
    /// # Safety
    /// As [`Bases::w`], for `D`.
    #[inline(always)]
    pub(crate) unsafe fn d(&self, o: Operand) -> &[u64; 32] {
        // SAFETY: a `D` operand is a row of 256 bytes, aligned to 128, in its area.
        unsafe { &*self.ptr(o).cast() }
    }
    /// # Safety
    /// As [`Bases::w`], for `P`.
    #[inline(always)]
    pub(crate) unsafe fn p(&self, o: Operand) -> u32 {
        // SAFETY: a `P` operand is an aligned word in its area.
        unsafe { *self.ptr(o).cast() }
    }
    /// Writes the lanes of `mask`.
    ///
    /// # Safety
    /// As [`Bases::w`]; `o` must be in the frame, and no reference to its row alive.
    #[inline(always)]
    pub(crate) unsafe fn set_w(&self, o: Operand, v: &[u32; 32], mask: u32) {
        // SAFETY: as in `w`; the caller holds no reference to the row.
        unsafe { set_lanes(self.ptr(o).cast(), v, mask) }
    }
    /// Writes the lanes of `mask`.
    ///
    /// # Safety
    /// As [`Bases::set_w`].
    #[inline(always)]
    pub(crate) unsafe fn set_d(&self, o: Operand, v: &[u64; 32], mask: u32) {
        // SAFETY: as in `d`; the caller holds no reference to the row.
        unsafe { set_lanes(self.ptr(o).cast(), v, mask) }
    }
    /// Writes the lanes of `mask`.
    ///
    /// # Safety
    /// As [`Bases::set_w`].
    #[inline(always)]
    pub(crate) unsafe fn set_p(&self, o: Operand, v: u32, mask: u32) {
        let word: *mut u32 = self.ptr(o).cast();
        // SAFETY: as in `p`.
        unsafe { *word = *word & !mask | v & mask }
    }
}

/// Bit of each lane.
pub const LANE_BIT: [u32; 32] = {
    let mut bit = [0; 32];
    let mut l = 0;
    while l < 32 {
        bit[l] = 1 << l;
        l += 1;
    }
    bit
};

/// Writes the lanes of `mask` to a row. Rows are read and written whole, by value: that keeps
/// them in vector registers.
///
/// # Safety
/// `row` must point to a row that nobody else refers to.
#[inline(always)]
unsafe fn set_lanes<T: Copy>(row: *mut [T; 32], v: &[T; 32], mask: u32) {
    // SAFETY: the caller vouches for the row.
    unsafe {
        if mask == u32::MAX {
            *row = *v;
        } else {
            let mut new = *row;
            for l in 0..32 {
                new[l] = if mask & LANE_BIT[l] != 0 { v[l] } else { new[l] };
            }
            *row = new;
        }
    }
}

/// An area of rows, aligned for vector loads.
pub(crate) struct Area(Vec<Chunk>);

#[derive(Copy, Clone)]
#[repr(C, align(128))]
struct Chunk([u32; 32]);

impl Area {
    /// A zeroed area of at least `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Area {
        Area(vec![Chunk([0; 32]); bytes.div_ceil(128)])
    }
    pub(crate) fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        let len = self.0.len() * 128;
        // SAFETY: the chunks are plain words without padding.
        unsafe { std::slice::from_raw_parts_mut(self.ptr(), len) }
    }
    pub(crate) fn set_w(&mut self, offset: u32, v: &[u32; 32]) {
        self.0[offset as usize / 128].0 = *v;
    }
    pub(crate) fn set_d(&mut self, offset: u32, v: &[u64; 32]) {
        for (l, x) in v.iter().enumerate() {
            let at = offset as usize + 8 * l;
            self.bytes()[at..at + 8].copy_from_slice(&x.to_le_bytes());
        }
    }
    pub(crate) fn set_p(&mut self, offset: u32, v: u32) {
        self.0[offset as usize / 128].0[offset as usize % 128 / 4] = v;
    }
}

/// Lanes of a mask in rising order.
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros();
            mask &= mask - 1;
            lane as usize
        })
    })
}

/// The lowest lane of a mask.
pub(crate) fn first(mask: u32) -> u8 {
    (mask.trailing_zeros() & 31) as u8
}
