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
    let k = if t == Elem::B1 { k / 32 } else { k };
    out.clear();
    out.resize(m * k, 0);
    match width(t) {
        (32, _) => unpack_as::<32>(m, k, regs, out),
        (16, _) => unpack_as::<16>(m, k, regs, out),
        (8, _) => unpack_as::<8>(m, k, regs, out),
        _ => unpack_as::<4>(m, k, regs, out),
    }
}

/// [`unpack_a`] for elements of `BITS` bits.
fn unpack_as<const BITS: usize>(m: usize, k: usize, regs: &Rows, out: &mut [u32]) {
    let per = 32 / BITS;
    let halves = m / 8;
    for (r, row) in regs.iter().enumerate() {
        let first = r % halves * 8 * k + r / halves * 4 * per;
        for (group, quad) in row.chunks_exact(4).enumerate() {
            let at = first + group * k;
            for (lane, &v) in quad.iter().enumerate() {
                let run = &mut out[at + lane * per..][..per];
                for (sub, o) in run.iter_mut().enumerate() {
                    *o = element(v, sub, BITS);
                }
            }
        }
    }
}

/// Raw accumulator elements row after row: 16 (or 8) rows of `n` columns, in tiles of eight columns.
pub(super) fn unpack_acc(m: usize, n: usize, f16: bool, regs: &Rows) -> Vec<u32> {
    let mut out = vec![0; m * n];
    let per_tile = m / 8 * if f16 { 1 } else { 2 };
    for (r, row) in regs.iter().enumerate() {
        let (tile, q) = (r / per_tile, r % per_tile);
        let half_row = if f16 { q } else { q / 2 };
        let at = half_row * 8 * n + tile * 8;
        for (group, quad) in row.chunks_exact(4).enumerate() {
            let line = &mut out[at + group * n..][..8];
            for (lane, &v) in quad.iter().enumerate() {
                if f16 {
                    line[2 * lane] = v & 0xffff;
                    line[2 * lane + 1] = v >> 16;
                } else {
                    line[2 * lane + q % 2] = v;
                }
            }
        }
    }
    out
}

/// Inverse of [`unpack_acc`].
pub(super) fn pack_acc(m: usize, n: usize, f16: bool, raw: &[u32], regs: &mut Rows) {
    let per_tile = m / 8 * if f16 { 1 } else { 2 };
    for (r, row) in regs.iter_mut().enumerate() {
        let (tile, q) = (r / per_tile, r % per_tile);
        let half_row = if f16 { q } else { q / 2 };
        let at = half_row * 8 * n + tile * 8;
        for (group, quad) in row.chunks_exact_mut(4).enumerate() {
            let line = &raw[at + group * n..][..8];
            for (lane, v) in quad.iter_mut().enumerate() {
                *v = if f16 {
                    line[2 * lane] | line[2 * lane + 1] << 16
                } else {
                    line[2 * lane + q % 2]
                };
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
        Elem::F16
        | Elem::Bf16
        | Elem::Tf32
        | Elem::F32
        | Elem::F64
        | Elem::E4m3
        | Elem::E5m2
        | Elem::U8
        | Elem::U4
        | Elem::B1
        | Elem::S32 => raw as i32,
    }
}
