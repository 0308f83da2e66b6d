// Kernels of many kinds, written to be held back as a whole; nothing is tuned on them.
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>
#define K(n) extern "C" __global__ void n
#define ALL 0xffffffffu
#define DEV static __device__ __forceinline__
typedef unsigned int u;
typedef unsigned long long u64;
extern __shared__ uint4 dyn[];

// Tensor cores: tiles kept in two buffers, fragments straight from memory, bytes with a rectifier, block-sparse rows.
DEV u shared_at(const void *p) { return (u)__cvta_generic_to_shared(p); }
DEV void cp16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_at(to)), "l"(from) : "memory");
}
DEV void cp_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int n> DEV void cp_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory"); }
DEV void ldm4(u *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_at(p)) : "memory");
}
DEV void ldm4_turned(u *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_at(p)) : "memory");
}
DEV void mma_h(float *d, const u *a, u b0, u b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEV void mma_b(float *d, const u *a, u b0, u b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

K(mma_double)(const half *__restrict__ a, const half *__restrict__ b, float *__restrict__ c, u n, u k) {
  __shared__ __align__(16) half as[2][64][40], bs[2][64][40];
  u t = threadIdx.x, w = t / 32, l = t % 32, wm = w / 2 * 32, wn = w % 2 * 32;
  const half *ga = a + blockIdx.y * 64 * k, *gb = b + blockIdx.x * 64 * k;
  float acc[2][4][4] = {};
  auto load = [&](u s, u k0) {
    for (u i = t; i < 256; i += 128) {
      u r = i / 4, q = i % 4 * 8;
      cp16(&as[s][r][q], ga + r * k + k0 + q);
      cp16(&bs[s][r][q], gb + r * k + k0 + q);
    }
    cp_commit();
  };
  load(0, 0);
  for (u k0 = 0, s = 0; k0 < k; k0 += 32, s ^= 1) {
    if (k0 + 32 < k) {
      load(s ^ 1, k0 + 32);
      cp_wait<1>();
    } else cp_wait<0>();
    __syncthreads();
#pragma unroll
    for (u q = 0; q < 32; q += 16) {
      u fa[2][4], fb[2][4];
      for (u i = 0; i < 2; i++) ldm4(fa[i], &as[s][wm + i * 16 + l % 16][q + l / 16 * 8]);
      for (u i = 0; i < 2; i++) ldm4(fb[i], &bs[s][wn + i * 16 + l % 16][q + l / 16 * 8]);
      for (u i = 0; i < 2; i++)
        for (u j = 0; j < 4; j++) mma_h(acc[i][j], fa[i], fb[j / 2][j % 2], fb[j / 2][j % 2 + 2]);
    }
    __syncthreads();
  }
  for (u i = 0; i < 2; i++)
    for (u j = 0; j < 4; j++) {
      u row = blockIdx.y * 64 + wm + i * 16 + l / 4, col = blockIdx.x * 64 + wn + j * 8 + l % 4 * 2;
      *(float2 *)&c[row * n + col] = make_float2(acc[i][j][0], acc[i][j][1]);
      *(float2 *)&c[(row + 8) * n + col] = make_float2(acc[i][j][2], acc[i][j][3]);
    }
}

K(mma_bf16_direct)(const u *__restrict__ a, const u *__restrict__ b, float *c, u n, u k) {
  __shared__ float part[4][16][33];
  u t = threadIdx.x, w = t / 32, l = t % 32, g = l / 4, q = l % 4, kw = k / 2;
  const u *pa = a + (blockIdx.y * 16 + g) * kw + q, *pb = b + (blockIdx.x * 32 + g) * kw + q;
  float acc[4][4] = {};
  for (u s = w * kw / 4; s < (w + 1) * kw / 4; s += 8) {
    u fa[4] = {pa[s], pa[s + 8 * kw], pa[s + 4], pa[s + 8 * kw + 4]};
#pragma unroll
    for (u j = 0; j < 4; j++) mma_b(acc[j], fa, pb[s + j * 8 * kw], pb[s + j * 8 * kw + 4]);
  }
  for (u j = 0; j < 4; j++)
    for (u e = 0; e < 4; e++) part[w][g + e / 2 * 8][j * 8 + q * 2 + e % 2] = acc[j][e];
  __syncthreads();
  for (u i = t; i < 512; i += 128) {
    u y = i / 32, x = i % 32;
    float sum = (part[0][y][x] + part[1][y][x]) + (part[2][y][x] + part[3][y][x]);
    c[(blockIdx.y * 16 + y) * n + blockIdx.x * 32 + x] = sum;
  }
}

K(wmma_u8_relu)(const uint8_t *__restrict__ a, const uint8_t *__restrict__ b, const int *__restrict__ bias,
                uint8_t *__restrict__ c, u n, u k) {
  using namespace nvcuda::wmma;
  __shared__ __align__(32) uint8_t as[64 * 80], bs[32 * 80];
  __shared__ __align__(32) int tile[64 * 36];
  u t = threadIdx.x, w = t / 32, row0 = blockIdx.y * 64, col0 = blockIdx.x * 32;
  fragment<accumulator, 16, 16, 16, int> acc;
  fill_fragment(acc, 0);
  for (u k0 = 0; k0 < k; k0 += 64) {
    *(uint4 *)&as[t / 4 * 80 + t % 4 * 16] = *(const uint4 *)&a[(row0 + t / 4) * k + k0 + t % 4 * 16];
    if (t < 128) *(uint4 *)&bs[t / 4 * 80 + t % 4 * 16] = *(const uint4 *)&b[(col0 + t / 4) * k + k0 + t % 4 * 16];
    __syncthreads();
    for (u q = 0; q < 64; q += 16) {
      fragment<matrix_a, 16, 16, 16, unsigned char, row_major> fa;
      fragment<matrix_b, 16, 16, 16, unsigned char, col_major> fb;
      load_matrix_sync(fa, &as[w / 2 * 16 * 80 + q], 80);
      load_matrix_sync(fb, &bs[w % 2 * 16 * 80 + q], 80);
      mma_sync(acc, fa, fb, acc);
    }
    __syncthreads();
  }
  store_matrix_sync(&tile[w / 2 * 16 * 36 + w % 2 * 16], acc, 36, mem_row_major);
  __syncthreads();
  for (u i = t; i < 64 * 32; i += 256) {
    int v = (tile[i / 32 * 36 + i % 32] - bias[col0 + i % 32]) >> 16;
    c[(row0 + i / 32) * n + col0 + i % 32] = min(max(v, 0), 255);
  }
}

K(bsr_mma)(const u *__restrict__ ptr, const u *__restrict__ col, const u *__restrict__ val, const half *__restrict__ x,
           float *__restrict__ y) {
  u t = threadIdx.x, w = t / 32, l = t % 32, row = blockIdx.x * 4 + w, at = ptr[row], end = ptr[row + 1];
  half *stage = (half *)dyn + w * 2 * 16 * 72;
  float acc[8][4] = {};
  auto load = [&](u s, u i) {
    const half *from = x + col[i] * 16 * 64;
#pragma unroll
    for (u j = l; j < 128; j += 32) cp16(stage + s * 16 * 72 + j / 8 * 72 + j % 8 * 8, from + j * 8);
    cp_commit();
  };
  load(0, at);
  for (u s = 0; at < end; at++, s ^= 1) {
    const u *p = val + at * 128 + l / 4 * 8 + l % 4;
    u fa[4] = {__ldg(p), __ldg(p + 64), __ldg(p + 4), __ldg(p + 68)};
    if (at + 1 < end) {
      load(s ^ 1, at + 1);
      cp_wait<1>();
    } else cp_wait<0>();
    __syncwarp();
#pragma unroll
    for (u j = 0; j < 4; j++) {
      u fb[4];
      ldm4_turned(fb, stage + s * 16 * 72 + l % 16 * 72 + j * 16 + l / 16 * 8);
      mma_h(acc[2 * j], fa, fb[0], fb[1]);
      mma_h(acc[2 * j + 1], fa, fb[2], fb[3]);
    }
    __syncwarp();
  }
  for (u j = 0; j < 8; j++) {
    float *p = y + (row * 16 + l / 4) * 64 + j * 8 + l % 4 * 2;
    *(float2 *)p = make_float2(acc[j][0], acc[j][1]);
    *(float2 *)(p + 8 * 64) = make_float2(acc[j][2], acc[j][3]);
  }
}

// Attention pieces: masked scores, a normalised residual, one split of a decoding step, a gate that picks two experts.
DEV float warp_sum(float v) {
#pragma unroll
  for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(ALL, v, d);
  return v;
}

K(qk_mask_mma)(const half *__restrict__ q, const half *__restrict__ k, float *__restrict__ top, float *__restrict__ sum,
               u len) {
  __shared__ __align__(16) half qs[64][72], ks[64][72];
  u t = threadIdx.x, w = t / 32, l = t % 32, base = blockIdx.y * len, q0 = blockIdx.x * 64;
  for (u i = t; i < 512; i += 128) *(uint4 *)&qs[i / 8][i % 8 * 8] = *(const uint4 *)&q[(base + q0) * 64 + i * 8];
  __syncthreads();
  u fa[4][4];
#pragma unroll
  for (u i = 0; i < 4; i++) ldm4(fa[i], &qs[w * 16 + l % 16][i * 16 + l / 16 * 8]);
  float m[2] = {-1e30f, -1e30f}, z[2] = {0, 0};
  for (u k0 = 0; k0 <= q0; k0 += 64) {
    __syncthreads();
    for (u i = t; i < 512; i += 128) *(uint4 *)&ks[i / 8][i % 8 * 8] = *(const uint4 *)&k[(base + k0) * 64 + i * 8];
    __syncthreads();
    float s[8][4] = {};
#pragma unroll
    for (u j = 0; j < 4; j++)
#pragma unroll
      for (u i = 0; i < 4; i++) {
        u fb[4];
        ldm4(fb, &ks[j * 16 + l % 16][i * 16 + l / 16 * 8]);
        mma_h(s[2 * j], fa[i], fb[0], fb[2]);
        mma_h(s[2 * j + 1], fa[i], fb[1], fb[3]);
      }
#pragma unroll
    for (u h = 0; h < 2; h++) {
      u row = q0 + w * 16 + l / 4 + h * 8;
      float best = m[h], add = 0;
#pragma unroll
      for (u j = 0; j < 16; j++) {
        float &v = s[j / 2][h * 2 + j % 2];
        v = k0 + j / 2 * 8 + l % 4 * 2 + j % 2 <= row ? v * 0.125f : -1e30f;
        best = fmaxf(best, v);
      }
      best = fmaxf(best, __shfl_xor_sync(ALL, best, 1));
      best = fmaxf(best, __shfl_xor_sync(ALL, best, 2));
#pragma unroll
      for (u j = 0; j < 16; j++) add += __expf(s[j / 2][h * 2 + j % 2] - best);
      add += __shfl_xor_sync(ALL, add, 1);
      add += __shfl_xor_sync(ALL, add, 2);
      z[h] = z[h] * __expf(m[h] - best) + add;
      m[h] = best;
    }
  }
  if (l % 4 < 2) {
    u at = base + q0 + w * 16 + l / 4 + l % 4 * 8;
    top[at] = l % 4 ? m[1] : m[0];
    sum[at] = l % 4 ? z[1] : z[0];
  }
}

K(__launch_bounds__(256, 4) residual_norm)(float4 *__restrict__ x, const float4 *__restrict__ add,
                                           const float4 *__restrict__ gain, uint2 *__restrict__ y) {
  __shared__ float part[2][8];
  u t = threadIdx.x, i = blockIdx.x * 256 + t;
  float4 v = x[i], r = add[i], g = gain[t];
  v.x += r.x, v.y += r.y, v.z += r.z, v.w += r.w;
  x[i] = v;
  float s = warp_sum(v.x + v.y + v.z + v.w), mean = 0, var = 0;
  if (t % 32 == 0) part[0][t / 32] = s;
  __syncthreads();
  for (u j = 0; j < 8; j++) mean += part[0][j];
  mean *= 1.0f / 1024;
  v.x -= mean, v.y -= mean, v.z -= mean, v.w -= mean;
  s = warp_sum(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w);
  if (t % 32 == 0) part[1][t / 32] = s;
  __syncthreads();
  for (u j = 0; j < 8; j++) var += part[1][j];
  float f = rsqrtf(var * (1.0f / 1024) + 1e-5f);
  half2 lo = __floats2half2_rn(v.x * f * g.x, v.y * f * g.y), hi = __floats2half2_rn(v.z * f * g.z, v.w * f * g.w);
  y[i] = make_uint2(*(u *)&lo, *(u *)&hi);
}

K(decode_split)(const half2 *__restrict__ q, const half2 *__restrict__ k, const half2 *__restrict__ v,
                float *__restrict__ out, float *__restrict__ stat, u len) {
  __shared__ float ms[4], zs[4], os[4][64];
  u t = threadIdx.x, w = t / 32, l = t % 32, head = blockIdx.y, chunk = len / gridDim.x, from = blockIdx.x * chunk;
  float2 fq = __half22float2(q[head * 32 + l]), o = make_float2(0, 0);
  float m = -1e30f, z = 0;
  for (u i = from + w * 4; i < from + chunk; i += 16) {
    float s[4], best = m;
    float2 fv[4];
#pragma unroll
    for (u j = 0; j < 4; j++) {
      float2 fk = __half22float2(k[(head * len + i + j) * 32 + l]);
      fv[j] = __half22float2(v[(head * len + i + j) * 32 + l]);
      s[j] = fk.x * fq.x + fk.y * fq.y;
    }
#pragma unroll
    for (u j = 0; j < 4; j++) s[j] = warp_sum(s[j]) * 0.125f, best = fmaxf(best, s[j]);
    float old = __expf(m - best);
    m = best, z *= old, o.x *= old, o.y *= old;
#pragma unroll
    for (u j = 0; j < 4; j++) {
      float p = __expf(s[j] - m);
      z += p, o.x += p * fv[j].x, o.y += p * fv[j].y;
    }
  }
  if (l == 0) ms[w] = m, zs[w] = z;
  os[w][2 * l] = o.x, os[w][2 * l + 1] = o.y;
  __syncthreads();
  if (t >= 64) return;
  float best = fmaxf(fmaxf(ms[0], ms[1]), fmaxf(ms[2], ms[3])), sum = 0, total = 0;
  for (u j = 0; j < 4; j++) {
    float p = __expf(ms[j] - best);
    sum += p * os[j][t], total += p * zs[j];
  }
  u at = head * gridDim.x + blockIdx.x;
  out[at * 64 + t] = sum;
  if (t < 2) stat[at * 2 + t] = t ? total : best;
}

K(expert_gate)(const float *__restrict__ logit, u *__restrict__ pick, float *__restrict__ weight, u *count, u each) {
  __shared__ u local[64];
  u t = threadIdx.x, l = t % 32, warp = (blockIdx.x * blockDim.x + t) / 32;
  if (t < 64) local[t] = 0;
  __syncthreads();
  for (u token = warp * each; token < (warp + 1) * each; token++) {
    float v[2] = {logit[token * 64 + l], logit[token * 64 + 32 + l]}, found[2];
    u who[2];
#pragma unroll
    for (u r = 0; r < 2; r++) {
      u at = v[1] > v[0] ? l + 32 : l;
      float best = fmaxf(v[0], v[1]);
      for (u d = 16; d; d >>= 1) {
        float other = __shfl_xor_sync(ALL, best, d);
        u there = __shfl_xor_sync(ALL, at, d);
        if (other > best || (other == best && there < at)) best = other, at = there;
      }
      found[r] = best, who[r] = at;
      if (at % 32 == l) v[at / 32] = -1e30f;
    }
    float p = __expf(found[1] - found[0]), sum = 1 + p;
    if (l < 2) {
      pick[token * 2 + l] = l ? who[1] : who[0];
      weight[token * 2 + l] = (l ? p : 1) / sum;
      atomicAdd(&local[l ? who[1] : who[0]], 1);
    }
  }
  __syncthreads();
  if (t < 64 && local[t]) atomicAdd(&count[t], local[t]);
}

// Sorting: splits by one bit at a time, merges by rank, Batcher's network on pairs.
K(radix_split)(const u *__restrict__ in, u *__restrict__ out, u shift, u bits) {
  __shared__ u key[1024], zeros[8];
  u t = threadIdx.x, w = t / 32, l = t % 32, below = (1u << l) - 1, mine[4], at[4];
  for (u j = 0; j < 4; j++) mine[j] = in[blockIdx.x * 1024 + w * 128 + j * 32 + l];
  for (u bit = shift; bit < shift + bits; bit++) {
    u seen = 0;
#pragma unroll
    for (u j = 0; j < 4; j++) {
      u mask = __ballot_sync(ALL, !(mine[j] >> bit & 1));
      at[j] = seen + __popc(mask & below);
      seen += __popc(mask);
    }
    if (l == 0) zeros[w] = seen;
    __syncthreads();
    u before = 0, total = 0;
#pragma unroll
    for (u j = 0; j < 8; j++) before += j < w ? zeros[j] : 0, total += zeros[j];
#pragma unroll
    for (u j = 0; j < 4; j++) {
      u zero = before + at[j];
      key[mine[j] >> bit & 1 ? total + w * 128 + j * 32 + l - zero : zero] = mine[j];
    }
    __syncthreads();
#pragma unroll
    for (u j = 0; j < 4; j++) mine[j] = key[w * 128 + j * 32 + l];
  }
  for (u j = 0; j < 4; j++) out[blockIdx.x * 1024 + w * 128 + j * 32 + l] = mine[j];
}

DEV void order(u &a, u &b) {
  u lo = min(a, b);
  b = max(a, b), a = lo;
}
K(merge_ranks)(const uint4 *__restrict__ in, u *__restrict__ out) {
  __shared__ __align__(16) u buf[2][1024];
  u t = threadIdx.x, side = 0;
  uint4 v = in[blockIdx.x * 256 + t];
  order(v.x, v.y), order(v.z, v.w), order(v.x, v.z), order(v.y, v.w), order(v.y, v.z);
  *(uint4 *)&buf[0][t * 4] = v;
  for (u width = 4; width < 1024; width *= 2, side ^= 1) {
    __syncthreads();
    for (u j = 0; j < 4; j++) {
      u i = t + j * 256, x = buf[side][i], right = i / width % 2, pair = i / (2 * width) * 2 * width;
      u lo = pair + (right ? 0 : width), first = lo, n = width;
      while (n) {
        u y = buf[side][lo + n / 2];
        if (right ? y <= x : y < x) lo += n / 2 + 1, n -= n / 2 + 1;
        else n /= 2;
      }
      buf[side ^ 1][pair + i % width + lo - first] = x;
    }
  }
  __syncthreads();
  for (u j = 0; j < 4; j++) out[blockIdx.x * 1024 + j * 256 + t] = buf[side][j * 256 + t];
}

K(batcher_pairs)(u *__restrict__ key, u *__restrict__ val) {
  __shared__ u k[512], v[512];
  u t = threadIdx.x, base = blockIdx.x * 512;
  for (u i = t; i < 512; i += 256) k[i] = key[base + i], v[i] = val[base + i];
  auto exchange = [&](u a, u b) {
    u x = k[a], y = k[b];
    if (x > y) {
      k[a] = y, k[b] = x;
      x = v[a], v[a] = v[b], v[b] = x;
    }
  };
  for (u size = 2; size <= 512; size *= 2) {
    u stride = size / 2, offset = t & (stride - 1);
    __syncthreads();
    exchange(2 * t - offset, 2 * t - offset + stride);
    for (stride /= 2; stride; stride /= 2) {
      __syncthreads();
      u at = 2 * t - (t & (stride - 1));
      if (offset >= stride) exchange(at - stride, at);
    }
  }
  __syncthreads();
  for (u i = t; i < 512; i += 256) key[base + i] = k[i], val[base + i] = v[i];
}

// Hashing: Keccak, SHA-1, leaves and parents of BLAKE3's kind, a short keyed hash of rows of uneven length.
__constant__ u64 keccak_rc[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
    0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
    0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
    0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};
DEV u64 rol64(u64 v, u n) { return n ? v << n | v >> (64 - n) : v; }
DEV u rol(u v, u n) { return v << n | v >> (32 - n); }
DEV u ror(u v, u n) { return v >> n | v << (32 - n); }

K(keccak_lanes)(const u64 *__restrict__ in, u64 *__restrict__ out, u n) {
  const u turn[25] = {0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14};
  u i = blockIdx.x * blockDim.x + threadIdx.x;
  u64 s[25], b[25], c[5];
#pragma unroll
  for (u j = 0; j < 25; j++) s[j] = j < 16 ? in[j * n + i] : j == 16 ? 0x8000000000000006 : 0;
#pragma unroll 1
  for (u r = 0; r < 24; r++) {
#pragma unroll
    for (u x = 0; x < 5; x++) c[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
#pragma unroll
    for (u j = 0; j < 25; j++) {
      u x = j % 5, y = j / 5;
      b[y + (2 * x + 3 * y) % 5 * 5] = rol64(s[j] ^ c[(x + 4) % 5] ^ rol64(c[(x + 1) % 5], 1), turn[j]);
    }
#pragma unroll
    for (u j = 0; j < 25; j++) s[j] = b[j] ^ (~b[j / 5 * 5 + (j % 5 + 1) % 5] & b[j / 5 * 5 + (j % 5 + 2) % 5]);
    s[0] ^= keccak_rc[r];
  }
  for (u j = 0; j < 4; j++) out[j * n + i] = s[j];
}

K(sha1_blocks)(const u *__restrict__ in, u *__restrict__ out, u n, u blocks) {
  u i = blockIdx.x * blockDim.x + threadIdx.x, h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (u k = 0; k < blocks; k++) {
    u w[16], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
#pragma unroll
    for (u j = 0; j < 16; j++) w[j] = __byte_perm(in[(k * 16 + j) * n + i], 0, 0x0123);
#pragma unroll
    for (u j = 0; j < 80; j++) {
      if (j >= 16) w[j % 16] = rol(w[(j + 13) % 16] ^ w[(j + 8) % 16] ^ w[(j + 2) % 16] ^ w[j % 16], 1);
      u f = j < 20 ? (b & c) | (~b & d) : j < 40 || j >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
      u con = j < 20 ? 0x5a827999 : j < 40 ? 0x6ed9eba1 : j < 60 ? 0x8f1bbcdc : 0xca62c1d6;
      u next = rol(a, 5) + f + e + con + w[j % 16];
      e = d, d = c, c = rol(b, 30), b = a, a = next;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
  }
  for (u j = 0; j < 5; j++) out[i * 5 + j] = h[j];
}

DEV void blake3_mix(u &a, u &b, u &c, u &d, u x, u y) {
  a += b + x, d = ror(d ^ a, 16), c += d, b = ror(b ^ c, 12);
  a += b + y, d = ror(d ^ a, 8), c += d, b = ror(b ^ c, 7);
}
DEV void blake3_press(u *h, u *m, u counter, u flags) {
  const u turn[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
  u v[16] = {h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
             counter, 0, 64, flags};
#pragma unroll
  for (u r = 0; r < 7; r++) {
    for (u j = 0; j < 4; j++) blake3_mix(v[j], v[4 + j], v[8 + j], v[12 + j], m[2 * j], m[2 * j + 1]);
    for (u j = 0; j < 4; j++)
      blake3_mix(v[j], v[4 + (j + 1) % 4], v[8 + (j + 2) % 4], v[12 + (j + 3) % 4], m[8 + 2 * j], m[9 + 2 * j]);
    u old[16];
    for (u j = 0; j < 16; j++) old[j] = m[j];
    for (u j = 0; j < 16; j++) m[j] = old[turn[j]];
  }
  for (u j = 0; j < 8; j++) h[j] = v[j] ^ v[8 + j];
}
DEV void blake3_start(u *h) {
  const u iv[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
#pragma unroll
  for (u j = 0; j < 8; j++) h[j] = iv[j];
}
K(blake3_leaves)(const uint4 *__restrict__ in, u *__restrict__ out) {
  __shared__ u node[128][9];
  u t = threadIdx.x, leaf = blockIdx.x * 128 + t, h[8], m[16];
  blake3_start(h);
#pragma unroll 1
  for (u b = 0; b < 4; b++) {
#pragma unroll
    for (u j = 0; j < 4; j++) {
      uint4 x = in[(leaf * 4 + b) * 4 + j];
      m[4 * j] = x.x, m[4 * j + 1] = x.y, m[4 * j + 2] = x.z, m[4 * j + 3] = x.w;
    }
    blake3_press(h, m, leaf, (b == 0) | (b == 3) << 1);
  }
  for (u j = 0; j < 8; j++) node[t][j] = h[j];
#pragma unroll 1
  for (u n = 64; n; n /= 2) {
    __syncthreads();
    if (t < n) {
      for (u j = 0; j < 16; j++) m[j] = node[2 * t + j / 8][j % 8];
      blake3_start(h);
      blake3_press(h, m, 0, n == 1 ? 12 : 4);
    }
    __syncthreads();
    if (t < n)
      for (u j = 0; j < 8; j++) node[t][j] = h[j];
  }
  __syncthreads();
  if (t < 8) out[blockIdx.x * 8 + t] = node[0][t];
}

DEV void sip_round(u &a, u &b, u &c, u &d) {
  a += b, b = rol(b, 5) ^ a, a = rol(a, 16), c += d, d = rol(d, 8) ^ c;
  a += d, d = rol(d, 7) ^ a, c += b, b = rol(b, 13) ^ c, c = rol(c, 16);
}
K(halfsip_rows)(const u *__restrict__ ptr, const u *__restrict__ word, u *__restrict__ out, u k0, u k1, u n) {
  u i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u at = ptr[i], end = ptr[i + 1], a = k0, b = k1, c = 0x6c796765 ^ k0, d = 0x74656462 ^ k1, len = (end - at) << 26;
  for (; at < end; at++) {
    u m = word[at];
    d ^= m, sip_round(a, b, c, d), sip_round(a, b, c, d), a ^= m;
  }
  d ^= len, sip_round(a, b, c, d), sip_round(a, b, c, d), a ^= len, c ^= 0xff;
  for (u r = 0; r < 4; r++) sip_round(a, b, c, d);
  out[i] = b ^ d;
}

// Integers: products of 1024 bits by a warp, a test for primes, powers of bit matrices, maps between states.
K(bigmul_rows)(const u *__restrict__ x, const u *__restrict__ y, u *__restrict__ out) {
  u l = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, a = x[row * 32 + l], b = y[row * 32 + l];
  u64 lo = 0, hi = 0;
  u lotop = 0, hitop = 0;
#pragma unroll 8
  for (u s = 0; s < 32; s++) {
    u64 p = (u64)__shfl_sync(ALL, a, s) * __shfl_sync(ALL, b, (l - s) & 31);
    if (l >= s) lo += p, lotop += lo < p;
    else hi += p, hitop += hi < p;
  }
  u mid = __shfl_up_sync(ALL, (u)(lo >> 32), 1), top = __shfl_up_sync(ALL, lotop, 2);
  u hmid = __shfl_sync(ALL, (u)((l == 31 ? lo : hi) >> 32), (l - 1) & 31);
  u htop = __shfl_sync(ALL, l >= 30 ? lotop : hitop, (l - 2) & 31);
  u64 sum = (u64)(u)lo + (l > 0 ? mid : 0) + (l > 1 ? top : 0), sum2 = (u64)(u)hi + hmid + htop;
  u v = sum, c = sum >> 32, v2 = sum2, c2 = sum2 >> 32;
  while (__any_sync(ALL, c | c2)) {
    u in = __shfl_up_sync(ALL, c, 1), in2 = __shfl_sync(ALL, l == 31 ? c : c2, (l - 1) & 31);
    in = l ? in : 0;
    v += in, c = v < in, v2 += in2, c2 = v2 < in2;
  }
  out[row * 64 + l] = v, out[row * 64 + 32 + l] = v2;
}

DEV u mont(u a, u b, u n, u inv) {
  u64 p = (u64)a * b;
  u q = (u)p * inv;
  u64 s = (u64)q * n;
  u h = p >> 32, g = s >> 32;
  return h >= g ? h - g : h - g + n;
}
K(miller_rabin)(const u *__restrict__ in, u *__restrict__ out) {
  u i = blockIdx.x * blockDim.x + threadIdx.x, n = in[i] | 1;
  bool prime = n > 8 && n % 3 && n % 5 && n % 7;
  if (prime) {
    u inv = n, one = (0 - n) % n, d = n - 1, s = __ffs(d) - 1, base = 2;
    for (u j = 0; j < 4; j++) inv *= 2 - n * inv;
    u minus = n - one, r2 = (u64)one * one % n;
    d >>= s;
    for (u k = 0; k < 3 && prime; k++, base = k == 1 ? 7 : 61) {
      if (base % n == 0) continue;
      u x = one, a = mont(base % n, r2, n, inv);
      for (u e = d; e; e >>= 1) {
        if (e & 1) x = mont(x, a, n, inv);
        a = mont(a, a, n, inv);
      }
      bool good = x == one || x == minus;
      for (u j = 1; j < s && !good; j++) x = mont(x, x, n, inv), good = x == minus;
      prime = good;
    }
  }
  u mask = __ballot_sync(ALL, prime);
  if (threadIdx.x % 32 == 0) out[i / 32] = mask;
}

K(bitmat_gf2)(const u *__restrict__ in, u *__restrict__ out, u squarings) {
  u i = blockIdx.x * blockDim.x + threadIdx.x, l = i % 32, row = in[i];
  for (u s = 0; s < squarings; s++) {
    u sum = 0;
#pragma unroll
    for (u k = 0; k < 32; k++) {
      u other = __shfl_sync(ALL, row, k);
      sum ^= row >> k & 1 ? other : 0;
    }
    row = sum;
  }
  u mask = 0xffff, x = row;
#pragma unroll
  for (u d = 16; d; d >>= 1, mask ^= mask << d) {
    u y = __shfl_xor_sync(ALL, x, d);
    x = l & d ? (x & ~mask) | (y >> d & mask) : (x & mask) | (y << d & ~mask);
  }
  out[i] = x ^ __popc(row);
}

DEV u then(u f, u g) {
  u r = 0;
#pragma unroll
  for (u j = 0; j < 32; j += 4) r |= (g >> ((f >> j & 7) * 4) & 7) << j;
  return r;
}
K(state_maps)(const u *__restrict__ table, const uint4 *__restrict__ text, u *__restrict__ map, u *__restrict__ found) {
  __shared__ u step[256], warps[8];
  u t = threadIdx.x, l = t % 32, i = blockIdx.x * 256 + t, f = 0x76543210;
  step[t] = table[t] & 0x77777777;
  uint4 v = text[i];
  __syncthreads();
  u word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (u j = 0; j < 16; j++) f = then(f, step[word[j / 4] >> j % 4 * 8 & 255]);
#pragma unroll
  for (u d = 1; d < 32; d *= 2) {
    u before = __shfl_up_sync(ALL, f, d);
    if (l >= d) f = then(before, f);
  }
  if (l == 31) warps[t / 32] = f;
  __syncthreads();
  u head = 0x76543210;
  for (u w = 0; w < t / 32; w++) head = then(head, warps[w]);
  f = then(head, f);
  map[i] = f;
  u mask = __ballot_sync(ALL, (f & 7) == 3);
  if (l == 0) found[i / 32] = __popc(mask);
}

// Double precision: the trailing update of LU, adaptive steps of an ODE, Jacobi rotations, adaptive quadrature.
K(schur_update)(double *__restrict__ a, const double *__restrict__ l, const double *__restrict__ r, u n) {
  __shared__ double ls[32][64], rs[32][64];
  u x = threadIdx.x, y = threadIdx.y, t = y * 16 + x, row = blockIdx.y * 64, col = blockIdx.x * 64;
  for (u i = t; i < 2048; i += 256) {
    ls[i / 64][i % 64] = l[i / 64 * n + row + i % 64];
    rs[i / 64][i % 64] = r[i / 64 * n + col + i % 64];
  }
  __syncthreads();
  double s[4][4];
  for (u i = 0; i < 4; i++)
    for (u j = 0; j < 4; j++) s[i][j] = a[(row + y + 16 * i) * n + col + x + 16 * j];
#pragma unroll 4
  for (u k = 0; k < 32; k++) {
    double p[4], q[4];
    for (u i = 0; i < 4; i++) p[i] = ls[k][y + 16 * i], q[i] = rs[k][x + 16 * i];
    for (u i = 0; i < 4; i++)
      for (u j = 0; j < 4; j++) s[i][j] -= p[i] * q[j];
  }
  for (u i = 0; i < 4; i++)
    for (u j = 0; j < 4; j++) a[(row + y + 16 * i) * n + col + x + 16 * j] = s[i][j];
}

DEV void lorenz(const double *p, double *d) {
  d[0] = 10 * (p[1] - p[0]), d[1] = p[0] * (28 - p[2]) - p[1], d[2] = p[0] * p[1] - 8.0 / 3 * p[2];
}
K(ode_adaptive)(const double *__restrict__ start, double *__restrict__ out, u *__restrict__ steps, u n) {
  u i = blockIdx.x * blockDim.x + threadIdx.x, tried = 0;
  double y[3], k1[3], k2[3], k3[3], k4[3], z[3], t = 0, h = 0.01;
  for (u j = 0; j < 3; j++) y[j] = 20 * start[j * n + i] - 10;
  lorenz(y, k1);
  while (t < 0.5 && tried < 80) {
    h = fmin(h, 0.5 - t), tried++;
    for (u j = 0; j < 3; j++) z[j] = y[j] + 0.5 * h * k1[j];
    lorenz(z, k2);
    for (u j = 0; j < 3; j++) z[j] = y[j] + 0.75 * h * k2[j];
    lorenz(z, k3);
    for (u j = 0; j < 3; j++) z[j] = y[j] + h * (2.0 / 9 * k1[j] + 1.0 / 3 * k2[j] + 4.0 / 9 * k3[j]);
    lorenz(z, k4);
    double err = 1e-12;
    for (u j = 0; j < 3; j++) err = fmax(err, fabs(h * (5.0 / 72 * k1[j] - k2[j] / 12 - k3[j] / 9 + k4[j] / 8)));
    if (err < 2e-3) {
      t += h;
      for (u j = 0; j < 3; j++) y[j] = z[j], k1[j] = k4[j];
    }
    h *= fmin(2.0, fmax(0.3, 0.9 * sqrt(1e-3 / err)));
  }
  for (u j = 0; j < 3; j++) out[j * n + i] = y[j];
  steps[i] = tried;
}

K(__launch_bounds__(64) jacobi_eigen4)(const double *__restrict__ in, double *__restrict__ out, u n) {
  u i = blockIdx.x * 64 + threadIdx.x, at = 0;
  double a[4][4];
#pragma unroll
  for (u p = 0; p < 4; p++)
#pragma unroll
    for (u q = p; q < 4; q++) a[p][q] = a[q][p] = in[at++ * n + i] + (p == q);
#pragma unroll 1
  for (u sweep = 0; sweep < 4; sweep++)
#pragma unroll
    for (u p = 0; p < 3; p++)
#pragma unroll
      for (u q = p + 1; q < 4; q++) {
        double off = a[p][q];
        if (fabs(off) < 1e-15) continue;
        double th = (a[q][q] - a[p][p]) / (2 * off), t = copysign(1.0, th) / (fabs(th) + sqrt(th * th + 1));
        double c = rsqrt(t * t + 1), s = t * c;
        a[p][p] -= t * off, a[q][q] += t * off, a[p][q] = a[q][p] = 0;
#pragma unroll
        for (u r = 0; r < 4; r++)
          if (r != p && r != q) {
            double x = a[r][p], y = a[r][q];
            a[r][p] = a[p][r] = c * x - s * y, a[r][q] = a[q][r] = s * x + c * y;
          }
      }
  for (u p = 0; p < 4; p++) out[p * n + i] = a[p][p];
}

DEV double curve(double x, double w) { return sqrt(x + 1e-3) / (w + (x - 0.4) * (x - 0.4)); }
K(simpson_stack)(const double *__restrict__ width, double *__restrict__ out, u *__restrict__ parts) {
  u i = blockIdx.x * blockDim.x + threadIdx.x, depth = 1, used = 0;
  double w = 0.01 + width[i], sum = 0, left[12], span[12];
  left[0] = 0, span[0] = 1;
  while (depth) {
    double a = left[--depth], h = span[depth], f0 = curve(a, w), f1 = curve(a + 0.25 * h, w);
    double f2 = curve(a + 0.5 * h, w), f3 = curve(a + 0.75 * h, w), f4 = curve(a + h, w);
    double one = h / 6 * (f0 + 4 * f2 + f4), two = h / 12 * (f0 + 4 * f1 + 2 * f2 + 4 * f3 + f4);
    used++;
    if (fabs(two - one) < 1e-4 * h || depth > 10 || used > 60) sum += two + (two - one) / 15;
    else left[depth] = a + 0.5 * h, span[depth++] = 0.5 * h, left[depth] = a, span[depth++] = 0.5 * h;
  }
  out[i] = sum, parts[i] = used;
}

// Images: a lens, a median by bits, equalised tiles, distances along rows.
K(lens_warp)(const u *__restrict__ in, u *__restrict__ out, u w, u h, float bend) {
  u x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float cx = (x + 0.5f) / w * 2 - 1, cy = (y + 0.5f) / h * 2 - 1, f = 1 + bend * (cx * cx + cy * cy);
  float sx = fminf(fmaxf((cx * f + 1) * 0.5f * w - 0.5f, 0), w - 1.001f);
  float sy = fminf(fmaxf((cy * f + 1) * 0.5f * h - 0.5f, 0), h - 1.001f);
  u ix = (u)sx, iy = (u)sy, at = iy * w + ix, right = ix + 1 < w, down = iy + 1 < h ? w : 0;
  float fx = sx - ix, fy = sy - iy;
  u p = __ldg(in + at), q = __ldg(in + at + right), r = __ldg(in + at + down), s = __ldg(in + at + down + right), v = 0;
#pragma unroll
  for (u c = 0; c < 32; c += 8) {
    float a = p >> c & 255, b = q >> c & 255, d = r >> c & 255, e = s >> c & 255;
    a += fx * (b - a), d += fx * (e - d);
    v |= __float2uint_rn(a + fy * (d - a)) << c;
  }
  out[y * w + x] = v;
}

K(median5_bits)(const uint8_t *__restrict__ in, uint8_t *__restrict__ out, int w, int h) {
  __shared__ uint8_t tile[12][40];
  int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 32 - 2, y0 = blockIdx.y * 8 - 2;
  for (int i = ty * 32 + tx; i < 12 * 36; i += 256) {
    int x = min(max(x0 + i % 36, 0), w - 1), y = min(max(y0 + i / 36, 0), h - 1);
    tile[i / 36][i % 36] = in[y * w + x];
  }
  __syncthreads();
  int v[25], best = 0;
#pragma unroll
  for (int i = 0; i < 25; i++) v[i] = tile[ty + i / 5][tx + i % 5];
  for (int bit = 128; bit; bit >>= 1) {
    int count = 0;
#pragma unroll
    for (int i = 0; i < 25; i++) count += v[i] >= (best | bit);
    if (count >= 13) best |= bit;
  }
  out[(y0 + 2 + ty) * w + x0 + 2 + tx] = best;
}

K(equalise_tiles)(const u *__restrict__ in, u *__restrict__ out, u pitch, u limit) {
  __shared__ u hist[256], sums[8];
  u t = threadIdx.x, l = t % 32, base = blockIdx.y * 64 * pitch + blockIdx.x * 16, px[4];
  hist[t] = 0;
  __syncthreads();
#pragma unroll
  for (u j = 0; j < 4; j++) {
    u v = px[j] = in[base + (j * 16 + t / 16) * pitch + t % 16];
    for (u c = 0; c < 32; c += 8) atomicAdd(&hist[v >> c & 255], 1);
  }
  __syncthreads();
  u mine = hist[t], over = mine > limit ? mine - limit : 0, cut = __reduce_add_sync(ALL, over);
  if (l == 0) sums[t / 32] = cut;
  __syncthreads();
  cut = 0;
  for (u j = 0; j < 8; j++) cut += sums[j];
  mine = min(mine, limit) + cut / 256;
  for (u d = 1; d < 32; d *= 2) {
    u before = __shfl_up_sync(ALL, mine, d);
    if (l >= d) mine += before;
  }
  __syncthreads();
  if (l == 31) sums[t / 32] = mine;
  __syncthreads();
  for (u j = 0; j < t / 32; j++) mine += sums[j];
  hist[t] = min(mine * 255 / 4096, 255u);
  __syncthreads();
#pragma unroll
  for (u j = 0; j < 4; j++) {
    u v = 0;
    for (u c = 0; c < 32; c += 8) v |= hist[px[j] >> c & 255] << c;
    out[base + (j * 16 + t / 16) * pitch + t % 16] = v;
  }
}

K(dist_rows)(const u *__restrict__ in, uint16_t *__restrict__ out, u w, u below) {
  u l = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  uint16_t *left = (uint16_t *)dyn + threadIdx.x / 32 * w;
  const u *from = in + row * w;
  int last = -40000, next = 40000;
  for (int x = l; x < (int)w; x += 32) {
    u mask = __ballot_sync(ALL, from[x] < below), mine = mask & (ALL >> (31 - l));
    left[x] = min(x - (mine ? x - (int)l + 31 - __clz(mine) : last), 40000);
    if (mask) last = x - (int)l + 31 - __clz(mask);
  }
  for (int x = w - 32 + l; x >= 0; x -= 32) {
    u mask = __ballot_sync(ALL, from[x] < below), mine = mask & (ALL << l);
    int d = min((mine ? x - (int)l + __ffs(mine) - 1 : next) - x, 40000);
    out[row * w + x] = min(d, (int)left[x]);
    if (mask) next = x - (int)l + __ffs(mask) - 1;
  }
}

// Irregular: a join by a shared table, a pulled BFS step, a tree of points, sliced ELL, particles in cells.
K(join_shared)(const u *__restrict__ build, const u *__restrict__ pay, const u *__restrict__ probe, u *__restrict__ sum,
               u *__restrict__ hits) {
  __shared__ u key[1024], val[1024];
  u t = threadIdx.x, matched = 0;
  for (u i = t; i < 1024; i += 256) key[i] = ALL;
  __syncthreads();
  for (u i = t; i < 512; i += 256) {
    u k = build[blockIdx.x * 512 + i], slot = k * 2654435761u >> 22;
    while (atomicCAS(&key[slot], ALL, k) != ALL) slot = (slot + 1) & 1023;
    val[slot] = pay[blockIdx.x * 512 + i];
  }
  __syncthreads();
  for (u i = t; i < 2048; i += 256) {
    u k = probe[blockIdx.x * 2048 + i], slot = k * 2654435761u >> 22, total = 0, found;
    for (; (found = key[slot]) != ALL; slot = (slot + 1) & 1023)
      if (found == k) total += val[slot], matched++;
    sum[blockIdx.x * 2048 + i] = total;
  }
  matched = __reduce_add_sync(ALL, matched);
  if (t % 32 == 0) atomicAdd(&hits[blockIdx.x], matched);
}

K(bfs_pull)(const u *__restrict__ ptr, const u *__restrict__ nbr, const u *__restrict__ level, u *__restrict__ parent,
            u *__restrict__ next, u *total, u now, u unseen) {
  u v = blockIdx.x * blockDim.x + threadIdx.x, from = ALL;
  if (level[v] >= unseen)
    for (u e = ptr[v], end = ptr[v + 1]; e < end; e++) {
      u n = nbr[e];
      if (__ldg(level + n) == now) {
        from = n;
        break;
      }
    }
  parent[v] = from;
  u mask = __ballot_sync(ALL, from != ALL);
  if (v % 32 == 0) {
    next[v / 32] = mask;
    atomicAdd(total, __popc(mask));
  }
}

K(kd_nearest)(const float4 *__restrict__ tree, const float4 *__restrict__ query, u *__restrict__ out, u nodes,
              float squeeze) {
  u i = blockIdx.x * blockDim.x + threadIdx.x, todo[32], depth = 1, best = 0, visits = 0;
  float wall[32], near = 1e30f;
  float4 q = query[i];
  q.x = q.x * squeeze + 0.5f, q.y = q.y * squeeze + 0.5f, q.z = q.z * squeeze + 0.5f;
  todo[0] = 1, wall[0] = 0;
  while (depth && visits < 400) {
    u at = todo[--depth];
    if (wall[depth] >= near) continue;
    visits++;
    float4 p = __ldg(tree + at - 1);
    float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z, d = dx * dx + dy * dy + dz * dz;
    if (d < near) near = d, best = at;
    u axis = (31 - __clz(at)) % 3;
    float side = axis == 0 ? dx : axis == 1 ? dy : dz;
    u child = 2 * at + (side > 0);
    if (2 * at < nodes) {
      todo[depth] = child ^ 1, wall[depth++] = side * side;
      todo[depth] = child, wall[depth++] = 0;
    }
  }
  out[i] = best << 9 | visits;
}

K(sell_spmv)(const u *__restrict__ ptr, const u *__restrict__ col, const float *__restrict__ val,
             const float *__restrict__ x, float *__restrict__ y) {
  u l = threadIdx.x % 32, slice = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  float sum = 0;
#pragma unroll 4
  for (u e = ptr[slice], end = ptr[slice + 1]; e < end; e++) sum += val[e * 32 + l] * __ldg(x + col[e * 32 + l]);
  y[slice * 32 + l] = sum;
}

K(cell_pairs)(const u *__restrict__ count, const float2 *__restrict__ place, float2 *__restrict__ force, u side,
              float cut) {
  u t = threadIdx.x, cell = blockIdx.x * 8 + t / 16, cx = cell % side, cy = cell / side;
  if (t % 16 >= count[cell]) return;
  float2 p = place[cell * 16 + t % 16], f = make_float2(0, 0);
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      u other = (cy + side + dy) % side * side + (cx + side + dx) % side, n = count[other];
      for (u j = 0; j < n; j++) {
        float2 q = place[other * 16 + j];
        float x = q.x + dx - p.x, y = q.y + dy - p.y, r = x * x + y * y;
        if (r < cut && r > 0) {
          float s = __fdividef(cut - r, r + 0.01f);
          f.x -= s * x, f.y -= s * y;
        }
      }
    }
  force[cell * 16 + t % 16] = f;
}

// Physics and learning: a lattice of 19 speeds, a thin convolution with stride 2, a gated unit, weighted bags of rows.
K(lbm_d3q19)(const float *__restrict__ in, float *__restrict__ out, float rate) {
  const int ex[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
  const int ey[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
  const int ez[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
  int nx = blockDim.x, ny = gridDim.x * blockDim.y, nz = gridDim.y, n = nx * ny * nz;
  int x = threadIdx.x, y = blockIdx.x * blockDim.y + threadIdx.y, z = blockIdx.y;
  float f[19], rho = 0, ux = 0, uy = 0, uz = 0;
#pragma unroll
  for (int q = 0; q < 19; q++) {
    int sx = x - ex[q], sy = y - ey[q], sz = z - ez[q];
    sx = sx < 0 ? nx - 1 : sx == nx ? 0 : sx, sy = sy < 0 ? ny - 1 : sy == ny ? 0 : sy;
    sz = sz < 0 ? nz - 1 : sz == nz ? 0 : sz;
    f[q] = in[q * n + (sz * ny + sy) * nx + sx];
    rho += f[q], ux += ex[q] * f[q], uy += ey[q] * f[q], uz += ez[q] * f[q];
  }
  float inv = 1 / (rho + 0.01f);
  ux *= inv, uy *= inv, uz *= inv;
  float square = 1 - 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma unroll
  for (int q = 0; q < 19; q++) {
    float w = q == 0 ? 1.0f / 3 : q < 7 ? 1.0f / 18 : 1.0f / 36, e = ex[q] * ux + ey[q] * uy + ez[q] * uz;
    out[q * n + (z * ny + y) * nx + x] = f[q] + rate * (w * rho * (square + 3 * e + 4.5f * e * e) - f[q]);
  }
}

K(depthwise_s2)(const half2 *__restrict__ in, const half2 *__restrict__ weight, half2 *__restrict__ out, int side) {
  int c = threadIdx.x, x = blockIdx.x * 8 + threadIdx.y, y = blockIdx.y, image = blockIdx.z, half_side = side / 2;
  half2 sum = __float2half2_rn(0);
#pragma unroll
  for (int k = 0; k < 9; k++) {
    int sx = x * 2 - 1 + k % 3, sy = y * 2 - 1 + k / 3;
    if (sx >= 0 && sy >= 0 && sx < side && sy < side)
      sum = __hfma2(in[((image * side + sy) * side + sx) * 32 + c], __ldg(weight + k * 32 + c), sum);
  }
  out[((image * half_side + y) * half_side + x) * 32 + c] = __hmax2(sum, __float2half2_rn(0));
}

DEV float sigmoid(float v) { return __fdividef(1, 1 + __expf(-v)); }
K(gru_cell)(const float *__restrict__ x, const float *__restrict__ h, const float *__restrict__ wx,
            const float *__restrict__ wh, const float *__restrict__ bias, float *__restrict__ out) {
  float4 *xs = (float4 *)dyn, *hs = xs + 128;
  u j = threadIdx.x, row = blockIdx.x * 4;
  for (u b = 0; b < 4; b++) {
    ((float *)&xs[j])[b] = x[(row + b) * 128 + j];
    ((float *)&hs[j])[b] = h[(row + b) * 128 + j];
  }
  __syncthreads();
  float r[4], z[4], n[4], m[4];
#pragma unroll
  for (u b = 0; b < 4; b++) r[b] = bias[j], z[b] = bias[128 + j], n[b] = bias[256 + j], m[b] = bias[384 + j];
#pragma unroll 4
  for (u k = 0; k < 128; k++) {
    const float *a = wx + k * 384 + j, *c = wh + k * 384 + j;
    float a0 = a[0], a1 = a[128], a2 = a[256], c0 = c[0], c1 = c[128], c2 = c[256];
    float4 v = xs[k], p = hs[k];
    r[0] += a0 * v.x + c0 * p.x, r[1] += a0 * v.y + c0 * p.y, r[2] += a0 * v.z + c0 * p.z, r[3] += a0 * v.w + c0 * p.w;
    z[0] += a1 * v.x + c1 * p.x, z[1] += a1 * v.y + c1 * p.y, z[2] += a1 * v.z + c1 * p.z, z[3] += a1 * v.w + c1 * p.w;
    n[0] += a2 * v.x, n[1] += a2 * v.y, n[2] += a2 * v.z, n[3] += a2 * v.w;
    m[0] += c2 * p.x, m[1] += c2 * p.y, m[2] += c2 * p.z, m[3] += c2 * p.w;
  }
#pragma unroll
  for (u b = 0; b < 4; b++) {
    float keep = sigmoid(z[b]), fresh = 2 * sigmoid(2 * (n[b] + sigmoid(r[b]) * m[b])) - 1;
    out[(row + b) * 128 + j] = fresh + keep * (((float *)&hs[j])[b] - fresh);
  }
}

K(bag_mean)(const u *__restrict__ ptr, const u *__restrict__ index, const float *__restrict__ weight,
            const float2 *__restrict__ table, float2 *__restrict__ out) {
  u l = threadIdx.x % 32, bag = (blockIdx.x * blockDim.x + threadIdx.x) / 32, at = ptr[bag], end = ptr[bag + 1];
  u mine = at + l < end ? index[at + l] : 0;
  float share = at + l < end ? weight[at + l] : 0, sum = warp_sum(share) + 1e-6f;
  float2 v = make_float2(0, 0);
  for (u j = 0; j < end - at; j++) {
    float2 row = table[__shfl_sync(ALL, mine, j) * 32 + l];
    float f = __shfl_sync(ALL, share, j);
    v.x += f * row.x, v.y += f * row.y;
  }
  out[bag * 32 + l] = make_float2(v.x / sum, v.y / sum);
}

// Bandwidth: a box cut from a volume, structures to arrays, a scan that carries on, a swizzled transpose, reductions.
K(subbox_copy)(const float *__restrict__ in, float *__restrict__ out, u w, u h, u ow, u oh) {
  u x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
  if (x < ow && y < oh) out[(z * oh + y) * ow + x] = in[((2 * z + 1) * h + 2 * y + 3) * w + x + 17];
}

K(aos_split7)(const u *__restrict__ in, u *__restrict__ out, u n) {
  __shared__ u s[256 * 7];
  u t = threadIdx.x;
#pragma unroll
  for (u j = 0; j < 7; j++) s[j * 256 + t] = in[blockIdx.x * 1792 + j * 256 + t];
  __syncthreads();
#pragma unroll
  for (u j = 0; j < 7; j++) out[j * n + blockIdx.x * 256 + t] = s[t * 7 + j];
}

K(__launch_bounds__(1024) scan_carry)(const uint4 *__restrict__ in, uint4 *__restrict__ out, u tiles) {
  __shared__ u sums[32];
  u t = threadIdx.x, l = t % 32, carry = 0, at = blockIdx.x * tiles * 1024 + t;
  for (u k = 0; k < tiles; k++, at += 1024) {
    uint4 v = in[at];
    v.y += v.x, v.z += v.y, v.w += v.z;
    u s = v.w;
#pragma unroll
    for (u d = 1; d < 32; d *= 2) {
      u before = __shfl_up_sync(ALL, s, d);
      s += l >= d ? before : 0;
    }
    if (l == 31) sums[t / 32] = s;
    __syncthreads();
    if (t < 32) {
      u w = sums[t];
#pragma unroll
      for (u d = 1; d < 32; d *= 2) {
        u before = __shfl_up_sync(ALL, w, d);
        w += l >= d ? before : 0;
      }
      sums[t] = w;
    }
    __syncthreads();
    u add = carry + s - v.w + (t >= 32 ? sums[t / 32 - 1] : 0);
    carry += sums[31];
    out[at] = make_uint4(v.x + add, v.y + add, v.z + add, v.w + add);
    __syncthreads();
  }
}

K(transpose_021)(const u64 *__restrict__ in, u64 *__restrict__ out, u rows, u cols) {
  __shared__ u64 tile[32][32];
  u x = threadIdx.x, base = blockIdx.z * rows * cols, r = blockIdx.y * 32, c = blockIdx.x * 32;
  for (u y = threadIdx.y; y < 32; y += 8) tile[y][x ^ y] = in[base + (r + y) * cols + c + x];
  __syncthreads();
  for (u y = threadIdx.y; y < 32; y += 8) out[base + (c + y) * rows + r + x] = tile[x][x ^ y];
}

K(minmax_redux)(const uint4 *__restrict__ in, u *__restrict__ out, u n) {
  __shared__ u part[4][16];
  u t = threadIdx.x, lo = ALL, hi = 0, sum = 0, mix = 0;
  for (u i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
    uint4 v = in[i];
    lo = min(min(lo, min(v.x, v.y)), min(v.z, v.w)), hi = max(max(hi, max(v.x, v.y)), max(v.z, v.w));
    sum += v.x + v.y + v.z + v.w, mix ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  lo = __reduce_min_sync(ALL, lo), hi = __reduce_max_sync(ALL, hi);
  sum = __reduce_add_sync(ALL, sum), mix = __reduce_xor_sync(ALL, mix);
  if (t % 32 == 0) part[0][t / 32] = lo, part[1][t / 32] = hi, part[2][t / 32] = sum, part[3][t / 32] = mix;
  __syncthreads();
  if (t >= 32) return;
  u l = t % 16;
  lo = __reduce_min_sync(ALL, part[0][l]), hi = __reduce_max_sync(ALL, part[1][l]);
  sum = __reduce_add_sync(ALL, t < 16 ? part[2][l] : 0), mix = __reduce_xor_sync(ALL, t < 16 ? part[3][l] : 0);
  if (t == 0) *(uint4 *)&out[blockIdx.x * 4] = make_uint4(lo, hi, sum, mix);
}

// Half precision: a sum of two scaled vectors, clamped; a biased GELU kept in halves.
K(axpby_h8)(const uint4 *__restrict__ x, uint4 *__restrict__ y, float a, float b) {
  u i = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 p = x[i], q = y[i];
  half2 ha = __float2half2_rn(a), hb = __float2half2_rn(b), top = __float2half2_rn(0.75f);
  u *pp = (u *)&p, *qq = (u *)&q;
#pragma unroll
  for (u j = 0; j < 4; j++) {
    half2 v = __hfma2(ha, *(half2 *)&pp[j], __hmul2(hb, *(half2 *)&qq[j]));
    v = __hmax2(__hmin2(v, top), __hneg2(top));
    qq[j] = *(u *)&v;
  }
  y[i] = q;
}

K(gelu_h2)(const half2 *__restrict__ in, const half2 *__restrict__ bias, half2 *__restrict__ out, u width, u n) {
  const half2 one = __float2half2_rn(1), c = __float2half2_rn(-1.5957691f), d = __float2half2_rn(-0.0713548f);
  for (u i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    half2 v = __hadd2(in[i], __ldg(bias + i % width));
    half2 e = h2exp(__hmul2(v, __hfma2(d, __hmul2(v, v), c)));
    out[i] = __h2div(v, __hadd2(one, e));
  }
}
