//! Texture and surface objects that `tex`, `tld4`, `txq`, `suld`, `sust`, `sured` read and write.
//!
//! Addressing and filtering are the hardware's, measured on an H200: coordinates become fixed-point
//! numbers with 8 fractional bits, the weights of the four texels of a bilinear fetch are 8-bit
//! numbers that add up to 256, and texels are blended in fixed-point arithmetic aligned to the
//! largest of them. Point sampling and bilinear filtering of every format but `s8` return the
//! recorded bits; see `tests/texture.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::types::Ty;

mod cube;
mod filter;
mod mipmap;
mod surface;

pub use cube::cube_face;
pub use mipmap::{Detail, Mipmap};

/// What the value of a variable that stands for an object holds beside the object's handle: its kind. Read off ptxas
/// 13.5, whose `mov` of such a variable sets one of the three uppermost bits, and whose `istypep` tests it.
#[must_use]
pub const fn kind_bits(ty: Ty) -> u64 {
    match ty {
        Ty::TexRef => 1 << 61,
        Ty::SamplerRef => 1 << 62,
        Ty::SurfRef => 1 << 63,
        _ => 0,
    }
}

/// The bits of such a value that are the handle.
pub const HANDLE: u64 = (1 << 61) - 1;

/// Type of one channel of a texel.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Channel {
    U8,
    U16,
    U32,
    S8,
    S16,
    S32,
    F16,
    F32,
}

impl Channel {
    /// Bytes of one channel.
    pub const fn bytes(self) -> usize {
        match self {
            Channel::U8 | Channel::S8 => 1,
            Channel::U16 | Channel::S16 | Channel::F16 => 2,
            Channel::U32 | Channel::S32 | Channel::F32 => 4,
        }
    }
    /// What a formatted store makes of 32 bits: an integer is clamped to the component, a float is cut to 16 bits, and
    /// ends at the largest finite number. As an H100 does.
    #[must_use]
    pub fn component(self, number: u32) -> u32 {
        let clamped = |low: i32, high: i32| number.cast_signed().clamp(low, high).cast_unsigned();
        match self {
            Channel::U8 => number.min(0xff),
            Channel::U16 => number.min(0xffff),
            Channel::S8 => clamped(-128, 127),
            Channel::S16 => clamped(-32768, 32767),
            Channel::U32 | Channel::S32 | Channel::F32 => number,
            Channel::F16 => cut_to_half(number),
        }
    }
    /// Whether texels are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, Channel::F16 | Channel::F32)
    }
}

/// What happens to coordinates outside the texture.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Address {
    /// Repeats (normalised coordinates only; else clamps).
    Wrap,
    /// The nearest texel.
    #[default]
    Clamp,
    /// Repeats mirrored (normalised coordinates only; else clamps).
    Mirror,
    /// The border's colour.
    Border,
}

/// What happens to a surface access outside the surface (`.trap`, `.clamp`, `.zero`).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Boundary {
    /// A fault.
    Trap,
    /// The nearest element.
    Clamp,
    /// Reads give zero, writes do nothing.
    Zero,
}

/// Where the texels are.
#[derive(Debug)]
pub enum Texels {
    /// In an array, which other objects may share; x fastest, then y, then z or layer.
    Array(Arc<[AtomicU8]>),
    /// In device memory, rows `pitch` bytes apart.
    Memory {
        /// Address of the first texel.
        address: u64,
        /// Bytes from row to row.
        pitch: u64,
    },
}

/// A texture, sampler or surface object.
#[derive(Debug)]
pub struct Texture {
    /// Width, height, depth in texels; 1 where there is no such dimension.
    pub size: [u32; 3],
    /// Number of dimensions, layers not counted: 1 to 3.
    pub dimensions: u8,
    /// Layers of a layered texture, else 0.
    pub layers: u32,
    /// Type of a channel.
    pub channel: Channel,
    /// Channels per texel: 1, 2 or 4.
    pub channels: u8,
    /// Address mode by dimension.
    pub address: [Address; 3],
    /// Linear filtering instead of the nearest texel.
    pub linear: bool,
    /// Coordinates run from 0 to 1 over the texture.
    pub normalized: bool,
    /// Integer texels of 8 and 16 bits are read as numbers in 0..1 or -1..1.
    pub read_normalized: bool,
    /// Bytes that are read as numbers hold sRGB colours: the first three channels become linear.
    pub srgb: bool,
    /// Filters of a cube map go on at the faces next to one.
    pub seamless: bool,
    /// The colour of [`Address::Border`]: floats, or integers where integers are read.
    pub border: [u32; 4],
    /// The texels.
    pub texels: Texels,
    /// Its other levels, if it has any.
    pub mipmap: Option<Box<Mipmap>>,
}

/// Where the texels of a fetch come from. A closure reads device memory.
pub trait TexelSource<E> {
    /// Reads device memory for a texture that lies there.
    ///
    /// # Errors
    /// When the address cannot be read.
    fn memory(&mut self, address: u64, out: &mut [u8]) -> Result<(), E>;
    /// The fetch reads `bytes` bytes at `offset` of the texture's own array.
    ///
    /// # Errors
    /// To end the fetch.
    fn array(&mut self, offset: u64, bytes: u32) -> Result<(), E> {
        let _ = (offset, bytes);
        Ok(())
    }
}

impl<E, F: FnMut(u64, &mut [u8]) -> Result<(), E>> TexelSource<E> for F {
    fn memory(&mut self, address: u64, out: &mut [u8]) -> Result<(), E> {
        self(address, out)
    }
}

/// Bits of a fractional coordinate.
const FRACTION: u32 = 8;

impl Texture {
    /// A point-sampled texture in texel coordinates over an array of its own.
    ///
    /// `data` is cut or filled with zeros to the array's size.
    pub fn array(size: &[u32], channel: Channel, channels: u8, data: &[u8]) -> Texture {
        let mut all = [1; 3];
        for (to, from) in all.iter_mut().zip(size) {
            *to = (*from).max(1);
        }
        let bytes =
            all.iter().fold(usize::from(channels) * channel.bytes(), |n, &d| n * d as usize);
        let texels = (0..bytes).map(|i| AtomicU8::new(data.get(i).copied().unwrap_or(0))).collect();
        let dimensions = size.len().clamp(1, 3) as u8;
        Texture::over(all, dimensions, channel, channels, Texels::Array(texels))
    }

    /// The same over texels that are there already.
    pub fn over(
        size: [u32; 3],
        dimensions: u8,
        channel: Channel,
        channels: u8,
        texels: Texels,
    ) -> Texture {
        Texture {
            size,
            dimensions,
            layers: 0,
            channel,
            channels,
            address: [Address::Clamp; 3],
            linear: false,
            normalized: false,
            read_normalized: false,
            srgb: false,
            seamless: false,
            border: [0; 4],
            texels,
            mipmap: None,
        }
    }

    /// Bytes of one texel.
    pub fn texel_bytes(&self) -> usize {
        self.channel.bytes() * usize::from(self.channels)
    }

    /// Whether a fetch gives floating-point numbers.
    pub fn reads_float(&self) -> bool {
        self.channel.is_float() || self.read_normalized && self.channel.bytes() < 4
    }

    /// The array's bytes, for copies from and to the host.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.texels {
            Texels::Array(bytes) => bytes.iter().map(|b| b.load(Ordering::Relaxed)).collect(),
            Texels::Memory { .. } => Vec::new(),
        }
    }

    /// Fetches at integer coordinates: no filter. The result is four 32-bit patterns: floats, or
    /// integers extended to 32 bits; channels that the texel lacks are 0.
    ///
    /// # Errors
    /// What `read` returns.
    pub fn fetch<E>(
        &self,
        at: [i32; 3],
        layer: u32,
        read: &mut dyn TexelSource<E>,
    ) -> Result<[u32; 4], E> {
        let mut index = [0; 3];
        for d in 0..usize::from(self.dimensions) {
            let n = i64::from(self.size[d]);
            let i = i64::from(at[d]);
            // Memory behind an integer index has no address mode: zeros outside.
            let clamp =
                matches!(self.texels, Texels::Array(_)) && self.address[d] != Address::Border;
            index[d] = if clamp { i.clamp(0, n - 1) } else { i };
        }
        // Behind the last layer there is nothing, while coordinates that are numbers find the last one.
        if self.layers > 0 && layer >= self.layers {
            return Ok([0; 4]);
        }
        let raw = self.raw(index, layer, [0; 4], read)?;
        Ok(self.read_all(raw))
    }

    /// The border's colour as stored bits of a texel.
    fn outside(&self) -> [u32; 4] {
        let mut out = [0; 4];
        for (c, out) in out.iter_mut().enumerate().take(usize::from(self.channels)) {
            let bits = self.border[c];
            let value = f32::from_bits(bits);
            let scaled = |least: f32, most: f32| (value.clamp(least, 1.0) * most).round() as i32;
            *out = match (self.channel, self.read_normalized) {
                (Channel::F16, _) => half::f16::from_f32(value).to_bits().into(),
                (Channel::U8, true) => scaled(0.0, 255.0) as u8 as u32,
                (Channel::U16, true) => scaled(0.0, 65535.0) as u16 as u32,
                (Channel::S8, true) => scaled(-1.0, 127.0) as u8 as u32,
                (Channel::S16, true) => scaled(-1.0, 32767.0) as u16 as u32,
                (Channel::U8 | Channel::S8, false) => bits & 0xff,
                (Channel::U16 | Channel::S16, false) => bits & 0xffff,
                (Channel::U32 | Channel::S32 | Channel::F32, _) => bits,
            };
        }
        out
    }

    /// The stored bits of the channels of a texel, zero-extended; `outside` where there is none.
    fn raw<E>(
        &self,
        index: [i64; 3],
        layer: u32,
        outside: [u32; 4],
        read: &mut dyn TexelSource<E>,
    ) -> Result<[u32; 4], E> {
        let inside = (0..3).all(|d| (0..i64::from(self.size[d])).contains(&index[d]));
        if !inside {
            return Ok(outside);
        }
        let bytes = self.texel_bytes();
        let mut texel = [0; 16];
        match &self.texels {
            Texels::Array(all) => {
                let start = self.offset(index, layer);
                read.array(start as u64, bytes as u32)?;
                for (to, from) in texel[..bytes].iter_mut().zip(&all[start..]) {
                    *to = from.load(Ordering::Relaxed);
                }
            }
            Texels::Memory { address, pitch } => {
                let at =
                    address.wrapping_add(index[1] as u64 * pitch + index[0] as u64 * bytes as u64);
                read.memory(at, &mut texel[..bytes])?;
            }
        }
        let size = self.channel.bytes();
        let mut out = [0; 4];
        for (c, out) in out.iter_mut().enumerate().take(usize::from(self.channels)) {
            let mut word = [0; 4];
            word[..size].copy_from_slice(&texel[c * size..][..size]);
            *out = u32::from_le_bytes(word);
        }
        Ok(out)
    }

    /// Byte offset of a texel inside the array; layers beyond the last are the last.
    fn offset(&self, index: [i64; 3], layer: u32) -> usize {
        let [w, h, _] = self.size.map(|n| n as usize);
        let z =
            if self.layers > 0 { layer.min(self.layers - 1) as usize } else { index[2] as usize };
        ((z * h + index[1] as usize) * w + index[0] as usize) * self.texel_bytes()
    }

    /// What a point fetch returns for the stored bits of the channels.
    fn read_all(&self, raw: [u32; 4]) -> [u32; 4] {
        std::array::from_fn(|c| self.read_out(raw[c], c))
    }

    /// Whether channel `c` holds sRGB.
    fn holds_srgb(&self, c: usize) -> bool {
        self.srgb && self.read_normalized && self.channel == Channel::U8 && c < 3
    }

    /// What a point fetch returns for the stored bits of channel `c`.
    fn read_out(&self, raw: u32, c: usize) -> u32 {
        if self.holds_srgb(c) {
            return half::f16::from_bits(filter::linear_half(raw)).to_f32().to_bits();
        }
        let unorm = |v: u32, max: f32| (v as f32 / max).to_bits();
        let snorm = |v: i32, max: f32| (v as f32 / max).max(-1.0).to_bits();
        match (self.channel, self.read_normalized) {
            (Channel::U8, true) => unorm(raw, 255.0),
            (Channel::U16, true) => unorm(raw, 65535.0),
            (Channel::S8, true) => snorm(i32::from(raw as i8), 127.0),
            (Channel::S16, true) => snorm(i32::from(raw as i16), 32767.0),
            (Channel::S8, false) => raw as i8 as u32,
            (Channel::S16, false) => raw as i16 as u32,
            (Channel::F16, _) => half::f16::from_bits(raw as u16).to_f32().to_bits(),
            _ => raw,
        }
    }
}

/// The half-precision number next to a float on the side of zero. NaNs keep what fits of their payload, and stay NaN.
fn cut_to_half(bits: u32) -> u32 {
    let (sign, exponent, fraction) = (bits >> 16 & 0x8000, bits >> 23 & 0xff, bits & 0x7f_ffff);
    let magnitude = match exponent {
        0xff if fraction == 0 => 0x7c00,
        0xff => 0x7c00 | (fraction >> 13).max(1),
        143.. => 0x7bff,
        113..143 => (exponent - 112) << 10 | fraction >> 13,
        103..113 => (fraction | 1 << 23) >> (126 - exponent),
        _ => 0,
    };
    sign | magnitude
}
