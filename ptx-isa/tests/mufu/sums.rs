//! Checksums of what an NVIDIA H200 returned (driver 580.159.04): sum of `(2i + 1) * output(i)` modulo 2^64.

/// Blocks of 2^20 inputs (the upper 12 bits) that [`F32`] covers: zeros and subnormals, the ends of the binades,
/// numbers around one, large arguments, infinities and NaNs, negatives.
pub const F32_BLOCKS: [u32; 16] = [
    0x000, 0x007, 0x008, 0x2f3, 0x3d9, 0x3f7, 0x3f8, 0x3ff, 0x405, 0x42f, 0x4c9, 0x7e8, 0x7f8,
    0x808, 0xbf7, 0xc2f,
];

/// Per single-precision form the sums of [`F32_BLOCKS`].
#[rustfmt::skip]
pub const F32: [(&str, [u64; 16]); 15] = [
    ("rcp.approx.f32", [
        0x8000000000000000, 0x85b1a7a34f97cdfb, 0x6c7c49c76293a028, 0xaf9d8b4c0ea33136,
        0x53fd6e23c32681b4, 0x82c0d5fe2ea08ede, 0x6c7c49c76293a028, 0x02c0d5fe2ea08ede,
        0x95e6117fde785a74, 0x02c0d5fe2ea08ede, 0x53fd6e23c32681b4, 0x763e24e3b855da9c,
        0xfffffeff80000001, 0x6c7c49c76293a028, 0x82c0d5fe2ea08ede, 0x02c0d5fe2ea08ede,
    ]),
    ("rcp.approx.ftz.f32", [
        0x8000000000000000, 0x8000000000000000, 0x6c7c49c76293a028, 0xaf9d8b4c0ea33136,
        0x53fd6e23c32681b4, 0x82c0d5fe2ea08ede, 0x6c7c49c76293a028, 0x02c0d5fe2ea08ede,
        0x95e6117fde785a74, 0x02c0d5fe2ea08ede, 0x53fd6e23c32681b4, 0x0000000000800000,
        0xfffffeff80000001, 0x6c7c49c76293a028, 0x82c0d5fe2ea08ede, 0x02c0d5fe2ea08ede,
    ]),
    ("rsqrt.approx.f32", [
        0xe5fb3ed2d673a346, 0x02ccd386ac57e3f6, 0xf606aa446a5d4e8c, 0x95ebe30966978362,
        0x68f0b76572f03220, 0x815d97e6fe268805, 0x7606aa446a5d4e8c, 0x36f35971e32c4c1f,
        0x0a83151508ed76de, 0xb6f35971e32c4c1f, 0xe8f0b76572f03220, 0xf606aa446a5d4e8c,
        0xfffffeff80000001, 0xffffff0000000000, 0xffffff0000000000, 0xffffff0000000000,
    ]),
    ("rsqrt.approx.ftz.f32", [
        0x8000000000000000, 0x8000000000000000, 0xf606aa446a5d4e8c, 0x95ebe30966978362,
        0x68f0b76572f03220, 0x815d97e6fe268805, 0x7606aa446a5d4e8c, 0x36f35971e32c4c1f,
        0x0a83151508ed76de, 0xb6f35971e32c4c1f, 0xe8f0b76572f03220, 0xf606aa446a5d4e8c,
        0xfffffeff80000001, 0xffffff0000000000, 0xffffff0000000000, 0xffffff0000000000,
    ]),
    ("sqrt.approx.f32", [
        0x09fd1c6f7304d666, 0xfa947c7c8eabf222, 0x0536d5c443e697c1, 0x5a9723be6f37fa96,
        0x8cb144e93b54fbec, 0x7d4fe5517932dd57, 0x8536d5c443e697c1, 0xb31e6300ee957c17,
        0xec96da08b30a6f37, 0x331e6300ee957c17, 0x0cb144e93b54fbec, 0x0536d5c443e697c1,
        0xfffffeffff800001, 0xffffff0000000000, 0xffffff0000000000, 0xffffff0000000000,
    ]),
    ("sqrt.approx.ftz.f32", [
        0x0000000000000000, 0x0000000000000000, 0x0536d5c443e697c1, 0x5a9723be6f37fa96,
        0x8cb144e93b54fbec, 0x7d4fe5517932dd57, 0x8536d5c443e697c1, 0xb31e6300ee957c17,
        0xec96da08b30a6f37, 0x331e6300ee957c17, 0x0cb144e93b54fbec, 0x0536d5c443e697c1,
        0xfffffeffff800001, 0xffffff0000000000, 0xffffff0000000000, 0xffffff0000000000,
    ]),
    ("sin.approx.f32", [
        0x0000000000000000, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000,
        0x9a84efbf5b65679f, 0x547723521c1c1b7c, 0x621592061c39d2c8, 0x6ce9a2664af09583,
        0x82ce03d63a525d8c, 0x7e166539592b8a05, 0x0000000000000000, 0x0000000000000000,
        0xffffff0000000000, 0x0000000000000000, 0x547723521c1c1b7c, 0xa060e085592b8a05,
    ]),
    ("sin.approx.ftz.f32", [
        0x0000000000000000, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000,
        0x9a84efbf5b65679f, 0x547723521c1c1b7c, 0x621592061c39d2c8, 0x6ce9a2664af09583,
        0x82ce03d63a525d8c, 0x7e166539592b8a05, 0x0000000000000000, 0x0000000000000000,
        0xffffff0000000000, 0x0000000000000000, 0x547723521c1c1b7c, 0xa060e085592b8a05,
    ]),
    ("cos.approx.f32", [
        0x8000000000000000, 0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
        0x7f45165b5cd319c7, 0x0ec2636430e82676, 0xef36ef9c32541594, 0xc168162244d61f57,
        0x75f26ad7a91ecbd3, 0xe80b382e207e48ea, 0x8000000000000000, 0x8000000000000000,
        0xffffff0000000000, 0x8000000000000000, 0x0ec2636430e82676, 0xe80b382e207e48ea,
    ]),
    ("cos.approx.ftz.f32", [
        0x8000000000000000, 0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
        0x7f45165b5cd319c7, 0x0ec2636430e82676, 0xef36ef9c32541594, 0xc168162244d61f57,
        0x75f26ad7a91ecbd3, 0xe80b382e207e48ea, 0x8000000000000000, 0x8000000000000000,
        0xffffff0000000000, 0x8000000000000000, 0x0ec2636430e82676, 0xe80b382e207e48ea,
    ]),
    ("lg2.approx.f32", [
        0x01b8aa1180e9ad29, 0xfc1fc9e75e402fda, 0xfbc52662132e9236, 0x01d2eaf3fc495a5f,
        0x6e8df599c33a97f1, 0xa95f5117b8ce9e77, 0xd8c83b91d2939496, 0x782eaab41324466b,
        0xe2dd21eee78b869f, 0xdf05d4e67d7fbbe7, 0xd22e40bcc7388076, 0xfc3ad89decd16dca,
        0xfffffeffff800001, 0xffffff0000000000, 0xffffff0000000000, 0xffffff0000000000,
    ]),
    ("lg2.approx.ftz.f32", [
        0x8000000000000000, 0x8000000000000000, 0xfbc52662132e9236, 0x01d2eaf3fc495a5f,
        0x6e8df599c33a97f1, 0xa95f5117b8ce9e77, 0xd8c83b91d2939496, 0x782eaab41324466b,
        0xe2dd21eee78b869f, 0xdf05d4e67d7fbbe7, 0xd22e40bcc7388076, 0xfc3ad89decd16dca,
        0xfffffeffff800001, 0xffffff0000000000, 0xffffff0000000000, 0xffffff0000000000,
    ]),
    ("ex2.approx.f32", [
        0x8000000000000000, 0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
        0x86e106b20572ec00, 0xfc57c87dc7d39420, 0x07a3b2f3b6a83df0, 0x78c38b1065f6c2ad,
        0x2b003ee1843a9021, 0x234f5e30089f61f8, 0x8000000000000000, 0x8000000000000000,
        0xfffffeffff800001, 0x8000000000000000, 0x01de5bafae1e83d0, 0xf137aa59c9f46565,
    ]),
    ("ex2.approx.ftz.f32", [
        0x8000000000000000, 0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
        0x86e106b20572ec00, 0xfc57c87dc7d39420, 0x07a3b2f3b6a83df0, 0x78c38b1065f6c2ad,
        0x2b003ee1843a9021, 0x234f5e30089f61f8, 0x8000000000000000, 0x8000000000000000,
        0xfffffeffff800001, 0x8000000000000000, 0x01de5bafae1e83d0, 0xd3e3ec49091a8d8c,
    ]),
    ("tanh.approx.f32", [
        0x0aaaaa2aaaa80000, 0x7aaaaa2aaaa80000, 0x8aaaaa2aaaa80000, 0x3aaaaa2aaaa80000,
        0x9a5f866414fe0000, 0x40accc09a545f700, 0x4b4f39364b8961c0, 0x75fd73161e3fb3c0,
        0x7f71f3ccedd88030, 0x8000000000000000, 0x8000000000000000, 0x8000000000000000,
        0xfffffeffbf800001, 0x8aaaaa2aaaa80000, 0x40accc09a545f700, 0x8000000000000000,
    ]),
];

/// Per 16-bit form the sums of eight blocks of 2^13 inputs, all inputs together.
#[rustfmt::skip]
pub const F16: [(&str, [u64; 8]); 4] = [
    ("ex2.approx.f16", [
        0xf00528cebc, 0xf908370f82, 0x1e0b243c112, 0x1f3be303401,
        0xeff039c997, 0xe5540c5a07, 0xd0b9d6b8d, 0x77e30fb801,
    ]),
    ("tanh.approx.f16", [
        0x5552671040, 0xd183f3cd10, 0xefff3ef56b, 0x12fb02ff401,
        0x25552671040, 0x2d183f3cd10, 0x2efff3ef56b, 0x2b7cc307401,
    ]),
    ("tanh.approx.bf16", [
        0x5553555000, 0xd541dad3c4, 0xfdfffed6d4, 0x105efe0be81,
        0x25553555000, 0x2d541dad3c4, 0x2fdfffed6d4, 0x2f62f613e81,
    ]),
    ("ex2.approx.ftz.bf16", [
        0xfe00000000, 0xfe29aab798, 0x1fc9af150d2, 0x1fe0fa0fe81,
        0xfe00000000, 0xfdca92f25f, 0x160137e58, 0xfc05fff01,
    ]),
];

/// Double-precision sweeps over high words (low word 0): form, first high word, step, count, sum over the results' high
/// words.
pub const F64: [(&str, u32, u32, u32, u64); 4] = [
    (
        "rcp.approx.ftz.f64",
        0x3ff0_0000,
        1,
        1_048_576,
        0xe3a3_79f6_e5b3_1971,
    ),
    (
        "rcp.approx.ftz.f64",
        0,
        16_385,
        262_128,
        0x536c_0947_e82f_d2ce,
    ),
    (
        "rsqrt.approx.ftz.f64",
        0x3ff0_0000,
        1,
        2_097_152,
        0x9028_3020_0666_40b6,
    ),
    (
        "rsqrt.approx.ftz.f64",
        0,
        16_385,
        262_128,
        0xd595_f6d5_bb55_54bc,
    ),
];
