//! Shared-memory matrix descriptors of `wgmma` (PTX section "Matrix Descriptor Format" and
//! "Shared Memory Matrix Layout").

use super::types::MatrixError;

/// Which axis of a matrix is contiguous in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Major {
    /// Along k.
    K,
    /// Along m (A) or n (B): the transposed forms.
    Mn,
}

impl Major {
    pub(super) const fn new(transposed: bool) -> Self {
        if transposed { Self::Mn } else { Self::K }
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
        })
    }

    /// Byte address of the 16-byte aligned access at (`x`, `byte`): `x` counts rows of A or columns
    /// of B, `byte` runs along k (K-major).
    fn k_major(&self, x: u32, byte: u32) -> u32 {
        let within = self
            .start
            .wrapping_add(x / 8 * self.stride)
            .wrapping_add(x % 8 * self.width)
            .wrapping_add(byte / self.width * self.leading)
            .wrapping_add(byte % self.width);
        self.swizzle(within)
    }

    /// Byte address of 16-bit element (`x`, `k`) when x is contiguous.
    fn mn_major(&self, x: u32, k: u32) -> u32 {
        let per_row = self.width / 2;
        let (outer, inner) = (x / per_row, x % per_row * 2);
        let (along_x, along_k) = if self.width == 16 {
            (self.stride, self.leading)
        } else {
            (self.leading, self.stride)
        };
        let within = self
            .start
            .wrapping_add(outer * along_x)
            .wrapping_add(inner)
            .wrapping_add(k % 8 * self.width)
            .wrapping_add(k / 8 * along_k);
        self.swizzle(within)
    }

    /// Exchanges 16-byte chunks within a row by the row's place in the pattern.
    fn swizzle(&self, at: u32) -> u32 {
        let chunks = self.width / 16;
        at ^ ((at >> 7).wrapping_sub(self.base) & (chunks - 1)) << 4
    }

    /// Reads `count` rows (of A) or columns (of B) from `first` on, `k` elements each, as raw
    /// elements; single bits come as 32-bit words.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn gather<E>(
        &self,
        major: Major,
        first: usize,
        count: usize,
        k: usize,
        bits: usize,
        out: &mut Vec<u32>,
        read: &mut impl FnMut(u32, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        out.clear();
        let mut chunk = [0u8; 16];
        match major {
            Major::K => {
                for x in first..first + count {
                    for byte in (0..k * bits / 8).step_by(16) {
                        read(self.k_major(x as u32, byte as u32), &mut chunk)?;
                        match bits {
                            8 => out.extend(chunk.iter().map(|&b| u32::from(b))),
                            16 => out.extend(
                                chunk
                                    .chunks_exact(2)
                                    .map(|c| u32::from(c[0]) | u32::from(c[1]) << 8),
                            ),
                            _ => out.extend(
                                chunk
                                    .chunks_exact(4)
                                    .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])),
                            ),
                        }
                    }
                }
            }
            Major::Mn => {
                out.resize(count * k, 0);
                for step in 0..k {
                    // Eight elements of one k step lie in 16 contiguous bytes.
                    for group in (0..count).step_by(8) {
                        read(self.mn_major((first + group) as u32, step as u32), &mut chunk)?;
                        for (i, c) in chunk.chunks_exact(2).enumerate() {
                            out[(group + i) * k + step] = u32::from(c[0]) | u32::from(c[1]) << 8;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
