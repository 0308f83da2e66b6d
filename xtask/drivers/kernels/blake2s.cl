// The compression of BLAKE2s (RFC 7693) of one block of sixteen words each.
constant uint IV[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constant uchar ORDER[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

#define TURN(x, n) rotate((uint)(x), (uint)(32 - (n)))
#define MIX(a, b, c, d, x, y) \
    a += b + x; d = TURN(d ^ a, 16); c += d; b = TURN(b ^ c, 12); \
    a += b + y; d = TURN(d ^ a, 8); c += d; b = TURN(b ^ c, 7);

kernel void blake2s(global const uint *in, global uint *out)
{
    size_t i = get_global_id(0);
    uint m[16], v[16];
    for (int n = 0; n < 16; n++) m[n] = in[i * 16 + n];
    for (int n = 0; n < 16; n++) v[n] = IV[n & 7];
    v[0] ^= 0x01010020;
    v[12] ^= 64;
    v[14] = ~v[14];
#pragma unroll
    for (int r = 0; r < 10; r++) {
        MIX(v[0], v[4], v[8], v[12], m[ORDER[r][0]], m[ORDER[r][1]])
        MIX(v[1], v[5], v[9], v[13], m[ORDER[r][2]], m[ORDER[r][3]])
        MIX(v[2], v[6], v[10], v[14], m[ORDER[r][4]], m[ORDER[r][5]])
        MIX(v[3], v[7], v[11], v[15], m[ORDER[r][6]], m[ORDER[r][7]])
        MIX(v[0], v[5], v[10], v[15], m[ORDER[r][8]], m[ORDER[r][9]])
        MIX(v[1], v[6], v[11], v[12], m[ORDER[r][10]], m[ORDER[r][11]])
        MIX(v[2], v[7], v[8], v[13], m[ORDER[r][12]], m[ORDER[r][13]])
        MIX(v[3], v[4], v[9], v[14], m[ORDER[r][14]], m[ORDER[r][15]])
    }
    for (int n = 0; n < 8; n++) out[i * 8 + n] = IV[n] ^ v[n] ^ v[n + 8];
}
