#include "truth.h"
#include <stdio.h>
// Values that nobody wrote.

K sum_too_long(int *a, int *out, int n) {
  for (int i = T; i < n; i += 32) a[i] = i;
  __syncthreads();
  int s = 0;
  for (int i = 0; i < n + (FIXED ? 0 : 1); i++) s += a[i];  // @r
  out[T] = s;
}
// run: sum_too_long<<<1, 32>>>(buf:256, u32[32]:fill:0, u32:40)
// finds: init/uninitialized-output: @r

K branch_on_global(int *a, int *out) {
  if (FIXED) a[T] = T;
  if (a[T] == 3) out[T] = 1;  // @b
}
// run: branch_on_global<<<1, 32>>>(buf:128, u32[32]:fill:0) check=init
// finds: init/uninitialized-branch: @b

K address_from_shared(int *out) {
  __shared__ int next[32];
  if (FIXED || T != 9) next[T] = 31 - T;
  __syncthreads();
  out[next[T ^ 1] & 31] = T;  // @i
}
// run: address_from_shared<<<1, 32>>>(u32[32]:fill:0) check=init
// finds: init/uninitialized-address: @i

K halo_never_loaded(const int *in, int *out, int n) {
  __shared__ int a[34];
  a[T + 1] = in[T];
  if (FIXED && T == 0) a[0] = a[33] = 0;
  __syncthreads();
  out[T] = a[T] + a[T + 1] + a[T + 2];  // @r
}
// run: halo_never_loaded<<<1, 32>>>(u32[32]:iota, u32[32]:fill:0, u32:32)
// finds: init/uninitialized-output: @r

K accumulator_not_cleared(u32 *sum, const u32 *data) {
  if (FIXED && I == 0) atomicExch(sum, 0u);
  if (FIXED) __syncthreads();
  atomicAdd(sum, data[I]);  // @a
}
// run: accumulator_not_cleared<<<1, 32>>>(buf:4, u32[32]:iota) check=init
// finds: init/uninitialized-output: @a

K half_of_a_word(short *a, int *out) {
  a[2 * T] = T;
  if (FIXED) a[2 * T + 1] = 0;
  out[T] = ((int *)a)[T] * 3;  // @r
}
// run: half_of_a_word<<<1, 4>>>(buf:16, u32[4]:fill:0)
// finds: init/uninitialized-output: @r

K heap_not_written(int *out, int n) {
  int *p = (int *)malloc(4 * n);
  p[0] = 1;
  if (FIXED) p[2] = 2;
  out[0] = p[0] + p[n - 2];  // @r
  free(p);
}
// run: heap_not_written<<<1, 1>>>(u32[1]:fill:0, u32:4)
// finds: init/uninitialized-output: @r

K first_iteration(float *state, float *out, int n) {
  float s = FIXED ? 0 : state[T];  // @r
  for (int i = 0; i < n; i++) s = s * 0.5f + i;
  state[T] = s;
  out[T] = s;
}
// run: first_iteration<<<1, 32>>>(buf:128, f32[32]:fill:0, u32:3)
// finds: init/uninitialized-output: @r

K printed(int *a) {
  if (FIXED) a[T] = 4;
  printf("%d\\n", a[T]);  // @p
}
// run: printed<<<1, 1>>>(buf:4) check=init
// finds: init/uninitialized-output: @p
