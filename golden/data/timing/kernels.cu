// Kernels of many kinds, recorded on an H200 to hold the timing model against. Inputs are described in kernels.json.
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>
using namespace nvcuda;
typedef unsigned int u32; typedef unsigned long long u64;
#define K extern "C" __global__ void
#define GID (blockIdx.x * blockDim.x + threadIdx.x)

// --- tensor cores
K wmma_gemm(const half *a, const half *b, float *c, int n) {
  int warp = threadIdx.x / 32, row = (blockIdx.y * 2 + warp / 2) * 16, col = (blockIdx.x * 2 + warp % 2) * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(fa, a + row * n + k, n);
    wmma::load_matrix_sync(fb, b + k * n + col, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c + row * n + col, fc, n, wmma::mem_row_major);
}
K wmma_gemm_shared(const half *a, const half *b, float *c, int n) {
  __shared__ half sa[64 * 40], sb[32 * 72];
  int t = threadIdx.x, warp = t / 32, row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc[4];
  for (int i = 0; i < 4; i++) wmma::fill_fragment(fc[i], 0.0f);
  for (int k = 0; k < n; k += 32) {
    for (int i = t; i < 64 * 4; i += 128) {
      *(float4 *)&sa[i / 4 * 40 + i % 4 * 8] = *(const float4 *)&a[(row0 + i / 4) * n + k + i % 4 * 8];
      *(float4 *)&sb[i / 8 * 72 + i % 8 * 8] = *(const float4 *)&b[(k + i / 8) * n + col0 + i % 8 * 8];
    }
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
      wmma::load_matrix_sync(fa, &sa[warp * 16 * 40 + kk], 40);
      for (int j = 0; j < 4; j++) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
        wmma::load_matrix_sync(fb, &sb[kk * 72 + j * 16], 72);
        wmma::mma_sync(fc[j], fa, fb, fc[j]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; j++)
    wmma::store_matrix_sync(&c[(row0 + warp * 16) * n + col0 + j * 16], fc[j], n, wmma::mem_row_major);
}
__device__ inline u32 smem(const void *p) { return (u32)__cvta_generic_to_shared(p); }
K mma_cp_async(const half *a, const half *b, float *c, int n) {
  __shared__ __align__(16) half sa[2][64 * 40], sb[2][32 * 72];
  int t = threadIdx.x, warp = t / 32, lane = t % 32, row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  float acc[8][4] = {};
  auto fetch = [&](int s, int k) {
    for (int i = t; i < 256; i += 128) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(smem(&sa[s][i / 4 * 40 + i % 4 * 8])), "l"(&a[(row0 + i / 4) * n + k + i % 4 * 8]));
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(smem(&sb[s][i / 8 * 72 + i % 8 * 8])), "l"(&b[(k + i / 8) * n + col0 + i % 8 * 8]));
    }
    asm volatile("cp.async.commit_group;");
  };
  fetch(0, 0);
  for (int k = 0; k < n; k += 32) {
    int s = k / 32 & 1;
    if (k + 32 < n) { fetch(s ^ 1, k + 32); asm volatile("cp.async.wait_group 1;"); } else asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 16) {
      u32 fa[4], fb[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(smem(&sa[s][(warp * 16 + lane % 16) * 40 + kk + lane / 16 * 8])));
      for (int j = 0; j < 4; j++) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(fb[0]), "=r"(fb[1]), "=r"(fb[2]), "=r"(fb[3]) : "r"(smem(&sb[s][(kk + lane % 16) * 72 + j * 16 + lane / 16 * 8])));
        for (int h = 0; h < 2; h++) {
          float *d = acc[j * 2 + h];
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[h * 2]), "r"(fb[h * 2 + 1]));
        }
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; j++) {
    float *p = &c[(row0 + warp * 16 + lane / 4) * n + col0 + j * 8 + lane % 4 * 2];
    *(float2 *)p = make_float2(acc[j][0], acc[j][1]);
    *(float2 *)(p + 8 * n) = make_float2(acc[j][2], acc[j][3]);
  }
}
K mma_s8(const u32 *a, const u32 *b, int *c, int turns) {
  u32 x = a[GID], y = b[GID]; int d[4] = {}, e[4] = {};
  for (int i = 0; i < turns; i++) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%4,%4,%4},{%5,%5},{%0,%1,%2,%3};" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(x), "r"(y));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%4,%4,%4},{%5,%5},{%0,%1,%2,%3};" : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3]) : "r"(y), "r"(x));
  }
  c[GID] = d[0] ^ d[1] ^ d[2] ^ d[3] ^ e[0] ^ e[1] ^ e[2] ^ e[3];
}
K mma_f64(const double *a, double *c, int turns) {
  double x = a[GID % 4096], d0 = 0, d1 = 0;
  for (int i = 0; i < turns; i++)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%2},{%0,%1};" : "+d"(d0), "+d"(d1) : "d"(x));
  c[GID] = d0 + d1;
}
K wgmma_chain(const half *a, float *c, int turns) {
  __shared__ __align__(1024) half s[64 * 64 * 2];
  for (int i = threadIdx.x; i < 64 * 64 * 2; i += 128) s[i] = a[i % 4096];
  __syncthreads();
  asm volatile("fence.proxy.async;");
  u64 da = ((u64)(smem(s) >> 4) & 0x3fff) | (u64)8 << 16 | (u64)64 << 32 | (u64)1 << 62;
  u64 db = ((u64)(smem(s + 64 * 64) >> 4) & 0x3fff) | (u64)8 << 16 | (u64)64 << 32 | (u64)1 << 62;
  float d[32] = {};
  for (int i = 0; i < turns; i++) {
    asm volatile("wgmma.fence.sync.aligned;");
#define D(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
    for (int k = 0; k < 4; k++)
      asm volatile("{wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;}" : D(0), D(8), D(16), D(24) : "l"(da + k * 2), "l"(db + k * 2));
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
  }
  float sum = 0;
  for (int i = 0; i < 32; i++) sum += d[i];
  c[GID] = sum;
}
// --- attention, softmax, normalisation
K attention(const float *q, const float *k, const float *v, float *o, int n) {
  __shared__ float sk[32][33], sv[32][33];
  int t = threadIdx.x, row = blockIdx.x * 64 + t;
  float qr[32], acc[32], m = -1e30f, l = 0;
  for (int i = 0; i < 32; i++) { qr[i] = q[row * 32 + i]; acc[i] = 0; }
  for (int j0 = 0; j0 < n; j0 += 32) {
    __syncthreads();
    for (int i = t; i < 1024; i += 64) { sk[i / 32][i % 32] = k[j0 * 32 + i]; sv[i / 32][i % 32] = v[j0 * 32 + i]; }
    __syncthreads();
    for (int j = 0; j < 32; j++) {
      float s = 0;
#pragma unroll
      for (int i = 0; i < 32; i++) s += qr[i] * sk[j][i];
      float mn = fmaxf(m, s), f = __expf(m - mn), p = __expf(s - mn);
      l = l * f + p; m = mn;
#pragma unroll
      for (int i = 0; i < 32; i++) acc[i] = acc[i] * f + p * sv[j][i];
    }
  }
#pragma unroll
  for (int i = 0; i < 32; i++) o[row * 32 + i] = acc[i] / l;
}
K softmax_rows(const float *x, float *y, int n) {
  __shared__ float s[8];
  const float *r = x + (u64)blockIdx.x * n; int t = threadIdx.x;
  float m = -1e30f;
  for (int i = t; i < n; i += 256) m = fmaxf(m, r[i]);
  for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  if (t % 32 == 0) s[t / 32] = m;
  __syncthreads();
  for (int i = 0; i < 8; i++) m = fmaxf(m, s[i]);
  __syncthreads();
  float sum = 0;
  for (int i = t; i < n; i += 256) sum += expf(r[i] - m);
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (t % 32 == 0) s[t / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 8; i++) sum += s[i];
  for (int i = t; i < n; i += 256) y[(u64)blockIdx.x * n + i] = expf(r[i] - m) / sum;
}
K layernorm(const float *x, const float *g, float *y, int n) {
  int w = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * 8 + w;
  float s = 0, q = 0;
  for (int i = lane; i < n; i += 32) { float v = x[row * n + i]; s += v; q += v * v; }
  for (int d = 16; d; d /= 2) { s += __shfl_xor_sync(~0u, s, d); q += __shfl_xor_sync(~0u, q, d); }
  float mean = s / n, inv = rsqrtf(q / n - mean * mean + 1e-5f);
  for (int i = lane; i < n; i += 32) y[row * n + i] = (x[row * n + i] - mean) * inv * g[i];
}
K gelu(const float4 *x, float4 *y, int n) {
  int i = GID; if (i >= n) return;
  float4 v = x[i];
#define G(a) (0.5f * (a) * (1.0f + tanhf(0.79788456f * ((a) + 0.044715f * (a) * (a) * (a)))))
  y[i] = make_float4(G(v.x), G(v.y), G(v.z), G(v.w));
}
K topk_argmax(const float *x, u32 *y, int n) {
  int w = GID / 32, lane = GID % 32; float best = -1e30f; int at = 0;
  for (int i = lane; i < n; i += 32) { float v = x[w * n + i]; if (v > best) { best = v; at = i; } }
  for (int d = 16; d; d /= 2) {
    float ob = __shfl_down_sync(~0u, best, d); int oa = __shfl_down_sync(~0u, at, d);
    if (ob > best) { best = ob; at = oa; }
  }
  if (lane == 0) y[w] = at;
}
// --- sorting, searching, hashing
K bitonic_block(u32 *d) {
  __shared__ u32 s[1024];
  int t = threadIdx.x; s[t] = d[blockIdx.x * 1024 + t]; s[t + 512] = d[blockIdx.x * 1024 + t + 512];
  for (int k = 2; k <= 1024; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (j - 1)), p = i + j;
      bool up = (i & k) == 0; u32 a = s[i], b = s[p];
      if ((a > b) == up) { s[i] = b; s[p] = a; }
    }
  __syncthreads();
  d[blockIdx.x * 1024 + t] = s[t]; d[blockIdx.x * 1024 + t + 512] = s[t + 512];
}
K odd_even_warp(u32 *d) {
  u32 v = d[GID]; int lane = threadIdx.x % 32;
  for (int i = 0; i < 32; i++) {
    int p = (i & 1) ? ((lane + 1) ^ 1) - 1 : lane ^ 1; p = p < 0 || p > 31 ? lane : p;
    u32 o = __shfl_sync(~0u, v, p);
    v = p > lane ? min(v, o) : p < lane ? max(v, o) : v;
  }
  d[GID] = v;
}
K radix_count(const u32 *k, u32 *out, int n, int shift) {
  __shared__ u32 h[16][16];
  int t = threadIdx.x; h[t / 16][t % 16] = 0; __syncthreads();
  for (int i = GID; i < n; i += gridDim.x * 256) atomicAdd(&h[t / 16][k[i] >> shift & 15], 1);
  __syncthreads();
  if (t < 16) { u32 s = 0; for (int i = 0; i < 16; i++) s += h[i][t]; out[blockIdx.x * 16 + t] = s; }
}
K binary_search(const u32 *keys, const u32 *q, u32 *out, int n) {
  u32 v = q[GID]; int lo = 0, hi = n;
  while (lo < hi) { int m = (lo + hi) / 2; if (keys[m] < v) lo = m + 1; else hi = m; }
  out[GID] = lo;
}
K hash_insert(const u32 *k, u32 *table, int mask) {
  u32 v = k[GID] | 1, h = v * 2654435761u;
  for (int i = 0; i < 64; i++) { u32 at = (h >> 8) + i & mask; u32 o = atomicCAS(&table[at], 0, v); if (o == 0 || o == v) return; }
}
K hash_probe(const u32 *k, const u32 *table, u32 *out, int mask) {
  u32 v = k[GID] | 1, h = v * 2654435761u, r = ~0u;
  for (int i = 0; i < 64; i++) { u32 at = (h >> 8) + i & mask, o = table[at]; if (o == v) { r = at; break; } if (o == 0) break; }
  out[GID] = r;
}
K murmur(const u32 *k, u32 *out, int turns) {
  u32 h = GID, v = k[GID];
  for (int i = 0; i < turns; i++) { u32 x = v * 0xcc9e2d51; x = x << 15 | x >> 17; x *= 0x1b873593; h ^= x; h = h << 13 | h >> 19; h = h * 5 + 0xe6546b64; v += h; }
  out[GID] = h;
}
K sha_rounds(const u32 *k, u32 *out, int turns) {
  u32 a = k[GID], b = a * 3, c = a ^ 5, d = a + 7, e = ~a, f = a * 9, g = a ^ 11, h = a + 13;
#define R(x, n) ((x) >> (n) | (x) << (32 - (n)))
  for (int i = 0; i < turns; i++) {
    u32 t1 = h + (R(e, 6) ^ R(e, 11) ^ R(e, 25)) + ((e & f) ^ (~e & g)) + 0x428a2f98 + i;
    u32 t2 = (R(a, 2) ^ R(a, 13) ^ R(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
  }
  out[GID] = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}
K philox(u32 *out, int turns) {
  u32 x0 = GID, x1 = 1, x2 = 2, x3 = 3, k0 = 0xdeadbeef, k1 = 0x12345678, s = 0;
  for (int t = 0; t < turns; t++) {
    for (int i = 0; i < 10; i++) {
      u32 h0 = __umulhi(0xD2511F53, x0), l0 = 0xD2511F53 * x0, h1 = __umulhi(0xCD9E8D57, x2), l1 = 0xCD9E8D57 * x2;
      x0 = h1 ^ x1 ^ k0; x1 = l1; x2 = h0 ^ x3 ^ k1; x3 = l0; k0 += 0x9E3779B9; k1 += 0xBB67AE85;
    }
    s ^= x0 ^ x3;
  }
  out[GID] = s;
}
K xorshift_pi(const u32 *seed, u32 *out, int turns) {
  u32 x = seed[GID] | 1, n = 0;
  for (int i = 0; i < turns; i++) {
    x ^= x << 13; x ^= x >> 17; x ^= x << 5; float a = (x >> 8) * 5.9604645e-8f;
    x ^= x << 13; x ^= x >> 17; x ^= x << 5; float b = (x >> 8) * 5.9604645e-8f;
    n += a * a + b * b < 1.0f;
  }
  out[GID] = n;
}
// --- integer and double arithmetic
K mul64_chain(const u32 *k, u64 *out, int turns) {
  u64 a = k[GID], b = a * 0x9E3779B97F4A7C15ull + 1;
  for (int i = 0; i < turns; i++) { a = a * b + 0x12345; b ^= a >> 29; a += __umul64hi(a, b); }
  out[GID] = a;
}
K modpow(const u32 *k, u32 *out, u32 mod) {
  u64 b = k[GID] % mod, r = 1; u32 e = 65537;
  while (e) { if (e & 1) r = r * b % mod; b = b * b % mod; e >>= 1; }
  out[GID] = (u32)r;
}
K udiv64(const u32 *k, u64 *out, int turns) {
  u64 a = (u64)k[GID] << 20 | 77, b = k[GID] % 1000 + 3, s = 0;
  for (int i = 0; i < turns; i++) { s += a / (b + i); a = a * 3 + s; }
  out[GID] = s;
}
K gcd(const u32 *k, u32 *out) {
  u32 a = k[GID] | 1, b = k[GID] >> 7 | 1;
  while (b) { u32 t = a % b; a = b; b = t; }
  out[GID] = a;
}
K collatz(const u32 *k, u32 *out) {
  u32 x = k[GID] % 100000 + 1, n = 0;
  while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; n++; }
  out[GID] = n;
}
K poly_f64(const double *x, double *y, int turns) {
  double v = x[GID], s = 0;
  for (int i = 0; i < turns; i++) { s = fma(s, v, 0.5); s = fma(s, v, 0.25); s = fma(s, v, 0.125); s = fma(s, v, -0.75); }
  y[GID] = s;
}
K nbody_f64(const double *p, double *out, int n) {
  __shared__ double s[64 * 3];
  int i = GID, t = threadIdx.x; double x = p[i * 3], y = p[i * 3 + 1], z = p[i * 3 + 2], ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; j += 64) {
    __syncthreads();
    for (int k = 0; k < 3; k++) s[t + 64 * k] = p[j * 3 + t + 64 * k];
    __syncthreads();
    for (int k = 0; k < 64; k++) {
      double dx = s[k * 3] - x, dy = s[k * 3 + 1] - y, dz = s[k * 3 + 2] - z, r = rsqrt(dx * dx + dy * dy + dz * dz + 1e-3);
      r = r * r * r; ax += dx * r; ay += dy * r; az += dz * r;
    }
  }
  out[i * 3] = ax; out[i * 3 + 1] = ay; out[i * 3 + 2] = az;
}
K nbody_f32(const float4 *p, float4 *out, int n) {
  __shared__ float4 s[128];
  int i = GID; float4 b = p[i]; float ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; j += 128) {
    s[threadIdx.x] = p[j + threadIdx.x]; __syncthreads();
#pragma unroll 8
    for (int k = 0; k < 128; k++) {
      float dx = s[k].x - b.x, dy = s[k].y - b.y, dz = s[k].z - b.z, q = dx * dx + dy * dy + dz * dz + 1e-3f, r = rsqrtf(q);
      r = s[k].w * r * r * r; ax += dx * r; ay += dy * r; az += dz * r;
    }
    __syncthreads();
  }
  out[i] = make_float4(ax, ay, az, 0);
}
K exp_log(const float *x, float *y, int turns) {
  float v = x[GID] + 1.5f;
  for (int i = 0; i < turns; i++) v = logf(expf(v) + sinf(v)) + sqrtf(v) / (v + 1.0f);
  y[GID] = v;
}
K fma_ilp1(const float *x, float *y, int turns) {
  float v = x[GID], a = x[GID ^ 1], b = x[GID ^ 2];
  for (int i = 0; i < turns; i++) v = fmaf(v, a, b);
  y[GID] = v;
}
K fma_consts(const float *x, float *y, int turns) {
  float v = x[GID], w = v + 1;
  for (int i = 0; i < turns; i++) { v = fmaf(v, 1.0001f, 0.5f); w = fmaf(w, 0.999f, 0.25f); }
  y[GID] = v + w;
}
// --- images, stencils, transforms
K conv2d_5x5(const float *in, const float *w, float *out, int n) {
  __shared__ float s[20][36];
  int x0 = blockIdx.x * 32, y0 = blockIdx.y * 16, tx = threadIdx.x, ty = threadIdx.y;
  for (int y = ty; y < 20; y += 16)
    for (int x = tx; x < 36; x += 32) { int gx = min(max(x0 + x - 2, 0), n - 1), gy = min(max(y0 + y - 2, 0), n - 1); s[y][x] = in[gy * n + gx]; }
  __syncthreads();
  float v = 0;
  for (int j = 0; j < 5; j++) for (int i = 0; i < 5; i++) v += s[ty + j][tx + i] * w[j * 5 + i];
  out[(y0 + ty) * n + x0 + tx] = v;
}
K sobel(const u32 *in, u32 *out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
#define P(i, j) (int)(in[(y + j) * n + x + i] & 255)
  int gx = P(1, -1) + 2 * P(1, 0) + P(1, 1) - P(-1, -1) - 2 * P(-1, 0) - P(-1, 1), gy = P(-1, 1) + 2 * P(0, 1) + P(1, 1) - P(-1, -1) - 2 * P(0, -1) - P(1, -1);
  out[y * n + x] = min(abs(gx) + abs(gy), 255);
}
K resize_bilinear(const unsigned char *in, unsigned char *out, int n, int m) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float fx = x * (float)n / m, fy = y * (float)n / m; int ix = min((int)fx, n - 2), iy = min((int)fy, n - 2); fx -= ix; fy -= iy;
  float a = in[iy * n + ix], b = in[iy * n + ix + 1], c = in[(iy + 1) * n + ix], d = in[(iy + 1) * n + ix + 1];
  out[y * m + x] = (unsigned char)((a * (1 - fx) + b * fx) * (1 - fy) + (c * (1 - fx) + d * fx) * fy);
}
K rgb_to_gray(const uchar4 *in, unsigned char *out, int n) {
  int i = GID; if (i < n) { uchar4 p = in[i]; out[i] = (p.x * 77 + p.y * 150 + p.z * 29) >> 8; }
}
K median3x3(const float *in, float *out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y; float v[9];
  for (int j = 0; j < 3; j++) for (int i = 0; i < 3; i++) v[j * 3 + i] = in[min(max(y + j - 1, 0), n - 1) * n + min(max(x + i - 1, 0), n - 1)];
#pragma unroll
  for (int i = 0; i < 5; i++)
#pragma unroll
    for (int j = 8; j > i; j--) { float lo = fminf(v[j - 1], v[j]), hi = fmaxf(v[j - 1], v[j]); v[j - 1] = lo; v[j] = hi; }
  out[y * n + x] = v[4];
}
K stencil3d(const float *in, float *out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
  if (x >= n - 1 || y >= n - 1) return;
  for (int z = 1; z < n - 1; z++) {
    int i = (z * n + y) * n + x;
    out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n]);
  }
}
K depthwise3x3(const float *in, const float *w, float *out, int n) {
  int c = blockIdx.z, x = threadIdx.x + blockIdx.x * 32, y = (threadIdx.y + blockIdx.y * 8) * 4; float k[9];
  for (int i = 0; i < 9; i++) k[i] = w[c * 9 + i];
#pragma unroll
  for (int r = 0; r < 4; r++) {
    float v = 0;
#pragma unroll
    for (int j = 0; j < 3; j++)
#pragma unroll
      for (int i = 0; i < 3; i++) { int gx = x + i - 1, gy = y + r + j - 1; v += gx >= 0 && gy >= 0 && gx < n && gy < n ? in[(c * n + gy) * n + gx] * k[j * 3 + i] : 0.0f; }
    out[(c * n + y + r) * n + x] = v;
  }
}
K fft_shared(const float2 *in, float2 *out) {
  __shared__ float2 s[512]; int t = threadIdx.x;
  s[t] = in[blockIdx.x * 512 + t]; s[t + 256] = in[blockIdx.x * 512 + t + 256];
  for (int h = 256; h; h /= 2) {
    __syncthreads();
    int i = t / h * 2 * h + t % h; float2 a = s[i], b = s[i + h]; float si, co; __sincosf(-3.14159265f * (t % h) / h, &si, &co);
    float dx = a.x - b.x, dy = a.y - b.y; s[i] = make_float2(a.x + b.x, a.y + b.y); s[i + h] = make_float2(dx * co - dy * si, dx * si + dy * co);
  }
  __syncthreads();
  out[blockIdx.x * 512 + t] = s[t]; out[blockIdx.x * 512 + t + 256] = s[t + 256];
}
K dct8x8(const float *in, float *out, int n) {
  __shared__ float s[8][8][9]; int b = threadIdx.y, t = threadIdx.x, x = (blockIdx.x * 8 + b) * 8, y = blockIdx.y * 8; float v[8];
  for (int i = 0; i < 8; i++) v[i] = in[(y + i) * n + x + t];
  for (int k = 0; k < 8; k++) { float a = 0; for (int i = 0; i < 8; i++) a += v[i] * __cosf(0.19634954f * (2 * i + 1) * k); s[b][k][t] = a; }
  __syncthreads();
  for (int i = 0; i < 8; i++) v[i] = s[b][t][i];
  for (int k = 0; k < 8; k++) { float a = 0; for (int i = 0; i < 8; i++) a += v[i] * __cosf(0.19634954f * (2 * i + 1) * k); out[(y + t) * n + x + k] = a; }
}
// --- matrices
K sgemm_regs(const float *a, const float *b, float *c, int n) {
  __shared__ float sa[8][64], sb[8][64];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, t = threadIdx.x, row = blockIdx.y * 64, col = blockIdx.x * 64; float acc[4][4] = {};
  for (int k = 0; k < n; k += 8) {
    for (int i = t; i < 512; i += 256) { sa[i % 8][i / 8] = a[(row + i / 8) * n + k + i % 8]; sb[i / 64][i % 64] = b[(k + i / 64) * n + col + i % 64]; }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 8; kk++) {
      float x[4], y[4];
      for (int i = 0; i < 4; i++) { x[i] = sa[kk][ty * 4 + i]; y[i] = sb[kk][tx * 4 + i]; }
      for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) acc[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * n + col + tx * 4 + j] = acc[i][j];
}
K igemm_dp4a(const int *a, const int *b, int *c, int n) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, s = 0;
  for (int k = 0; k < n / 4; k++) s = __dp4a(a[y * n / 4 + k], b[x * n / 4 + k], s);
  c[y * n + x] = s;
}
K gemv(const float4 *a, const float4 *x, float *y, int n) {
  int w = GID / 32, lane = GID % 32; float s = 0;
  for (int i = lane; i < n / 4; i += 32) { float4 p = a[w * (n / 4) + i], q = x[i]; s += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w; }
  for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
  if (lane == 0) y[w] = s;
}
K lu_small(float *m) {
  __shared__ float s[32][33]; int t = threadIdx.x; float *p = m + (u64)blockIdx.x * 1024;
  for (int i = 0; i < 32; i++) s[i][t] = p[i * 32 + t] + (i == t ? 40.0f : 0.0f);
  __syncwarp();
  for (int k = 0; k < 31; k++) {
    float inv = 1.0f / s[k][k];
    if (t > k) { float f = s[t][k] * inv; s[t][k] = f; for (int j = k + 1; j < 32; j++) s[t][j] -= f * s[k][j]; }
    __syncwarp();
  }
  for (int i = 0; i < 32; i++) p[i * 32 + t] = s[i][t];
}
K transpose_tile(const float *in, float *out, int n) {
  __shared__ float s[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) s[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) out[(y + i) * n + x] = s[threadIdx.x][threadIdx.y + i];
}
K spmv_vector(const u32 *rp, const u32 *ci, const float *v, const float *x, float *y, int rows) {
  int w = GID / 32, lane = GID % 32; if (w >= rows) return; float s = 0;
  for (u32 i = rp[w] + lane; i < rp[w + 1]; i += 32) s += v[i] * x[ci[i]];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(~0u, s, d);
  if (lane == 0) y[w] = s;
}
// --- memory patterns and irregular work
K copy_f4(const float4 *in, float4 *out, int n) { for (int i = GID; i < n; i += gridDim.x * blockDim.x) out[i] = in[i]; }
K copy_offset(const float *in, float *out, int off) { int i = GID; out[i + off] = in[i + off]; }
K triad_u8(const unsigned char *a, unsigned char *b, int n) { for (int i = GID; i < n; i += gridDim.x * blockDim.x) b[i] = a[i] * 3 + 1; }
K gather_rows(const float *t, const u32 *idx, float *out, int n) {
  int r = GID / 64, c = GID % 64; out[r * 64 + c] = t[(u64)(idx[r] % n) * 64 + c];
}
K scatter_add(const u32 *idx, const float *v, float *out, int n) { atomicAdd(&out[idx[GID] % n], v[GID]); }
K pointer_chase(const u32 *next, u32 *out, int turns) { u32 p = GID * 97; for (int i = 0; i < turns; i++) p = next[p & 0xfffff]; out[GID] = p; }
K local_array(const u32 *k, u32 *out, int turns) {
  u32 a[64], x = k[GID];
  for (int i = 0; i < 64; i++) a[i] = x + i;
  for (int i = 0; i < turns; i++) { x = x * 1664525u + 1013904223u; u32 j = x >> 26; a[j] += a[j ^ 1] + i; }
  u32 s = 0; for (int i = 0; i < 64; i++) s ^= a[i];
  out[GID] = s;
}
__constant__ float ctab[1024];
K const_lookup(const u32 *k, float *out, int turns) {
  u32 x = k[GID]; float s = 0;
  for (int i = 0; i < turns; i++) { s += ctab[x & 31]; x = x * 1664525u + 1013904223u; }
  out[GID] = s;
}
K divergent_switch(const u32 *k, u32 *out, int turns) {
  u32 x = k[GID];
  for (int i = 0; i < turns; i++) switch (x & 7) {
    case 0: x = x * 3 + 1; break; case 1: x ^= x >> 5; x *= 7; break; case 2: x = __popc(x) * x; break; case 3: x += x << 3; x ^= 99; break;
    case 4: x = x / 3 + 5; break; case 5: x = __brev(x); break; case 6: x = x * x + i; break; default: x = ~x >> 1; x += i * 3;
  }
  out[GID] = x;
}
K bfs_like(const u32 *rp, const u32 *ci, const u32 *level, u32 *next, int rows) {
  int r = GID; if (r >= rows || level[r] % 4) return;
  for (u32 i = rp[r]; i < rp[r + 1]; i++) atomicMin(&next[ci[i]], level[r] + 1);
}
K compact(const u32 *in, u32 *out, u32 *count) {
  u32 v = in[GID]; bool keep = v % 3 == 0; u32 m = __ballot_sync(~0u, keep); int lane = threadIdx.x % 32, base = 0;
  if (lane == 0) base = atomicAdd(count, __popc(m));
  base = __shfl_sync(~0u, base, 0);
  if (keep) out[base + __popc(m & ((1u << lane) - 1))] = v;
}
K match_groups(const u32 *k, u32 *out) { u32 v = k[GID] & 7; for (int i = 0; i < 32; i++) v = __match_any_sync(~0u, (v + i) & 7) >> 3; out[GID] = v; }
K scan_block(const u32 *in, u32 *out) {
  __shared__ u32 s[32]; int t = threadIdx.x, lane = t % 32; u32 v = in[blockIdx.x * 1024 + t];
  for (int d = 1; d < 32; d *= 2) { u32 o = __shfl_up_sync(~0u, v, d); if (lane >= d) v += o; }
  if (lane == 31) s[t / 32] = v;
  __syncthreads();
  if (t < 32) { u32 w = s[t]; for (int d = 1; d < 32; d *= 2) { u32 o = __shfl_up_sync(~0u, w, d); if (t >= d) w += o; } s[t] = w; }
  __syncthreads();
  out[blockIdx.x * 1024 + t] = v + (t >= 32 ? s[t / 32 - 1] : 0);
}
K dot_f64(const double *a, const double *b, double *out, int n) {
  __shared__ double s[256]; double v = 0; int t = threadIdx.x;
  for (int i = GID; i < n; i += gridDim.x * 256) v += a[i] * b[i];
  s[t] = v; __syncthreads();
  for (int d = 128; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) out[blockIdx.x] = s[0];
}
K triangular(const float *x, float *y, int n) { int r = GID; float s = 0; for (int i = 0; i <= r; i++) s += x[i] * x[r - i]; y[r] = s; }
extern "C" __global__ void __launch_bounds__(256, 8) spilled(const float *x, float *y, int turns) {
  float v[48]; for (int i = 0; i < 48; i++) v[i] = x[(GID + i * 37) & 0xffff];
  for (int t = 0; t < turns; t++)
#pragma unroll
    for (int i = 0; i < 48; i++) v[i] = fmaf(v[i], v[(i + 7) % 48], v[(i + 13) % 48]);
  float s = 0; for (int i = 0; i < 48; i++) s += v[i]; y[GID] = s;
}
K life(const u32 *in, u32 *out, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, c = 0;
  for (int j = -1; j <= 1; j++) for (int i = -1; i <= 1; i++) if (i || j) c += in[((y + j + n) % n) * n + (x + i + n) % n] & 1;
  out[y * n + x] = c == 3 || (c == 2 && (in[y * n + x] & 1));
}
K levenshtein(const u32 *a, const u32 *b, u32 *out) {
  u32 row[17], w = GID; u32 p = a[w], q = b[w];
  for (int j = 0; j <= 16; j++) row[j] = j;
#pragma unroll
  for (int i = 1; i <= 16; i++) {
    u32 diag = row[0]; row[0] = i;
#pragma unroll
    for (int j = 1; j <= 16; j++) { u32 t = row[j], c = ((p >> 2 * (i - 1) & 3) != (q >> 2 * (j - 1) & 3)); row[j] = min(min(row[j] + 1, row[j - 1] + 1), diag + c); diag = t; }
  }
  out[w] = row[16];
}
