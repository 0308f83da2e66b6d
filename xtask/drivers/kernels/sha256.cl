constant uint K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#define R(x, n) rotate((uint)(x), (uint)(32 - (n)))

kernel void sha256(global const uint *in, global uint *out)
{
    size_t i = get_global_id(0);
    uint w[16], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int n = 0; n < 16; n++) w[n] = in[i * 16 + n];
    uint a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], z = h[7];
#pragma unroll
    for (int n = 0; n < 64; n++) {
        if (n >= 16) {
            uint x = w[(n + 1) & 15], y = w[(n + 14) & 15];
            w[n & 15] += (R(x, 7) ^ R(x, 18) ^ x >> 3) + w[(n + 9) & 15] + (R(y, 17) ^ R(y, 19) ^ y >> 10);
        }
        uint t = z + (R(e, 6) ^ R(e, 11) ^ R(e, 25)) + bitselect(g, f, e) + K[n] + w[n & 15];
        uint s = (R(a, 2) ^ R(a, 13) ^ R(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        z = g; g = f; f = e; e = d + t; d = c; c = b; b = a; a = t + s;
    }
    out[i * 8] = h[0] + a; out[i * 8 + 1] = h[1] + b; out[i * 8 + 2] = h[2] + c; out[i * 8 + 3] = h[3] + d;
    out[i * 8 + 4] = h[4] + e; out[i * 8 + 5] = h[5] + f; out[i * 8 + 6] = h[6] + g; out[i * 8 + 7] = h[7] + z;
}
