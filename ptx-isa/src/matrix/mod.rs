//! Warp-wide matrix instructions as functions on register fragments, bit for bit as an H200.
//!
//! A fragment is a slice of registers, each a row of 32 lanes. Every instruction is parsed once from
//! its modifiers ([`Mma::parse`]) and then run on fragments. The order, alignment and truncation of
//! the floating-point sums are the hardware's, found from recordings (see [`dot`]).

mod descriptor;
mod dot;
mod double;
mod fragment;
mod mma;
mod sparse;
mod types;
mod volta;
mod wgmma;
mod wmma;

pub use fragment::Rows;
pub use mma::{BitOp, F64Round, Mma};
pub use types::{Elem, Layout, MatrixError, Shape};
pub use wmma::{Fragment, Operand, Wmma, WmmaMove};
pub use descriptor::Descriptor;
pub use wgmma::{Wgmma, WgmmaA, WgmmaArgs};
