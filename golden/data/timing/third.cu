// Kernels of many kinds, written when the rules stood and recorded on an H100 before any was timed.
#include <cuda_fp16.h>
#include <stdint.h>
typedef unsigned int u32; typedef unsigned long long u64; typedef unsigned char u8;
#define K extern "C" __global__ void
#define GID (blockIdx.x * blockDim.x + threadIdx.x)

// --- tensor cores, networks
K mma_f16_tile(const half *a, const half *b, float *c, int n) {
  __shared__ half sa[32][40], sb[32][40];
  int t = threadIdx.x, warp = t / 32, lane = t % 32, r0 = blockIdx.y * 32, c0 = blockIdx.x * 32; float acc[2][4] = {};
  for (int k = 0; k < n; k += 32) {
    for (int i = t; i < 512; i += 128) { int r = i / 16, q = i % 16 * 2; *(u32 *)&sa[r][q] = *(const u32 *)&a[(r0 + r) * n + k + q]; *(u32 *)&sb[r][q] = *(const u32 *)&b[(c0 + r) * n + k + q]; }
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) {
      int rr = warp / 2 * 16 + lane / 4, kc = kk + lane % 4 * 2; u32 f[4];
      f[0] = *(u32 *)&sa[rr][kc]; f[1] = *(u32 *)&sa[rr + 8][kc]; f[2] = *(u32 *)&sa[rr][kc + 8]; f[3] = *(u32 *)&sa[rr + 8][kc + 8];
      for (int h = 0; h < 2; h++) {
        int cc = warp % 2 * 16 + h * 8 + lane / 4; u32 g0 = *(u32 *)&sb[cc][kc], g1 = *(u32 *)&sb[cc][kc + 8];
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : "+f"(acc[h][0]), "+f"(acc[h][1]), "+f"(acc[h][2]), "+f"(acc[h][3]) : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g0), "r"(g1));
      }
    }
    __syncthreads();
  }
  for (int h = 0; h < 2; h++) for (int i = 0; i < 4; i++) c[(r0 + warp / 2 * 16 + lane / 4 + i / 2 * 8) * n + c0 + warp % 2 * 16 + h * 8 + lane % 4 * 2 + i % 2] = acc[h][i];
}
K gemm_4x4(const float *a, const float *b, float *c, int n) {
  __shared__ float sa[16][64], sb[16][64]; int tx = threadIdx.x % 16, ty = threadIdx.x / 16, x0 = blockIdx.x * 64, y0 = blockIdx.y * 64; float s[4][4] = {};
  for (int k = 0; k < n; k += 16) {
    for (int i = threadIdx.x; i < 1024; i += 256) { sa[i % 16][i / 16] = a[(y0 + i / 16) * n + k + i % 16]; sb[i / 64][i % 64] = b[(k + i / 64) * n + x0 + i % 64]; }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; j++) { float p[4], q[4]; for (int i = 0; i < 4; i++) { p[i] = sa[j][ty * 4 + i]; q[i] = sb[j][tx * 4 + i]; } for (int u = 0; u < 4; u++) for (int v = 0; v < 4; v++) s[u][v] += p[u] * q[v]; }
    __syncthreads();
  }
  for (int u = 0; u < 4; u++) for (int v = 0; v < 4; v++) c[(y0 + ty * 4 + u) * n + x0 + tx * 4 + v] = s[u][v];
}
K flash_row(const float *q, const float *k, const float *v, float *o, int n) {
  int t = threadIdx.x, lane = t % 32, row = blockIdx.x * 8 + t / 32; float2 a = ((const float2 *)q)[row * 32 + lane], acc = {0, 0}; float m = -1e30f, l = 0;
  for (int j = 0; j < n; j++) {
    float2 b = ((const float2 *)k)[j * 32 + lane]; float s = a.x * b.x + a.y * b.y; for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
    float mn = fmaxf(m, s), f = __expf(m - mn), p = __expf(s - mn); float2 w = ((const float2 *)v)[j * 32 + lane]; acc.x = acc.x * f + p * w.x; acc.y = acc.y * f + p * w.y; l = l * f + p; m = mn;
  }
  ((float2 *)o)[row * 32 + lane] = make_float2(acc.x / l, acc.y / l);
}
K lstm_gates(const float *g, float *cell, float *h, int n) { int i = GID; float a = g[i], b = g[i + n], c = g[i + 2 * n], d = g[i + 3 * n]; float f = 1 / (1 + __expf(-a)), u = 1 / (1 + __expf(-b)), o = 1 / (1 + __expf(-c)); float s = f * cell[i] + u * tanhf(d); cell[i] = s; h[i] = o * tanhf(s); }
K groupnorm(const float *x, float *y, int n) { __shared__ float s[16]; int t = threadIdx.x; const float4 *r = (const float4 *)(x + blockIdx.x * n); float a = 0, b = 0; for (int i = t; i < n / 4; i += 256) { float4 v = r[i]; a += v.x + v.y + v.z + v.w; b += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w; } for (int o = 16; o; o /= 2) { a += __shfl_xor_sync(~0u, a, o); b += __shfl_xor_sync(~0u, b, o); } if (t % 32 == 0) { s[t / 32] = a; s[8 + t / 32] = b; } __syncthreads(); a = b = 0; for (int i = 0; i < 8; i++) { a += s[i]; b += s[8 + i]; } a /= n; float k = rsqrtf(b / n - a * a + 1e-5f); for (int i = t; i < n / 4; i += 256) { float4 v = r[i]; v.x = (v.x - a) * k; v.y = (v.y - a) * k; v.z = (v.z - a) * k; v.w = (v.w - a) * k; ((float4 *)(y + blockIdx.x * n))[i] = v; } }
K quant_i8(const float4 *x, u32 *y) { float4 v = x[GID]; int a = max(-128, min(127, __float2int_rn(v.x * 127))), b = max(-128, min(127, __float2int_rn(v.y * 127))), c = max(-128, min(127, __float2int_rn(v.z * 127))), d = max(-128, min(127, __float2int_rn(v.w * 127))); y[GID] = (a & 255) | (b & 255) << 8 | (c & 255) << 16 | d << 24; }
K conv1d_17(const float *x, const float *w, float *y, int n) { __shared__ float s[272], k[17]; int t = threadIdx.x, i = GID; s[t] = x[i]; if (t < 16) s[256 + t] = i + 256 < n ? x[i + 256] : 0; if (t < 17) k[t] = w[t]; __syncthreads(); float a = 0; for (int j = 0; j < 17; j++) a += s[t + j] * k[j]; y[i] = a; }
K maxpool2(const float *x, float *y, int n) { int c = GID % (n / 2), r = GID / (n / 2); const float2 *a = (const float2 *)(x + 2 * r * n) + c, *b = (const float2 *)(x + (2 * r + 1) * n) + c; float2 p = *a, q = *b; y[GID] = fmaxf(fmaxf(p.x, p.y), fmaxf(q.x, q.y)); }
// --- sorting, searching, hashing
K sort8(const u32 *x, u32 *y) { u32 v[8]; for (int i = 0; i < 8; i++) v[i] = x[i * gridDim.x * blockDim.x + GID];
#pragma unroll
  for (int k = 0; k < 8; k++)
#pragma unroll
    for (int i = k & 1; i + 1 < 8; i += 2) { u32 a = min(v[i], v[i + 1]), b = max(v[i], v[i + 1]); v[i] = a; v[i + 1] = b; }
  for (int i = 0; i < 8; i++) y[i * gridDim.x * blockDim.x + GID] = v[i]; }
K bloom(const u32 *keys, const u32 *bits, u32 *out, int mask) { u32 k = keys[GID], ok = 1; for (int i = 0; i < 6; i++) { k = (k ^ (k >> 15)) * 0x2c1b3c6du; u32 at = k & mask; ok &= bits[at >> 5] >> (at & 31); } out[GID] = ok & 1; }
K xxh64(const u64 *x, u64 *out, int turns) { u64 a = x[GID], b = a ^ 0x9E3779B185EBCA87ull; for (int i = 0; i < turns; i++) { a += b * 0xC2B2AE3D27D4EB4Full; a = (a << 31 | a >> 33) * 0x9E3779B185EBCA87ull; b ^= a; b = (b << 27 | b >> 37) + 0x85EBCA77C2B2AE63ull; } out[GID] = a ^ b; }
K chacha(u32 *out, int turns) { u32 s[16]; for (int i = 0; i < 16; i++) s[i] = GID * 16 + i * 0x61707865u; for (int r = 0; r < turns; r++) {
#define QR(a, b, c, d) s[a] += s[b]; s[d] ^= s[a]; s[d] = s[d] << 16 | s[d] >> 16; s[c] += s[d]; s[b] ^= s[c]; s[b] = s[b] << 12 | s[b] >> 20; s[a] += s[b]; s[d] ^= s[a]; s[d] = s[d] << 8 | s[d] >> 24; s[c] += s[d]; s[b] ^= s[c]; s[b] = s[b] << 7 | s[b] >> 25;
  QR(0, 4, 8, 12) QR(1, 5, 9, 13) QR(2, 6, 10, 14) QR(3, 7, 11, 15) QR(0, 5, 10, 15) QR(1, 6, 11, 12) QR(2, 7, 8, 13) QR(3, 4, 9, 14) } u32 h = 0; for (int i = 0; i < 16; i++) h ^= s[i]; out[GID] = h; }
K aes_tables(const u32 *x, const u32 *tab, u32 *out, int rounds) { __shared__ u32 s[256]; s[threadIdx.x] = tab[threadIdx.x]; __syncthreads(); u32 a = x[GID], b = a * 3, c = a * 5, d = a * 7; for (int r = 0; r < rounds; r++) { u32 e = s[a & 255] ^ s[b >> 8 & 255] ^ s[c >> 16 & 255] ^ s[d >> 24], f = s[b & 255] ^ s[c >> 8 & 255] ^ s[d >> 16 & 255] ^ s[a >> 24]; a = c ^ e; b = d ^ f; c = e; d = f; } out[GID] = a ^ b ^ c ^ d; }
K strstr4(const u32 *text, u32 *out, u32 needle) { u32 lo = text[GID], hi = text[GID + 1], n = 0; for (int i = 0; i < 4; i++) n += __funnelshift_r(lo, hi, i * 8) == needle; u32 all = __ballot_sync(~0u, n != 0); if (threadIdx.x % 32 == 0) out[GID / 32] = __popc(all); }
K lower_bound_shared(const u32 *keys, const u32 *table, u32 *out) { __shared__ u32 s[1024]; for (int i = threadIdx.x; i < 1024; i += 256) s[i] = table[i]; __syncthreads(); u32 k = keys[GID] & 0xffff; int lo = 0, n = 1024; while (n) { int h = n / 2; if (s[lo + h] < k) { lo += h + 1; n -= h + 1; } else n = h; } out[GID] = lo; }
// --- integers, double
K mont_mul(const u32 *x, u32 *out, int turns) { u32 a = x[GID] & 0x7fffffff, b = a | 1; for (int i = 0; i < turns; i++) { u64 t = (u64)a * b; u32 m = (u32)t * 0x7fffffffu; u32 r = (t + (u64)m * 0x80000001u) >> 32; a = r >= 0x80000001u ? r - 0x80000001u : r; b += 2; } out[GID] = a; }
K divrem10(const u32 *x, u32 *out) { u32 v = x[GID], s = 0; while (v) { s += v % 10; v /= 10; } out[GID] = s; }
K heat_f64(const double *x, double *y, int n) { int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y; int l = max(c - 1, 0), g = min(c + 1, n - 1), u = max(r - 1, 0), d = min(r + 1, n - 1); double m = x[r * n + c]; y[r * n + c] = m + 0.2 * (x[r * n + l] + x[r * n + g] + x[u * n + c] + x[d * n + c] - 4 * m); }
K horner_f64(const double *x, double *y, int deg) { double v = x[GID], s = 1; for (int i = 1; i <= deg; i++) s = s * v + 1.0 / i; y[GID] = s; }
K rng_normal(float *out, int turns) { u32 a = GID * 2654435761u + 7; float s = 0; for (int i = 0; i < turns; i++) { a ^= a << 13; a ^= a >> 17; a ^= a << 5; float u = (a >> 8) * 5.9604645e-8f + 1e-7f; a ^= a << 13; a ^= a >> 17; a ^= a << 5; float w = (a >> 8) * 5.9604645e-8f; s += sqrtf(-2 * __logf(u)) * __cosf(6.2831853f * w); } out[GID] = s; }
// --- images, memory, irregular
K bilateral(const float *x, float *y, int n) { int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y; float m = x[r * n + c], s = 0, w = 0; for (int j = -2; j <= 2; j++) for (int i = -2; i <= 2; i++) { float v = x[((r + j) & (n - 1)) * n + ((c + i) & (n - 1))]; float k = __expf(-(i * i + j * j) * 0.1f - (v - m) * (v - m) * 4); s += k * v; w += k; } y[r * n + c] = s / w; }
K warp_affine(const float *x, float *y, int n) { int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y; float fx = 0.9f * c - 0.3f * r + 100, fy = 0.3f * c + 0.9f * r + 20; int ix = (int)floorf(fx), iy = (int)floorf(fy); float ax = fx - ix, ay = fy - iy; ix &= n - 1; iy &= n - 1; int jx = (ix + 1) & (n - 1), jy = (iy + 1) & (n - 1); y[r * n + c] = (1 - ay) * ((1 - ax) * x[iy * n + ix] + ax * x[iy * n + jx]) + ay * ((1 - ax) * x[jy * n + ix] + ax * x[jy * n + jx]); }
K integral_rows(const u32 *x, u32 *y, int n) { int lane = threadIdx.x % 32, row = GID / 32; u32 sum = 0; for (int i = 0; i < n; i += 32) { u32 v = x[row * n + i + lane]; for (int d = 1; d < 32; d *= 2) { u32 o = __shfl_up_sync(~0u, v, d); if (lane >= d) v += o; } y[row * n + i + lane] = sum + v; sum += __shfl_sync(~0u, v, 31); } }
K scatter_perm(const u32 *x, u32 *y, int n) { y[(GID * 40503u) & (n - 1)] = x[GID]; }
K soa_to_aos(const float *x, float *y, int n) { int i = GID; float a = x[i], b = x[i + n], c = x[i + 2 * n]; y[i * 3] = a; y[i * 3 + 1] = b; y[i * 3 + 2] = c; }
K atomic_max_rows(const u32 *x, u32 *out, int n) { u32 m = 0; for (int i = 0; i < 8; i++) m = max(m, x[(blockIdx.x * 8 + i) * 256 + threadIdx.x]); atomicMax(&out[threadIdx.x], m); }
K csr_push(const u32 *rp, const u32 *ci, u32 *out, int rows) { int r = GID / 8, l = GID % 8; if (r >= rows) return; for (u32 i = rp[r] + l; i < rp[r + 1]; i += 8) atomicAdd(&out[ci[i]], 1u); }
K tree_walk(const u32 *keys, const u32 *node, u32 *out, int depth) { u32 k = keys[GID], at = 1; for (int d = 0; d < depth; d++) at = at * 2 + (k > node[at]); out[GID] = at; }
K triad_stream(const float4 *a, const float4 *b, float4 *c, int n) { for (int i = GID; i < n; i += gridDim.x * blockDim.x) { float4 p = a[i], q = b[i]; c[i] = make_float4(p.x + 3 * q.x, p.y + 3 * q.y, p.z + 3 * q.z, p.w + 3 * q.w); } }
K stream_compact_warp(const u32 *x, u32 *out, u32 *count) { u32 v = x[GID]; bool keep = v % 3 == 0; u32 m = __ballot_sync(~0u, keep); int lane = threadIdx.x % 32; u32 base = 0; if (lane == 0) base = atomicAdd(count, __popc(m)); base = __shfl_sync(~0u, base, 0); if (keep) out[base + __popc(m & ((1u << lane) - 1))] = v; }
K nussinov_like(const u32 *x, u32 *out, int n) { __shared__ u32 s[65][65]; int t = threadIdx.x; for (int i = 0; i < 65; i++) s[i][t] = 0; u32 v = x[GID]; __syncthreads(); for (int len = 1; len < n; len++) { int i = t, j = t + len; if (j < 64) { u32 b = max(s[i + 1][j], s[i][j - 1]); b = max(b, s[i + 1][j - 1] + ((v >> (len & 31)) & 1)); s[i][j] = b; } __syncthreads(); } out[GID] = s[0][(t + 1) & 63]; }
