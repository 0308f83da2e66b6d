//! Which bytes of a tensor a copy takes, and where in shared memory they lie, line by line.
//!
//! A line runs along the first dimension. As recorded on an H200:
//! - lines of a swizzled box are as far apart as the swizzle's span, however short they are;
//! - in an interleaved tensor the indices of dimension 0 are slices of 16 or 32 bytes, dimension rank - 2 moves one
//!   index whatever the box says, and a pixel of im2col is one slice, of the channels that dimension rank - 2 names;
//! - the first index must lie at a multiple of 16 bytes, and a pixel of im2col within the bounding box, or the copy
//!   fails; so does a store that starts at a negative index.

use super::map::{Interleave, Mode, TensorMap};
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
        if access != Access::Im2col || self.interleave == Interleave::None {
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
            (Mode::Tiled(_), Access::Im2col) => {
                return Err("an im2col access to a tensor map of tiled mode".into());
            }
            (Mode::Im2col { .. }, Access::Tile | Access::Rows4) => {
                return Err("a tiled access to a tensor map of im2col mode".into());
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

    /// Places along dimension 0. A store writes whole chunks of 16 bytes, so its tensor ends at the end of one.
    pub(super) fn places(&self, walk: &Walk, stores: bool) -> i64 {
        let places = (self.sizes[0] / u64::from(walk.group)) as i64;
        let unit = i64::from(walk.unit);
        if stores && unit < 16 { (places * unit + 15) / 16 * 16 / unit } else { places }
    }
}
