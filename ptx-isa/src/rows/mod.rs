//! The instruction rows, a file per family.
//!
//! Adding an instruction: write a [`Row`](crate::Row) in its family's file (notation:
//! [`crate::syntax`]; meaning: a function over [`Cx`](crate::Cx)); micro-ops it needs stand in
//! [`crate::uop`]. Nothing else changes: matcher, verifier, engines and docs read the table.

use crate::row::Row;

pub mod approx;
pub mod async_copy;
pub mod atomics;
pub mod bits;
pub mod cluster;
pub mod compare;
pub mod control;
pub mod cvt;
pub mod cvt_narrow;
pub mod dot;
pub mod float;
pub mod half;
pub mod int_arith;
pub mod lenient;
pub mod matrix_move;
pub mod mbarrier;
pub mod memory;
pub mod misc;
pub mod mma;
pub mod mov;
pub mod sync;
pub mod tcgen05;
pub mod tensor_copy;
pub mod texture;
pub mod video;
pub mod video_simd;
pub mod warp;
pub mod wgmma;
pub mod wmma;

/// All families.
#[rustfmt::skip] // one line each
pub static FAMILIES: &[&[Row]] = &[
    int_arith::ROWS,
    bits::ROWS,
    approx::ROWS,
    dot::ROWS,
    video::ARITHMETIC,
    video::SHIFTS,
    video::ROWS,
    video_simd::HALVES,
    video_simd::BYTES,
    video_simd::ROWS,
    float::ROWS,
    half::ROWS,
    compare::ROWS,
    cvt::ROWS,
    cvt_narrow::ROWS,
    mov::ROWS,
    memory::ROWS,
    atomics::ROWS,
    warp::ROWS,
    sync::ROWS,
    misc::ROWS,
    texture::ROWS,
    control::ROWS,
    mma::ROWS,
    wmma::ROWS,
    wgmma::ROWS,
    matrix_move::ROWS,
    mbarrier::ROWS,
    async_copy::ROWS,
    tensor_copy::ROWS,
    cluster::ROWS,
    tcgen05::ROWS,
];
