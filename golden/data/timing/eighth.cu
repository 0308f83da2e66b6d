// Kernels of many kinds; timed unseen once, open for tuning since.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#define K(n) extern "C" __global__ void n
#define KB(b, n) extern "C" __global__ void __launch_bounds__(b) n
#define G u i = blockIdx.x * blockDim.x + threadIdx.x
using namespace nvcuda;
typedef unsigned u;
typedef unsigned long long U;
typedef unsigned char u8;
extern __shared__ uint4 dyn[];

// Small helpers.
template <class T>
__device__ T warp_sum(T v) {
#pragma unroll
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  return v;
}
__device__ float warp_max(float v) {
#pragma unroll
  for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
  return v;
}
template <class T>
__device__ T warp_scan(T v, u l) {
#pragma unroll
  for (u d = 1; d < 32; d *= 2) {
    T q = __shfl_up_sync(~0u, v, d);
    if (l >= d) v += q;
  }
  return v;
}
__device__ u rotl(u x, u k) { return x << k | x >> (32 - k); }
__device__ u at_shared(const void* p) { return (u)__cvta_generic_to_shared(p); }
__device__ u half_pair(float x, float y) {
  half2 h = __floats2half2_rn(x, y);
  return *(u*)&h;
}
__device__ half2 as_half2(u x) { return *(half2*)&x; }
__device__ u as_word(half2 x) { return *(u*)&x; }
__device__ void mma_f16(float (&d)[4], const u (&a)[4], u b0, u b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ void mma_bf16(float (&d)[4], const u (&a)[4], u b0, u b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ void mma_s8(int (&d)[4], const u (&a)[4], u b0, u b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ void ld4(u (&r)[4], u at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}
__device__ void ld4t(u (&r)[4], u at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}
__device__ void cp16(u to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Tensor cores: WMMA, mma.sync with ldmatrix and cp.async, chained and transposed products.
K(wmma_silu)(const half* a, const half* b, const float* bias, half* o, u n, u k) {
  __shared__ __align__(32) float s[64][68];
  u w = threadIdx.x / 32, y = w / 2 * 32, x = w % 2 * 32, r = blockIdx.y * 64 + y, c = blockIdx.x * 64 + x;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> d[2][2];
  for (int p = 0; p < 4; p++) wmma::fill_fragment(d[p / 2][p % 2], 0.f);
  for (u q = 0; q < k; q += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> f[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> g[2];
    for (int p = 0; p < 2; p++) {
      wmma::load_matrix_sync(f[p], a + (r + 16 * p) * k + q, k);
      wmma::load_matrix_sync(g[p], b + q * n + c + 16 * p, n);
    }
    for (int p = 0; p < 4; p++) wmma::mma_sync(d[p / 2][p % 2], f[p / 2], g[p % 2], d[p / 2][p % 2]);
  }
  for (int p = 0; p < 4; p++)
    wmma::store_matrix_sync(&s[y + p / 2 * 16][x + p % 2 * 16], d[p / 2][p % 2], 68, wmma::mem_row_major);
  __syncthreads();
  for (u e = threadIdx.x; e < 2048; e += 128) {
    u yy = e / 32, xx = e % 32 * 2;
    float p = s[yy][xx] + bias[blockIdx.x * 64 + xx], q = s[yy][xx + 1] + bias[blockIdx.x * 64 + xx + 1];
    p /= 1 + __expf(-p);
    q /= 1 + __expf(-q);
    ((half2*)(o + (blockIdx.y * 64 + yy) * n + blockIdx.x * 64))[e % 32] = __floats2half2_rn(p, q);
  }
}
// Three stages of 64 x 32 tiles, each row's four 16-byte parts turned by the row.
KB(128, mma_swizzle)(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ o, u n, u k) {
  u t = threadIdx.x, l = t % 32, wy = t / 64 * 32, wx = t / 32 % 2 * 32, base = at_shared(dyn);
  a += blockIdx.y * 64 * k;
  b += blockIdx.x * 64 * k;
  auto fetch = [&](u stage, u at) {
#pragma unroll
    for (u e = t; e < 256; e += 128) {
      u r = e / 4, c = e % 4, to = base + stage * 8192 + r * 64 + (c ^ (r >> 1 & 3)) * 16;
      cp16(to, a + r * k + at + c * 8);
      cp16(to + 4096, b + r * k + at + c * 8);
    }
  };
  float d[2][4][4] = {};
  u tiles = k / 32;
  for (u q = 0; q < 2; q++) {
    fetch(q, q * 32);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (u q = 0; q < tiles; q++) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    if (q + 2 < tiles) fetch((q + 2) % 3, (q + 2) * 32);
    asm volatile("cp.async.commit_group;" ::: "memory");
    u st = base + q % 3 * 8192;
#pragma unroll
    for (u h = 0; h < 2; h++) {
      u x[2][4], y[2][4];
#pragma unroll
      for (u p = 0; p < 2; p++) {
        u r = wy + p * 16 + l % 16, c = h * 2 + l / 16;
        ld4(x[p], st + r * 64 + (c ^ (r >> 1 & 3)) * 16);
        r = wx + p * 16 + l % 8 + l / 16 * 8;
        c = h * 2 + l / 8 % 2;
        ld4(y[p], st + 4096 + r * 64 + (c ^ (r >> 1 & 3)) * 16);
      }
#pragma unroll
      for (u p = 0; p < 2; p++)
#pragma unroll
        for (u j = 0; j < 4; j++) mma_f16(d[p][j], x[p], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
    }
  }
  for (u p = 0; p < 2; p++)
    for (u j = 0; j < 4; j++) {
      float* c = o + (blockIdx.y * 64 + wy + p * 16 + l / 4) * n + blockIdx.x * 64 + wx + j * 8 + l % 4 * 2;
      *(float2*)c = make_float2(d[p][j][0], d[p][j][1]);
      *(float2*)(c + 8 * n) = make_float2(d[p][j][2], d[p][j][3]);
    }
}
// A tall matrix times eight columns in TF32: four warps share the depth.
__device__ u tf32(float x) {
  u r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
K(mma_tf32_skinny)(const float* x, const float* w, float* o, u k) {
  __shared__ float s[4][128];
  u t = threadIdx.x, l = t % 32, g = l / 4, c = l % 4, q = t / 32, each = k / 4;
  const float *p = x + (blockIdx.x * 16 + g) * k + q * each + c, *v = w + g * k + q * each + c;
  float d[4] = {};
#pragma unroll 4
  for (u e = 0; e < each; e += 8) {
    u a0 = tf32(p[e]), a1 = tf32(p[e + 8 * k]), a2 = tf32(p[e + 4]), a3 = tf32(p[e + 8 * k + 4]);
    u b0 = tf32(v[e]), b1 = tf32(v[e + 4]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  s[q][g * 8 + 2 * c] = d[0];
  s[q][g * 8 + 2 * c + 1] = d[1];
  s[q][g * 8 + 2 * c + 64] = d[2];
  s[q][g * 8 + 2 * c + 65] = d[3];
  __syncthreads();
  o[blockIdx.x * 128 + t] = s[0][t] + s[1][t] + s[2][t] + s[3][t];
}
// 3 x 3 convolution of 32 int8 channels: one tap is one depth of 32.
KB(128, conv_s8_mma)(const u* __restrict__ x, const u* __restrict__ w, unsigned short* __restrict__ o, u wide, u mul) {
  __shared__ u s[2304];
  for (u k = threadIdx.x; k < 2304; k += 128) s[k] = w[k];
  __syncthreads();
  u l = threadIdx.x % 32, g = l / 4, t = l % 4, px = threadIdx.x / 32 * 16, py = blockIdx.x;
  int c[4][4] = {};
  for (u tap = 0; tap < 9; tap++) {
    const u* p = x + ((py + tap / 3) * wide + px + tap % 3 + g) * 8 + t;
    u a[4] = {p[0], p[64], p[4], p[68]};
    for (u j = 0; j < 4; j++) {
      const u* q = s + ((j * 8 + g) * 9 + tap) * 8 + t;
      mma_s8(c[j], a, q[0], q[4]);
    }
  }
  for (u j = 0; j < 4; j++)
    for (u h = 0; h < 2; h++) {
      int p = min(max(c[j][2 * h] * (int)mul >> 14, 0), 127), q = min(max(c[j][2 * h + 1] * (int)mul >> 14, 0), 127);
      o[(py * 64 + px + g + 8 * h) * 16 + j * 4 + t] = p | q << 8;
    }
}
// Prefix sums as products with triangular matrices of ones: 256 words a warp.
__device__ u ones(bool lo, bool hi) { return (lo ? 0x3c00u : 0u) | (hi ? 0x3c000000u : 0u); }
K(mma_prefix)(const u* a, u* o, u tiles) {
  __shared__ u s[2][8];
  u l = threadIdx.x % 32, w = threadIdx.x / 32, g = l / 4, c = l % 4 * 2, carry = 0;
  u low[4] = {ones(c < g, c + 1 < g), ones(c < g + 8, c + 1 < g + 8), ones(c + 8 < g, c + 9 < g),
              ones(c + 8 < g + 8, c + 9 < g + 8)};
  for (u k = 0; k < tiles; k++) {
    u at = ((blockIdx.x * tiles + k) * 8 + w) * 256 + g * 16 + c, x[4];
    for (u j = 0; j < 4; j++) {
      uint2 q = *(const uint2*)(a + at + (j & 1) * 128 + j / 2 * 8);
      x[j] = half_pair(q.x, q.y);
    }
    float r[2][4] = {}, t[4] = {};
    for (u j = 0; j < 2; j++) {
      u n = 8 * j + g;
      mma_f16(r[j], x, ones(c <= n, c + 1 <= n), ones(c + 8 <= n, c + 9 <= n));
    }
    mma_f16(t, x, 0x3c003c00, 0x3c003c00);
    u b0 = half_pair(__shfl_sync(~0u, t[0], 4 * c), __shfl_sync(~0u, t[0], 4 * c + 4));
    u b1 = half_pair(__shfl_sync(~0u, t[2], 4 * c), __shfl_sync(~0u, t[2], 4 * c + 4));
    for (u j = 0; j < 2; j++) mma_f16(r[j], low, b0, b1);
    if (l == 31) s[k & 1][w] = r[1][3];
    __syncthreads();
    u before = carry;
    for (u j = 0; j < 8; j++) {
      before += j < w ? s[k & 1][j] : 0;
      carry += s[k & 1][j];
    }
    for (u j = 0; j < 4; j++)
      *(uint2*)(o + at + (j & 1) * 128 + j / 2 * 8) =
          make_uint2(before + (u)r[j / 2][(j & 1) * 2], before + (u)r[j / 2][(j & 1) * 2 + 1]);
  }
}
// The Gram matrix of 64 columns in bfloat16: both operands read transposed.
K(gram_bf16)(const float4* x, float* o, u rounds) {
  __shared__ __align__(16) __nv_bfloat16 s[64][72];
  u t = threadIdx.x, l = t % 32, m = t / 32 * 16;
  float d[8][4] = {};
  for (u r = 0; r < rounds; r++) {
    for (u e = t; e < 1024; e += 128) {
      float4 v = x[(blockIdx.x * rounds + r) * 1024 + e];
      __nv_bfloat162* p = (__nv_bfloat162*)&s[e / 16][e % 16 * 4];
      p[0] = __floats2bfloat162_rn(v.x, v.y);
      p[1] = __floats2bfloat162_rn(v.z, v.w);
    }
    __syncthreads();
    for (u k = 0; k < 64; k += 16) {
      u a[4], b[4];
      ld4t(a, at_shared(&s[k + l % 8 + l / 16 * 8][m + l / 8 % 2 * 8]));
#pragma unroll
      for (u n = 0; n < 4; n++) {
        ld4t(b, at_shared(&s[k + l % 16][n * 16 + l / 16 * 8]));
        mma_bf16(d[2 * n], a, b[0], b[1]);
        mma_bf16(d[2 * n + 1], a, b[2], b[3]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (u n = 0; n < 8; n++)
    for (u h = 0; h < 2; h++)
      *(float2*)(o + blockIdx.x * 4096 + (m + l / 4 + 8 * h) * 64 + n * 8 + l % 4 * 2) =
          make_float2(d[n][2 * h], d[n][2 * h + 1]);
}
// A low-rank update y += scale (x a) b: the first product's sums are the second one's operand.
K(lora_chain)(const u* __restrict__ x, const u* __restrict__ a, const u* __restrict__ b, float* y, float scale) {
  u l = threadIdx.x % 32, g = l / 4, t = l % 4, row = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * 16 + g;
  float d[2][4] = {};
#pragma unroll
  for (u k = 0; k < 64; k += 8) {
    const u* p = x + row * 64 + k + t;
    u f[4] = {p[0], p[512], p[4], p[516]};
#pragma unroll
    for (u j = 0; j < 2; j++) {
      const u* q = a + (j * 8 + g) * 64 + k + t;
      mma_f16(d[j], f, q[0], q[4]);
    }
  }
  u f[4];
  for (u j = 0; j < 4; j++) f[j] = half_pair(d[j / 2][j % 2 * 2] * scale, d[j / 2][j % 2 * 2 + 1] * scale);
#pragma unroll
  for (u n = 0; n < 8; n++) {
    const u* q = b + (n * 8 + g) * 8 + t;
    float2 *p = (float2*)(y + row * 64 + n * 8 + t * 2), *r = p + 256, v = *p, w = *r;
    float c[4] = {v.x, v.y, w.x, w.y};
    mma_f16(c, f, q[0], q[4]);
    *p = make_float2(c[0], c[1]);
    *r = make_float2(c[2], c[3]);
  }
}

// Parts of neural networks.
K(rms_rope)(half* x, const float* g, u heads, u start) {
  u l = threadIdx.x % 32, w = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  half* p = x + w * 64 + l;
  float a = __half2float(p[0]), b = __half2float(p[32]);
  float r = rsqrtf(warp_sum(a * a + b * b) / 64 + 1e-6f);
  a *= r * g[l];
  b *= r * g[l + 32];
  float s, c;
  sincosf((w / heads + start) * exp2f(l * -.41524101f), &s, &c);
  p[0] = __float2half_rn(a * c - b * s);
  p[32] = __float2half_rn(b * c + a * s);
}
K(softmax_1000)(const float* a, float* o, u n, float scale) {
  __shared__ float s[8];
  u t = threadIdx.x, l = t % 32, w = t / 32;
  a += blockIdx.x * n;
  o += blockIdx.x * n;
  float m = -1e30f, z = 0;
  for (u k = t; k < n; k += 256) m = fmaxf(m, a[k] * scale);
  m = warp_max(m);
  if (!l) s[w] = m;
  __syncthreads();
  for (u k = 0; k < 8; k++) m = fmaxf(m, s[k]);
  __syncthreads();
  for (u k = t; k < n; k += 256) z += expf(a[k] * scale - m);
  z = warp_sum(z);
  if (!l) s[w] = z;
  __syncthreads();
  z = 0;
  for (u k = 0; k < 8; k++) z += s[k];
  for (u k = t; k < n; k += 256) o[k] = expf(a[k] * scale - m) / z;
}
// Tokens' places after a stable sort by expert, in one block.
K(moe_slots)(const u* id, u* slot, u* start, u n) {
  __shared__ u tot[16], base[16], c[16][33];
  u t = threadIdx.x, l = t % 32, w = t / 32;
  if (t < 16) tot[t] = 0;
  __syncthreads();
  for (u i = t; i < n; i += 1024) atomicAdd(&tot[id[i] & 15], 1);
  __syncthreads();
  if (t < 16) {
    u s = 0;
    for (u k = 0; k < t; k++) s += tot[k];
    base[t] = start[t] = s;
  }
  for (u i = t; i < n; i += 1024) {
    u e = id[i] & 15;
    if (t < 512) c[w][l] = 0;
    __syncthreads();
    u m = __match_any_sync(~0u, e), r = __popc(m & ((1u << l) - 1));
    if (!r) c[e][w] = __popc(m);
    __syncthreads();
    if (w < 16) {
      u v = c[w][l], s = warp_scan(v, l);
      c[w][l] = base[w] + s - v;
      __syncwarp();
      if (l == 31) base[w] += s;
    }
    __syncthreads();
    slot[i] = c[e][w] + r;
    __syncthreads();
  }
}
// Weights in FP8 E5M2, which is the upper byte of a half.
__device__ float dot_e5m2(u w, u x0, u x1) {
  w &= 0xbfbfbfbf;
  half2 p = __hmul2(as_half2(__byte_perm(w, 0, 0x1404)), as_half2(x0));
  p = __hfma2(as_half2(__byte_perm(w, 0, 0x3424)), as_half2(x1), p);
  float2 f = __half22float2(p);
  return f.x + f.y;
}
K(gemv_e5m2)(const uint4* __restrict__ w, const uint4* __restrict__ x, const float* __restrict__ scale, float* o) {
  __shared__ float s[4];
  u t = threadIdx.x;
  uint4 q = w[blockIdx.x * 128 + t], a = x[t * 2], b = x[t * 2 + 1];
  float r = dot_e5m2(q.x, a.x, a.y) + dot_e5m2(q.y, a.z, a.w) + dot_e5m2(q.z, b.x, b.y) + dot_e5m2(q.w, b.z, b.w);
  r = warp_sum(r);
  if (t % 32 == 0) s[t / 32] = r;
  __syncthreads();
  if (!t) o[blockIdx.x] = (s[0] + s[1] + s[2] + s[3]) * scale[blockIdx.x];
}
K(kv_quant)(const float4* a, u* o, float* scale) {
  G;
  float4 v = a[i];
  float m = warp_max(fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)))), r = m > 0 ? 127 / m : 0;
  u b0 = __float2int_rn(v.x * r) & 255, b1 = __float2int_rn(v.y * r) & 255, b2 = __float2int_rn(v.z * r) & 255,
    b3 = __float2int_rn(v.w * r) & 255;
  o[i] = b0 | b1 << 8 | b2 << 16 | b3 << 24;
  if (i % 32 == 0) scale[i / 32] = m / 127;
}
__device__ void adamw(float& p, float g, float& m, float& v, float lr) {
  m = .9f * m + .1f * g;
  v = .999f * v + .001f * g * g;
  p -= lr * (m / .19f / (sqrtf(v / .001999f) + 1e-8f) + .01f * p);
}
K(adamw_vec4)(float4* p, const float4* g, float4* m, float4* v, u n, float lr) {
  G;
  if (i >= n) return;
  float4 a = p[i], b = g[i], c = m[i], d = v[i];
  adamw(a.x, b.x, c.x, d.x, lr);
  adamw(a.y, b.y, c.y, d.y, lr);
  adamw(a.z, b.z, c.z, d.z, lr);
  adamw(a.w, b.w, c.w, d.w, lr);
  p[i] = a;
  m[i] = c;
  v[i] = d;
}
K(philox_drop)(const float4* a, uint2* o, u n, u seed, u keep) {
  for (u i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    u c0 = i, c1 = 0, c2 = 1, c3 = 0, k0 = seed, k1 = ~seed;
#pragma unroll
    for (int r = 0; r < 10; r++) {
      u h0 = __umulhi(0xd2511f53, c0), l0 = 0xd2511f53 * c0, h1 = __umulhi(0xcd9e8d57, c2), l1 = 0xcd9e8d57 * c2;
      c0 = h1 ^ c1 ^ k0;
      c2 = h0 ^ c3 ^ k1;
      c1 = l1;
      c3 = l0;
      k0 += 0x9e3779b9;
      k1 += 0xbb67ae85;
    }
    float4 v = a[i];
    o[i] = make_uint2(half_pair(c0 < keep ? v.x * 1.25f : 0, c1 < keep ? v.y * 1.25f : 0),
                      half_pair(c2 < keep ? v.z * 1.25f : 0, c3 < keep ? v.w * 1.25f : 0));
  }
}
// A selective state-space scan: 16 states a channel in registers, step after step.
K(ssm_scan)(const float* x, const float* dt, const float* bc, float* o, u steps, u chans) {
  __shared__ float s[16][32];
  G;
  float h[16] = {};
  for (u t0 = 0; t0 < steps; t0 += 16) {
    __syncthreads();
    for (u k = threadIdx.x; k < 512; k += blockDim.x) s[k / 32][k % 32] = bc[t0 * 32 + k];
    __syncthreads();
    for (u t = 0; t < 16; t++) {
      u at = (t0 + t) * chans + i;
      float d = log1pf(__expf(dt[at])) * .2f, v = x[at] * d, y = 0;
#pragma unroll
      for (int k = 0; k < 16; k++) {
        h[k] = h[k] * __expf(-d * (k + 1)) + v * s[t][k];
        y += h[k] * s[t][16 + k];
      }
      o[at] = y;
    }
  }
}
// Four-bit weights to halves by the exponent trick.
K(awq_unpack)(const u* q, const half* scale, const u* zero, uint4* o, u n) {
  G;
  if (i >= n) return;
  u w = q[i], z = zero[i / 16] & 15;
  half2 s = __half2half2(scale[i / 16]), b = as_half2(0x64006400 | z | z << 16);
  uint4 r;
  r.x = as_word(__hmul2(__hsub2(as_half2((w & 0xf000f) | 0x64006400), b), s));
  r.y = as_word(__hmul2(__hsub2(as_half2((w >> 4 & 0xf000f) | 0x64006400), b), s));
  r.z = as_word(__hmul2(__hsub2(as_half2((w >> 8 & 0xf000f) | 0x64006400), b), s));
  r.w = as_word(__hmul2(__hsub2(as_half2((w >> 12 & 0xf000f) | 0x64006400), b), s));
  o[i] = r;
}
// The forward pass of connectionist temporal classification: 63 states, one a thread.
K(ctc_alpha)(const float* lp, const u* lab, float* o, u steps) {
  __shared__ float s[2][66];
  u t = threadIdx.x, c = t & 1 ? lab[blockIdx.x * 32 + t / 2] % 31 + 1 : 0;
  bool skip = t & 1 && t > 2 && lab[blockIdx.x * 32 + t / 2 - 1] % 31 + 1 != c;
  lp += blockIdx.x * steps * 32;
  if (t < 2) s[0][t] = s[1][t] = -1e30f;
  s[0][t + 2] = t < 2 ? lp[c] * 4 - 4 : -1e30f;
  u f = 0;
  for (u k = 1; k < steps; k++) {
    __syncthreads();
    float x = s[f][t + 2], y = s[f][t + 1], z = skip ? s[f][t] : -1e30f, m = fmaxf(x, fmaxf(y, z));
    f ^= 1;
    s[f][t + 2] = m + logf(expf(x - m) + expf(y - m) + expf(z - m)) + lp[k * 32 + c] * 4 - 4;
  }
  o[blockIdx.x * 64 + t] = t < 63 ? s[f][t + 2] : 0;
}

// Sorting, selecting, partition, prefix sums, histograms.
KB(64, bitonic_regs)(const u* a, u* o) {
  u l = threadIdx.x % 32, at = (blockIdx.x * 2 + threadIdx.x / 32) * 128 + l, v[4];
#pragma unroll
  for (int r = 0; r < 4; r++) v[r] = a[at + r * 32];
#pragma unroll
  for (int k = 2; k <= 128; k *= 2)
#pragma unroll
    for (int j = k / 2; j; j /= 2)
      if (j >= 32) {
#pragma unroll
        for (int r = 0; r < 4; r++) {
          int p = r ^ j / 32;
          if (r < p) {
            bool up = !(r * 32 & k);
            u x = min(v[r], v[p]), y = max(v[r], v[p]);
            v[r] = up ? x : y;
            v[p] = up ? y : x;
          }
        }
      } else {
#pragma unroll
        for (int r = 0; r < 4; r++) {
          u y = __shfl_xor_sync(~0u, v[r], j);
          bool up = !((r * 32 + l) & k), low = !(l & j);
          v[r] = up == low ? min(v[r], y) : max(v[r], y);
        }
      }
#pragma unroll
  for (int r = 0; r < 4; r++) o[at + r * 32] = v[r];
}
K(kth_radix)(const u* a, u* o, u n, u k) {
  __shared__ u h[256], ws[8], pick[2];
  u t = threadIdx.x, l = t % 32, w = t / 32, pre = 0, left = k;
  a += blockIdx.x * n;
  for (int b = 24; b >= 0; b -= 8) {
    h[t] = 0;
    __syncthreads();
    for (u i = t; i < n; i += 256) {
      u x = a[i];
      if (b == 24 || x >> (b + 8) == pre) atomicAdd(&h[x >> b & 255], 1);
    }
    __syncthreads();
    u c = h[t], s = warp_scan(c, l);
    if (l == 31) ws[w] = s;
    __syncthreads();
    for (u j = 0; j < w; j++) s += ws[j];
    if (s - c <= left && left < s) {
      pick[0] = t;
      pick[1] = s - c;
    }
    __syncthreads();
    pre = pre << 8 | pick[0];
    left -= pick[1];
    __syncthreads();
  }
  if (!t) o[blockIdx.x] = pre;
}
K(part_stable)(const uint4* a, u* o, u* count, u below) {
  __shared__ u s[2048], ws[16];
  u t = threadIdx.x, l = t % 32, w = t / 32, c = 0, all = 0;
  uint4 q = a[blockIdx.x * 512 + t];
  u v[4] = {q.x, q.y, q.z, q.w};
  for (int k = 0; k < 4; k++) c += v[k] < below;
  u p = warp_scan(c, l);
  if (l == 31) ws[w] = p;
  __syncthreads();
  p -= c;
  for (u k = 0; k < 16; k++) {
    u x = ws[k];
    if (k < w) p += x;
    all += x;
  }
  for (u k = 0; k < 4; k++)
    if (v[k] < below)
      s[p++] = v[k];
    else
      s[all + 4 * t + k - p] = v[k];
  __syncthreads();
  for (u k = t; k < 2048; k += 512) o[blockIdx.x * 2048 + k] = s[k];
  if (!t) count[blockIdx.x] = all;
}
K(seg_scan)(const float* a, const u* f, float* o) {
  __shared__ float sv[32];
  __shared__ u sf[32];
  G;
  u l = threadIdx.x % 32, w = threadIdx.x / 32, h = f[i] % 24 == 0;
  float v = a[i];
  for (u d = 1; d < 32; d *= 2) {
    float y = __shfl_up_sync(~0u, v, d);
    u g = __shfl_up_sync(~0u, h, d);
    if (l >= d) {
      if (!h) v += y;
      h |= g;
    }
  }
  if (l == 31) {
    sv[w] = v;
    sf[w] = h;
  }
  __syncthreads();
  if (!w) {
    float x = sv[l];
    u q = sf[l];
    for (u d = 1; d < 32; d *= 2) {
      float y = __shfl_up_sync(~0u, x, d);
      u g = __shfl_up_sync(~0u, q, d);
      if (l >= d) {
        if (!q) x += y;
        q |= g;
      }
    }
    sv[l] = x;
  }
  __syncthreads();
  o[i] = w && !h ? v + sv[w - 1] : v;
}
// Twelve words a thread, sorted by insertion in local memory.
K(insertion_local)(const u* a, u* o, u n) {
  G;
  if (i >= n) return;
  u v[12];
  for (int k = 0; k < 12; k++) {
    u x = a[k * n + i];
    int j = k;
    while (j > 0 && v[j - 1] > x) {
      v[j] = v[j - 1];
      j--;
    }
    v[j] = x;
  }
  for (int k = 0; k < 12; k++) o[k * n + i] = v[k];
}
K(lower_bound)(const u* a, const u* q, u* o, u n) {
  G;
  u x = q[i], lo = 0, hi = n;
  while (lo < hi) {
    u m = (lo + hi) / 2;
    if (a[m] < x)
      lo = m + 1;
    else
      hi = m;
  }
  o[i] = lo;
}
// Eight rising series a thread, merged by a heap in columns of shared memory.
K(heap_kway)(const u* a, u* o, u n, u pops) {
  __shared__ u key[8][64], inc[8][64];
  G;
  u t = threadIdx.x, r = 0;
  for (u q = 0; q < 8; q++) {
    u x = a[q * n + i], y = x & 0xffff, j = q;
    while (j && key[(j - 1) / 2][t] > y) {
      key[j][t] = key[(j - 1) / 2][t];
      inc[j][t] = inc[(j - 1) / 2][t];
      j = (j - 1) / 2;
    }
    key[j][t] = y;
    inc[j][t] = x >> 18 | 1;
  }
  for (u p = 0; p < pops; p++) {
    u x = key[0][t], d = inc[0][t], j = 0;
    r = r * 31 + x;
    if (p % 4 == 3) o[p / 4 * n + i] = r;
    x += d;
    for (u c = 1; c < 8; c = 2 * j + 1) {
      if (c < 7 && key[c + 1][t] < key[c][t]) c++;
      if (key[c][t] >= x) break;
      key[j][t] = key[c][t];
      inc[j][t] = inc[c][t];
      j = c;
    }
    key[j][t] = x;
    inc[j][t] = d;
  }
}
// One shared atomic for each set of equal keys in a warp.
K(hist_match)(const u* a, u* o, u n, u bins) {
  __shared__ u h[64];
  if (threadIdx.x < 64) h[threadIdx.x] = 0;
  __syncthreads();
  u l = threadIdx.x % 32;
  for (u i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    u x = a[i], m = __match_any_sync(~0u, x);
    if (l == __ffs(m) - 1) atomicAdd(&h[x], __popc(m));
  }
  __syncthreads();
  if (threadIdx.x < bins) atomicAdd(&o[threadIdx.x], h[threadIdx.x]);
}
// The longest rising subsequence by patience: tails in shared memory.
K(lis_patience)(const u* a, u* o, u n, u len) {
  __shared__ u tail[48][64];
  G;
  u t = threadIdx.x, m = 0;
  for (u k = 0; k < len; k++) {
    u x = a[k * n + i], lo = 0, hi = m;
    while (lo < hi) {
      u mid = (lo + hi) >> 1;
      if (tail[mid][t] < x)
        lo = mid + 1;
      else
        hi = mid;
    }
    tail[lo][t] = x;
    if (lo == m) m++;
  }
  o[i] = m;
}

// Hashing and strings.
K(distinct_probe)(const u* a, u* o, u each) {
  __shared__ u tab[2048], count, sum;
  for (u k = threadIdx.x; k < 2048; k += blockDim.x) tab[k] = ~0u;
  if (!threadIdx.x) count = sum = 0;
  __syncthreads();
  u c = 0, s = 0;
  for (u k = threadIdx.x; k < each; k += blockDim.x) {
    u x = a[blockIdx.x * each + k], h = x * 2654435761u >> 21;
    for (;;) {
      u old = atomicCAS(&tab[h], ~0u, x);
      if (old == x) break;
      if (old == ~0u) {
        c++;
        s += x;
        break;
      }
      h = (h + 1) & 2047;
    }
  }
  atomicAdd(&count, c);
  atomicAdd(&sum, s);
  __syncthreads();
  if (threadIdx.x < 2) o[blockIdx.x * 2 + threadIdx.x] = threadIdx.x ? sum : count;
}
__device__ u finish(u h) {
  h = (h ^ h >> 16) * 0x7feb352d;
  h = (h ^ h >> 15) * 0x846ca68b;
  return h ^ h >> 16;
}
K(bloom_pairs)(const u* a, const u* b, u* o, u words) {
  u* s = (u*)dyn;
  for (u k = threadIdx.x; k < words; k += 512) s[k] = 0;
  __syncthreads();
  for (u k = threadIdx.x; k < 2048; k += 512) {
    u h = finish(a[blockIdx.x * 2048 + k]), d = finish(h) | 1;
    for (u j = 0; j < 4; j++, h += d) {
      u bit = __umulhi(h, words * 32);
      atomicOr(&s[bit / 32], 1u << bit % 32);
    }
  }
  __syncthreads();
  for (u k = threadIdx.x; k < 2048; k += 512) {
    u h = finish(b[blockIdx.x * 2048 + k]), d = finish(h) | 1, hit = 1;
    for (u j = 0; j < 4; j++, h += d) {
      u bit = __umulhi(h, words * 32);
      hit &= s[bit / 32] >> bit % 32;
    }
    u v = __ballot_sync(~0u, hit);
    if (k % 32 == 0) o[blockIdx.x * 64 + k / 32] = v;
  }
}
// Myers's edit distance of 64 symbols in two 64-bit words.
K(myers_edit)(const uint4* pat, const u* text, u* o, u n, u words) {
  G;
  uint4 p = pat[i];
  U p0 = p.x | (U)p.y << 32, p1 = p.z | (U)p.w << 32, pv = ~0ull, mv = 0;
  int score = 64, best = 64;
  for (u k = 0; k < words; k++) {
    u w = text[k * n + i];
#pragma unroll 2
    for (u c = 0; c < 16; c++, w >>= 2) {
      U eq = (w & 1 ? p0 : ~p0) & (w & 2 ? p1 : ~p1), xv = eq | mv, xh = (((eq & pv) + pv) ^ pv) | eq;
      U ph = mv | ~(xh | pv), mh = pv & xh;
      score += (int)(ph >> 63) - (int)(mh >> 63);
      best = min(best, score);
      ph = ph << 1;
      mh = mh << 1;
      pv = mh | ~(xv | ph);
      mv = ph & xv;
    }
  }
  o[i] = best << 16 | score;
}
// The longest earlier match within 64 bytes, of at most 32.
K(lz_window)(const u* a, u* o) {
  __shared__ u8 s[352];
  u t = threadIdx.x, base = blockIdx.x * 256;
  for (u k = t; k < 352; k += 256) s[k] = a[base + k];
  __syncthreads();
  u best = 0, from = 0;
  for (u d = 1; d <= 64; d++) {
    u len = 0;
    while (len < 32 && s[64 + t + len] == s[64 + t + len - d]) len++;
    if (len > best) {
      best = len;
      from = d;
    }
  }
  o[base + t] = best << 8 | from;
}
__constant__ u8 letters[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
__device__ u quad(u x) {
  return letters[x >> 18 & 63] | letters[x >> 12 & 63] << 8 | letters[x >> 6 & 63] << 16 | letters[x & 63] << 24;
}
K(base64_enc)(const u* a, uint4* o, u n) {
  G;
  if (i >= n) return;
  u x = __byte_perm(a[3 * i], 0, 0x0123), y = __byte_perm(a[3 * i + 1], 0, 0x0123),
    z = __byte_perm(a[3 * i + 2], 0, 0x0123);
  o[i] = make_uint4(quad(x >> 8), quad(x << 16 | y >> 16), quad(y << 8 | z >> 24), quad(z));
}
// Each thread decodes its own bits by a table of six.
K(huff_decode)(const u* a, u* o, u* count, u n) {
  __shared__ u tab[64];
  if (threadIdx.x < 64) {
    u v = threadIdx.x;
    tab[v] = v < 32 ? v >> 4 << 3 | 2 : v < 48 ? (2 + (v >> 3 & 1)) << 3 | 3 : v < 56 ? (4 + (v >> 1 & 3)) << 3 | 5
                                                                                     : (8 + (v & 7)) << 3 | 6;
  }
  __syncthreads();
  G;
  U buf = 0;
  u have = 0, at = 0, c = 0, w = 0;
  for (;;) {
    if (have <= 32 && at < 8) {
      buf |= (U)a[at++ * n + i] << (32 - have);
      have += 32;
    }
    if (have < 6) break;
    u e = tab[buf >> 58], len = e & 7;
    buf <<= len;
    have -= len;
    w = w << 4 | e >> 3;
    if (++c % 8 == 0) o[(c / 8 - 1) * n + i] = w;
  }
  if (c % 8) o[c / 8 * n + i] = w << (8 - c % 8) * 4;
  count[i] = c;
}

// Integers.
K(mont256)(const u* a, const u* b, const u* mod, u* o, u n, u rounds) {
  G;
  if (i >= n) return;
  u x[8], y[8], p[8];
#pragma unroll
  for (int k = 0; k < 8; k++) {
    x[k] = a[k * n + i];
    y[k] = b[k * n + i];
    p[k] = mod[k];
  }
  p[0] |= 1;
  p[7] |= 1u << 31;
  x[7] >>= 1;
  y[7] >>= 1;
  u inv = 1;
  for (int k = 0; k < 5; k++) inv *= 2 - p[0] * inv;
  inv = -inv;
#pragma unroll 1
  for (u r = 0; r < rounds; r++) {
    u t[9] = {};
#pragma unroll
    for (int j = 0; j < 8; j++) {
      U c = 0;
#pragma unroll
      for (int k = 0; k < 8; k++) {
        c += (U)x[k] * y[j] + t[k];
        t[k] = c;
        c >>= 32;
      }
      c += t[8];
      t[8] = c;
      u over = c >> 32, m = t[0] * inv;
      c = ((U)m * p[0] + t[0]) >> 32;
#pragma unroll
      for (int k = 1; k < 8; k++) {
        c += (U)m * p[k] + t[k];
        t[k - 1] = c;
        c >>= 32;
      }
      c += t[8];
      t[7] = c;
      t[8] = over + (u)(c >> 32);
    }
    u d[8], borrow = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
      U e = (U)t[k] - p[k] - borrow;
      d[k] = e;
      borrow = e >> 63;
    }
    bool less = !t[8] && borrow;
#pragma unroll
    for (int k = 0; k < 8; k++) x[k] = less ? t[k] : d[k];
  }
#pragma unroll
  for (int k = 0; k < 8; k++) o[k * n + i] = x[k];
}
K(binary_gcd)(const u* a, const u* b, u* o, u n) {
  G;
  if (i >= n) return;
  u x = a[i] >> 8, y = b[i] >> 8, r = x | y;
  if (x && y) {
    u k = __ffs(r) - 1;
    x >>= __ffs(x) - 1;
    do {
      y >>= __ffs(y) - 1;
      u z = min(x, y);
      y = max(x, y) - z;
      x = z;
    } while (y);
    r = x << k;
  }
  o[i] = r;
}
K(aes_rounds)(const u* tab, const u* key, uint4* x, u rounds) {
  __shared__ u s[256], rk[64];
  for (u k = threadIdx.x; k < 256; k += blockDim.x) s[k] = tab[k];
  if (threadIdx.x < 64) rk[threadIdx.x] = key[threadIdx.x];
  __syncthreads();
  G;
  uint4 v = x[i];
  u c[4] = {v.x, v.y, v.z, v.w};
  for (u r = 0; r < rounds; r++) {
    u d[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
      d[k] = s[c[k] & 255] ^ rotl(s[c[(k + 1) % 4] >> 8 & 255], 8) ^ rotl(s[c[(k + 2) % 4] >> 16 & 255], 16) ^
             rotl(s[c[(k + 3) % 4] >> 24], 24) ^ rk[r * 4 + k];
#pragma unroll
    for (int k = 0; k < 4; k++) c[k] = d[k];
  }
  x[i] = make_uint4(c[0], c[1], c[2], c[3]);
}
// A segment of 4,096 odd numbers a block; each thread strikes out one odd factor's multiples.
K(sieve_bits)(u* o, u* count) {
  __shared__ u s[128], c;
  u t = threadIdx.x, p = 2 * t + 3, lo = blockIdx.x * 8192, m = p * p;
  if (t < 128) s[t] = 0;
  if (!t) c = 0;
  __syncthreads();
  if (m < lo) {
    m = (lo + p - 1) / p * p;
    if (m % 2 == 0) m += p;
  }
  for (; m < lo + 8192; m += 2 * p) {
    u k = (m - lo) / 2;
    atomicOr(&s[k / 32], 1u << k % 32);
  }
  __syncthreads();
  if (t < 128) {
    u w = ~s[t];
    if (!lo && !t) w &= ~1u;
    o[blockIdx.x * 128 + t] = w;
    atomicAdd(&c, __popc(w));
  }
  __syncthreads();
  if (!t) count[blockIdx.x] = c;
}
// A little register machine: threads start at different places of one program.
K(vm_switch)(const u* code, const u* in, u* o, u n, u steps) {
  __shared__ u c[32];
  if (threadIdx.x < 32) c[threadIdx.x] = code[threadIdx.x];
  __syncthreads();
  G;
  if (i >= n) return;
  u r[8], pc = in[i] >> 29, z = 0;
  for (u k = 0; k < 8; k++) r[k] = in[i] * (2 * k + 1) + k;
  for (u s = 0; s < steps; s++) {
    u w = c[pc], x = r[w >> 6 & 7], y = r[w >> 9 & 7];
    switch (w & 7) {
      case 0: x += y; break;
      case 1: x *= y | 1; break;
      case 2: x ^= y >> (w >> 12 & 15); break;
      case 3: x = __funnelshift_l(x, x, y); break;
      case 4: x = __popc(x) + y; break;
      case 5: pc += x & 3; break;
      case 6: x = max(x, y) - min(x, y); break;
      default: x = x > y ? x / 3 : __brev(x);
    }
    r[w >> 3 & 7] = x;
    pc = (pc + 1) & 31;
  }
  for (u k = 0; k < 8; k++) z = z * 33 ^ r[k];
  o[i] = z;
}

// Double precision.
K(rk4_lorenz)(const double* a, double* o, u n, u steps, float dt) {
  G;
  double v[3] = {a[i] * 20 - 10, a[n + i] * 20 - 10, a[2 * n + i] * 20 + 10}, h = dt;
  auto slope = [](const double* p, double* q) {
    q[0] = 10 * (p[1] - p[0]);
    q[1] = p[0] * (28 - p[2]) - p[1];
    q[2] = p[0] * p[1] - 8. / 3 * p[2];
  };
  for (u s = 0; s < steps; s++) {
    double k1[3], k2[3], k3[3], k4[3], w[3];
    slope(v, k1);
    for (int k = 0; k < 3; k++) w[k] = v[k] + h / 2 * k1[k];
    slope(w, k2);
    for (int k = 0; k < 3; k++) w[k] = v[k] + h / 2 * k2[k];
    slope(w, k3);
    for (int k = 0; k < 3; k++) w[k] = v[k] + h * k3[k];
    slope(w, k4);
    for (int k = 0; k < 3; k++) v[k] += h / 6 * (k1[k] + 2 * (k2[k] + k3[k]) + k4[k]);
  }
  for (int k = 0; k < 3; k++) o[k * n + i] = v[k];
}
// Cholesky factors of 16 x 16, a warp each.
K(chol_warp)(const double* a, double* o) {
  __shared__ double s[2][16][17];
  u w = threadIdx.x / 32, l = threadIdx.x % 32, r = l % 16, h = l / 16, m = (blockIdx.x * 2 + w) * 256;
  double(*p)[17] = s[w];
  for (u c = h; c < 16; c += 2) p[r][c] = .5 * (a[m + r * 16 + c] + a[m + c * 16 + r]) + (r == c ? 16 : 0);
  __syncwarp();
  for (u k = 0; k < 16; k++) {
    double d = sqrt(p[k][k]), q = r > k ? p[r][k] / d : 0;
    __syncwarp();
    if (!h && r >= k) p[r][k] = r == k ? d : q;
    __syncwarp();
    for (u c = k + 1 + h; c <= r; c += 2) p[r][c] -= q * p[c][k];
    __syncwarp();
  }
  for (u e = l; e < 256; e += 32) o[m + e] = e % 16 <= e / 16 ? p[e / 16][e % 16] : 0;
}
// Eigenvalues of symmetric 4 x 4 matrices by cyclic Jacobi rotations in registers.
K(jacobi_eig)(const double* a, double* o, u n) {
  G;
  if (i >= n) return;
  double m[4][4];
#pragma unroll
  for (int y = 0; y < 4; y++)
#pragma unroll
    for (int x = 0; x <= y; x++) m[y][x] = m[x][y] = a[(y * (y + 1) / 2 + x) * n + i] - .5;
#pragma unroll 1
  for (int s = 0; s < 4; s++)
#pragma unroll
    for (int p = 0; p < 3; p++)
#pragma unroll
      for (int q = p + 1; q < 4; q++) {
        double b = m[p][q];
        if (fabs(b) > 1e-14) {
          double t = (m[q][q] - m[p][p]) / (2 * b);
          t = (t < 0 ? -1 : 1) / (fabs(t) + sqrt(t * t + 1));
          double c = 1 / sqrt(t * t + 1), z = t * c;
#pragma unroll
          for (int k = 0; k < 4; k++) {
            double x = m[k][p], y = m[k][q];
            m[k][p] = c * x - z * y;
            m[k][q] = z * x + c * y;
          }
#pragma unroll
          for (int k = 0; k < 4; k++) {
            double x = m[p][k], y = m[q][k];
            m[p][k] = c * x - z * y;
            m[q][k] = z * x + c * y;
          }
        }
      }
#pragma unroll
  for (int k = 0; k < 4; k++) o[k * n + i] = m[k][k];
}
K(newton_fractal)(u* o, u w, u most, float step) {
  u px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y, k = 0;
  double x = px * (double)step - 1.5, y = py * (double)step - 1.49;
  for (; k < most; k++) {
    double x2 = x * x - y * y, y2 = 2 * x * y, fx = x2 * x - y2 * y - 1, fy = x2 * y + y2 * x;
    if (fx * fx + fy * fy < 1e-10) break;
    double q = 1 / (3 * (x2 * x2 + y2 * y2) + 1e-30);
    x -= (fx * x2 + fy * y2) * q;
    y -= (fy * x2 - fx * y2) * q;
  }
  o[py * w + px] = k << 2 | (x > 0 ? 0 : y > 0 ? 1 : 2);
}

// Images.
K(bayer_rgb)(const u8* a, u* o, u w, u h) {
  u x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  const u8* p = a + y * w + x;
  u c = p[0], side = (p[-1] + p[1]) / 2, up = (p[-(int)w] + p[w]) / 2, cross = (side + up) / 2;
  u diag = (p[-(int)w - 1] + p[-(int)w + 1] + p[w - 1] + p[w + 1]) / 4, r, g, b;
  if (y & 1) {
    r = x & 1 ? diag : up;
    g = x & 1 ? cross : c;
    b = x & 1 ? c : side;
  } else {
    r = x & 1 ? side : c;
    g = x & 1 ? c : cross;
    b = x & 1 ? up : diag;
  }
  o[y * w + x] = r | g << 8 | b << 16 | 255u << 24;
}
// Erosion by a 7 x 7 square, rows and then columns, bytes in shared memory.
K(erode_sep)(const u8* a, u8* o, u w, u h) {
  __shared__ u8 s[38][40], m[38][32];
  u x = threadIdx.x, y = threadIdx.y, t = y * 32 + x;
  for (u k = t; k < 38 * 38; k += 256) {
    int gx = blockIdx.x * 32 + k % 38 - 3, gy = blockIdx.y * 32 + k / 38 - 3;
    gx = min(max(gx, 0), (int)w - 1);
    gy = min(max(gy, 0), (int)h - 1);
    s[k / 38][k % 38] = a[gy * w + gx];
  }
  __syncthreads();
  for (u r = y; r < 38; r += 8) {
    u v = s[r][x];
    for (u d = 1; d < 7; d++) v = min(v, (u)s[r][x + d]);
    m[r][x] = v;
  }
  __syncthreads();
  for (u r = y; r < 32; r += 8) {
    u v = m[r][x];
    for (u d = 1; d < 7; d++) v = min(v, (u)m[r + d][x]);
    o[(blockIdx.y * 32 + r) * w + blockIdx.x * 32 + x] = v;
  }
}
// A summed-area table's rows, a warp each.
K(sat_rows)(const uint4* a, uint4* o, u quads) {
  u l = threadIdx.x % 32, r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, carry = 0;
  for (u k = 0; k < quads; k += 32) {
    uint4 v = a[r * quads + k + l];
    v.x &= 255;
    v.y = v.x + (v.y & 255);
    v.z = v.y + (v.z & 255);
    v.w = v.z + (v.w & 255);
    u s = warp_scan(v.w, l), b = carry + s - v.w;
    carry += __shfl_sync(~0u, s, 31);
    o[r * quads + k + l] = make_uint4(v.x + b, v.y + b, v.z + b, v.w + b);
  }
}
K(bilateral5)(const float* __restrict__ a, float* __restrict__ o, u w, u h, float k) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float c = a[y * w + x], s = 0, z = 0;
#pragma unroll
  for (int dy = -2; dy <= 2; dy++)
#pragma unroll
    for (int dx = -2; dx <= 2; dx++) {
      int gx = min(max(x + dx, 0), (int)w - 1), gy = min(max(y + dy, 0), (int)h - 1);
      float v = a[gy * w + gx], d = v - c, e = __expf(-(dx * dx + dy * dy) * .125f - d * d * k);
      s += v * e;
      z += e;
    }
  o[y * w + x] = s / z;
}
K(hsv_turn)(const u* a, u* o, u n, float turn) {
  G;
  if (i >= n) return;
  u p = a[i];
  float r = (p & 255) / 255.f, g = (p >> 8 & 255) / 255.f, b = (p >> 16 & 255) / 255.f;
  float v = fmaxf(r, fmaxf(g, b)), d = v - fminf(r, fminf(g, b)), h = 0, s = v > 0 ? d / v : 0;
  if (d > 0) {
    if (v == r)
      h = (g - b) / d;
    else if (v == g)
      h = 2 + (b - r) / d;
    else
      h = 4 + (r - g) / d;
  }
  h = fmodf(h + turn + 6, 6);
  int k = (int)h;
  float f = h - k, x = v * (1 - s), y = v * (1 - s * f), z = v * (1 - s * (1 - f));
  switch (k) {
    case 0: r = v, g = z, b = x; break;
    case 1: r = y, g = v, b = x; break;
    case 2: r = x, g = v, b = z; break;
    case 3: r = x, g = y, b = v; break;
    case 4: r = z, g = x, b = v; break;
    default: r = v, g = x, b = y;
  }
  o[i] = (u)(r * 255 + .5f) | (u)(g * 255 + .5f) << 8 | (u)(b * 255 + .5f) << 16;
}
// Floyd and Steinberg's diffusion: a thread a row, each three pixels behind the row above.
K(diffuse_wave)(const u* a, u* o) {
  __shared__ int e[65][130];
  u y = threadIdx.x;
  for (u k = y; k < 65 * 130; k += 64) e[k / 130][k % 130] = 0;
  __syncthreads();
  for (int s = 0; s < 128 + 3 * 63; s++) {
    int x = s - 3 * (int)y;
    if (x >= 0 && x < 128) {
      u at = blockIdx.x * 8192 + y * 128 + x;
      int v = (int)(a[at] & 255) + e[y][x + 1] / 16, q = v > 127 ? 255 : 0, d = v - q;
      o[at] = q;
      e[y + 1][x] += 3 * d;
      e[y + 1][x + 1] += 5 * d;
      if (x < 127) {
        e[y][x + 2] += 7 * d;
        e[y + 1][x + 2] += d;
      }
    }
    __syncthreads();
  }
}

// Irregular work: sparse rows, graphs, trees, particles, cellular automata, dynamic programming.
K(ell_rows)(const u* __restrict__ col, const float* __restrict__ val, const float* __restrict__ x, float* y, u rows) {
  G;
  if (i >= rows) return;
  float s = 0;
  for (u k = 0; k < 12; k++) {
    u c = col[k * rows + i];
    if (c < rows) s += val[k * rows + i] * __ldg(x + c);
  }
  y[i] = s;
}
// Eight lanes a row.
K(csr_octets)(const u* row, const u* col, const float* val, const float* x, float* y) {
  u r = (blockIdx.x * blockDim.x + threadIdx.x) / 8, l = threadIdx.x % 8, end = row[r + 1];
  float s = 0;
  for (u k = row[r] + l; k < end; k += 8) s += val[k] * x[col[k]];
  for (int d = 4; d; d /= 2) s += __shfl_down_sync(~0u, s, d, 8);
  if (!l) y[r] = s;
}
// Connected components of a 32 x 32 picture: least neighbour, then the label's label, until nothing changes.
K(comp_labels)(const u* a, u* o) {
  __shared__ u s[1024];
  u x = threadIdx.x, y = threadIdx.y, t = y * 32 + x;
  bool f = a[blockIdx.x * 1024 + t] % 8 < 5, more;
  u v = f ? t : 1024;
  s[t] = v;
  __syncthreads();
  do {
    u m = v;
    if (f) {
      if (x) m = min(m, s[t - 1]);
      if (x < 31) m = min(m, s[t + 1]);
      if (y) m = min(m, s[t - 32]);
      if (y < 31) m = min(m, s[t + 32]);
      m = min(m, s[m]);
    }
    more = __syncthreads_or(m != v);
    s[t] = v = m;
    __syncthreads();
  } while (more);
  o[blockIdx.x * 1024 + t] = v;
}
// Rays against a tree of boxes built in shared memory; the stack is local.
K(bvh_walk)(const float* c, const float* ray, float* o, u n) {
  __shared__ float lo[3][511], hi[3][511];
  u t = threadIdx.x;
  for (u k = t; k < 256; k += 128)
    for (u d = 0; d < 3; d++) {
      float at = d ? c[d * 256 + k] * 4 : k * (8 / 256.f) - 4, e = .05f + .15f * fabsf(c[k] * c[256 * d + k]);
      lo[d][255 + k] = at - e;
      hi[d][255 + k] = at + e;
    }
  for (u m = 128; m; m /= 2) {
    __syncthreads();
    if (t < m)
      for (u d = 0; d < 3; d++) {
        u k = m - 1 + t;
        lo[d][k] = fminf(lo[d][2 * k + 1], lo[d][2 * k + 2]);
        hi[d][k] = fmaxf(hi[d][2 * k + 1], hi[d][2 * k + 2]);
      }
  }
  __syncthreads();
  G;
  float p[3], q[3], best = 1e9f;
  u st[16], top = 1, seen = 0;
  for (u d = 0; d < 3; d++) {
    p[d] = ray[d * n + i] * 5;
    q[d] = 1 / (ray[(d + 3) * n + i] + 1e-4f);
  }
  st[0] = 0;
  while (top) {
    u k = st[--top];
    float near = 0, far = best;
#pragma unroll
    for (u d = 0; d < 3; d++) {
      float x = (lo[d][k] - p[d]) * q[d], y = (hi[d][k] - p[d]) * q[d];
      near = fmaxf(near, fminf(x, y));
      far = fminf(far, fmaxf(x, y));
    }
    seen++;
    if (near > far) continue;
    if (k >= 255)
      best = near;
    else {
      bool turn = q[0] < 0;
      st[top++] = 2 * k + (turn ? 1 : 2);
      st[top++] = 2 * k + (turn ? 2 : 1);
    }
  }
  o[i] = best;
  o[n + i] = seen;
}
// Particles spread on a grid in fixed point, so that the order of the adds does not matter.
K(p2g_fixed)(const float* a, u* grid, u n, u w) {
  G;
  if (i >= n) return;
  float x = a[i] * (w - 2), y = a[n + i] * (w - 2), m = a[2 * n + i] + .5f;
  u ix = (u)x, iy = (u)y;
  x -= ix;
  y -= iy;
  u* p = grid + iy * w + ix;
  atomicAdd(p, (u)(m * (1 - x) * (1 - y) * 65536));
  atomicAdd(p + 1, (u)(m * x * (1 - y) * 65536));
  atomicAdd(p + w, (u)(m * (1 - x) * y * 65536));
  atomicAdd(p + w + 1, (u)(m * x * y * 65536));
}
// Life on a torus of 64 rows of 256 cells, 32 cells a word.
K(life_words)(const u* a, u* o, u steps) {
  __shared__ u s[2][64][8];
  u x = threadIdx.x, y = threadIdx.y, at = blockIdx.x * 512 + y * 8 + x, f = 0;
  s[0][y][x] = a[at];
  for (u g = 0; g < steps; g++) {
    __syncthreads();
    u s0 = 0, s1 = 0, s2 = 0, me = s[f][y][x];
    auto add = [&](u p) {
      u c = s0 & p;
      s0 ^= p;
      s2 |= s1 & c;
      s1 ^= c;
    };
#pragma unroll
    for (int d = -1; d < 2; d++) {
      const u* r = s[f][(y + d) & 63];
      u m = r[x];
      add(m << 1 | r[(x - 1) & 7] >> 31);
      add(m >> 1 | r[(x + 1) & 7] << 31);
      if (d) add(m);
    }
    f ^= 1;
    s[f][y][x] = s1 & ~s2 & (s0 | me);
  }
  o[at] = s[f][y][x];
}
// Local alignment of 32 symbols with many: a lane a symbol, values pass down the warp.
K(smith_warp)(const u* query, const u* text, int* o, u m) {
  u l = threadIdx.x % 32, w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, q = query[w * 32 + l], c32 = 0, ch = 4;
  int h = 0, e = -99, diag = 0, best = 0, f = -99;
  text += w * m;
  for (u s = 0; s < m + 31; s++) {
    if (s % 32 == 0) c32 = s + l < m ? text[s + l] : 4;
    u head = __shfl_sync(~0u, c32, s % 32), down = __shfl_up_sync(~0u, ch, 1);
    ch = l ? down : head;
    int up = __shfl_up_sync(~0u, h, 1), uf = __shfl_up_sync(~0u, f, 1);
    if (!l) {
      up = 0;
      uf = -99;
    }
    e = max(e - 1, h - 3);
    f = max(uf - 1, up - 3);
    int v = max(max(0, diag + (ch == q ? 3 : -2)), max(e, f));
    diag = up;
    h = s >= l && s - l < m ? v : 0;
    best = max(best, h);
  }
  for (int d = 16; d; d /= 2) best = max(best, __shfl_xor_sync(~0u, best, d));
  if (!l) o[w] = best;
}
// Places in a linked list of 1,024 by pointer jumping.
K(list_rank)(const u* a, u* o) {
  __shared__ u next[1024], dist[1024];
  u t = threadIdx.x, n = (t * (a[2 * blockIdx.x] << 2 | 1) + (a[2 * blockIdx.x + 1] | 1)) & 1023, d = n ? 1 : 0;
  if (!n) n = t;
  for (u r = 0; r < 10; r++) {
    next[t] = n;
    dist[t] = d;
    __syncthreads();
    d += dist[n];
    n = next[n];
    __syncthreads();
  }
  o[blockIdx.x * 1024 + t] = d << 16 | n;
}

// Stencils, a transpose, a Fourier transform.
K(heat3d_march)(const float* a, float* o, u w, u h, u depth, float k) {
  __shared__ float s[10][34];
  u x = threadIdx.x, y = threadIdx.y, plane = w * h, at = (blockIdx.y * 8 + y + 1) * w + blockIdx.x * 32 + x + 1;
  float lo = a[at], me = a[at + plane], up;
  for (u z = 1; z + 1 < depth; z++) {
    at += plane;
    up = a[at + plane];
    s[y + 1][x + 1] = me;
    if (!x) s[y + 1][0] = a[at - 1];
    if (x == 31) s[y + 1][33] = a[at + 1];
    if (!y) s[0][x + 1] = a[at - w];
    if (y == 7) s[9][x + 1] = a[at + w];
    __syncthreads();
    o[at] = me + k * (lo + up + s[y][x + 1] + s[y + 2][x + 1] + s[y + 1][x] + s[y + 1][x + 2] - 6 * me);
    __syncthreads();
    lo = me;
    me = up;
  }
}
K(transpose_raw)(const double* a, double* o, u w, u h) {
  __shared__ double s[32][32];
  u x = threadIdx.x, bx = blockIdx.x * 32, by = blockIdx.y * 32;
  for (u r = threadIdx.y; r < 32; r += 8) s[r][x] = a[(by + r) * w + bx + x];
  __syncthreads();
  for (u r = threadIdx.y; r < 32; r += 8) o[(bx + r) * h + by + x] = s[x][r];
}
template <int R>
__device__ float star(const float* p, int w) {
  float s = 0;
#pragma unroll
  for (int d = 1; d <= R; d++) s += (p[d] + p[-d] + p[d * w] + p[-d * w]) * (1.f / (d * d + 3));
  return s;
}
K(star_r4)(const float* __restrict__ a, float* __restrict__ o, u w) {
  float* s = (float*)dyn;
  u x = threadIdx.x, y = threadIdx.y;
  const float* p = a + blockIdx.y * 16 * w + blockIdx.x * 32;
  for (u k = y * 32 + x; k < 40 * 24; k += 512) s[k] = p[k / 40 * w + k % 40];
  __syncthreads();
  const float* q = s + (y + 4) * 40 + x + 4;
  o[(blockIdx.y * 16 + y + 4) * w + blockIdx.x * 32 + x + 4] = *q - star<4>(q, 40);
}
// Stockham's transform of 512 points by halves.
K(fft_stockham)(const float2* a, float2* o) {
  __shared__ float2 s[2][512];
  u t = threadIdx.x, f = 0;
  s[0][t] = a[blockIdx.x * 512 + t];
  s[0][t + 256] = a[blockIdx.x * 512 + t + 256];
  for (u m = 1; m < 512; m *= 2) {
    __syncthreads();
    u k = t & (m - 1), to = (t - k) * 2 + k;
    float c, d;
    sincospif(-(float)k / m, &d, &c);
    float2 x = s[f][t], y = s[f][t + 256];
    y = make_float2(y.x * c - y.y * d, y.x * d + y.y * c);
    f ^= 1;
    s[f][to] = make_float2(x.x + y.x, x.y + y.y);
    s[f][to + m] = make_float2(x.x - y.x, x.y - y.y);
  }
  __syncthreads();
  o[blockIdx.x * 512 + t] = s[f][t];
  o[blockIdx.x * 512 + t + 256] = s[f][t + 256];
}

// Sixteen-bit arithmetic and float functions.
K(h2_horner)(const uint4* a, uint4* o, u n) {
  G;
  if (i >= n) return;
  uint4 q = a[i];
  u v[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
  for (int k = 0; k < 4; k++) {
    half2 x = as_half2(v[k]), y = __float2half2_rn(.0083f), one = __float2half2_rn(1);
    y = __hfma2(y, x, __float2half2_rn(.0417f));
    y = __hfma2(y, x, __float2half2_rn(.1667f));
    y = __hfma2(y, x, __float2half2_rn(.5f));
    y = __hfma2(y, x, one);
    y = __hfma2(y, x, one);
    y = __hmul2(x, __hmin2(__hmax2(__hsub2(y, x), __float2half2_rn(.75f)), __float2half2_rn(1.5f)));
    v[k] = as_word(y);
  }
  o[i] = make_uint4(v[0], v[1], v[2], v[3]);
}
K(bf_lerp)(const float2* a, const float2* b, const float* m, __nv_bfloat162* o, u n, u rounds) {
  G;
  if (i >= n) return;
  __nv_bfloat162 x = __float22bfloat162_rn(a[i]), y = __float22bfloat162_rn(b[i]), t = __float2bfloat162_rn(m[i / 32]);
  for (u r = 0; r < rounds; r++) {
    x = __hfma2(t, __hsub2(y, x), x);
    y = __hadd2(__hmul2(y, t), x);
  }
  o[i] = x;
}
K(tone_pow)(const float* a, float* o, u n, float gamma) {
  G;
  if (i >= n) return;
  float r = a[3 * i] * 4, g = a[3 * i + 1] * 4, b = a[3 * i + 2] * 4, y = .2126f * r + .7152f * g + .0722f * b + 1e-4f;
  float s = logf(1 + 8 * y) / (2.2f * y);
  o[3 * i] = powf(r * s, gamma);
  o[3 * i + 1] = powf(g * s, gamma);
  o[3 * i + 2] = powf(b * s, gamma);
}
__device__ float slope_at(int x, int y, float dx, float dy) {
  u h = finish(x * 374761393 + y * 668265263);
  float p = h & 1 ? dx : dy, q = h & 1 ? dy : dx;
  return (h & 2 ? -p : p) + (h & 4 ? -.5f * q : .5f * q);
}
K(fbm_noise)(float* o, u w, u octaves, float scale) {
  u px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  float x = px * scale, y = py * scale, amp = .5f, s = 0;
  for (u k = 0; k < octaves; k++) {
    float fx = floorf(x), fy = floorf(y), dx = x - fx, dy = y - fy;
    int ix = (int)fx, iy = (int)fy;
    float p = dx * dx * dx * (dx * (dx * 6 - 15) + 10), q = dy * dy * dy * (dy * (dy * 6 - 15) + 10);
    float a = slope_at(ix, iy, dx, dy), b = slope_at(ix + 1, iy, dx - 1, dy), c = slope_at(ix, iy + 1, dx, dy - 1),
          d = slope_at(ix + 1, iy + 1, dx - 1, dy - 1);
    a += (b - a) * p;
    c += (d - c) * p;
    s += amp * (a + (c - a) * q);
    amp *= .5f;
    x = x * 2 + 17.3f;
    y = y * 2 + 5.7f;
  }
  o[py * w + px] = s;
}
// Rays march through repeated balls above a plane.
__device__ float ball_field(float x, float y, float z) {
  float rx = x - 2 * rintf(x * .5f), rz = z - 2 * rintf(z * .5f);
  return fminf(sqrtf(rx * rx + y * y + rz * rz) - .6f, y + .7f);
}
K(sphere_march)(u* o, u w, u h, u most) {
  u px = blockIdx.x * 8 + threadIdx.x, py = blockIdx.y * 8 + threadIdx.y, k = 0;
  float dx = (px + .5f) / w - .5f, dy = .4f - (py + .5f) / h, dz = 1, r = rsqrtf(dx * dx + dy * dy + 1), t = 0, d = 1;
  dx *= r;
  dy *= r;
  dz *= r;
  for (; k < most && t < 30; k++) {
    d = ball_field(dx * t + .9f, dy * t + .5f, dz * t);
    if (d < .002f) break;
    t += d;
  }
  float light = 0;
  if (d < .002f) {
    float x = dx * t + .9f, y = dy * t + .5f, z = dz * t;
    float nx = ball_field(x + .01f, y, z) - d, ny = ball_field(x, y + .01f, z) - d, nz = ball_field(x, y, z - .01f) - d;
    light = fmaxf(0, (nx + ny + nz) * rsqrtf(3 * (nx * nx + ny * ny + nz * nz) + 1e-12f));
  }
  o[py * w + px] = (u)(light * 255) | k << 8;
}
