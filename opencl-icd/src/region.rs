//! Rectangles in buffers and images.

use crate::cl::{Error, Result};
use c_border::Raw;

/// Rows and slices of memory, from an origin on.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// First byte of the rectangle.
    pub start: Raw,
    /// Bytes from row to row.
    pub row: usize,
    /// Bytes from slice to slice.
    pub slice: usize,
}

impl Rows {
    /// One row.
    #[must_use]
    pub fn line(start: Raw, bytes: usize) -> Rows {
        Rows { start, row: bytes, slice: bytes }
    }
}

/// Copies `region` (bytes of a row, rows, slices).
pub fn copy(to: Rows, from: Rows, region: [usize; 3]) {
    let [width, height, depth] = region;
    let solid = |r: &Rows| r.row == width && (r.slice == width * height || depth == 1);
    if solid(&to) && solid(&from) {
        to.start.copy_from(from.start, width * height * depth);
        return;
    }
    for z in 0..depth {
        for y in 0..height {
            let at = |r: &Rows| r.start.offset(z * r.slice + y * r.row);
            at(&to).copy_from(at(&from), width);
        }
    }
}

/// A rectangle as the `…Rect` functions describe it.
#[derive(Clone, Copy, Debug)]
pub struct Rect {
    /// Bytes, rows, slices before it.
    pub origin: [usize; 3],
    /// Bytes, rows, slices.
    pub region: [usize; 3],
    /// Bytes from row to row.
    pub row: usize,
    /// Bytes from slice to slice.
    pub slice: usize,
}

impl Rect {
    /// With the pitches that 0 stands for.
    ///
    /// # Errors
    /// When something is zero or does not fit.
    pub fn new(origin: [usize; 3], region: [usize; 3], row: usize, slice: usize) -> Result<Rect> {
        let [width, height, depth] = region;
        if width == 0 || height == 0 || depth == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let row = if row == 0 { width } else { row };
        let least = height.checked_mul(row).ok_or(Error::INVALID_VALUE)?;
        let slice = if slice == 0 { least } else { slice };
        if row < width || slice < least || !slice.is_multiple_of(row) {
            return Err(Error::INVALID_VALUE);
        }
        Ok(Rect { origin, region, row, slice })
    }

    /// Bytes before its first one.
    pub fn offset(&self) -> Option<usize> {
        let [x, y, z] = self.origin;
        z.checked_mul(self.slice)?.checked_add(y.checked_mul(self.row)?)?.checked_add(x)
    }

    /// Bytes from its first to its last one.
    pub fn extent(&self) -> Option<usize> {
        let [x, y, z] = self.region;
        let last = (z - 1).checked_mul(self.slice)?.checked_add((y - 1).checked_mul(self.row)?)?;
        last.checked_add(x)
    }

    /// Its place in memory that starts at `base`.
    pub fn rows(&self, base: Raw) -> Rows {
        let start = base.offset(self.offset().unwrap_or(0));
        Rows { start, row: self.row, slice: self.slice }
    }

    /// Refuses a rectangle that goes over the end of `size` bytes.
    ///
    /// # Errors
    /// When it does.
    pub fn within(&self, size: usize) -> Result {
        let end = self.offset().zip(self.extent()).and_then(|(a, b)| a.checked_add(b));
        if end.is_some_and(|end| end <= size) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    /// Bytes that it covers.
    pub fn bytes(&self) -> usize {
        self.region.iter().product()
    }

    /// Where row `i` starts.
    fn row_start(&self, i: usize) -> usize {
        let height = self.region[1];
        self.offset().unwrap_or(0) + i / height * self.slice + i % height * self.row
    }

    /// Whether two rectangles in one buffer share a byte.
    pub fn overlaps(&self, other: &Rect) -> bool {
        let rows = |r: &Rect| r.region[1] * r.region[2];
        let (mut i, mut j) = (0, 0);
        while i < rows(self) && j < rows(other) {
            let (a, b) = (self.row_start(i), other.row_start(j));
            if a < b + other.region[0] && b < a + self.region[0] {
                return true;
            }
            if a < b { i += 1 } else { j += 1 }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles() {
        let r = Rect::new([1, 2, 3], [4, 5, 6], 0, 0).unwrap();
        assert_eq!((r.row, r.slice), (4, 20));
        assert_eq!(r.offset(), Some(1 + 8 + 60));
        assert_eq!(r.extent(), Some(5 * 20 + 4 * 4 + 4));
        assert!(r.within(69 + 120).is_ok() && r.within(69 + 119).is_err());
        assert!(Rect::new([0; 3], [4, 4, 1], 3, 0).is_err());
        assert!(Rect::new([0; 3], [4, 4, 1], 5, 21).is_err());
        assert!(Rect::new([0; 3], [0, 4, 1], 0, 0).is_err());
    }

    #[test]
    fn overlap_is_what_bytes_say() {
        for (dx, dy, dz) in
            (0..8).flat_map(|x| (0..4).flat_map(move |y| (0..2).map(move |z| (x, y, z))))
        {
            for region in [[3, 2, 1], [8, 1, 1], [2, 4, 2], [5, 3, 2]] {
                let a = Rect::new([2, 1, 0], region, 8, 32).unwrap();
                let b = Rect::new([dx, dy, dz], region, 8, 32).unwrap();
                let bytes = |r: &Rect| -> std::collections::HashSet<usize> {
                    let [w, h, d] = r.region;
                    let o = r.offset().unwrap();
                    (0..d)
                        .flat_map(|z| {
                            (0..h).flat_map(move |y| (0..w).map(move |x| o + z * 32 + y * 8 + x))
                        })
                        .collect()
                };
                let shared = !bytes(&a).is_disjoint(&bytes(&b));
                assert_eq!(a.overlaps(&b), shared, "{a:?} {b:?}");
            }
        }
    }
}
