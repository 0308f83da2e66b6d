//! The instruction rows, a file per family.
//!
//! Adding an instruction: write a [`Row`] in its family's file (notation:
//! [`crate::syntax`]; meaning: a function over [`Cx`](crate::Cx)); micro-ops it needs stand in
//! [`crate::uop`]. Nothing else changes: matcher, verifier, engines and docs read the table.

use crate::row::Row;

pub mod approx;
pub mod async_copy;
pub mod async_store;
pub mod atomics;
pub mod bits;
pub mod bulk_copy;
pub mod bulk_reduce;
pub mod cache;
pub mod cluster;
pub mod compare;
pub mod control;
pub mod cvt;
pub mod cvt_bf16;
pub mod cvt_narrow;
pub mod cvt_packed;
pub mod cvt_scaled;
pub mod dot;
pub mod fabric;
pub mod float;
pub mod float_divide;
pub mod float_minmax;
pub mod half;
pub mod half_minmax;
pub mod half_mixed;
pub mod int_arith;
pub mod int_carry;
pub mod int_minmax;
pub mod lenient;
pub mod logic;
pub mod matrix_move;
pub mod mbarrier;
pub mod mbarrier_wait;
pub mod memory;
pub mod misc;
pub mod mma;
pub mod mma_sparse;
pub mod mov;
pub mod multimem;
pub mod proxy;
pub mod redux;
pub mod select;
pub mod set;
pub mod setp;
pub mod structured;
pub mod surface;
pub mod sync;
pub mod tcgen05;
pub mod tcgen05_mma;
pub mod tensor_copy;
pub mod tensor_newer;
pub mod tensormap;
pub mod texture;
pub mod texture_gather;
pub mod texture_query;
pub mod video;
pub mod video_simd;
pub mod vote;
pub mod warp;
pub mod wgmma;
pub mod wgmma_sparse;
pub mod wmma;
pub mod wmma_move;

/// All families.
#[rustfmt::skip] // one line each
pub static FAMILIES: &[&[Row]] = &[
    int_arith::ROWS,
    int_carry::ROWS,
    int_minmax::ROWS,
    bits::ROWS,
    logic::ROWS,
    approx::ROWS,
    dot::ROWS,
    video::ARITHMETIC,
    video::SHIFTS,
    video::ROWS,
    video_simd::HALVES,
    video_simd::BYTES,
    video_simd::ROWS,
    float::ROWS,
    float_divide::ROWS,
    float_minmax::ROWS,
    half::ROWS,
    half_minmax::ROWS,
    half_mixed::ROWS,
    set::ROWS,
    setp::ROWS,
    select::ROWS,
    cvt::ROWS,
    cvt_bf16::ROWS,
    cvt_packed::ROWS,
    cvt_narrow::ROWS,
    cvt_scaled::ROWS,
    mov::ROWS,
    memory::ROWS,
    cache::ROWS,
    atomics::ROWS,
    warp::ROWS,
    vote::ROWS,
    redux::ROWS,
    sync::ROWS,
    misc::ROWS,
    texture::ROWS,
    texture_gather::ROWS,
    surface::ROWS,
    texture_query::ROWS,
    control::ROWS,
    mma::ROWS,
    mma_sparse::ROWS,
    wmma::ROWS,
    wmma_move::ROWS,
    wgmma::ROWS,
    wgmma_sparse::ROWS,
    matrix_move::ROWS,
    mbarrier::ROWS,
    mbarrier_wait::ROWS,
    async_copy::ROWS,
    bulk_copy::ROWS,
    bulk_reduce::ROWS,
    async_store::ROWS,
    tensor_copy::ROWS,
    tensor_newer::ROWS[0],
    tensor_newer::ROWS[1],
    tensor_newer::ROWS[2],
    tensor_newer::ROWS[3],
    tensor_newer::ROWS[4],
    tensor_newer::ROWS[5],
    tensor_newer::ROWS[6],
    tensor_newer::ROWS[7],
    tensor_newer::ROWS[8],
    tensor_newer::ROWS[9],
    tensor_newer::ROWS[10],
    tensor_newer::ROWS[11],
    tensor_newer::ROWS[12],
    tensor_newer::ROWS[13],
    tensor_newer::ROWS[14],
    cluster::ROWS,
    proxy::ROWS,
    multimem::ROWS,
    tensormap::ROWS,
    tcgen05::ROWS,
    tcgen05_mma::ROWS,
    fabric::ROWS,
    fabric::TENSOR_ROWS[0],
    fabric::TENSOR_ROWS[1],
    fabric::TENSOR_ROWS[2],
    structured::ROWS,
];

/// What people write who know other languages, and how PTX says it.
pub const OTHER_NAMES: &[(&str, &str)] = &[
    ("jmp", "bra"),
    ("jump", "bra"),
    ("goto", "bra"),
    ("br", "bra"),
    ("b", "bra"),
    ("return", "ret"),
    ("load", "ld"),
    ("store", "st"),
    ("move", "mov"),
    ("iadd", "add"),
    ("fadd", "add"),
    ("addi", "add"),
    ("isub", "sub"),
    ("fsub", "sub"),
    ("imul", "mul"),
    ("fmul", "mul"),
    ("imad", "mad"),
    ("ffma", "fma"),
    ("cmp", "setp"),
    ("isetp", "setp"),
    ("fsetp", "setp"),
    ("select", "selp"),
    ("convert", "cvt"),
    ("mod", "rem"),
    ("shift", "shl"),
    ("sqr", "sqrt"),
    ("pow", "ex2"),
    ("exp", "ex2"),
    ("log", "lg2"),
    ("syncthreads", "bar.sync 0"),
    ("__syncthreads", "bar.sync 0"),
    ("__syncwarp", "bar.warp.sync -1"),
    ("sync", "bar.sync 0"),
];

/// Modifiers that ptxas 13.5 reads without a meaning, by mnemonic.
pub const IGNORED: &[(&str, &str)] = &[
    ("abs", ".pred"),
    ("add", ".pred"),
    ("atom", ".pred"),
    ("cvt", ".pred"),
    ("fma", ".pred"),
    ("max", ".pred"),
    ("min", ".pred"),
    ("neg", ".pred"),
    ("red", ".pred"),
    ("setp", ".pred"),
    ("sub", ".pred"),
];

/// Modifiers that ptxas 13.5 passes over in instructions without a use for them: of each line one.
pub(crate) const PASSED_OVER: &[&[&str]] = &[
    &[
        "global_address",
        "rank",
        "box_dim",
        "global_dim",
        "global_stride",
        "element_stride",
        "elemtype",
        "interleave_layout",
        "swizzle_mode",
        "swizzle_atomicity",
        "fill_mode",
    ],
    &["finite", "infinite", "normal", "notanumber", "number", "subnormal"],
    &["acc::f16", "acc::f32"],
    &["b4x16_p64"],
    &["b6x16_p32"],
    &["b8x16"],
    &["samplerref"],
    &["surfref"],
    &["texref"],
];

/// Instructions on matrices without layouts, with the first modifier where only some forms are meant: ptxas 13.5 passes
/// over two layouts behind it.
pub(crate) const LAYOUT_FREE: &[(&str, &str)] = &[
    ("ldmatrix", ""),
    ("movmatrix", ""),
    ("stmatrix", ""),
    ("tcgen05", "ld"),
    ("wgmma", "mma_async"),
];

/// Instructions in which ptxas passes over the types of objects, and parts of which one must stand there, if there are.
pub(crate) const TYPES_UNCHECKED: &[(&str, &[&str])] = &[
    ("abs", &[]),
    ("add", &[]),
    ("atom", &[]),
    ("cos", &[]),
    ("cvt", &[]),
    ("ex2", &[]),
    ("fma", &[]),
    ("ldmatrix", &[]),
    ("lg2", &[]),
    ("max", &[]),
    ("min", &[]),
    ("mul", &["f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"]),
    ("multimem", &[]),
    ("neg", &[]),
    ("rcp", &[]),
    ("red", &[]),
    ("rsqrt", &[]),
    ("set", &[]),
    ("setp", &[]),
    ("sin", &[]),
    ("spcompress", &[]),
    ("spdecompress", &[]),
    ("sqrt", &[]),
    ("sub", &[]),
    ("tanh", &[]),
    ("wgmma", &["mma_async"]),
    ("wmma", &["mma"]),
];

/// Modifiers that ptxas 13.5 reads twice as it does once.
pub const REPEATABLE: &[&str] =
    &[".sync", ".approx", ".sat", ".satfinite", ".relu", ".NaN", ".cc", ".shiftamt"];

/// Tokens that belong to the instruction's name: they follow it at once, before any modifier
/// (`mul.wide.u32`, never `mul.u32.wide`).
pub const NAME_PARTS: &[(&str, &str)] = &[
    ("applypriority", ".async .bulk .tensor"),
    ("bar", ".cta .red .warp"),
    ("barrier", ".cta .cluster .red .arrive .wait"),
    ("clusterlaunchcontrol", ".try_cancel .async .query_cancel"),
    (
        "cp",
        ".async .mbarrier .arrive .bulk .tensor .prefetch .commit_group .wait_group .wait_all .reduce",
    ),
    ("clmad", ".lo .hi"),
    ("createpolicy", ".fractional .range .cvt"),
    ("cvt", ".pack"),
    ("cvta", ".to"),
    ("div", ".full"),
    ("dp2a", ".lo .hi"),
    ("fabric", ".try_get .try_put .try_red .try_pullred .try_atom .submit .wait .async .tensor"),
    ("fence", ".proxy"),
    ("mad", ".lo .hi .wide"),
    ("mad24", ".lo .hi"),
    ("madc", ".lo .hi"),
    (
        "mbarrier",
        ".init .inval .arrive .arrive_drop .test_wait .try_wait .pending_count .expect_tx .parity \
         .check_layout .complete_tx",
    ),
    ("mul", ".lo .hi .wide"),
    ("mul24", ".lo .hi"),
    ("multimem", ".ld_reduce .st .red .cp .reduce .async .bulk"),
    ("red", ".async"),
    ("setmaxnreg", ".inc .dec"),
    ("shf", ".l .r"),
    ("st", ".bulk .async"),
    ("suld", ".b"),
    ("sured", ".b .p"),
    ("sust", ".b .p"),
    (
        "tcgen05",
        ".alloc .dealloc .relinquish_alloc_permit .ld .red .st .wait::ld .wait::st .cp .shift .fence .commit .mma .ws",
    ),
    ("tensormap", ".replace .cp_fenceproxy"),
    ("tex", ".base .level .grad"),
    ("txq", ".level"),
    ("wgmma", ".fence .mma_async .commit_group .wait_group"),
    ("wmma", ".load .a .b .c .mma .store .d"),
];
