#include "../truth.h"
// Memory.

K one_too_many(int *a, int n) {
  for (int i = T; FIXED ? i < n : i <= n; i += 32) a[i] = i;  // @w
}
// run: one_too_many<<<1, 32>>>(u32[64]:fill:0, u32:64)
// finds: memory/out-of-bounds: @w

K before_the_start(int *a, int *out, int n) {
  out[T] = a[(FIXED ? T : T - 1) * n];  // @r
}
// run: before_the_start<<<1, 32>>>(u32[64]:iota, u32[32]:fill:0, u32:1)
// finds: memory/out-of-bounds: @r

K past_a_few_bytes(unsigned char *a, int n) {
  a[n - (FIXED ? 1 : 0)] = 1;  // @w
}
// run: past_a_few_bytes<<<1, 1>>>(u8[61]:fill:0, u32:61)
// finds: memory/out-of-bounds: @w

K neighbour_in_shared(int *out, int n) {
  __shared__ int a[32], b[32];
  a[T] = T;
  b[T] = 2 * T;
  __syncthreads();
  out[T] = a[FIXED ? (T + n) % 32 : T + n] + b[T];  // @r
}
// run: neighbour_in_shared<<<1, 32>>>(u32[32]:fill:0, u32:2) check=memory,race,sync
// finds: memory/out-of-bounds: @r; `

K local_array(int *out, int n) {
  int a[8], s = 0;
  for (int i = 0; i < (FIXED ? n : n + 1); i++) a[i * n / 8] = i;  // @w
  for (int i = 0; i < 8; i++) s += a[(i + T * n) % 8];
  out[T] = s;
}
// run: local_array<<<1, 4>>>(u32[4]:fill:0, u32:8)
// finds: memory/out-of-bounds: @w

K crooked(char *a, int *out, int n) {
  out[T] = *(int *)(a + 4 * T + (FIXED ? 0 : n));  // @r
}
// run: crooked<<<1, 4>>>(u32[8]:iota, u32[4]:fill:0, u32:2)
// finds: memory/misaligned: @r

K null_list(int **list, int *out) {
  out[T] = FIXED && list[T] == 0 ? 0 : *list[T];  // @r
}
// run: null_list<<<1, 1>>>(u64[1]:fill:0, u32[1]:fill:0)
// finds: memory/null-pointer: @r

K heap_after_free(int *out) {
  int *p = (int *)malloc(64);
  p[3] = T;
  if (!FIXED) free(p);
  out[T] = p[3];  // @r
  if (FIXED) free(p);
}
// run: heap_after_free<<<1, 1>>>(u32[1]:fill:0)
// finds: memory/use-after-free: @r

K heap_freed_twice(int *out) {
  int *p = (int *)malloc(64);
  p[0] = 1;
  *out = p[0];
  free(p);
  if (!FIXED) free(p);  // @f
}
// run: heap_freed_twice<<<1, 1>>>(u32[1]:fill:0)
// finds: memory/bad-free: @f

__constant__ int table[16];
K past_a_constant(int *out, int n) {
  out[T] = table[FIXED ? T % 16 : T + n];  // @r
}
// run: past_a_constant<<<1, 8>>>(u32[8]:fill:0, u32:12)
// finds: memory/out-of-bounds: @r
