// Kernels of many kinds; timed unseen once.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
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
template <u W, class T>
__device__ T block_sum(T v, T* s) {
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0;
  for (u k = 0; k < W; k++) v += s[k];
  __syncthreads();
  return v;
}
__device__ u rotl(u x, u k) { return __funnelshift_l(x, x, k); }
__device__ u mix(u x) {
  x = (x ^ x >> 16) * 0x7feb352d;
  x = (x ^ x >> 15) * 0x846ca68b;
  return x ^ x >> 16;
}
__device__ u at_shared(const void* p) { return (u)__cvta_generic_to_shared(p); }
__device__ u half_pair(float x, float y) {
  half2 h = __floats2half2_rn(x, y);
  return *(u*)&h;
}
__device__ u bf_pair(float x, float y) {
  __nv_bfloat162 h = __floats2bfloat162_rn(x, y);
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
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// Tensor cores.
// Blocks that stay: tiles in turn, and the pipeline of four stages runs on from one tile into the next.
KB(128, gemm_persist)(const half* __restrict__ a, const half* __restrict__ b, const float* __restrict__ bias, half* o,
                      u n, u k, u tiles) {
  u t = threadIdx.x, l = t % 32, wy = t / 64 * 32, wx = t / 32 % 2 * 32, base = at_shared(dyn), kt = k / 32;
  u wide = n / 64, mine = (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x * kt;
  auto fetch = [&](u it) {
    if (it < mine) {
      u tile = blockIdx.x + it / kt * gridDim.x, at = it % kt * 32, to = base + it % 4 * 8192;
      const half *p = a + tile / wide * 64 * k + at, *q = b + at * n + tile % wide * 64;
#pragma unroll
      for (u e = t; e < 256; e += 128) {
        u r = e / 4, c = e % 4;
        cp16(to + r * 64 + (c ^ (r >> 1 & 3)) * 16, p + r * k + c * 8);
        r = e / 8, c = e % 8;
        cp16(to + 4096 + r * 128 + (c ^ (r & 7)) * 16, q + r * n + c * 8);
      }
    }
    commit();
  };
  float d[2][4][4] = {};
  for (u it = 0; it < 3; it++) fetch(it);
  for (u it = 0; it < mine; it++) {
    wait<2>();
    __syncthreads();
    fetch(it + 3);
    u st = base + it % 4 * 8192;
#pragma unroll
    for (u h = 0; h < 2; h++) {
      u x[2][4], y[2][4];
#pragma unroll
      for (u p = 0; p < 2; p++) {
        u r = wy + p * 16 + l % 16, c = h * 2 + l / 16;
        ld4(x[p], st + r * 64 + (c ^ (r >> 1 & 3)) * 16);
        r = h * 16 + l % 16, c = wx / 8 + p * 2 + l / 16;
        ld4t(y[p], st + 4096 + r * 128 + (c ^ (r & 7)) * 16);
      }
#pragma unroll
      for (u p = 0; p < 2; p++)
#pragma unroll
        for (u j = 0; j < 4; j++) mma_f16(d[p][j], x[p], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
    }
    if (it % kt != kt - 1) continue;
    u tile = blockIdx.x + it / kt * gridDim.x, row = tile / wide * 64 + wy + l / 4;
#pragma unroll
    for (u j = 0; j < 4; j++) {
      u col = tile % wide * 64 + wx + j * 8 + l % 4 * 2;
      float2 z = *(const float2*)(bias + col);
#pragma unroll
      for (u p = 0; p < 2; p++)
#pragma unroll
        for (u h = 0; h < 2; h++) {
          u v = half_pair(fmaxf(d[p][j][2 * h] + z.x, 0), fmaxf(d[p][j][2 * h + 1] + z.y, 0));
          *(u*)(o + (row + p * 16 + h * 8) * n + col) = v;
          d[p][j][2 * h] = d[p][j][2 * h + 1] = 0;
        }
    }
  }
}
// Decoding with grouped queries: the 16 rows are eight heads of two tokens; four warps share keys and merge at the end.
KB(128, gqa_decode_mma)(const u* __restrict__ q, const u* __restrict__ k, const uint4* __restrict__ v, const u* len,
                        half* o, u room, float scale) {
  __shared__ __align__(16) uint4 vs[4][2][128];
  __shared__ float part[4][16][64], top[4][16], all[4][16];
  u t = threadIdx.x, l = t % 32, w = t / 32, g = l / 4, c = l % 4, n = 64 + len[blockIdx.x] % (room - 63);
  u f[4][4], tiles = (n + 15) / 16;
  q += blockIdx.x * 512 + g * 32 + c;
  k += blockIdx.x * room * 32;
  v += blockIdx.x * room * 8;
#pragma unroll
  for (u e = 0; e < 4; e++) {
    f[e][0] = q[e * 8];
    f[e][1] = q[e * 8 + 256];
    f[e][2] = q[e * 8 + 4];
    f[e][3] = q[e * 8 + 260];
  }
  auto fetch = [&](u tile) {
    if (tile < tiles)
      for (u e = l; e < 128; e += 32)
        cp16(at_shared(&vs[w][tile / 4 & 1][e ^ (e / 8 & 7)]), v + tile * 128 + e);
    commit();
  };
  float m0 = -1e30f, m1 = -1e30f, z0 = 0, z1 = 0, d[8][4] = {};
  fetch(w);
  for (u tile = w; tile < tiles; tile += 4) {
    fetch(tile + 4);
    float s[2][4] = {};
#pragma unroll
    for (u j = 0; j < 2; j++) {
      const u* p = k + (tile * 16 + j * 8 + g) * 32 + c;
#pragma unroll
      for (u e = 0; e < 4; e++) mma_f16(s[j], f[e], p[e * 8], p[e * 8 + 4]);
#pragma unroll
      for (u e = 0; e < 4; e++) s[j][e] = tile * 16 + j * 8 + c * 2 + e % 2 < n ? s[j][e] * scale : -1e30f;
    }
    float a = fmaxf(fmaxf(s[0][0], s[0][1]), fmaxf(s[1][0], s[1][1]));
    float b = fmaxf(fmaxf(s[0][2], s[0][3]), fmaxf(s[1][2], s[1][3]));
    for (u e = 1; e < 4; e *= 2) {
      a = fmaxf(a, __shfl_xor_sync(~0u, a, e));
      b = fmaxf(b, __shfl_xor_sync(~0u, b, e));
    }
    a = fmaxf(a, m0);
    b = fmaxf(b, m1);
    float ra = exp2f(m0 - a), rb = exp2f(m1 - b);
    m0 = a;
    m1 = b;
    z0 *= ra;
    z1 *= rb;
#pragma unroll
    for (u j = 0; j < 2; j++) {
#pragma unroll
      for (u e = 0; e < 4; e++) s[j][e] = exp2f(s[j][e] - (e < 2 ? a : b));
      z0 += s[j][0] + s[j][1];
      z1 += s[j][2] + s[j][3];
    }
    u p[4] = {half_pair(s[0][0], s[0][1]), half_pair(s[0][2], s[0][3]), half_pair(s[1][0], s[1][1]),
              half_pair(s[1][2], s[1][3])};
    wait<1>();
    __syncwarp();
#pragma unroll
    for (u j = 0; j < 4; j++) {
      u y[4], r = l % 16, h = j * 2 + l / 16;
      ld4t(y, at_shared(&vs[w][tile / 4 & 1][r * 8 + (h ^ (r & 7))]));
#pragma unroll
      for (u e = 0; e < 2; e++) {
        d[2 * j + e][0] *= ra;
        d[2 * j + e][1] *= ra;
        d[2 * j + e][2] *= rb;
        d[2 * j + e][3] *= rb;
        mma_f16(d[2 * j + e], p, y[2 * e], y[2 * e + 1]);
      }
    }
    __syncwarp();
  }
  wait<0>();
  for (u e = 1; e < 4; e *= 2) {
    z0 += __shfl_xor_sync(~0u, z0, e);
    z1 += __shfl_xor_sync(~0u, z1, e);
  }
  if (!c) {
    top[w][g] = m0;
    top[w][g + 8] = m1;
    all[w][g] = z0;
    all[w][g + 8] = z1;
  }
  for (u j = 0; j < 8; j++)
    for (u e = 0; e < 4; e++) part[w][g + e / 2 * 8][j * 8 + c * 2 + e % 2] = d[j][e];
  __syncthreads();
  for (u e = t; e < 1024; e += 128) {
    u r = e / 64;
    float m = fmaxf(fmaxf(top[0][r], top[1][r]), fmaxf(top[2][r], top[3][r])), x = 0, z = 0;
    for (u j = 0; j < 4; j++) {
      float f = exp2f(top[j][r] - m);
      x += f * part[j][r][e % 64];
      z += f * all[j][r];
    }
    o[blockIdx.x * 1024 + e] = __float2half_rn(x / z);
  }
}
// Attention over a sliding window with ALiBi's slopes in bfloat16: 64 queries a block, 32 keys at a time, two stages.
KB(128, window_attn_bf16)(const u* __restrict__ q, const uint4* __restrict__ k, const uint4* __restrict__ v, u* o,
                          u seq, u window, float scale) {
  u t = threadIdx.x, l = t % 32, w = t / 32, g = l / 4, c = l % 4, q0 = blockIdx.x * 64, base = at_shared(dyn);
  u row = q0 + w * 16 + g, f[4][4], first = q0 > window ? (q0 - window) / 32 : 0, last = q0 / 32 + 2;
  float slope = exp2f(-1.f * (blockIdx.y + 1)), m[2] = {-1e30f, -1e30f}, z[2] = {}, d[8][4] = {};
  q += (blockIdx.y * seq + row) * 32 + c;
  o += (blockIdx.y * seq + row) * 32 + c;
  k += blockIdx.y * seq * 8;
  v += blockIdx.y * seq * 8;
#pragma unroll
  for (u e = 0; e < 16; e++) f[e / 4][e % 4] = q[e / 4 * 8 + e % 2 * 256 + e / 2 % 2 * 4];
  auto fetch = [&](u tile) {
    u to = base + tile % 2 * 8192;
    for (u e = t; e < 256; e += 128) {
      u r = e / 8, at = to + r * 128 + (e % 8 ^ (r & 7)) * 16;
      cp16(at, k + tile * 256 + e);
      cp16(at + 4096, v + tile * 256 + e);
    }
  };
  fetch(first);
  commit();
  for (u tile = first; tile < last; tile++) {
    if (tile + 1 < last) fetch(tile + 1);
    commit();
    wait<1>();
    __syncthreads();
    u st = base + tile % 2 * 8192;
    float s[4][4] = {};
#pragma unroll
    for (u e = 0; e < 4; e++)
#pragma unroll
      for (u j = 0; j < 2; j++) {
        u y[4], r = j * 16 + l % 8 + l / 16 * 8, h = e * 2 + l / 8 % 2;
        ld4(y, st + r * 128 + (h ^ (r & 7)) * 16);
        mma_bf16(s[2 * j], f[e], y[0], y[1]);
        mma_bf16(s[2 * j + 1], f[e], y[2], y[3]);
      }
    float r[2];
#pragma unroll
    for (u h = 0; h < 2; h++) {
      float a = m[h];
#pragma unroll
      for (u e = 0; e < 8; e++) {
        int back = (int)(row + 8 * h) - (int)(tile * 32 + e / 2 * 8 + c * 2 + e % 2);
        float& x = s[e / 2][2 * h + e % 2];
        x = back >= 0 && back < (int)window ? x * scale - slope * back : -1e30f;
        a = fmaxf(a, x);
      }
      a = fmaxf(a, __shfl_xor_sync(~0u, a, 1));
      a = fmaxf(a, __shfl_xor_sync(~0u, a, 2));
      r[h] = exp2f(m[h] - a);
      m[h] = a;
      z[h] *= r[h];
#pragma unroll
      for (u e = 0; e < 8; e++) z[h] += s[e / 2][2 * h + e % 2] = exp2f(s[e / 2][2 * h + e % 2] - a);
    }
#pragma unroll
    for (u e = 0; e < 32; e++) d[e / 4][e % 4] *= r[e / 2 % 2];
#pragma unroll
    for (u j = 0; j < 2; j++) {
      u p[4] = {bf_pair(s[2 * j][0], s[2 * j][1]), bf_pair(s[2 * j][2], s[2 * j][3]),
                bf_pair(s[2 * j + 1][0], s[2 * j + 1][1]), bf_pair(s[2 * j + 1][2], s[2 * j + 1][3])};
#pragma unroll
      for (u e = 0; e < 4; e++) {
        u y[4], r = j * 16 + l % 16, h = e * 2 + l / 16;
        ld4t(y, st + 4096 + r * 128 + (h ^ (r & 7)) * 16);
        mma_bf16(d[2 * e], p, y[0], y[1]);
        mma_bf16(d[2 * e + 1], p, y[2], y[3]);
      }
    }
    __syncthreads();
  }
  for (u h = 0; h < 2; h++) {
    z[h] += __shfl_xor_sync(~0u, z[h], 1);
    z[h] += __shfl_xor_sync(~0u, z[h], 2);
  }
#pragma unroll
  for (u j = 0; j < 8; j++) {
    o[j * 4] = bf_pair(d[j][0] / z[0], d[j][1] / z[0]);
    o[j * 4 + 256] = bf_pair(d[j][2] / z[1], d[j][3] / z[1]);
  }
}
// Winograd's F(2 x 2, 3 x 3): 16 tiles of a strip, 16 products in the transformed domain, four of them a warp.
KB(128, winograd_f16)(const half* __restrict__ x, const u* __restrict__ wt, float* __restrict__ o, u w, u h, u chans) {
  __shared__ __align__(16) half s[16][16][24];
  __shared__ float m[16][16][17];
  u t = threadIdx.x, l = t % 32, q = t / 32 * 4, ow = w - 2, oh = h - 2;
  float d[4][2][4] = {};
  x += blockIdx.y * 2 * w + blockIdx.x * 32;
  for (u c0 = 0; c0 < chans; c0 += 16) {
    for (u e = t; e < 256; e += 128) {
      u tile = e % 16, ch = e / 16;
      const half* p = x + (c0 + ch) * w * h + tile * 2;
      float v[4][4];
#pragma unroll
      for (u r = 0; r < 4; r++) {
        float y[4];
#pragma unroll
        for (u k = 0; k < 2; k++) {
          float2 z = __half22float2(*(const half2*)(p + r * w + 2 * k));
          y[2 * k] = z.x;
          y[2 * k + 1] = z.y;
        }
        v[r][0] = y[0] - y[2];
        v[r][1] = y[1] + y[2];
        v[r][2] = y[2] - y[1];
        v[r][3] = y[1] - y[3];
      }
#pragma unroll
      for (u k = 0; k < 4; k++) {
        s[k][tile][ch] = __float2half_rn(v[0][k] - v[2][k]);
        s[4 + k][tile][ch] = __float2half_rn(v[1][k] + v[2][k]);
        s[8 + k][tile][ch] = __float2half_rn(v[2][k] - v[1][k]);
        s[12 + k][tile][ch] = __float2half_rn(v[1][k] - v[3][k]);
      }
    }
    __syncthreads();
#pragma unroll
    for (u p = 0; p < 4; p++) {
      u a[4];
      ld4(a, at_shared(&s[q + p][l % 16][l / 16 * 8]));
#pragma unroll
      for (u j = 0; j < 2; j++) {
        const u* y = wt + ((q + p) * chans / 16 + c0 / 16) * 128 + (j * 8 + l / 4) * 8 + l % 4;
        mma_f16(d[p][j], a, y[0], y[4]);
      }
    }
    __syncthreads();
  }
  for (u p = 0; p < 4; p++)
    for (u j = 0; j < 2; j++)
      for (u e = 0; e < 4; e++) m[q + p][j * 8 + l % 4 * 2 + e % 2][l / 4 + e / 2 * 8] = d[p][j][e];
  __syncthreads();
  for (u e = t; e < 256; e += 128) {
    u tile = e % 16, ch = e / 16;
    float v[2][4];
#pragma unroll
    for (u k = 0; k < 4; k++) {
      float a = m[k][ch][tile], b = m[4 + k][ch][tile], c = m[8 + k][ch][tile], f = m[12 + k][ch][tile];
      v[0][k] = a + b + c;
      v[1][k] = b - c - f;
    }
    for (u r = 0; r < 2; r++)
      *(float2*)(o + (ch * oh + blockIdx.y * 2 + r) * ow + blockIdx.x * 32 + tile * 2) =
          make_float2(v[r][0] + v[r][1] + v[r][2], v[r][1] - v[r][2] - v[r][3]);
  }
}
// C -= A A^T below the diagonal in double precision: a tile of 32 x 32 a block.
K(syrk_dmma)(const double* a, double* c, u n, u k) {
  __shared__ double x[32][17], y[32][17];
  u t = threadIdx.x, l = t % 32, g = l / 4, q = l % 4, wy = t / 64 * 16, wx = t / 32 % 2 * 16, bi = 0, bj = blockIdx.x;
  while (bj > bi) bj -= ++bi;
  double d[2][2][2] = {};
  for (u at = 0; at < k; at += 16) {
    for (u e = t; e < 512; e += 128) {
      x[e / 16][e % 16] = a[(bi * 32 + e / 16) * k + at + e % 16];
      y[e / 16][e % 16] = a[(bj * 32 + e / 16) * k + at + e % 16];
    }
    __syncthreads();
#pragma unroll
    for (u s = 0; s < 16; s += 4)
#pragma unroll
      for (u p = 0; p < 2; p++)
#pragma unroll
        for (u j = 0; j < 2; j++)
          asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                       : "+d"(d[p][j][0]), "+d"(d[p][j][1])
                       : "d"(x[wy + p * 8 + g][s + q]), "d"(y[wx + j * 8 + g][s + q]));
    __syncthreads();
  }
  for (u p = 0; p < 2; p++)
    for (u j = 0; j < 2; j++)
      for (u e = 0; e < 2; e++) {
        u row = bi * 32 + wy + p * 8 + g, col = bj * 32 + wx + j * 8 + q * 2 + e;
        if (row >= col) c[row * n + col] -= d[p][j][e];
      }
}
// Repeated squares of 32 x 32 matrices with sums in halves: a matrix a warp.
K(batch_power_wmma)(const uint4* a, uint4* o, u rounds, float scale) {
  __shared__ __align__(32) half s[4][32][40];
  u l = threadIdx.x % 32, w = threadIdx.x / 32, at = (blockIdx.x * (blockDim.x / 32) + w) * 128;
  for (u e = l; e < 128; e += 32) *(uint4*)&s[w][e / 4][e % 4 * 8] = a[at + e];
  __syncwarp();
  half f = __float2half_rn(scale);
  for (u r = 0; r < rounds; r++) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> d[2][2];
    for (u p = 0; p < 4; p++) wmma::fill_fragment(d[p / 2][p % 2], __float2half_rn(0));
    for (u k = 0; k < 2; k++) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y[2];
      for (u p = 0; p < 2; p++) {
        wmma::load_matrix_sync(x[p], &s[w][p * 16][k * 16], 40);
        wmma::load_matrix_sync(y[p], &s[w][k * 16][p * 16], 40);
      }
      for (u p = 0; p < 4; p++) wmma::mma_sync(d[p / 2][p % 2], x[p / 2], y[p % 2], d[p / 2][p % 2]);
    }
    __syncwarp();
    for (u p = 0; p < 4; p++) {
      for (u e = 0; e < d[0][0].num_elements; e++) d[p / 2][p % 2].x[e] = __hmul(d[p / 2][p % 2].x[e], f);
      wmma::store_matrix_sync(&s[w][p / 2 * 16][p % 2 * 16], d[p / 2][p % 2], 40, wmma::mem_row_major);
    }
    __syncwarp();
  }
  for (u e = l; e < 128; e += 32) o[at + e] = *(uint4*)&s[w][e / 4][e % 4 * 8];
}
// Two of four: the left matrix keeps 16 halves of each 32, their places come as two bits each.
KB(128, sparse24_mma)(const u* __restrict__ a, const u* __restrict__ place, const uint4* __restrict__ b, float* o, u n,
                      u k) {
  __shared__ uint4 s[64 * 8];
  u t = threadIdx.x, l = t % 32, w = t / 32, g = l / 4, c = l % 4, row = blockIdx.y * 64 + w * 16 + g;
  float d[8][4] = {};
  for (u at = 0; at < k; at += 64) {
    for (u e = t; e < 512; e += 128) {
      u r = e / 8;
      s[r * 8 + (e % 8 ^ (r & 7))] = b[(blockIdx.x * 64 + r) * k / 8 + at / 8 + e % 8];
    }
    __syncthreads();
#pragma unroll
    for (u h = 0; h < 2; h++) {
      const u* p = a + row * k / 4 + (at + h * 32) / 4 + c;
      u x[4] = {p[0], p[2 * k], p[4], p[2 * k + 4]};
      u e = place[((row - g) / 16 * k / 32 + at / 32 + h) * 16 + l / 4 * 2 + l % 2] & 0x55555555 | 0x88888888;
#pragma unroll
      for (u j = 0; j < 8; j++) {
        u y[4], r = j * 8 + l % 8;
        ld4(y, at_shared(&s[r * 8 + (h * 4 + l / 8 ^ (r & 7))]));
        asm volatile(
            "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, "
            "{%0,%1,%2,%3}, %12, 0x0;"
            : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(e));
      }
    }
    __syncthreads();
  }
  for (u j = 0; j < 8; j++) {
    float* p = o + row * n + blockIdx.x * 64 + j * 8 + c * 2;
    *(float2*)p = make_float2(d[j][0], d[j][1]);
    *(float2*)(p + 8 * n) = make_float2(d[j][2], d[j][3]);
  }
}
// Unsigned bytes with a zero point times signed ones; the columns' sums are taken while the tile is stored.
KB(128, w8a8_zero_mma)(const uint4* __restrict__ a, const uint4* __restrict__ b, const float* __restrict__ scale,
                       half* o, u n, u k, u zero, float by) {
  __shared__ uint4 s[2][256];
  __shared__ int sum[64];
  u t = threadIdx.x, l = t % 32, wy = t / 64 * 32, wx = t / 32 % 2 * 32;
  int d[2][4][4] = {};
  if (t < 64) sum[t] = 0;
  const uint4 *p = a + (blockIdx.y * 64 + t / 4) * k / 16 + t % 4, *q = b + (blockIdx.x * 64 + t / 4) * k / 16 + t % 4;
  uint4 x0 = p[0], x1 = p[2 * k], y0 = q[0], y1 = q[2 * k];
  for (u at = 0; at < k; at += 64) {
    __syncthreads();
    u to = t / 4 * 4 + (t % 4 ^ (t / 8 & 3));
    s[0][to] = x0;
    s[0][to + 128] = x1;
    s[1][to] = y0;
    s[1][to + 128] = y1;
    atomicAdd(&sum[t / 4], __dp4a((int)y0.x, 0x01010101, __dp4a((int)y0.y, 0x01010101, __dp4a((int)y0.z, 0x01010101,
                           __dp4a((int)y0.w, 0x01010101, 0)))));
    atomicAdd(&sum[t / 4 + 32], __dp4a((int)y1.x, 0x01010101, __dp4a((int)y1.y, 0x01010101, __dp4a((int)y1.z,
                                0x01010101, __dp4a((int)y1.w, 0x01010101, 0)))));
    __syncthreads();
    if (at + 64 < k) {
      p += 4, q += 4;
      x0 = p[0], x1 = p[2 * k], y0 = q[0], y1 = q[2 * k];
    }
#pragma unroll
    for (u h = 0; h < 2; h++) {
      u x[2][4], y[2][4];
      for (u e = 0; e < 2; e++) {
        u r = wy + e * 16 + l % 16, c = h * 2 + l / 16;
        ld4(x[e], at_shared(&s[0][r * 4 + (c ^ (r >> 1 & 3))]));
        r = wx + e * 16 + l % 8 + l / 16 * 8, c = h * 2 + l / 8 % 2;
        ld4(y[e], at_shared(&s[1][r * 4 + (c ^ (r >> 1 & 3))]));
      }
      for (u e = 0; e < 2; e++)
        for (u j = 0; j < 4; j++) {
          int* c = d[e][j];
          asm volatile(
              "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
              : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
              : "r"(x[e][0]), "r"(x[e][1]), "r"(x[e][2]), "r"(x[e][3]), "r"(y[j / 2][j % 2 * 2]),
                "r"(y[j / 2][j % 2 * 2 + 1]));
        }
    }
  }
  for (u j = 0; j < 4; j++) {
    u col = wx + j * 8 + l % 4 * 2;
    float f0 = scale[blockIdx.x * 64 + col] * by, f1 = scale[blockIdx.x * 64 + col + 1] * by;
    int z0 = (int)zero * sum[col], z1 = (int)zero * sum[col + 1];
    for (u e = 0; e < 4; e++) {
      u row = blockIdx.y * 64 + wy + e * 8 + l / 4;
      int* c = &d[e / 2][j][e % 2 * 2];
      *(u*)(o + row * n + blockIdx.x * 64 + col) = half_pair((c[0] - z0) * f0, (c[1] - z1) * f1);
    }
  }
}
// Weights of four bits times 16 tokens: words of eight become halves by one logical step; groups of 128 share a scale.
KB(128, w4a16_mma)(const uint4* __restrict__ x, const u* __restrict__ wt, const half* __restrict__ scale, float* o, u n,
                   u k) {
  u t = threadIdx.x, l = t % 32, w = blockIdx.x * 4 + t / 32, g = l / 4, base = at_shared(dyn), each = k / 8;
  for (u e = t; e < 16 * each; e += 128) {
    u r = e / each, c = e % each;
    cp16(base + (r * each + (c ^ (r & 7))) * 16, x + e);
  }
  commit();
  u now[4], next[4];
  wt += w * k / 16 * 32 + l;
  for (u e = 0; e < 4; e++) next[e] = wt[e * 32];
  float all[2][4] = {};
  wait<0>();
  __syncthreads();
  for (u at = 0; at < k; at += 128) {
    float d[2][4] = {};
    for (u half_group = 0; half_group < 2; half_group++) {
      u step = at / 16 + half_group * 4;
#pragma unroll
      for (u e = 0; e < 4; e++) {
        now[e] = next[e];
        if (step + 4 + e < k / 16) next[e] = wt[(step + 4 + e) * 32];
      }
#pragma unroll
      for (u e = 0; e < 4; e++) {
        u a[4], r = l % 16, c = (step + e) * 2 + l / 16, b[4];
        ld4(a, base + (r * each + (c ^ (r & 7))) * 16);
#pragma unroll
        for (u j = 0; j < 4; j++)
          b[j] = as_word(__hsub2(as_half2(now[e] >> 4 * j & 0x000f000f | 0x64006400), as_half2(0x64086408)));
        mma_f16(d[0], a, b[0], b[1]);
        mma_f16(d[1], a, b[2], b[3]);
      }
    }
    for (u j = 0; j < 2; j++) {
      const half* f = scale + at / 128 * n + w * 16 + j * 8 + l % 4 * 2;
      float2 v = __half22float2(*(const half2*)f);
      all[j][0] += d[j][0] * v.x;
      all[j][1] += d[j][1] * v.y;
      all[j][2] += d[j][2] * v.x;
      all[j][3] += d[j][3] * v.y;
    }
  }
  for (u j = 0; j < 2; j++) {
    float* p = o + g * n + w * 16 + j * 8 + l % 4 * 2;
    *(float2*)p = make_float2(all[j][0], all[j][1]);
    *(float2*)(p + 8 * n) = make_float2(all[j][2], all[j][3]);
  }
}
// Single precision out of TF32: each factor is split in two, three products make one.
__device__ void split_tf32(float x, u& hi, u& lo) {
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(hi) : "f"(x));
  float rest = x - __uint_as_float(hi);
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(lo) : "f"(rest));
}
__device__ void mma_tf32(float (&d)[4], const u (&a)[4], const u (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
KB(128, tf32x3_gemm)(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ o, u n, u k) {
  __shared__ float x[64][20], y[16][40];
  u t = threadIdx.x, l = t % 32, g = l / 4, c = l % 4, wy = t / 64 * 32, wx = t / 32 % 2 * 16;
  float d[2][2][4] = {};
  for (u at = 0; at < k; at += 16) {
    for (u e = t; e < 256; e += 128)
      *(float4*)&x[e / 4][e % 4 * 4] = *(const float4*)(a + (blockIdx.y * 64 + e / 4) * k + at + e % 4 * 4);
    *(float4*)&y[t / 8][t % 8 * 4] = *(const float4*)(b + (at + t / 8) * n + blockIdx.x * 32 + t % 8 * 4);
    __syncthreads();
#pragma unroll
    for (u h = 0; h < 16; h += 8) {
      u p[2][4], pl[2][4], q[2][2], ql[2][2];
#pragma unroll
      for (u j = 0; j < 2; j++) {
#pragma unroll
        for (u e = 0; e < 4; e++) split_tf32(x[wy + j * 16 + g + e % 2 * 8][h + c + e / 2 * 4], p[j][e], pl[j][e]);
#pragma unroll
        for (u e = 0; e < 2; e++) split_tf32(y[h + c + e * 4][wx + j * 8 + g], q[j][e], ql[j][e]);
      }
#pragma unroll
      for (u j = 0; j < 4; j++) {
        mma_tf32(d[j / 2][j % 2], pl[j / 2], q[j % 2]);
        mma_tf32(d[j / 2][j % 2], p[j / 2], ql[j % 2]);
        mma_tf32(d[j / 2][j % 2], p[j / 2], q[j % 2]);
      }
    }
    __syncthreads();
  }
  for (u p = 0; p < 2; p++)
    for (u j = 0; j < 2; j++)
      for (u h = 0; h < 2; h++)
        *(float2*)(o + (blockIdx.y * 64 + wy + p * 16 + g + h * 8) * n + blockIdx.x * 32 + wx + j * 8 + c * 2) =
            make_float2(d[p][j][2 * h], d[p][j][2 * h + 1]);
}
// A small network from end to end: sines of a point's coordinates, layers of 64, 16 rows a warp never leave its part.
KB(128, mlp_fused)(const float* __restrict__ x, const half* __restrict__ wt, float* __restrict__ o, u layers) {
  __shared__ __align__(32) half s[4][16][72];
  u l = threadIdx.x % 32, w = threadIdx.x / 32, row = (blockIdx.x * 4 + w) * 16;
  for (u e = l; e < 512; e += 32) {
    u r = e / 32, f = e % 32;
    float p = 1, q = 0;
    if (f < 30) sincospif(x[(row + r) * 3 + f % 3] * (1 << f / 3), &p, &q);
    *(half2*)&s[w][r][f * 2] = __floats2half2_rn(p, q);
  }
  for (u k = 0; k < layers; k++) {
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[4];
    for (u e = 0; e < 4; e++) wmma::load_matrix_sync(a[e], &s[w][0][e * 16], 72);
    __syncwarp();
    for (u j = 0; j < 4; j++) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, half> d;
      wmma::fill_fragment(d, __float2half_rn(0));
      for (u e = 0; e < 4; e++) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
        wmma::load_matrix_sync(b, wt + k * 4096 + j * 1024 + e * 16, 64);
        wmma::mma_sync(d, a[e], b, d);
      }
      for (u e = 0; e < d.num_elements; e++)
        d.x[e] = __hmul(__hmax(d.x[e], __float2half_rn(0)), __float2half_rn(.25f));
      wmma::store_matrix_sync(&s[w][0][j * 16], d, 72, wmma::mem_row_major);
    }
  }
  __syncwarp();
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> d;
  wmma::fill_fragment(d, 0.f);
  for (u e = 0; e < 4; e++) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::load_matrix_sync(a, &s[w][0][e * 16], 72);
    wmma::load_matrix_sync(b, wt + layers * 4096 + e * 16, 64);
    wmma::mma_sync(d, a, b, d);
  }
  wmma::store_matrix_sync(o + row * 16, d, 16, wmma::mem_row_major);
}
// The first half of LoRA for many adapters: 16 gathered tokens of one adapter a block, four warps share the depth.
KB(128, sgmv_shrink)(const u* __restrict__ x, const u* __restrict__ token, const u* __restrict__ adapter,
                     const u* __restrict__ wt, float* o, u k) {
  __shared__ float s[4][256];
  u t = threadIdx.x, l = t % 32, w = t / 32, g = l / 4, c = l % 4;
  const u *p = x + token[blockIdx.x * 16 + g] * k / 2 + c, *q = x + token[blockIdx.x * 16 + g + 8] * k / 2 + c;
  const u* y = wt + (adapter[blockIdx.x] * 16 + g) * k / 2 + c;
  float d[2][4] = {};
#pragma unroll 4
  for (u at = w * 8; at < k / 2; at += 32) {
    u a[4] = {p[at], q[at], p[at + 4], q[at + 4]};
    mma_f16(d[0], a, y[at], y[at + 4]);
    mma_f16(d[1], a, y[at + 4 * k], y[at + 4 * k + 4]);
  }
  for (u j = 0; j < 2; j++)
    for (u e = 0; e < 4; e++) s[w][(g + e / 2 * 8) * 16 + j * 8 + c * 2 + e % 2] = d[j][e];
  __syncthreads();
  for (u e = t; e < 256; e += 128) o[blockIdx.x * 256 + e] = s[0][e] + s[1][e] + s[2][e] + s[3][e];
}

// Rows, norms, losses, optimisers.
// The gradient of a softmax over 256 halves, a row a warp.
K(softmax_bwd_warp)(const uint4* y, const uint4* dy, uint4* dx) {
  G;
  uint4 p = y[i], q = dy[i];
  u a[4] = {p.x, p.y, p.z, p.w}, b[4] = {q.x, q.y, q.z, q.w};
  float s = 0;
#pragma unroll
  for (u k = 0; k < 4; k++) {
    float2 v = __half22float2(as_half2(a[k])), w = __half22float2(as_half2(b[k]));
    s += v.x * w.x + v.y * w.y;
  }
  s = warp_sum(s);
#pragma unroll
  for (u k = 0; k < 4; k++) {
    float2 v = __half22float2(as_half2(a[k])), w = __half22float2(as_half2(b[k]));
    a[k] = half_pair(v.x * (w.x - s), v.y * (w.y - s));
  }
  dx[i] = make_uint4(a[0], a[1], a[2], a[3]);
}
// Cross entropy with smoothed labels and its gradient: a row of 1,280 lies in the registers of a block.
KB(256, smooth_xent_grad)(const float* a, const u* label, float* loss, float* grad, float scale, float smooth) {
  __shared__ float s[8], hit;
  u t = threadIdx.x, y = label[blockIdx.x];
  float v[5], m = -1e30f, z = 0, all = 0;
#pragma unroll
  for (u k = 0; k < 5; k++) {
    v[k] = a[blockIdx.x * 1280 + k * 256 + t] * scale;
    m = fmaxf(m, v[k]);
    all += v[k];
    if (k * 256 + t == y) hit = v[k];
  }
  m = warp_max(m);
  if (t % 32 == 0) s[t / 32] = m;
  __syncthreads();
  for (u k = 0; k < 8; k++) m = fmaxf(m, s[k]);
  __syncthreads();
#pragma unroll
  for (u k = 0; k < 5; k++) z += __expf(v[k] - m);
  z = block_sum<8>(z, s);
  all = block_sum<8>(all, s);
  float lse = m + __logf(z);
  if (!t) loss[blockIdx.x] = lse - (1 - smooth) * hit - smooth * all / 1280;
#pragma unroll
  for (u k = 0; k < 5; k++)
    grad[blockIdx.x * 1280 + k * 256 + t] =
        __expf(v[k] - lse) - smooth / 1280 - (k * 256 + t == y ? 1 - smooth : 0);
}
// Batch norm of a channel a block: Welford's sums, merged lane by lane.
K(batchnorm_nchw)(const float* a, const float* gamma, const float* beta, float* o, float* stat, u images, u plane) {
  __shared__ float sm[8], sq[8];
  u t = threadIdx.x, c = blockIdx.x, chans = gridDim.x;
  float m = 0, q = 0, n = 0;
  for (u k = 0; k < images; k++)
    for (u e = t; e < plane; e += 256) {
      float x = a[(k * chans + c) * plane + e], d = x - m;
      m += d / ++n;
      q += d * (x - m);
    }
  for (u d = 1; d < 32; d *= 2) {
    float mm = __shfl_xor_sync(~0u, m, d), qq = __shfl_xor_sync(~0u, q, d), nn = __shfl_xor_sync(~0u, n, d), e = mm - m;
    m = (n * m + nn * mm) / (n + nn);
    q += qq + e * e * n * nn / (n + nn);
    n += nn;
  }
  if (t % 32 == 0) {
    sm[t / 32] = m;
    sq[t / 32] = q;
  }
  __syncthreads();
  m = q = 0;
  for (u k = 0; k < 8; k++) m += sm[k] / 8;
  for (u k = 0; k < 8; k++) q += sq[k] + images * plane / 8 * (sm[k] - m) * (sm[k] - m);
  float v = q / (images * plane), r = rsqrtf(v + 1e-5f) * gamma[c], b = beta[c] - m * r;
  if (!t) {
    stat[c] = m;
    stat[chans + c] = v;
  }
  for (u k = 0; k < images; k++)
    for (u e = t; e < plane; e += 256) {
      u at = (k * chans + c) * plane + e;
      o[at] = fmaxf(a[at] * r + b, 0);
    }
}
// Lion's step on pairs of bfloat16, rounded by chance.
__device__ u lion(float p, float g, float m, float lr, u dice) {
  float c = .9f * m + .1f * g, s = c > 0 ? 1 : c < 0 ? -1 : 0;
  return (__float_as_uint(p - lr * (s + .1f * p)) + (dice & 0xffff)) >> 16;
}
K(lion_bf16)(u* p, const float2* g, float2* m, u n, float lr, u seed) {
  for (u i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    u w = p[i], h = mix(i ^ seed);
    float2 d = g[i], v = m[i];
    u x = lion(__uint_as_float(w << 16), d.x, v.x, lr, h);
    u y = lion(__uint_as_float(w & 0xffff0000), d.y, v.y, lr, h >> 16);
    p[i] = x | y << 16;
    m[i] = make_float2(.99f * v.x + .01f * d.x, .99f * v.y + .01f * d.y);
  }
}
// LAMB: a layer of 4,096 a block; the step is scaled by the ratio of two norms.
KB(512, lamb_layer)(float4* p, const float4* g, float4* m, float4* v, float* ratio, float lr) {
  __shared__ float s[16];
  float x[2][4], step[2][4], np = 0, ns = 0;
#pragma unroll
  for (u k = 0; k < 2; k++) {
    u at = blockIdx.x * 1024 + k * 512 + threadIdx.x;
    float4 a = p[at], b = g[at], c = m[at], d = v[at];
    float pp[4] = {a.x, a.y, a.z, a.w}, gg[4] = {b.x, b.y, b.z, b.w}, mm[4] = {c.x, c.y, c.z, c.w},
          vv[4] = {d.x, d.y, d.z, d.w};
#pragma unroll
    for (u e = 0; e < 4; e++) {
      mm[e] = .9f * mm[e] + .1f * gg[e];
      vv[e] = .999f * vv[e] + .001f * gg[e] * gg[e];
      x[k][e] = pp[e];
      step[k][e] = mm[e] * 1.25f / (sqrtf(vv[e] * 1.5f) + 1e-6f) + .01f * pp[e];
      np += pp[e] * pp[e];
      ns += step[k][e] * step[k][e];
    }
    m[at] = make_float4(mm[0], mm[1], mm[2], mm[3]);
    v[at] = make_float4(vv[0], vv[1], vv[2], vv[3]);
  }
  np = sqrtf(block_sum<16>(np, s));
  ns = sqrtf(block_sum<16>(ns, s));
  float r = np > 0 && ns > 0 ? np / ns : 1;
  if (!threadIdx.x) ratio[blockIdx.x] = r;
  r *= lr;
#pragma unroll
  for (u k = 0; k < 2; k++)
    p[blockIdx.x * 1024 + k * 512 + threadIdx.x] = make_float4(x[k][0] - r * step[k][0], x[k][1] - r * step[k][1],
                                                               x[k][2] - r * step[k][2], x[k][3] - r * step[k][3]);
}
// The gradients of a layer norm's scale and shift: 32 columns and a part of the rows a block.
K(ln_param_grad)(const float* x, const float* dy, const float* mean, const float* rstd, float* o, u rows, u width) {
  __shared__ float s[2][8][33];
  u c = blockIdx.x * 32 + threadIdx.x, y = threadIdx.y;
  float a = 0, b = 0;
  for (u r = blockIdx.y * rows + y; r < (blockIdx.y + 1) * rows; r += 8) {
    float d = dy[r * width + c];
    a += d * (x[r * width + c] - mean[r]) * rstd[r];
    b += d;
  }
  s[0][y][threadIdx.x] = a;
  s[1][y][threadIdx.x] = b;
  __syncthreads();
  if (y < 2) {
    a = 0;
    for (u k = 0; k < 8; k++) a += s[y][k][threadIdx.x];
    o[(blockIdx.y * 2 + y) * width + c] = a;
  }
}
// Draws from the likeliest tokens whose shares make up `keep`: the bound by bisection, the token by a prefix sum.
KB(128, top_p_bisect)(const float4* a, const float* dice, u* pick, float* bound, float heat, float keep) {
  __shared__ float s[4];
  __shared__ u found;
  u t = threadIdx.x, l = t % 32;
  float v[8], m = -1e30f, z = 0;
  for (u k = 0; k < 2; k++) {
    float4 x = a[blockIdx.x * 256 + t * 2 + k];
    v[4 * k] = x.x * heat, v[4 * k + 1] = x.y * heat, v[4 * k + 2] = x.z * heat, v[4 * k + 3] = x.w * heat;
  }
  for (u k = 0; k < 8; k++) m = fmaxf(m, v[k]);
  m = warp_max(m);
  if (!l) s[t / 32] = m;
  if (!t) found = 1023;
  __syncthreads();
  m = fmaxf(fmaxf(s[0], s[1]), fmaxf(s[2], s[3]));
  __syncthreads();
  for (u k = 0; k < 8; k++) z += v[k] = __expf(v[k] - m);
  z = block_sum<4>(z, s);
  float lo = 0, hi = 1;
  for (u r = 0; r < 16 && hi - lo > 1e-4f; r++) {
    float mid = (lo + hi) / 2, mass = 0;
    for (u k = 0; k < 8; k++) mass += v[k] >= mid ? v[k] : 0;
    if (block_sum<4>(mass, s) >= keep * z)
      lo = mid;
    else
      hi = mid;
  }
  float mine = 0;
  for (u k = 0; k < 8; k++) mine += v[k] = v[k] >= lo ? v[k] : 0;
  float run = mine;
  for (u d = 1; d < 32; d *= 2) {
    float x = __shfl_up_sync(~0u, run, d);
    if (l >= d) run += x;
  }
  if (l == 31) s[t / 32] = run;
  __syncthreads();
  float total = s[0] + s[1] + s[2] + s[3], goal = dice[blockIdx.x] * total;
  for (u k = 0; k < t / 32; k++) run += s[k];
  run -= mine;
  for (u k = 0; k < 8; k++) {
    run += v[k];
    if (v[k] > 0 && run > goal) {
      atomicMin(&found, t * 8 + k);
      break;
    }
  }
  __syncthreads();
  if (!t) {
    pick[blockIdx.x] = found;
    bound[blockIdx.x] = lo / z;
  }
}

// Sorting, selecting, prefix sums.
// Each key's bucket among 32 by a search without branches, and how many fall into each.
K(splitter_buckets)(const uint4* key, const u* split, u* bucket, u* count, u rounds) {
  __shared__ u s[32], h[8][32];
  u t = threadIdx.x, w = t / 32;
  if (t < 32) s[t] = split[t];
  h[w][t % 32] = 0;
  __syncthreads();
  for (u r = 0; r < rounds; r++) {
    u at = (blockIdx.x * rounds + r) * 256 + t, out = 0;
    uint4 q = key[at];
    u v[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (u e = 0; e < 4; e++) {
      u b = 0;
#pragma unroll
      for (u d = 16; d; d /= 2) b += s[b + d] <= v[e] ? d : 0;
      atomicAdd(&h[w][b], 1);
      out |= b << 8 * e;
    }
    bucket[at] = out;
  }
  __syncthreads();
  if (t < 32) {
    u n = 0;
    for (u k = 0; k < 8; k++) n += h[k][t];
    count[t * gridDim.x + blockIdx.x] = n;
  }
}
// Shell's sort of 48 words a thread, in columns of shared memory.
K(shell_columns)(const u* a, u* o) {
  __shared__ u s[48][64];
  u t = threadIdx.x;
  for (u k = 0; k < 48; k++) s[k][t] = a[(blockIdx.x * 48 + k) * 64 + t];
  for (u gap = 13; gap; gap /= 3)
    for (u k = gap; k < 48; k++) {
      u v = s[k][t], j = k;
      for (; j >= gap && s[j - gap][t] > v; j -= gap) s[j][t] = s[j - gap][t];
      s[j][t] = v;
    }
  for (u k = 0; k < 48; k++) o[(blockIdx.x * 48 + k) * 64 + t] = s[k][t];
}
// x[i] = a[i] x[i - 1] + b[i] for long rows: maps are composed in threads, warps and the block.
K(scan_affine)(const float4* a, const float4* b, float4* o, u rounds) {
  __shared__ float2 s[8];
  u t = threadIdx.x, l = t % 32, w = t / 32;
  float start = 1;
  for (u r = 0; r < rounds; r++) {
    u at = (blockIdx.x * rounds + r) * 256 + t;
    float4 p = a[at], q = b[at];
    float m = p.x * p.y * p.z * p.w, c = ((q.x * p.y + q.y) * p.z + q.z) * p.w + q.w;
    for (u d = 1; d < 32; d *= 2) {
      float pm = __shfl_up_sync(~0u, m, d), pc = __shfl_up_sync(~0u, c, d);
      if (l >= d) {
        c += m * pc;
        m *= pm;
      }
    }
    if (l == 31) s[w] = make_float2(m, c);
    float pm = __shfl_up_sync(~0u, m, 1), pc = __shfl_up_sync(~0u, c, 1);
    if (!l) pm = 1, pc = 0;
    __syncthreads();
    float x = start;
    for (u k = 0; k < 8; k++) {
      if (k == w) x = pm * start + pc;
      start = s[k].x * start + s[k].y;
    }
    __syncthreads();
    float4 y;
    y.x = p.x * x + q.x;
    y.y = p.y * y.x + q.y;
    y.z = p.z * y.y + q.z;
    y.w = p.w * y.z + q.w;
    o[at] = y;
  }
}
// The k-th of 512 by Hoare's selection in shared memory, a warp each.
K(quickselect_warp)(const u* a, const u* rank, u* o, u* turns) {
  __shared__ u all[4][512];
  u l = threadIdx.x % 32, w = blockIdx.x * 4 + threadIdx.x / 32, *s = all[threadIdx.x / 32];
  u n = 512, k = rank[w], r = 1;
  for (u e = l; e < 512; e += 32) s[e] = a[w * 512 + e];
  __syncwarp();
  u pivot;
  for (;; r++) {
    pivot = s[n / 2];
    u less = 0, same = 0;
    for (u b = 0; b < n; b += 32) {
      bool in = b + l < n;
      u v = in ? s[b + l] : 0;
      less += __popc(__ballot_sync(~0u, in && v < pivot));
      same += __popc(__ballot_sync(~0u, in && v == pivot));
    }
    if (k >= less && k < less + same) break;
    bool left = k < less;
    u m = 0;
    for (u b = 0; b < n; b += 32) {
      bool in = b + l < n;
      u v = in ? s[b + l] : 0;
      bool keep = in && (left ? v < pivot : v > pivot);
      u set = __ballot_sync(~0u, keep);
      __syncwarp();
      if (keep) s[m + __popc(set & (1u << l) - 1)] = v;
      m += __popc(set);
      __syncwarp();
    }
    if (!left) k -= less + same;
    n = m;
  }
  if (!l) {
    o[w] = pivot;
    turns[w] = r;
  }
}
// 1,024 keys by digits of four bits: counters of each thread, one sum over all, a stable scatter.
KB(128, radix_counters)(const u* a, u* o, u bits) {
  __shared__ u s[1024], c[2048 + 64], ws[4];
  u t = threadIdx.x, l = t % 32;
  for (u k = t; k < 1024; k += 128) s[k] = a[blockIdx.x * 1024 + k];
  for (u shift = 0; shift < bits; shift += 4) {
    u v[8], at[8];
    for (u d = 0; d < 16; d++) c[d * 132 + t] = 0;
    __syncthreads();
#pragma unroll
    for (u k = 0; k < 8; k++) {
      v[k] = s[t * 8 + k];
      u* p = &c[(v[k] >> shift & 15) * 132 + t];
      at[k] = (*p)++;
    }
    __syncthreads();
    u *p = &c[t / 8 * 132 + t % 8 * 16], sum = 0;
    for (u k = 0; k < 16; k++) sum += p[k];
    u run = sum;
    for (u d = 1; d < 32; d *= 2) {
      u x = __shfl_up_sync(~0u, run, d);
      if (l >= d) run += x;
    }
    if (l == 31) ws[t / 32] = run;
    __syncthreads();
    run -= sum;
    for (u k = 0; k < t / 32; k++) run += ws[k];
    for (u k = 0; k < 16; k++) {
      u x = p[k];
      p[k] = run;
      run += x;
    }
    __syncthreads();
#pragma unroll
    for (u k = 0; k < 8; k++) s[c[(v[k] >> shift & 15) * 132 + t] + at[k]] = v[k];
    __syncthreads();
  }
  for (u k = t; k < 1024; k += 128) o[blockIdx.x * 1024 + k] = s[k];
}
// Inversions of short series by Fenwick trees of bytes, a column of shared memory a thread.
K(fenwick_inversions)(const u* a, u* o, u n, u len) {
  __shared__ u8 s[65][64];
  u t = threadIdx.x, i = blockIdx.x * 64 + t, sum = 0;
  for (u k = 0; k < 65; k++) s[k][t] = 0;
  for (u k = 0; k < len; k++) {
    u v = (a[k * n + i] & 63) + 1;
    sum += k;
    for (u j = v; j; j &= j - 1) sum -= s[j][t];
    for (u j = v; j <= 64; j += j & -j) s[j][t]++;
  }
  o[i] = sum;
}

// Hashes, ciphers, big integers.
K(md5_lines)(const uint4* a, uint4* o, u n) {
  constexpr u sine[64] = {
      0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
      0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
      0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
      0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
      0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
      0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
      0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
      0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
  constexpr u turn[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
  G;
  if (i >= n) return;
  u m[16], h[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (u block = 0; block < 2; block++) {
#pragma unroll
    for (u k = 0; k < 4; k++) {
      uint4 q = block ? make_uint4(k ? 0 : 128, 0, k == 3 ? 512 : 0, 0) : a[i * 4 + k];
      m[4 * k] = q.x, m[4 * k + 1] = q.y, m[4 * k + 2] = q.z, m[4 * k + 3] = q.w;
    }
    u p = h[0], q = h[1], r = h[2], s = h[3];
#pragma unroll
    for (u k = 0; k < 64; k++) {
      u f = k < 16 ? (q & r) | (~q & s) : k < 32 ? (s & q) | (~s & r) : k < 48 ? q ^ r ^ s : r ^ (q | ~s);
      u at = k < 16 ? k : k < 32 ? 5 * k + 1 : k < 48 ? 3 * k + 5 : 7 * k;
      f += p + sine[k] + m[at & 15];
      p = s;
      s = r;
      r = q;
      q += rotl(f, turn[k / 16 * 4 + k % 4]);
    }
    h[0] += p, h[1] += q, h[2] += r, h[3] += s;
  }
  o[i] = make_uint4(h[0], h[1], h[2], h[3]);
}
// RC4: each thread's 256 places are a column of shared bytes.
K(rc4_streams)(const u* key, u* o, u n, u words) {
  __shared__ u8 s[256][64];
  u t = threadIdx.x, i = blockIdx.x * 64 + t, k[4], j = 0;
  for (u e = 0; e < 4; e++) k[e] = key[e * n + i];
  for (u e = 0; e < 256; e++) s[e][t] = e;
  for (u e = 0; e < 256; e += 16)
#pragma unroll
    for (u d = 0; d < 16; d++) {
      u x = s[e + d][t];
      j = (j + x + (k[d / 4] >> d % 4 * 8)) & 255;
      s[e + d][t] = s[j][t];
      s[j][t] = x;
    }
  u at = 0;
  j = 0;
  for (u w = 0; w < words; w++) {
    u out = 0;
    for (u d = 0; d < 32; d += 8) {
      at = (at + 1) & 255;
      u x = s[at][t];
      j = (j + x) & 255;
      u y = s[j][t];
      s[at][t] = y;
      s[j][t] = x;
      out |= s[(x + y) & 255][t] << d;
    }
    o[w * n + i] = out;
  }
}
// GHASH by tables of four bits in shared memory.
K(ghash_nibbles)(const uint4* a, const u* key, ulonglong2* o, u n, u blocks) {
  __shared__ U hi[16], lo[16], red[16];
  if (threadIdx.x < 16) {
    u t = threadIdx.x;
    U vh = (U)key[0] << 32 | key[1], vl = (U)key[2] << 32 | key[3], zh = 0, zl = 0, r = 0;
    for (u bit = 8; bit; bit /= 2) {
      if (t & bit) {
        zh ^= vh;
        zl ^= vl;
      }
      U out = vl & 1;
      vl = vh << 63 | vl >> 1;
      vh = vh >> 1 ^ (out ? 0xe1ull << 56 : 0);
    }
    for (u bit = 0; bit < 4; bit++)
      if (t >> bit & 1) r ^= 0x1c20ull << bit;
    hi[t] = zh;
    lo[t] = zl;
    red[t] = r << 48;
  }
  __syncthreads();
  G;
  if (i >= n) return;
  U xh = 0, xl = 0;
  for (u b = 0; b < blocks; b++) {
    uint4 q = a[b * n + i];
    xh ^= (U)q.x << 32 | q.y;
    xl ^= (U)q.z << 32 | q.w;
    U zh = hi[xl & 15], zl = lo[xl & 15];
#pragma unroll
    for (u k = 1; k < 32; k++) {
      u e = (k < 16 ? xl >> 4 * k : xh >> 4 * (k - 16)) & 15;
      U out = red[zl & 15];
      zl = (zh << 60 | zl >> 4) ^ lo[e];
      zh = zh >> 4 ^ out ^ hi[e];
    }
    xh = zh;
    xl = zl;
  }
  o[i] = make_ulonglong2(xh, xl);
}
// Poly1305 in limbs of 26 bits.
K(poly1305_limbs)(const uint4* a, const u* key, uint4* o, u n, u blocks) {
  G;
  if (i >= n) return;
  const u mask = (1 << 26) - 1;
  u r0 = key[0] & mask, r1 = (key[0] >> 26 | key[1] << 6) & 0x3ffff03, r2 = (key[1] >> 20 | key[2] << 12) & 0x3ffc0ff,
    r3 = (key[2] >> 14 | key[3] << 18) & 0x3f03fff, r4 = key[3] >> 8 & 0xfffff;
  u s1 = r1 * 5, s2 = r2 * 5, s3 = r3 * 5, s4 = r4 * 5, h0 = 0, h1 = 0, h2 = 0, h3 = 0, h4 = 0;
  for (u b = 0; b < blocks; b++) {
    uint4 q = a[b * n + i];
    h0 += q.x & mask;
    h1 += (q.x >> 26 | q.y << 6) & mask;
    h2 += (q.y >> 20 | q.z << 12) & mask;
    h3 += (q.z >> 14 | q.w << 18) & mask;
    h4 += q.w >> 8 | 1 << 24;
    U d0 = (U)h0 * r0 + (U)h1 * s4 + (U)h2 * s3 + (U)h3 * s2 + (U)h4 * s1;
    U d1 = (U)h0 * r1 + (U)h1 * r0 + (U)h2 * s4 + (U)h3 * s3 + (U)h4 * s2;
    U d2 = (U)h0 * r2 + (U)h1 * r1 + (U)h2 * r0 + (U)h3 * s4 + (U)h4 * s3;
    U d3 = (U)h0 * r3 + (U)h1 * r2 + (U)h2 * r1 + (U)h3 * r0 + (U)h4 * s4;
    U d4 = (U)h0 * r4 + (U)h1 * r3 + (U)h2 * r2 + (U)h3 * r1 + (U)h4 * r0;
    d1 += d0 >> 26;
    d2 += d1 >> 26;
    d3 += d2 >> 26;
    d4 += d3 >> 26;
    h0 = ((u)d0 & mask) + (u)(d4 >> 26) * 5;
    h1 = ((u)d1 & mask) + (h0 >> 26);
    h0 &= mask;
    h2 = (u)d2 & mask;
    h3 = (u)d3 & mask;
    h4 = (u)d4 & mask;
  }
  h2 += h1 >> 26, h1 &= mask;
  h3 += h2 >> 26, h2 &= mask;
  h4 += h3 >> 26, h3 &= mask;
  h0 += (h4 >> 26) * 5, h4 &= mask;
  h1 += h0 >> 26, h0 &= mask;
  u g0 = h0 + 5, g1 = h1 + (g0 >> 26), g2 = h2 + (g1 >> 26), g3 = h3 + (g2 >> 26), g4 = h4 + (g3 >> 26) - (1 << 26);
  if ((int)g4 >= 0) h0 = g0 & mask, h1 = g1 & mask, h2 = g2 & mask, h3 = g3 & mask, h4 = g4;
  U f = (U)(h0 | h1 << 26) + key[4];
  uint4 tag;
  tag.x = f;
  f = (f >> 32) + (h1 >> 6 | h2 << 20) + key[5];
  tag.y = f;
  f = (f >> 32) + (h2 >> 12 | h3 << 14) + key[6];
  tag.z = f;
  tag.w = (u)(f >> 32) + (h3 >> 18 | h4 << 8) + key[7];
  o[i] = tag;
}
// x -> x^2 y in the field of 2^255 - 19, eight words a number.
__device__ void field_mul(u (&r)[8], const u (&a)[8], const u (&b)[8]) {
  u p[16] = {};
#pragma unroll
  for (u j = 0; j < 8; j++) {
    U c = 0;
#pragma unroll
    for (u k = 0; k < 8; k++) {
      c += (U)a[j] * b[k] + p[j + k];
      p[j + k] = (u)c;
      c >>= 32;
    }
    p[j + 8] = (u)c;
  }
  U c = 0;
#pragma unroll
  for (u k = 0; k < 8; k++) {
    c += (U)p[k + 8] * 38 + p[k];
    r[k] = (u)c;
    c >>= 32;
  }
  c *= 38;
#pragma unroll
  for (u k = 0; k < 8; k++) {
    c += r[k];
    r[k] = (u)c;
    c >>= 32;
  }
  r[0] += 38 * (u)c;
}
KB(64, field25519)(const u* a, const u* b, u* o, u n, u rounds) {
  G;
  if (i >= n) return;
  u x[8], y[8];
#pragma unroll
  for (u k = 0; k < 8; k++) {
    x[k] = a[k * n + i];
    y[k] = b[k * n + i];
  }
#pragma unroll 1
  for (u r = 0; r < rounds; r++) {
    field_mul(x, x, x);
    field_mul(x, x, y);
  }
#pragma unroll
  for (u k = 0; k < 8; k++) o[k * n + i] = x[k];
}
// Kyber's number-theoretic transform of 256 coefficients modulo 3329; the block works its roots out itself.
KB(128, ntt_kyber)(const u* a, u* o) {
  __shared__ u s[256], root[128];
  u t = threadIdx.x, e = __brev(t) >> 25, r = 1, b = 17;
  for (; e; e /= 2) {
    if (e & 1) r = r * b % 3329;
    b = b * b % 3329;
  }
  root[t] = r;
  s[t] = a[blockIdx.x * 256 + t] % 3329;
  s[t + 128] = a[blockIdx.x * 256 + t + 128] % 3329;
#pragma unroll
  for (u len = 128; len >= 2; len /= 2) {
    __syncthreads();
    u at = t / len * 2 * len + t % len, x = s[at], y = s[at + len] * root[128 / len + t / len] % 3329;
    s[at] = x + y < 3329 ? x + y : x + y - 3329;
    s[at + len] = x < y ? x + 3329 - y : x - y;
  }
  __syncthreads();
  ((uint2*)o)[blockIdx.x * 128 + t] = make_uint2(s[2 * t], s[2 * t + 1]);
}

// Double precision.
// Poisson's equation on 16 x 16 points by conjugate gradients, a block a grid, until the rest is small.
KB(256, cg_poisson)(const double* rhs, double* o, u* turns, u most) {
  __shared__ double p[18][18], s[8];
  u t = threadIdx.x, x = t % 16 + 1, y = t / 16 + 1, k = 0;
  for (u e = t; e < 324; e += 256) p[e / 18][e % 18] = 0;
  __syncthreads();
  double sol = 0, r = rhs[blockIdx.x * 256 + t] - .5, old = block_sum<8>(r * r, s), first = old;
  p[y][x] = r;
  for (; k < most && old > 1e-5 * first; k++) {
    __syncthreads();
    double mine = p[y][x], ap = 4 * mine - p[y][x - 1] - p[y][x + 1] - p[y - 1][x] - p[y + 1][x];
    double alpha = old / block_sum<8>(mine * ap, s);
    sol += alpha * mine;
    r -= alpha * ap;
    double now = block_sum<8>(r * r, s);
    p[y][x] = r + now / old * mine;
    old = now;
  }
  o[blockIdx.x * 256 + t] = sol;
  if (!t) turns[blockIdx.x] = k;
}
// Tridiagonal systems by Thomas's way, a thread each, unknowns interleaved.
K(thomas_batch)(const double* __restrict__ lower, const double* __restrict__ upper, const double* __restrict__ rhs,
                double* __restrict__ c, double* __restrict__ x, u n, u len) {
  G;
  if (i >= n) return;
  double pc = 0, px = 0;
  for (u k = 0; k < len; k++) {
    u at = k * n + i;
    double l = k ? lower[at] : 0, m = 1 / (2.5 - l * pc);
    c[at] = pc = upper[at] * m;
    x[at] = px = (rhs[at] - l * px) * m;
  }
  for (u k = len - 1; k--;) {
    u at = k * n + i;
    x[at] = px = x[at] - c[at] * px;
  }
}
// Kepler's equation by Newton's steps.
K(kepler_newton)(const double* mean, const double* ecc, double2* o, u* turns, u n) {
  G;
  if (i >= n) return;
  double m = mean[i] * 6.283185307179586, e = ecc[i] * .97, a = e < .8 ? m : 3.141592653589793, s, c;
  u k = 0;
  for (; k < 24; k++) {
    sincos(a, &s, &c);
    double d = (a - e * s - m) / (1 - e * c);
    a -= d;
    if (fabs(d) < 1e-13) break;
  }
  sincos(a, &s, &c);
  o[i] = make_double2(c - e, sqrt(1 - e * e) * s);
  turns[i] = k;
}
// Lennard and Jones's forces within a periodic box, all pairs, those that are far are skipped.
K(lj_cutoff)(const double* at, double* force, double* energy, u n, float side, float cut) {
  __shared__ double s[3][64];
  u t = threadIdx.x, i = blockIdx.x * 64 + t;
  double box = side, x = at[i] * box, y = at[n + i] * box, z = at[2 * n + i] * box, fx = 0, fy = 0, fz = 0, en = 0;
  for (u j0 = 0; j0 < n; j0 += 64) {
    __syncthreads();
    for (u d = 0; d < 3; d++) s[d][t] = at[d * n + j0 + t] * box;
    __syncthreads();
    for (u j = 0; j < 64; j++) {
      double dx = x - s[0][j], dy = y - s[1][j], dz = z - s[2][j];
      dx -= box * rint(dx / box);
      dy -= box * rint(dy / box);
      dz -= box * rint(dz / box);
      double r2 = dx * dx + dy * dy + dz * dz;
      if (r2 >= cut * cut || j0 + j == i) continue;
      double q = 1 / (r2 + .25), q3 = q * q * q, f = (48 * q3 - 24) * q3 * q;
      fx += f * dx;
      fy += f * dy;
      fz += f * dz;
      en += 2 * (q3 - 1) * q3;
    }
  }
  force[i] = fx;
  force[n + i] = fy;
  force[2 * n + i] = fz;
  energy[i] = en;
}
// LU with partial pivots of 24 x 24, a warp a matrix, a row a lane.
K(lu_pivot)(const double* a, double* lu, u* perm, u count) {
  __shared__ double all[2][24][25];
  u l = threadIdx.x % 32, m = blockIdx.x * 2 + threadIdx.x / 32, place = 32;
  double(*s)[25] = all[threadIdx.x / 32];
  if (m >= count) return;
  for (u e = l; e < 576; e += 32) s[e / 24][e % 24] = a[m * 576 + e] - .5;
  __syncwarp();
  for (u k = 0; k < 24; k++) {
    double best = l < 24 && place == 32 ? fabs(s[l][k]) : -1;
    u who = l;
    for (u d = 16; d; d /= 2) {
      double v = __shfl_xor_sync(~0u, best, d);
      u w = __shfl_xor_sync(~0u, who, d);
      if (v > best || (v == best && w < who)) best = v, who = w;
    }
    if (l == who) place = k;
    if (l < 24 && place == 32) {
      double f = s[l][k] /= s[who][k];
      for (u j = k + 1; j < 24; j++) s[l][j] -= f * s[who][j];
    }
    __syncwarp();
  }
  if (l < 24) perm[m * 24 + place] = l;
  for (u r = 0; r < 24; r++) {
    u p = __shfl_sync(~0u, place, r);
    if (l < 24) lu[m * 576 + p * 24 + l] = s[r][l];
  }
}

// Images and signals.
// Means over alike places: patches of 3 x 3 within 7 x 7 shifts.
K(nlm_patch)(const float* a, float* o, u w, u h, float k) {
  __shared__ float s[16][40];
  int x = threadIdx.x, y = threadIdx.y;
  for (u e = y * 32 + x; e < 640; e += 256) {
    int gx = (int)(blockIdx.x * 32 + e % 40) - 4, gy = (int)(blockIdx.y * 8 + e / 40) - 4;
    s[e / 40][e % 40] = a[min(max(gy, 0), (int)h - 1) * w + min(max(gx, 0), (int)w - 1)];
  }
  __syncthreads();
  x += 4;
  y += 4;
  float sum = 0, all = 0;
  for (int dy = -3; dy <= 3; dy++)
    for (int dx = -3; dx <= 3; dx++) {
      float d = 0;
#pragma unroll
      for (int py = -1; py <= 1; py++)
#pragma unroll
        for (int px = -1; px <= 1; px++) {
          float e = s[y + py][x + px] - s[y + dy + py][x + dx + px];
          d += e * e;
        }
      d = __expf(-d * k);
      sum += d * s[y + dy][x + dx];
      all += d;
    }
  o[(blockIdx.y * 8 + y - 4) * w + blockIdx.x * 32 + x - 4] = sum / all;
}
// Canny's middle steps: gradients, thinning across the edge, two bounds.
K(canny_thin)(const u8* a, u8* o, u w, u h, u low, u high) {
  __shared__ int s[20][21], m[18][19];
  int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x;
  for (u e = t; e < 400; e += 256) {
    int gx = (int)(blockIdx.x * 16 + e % 20) - 2, gy = (int)(blockIdx.y * 16 + e / 20) - 2;
    s[e / 20][e % 20] = a[min(max(gy, 0), (int)h - 1) * w + min(max(gx, 0), (int)w - 1)];
  }
  __syncthreads();
  auto slope = [&](int r, int c, int& gx, int& gy) {
    int d0 = s[r + 2][c + 2] - s[r][c], d1 = s[r][c + 2] - s[r + 2][c];
    gx = d0 + d1 + 2 * (s[r + 1][c + 2] - s[r + 1][c]);
    gy = d0 - d1 + 2 * (s[r + 2][c + 1] - s[r][c + 1]);
  };
  int gx, gy;
  for (u e = t; e < 324; e += 256) {
    slope(e / 18, e % 18, gx, gy);
    m[e / 18][e % 18] = abs(gx) + abs(gy);
  }
  __syncthreads();
  slope(y + 1, x + 1, gx, gy);
  int v = m[y + 1][x + 1], ax = abs(gx), ay = abs(gy), dx = 1, dy = 1;
  if (ay * 5 < ax * 2)
    dy = 0;
  else if (ax * 5 < ay * 2)
    dx = 0;
  else if ((gx ^ gy) < 0)
    dy = -1;
  bool peak = v > m[y + 1 + dy][x + 1 + dx] && v >= m[y + 1 - dy][x + 1 - dx];
  o[(blockIdx.y * 16 + y) * w + blockIdx.x * 16 + x] = peak && v >= (int)low ? v >= (int)high ? 255 : 128 : 0;
}
// A Fourier transform of 512 points in three steps of eight, eight points a thread in registers.
__device__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ void pair(float2& a, float2& b) {
  float2 d = make_float2(a.x - b.x, a.y - b.y);
  a = make_float2(a.x + b.x, a.y + b.y);
  b = d;
}
__device__ float2 quarter(float2 a) { return make_float2(a.y, -a.x); }
KB(64, fft_radix8)(const float2* a, float2* o) {
  __shared__ float sx[576], sy[576];
  u t = threadIdx.x;
  float2 v[8];
#pragma unroll
  for (u r = 0; r < 8; r++) v[r] = a[blockIdx.x * 512 + r * 64 + t];
#pragma unroll
  for (u m = 1; m < 512; m *= 8) {
    if (m > 1) {
      float2 f, g;
      sincospif((t & m - 1) * (-.25f / m), &f.y, &f.x);
      g = f;
#pragma unroll
      for (u r = 1; r < 8; r++) {
        v[r] = times(v[r], g);
        g = times(g, f);
      }
    }
#pragma unroll
    for (u r = 0; r < 4; r++) pair(v[r], v[r + 4]);
    v[5] = times(v[5], make_float2(.70710678f, -.70710678f));
    v[6] = quarter(v[6]);
    v[7] = times(v[7], make_float2(-.70710678f, -.70710678f));
#pragma unroll
    for (u h = 0; h < 8; h += 4) {
      pair(v[h], v[h + 2]);
      pair(v[h + 1], v[h + 3]);
      v[h + 3] = quarter(v[h + 3]);
      pair(v[h], v[h + 1]);
      pair(v[h + 2], v[h + 3]);
    }
    u to = (t & ~(m - 1)) * 8 + (t & m - 1);
#pragma unroll
    for (u r = 0; r < 8; r++) {
      u k = r & 2 | r >> 2 | (r & 1) << 2, e = to + k * m;
      if (m == 64)
        o[blockIdx.x * 512 + e] = v[r];
      else {
        sx[e + e / 8] = v[r].x;
        sy[e + e / 8] = v[r].y;
      }
    }
    if (m == 64) break;
    __syncthreads();
#pragma unroll
    for (u r = 0; r < 8; r++) {
      u e = r * 64 + t;
      v[r] = make_float2(sx[e + e / 8], sy[e + e / 8]);
    }
    __syncthreads();
  }
}
// JPEG 2000's reversible wavelet by lifting: tiles of 32 x 32, three levels.
KB(256, wavelet53)(const u8* a, int* o, u w) {
  __shared__ int s[32 * 33];
  u t = threadIdx.x;
  for (u e = t; e < 1024; e += 256)
    s[e / 32 * 33 + e % 32] = a[(blockIdx.y * 32 + e / 32) * w + blockIdx.x * 32 + e % 32] - 128;
  __syncthreads();
  auto lift = [&](u n, u line, u step) {
    int lo[2], hi[2];
#pragma unroll
    for (u q = 0; q < 2; q++) {
      u e = t + q * 256, k = e % (n / 2);
      if (e >= n * n / 2) break;
      const int* p = s + e / (n / 2) * line + 2 * k * step;
      int right = 2 * k + 2 < n ? p[2 * step] : p[0], left = k ? p[-2 * (int)step] : p[2 * step];
      hi[q] = p[step] - ((p[0] + right) >> 1);
      int before = k ? p[-(int)step] - ((left + p[0]) >> 1) : hi[q];
      lo[q] = p[0] + ((before + hi[q] + 2) >> 2);
    }
    __syncthreads();
#pragma unroll
    for (u q = 0; q < 2; q++) {
      u e = t + q * 256, k = e % (n / 2);
      if (e >= n * n / 2) break;
      s[e / (n / 2) * line + k * step] = lo[q];
      s[e / (n / 2) * line + (k + n / 2) * step] = hi[q];
    }
    __syncthreads();
  };
  for (u n = 32; n >= 8; n /= 2) {
    lift(n, 33, 1);
    lift(n, 1, 33);
  }
  for (u e = t; e < 1024; e += 256)
    o[(blockIdx.y * 32 + e / 32) * w + blockIdx.x * 32 + e % 32] = s[e / 32 * 33 + e % 32];
}
// From JPEG's coefficients to bytes: zigzag, steps of the table, rows, columns; eight threads a square.
__constant__ u8 zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
                              41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
                              30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
__device__ void idct8(float (&v)[8]) {
  float p = (v[0] + v[4]) * .35355339f, q = (v[0] - v[4]) * .35355339f, r = v[2] * .46193977f + v[6] * .19134172f,
        s = v[2] * .19134172f - v[6] * .46193977f;
  float a = v[1] * .49039264f + v[3] * .41573481f + v[5] * .27778512f + v[7] * .09754516f;
  float b = v[1] * .41573481f - v[3] * .09754516f - v[5] * .49039264f - v[7] * .27778512f;
  float c = v[1] * .27778512f - v[3] * .49039264f + v[5] * .09754516f + v[7] * .41573481f;
  float d = v[1] * .09754516f - v[3] * .27778512f + v[5] * .41573481f - v[7] * .49039264f;
  v[0] = p + r + a, v[7] = p + r - a;
  v[1] = q + s + b, v[6] = q + s - b;
  v[2] = q - s + c, v[5] = q - s - c;
  v[3] = p - r + d, v[4] = p - r - d;
}
K(jpeg_idct)(const u* coef, const u* table, u8* o, u w) {
  __shared__ float s[16][8][9];
  u t = threadIdx.x, b = t / 8, x = t % 8;
  for (u k = x; k < 64; k += 8) {
    u z = zigzag[k];
    int c = (int)coef[(blockIdx.x * 16 + b) * 64 + k] >> (k < 6 ? 25 : 29);
    s[b][z / 8][z % 8] = c * (int)(table[k] + 1);
  }
  __syncthreads();
  float v[8];
#pragma unroll
  for (u k = 0; k < 8; k++) v[k] = s[b][x][k];
  idct8(v);
#pragma unroll
  for (u k = 0; k < 8; k++) s[b][x][k] = v[k];
  __syncthreads();
#pragma unroll
  for (u k = 0; k < 8; k++) v[k] = s[b][k][x];
  idct8(v);
  u at = blockIdx.x * 16 + b, wide = w / 8;
#pragma unroll
  for (u k = 0; k < 8; k++)
    o[(at / wide * 8 + k) * w + at % wide * 8 + x] = (u8)min(max(__float2int_rn(v[k] + 128), 0), 255);
}
// Three samples out of each two: three phases of 16 taps.
K(resample_32)(const float* a, const float* taps, float* o, u n) {
  __shared__ float s[192], f[3][16];
  u t = threadIdx.x, from = blockIdx.x * 168;
  if (t < 48) f[t / 16][t % 16] = taps[t];
  for (u e = t; e < 168 + 16; e += 252) s[e] = from + e < n ? a[from + e] : 0;
  __syncthreads();
  u at = t * 2 / 3, phase = t * 2 % 3;
  float v = 0;
#pragma unroll
  for (u k = 0; k < 16; k++) v += s[at + k] * f[phase][k];
  o[blockIdx.x * 252 + t] = v;
}

// Graphs, sparse matrices, trees, tables, rays.
// One round of widest paths: nodes offer their neighbours the narrower of their own width and the edge's.
K(edge_widest)(const u* row, const u* col, const u* wide, const u* old, u* best, u* parent_count, u n) {
  G;
  if (i >= n) return;
  u mine = old[i], end = row[i + 1], offers = 0;
  for (u k = row[i]; k < end; k++) {
    u to = col[k], w = min(mine, wide[k]);
    if (w > old[to]) {
      atomicMax(best + to, w);
      offers++;
    }
  }
  parent_count[i] = offers;
}
// Rows of blocks of 3 x 3, a warp a row: ten blocks at a time, three lanes a block.
K(bcsr3_warp)(const u* __restrict__ row, const u* __restrict__ col, const float* __restrict__ val,
              const float* __restrict__ x, float* y, u rows) {
  u l = threadIdx.x % 32, r = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (r >= rows) return;
  u end = row[r + 1], part = l % 3;
  float s = 0;
  for (u k = row[r] + l / 3; k < end && l < 30; k += 10) {
    const float *p = val + k * 9 + part * 3, *q = x + col[k] * 3;
    s += p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
  }
  float t = s + __shfl_down_sync(~0u, s, 15);
  s = t + __shfl_down_sync(~0u, t, 3) + __shfl_down_sync(~0u, t, 6) + __shfl_down_sync(~0u, t, 9) +
      __shfl_down_sync(~0u, t, 12);
  if (l < 3) y[r * 3 + l] = s;
}
// Union by the lesser root: 256 nodes and 320 edges a block, hooked by compare and swap.
__device__ u peek(const u* p) {
  u v;
  asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(v) : "r"(at_shared(p)) : "memory");
  return v;
}
__device__ u root_of(const u* s, u x) {
  for (u p; (p = peek(s + x)) != x;) x = p;
  return x;
}
K(union_hook)(const uint2* edge, u* o, u edges) {
  __shared__ u s[256];
  u t = threadIdx.x;
  for (u k = t; k < 256; k += blockDim.x) s[k] = k;
  __syncthreads();
  for (u k = t; k < edges; k += blockDim.x) {
    uint2 e = edge[blockIdx.x * edges + k];
    u a = e.x & 255, b = e.y >> 8 & 255;
    while ((a = root_of(s, a)) != (b = root_of(s, b))) {
      u hi = max(a, b), lo = min(a, b);
      if (atomicCAS(s + hi, hi, lo) == hi) break;
    }
  }
  __syncthreads();
  for (u k = t; k < 256; k += blockDim.x) o[blockIdx.x * 256 + k] = root_of(s, k);
}
// A cuckoo table of a block: four places a key, the one put out looks for its next.
__device__ u nest(u x, u h) { return (x * (h * 0x3c6ef372 + 0x9e3779b1)) >> 22; }
K(cuckoo_set)(const u* key, const u* probe, u* o, u* lost, u keys, u probes) {
  __shared__ u s[1024];
  u t = threadIdx.x, bad = 0, hits = 0;
  for (u k = t; k < 1024; k += blockDim.x) s[k] = ~0u;
  __syncthreads();
  for (u k = t; k < keys; k += blockDim.x) {
    u x = key[blockIdx.x * keys + k], h = 0, n = 0;
    for (; n < 200; n++) {
      u at = nest(x, h), y = atomicExch(s + at, x);
      if (y == ~0u || y == x) break;
      x = y;
      for (h = 0; h < 3 && nest(x, h) != at; h++);
      h = (h + 1) & 3;
    }
    bad += n == 200;
  }
  bad = __syncthreads_count(bad);
  for (u k = t; k < probes; k += blockDim.x) {
    u x = probe[blockIdx.x * probes + k], h = 0;
    while (h < 4 && s[nest(x, h)] != x) h++;
    if (h < 4) hits += mix(x);
  }
  o[blockIdx.x * blockDim.x + t] = hits;
  if (!t) lost[blockIdx.x] = bad;
}
// Barnes and Hut's forces in the plane: a quadtree of five levels in shared memory, a stack a thread.
K(quadtree_pull)(const float* leaf, const float2* at, float2* force, u n, float open) {
  __shared__ float sx[341], sy[341], sm[341];
  u t = threadIdx.x;
  for (u k = t; k < 256; k += 128) {
    u x = 0, y = 0;
    for (u b = 0; b < 4; b++) {
      x |= (k >> 2 * b & 1) << b;
      y |= (k >> (2 * b + 1) & 1) << b;
    }
    sx[85 + k] = (x + leaf[k]) / 16;
    sy[85 + k] = (y + leaf[256 + k]) / 16;
    sm[85 + k] = leaf[512 + k] + .01f;
  }
  for (u first = 21, m = 64; m; first = (first - 1) / 4, m /= 4) {
    __syncthreads();
    if (t < m) {
      u k = first + t;
      float x = 0, y = 0, w = 0;
      for (u c = 4 * k + 1; c <= 4 * k + 4; c++) {
        x += sx[c] * sm[c];
        y += sy[c] * sm[c];
        w += sm[c];
      }
      sx[k] = x / w;
      sy[k] = y / w;
      sm[k] = w;
    }
  }
  __syncthreads();
  G;
  if (i >= n) return;
  float2 p = at[i], f = {0, 0};
  u st[16], top = 1;
  st[0] = 0;
  while (top) {
    u e = st[--top], k = e & 65535, level = e >> 16;
    float dx = sx[k] - p.x, dy = sy[k] - p.y, d2 = dx * dx + dy * dy + 1e-4f, size = 1.f / (1 << level);
    if (level == 4 || size * size < open * d2) {
      float r = rsqrtf(d2), q = sm[k] * r * r * r;
      f.x += q * dx;
      f.y += q * dy;
    } else
      for (u c = 1; c <= 4; c++) st[top++] = 4 * k + c | (level + 1) << 16;
  }
  force[i] = f;
}
// Rays step from cell to cell of 32 x 32 x 32 bits until they hit.
K(voxel_dda)(const u* bits, u* o, u w, float spread) {
  __shared__ u s[1024];
  for (u k = threadIdx.y * 16 + threadIdx.x; k < 1024; k += 128) {
    u v = bits[k];
    s[k] = v & rotl(v, 7) & rotl(v, 13) & rotl(v, 22);
  }
  __syncthreads();
  u px = blockIdx.x * 16 + threadIdx.x, py = blockIdx.y * 8 + threadIdx.y, side = 3, steps = 0;
  float ox = px * 30.f / w + 1.01f, oy = py * 30.f / w + 1.02f, dx = ((px * 2 + 1.f) / w - 1) * spread,
        dy = (1 - (py * 2 + 1.f) / w) * spread, ix = 1 / dx, iy = 1 / dy;
  int x = (int)ox, y = (int)oy, z = 0, ux = dx < 0 ? -1 : 1, uy = dy < 0 ? -1 : 1;
  float tx = (x + (dx > 0) - ox) * ix, ty = (y + (dy > 0) - oy) * iy, tz = 1;
  ix = fabsf(ix);
  iy = fabsf(iy);
  for (; (x | y | z) >> 5 == 0; steps++) {
    if (s[z * 32 + y] >> x & 1) break;
    if (tx < ty && tx < tz) {
      x += ux;
      tx += ix;
      side = 0;
    } else if (ty < tz) {
      y += uy;
      ty += iy;
      side = 1;
    } else {
      z++;
      tz += 1;
      side = 2;
    }
  }
  bool hit = (x | y | z) >> 5 == 0;
  o[py * w + px] = hit ? 1u << 31 | side << 24 | z << 16 | steps : steps;
}
// Search by 16 separators at a time, half a warp a key.
K(kary_search)(const u* a, const u* q, u* o, u n) {
  u l = threadIdx.x % 16, k = (blockIdx.x * blockDim.x + threadIdx.x) / 16, key = q[k], lo = 0;
  for (u step = n / 16; step; step /= 16) {
    u m = __ballot_sync(~0u, a[lo + l * step] <= key) >> (threadIdx.x & 16) & 0xffff, c = __popc(m);
    lo += (c ? c - 1 : 0) * step;
  }
  if (!l) o[k] = lo << 1 | (a[lo] == key);
}

// Chance, states and tables in time.
// Heston's paths: variance walks beside the price, both from one hash.
K(heston_paths)(float* o, float* mean, u steps, u seed, float strike, float rho) {
  __shared__ float s[4];
  G;
  float x = 0, v = .04f, dt = 1.f / steps, root = sqrtf(dt), other = sqrtf(1 - rho * rho);
  u state = mix(i ^ seed);
  for (u k = 0; k < steps; k++) {
    u a = mix(state + 2 * k), b = mix(state + 2 * k + 1);
    float r = sqrtf(-2 * __logf((a + 1.f) * 2.3283064e-10f)), sn, cs;
    __sincosf(b * 1.4629181e-9f, &sn, &cs);
    float z1 = r * sn, z2 = rho * z1 + other * r * cs, p = fmaxf(v, 0), q = sqrtf(p) * root;
    x += (.02f - .5f * p) * dt + q * z1;
    v += 1.5f * (.04f - p) * dt + .3f * q * z2;
  }
  float pay = fmaxf(100 * __expf(x) - strike, 0) * __expf(-.02f);
  o[i] = pay;
  pay = block_sum<4>(pay, s);
  if (!threadIdx.x) mean[blockIdx.x] = pay / 128;
}
// Viterbi's decoder for the code of length seven: a thread a state, decisions as bits, one thread walks back.
KB(64, viterbi_k7)(const uint2* a, u* o, u steps) {
  __shared__ u cost[2][64], dec[128][2];
  u t = threadIdx.x, f = 0, pred = t << 1 & 63, in = t >> 5 << 6;
  u c0 = __popc((in | pred) & 0171) & 1, c1 = __popc((in | pred) & 0133) & 1;
  cost[0][t] = t ? 1000 : 0;
  for (u k = 0; k < steps; k++) {
    __syncthreads();
    uint2 r = a[blockIdx.x * steps + k];
    u x = r.x & 15, y = r.y & 15, w = (c0 ? 15 - x : x) + (c1 ? 15 - y : y);
    u p = cost[f][pred] + w, q = cost[f][pred + 1] + 30 - w;
    u set = __ballot_sync(~0u, q < p);
    f ^= 1;
    cost[f][t] = min(p, q);
    if (t % 32 == 0) dec[k][t / 32] = set;
  }
  __syncthreads();
  if (t) return;
  u s = 0, word = 0;
  for (u k = 1; k < 64; k++)
    if (cost[f][k] < cost[f][s]) s = k;
  for (u k = steps; k--;) {
    word = word << 1 | s >> 5;
    s = (s << 1 & 63) | (dec[k][s / 32] >> s % 32 & 1);
    if (k % 32 == 0) o[blockIdx.x * (steps / 32) + k / 32] = word;
  }
}
// The knapsack's table, row after row; what was taken is kept as bits.
K(knapsack_rows)(const u* weight, const u* value, u* o, u* took, u items) {
  __shared__ u s[2][512];
  u t = threadIdx.x, f = 0;
  s[0][t] = 0;
  for (u k = 0; k < items; k++) {
    __syncthreads();
    u w = weight[blockIdx.x * items + k] + 1, v = value[blockIdx.x * items + k] + 1, old = s[f][t], now = old;
    if (t >= w) now = max(old, s[f][t - w] + v);
    f ^= 1;
    s[f][t] = now;
    u set = __ballot_sync(~0u, now > old);
    if (t % 32 == 0) took[(blockIdx.x * items + k) * 16 + t / 32] = set;
  }
  o[blockIdx.x * 512 + t] = s[f][t];
}
// An epidemic event by event, Gillespie's way: each thread its own rates.
K(gillespie_sir)(const float* rate, u* o, float* when, u n, u people, u most) {
  G;
  if (i >= n) return;
  float beta = .5f + 2 * rate[i], gamma = .3f + .5f * rate[n + i], t = 0;
  u s = people - 3, sick = 3, k = 0, state = mix(i) | 1;
  while (sick && k < most) {
    float a = beta * s * sick / people, b = gamma * sick;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    t -= __logf((state >> 8) * 5.9604645e-8f + 2e-8f) / (a + b);
    state = state * 1664525 + 1013904223;
    if (!state) state = 1;
    if ((state >> 8) * 5.9604645e-8f * (a + b) < a) {
      s--;
      sick++;
    } else
      sick--;
    k++;
  }
  o[i] = k << 16 | s;
  when[i] = t;
}

// Few bits.
// Weights in NF4 with two layers of scales times a vector, a row a warp.
K(nf4_gemv)(const uint4* __restrict__ w, const u8* __restrict__ scale, const float* __restrict__ outer,
            const float4* __restrict__ x, float* o, u words) {
  __shared__ float lut[16];
  constexpr float code[16] = {-1.f,        -.69619280f, -.52507305f, -.39491749f, -.28444138f, -.18477343f,
                              -.09105004f, 0.f,         .07958030f,  .16093020f,  .24611230f,  .33791524f,
                              .44070983f,  .56261700f,  .72295684f,  1.f};
  if (threadIdx.x == 0)
#pragma unroll
    for (u k = 0; k < 16; k++) lut[k] = code[k];
  __syncthreads();
  u l = threadIdx.x % 32, r = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  float sum = 0;
  for (u k = l; k < words; k += 32) {
    uint4 q = w[r * words + k];
    u v[4] = {q.x, q.y, q.z, q.w};
    float part = 0;
#pragma unroll
    for (u e = 0; e < 8; e++) {
      float4 y = x[k * 8 + e];
      u z = v[e / 2] >> e % 2 * 16;
      part += lut[z & 15] * y.x + lut[z >> 4 & 15] * y.y + lut[z >> 8 & 15] * y.z + lut[z >> 12 & 15] * y.w;
    }
    sum += part * (scale[(r * words + k) / 2] / 127.f - 1) * outer[(r * words + k) / 512];
  }
  sum = warp_sum(sum);
  if (!l) o[r] = sum;
}
// Rows of 1,024 to FP8 E4M3 by their greatest value.
K(fp8_rows)(const float4* a, u* o, float* scale) {
  __shared__ float s[8];
  G;
  float4 v = a[i];
  float m = warp_max(fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w))));
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m;
  __syncthreads();
  for (u k = 0; k < 8; k++) m = fmaxf(m, s[k]);
  m = fmaxf(m, 1e-12f);
  float r = 448 / m;
  u lo = __nv_cvt_float2_to_fp8x2(make_float2(v.x * r, v.y * r), __NV_SATFINITE, __NV_E4M3);
  u hi = __nv_cvt_float2_to_fp8x2(make_float2(v.z * r, v.w * r), __NV_SATFINITE, __NV_E4M3);
  o[i] = lo | hi << 16;
  if (!threadIdx.x) scale[blockIdx.x] = m / 448;
}
// Microscaling: 32 values share a power of two, each is kept in E2M1.
K(mxfp4_pack)(const float4* a, u* o, u8* scale, u n) {
  G;
  if (i >= n) return;
  float4 q = a[i];
  float v[4] = {q.x, q.y, q.z, q.w}, m = fmaxf(fmaxf(fabsf(q.x), fabsf(q.y)), fmaxf(fabsf(q.z), fabsf(q.w)));
  for (u d = 1; d < 8; d *= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  u e = max(__float_as_uint(m) >> 23, 3u) - 2, word = 0;
  float r = __uint_as_float((254 - e) << 23);
#pragma unroll
  for (u k = 0; k < 4; k++) {
    float x = fabsf(v[k]) * r;
    u c = (x > .25f) + (x >= .75f) + (x > 1.25f) + (x >= 1.75f) + (x > 2.5f) + (x >= 3.5f) + (x > 5);
    word |= (c | (v[k] < 0) << 3) << 4 * k;
  }
  u next = __shfl_down_sync(~0u, word, 1);
  if (i % 2 == 0) o[i / 2] = word | next << 16;
  if (i % 8 == 0) scale[i / 8] = e;
}
// Frames of reference: 128 words less their least, in as few bits as the greatest needs; a warp each.
K(bitpack_frames)(const u* a, const u* shift, u* o) {
  __shared__ u all[4][130];
  u l = threadIdx.x % 32, w = blockIdx.x * 4 + threadIdx.x / 32, *s = all[threadIdx.x / 32], v[4], lo = ~0u, hi = 0;
  for (u k = 0; k < 4; k++) {
    v[k] = a[w * 128 + k * 32 + l] >> shift[w];
    lo = min(lo, v[k]);
    hi = max(hi, v[k]);
  }
  lo = __reduce_min_sync(~0u, lo);
  hi = __reduce_max_sync(~0u, hi);
  u width = 32 - __clz(hi - lo), words = width * 4;
  for (u k = l; k < 130; k += 32) s[k] = 0;
  __syncwarp();
  if (width)
    for (u k = 0; k < 4; k++) {
      u at = (k * 32 + l) * width, x = v[k] - lo;
      atomicOr(s + at / 32, x << at % 32);
      if (at % 32 + width > 32) atomicOr(s + at / 32 + 1, x >> (32 - at % 32));
    }
  __syncwarp();
  o += w * 130;
  if (!l) {
    o[0] = lo;
    o[1] = width;
  }
  for (u k = l; k < words; k += 32) o[2 + k] = s[k];
}

// Where things lie.
// Patches of 3 x 3 with zeros at the border as columns of a matrix.
K(im2col_3x3)(const float* __restrict__ a, float* __restrict__ o, u chans, u h, u w) {
  u all = chans * 9 * h * w;
  for (u i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) {
    int x = i % w, y = i / w % h, k = i / w / h % 9, c = i / w / h / 9;
    x += k % 3 - 1;
    y += k / 3 - 1;
    o[i] = x >= 0 && y >= 0 && x < (int)w && y < (int)h ? a[(c * h + y) * w + x] : 0;
  }
}
// Tokens of 512 bytes out of pages of eight, sequences of uneven length; a warp a token.
K(paged_gather)(const uint4* __restrict__ pool, const u* __restrict__ start, const u* __restrict__ page,
                uint4* __restrict__ o) {
  u l = threadIdx.x % 32, from = start[blockIdx.x], n = start[blockIdx.x + 1] - from;
  for (u k = threadIdx.x / 32; k < n; k += 4)
    o[(from + k) * 32 + l] = pool[(page[blockIdx.x * 4 + k / 8] * 8 + k % 8) * 32 + l];
}
// 2^16 pairs by reversed index: the low and the high five bits change places in a tile.
K(bit_reverse)(const float2* a, float2* o) {
  __shared__ float2 s[32][33];
  u x = threadIdx.x, y = threadIdx.y, m = blockIdx.x << 5, to = __brev(blockIdx.x) >> 26 << 5;
  for (u r = y; r < 32; r += 8) s[r][x] = a[blockIdx.y << 16 | r << 11 | m | x];
  __syncthreads();
  u from = __brev(x) >> 27;
  for (u r = y; r < 32; r += 8) o[blockIdx.y << 16 | r << 11 | to | x] = s[from][__brev(r) >> 27];
}
