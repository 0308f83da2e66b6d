//! What a program asks of the driver when it encodes a tensor map, and what an H200's driver refuses.

use super::map::{Element, Interleave, Mode, Swizzle, TensorMap};

/// Most bytes that a copy moves: the shared memory of a multiprocessor (the most that was taken; 256 KiB were refused).
const MOST_BYTES: u64 = 228 << 10;

/// Arguments of `cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col` or `cuTensorMapEncodeIm2colWide`; lists are as long
/// as the rank demands.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// `CUtensorMapDataType`.
    pub data_type: u32,
    /// Address of element 0.
    pub address: u64,
    /// Elements along each dimension; their number is the rank.
    pub sizes: &'a [u64],
    /// Bytes from one index to the next of dimension 1 and above.
    pub strides: &'a [u64],
    /// Traversal strides.
    pub steps: &'a [u32],
    /// What one copy takes.
    pub shape: Shape<'a>,
    /// `CUtensorMapInterleave`.
    pub interleave: u32,
    /// `CUtensorMapSwizzle`.
    pub swizzle: u32,
    /// `CUtensorMapL2promotion`.
    pub l2: u32,
    /// `CUtensorMapFloatOOBfill`.
    pub fill: u32,
}

/// What one copy takes.
#[derive(Debug, Clone)]
pub enum Shape<'a> {
    /// A box.
    Tiled(&'a [u32]),
    /// Pixels of images.
    Im2col {
        /// Lower corner of the bounding box.
        lower: &'a [i32],
        /// Upper corner.
        upper: &'a [i32],
        /// Channels per pixel.
        channels: u32,
        /// Pixels per column.
        pixels: u32,
    },
    /// Pixels of one row of images.
    Wide {
        /// Lower corner of the bounding box along the width.
        lower: i32,
        /// Upper corner.
        upper: i32,
        /// Channels per pixel.
        channels: u32,
        /// Pixels per column.
        pixels: u32,
        /// `CUtensorMapIm2ColWideMode`.
        mode: u32,
    },
}

impl Request<'_> {
    /// The map, for a device of compute capability `capability` (90 is 9.0); `None` where the driver answers
    /// `CUDA_ERROR_INVALID_VALUE`.
    #[must_use]
    pub fn encode(&self, capability: u32) -> Option<TensorMap> {
        let newer = capability >= 100;
        let rank = self.sizes.len();
        let element = Element::from_driver(self.data_type)?;
        let interleave = Interleave::from_code(self.interleave)?;
        let swizzle = Swizzle::from_driver(self.swizzle)?;
        let (group, _, shared_unit) = element.group();
        let packed = group > 1;
        let plain =
            matches!(swizzle, Swizzle::None | Swizzle::Span32 | Swizzle::Span64 | Swizzle::Span128);
        let images = matches!(self.shape, Shape::Im2col { .. } | Shape::Wide { .. });
        let interleaved = interleave != Interleave::None;
        let least = if images || interleaved { 3 } else { 1 };
        let padded = matches!(element, Element::B4x16P64 | Element::B6x16P32);
        let granule = if interleave == Interleave::Bytes32 || padded { 32 } else { 16 };
        let fits = (least..=5).contains(&rank)
            && self.strides.len() + 1 == rank
            && self.steps.len() == rank
            && (newer || !packed && plain)
            && self.address.is_multiple_of(granule)
            && self.sizes.iter().all(|n| (1..=1 << 32).contains(n))
            && self.strides.iter().all(|s| s.is_multiple_of(granule) && *s < 1 << 40)
            && self.steps.iter().all(|s| (1..=8).contains(s))
            && self.l2 <= 3
            && self.fill <= 1
            && (self.fill == 0 || element.is_float())
            && (!padded || self.sizes[0].is_multiple_of(128))
            && (!packed || self.sizes[0].is_multiple_of(2));
        if !fits {
            return None;
        }
        // Bytes of a line in shared memory.
        let line = |elements: u32| {
            let bytes = u64::from(elements / group) * u64::from(shared_unit);
            let whole = elements.is_multiple_of(group) && bytes.is_multiple_of(16);
            let spans = interleaved || swizzle == Swizzle::None || bytes <= swizzle.span().into();
            (whole && spans && (!padded || elements == 128)).then_some(bytes)
        };
        let mode = match &self.shape {
            Shape::Tiled(sizes) => {
                if sizes.len() != rank || sizes.iter().any(|n| !(1..=256).contains(n)) {
                    return None;
                }
                line(sizes[0])?;
                let mut all = [1; 5];
                all[..rank].copy_from_slice(sizes);
                Mode::Tiled(all)
            }
            Shape::Im2col { lower, upper, channels, pixels } => {
                let corners = self.corners(lower, upper, usize::from(!interleaved))?;
                if !(1..=256).contains(channels) || !(1..=1024).contains(pixels) {
                    return None;
                }
                line(*channels)?;
                Mode::Im2col { corners, channels: *channels, pixels: *pixels }
            }
            // By the driver's description: no device that has this mode was recorded.
            Shape::Wide { lower, upper, channels, pixels, mode } => {
                let every_32 = *mode == 1;
                let swizzled = match swizzle {
                    Swizzle::Span64 | Swizzle::Span128 | Swizzle::Span128Atom32 => true,
                    Swizzle::Span96 => !every_32,
                    Swizzle::None
                    | Swizzle::Span32
                    | Swizzle::Span128Atom32Flip8
                    | Swizzle::Span128Atom64 => false,
                };
                let width = self.sizes[usize::from(!interleaved)] as i64;
                let corner = |v: i32| i16::try_from(v).is_ok();
                let fits = newer
                    && swizzled
                    && *mode <= 1
                    && corner(*lower)
                    && corner(*upper)
                    && width - 1 + i64::from(*upper) >= i64::from(*lower)
                    && (1..=256).contains(channels)
                    && (every_32 || (1..=1024).contains(pixels));
                if !fits {
                    return None;
                }
                line(*channels)?;
                let pixels = (!every_32).then_some(*pixels);
                Mode::Wide { corners: [*lower, *upper], channels: *channels, pixels }
            }
        };
        let mut map = TensorMap {
            address: self.address,
            element,
            rank,
            sizes: [1; 5],
            strides: [0; 4],
            traversal: [1; 5],
            mode,
            interleave,
            swizzle,
            l2: self.l2,
            fill_nan: self.fill != 0,
        };
        map.sizes[..rank].copy_from_slice(self.sizes);
        map.strides[..rank - 1].copy_from_slice(self.strides);
        map.traversal[..rank].copy_from_slice(self.steps);
        (map.bytes() <= MOST_BYTES).then_some(map)
    }

    /// Corners within their bits, around a box that is not empty. Width is dimension `width`.
    fn corners(&self, lower: &[i32], upper: &[i32], width: usize) -> Option<[[i32; 3]; 2]> {
        let images = self.sizes.len() - 2;
        if lower.len() != images || upper.len() != images {
            return None;
        }
        let limit = match images {
            1 => 1 << 15,
            2 => 1 << 7,
            _ => 1 << 4,
        };
        let mut corners = [[0; 3]; 2];
        for i in 0..images {
            let fits = |v: i32| (-limit..limit).contains(&v);
            let last = self.sizes[width + i] as i64 - 1 + i64::from(upper[i]);
            if !fits(lower[i]) || !fits(upper[i]) || last < lower[i].into() {
                return None;
            }
            (corners[0][i], corners[1][i]) = (lower[i], upper[i]);
        }
        Some(corners)
    }
}

impl TensorMap {
    /// Whether the tensor may start at another address.
    #[must_use]
    pub fn takes_address(&self, address: u64) -> bool {
        address.is_multiple_of(if self.interleave == Interleave::Bytes32 { 32 } else { 16 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::map::{Mode, TensorMap};
    use super::{Request, Shape};

    fn rows(
        swizzle: u32,
        mode: u32,
        (lower, upper): (i32, i32),
        capability: u32,
    ) -> Option<TensorMap> {
        let shape = Shape::Wide { lower, upper, channels: 32, pixels: 100, mode };
        Request {
            data_type: 6,
            address: 256,
            sizes: &[64, 7, 9, 4],
            strides: &[128, 1024, 8192],
            steps: &[1; 4],
            shape,
            interleave: 0,
            swizzle,
            l2: 0,
            fill: 0,
        }
        .encode(capability)
    }

    /// By the driver's description of `cuTensorMapEncodeIm2colWide`.
    #[test]
    fn rows_of_images_are_encoded() {
        let map = rows(2, 0, (-1, 1), 100).expect("a map");
        assert_eq!(map.mode, Mode::Wide { corners: [-1, 1], channels: 32, pixels: Some(100) });
        let map = rows(3, 1, (0, 0), 100).expect("a map");
        assert_eq!(map.mode, Mode::Wide { corners: [0; 2], channels: 32, pixels: None });
        // Swizzles: of 64, 128 and, without the fixed number of pixels, 96 bytes.
        let taken = |mode| (0..8).filter(|s| rows(*s, mode, (0, 0), 100).is_some()).collect();
        let both: [Vec<u32>; 2] = [taken(0), taken(1)];
        assert_eq!(both, [vec![2, 3, 4, 7], vec![2, 3, 4]]);
        assert_eq!(rows(3, 2, (0, 0), 100), None, "no such mode");
        assert_eq!(rows(3, 0, (0, -8), 100), None, "an empty box");
        assert_eq!(rows(3, 0, (0, 0), 90), None, "an older device");
    }
}
