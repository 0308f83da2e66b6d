#include "truth.h"
// Memory: ends of allocations and variables, freed memory, alignment, leaks.

K far_away(int *a, int n) {
  if (T == 0) a[FIXED ? 0 : n] = 1;  // @w
}
// run: far_away<<<1, 32>>>(u32[64]:fill:0, u32:5000)
// finds: memory/out-of-bounds: @w

K grid_larger_than_data(int *a, int n) {
  if (!FIXED || I < n) a[I] = I;  // @w
}
// run: grid_larger_than_data<<<4, 32>>>(u32[100]:fill:0, u32:100)
// finds: memory/out-of-bounds: @w

K last_byte(const char *a, int *out, int n) {
  out[0] = a[FIXED ? n - 1 : n];  // @r
}
// run: last_byte<<<1, 1>>>(u8[33]:fill:1, u32[1]:fill:0, u32:33)
// finds: memory/out-of-bounds: @r

K vector_past_the_end(const int4 *a, int4 *out, int n) {
  out[0] = a[FIXED ? 0 : n];  // @r
}
// run: vector_past_the_end<<<1, 1>>>(u32[6]:fill:1, u32[4]:fill:0, u32:1)
// finds: memory/out-of-bounds: @r

K wrong_buffer(int *a, int *b, int n) {
  // Leaves `a` and lands in another allocation, or between them.
  a[FIXED ? T : T + n] = b[T];  // @w
}
// run: wrong_buffer<<<1, 32>>>(u32[32]:iota, u32[32]:iota, u32:1)
// finds: memory/out-of-bounds: @w

K atomic_past_the_end(u32 *a, int n) {
  atomicAdd(a + (FIXED ? 0 : n), 1u);  // @a
}
// run: atomic_past_the_end<<<1, 1>>>(u32[8]:fill:0, u32:8)
// finds: memory/out-of-bounds: @a

K negative_index(const int *a, int *out, int n) {
  out[T] = a[FIXED ? T : T - n];  // @r
}
// run: negative_index<<<1, 8>>>(u32[8]:iota, u32[8]:fill:0, u32:3)
// finds: memory/out-of-bounds: @r

K shared_by_one(int *out, int n) {
  __shared__ int a[16];
  __shared__ int b[16];
  a[T % 16] = 1, b[T % 16] = 2;
  a[FIXED ? n - 1 : n] = 3;  // @w
  out[T] = a[T] + b[T];
}
// run: shared_by_one<<<1, 1>>>(u32[1]:fill:0, u32:16) check=memory
// finds: memory/out-of-bounds: @w; `

K dynamic_too_small(int *out) {
  extern __shared__ volatile int d[];
  if (FIXED && T >= 16) return;
  d[T] = T;  // @w
  out[T] = d[T];
}
// run: dynamic_too_small<<<1, 32, 64>>>(u32[32]:fill:0) check=memory
// finds: memory/out-of-bounds: @w

// The compiler makes one array of both: only what leaves them both can be seen.
K local_neighbour(int *out, int n) {
  int a[4], b[4];
  for (int i = 0; i < 4; i++) a[(i + n) % 4] = i, b[(i + n) % 4] = 10 * i;
  out[T] = a[FIXED ? n % 4 : n] + b[(T + n) % 4];  // @r
}
// run: local_neighbour<<<1, 2>>>(u32[2]:fill:0, u32:12) check=memory
// finds: memory/out-of-bounds: @r

K crooked_store(char *a, int n) {
  *(short *)(a + 2 * T + (FIXED ? 0 : n)) = T;  // @w
}
// run: crooked_store<<<1, 4>>>(u8[32]:fill:0, u32:1)
// finds: memory/misaligned: @w

K crooked_vector(float *a, float *out, int n) {
  float2 v = *(float2 *)(a + (FIXED ? 0 : n));  // @r
  out[0] = v.x + v.y;
}
// run: crooked_vector<<<1, 1>>>(f32[8]:fill:1, f32[1]:fill:0, u32:1)
// finds: memory/misaligned: @r

K crooked_atomic(char *a, int n) {
  atomicAdd((u32 *)(a + (FIXED ? 4 : n)), 1u);  // @a
}
// run: crooked_atomic<<<1, 1>>>(u8[32]:fill:0, u32:6)
// finds: memory/misaligned: @a

K null_pointer(int *a, int n) {
  int *p = FIXED ? a : (int *)(u64)(n - 1);
  p[2] = 1;  // @w
}
// run: null_pointer<<<1, 1>>>(u32[4]:fill:0, u32:1)
// finds: memory/null-pointer: @w

K heap_overflow(int *out, int n) {
  int *p = (int *)malloc(4 * n);
  p[FIXED ? n - 1 : n] = 1;  // @w
  out[0] = p[n - 1] * 0;
  free(p);
}
// run: heap_overflow<<<1, 1>>>(u32[1]:fill:0, u32:10) check=memory
// finds: memory/out-of-bounds: @w

K heap_leak(int **keep, int n) {
  int *p = (int *)malloc(4 * n);
  p[0] = n;
  if (p[0] == n && FIXED) free(p);
  keep[0] = p;
}
// run: heap_leak<<<1, 1>>>(u64[1]:fill:0, u32:10) check=memory
// finds: memory/leak

K free_of_the_middle(int *out, int n) {
  char *p = (char *)malloc(64);
  p[0] = n;
  out[0] = p[0];
  free(FIXED ? p : p + n);  // @f
}
// run: free_of_the_middle<<<1, 1>>>(u32[1]:fill:0, u32:16)
// finds: memory/bad-free: @f

K freed_by_another(int **slot, int *out) {
  if (T == 0) {
    slot[0] = (int *)malloc(16);
    slot[0][0] = 4;
  }
  __syncthreads();
  if (T == 1 && !FIXED) free(slot[0]);
  __syncthreads();
  if (T == 2) out[0] = slot[0][0];  // @r
  __syncthreads();
  if (T == 3 && FIXED) free(slot[0]);
}
// run: freed_by_another<<<1, 32>>>(u64[1]:fill:0, u32[1]:fill:0)
// finds: memory/use-after-free: @r

K copy_past_the_end(int *in, int *out) {
  __shared__ int a[32];
  CP_ASYNC(&a[T], in + T + (FIXED ? 0 : 1));  // @c
  CP_COMMIT();
  CP_WAIT(0);
  out[T] = a[T];
}
// run: copy_past_the_end<<<1, 32>>>(u32[32]:iota, u32[32]:fill:0)
// finds: memory/out-of-bounds: @c

K bulk_past_the_end(int *in, int *out) {
  __shared__ __align__(16) int a[64];
  __shared__ u64 bar;
  if (T == 0) {
    MBAR_INIT(&bar, 1);
    MBAR_EXPECT(&bar, FIXED ? 128 : 144);
    BULK_LOAD(a, in, FIXED ? 128 : 144, &bar);  // @c
  }
  __syncthreads();
  MBAR_WAIT(&bar, 0);
  out[T] = a[T];
}
// run: bulk_past_the_end<<<1, 32>>>(u32[32]:iota, u32[32]:fill:0)
// finds: memory/out-of-bounds: @c
