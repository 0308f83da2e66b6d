#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned char u8;
#define DI __device__ __forceinline__
#define K_ extern "C" __global__ void
#define FULL 0xffffffffu

DI u32 saddr(const void* p) { return (u32)__cvta_generic_to_shared(p); }
DI void ldsm4(u32* r, u32 a) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a) : "memory");
}
DI void ldsm4t(u32* r, u32 a) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a) : "memory");
}
DI void mma_bf16(float* c, const u32* a, u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DI void mma_f16(float* c, const u32* a, u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DI void mma_s8(int* c, const u32* a, u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
    : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DI float wsum(float v) {
#pragma unroll
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(FULL, v, o);
  return v;
}
DI float wmax(float v) {
#pragma unroll
  for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(FULL, v, o));
  return v;
}
DI u32 mix32(u32 h) { h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u; h ^= h >> 16; return h; }

// ---------------------------------------------------------------- tensor cores
K_ __launch_bounds__(128) tc_gemm_f16_wmma(const half* A, const half* B, float* C, int N, int K) {
  __shared__ __align__(32) half As[64][40];
  __shared__ __align__(32) half Bs[32][72];
  int t = threadIdx.x, w = t >> 5, wm = w >> 1, wn = w & 1;
  int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[2][2];
#pragma unroll
  for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) wmma::fill_fragment(c[i][j], 0.f);
  for (int k0 = 0; k0 < K; k0 += 32) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int e = t + i * 128, r = e >> 2, q = (e & 3) * 8;
      *(uint4*)&As[r][q] = *(const uint4*)&A[(m0 + r) * K + k0 + q];
      int r2 = e >> 3, q2 = (e & 7) * 8;
      *(uint4*)&Bs[r2][q2] = *(const uint4*)&B[(k0 + r2) * N + n0 + q2];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b[2];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        wmma::load_matrix_sync(a[i], &As[wm * 32 + i * 16][kk], 40);
        wmma::load_matrix_sync(b[i], &Bs[kk][wn * 32 + i * 16], 72);
      }
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) wmma::mma_sync(c[i][j], a[i], b[j], c[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < 2; j++)
      wmma::store_matrix_sync(&C[(m0 + wm * 32 + i * 16) * N + n0 + wn * 32 + j * 16], c[i][j], N, wmma::mem_row_major);
}

// linear layer: f32 activations rounded to bf16, W as [N,K], bias and GELU at the end
K_ __launch_bounds__(256, 2) tc_linear_bf16_gelu(const float* X, const float* W, const float* bias, float* Y, int N, int K) {
  __shared__ __align__(16) __nv_bfloat16 As[128][40];
  __shared__ __align__(16) __nv_bfloat16 Bs[64][40];
  int t = threadIdx.x, lane = t & 31, w = t >> 5, wm = w >> 1, wn = w & 1;
  int m0 = blockIdx.y * 128, n0 = blockIdx.x * 64;
  float c[2][4][4] = {};
  for (int k0 = 0; k0 < K; k0 += 32) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int e = t + i * 256, r = e >> 3, q = (e & 7) * 4;
      float4 v = *(const float4*)&X[(m0 + r) * K + k0 + q];
      __nv_bfloat162* d = (__nv_bfloat162*)&As[r][q];
      d[0] = __floats2bfloat162_rn(v.x, v.y); d[1] = __floats2bfloat162_rn(v.z, v.w);
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int e = t + i * 256, r = e >> 3, q = (e & 7) * 4;
      float4 v = *(const float4*)&W[(n0 + r) * K + k0 + q];
      __nv_bfloat162* d = (__nv_bfloat162*)&Bs[r][q];
      d[0] = __floats2bfloat162_rn(v.x, v.y); d[1] = __floats2bfloat162_rn(v.z, v.w);
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      u32 a[2][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        ldsm4(a[i], saddr(&As[wm * 32 + i * 16 + (lane & 15)][kk + (lane >> 4) * 8]));
        ldsm4(b[i], saddr(&Bs[wn * 32 + i * 16 + (lane & 7) + ((lane >> 4) << 3)][kk + ((lane >> 3) & 1) * 8]));
      }
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) mma_bf16(c[i][j], a[i], b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      int col = n0 + wn * 32 + j * 8 + (lane & 3) * 2, row = m0 + wm * 32 + i * 16 + (lane >> 2);
      float b0 = bias[col], b1 = bias[col + 1];
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float x = c[i][j][h * 2] + b0, y = c[i][j][h * 2 + 1] + b1;
        x = x / (1.f + __expf(-1.702f * x)); y = y / (1.f + __expf(-1.702f * y));
        *(float2*)&Y[(row + h * 8) * N + col] = make_float2(x, y);
      }
    }
}

K_ tc_gemm_tf32_wmma(const float* A, const float* B, float* C, int N, int K, float alpha) {
  __shared__ __align__(32) float As[64][20];
  __shared__ __align__(32) float Bs[16][68];
  int t = threadIdx.x, w = t >> 5, wm = w >> 1, wn = w & 1;
  int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> c[2][2];
#pragma unroll
  for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) wmma::fill_fragment(c[i][j], 0.f);
  for (int k0 = 0; k0 < K; k0 += 16) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int e = t + i * 128, r = e >> 2, q = (e & 3) * 4;
      *(float4*)&As[r][q] = *(const float4*)&A[(m0 + r) * K + k0 + q];
      int r2 = e >> 4, q2 = (e & 15) * 4;
      *(float4*)&Bs[r2][q2] = *(const float4*)&B[(k0 + r2) * N + n0 + q2];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 16; kk += 8) {
      wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b[2];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        wmma::load_matrix_sync(a[i], &As[wm * 32 + i * 16][kk], 20);
        wmma::load_matrix_sync(b[i], &Bs[kk][wn * 32 + i * 16], 68);
#pragma unroll
        for (int q = 0; q < a[i].num_elements; q++) a[i].x[q] = wmma::__float_to_tf32(a[i].x[q]);
#pragma unroll
        for (int q = 0; q < b[i].num_elements; q++) b[i].x[q] = wmma::__float_to_tf32(b[i].x[q]);
      }
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) wmma::mma_sync(c[i][j], a[i], b[j], c[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < 2; j++) {
#pragma unroll
      for (int q = 0; q < c[i][j].num_elements; q++) c[i][j].x[q] *= alpha;
      wmma::store_matrix_sync(&C[(m0 + wm * 32 + i * 16) * N + n0 + wn * 32 + j * 16], c[i][j], N, wmma::mem_row_major);
    }
}

// quantised GEMM, cp.async double buffer; A [M,K] B [N,K] bytes
K_ __launch_bounds__(128) tc_igemm_s8_cpasync(const u8* A, const u8* B, float* C, int N, int K, float scale) {
  __shared__ __align__(16) u8 As[2][64][80];
  __shared__ __align__(16) u8 Bs[2][64][80];
  int t = threadIdx.x, lane = t & 31, w = t >> 5, wm = w >> 1, wn = w & 1;
  int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64, g = lane >> 2, tq = (lane & 3) * 4;
  int c[2][4][4] = {};
  int steps = K >> 6;
#define S8LOAD(s, k0) \
  _Pragma("unroll") for (int i = 0; i < 2; i++) { int e = t + i * 128, r = e >> 2, q = (e & 3) * 16; \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(saddr(&As[s][r][q])), "l"(A + (m0 + r) * K + (k0) + q) : "memory"); \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(saddr(&Bs[s][r][q])), "l"(B + (n0 + r) * K + (k0) + q) : "memory"); } \
  asm volatile("cp.async.commit_group;" ::: "memory");
  S8LOAD(0, 0)
  for (int s = 0; s < steps; s++) {
    int cur = s & 1;
    if (s + 1 < steps) {
      S8LOAD(cur ^ 1, (s + 1) * 64)
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 64; kk += 32) {
      u32 a[2][4], b[4][2];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int r = wm * 32 + i * 16 + g;
        a[i][0] = *(u32*)&As[cur][r][kk + tq]; a[i][1] = *(u32*)&As[cur][r + 8][kk + tq];
        a[i][2] = *(u32*)&As[cur][r][kk + 16 + tq]; a[i][3] = *(u32*)&As[cur][r + 8][kk + 16 + tq];
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        int r = wn * 32 + j * 8 + g;
        b[j][0] = *(u32*)&Bs[cur][r][kk + tq]; b[j][1] = *(u32*)&Bs[cur][r][kk + 16 + tq];
      }
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) mma_s8(c[i][j], a[i], b[j][0], b[j][1]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
      for (int h = 0; h < 2; h++)
        *(float2*)&C[(m0 + wm * 32 + i * 16 + g + h * 8) * N + n0 + wn * 32 + j * 8 + (lane & 3) * 2] =
          make_float2(c[i][j][h * 2] * scale, c[i][j][h * 2 + 1] * scale);
}

K_ __launch_bounds__(128) tc_flash_attn_f16(const half* Q, const half* Kp, const half* V, half* O, int S, float scale) {
  __shared__ __align__(16) half Qs[64][72];
  __shared__ __align__(16) half Ks[64][72];
  __shared__ __align__(16) half Vs[64][72];
  int t = threadIdx.x, lane = t & 31, w = t >> 5;
  int base = blockIdx.y * S * 64, q0 = blockIdx.x * 64;
#pragma unroll
  for (int i = 0; i < 4; i++) { int e = t + i * 128, r = e >> 3, q = (e & 7) * 8; *(uint4*)&Qs[r][q] = *(const uint4*)&Q[base + (q0 + r) * 64 + q]; }
  __syncthreads();
  u32 qa[4][4];
#pragma unroll
  for (int k = 0; k < 4; k++) ldsm4(qa[k], saddr(&Qs[w * 16 + (lane & 15)][k * 16 + (lane >> 4) * 8]));
  float o[8][4] = {}, m0 = -1e30f, m1 = -1e30f, l0 = 0.f, l1 = 0.f;
  for (int kv = 0; kv < S; kv += 64) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int e = t + i * 128, r = e >> 3, q = (e & 7) * 8;
      *(uint4*)&Ks[r][q] = *(const uint4*)&Kp[base + (kv + r) * 64 + q];
      *(uint4*)&Vs[r][q] = *(const uint4*)&V[base + (kv + r) * 64 + q];
    }
    __syncthreads();
    float s[8][4] = {};
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int n = 0; n < 4; n++) {
        u32 b[4];
        ldsm4(b, saddr(&Ks[n * 16 + (lane & 7) + ((lane >> 4) << 3)][k * 16 + ((lane >> 3) & 1) * 8]));
        mma_f16(s[2 * n], qa[k], b[0], b[1]); mma_f16(s[2 * n + 1], qa[k], b[2], b[3]);
      }
    float x0 = -1e30f, x1 = -1e30f;
#pragma unroll
    for (int n = 0; n < 8; n++) { x0 = fmaxf(x0, fmaxf(s[n][0], s[n][1])); x1 = fmaxf(x1, fmaxf(s[n][2], s[n][3])); }
#pragma unroll
    for (int d = 1; d < 4; d <<= 1) { x0 = fmaxf(x0, __shfl_xor_sync(FULL, x0, d)); x1 = fmaxf(x1, __shfl_xor_sync(FULL, x1, d)); }
    float n0 = fmaxf(m0, x0 * scale), n1 = fmaxf(m1, x1 * scale);
    float f0 = exp2f(m0 - n0), f1 = exp2f(m1 - n1);
    m0 = n0; m1 = n1; l0 *= f0; l1 *= f1;
    u32 p[8][2];
#pragma unroll
    for (int n = 0; n < 8; n++) {
      float a = exp2f(s[n][0] * scale - m0), b = exp2f(s[n][1] * scale - m0), c = exp2f(s[n][2] * scale - m1), d = exp2f(s[n][3] * scale - m1);
      l0 += a + b; l1 += c + d;
      half2 h0 = __floats2half2_rn(a, b), h1 = __floats2half2_rn(c, d);
      p[n][0] = *(u32*)&h0; p[n][1] = *(u32*)&h1;
      o[n][0] *= f0; o[n][1] *= f0; o[n][2] *= f1; o[n][3] *= f1;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
      u32 a[4] = {p[2 * k][0], p[2 * k][1], p[2 * k + 1][0], p[2 * k + 1][1]};
#pragma unroll
      for (int n = 0; n < 4; n++) {
        u32 b[4];
        ldsm4t(b, saddr(&Vs[k * 16 + (lane & 15)][n * 16 + (lane >> 4) * 8]));
        mma_f16(o[2 * n], a, b[0], b[1]); mma_f16(o[2 * n + 1], a, b[2], b[3]);
      }
    }
  }
#pragma unroll
  for (int d = 1; d < 4; d <<= 1) { l0 += __shfl_xor_sync(FULL, l0, d); l1 += __shfl_xor_sync(FULL, l1, d); }
  l0 = 1.f / l0; l1 = 1.f / l1;
  int r = q0 + w * 16 + (lane >> 2);
#pragma unroll
  for (int n = 0; n < 8; n++) {
    *(half2*)&O[base + r * 64 + n * 8 + (lane & 3) * 2] = __floats2half2_rn(o[n][0] * l0, o[n][1] * l0);
    *(half2*)&O[base + (r + 8) * 64 + n * 8 + (lane & 3) * 2] = __floats2half2_rn(o[n][2] * l1, o[n][3] * l1);
  }
}

// ---------------------------------------------------------------- attention, softmax, norms
K_ softmax_rows(const float* in, float* out, int cols, float temp) {
  __shared__ float red[33];
  const float* x = in + blockIdx.x * cols; float* y = out + blockIdx.x * cols;
  int t = threadIdx.x, nw = blockDim.x >> 5;
  float m = -3e38f;
  for (int i = t; i < cols; i += blockDim.x) m = fmaxf(m, x[i]);
  m = wmax(m);
  if ((t & 31) == 0) red[t >> 5] = m;
  __syncthreads();
  if (t < 32) { m = t < nw ? red[t] : -3e38f; m = wmax(m); if (t == 0) red[32] = m; }
  __syncthreads();
  m = red[32];
  float s = 0.f;
  for (int i = t; i < cols; i += blockDim.x) s += expf((x[i] - m) * temp);
  s = wsum(s);
  if ((t & 31) == 0) red[t >> 5] = s;
  __syncthreads();
  if (t < 32) { s = t < nw ? red[t] : 0.f; s = wsum(s); if (t == 0) red[32] = s; }
  __syncthreads();
  float inv = 1.f / red[32];
  for (int i = t; i < cols; i += blockDim.x) y[i] = expf((x[i] - m) * temp) * inv;
}

K_ __launch_bounds__(256) layernorm_warp768(const float4* in, const float4* gamma, const float4* beta, float4* out, int rows, float eps) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float4 v[6]; float s = 0.f;
#pragma unroll
  for (int i = 0; i < 6; i++) { v[i] = in[row * 192 + i * 32 + lane]; s += v[i].x + v[i].y + v[i].z + v[i].w; }
  float mu = wsum(s) * (1.f / 768.f), q = 0.f;
#pragma unroll
  for (int i = 0; i < 6; i++) { v[i].x -= mu; v[i].y -= mu; v[i].z -= mu; v[i].w -= mu; q += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w; }
  float rs = rsqrtf(wsum(q) * (1.f / 768.f) + eps);
#pragma unroll
  for (int i = 0; i < 6; i++) {
    float4 g = gamma[i * 32 + lane], b = beta[i * 32 + lane];
    out[row * 192 + i * 32 + lane] = make_float4(v[i].x * rs * g.x + b.x, v[i].y * rs * g.y + b.y, v[i].z * rs * g.z + b.z, v[i].w * rs * g.w + b.w);
  }
}

K_ rmsnorm_residual_f16(const half2* x, const half2* res, const half2* w, half2* out, half2* sum_out, int cols2, float eps) {
  __shared__ float red[32];
  __shared__ half2 keep[2048];
  int t = threadIdx.x, b = blockIdx.x * cols2;
  float s = 0.f;
  for (int i = t; i < cols2; i += blockDim.x) {
    half2 h = __hadd2(x[b + i], res[b + i]);
    keep[i] = h; sum_out[b + i] = h;
    float2 f = __half22float2(h); s += f.x * f.x + f.y * f.y;
  }
  s = wsum(s);
  if ((t & 31) == 0) red[t >> 5] = s;
  __syncthreads();
  s = 0.f;
  for (int i = 0; i < (int)(blockDim.x >> 5); i++) s += red[i];
  float r = rsqrtf(s / (2.f * cols2) + eps);
  for (int i = t; i < cols2; i += blockDim.x) {
    float2 f = __half22float2(keep[i]), g = __half22float2(w[i]);
    out[b + i] = __floats2half2_rn(f.x * r * g.x, f.y * r * g.y);
  }
}

// one query per head against a f16 cache, split over blockIdx.x; head size 128
K_ __launch_bounds__(256) attn_decode_split(const float* q, const half* kc, const half* vc, float* part, float* ml, int len, int per, float scale) {
  __shared__ float sm[8], sl[8], sacc[8][128];
  int lane = threadIdx.x & 31, w = threadIdx.x >> 5, h = blockIdx.y;
  float4 qv = *(const float4*)&q[h * 128 + lane * 4];
  float m = -1e30f, l = 0.f, a0 = 0.f, a1 = 0.f, a2 = 0.f, a3 = 0.f;
  int beg = blockIdx.x * per, end = min(beg + per, len);
  for (int j = beg + w; j < end; j += 8) {
    uint2 kr = *(const uint2*)&kc[(h * len + j) * 128 + lane * 4];
    uint2 vr = *(const uint2*)&vc[(h * len + j) * 128 + lane * 4];
    float2 k0 = __half22float2(*(half2*)&kr.x), k1 = __half22float2(*(half2*)&kr.y);
    float2 v0 = __half22float2(*(half2*)&vr.x), v1 = __half22float2(*(half2*)&vr.y);
    float s = wsum(qv.x * k0.x + qv.y * k0.y + qv.z * k1.x + qv.w * k1.y) * scale;
    float nm = fmaxf(m, s), f = __expf(m - nm), p = __expf(s - nm);
    m = nm; l = l * f + p;
    a0 = a0 * f + p * v0.x; a1 = a1 * f + p * v0.y; a2 = a2 * f + p * v1.x; a3 = a3 * f + p * v1.y;
  }
  if (lane == 0) { sm[w] = m; sl[w] = l; }
  *(float4*)&sacc[w][lane * 4] = make_float4(a0, a1, a2, a3);
  __syncthreads();
  int t = threadIdx.x;
  if (t < 128) {
    float M = sm[0];
#pragma unroll
    for (int i = 1; i < 8; i++) M = fmaxf(M, sm[i]);
    float L = 0.f, acc = 0.f;
#pragma unroll
    for (int i = 0; i < 8; i++) { float f = __expf(sm[i] - M); L += sl[i] * f; acc += sacc[i][t] * f; }
    int o = h * gridDim.x + blockIdx.x;
    part[o * 128 + t] = acc;
    if (t == 0) { ml[o * 2] = M; ml[o * 2 + 1] = L; }
  }
}

K_ __launch_bounds__(512) groupnorm_silu(const float* x, const float* gamma, const float* beta, float* y, int per_group, int hw, int ch_per_group, int groups, float eps) {
  __shared__ float rs[16], rq[16];
  int t = threadIdx.x; const float* p = x + blockIdx.x * per_group;
  float s = 0.f, q = 0.f;
#pragma unroll 4
  for (int i = t; i < per_group; i += 512) { float v = p[i]; s += v; q += v * v; }
  s = wsum(s); q = wsum(q);
  if ((t & 31) == 0) { rs[t >> 5] = s; rq[t >> 5] = q; }
  __syncthreads();
  s = 0.f; q = 0.f;
#pragma unroll
  for (int i = 0; i < 16; i++) { s += rs[i]; q += rq[i]; }
  float mu = s / per_group, r = rsqrtf(q / per_group - mu * mu + eps);
  int c0 = (blockIdx.x % groups) * ch_per_group;
  for (int i = t; i < per_group; i += 512) {
    int c = c0 + i / hw;
    float v = (p[i] - mu) * r * gamma[c] + beta[c];
    y[blockIdx.x * per_group + i] = v / (1.f + __expf(-v));
  }
}

// ---------------------------------------------------------------- sorting, scan, selection
K_ __launch_bounds__(512) sort_bitonic_1024(const u32* in, u32* out) {
  __shared__ u32 s[1024];
  int t = threadIdx.x, b = blockIdx.x * 1024;
  s[t] = in[b + t]; s[t + 512] = in[b + t + 512];
  for (int k = 2; k <= 1024; k <<= 1)
    for (int j = k >> 1; j; j >>= 1) {
      __syncthreads();
      int i = 2 * t - (t & (j - 1));
      u32 x = s[i], y = s[i + j];
      bool up = (i & k) == 0;
      if ((x > y) == up) { s[i] = y; s[i + j] = x; }
    }
  __syncthreads();
  out[b + t] = s[t]; out[b + t + 512] = s[t + 512];
}

K_ __launch_bounds__(1024) scan_block_vec4(const uint4* in, uint4* out, u32* sums) {
  __shared__ u32 ws[32];
  int t = threadIdx.x, lane = t & 31, w = t >> 5, g = blockIdx.x * 1024 + t;
  uint4 v = in[g];
  v.y += v.x; v.z += v.y; v.w += v.z;
  u32 s = v.w;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) { u32 o = __shfl_up_sync(FULL, s, d); if (lane >= d) s += o; }
  if (lane == 31) ws[w] = s;
  __syncthreads();
  if (w == 0) {
    u32 z = ws[lane];
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) { u32 o = __shfl_up_sync(FULL, z, d); if (lane >= d) z += o; }
    ws[lane] = z;
    if (lane == 31) sums[blockIdx.x] = z;
  }
  __syncthreads();
  u32 add = s - v.w + (w ? ws[w - 1] : 0);
  out[g] = make_uint4(v.x + add, v.y + add, v.z + add, v.w + add);
}

// 8-bit radix pass: per-warp digit ranks by match, block histogram
K_ radix_rank_match(const u32* keys, u32* rank, u32* hist, int per_thread, int shift) {
  __shared__ u32 cnt[8][256];
  int t = threadIdx.x, lane = t & 31, w = t >> 5;
#pragma unroll
  for (int i = 0; i < 8; i++) cnt[i][t] = 0;
  __syncthreads();
  int base = blockIdx.x * 256 * per_thread + w * 32 * per_thread;
  for (int i = 0; i < per_thread; i++) {
    u32 d = (keys[base + i * 32 + lane] >> shift) & 255;
    u32 peers = __match_any_sync(FULL, d);
    u32 below = __popc(peers & ((1u << lane) - 1)), old = cnt[w][d];
    __syncwarp();
    if (below == 0) cnt[w][d] = old + __popc(peers);
    __syncwarp();
    rank[base + i * 32 + lane] = old + below;
  }
  __syncthreads();
  u32 s = 0;
#pragma unroll
  for (int i = 0; i < 8; i++) s += cnt[i][t];
  hist[t * gridDim.x + blockIdx.x] = s;
}

K_ merge_path_8(const u32* a, const u32* b, u32* out, int na, int nb) {
  int d = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (d >= na + nb) return;
  int lo = max(0, d - nb), hi = min(d, na);
  while (lo < hi) { int mid = (lo + hi) >> 1; if (a[mid] <= b[d - 1 - mid]) lo = mid + 1; else hi = mid; }
  int i = lo, j = d - lo;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    bool ta = j >= nb || (i < na && a[i] <= b[j]);
    if (d + k < na + nb) out[d + k] = ta ? a[i] : b[j];
    if (ta) i++; else j++;
    if (i > na) i = na;
  }
}

// MoE-like gate: the 8 largest of 512 logits, one warp each row
K_ __launch_bounds__(128) topk8_warp(const float* x, float* val, u32* idx, int rows) {
  int row = (blockIdx.x * 128 + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (row >= rows) return;
  float v[16];
#pragma unroll
  for (int i = 0; i < 16; i++) v[i] = x[row * 512 + i * 32 + lane];
  for (int k = 0; k < 8; k++) {
    float b = v[0]; int bi = 0;
#pragma unroll
    for (int i = 1; i < 16; i++) if (v[i] > b) { b = v[i]; bi = i; }
    int id = bi * 32 + lane;
#pragma unroll
    for (int o = 16; o; o >>= 1) {
      float ob = __shfl_xor_sync(FULL, b, o); int oi = __shfl_xor_sync(FULL, id, o);
      if (ob > b || (ob == b && oi < id)) { b = ob; id = oi; }
    }
    int sel = (id & 31) == lane ? id >> 5 : -1;
#pragma unroll
    for (int i = 0; i < 16; i++) v[i] = i == sel ? -3e38f : v[i];
    if (lane == 0) { val[row * 8 + k] = b; idx[row * 8 + k] = id; }
  }
}

// ---------------------------------------------------------------- hashing and random numbers
K_ rng_philox_normal(float4* out, int rounds_per_thread, u32 seed) {
  int g = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (int r = 0; r < rounds_per_thread; r++) {
    u32 c0 = g, c1 = r, c2 = 0x1234u, c3 = 0, k0 = seed, k1 = ~seed;
#pragma unroll
    for (int i = 0; i < 10; i++) {
      u32 h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
      c0 = h1 ^ c1 ^ k0; c1 = l1; c2 = h0 ^ c3 ^ k1; c3 = l0;
      k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
    float u0 = (c0 + 1.f) * 2.3283064e-10f, u1 = c1 * 2.3283064e-10f, u2 = (c2 + 1.f) * 2.3283064e-10f, u3 = c3 * 2.3283064e-10f;
    float r0 = sqrtf(-2.f * __logf(u0)), r1 = sqrtf(-2.f * __logf(u2)), a0 = 6.2831853f * u1, a1 = 6.2831853f * u3;
    out[r * n + g] = make_float4(r0 * __cosf(a0), r0 * __sinf(a0), r1 * __cosf(a1), r1 * __sinf(a1));
  }
}

K_ hash_murmur3_rec16(const uint4* rec, u32* out, int n, u32 seed) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= n) return;
  uint4 r = rec[g]; u32 k[4] = {r.x, r.y, r.z, r.w}, h = seed;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    u32 x = k[i] * 0xcc9e2d51u; x = __funnelshift_l(x, x, 15); x *= 0x1b873593u;
    h ^= x; h = __funnelshift_l(h, h, 13); h = h * 5 + 0xe6546b64u;
  }
  out[g] = mix32(h ^ 16u);
}

#define RR(x, n) __funnelshift_r(x, x, n)
K_ __launch_bounds__(128) hash_sha256_block(const u32* msg, u32* out, int n) {
  const u32 KK[64] = {
    0x428a2f98,0x71374491,0xb5c0fbcf,0xe9b5dba5,0x3956c25b,0x59f111f1,0x923f82a4,0xab1c5ed5,0xd807aa98,0x12835b01,0x243185be,0x550c7dc3,0x72be5d74,0x80deb1fe,0x9bdc06a7,0xc19bf174,
    0xe49b69c1,0xefbe4786,0x0fc19dc6,0x240ca1cc,0x2de92c6f,0x4a7484aa,0x5cb0a9dc,0x76f988da,0x983e5152,0xa831c66d,0xb00327c8,0xbf597fc7,0xc6e00bf3,0xd5a79147,0x06ca6351,0x14292967,
    0x27b70a85,0x2e1b2138,0x4d2c6dfc,0x53380d13,0x650a7354,0x766a0abb,0x81c2c92e,0x92722c85,0xa2bfe8a1,0xa81a664b,0xc24b8b70,0xc76c51a3,0xd192e819,0xd6990624,0xf40e3585,0x106aa070,
    0x19a4c116,0x1e376c08,0x2748774c,0x34b0bcb5,0x391c0cb3,0x4ed8aa4a,0x5b9cca4f,0x682e6ff3,0x748f82ee,0x78a5636f,0x84c87814,0x8cc70208,0x90befffa,0xa4506ceb,0xbef9a3f7,0xc67178f2};
  int g = blockIdx.x * 128 + threadIdx.x;
  if (g >= n) return;
  u32 w[16];
#pragma unroll
  for (int i = 0; i < 4; i++) { uint4 v = ((const uint4*)msg)[g * 4 + i]; w[i * 4] = v.x; w[i * 4 + 1] = v.y; w[i * 4 + 2] = v.z; w[i * 4 + 3] = v.w; }
#pragma unroll
  for (int i = 0; i < 16; i++) w[i] = __byte_perm(w[i], 0, 0x0123);
  u32 a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a, e = 0x510e527f, f = 0x9b05688c, gg = 0x1f83d9ab, h = 0x5be0cd19;
#pragma unroll
  for (int i = 0; i < 64; i++) {
    if (i >= 16) {
      u32 x = w[(i + 1) & 15], y = w[(i + 14) & 15];
      w[i & 15] += (RR(x, 7) ^ RR(x, 18) ^ (x >> 3)) + w[(i + 9) & 15] + (RR(y, 17) ^ RR(y, 19) ^ (y >> 10));
    }
    u32 t1 = h + (RR(e, 6) ^ RR(e, 11) ^ RR(e, 25)) + ((e & f) ^ (~e & gg)) + KK[i] + w[i & 15];
    u32 t2 = (RR(a, 2) ^ RR(a, 13) ^ RR(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = gg; gg = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
  }
  uint4* o = (uint4*)out + g * 2;
  o[0] = make_uint4(a + 0x6a09e667, b + 0xbb67ae85, c + 0x3c6ef372, d + 0xa54ff53a);
  o[1] = make_uint4(e + 0x510e527f, f + 0x9b05688c, gg + 0x1f83d9ab, h + 0x5be0cd19);
}

#define R64(x, n) (((x) << (n)) | ((x) >> (64 - (n))))
#define SIPR { v0 += v1; v1 = R64(v1, 13); v1 ^= v0; v0 = R64(v0, 32); v2 += v3; v3 = R64(v3, 16); v3 ^= v2; v0 += v3; v3 = R64(v3, 21); v3 ^= v0; v2 += v1; v1 = R64(v1, 17); v1 ^= v2; v2 = R64(v2, 32); }
K_ hash_siphash24(const u64* data, u64* out, int words, int n, u32 key) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= n) return;
  u64 k0 = key * 0x9E3779B97F4A7C15ull, k1 = ~k0;
  u64 v0 = k0 ^ 0x736f6d6570736575ull, v1 = k1 ^ 0x646f72616e646f6dull, v2 = k0 ^ 0x6c7967656e657261ull, v3 = k1 ^ 0x7465646279746573ull;
  for (int i = 0; i < words; i++) { u64 m = data[(u32)g * words + i]; v3 ^= m; SIPR SIPR v0 ^= m; }
  u64 m = (u64)(words * 8) << 56; v3 ^= m; SIPR SIPR v0 ^= m; v2 ^= 0xff; SIPR SIPR SIPR SIPR
  out[g] = v0 ^ v1 ^ v2 ^ v3;
}

K_ rng_xorwow_pi(u32* hits, int iters, u32 seed) {
  u32 g = blockIdx.x * blockDim.x + threadIdx.x;
  u32 x = mix32(g + seed), y = mix32(x + 1), z = mix32(y + 2), w = mix32(z + 3), v = mix32(w + 4), d = 6615241u, c = 0;
  for (int i = 0; i < iters; i++) {
    u32 t = x ^ (x >> 2); x = y; y = z; z = w; w = v; v = (v ^ (v << 4)) ^ (t ^ (t << 1)); d += 362437u; float a = (float)((d + v) >> 8) * 5.9604645e-8f;
    t = x ^ (x >> 2); x = y; y = z; z = w; w = v; v = (v ^ (v << 4)) ^ (t ^ (t << 1)); d += 362437u; float b = (float)((d + v) >> 8) * 5.9604645e-8f;
    c += (a * a + b * b) < 1.f;
  }
  c = __reduce_add_sync(FULL, c);
  if ((threadIdx.x & 31) == 0) atomicAdd(hits, c);
}

// ---------------------------------------------------------------- integers
K_ int_modpow_u64(const u32* base, const u32* ex, const u32* mod, u32* out, int bits, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= n) return;
  u64 m = mod[g] | 1u, b = base[g] % m, r = 1; u32 e = ex[g];
  for (int i = 0; i < bits; i++) { if ((e >> i) & 1) r = r * b % m; b = b * b % m; }
  out[g] = (u32)r;
}

K_ int_montgomery_chain(const u64* a, const u64* m, u64* out, int iters, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= n) return;
  u64 mod = (m[g] | 1ull) >> 1 | 1ull, x = a[g] % mod, inv = mod;
#pragma unroll
  for (int i = 0; i < 5; i++) inv *= 2 - mod * inv;
  inv = 0 - inv;
  u64 y = x;
  for (int i = 0; i < iters; i++) {
    u64 lo = x * y, hi = __umul64hi(x, y), q = lo * inv;
    u64 t = hi + __umul64hi(q, mod) + (lo != 0);
    if (t >= mod) t -= mod;
    x = y; y = t;
  }
  out[g] = y;
}

K_ int_binary_gcd(const u32* a, const u32* b, u32* out, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= n) return;
  u32 x = a[g] | 1u, y = b[g];
  while (y) { y >>= __ffs(y) - 1; if (x > y) { u32 t = x; x = y; y = t; } y -= x; }
  out[g] = x;
}

K_ __launch_bounds__(256) int_mul256(const u32* a, const u32* b, u32* out, int n) {
  int g = blockIdx.x * 256 + threadIdx.x;
  if (g >= n) return;
  u32 x[8], y[8], r[16] = {};
#pragma unroll
  for (int i = 0; i < 8; i++) { x[i] = a[i * n + g]; y[i] = b[i * n + g]; }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    u64 c = 0;
#pragma unroll
    for (int j = 0; j < 8; j++) { c += (u64)x[i] * y[j] + r[i + j]; r[i + j] = (u32)c; c >>= 32; }
    r[i + 8] = (u32)c;
  }
#pragma unroll
  for (int i = 0; i < 16; i++) out[i * n + g] = r[i];
}

K_ int_hamming_nearest(const uint4* sig, const uint4* cand, u32* best, int ncand) {
  __shared__ uint4 c[64];
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 s = sig[g]; u32 b = 0xffffffffu;
  for (int k0 = 0; k0 < ncand; k0 += 64) {
    __syncthreads();
    if (threadIdx.x < 64) c[threadIdx.x] = cand[k0 + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < 64; k++) {
      uint4 q = c[k];
      u32 d = __popc(s.x ^ q.x) + __popc(s.y ^ q.y) + __popc(s.z ^ q.z) + __popc(s.w ^ q.w);
      b = min(b, (d << 16) | (u32)(k0 + k));
    }
  }
  best[g] = b;
}

// ---------------------------------------------------------------- double precision
K_ __launch_bounds__(256) dp_gemm_tiled(const double* A, const double* B, double* C, int N, int K) {
  __shared__ double As[16][34], Bs[16][34];
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx, m0 = blockIdx.y * 32, n0 = blockIdx.x * 32;
  double c00 = 0, c01 = 0, c10 = 0, c11 = 0;
  for (int k0 = 0; k0 < K; k0 += 16) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int e = t + i * 256;
      As[e & 15][e >> 4] = A[(m0 + (e >> 4)) * K + k0 + (e & 15)];
      Bs[e >> 5][e & 31] = B[(k0 + (e >> 5)) * N + n0 + (e & 31)];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; k++) {
      double a0 = As[k][ty], a1 = As[k][ty + 16], b0 = Bs[k][tx], b1 = Bs[k][tx + 16];
      c00 += a0 * b0; c01 += a0 * b1; c10 += a1 * b0; c11 += a1 * b1;
    }
    __syncthreads();
  }
  C[(m0 + ty) * N + n0 + tx] = c00; C[(m0 + ty) * N + n0 + tx + 16] = c01;
  C[(m0 + ty + 16) * N + n0 + tx] = c10; C[(m0 + ty + 16) * N + n0 + tx + 16] = c11;
}

K_ dp_gravity(const double* px, const double* py, const double* pz, const double* mass, double* acc, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= n) return;
  double x = px[g], y = py[g], z = pz[g], ax = 0, ay = 0, az = 0;
#pragma unroll 4
  for (int j = 0; j < n; j++) {
    double dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
    double r2 = dx * dx + dy * dy + dz * dz + 1e-6, ri = 1.0 / sqrt(r2), f = mass[j] * ri * ri * ri;
    ax += f * dx; ay += f * dy; az += f * dz;
  }
  acc[g] = ax; acc[n + g] = ay; acc[2 * n + g] = az;
}

K_ dp_rk4_lorenz(const double* init, double* out, int steps, int n, float dtf) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= n) return;
  double x = init[g], y = init[n + g], z = init[2 * n + g], dt = dtf;
#define LZ(X, Y, Z, a, b, c) double a = 10.0 * ((Y) - (X)), b = (X) * (28.0 - (Z)) - (Y), c = (X) * (Y) - (8.0 / 3.0) * (Z);
  for (int s = 0; s < steps; s++) {
    LZ(x, y, z, a1, b1, c1)
    double h = 0.5 * dt, x2 = x + h * a1, y2 = y + h * b1, z2 = z + h * c1;
    LZ(x2, y2, z2, a2, b2, c2)
    double x3 = x + h * a2, y3 = y + h * b2, z3 = z + h * c2;
    LZ(x3, y3, z3, a3, b3, c3)
    double x4 = x + dt * a3, y4 = y + dt * b3, z4 = z + dt * c3;
    LZ(x4, y4, z4, a4, b4, c4)
    double w = dt / 6.0;
    x += w * (a1 + 2 * (a2 + a3) + a4); y += w * (b1 + 2 * (b2 + b3) + b4); z += w * (c1 + 2 * (c2 + c3) + c4);
  }
  out[g] = x; out[n + g] = y; out[2 * n + g] = z;
}

K_ dp_dot_compensated(const double* a, const double* b, double* part, int n) {
  __shared__ double ss[8], sc[8];
  double s = 0, c = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    double x = a[i], y = b[i], p = __dmul_rn(x, y), e = __fma_rn(x, y, -p);
    double t = __dadd_rn(s, p), z = __dsub_rn(t, s);
    c = __dadd_rn(c, __dadd_rn(e, __dadd_rn(__dsub_rn(s, __dsub_rn(t, z)), __dsub_rn(p, z))));
    s = t;
  }
#pragma unroll
  for (int o = 16; o; o >>= 1) {
    double q = __shfl_xor_sync(FULL, s, o), d = __shfl_xor_sync(FULL, c, o), t = __dadd_rn(s, q), z = __dsub_rn(t, s);
    c += d + __dadd_rn(__dsub_rn(s, __dsub_rn(t, z)), __dsub_rn(q, z)); s = t;
  }
  int w = threadIdx.x >> 5;
  if ((threadIdx.x & 31) == 0) { ss[w] = s; sc[w] = c; }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 8; i++) { s += ss[i]; c += sc[i]; }
    part[blockIdx.x * 2] = s; part[blockIdx.x * 2 + 1] = c;
  }
}

// ---------------------------------------------------------------- images and stencils
K_ __launch_bounds__(256) img_gauss5_separable(const float* in, float* out, int W, int H) {
  __shared__ float s[12][36], h[12][33];
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * 32 + tx, x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
  for (int e = t; e < 12 * 36; e += 256) {
    int r = e / 36, c = e - r * 36;
    s[r][c] = in[min(max(y0 + r - 2, 0), H - 1) * W + min(max(x0 + c - 2, 0), W - 1)];
  }
  __syncthreads();
  for (int r = ty; r < 12; r += 8)
    h[r][tx] = 0.0625f * (s[r][tx] + s[r][tx + 4]) + 0.25f * (s[r][tx + 1] + s[r][tx + 3]) + 0.375f * s[r][tx + 2];
  __syncthreads();
  int x = x0 + tx, y = y0 + ty;
  if (x < W && y < H)
    out[y * W + x] = 0.0625f * (h[ty][tx] + h[ty + 4][tx]) + 0.25f * (h[ty + 1][tx] + h[ty + 3][tx]) + 0.375f * h[ty + 2][tx];
}

K_ img_sobel_u8x4(const u32* in, u32* out, int W4, int H) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= W4 || y >= H) return;
  int v[3][6];
#pragma unroll
  for (int r = 0; r < 3; r++) {
    int yy = min(max(y + r - 1, 0), H - 1) * W4;
    u32 l = in[yy + max(x - 1, 0)], m = in[yy + x], q = in[yy + min(x + 1, W4 - 1)];
    v[r][0] = l >> 24; v[r][5] = q & 255;
#pragma unroll
    for (int k = 0; k < 4; k++) v[r][k + 1] = (m >> (8 * k)) & 255;
  }
  u32 o = 0;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    int gx = v[0][k + 2] - v[0][k] + 2 * (v[1][k + 2] - v[1][k]) + v[2][k + 2] - v[2][k];
    int gy = v[2][k] + 2 * v[2][k + 1] + v[2][k + 2] - v[0][k] - 2 * v[0][k + 1] - v[0][k + 2];
    o |= (u32)min(abs(gx) + abs(gy), 255) << (8 * k);
  }
  out[y * W4 + x] = o;
}

K_ stencil_jacobi3d_7pt(const float* in, float* out, int nx, int ny, int nz, float c0, float c1) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  int p = nx * ny, i = y * nx + x;
  float dn = in[i], cu = in[i + p];
  for (int z = 1; z < nz - 1; z++) {
    i += p;
    float up = in[i + p];
    out[i] = c0 * cu + c1 * (dn + up + in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx]);
    dn = cu; cu = up;
  }
}

#define MM(a, b) { float q = fminf(a, b); b = fmaxf(a, b); a = q; }
K_ img_median3x3(const float* in, float* out, int W, int H) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= W || y >= H) return;
  float v[9];
#pragma unroll
  for (int r = 0; r < 3; r++)
#pragma unroll
    for (int c = 0; c < 3; c++) v[r * 3 + c] = in[min(max(y + r - 1, 0), H - 1) * W + min(max(x + c - 1, 0), W - 1)];
  MM(v[1], v[2]) MM(v[4], v[5]) MM(v[7], v[8]) MM(v[0], v[1]) MM(v[3], v[4]) MM(v[6], v[7])
  MM(v[1], v[2]) MM(v[4], v[5]) MM(v[7], v[8]) MM(v[0], v[3]) MM(v[5], v[8]) MM(v[4], v[7])
  MM(v[3], v[6]) MM(v[1], v[4]) MM(v[2], v[5]) MM(v[4], v[7]) MM(v[4], v[2]) MM(v[6], v[4]) MM(v[4], v[2])
  out[y * W + x] = v[4];
}

K_ img_bilateral(const float* in, float* out, int W, int H, int R, float is2, float ir2) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= W || y >= H) return;
  float c = in[y * W + x], s = 0.f, n = 0.f;
  for (int dy = -R; dy <= R; dy++)
    for (int dx = -R; dx <= R; dx++) {
      float v = in[min(max(y + dy, 0), H - 1) * W + min(max(x + dx, 0), W - 1)], d = v - c;
      float w = __expf(-(float)(dx * dx + dy * dy) * is2 - d * d * ir2);
      s += w * v; n += w;
    }
  out[y * W + x] = s / n;
}

// 4 heat steps within one shared tile of 32x32, 24x24 kept
K_ __launch_bounds__(1024) stencil_heat2d_tblock(const float* in, float* out, int W, int H, float k) {
  __shared__ float s[2][32][33];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 24 + tx - 4, y = blockIdx.y * 24 + ty - 4;
  bool inside = x >= 0 && y >= 0 && x < W && y < H;
  s[0][ty][tx] = inside ? in[y * W + x] : 0.f;
  s[1][ty][tx] = 0.f;
  __syncthreads();
#pragma unroll
  for (int t = 0; t < 4; t++) {
    int a = t & 1;
    if (tx > t && tx < 31 - t && ty > t && ty < 31 - t) {
      float c = s[a][ty][tx];
      s[a ^ 1][ty][tx] = inside ? c + k * (s[a][ty - 1][tx] + s[a][ty + 1][tx] + s[a][ty][tx - 1] + s[a][ty][tx + 1] - 4.f * c) : 0.f;
    }
    __syncthreads();
  }
  if (inside && tx >= 4 && tx < 28 && ty >= 4 && ty < 28) out[y * W + x] = s[0][ty][tx];
}

// ---------------------------------------------------------------- irregular memory
K_ __launch_bounds__(256) sparse_spmv_csr_vec8(const u32* rowptr, const u32* col, const float* val, const float* x, float* y, int rows) {
  int g = blockIdx.x * 256 + threadIdx.x, row = g >> 3, l = g & 7;
  float s = 0.f;
  if (row < rows) {
    u32 e = rowptr[row + 1];
    for (u32 i = rowptr[row] + l; i < e; i += 8) s += val[i] * x[col[i]];
  }
#pragma unroll
  for (int o = 4; o; o >>= 1) s += __shfl_xor_sync(FULL, s, o);
  if (row < rows && l == 0) y[row] = s;
}

K_ graph_pagerank_pull(const u32* rowptr, const u32* src, const float* rank, const float* outdeg, float* next, int n, float damp) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  u32 e = rowptr[v + 1]; float s = 0.f;
  for (u32 i = rowptr[v]; i < e; i++) { u32 u = src[i]; s += __fdividef(rank[u], outdeg[u] + 1.f); }
  next[v] = (1.f - damp) / n + damp * s;
}

// state 0: not seen, 1: in the frontier, others: seen before
K_ graph_bfs_level(const u32* rowptr, const u32* col, const u32* state, u32* next, u32* parents_hint, int n, u32 level) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || state[v] != 1u) return;
  u32 e = rowptr[v + 1];
  for (u32 i = rowptr[v]; i < e; i++) {
    u32 w = col[i];
    if (state[w] == 0u) { next[w] = level; atomicMax(&parents_hint[w], (u32)v + 1); }
  }
}

K_ table_probe_linear(const u32* table, const u32* keys, u32* out, u32 mask, int maxprobe, int n) {
  int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= n) return;
  u32 k = keys[g], q = 1 + k % 5u, h = mix32(k), r = 0xffffffffu;
  for (int i = 0; i < maxprobe; i++) {
    u32 s = (h + i) & mask, t = table[s];
    if (t == q) { r = s; break; }
    if (t == 0) break;
  }
  out[g] = r;
}

K_ __launch_bounds__(192) tree_forest_infer(const float* feat, const u32* nfeat, const float* nthr, const float* leaf, float* out, int trees, int depth, int n) {
  int g = blockIdx.x * 192 + threadIdx.x;
  if (g >= n) return;
  float s = 0.f; int nodes = 1 << depth;
  for (int t = 0; t < trees; t++) {
    u32 k = 1;
    for (int d = 0; d < depth; d++) { u32 i = t * nodes + k; k = 2 * k + (feat[g * 32 + nfeat[i]] > nthr[i]); }
    s += leaf[t * nodes + k - nodes];
  }
  out[g] = s;
}

K_ gather_embedding_bag(const float4* table, const u32* idx, const u32* offs, float4* out, int bags) {
  int b = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
  if (b >= bags) return;
  u32 s = offs[b], e = offs[b + 1];
  float4 a = make_float4(0, 0, 0, 0);
#pragma unroll 2
  for (u32 i = s; i < e; i++) { float4 v = table[idx[i] * 32 + lane]; a.x += v.x; a.y += v.y; a.z += v.z; a.w += v.w; }
  float f = 1.f / (float)max(e - s, 1u);
  out[b * 32 + lane] = make_float4(a.x * f, a.y * f, a.z * f, a.w * f);
}

// ---------------------------------------------------------------- physics and finance
DI float cnd(float d) {
  float k = 1.f / (1.f + 0.2316419f * fabsf(d));
  float c = 0.39894228f * __expf(-0.5f * d * d) * (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0.f ? 1.f - c : c;
}
K_ fin_black_scholes(const float* S, const float* X, const float* T, float* call, float* put, int n, float r, float v) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float s = 5.f + 25.f * S[i], x = 1.f + 99.f * X[i], t = 0.25f + 9.75f * T[i];
    float q = sqrtf(t), d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * q), d2 = d1 - v * q;
    float n1 = cnd(d1), n2 = cnd(d2), e = __expf(-r * t);
    call[i] = s * n1 - x * e * n2;
    put[i] = x * e * (1.f - n2) - s * (1.f - n1);
  }
}

K_ __launch_bounds__(64) phys_nbody_tiled(const float4* pos, float4* acc, int n, float eps2) {
  __shared__ float4 s[64];
  int g = blockIdx.x * 64 + threadIdx.x;
  float4 p = pos[g]; float ax = 0.f, ay = 0.f, az = 0.f;
  for (int j0 = 0; j0 < n; j0 += 64) {
    s[threadIdx.x] = pos[j0 + threadIdx.x];
    __syncthreads();
#pragma unroll 16
    for (int j = 0; j < 64; j++) {
      float4 q = s[j];
      float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z, r = rsqrtf(dx * dx + dy * dy + dz * dz + eps2), f = q.w * r * r * r;
      ax += f * dx; ay += f * dy; az += f * dz;
    }
    __syncthreads();
  }
  acc[g] = make_float4(ax, ay, az, 0.f);
}

// American put by a binomial tree, a block each option, 256 leaves
K_ fin_binomial_american(const float* S, const float* X, float* out, int steps, float dt, float r, float vol) {
  __shared__ float v[2][257];
  int t = threadIdx.x;
  float s0 = 50.f + 50.f * S[blockIdx.x], k = 50.f + 50.f * X[blockIdx.x];
  float sq = vol * sqrtf(dt), u = expf(sq), d = 1.f / u, df = expf(-r * dt), p = (1.f / df - d) / (u - d);
  float pu = p * df, pd = (1.f - p) * df, price = s0 * expf(sq * (2 * t - steps));
  v[0][t] = fmaxf(k - price, 0.f);
  if (t == 0) { v[0][256] = 0.f; v[1][256] = 0.f; }
  __syncthreads();
  int a = 0;
  for (int i = steps - 1; i >= 0; i--) {
    price *= u;
    if (t <= i) v[a ^ 1][t] = fmaxf(pu * v[a][t + 1] + pd * v[a][t], k - price);
    __syncthreads();
    a ^= 1;
  }
  if (t == 0) out[blockIdx.x] = v[a][0];
}

K_ __launch_bounds__(128) phys_lbm_d2q9(const float* f, float* o, int W, int H, float omega) {
  int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y, n = W * H;
  if (x >= W) return;
  int xm = x ? x - 1 : W - 1, xp = x + 1 < W ? x + 1 : 0, ym = y ? y - 1 : H - 1, yp = y + 1 < H ? y + 1 : 0;
  float q[9];
  q[0] = f[y * W + x]; q[1] = f[n + y * W + xm]; q[2] = f[2 * n + ym * W + x]; q[3] = f[3 * n + y * W + xp]; q[4] = f[4 * n + yp * W + x];
  q[5] = f[5 * n + ym * W + xm]; q[6] = f[6 * n + ym * W + xp]; q[7] = f[7 * n + yp * W + xp]; q[8] = f[8 * n + yp * W + xm];
  float rho = 0.f;
#pragma unroll
  for (int i = 0; i < 9; i++) rho += q[i];
  float ir = 1.f / (rho + 1e-6f), ux = (q[1] + q[5] + q[8] - q[3] - q[6] - q[7]) * ir, uy = (q[2] + q[5] + q[6] - q[4] - q[7] - q[8]) * ir;
  float uu = 1.5f * (ux * ux + uy * uy);
  const float cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
#pragma unroll
  for (int i = 0; i < 9; i++) {
    float w = i == 0 ? 4.f / 9.f : (i < 5 ? 1.f / 9.f : 1.f / 36.f), cu = 3.f * (cx[i] * ux + cy[i] * uy);
    o[i * n + y * W + x] = q[i] + omega * (w * rho * (1.f + cu + 0.5f * cu * cu - uu) - q[i]);
  }
}

// ---------------------------------------------------------------- strings and bytes
// a warp each pair: pattern of 32 letters in the lanes, the text goes through by shuffles
K_ __launch_bounds__(32) str_levenshtein_warp(const u32* pat, const u32* text, u32* out, int len) {
  int lane = threadIdx.x, b = blockIdx.x;
  u32 pc = pat[b * 32 + lane], tc = 0;
  int left = lane + 1, cur = lane + 1, diagv = lane;
  for (int s = 0; s < len + 31; s++) {
    u32 in = tc; tc = __shfl_up_sync(FULL, in, 1);
    if (lane == 0) tc = s < len ? text[b * len + s] : 0xffu;
    int j = s - lane, up = __shfl_up_sync(FULL, cur, 1);
    if (lane == 0) up = j + 1;
    if (j >= 0 && j < len) {
      cur = min(min(left, up) + 1, diagv + (pc != tc));
      left = cur; diagv = up;
    }
  }
  if (lane == 31) out[b] = cur;
}

K_ __launch_bounds__(256) bytes_crc32_table(const u32* data, u32* out, int words, int n) {
  __shared__ u32 T[256];
  u32 c = threadIdx.x;
#pragma unroll
  for (int i = 0; i < 8; i++) c = (c >> 1) ^ ((c & 1) ? 0xEDB88320u : 0u);
  T[threadIdx.x] = c;
  __syncthreads();
  int g = blockIdx.x * 256 + threadIdx.x;
  if (g >= n) return;
  u32 r = 0xffffffffu;
  for (int i = 0; i < words; i++) {
    r ^= data[i * n + g];
#pragma unroll
    for (int k = 0; k < 4; k++) r = (r >> 8) ^ T[r & 255];
  }
  out[g] = ~r;
}

// run-length coding of 1024 symbols a block
K_ pack_rle_block(const u32* in, u32* sym, u32* start, u32* nruns) {
  __shared__ u32 wsum_[8];
  __shared__ u32 s[1024];
  int t = threadIdx.x, lane = t & 31, w = t >> 5, b = blockIdx.x * 1024;
#pragma unroll
  for (int i = 0; i < 4; i++) s[t + i * 256] = in[b + t + i * 256];
  __syncthreads();
  u32 done = 0;
  for (int i = 0; i < 4; i++) {
    int p = i * 256 + t;
    bool head = p == 0 || s[p] != s[p - 1];
    u32 m = __ballot_sync(FULL, head);
    if (lane == 0) wsum_[w] = __popc(m);
    __syncthreads();
    u32 before = 0, all = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) { u32 c = wsum_[k]; all += c; if (k < w) before += c; }
    if (head) { u32 o = b + done + before + __popc(m & ((1u << lane) - 1)); sym[o] = s[p]; start[o] = p; }
    done += all;
    __syncthreads();
  }
  if (t == 0) nruns[blockIdx.x] = done;
}
