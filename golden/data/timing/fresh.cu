// Further kernels of many kinds, recorded on an H200 after the timing model was made, and never looked at while it was.
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>
using namespace nvcuda;
typedef unsigned int u32; typedef unsigned long long u64; typedef unsigned char u8;
#define K extern "C" __global__ void
#define GID (blockIdx.x * blockDim.x + threadIdx.x)

// --- tensor cores
__device__ u32 smem(const void *p) { return (u32)__cvta_generic_to_shared(p); }
K mma_tf32_tile(const float *a, const float *b, float *c, int n) {
  __shared__ float sa[32][36], sb[32][36];
  int t = threadIdx.x, warp = t / 32, lane = t % 32, r0 = blockIdx.y * 32 + warp / 2 * 16, c0 = blockIdx.x * 32 + warp % 2 * 16;
  float acc[2][4] = {};
  for (int k = 0; k < n; k += 32) {
    for (int i = t; i < 1024; i += 128) { sa[i / 32][i % 32] = a[(blockIdx.y * 32 + i / 32) * n + k + i % 32]; sb[i / 32][i % 32] = b[(k + i / 32) * n + blockIdx.x * 32 + i % 32]; }
    __syncthreads();
    for (int kk = 0; kk < 32; kk += 8) {
      u32 f[4]; int rr = warp / 2 * 16 + lane / 4, kc = kk + lane % 4;
      f[0] = __float_as_uint(sa[rr][kc]); f[1] = __float_as_uint(sa[rr + 8][kc]); f[2] = __float_as_uint(sa[rr][kc + 4]); f[3] = __float_as_uint(sa[rr + 8][kc + 4]);
      for (int h = 0; h < 2; h++) {
        u32 g0 = __float_as_uint(sb[kc][warp % 2 * 16 + h * 8 + lane / 4]), g1 = __float_as_uint(sb[kc + 4][warp % 2 * 16 + h * 8 + lane / 4]);
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" : "+f"(acc[h][0]), "+f"(acc[h][1]), "+f"(acc[h][2]), "+f"(acc[h][3]) : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "r"(g0), "r"(g1));
      }
    }
    __syncthreads();
  }
  for (int h = 0; h < 2; h++) for (int i = 0; i < 4; i++) c[(r0 + lane / 4 + i / 2 * 8) * n + c0 + h * 8 + lane % 4 * 2 + i % 2] = acc[h][i];
}
K wmma_bf_chain(const half *a, float *c, int turns) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa[2];
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> d[2];
  int w = GID / 32;
  wmma::load_matrix_sync(fa[0], a + w % 16 * 256, 16); wmma::load_matrix_sync(fa[1], a + w % 8 * 256, 16); wmma::load_matrix_sync(fb, a + w % 4 * 256, 16);
  wmma::fill_fragment(d[0], 0); wmma::fill_fragment(d[1], 0);
  for (int i = 0; i < turns; i++) { wmma::mma_sync(d[0], fa[0], fb, d[0]); wmma::mma_sync(d[1], fa[1], fb, d[1]); }
  for (int i = 0; i < d[0].num_elements; i++) d[0].x[i] += d[1].x[i];
  wmma::store_matrix_sync(c + w * 256, d[0], 16, wmma::mem_row_major);
}
K half2_axpy(const half2 *x, half2 *y, int n) {
  half2 k = __float2half2_rn(0.5f);
  for (int i = GID; i < n; i += gridDim.x * blockDim.x) y[i] = __hfma2(k, x[i], __hadd2(y[i], x[i]));
}
K half2_poly(const half2 *x, half2 *y) {
  half2 v = x[GID], s = v;
#pragma unroll
  for (int i = 0; i < 48; i++) s = __hfma2(s, v, v);
  y[GID] = s;
}
// --- attention and normalisation
K attention_row(const float *q, const float *k, const float *v, float *o, int n) {
  __shared__ float p[128], red[4]; int row = blockIdx.x, t = threadIdx.x, lane = t % 32; float m = -1e30f, l = 0, acc = 0;
  for (int j0 = 0; j0 < n; j0 += 128) {
    float s = 0; for (int d = 0; d < 64; d += 4) { float4 a = *(const float4 *)&q[row * 64 + d], b = *(const float4 *)&k[(j0 + t) * 64 + d]; s += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
    float x = s; for (int o2 = 16; o2; o2 /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, o2));
    if (lane == 0) red[t / 32] = x; __syncthreads();
    float mn = fmaxf(m, fmaxf(fmaxf(red[0], red[1]), fmaxf(red[2], red[3]))), f = __expf(m - mn); p[t] = __expf(s - mn); __syncthreads();
    acc *= f; l *= f; m = mn;
    for (int j = 0; j < 128; j++) { l += p[j]; acc += p[j] * v[(j0 + j) * 64 + t % 64]; }
    __syncthreads();
  }
  if (t < 64) o[row * 64 + t] = acc / l;
}
K rmsnorm(const float *x, const float *g, float *y, int n) {
  __shared__ float s[8]; int t = threadIdx.x; const float *r = x + blockIdx.x * n; float v = 0;
  for (int i = t; i < n; i += 256) v += r[i] * r[i];
  for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  if (t % 32 == 0) s[t / 32] = v; __syncthreads();
  v = 0; for (int i = 0; i < 8; i++) v += s[i];
  float k = rsqrtf(v / n + 1e-5f);
  for (int i = t; i < n; i += 256) y[blockIdx.x * n + i] = r[i] * k * g[i];
}
K silu_mul(const float *a, const float *b, float *o) { float x = a[GID]; o[GID] = x / (1 + __expf(-x)) * b[GID]; }
K rope(const float *x, float *y, int d) {
  int i = GID, pos = i / (d / 2), j = i % (d / 2); float th = pos * exp2f(-j * (13.28f / (d / 2))), s, c; __sincosf(th, &s, &c);
  float a = x[pos * d + j], b = x[pos * d + j + d / 2]; y[pos * d + j] = a * c - b * s; y[pos * d + j + d / 2] = a * s + b * c;
}
K embed(const u32 *ids, const float4 *tab, float4 *out) { int r = GID / 16, c = GID % 16; out[GID] = tab[ids[r] * 16 + c]; }
// --- sorting, searching, hashing
K merge_path(const u32 *a, const u32 *b, u32 *out, int n) {
  int d = GID * 8, lo = max(0, d - n), hi = min(d, n);
  while (lo < hi) { int m = (lo + hi) / 2; if (a[m] < b[d - 1 - m]) lo = m + 1; else hi = m; }
  int i = lo, j = d - lo;
  for (int k = 0; k < 8; k++) { bool t = j >= n || (i < n && a[i] < b[j]); out[d + k] = t ? a[i++] : b[j++]; }
}
K rank_sort(const u32 *x, u32 *out) {
  __shared__ u32 s[256]; int t = threadIdx.x; u32 v = x[GID]; s[t] = v; __syncthreads(); int r = 0;
  for (int i = 0; i < 256; i++) r += s[i] < v || (s[i] == v && i < t);
  out[blockIdx.x * 256 + r] = v;
}
K fnv_bytes(const u32 *x, u32 *out, int words) { u32 h = 2166136261u; for (int i = 0; i < words; i++) { u32 v = x[GID + i * 4096]; for (int j = 0; j < 4; j++) { h ^= v & 255; h *= 16777619; v >>= 8; } } out[GID] = h; }
K crc_table(const u32 *x, u32 *out, int words) {
  __shared__ u32 tab[256]; u32 c = threadIdx.x; for (int i = 0; i < 8; i++) c = c & 1 ? 0xedb88320 ^ (c >> 1) : c >> 1; tab[threadIdx.x] = c; __syncthreads();
  c = ~0u; for (int i = 0; i < words; i++) { u32 v = x[GID + i * 8192]; for (int j = 0; j < 4; j++) { c = tab[(c ^ v) & 255] ^ (c >> 8); v >>= 8; } } out[GID] = ~c;
}
K siphash(const u32 *x, u64 *out, int turns) {
  u64 a = x[GID], b = a * 0x9e3779b97f4a7c15ull, c = ~a, d = b ^ a;
  for (int i = 0; i < turns; i++) { a += b; b = b << 13 | b >> 51; b ^= a; a = a << 32 | a >> 32; c += d; d = d << 16 | d >> 48; d ^= c; a += d; d = d << 21 | d >> 43; d ^= a; c += b; b = b << 17 | b >> 47; b ^= c; c = c << 32 | c >> 32; }
  out[GID] = a ^ b ^ c ^ d;
}
// --- integers
K pop_dist(const u32 *a, const u32 *b, u32 *out, int n) { u32 s = 0; for (int i = 0; i < n; i++) s += __popc(a[GID + i * 1024] ^ b[i]); out[GID] = s; }
K isqrt(const u32 *x, u32 *out) { u32 v = x[GID], r = 0, b = 1u << 30; while (b > v) b >>= 2; while (b) { if (v >= r + b) { v -= r + b; r = (r >> 1) + b; } else r >>= 1; b >>= 2; } out[GID] = r; }
K divmod_chain(const u32 *x, u32 *out, int turns) { u32 v = x[GID], s = 0; for (int i = 0; i < turns; i++) { s += v % (i + 7); v = v / 3 + i * 1234567; } out[GID] = s; }
K bigadd(const u32 *a, const u32 *b, u32 *c, int words) { u64 carry = 0; for (int i = 0; i < words; i++) { u64 s = (u64)a[i * 65536 + GID] + b[i * 65536 + GID] + carry; c[i * 65536 + GID] = (u32)s; carry = s >> 32; } }
K lcg128(const u32 *x, u64 *out, int turns) { u64 lo = x[GID], hi = ~lo; for (int i = 0; i < turns; i++) { u64 m = 0x4385df649fccf645ull, h = __umul64hi(lo, m); hi = hi * m + h; lo = lo * m + 0x14057b7ef767814full; hi += lo < 0x14057b7ef767814full; } out[GID] = hi ^ lo; }
K prefix_bits(const u32 *x, u32 *out) { u32 v = x[GID], r = 0; for (int i = 0; i < 32; i++) { u32 m = __ballot_sync(~0u, v >> i & 1); r += __popc(m & ((1u << threadIdx.x % 32) - 1)); } out[GID] = r; }
// --- doubles
K dgemm_tile(const double *a, const double *b, double *c, int n) {
  __shared__ double sa[16][17], sb[16][17]; int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, q = blockIdx.x * 16 + x; double s = 0;
  for (int k = 0; k < n; k += 16) { sa[y][x] = a[r * n + k + x]; sb[y][x] = b[(k + y) * n + q]; __syncthreads(); for (int i = 0; i < 16; i++) s += sa[y][i] * sb[i][x]; __syncthreads(); }
  c[r * n + q] = s;
}
K newton_f64(const double *x, double *y, int turns) { double v = x[GID] + 1, r = v; for (int i = 0; i < turns; i++) r = 0.5 * (r + v / r); y[GID] = r; }
K kahan(const double *x, double *y, int n) { double s = 0, c = 0; for (int i = 0; i < n; i++) { double v = x[GID + i * 16384] - c, t = s + v; c = (t - s) - v; s = t; } y[GID] = s; }
K jacobi2d_f64(const double *a, double *b, int n) { int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y; if (x > 0 && y > 0 && x < n - 1 && y < n - 1) b[y * n + x] = 0.25 * (a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x] + a[(y + 1) * n + x]); }
// --- images and signals
K gauss_rows(const float *in, float *out, int n) {
  __shared__ float s[256 + 16]; int t = threadIdx.x, row = blockIdx.y, x = blockIdx.x * 256 + t; const float *r = in + row * n;
  s[t + 8] = r[x]; if (t < 8) s[t] = r[max(x - 8, 0)]; if (t >= 248) s[t + 16] = r[min(x + 8, n - 1)]; __syncthreads();
  float v = 0; for (int i = -8; i <= 8; i++) v += s[t + 8 + i] * __expf(-0.05f * i * i); out[row * n + x] = v;
}
K hist_image(const u32 *img, u32 *hist, int n) { __shared__ u32 h[1024]; for (int i = threadIdx.x; i < 1024; i += 256) h[i] = 0; __syncthreads(); for (int i = GID; i < n; i += gridDim.x * 256) { u32 p = img[i]; atomicAdd(&h[p & 255], 1); atomicAdd(&h[256 + (p >> 8 & 255)], 1); } __syncthreads(); for (int i = threadIdx.x; i < 1024; i += 256) if (h[i]) atomicAdd(&hist[i], h[i]); }
K yuv_to_rgb(const u32 *yuv, u32 *rgb) { u32 p = yuv[GID]; float y = p & 255, u = (int)(p >> 8 & 255) - 128, v = (int)(p >> 16 & 255) - 128; int r = y + 1.402f * v, g = y - 0.344f * u - 0.714f * v, b = y + 1.772f * u; rgb[GID] = min(max(r, 0), 255) | min(max(g, 0), 255) << 8 | min(max(b, 0), 255) << 16; }
K erode5(const u32 *in, u32 *out, int n) { int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y; u32 m = ~0u; for (int j = -2; j <= 2; j++) for (int i = -2; i <= 2; i++) m = min(m, in[min(max(y + j, 0), n - 1) * n + min(max(x + i, 0), n - 1)]); out[y * n + x] = m; }
K iir_rows(const float *in, float *out, int n) { const float *r = in + GID * n; float s = 0; for (int i = 0; i < n; i++) { s = 0.9f * s + 0.1f * r[i]; out[GID * n + i] = s; } }
K dft32(const float *x, float *y) { __shared__ float s[8][32]; int t = threadIdx.x, w = t / 32, l = t % 32; s[w][l] = x[GID]; __syncwarp(); float re = 0, im = 0; for (int i = 0; i < 32; i++) { float a = -0.19634954f * (i * l & 31), sn, cs; __sincosf(a, &sn, &cs); re += s[w][i] * cs; im += s[w][i] * sn; } y[GID] = re * re + im * im; }
// --- dense and sparse linear algebra
K gemm_2x2(const float *a, const float *b, float *c, int n) {
  int x = (blockIdx.x * 16 + threadIdx.x) * 2, y = (blockIdx.y * 16 + threadIdx.y) * 2; float s[4] = {};
  for (int k = 0; k < n; k++) { float a0 = a[y * n + k], a1 = a[(y + 1) * n + k]; float2 q = *(const float2 *)&b[k * n + x]; s[0] += a0 * q.x; s[1] += a0 * q.y; s[2] += a1 * q.x; s[3] += a1 * q.y; }
  c[y * n + x] = s[0]; c[y * n + x + 1] = s[1]; c[(y + 1) * n + x] = s[2]; c[(y + 1) * n + x + 1] = s[3];
}
K gemvt(const float *a, const float *x, float *y, int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i * n + GID] * x[i]; y[GID] = s; }
K ell_spmv(const u32 *cols, const float *vals, const float *x, float *y, int rows) { float s = 0; for (int k = 0; k < 16; k++) { u32 c = cols[k * rows + GID]; s += vals[k * rows + GID] * x[c]; } y[GID] = s; }
K csr_rowmax(const u32 *rp, const u32 *ci, const float *x, float *y, int rows) { int r = GID; if (r >= rows) return; float m = -1e30f; for (u32 i = rp[r]; i < rp[r + 1]; i++) m = fmaxf(m, x[ci[i]]); y[r] = m; }
K trisolve(const float *l, float *x) { __shared__ float s[32][33]; int t = threadIdx.x; for (int i = 0; i < 32; i++) s[i][t] = l[blockIdx.x * 1024 + i * 32 + t]; float v = s[t][t]; __syncwarp(); for (int i = 0; i < 32; i++) { float xi = __shfl_sync(~0u, v, i) / (fabsf(s[i][i]) + 1); if (t == i) v = xi; if (t > i) v -= s[t][i] * xi; } x[GID] = v; }
// --- memory and irregular
K block_sum2(const float4 *x, float *y, int n) { __shared__ float s[32]; float v = 0; for (int i = GID; i < n; i += gridDim.x * blockDim.x) { float4 q = x[i]; v += q.x + q.y + q.z + q.w; } for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o); if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v; __syncthreads(); if (threadIdx.x < 32) { v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0; for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o); if (!threadIdx.x) y[blockIdx.x] = v; } }
K aos_update(float *p, int n) { int i = GID; float *q = p + i * 6; for (int k = 0; k < 3; k++) q[k] += 0.01f * q[k + 3]; }
K rev_copy(const u32 *x, u32 *y, int n) { y[n - 1 - GID] = x[GID]; }
K transpose_u8(const u8 *in, u8 *out, int n) { __shared__ u8 s[32][36]; int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y; for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x]; __syncthreads(); x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y; for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = s[threadIdx.x][threadIdx.y + j]; }
K list_walk(const u32 *next, u32 *out, int steps) { u32 i = GID * 61 & 0xffff, s = 0; for (int k = 0; k < steps; k++) { i = next[i] & 0xffff; s += i; } out[GID] = s; }
K ray_spheres(const float4 *sp, float *out, int n) { __shared__ float4 s[64]; if (threadIdx.x < 64) s[threadIdx.x] = sp[threadIdx.x]; __syncthreads(); float dx = (int)(GID % 512) / 256.f - 1, dy = (int)(GID / 512) / 256.f - 1, k = rsqrtf(dx * dx + dy * dy + 1), best = 1e30f; dx *= k; dy *= k; for (int i = 0; i < n; i++) { float4 c = s[i]; float b = dx * c.x + dy * c.y + k * c.z, q = b * b - (c.x * c.x + c.y * c.y + c.z * c.z) + c.w * c.w; if (q > 0) { float t = b - sqrtf(q); if (t > 0 && t < best) best = t; } } out[GID] = best; }
K monte_pi(u32 *out, int turns) { u32 a = GID * 747796405u + 1, c = 0; for (int i = 0; i < turns; i++) { a = a * 1664525 + 1013904223; float x = (a >> 8) * 5.96e-8f; a = a * 1664525 + 1013904223; float y = (a >> 8) * 5.96e-8f; c += x * x + y * y < 1; } atomicAdd(&out[blockIdx.x], c); }
K julia(u32 *out, int n) { int x = GID % n, y = GID / n; float a = 3.f * x / n - 1.5f, b = 3.f * y / n - 1.5f; u32 i = 0; while (i < 200 && a * a + b * b < 4) { float t = a * a - b * b - 0.8f; b = 2 * a * b + 0.156f; a = t; i++; } out[GID] = i; }
K seg_reduce(const u32 *key, const float *val, float *out) { u32 k = key[GID] & 1023; float v = val[GID]; int lane = threadIdx.x % 32; for (int d = 1; d < 32; d *= 2) { float o = __shfl_up_sync(~0u, v, d); u32 ok = __shfl_up_sync(~0u, k, d); if (lane >= d && ok == k) v += o; } u32 nk = __shfl_down_sync(~0u, k, 1); if (lane == 31 || nk != k) atomicAdd(&out[k], v); }
K smem_queue(const u32 *x, u32 *out) { __shared__ u32 q[256]; __shared__ u32 n; int t = threadIdx.x; if (!t) n = 0; __syncthreads(); u32 v = x[GID]; if (v & 1) q[atomicAdd(&n, 1u)] = v; __syncthreads(); if (t < n) out[blockIdx.x * 256 + t] = q[t] >> 1; }
K knn1(const float2 *p, const float2 *q, u32 *out, int n) { __shared__ float2 s[128]; float2 a = q[GID]; float best = 1e30f; u32 at = 0; for (int j0 = 0; j0 < n; j0 += 128) { __syncthreads(); s[threadIdx.x] = p[j0 + threadIdx.x]; __syncthreads(); for (int j = 0; j < 128; j++) { float dx = s[j].x - a.x, dy = s[j].y - a.y, d = dx * dx + dy * dy; if (d < best) { best = d; at = j0 + j; } } } out[GID] = at; }
K lbm_like(const float *f, float *g, int n) { int x = blockIdx.x * 128 + threadIdx.x, y = blockIdx.y, N = n * n; float r = 0, v[9]; for (int i = 0; i < 9; i++) { int sx = x + i % 3 - 1, sy = y + i / 3 - 1; v[i] = f[i * N + (sy & (n - 1)) * n + (sx & (n - 1))]; r += v[i]; } for (int i = 0; i < 9; i++) g[i * N + y * n + x] = v[i] * 0.4f + r * 0.0667f; }
K options_mc(const float *z, float *out, int steps) { float s = 100, m = 0; for (int i = 0; i < steps; i++) { s *= __expf(0.0002f + 0.01f * z[(GID + i * 4096) & 0xffff]); m += fmaxf(s - 100, 0.f); } out[GID] = m / steps; }
