//! Values of 1 to 8 bytes in the lanes of a row, and in memory.

/// Value of one lane of a row that an access moves.
pub(crate) trait Word: Copy + Default {
    /// From memory of `B` bytes (the value is zero-extended).
    ///
    /// # Safety
    /// `B` bytes must be readable.
    unsafe fn load<const B: usize>(p: *const u8) -> Self;
    /// To memory of `B` bytes.
    ///
    /// # Safety
    /// `B` bytes must be writable.
    unsafe fn store<const B: usize>(self, p: *mut u8);
    /// The value of `B` bytes with its sign extended.
    fn sign<const B: usize>(self) -> Self;
}

impl Word for u32 {
    #[inline(always)]
    unsafe fn load<const B: usize>(p: *const u8) -> u32 {
        // SAFETY: the caller checked `B` readable bytes.
        unsafe {
            match B {
                1 => *p as u32,
                2 => p.cast::<u16>().read_unaligned() as u32,
                _ => p.cast::<u32>().read_unaligned(),
            }
        }
    }
    #[inline(always)]
    unsafe fn store<const B: usize>(self, p: *mut u8) {
        // SAFETY: the caller checked `B` writable bytes.
        unsafe {
            match B {
                1 => *p = self as u8,
                2 => p.cast::<u16>().write_unaligned(self as u16),
                _ => p.cast::<u32>().write_unaligned(self),
            }
        }
    }
    #[inline(always)]
    fn sign<const B: usize>(self) -> u32 {
        match B {
            1 => self as i8 as u32,
            2 => self as i16 as u32,
            _ => self,
        }
    }
}

impl Word for u64 {
    #[inline(always)]
    unsafe fn load<const B: usize>(p: *const u8) -> u64 {
        // SAFETY: the caller checked 8 readable bytes.
        unsafe { p.cast::<u64>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store<const B: usize>(self, p: *mut u8) {
        // SAFETY: the caller checked 8 writable bytes.
        unsafe { p.cast::<u64>().write_unaligned(self) }
    }
    #[inline(always)]
    fn sign<const B: usize>(self) -> u64 {
        self
    }
}
