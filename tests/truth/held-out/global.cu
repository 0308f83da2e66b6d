#include "../truth.h"
// Races in global memory, between blocks: scopes, fences, flags.

K block_to_block(int *a, int *out) {
  if (B == 0) a[T] = T;  // @w
  else if (!FIXED) out[T] = a[T];  // @r
}
// run: block_to_block<<<2, 32>>>(u32[32]:fill:0, u32[32]:fill:0)
// finds: race/read-write: @w; @r

K stencil_in_place(int *a, int *b, int n) {
  int v = I + 1 < n ? a[I + 1] : 0;  // @r
  (FIXED ? b : a)[I] = v;  // @w
}
// run: stencil_in_place<<<2, 64>>>(u32[128]:iota, u32[128]:fill:0, u32:128)
// finds: race/read-write: @w; @r

K flag_without_fence(u32 *data, u32 *flag, u32 *out) {
  if (B == 0) {
    data[0] = 42;  // @w
    if (FIXED) FENCE("acq_rel.gpu");
    ST("relaxed.gpu.global", flag, 1);
  } else {
    SPIN("relaxed.gpu.global", flag, 1);
    if (FIXED) FENCE("acq_rel.gpu");
    out[0] = data[0];  // @r
  }
}
// run: flag_without_fence<<<2, 1>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K fence_of_block_scope(u32 *data, u32 *flag, u32 *out) {
  if (B == 0) {
    data[0] = 42;  // @w
    if (FIXED) __threadfence(); else __threadfence_block();
    atomicExch(flag, 1u);
  } else {
    while (atomicAdd(flag, 0u) == 0) {}
    __threadfence();
    out[0] = data[0];  // @r
  }
}
// run: fence_of_block_scope<<<2, 1>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K reader_lacks_acquire(u32 *data, u32 *flag, u32 *out) {
  if (B == 0) {
    data[0] = 42;  // @w
    ST("release.gpu.global", flag, 1);
  } else {
    if (FIXED) SPIN("acquire.gpu.global", flag, 1); else SPIN("relaxed.gpu.global", flag, 1);
    out[0] = data[0];  // @r
  }
}
// run: reader_lacks_acquire<<<2, 1>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K plain_flag(u32 *data, u32 *flag, u32 *out) {
  if (B == 0) {
    data[0] = 42;
    __threadfence();
    if (FIXED) ST("relaxed.gpu.global", flag, 1); else flag[0] = 1;  // @w
  } else {
    SPIN("relaxed.gpu.global", flag, 1);  // @r
    __threadfence();
    out[0] = FIXED ? data[0] : 0;
  }
}
// run: plain_flag<<<2, 1>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K counter_of_block_scope(u32 *count) {
  if (FIXED) RED_ADD("relaxed.gpu.global", count, 1);
  else RED_ADD("relaxed.cta.global", count, 1);  // @a
}
// run: counter_of_block_scope<<<2, 32>>>(u32[1]:fill:0)
// finds: race/scope: @a

K last_block_without_fence(int *part, u32 *count, int *out) {
  __shared__ u32 ticket;
  part[B] = B + 1;  // @w
  if (FIXED) __threadfence();
  ticket = atomicAdd(count, 1u);
  if (ticket == gridDim.x - 1) {
    if (FIXED) __threadfence();
    int sum = 0;
    for (u32 i = 0; i < gridDim.x; i++) sum += ((volatile int *)part)[i];  // @r
    *out = sum;
  }
}
// run: last_block_without_fence<<<4, 1>>>(u32[4]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K increments(int *a) {
  if (FIXED) atomicAdd(a, 1); else *a += 1;  // @rw
}
// run: increments<<<1, 2>>>(u32[1]:fill:0)
// finds: race/read-write: @rw

K barrier_does_not_join_blocks(int *a, int *out) {
  a[I] = I;  // @w
  __syncthreads();
  out[I] = a[FIXED ? B * 32 + 31 - T : 63 - I];  // @r
}
// run: barrier_does_not_join_blocks<<<2, 32>>>(u32[64]:fill:0, u32[64]:fill:0)
// finds: race/read-write: @w; @r

K grid_barrier(int *a, u32 *count, int *out) {
  a[B] = B;  // @w
  if (FIXED) FENCE("acq_rel.gpu");
  RED_ADD("relaxed.gpu.global", count, 1);
  SPIN("relaxed.gpu.global", count, gridDim.x);
  if (FIXED) FENCE("acq_rel.gpu");
  out[B] = a[(B + 1) % gridDim.x];  // @r
}
// run: grid_barrier<<<3, 1>>>(u32[3]:fill:0, u32[1]:fill:0, u32[3]:fill:0)
// finds: race/read-write: @w; @r
