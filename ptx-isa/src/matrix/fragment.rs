//! How matrix elements are spread over the lanes and registers of a warp (PTX sections
//! "Matrix Fragments for mma.…").
//!
//! Every `mma` shape except `m8n8k4` with f16 and the f64 shapes follows one rule: four lanes of a
//! group hold 16 consecutive bytes along k, the eight groups hold eight rows (A) or columns (B), and
//! further registers step first over the second eight rows, then over the next 16 bytes.

use super::types::Elem;

/// Rows of 32 lanes, one 32-bit register each.
pub type Rows = [[u32; 32]];

/// Raw element `sub` of register `v`.
#[inline]
fn element(v: u32, sub: usize, bits: usize) -> u32 {
    if bits == 32 { v } else { v >> (sub * bits) & ((1 << bits) - 1) }
}

/// Registers per lane of A for `m` rows and `k` stored elements per row.
pub(super) fn a_registers(m: usize, k: usize, t: Elem) -> usize {
    m * k / (32 * t.per_register())
}

/// Raw elements of A as an `m` by `k` matrix, row after row. For single bits an element is a
/// 32-bit word.
pub(super) fn unpack_a(m: usize, k: usize, t: Elem, regs: &Rows, out: &mut Vec<u32>) {
    let (bits, per) = width(t);
    let k = if t == Elem::B1 { k / 32 } else { k };
    out.clear();
    out.resize(m * k, 0);
    let halves = m / 8;
    for (r, row) in regs.iter().enumerate() {
        let (base_row, block) = (r % halves * 8, r / halves);
        for (lane, &v) in row.iter().enumerate() {
            let at = (base_row + lane / 4) * k + block * 4 * per + lane % 4 * per;
            for (sub, o) in out[at..at + per].iter_mut().enumerate() {
                *o = element(v, sub, bits);
            }
        }
    }
}

/// Raw elements of B, column after column (each column's k elements are contiguous).
pub(super) fn unpack_b(n: usize, k: usize, t: Elem, regs: &Rows, out: &mut Vec<u32>) {
    debug_assert_eq!(n, 8);
    unpack_a(n, k, t, regs, out);
}

fn width(t: Elem) -> (usize, usize) {
    if t == Elem::B1 { (32, 1) } else { (t.bits(), t.per_register()) }
}

/// Lane and register of element (`row`, `col`) of a 32-bit accumulator.
#[inline]
pub(super) const fn acc32(row: usize, col: usize) -> (usize, usize) {
    (row % 8 * 4 + col % 8 / 2, (col / 8) * 4 + row / 8 * 2 + col % 2)
}

/// Lane, register and half of element (`row`, `col`) of an f16 accumulator.
#[inline]
pub(super) const fn acc16(row: usize, col: usize) -> (usize, usize, usize) {
    (row % 8 * 4 + col % 8 / 2, (col / 8) * 2 + row / 8, col % 2)
}

/// Half `half` (0 or 1) of a register.
#[inline]
pub(super) const fn half(v: u32, half: usize) -> u16 {
    (v >> (16 * half)) as u16
}

/// Replaces half `half` of a register.
#[inline]
pub(super) fn set_half(v: &mut u32, half: usize, x: u16) {
    let shift = 16 * half;
    *v = *v & !(0xffff << shift) | u32::from(x) << shift;
}

/// Sign- or zero-extends a raw integer element.
#[inline]
pub(super) const fn extend(raw: u32, t: Elem) -> i32 {
    match t {
        Elem::S8 => raw as u8 as i8 as i32,
        Elem::S4 => ((raw << 28) as i32) >> 28,
        _ => raw as i32,
    }
}
