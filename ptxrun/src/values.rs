//! Element types and the values that fill buffers: parsing, printing, generating.

use std::fmt;

use half::{bf16, f16};

/// The type of a buffer's elements, by its PTX name. `b8` to `b64` are untyped bits: read and printed in hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Unsigned integers.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// 8-bit signed integer.
    S8,
    /// 16-bit signed integer.
    S16,
    /// 32-bit signed integer.
    S32,
    /// 64-bit signed integer.
    S64,
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// Eight untyped bits.
    B8,
    /// Sixteen untyped bits.
    B16,
    /// 32 untyped bits.
    B32,
    /// 64 untyped bits.
    B64,
}

use ElementType::*;

/// Every element type with its name.
pub const ELEMENT_TYPES: [(&str, ElementType); 16] = [
    ("u8", U8),
    ("u16", U16),
    ("u32", U32),
    ("u64", U64),
    ("s8", S8),
    ("s16", S16),
    ("s32", S32),
    ("s64", S64),
    ("f16", F16),
    ("bf16", Bf16),
    ("f32", F32),
    ("f64", F64),
    ("b8", B8),
    ("b16", B16),
    ("b32", B32),
    ("b64", B64),
];

/// Why a value or a type could not be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// The name is no element type.
    #[error("unknown type `{0}`; types are u8 to u64, s8 to s64, f16, bf16, f32, f64, b8 to b64")]
    UnknownType(String),
    /// The text is no number of that type.
    #[error("`{text}` is not a value of type {ty}")]
    NotAValue {
        /// What was written.
        text: String,
        /// The type that was expected.
        ty: ElementType,
    },
    /// The number does not fit.
    #[error("{text} does not fit type {ty}")]
    OutOfRange {
        /// What was written.
        text: String,
        /// The type that it does not fit.
        ty: ElementType,
    },
    /// The initialiser is none of the known forms.
    #[error(
        "unknown initialiser `{0}`; it is zero, iota, fill:VALUE, random:SEED, random:SEED:LOW:HIGH, @FILE.npy, @FILE.bin or a list of values"
    )]
    UnknownInit(String),
    /// `random:SEED:LOW:HIGH` with the ends the wrong way round.
    #[error("the range {low}:{high} is empty")]
    EmptyRange {
        /// The lower end.
        low: i64,
        /// The upper end.
        high: i64,
    },
    /// More than this machine can hold.
    #[error("{count} elements of type {ty} do not fit this machine's memory")]
    TooLarge {
        /// How many elements.
        count: usize,
        /// Their type.
        ty: ElementType,
    },
    /// A list of values whose length is not the buffer's.
    #[error("{given} values for {wanted} elements")]
    WrongCount {
        /// How many were given.
        given: usize,
        /// How many the buffer holds.
        wanted: usize,
    },
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ELEMENT_TYPES.iter().find(|(_, t)| t == self).map_or("?", |(n, _)| n);
        f.pad(name)
    }
}

impl std::str::FromStr for ElementType {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let text = text.trim_start_matches('.');
        ELEMENT_TYPES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, ty)| *ty)
            .ok_or_else(|| ValueError::UnknownType(text.into()))
    }
}

impl ElementType {
    /// Size in bytes.
    pub fn size(self) -> usize {
        match self {
            U8 | S8 | B8 => 1,
            U16 | S16 | F16 | Bf16 | B16 => 2,
            U32 | S32 | F32 | B32 => 4,
            U64 | S64 | F64 | B64 => 8,
        }
    }

    /// True when an array of this type, read from a `.npy` file, can stand for a buffer of type `buffer`: the same
    /// type, or untyped bits and bfloat16, which NumPy writes as integers.
    pub fn same_layout(self, buffer: ElementType) -> bool {
        self == buffer
            || self.size() == buffer.size() && matches!(buffer, B8 | B16 | B32 | B64 | Bf16)
    }

    /// True for the floating-point types.
    pub fn is_float(self) -> bool {
        matches!(self, F16 | Bf16 | F32 | F64)
    }

    /// Reads one value: decimal or `0x` integers (negative ones allowed for `bN`), floats as Rust reads them
    /// (`1.5`, `-2e3`, `inf`, `nan`), and the PTX bit forms `0f3F800000` and `0d3FF0000000000000`.
    pub fn parse(self, text: &str, out: &mut Vec<u8>) -> Result<(), ValueError> {
        let text = text.trim();
        let invalid = || ValueError::NotAValue { text: text.into(), ty: self };
        if self.is_float() {
            let bits = |prefixes: [&str; 2]| prefixes.iter().find_map(|p| text.strip_prefix(p));
            let value = if let Some(hex) = bits(["0f", "0F"]).filter(|h| h.len() == 8) {
                f32::from_bits(u32::from_str_radix(hex, 16).map_err(|_| invalid())?).into()
            } else if let Some(hex) = bits(["0d", "0D"]).filter(|h| h.len() == 16) {
                f64::from_bits(u64::from_str_radix(hex, 16).map_err(|_| invalid())?)
            } else if self == F32 {
                // Straight to single precision: through f64 it would round twice.
                out.extend(text.parse::<f32>().map_err(|_| invalid())?.to_le_bytes());
                return Ok(());
            } else {
                text.parse::<f64>().map_err(|_| invalid())?
            };
            self.push_f64(value, out);
            return Ok(());
        }
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))
        {
            Some(hex) => (16, hex),
            None => (10, digits),
        };
        let magnitude =
            i128::from_str_radix(&digits.replace('_', ""), radix).map_err(|_| invalid())?;
        if digits.starts_with(['-', '+']) {
            return Err(invalid());
        }
        let value = if negative { -magnitude } else { magnitude };
        let bits = 8 * self.size() as u32;
        let (low, high) = match self {
            U8 | U16 | U32 | U64 => (0, (1i128 << bits) - 1),
            S8 | S16 | S32 | S64 => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            _ => (-(1i128 << (bits - 1)), (1i128 << bits) - 1),
        };
        if !(low..=high).contains(&value) {
            return Err(ValueError::OutOfRange { text: text.into(), ty: self });
        }
        out.extend(&value.to_le_bytes()[..self.size()]);
        Ok(())
    }

    /// Appends a whole number: converted for floats, its low bits for integers.
    pub fn push_i64(self, value: i64, out: &mut Vec<u8>) {
        if self.is_float() {
            self.push_f64(value as f64, out);
        } else {
            out.extend(&value.to_le_bytes()[..self.size()]);
        }
    }

    /// Appends a float, rounded to nearest even; for an integer type its value truncated.
    pub fn push_f64(self, value: f64, out: &mut Vec<u8>) {
        match self {
            F16 => out.extend(f16::from_f64(value).to_le_bytes()),
            Bf16 => out.extend(bf16::from_f64(value).to_le_bytes()),
            F32 => out.extend((value as f32).to_le_bytes()),
            F64 => out.extend(value.to_le_bytes()),
            _ => out.extend(&(value as i128).to_le_bytes()[..self.size()]),
        }
    }

    /// The element as a number, for comparing with a tolerance. Integers beyond 2^53 lose their low bits.
    pub fn to_f64(self, bytes: &[u8]) -> f64 {
        match self {
            F16 => f16::from_le_bytes([bytes[0], bytes[1]]).to_f64(),
            Bf16 => bf16::from_le_bytes([bytes[0], bytes[1]]).to_f64(),
            F32 => f32::from_le_bytes(take(bytes)).into(),
            F64 => f64::from_le_bytes(take(bytes)),
            S8 | S16 | S32 | S64 => self.integer(bytes) as f64,
            _ => self.integer(bytes) as f64,
        }
    }

    fn integer(self, bytes: &[u8]) -> i128 {
        let mut wide = [0u8; 16];
        wide[..self.size()].copy_from_slice(&bytes[..self.size()]);
        let value = i128::from_le_bytes(wide);
        let unused = 128 - 8 * self.size() as u32;
        match self {
            S8 | S16 | S32 | S64 => (value << unused) >> unused,
            _ => value,
        }
    }

    /// The element as text that [`ElementType::parse`] reads back (NaNs lose their payload).
    pub fn format(self, bytes: &[u8]) -> String {
        match self {
            F16 => f16::from_le_bytes([bytes[0], bytes[1]]).to_f32().to_string(),
            Bf16 => bf16::from_le_bytes([bytes[0], bytes[1]]).to_f32().to_string(),
            F32 => f32::from_le_bytes(take(bytes)).to_string(),
            F64 => f64::from_le_bytes(take(bytes)).to_string(),
            B8 | B16 | B32 | B64 => {
                format!("0x{:0width$x}", self.integer(bytes), width = 2 * self.size())
            }
            _ => self.integer(bytes).to_string(),
        }
    }
}

fn take<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[..N]);
    out
}

/// How a buffer is filled before the first launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// All bytes zero.
    Zero,
    /// 0, 1, 2, ...
    Iota,
    /// One value everywhere, as written.
    Fill(String),
    /// Deterministic noise: floats uniform in `[0, 1)`, integers over their whole range.
    Random {
        /// The seed.
        seed: u64,
    },
    /// Deterministic whole numbers, both ends included.
    RandomWhole {
        /// The seed.
        seed: u64,
        /// Least value.
        low: i64,
        /// Greatest value.
        high: i64,
    },
    /// The contents of a `.npy` or raw file.
    File(String),
    /// Values in order, as written.
    Values(Vec<String>),
}

impl std::str::FromStr for Init {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let unknown = || ValueError::UnknownInit(text.into());
        let text = text.trim();
        if let Some(file) = text.strip_prefix('@') {
            return if file.is_empty() { Err(unknown()) } else { Ok(Init::File(file.into())) };
        }
        let (word, rest) = text.split_once(':').map_or((text, None), |(w, r)| (w, Some(r)));
        match (word, rest) {
            ("zero", None) => Ok(Init::Zero),
            ("iota", None) => Ok(Init::Iota),
            ("fill", Some(value)) => Ok(Init::Fill(value.into())),
            ("random", Some(rest)) => {
                let parts: Vec<&str> = rest.split(':').collect();
                let seed = parts[0].parse().map_err(|_| unknown())?;
                match parts[..] {
                    [_] => Ok(Init::Random { seed }),
                    [_, low, high] => {
                        let low = low.parse().map_err(|_| unknown())?;
                        let high = high.parse().map_err(|_| unknown())?;
                        if low > high {
                            return Err(ValueError::EmptyRange { low, high });
                        }
                        Ok(Init::RandomWhole { seed, low, high })
                    }
                    _ => Err(unknown()),
                }
            }
            _ if text.starts_with(|c: char| c.is_ascii_digit() || "-+.".contains(c))
                || text.contains(',')
                || ["inf", "nan"].contains(&text) =>
            {
                Ok(Init::Values(text.split(',').map(|v| v.trim().into()).collect()))
            }
            _ => Err(unknown()),
        }
    }
}

impl Init {
    /// The bytes of `count` elements; `None` for [`Init::File`], which the caller reads.
    pub fn bytes(&self, ty: ElementType, count: usize) -> Result<Option<Vec<u8>>, ValueError> {
        let too_large = || ValueError::TooLarge { count, ty };
        let size = count.checked_mul(ty.size()).ok_or_else(too_large)?;
        // No device has room for more, and making so many values would take for ever.
        if size as u64 > environment::memory().unwrap_or(u64::MAX) {
            return Err(too_large());
        }
        let mut out = Vec::new();
        out.try_reserve_exact(size).map_err(|_| too_large())?;
        match self {
            Init::File(_) => return Ok(None),
            Init::Zero => out = vec![0; size],
            Init::Iota => (0..count).for_each(|i| ty.push_i64(i as i64, &mut out)),
            Init::Fill(value) => {
                let mut one = Vec::new();
                ty.parse(value, &mut one)?;
                out = one.repeat(count);
            }
            Init::Random { seed } => (0..count as u64).for_each(|i| {
                let noise = mix(*seed, i);
                if ty.is_float() {
                    ty.push_f64((noise >> 11) as f64 * (1.0 / (1u64 << 53) as f64), &mut out);
                } else {
                    ty.push_i64(noise as i64, &mut out);
                }
            }),
            Init::RandomWhole { seed, low, high } => {
                let span = (*high as u64).wrapping_sub(*low as u64).wrapping_add(1);
                (0..count as u64).for_each(|i| {
                    let noise = mix(*seed, i);
                    // A span of 2^64 wraps to zero: every value is in range then.
                    let offset = noise.checked_rem(span).unwrap_or(noise);
                    ty.push_i64(low.wrapping_add(offset as i64), &mut out);
                });
            }
            Init::Values(values) => {
                if values.len() != count {
                    return Err(ValueError::WrongCount { given: values.len(), wanted: count });
                }
                for value in values {
                    ty.parse(value, &mut out)?;
                }
            }
        }
        Ok(Some(out))
    }
}

/// Element `i` of the noise with that seed: splitmix64's finaliser over a Weyl sequence, so that elements are
/// independent of the length of the buffer and any language can recompute them.
pub fn mix(seed: u64, i: u64) -> u64 {
    let mut z = seed
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(i.wrapping_add(1).wrapping_mul(0xD134_2543_DE82_EF95));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(ty: ElementType, text: &str) -> Result<Vec<u8>, ValueError> {
        let mut out = Vec::new();
        ty.parse(text, &mut out).map(|()| out)
    }

    #[test]
    fn values_round_trip_through_text() {
        for (ty, text) in [
            (U8, "255"),
            (S8, "-128"),
            (S64, "-9223372036854775808"),
            (U64, "18446744073709551615"),
            (F32, "1.5"),
            (F64, "-0.1"),
            (F16, "0.5"),
            (Bf16, "-3"),
            (B32, "0xdeadbeef"),
            (F32, "inf"),
        ] {
            assert_eq!(ty.format(&one(ty, text).unwrap()), text);
        }
    }

    #[test]
    fn ptx_bit_forms_give_the_bits() {
        assert_eq!(one(F32, "0f3F800000").unwrap(), 1.0f32.to_le_bytes());
        assert_eq!(one(F64, "0d3FF0000000000000").unwrap(), 1.0f64.to_le_bytes());
    }

    #[test]
    fn floats_round_once() {
        // Halfway between two singles plus a little that only the decimal text still holds.
        let text = "1.00000005960464477539062500000000000001";
        assert_eq!(one(F32, text).unwrap(), (1.0 + f32::EPSILON).to_le_bytes());
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        assert!(matches!(one(U8, "256"), Err(ValueError::OutOfRange { .. })));
        assert!(matches!(one(U32, "-1"), Err(ValueError::OutOfRange { .. })));
        assert!(matches!(one(S32, "1.5"), Err(ValueError::NotAValue { .. })));
        assert!(matches!(one(S32, "--1"), Err(ValueError::NotAValue { .. })));
        assert!(matches!(one(F32, "one"), Err(ValueError::NotAValue { .. })));
        assert_eq!(one(B16, "-1").unwrap(), [0xff, 0xff]);
    }

    #[test]
    fn initialisers() {
        let bytes =
            |init: &str, ty, n| init.parse::<Init>().unwrap().bytes(ty, n).unwrap().unwrap();
        assert_eq!(bytes("zero", F64, 2), [0; 16]);
        assert_eq!(bytes("iota", U16, 3), [0, 0, 1, 0, 2, 0]);
        assert_eq!(bytes("fill:-1", S8, 2), [0xff, 0xff]);
        assert_eq!(bytes("1,2,3", U8, 3), [1, 2, 3]);
        assert_eq!(bytes("random:7", U32, 9)[..8], bytes("random:7", U32, 2));
        let whole = bytes("random:3:-8:8", S32, 100);
        assert!(whole.chunks(4).all(|c| (-8..=8).contains(&i32::from_le_bytes(take(c)))));
        assert!("random:1:5:2".parse::<Init>().is_err());
        assert!("noise".parse::<Init>().is_err());
        assert!("@".parse::<Init>().is_err());
        assert!("1,2".parse::<Init>().unwrap().bytes(U8, 3).is_err());
    }

    #[test]
    fn noise_is_the_documented_generator() {
        // splitmix64 finaliser over seed * golden + (i + 1) * weyl, computed by an independent program.
        assert_eq!(mix(1, 0), 0xf4a90164c4749e1a);
        assert_eq!(mix(25, 999), 0xd304ea89c3e1b239);
    }
}
