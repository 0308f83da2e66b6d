// Kernels of many kinds, written when the rules stood and recorded on an H100 before any was timed.
#define K(n) extern "C" __global__ void n
#define G int i = blockIdx.x * blockDim.x + threadIdx.x
typedef unsigned u;
typedef unsigned long long U;
K(cmul_axpy)(const float2* a, float2* b, int n) {
  G;
  if (i < n) {
    float2 x = a[i], y = b[i];
    b[i] = make_float2(y.x + x.x * .6f - x.y * .8f, y.y + x.x * .8f + x.y * .6f);
  }
}
K(ternary_quant)(const float* a, u* o, int n) {
  G;
  if (i >= n) return;
  u w = 0;
  for (int k = 0; k < 16; k++) {
    float x = a[i * 16 + k];
    w |= (x > .3f ? 1u : x < -.3f ? 2u : 0u) << 2 * k;
  }
  o[i] = w;
}
K(layernorm_w)(const float* a, float* o) {
  int r = blockIdx.x * 8 + threadIdx.x / 32, l = threadIdx.x % 32;
  float s = 0, q = 0, v[8];
  for (int k = 0; k < 8; k++) {
    v[k] = a[r * 256 + k * 32 + l];
    s += v[k];
    q += v[k] * v[k];
  }
  for (int d = 16; d; d /= 2) {
    s += __shfl_xor_sync(~0u, s, d);
    q += __shfl_xor_sync(~0u, q, d);
  }
  s /= 256;
  q = rsqrtf(q / 256 - s * s + 1e-5f);
  for (int k = 0; k < 8; k++) o[r * 256 + k * 32 + l] = (v[k] - s) * q;
}
K(hist_priv)(const u* a, u* o, int n) {
  __shared__ u h[4][256];
  for (int k = threadIdx.x; k < 1024; k += blockDim.x) h[0][k] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&h[threadIdx.x / 64][a[i] & 255], 1);
  __syncthreads();
  for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(o + k, h[0][k] + h[1][k] + h[2][k] + h[3][k]);
}
K(sobel)(const u* a, u* o, int w, int h) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  const u* p = a + y * w + x;
  int gx = 0, gy = 0;
  for (int d = -1; d < 2; d++) {
    gx += (2 - d * d) * ((int)(p[d * w + 1] & 255) - (int)(p[d * w - 1] & 255));
    gy += (2 - d * d) * ((int)(p[w + d] & 255) - (int)(p[d - w] & 255));
  }
  o[y * w + x] = min(255, abs(gx) + abs(gy));
}
K(murmur)(const u* a, u* o, int n) {
  G;
  if (i >= n) return;
  u h = i;
  for (int k = 0; k < 8; k++) {
    u x = a[k * n + i] * 0xcc9e2d51u;
    x = (x << 15 | x >> 17) * 0x1b873593u;
    h ^= x;
    h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
  }
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  o[i] = h ^ h >> 13;
}
K(gemm_tn)(const float* a, const float* b, float* c, int n) {
  __shared__ float s[32][33], t[32][33];
  int x = threadIdx.x, y = threadIdx.y;
  float r[4] = {};
  for (int k = 0; k < n; k += 32) {
    for (int j = 0; j < 4; j++) {
      s[y + 8 * j][x] = a[(k + y + 8 * j) * n + blockIdx.y * 32 + x];
      t[y + 8 * j][x] = b[(k + y + 8 * j) * n + blockIdx.x * 32 + x];
    }
    __syncthreads();
    for (int q = 0; q < 32; q++)
      for (int j = 0; j < 4; j++) r[j] += s[q][y + 8 * j] * t[q][x];
    __syncthreads();
  }
  for (int j = 0; j < 4; j++) c[(blockIdx.y * 32 + y + 8 * j) * n + blockIdx.x * 32 + x] = r[j];
}
K(odd_even)(const u* a, u* o) {
  __shared__ u s[512];
  int t = threadIdx.x;
  s[t] = a[blockIdx.x * 512 + t];
  s[t + 256] = a[blockIdx.x * 512 + t + 256];
  for (int r = 0; r < 64; r++) {
    __syncthreads();
    int p = 2 * t + (r & 1);
    if (p < 511) {
      u x = s[p], y = s[p + 1];
      s[p] = min(x, y);
      s[p + 1] = max(x, y);
    }
  }
  __syncthreads();
  o[blockIdx.x * 512 + t] = s[t];
  o[blockIdx.x * 512 + t + 256] = s[t + 256];
}
K(dnbody)(const double* a, double* o, int n) {
  G;
  double x = a[3 * i], y = a[3 * i + 1], z = a[3 * i + 2], f = 0;
  for (int k = 0; k < n; k++) {
    double p = a[3 * k] - x, q = a[3 * k + 1] - y, r = a[3 * k + 2] - z;
    f += 1 / (p * p + q * q + r * r + .01);
  }
  o[i] = f;
}
K(gray_rank)(const u* a, u* o, int n) {
  G;
  if (i >= n) return;
  u x = a[i], s = 0;
  for (int k = 0; k < 24; k++) {
    x ^= x >> 1;
    s += __popc(x) * (__clz(x) + 1);
    x = __brev(x) + k;
  }
  o[i] = s;
}
K(coo_spmv)(const u* r, const u* c, const float* v, const float* x, float* y, int n) {
  G;
  if (i < n) atomicAdd(y + r[i], v[i] * x[c[i]]);
}
K(tri_interp)(const float* t, const float* p, float* o, int n) {
  G;
  if (i >= n) return;
  float x = p[i] * 62, y = p[i + n] * 62, z = p[i + 2 * n] * 62;
  int a = x, b = y, c = z;
  x -= a;
  y -= b;
  z -= c;
  float s = 0;
  for (int k = 0; k < 8; k++)
    s += t[(c + (k >> 2)) * 4096 + (b + (k >> 1 & 1)) * 64 + a + (k & 1)] * (k & 1 ? x : 1 - x) * (k & 2 ? y : 1 - y) *
         (k & 4 ? z : 1 - z);
  o[i] = s;
}
K(ballot_pack)(const float* a, u* o) {
  G;
  u b = __ballot_sync(~0u, a[i] > .5f);
  u c = __ballot_sync(~0u, a[i] > .25f);
  if (threadIdx.x % 32 == 0) {
    o[i / 16] = b;
    o[i / 16 + 1] = c;
  }
}
K(col_sum)(const float* a, float* o, int w, int h) {
  G;
  float s = 0;
  for (int y = 0; y < h; y++) s += a[y * w + i];
  o[i] = s;
}
K(box_scan)(const float* a, float* o, int w) {
  __shared__ float s[2048];
  float* r = s;
  for (int k = threadIdx.x; k < w; k += 256) r[k] = a[blockIdx.x * w + k];
  __syncthreads();
  for (int k = threadIdx.x; k < w; k += 256) {
    float q = 0;
    for (int d = -7; d < 8; d++) {
      int j = min(max(k + d, 0), w - 1);
      q += r[j];
    }
    o[blockIdx.x * w + k] = q / 15;
  }
}
K(sha_like)(const u* a, u* o) {
  G;
  u h[8], w[16];
  for (int k = 0; k < 8; k++) h[k] = k * 0x6a09e667u;
  for (int k = 0; k < 16; k++) w[k] = a[i * 16 + k];
#pragma unroll
  for (int r = 0; r < 32; r++) {
    u e = h[4], s = (e >> 6 | e << 26) ^ (e >> 11 | e << 21) ^ (e >> 25 | e << 7),
      t = h[7] + s + ((e & h[5]) ^ (~e & h[6])) + w[r % 16] + r;
    u q = h[0],
      v = ((q >> 2 | q << 30) ^ (q >> 13 | q << 19) ^ (q >> 22 | q << 10)) + ((q & h[1]) ^ (q & h[2]) ^ (h[1] & h[2]));
    for (int k = 7; k; k--) h[k] = h[k - 1];
    h[4] += t;
    h[0] = t + v;
    w[r % 16] += w[(r + 1) % 16] ^ w[(r + 9) % 16] >> 3;
  }
  o[i] = h[0] ^ h[4];
}
K(udiv_mix)(const u* a, u* o, int n) {
  G;
  if (i < n) {
    u x = a[i], y = (a[i] >> 20) + 3, s = 0;
    for (int k = 0; k < 6; k++) {
      s += x / y;
      x = x % y + a[i] * k;
      y += 7;
    }
    o[i] = s;
  }
}
K(attn_dot)(const float* q, const float* k, float* o, int n) {
  int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, l = threadIdx.x % 32;
  float a = q[w * 64 + l], b = q[w * 64 + l + 32], m = -1e9f, s = 0;
  for (int j = 0; j < n; j++) {
    float d = a * k[j * 64 + l] + b * k[j * 64 + l + 32];
    for (int e = 16; e; e /= 2) d += __shfl_xor_sync(~0u, d, e);
    float g = fmaxf(m, d);
    s = s * __expf(m - g) + __expf(d - g);
    m = g;
  }
  if (!l) o[w] = m + __logf(s);
}
K(perm_gather64)(const u* p, const double* a, double* o, int n) {
  G;
  if (i < n) o[i] = a[p[i]] * 2 + 1;
}
K(rgb_yuv)(const u* a, u* o, int n) {
  G;
  if (i < n) {
    u p = a[i];
    float r = p & 255, g = p >> 8 & 255, b = p >> 16 & 255;
    u y = .299f * r + .587f * g + .114f * b, v = .5f * r - .419f * g - .081f * b + 128,
      w = -.169f * r - .331f * g + .5f * b + 128;
    o[i] = y | w << 8 | v << 16;
  }
}
K(lu_small)(const float* a, float* o) {
  G;
  float m[36];
  for (int k = 0; k < 36; k++) m[k] = a[k * 16384 + i] + (k % 7 ? 0 : 4.f);
#pragma unroll
  for (int k = 0; k < 5; k++) {
    float r = 1 / m[k * 7];
#pragma unroll
    for (int y = k + 1; y < 6; y++) {
      float f = m[y * 6 + k] * r;
#pragma unroll
      for (int x = k + 1; x < 6; x++) m[y * 6 + x] -= f * m[k * 6 + x];
    }
  }
  o[i] = m[0] * m[7] * m[14] * m[21] * m[28] * m[35];
}
K(wave_min)(const float* a, float* o, int n) {
  float m = 1e9f;
  u g = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float x = a[i];
    if (x < m) {
      m = x;
      g = i;
    }
  }
  for (int d = 16; d; d /= 2) {
    float x = __shfl_down_sync(~0u, m, d);
    u h = __shfl_down_sync(~0u, g, d);
    if (x < m) {
      m = x;
      g = h;
    }
  }
  if (threadIdx.x % 32 == 0) o[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = m + g;
}
K(stencil5_t)(const float* a, float* o, int w) {
  __shared__ float s[10][34];
  int x = threadIdx.x, y = threadIdx.y, g = (blockIdx.y * 8 + y + 1) * w + blockIdx.x * 32 + x + 1;
  s[y + 1][x + 1] = a[g];
  if (!x) s[y + 1][0] = a[g - 1];
  if (x == 31) s[y + 1][33] = a[g + 1];
  if (!y) s[0][x + 1] = a[g - w];
  if (y == 7) s[9][x + 1] = a[g + w];
  __syncthreads();
  o[g] = .5f * s[y + 1][x + 1] + .125f * (s[y][x + 1] + s[y + 2][x + 1] + s[y + 1][x] + s[y + 1][x + 2]);
}
K(bytes_lut)(const u* a, const u* t, u* o, int n) {
  __shared__ u s[256];
  s[threadIdx.x] = t[threadIdx.x];
  __syncthreads();
  G;
  if (i < n) {
    u x = a[i];
    o[i] = s[x & 255] ^ s[x >> 8 & 255] << 1 ^ s[x >> 16 & 255] << 2 ^ s[x >> 24] << 3;
  }
}
K(collatz_len)(u* o, int n) {
  G;
  if (i < n) {
    u x = i + 1, c = 0;
    while (x != 1 && c < 200) {
      x = x & 1 ? 3 * x + 1 : x / 2;
      c++;
    }
    o[i] = c;
  }
}
K(mulwide_mod)(const u* a, u* o, int n) {
  G;
  if (i < n) {
    U x = a[i] | 1, m = 0xffffffffffffffc5ull;
    for (int k = 0; k < 12; k++) {
      U h = __umul64hi(x, x), l = x * x;
      x = l + h * 59;
      if (x < l) x += 59;
    }
    o[i] = x >> 16;
  }
}
K(copy_tail)(const float4* a, float4* b, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 v = a[i];
    v.x += 1;
    b[i] = v;
  }
}
K(sincos_sum)(const float* a, float* o, int n) {
  G;
  if (i < n) {
    float x = a[i] * 6, s = 0;
    for (int k = 1; k < 6; k++) {
      float p, q;
      __sincosf(x * k, &p, &q);
      s += p * q / k;
    }
    o[i] = s;
  }
}
K(maxpool)(const float* a, float* o, int w) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const float2 *p = (const float2*)(a + 2 * y * 2 * w) + x, *q = (const float2*)(a + (2 * y + 1) * 2 * w) + x;
  float2 r = *p, s = *q;
  o[y * w + x] = fmaxf(fmaxf(r.x, r.y), fmaxf(s.x, s.y));
}
