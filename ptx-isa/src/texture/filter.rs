//! Filters: which texels a fetch reads, and what it makes of them.

use super::cube::{next_face, share};
use super::{Address, Channel, FRACTION, TexelSource, Texture};

/// Texels that a fetch blends: those of one level or of two.
#[derive(Default)]
pub(super) struct Taps {
    taps: [(i64, [u32; 4]); 16],
    count: usize,
}

impl Taps {
    fn add(&mut self, weight: i64, texel: [u32; 4]) {
        self.taps[self.count] = (weight, texel);
        self.count += 1;
    }
}

impl Texture {
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
        if !self.filters() {
            let index = self.nearest(at);
            let raw = self.raw(index, layer, self.outside(), read)?;
            return Ok(self.read_all(raw));
        }
        let mut taps = Taps::default();
        self.tap(at, layer, 1 << FRACTION, &mut taps, read)?;
        Ok(self.blend_all(&taps))
    }

    /// Whether a fetch blends the texels around its place. Integers of 8 and 16 bits that are read as integers are not
    /// blended; those of 32 bits are never anything else.
    fn filters(&self) -> bool {
        self.linear && (self.reads_float() || self.read_normalized)
    }

    /// The texel that a place is in.
    fn nearest(&self, at: [f32; 3]) -> [i64; 3] {
        let mut index = [0; 3];
        for d in 0..usize::from(self.dimensions) {
            index[d] = self.wrap(self.coordinate(at[d], d).floor() as i64, d);
        }
        index
    }

    /// Adds the texels of a fetch, whose weights add up to `whole`.
    pub(super) fn tap<E>(
        &self,
        at: [f32; 3],
        layer: u32,
        whole: i64,
        taps: &mut Taps,
        read: &mut dyn TexelSource<E>,
    ) -> Result<(), E> {
        if !self.filters() {
            taps.add(whole, self.raw(self.nearest(at), layer, self.outside(), read)?);
            return Ok(());
        }
        let (base, mut weights) = self.footprint(at, whole);
        let mut texels = [None; 8];
        for (corner, texel) in texels.iter_mut().enumerate().take(1 << self.dimensions) {
            match self.texel_at(base, corner, layer) {
                Some((index, layer)) => {
                    *texel = Some(self.raw(index, layer, self.outside(), read)?);
                }
                None => share(&mut weights, corner),
            }
        }
        for (weight, texel) in weights.into_iter().zip(texels) {
            if let Some(texel) = texel {
                taps.add(weight, texel);
            }
        }
        Ok(())
    }

    /// What the taps make, by channel.
    pub(super) fn blend_all(&self, taps: &Taps) -> [u32; 4] {
        let mut out = [0; 4];
        for (c, out) in out.iter_mut().enumerate().take(usize::from(self.channels)) {
            let of: [(i64, u32); 16] = std::array::from_fn(|i| (taps.taps[i].0, taps.taps[i].1[c]));
            *out = self.blend(&of[..taps.count], c);
        }
        out
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
        let base = self.fixed([at[0], at[1], 0.0]).map(|fixed| fixed >> FRACTION);
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

    /// The place half a texel before the coordinates, where a footprint begins.
    fn fixed(&self, at: [f32; 3]) -> [i64; 3] {
        const ONE: i64 = 1 << FRACTION;
        let mut fixed = [0; 3];
        for d in 0..usize::from(self.dimensions) {
            fixed[d] = (self.coordinate(at[d], d) * ONE as f64 + 0.5).floor() as i64 - ONE / 2;
        }
        fixed
    }

    /// First texel of the footprint of linear filtering, and the weights of its corners (x in bit 0
    /// of the corner's number, y in bit 1, z in bit 2), which add up to `whole`.
    fn footprint(&self, at: [f32; 3], whole: i64) -> ([i64; 3], [i64; 8]) {
        const ONE: i64 = 1 << FRACTION;
        let mut fixed = self.fixed(at);
        for d in 0..usize::from(self.dimensions) {
            // Behind the edge there is the texel at the edge alone.
            if self.address[d] == Address::Clamp && !self.seamless {
                fixed[d] = fixed[d].clamp(0, (i64::from(self.size[d]) - 1) * ONE);
            }
        }
        let [a, b, c] = fixed.map(|v| v & (ONE - 1));
        // A weight is divided by depth, then by x, then by y. Where the farther part is half way between two numbers,
        // it is `half` that decides.
        let divide = |weight: i64, by: i64, half: i64| {
            let far = (weight * by + half) >> FRACTION;
            [weight - far, far]
        };
        let mut weights = [0; 8];
        for (z, plane) in divide(whole, c, ONE / 2 - 1).into_iter().enumerate() {
            for (x, column) in divide(plane, a, ONE / 2).into_iter().enumerate() {
                let half = ONE / 2 - 1 + x as i64;
                for (y, weight) in divide(column, b, half).into_iter().enumerate() {
                    weights[x | y << 1 | z << 2] = weight;
                }
            }
        }
        (fixed.map(|v| v >> FRACTION), weights)
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

    /// The weighted sum of the stored bits `taps` of channel `c`, as the fetch returns it: a float, of 32-bit integers
    /// one of those.
    fn blend(&self, taps: &[(i64, u32)], c: usize) -> u32 {
        if self.holds_srgb(c) {
            let value = |v| half::f16::from_bits(linear_half(v)).to_f32();
            return half_away(weighted(taps, 11, value), 11, -13).to_bits();
        }
        // Weights add up to 256; halves round away from zero, for signed integers upwards.
        let shifted = |sum: i64| (sum + 128) >> FRACTION;
        let total =
            |value: &dyn Fn(u32) -> i64| taps.iter().map(|&(w, v)| w * value(v)).sum::<i64>();
        if !self.channel.is_float() && !self.read_normalized && self.channel.bytes() < 4 {
            // Two levels of integers: read as they are.
            let sum = total(&|v| i64::from(self.read_out(v, c).cast_signed()));
            return shifted(sum) as u32;
        }
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
}

/// The linear value of a byte of sRGB (IEC 61966-2-1), rounded to half precision as the fetches of an H200 are.
pub(super) fn linear_half(byte: u32) -> u16 {
    let v = f64::from(byte & 0xff) / 255.0;
    let linear = if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) };
    half::f16::from_f64(linear).to_bits()
}

/// Guard bits that a blend keeps below the significand of its largest texel.
const GUARD_BITS: i32 = 4;

/// The least `e` with `|v| < 2^e`; -1022 for zero and subnormals.
pub(super) fn exponent(v: f64) -> i32 {
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
