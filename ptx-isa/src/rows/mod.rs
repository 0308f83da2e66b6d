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

/// Tokens that belong to the instruction's name: they follow it at once, before any modifier
/// (`mul.wide.u32`, never `mul.u32.wide`).
pub const NAME_PARTS: &[(&str, &str)] = &[
    ("bar", ".cta .red .warp"),
    ("barrier", ".cta .cluster .red"),
    ("cp", ".async .bulk .commit_group .wait_group .wait_all .reduce"),
    ("cvt", ".pack"),
    ("cvta", ".to"),
    ("div", ".full"),
    ("dp2a", ".lo .hi"),
    ("fence", ".proxy"),
    ("mad", ".lo .hi .wide"),
    ("mad24", ".lo .hi"),
    ("madc", ".lo .hi"),
    ("mbarrier", ".init .inval .arrive .arrive_drop .test_wait .try_wait .pending_count"),
    ("mul", ".lo .hi .wide"),
    ("mul24", ".lo .hi"),
    ("shf", ".l .r"),
    ("suld", ".b"),
    ("sured", ".b .p"),
    ("sust", ".b .p"),
    ("tex", ".base .level .grad"),
    ("wgmma", ".fence .mma_async .commit_group .wait_group"),
    ("wmma", ".load .a .b .c .mma .store .d"),
];
