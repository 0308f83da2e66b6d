//! Texture and surface objects that `tex`, `tld4`, `txq`, `suld`, `sust`, `sured` read and write.
//!
//! Addressing and filtering are the hardware's, measured on an H200: coordinates become fixed-point
//! numbers with 8 fractional bits, the weights of the four texels of a bilinear fetch are 8-bit
//! numbers that add up to 256, and texels are blended in fixed-point arithmetic aligned to the
//! largest of them. Point sampling and bilinear filtering of every format but `s8` return the
//! recorded bits; see `tests/texture.rs`.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::types::Ty;

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
        Texture {
            size: all,
            dimensions: size.len().clamp(1, 3) as u8,
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
            texels: Texels::Array(texels),
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

    /// Samples at floating-point coordinates with the texture's filter; result as for
    /// [`Texture::fetch`].
    ///
    /// # Errors
    /// What `read` returns.
    pub fn sample<E>(
        &self,
        at: [f32; 3],
        layer: u32,
        read: &mut dyn TexelSource<E>,
    ) -> Result<[u32; 4], E> {
        // Integers of 8 and 16 bits that are read as integers cannot be blended; those of 32 bits are never anything else.
        if !self.linear || !(self.reads_float() || self.read_normalized) {
            let mut index = [0; 3];
            for d in 0..usize::from(self.dimensions) {
                index[d] = self.wrap(self.coordinate(at[d], d).floor() as i64, d);
            }
            let raw = self.raw(index, layer, self.outside(), read)?;
            return Ok(self.read_all(raw));
        }
        let (base, mut weights) = self.footprint(at);
        let count = 1 << self.dimensions;
        let mut texels = [[0; 4]; 8];
        for (corner, texel) in texels.iter_mut().enumerate().take(count) {
            let Some((index, layer)) = self.texel_at(base, corner, layer) else {
                share(&mut weights, corner);
                continue;
            };
            *texel = self.raw(index, layer, self.outside(), read)?;
        }
        let mut out = [0; 4];
        for (c, out) in out.iter_mut().enumerate().take(usize::from(self.channels)) {
            let taps: [(i64, u32); 8] = std::array::from_fn(|i| (weights[i], texels[i][c]));
            *out = self.blend(&taps[..count], c);
        }
        Ok(out)
    }

    /// `tld4`: component `c` of the four texels of a bilinear footprint, counter-clockwise from the
    /// lower left.
    ///
    /// # Errors
    /// What `read` returns.
    pub fn gather<E>(
        &self,
        c: usize,
        at: [f32; 2],
        layer: u32,
        read: &mut dyn TexelSource<E>,
    ) -> Result<[u32; 4], E> {
        let (base, _) = self.footprint([at[0], at[1], 0.0]);
        let (mut texels, mut missing) = ([0; 4], None);
        for (corner, texel) in texels.iter_mut().enumerate() {
            match self.texel_at(base, corner, layer) {
                Some((index, layer)) => {
                    *texel = self.raw(index, layer, self.outside(), read)?[c & 3];
                }
                None => missing = Some(corner),
            }
        }
        let value = |corner: usize| {
            if missing != Some(corner) {
                // Signed bytes are widened first.
                return if self.channel == Channel::S8 && self.read_normalized {
                    self.blend(&[(1 << FRACTION, texels[corner])], c & 3)
                } else {
                    self.read_out(texels[corner], c & 3)
                };
            }
            let mut weights = [0; 8];
            weights[corner] = 1 << FRACTION;
            share(&mut weights, corner);
            let taps: [(i64, u32); 4] = std::array::from_fn(|i| (weights[i], texels[i]));
            if self.reads_float() { self.blend(&taps, c & 3) } else { 0 }
        };
        Ok([2, 3, 1, 0].map(value))
    }

    /// The coordinate in texels.
    fn coordinate(&self, x: f32, d: usize) -> f64 {
        let n = f64::from(self.size[d]);
        let x = f64::from(x);
        // Anything beyond this is outside of every texture.
        let limited = |x: f64| if x.is_nan() { 0.0 } else { x.clamp(-1e9, 1e9) };
        if !self.normalized {
            return limited(x);
        }
        // Only the fraction counts where the texture repeats, and from 2^24 on there is none.
        match self.address[d] {
            Address::Wrap | Address::Mirror if x.is_nan() || x.abs() >= 16_777_216.0 => 0.0,
            Address::Wrap | Address::Mirror | Address::Clamp | Address::Border => limited(x * n),
        }
    }

    /// The index after the address mode; an index outside stays outside for [`Address::Border`].
    fn wrap(&self, i: i64, d: usize) -> i64 {
        let n = i64::from(self.size[d]);
        match self.address[d] {
            Address::Border => i,
            Address::Wrap if self.normalized => i.rem_euclid(n),
            Address::Mirror if self.normalized => {
                let i = i.rem_euclid(2 * n);
                if i < n { i } else { 2 * n - 1 - i }
            }
            _ => i.clamp(0, n - 1),
        }
    }

    /// First texel of the footprint of linear filtering, and the weights of its corners (x in bit 0
    /// of the corner's number, y in bit 1, z in bit 2), which add up to 256.
    fn footprint(&self, at: [f32; 3]) -> ([i64; 3], [i64; 8]) {
        let one = 1i64 << FRACTION;
        let mut base = [0; 3];
        let mut f = [0; 3];
        for d in 0..usize::from(self.dimensions) {
            let fixed = (self.coordinate(at[d], d) * one as f64 + 0.5).floor() as i64 - one / 2;
            base[d] = fixed >> FRACTION;
            f[d] = fixed & (one - 1);
        }
        let product = |a: i64, b: i64| (a * b + one / 2) >> FRACTION;
        let [a, b, c] = f;
        let (ab, ac, bc) = (product(a, b), product(a, c), product(b, c));
        let abc = product(ab, c);
        let weights = [
            one - a - b - c + ab + ac + bc - abc,
            a - ab - ac + abc,
            b - ab - bc + abc,
            ab - abc,
            c - ac - bc + abc,
            ac - abc,
            bc - abc,
            abc,
        ];
        (base, weights)
    }

    fn corner(&self, base: [i64; 3], corner: usize) -> [i64; 3] {
        let mut index = [0; 3];
        for d in 0..usize::from(self.dimensions) {
            index[d] = self.wrap(base[d] + (corner >> d & 1) as i64, d);
        }
        index
    }

    /// Index and layer of a corner of a footprint; `None` for the texel that is missing where three faces of a cube
    /// meet.
    fn texel_at(&self, base: [i64; 3], corner: usize, layer: u32) -> Option<([i64; 3], u32)> {
        let n = i64::from(self.size[0]);
        let at: [i64; 2] = std::array::from_fn(|d| base[d] + (corner >> d & 1) as i64);
        let outside = at.map(|i| !(0..n).contains(&i));
        match (self.seamless, outside) {
            (false, _) | (true, [false, false]) => Some((self.corner(base, corner), layer)),
            (true, [true, true]) => None,
            (true, _) => {
                let (face, [x, y]) = next_face(layer % 6, at, n);
                Some(([x, y, 0], layer - layer % 6 + face))
            }
        }
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
            return half::f16::from_bits(linear_half(raw)).to_f32().to_bits();
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

    /// The weighted sum of the stored bits `taps` of channel `c`, as the fetch returns it: a float, of 32-bit integers one
    /// of those.
    fn blend(&self, taps: &[(i64, u32)], c: usize) -> u32 {
        if self.holds_srgb(c) {
            let value = |v| half::f16::from_bits(linear_half(v)).to_f32();
            return half_away(weighted(taps, 11, value), 11, -13).to_bits();
        }
        // Weights add up to 256; halves round away from zero, for signed integers upwards.
        let shifted = |sum: i64| (sum + 128) >> FRACTION;
        let total =
            |value: &dyn Fn(u32) -> i64| taps.iter().map(|&(w, v)| w * value(v)).sum::<i64>();
        match self.channel {
            // Eight bits are widened to sixteen first.
            Channel::U8 => (shifted(total(&|v| i64::from(v) * 257)) as f32 / 65535.0).to_bits(),
            Channel::U16 => (shifted(total(&|v| i64::from(v))) as f32 / 65535.0).to_bits(),
            Channel::S16 => {
                let sum = total(&|v| i64::from(v as i16).max(-32767));
                (shifted(sum) as f32 / 32767.0).to_bits()
            }
            Channel::S8 => {
                let sum = total(&|v| i64::from(v as i8).max(-127));
                let wide = (sum as f64 * (32767.0 / 127.0) / 256.0 + 0.5).floor();
                (wide as f32 / 32767.0).to_bits()
            }
            Channel::F16 => {
                let sum = weighted(taps, 11, |v| half::f16::from_bits(v as u16).to_f32());
                half_away(sum, 11, -13).to_bits()
            }
            // These are cut off.
            Channel::U32 => (total(&|v| i64::from(v)) >> FRACTION) as u32,
            Channel::S32 => (total(&|v| i64::from(v as i32)) >> FRACTION) as u32,
            Channel::F32 => half_away(weighted(taps, 24, f32::from_bits), 24, -125).to_bits(),
        }
    }

    /// Reads `out.len()` bytes of a surface at byte `x` of row `y` in plane or layer `z`.
    ///
    /// # Errors
    /// `None` outside the surface with [`Boundary::Trap`].
    pub fn surface_read(&self, at: [i32; 3], boundary: Boundary, out: &mut [u8]) -> Option<()> {
        out.fill(0);
        let Some(start) = self.surface_offset(at, boundary, out.len())? else { return Some(()) };
        if let Texels::Array(all) = &self.texels {
            for (to, from) in out.iter_mut().zip(all.get(start..)?) {
                *to = from.load(Ordering::Relaxed);
            }
        }
        Some(())
    }

    /// Writes `data` to a surface at byte `x` of row `y` in plane or layer `z`.
    ///
    /// # Errors
    /// `None` outside the surface with [`Boundary::Trap`].
    pub fn surface_write(&self, at: [i32; 3], boundary: Boundary, data: &[u8]) -> Option<()> {
        let Some(start) = self.surface_offset(at, boundary, data.len())? else { return Some(()) };
        if let Texels::Array(all) = &self.texels {
            for (to, from) in all.get(start..)?.iter().zip(data) {
                to.store(*from, Ordering::Relaxed);
            }
        }
        Some(())
    }

    /// Replaces the `bytes` (at most 8) at byte `x` of row `y` in plane or layer `z` by `update` of
    /// them. Updates are atomic with respect to one another.
    ///
    /// # Errors
    /// `None` outside the surface with [`Boundary::Trap`].
    pub fn surface_update(
        &self,
        at: [i32; 3],
        boundary: Boundary,
        bytes: usize,
        update: impl Fn(u64) -> u64,
    ) -> Option<()> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _held = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut word = [0; 8];
        self.surface_read(at, boundary, &mut word[..bytes])?;
        let new = update(u64::from_le_bytes(word)).to_le_bytes();
        self.surface_write(at, boundary, &new[..bytes])
    }

    /// Byte offset of a surface access: `None` is a fault, `Some(None)` an access without effect.
    pub(crate) fn surface_offset(
        &self,
        at: [i32; 3],
        boundary: Boundary,
        bytes: usize,
    ) -> Option<Option<usize>> {
        let texel = self.texel_bytes();
        let row = i64::from(self.size[0]) * texel as i64;
        let planes = if self.layers > 0 { self.layers } else { self.size[2] };
        let limits = [row - bytes as i64, i64::from(self.size[1]) - 1, i64::from(planes) - 1];
        let mut place = at.map(i64::from);
        for (value, &limit) in place.iter_mut().zip(&limits) {
            if (0..=limit).contains(value) {
                continue;
            }
            match boundary {
                Boundary::Trap => return None,
                Boundary::Zero => return Some(None),
                Boundary::Clamp => *value = (*value).clamp(0, limit.max(0)),
            }
        }
        let height = i64::from(self.size[1]);
        Some(Some(((place[2] * height + place[1]) * row + place[0]) as usize))
    }
}

/// The face of a cube map that a direction meets, and the coordinates there, from 0 to 1 (CUDA C++ Programming Guide,
/// "Cubemap Textures"). Faces are +x, -x, +y, -y, +z, -z.
#[must_use]
pub fn cube_face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let (face, m, s, t) = if x.abs() > y.abs() && x.abs() > z.abs() {
        if x >= 0.0 { (0, x, -z, -y) } else { (1, -x, z, -y) }
    } else if y.abs() > z.abs() {
        if y >= 0.0 { (2, y, x, z) } else { (3, -y, x, -z) }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    (face, [(s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0])
}

/// Gives the weight of a corner of a footprint that has no texel to the three others: a third to each neighbour,
/// rounded, and the rest to the one across.
fn share(weights: &mut [i64; 8], corner: usize) {
    let whole = std::mem::take(&mut weights[corner]);
    let third = (whole * 85 + 128) >> FRACTION;
    weights[corner ^ 1] += third;
    weights[corner ^ 2] += third;
    weights[corner ^ 3] += whole - 2 * third;
}

/// The texel of the next face that a texel of `face` would be which lies outside of it, in one dimension by one place.
fn next_face(face: u32, at: [i64; 2], n: i64) -> (u32, [i64; 2]) {
    // Where the edge is met: from -1 to 1, in steps of half a texel, so that all is exact.
    let [s, t] = at.map(|i| (2 * i + 1 - n).clamp(-n, n));
    let direction = match face {
        0 => [n, -t, -s],
        1 => [-n, -t, s],
        2 => [s, n, t],
        3 => [s, -n, -t],
        4 => [s, -t, n],
        _ => [-s, -t, -n],
    };
    // The axis that is as long as that of the face.
    let own = (face / 2) as usize;
    let axis = (0..3).find(|&d| d != own && direction[d].abs() == n).unwrap_or(own);
    let [x, y, z] = direction;
    let (next, s, t) = match (axis, direction[axis] > 0) {
        (0, true) => (0, -z, -y),
        (0, false) => (1, z, -y),
        (1, true) => (2, x, z),
        (1, false) => (3, x, -z),
        (_, true) => (4, x, -y),
        (_, false) => (5, -x, -y),
    };
    (next, [s, t].map(|v| ((v + n) / 2).clamp(0, n - 1)))
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

/// The linear value of a byte of sRGB (IEC 61966-2-1), rounded to half precision as the fetches of an H200 are.
fn linear_half(byte: u32) -> u16 {
    let v = f64::from(byte & 0xff) / 255.0;
    let linear = if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) };
    half::f16::from_f64(linear).to_bits()
}

/// Guard bits that a blend keeps below the significand of its largest texel.
const GUARD_BITS: i32 = 4;

/// The least `e` with `|v| < 2^e`; -1022 for zero and subnormals.
fn exponent(v: f64) -> i32 {
    (v.to_bits() >> 52 & 0x7ff) as i32 - 1022
}

/// The sum of weight times texel over 256: every texel, of `bits` significant bits, is cut to a
/// multiple of the largest one's unit; the rest is exact.
fn weighted(taps: &[(i64, u32)], bits: i32, value: impl Fn(u32) -> f32) -> f64 {
    let used = taps.iter().filter(|(w, _)| *w != 0).map(|&(w, v)| (w, f64::from(value(v))));
    if used.clone().any(|(_, v)| !v.is_finite()) {
        // Infinities and NaNs go through; opposite infinities give NaN.
        return used.map(|(w, v)| w as f64 * v).sum();
    }
    let largest = used.clone().fold(0f64, |m, (_, v)| m.max(v.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let unit = 2f64.powi(exponent(largest) - bits - GUARD_BITS);
    let sum: i64 = used.map(|(w, v)| w * (v / unit) as i64).sum();
    // At most 28 + 8 bits: exact.
    sum as f64 * unit / 256.0
}

/// To a format of `bits` significant bits whose least normal exponent is `least`, halves away from zero.
fn half_away(v: f64, bits: i32, least: i32) -> f32 {
    if !v.is_finite() || v == 0.0 {
        return v as f32;
    }
    let unit = 2f64.powi(exponent(v).max(least) - bits);
    ((v.abs() / unit + 0.5).floor() * unit).copysign(v) as f32
}
