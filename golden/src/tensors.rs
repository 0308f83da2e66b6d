//! Recorded tensor maps and tensor copies: what was encoded, how it was used, what the device did.

use serde::Deserialize;

use crate::source::Source;
use crate::{Error, packed};

/// What a case does with its map.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "u32")]
pub enum Use {
    /// Copies a box to shared memory.
    Load,
    /// Copies a box to the tensor.
    Store,
    /// Reduces a box into the tensor.
    Reduce,
    /// Copies pixels to shared memory.
    Im2colLoad,
    /// Copies pixels to the tensor.
    Im2colStore,
    /// Nothing: the encoding alone.
    Encode,
    /// Adds pixels to the tensor.
    Im2colAdd,
}

impl TryFrom<u32> for Use {
    type Error = String;
    fn try_from(code: u32) -> Result<Self, String> {
        use Use::{Encode, Im2colAdd, Im2colLoad, Im2colStore, Load, Reduce, Store};
        let all = [Load, Store, Reduce, Im2colLoad, Im2colStore, Encode, Im2colAdd];
        all.get(code as usize).copied().ok_or_else(|| format!("no use {code}"))
    }
}

/// One case. The tensor lies in a buffer of 64 KiB of [`Case::bytes`], shared memory has 8 KiB.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Number.
    pub case: u32,
    /// What is done.
    pub kind: Use,
    /// Whether the map is one of im2col.
    pub im2col: u32,
    /// `CUtensorMapDataType`.
    pub dtype: u32,
    /// Dimensions.
    pub rank: u32,
    /// Address of the tensor, from the start of the buffer.
    pub aoff: u64,
    /// Sizes.
    pub dim: [u64; 5],
    /// Strides in bytes.
    pub stride: [u64; 4],
    /// Box.
    pub r#box: [u32; 5],
    /// Traversal strides.
    pub es: [u32; 5],
    /// Lower corner.
    pub lo: [i32; 3],
    /// Upper corner.
    pub up: [i32; 3],
    /// Coordinates.
    pub c: [i32; 5],
    /// Offsets of im2col.
    pub off: [u32; 3],
    /// Interleave, swizzle, promotion and fill as the driver counts them.
    pub il: u32,
    #[allow(missing_docs)]
    pub sw: u32,
    #[allow(missing_docs)]
    pub l2: u32,
    #[allow(missing_docs)]
    pub oob: u32,
    /// Channels per pixel.
    pub cpp: u32,
    /// Pixels per column.
    pub ppc: u32,
    /// Reduction: add, min, max, inc, dec, and, or, xor.
    pub op: u32,
    /// Start of the box in shared memory.
    pub shift: u32,
    /// Seed of the contents.
    pub seed: u64,
    /// Rule of the contents.
    pub fill: u32,
    /// Which argument was null; 0: none (2: the address).
    pub nulls: u32,
    /// Fields that the device replaced before use.
    pub rf: Vec<u32>,
    /// Their dimensions.
    pub ro: Vec<u32>,
    /// Their values; an address is one from the start of the buffer.
    pub rv: Vec<u64>,
    /// The map in hexadecimal, its address from the start of the buffer.
    map: String,
    /// What the driver's encoder returned.
    pub enc: u32,
    /// What the launch returned: 0, 700 or 715; -1: there was none.
    pub rc: i32,
    /// Shared memory or the buffer afterwards, in hexadecimal, as far as it changed.
    data: String,
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
    hex.as_bytes().chunks_exact(2).map(|c| digit(c[0]) << 4 | digit(c[1])).collect()
}

/// Exponent and fraction bits and the middle exponent of the driver's floating-point types.
const fn float(dtype: u32) -> Option<(u32, u32, u32, u64)> {
    Some(match dtype {
        6 => (16, 5, 10, 15),
        9 => (16, 8, 7, 127),
        7 | 10 | 11 | 12 => (32, 8, 23, 127),
        8 => (64, 11, 52, 1023),
        _ => return None,
    })
}

const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Case {
    /// The recorded object.
    #[must_use]
    pub fn map(&self) -> Vec<u8> {
        bytes(&self.map)
    }
    /// The recorded result.
    #[must_use]
    pub fn data(&self) -> Vec<u8> {
        bytes(&self.data)
    }
    /// `n` bytes of the case's contents: those of the buffer, or with `more` 1 those of shared memory.
    #[must_use]
    pub fn bytes(&self, n: usize, more: u64) -> Vec<u8> {
        let seed = (self.seed + more).wrapping_mul(0x10001);
        (0..n as u64 / 8)
            .flat_map(|i| {
                let mut v = mix(seed.wrapping_add(i));
                if let (Some((bits, exponent, fraction, middle)), true) =
                    (float(self.dtype), self.fill != 0)
                {
                    let mask = (1u64 << exponent) - 1;
                    for at in (0..64).step_by(bits as usize) {
                        let old = v >> (at + fraction) & mask;
                        let new = if self.fill == 1 { middle - 6 + old % 13 } else { old % 3 };
                        v = v & !(mask << (at + fraction)) | new << (at + fraction);
                    }
                }
                v.to_le_bytes()
            })
            .collect()
    }
}

/// All cases.
///
/// # Errors
/// When the archive is not there or damaged.
pub fn cases() -> Result<Vec<Case>, Error> {
    let path = packed("tensor-copies");
    let text = Source::open(&path)?.text("cases.jsonl")?;
    let parse = |line| {
        serde_json::from_str(line).map_err(|source| Error::Json { path: path.clone(), source })
    };
    text.lines().map(parse).collect()
}

/// What `samples/tma_gemm` left in C on the device, for the contents of [`gemm_inputs`].
///
/// # Errors
/// When the archive is not there or damaged.
pub fn gemm() -> Result<Vec<u8>, Error> {
    Source::open(&packed("tensor-copies"))?.read("gemm.bin")
}

/// A and B of [`gemm`]: random halves, their exponents 8 to 21.
#[must_use]
pub fn gemm_inputs() -> [Vec<u8>; 2] {
    [1000, 500_000].map(|seed| {
        let half = |v: u64| (v & 0x83ff) as u16 | ((8 + (v >> 32) % 14) as u16) << 10;
        (0..32768).flat_map(|i| half(mix(seed + i)).to_le_bytes()).collect()
    })
}
