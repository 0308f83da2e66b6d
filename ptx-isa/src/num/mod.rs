//! Scalar numerics on bit patterns: what one lane of an instruction computes.
//!
//! Every function takes and returns the bits of its values (`u32` for types up to 32 bits, `u64`
//! above) and is `#[inline(always)]` with its modifiers as ordinary arguments: a caller that passes
//! constants gets straight-line code, and the hot functions are free of branches, so that a loop
//! over the 32 lanes of a warp around them vectorises.
//!
//! | module | types |
//! | --- | --- |
//! | [`fp32`] | `.f32` |
//! | [`fp64`] | `.f64` |
//! | [`half`] | `.f16`, `.bf16` (packed forms are the scalar ones twice) |
//! | [`cmp`] | relations of `setp`/`set`, `testp` |
//! | [`cvt`] | `cvt` between integers, `.f16`, `.bf16`, `.f32`, `.f64`, `.tf32` |
//! | [`narrow`] | `cvt` to and from 4-, 6- and 8-bit formats |
//! | [`mode`] | modifiers packed into the constant of a micro-op |
//! | [`soft`] | exact values and their rounding to any format: rare variants, and the reference |
//!
//! **NaN patterns** (recorded on an H200): `.f32` arithmetic gives `0x7fffffff`, `.f16`/`.bf16`
//! arithmetic `0x7fff`; `.f64` arithmetic passes a quieted operand NaN on (of several: second
//! operand first, in `fma` the order is b, c, a, in `div` a, b) and makes `0xfff8000000000000`.
//!
//! **`.ftz`** flushes subnormal operands, and results whose value *rounded with unbounded exponent*
//! lies below the least normal number, to zero of the same sign.
//!
//! **Fused multiply-add**: functions with a `const HW: bool` parameter use the processor's fused
//! instruction when it is `true`. Pass `true` only inside a function compiled with the `fma` target
//! feature: elsewhere the compiler would emit a slow library call. The bits are the same.

pub mod cmp;
pub mod cvt;
pub mod fp32;
pub mod fp64;
pub mod half;
pub mod mode;
pub mod narrow;
pub mod soft;

/// Rounding of a floating-point result (PTX ISA, "Rounding modifiers").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Rnd {
    /// `.rn`: to nearest, ties to even.
    Rn,
    /// `.rz`: toward zero.
    Rz,
    /// `.rm`: toward negative infinity.
    Rm,
    /// `.rp`: toward positive infinity.
    Rp,
    /// `.rna`: to nearest, ties away from zero (`cvt` to `.tf32` only).
    Rna,
}
