//! Formats of images: channels, and texels as bytes.

use c_border::plain_struct;

use crate::cl::{self, Error, Result};

plain_struct! {
    /// `cl_image_format`
    #[derive(PartialEq, Eq)]
    ImageFormat { order: u32, data_type: u32 }
}

/// Channel orders and the data types that they go with.
fn fits(order: u32, data_type: u32) -> bool {
    let packed =
        matches!(data_type, cl::UNORM_SHORT_565 | cl::UNORM_SHORT_555 | cl::UNORM_INT_101010);
    if !(cl::SNORM_INT8..=cl::FLOAT).contains(&data_type) {
        return false;
    }
    match order {
        cl::R | cl::Rx | cl::A | cl::RG | cl::RGx | cl::RA | cl::RGBA => !packed,
        cl::RGB | cl::RGBx => packed,
        cl::ARGB | cl::BGRA => matches!(
            data_type,
            cl::UNORM_INT8 | cl::SNORM_INT8 | cl::SIGNED_INT8 | cl::UNSIGNED_INT8
        ),
        cl::INTENSITY | cl::LUMINANCE => matches!(
            data_type,
            cl::UNORM_INT8
                | cl::UNORM_INT16
                | cl::SNORM_INT8
                | cl::SNORM_INT16
                | cl::HALF_FLOAT
                | cl::FLOAT
        ),
        _ => false,
    }
}

const ORDERS: [u32; 13] = [
    cl::RGBA,
    cl::BGRA,
    cl::ARGB,
    cl::R,
    cl::A,
    cl::RG,
    cl::RA,
    cl::RGB,
    cl::Rx,
    cl::RGx,
    cl::RGBx,
    cl::INTENSITY,
    cl::LUMINANCE,
];

/// All formats.
pub fn formats() -> impl Iterator<Item = ImageFormat> {
    ORDERS.into_iter().flat_map(|order| {
        (cl::SNORM_INT8..=cl::FLOAT)
            .filter(move |t| fits(order, *t))
            .map(move |data_type| ImageFormat { order, data_type })
    })
}

impl ImageFormat {
    /// Bytes of a texel.
    ///
    /// # Errors
    /// When the format is none.
    pub fn element(self) -> Result<usize> {
        if !fits(self.order, self.data_type) {
            return Err(Error::INVALID_IMAGE_FORMAT_DESCRIPTOR);
        }
        let channels = match self.order {
            cl::RG | cl::RGx | cl::RA => 2,
            cl::RGBA | cl::BGRA | cl::ARGB => 4,
            _ => 1,
        };
        Ok(match self.data_type {
            cl::SNORM_INT8 | cl::UNORM_INT8 | cl::SIGNED_INT8 | cl::UNSIGNED_INT8 => channels,
            cl::UNORM_SHORT_565 | cl::UNORM_SHORT_555 => 2,
            cl::UNORM_INT_101010 => 4,
            cl::SIGNED_INT32 | cl::UNSIGNED_INT32 | cl::FLOAT => channels * 4,
            _ => channels * 2,
        })
    }

    /// A texel of the colour `rgba`: bits of floats, or of integers where the format has them.
    pub fn texel(self, rgba: [u32; 4]) -> Vec<u8> {
        let [r, g, b, a] = rgba;
        let channels: Vec<u32> = match self.order {
            cl::A => vec![a],
            cl::RG | cl::RGx => vec![r, g],
            cl::RA => vec![r, a],
            cl::RGBA => vec![r, g, b, a],
            cl::BGRA => vec![b, g, r, a],
            cl::ARGB => vec![a, r, g, b],
            cl::RGB | cl::RGBx => vec![r, g, b],
            _ => vec![r],
        };
        let unit = |bits: u32, most: f32| {
            let v = f32::from_bits(bits);
            let v = if v.is_nan() { 0.0 } else { v.clamp(0.0, 1.0) };
            (v * most).round_ties_even() as u32
        };
        let signed = |bits: u32, most: f32| {
            let v = f32::from_bits(bits);
            let v = if v.is_nan() { 0.0 } else { v.clamp(-1.0, 1.0) };
            (v * most).round_ties_even() as i32 as u32
        };
        let each = |f: &dyn Fn(u32) -> u32, bytes: usize| -> Vec<u8> {
            channels.iter().flat_map(|c| f(*c).to_le_bytes().into_iter().take(bytes)).collect()
        };
        let clamp = |low: i32, high: i32| move |c: u32| (c as i32).clamp(low, high) as u32;
        match self.data_type {
            cl::UNORM_INT8 => each(&|c| unit(c, 255.0), 1),
            cl::UNORM_INT16 => each(&|c| unit(c, 65535.0), 2),
            cl::SNORM_INT8 => each(&|c| signed(c, 127.0), 1),
            cl::SNORM_INT16 => each(&|c| signed(c, 32767.0), 2),
            cl::SIGNED_INT8 => each(&clamp(-128, 127), 1),
            cl::SIGNED_INT16 => each(&clamp(-32768, 32767), 2),
            cl::UNSIGNED_INT8 => each(&|c| c.min(255), 1),
            cl::UNSIGNED_INT16 => each(&|c| c.min(65535), 2),
            cl::HALF_FLOAT => each(&|c| half(f32::from_bits(c)), 2),
            cl::UNORM_SHORT_565 => {
                let v = unit(r, 31.0) << 11 | unit(g, 63.0) << 5 | unit(b, 31.0);
                v.to_le_bytes()[..2].to_vec()
            }
            cl::UNORM_SHORT_555 => {
                let v = unit(r, 31.0) << 10 | unit(g, 31.0) << 5 | unit(b, 31.0);
                v.to_le_bytes()[..2].to_vec()
            }
            cl::UNORM_INT_101010 => {
                let v = unit(r, 1023.0) << 20 | unit(g, 1023.0) << 10 | unit(b, 1023.0);
                v.to_le_bytes().to_vec()
            }
            _ => each(&|c| c, 4),
        }
    }
}

/// Half precision of `v`, rounded to nearest even.
fn half(v: f32) -> u32 {
    let bits = v.to_bits();
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Subnormal: units of 2^-24.
        return sign | (f32::from_bits(magnitude) * 16_777_216.0).round_ties_even() as u32;
    }
    let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    sign | (rounded - 0x3800_0000) >> 13
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for (v, bits) in [
            (0.0, 0),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65520.0, 0x7c00),
            (1e6, 0x7c00),
            (5.960_464_5e-8, 1),
            (6.103_515_6e-5, 0x400),
            (6.1e-5, 0x3ff),
            (1.000_488_3, 0x3c00),
            (1.001_464_8, 0x3c02),
        ] {
            assert_eq!(half(v), bits, "{v}");
        }
        assert_eq!(half(f32::NAN) & 0x7e00, 0x7e00);
        assert_eq!(half(f32::NEG_INFINITY), 0xfc00);
    }

    #[test]
    fn texels() {
        let f = |order, data_type, rgba: [f32; 4]| {
            ImageFormat { order, data_type }.texel(rgba.map(f32::to_bits))
        };
        assert_eq!(f(cl::BGRA, cl::UNORM_INT8, [1.0, 0.5, 0.0, 2.0]), [0, 128, 255, 255]);
        assert_eq!(f(cl::RGB, cl::UNORM_SHORT_565, [1.0, 0.0, 1.0, 0.0]), [0x1f, 0xf8]);
        assert_eq!(f(cl::R, cl::SNORM_INT16, [-1.0, 0.0, 0.0, 0.0]), [0x01, 0x80]);
        let ints = ImageFormat { order: cl::RA, data_type: cl::SIGNED_INT8 };
        assert_eq!(ints.texel([300, 0, 0, -300i32 as u32]), [127, 128]);
    }

    #[test]
    fn every_format_has_a_size() {
        let all: Vec<_> = formats().collect();
        assert!(all.len() > 60);
        assert!(all.iter().all(|f| f.element().is_ok_and(|n| f.texel([0; 4]).len() == n)));
    }
}
