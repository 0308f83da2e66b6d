// Kernels of many kinds, written to be held back as a whole and recorded before the model saw any.
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>
#include <mma.h>
typedef unsigned u32;
typedef unsigned long long u64;
typedef unsigned char u8;
#define K(n) extern "C" __global__ void n
#define GID (blockIdx.x * blockDim.x + threadIdx.x)

// --- tensor cores
__device__ u32 smem(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void ldmatrix(u32* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(smem(p)));
}
__device__ void ldmatrix_t(u32* r, const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(smem(p)));
}
__device__ void mma_half(float* d, const u32* a, const u32* b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ void mma_byte(int* d, const u32* a, const u32* b) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// Tiles of 128 x 64, copied two steps ahead into three stages.
K(gemm_stages)(const half* a, const half* b, half* c, int n) {
  __shared__ __align__(16) half sa[3][128][40], sb[3][32][72];
  int t = threadIdx.x, lane = t % 32, row0 = blockIdx.y * 128, col0 = blockIdx.x * 64;
  int wr = t / 64 * 32, wc = t / 32 % 2 * 32;
  float acc[2][4][4] = {};
  auto fetch = [&](int stage, int k) {
    for (int i = t; i < 512; i += 256)
      __pipeline_memcpy_async(&sa[stage][i / 4][i % 4 * 8], &a[(row0 + i / 4) * n + k + i % 4 * 8], 16);
    __pipeline_memcpy_async(&sb[stage][t / 8][t % 8 * 8], &b[(k + t / 8) * n + col0 + t % 8 * 8], 16);
  };
  fetch(0, 0);
  __pipeline_commit();
  fetch(1, 32);
  __pipeline_commit();
  for (int s = 0; s < n / 32; s++) {
    __pipeline_wait_prior(1);
    __syncthreads();
    if (s + 2 < n / 32) fetch((s + 2) % 3, (s + 2) * 32);
    __pipeline_commit();
    half(*pa)[40] = sa[s % 3];
    half(*pb)[72] = sb[s % 3];
#pragma unroll
    for (int k = 0; k < 32; k += 16) {
      u32 fa[2][4], fb[2][4];
      for (int i = 0; i < 2; i++) {
        ldmatrix(fa[i], &pa[wr + i * 16 + lane % 16][k + lane / 16 * 8]);
        ldmatrix_t(fb[i], &pb[k + lane % 16][wc + i * 16 + lane / 16 * 8]);
      }
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) mma_half(acc[i][j], fa[i], &fb[j / 2][j % 2 * 2]);
    }
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++) {
      half* p = &c[(row0 + wr + i * 16 + lane / 4) * n + col0 + wc + j * 8 + lane % 4 * 2];
      *(half2*)p = __floats2half2_rn(acc[i][j][0], acc[i][j][1]);
      *(half2*)(p + 8 * n) = __floats2half2_rn(acc[i][j][2], acc[i][j][3]);
    }
}
// 3 x 3 convolution of 16 channels to 32; eight rows of 32 pixels in a block, one in a warp.
K(conv3x3_wmma)(const half* x, const half* w, half* y, int width, int height) {
  using namespace nvcuda::wmma;
  __shared__ __align__(32) half tile[10 * 34 * 16], taps[9 * 16 * 32];
  int t = threadIdx.x, x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
  for (int i = t; i < 10 * 34 * 2; i += 256) {
    int py = y0 + i / 68 - 1, px = x0 + i % 68 / 2 - 1;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (py >= 0 && px >= 0 && py < height && px < width) v = *(const uint4*)&x[(py * width + px) * 16 + i % 2 * 8];
    ((uint4*)tile)[i] = v;
  }
  for (int i = t; i < 9 * 64; i += 256) ((uint4*)taps)[i] = ((const uint4*)w)[i];
  __syncthreads();
  fragment<accumulator, 16, 16, 16, half> acc[2][2];
  for (int i = 0; i < 4; i++) fill_fragment(acc[i / 2][i % 2], __float2half(0));
  for (int k = 0; k < 9; k++) {
    fragment<matrix_a, 16, 16, 16, half, row_major> fa[2];
    fragment<matrix_b, 16, 16, 16, half, row_major> fb[2];
    for (int i = 0; i < 2; i++) {
      load_matrix_sync(fa[i], &tile[((t / 32 + k / 3) * 34 + i * 16 + k % 3) * 16], 16);
      load_matrix_sync(fb[i], &taps[k * 512 + i * 16], 32);
    }
    for (int i = 0; i < 4; i++) mma_sync(acc[i / 2][i % 2], fa[i / 2], fb[i % 2], acc[i / 2][i % 2]);
  }
  half* out = y + ((y0 + t / 32) * width + x0) * 32;
  for (int i = 0; i < 4; i++) store_matrix_sync(out + i / 2 * 512 + i % 2 * 16, acc[i / 2][i % 2], 32, mem_row_major);
}
// A layer of bytes: relu(x w^T * scale), tiles of 64 x 64.
K(linear_s8)(const u8* x, const u8* w, const float* scale, float* y, int n, int k) {
  __shared__ __align__(16) u8 sx[64][80], sw[64][80];
  int t = threadIdx.x, warp = t / 32, lane = t % 32, row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  int acc[8][4] = {};
  for (int k0 = 0; k0 < k; k0 += 64) {
    for (int i = t; i < 256; i += 128) {
      *(uint4*)&sx[i / 4][i % 4 * 16] = *(const uint4*)&x[(row0 + i / 4) * k + k0 + i % 4 * 16];
      *(uint4*)&sw[i / 4][i % 4 * 16] = *(const uint4*)&w[(col0 + i / 4) * k + k0 + i % 4 * 16];
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 64; kk += 32) {
      u32 fa[4], fb[2];
      int r = warp * 16 + lane / 4, q = kk + lane % 4 * 4;
      for (int i = 0; i < 4; i++) fa[i] = *(u32*)&sx[r + i % 2 * 8][q + i / 2 * 16];
#pragma unroll
      for (int j = 0; j < 8; j++) {
        for (int i = 0; i < 2; i++) fb[i] = *(u32*)&sw[j * 8 + lane / 4][q + i * 16];
        mma_byte(acc[j], fa, fb);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; j++) {
    int col = col0 + j * 8 + lane % 4 * 2;
    float2 s = *(const float2*)&scale[col];
    for (int h = 0; h < 2; h++) {
      float2 v = make_float2(fmaxf(acc[j][h * 2] * s.x, 0), fmaxf(acc[j][h * 2 + 1] * s.y, 0));
      *(float2*)&y[(row0 + warp * 16 + lane / 4 + h * 8) * n + col] = v;
    }
  }
}
// Causal attention of one head of 64: 64 queries a block, 16 a warp, 64 keys at a time.
K(flash_mma)(const half* q, const half* k, const half* v, half* o, int seq) {
  __shared__ __align__(16) half sk[64][72], sv[64][72];
  int t = threadIdx.x, warp = t / 32, lane = t % 32, first = blockIdx.x * 64 + warp * 16 + lane / 4;
  size_t head = (size_t)blockIdx.y * seq * 64;
  u32 fq[4][4];
  float out[8][4] = {}, m[2] = {-1e30f, -1e30f}, sum[2] = {};
  for (int i = 0; i < 16; i++)
    fq[i / 4][i % 4] = *(const u32*)&q[head + (first + i % 2 * 8) * 64 + i / 4 * 16 + i % 4 / 2 * 8 + lane % 4 * 2];
  for (int j0 = 0; j0 <= blockIdx.x * 64; j0 += 64) {
    __syncthreads();
    for (int i = t; i < 512; i += 128) {
      *(uint4*)&sk[i / 8][i % 8 * 8] = *(const uint4*)&k[head + (j0 + i / 8) * 64 + i % 8 * 8];
      *(uint4*)&sv[i / 8][i % 8 * 8] = *(const uint4*)&v[head + (j0 + i / 8) * 64 + i % 8 * 8];
    }
    __syncthreads();
    float s[8][4] = {};
#pragma unroll
    for (int d = 0; d < 4; d++)
#pragma unroll
      for (int j = 0; j < 4; j++) {
        u32 f[4];
        ldmatrix(f, &sk[j * 16 + lane % 8 + lane / 16 * 8][d * 16 + lane / 8 % 2 * 8]);
        mma_half(s[j * 2], fq[d], f);
        mma_half(s[j * 2 + 1], fq[d], f + 2);
      }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float top = m[h];
#pragma unroll
      for (int j = 0; j < 8; j++)
        for (int e = 0; e < 2; e++) {
          float& x = s[j][h * 2 + e];
          x = j0 + j * 8 + lane % 4 * 2 + e > first + h * 8 ? -1e30f : x * 0.18033688f;
          top = fmaxf(top, x);
        }
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
      float scale = exp2f(m[h] - top);
      m[h] = top;
      sum[h] *= scale;
#pragma unroll
      for (int j = 0; j < 8; j++)
        for (int e = 0; e < 2; e++) {
          out[j][h * 2 + e] *= scale;
          sum[h] += s[j][h * 2 + e] = exp2f(s[j][h * 2 + e] - top);
        }
    }
#pragma unroll
    for (int kk = 0; kk < 4; kk++) {
      u32 p[4];
      for (int i = 0; i < 4; i++) {
        half2 x = __floats2half2_rn(s[kk * 2 + i / 2][i % 2 * 2], s[kk * 2 + i / 2][i % 2 * 2 + 1]);
        p[i] = *(u32*)&x;
      }
#pragma unroll
      for (int j = 0; j < 4; j++) {
        u32 f[4];
        ldmatrix_t(f, &sv[kk * 16 + lane % 16][j * 16 + lane / 16 * 8]);
        mma_half(out[j * 2], p, f);
        mma_half(out[j * 2 + 1], p, f + 2);
      }
    }
  }
  for (int h = 0; h < 2; h++) {
    sum[h] += __shfl_xor_sync(~0u, sum[h], 1);
    sum[h] += __shfl_xor_sync(~0u, sum[h], 2);
    for (int j = 0; j < 8; j++)
      *(half2*)&o[head + (first + h * 8) * 64 + j * 8 + lane % 4 * 2] =
          __floats2half2_rn(out[j][h * 2] / sum[h], out[j][h * 2 + 1] / sum[h]);
  }
}
// A row of weights of four bits a warp: 32 columns share a scale.
K(gemv_q4)(const uint4* w, const half* scale, const float* x, float* y, int cols) {
  __shared__ float4 sx[1024];
  for (int i = threadIdx.x; i < cols / 4; i += 256) sx[i] = ((const float4*)x)[i];
  __syncthreads();
  int row = GID / 32, lane = threadIdx.x % 32;
  float total = 0;
  for (int g = lane; g < cols / 32; g += 32) {
    uint4 q = w[row * (cols / 32) + g];
    u32 words[4] = {q.x, q.y, q.z, q.w};
    float s = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float4 v = sx[g * 8 + i * 2 + h];
        u32 b = words[i] >> h * 16;
        s += ((int)(b & 15) - 8) * v.x + ((int)(b >> 4 & 15) - 8) * v.y;
        s += ((int)(b >> 8 & 15) - 8) * v.z + ((int)(b >> 12 & 15) - 8) * v.w;
      }
    total += s * __half2float(scale[row * (cols / 32) + g]);
  }
  for (int d = 16; d; d /= 2) total += __shfl_down_sync(~0u, total, d);
  if (lane == 0) y[row] = total;
}

// --- rows
__device__ float block_sum(float v, float* s) {
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  __syncthreads();
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0;
  for (int i = 0; i < blockDim.x / 32; i++) v += s[i];
  return v;
}
// Cross entropy of a row, maximum and sum in one pass.
K(xent_rows)(const float4* logits, const u32* label, float* loss, int n) {
  __shared__ float sm[8], ss[8];
  const float4* r = logits + blockIdx.x * (n / 4);
  float m = -1e30f, s = 0;
  for (int i = threadIdx.x; i < n / 4; i += 256) {
    float4 v = r[i];
    float top = fmaxf(fmaxf(m, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
    s = s * __expf(m - top) + __expf(v.x - top) + __expf(v.y - top) + __expf(v.z - top) + __expf(v.w - top);
    m = top;
  }
  for (int d = 16; d; d /= 2) {
    float m2 = __shfl_down_sync(~0u, m, d), s2 = __shfl_down_sync(~0u, s, d), top = fmaxf(m, m2);
    s = s * __expf(m - top) + s2 * __expf(m2 - top);
    m = top;
  }
  if (threadIdx.x % 32 == 0) {
    sm[threadIdx.x / 32] = m;
    ss[threadIdx.x / 32] = s;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 8; i++) {
      float top = fmaxf(m, sm[i]);
      s = s * __expf(m - top) + ss[i] * __expf(sm[i] - top);
      m = top;
    }
    loss[blockIdx.x] = logf(s) + m - ((const float*)r)[label[blockIdx.x]];
  }
}
// Gradient of a layer norm over rows of 1024.
K(norm_backward)(const float4* x, const float4* dy, const float4* gamma, float4* dx) {
  __shared__ float s[4];
  int t = threadIdx.x;
  float a[8], g[8];
  for (int i = 0; i < 2; i++) {
    int at = blockIdx.x * 256 + i * 128 + t;
    float4 v = x[at], d = dy[at], w = gamma[i * 128 + t];
    a[i * 4] = v.x, a[i * 4 + 1] = v.y, a[i * 4 + 2] = v.z, a[i * 4 + 3] = v.w;
    g[i * 4] = d.x * w.x, g[i * 4 + 1] = d.y * w.y, g[i * 4 + 2] = d.z * w.z, g[i * 4 + 3] = d.w * w.w;
  }
  float sum = 0, var = 0, sg = 0, sgx = 0;
  for (int i = 0; i < 8; i++) sum += a[i];
  float mean = block_sum(sum, s) / 1024;
  for (int i = 0; i < 8; i++) var += (a[i] - mean) * (a[i] - mean);
  float rstd = rsqrtf(block_sum(var, s) / 1024 + 1e-5f);
  for (int i = 0; i < 8; i++) {
    a[i] = (a[i] - mean) * rstd;
    sg += g[i];
    sgx += g[i] * a[i];
  }
  sg = block_sum(sg, s) / 1024;
  sgx = block_sum(sgx, s) / 1024;
  for (int i = 0; i < 8; i++) g[i] = (g[i] - sg - a[i] * sgx) * rstd;
  for (int i = 0; i < 2; i++)
    dx[blockIdx.x * 256 + i * 128 + t] = make_float4(g[i * 4], g[i * 4 + 1], g[i * 4 + 2], g[i * 4 + 3]);
}

// --- sorting, searching, hashing
// Batcher's odd-even merge sort of 1024 keys with their values.
K(merge_network)(const u32* key, u32* okey, u32* oval) {
  __shared__ u32 k[1024], v[1024];
  int t = threadIdx.x, base = blockIdx.x * 1024;
  for (int i = t; i < 1024; i += 512) {
    k[i] = key[base + i];
    v[i] = base + i;
  }
  auto order = [&](int a, int b) {
    if (k[a] > k[b] || (k[a] == k[b] && v[a] > v[b])) {
      u32 x = k[a], y = v[a];
      k[a] = k[b];
      v[a] = v[b];
      k[b] = x;
      v[b] = y;
    }
  };
  for (int size = 2; size <= 1024; size *= 2) {
    int stride = size / 2, offset = t & (stride - 1);
    __syncthreads();
    int p = 2 * t - (t & (stride - 1));
    order(p, p + stride);
    for (stride /= 2; stride; stride /= 2) {
      __syncthreads();
      p = 2 * t - (t & (stride - 1));
      if (offset >= stride) order(p - stride, p);
    }
  }
  __syncthreads();
  for (int i = t; i < 1024; i += 512) {
    okey[base + i] = k[i];
    oval[base + i] = v[i];
  }
}
// 1024 keys a block are ordered by four bits, one bit at a time; then their digits are counted.
K(radix_blocks)(const uint4* in, uint4* out, u32* counts, int shift) {
  __shared__ u32 keys[1024], sums[8], start[16];
  int t = threadIdx.x, lane = t % 32;
  uint4 q = in[GID];
  u32 k[4] = {q.x, q.y, q.z, q.w};
  for (int bit = shift; bit < shift + 4; bit++) {
    u32 zeros = 0, before = 0;
    for (int i = 0; i < 4; i++) zeros += ~k[i] >> bit & 1;
    u32 scan = zeros;
    for (int d = 1; d < 32; d *= 2) {
      u32 o = __shfl_up_sync(~0u, scan, d);
      if (lane >= d) scan += o;
    }
    if (lane == 31) sums[t / 32] = scan;
    __syncthreads();
    u32 all = 0;
    for (int i = 0; i < 8; i++) {
      if (i == t / 32) before = all;
      all += sums[i];
    }
    u32 zero_at = before + scan - zeros, one_at = all + t * 4 - zero_at;
    for (int i = 0; i < 4; i++) keys[k[i] >> bit & 1 ? one_at++ : zero_at++] = k[i];
    __syncthreads();
    uint4 next = ((uint4*)keys)[t];
    k[0] = next.x, k[1] = next.y, k[2] = next.z, k[3] = next.w;
    __syncthreads();
  }
  if (t < 16) start[t] = 0;
  __syncthreads();
  for (int i = 0; i < 4; i++) atomicAdd(&start[k[i] >> shift & 15], 1);
  __syncthreads();
  if (t < 16) counts[t * gridDim.x + blockIdx.x] = start[t];
  out[GID] = make_uint4(k[0], k[1], k[2], k[3]);
}
// CRC-32 of 64 bytes a thread, four tables.
K(crc_slices)(const uint4* msg, u32* out) {
  __shared__ u32 tab[4][256];
  u32 c = threadIdx.x;
  for (int i = 0; i < 8; i++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
  tab[0][threadIdx.x] = c;
  __syncthreads();
  for (int i = 1; i < 4; i++) {
    c = tab[0][c & 255] ^ c >> 8;
    tab[i][threadIdx.x] = c;
  }
  __syncthreads();
  c = ~0u;
  auto word = [&](u32 w) {
    c ^= w;
    c = tab[3][c & 255] ^ tab[2][c >> 8 & 255] ^ tab[1][c >> 16 & 255] ^ tab[0][c >> 24];
  };
  for (int i = 0; i < 4; i++) {
    uint4 m = msg[GID * 4 + i];
    word(m.x);
    word(m.y);
    word(m.z);
    word(m.w);
  }
  out[GID] = ~c;
}
__device__ u32 rotr(u32 x, int n) { return __funnelshift_r(x, x, n); }
// One block of BLAKE2s a thread.
K(blake2s)(const u32* msg, u32* out, int n) {
  constexpr u8 sigma[10][16] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
      {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
      {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
      {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
      {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
  constexpr u32 iv[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  u32 i = GID, m[16], v[16];
  if (i >= n) return;
#pragma unroll
  for (int j = 0; j < 16; j++) m[j] = msg[j * n + i];
#pragma unroll
  for (int j = 0; j < 8; j++) v[j] = v[j + 8] = iv[j];
  v[0] ^= 0x01010020;
  v[12] ^= 64;
  v[14] = ~v[14];
  auto mix = [&](int a, int b, int c, int d, u32 x, u32 y) {
    v[a] += v[b] + x;
    v[d] = rotr(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = rotr(v[b] ^ v[c], 12);
    v[a] += v[b] + y;
    v[d] = rotr(v[d] ^ v[a], 8);
    v[c] += v[d];
    v[b] = rotr(v[b] ^ v[c], 7);
  };
#pragma unroll
  for (int r = 0; r < 10; r++)
#pragma unroll
    for (int j = 0; j < 8; j++) {
      int d = j / 4, p = j % 4;
      mix(p, 4 + (p + d) % 4, 8 + (p + 2 * d) % 4, 12 + (p + 3 * d) % 4, m[sigma[r][2 * j]], m[sigma[r][2 * j + 1]]);
    }
#pragma unroll
  for (int j = 0; j < 8; j++) out[j * n + i] = iv[j] ^ (j ? 0 : 0x01010020) ^ v[j] ^ v[j + 8];
}
// Blocks join their part of two tables by a hash table in shared memory.
K(hash_join)(const u32* build, const u32* probe, u32* matches, int nb, int np) {
  __shared__ u32 slots[1024], found;
  for (int i = threadIdx.x; i < 1024; i += 256) slots[i] = ~0u;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < nb; i += 256) {
    u32 k = build[blockIdx.x * nb + i], at = k * 2654435761u >> 22;
    while (true) {
      u32 old = atomicCAS(&slots[at], ~0u, k);
      if (old == ~0u || old == k) break;
      at = (at + 1) & 1023;
    }
  }
  __syncthreads();
  u32 hits = 0;
  for (int i = threadIdx.x; i < np; i += 256) {
    u32 k = probe[blockIdx.x * np + i], at = k * 2654435761u >> 22, s;
    while ((s = slots[at]) != ~0u) {
      if (s == k) {
        hits++;
        break;
      }
      at = (at + 1) & 1023;
    }
  }
  hits = __reduce_add_sync(~0u, hits);
  if (threadIdx.x % 32 == 0) atomicAdd(&found, hits);
  __syncthreads();
  if (threadIdx.x == 0) matches[blockIdx.x] = found;
}
// An automaton of 16 states over 64 bytes a thread counts how often it accepts.
K(dfa_match)(const u32* rules, const uint4* text, u32* out) {
  __shared__ u8 next[16][256];
  for (int i = threadIdx.x; i < 1024; i += 256) ((u32*)next)[i] = rules[i] & 0x0f0f0f0f;
  __syncthreads();
  u32 state = 0, accepts = 0;
  for (int i = 0; i < 4; i++) {
    uint4 q = text[GID * 4 + i];
    u32 w[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int j = 0; j < 16; j++) {
      state = next[state][w[j / 4] >> j % 4 * 8 & 255];
      accepts += state == 15;
    }
  }
  out[GID] = accepts | state << 16;
}

// --- integers
__device__ u64 mont(u64 a, u64 b, u64 m, u64 inv) {
  u64 lo = a * b, hi = __umul64hi(a, b), q = __umul64hi(lo * inv, m), r = hi - q;
  return hi < q ? r + m : r;
}
// a^e mod m of 64 bits by Montgomery's products.
K(power_mod64)(const u32* a, u64* out, int n) {
  int i = GID;
  if (i >= n) return;
  u64 m = (u64)a[i] << 31 | 1ull << 62 | 1, base = (u64)a[i] * a[i] + 3, inv = m;
  for (int k = 0; k < 5; k++) inv *= 2 - m * inv;
  u64 one = -m % m;
  base %= m;
  for (int k = 0; k < 64; k++) base = base >= m - base ? base - (m - base) : base + base;
  u64 r = one;
  for (u32 e = a[(i + 1) % n]; e; e >>= 1) {
    if (e & 1) r = mont(r, base, m, inv);
    base = mont(base, base, m, inv);
  }
  out[i] = mont(r, 1, m, inv);
}
// Counts the ways to go on from four queens on a board of 12; the stack lies in shared memory.
K(queens)(u32* out) {
  __shared__ u32 left[9][128], col[9][128], dl[9][128], dr[9][128];
  int t = threadIdx.x, code = GID, full = 0xfff, d = 0;
  u32 c = 0, l = 0, r = 0, count = 0;
  bool ok = code < 20736;
  for (int k = 0; k < 4; k++) {
    u32 bit = 1u << code % 12;
    code /= 12;
    ok &= !((c | l | r) & bit);
    c |= bit;
    l = (l | bit) << 1;
    r = (r | bit) >> 1;
  }
  if (ok) {
    col[0][t] = c, dl[0][t] = l, dr[0][t] = r, left[0][t] = full & ~(c | l | r);
    while (d >= 0) {
      u32 free = left[d][t];
      if (!free) {
        d--;
        continue;
      }
      u32 bit = free & -free;
      left[d][t] = free ^ bit;
      if (d == 7) {
        count++;
        continue;
      }
      u32 c2 = col[d][t] | bit, l2 = (dl[d][t] | bit) << 1, r2 = (dr[d][t] | bit) >> 1;
      d++;
      col[d][t] = c2, dl[d][t] = l2, dr[d][t] = r2, left[d][t] = full & ~(c2 | l2 | r2);
    }
  }
  out[GID] = count;
}
// Product of matrices of signs, 32 in a word.
K(xnor_gemm)(const u32* a, const u32* b, int* c, int n, int words) {
  __shared__ u32 sa[32][33], sb[32][33];
  int x = threadIdx.x, y = threadIdx.y, s[2][2] = {};
  for (int k = 0; k < words; k += 32) {
    for (int i = y * 16 + x; i < 1024; i += 256) {
      sa[i / 32][i % 32] = a[(blockIdx.y * 32 + i / 32) * words + k + i % 32];
      sb[i / 32][i % 32] = b[(blockIdx.x * 32 + i / 32) * words + k + i % 32];
    }
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < 32; i++) {
      u32 p = sa[y][i], q = sa[y + 16][i], u = sb[x][i], v = sb[x + 16][i];
      s[0][0] += __popc(p ^ u);
      s[0][1] += __popc(p ^ v);
      s[1][0] += __popc(q ^ u);
      s[1][1] += __popc(q ^ v);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    c[(blockIdx.y * 32 + y + i / 2 * 16) * n + blockIdx.x * 32 + x + i % 2 * 16] = words * 32 - 2 * s[i / 2][i % 2];
}

// --- doubles
// R of a 4 x 4 matrix by Givens rotations.
K(givens_qr)(const double* a, double* out, int n) {
  int i = GID;
  double m[4][4];
#pragma unroll
  for (int k = 0; k < 16; k++) m[k / 4][k % 4] = a[k * n + i] - 0.5;
#pragma unroll
  for (int c = 0; c < 3; c++)
#pragma unroll
    for (int r = 3; r > c; r--) {
      double p = m[r - 1][c], q = m[r][c], h = sqrt(p * p + q * q), cs = p / h, sn = q / h;
#pragma unroll
      for (int k = c; k < 4; k++) {
        double u = m[r - 1][k], v = m[r][k];
        m[r - 1][k] = cs * u + sn * v;
        m[r][k] = cs * v - sn * u;
      }
    }
  int at = 0;
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int c = r; c < 4; c++) out[at++ * n + i] = m[r][c];
}
// Prices of options with their delta.
K(price_f64)(const double* spot, const double* vol, double* call, double* delta, int n) {
  int i = GID;
  if (i >= n) return;
  double s = 80 + 40 * spot[i], v = 0.1 + 0.3 * vol[n - 1 - i], k = 100, r = 0.03, t = 0.75;
  double sq = v * sqrt(t), d1 = (log(s / k) + (r + 0.5 * v * v) * t) / sq;
  double n1 = 0.5 * erfc(-d1 * 0.70710678118654752), n2 = 0.5 * erfc((sq - d1) * 0.70710678118654752);
  call[i] = s * n1 - k * exp(-r * t) * n2;
  delta[i] = n1;
}
// Tridiagonal systems of 1024 by cyclic reduction in shared memory.
K(tridiagonal)(const double* lower, const double* upper, const double* rhs, double* x) {
  __shared__ double a[1024], b[1024], c[1024], d[1024], y[1024];
  int t = threadIdx.x, base = blockIdx.x * 1024;
  for (int i = t; i < 1024; i += 256) {
    a[i] = i ? lower[i] : 0;
    b[i] = 4;
    c[i] = i < 1023 ? upper[i] : 0;
    d[i] = rhs[base + i];
  }
  for (int step = 1; step < 1024; step *= 2) {
    __syncthreads();
    for (int i = (t + 1) * 2 * step - 1; i < 1024; i += 512 * step) {
      int l = i - step, h = min(i + step, 1023);
      double p = a[i] / b[l], q = i + step < 1024 ? c[i] / b[h] : 0;
      b[i] -= c[l] * p + a[h] * q;
      d[i] -= d[l] * p + d[h] * q;
      a[i] = -a[l] * p;
      c[i] = -c[h] * q;
    }
  }
  if (t == 0) y[1023] = d[1023] / b[1023];
  for (int step = 512; step; step /= 2) {
    __syncthreads();
    for (int i = t * 2 * step + step - 1; i < 1024; i += 512 * step) {
      double v = d[i] - c[i] * y[i + step];
      if (i >= step) v -= a[i] * y[i - step];
      y[i] = v / b[i];
    }
  }
  __syncthreads();
  for (int i = t; i < 1024; i += 256) x[base + i] = y[i];
}

// --- transforms
__device__ float2 cmul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ float2 cadd(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 csub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
// One step of radix 4 of Stockham's transform of n points.
K(fft_radix4)(const float2* in, float2* out, int n, int p) {
  int i = GID, k = i & (p - 1);
  float2 v[4];
  for (int r = 0; r < 4; r++) {
    float2 w;
    sincospif(-0.5f * k * r / p, &w.y, &w.x);
    v[r] = cmul(in[i + r * (n / 4)], w);
  }
  float2 a = cadd(v[0], v[2]), b = csub(v[0], v[2]), c = cadd(v[1], v[3]), d = csub(v[1], v[3]);
  d = make_float2(d.y, -d.x);
  float2* o = out + ((i - k) << 2) + k;
  o[0] = cadd(a, c);
  o[p] = cadd(b, d);
  o[2 * p] = csub(a, c);
  o[3 * p] = csub(b, d);
}
// Walsh-Hadamard transform of rows of 1024.
K(hadamard)(const float4* in, float4* out) {
  __shared__ float s[1024];
  int t = threadIdx.x;
  float4 q = in[GID];
  float v[4] = {q.x + q.y + q.z + q.w, q.x - q.y + q.z - q.w, q.x + q.y - q.z - q.w, q.x - q.y - q.z + q.w};
  for (int d = 1; d < 32; d *= 2)
    for (int i = 0; i < 4; i++) {
      float o = __shfl_xor_sync(~0u, v[i], d);
      v[i] = t & d ? o - v[i] : v[i] + o;
    }
  for (int i = 0; i < 4; i++) s[i * 256 + t] = v[i];
  for (int d = 32; d < 256; d *= 2) {
    __syncthreads();
    for (int k = t; k < 512; k += 256) {
      int at = k / d * 2 * d + k % d;
      float a = s[at], b = s[at + d];
      s[at] = a + b;
      s[at + d] = a - b;
    }
  }
  __syncthreads();
  out[GID] = make_float4(s[t] / 32, s[256 + t] / 32, s[512 + t] / 32, s[768 + t] / 32);
}

// --- images, stencils
__device__ void cubic(float t, float* w) {
  w[0] = ((-0.5f * t + 1) * t - 0.5f) * t;
  w[1] = (1.5f * t - 2.5f) * t * t + 1;
  w[2] = ((-1.5f * t + 2) * t + 0.5f) * t;
  w[3] = (0.5f * t - 0.5f) * t * t;
}
// Enlarges an image of four channels by bicubic interpolation.
K(bicubic)(const uchar4* in, uchar4* out, int w, int h, int ow, float scale) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float fx = (x + 0.5f) * scale - 0.5f, fy = (y + 0.5f) * scale - 0.5f, wx[4], wy[4];
  int ix = floorf(fx), iy = floorf(fy);
  cubic(fx - ix, wx);
  cubic(fy - iy, wy);
  float r = 0.5f, g = 0.5f, b = 0.5f, a = 0.5f;
#pragma unroll
  for (int j = 0; j < 4; j++) {
    const uchar4* row = in + min(max(iy + j - 1, 0), h - 1) * w;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      uchar4 p = row[min(max(ix + i - 1, 0), w - 1)];
      float k = wx[i] * wy[j];
      r += k * p.x;
      g += k * p.y;
      b += k * p.z;
      a += k * p.w;
    }
  }
  auto byte = [](float v) { return (u8)fminf(fmaxf(v, 0), 255); };
  out[y * ow + x] = make_uchar4(byte(r), byte(g), byte(b), byte(a));
}
// Finds where a block of 16 x 16 pixels moved to: one of 256 shifts a thread.
K(motion_search)(const u32* cur, const u32* ref, u32* best, int pitch, int rows) {
  __shared__ u32 win[32][9], blk[16][4], least[8];
  int t = threadIdx.x, bx = blockIdx.x * 4, by = blockIdx.y * 16;
  for (int i = t; i < 32 * 9; i += 256) {
    int wx = min(max(bx - 2 + i % 9, 0), pitch - 1), wy = min(max(by - 8 + i / 9, 0), rows - 1);
    win[i / 9][i % 9] = ref[wy * pitch + wx];
  }
  if (t < 64) blk[t / 4][t % 4] = cur[(by + t / 4) * pitch + bx + t % 4];
  __syncthreads();
  int dx = t % 16, dy = t / 16;
  u32 sad = 0;
#pragma unroll 4
  for (int y = 0; y < 16; y++)
#pragma unroll
    for (int x = 0; x < 4; x++) {
      const u32* p = &win[dy + y][dx / 4 + x];
      sad += __vsadu4(__funnelshift_r(p[0], p[1], dx % 4 * 8), blk[y][x]);
    }
  u32 m = __reduce_min_sync(~0u, sad << 8 | t);
  if (t % 32 == 0) least[t / 32] = m;
  __syncthreads();
  if (t == 0) {
    for (int i = 1; i < 8; i++) m = min(m, least[i]);
    best[blockIdx.y * gridDim.x + blockIdx.x] = m;
  }
}
// How often grey levels lie beside each other: 64 x 64 counters a block.
K(cooccurrence)(const u32* image, u32* counts, int words, int shift) {
  __shared__ u32 h[4096];
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) h[i] = 0;
  __syncthreads();
  for (int i = GID; i < words; i += gridDim.x * blockDim.x) {
    u32 a = image[i], b = image[i + shift];
    for (int k = 0; k < 4; k++) {
      atomicAdd(&h[(a >> 2 & 63) << 6 | (b >> 2 & 63)], 1);
      a >>= 8;
      b >>= 8;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 4096; i += blockDim.x)
    if (h[i]) atomicAdd(&counts[i], h[i]);
}
// A wave of eighth order in space; planes go through registers.
K(wave25)(const float* now, float* next, int nx, int ny, int depth) {
  __shared__ float s[16][40];
  int tx = threadIdx.x, ty = threadIdx.y, plane = nx * ny;
  int at = (blockIdx.z * depth * ny + blockIdx.y * 8 + ty + 4) * nx + blockIdx.x * 32 + tx + 4;
  const float c[5] = {-2.847222f, 1.6f, -0.2f, 0.025397f, -0.001786f};
  float z[9];
#pragma unroll
  for (int i = 0; i < 8; i++) z[i + 1] = now[at + i * plane];
  for (int k = 0; k < depth; k++, at += plane) {
#pragma unroll
    for (int i = 0; i < 8; i++) z[i] = z[i + 1];
    z[8] = now[at + 8 * plane];
    int mid = at + 4 * plane;
    __syncthreads();
    s[ty + 4][tx + 4] = z[4];
    if (tx < 4) {
      s[ty + 4][tx] = now[mid - 4];
      s[ty + 4][tx + 36] = now[mid + 32];
    }
    if (ty < 4) {
      s[ty][tx + 4] = now[mid - 4 * nx];
      s[ty + 12][tx + 4] = now[mid + 8 * nx];
    }
    __syncthreads();
    float v = 3 * c[0] * z[4];
#pragma unroll
    for (int i = 1; i < 5; i++)
      v += c[i] * (z[4 - i] + z[4 + i] + s[ty + 4 - i][tx + 4] + s[ty + 4 + i][tx + 4] + s[ty + 4][tx + 4 - i] +
                   s[ty + 4][tx + 4 + i]);
    next[mid] = 2 * z[4] - next[mid] + 0.05f * v;
  }
}
// Many steps of a rod that cools, on a part of it that shrinks by two cells a step.
K(rod_steps)(const float* in, float* out, int n, int steps) {
  __shared__ float s[2][1088];
  int t = threadIdx.x, base = blockIdx.x * 1024 - 32;
  for (int i = t; i < 1088; i += 256) s[0][i] = in[(base + i) & (n - 1)];
  for (int k = 0; k < steps; k++) {
    __syncthreads();
    const float* a = s[k & 1];
    float* b = s[~k & 1];
    for (int i = t + k + 1; i < 1087 - k; i += 256) b[i] = a[i] + 0.23f * (a[i - 1] - 2 * a[i] + a[i + 1]);
  }
  __syncthreads();
  for (int i = t; i < 1024; i += 256) out[blockIdx.x * 1024 + i] = s[steps & 1][i + 32];
}

// --- sparse, irregular
// Sparse matrix times 32 columns: a row a warp, a column a lane.
K(csr_spmm)(const u32* start, const u32* col, const float* val, const float* x, float* y, int rows) {
  int row = GID / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (u32 at = start[row]; at < start[row + 1]; at += 32) {
    int n = min(start[row + 1] - at, 32u);
    u32 c = lane < n ? col[at + lane] : 0;
    float v = lane < n ? val[at + lane] : 0;
    for (int j = 0; j < n; j++) sum += __shfl_sync(~0u, v, j) * x[__shfl_sync(~0u, c, j) * 32 + lane];
  }
  y[row * 32 + lane] = sum;
}
// One step of a breadth-first search; a block collects the new nodes before it appends them.
K(bfs_step)(const u32* start, const u32* edge, const u32* front, u32* level, u32* queue, u32* tail, u32 now) {
  __shared__ u32 local[4096], n, at;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  u32 node = front[GID];
  for (u32 i = start[node]; i < start[node + 1]; i++) {
    u32 to = edge[i];
    if (level[to] == 0 && atomicCAS(&level[to], 0, now) == 0) local[atomicAdd(&n, 1)] = to;
  }
  __syncthreads();
  if (threadIdx.x == 0) at = atomicAdd(tail, n);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) queue[at + i] = local[i];
}
struct Particle {
  float4 place, speed;
  float mass, charge, age, pad;
};
// Particles by index, from an array of structures.
K(gather_structs)(const Particle* p, const u32* index, float4* out, float dt, int n) {
  int i = GID;
  if (i >= n) return;
  Particle q = p[index[i]];
  float k = dt * q.charge / (q.mass + 1);
  out[i] = make_float4(q.place.x + k * q.speed.x, q.place.y + k * q.speed.y, q.place.z + k * q.speed.z, q.age + dt);
}

// --- reductions, scans, atomics
// The greatest value and where it is, as one number of 64 bits.
K(argmax_key)(const float4* x, u64* best, int n) {
  __shared__ u64 s[16];
  u64 m = 0;
  auto take = [&](float v, u32 i) {
    u32 b = __float_as_uint(v);
    m = max(m, (u64)(b >> 31 ? ~b : b | 0x80000000u) << 32 | ~i);
  };
  for (u32 i = GID; i < n; i += gridDim.x * blockDim.x) {
    float4 v = x[i];
    take(v.x, i * 4);
    take(v.y, i * 4 + 1);
    take(v.z, i * 4 + 2);
    take(v.w, i * 4 + 3);
  }
  for (int d = 16; d; d /= 2) m = max(m, __shfl_xor_sync(~0u, m, d));
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m;
  __syncthreads();
  if (threadIdx.x < 32) {
    m = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0;
    for (int d = 8; d; d /= 2) m = max(m, __shfl_xor_sync(~0u, m, d));
    if (threadIdx.x == 0) atomicMax(best, m);
  }
}
// Running sums of 2048 numbers a block, eight a thread.
K(scan_eight)(const uint4* in, uint4* out, u32* totals) {
  __shared__ u32 s[8];
  int t = threadIdx.x, lane = t % 32;
  uint4 a = in[GID * 2], b = in[GID * 2 + 1];
  u32 v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  for (int i = 1; i < 8; i++) v[i] += v[i - 1];
  u32 scan = v[7];
  for (int d = 1; d < 32; d *= 2) {
    u32 o = __shfl_up_sync(~0u, scan, d);
    if (lane >= d) scan += o;
  }
  if (lane == 31) s[t / 32] = scan;
  __syncthreads();
  if (t < 8) {
    u32 w = s[t], sum = w;
    for (int d = 1; d < 8; d *= 2) {
      u32 o = __shfl_up_sync(255, sum, d);
      if (t >= d) sum += o;
    }
    s[t] = sum - w;
    if (t == 7) totals[blockIdx.x] = sum;
  }
  __syncthreads();
  u32 before = s[t / 32] + scan - v[7];
  for (int i = 0; i < 8; i++) v[i] += before;
  out[GID * 2] = make_uint4(v[0], v[1], v[2], v[3]);
  out[GID * 2 + 1] = make_uint4(v[4], v[5], v[6], v[7]);
}
// Count, sum, least and greatest of each group.
K(group_stats)(const u32* group, const u32* value, u32* count, u32* sum, u32* least, u32* greatest, int mask, int n) {
  int i = GID;
  if (i >= n) return;
  u32 g = group[i] >> 4 & mask, v = value[i] & 0xffff;
  atomicAdd(&count[g], 1);
  atomicAdd(&sum[g], v);
  atomicMin(&least[g], v);
  atomicMax(&greatest[g], v);
}

// --- memory
// Tiles of 64 x 64 are turned; loads and stores are 16 bytes wide.
K(turn_vec4)(const float4* in, float4* out, int w, int h) {
  __shared__ float s[64][65];
  int t = threadIdx.x, x = t % 16, y = t / 16;
  for (int j = y; j < 64; j += 16) {
    float4 v = in[(blockIdx.y * 64 + j) * (w / 4) + blockIdx.x * 16 + x];
    s[j][x * 4] = v.x;
    s[j][x * 4 + 1] = v.y;
    s[j][x * 4 + 2] = v.z;
    s[j][x * 4 + 3] = v.w;
  }
  __syncthreads();
  for (int j = y; j < 64; j += 16)
    out[(blockIdx.x * 64 + j) * (h / 4) + blockIdx.y * 16 + x] =
        make_float4(s[x * 4][j], s[x * 4 + 1][j], s[x * 4 + 2][j], s[x * 4 + 3][j]);
}
// 6 x 6 sums a thread in 32 registers.
extern "C" __global__ void __launch_bounds__(256, 8)
    outer_spilled(const float* a, const float* b, float* c, int n, int k) {
  __shared__ float sa[8][96], sb[8][96];
  int t = threadIdx.x, x = t % 16, y = t / 16, row0 = blockIdx.y * 96, col0 = blockIdx.x * 96;
  float s[6][6] = {};
  for (int k0 = 0; k0 < k; k0 += 8) {
    for (int i = t; i < 768; i += 256) {
      sa[i / 96][i % 96] = a[(k0 + i / 96) * n + row0 + i % 96];
      sb[i / 96][i % 96] = b[(k0 + i / 96) * n + col0 + i % 96];
    }
    __syncthreads();
#pragma unroll 2
    for (int q = 0; q < 8; q++) {
      float u[6], v[6];
#pragma unroll
      for (int i = 0; i < 6; i++) {
        u[i] = sa[q][i * 16 + y];
        v[i] = sb[q][i * 16 + x];
      }
#pragma unroll
      for (int i = 0; i < 36; i++) s[i / 6][i % 6] += u[i / 6] * v[i % 6];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 36; i++) c[(row0 + i / 6 * 16 + y) * n + col0 + i % 6 * 16 + x] = s[i / 6][i % 6];
}

// --- physics, small matrices
// Half of the spins of a lattice, as on a chess board, by Metropolis.
K(ising_half)(signed char* spin, int n, int colour, float beta, u32 seed) {
  int i = GID, y = i / (n / 2), x = i % (n / 2) * 2 + (y + colour) % 2;
  u32 h = (i * 2654435761u) ^ seed;
  h = (h ^ h >> 16) * 0x7feb352du;
  h = (h ^ h >> 15) * 0x846ca68bu;
  h ^= h >> 16;
  auto at = [&](int r, int c) { return spin[(r & (n - 1)) * n + (c & (n - 1))] & 1 ? 1 : -1; };
  int s = at(y, x), around = at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1);
  float p = __expf(-2 * beta * s * around);
  if ((h >> 8) * 5.9604645e-8f < p) spin[y * n + x] ^= 1;
}
// Inverses of 4 x 4 matrices by cofactors.
K(inverse4)(const float4* in, float4* out) {
  float4 a = in[GID * 4], b = in[GID * 4 + 1], c = in[GID * 4 + 2], d = in[GID * 4 + 3];
  float s0 = a.x * b.y - a.y * b.x, s1 = a.x * b.z - a.z * b.x, s2 = a.x * b.w - a.w * b.x;
  float s3 = a.y * b.z - a.z * b.y, s4 = a.y * b.w - a.w * b.y, s5 = a.z * b.w - a.w * b.z;
  float c0 = c.x * d.y - c.y * d.x, c1 = c.x * d.z - c.z * d.x, c2 = c.x * d.w - c.w * d.x;
  float c3 = c.y * d.z - c.z * d.y, c4 = c.y * d.w - c.w * d.y, c5 = c.z * d.w - c.w * d.z;
  float r = 1 / (s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0);
  out[GID * 4] = make_float4((b.y * c5 - b.z * c4 + b.w * c3) * r, (-a.y * c5 + a.z * c4 - a.w * c3) * r,
                             (d.y * s5 - d.z * s4 + d.w * s3) * r, (-c.y * s5 + c.z * s4 - c.w * s3) * r);
  out[GID * 4 + 1] = make_float4((-b.x * c5 + b.z * c2 - b.w * c1) * r, (a.x * c5 - a.z * c2 + a.w * c1) * r,
                                 (-d.x * s5 + d.z * s2 - d.w * s1) * r, (c.x * s5 - c.z * s2 + c.w * s1) * r);
  out[GID * 4 + 2] = make_float4((b.x * c4 - b.y * c2 + b.w * c0) * r, (-a.x * c4 + a.y * c2 - a.w * c0) * r,
                                 (d.x * s4 - d.y * s2 + d.w * s0) * r, (-c.x * s4 + c.y * s2 - c.w * s0) * r);
  out[GID * 4 + 3] = make_float4((-b.x * c3 + b.y * c1 - b.z * c0) * r, (a.x * c3 - a.y * c1 + a.z * c0) * r,
                                 (-d.x * s3 + d.y * s1 - d.z * s0) * r, (c.x * s3 - c.y * s1 + c.z * s0) * r);
}
