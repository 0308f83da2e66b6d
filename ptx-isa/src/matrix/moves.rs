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

/// Elements of [`widen`] that have four bits and a sign.
pub const SIGNED4: u32 = 0x84;

/// A row of 16 elements of `bits` bits, a byte each: shorter ones lie in the low bits, those of [`SIGNED4`] become
/// signed bytes.
#[must_use]
pub fn widen(row: &[u8; 16], bits: u32) -> [u8; 16] {
    if bits == 8 {
        return *row;
    }
    let all = u128::from_le_bytes(*row);
    if bits == SIGNED4 {
        return std::array::from_fn(|i| (((all >> (4 * i)) as u8).cast_signed() << 4 >> 4) as u8);
    }
    std::array::from_fn(|i| (all >> (bits as usize * i)) as u8 & ((1 << bits) - 1))
}

/// The fragments of a transposed 16x16 matrix of bytes: lane `l` holds four neighbours of row `l / 4` in the first
/// register, of row `l / 4 + 8` in the second one.
#[must_use]
pub fn load_16x16(rows: &[[u8; 16]; 16]) -> [[u32; 32]; 2] {
    std::array::from_fn(|half| {
        std::array::from_fn(|l| {
            let (r, c) = (l / 4 + 8 * half, l % 4 * 4);
            u32::from_le_bytes(std::array::from_fn(|i| rows[c + i][r]))
        })
    })
}

/// The fragment of an 8x16 matrix of bytes: lane `l` holds four neighbours of row `l / 4`.
#[must_use]
pub fn load_8x16(rows: &[[u8; 16]; 16]) -> [u32; 32] {
    std::array::from_fn(|l| u32::from_le_bytes(std::array::from_fn(|i| rows[l / 4][l % 4 * 4 + i])))
}

/// The columns of the 16x8 matrix of bytes that a fragment holds: lane `l` has two neighbours of row `l / 4`, then two
/// of row `l / 4 + 8`, as in the result of a product.
#[must_use]
pub fn store_16x8(fragment: &[u32; 32]) -> [[u8; 16]; 8] {
    let mut columns = [[0; 16]; 8];
    for (l, v) in fragment.iter().enumerate() {
        for (i, byte) in v.to_le_bytes().into_iter().enumerate() {
            columns[l % 4 * 2 + i % 2][l / 4 + i / 2 * 8] = byte;
        }
    }
    columns
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

    #[test]
    fn bytes_come_widened_and_transposed() {
        let rows: [[u8; 16]; 16] =
            std::array::from_fn(|r| std::array::from_fn(|c| (16 * r + c) as u8));
        assert_eq!(load_8x16(&rows)[5], 0x1716_1514);
        let [low, high] = load_16x16(&rows);
        assert_eq!((low[5], high[5]), (0x7161_5141, 0x7969_5949));
        let short = widen(&[0xa3, 0x50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 4);
        assert_eq!(short[..4], [3, 10, 0, 5]);
        let short = widen(&[0xff, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 6);
        assert_eq!(short[..3], [63, 63, 0]);
        let columns = store_16x8(&std::array::from_fn(|l| l as u32 * 0x0101_0101));
        assert_eq!((columns[3][1], columns[3][9], columns[0][15]), (5, 5, 28));
    }
}
