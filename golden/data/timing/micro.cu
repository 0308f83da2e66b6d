typedef unsigned int u32; typedef unsigned long long u64;
#define K extern "C" __global__ void
#define BEGIN __syncthreads(); u64 c0 = clock64();
#define END __syncthreads(); u64 c1 = clock64(); if (threadIdx.x == 0) out[blockIdx.x] = c1 - c0;
// loads that hit L1 and touch p lines
K l1_lines(u32 *buf, u64 *out, u32 *sink, int p) {
  u32 at = (threadIdx.x % 32 % p) * 32 + threadIdx.x % 32 / p, b1 = at, b2 = at, b3 = at; u32 s = 0;
  for (int i = 0; i < 8; i++) s += buf[at];
  BEGIN
#pragma unroll 4
  for (int i = 0; i < 64; i++) { at += __ldca(&buf[at]); b1 += __ldca(&buf[b1]); b2 += __ldca(&buf[b2]); b3 += __ldca(&buf[b3]); }
  END sink[threadIdx.x] = at + b1 + b2 + b3 + s;
}
K match_distinct(u32 *buf, u64 *out, u32 *sink, int p) {
  u32 v = threadIdx.x % p, w = v; BEGIN
#pragma unroll 4
  for (int i = 0; i < 64; i++) { v = __match_any_sync(~0u, v); w = __match_any_sync(~0u, w); v &= p == 1 ? 0 : ~0u; }
  END sink[threadIdx.x] = v + w;
}
K i2f_thr(u32 *buf, u64 *out, u32 *sink, int p) {
  int a = threadIdx.x + p, b = a * 3, c = a * 5, d = a * 7; BEGIN
#pragma unroll 8
  for (int i = 0; i < 64; i++) { a = __float_as_int((float)a); b = __float_as_int((float)b); c = __float_as_int((float)c); d = __float_as_int((float)d); }
  END sink[threadIdx.x] = a + b + c + d;
}
K u8f_thr(u32 *buf, u64 *out, u32 *sink, int p) {
  u32 a = threadIdx.x + p, b = a * 3, c = a * 5, d = a * 7; BEGIN
#pragma unroll 8
  for (int i = 0; i < 64; i++) { a = __float_as_int((float)(unsigned char)a); b = __float_as_int((float)(unsigned char)b); c = __float_as_int((float)(unsigned char)c); d = __float_as_int((float)(unsigned char)d); }
  END sink[threadIdx.x] = a + b + c + d;
}
K f2i_thr(u32 *buf, u64 *out, u32 *sink, int p) {
  float a = threadIdx.x + p, b = a * 3, c = a * 5, d = a * 7; BEGIN
#pragma unroll 8
  for (int i = 0; i < 64; i++) { a = __int_as_float((int)a); b = __int_as_float((int)b); c = __int_as_float((int)c); d = __int_as_float((int)d); }
  END sink[threadIdx.x] = a + b + c + d;
}
// shared-memory atomics: lanes on p words
K atoms_words(u32 *buf, u64 *out, u32 *sink, int p) {
  __shared__ u32 s[1024]; s[threadIdx.x] = 0; __syncthreads(); u32 v = 0; u32 *q = &s[threadIdx.x % p]; BEGIN
  for (int i = 0; i < 64; i++) v += atomicAdd(q, v + 1);
  END sink[threadIdx.x] = v;
}
// a whole grid of global atomics over p words
K atom_spread(u32 *buf, u64 *out, u32 *sink, int p) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x; BEGIN
  for (int k = 0; k < 16; k++) { atomicAdd(&buf[(i * 2654435761u >> 7) % p], 1); i += 77777; }
  END
}
K branch_short(u32 *buf, u64 *out, u32 *sink, int p) {
  u32 v = threadIdx.x, s = 0; BEGIN
#pragma unroll 1
  for (int i = 0; i < 64; i++) { if ((v & 31) < p) s += v * 3; else s ^= v; v = v * 5 + 1; }
  END sink[threadIdx.x] = s;
}
K branch_loop(u32 *buf, u64 *out, u32 *sink, int p) {
  float s = threadIdx.x; int n = threadIdx.x % 32 < p ? 64 : 32; BEGIN
#pragma unroll 1
  for (int i = 0; i < n; i++) s = s * 1.5f + 2.0f;
  END sink[threadIdx.x] = s;
}
#define D(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
K wgmma_n(u32 *buf, u64 *out, u32 *sink, int p) {
  __shared__ __align__(1024) u32 s[8192]; for (int i = threadIdx.x; i < 8192; i += blockDim.x) s[i] = 0; __syncthreads();
  u64 da = ((u64)((u32)__cvta_generic_to_shared(s) >> 4) & 0x3fff) | (u64)8 << 16 | (u64)64 << 32 | (u64)1 << 62, db = da + 512; float d[32] = {};
  BEGIN
  for (int i = 0; i < 16; i++) {
    asm volatile("wgmma.fence.sync.aligned;");
    for (int k = 0; k < 8; k++) {
      if (p == 8) asm volatile("{wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;}" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(da), "l"(db));
      if (p == 32) asm volatile("{wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, %16, %17, 1, 1, 1, 0, 0;}" : D(0), D(8) : "l"(da), "l"(db));
      if (p == 64) asm volatile("{wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;}" : D(0), D(8), D(16), D(24) : "l"(da), "l"(db));
      if (p == 65) asm volatile("{wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1;}" : D(0), D(8), D(16), D(24) : "l"(da), "l"(db));
      if (p == 66) asm volatile("{wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1;}" : D(0), D(8), D(16), D(24) : "l"(da), "l"(db));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
  }
  END float t = 0; for (int i = 0; i < 32; i++) t += d[i]; sink[threadIdx.x] = t;
}
// strided reads of device memory, 32 bytes each, distance p bytes, every byte touched once
K dram_stride(u32 *buf, u64 *out, u32 *sink, int p) {
  u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; u32 s = 0; u64 n = (u64)gridDim.x * blockDim.x, size = 1ull << 28, w = p / 4;
  for (int k = 0; k < 8; k++) { u64 j = (i + n * k) * w; s += buf[(j % size + j / size * 8) % size]; }
  if (s == 12345) sink[0] = s;
}
