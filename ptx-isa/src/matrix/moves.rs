//! `ldmatrix`, `stmatrix` and `movmatrix`: 8x8 matrices of 16-bit elements between rows of 16 bytes
//! and fragments (PTX sections "ldmatrix", "stmatrix", "movmatrix").
//!
//! In a fragment lane `l` holds the elements (`l / 4`, `2 * (l % 4)`) and the one after it.

/// The fragment of the matrix whose row `i` is `rows[i]`.
#[must_use]
pub fn load_8x8(rows: &[[u8; 16]; 8], transpose: bool) -> [u32; 32] {
    let at = |r: usize, c: usize| u32::from(rows[r][2 * c]) | u32::from(rows[r][2 * c + 1]) << 8;
    std::array::from_fn(|l| {
        let (r, c) = (l / 4, l % 4 * 2);
        if transpose { at(c, r) | at(c + 1, r) << 16 } else { at(r, c) | at(r, c + 1) << 16 }
    })
}

/// The rows of the matrix that a fragment holds.
#[must_use]
pub fn store_8x8(fragment: &[u32; 32], transpose: bool) -> [[u8; 16]; 8] {
    let mut rows = [[0u8; 16]; 8];
    for (l, v) in fragment.iter().enumerate() {
        for half in 0..2 {
            let (r, c) = (l / 4, l % 4 * 2 + half);
            let (r, c) = if transpose { (c, r) } else { (r, c) };
            let bytes = (v >> (16 * half)).to_le_bytes();
            rows[r][2 * c] = bytes[0];
            rows[r][2 * c + 1] = bytes[1];
        }
    }
    rows
}

/// The fragment of the transposed matrix (`movmatrix.trans`).
#[must_use]
pub fn transpose_8x8(fragment: &[u32; 32]) -> [u32; 32] {
    load_8x8(&store_8x8(fragment, false), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lane_holds_two_neighbours_of_its_row() {
        let rows = std::array::from_fn(|r| std::array::from_fn(|b| (16 * r + b) as u8));
        let f = load_8x8(&rows, false);
        assert_eq!(f[0], 0x0302_0100);
        assert_eq!(f[5], 0x1716_1514);
        assert_eq!(load_8x8(&rows, true)[0], 0x1110_0100);
        assert_eq!(store_8x8(&f, false), rows);
        assert_eq!(transpose_8x8(&f), load_8x8(&rows, true));
    }
}
