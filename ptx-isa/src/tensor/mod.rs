//! Tensor maps and what tensor copies do with them (PTX ISA 5.5), bit for bit as an H200.
//!
//! `map` is the object of 128 bytes, `request` what a driver is asked for, `walk` says which bytes of the tensor belong
//! to which bytes of shared memory, `copy` is the meaning of the instructions.

pub(crate) mod copy;
mod map;
mod request;
mod walk;

pub use map::{Element, Field, Interleave, Mode, Swizzle, TensorMap};
pub use request::{Request, Shape};
