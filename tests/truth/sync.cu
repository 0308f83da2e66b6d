#include "truth.h"
// Barriers, member masks, mbarriers.

K return_before_the_barrier(int *out, int n) {
  if (!FIXED && I >= n) return;
  if (I < n) out[I] = I;
  __syncthreads();  // @b
  if (I < n) out[I] += 1;
}
// run: return_before_the_barrier<<<2, 64>>>(u32[100]:fill:0, u32:100)
// finds: sync/barrier-not-reached: @b

K barrier_in_a_loop(int *out, int n) {
  for (int i = 0; i < (FIXED ? n : n - T / 32); i++) {
    out[T] += i;
    __syncthreads();  // @b
  }
}
// run: barrier_in_a_loop<<<1, 64>>>(u32[64]:fill:0, u32:3)
// finds: sync/barrier-not-reached: @b

K divergent_warp(int *out) {
  if (T % 2 == 0) {
    out[T] = 1;
    if (!FIXED) __syncthreads();  // @a
    out[T] += 1;
  } else {
    out[T] = 5;
    if (!FIXED) __syncthreads();  // @b
  }
  if (FIXED) __syncthreads();
}
// run: divergent_warp<<<1, 32>>>(u32[32]:fill:0)
// finds: sync/different-barriers: @a; @b

K barrier_for_a_warp(int *out) {
  if (T < 32) {
    out[T] = 2;
    if (FIXED) __syncwarp(); else __syncthreads();  // @b
  }
  out[T] += 1;
}
// run: barrier_for_a_warp<<<1, 64>>>(u32[64]:fill:0)
// finds: sync/barrier-not-reached: @b

K counts_differ(int *out) {
  BAR_SYNC(1, FIXED || T >= 32 ? 96 : 64);  // @b
  out[T] = T;
}
// run: counts_differ<<<1, 96>>>(u32[96]:fill:0) check=sync
// finds: sync/barrier-count: @b

K more_than_there_are(int *out) {
  BAR_SYNC(1, FIXED ? 64 : 128);  // @b
  out[T] = T;
}
// run: more_than_there_are<<<1, 64>>>(u32[64]:fill:0) check=memory,sync
// finds: sync/barrier-count: @b
// finds: sync/deadlock: @b

K crossed_barriers(int *out) {
  if (T < 32) { BAR_SYNC(1, 64); BAR_SYNC(2, 64); }  // @a
  else if (FIXED) { BAR_SYNC(1, 64); BAR_SYNC(2, 64); }
  else { BAR_SYNC(2, 64); BAR_SYNC(1, 64); }  // @b
  out[T] = T;
}
// run: crossed_barriers<<<1, 64>>>(u32[64]:fill:0) check=memory,sync
// finds: sync/deadlock

K lonely_lane_syncs(int *out) {
  if (T < 16) {
    out[T] = 1;
    __syncwarp(FIXED ? 0x0000ffffu : 0xfffffffeu);  // @s
  }
}
// run: lonely_lane_syncs<<<1, 32>>>(u32[32]:fill:0) check=memory,sync
// finds: sync/member-mask: @s

K shuffle_in_a_branch(int *out) {
  int v = T;
  if (T < 8) v = __shfl_sync(FIXED ? 0xffu : 0xf0u, T, 2);  // @s
  out[T] = v;
}
// run: shuffle_in_a_branch<<<1, 32>>>(u32[32]:fill:0) check=memory,sync
// finds: sync/member-mask: @s

K lock_with_a_barrier_inside(int *out, u32 *lock) {
  if (FIXED || T == 0) __syncthreads();  // @a
  if (FIXED) out[T] = 1;
  else if (T >= 32) { SPIN("relaxed.gpu.global", lock, 1); }
  if (T == 0) ST("relaxed.gpu.global", lock, 1);
}
// run: lock_with_a_barrier_inside<<<1, 64>>>(u32[64]:fill:0, u32[1]:fill:1) check=memory,sync
// finds: sync/barrier-not-reached: @a

K mbarrier_never_initialised(int *out) {
  __shared__ u64 bar;
  if (FIXED && T == 0) MBAR_INIT(&bar, 32);
  __syncthreads();
  MBAR_ARRIVE(&bar);  // @a
  out[T] = T;
}
// run: mbarrier_never_initialised<<<1, 32>>>(u32[32]:fill:0) check=sync
// finds: sync/mbarrier: @a

K initialised_twice(int *out) {
  __shared__ u64 bar;
  if (T == 0) MBAR_INIT(&bar, 32);
  __syncthreads();
  if (!FIXED && T == 1) MBAR_INIT(&bar, 32);  // @i
  __syncthreads();
  MBAR_ARRIVE(&bar);
  MBAR_WAIT(&bar, 0);
  out[T] = T;
}
// run: initialised_twice<<<1, 32>>>(u32[32]:fill:0) check=sync
// finds: sync/mbarrier: @i

K phase_never_ends(int *out) {
  __shared__ u64 bar;
  if (T == 0) MBAR_INIT(&bar, FIXED ? 32 : 33);
  __syncthreads();
  MBAR_ARRIVE(&bar);
  MBAR_WAIT(&bar, 0);  // @t
  out[T] = T;
}
// run: phase_never_ends<<<1, 32>>>(u32[32]:fill:0) check=sync
// finds: sync/deadlock: @t

K bytes_that_never_come(int *in, int *out) {
  __shared__ __align__(16) int a[32];
  __shared__ u64 bar;
  if (T == 0) {
    MBAR_INIT(&bar, 1);
    MBAR_EXPECT(&bar, FIXED ? 128 : 256);
    BULK_LOAD(a, in, 128, &bar);
  }
  __syncthreads();
  MBAR_WAIT(&bar, 0);  // @t
  out[T] = a[T];
}
// run: bytes_that_never_come<<<1, 32>>>(u32[32]:iota, u32[32]:fill:0) check=sync
// finds: sync/deadlock: @t

K cluster_barrier_missed(int *out) {
  out[B] = B;
  if (FIXED || B == 0) CLUSTER_SYNC();  // @b
}
// run: cluster_barrier_missed<<<2, 1>>>(u32[2]:fill:0) cluster=2 check=memory,sync
// finds: sync/barrier-not-reached: @b
