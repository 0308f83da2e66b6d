//! Shared-memory matrix descriptors of `wgmma` (PTX section "Matrix Descriptor Format" and "Shared Memory Matrix
//! Layout") and of `tcgen05`, which differ in the fields of the swizzle alone.

use super::types::MatrixError;

/// Which axis of a matrix is contiguous in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Major {
    /// Along k.
    K,
    /// Along m (A) or n (B): the transposed forms.
    Mn,
}

impl Major {
    pub(crate) const fn new(transposed: bool) -> Self {
        if transposed { Self::Mn } else { Self::K }
    }
}

/// How elements lie in 16 bytes of shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// One behind the other, of 4, 8, 16 or 32 bits.
    Dense(u32),
    /// 16 elements of 4 or 6 bits, then padding.
    Padded(u32),
}

impl Packing {
    /// Elements in 16 bytes.
    pub(crate) const fn count(self) -> usize {
        match self {
            Self::Dense(bits) => 128 / bits as usize,
            Self::Padded(_) => 16,
        }
    }

    /// The elements, raw.
    pub(crate) fn split(self, chunk: [u8; 16]) -> impl Iterator<Item = u32> {
        let (Self::Dense(bits) | Self::Padded(bits)) = self;
        let all = u128::from_le_bytes(chunk);
        let mask = u32::MAX >> (32 - bits);
        (0..self.count()).map(move |i| (all >> (bits as usize * i)) as u32 & mask)
    }
}

/// A decoded descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Byte address in shared memory.
    pub start: u32,
    /// Leading-dimension byte offset.
    pub leading: u32,
    /// Stride-dimension byte offset.
    pub stride: u32,
    /// Base offset, which shifts the swizzle pattern.
    pub base: u32,
    /// Bytes per swizzled row: 128, 64 or 32; 16 when nothing is swizzled.
    pub width: u32,
    /// Bytes that the swizzle keeps together: 16 or 32.
    pub atom: u32,
    /// `leading` is no distance: it is the address at which rows go on that reach beyond their swizzled 128 bytes.
    pub absolute: bool,
}

impl Descriptor {
    /// Decodes the 64 bits.
    pub fn decode(d: u64) -> Result<Self, MatrixError> {
        let field = |at: u32| ((d >> at & 0x3fff) << 4) as u32;
        let width = match d >> 62 {
            0 => 16,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        Ok(Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base: (d >> 49 & 7) as u32,
            width,
            atom: 16,
            absolute: false,
        })
    }

    /// Decodes the 64 bits as `tcgen05` has them.
    ///
    /// # Errors
    /// When a field has a value without meaning, or the stride along k is an address and rows are not swizzled over 128
    /// bytes.
    pub(crate) fn decode_tensor(d: u64) -> Result<Self, MatrixError> {
        let bad = |what| Err(MatrixError::Descriptor(d, what));
        if d >> 46 & 7 != 1 {
            return bad("bits 46 to 48 must be 0b001");
        }
        let (width, atom) = match d >> 61 {
            0 => (16, 16),
            1 => (128, 32),
            2 => (128, 16),
            4 => (64, 16),
            6 => (32, 16),
            _ => return bad("swizzling modes (bits 61 to 63) are 0, 1, 2, 4 and 6"),
        };
        let absolute = d >> 52 & 1 != 0;
        if absolute && (width, atom) != (128, 16) {
            return bad(
                "a leading dimension given as an address (bit 52) needs the swizzle of 128 bytes",
            );
        }
        let fields = Self::decode(d & !(3 << 62))?;
        Ok(Self { width, atom, absolute, ..fields })
    }

    /// Byte address of the 16-byte aligned access at (`x`, `byte`): `x` counts rows of A or columns
    /// of B, `byte` runs along k (K-major).
    fn k_major(&self, x: u32, byte: u32) -> u32 {
        if self.absolute {
            let inner = self.start % self.width + byte;
            let start = match inner < self.width {
                true => self.start - self.start % self.width,
                false => self.leading,
            };
            let within = start
                .wrapping_add(x / 8 * self.stride)
                .wrapping_add(x % 8 * self.width)
                .wrapping_add(inner % self.width);
            return self.swizzle(within);
        }
        let within = self
            .start
            .wrapping_add(x / 8 * self.stride)
            .wrapping_add(x % 8 * self.width)
            .wrapping_add(byte / self.width * self.leading)
            .wrapping_add(byte % self.width);
        self.swizzle(within)
    }

    /// Byte address of the 16 bytes numbered `chunk` along x in step `k`, where x is contiguous.
    fn mn_major(&self, chunk: u32, k: u32) -> u32 {
        let per_row = self.width / 16;
        let (outer, inner) = (chunk / per_row, chunk % per_row * 16);
        let (along_x, along_k) = if self.width == 16 {
            (self.stride, self.leading)
        } else {
            (self.leading, self.stride)
        };
        // A pattern of 32-byte atoms has four steps, the others have eight.
        let steps = if self.atom == 32 { 4 } else { 8 };
        let within = self
            .start
            .wrapping_add(outer * along_x)
            .wrapping_add(inner)
            .wrapping_add(k % steps * self.width)
            .wrapping_add(k / steps * along_k);
        self.swizzle(within)
    }

    /// Exchanges the atoms within a row by the row's place in the pattern.
    fn swizzle(&self, at: u32) -> u32 {
        let atoms = self.width / self.atom;
        at ^ ((at >> 7).wrapping_sub(self.base) & (atoms - 1)) * self.atom
    }

    /// Reads 16 bytes of row `x`, from `byte` on, of a matrix whose rows are contiguous.
    pub(crate) fn row<E>(
        &self,
        x: u32,
        byte: u32,
        read: &mut impl FnMut(u32, &mut [u8]) -> Result<(), E>,
    ) -> Result<[u8; 16], E> {
        let mut chunk = [0; 16];
        read(self.k_major(x, byte), &mut chunk)?;
        Ok(chunk)
    }

    /// Reads `count` rows (of A) or columns (of B) from `first` on, `k` elements each, as raw elements.
    pub(crate) fn gather<E>(
        &self,
        major: Major,
        (first, count): (usize, usize),
        k: usize,
        packing: Packing,
        out: &mut Vec<u32>,
        read: &mut impl FnMut(u32, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        out.clear();
        let per = packing.count();
        match major {
            Major::K => {
                for x in first..first + count {
                    for chunk in 0..k / per {
                        let bytes = self.row(x as u32, 16 * chunk as u32, read)?;
                        out.extend(packing.split(bytes));
                    }
                }
            }
            Major::Mn => {
                out.resize(count * k, 0);
                let mut chunk = [0u8; 16];
                for step in 0..k {
                    for group in (0..count).step_by(per) {
                        let at = ((first + group) / per) as u32;
                        read(self.mn_major(at, step as u32), &mut chunk)?;
                        for (i, v) in packing.split(chunk).enumerate().take(count - group) {
                            out[(group + i) * k + step] = v;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Descriptor;

    /// As CUTLASS describes blocks of 48 bytes for sm_103a: the part beyond 128 bytes lies where the next tile begins.
    #[test]
    fn rows_go_on_at_an_address() {
        let field = |at: u64| at >> 4;
        let d =
            field(1024 + 96) | field(8192) << 16 | field(1024) << 32 | 1 << 46 | 1 << 52 | 2 << 61;
        let d = Descriptor::decode_tensor(d).unwrap();
        assert_eq!([0, 16, 32].map(|byte| d.k_major(0, byte)), [1120, 1136, 8192]);
        // Row 1 exchanges neighbours, row 9 too, in the next eight rows.
        assert_eq!([0, 16, 32].map(|byte| d.k_major(1, byte)), [1264, 1248, 8192 + 128 + 16]);
        assert_eq!(d.k_major(9, 32), 8192 + 1024 + 128 + 16);
    }
}
