// Sixteen values of 64 bits at once, stirred with a constant a step: with 512 bits both halves of all lanes are more
// than the registers hold. What must come out is the same in Python.
// flags:
// flags: -cl-opt-disable
// run: k<<<2, 64>>>(u64[2048])
// check: 0 u64 @0: 11500049837073930653 9320420841547870528 12869708469529342461 7360133255060573620
// check: 0 u64 @4: 5175796219991248275 16426438947852272963 11299220712210432664 4643239878214204784
// check: 0 u64 @8: 14586019279196252513 461526192957008500 2184083682747473664 16383993290871428504
// check: 0 u64 @12: 14967288669029914323 9339574595174097674 796347151580676833 7142651608552183939
// check: 0 u64 @1008: 7858470237022645424 14153054889108108688 2311560051980118173 13243701499772925734
// check: 0 u64 @1012: 11438535549738825146 3977759754105190315 15466729151023099178 6947303158278723272
// check: 0 u64 @1016: 13657447669582928751 15627575040510390421 14531540116358126679 4239198286683703726
// check: 0 u64 @1020: 17240959222967409931 1990434004068691735 18397106518826383806 6745063346373689619
// check: 0 u64 @2032: 2398061505665844079 1579287343026518523 11613759658641488366 4520548512359389515
// check: 0 u64 @2036: 1301644606928503834 7681741688897762392 16872656548054509585 3740215595710530388
// check: 0 u64 @2040: 12424303271027929421 16120236749613351657 3851258524320313412 944135646655431875
// check: 0 u64 @2044: 14524439116789496093 13102715597519302620 12123077060024834161 16313250880297259901
__constant ulong numbers[64] = {
    0xdc1b77ae0bf34dad, 0x64f0eeb9026e6076, 0x7b07ce91e5906136, 0x305f050c368dcc74,
    0x2ceb16e0a1c54aec, 0x97101dce4e7bfb79, 0x9ad2e144d6e8f2cf, 0xd9aa792e1af470ea,
    0xddaa4e85b0d6e28b, 0x8f8ea9d349428d8e, 0x08f474ffb8e8ab15, 0x2ead854756d71f03,
    0x55bc79f8ada711fd, 0x0e1fc49bd63b809e, 0xb92199e83f5a101f, 0xc5765079fc5d43ff,
    0x353cfc387dfae6b8, 0xa32edabf5585bd75, 0xfc5639b16b714b4f, 0x92fb2dcfc8ae9a19,
    0x544b0ec76d00616d, 0xbcbb9b7e9a319aef, 0x0f1a50d59c0aa21a, 0x80ae2120826571de,
    0x0e1ecd02ed7c0cbd, 0x0d0981e8c1fa7be4, 0xdc86b3d3cdbdf613, 0x6d0844c269e7693f,
    0x3681da7f6993082d, 0x5b928e2c987d857d, 0x6c716e1e6ced8137, 0xccb870213498f7f5,
    0x9f07b27a78869b5a, 0xb0ba91e47f6200ec, 0xc72b4c36d0db7fed, 0x35f305b0c0fc9252,
    0x7ac78fb373ffbff6, 0x8e39b81de71b7d09, 0x59a69ba126cd29b3, 0xbfcbffff0cbcbf20,
    0x2d1ce28856d20e5e, 0x572a15ed48b3fdc2, 0x32b911499417aab9, 0x17a8ec88e0da0bac,
    0x0cc88eab2f9ad4bb, 0xbc3a5b419a43afd2, 0x6f0f3414c47c9c0d, 0xe71a7567edb8c675,
    0x63674cf841ee8ab9, 0xe375837da840d9ec, 0x578eb22e1ea5a35f, 0x4efa582ee029dfd9,
    0xf3b363e938295a26, 0x2e3a4ef3496f4112, 0xb809d78e2a2f9b10, 0x46217f104eb30026,
    0x8947b5fefda6afa6, 0x4a3ae29b2af0cb79, 0xbfd0273b10a6d4af, 0xed0a00eb302b52c6,
    0x3c0a45ad6d0175e3, 0x5bec25a986aa6fc8, 0x904bc2dda0ebc917, 0x459ae6d82ef0bb45,
};

#define STEP(n, a, b, c) a += rotate(b ^ numbers[i + n], (ulong)(7 + 3 * n)), c ^= a >> 9

__kernel void k(__global ulong *out)
{
    size_t t = get_global_id(0);
    ulong seed = (t + 1) * 0x9e3779b97f4a7c15;
    ulong x0 = seed * 1, x1 = seed * 2, x2 = seed * 3, x3 = seed * 4;
    ulong x4 = seed * 5, x5 = seed * 6, x6 = seed * 7, x7 = seed * 8;
    ulong x8 = seed * 9, x9 = seed * 10, x10 = seed * 11, x11 = seed * 12;
    ulong x12 = seed * 13, x13 = seed * 14, x14 = seed * 15, x15 = seed * 16;
    for (int i = 0; i < 64; i += 16) {
        STEP(0, x0, x1, x5);
        STEP(1, x1, x2, x6);
        STEP(2, x2, x3, x7);
        STEP(3, x3, x4, x8);
        STEP(4, x4, x5, x9);
        STEP(5, x5, x6, x10);
        STEP(6, x6, x7, x11);
        STEP(7, x7, x8, x12);
        STEP(8, x8, x9, x13);
        STEP(9, x9, x10, x14);
        STEP(10, x10, x11, x15);
        STEP(11, x11, x12, x0);
        STEP(12, x12, x13, x1);
        STEP(13, x13, x14, x2);
        STEP(14, x14, x15, x3);
        STEP(15, x15, x0, x4);
    }
    out += 16 * t;
    out[0] = x0; out[1] = x1; out[2] = x2; out[3] = x3;
    out[4] = x4; out[5] = x5; out[6] = x6; out[7] = x7;
    out[8] = x8; out[9] = x9; out[10] = x10; out[11] = x11;
    out[12] = x12; out[13] = x13; out[14] = x14; out[15] = x15;
}
