//! Textures of several levels, and the level of detail that an instruction asks for.
//!
//! Measured on an H200, whose fetches `tests/data/mipmaps_h200.bin` has: levels of detail are numbers with 8 fractional
//! bits, cut off towards zero. Levels that an instruction names are the device's bit for bit. Of gradients in one and
//! two dimensions most are, the others are one or two of the 256 parts of a level off: how the device cuts off sums of
//! two gradients is not known (`tests/mipmaps.rs` counts them). Gradients in three dimensions and on cubes, and
//! anisotropic filters, are refused.

use super::filter::Taps;
use super::{FRACTION, TexelSource, Texture};

/// The levels behind the first one, and how a fetch chooses among all of them.
#[derive(Debug)]
pub struct Mipmap {
    /// Level 1 and the following ones, each half as large as the one before.
    pub levels: Vec<Texture>,
    /// Two levels are blended instead of the nearest one taken.
    pub linear: bool,
    /// What is added to a level of detail.
    pub bias: f32,
    /// The least level of detail.
    pub least: f32,
    /// The greatest level of detail.
    pub most: f32,
    /// Most texels along the longer axis of a footprint that gradients describe; 0 and 1 are one texel.
    pub anisotropy: u32,
}

/// The level of detail that an instruction asks for.
#[derive(Copy, Clone, Debug)]
pub enum Detail {
    /// None: the first level, as far as the texture's limits allow.
    Plain,
    /// A level.
    Level(f32),
    /// That of a footprint with these sides, in the unit of the coordinates.
    Gradients([[f32; 3]; 2]),
}

/// One in the fixed-point numbers of levels.
const ONE: i64 = 1 << FRACTION;

/// The most that a bias is.
const MOST_BIAS: f32 = 15.0;

/// The logarithms to base 2 of 1 to 2 in steps of 1/256, in 256ths.
#[rustfmt::skip]
const LOGARITHMS: [u8; 256] = [
    0, 2, 4, 5, 6, 8, 9, 11, 12, 13, 15, 16, 18, 19, 20, 22, 23, 24, 26, 27, 28, 30, 31, 32, 34, 35, 36, 38, 39, 40,
    42, 43, 44, 45, 47, 48, 49, 50, 52, 53, 54, 55, 57, 58, 59, 60, 62, 63, 64, 65, 66, 68, 69, 70, 71, 72, 74, 75,
    76, 77, 78, 79, 81, 82, 83, 84, 85, 86, 88, 89, 90, 91, 92, 93, 94, 95, 97, 98, 99, 100, 101, 102, 103, 104, 105,
    106, 107, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129,
    130, 131, 132, 133, 135, 136, 137, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152,
    153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 173,
    174, 175, 176, 177, 178, 179, 180, 181, 181, 182, 183, 184, 185, 186, 187, 188, 188, 189, 190, 191, 192, 193, 194,
    195, 195, 196, 197, 198, 199, 200, 200, 201, 202, 203, 204, 205, 205, 206, 207, 208, 209, 210, 210, 211, 212, 213,
    214, 214, 215, 216, 217, 218, 218, 219, 220, 221, 222, 222, 223, 224, 225, 226, 226, 227, 228, 229, 229, 230, 231,
    232, 233, 233, 234, 235, 236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244, 245, 245, 246, 247, 248, 248,
    249, 250, 251, 251, 252, 253, 253, 254, 255, 255,
];

/// In 256ths, cut off towards zero.
fn fixed(v: f32) -> i64 {
    // No texture has so many levels; a cast makes zero of what is no number.
    (v.clamp(-1e6, 1e6) * ONE as f32) as i64
}

/// Cut to a multiple of `unit`.
fn cut(v: f64, unit: f64) -> f64 {
    (v / unit).floor() * unit
}

/// The length of a vector as the device takes it: the longer part and 11/32 of the shorter one, in ten bits.
fn length([x, y, _]: [f64; 3]) -> f64 {
    let (long, short) = (x.abs().max(y.abs()), x.abs().min(y.abs()));
    if long == 0.0 || !long.is_finite() {
        return long;
    }
    let unit = 2f64.powi(super::filter::exponent(long) - 10);
    let fine = unit / 16.0;
    let part = cut(short / 4.0, fine) + (short * 3.0 / 32.0 / fine + 0.5).floor() * fine;
    cut(long, unit) + cut(part, unit)
}

/// The level of detail of a footprint with these sides in texels, in 256ths.
fn detail(sides: [[f64; 3]; 2]) -> i64 {
    let [a, b] = sides;
    if a.iter().chain(&b).any(|v| v.is_nan()) {
        return 0;
    }
    // The diagonals count too, by 11/16.
    let diagonal = |sign: f64| length(std::array::from_fn(|d| a[d] + sign * b[d])) * 11.0 / 16.0;
    let longest =
        [length(a), length(b), diagonal(1.0), diagonal(-1.0)].into_iter().fold(0.0, f64::max);
    if longest == 0.0 {
        return i64::MIN / 2;
    }
    if !longest.is_finite() {
        return i64::MAX / 2;
    }
    let power = super::filter::exponent(longest) - 1;
    let step = ((longest / 2f64.powi(power) - 1.0) * 256.0) as usize;
    i64::from(power) * ONE + i64::from(LOGARITHMS[step.min(255)])
}

impl Texture {
    /// A level of the texture, if it has so many.
    pub fn level(&self, number: u32) -> Option<&Texture> {
        match (number, &self.mipmap) {
            (0, _) => Some(self),
            (_, Some(mipmap)) => mipmap.levels.get(number as usize - 1),
            (_, None) => None,
        }
    }

    /// How many levels there are.
    pub fn levels(&self) -> u32 {
        1 + self.mipmap.as_ref().map_or(0, |m| m.levels.len() as u32)
    }

    /// Why the footprint that two gradients describe cannot be fetched, if so. `cube`: its coordinates are a direction.
    pub fn refuses_gradients(&self, cube: bool) -> Option<&'static str> {
        let mipmap = self.mipmap.as_ref()?;
        if cube || self.dimensions > 2 {
            Some("gradients on a cube map or a 3-D texture of several levels are not supported")
        } else if mipmap.anisotropy > 1 {
            Some("gradients on a texture with an anisotropic filter are not supported")
        } else {
            None
        }
    }

    /// As [`Texture::sample`], from the level or levels that `asked` says. `place` gives the coordinates in a level.
    ///
    /// # Errors
    /// What `read` returns.
    pub fn sample_detail<E>(
        &self,
        asked: Detail,
        place: &dyn Fn(&Texture) -> [f32; 3],
        layer: u32,
        read: &mut dyn TexelSource<E>,
    ) -> Result<[u32; 4], E> {
        let Some(mipmap) = &self.mipmap else { return self.sample(place(self), layer, read) };
        let bias = fixed(mipmap.bias.clamp(-MOST_BIAS, MOST_BIAS));
        let wanted = match asked {
            Detail::Plain => 0,
            Detail::Level(level) => fixed(level) + bias,
            Detail::Gradients(sides) => {
                let texels = |side: [f32; 3]| {
                    std::array::from_fn(|d| f64::from(side[d]) * f64::from(self.size[d]))
                };
                detail(sides.map(texels)) + bias
            }
        };
        let last = mipmap.levels.len() as i64 * ONE;
        let wanted = wanted.min(fixed(mipmap.most)).max(fixed(mipmap.least)).clamp(0, last);
        let level = |number: i64| self.level(number as u32).unwrap_or(self);
        let (near, far) = (wanted >> FRACTION, wanted & (ONE - 1));
        if !mipmap.linear || far == 0 {
            let nearest = level(if mipmap.linear { near } else { (wanted + ONE / 2) >> FRACTION });
            return nearest.sample(place(nearest), layer, read);
        }
        let mut taps = Taps::default();
        for (level, weight) in [(level(near), ONE - far), (level(near + 1), far)] {
            level.tap(place(level), layer, weight, &mut taps, read)?;
        }
        Ok(self.blend_all(&taps))
    }
}
