// Kernels of many kinds, as libraries and benchmarks have them; timed unseen once.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>

using namespace nvcuda;

#define WARP_ALL 0xffffffffu

extern __shared__ __align__(128) unsigned char dynamic_bytes[];

// ---------------------------------------------------------------- helpers

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void async_copy16(void* dst, const void* src) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(dst)), "l"(src) : "memory");
}

__device__ __forceinline__ void async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int Pending>
__device__ __forceinline__ void async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

__device__ __forceinline__ void load_matrix4(unsigned* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(p))
               : "memory");
}

__device__ __forceinline__ void load_matrix4_trans(unsigned* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(p))
               : "memory");
}

__device__ __forceinline__ void mma_f16_f32(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma_b16_f32(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float lane_sum(float v) {
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(WARP_ALL, v, offset);
  return __shfl_sync(WARP_ALL, v, 0);
}

__device__ __forceinline__ float lane_max(float v) {
  for (int offset = 16; offset > 0; offset >>= 1) v = fmaxf(v, __shfl_xor_sync(WARP_ALL, v, offset));
  return v;
}

// Sum over a block; every thread gets it. The scratch holds one float a warp.
__device__ float block_total(float v, float* scratch) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  v = lane_sum(v);
  __syncthreads();
  if (lane == 0) scratch[warp] = v;
  __syncthreads();
  v = lane < warps ? scratch[lane] : 0.0f;
  return lane_sum(v);
}

__device__ __forceinline__ uint32_t scramble(uint32_t x) {
  x ^= x >> 17;
  x *= 0xed5ad4bbu;
  x ^= x >> 11;
  x *= 0xac4c1b51u;
  x ^= x >> 15;
  return x;
}

__device__ __forceinline__ uint32_t xorshift32(uint32_t& s) {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s;
}

__device__ __forceinline__ float unit_float(uint32_t x) { return ((x >> 9) + 0.5f) * (1.0f / 8388608.0f); }

// ---------------------------------------------------------------- tensor cores

// Linear layer y = gelu(x w^T + bias): two stages of cp.async, ldmatrix, 64x64 tiles, half output.
extern "C" __global__ void __launch_bounds__(128)
    linear_bias_gelu_f16(const half* __restrict__ x, const half* __restrict__ w, const float* __restrict__ bias,
                         half* __restrict__ y, int n, int k) {
  __shared__ __align__(16) half sx[2][64][40];
  __shared__ __align__(16) half sw[2][64][40];
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  const int wm = (warp >> 1) * 32, wn = (warp & 1) * 32;
  float acc[2][4][4] = {};
  auto fetch = [&](int stage, int k0) {
    for (int i = tid; i < 256; i += 128) {
      int r = i >> 2, c = (i & 3) * 8;
      async_copy16(&sx[stage][r][c], x + (size_t)(row0 + r) * k + k0 + c);
      async_copy16(&sw[stage][r][c], w + (size_t)(col0 + r) * k + k0 + c);
    }
  };
  fetch(0, 0);
  async_commit();
  const int steps = k / 32;
  for (int t = 0; t < steps; ++t) {
    const int s = t & 1;
    if (t + 1 < steps) fetch(s ^ 1, (t + 1) * 32);
    async_commit();
    async_wait<1>();
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      unsigned a[2][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) load_matrix4(a[i], &sx[s][wm + i * 16 + (lane & 15)][kk + (lane >> 4) * 8]);
#pragma unroll
      for (int j = 0; j < 2; ++j)
        load_matrix4(b[j], &sw[s][wn + j * 16 + (lane & 7) + ((lane >> 4) << 3)][kk + ((lane >> 3) & 1) * 8]);
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma_f16_f32(acc[i][j], a[i], b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        int r = row0 + wm + i * 16 + h * 8 + (lane >> 2), c = col0 + wn + j * 8 + (lane & 3) * 2;
        float u = acc[i][j][h * 2] + bias[c], v = acc[i][j][h * 2 + 1] + bias[c + 1];
        u = 0.5f * u * (1.0f + erff(u * 0.70710678f));
        v = 0.5f * v * (1.0f + erff(v * 0.70710678f));
        *reinterpret_cast<half2*>(&y[(size_t)r * n + c]) = __floats2half2_rn(u, v);
      }
}

// Split-K product: every z slice of the grid leaves its own plane of partial sums.
extern "C" __global__ void gemm_splitk_planes(const half* a, const half* b, float* planes, int m, int n, int k) {
  const int warp = threadIdx.x / 32;
  const int row = blockIdx.y * 64 + (warp / 2) * 32;
  const int col = blockIdx.x * 64 + (warp % 2) * 32;
  const int span = k / gridDim.z, first = blockIdx.z * span;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[2][2];
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) wmma::fill_fragment(c[i][j], 0.0f);
  for (int kk = first; kk < first + span; kk += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb[2];
    for (int i = 0; i < 2; i++) wmma::load_matrix_sync(fa[i], a + (row + i * 16) * k + kk, k);
    for (int j = 0; j < 2; j++) wmma::load_matrix_sync(fb[j], b + kk * n + col + j * 16, n);
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++) wmma::mma_sync(c[i][j], fa[i], fb[j], c[i][j]);
  }
  float* out = planes + (size_t)blockIdx.z * m * n;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      wmma::store_matrix_sync(out + (row + i * 16) * n + col + j * 16, c[i][j], n, wmma::mem_row_major);
}

// Linear attention: state = phi(K)^T V of a head in bf16, phi(x) = elu(x) + 1, both operands transposed by ldmatrix.
extern "C" __global__ void __launch_bounds__(128)
    linear_attn_state(const float4* __restrict__ keys, const float4* __restrict__ values, float* __restrict__ state,
                      int length) {
  __shared__ __align__(16) __nv_bfloat16 sk[32][72];
  __shared__ __align__(16) __nv_bfloat16 sv[32][72];
  const int tid = threadIdx.x, lane = tid % 32, m0 = tid / 32 * 16;
  const size_t head = (size_t)blockIdx.x * length * 16;
  float acc[8][4] = {};
  for (int t0 = 0; t0 < length; t0 += 32) {
#pragma unroll
    for (int i = tid; i < 512; i += 128) {
      const int r = i / 16, c = i % 16;
      float4 kx = keys[head + (t0 + r) * 16 + c], vx = values[head + (t0 + r) * 16 + c];
      kx.x = kx.x > 0 ? kx.x + 1.0f : __expf(kx.x);
      kx.y = kx.y > 0 ? kx.y + 1.0f : __expf(kx.y);
      kx.z = kx.z > 0 ? kx.z + 1.0f : __expf(kx.z);
      kx.w = kx.w > 0 ? kx.w + 1.0f : __expf(kx.w);
      __nv_bfloat162* pk = reinterpret_cast<__nv_bfloat162*>(&sk[r][c * 4]);
      __nv_bfloat162* pv = reinterpret_cast<__nv_bfloat162*>(&sv[r][c * 4]);
      pk[0] = __floats2bfloat162_rn(kx.x, kx.y);
      pk[1] = __floats2bfloat162_rn(kx.z, kx.w);
      pv[0] = __floats2bfloat162_rn(vx.x, vx.y);
      pv[1] = __floats2bfloat162_rn(vx.z, vx.w);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      unsigned a[4];
      load_matrix4_trans(a, &sk[kk + (lane & 7) + ((lane >> 4) << 3)][m0 + ((lane >> 3) & 1) * 8]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        unsigned b[4];
        load_matrix4_trans(b, &sv[kk + (lane & 15)][j * 16 + (lane >> 4) * 8]);
        mma_b16_f32(acc[j * 2], a, b[0], b[1]);
        mma_b16_f32(acc[j * 2 + 1], a, b[2], b[3]);
      }
    }
    __syncthreads();
  }
  float* out = state + (size_t)blockIdx.x * 4096;
  for (int j = 0; j < 8; ++j) {
    const int r = m0 + lane / 4, c = j * 8 + lane % 4 * 2;
    *reinterpret_cast<float2*>(out + r * 64 + c) = make_float2(acc[j][0], acc[j][1]);
    *reinterpret_cast<float2*>(out + (r + 8) * 64 + c) = make_float2(acc[j][2], acc[j][3]);
  }
}

// Pointwise int8 convolution, fragments straight from memory, requantised with residual and ReLU.
extern "C" __global__ void pointwise_s8_residual(const signed char* pixels, const signed char* weights,
                                                 const int* scale, const signed char* residual, signed char* out,
                                                 unsigned count, unsigned cin) {
  const unsigned lane = threadIdx.x & 31, group = lane >> 2, quad = lane & 3;
  const unsigned row = (blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5)) * 16;
  if (row >= count) return;
  int acc[8][4];
#pragma unroll
  for (int j = 0; j < 8; ++j) acc[j][0] = acc[j][1] = acc[j][2] = acc[j][3] = 0;
  const signed char* p0 = pixels + (row + group) * cin + quad * 4;
  const signed char* p1 = p0 + 8 * cin;
  for (unsigned kk = 0; kk < cin; kk += 32) {
    const int a0 = *(const int*)(p0 + kk), a1 = *(const int*)(p1 + kk);
    const int a2 = *(const int*)(p0 + kk + 16), a3 = *(const int*)(p1 + kk + 16);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const signed char* q = weights + (j * 8 + group) * cin + kk + quad * 4;
      const int b0 = *(const int*)q, b1 = *(const int*)(q + 16);
      asm volatile(
          "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+r"(acc[j][0]), "+r"(acc[j][1]), "+r"(acc[j][2]), "+r"(acc[j][3])
          : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const unsigned c = j * 8 + quad * 2;
    for (int h = 0; h < 2; ++h) {
      const unsigned at = (row + group + h * 8) * 64 + c;
      const char2 old = *(const char2*)(residual + at);
      int u = (__mulhi(acc[j][h * 2], scale[c]) >> 4) + old.x;
      int v = (__mulhi(acc[j][h * 2 + 1], scale[c + 1]) >> 4) + old.y;
      u = max(0, min(127, u));
      v = max(0, min(127, v));
      *(char2*)(out + at) = make_char2((signed char)u, (signed char)v);
    }
  }
}

// Product of two 16x16 double matrices in shared memory by one warp with the f64 tensor cores; d = s * x * p (+ I).
__device__ void warp_mul16(const double (*x)[17], double (*p)[17], double s, double diagonal) {
  const int lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  double acc[2][2][2] = {};
#pragma unroll
  for (int k = 0; k < 16; k += 4) {
    double a[2] = {x[g][k + q], x[g + 8][k + q]}, b[2] = {p[k + q][g], p[k + q][g + 8]};
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(acc[i][j][0]), "+d"(acc[i][j][1])
                     : "d"(a[i]), "d"(b[j]));
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int r = i * 8 + g, c = j * 8 + q * 2 + h;
        p[r][c] = acc[i][j][h] * s + (r == c ? diagonal : 0.0);
      }
  __syncwarp();
}

// Matrix exponential of 16x16 doubles, one a warp: Taylor by Horner on the f64 tensor cores.
extern "C" __global__ void __launch_bounds__(128)
    expm_taylor_f64mma(const double* in, double* out, int count, int terms) {
  __shared__ double xs[4][16][17], ps[4][16][17];
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, id = blockIdx.x * 4 + warp;
  if (id >= count) return;
  double(*x)[17] = xs[warp];
  double(*p)[17] = ps[warp];
  for (int i = lane; i < 256; i += 32) {
    x[i / 16][i % 16] = in[id * 256 + i] * 0.125;
    p[i / 16][i % 16] = i / 16 == i % 16 ? 1.0 : 0.0;
  }
  __syncwarp();
  for (int k = terms; k > 0; --k) warp_mul16(x, p, 1.0 / k, 1.0);
  for (int i = lane; i < 256; i += 32) out[id * 256 + i] = p[i / 16][i % 16];
}

// Cross attention with wmma: 32 queries against 128 keys, all scores of the tile in dynamic shared memory.
extern "C" __global__ void cross_attn_wmma(const half* q, const half* k, const half* v, float* o, int queries) {
  float* s = reinterpret_cast<float*>(dynamic_bytes);
  half* p = reinterpret_cast<half*>(dynamic_bytes + 32 * 132 * sizeof(float));
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = blockIdx.y;
  const half* qh = q + ((size_t)head * queries + blockIdx.x * 32) * 64;
  const half* kh = k + (size_t)head * 128 * 64;
  const half* vh = v + (size_t)head * 128 * 64;
  for (int t = warp; t < 16; t += 4) {
    const int r = t / 8 * 16, c = t % 8 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int d = 0; d < 64; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
      wmma::load_matrix_sync(a, qh + r * 64 + d, 64);
      wmma::load_matrix_sync(b, kh + c * 64 + d, 64);
      wmma::mma_sync(acc, a, b, acc);
    }
    wmma::store_matrix_sync(s + r * 132 + c, acc, 132, wmma::mem_row_major);
  }
  __syncthreads();
  for (int r = warp; r < 32; r += 4) {
    float x[4], top = -INFINITY, sum = 0.0f;
    for (int i = 0; i < 4; ++i) top = fmaxf(top, x[i] = s[r * 132 + i * 32 + lane] * 0.125f);
    top = lane_max(top);
    for (int i = 0; i < 4; ++i) sum += x[i] = __expf(x[i] - top);
    sum = 1.0f / lane_sum(sum);
    for (int i = 0; i < 4; ++i) p[r * 136 + i * 32 + lane] = __float2half(x[i] * sum);
  }
  __syncthreads();
  float* oh = o + ((size_t)head * queries + blockIdx.x * 32) * 64;
  for (int t = warp; t < 8; t += 4) {
    const int r = t / 4 * 16, c = t % 4 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    for (int d = 0; d < 128; d += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
      wmma::load_matrix_sync(a, p + r * 136 + d, 136);
      wmma::load_matrix_sync(b, vh + d * 64 + c, 64);
      wmma::mma_sync(acc, a, b, acc);
    }
    wmma::store_matrix_sync(oh + r * 64 + c, acc, 64, wmma::mem_row_major);
  }
}

// FIR filter of 64 taps as a Toeplitz product: the taps stay in A fragments, windows of the signal are the columns.
extern "C" __global__ void __launch_bounds__(128)
    toeplitz_fir64(const half* __restrict__ signal, const half* __restrict__ taps, float* __restrict__ out, int n) {
  __shared__ __align__(16) half window[64 + 2048];
  __shared__ half h[64];
  const int tid = threadIdx.x, lane = tid & 31, g = lane >> 2, q = lane & 3;
  const int base = blockIdx.x * 2048;
  if (tid < 64) h[tid] = taps[tid];
  for (int i = tid; i < 2112; i += 128) {
    const int at = base - 64 + i;
    window[i] = at >= 0 && at < n ? signal[at] : __float2half(0.0f);
  }
  __syncthreads();
  unsigned a[5][4];
#pragma unroll
  for (int s = 0; s < 5; ++s)
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int m = g + (r & 1) * 8, k = s * 16 + q * 2 + (r >> 1) * 8, j = m + 64 - k;
      half2 pair = __halves2half2(j >= 0 && j < 64 ? h[j] : __float2half(0.0f),
                                  j >= 1 && j < 65 ? h[j - 1] : __float2half(0.0f));
      a[s][r] = *reinterpret_cast<unsigned*>(&pair);
    }
  for (int t = tid >> 5; t < 16; t += 4) {
    float c[4] = {0, 0, 0, 0};
    const half* w = window + t * 128 + g * 16 + q * 2;
#pragma unroll
    for (int s = 0; s < 5; ++s)
      mma_f16_f32(c, a[s], *reinterpret_cast<const unsigned*>(w + s * 16),
                  *reinterpret_cast<const unsigned*>(w + s * 16 + 8));
    const int to = base + t * 128 + q * 32 + g;
    if (to + 24 < n) {
      out[to] = c[0];
      out[to + 16] = c[1];
      out[to + 8] = c[2];
      out[to + 24] = c[3];
    }
  }
}

// K-means assignment: 64 centres of 32 dimensions by mma, nearest centre by shuffles, sizes of clusters by atomics.
extern "C" __global__ void kmeans_assign_mma(const half* points, const half* centres, int* label, int* sizes, int n) {
  __shared__ __align__(16) half sc[64][40];
  __shared__ float norm[64];
  __shared__ int count[64];
  const int tid = threadIdx.x, lane = tid & 31, g = lane >> 2, q = lane & 3;
  for (int i = tid; i < 2048; i += blockDim.x) sc[i >> 5][i & 31] = centres[i];
  __syncthreads();
  if (tid < 64) {
    float s = 0.0f;
    for (int d = 0; d < 32; ++d) {
      const float x = __half2float(sc[tid][d]);
      s += x * x;
    }
    norm[tid] = s;
    count[tid] = 0;
  }
  __syncthreads();
  const int row = (blockIdx.x * blockDim.x + tid) / 32 * 16;
  if (row + 16 <= n) {
    const unsigned* p = reinterpret_cast<const unsigned*>(points + row * 32);
    unsigned a[2][4];
    for (int s = 0; s < 2; ++s)
      for (int r = 0; r < 4; ++r) a[s][r] = p[(g + (r & 1) * 8) * 16 + s * 8 + (r >> 1) * 4 + q];
    float best[2] = {INFINITY, INFINITY};
    int who[2] = {0, 0};
#pragma unroll 4
    for (int j = 0; j < 8; ++j) {
      float c[4] = {0, 0, 0, 0};
      unsigned b[4];
      load_matrix4(b, &sc[j * 8 + (lane & 7)][(lane >> 3) * 8]);
      mma_f16_f32(c, a[0], b[0], b[1]);
      mma_f16_f32(c, a[1], b[2], b[3]);
      for (int e = 0; e < 4; ++e) {
        const int id = j * 8 + q * 2 + (e & 1);
        const float d = norm[id] - 2.0f * c[e];
        if (d < best[e >> 1]) best[e >> 1] = d, who[e >> 1] = id;
      }
    }
    for (int offset = 1; offset < 4; offset <<= 1)
      for (int h = 0; h < 2; ++h) {
        const float d = __shfl_xor_sync(WARP_ALL, best[h], offset);
        const int id = __shfl_xor_sync(WARP_ALL, who[h], offset);
        if (d < best[h] || (d == best[h] && id < who[h])) best[h] = d, who[h] = id;
      }
    if (q < 2) {
      const int mine = q ? who[1] : who[0];
      label[row + g + q * 8] = mine;
      atomicAdd(&count[mine], 1);
    }
  }
  __syncthreads();
  if (tid < 64 && count[tid]) atomicAdd(&sizes[tid], count[tid]);
}

// Expert layer: rows gathered by index, whole depth of 128 staged at once, gate times result, bf16.
extern "C" __global__ void __launch_bounds__(128)
    expert_gather_bf16(const __nv_bfloat16* __restrict__ tokens, const __nv_bfloat16* __restrict__ weights,
                       const unsigned* __restrict__ slot, const float* __restrict__ gate, float* __restrict__ out,
                       int rows, int slots, int n) {
  __shared__ __align__(16) __nv_bfloat16 sa[32][136];
  __shared__ __align__(16) __nv_bfloat16 sb[64][136];
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, expert = blockIdx.z;
  const int first = expert * slots + blockIdx.y * 32, col0 = blockIdx.x * 64;
  for (int i = tid; i < 512; i += 128) {
    const unsigned from = slot[first + i / 16] % rows;
    async_copy16(&sa[i / 16][i % 16 * 8], tokens + (size_t)from * 128 + i % 16 * 8);
  }
  for (int i = tid; i < 1024; i += 128)
    async_copy16(&sb[i / 16][i % 16 * 8], weights + ((size_t)expert * n + col0 + i / 16) * 128 + i % 16 * 8);
  async_commit();
  async_wait<0>();
  __syncthreads();
  const int wm = (warp & 1) * 16, wn = (warp >> 1) * 32;
  float acc[4][4] = {};
#pragma unroll 2
  for (int kk = 0; kk < 128; kk += 16) {
    unsigned a[4], b[4];
    load_matrix4(a, &sa[wm + (lane & 15)][kk + (lane >> 4) * 8]);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      load_matrix4(b, &sb[wn + j * 16 + (lane & 7) + ((lane >> 4) << 3)][kk + ((lane >> 3) & 1) * 8]);
      mma_b16_f32(acc[j * 2], a, b[0], b[1]);
      mma_b16_f32(acc[j * 2 + 1], a, b[2], b[3]);
    }
  }
  const int r = first + wm + (lane >> 2);
  const float g0 = gate[r], g1 = gate[r + 8];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int c = col0 + wn + j * 8 + (lane & 3) * 2;
    *reinterpret_cast<float2*>(out + (size_t)r * n + c) = make_float2(acc[j][0] * g0, acc[j][1] * g0);
    *reinterpret_cast<float2*>(out + (size_t)(r + 8) * n + c) = make_float2(acc[j][2] * g1, acc[j][3] * g1);
  }
}

// Two projections at once, silu(x w1^T) * (x w3^T), half accumulators and a prefetch through registers.
extern "C" __global__ void swiglu_pair_f16acc(const half* x, const half* w1, const half* w3, half* y, int n, int k) {
  __shared__ uint4 tile[128][5];
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 32;
  const int r = tid / 4, c = tid % 4;
  const half* from[4] = {x + (row0 + r) * k, x + (row0 + 32 + r) * k, w1 + (col0 + r) * k, w3 + (col0 + r) * k};
  uint4 next[4];
  for (int i = 0; i < 4; i++) next[i] = *(const uint4*)(from[i] + c * 8);
  unsigned acc[2][4][2] = {};
  for (int k0 = 0; k0 < k; k0 += 32) {
    for (int i = 0; i < 4; i++) tile[i * 32 + r][c] = next[i];
    __syncthreads();
    if (k0 + 32 < k)
      for (int i = 0; i < 4; i++) next[i] = *(const uint4*)(from[i] + k0 + 32 + c * 8);
#pragma unroll
    for (int h = 0; h < 2; h++) {
      unsigned a[4], b[4];
      load_matrix4(a, &tile[warp * 16 + lane % 16][h * 2 + lane / 16]);
#pragma unroll
      for (int j = 0; j < 4; j++) {
        load_matrix4(b, &tile[64 + j * 16 + lane % 8 + lane / 16 * 8][h * 2 + lane / 8 % 2]);
#pragma unroll
        for (int e = 0; e < 2; e++) {
          unsigned* d = acc[j / 2][j % 2 * 2 + e];
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
              : "+r"(d[0]), "+r"(d[1])
              : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[e * 2]), "r"(b[e * 2 + 1]));
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int j = 0; j < 4; j++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float2 u = __half22float2(*(half2*)&acc[0][j][h]), v = __half22float2(*(half2*)&acc[1][j][h]);
      const float a = u.x / (1.0f + __expf(-u.x)) * v.x, b = u.y / (1.0f + __expf(-u.y)) * v.y;
      const int to = (row0 + warp * 16 + lane / 4 + h * 8) * n + col0 + j * 8 + lane % 4 * 2;
      *(half2*)(y + to) = __floats2half2_rn(a, b);
    }
}

// DCT of 16x16 image blocks, one a warp: T X T^t with wmma, then quantised.
extern "C" __global__ void dct16_quant_wmma(const float* image, short* coded, int width, int blocks, float step) {
  __shared__ __align__(32) half t[256];
  __shared__ __align__(32) half x[8][256];
  __shared__ __align__(32) float f[8][256];
  const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  {
    const int u = threadIdx.x >> 4, i = threadIdx.x & 15;
    t[threadIdx.x] = __float2half(cospif((2 * i + 1) * u * (1.0f / 32.0f)) * (u ? 0.35355339f : 0.25f));
  }
  const int id = blockIdx.x * 8 + warp, wide = width / 16;
  const bool live = id < blocks;
  const float* from = image + (id / wide * 16) * width + id % wide * 16;
  for (int i = lane; i < 256 && live; i += 32) x[warp][i] = __float2half(from[(i >> 4) * width + (i & 15)]);
  __syncthreads();
  if (!live) return;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> bt;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::load_matrix_sync(a, t, 16);
  wmma::load_matrix_sync(b, x[warp], 16);
  wmma::fill_fragment(c, 0.0f);
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(f[warp], c, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = lane; i < 256; i += 32) x[warp][i] = __float2half(f[warp][i]);
  __syncwarp();
  wmma::load_matrix_sync(a, x[warp], 16);
  wmma::load_matrix_sync(bt, t, 16);
  wmma::fill_fragment(c, 0.0f);
  wmma::mma_sync(c, a, bt, c);
  wmma::store_matrix_sync(f[warp], c, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = lane; i < 256; i += 32) {
    const float weight = step * (1.0f + 0.25f * ((i >> 4) + (i & 15)));
    coded[id * 256 + i] = (short)__float2int_rn(f[warp][i] / weight);
  }
}

// ---------------------------------------------------------------- attention, norms, losses, optimisers

// One new token against its cache with linear biases; the warps of a block share the keys and merge at the end.
extern "C" __global__ void __launch_bounds__(128)
    alibi_decode_heads(const float* __restrict__ query, const half2* __restrict__ keys, const half2* __restrict__ vals,
                       float* __restrict__ out, int length, int heads) {
  __shared__ float part[4][66];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int seq = blockIdx.x / heads, head = blockIdx.x % heads;
  const float2 q = make_float2(query[blockIdx.x * 64 + lane * 2], query[blockIdx.x * 64 + lane * 2 + 1]);
  const float slope = exp2f(-8.0f * (head + 1) / heads);
  float top = -1e30f, sum = 0.0f;
  float2 acc = make_float2(0.0f, 0.0f);
  for (int t = warp; t < length; t += 4) {
    const size_t at = ((size_t)(seq * length + t) * heads + head) * 32 + lane;
    const float2 k = __half22float2(keys[at]), v = __half22float2(vals[at]);
    float s = q.x * k.x + q.y * k.y;
    for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(WARP_ALL, s, d);
    s = s * 0.125f - slope * (length - 1 - t);
    const float high = fmaxf(top, s), keep = __expf(top - high), p = __expf(s - high);
    acc.x = acc.x * keep + p * v.x;
    acc.y = acc.y * keep + p * v.y;
    sum = sum * keep + p;
    top = high;
  }
  part[warp][lane * 2] = acc.x;
  part[warp][lane * 2 + 1] = acc.y;
  if (lane == 0) part[warp][64] = top, part[warp][65] = sum;
  __syncthreads();
  if (threadIdx.x < 64) {
    float high = part[0][64], total = 0.0f, v = 0.0f;
    for (int w = 1; w < 4; ++w) high = fmaxf(high, part[w][64]);
    for (int w = 0; w < 4; ++w) {
      const float e = __expf(part[w][64] - high);
      total += e * part[w][65];
      v += e * part[w][threadIdx.x];
    }
    out[blockIdx.x * 64 + threadIdx.x] = v / total;
  }
}

// Instance normalisation with ReLU: Welford's moments a thread, merged by shuffles and then across warps.
extern "C" __global__ void instance_norm_relu(const float* in, const float* gamma, const float* beta, float* out,
                                              int area, int channels) {
  __shared__ float means[4], squares[4], counts[4];
  const float* plane = in + (size_t)blockIdx.x * area;
  float mean = 0.0f, m2 = 0.0f, n = 0.0f;
  for (int i = threadIdx.x; i < area; i += blockDim.x) {
    const float x = plane[i], d = x - mean;
    n += 1.0f;
    mean += d / n;
    m2 += d * (x - mean);
  }
  auto merge = [&](float mb, float sb, float nb) {
    const float total = n + nb, d = mb - mean;
    if (total > 0.0f) {
      mean += d * nb / total;
      m2 += sb + d * d * n * nb / total;
    }
    n = total;
  };
  for (int d = 16; d > 0; d /= 2) {
    const float mb = __shfl_down_sync(WARP_ALL, mean, d);
    const float sb = __shfl_down_sync(WARP_ALL, m2, d);
    const float nb = __shfl_down_sync(WARP_ALL, n, d);
    merge(mb, sb, nb);
  }
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) means[warp] = mean, squares[warp] = m2, counts[warp] = n;
  __syncthreads();
  mean = means[0], m2 = squares[0], n = counts[0];
  for (int w = 1; w < 4; w++) merge(means[w], squares[w], counts[w]);
  const int c = blockIdx.x % channels;
  const float scale = gamma[c] * rsqrtf(m2 / area + 1e-5f), shift = beta[c] - mean * scale;
  float* to = out + (size_t)blockIdx.x * area;
  for (int i = threadIdx.x; i < area; i += blockDim.x) to[i] = fmaxf(plane[i] * scale + shift, 0.0f);
}

// Sampling by Gumbel's trick: argmax of logits plus noise from a counter, and the log of the chosen probability.
extern "C" __global__ void gumbel_sample_rows(const float* __restrict__ logits, unsigned* __restrict__ pick,
                                              float* __restrict__ logp, unsigned vocab, unsigned seed, float heat) {
  __shared__ float best_s[8], sum_s[8], top_s[8];
  __shared__ unsigned id_s[8];
  const float* row = logits + (size_t)blockIdx.x * vocab;
  float best = -INFINITY, top = -INFINITY, sum = 0.0f;
  unsigned id = 0;
  for (unsigned i = threadIdx.x; i < vocab; i += blockDim.x) {
    const float x = row[i] / heat, u = unit_float(scramble(seed ^ scramble(blockIdx.x * vocab + i)));
    const float g = x - logf(-logf(u)), high = fmaxf(top, x);
    if (g > best) best = g, id = i;
    sum = sum * expf(top - high) + expf(x - high);
    top = high;
  }
  for (int d = 1; d < 32; d *= 2) {
    const float b = __shfl_xor_sync(WARP_ALL, best, d), t = __shfl_xor_sync(WARP_ALL, top, d);
    const float s = __shfl_xor_sync(WARP_ALL, sum, d);
    const unsigned k = __shfl_xor_sync(WARP_ALL, id, d);
    if (b > best || (b == best && k < id)) best = b, id = k;
    const float high = fmaxf(top, t);
    sum = sum * expf(top - high) + s * expf(t - high);
    top = high;
  }
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) best_s[warp] = best, id_s[warp] = id, top_s[warp] = top, sum_s[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned w = 1; w < blockDim.x / 32; w++) {
      if (best_s[w] > best) best = best_s[w], id = id_s[w];
      const float high = fmaxf(top, top_s[w]);
      sum = sum * expf(top - high) + sum_s[w] * expf(top_s[w] - high);
      top = high;
    }
    pick[blockIdx.x] = id;
    logp[blockIdx.x] = row[id] / heat - top - logf(sum);
  }
}

// Focal loss of sigmoid outputs with its gradient, as detectors train with; grid-stride.
extern "C" __global__ void focal_loss_grad(const float* logits, const unsigned* label, float* loss, float* grad, int n,
                                           float alpha, float gamma) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float x = logits[i] * 6.0f;
    const bool positive = label[i] == 0;
    const float z = positive ? x : -x, weight = positive ? alpha : 1.0f - alpha;
    const float p = 1.0f / (1.0f + expf(-z));
    const float nll = z > 0.0f ? log1pf(expf(-z)) : log1pf(expf(z)) - z;
    const float hard = powf(1.0f - p, gamma);
    loss[i] = weight * hard * nll;
    const float d = weight * hard * (gamma * p * -nll - (1.0f - p));
    grad[i] = positive ? d : -d;
  }
}

// Adafactor's step: factored second moments, update clipped by its root mean square over a row.
extern "C" __global__ void __launch_bounds__(256)
    adafactor_step(float* param, const float* grad, float* row_moment, const float* col_moment, int cols, float decay,
                   float rate, float mean_col) {
  __shared__ float scratch[8];
  const int row = blockIdx.x;
  const size_t start = (size_t)row * cols;
  float g2 = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) g2 += grad[start + c] * grad[start + c] + 1e-30f;
  g2 = block_total(g2, scratch) / cols;
  const float r = decay * row_moment[row] + (1.0f - decay) * g2;
  float u2 = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    const float u = grad[start + c] * rsqrtf(r * (col_moment[c] + 1e-6f) / mean_col + 1e-12f);
    u2 += u * u;
  }
  const float rms = sqrtf(block_total(u2, scratch) / cols), clip = fmaxf(1.0f, rms);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    const float u = grad[start + c] * rsqrtf(r * (col_moment[c] + 1e-6f) / mean_col + 1e-12f);
    param[start + c] -= rate * u / clip;
  }
  if (threadIdx.x == 0) row_moment[row] = r;
}

// Triplet margin loss, one warp a triplet of gathered embeddings of 128 floats, with the anchor's gradient.
extern "C" __global__ void triplet_margin(const float4* __restrict__ table, const unsigned* __restrict__ triple,
                                          float* __restrict__ loss, float4* __restrict__ grad, unsigned count,
                                          float margin) {
  const unsigned id = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (id >= count) return;
  const float4 a = table[triple[id * 3] * 32 + lane];
  const float4 p = table[triple[id * 3 + 1] * 32 + lane];
  const float4 n = table[triple[id * 3 + 2] * 32 + lane];
  const float4 dp = make_float4(a.x - p.x, a.y - p.y, a.z - p.z, a.w - p.w);
  const float4 dn = make_float4(a.x - n.x, a.y - n.y, a.z - n.z, a.w - n.w);
  const float near = sqrtf(lane_sum(dp.x * dp.x + dp.y * dp.y + dp.z * dp.z + dp.w * dp.w) + 1e-6f);
  const float far = sqrtf(lane_sum(dn.x * dn.x + dn.y * dn.y + dn.z * dn.z + dn.w * dn.w) + 1e-6f);
  const float l = near - far + margin;
  float4 g = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (l > 0.0f) {
    const float ip = 1.0f / near, in = 1.0f / far;
    g = make_float4(dp.x * ip - dn.x * in, dp.y * ip - dn.y * in, dp.z * ip - dn.z * in, dp.w * ip - dn.w * in);
  }
  grad[(size_t)id * 32 + lane] = g;
  if (lane == 0) loss[id] = fmaxf(l, 0.0f);
}

// ---------------------------------------------------------------- sorting, scans, selection

// Merge sort of 512 keys with values in a block: every element finds its place by a search in the sibling run.
extern "C" __global__ void __launch_bounds__(256)
    merge_sort_pairs(const unsigned* key_in, const unsigned* val_in, unsigned* key_out, unsigned* val_out) {
  __shared__ unsigned key[2][512], val[2][512];
  const unsigned base = blockIdx.x * 512;
  for (unsigned i = threadIdx.x; i < 512; i += 256) key[0][i] = key_in[base + i], val[0][i] = val_in[base + i];
  __syncthreads();
  unsigned from = 0;
  for (unsigned run = 1; run < 512; run *= 2) {
    for (unsigned i = threadIdx.x; i < 512; i += 256) {
      const unsigned k = key[from][i], pair = i & ~(2 * run - 1), right = i & run;
      const unsigned other = right ? pair : pair + run;
      unsigned lo = 0, hi = run;
      while (lo < hi) {
        const unsigned mid = (lo + hi) / 2, x = key[from][other + mid];
        if (x < k || (right && x == k))
          lo = mid + 1;
        else
          hi = mid;
      }
      const unsigned to = pair + (i & (run - 1)) + lo;
      key[from ^ 1][to] = k;
      val[from ^ 1][to] = val[from][i];
    }
    from ^= 1;
    __syncthreads();
  }
  for (unsigned i = threadIdx.x; i < 512; i += 256) key_out[base + i] = key[from][i], val_out[base + i] = val[from][i];
}

// Counting sort of 4096 bytes a block: histogram by shared atomics, scan, every thread writes out its byte's run.
extern "C" __global__ void counting_sort_bytes(const uchar4* in, unsigned char* out) {
  __shared__ int bins[256];
  __shared__ int sums[8];
  const int t = threadIdx.x, lane = t & 31;
  bins[t] = 0;
  __syncthreads();
  for (int i = 0; i < 4; i++) {
    const uchar4 b = in[blockIdx.x * 1024 + i * 256 + t];
    atomicAdd(&bins[b.x], 1);
    atomicAdd(&bins[b.y], 1);
    atomicAdd(&bins[b.z], 1);
    atomicAdd(&bins[b.w], 1);
  }
  __syncthreads();
  const int mine = bins[t];
  int incl = mine;
  for (int d = 1; d < 32; d <<= 1) {
    const int up = __shfl_up_sync(WARP_ALL, incl, d);
    if (lane >= d) incl += up;
  }
  if (lane == 31) sums[t >> 5] = incl;
  __syncthreads();
  int start = incl - mine;
  for (int w = 0; w < t >> 5; w++) start += sums[w];
  unsigned char* to = out + (size_t)blockIdx.x * 4096 + start;
  for (int i = 0; i < mine; i++) to[i] = (unsigned char)t;
}

// Blelloch's work-efficient exclusive scan of 1024 64-bit numbers a block, with padded shared memory.
extern "C" __global__ void blelloch_scan_u64(const uint32_t* in, unsigned long long* out, unsigned long long* totals) {
  unsigned long long* s = reinterpret_cast<unsigned long long*>(dynamic_bytes);
  const int t = threadIdx.x, base = blockIdx.x * 1024;
#define PAD(i) ((i) + ((i) >> 4))
  s[PAD(t)] = (unsigned long long)in[base + t] * 3;
  s[PAD(t + 512)] = (unsigned long long)in[base + t + 512] * 3;
  int gap = 1;
  for (int d = 512; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) {
      const int a = gap * (2 * t + 1) - 1, b = gap * (2 * t + 2) - 1;
      s[PAD(b)] += s[PAD(a)];
    }
    gap *= 2;
  }
  if (t == 0) {
    totals[blockIdx.x] = s[PAD(1023)];
    s[PAD(1023)] = 0;
  }
  for (int d = 1; d < 1024; d *= 2) {
    gap >>= 1;
    __syncthreads();
    if (t < d) {
      const int a = gap * (2 * t + 1) - 1, b = gap * (2 * t + 2) - 1;
      const unsigned long long left = s[PAD(a)];
      s[PAD(a)] = s[PAD(b)];
      s[PAD(b)] += left;
    }
  }
  __syncthreads();
  out[base + t] = s[PAD(t)];
  out[base + t + 512] = s[PAD(t + 512)];
#undef PAD
}

// Dutch flag: stable three-way partition of 1024 numbers a block around the block's own pivot, by ballots.
extern "C" __global__ void dutch_flag_block(const unsigned* in, unsigned* out, uint2* bounds) {
  __shared__ unsigned count[3][32], offset[3][32];
  const unsigned t = threadIdx.x, lane = t & 31, warp = t >> 5, below = (1u << lane) - 1;
  const unsigned* from = in + blockIdx.x * 1024;
  const unsigned a = from[0], b = from[511], c = from[1023];
  const unsigned pivot = max(min(a, b), min(max(a, b), c));
  unsigned x[4], rank[4], kind[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    x[i] = from[(warp * 4 + i) * 32 + lane];
    kind[i] = x[i] < pivot ? 0 : x[i] == pivot ? 1 : 2;
#pragma unroll
    for (unsigned k = 0; k < 3; k++) {
      const unsigned m = __ballot_sync(WARP_ALL, kind[i] == k);
      if (kind[i] == k) rank[i] = __popc(m & below);
      if (lane == 0) count[k][warp * 4 + i] = __popc(m);
    }
  }
  __syncthreads();
  if (warp < 3) {
    const unsigned v = count[warp][lane];
    unsigned sum = v;
    for (int d = 1; d < 32; d *= 2) {
      const unsigned up = __shfl_up_sync(WARP_ALL, sum, d);
      if (lane >= d) sum += up;
    }
    offset[warp][lane] = sum - v;
  }
  __syncthreads();
  const unsigned less = offset[0][31] + count[0][31], same = offset[1][31] + count[1][31];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned first = kind[i] == 0 ? 0 : kind[i] == 1 ? less : less + same;
    out[blockIdx.x * 1024 + first + offset[kind[i]][warp * 4 + i] + rank[i]] = x[i];
  }
  if (t == 0) bounds[blockIdx.x] = make_uint2(less, less + same);
}

// Mean of a row of 256 without its lowest and highest tenth: both cut-offs by bisection over counts, one warp a row.
extern "C" __global__ void trimmed_mean_rows(const unsigned* __restrict__ in, float* __restrict__ out, unsigned rows,
                                             unsigned limit) {
  const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  unsigned x[8];
#pragma unroll
  for (int i = 0; i < 8; i++) x[i] = in[row * 256 + i * 32 + lane];
  unsigned cut[2];
#pragma unroll 1
  for (int side = 0; side < 2; side++) {
    const unsigned want = side ? 231 : 26;
    unsigned lo = 0, hi = limit;
    while (lo < hi) {
      const unsigned mid = lo + (hi - lo) / 2;
      unsigned c = 0;
#pragma unroll
      for (int i = 0; i < 8; i++) c += x[i] <= mid;
      if (__reduce_add_sync(WARP_ALL, c) >= want)
        hi = mid;
      else
        lo = mid + 1;
    }
    cut[side] = lo;
  }
  float sum = 0.0f, n = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (x[i] >= cut[0] && x[i] <= cut[1]) sum += (float)x[i], n += 1.0f;
  sum = lane_sum(sum);
  n = lane_sum(n);
  if (lane == 0) out[row] = sum / n;
}

// Runs of equal neighbours in a block's 1024 items: values and starts, packed by a scan over the block.
extern "C" __global__ void unique_runs_block(const unsigned* in, unsigned* value, unsigned* start, unsigned* count,
                                             unsigned n) {
  __shared__ unsigned warp_sum[16];
  const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
  const unsigned at = blockIdx.x * 1024 + t * 2;
  unsigned a = 0, b = 0;
  bool fa = false, fb = false;
  if (at + 1 < n) {
    const uint2 pair = *reinterpret_cast<const uint2*>(in + at);
    a = pair.x, b = pair.y;
    fa = t == 0 || in[at - 1] != a;
    fb = a != b;
  }
  const unsigned mine = fa + fb;
  unsigned sum = mine;
  for (unsigned d = 1; d < 32; d *= 2) {
    const unsigned up = __shfl_up_sync(WARP_ALL, sum, d);
    if (lane >= d) sum += up;
  }
  if (lane == 31) warp_sum[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    unsigned w = lane < 16 ? warp_sum[lane] : 0;
    for (unsigned d = 1; d < 16; d *= 2) {
      const unsigned up = __shfl_up_sync(WARP_ALL, w, d);
      if (lane >= d) w += up;
    }
    if (lane < 16) warp_sum[lane] = w;
  }
  __syncthreads();
  unsigned to = blockIdx.x * 1024 + sum - mine + (warp ? warp_sum[warp - 1] : 0);
  if (fa) value[to] = a, start[to++] = at;
  if (fb) value[to] = b, start[to] = at + 1;
  if (t == 0) count[blockIdx.x] = warp_sum[15];
}

// ---------------------------------------------------------------- hashing, ciphers, text

// XTEA in counter mode: two blocks of 64 bits a thread, xored onto the data.
extern "C" __global__ void xtea_counter(const uint4* in, uint4* out, const unsigned* key, unsigned n, unsigned nonce) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned k[4] = {key[0], key[1], key[2], key[3]};
  unsigned a = i * 2, b = nonce, c = i * 2 + 1, d = nonce, sum = 0;
#pragma unroll
  for (int r = 0; r < 32; r++) {
    const unsigned s0 = sum + k[sum & 3];
    a += (((b << 4) ^ (b >> 5)) + b) ^ s0;
    c += (((d << 4) ^ (d >> 5)) + d) ^ s0;
    sum += 0x9e3779b9u;
    const unsigned s1 = sum + k[(sum >> 11) & 3];
    b += (((a << 4) ^ (a >> 5)) + a) ^ s1;
    d += (((c << 4) ^ (c >> 5)) + c) ^ s1;
  }
  uint4 x = in[i];
  x.x ^= a, x.y ^= b, x.z ^= c, x.w ^= d;
  out[i] = x;
}

__device__ __forceinline__ unsigned spin(unsigned x, int n) { return __funnelshift_l(x, x, n); }

// Salsa20/8 on 16 words held in registers.
__device__ void salsa8(unsigned (&b)[16]) {
  unsigned x[16];
#pragma unroll
  for (int i = 0; i < 16; i++) x[i] = b[i];
#pragma unroll
  for (int r = 0; r < 4; r++) {
#pragma unroll
    for (int c = 0; c < 4; c++) {
      const int p = c * 5, q = (p + 4) % 16, s = (p + 8) % 16, t = (p + 12) % 16;
      x[q] ^= spin(x[p] + x[t], 7);
      x[s] ^= spin(x[q] + x[p], 9);
      x[t] ^= spin(x[s] + x[q], 13);
      x[p] ^= spin(x[t] + x[s], 18);
    }
#pragma unroll
    for (int c = 0; c < 4; c++) {
      const int p = c * 4 + c, q = c * 4 + (c + 1) % 4, s = c * 4 + (c + 2) % 4, t = c * 4 + (c + 3) % 4;
      x[q] ^= spin(x[p] + x[t], 7);
      x[s] ^= spin(x[q] + x[p], 9);
      x[t] ^= spin(x[s] + x[q], 13);
      x[p] ^= spin(x[t] + x[s], 18);
    }
  }
#pragma unroll
  for (int i = 0; i < 16; i++) b[i] += x[i];
}

// Memory-hard mixing as scrypt does it, eight blocks of 64 bytes a thread in global scratch.
extern "C" __global__ void __launch_bounds__(64)
    romix_small(const unsigned* seed, unsigned* scratch, unsigned* out, unsigned n) {
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n) return;
  unsigned b[16];
#pragma unroll
  for (int i = 0; i < 16; i++) b[i] = seed[i * n + id];
#pragma unroll 1
  for (unsigned s = 0; s < 8; s++) {
#pragma unroll
    for (int i = 0; i < 16; i++) scratch[(s * 16 + i) * n + id] = b[i];
    salsa8(b);
  }
#pragma unroll 1
  for (int s = 0; s < 8; s++) {
    const unsigned pick = b[0] & 7;
#pragma unroll
    for (int i = 0; i < 16; i++) b[i] ^= scratch[(pick * 16 + i) * n + id];
    salsa8(b);
  }
#pragma unroll
  for (int i = 0; i < 16; i++) out[i * n + id] = b[i];
}

// Adler-32 of chunks of 1024 bytes, 32 bytes a lane, partial sums joined by their weights.
extern "C" __global__ void adler_chunks(const uint4* data, unsigned* sums, int chunks) {
  const int chunk = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (chunk >= chunks) return;
  unsigned a = 0, b = 0;
  for (int v = 0; v < 2; v++) {
    const uint4 w = data[chunk * 64 + lane * 2 + v];
    const unsigned word[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int s = 0; s < 32; s += 8) {
        a += (word[i] >> s) & 255;
        b += a;
      }
  }
  b += a * (31 - lane) * 32;
  for (int d = 16; d > 0; d /= 2) {
    a += __shfl_xor_sync(WARP_ALL, a, d);
    b += __shfl_xor_sync(WARP_ALL, b, d);
  }
  if (lane == 0) sums[chunk] = (b + 1024) % 65521 << 16 | (a + 1) % 65521;
}

// Text statistics: lengths of UTF-8 sequences and broken ones in 16 bytes a thread, totals by integer atomics.
extern "C" __global__ void utf8_statistics(const unsigned char* text, unsigned* totals, int bytes) {
  __shared__ unsigned block_count[6];
  if (threadIdx.x < 6) block_count[threadIdx.x] = 0;
  __syncthreads();
  unsigned counts[6] = {0, 0, 0, 0, 0, 0};
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
  for (int i = first; i < first + 16 && i < bytes; i++) {
    const unsigned c = text[i];
    int want = 0;
    switch (c >> 4) {
      case 8: case 9: case 10: case 11: counts[4]++; break;
      case 12: case 13: want = 1; break;
      case 14: want = 2; break;
      case 15: want = 3; break;
      default: counts[0]++; break;
    }
    if (want) {
      int have = 0;
      while (have < want && i + have + 1 < bytes && (text[i + have + 1] & 0xc0) == 0x80) have++;
      if (have < want) counts[5]++;
      else if (want == 1) counts[1]++;
      else if (want == 2) counts[2]++;
      else counts[3]++;
    }
  }
  for (int k = 0; k < 6; k++) {
    const unsigned sum = __reduce_add_sync(WARP_ALL, counts[k]);
    if (threadIdx.x % 32 == 0) atomicAdd(&block_count[k], sum);
  }
  __syncthreads();
  if (threadIdx.x < 6) atomicAdd(&totals[threadIdx.x], block_count[threadIdx.x]);
}

// Content-defined chunking: the gear hash of a stretch of bytes, cut points where its high bits vanish.
extern "C" __global__ void gear_cut_points(const unsigned char* data, const unsigned* gear, unsigned* first_cut,
                                           unsigned* cuts, int stretch, int stretches) {
  __shared__ unsigned table[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) table[i] = gear[i];
  __syncthreads();
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= stretches) return;
  const unsigned char* p = data + (size_t)id * stretch;
  unsigned hash = 0, found = 0;
  int last = 0, first = -1;
  for (int i = 0; i < stretch; i++) {
    hash = (hash << 1) + table[p[i]];
    if (i - last >= 16 && (hash & 0xf8000000u) == 0) {
      if (first < 0) first = i;
      last = i;
      found++;
      hash = 0;
    }
  }
  first_cut[id] = first;
  cuts[id] = found;
}

// Records of 64 characters with signed decimal fields, parsed a thread each: sum, number of fields, errors.
extern "C" __global__ void parse_decimal_fields(const unsigned* text, long long* sum, unsigned* info, int records) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= records) return;
  long long total = 0, value = 0;
  int sign = 1, fraction = -1, digits = 0;
  unsigned fields = 0, errors = 0;
  for (int w = 0; w < 16; w++) {
    const unsigned word = text[w * records + id];
    for (int s = 0; s < 32; s += 8) {
      const unsigned c = (word >> s & 255) % 13;
      if (c < 10) {
        if (fraction < 3 && digits < 15) {
          value = value * 10 + c;
          digits++;
          if (fraction >= 0) fraction++;
        }
      } else if (c == 10) {
        if (digits) errors++;
        sign = -sign;
      } else if (c == 11) {
        for (int f = max(fraction, 0); f < 3; f++) value *= 10;
        total += sign * value;
        fields++;
        value = 0, sign = 1, fraction = -1, digits = 0;
      } else if (fraction >= 0) {
        errors++;
      } else {
        fraction = 0;
      }
    }
  }
  sum[id] = total;
  info[id] = fields << 16 | errors;
}

// ---------------------------------------------------------------- integers, bits, long numbers

// Factorials in base 10^9 with limbs in a local array, and the sum of their decimal digits.
extern "C" __global__ void factorial_digits(const unsigned* which, unsigned* digit_sum, unsigned* top_limb,
                                            unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned limb[12] = {1};
  int used = 1;
  const unsigned last = 20 + which[i] % 40;
  for (unsigned k = 2; k <= last; k++) {
    unsigned carry = 0;
    for (int j = 0; j < used; j++) {
      const unsigned long long x = (unsigned long long)limb[j] * k + carry;
      carry = (unsigned)(x / 1000000000u);
      limb[j] = (unsigned)(x % 1000000000u);
    }
    if (carry && used < 12) limb[used++] = carry;
  }
  unsigned sum = 0;
  for (int j = 0; j < used; j++)
    for (unsigned x = limb[j]; x; x /= 10) sum += x % 10;
  digit_sum[i] = sum;
  top_limb[i] = limb[used - 1];
}

// Jacobi symbols of 64-bit numbers by the binary algorithm.
extern "C" __global__ void jacobi_symbols(const uint2* top, const uint2* bottom, int* symbol, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long a = (unsigned long long)top[i].y << 32 | top[i].x;
  unsigned long long m = ((unsigned long long)bottom[i].y << 32 | bottom[i].x) | 1;
  int sign = 1;
  for (int guard = 0; a && guard < 200; guard++) {
    const int zeros = __ffsll((long long)a) - 1;
    a >>= zeros;
    if ((zeros & 1) && ((m & 7) == 3 || (m & 7) == 5)) sign = -sign;
    if (a < m) {
      if ((a & 3) == 3 && (m & 3) == 3) sign = -sign;
      const unsigned long long t = a;
      a = m;
      m = t;
    }
    a -= m;
  }
  symbol[i] = m == 1 ? sign : 0;
}

// Hilbert curve: distance of the points of a tile, and the point back from a scrambled distance.
extern "C" __global__ void hilbert_index(unsigned* distance, unsigned* back, int bits) {
  const unsigned px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned at = py * gridDim.x * blockDim.x + px;
  unsigned x = px * 251 & ((1u << bits) - 1), y = py * 241 & ((1u << bits) - 1), d = 0;
  for (unsigned s = 1u << (bits - 1); s > 0; s >>= 1) {
    const unsigned rx = (x & s) != 0, ry = (y & s) != 0;
    d += s * s * ((3 * rx) ^ ry);
    if (!ry) {
      if (rx) x = (s - 1) - (x & (s - 1)), y = (s - 1) - (y & (s - 1));
      const unsigned t = x;
      x = y;
      y = t;
    }
  }
  distance[at] = d;
  unsigned t = scramble(d), u = 0, v = 0;
  for (unsigned s = 1; s < 1u << 8; s <<= 1) {
    const unsigned rx = t >> 1 & 1, ry = (t ^ rx) & 1;
    if (!ry) {
      if (rx) u = s - 1 - u, v = s - 1 - v;
      const unsigned w = u;
      u = v;
      v = w;
    }
    u += s * rx;
    v += s * ry;
    t >>= 2;
  }
  back[at] = v << 8 | u;
}

// Products in Z_q[x] / (x^256 + 1) by the schoolbook, q = 12289, one polynomial a block.
extern "C" __global__ void __launch_bounds__(256)
    negacyclic_product(const unsigned* f, const unsigned* g, unsigned* h) {
  __shared__ unsigned a[256], b[256];
  const unsigned i = threadIdx.x, base = blockIdx.x * 256;
  a[i] = f[base + i] % 12289;
  b[i] = g[base + i] % 12289;
  __syncthreads();
  unsigned long long plus = 0, minus = 0;
  for (unsigned j = 0; j < 256; j++) {
    const unsigned p = a[j] * b[(i - j) & 255];
    if (j <= i)
      plus += p;
    else
      minus += p;
  }
  const unsigned u = (unsigned)(plus % 12289), v = (unsigned)(minus % 12289);
  h[base + i] = u >= v ? u - v : u + 12289 - v;
}

// Carry-less product modulo x^64 + x^4 + x^3 + x + 1.
__device__ unsigned long long gf64_mul(unsigned long long a, unsigned long long b) {
  unsigned long long r = 0;
#pragma unroll 8
  for (int i = 0; i < 64; i++) {
    r ^= (b & 1) ? a : 0;
    b >>= 1;
    a = (a << 1) ^ ((long long)a < 0 ? 0x1bull : 0);
  }
  return r;
}

// Powers in the field of 2^64 elements, with a short exponent of its own a thread.
extern "C" __global__ void gf64_power(const unsigned long long* in, unsigned long long* out, unsigned n) {
  const unsigned i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = in[i], y = 1;
  for (unsigned e = 3 + i % 13; e; e >>= 1) {
    if (e & 1) y = gf64_mul(y, x);
    x = gf64_mul(x, x);
  }
  out[i] = y;
}

__device__ unsigned gcd_u32(unsigned a, unsigned b) {
  while (b) {
    const unsigned t = a % b;
    a = b;
    b = t;
  }
  return a;
}

// Pollard's rho with Brent's cycle finding on products of two small primes; greatest divisors in batches.
extern "C" __global__ void pollard_brent(const unsigned* pick, unsigned* factor, unsigned n) {
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n) return;
  unsigned p, q;
  switch (pick[id] & 3) {
    case 0: p = 101; break;
    case 1: p = 151; break;
    case 2: p = 211; break;
    default: p = 307; break;
  }
  switch (pick[id] >> 2 & 3) {
    case 0: q = 10007; break;
    case 1: q = 20011; break;
    case 2: q = 30011; break;
    default: q = 40009; break;
  }
  const unsigned m = p * q, c = 1 + (pick[id] >> 4 & 15);
  unsigned y = 2, x = 2, g = 1, left = 1, power = 1, prod = 1;
  for (int step = 1; step <= 96 && g == 1; step++) {
    if (left == 0) x = y, power *= 2, left = power;
    y = (unsigned)(((unsigned long long)y * y + c) % m);
    left--;
    const unsigned diff = x > y ? x - y : y - x;
    prod = (unsigned)((unsigned long long)prod * (diff ? diff : 1) % m);
    if (step % 16 == 0) g = gcd_u32(prod, m);
  }
  factor[id] = g;
}

// ---------------------------------------------------------------- double precision

// Normalised associated Legendre functions by recurrence, summed with a spectrum; order from threadIdx.y.
extern "C" __global__ void legendre_synthesis(const double* spectrum, double* out, int points, int degree) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, m = threadIdx.y;
  if (i >= points) return;
  const double x = (2.0 * i + 1.0) / points - 1.0, s = sqrt(1.0 - x * x);
  double pmm = 0.28209479177387814;
  for (int k = 1; k <= m; k++) pmm *= -s * sqrt((2.0 * k + 1.0) / (2.0 * k));
  double p0 = pmm, p1 = x * sqrt(2.0 * m + 3.0) * pmm, sum = p0 * spectrum[m] + p1 * spectrum[m + 1];
  for (int l = m + 2; l <= degree; l++) {
    const double a = sqrt((4.0 * l * l - 1.0) / ((double)l * l - (double)m * m));
    const double b = ((l - 1.0) * (l - 1.0) - (double)m * m) / (4.0 * (l - 1.0) * (l - 1.0) - 1.0);
    const double p = a * (x * p1 - sqrt(b) * p0);
    p0 = p1;
    p1 = p;
    sum += p * spectrum[l];
  }
  out[m * points + i] = sum;
}

struct twofold {
  double hi, lo;
};

__device__ twofold dd_mul_add(twofold a, double x, double c) {
  const double p = a.hi * x, e = fma(a.hi, x, -p) + a.lo * x;
  const double s = p + c, t = s - p, f = (p - (s - t)) + (c - t) + e;
  twofold r;
  r.hi = s + f;
  r.lo = f - (r.hi - s);
  return r;
}

// Polynomials of degree 23 in double-double arithmetic, value and error term.
extern "C" __global__ void dd_polynomial(const double* coef, const double* x, double2* out, int n) {
  __shared__ double c[24];
  if (threadIdx.x < 24) c[threadIdx.x] = coef[threadIdx.x] - 0.5;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    twofold r = {c[23], 0.0};
    for (int k = 22; k >= 0; k--) r = dd_mul_add(r, x[i], c[k]);
    out[i] = make_double2(r.hi, r.lo);
  }
}

// C = alpha (A B^t + B A^t) + beta C in doubles, a plain loop a thread.
extern "C" __global__ void syr2k_plain(const double* a, const double* b, double* c, int n, int m, float alpha,
                                       float beta) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) {
    double sum = 0.0;
    for (int k = 0; k < m; k++) sum += a[i * m + k] * b[j * m + k] + b[i * m + k] * a[j * m + k];
    c[i * n + j] = beta * c[i * n + j] + alpha * sum;
  }
}

// Gauss-Legendre quadrature of exp(-x^2) cos(x y) over small rectangles, five nodes each way.
extern "C" __global__ void gauss_rectangles(const double* corner, double* area, int n) {
  const double node[5] = {-0.906179845938664, -0.538469310105683, 0.0, 0.538469310105683, 0.906179845938664};
  const double weight[5] = {0.236926885056189, 0.478628670499366, 0.568888888888889, 0.478628670499366,
                            0.236926885056189};
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= n) return;
  const double x0 = corner[id], y0 = corner[n + id] * 3.0, h = 0.05;
  double total = 0.0;
  for (int i = 0; i < 5; i++) {
    const double x = x0 + h * node[i], e = exp(-x * x);
    double row = 0.0;
    for (int j = 0; j < 5; j++) row += weight[j] * cos(x * (y0 + h * node[j]));
    total += weight[i] * e * row;
  }
  area[id] = total * h * h;
}

// Real-space Ewald sum in doubles over a list of neighbours: erfc, energy and force of every charge.
extern "C" __global__ void ewald_real(const double* xyz, const double* charge, const unsigned* list, double* energy,
                                      double* force, int n, int width, float alpha) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double x = xyz[i], y = xyz[n + i], z = xyz[2 * n + i], q = charge[i] - 0.5;
  double e = 0.0, fx = 0.0, fy = 0.0, fz = 0.0;
  for (int k = 0; k < width; k++) {
    const unsigned j = list[k * n + i];
    double dx = x - xyz[j], dy = y - xyz[n + j], dz = z - xyz[2 * n + j];
    dx -= rint(dx);
    dy -= rint(dy);
    dz -= rint(dz);
    const double r2 = dx * dx + dy * dy + dz * dz;
    if (r2 > 0.25 || j == (unsigned)i) continue;
    const double r = sqrt(r2 + 1e-12), qq = q * (charge[j] - 0.5), screen = qq * erfc(alpha * r) / r;
    const double f = (screen + qq * 1.1283791670955126 * alpha * exp(-alpha * alpha * r2)) / (r2 + 1e-12);
    e += 0.5 * screen;
    fx += f * dx;
    fy += f * dy;
    fz += f * dz;
  }
  energy[i] = e;
  force[i] = fx;
  force[n + i] = fy;
  force[2 * n + i] = fz;
}

// Yee's scheme in two dimensions: both electric fields of a tile in shared memory, then the magnetic one.
extern "C" __global__ void fdtd2d_yee(const double* ex, const double* ey, const double* hz, double* ex2, double* ey2,
                                      double* hz2, int n) {
  __shared__ double sx[17][17], sy[17][17];
  const int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16, t = threadIdx.y * 16 + threadIdx.x;
  for (int k = t; k < 289; k += 256) {
    const int ly = k / 17, lx = k % 17, gx = min(x0 + lx, n - 1), gy = min(y0 + ly, n - 1), at = gy * n + gx;
    const double h = hz[at];
    sx[ly][lx] = gy > 0 ? ex[at] - 0.5 * (h - hz[at - n]) : ex[at];
    sy[ly][lx] = gx > 0 ? ey[at] - 0.5 * (h - hz[at - 1]) : ey[at];
  }
  __syncthreads();
  const int gx = x0 + threadIdx.x, gy = y0 + threadIdx.y;
  if (gx >= n || gy >= n) return;
  const int lx = threadIdx.x, ly = threadIdx.y, at = gy * n + gx;
  ex2[at] = sx[ly][lx];
  ey2[at] = sy[ly][lx];
  hz2[at] = hz[at] - 0.7 * (sx[ly + 1][lx] - sx[ly][lx] + sy[ly][lx + 1] - sy[ly][lx]);
}

// ---------------------------------------------------------------- images, stencils, signals

// Histogram of oriented gradients: a cell of 8x8 pixels a block, votes split between two of nine bins.
extern "C" __global__ void hog_cells(const float* image, float* hist, int width, int height) {
  __shared__ int bins[9];
  const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 8 + tx;
  const int x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty;
  if (t < 9) bins[t] = 0;
  __syncthreads();
  if (x < width && y < height) {
    const float gx = image[y * width + min(x + 1, width - 1)] - image[y * width + max(x - 1, 0)];
    const float gy = image[min(y + 1, height - 1) * width + x] - image[max(y - 1, 0) * width + x];
    const float size = sqrtf(gx * gx + gy * gy);
    float angle = atan2f(gy, gx) * (9.0f / 3.14159265f);
    if (angle < 0.0f) angle += 9.0f;
    const float low = floorf(angle), part = angle - low;
    const int b = (int)low % 9;
    atomicAdd(&bins[b], __float2int_rn(size * (1.0f - part) * 4096.0f));
    atomicAdd(&bins[(b + 1) % 9], __float2int_rn(size * part * 4096.0f));
  }
  __syncthreads();
  if (t < 9) {
    float norm = 0.0f;
    for (int i = 0; i < 9; i++) norm += (float)bins[i] * bins[i];
    hist[(blockIdx.y * gridDim.x + blockIdx.x) * 9 + t] = bins[t] * rsqrtf(norm + 1.0f);
  }
}

// Speckle reducing diffusion: derivatives and the coefficient of every pixel.
extern "C" __global__ void srad_coefficient(const float* __restrict__ img, float* __restrict__ dn,
                                            float* __restrict__ ds, float* __restrict__ de, float* __restrict__ dw,
                                            float* __restrict__ coef, int cols, int rows, float q0) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= cols || y >= rows) return;
  const int at = y * cols + x;
  const float j = img[at] + 0.1f;
  const float n = img[y ? at - cols : at] + 0.1f - j, s = img[y < rows - 1 ? at + cols : at] + 0.1f - j;
  const float w = img[x ? at - 1 : at] + 0.1f - j, e = img[x < cols - 1 ? at + 1 : at] + 0.1f - j;
  const float g2 = (n * n + s * s + w * w + e * e) / (j * j), l = (n + s + w + e) / j;
  const float num = 0.5f * g2 - 0.0625f * l * l, den = 1.0f + 0.25f * l;
  const float q = num / (den * den), c = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
  dn[at] = n;
  ds[at] = s;
  de[at] = e;
  dw[at] = w;
  coef[at] = __saturatef(c);
}

// Harris' corner response: gradients of a tile with a rim in shared memory, then sums over 3x3 windows.
extern "C" __global__ void __launch_bounds__(256) harris_response(const float* img, float* out, int w, int h, float k) {
  __shared__ float gx[10][34], gy[10][34];
  const int bx = blockIdx.x * 32, by = blockIdx.y * 8, t = threadIdx.y * 32 + threadIdx.x;
  for (int i = t; i < 340; i += 256) {
    const int x = min(max(bx + i % 34 - 1, 1), w - 2), y = min(max(by + i / 34 - 1, 1), h - 2);
    const float* p = img + y * w + x;
    const float a = p[-w - 1], b = p[-w], c = p[-w + 1], d = p[-1], e = p[1], f = p[w - 1], g = p[w], q = p[w + 1];
    gx[i / 34][i % 34] = c + 2.0f * e + q - a - 2.0f * d - f;
    gy[i / 34][i % 34] = f + 2.0f * g + q - a - 2.0f * b - c;
  }
  __syncthreads();
  float xx = 0.0f, xy = 0.0f, yy = 0.0f;
#pragma unroll
  for (int dy = 0; dy < 3; dy++)
#pragma unroll
    for (int dx = 0; dx < 3; dx++) {
      const float u = gx[threadIdx.y + dy][threadIdx.x + dx], v = gy[threadIdx.y + dy][threadIdx.x + dx];
      xx += u * u;
      xy += u * v;
      yy += v * v;
    }
  const int x = bx + threadIdx.x, y = by + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = xx * yy - xy * xy - k * (xx + yy) * (xx + yy);
}

// Jump flooding: nearest seed among nine candidates at the current step.
extern "C" __global__ void jump_flood_pass(const unsigned* seeds, unsigned* nearest, float* distance, int size,
                                           int step) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  unsigned best = 0xffffffffu;
  int closest = 0x7fffffff;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      const int u = x + dx * step, v = y + dy * step;
      if (u < 0 || v < 0 || u >= size || v >= size) continue;
      const unsigned s = seeds[v * size + u];
      if ((s & 3) == 0) continue;
      const int sx = (s >> 2 & (size - 1)) - x, sy = (s >> 10 & (size - 1)) - y, d = sx * sx + sy * sy;
      if (d < closest) closest = d, best = s;
    }
  nearest[y * size + x] = best;
  distance[y * size + x] = sqrtf((float)closest);
}

// Goertzel's filter: power of one frequency a thread over a windowed frame in shared memory.
extern "C" __global__ void goertzel_power(const float* signal, float* power, int hop, int frames) {
  __shared__ float frame[128];
  const int t = threadIdx.x;
  for (int f = blockIdx.x; f < frames; f += gridDim.x) {
    __syncthreads();
    frame[t] = signal[f * hop + t] * (0.54f - 0.46f * cosf(6.2831853f * t / 127.0f));
    __syncthreads();
    const float c = 2.0f * cosf(3.14159265f * (t + 1) / 129.0f);
    float s1 = 0.0f, s2 = 0.0f;
    for (int i = 0; i < 128; i++) {
      const float s = frame[i] + c * s1 - s2;
      s2 = s1;
      s1 = s;
    }
    power[f * 128 + t] = 10.0f * log10f(s1 * s1 + s2 * s2 - c * s1 * s2 + 1e-9f);
  }
}

// Normalised least mean squares, one warp a channel with one tap a lane.
extern "C" __global__ void nlms_channels(const float* input, const float* desired, float* error, float* taps,
                                         int length, float rate) {
  const int channel = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const float* x = input + channel * length;
  float w = 0.0f, line = 0.0f, energy = 0.1f;
  for (int t = 0; t < length; t++) {
    const float fresh = x[t], oldest = __shfl_sync(WARP_ALL, line, 31);
    line = __shfl_up_sync(WARP_ALL, line, 1);
    if (lane == 0) line = fresh;
    energy += fresh * fresh - oldest * oldest;
    const float e = desired[channel * length + t] - lane_sum(w * line);
    w += rate * e * line / fmaxf(energy, 0.1f);
    if (lane == 0) error[channel * length + t] = e;
  }
  taps[channel * 32 + lane] = w;
}

__device__ float srgb_linear(float c) { return c > 0.04045f ? powf((c + 0.055f) / 1.055f, 2.4f) : c / 12.92f; }
__device__ float lab_curve(float t) { return t > 0.008856f ? cbrtf(t) : 7.787f * t + 16.0f / 116.0f; }

// 8-bit sRGB pixels to CIE L*a*b*, packed to bytes again.
extern "C" __global__ void srgb_to_lab(const uchar4* in, uchar4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uchar4 p = in[i];
  const float r = srgb_linear(p.x / 255.0f), g = srgb_linear(p.y / 255.0f), b = srgb_linear(p.z / 255.0f);
  const float x = lab_curve((0.4124f * r + 0.3576f * g + 0.1805f * b) / 0.95047f);
  const float y = lab_curve(0.2126f * r + 0.7152f * g + 0.0722f * b);
  const float z = lab_curve((0.0193f * r + 0.1192f * g + 0.9505f * b) / 1.08883f);
  const int l = (int)((116.0f * y - 16.0f) * 2.55f + 0.5f), ca = (int)(500.0f * (x - y) + 128.5f);
  const int cb = (int)(200.0f * (y - z) + 128.5f);
  out[i] = make_uchar4(min(max(l, 0), 255), min(max(ca, 0), 255), min(max(cb, 0), 255), p.w);
}

struct gas {
  float d, u, v, p;
};

__device__ gas gas_at(const float4* cells, int x, int y, int n) {
  const float4 q = cells[((y + n) % n) * n + (x + n) % n];
  gas g;
  g.d = q.x + 0.5f;
  g.u = q.y - 0.5f;
  g.v = q.z - 0.5f;
  g.p = q.w + 0.5f;
  return g;
}

// Rusanov's flux across a face; u is the speed across it.
__device__ float4 face_flux(gas a, gas b) {
  const float el = a.p / 0.4f + 0.5f * a.d * (a.u * a.u + a.v * a.v);
  const float er = b.p / 0.4f + 0.5f * b.d * (b.u * b.u + b.v * b.v);
  const float s = fmaxf(fabsf(a.u) + sqrtf(1.4f * a.p / a.d), fabsf(b.u) + sqrtf(1.4f * b.p / b.d));
  return make_float4(0.5f * (a.d * a.u + b.d * b.u - s * (b.d - a.d)),
                     0.5f * (a.d * a.u * a.u + a.p + b.d * b.u * b.u + b.p - s * (b.d * b.u - a.d * a.u)),
                     0.5f * (a.d * a.u * a.v + b.d * b.u * b.v - s * (b.d * b.v - a.d * a.v)),
                     0.5f * (a.u * (el + a.p) + b.u * (er + b.p) - s * (er - el)));
}

// Euler's equations in two dimensions, one finite-volume step with Rusanov fluxes on a periodic square.
extern "C" __global__ void euler_rusanov(const float4* cells, float4* next, int n, float ratio) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  const gas c = gas_at(cells, x, y, n);
  gas up = gas_at(cells, x, y - 1, n), down = gas_at(cells, x, y + 1, n), turned = c;
  const float4 l = face_flux(gas_at(cells, x - 1, y, n), c), r = face_flux(c, gas_at(cells, x + 1, y, n));
  float t = up.u;
  up.u = up.v, up.v = t;
  t = down.u;
  down.u = down.v, down.v = t;
  turned.u = c.v, turned.v = c.u;
  const float4 b = face_flux(up, turned), a = face_flux(turned, down);
  next[y * n + x] = make_float4(c.d - ratio * (r.x - l.x + a.x - b.x), c.d * c.u - ratio * (r.y - l.y + a.z - b.z),
                                c.d * c.v - ratio * (r.z - l.z + a.y - b.y),
                                c.p / 0.4f + 0.5f * c.d * (c.u * c.u + c.v * c.v) - ratio * (r.w - l.w + a.w - b.w));
}

// ---------------------------------------------------------------- graphs, sparse matrices, trees, tables

// Bellman-Ford: every vertex offers its distance plus the edge's length to its neighbours.
extern "C" __global__ void sssp_relax(const unsigned* rowptr, const unsigned* col, const unsigned* length,
                                      const unsigned* dist, unsigned* next, unsigned rows, unsigned edges) {
  const unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= rows) return;
  const unsigned mine = dist[v], end = min(rowptr[v + 1], edges);
  for (unsigned e = rowptr[v]; e < end; e++) {
    const unsigned offer = mine + length[e];
    if (offer < dist[col[e]]) atomicMin(&next[col[e]], offer);
  }
}

// Common neighbours of the ends of an edge, lists compared element by element, with Jaccard's coefficient.
extern "C" __global__ void common_neighbours(const unsigned* rowptr, const unsigned* col, const unsigned* src,
                                             const unsigned* dst, float* jaccard, int pairs, unsigned edges) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= pairs) return;
  const unsigned a0 = rowptr[src[id]], a1 = min(rowptr[src[id] + 1], edges);
  const unsigned b0 = rowptr[dst[id]], b1 = min(rowptr[dst[id] + 1], edges);
  int common = 0;
  for (unsigned a = a0; a < a1; a++) {
    const unsigned x = col[a];
    for (unsigned b = b0; b < b1; b++)
      if (col[b] == x) {
        common++;
        break;
      }
  }
  const int all = (int)(a1 - a0 + b1 - b0) - common;
  jaccard[id] = all > 0 ? (float)common / all : 0.0f;
}

// Sparse times sparse, one warp a row: integer sums in a dense strip of shared memory, then packed in order.
extern "C" __global__ void __launch_bounds__(128)
    spgemm_strip(const unsigned* rowptr, const unsigned* col, const int* val, unsigned* count, unsigned* out_col,
                 int* out_val, unsigned rows, unsigned edges) {
  __shared__ int strip[4][512];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * 4 + warp;
  if (row >= rows) return;
  for (unsigned i = lane; i < 512; i += 32) strip[warp][i] = 0;
  __syncwarp();
  const unsigned end = min(rowptr[row + 1], edges);
  for (unsigned e = rowptr[row]; e < end; e++) {
    const unsigned k = col[e];
    const int a = val[e] - 8;
    const unsigned stop = min(rowptr[k + 1], edges);
    for (unsigned f = rowptr[k] + lane; f < stop; f += 32) atomicAdd(&strip[warp][col[f] & 511], a * (val[f] - 8));
  }
  __syncwarp();
  unsigned found = 0;
  for (unsigned i = lane; i < 512; i += 32) {
    const int x = strip[warp][i];
    const unsigned m = __ballot_sync(WARP_ALL, x != 0), to = row * 512 + found + __popc(m & ((1u << lane) - 1));
    if (x) out_col[to] = i, out_val[to] = x;
    found += __popc(m);
  }
  if (lane == 0) count[row] = found;
}

// A round of Luby's independent set: a vertex joins when no undecided neighbour has a higher priority.
extern "C" __global__ void luby_round(const unsigned* rowptr, const unsigned* col, const unsigned* state,
                                      unsigned* next, unsigned rows, unsigned edges, unsigned seed) {
  const unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= rows) return;
  unsigned mine = state[v];
  if (mine != 1) {
    const unsigned priority = scramble(v ^ seed), end = min(rowptr[v + 1], edges);
    bool wins = true;
    for (unsigned e = rowptr[v]; e < end; e++) {
      const unsigned w = col[e];
      if (w == v || state[w] == 1) continue;
      const unsigned other = scramble(w ^ seed);
      if (other > priority || (other == priority && w > v)) {
        wins = false;
        break;
      }
    }
    if (wins) mine = 2;
  }
  next[v] = mine;
}

// Longest prefix match: addresses walk a trie of 16-way nodes, four bits a level.
extern "C" __global__ void trie_longest_prefix(const unsigned* nodes, const unsigned* address, unsigned* route,
                                               unsigned* depth, unsigned count, unsigned node_count) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const unsigned a = scramble(address[i]);
    unsigned node = 0, best = 0, level = 0;
    for (; level < 8; level++) {
      const unsigned entry = nodes[node * 16 + (a >> (28 - level * 4) & 15)];
      if (entry & 0x100) best = entry >> 20;
      if ((entry & 7) == 0) break;
      node = (entry >> 4) % node_count;
    }
    route[i] = best;
    depth[i] = level;
  }
}

// Range minimum over a segment tree, from the leaves up.
extern "C" __global__ void segment_tree_min(const unsigned* tree, const unsigned* from, const unsigned* span,
                                            unsigned* answer, unsigned queries, unsigned leaves) {
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= queries) return;
  unsigned l = from[id] % leaves, r = min(l + span[id], leaves), least = 0xffffffffu;
  for (l += leaves, r += leaves; l < r; l >>= 1, r >>= 1) {
    if (l & 1) least = min(least, tree[l++]);
    if (r & 1) least = min(least, tree[--r]);
  }
  answer[id] = least;
}

// Work splitting: a stack of tasks a warp in shared memory, tasks split in two until small, places by ballot.
extern "C" __global__ void __launch_bounds__(64)
    warp_task_stack(const unsigned* seeds, unsigned* leaves, unsigned* total) {
  __shared__ unsigned stack[2][640];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned* tasks = stack[warp];
  tasks[lane] = seeds[blockIdx.x * 64 + threadIdx.x];
  unsigned size = 32, done = 0, sum = 0;
  __syncwarp();
  while (size > 0) {
    const unsigned take = min(size, 32u);
    size -= take;
    const unsigned task = lane < take ? tasks[size + lane] : 0;
    const bool split = task > 9 && size + 64 <= 640;
    if (lane < take && !split) done++, sum += task * task;
    const unsigned m = __ballot_sync(WARP_ALL, split);
    if (split) {
      const unsigned to = size + 2 * __popc(m & ((1u << lane) - 1));
      tasks[to] = task / 3;
      tasks[to + 1] = task / 2;
    }
    size += 2 * __popc(m);
    __syncwarp();
  }
  leaves[blockIdx.x * 64 + threadIdx.x] = done;
  sum = __reduce_add_sync(WARP_ALL, sum);
  if (lane == 0) total[blockIdx.x * 2 + warp] = sum;
}

// Look-ups in a table with chained buckets; links always lead to smaller numbers, so that chains end.
extern "C" __global__ void chained_probe(const unsigned* heads, const unsigned* links, const unsigned* keys,
                                         const unsigned* wanted, unsigned* found, unsigned* steps, int n, int buckets) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned key = wanted[i];
  unsigned at = heads[scramble(key) % buckets], hops = 0;
  while (at != 0 && keys[at] != key) {
    at = links[at] % at;
    hops++;
  }
  found[i] = at;
  steps[i] = hops;
}

// Label propagation: the commonest of 16 labels among the neighbours, counted in a local array.
extern "C" __global__ void label_majority(const unsigned* rowptr, const unsigned* col, const unsigned* label,
                                          unsigned* next, unsigned rows, unsigned edges) {
  const unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= rows) return;
  unsigned char count[16];
  for (int i = 0; i < 16; i++) count[i] = 0;
  const unsigned end = min(rowptr[v + 1], edges);
  for (unsigned e = rowptr[v]; e < end; e++) count[label[col[e]] & 15]++;
  unsigned best = label[v] & 15;
  for (unsigned i = 0; i < 16; i++)
    if (count[i] > count[best]) best = i;
  next[v] = best;
}

// ---------------------------------------------------------------- physics, finance, chance, dynamic programming

// Smoothed particles: density and pressure over neighbour lists with the sixth-degree kernel.
extern "C" __global__ void sph_density(const float4* position, const unsigned* rowptr, const unsigned* near,
                                       float2* state, unsigned n, unsigned pairs, float radius) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 me = position[i];
  const float h2 = radius * radius;
  float density = me.w * h2 * h2 * h2;
  const unsigned end = min(rowptr[i + 1], pairs);
  for (unsigned k = rowptr[i]; k < end; k++) {
    const float4 you = position[near[k]];
    const float dx = me.x - you.x, dy = me.y - you.y, dz = me.z - you.z, gap = h2 - (dx * dx + dy * dy + dz * dz);
    if (gap > 0.0f) density += you.w * gap * gap * gap;
  }
  density *= 1.566681f / powf(radius, 9.0f);
  const float x = density / 0.4f;
  state[i] = make_float2(density, 8.0f * (x * x * x * x * x * x * x - 1.0f));
}

// Quantile of the normal distribution by rational approximations.
__device__ float normal_quantile(float u) {
  const float y = u - 0.5f;
  if (fabsf(y) < 0.42f) {
    const float r = y * y;
    return y * (((-25.44106f * r + 41.391197f) * r - 18.615f) * r + 2.5066282f) /
           ((((3.130829f * r - 21.06224f) * r + 23.083367f) * r - 8.473511f) * r + 1.0f);
  }
  const float r = logf(-logf(y > 0.0f ? 1.0f - u : u));
  float x = 0.02764388f + r * (0.00384057f + r * 0.0003952f);
  x = 0.33747548f + r * (0.97616902f + r * (0.16079797f + r * x));
  return y < 0.0f ? -x : x;
}

// Asian options on low-discrepancy paths: Sobol's numbers by Gray code from a table of directions.
extern "C" __global__ void asian_sobol(const unsigned* direction, float* payoff, unsigned paths, unsigned steps,
                                       float spot, float strike, float sigma) {
  const unsigned path = blockIdx.x * blockDim.x + threadIdx.x;
  if (path >= paths) return;
  const unsigned gray = (path + 1) ^ ((path + 1) >> 1);
  const float dt = 1.0f / steps, drift = (0.03f - 0.5f * sigma * sigma) * dt, vol = sigma * sqrtf(dt);
  float level = 0.0f, sum = 0.0f;
  for (unsigned s = 0; s < steps; s++) {
    unsigned x = 0;
    for (unsigned g = gray, b = 0; g; g >>= 1, b++)
      if (g & 1) x ^= direction[s * 16 + b];
    level += drift + vol * normal_quantile(unit_float(x));
    sum += spot * __expf(level);
  }
  payoff[path] = fmaxf(sum * dt - strike, 0.0f) * 0.97044553f;
}

// Dynamic time warping of two series of 96, one pair a block, antidiagonals in three buffers of shared memory.
extern "C" __global__ void __launch_bounds__(96)
    dtw_wavefront(const float* left, const float* right, float* cost, int band) {
  __shared__ float b[96], diag[3][97];
  const int i = threadIdx.x;
  const float a = left[blockIdx.x * 96 + i];
  b[i] = right[blockIdx.x * 96 + i];
  diag[0][i + 1] = diag[1][i + 1] = diag[2][i + 1] = 1e30f;
  if (i == 0) diag[0][0] = diag[1][0] = diag[2][0] = 1e30f;
  __syncthreads();
  for (int d = 0; d < 191; d++) {
    const int j = d - i, now = d % 3, one = (d + 2) % 3, two = (d + 1) % 3;
    float v = 1e30f;
    if (j >= 0 && j < 96 && abs(i - j) <= band) {
      const float gap = fabsf(a - b[j]);
      v = d == 0 ? gap : gap + fminf(fminf(diag[one][i], diag[one][i + 1]), diag[two][i]);
    }
    diag[now][i + 1] = v;
    __syncthreads();
  }
  if (i == 95) cost[blockIdx.x] = diag[190 % 3][96];
}

// Subset sums counted by a depth-first search with pruning, an explicit path in a mask, a prefix from the thread.
extern "C" __global__ void subset_sum_search(const unsigned* weights, unsigned* solutions, unsigned* visited,
                                             unsigned goal) {
  __shared__ unsigned w[16], rest[17];
  if (threadIdx.x < 16) w[threadIdx.x] = weights[blockIdx.x * 16 + threadIdx.x] + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    rest[16] = 0;
    for (int i = 15; i >= 0; i--) rest[i] = rest[i + 1] + w[i];
  }
  __syncthreads();
  unsigned sum = 0, hits = 0, nodes = 0, taken = 0;
  for (int i = 0; i < 6; i++)
    if (threadIdx.x >> i & 1) sum += w[i];
  int level = 6;
  for (int guard = 0; guard < 8192; guard++) {
    nodes++;
    if (level < 16 && sum <= goal && sum + rest[level] >= goal) {
      sum += w[level];
      taken |= 1u << level++;
      continue;
    }
    if (level == 16 && sum == goal) hits++;
    if (taken == 0) break;
    level = 31 - __clz(taken);
    taken ^= 1u << level;
    sum -= w[level++];
  }
  solutions[blockIdx.x * blockDim.x + threadIdx.x] = hits;
  visited[blockIdx.x * blockDim.x + threadIdx.x] = nodes;
}

// Photons scattered in a slab: free paths, weights, anisotropic turns; deposits in fixed point.
extern "C" __global__ void photon_slab(unsigned* tally, unsigned* escaped, unsigned photons, float albedo, float g) {
  __shared__ unsigned bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id < photons) {
    uint32_t s = scramble(id + 17) | 1;
    float z = 0.0f, ux = 0.0f, uy = 0.0f, uz = 1.0f, weight = 1.0f;
    for (int k = 0; k < 64; k++) {
      z += uz * -__logf(unit_float(xorshift32(s)));
      if (z < 0.0f || z > 8.0f) {
        atomicAdd(&escaped[z < 0.0f], (unsigned)(weight * 65536.0f));
        break;
      }
      atomicAdd(&bins[min(63, (int)(z * 8.0f))], (unsigned)(weight * (1.0f - albedo) * 65536.0f));
      weight *= albedo;
      if (weight < 0.05f) {
        if (unit_float(xorshift32(s)) > 0.1f) break;
        weight *= 10.0f;
      }
      const float f = (1.0f - g * g) / (1.0f - g + 2.0f * g * unit_float(xorshift32(s)));
      const float c = fminf(1.0f, fmaxf(-1.0f, (1.0f + g * g - f * f) / (2.0f * g))), sine = sqrtf(1.0f - c * c);
      float sp, cp;
      __sincosf(6.2831853f * unit_float(xorshift32(s)) - 3.1415927f, &sp, &cp);
      if (fabsf(uz) > 0.9999f) {
        ux = sine * cp, uy = sine * sp, uz = copysignf(c, uz);
      } else {
        const float t = sqrtf(1.0f - uz * uz), nx = sine * (ux * uz * cp - uy * sp) / t + ux * c;
        uy = sine * (uy * uz * cp + ux * sp) / t + uy * c;
        uz = -sine * cp * t + uz * c;
        ux = nx;
      }
    }
  }
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&tally[threadIdx.x], bins[threadIdx.x]);
}

__device__ unsigned twist(unsigned a, unsigned b, unsigned far) {
  const unsigned y = (a & 0x80000000u) | (b & 0x7fffffffu);
  return far ^ (y >> 1) ^ ((y & 1) ? 0x9908b0dfu : 0);
}

// Mersenne twister with its state in shared memory, one generator a block; three parallel phases a round.
extern "C" __global__ void __launch_bounds__(256) mt19937_rounds(const unsigned* seed, unsigned* out, int rounds) {
  __shared__ unsigned mt[624];
  const int t = threadIdx.x;
  for (int i = t; i < 624; i += 256) mt[i] = seed[blockIdx.x * 624 + i];
  __syncthreads();
  for (int r = 0; r < rounds; r++) {
    for (int first = 0; first < 624; first += 227) {
      const int i = first + t;
      const bool live = t < 227 && i < 624;
      const unsigned x = live ? twist(mt[i], mt[i == 623 ? 0 : i + 1], mt[i < 227 ? i + 397 : i - 227]) : 0;
      __syncthreads();
      if (live) mt[i] = x;
      __syncthreads();
    }
    for (int i = t; i < 624; i += 256) {
      unsigned y = mt[i];
      y ^= y >> 11;
      y ^= y << 7 & 0x9d2c5680u;
      y ^= y << 15 & 0xefc60000u;
      out[(blockIdx.x * rounds + r) * 624 + i] = y ^ y >> 18;
    }
  }
}

// Cheapest paths down a grid, eight rows a launch; blocks overlap by a rim that shrinks with every row.
extern "C" __global__ void pathfinder_rows(const int* wall, const int* top, int* result, int cols, int depth) {
  __shared__ int cost[2][256];
  const int t = threadIdx.x, inner = 256 - 2 * depth, x = blockIdx.x * inner + t - depth;
  const bool valid = x >= 0 && x < cols;
  int now = 0;
  cost[0][t] = valid ? top[x] : 0x3fffffff;
  __syncthreads();
  for (int r = 0; r < depth; r++) {
    int best = cost[now][t];
    if (t > 0) best = min(best, cost[now][t - 1]);
    if (t < 255) best = min(best, cost[now][t + 1]);
    cost[now ^ 1][t] = valid ? best + wall[r * cols + x] : 0x3fffffff;
    now ^= 1;
    __syncthreads();
  }
  if (valid && t >= depth && t < 256 - depth) result[x] = cost[now][t];
}

// Best 2-opt exchange of a tour of 256 cities: a slice of first edges a block, least change by packed minima.
extern "C" __global__ void __launch_bounds__(128)
    two_opt_best(const float2* __restrict__ cities, unsigned long long* __restrict__ best, int slices) {
  __shared__ float2 tour[257];
  __shared__ unsigned long long least[4];
  const float2* mine = cities + (blockIdx.y << 8);
  for (int i = threadIdx.x; i < 257; i += 128) tour[i] = mine[i & 255];
  __syncthreads();
  auto dist = [&](int a, int b) { return hypotf(tour[a].x - tour[b].x, tour[a].y - tour[b].y); };
  unsigned long long low = ~0ull;
  for (int i = blockIdx.x; i < 254; i += slices) {
    const float old = dist(i, i + 1);
    for (int j = i + 2 + threadIdx.x; j < 256; j += 128) {
      const float change = dist(i, j) + dist(i + 1, j + 1) - old - dist(j, j + 1);
      const unsigned bits = __float_as_uint(change), order = bits >> 31 ? ~bits : bits | 0x80000000u;
      low = min(low, (unsigned long long)order << 32 | (unsigned)(i << 8 | j));
    }
  }
  for (int d = 16; d > 0; d >>= 1) low = min(low, __shfl_down_sync(WARP_ALL, low, d));
  if (threadIdx.x % 32 == 0) least[threadIdx.x / 32] = low;
  __syncthreads();
  if (threadIdx.x == 0) best[blockIdx.y * slices + blockIdx.x] = min(min(least[0], least[1]), min(least[2], least[3]));
}
