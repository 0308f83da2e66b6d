//! Which bytes of a tensor a copy takes, and where in shared memory they lie, line by line.
//!
//! A line runs along the first dimension. As recorded on an H200:
//! - lines of a swizzled box are as far apart as the swizzle's span, however short they are;
//! - in an interleaved tensor the indices of dimension 0 are slices of 16 or 32 bytes, dimension rank - 2 moves one
//!   index whatever the box says, and a pixel of im2col is one slice, of the channels that dimension rank - 2 names;
//! - the first index must lie at a multiple of 16 bytes, and a pixel of im2col within the bounding box, or the copy
//!   fails; so does a store that starts at a negative index.

use super::map::{Interleave, Mode, TensorMap, WIDE_PIXELS};
use crate::effect::window;

/// Indices along dimension 0 with one place in the other dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    /// First index.
    pub first: i64,
    /// From one index to the next.
    pub step: i64,
    /// Indices.
    pub count: u32,
    /// Address of index 0; `None` where the line lies outside the tensor.
    pub base: Option<u64>,
    /// First byte in shared memory, from the start of the box.
    pub shared: u64,
}

/// How an instruction names a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// One box.
    Tile,
    /// Four rows of a tensor of two dimensions.
    Rows4,
    /// Pixels of images; with offsets from the bounding box.
    Im2col,
    /// Pixels of one row of images, with the size of the halo and an offset along the row; 128 of them or not.
    Wide { pixels128: bool },
}

impl Access {
    /// Whether pixels of images are meant.
    const fn of_images(self) -> bool {
        matches!(self, Self::Im2col | Self::Wide { .. })
    }
}

/// Lines of one copy and the sizes that they share.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    pub lines: Vec<Line>,
    /// Bytes of the tensor that one place along dimension 0 takes (a group of short elements is one place).
    pub unit: u32,
    /// Its bytes in shared memory.
    pub shared_unit: u32,
    /// Elements in it.
    pub group: u32,
    /// Bytes that a copy moves.
    pub bytes: u64,
}

impl TensorMap {
    /// The lines of a copy that starts at `at`; `offsets` are those of im2col. `stores`: it writes the tensor.
    ///
    /// # Errors
    /// What the map or the place does not allow.
    pub(super) fn walk(
        &self,
        access: Access,
        at: &[i32; 5],
        offsets: &[u32; 3],
        stores: bool,
    ) -> Result<Walk, String> {
        let (group, bytes, packed) = self.element.group();
        let (unit, shared_unit, group) = match self.interleave.slice() {
            Some(slice) => (slice, slice, 1),
            None => (bytes, packed, group),
        };
        if !access.of_images() || self.interleave == Interleave::None {
            self.check_start(at[0], unit, group)?;
        }
        let used = if access == Access::Rows4 { 5 } else { self.rank };
        if stores && at.iter().take(used).any(|c| *c < 0) {
            return Err("a store to a tensor starts at a negative index".into());
        }
        let mut walk = Walk { lines: Vec::new(), unit, shared_unit, group, bytes: 0 };
        match (&self.mode, access) {
            (Mode::Tiled(sizes), Access::Tile) => self.tile(&mut walk, sizes, at)?,
            (Mode::Tiled(sizes), Access::Rows4) => {
                if self.rank != 2 || self.interleave != Interleave::None {
                    return Err("four rows need a tensor of two dimensions, not interleaved".into());
                }
                self.rows(&mut walk, sizes[0], at);
            }
            (Mode::Im2col { corners, channels, pixels }, Access::Im2col) => {
                self.pixels(&mut walk, (corners, *channels, *pixels), at, offsets)?;
            }
            (Mode::Wide { corners, channels, pixels }, Access::Wide { pixels128 })
                if pixels.is_none() == pixels128 =>
            {
                if stores && (corners[0] < 0 || corners[1] > 0) {
                    return Err("a store's bounding box reaches beyond the tensor".into());
                }
                self.row(&mut walk, (*corners, *channels, *pixels), at, offsets)?;
            }
            (Mode::Tiled(_), Access::Im2col | Access::Wide { .. }) => {
                return Err("an im2col access to a tensor map of tiled mode".into());
            }
            (Mode::Im2col { .. } | Mode::Wide { .. }, Access::Tile | Access::Rows4) => {
                return Err("a tiled access to a tensor map of im2col mode".into());
            }
            (Mode::Im2col { .. }, Access::Wide { .. })
            | (Mode::Wide { .. }, Access::Im2col | Access::Wide { .. }) => {
                return Err("the tensor map is of another im2col mode than the access".into());
            }
        }
        Ok(walk)
    }

    /// Bytes that a load moves, and completes at its mbarrier, from a place of the tensor on.
    ///
    /// # Errors
    /// Why the load fails.
    pub fn copy_bytes(&self, at: &[i32; 5], offsets: &[u32; 3]) -> Result<u64, String> {
        let access = match self.mode {
            Mode::Tiled(_) => Access::Tile,
            Mode::Im2col { .. } => Access::Im2col,
            Mode::Wide { pixels, .. } => Access::Wide { pixels128: pixels.is_none() },
        };
        self.walk(access, at, offsets, false).map(|walk| walk.bytes)
    }

    fn check_start(&self, first: i32, unit: u32, group: u32) -> Result<(), String> {
        let whole = first % group as i32 == 0;
        let byte = i64::from(first / group as i32) * i64::from(unit);
        if whole && byte % 16 == 0 {
            return Ok(());
        }
        Err(format!(
            "a tensor copy starts at index {first} of dimension 0, which is no multiple of 16 bytes"
        ))
    }

    /// From one line to the next in shared memory.
    fn pitch(&self, line: u64) -> u64 {
        match self.interleave {
            Interleave::None => line.max(self.swizzle.span().into()),
            Interleave::Bytes16 | Interleave::Bytes32 => line,
        }
    }

    /// Address of index 0 of dimension 0 at a place of the others.
    fn base(&self, place: &[i64; 5]) -> Option<u64> {
        let mut address = self.address;
        for (d, &index) in place.iter().enumerate().take(self.rank).skip(1) {
            if index < 0 || index as u64 >= self.sizes[d] {
                return None;
            }
            address = address.wrapping_add((index as u64).wrapping_mul(self.strides[d - 1]));
        }
        Some(address)
    }

    fn tile(&self, walk: &mut Walk, sizes: &[u32; 5], at: &[i32; 5]) -> Result<(), String> {
        let interleaved = self.interleave != Interleave::None;
        let steps: [u32; 5] =
            std::array::from_fn(|d| if d == 0 && !interleaved { 1 } else { self.traversal[d] });
        let counts: [u32; 5] = std::array::from_fn(|d| match d {
            _ if d >= self.rank => 1,
            _ if interleaved && d == self.rank - 2 => 1,
            _ => sizes[d].div_ceil(steps[d]),
        });
        let count = counts[0] / walk.group;
        let line = u64::from(count) * u64::from(walk.shared_unit);
        let pitch = self.pitch(line);
        let lines: u64 = counts[1..].iter().map(|n| u64::from(*n)).product();
        // A map that was replaced field by field may ask for anything.
        if lines.saturating_mul(pitch.max(1)) > window::SHARED_CTA {
            return Err(format!("a box of {lines} lines is larger than any shared memory"));
        }
        for n in 0..lines {
            let mut rest = n;
            let mut place = [0i64; 5];
            for d in 1..self.rank {
                let index = rest % u64::from(counts[d]);
                rest /= u64::from(counts[d]);
                place[d] = i64::from(at[d]) + index as i64 * i64::from(steps[d]);
            }
            walk.lines.push(Line {
                first: i64::from(at[0]) / i64::from(walk.group),
                step: steps[0].into(),
                count,
                base: self.base(&place),
                shared: n * pitch,
            });
        }
        walk.bytes = lines * line;
        Ok(())
    }

    fn rows(&self, walk: &mut Walk, size: u32, at: &[i32; 5]) {
        let count = size / walk.group;
        let line = u64::from(count) * u64::from(walk.shared_unit);
        let pitch = self.pitch(line);
        for (n, &row) in at[1..].iter().enumerate() {
            walk.lines.push(Line {
                first: i64::from(at[0]) / i64::from(walk.group),
                step: 1,
                count,
                base: self.base(&[0, row.into(), 0, 0, 0]),
                shared: n as u64 * pitch,
            });
        }
        walk.bytes = 4 * line;
    }

    fn pixels(
        &self,
        walk: &mut Walk,
        (corners, channels, pixels): (&[[i32; 3]; 2], u32, u32),
        at: &[i32; 5],
        offsets: &[u32; 3],
    ) -> Result<(), String> {
        let (images, last) = (self.rank - 2, self.rank - 1);
        // Width is the dimension after the channels, or the first one where channels come in slices.
        let interleaved = self.interleave != Interleave::None;
        let width = usize::from(!interleaved);
        let low: [i64; 3] = std::array::from_fn(|i| corners[0][i].into());
        let high: [i64; 3] = std::array::from_fn(|i| {
            if i < images { self.sizes[width + i] as i64 - 1 + i64::from(corners[1][i]) } else { 0 }
        });
        let mut pixel: [i64; 3] =
            std::array::from_fn(|i| if i < images { at[width + i].into() } else { 0 });
        let mut image = i64::from(at[last]);
        if (0..images).any(|i| pixel[i] < low[i] || pixel[i] > high[i]) {
            return Err("an im2col copy starts outside the bounding box of its tensor map".into());
        }
        let count = if interleaved { 1 } else { channels / walk.group };
        let line = u64::from(count) * u64::from(walk.shared_unit);
        let pitch = self.pitch(line);
        for n in 0..u64::from(pixels) {
            let mut place = [0i64; 5];
            for i in 0..images {
                place[width + i] = pixel[i] + i64::from(offsets[i]);
            }
            place[last] = image;
            let first = if interleaved {
                place[last - 1] = at[last - 1].into();
                place[0]
            } else {
                i64::from(at[0]) / i64::from(walk.group)
            };
            let base = self.base(&place);
            walk.lines.push(Line { first, step: 1, count, base, shared: n * pitch });
            let mut i = 0;
            while i < images {
                pixel[i] += i64::from(self.traversal[width + i]);
                if pixel[i] <= high[i] {
                    break;
                }
                pixel[i] = low[i];
                i += 1;
            }
            if i == images {
                image += i64::from(self.traversal[last]);
            }
        }
        walk.bytes = u64::from(pixels) * line;
        Ok(())
    }

    /// `im2col::w`, by the manual: pixels along the width, which go on at the left side of the bounding box in the next
    /// image, and the halo behind them: as many of the pixels that follow. With 128 pixels there is a halo behind every
    /// 32, and the next 32 begin where the last ones ended.
    fn row(
        &self,
        walk: &mut Walk,
        (corners, channels, pixels): ([i32; 2], u32, Option<u32>),
        at: &[i32; 5],
        &[halo, offset, _]: &[u32; 3],
    ) -> Result<(), String> {
        let last = self.rank - 1;
        let interleaved = self.interleave != Interleave::None;
        let width = usize::from(!interleaved);
        let low = i64::from(corners[0]);
        let high = self.sizes[width] as i64 - 1 + i64::from(corners[1]);
        let start = i64::from(at[width]);
        if start > high {
            let message = "an im2col::w copy starts behind the bounding box of its tensor map";
            return Err(message.into());
        }
        let (part, parts) = match pixels {
            Some(pixels) => (pixels, 1),
            None => (WIDE_PIXELS / 4, 4),
        };
        let count = if interleaved { 1 } else { channels / walk.group };
        let line = u64::from(count) * u64::from(walk.shared_unit);
        let pitch = self.pitch(line);
        let pixels = u64::from(part + halo) * parts;
        if pixels.saturating_mul(pitch.max(1)) > window::SHARED_CTA {
            return Err(format!("a column of {pixels} pixels is larger than any shared memory"));
        }
        let (mut next, mut image) = (start, i64::from(at[last]));
        for _ in 0..parts {
            let mut resumed = (next, image);
            for n in 0..part + halo {
                if n == part {
                    resumed = (next, image);
                }
                let mut place: [i64; 5] = std::array::from_fn(|d| at[d].into());
                place[width] = next + i64::from(offset);
                place[last] = image;
                let first = if interleaved { place[0] } else { place[0] / i64::from(walk.group) };
                let shared = walk.lines.len() as u64 * pitch;
                walk.lines.push(Line { first, step: 1, count, base: self.base(&place), shared });
                next += i64::from(self.traversal[width]);
                if next > high {
                    (next, image) = (low, image + 1);
                }
            }
            if halo > 0 {
                (next, image) = resumed;
            }
        }
        walk.bytes = pixels * line;
        Ok(())
    }

    /// Places along dimension 0. A store writes whole chunks of 16 bytes, so its tensor ends at the end of one.
    pub(super) fn places(&self, walk: &Walk, stores: bool) -> i64 {
        let places = (self.sizes[0] / u64::from(walk.group)) as i64;
        let unit = i64::from(walk.unit);
        if stores && unit < 16 { (places * unit + 15) / 16 * 16 / unit } else { places }
    }
}

#[cfg(test)]
mod tests {
    use super::super::map::{Element, Interleave, Mode, Swizzle, TensorMap};
    use super::{Access, Walk};

    /// Images of 64 halves in each of `width` x 9 pixels, 128 of them, each pixel 128 bytes behind the one before.
    fn images(width: u64, corners: [i32; 2], step: u32, pixels: Option<u32>) -> TensorMap {
        TensorMap {
            address: 0,
            element: Element::F16,
            rank: 4,
            sizes: [64, width, 9, 128, 1],
            strides: [128, 128 * width, 128 * width * 9, 0],
            traversal: [1, step, 1, 1, 1],
            mode: Mode::Wide { corners, channels: 64, pixels },
            interleave: Interleave::None,
            swizzle: Swizzle::Span128,
            l2: 0,
            fill_nan: false,
        }
    }

    /// Width and image of each pixel in row 2; `None` where it lies outside.
    fn pixels(walk: &Walk, width: u64) -> Vec<Option<(u64, u64)>> {
        let place = |base: u64| {
            let pixel = base / 128;
            assert_eq!(pixel / width % 9, 2);
            (pixel % width, pixel / width / 9)
        };
        walk.lines.iter().map(|line| line.base.map(place)).collect()
    }

    fn walk(map: &TensorMap, w: i32, halo: u32, offset: u32) -> Result<Walk, String> {
        let pixels128 = matches!(map.mode, Mode::Wide { pixels: None, .. });
        map.walk(Access::Wide { pixels128 }, &[0, w, 2, 7, 0], &[halo, offset, 0], false)
    }

    /// The examples of the manual, 5.5.5.3 and 5.5.5.4.
    #[test]
    fn rows_of_images_go_on_in_the_next_one() {
        let map = images(7, [0, 0], 1, Some(128));
        assert_eq!(TensorMap::decode(&map.encode()), Ok(map));
        let one = walk(&map, 3, 2, 0).unwrap();
        let all = pixels(&one, 7);
        assert_eq!((all.len(), one.bytes), (130, 130 * 128));
        assert_eq!(all[..5], [(3, 7), (4, 7), (5, 7), (6, 7), (0, 8)].map(Some));
        assert_eq!(all[127..], [(4, 25), (5, 25), (6, 25)].map(Some));
        assert_eq!(one.lines[129].shared, 129 * 128);

        // Behind every 32 pixels come two that the next 32 have again.
        let map = images(7, [0, 0], 1, None);
        assert_eq!(TensorMap::decode(&map.encode()), Ok(map));
        let one = walk(&map, 3, 2, 0).unwrap();
        let all = pixels(&one, 7);
        assert_eq!((all.len(), one.bytes), (136, 136 * 128));
        assert_eq!(all[32..36], [all[34], all[35], all[34], all[35]]);

        // A filter of three with steps of two: the first and the last column, and the one between them.
        let map = images(67, [-1, 0], 2, Some(128));
        let all = pixels(&walk(&map, -1, 1, 0).unwrap(), 67);
        assert_eq!(all.len(), 129);
        assert_eq!((all[0], all[1], all[33], all[34]), (None, Some((1, 7)), Some((65, 7)), None));
        let all = pixels(&walk(&map, -1, 0, 1).unwrap(), 67);
        assert_eq!((all[0], all[33], all[34]), (Some((0, 7)), Some((66, 7)), Some((0, 8))));
    }

    #[test]
    fn modes_and_places_must_fit() {
        let map = images(7, [0, -1], 1, Some(8));
        assert!(walk(&map, -3, 0, 0).is_ok(), "left of the bounding box");
        assert!(walk(&map, 6, 0, 0).is_err(), "right of it");
        let other = Access::Wide { pixels128: true };
        assert!(map.walk(other, &[0; 5], &[0; 3], false).is_err());
        assert!(map.walk(Access::Im2col, &[0; 5], &[0; 3], false).is_err());
        let wide = Access::Wide { pixels128: false };
        assert!(map.walk(wide, &[0; 5], &[0; 3], true).is_ok());
        let map = images(7, [-1, 0], 1, Some(8));
        assert!(map.walk(wide, &[0; 5], &[0; 3], true).is_err(), "a store beyond the tensor");
    }
}
