#include "../truth.h"
// Uninitialised values and barriers.

K branch_on_shared(int *out, int n) {
  __shared__ int a[32];
  if (FIXED || T < n) a[T] = T;
  __syncthreads();
  if (a[T ^ 16] > 3) out[T] = 1;  // @b
}
// run: branch_on_shared<<<1, 32>>>(u32[32]:fill:0, u32:8)
// finds: init/uninitialized-branch: @b

K index_from_nowhere(int *index, int *out) {
  if (FIXED) index[T] = T;
  __syncthreads();
  out[index[T] & 31] = T;  // @i
}
// run: index_from_nowhere<<<1, 32>>>(buf:128, u32[32]:fill:0) check=init
// finds: init/uninitialized-address: @i

K sum_of_half(int *a, int *out) {
  if (FIXED || T < 16) a[T] = T;
  __syncthreads();
  int s = 0;
  for (int i = 0; i < 32; i++) s += a[i];  // @r
  if (T == 0) *out = s;
}
// run: sum_of_half<<<1, 32>>>(buf:128, u32[1]:fill:0)
// finds: init/uninitialized-output: @r

K local_hole(int *out, int n) {
  int a[8];
  for (int i = 0; i < 8; i++) if (FIXED || i != n) a[(i + n) % 8] = i;
  out[T] = a[(T + n) % 8];  // @r
}
// run: local_hole<<<1, 8>>>(u32[8]:fill:0, u32:3)
// finds: init/uninitialized-output: @r

K early_return(int *out, int n) {
  if (FIXED ? n < 0 : T >= n) return;
  out[T] = T;
  __syncthreads();  // @b
  out[T] += 1;
}
// run: early_return<<<1, 64>>>(u32[64]:fill:0, u32:40)
// finds: sync/barrier-not-reached: @b

K two_barriers(int *out, int n) {
  if (T < n) {
    out[T] = 1;
    if (!FIXED) __syncthreads();  // @a
  } else {
    out[T] = 2;
    if (!FIXED) __syncthreads();  // @b
  }
  if (FIXED) __syncthreads();
}
// run: two_barriers<<<1, 64>>>(u32[64]:fill:0, u32:32)
// finds: sync/different-barriers: @a; @b

K mask_without_caller(int *out) {
  out[T] = __shfl_sync(FIXED ? 0xffffffffu : 0x0000ffffu, out[T], 3);  // @s
}
// run: mask_without_caller<<<1, 32>>>(u32[32]:iota)
// finds: sync/member-mask: @s

K waits_for_too_many(int *out) {
  if (T < 32) BAR_SYNC(1, FIXED ? 32 : 64);  // @b
  out[T] = T;
}
// run: waits_for_too_many<<<1, 64>>>(u32[64]:fill:0)
// finds: sync/deadlock: @b

K arrivals_while_full(int *out) {
  __shared__ u64 bar;
  if (T == 0) MBAR_INIT(&bar, 32);
  __syncthreads();
  if (T == 5 && !FIXED) asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0], 33; }" ::"r"(SHARED(&bar)));  // @a
  MBAR_ARRIVE(&bar);
  if (FIXED) MBAR_WAIT(&bar, 0);
  out[T] = T;
}
// run: arrivals_while_full<<<1, 32>>>(u32[32]:fill:0)
// finds: sync/mbarrier: @a
