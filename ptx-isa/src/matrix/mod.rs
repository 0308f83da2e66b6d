//! Warp-wide matrix instructions as functions on register fragments, bit for bit as an H200.
//!
//! A fragment is a slice of registers, each a row of 32 lanes. Every instruction is parsed once from
//! its modifiers ([`Mma::parse`]) and then run on fragments. The order, alignment and truncation of
//! the floating-point sums are the hardware's, found from recordings (see `dot`).

mod block;
mod columns;
mod datapath;
mod descriptor;
mod dot;
mod double;
mod fragment;
mod integers;
mod mma;
pub mod moves;
pub(crate) mod run;
mod scaled;
mod sparse;
mod types;
mod volta;
mod wgmma;
mod wmma;
mod wmma_fragment;

pub(crate) use block::{BlockProduct, BlockScale, TensorFactor};
pub use descriptor::Descriptor;
pub(crate) use descriptor::{Major, Packing};
pub use fragment::Rows;
pub use mma::{BitOp, F64Round, Mma};
pub(crate) use scaled::narrow;
pub use scaled::{Scale, ScaledMma, Selector};
pub use types::{Elem, Layout, MatrixError, Shape};
pub use wgmma::{Wgmma, WgmmaA, WgmmaArgs};
pub use wmma::{Wmma, WmmaMove};
pub use wmma_fragment::{Fragment, Operand};
