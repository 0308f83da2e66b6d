//! The tensor cores of the fifth generation (PTX ISA 9.7.18) and their Tensor Memory.
//!
//! Everything here follows the manual; no hardware that has it was recorded. Where the manual shows a layout in a
//! figure only, the layout is that of the public CuTe headers, which state the same as strides. Sums are those of the
//! recorded datapath for 16-bit floats, as in `mma` of narrow floats.
//!
//! Every operation is complete when it is issued: a program that waits as the manual demands sees the same memory, and
//! waits and fences have nothing left to do.
//!
//! - [`memory`]: Tensor Memory and its allocation; `fragment`: which thread holds which cell in loads and stores;
//! - `instruction`: instruction descriptors and zero-column masks; `place`: where elements of the matrices lie;
//! - `moves`, `product`: the instructions over a warp.

mod fragment;
mod instruction;
pub mod memory;
pub(crate) mod moves;
mod place;
pub(crate) mod product;
#[cfg(test)]
mod tests;

pub use memory::TensorMemory;

pub(crate) use fragment::{Fragment, Shape};
pub(crate) use instruction::Kind;
