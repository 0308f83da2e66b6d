// Streams of cold data that whole grids read and store, a word of 4 or 16 bytes a thread and stream.
typedef unsigned u32;
#define K(n) extern "C" __global__ void n
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define THREADS (gridDim.x * blockDim.x)
__device__ u32 sum(u32 a, u32 b) { return a + b; }
__device__ uint4 sum(uint4 a, uint4 b) { return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__device__ u32 one(u32 a) { return a; }
__device__ u32 one(uint4 a) { return a.x ^ a.y ^ a.z ^ a.w; }
__device__ void fill(u32& to, u32 i) { to = i; }
__device__ void fill(uint4& to, u32 i) { to = make_uint4(i, i, i, i); }
#define ALL(name, type)                                                                                   \
  K(name##_r1w0)(const type* a, u32* p) { u32 v = one(a[THREAD]); if (v == 0x12345u) p[0] = v; }              \
  K(name##_r2w0)(const type* a, const type* b, u32* p) {                                                    \
    u32 v = one(a[THREAD]) + one(b[THREAD]); if (v == 0x12345u) p[0] = v;                                     \
  }                                                                                                         \
  K(name##_r0w1)(type* p) { type v; fill(v, THREAD); p[THREAD] = v; }                                       \
  K(name##_r1w1)(const type* a, type* p) { p[THREAD] = sum(a[THREAD], a[THREAD]); }                         \
  K(name##_r2w1)(const type* a, const type* b, type* p) { p[THREAD] = sum(a[THREAD], b[THREAD]); }          \
  K(name##_r3w1)(const type* a, const type* b, const type* c, type* p) {                                    \
    p[THREAD] = sum(sum(a[THREAD], b[THREAD]), c[THREAD]);                                                  \
  }                                                                                                         \
  K(name##_r1w2)(const type* a, type* p, type* q) {                                                         \
    type v = a[THREAD]; p[THREAD] = sum(v, v); q[THREAD] = v;                                               \
  }                                                                                                         \
  K(name##_place)(type* p) { p[THREAD] = sum(p[THREAD], p[THREAD]); }                                       \
  K(name##_turns)(const type* a, type* p, u32 turns) {                                                      \
    for (u32 i = 0; i < turns; i++) p[THREAD + i * THREADS] = sum(a[THREAD + i * THREADS], a[THREAD + i * THREADS]); \
  }                                                                                                         \
  K(name##_reads)(const type* a, u32* p, u32 turns) {                                                       \
    u32 v = 0;                                                                                              \
    for (u32 i = 0; i < turns; i++) v += one(a[THREAD + i * THREADS]);                                      \
    if (v == 0x12345u) p[0] = v;                                                                            \
  }
ALL(w4, u32)
ALL(w16, uint4)
// Records of seven words, parts to arrays of their own.
K(records_7)(const u32* a, u32* p, u32 n) {
  for (int w = 0; w < 7; w++) p[w * n + THREAD] = a[THREAD * 7 + w];
}
