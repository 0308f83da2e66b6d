//! The tensor map: 128 bytes that the driver encodes and the copies read.
//!
//! The manual calls the object opaque. This is the layout of an H200, read off 700 recorded encodings: address in bytes
//! 0 to 7, a word of modes at 8, strides in units of 16 bytes at 12 (their high four bits at 28), sizes less one at 32,
//! traversal strides less one at 52 (three bits each), box sizes less one at 55 or, in im2col mode, channels, corners
//! and pixels. At 64 stands the number of bytes that a copy moves, at 72 the alignment of the swizzle's pattern; the
//! copies read neither. What an H200 does not have (`im2col::w`, 96-byte swizzles, atoms of more than 16 bytes) is in
//! bits that it leaves zero.

/// Bytes of the object.
pub(super) const BYTES: usize = 128;

/// Element types, by the number that `tensormap.replace.tile.elemtype` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)] // the names are PTX's
pub enum Element {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F32Ftz,
    F64,
    Bf16,
    Tf32,
    Tf32Ftz,
    B4x16,
    B4x16P64,
    B6x16P32,
}

impl Element {
    const ALL: [Self; 16] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F32Ftz,
        Self::F64,
        Self::Bf16,
        Self::Tf32,
        Self::Tf32Ftz,
        Self::B4x16,
        Self::B4x16P64,
        Self::B6x16P32,
    ];

    /// The type with this number.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }

    /// The type of a `CUtensorMapDataType`, which counts in another order.
    #[must_use]
    pub fn from_driver(code: u32) -> Option<Self> {
        Self::from_code(match code {
            8 => 9,
            9 => 10,
            10 => 8,
            other => other,
        })
    }

    /// The type's part of the word of modes.
    const fn bits(self) -> u64 {
        match self {
            Self::Tf32 => (Self::F32 as u64) << ELEMENT | 1 << TF32,
            Self::Tf32Ftz => (Self::F32Ftz as u64) << ELEMENT | 1 << TF32,
            other => (other as u64) << ELEMENT,
        }
    }

    /// Inverse of [`Element::bits`].
    const fn from_bits(code: u32, tf32: bool) -> Self {
        match (Self::ALL[code as usize % Self::ALL.len()], tf32) {
            (Self::F32, true) => Self::Tf32,
            (Self::F32Ftz, true) => Self::Tf32Ftz,
            (other, _) => other,
        }
    }

    /// Elements that lie together (16 where they are shorter than a byte), their bytes in the tensor and in shared
    /// memory.
    #[must_use]
    pub const fn group(self) -> (u32, u32, u32) {
        match self {
            Self::U8 => (1, 1, 1),
            Self::U16 | Self::F16 | Self::Bf16 => (1, 2, 2),
            Self::U32 | Self::S32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => {
                (1, 4, 4)
            }
            Self::U64 | Self::S64 | Self::F64 => (1, 8, 8),
            Self::B4x16 => (16, 8, 8),
            Self::B4x16P64 => (16, 8, 16),
            Self::B6x16P32 => (16, 12, 16),
        }
    }

    /// Whether elements outside the tensor may be filled with NaN.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(
            self,
            Self::F16
                | Self::F32
                | Self::F32Ftz
                | Self::F64
                | Self::Bf16
                | Self::Tf32
                | Self::Tf32Ftz
        )
    }
}

/// Layout of a tensor whose channels come in slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Interleave {
    /// None.
    None,
    /// Slices of 16 bytes.
    Bytes16,
    /// Slices of 32 bytes.
    Bytes32,
}

impl Interleave {
    /// The layout with this number, in PTX and in the driver.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        [Self::None, Self::Bytes16, Self::Bytes32].get(code as usize).copied()
    }

    /// Bytes of a slice.
    #[must_use]
    pub const fn slice(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Bytes16 => Some(16),
            Self::Bytes32 => Some(32),
        }
    }
}

/// How chunks of shared memory are exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swizzle {
    /// Not at all.
    None,
    /// Chunks of 16 bytes within 32.
    Span32,
    /// Chunks of 16 bytes within 64.
    Span64,
    /// Chunks of 16 bytes within 96.
    Span96,
    /// Chunks of 16 bytes within 128.
    Span128,
    /// Chunks of 32 bytes within 128.
    Span128Atom32,
    /// Chunks of 32 bytes within 128; every second row also swaps the halves of each 16 bytes.
    Span128Atom32Flip8,
    /// Chunks of 64 bytes within 128.
    Span128Atom64,
}

impl Swizzle {
    /// The pattern of a `CUtensorMapSwizzle`.
    #[must_use]
    pub fn from_driver(code: u32) -> Option<Self> {
        const ALL: [Swizzle; 8] = [
            Swizzle::None,
            Swizzle::Span32,
            Swizzle::Span64,
            Swizzle::Span128,
            Swizzle::Span128Atom32,
            Swizzle::Span128Atom32Flip8,
            Swizzle::Span128Atom64,
            Swizzle::Span96,
        ];
        ALL.get(code as usize).copied()
    }

    /// Mode (0 none, 1 to 3: 32, 64, 128 bytes, 4: 96 bytes) and atomicity, as `tensormap.replace` counts them.
    const fn codes(self) -> (u32, u32) {
        match self {
            Self::None => (0, 0),
            Self::Span32 => (1, 0),
            Self::Span64 => (2, 0),
            Self::Span96 => (4, 0),
            Self::Span128 => (3, 0),
            Self::Span128Atom32 => (3, 1),
            Self::Span128Atom32Flip8 => (3, 2),
            Self::Span128Atom64 => (3, 3),
        }
    }

    const fn from_codes(mode: u32, atom: u32) -> Self {
        match (mode, atom) {
            (1, _) => Self::Span32,
            (2, _) => Self::Span64,
            (3, 0) => Self::Span128,
            (3, 1) => Self::Span128Atom32,
            (3, 2) => Self::Span128Atom32Flip8,
            (3, _) => Self::Span128Atom64,
            (4, _) => Self::Span96,
            _ => Self::None,
        }
    }

    /// Bytes within which chunks change places; a shorter row of a box is as far from the next one.
    #[must_use]
    pub const fn span(self) -> u32 {
        match self {
            Self::None => 16,
            Self::Span32 => 32,
            Self::Span64 => 64,
            Self::Span96 => 96,
            Self::Span128
            | Self::Span128Atom32
            | Self::Span128Atom32Flip8
            | Self::Span128Atom64 => 128,
        }
    }

    /// Where the byte at a shared address goes.
    #[must_use]
    pub const fn place(self, at: u64) -> u64 {
        let row = at >> 7;
        match self {
            Self::None => at,
            Self::Span32 | Self::Span96 => at ^ (row & 1) << 4,
            Self::Span64 => at ^ (row & 3) << 4,
            Self::Span128 => at ^ (row & 7) << 4,
            Self::Span128Atom32 => at ^ (row & 3) << 5,
            Self::Span128Atom32Flip8 => at ^ (row & 3) << 5 ^ (row & 1) << 3,
            Self::Span128Atom64 => at ^ (row & 1) << 6,
        }
    }
}

/// Pixels of a copy of `im2col::w::128`.
pub(super) const WIDE_PIXELS: u32 = 128;

/// What one copy takes from the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A box of so many elements along each dimension, counted before traversal strides.
    Tiled([u32; 5]),
    /// Columns of pixels of images, for convolutions.
    Im2col {
        /// Corners of the bounding box, from the image's first and last pixel.
        corners: [[i32; 3]; 2],
        /// Channels of each pixel.
        channels: u32,
        /// Pixels.
        pixels: u32,
    },
    /// Pixels of one row of images (`im2col::w`).
    Wide {
        /// Corners of the bounding box along the width, from the image's first and last pixel.
        corners: [i32; 2],
        /// Channels of each pixel.
        channels: u32,
        /// Pixels; `None` for 128, with a halo behind every 32 (`im2col::w::128`).
        pixels: Option<u32>,
    },
}

/// A decoded tensor map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap {
    /// Address of element 0.
    pub address: u64,
    /// Type of its elements.
    pub element: Element,
    /// Dimensions, 1 to 5.
    pub rank: usize,
    /// Elements along each dimension (slices along the first of an interleaved tensor).
    pub sizes: [u64; 5],
    /// Bytes from one index to the next of dimension 1 and above.
    pub strides: [u64; 4],
    /// Steps from one accessed index to the next, 1 to 8.
    pub traversal: [u32; 5],
    /// What a copy takes.
    pub mode: Mode,
    /// Layout of channels.
    pub interleave: Interleave,
    /// Places in shared memory.
    pub swizzle: Swizzle,
    /// What is brought to the L2 cache, which changes no result (0 to 3).
    pub l2: u32,
    /// Whether elements outside the tensor are NaN and not zero.
    pub fill_nan: bool,
}

/// A field that `tensormap.replace` changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)] // the names are PTX's
pub enum Field {
    GlobalAddress,
    Rank,
    BoxDim,
    GlobalDim,
    GlobalStride,
    ElementStride,
    Elemtype,
    InterleaveLayout,
    SwizzleMode,
    SwizzleAtomicity,
    FillMode,
}

impl Field {
    const ALL: [(Self, &'static str); 11] = [
        (Self::GlobalAddress, ".global_address"),
        (Self::Rank, ".rank"),
        (Self::BoxDim, ".box_dim"),
        (Self::GlobalDim, ".global_dim"),
        (Self::GlobalStride, ".global_stride"),
        (Self::ElementStride, ".element_stride"),
        (Self::Elemtype, ".elemtype"),
        (Self::InterleaveLayout, ".interleave_layout"),
        (Self::SwizzleMode, ".swizzle_mode"),
        (Self::SwizzleAtomicity, ".swizzle_atomicity"),
        (Self::FillMode, ".fill_mode"),
    ];

    /// The field that a modifier names.
    #[must_use]
    pub fn parse(token: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == token).map(|(f, _)| *f)
    }

    pub(super) fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(code as usize).map(|(f, _)| *f)
    }
}

// Places in the word of modes.
const IM2COL: u32 = 0;
const RANK: u32 = 4;
const ELEMENT: u32 = 7;
const INTERLEAVE: u32 = 11;
const SWIZZLE: u32 = 13;
const FILL: u32 = 15;
/// Beside the types f32 and f32.ftz: they are tf32.
const TF32: u32 = 16;
const L2: u32 = 17;
// Places of our own.
const SPAN96: u32 = 20;
const ATOM: u32 = 21;
/// Beside `IM2COL`: along the width only.
const WIDE: u32 = 23;
/// Beside `WIDE`: 128 pixels.
const WIDE128: u32 = 24;

/// Bytes as an integer.
fn get(map: &[u8; BYTES], at: usize, bytes: usize) -> u64 {
    map[at..at + bytes].iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))
}

fn put(map: &mut [u8; BYTES], at: usize, bytes: usize, v: u64) {
    map[at..at + bytes].copy_from_slice(&v.to_le_bytes()[..bytes]);
}

/// Replaces `bits` bits at `at` of a word.
fn set(word: u64, at: u32, bits: u32, v: u64) -> u64 {
    let mask = ((1u64 << bits) - 1) << at;
    word & !mask | v << at & mask
}

/// Bits of a corner by the number of image dimensions.
const fn corner_bits(images: usize) -> u32 {
    match images {
        1 => 16,
        2 => 8,
        _ => 5,
    }
}

impl TensorMap {
    /// The object.
    #[must_use]
    pub fn encode(&self) -> [u8; 128] {
        let mut out = [0; BYTES];
        put(&mut out, 0, 8, self.address);
        let (swizzle, atom) = self.swizzle.codes();
        let mut word = (self.rank as u64 - 1) << RANK
            | self.element.bits()
            | (self.interleave as u64) << INTERLEAVE
            | u64::from(self.fill_nan) << FILL
            | u64::from(self.l2) << L2
            | u64::from(atom) << ATOM;
        word |= if swizzle == 4 { 1 << SPAN96 } else { u64::from(swizzle) << SWIZZLE };
        for (i, stride) in self.strides.iter().take(self.rank - 1).enumerate() {
            let units = stride >> 4;
            put(&mut out, 12 + 4 * i, 4, units & 0xffff_ffff);
            let high = get(&out, 28, 4);
            put(&mut out, 28, 4, set(high, 4 * i as u32, 4, units >> 32));
        }
        let mut steps = 0;
        for i in 0..self.rank {
            put(&mut out, 32 + 4 * i, 4, self.sizes[i].wrapping_sub(1) & 0xffff_ffff);
            steps = set(steps, 3 * i as u32, 3, u64::from(self.traversal[i]) - 1);
        }
        put(&mut out, 52, 3, steps);
        match &self.mode {
            Mode::Tiled(sizes) => {
                for (i, n) in sizes.iter().take(self.rank).enumerate() {
                    out[55 + i] = n.wrapping_sub(1) as u8;
                }
            }
            Mode::Im2col { corners, channels, pixels } => {
                word |= 1 << IM2COL;
                out[55] = channels.wrapping_sub(1) as u8;
                let images = self.rank - 2;
                let bits = corner_bits(images);
                for (half, corner) in corners.iter().enumerate() {
                    let packed = (0..images)
                        .fold(0, |v, i| set(v, bits * i as u32, bits, corner[i] as u64 & 0xffff));
                    put(&mut out, 56 + 2 * half, 2, packed);
                }
                put(&mut out, 60, 2, u64::from(*pixels) - 1);
            }
            Mode::Wide { corners, channels, pixels } => {
                word |= 1 << IM2COL | 1 << WIDE | u64::from(pixels.is_none()) << WIDE128;
                out[55] = channels.wrapping_sub(1) as u8;
                for (half, corner) in corners.iter().enumerate() {
                    put(&mut out, 56 + 2 * half, 2, *corner as u64 & 0xffff);
                }
                put(&mut out, 60, 2, u64::from(pixels.unwrap_or(WIDE_PIXELS)) - 1);
            }
        }
        put(&mut out, 8, 4, word);
        put(&mut out, 64, 4, self.bytes());
        let pattern = match self.swizzle.span() {
            16 => 16,
            32 | 96 => 256,
            64 => 512,
            _ => 1024,
        };
        put(&mut out, 72, 4, pattern);
        out
    }

    /// The size that the object states, and no copy reads: elements of a copy, whatever the layout, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let (group, bytes, _) = self.element.group();
        let elements = match &self.mode {
            Mode::Tiled(sizes) => {
                let steps = sizes.iter().zip(&self.traversal).take(self.rank);
                steps.map(|(n, step)| u64::from(n / step)).product()
            }
            Mode::Im2col { channels, pixels, .. } => u64::from(*channels) * u64::from(*pixels),
            Mode::Wide { channels, pixels, .. } => {
                u64::from(*channels) * u64::from(pixels.unwrap_or(WIDE_PIXELS))
            }
        };
        elements * u64::from(bytes) / u64::from(group)
    }

    /// The map that an object holds.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(map: &[u8; 128]) -> Result<Self, &'static str> {
        let word = get(map, 8, 4);
        let field = |at: u32, bits: u32| (word >> at) as u32 & ((1 << bits) - 1);
        let rank = field(RANK, 3) as usize + 1;
        if rank > 5 {
            return Err("more than five dimensions");
        }
        let element = Element::from_bits(field(ELEMENT, 4), field(TF32, 1) != 0);
        let interleave =
            Interleave::from_code(field(INTERLEAVE, 2)).ok_or("no interleave layout")?;
        if interleave != Interleave::None && rank < 3 {
            return Err("an interleaved tensor of fewer than three dimensions");
        }
        let mode = if field(SPAN96, 1) != 0 { 4 } else { field(SWIZZLE, 2) };
        let high = get(map, 28, 4);
        let steps = get(map, 52, 3);
        let mode_of_copy = if field(IM2COL, 1) == 0 {
            Mode::Tiled(std::array::from_fn(|i| u32::from(map[55 + i]) + 1))
        } else {
            if rank < 3 {
                return Err("images of fewer than three dimensions");
            }
            let images = rank - 2;
            let wide = field(WIDE, 1) != 0;
            let bits = if wide { 16 } else { corner_bits(images) };
            let corner = |at: usize| {
                let packed = get(map, at, 2);
                std::array::from_fn(|i| {
                    if i < images {
                        let v = (packed >> (bits * i as u32)) as i32;
                        v << (32 - bits) >> (32 - bits)
                    } else {
                        0
                    }
                })
            };
            let (corners, channels) = ([corner(56), corner(58)], u32::from(map[55]) + 1);
            let pixels = get(map, 60, 2) as u32 + 1;
            if wide {
                Mode::Wide {
                    corners: corners.map(|c: [i32; 3]| c[0]),
                    channels,
                    pixels: (field(WIDE128, 1) == 0).then_some(pixels),
                }
            } else {
                Mode::Im2col { corners, channels, pixels }
            }
        };
        Ok(Self {
            address: get(map, 0, 8),
            element,
            rank,
            sizes: std::array::from_fn(|i| if i < rank { get(map, 32 + 4 * i, 4) + 1 } else { 1 }),
            strides: std::array::from_fn(|i| {
                (get(map, 12 + 4 * i, 4) | (high >> (4 * i) & 0xf) << 32) << 4
            }),
            traversal: std::array::from_fn(|i| (steps >> (3 * i) & 7) as u32 + 1),
            mode: mode_of_copy,
            interleave,
            swizzle: Swizzle::from_codes(mode, field(ATOM, 2)),
            l2: field(L2, 2),
            fill_nan: field(FILL, 1) != 0,
        })
    }

    /// Replaces one field of an object; `at` is the dimension where the field has several.
    ///
    /// # Errors
    /// When there is no such value or dimension.
    pub fn replace(map: &mut [u8; 128], field: Field, at: u32, v: u64) -> Result<(), &'static str> {
        let dimensions = if field == Field::GlobalStride { 4 } else { 5 };
        if at >= dimensions {
            return Err("there is no such dimension");
        }
        let at = at as usize;
        let most = match field {
            Field::Rank => 4,
            Field::Elemtype => 15,
            Field::InterleaveLayout => 2,
            Field::SwizzleMode => 4,
            Field::SwizzleAtomicity => 3,
            Field::FillMode => 1,
            Field::GlobalAddress
            | Field::BoxDim
            | Field::GlobalDim
            | Field::GlobalStride
            | Field::ElementStride => u64::MAX,
        };
        if v > most {
            return Err("the field has no such value");
        }
        let word = get(map, 8, 4);
        match field {
            Field::GlobalAddress => put(map, 0, 8, v),
            Field::BoxDim => map[55 + at] = (v as u8).wrapping_sub(1),
            Field::GlobalDim => put(map, 32 + 4 * at, 4, u64::from((v as u32).wrapping_sub(1))),
            Field::GlobalStride => {
                put(map, 12 + 4 * at, 4, v >> 4 & 0xffff_ffff);
                let high = get(map, 28, 4);
                put(map, 28, 4, set(high, 4 * at as u32, 4, v >> 36));
            }
            Field::ElementStride => {
                let steps = get(map, 52, 3);
                put(map, 52, 3, set(steps, 3 * at as u32, 3, v.wrapping_sub(1)));
            }
            Field::Rank => put(map, 8, 4, set(word, RANK, 3, v)),
            Field::Elemtype => {
                let element = Element::from_code(v as u32).ok_or("the field has no such value")?;
                put(map, 8, 4, set(set(word, ELEMENT, 4, 0), TF32, 1, 0) | element.bits());
            }
            Field::InterleaveLayout => put(map, 8, 4, set(word, INTERLEAVE, 2, v)),
            Field::SwizzleMode => {
                let plain = if v == 4 { 0 } else { v };
                let word = set(word, SWIZZLE, 2, plain);
                put(map, 8, 4, set(word, SPAN96, 1, u64::from(v == 4)));
            }
            Field::SwizzleAtomicity => put(map, 8, 4, set(word, ATOM, 2, v)),
            Field::FillMode => put(map, 8, 4, set(word, FILL, 1, v)),
        }
        Ok(())
    }
}
