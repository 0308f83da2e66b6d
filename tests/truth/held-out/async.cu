#include "../truth.h"
// Asynchronous copies, mbarriers, clusters, proxies.

K copy_not_awaited(int *in, int *out) {
  __shared__ int a[32];
  CP_ASYNC(&a[T], in + T);  // @c
  CP_COMMIT();
  if (FIXED) CP_WAIT(0);
  out[T] = a[T];  // @r
}
// run: copy_not_awaited<<<1, 32>>>(u32[32]:iota, u32[32]:fill:0) check=race
// finds: race/async-copy: @c; @r

K copy_of_another_thread(int *in, int *out) {
  __shared__ int a[64];
  CP_ASYNC(&a[T], in + T);  // @c
  CP_COMMIT();
  CP_WAIT(0);
  if (FIXED) __syncthreads();
  out[T] = a[63 - T];  // @r
}
// run: copy_of_another_thread<<<1, 64>>>(u32[64]:iota, u32[64]:fill:0) check=race
// finds: race/async-copy: @c; @r

K pipeline_one_stage_early(int *in, int *out) {
  __shared__ int a[2][32];
  CP_ASYNC(&a[0][T], in + T);
  CP_COMMIT();
  CP_ASYNC(&a[1][T], in + 32 + T);  // @c
  CP_COMMIT();
  CP_WAIT(1);
  out[T] = a[0][T];
  if (FIXED) CP_WAIT(0);
  out[T] += a[1][T];  // @r
}
// run: pipeline_one_stage_early<<<1, 32>>>(u32[64]:iota, u32[32]:fill:0) check=race
// finds: race/async-copy: @c; @r

K mbarrier_hand_over(int *out) {
  __shared__ u64 bar;
  __shared__ int a[32];
  if (T == 0) MBAR_INIT(&bar, 32);
  __syncthreads();
  if (T < 32) {
    a[T] = T;  // @w
    MBAR_ARRIVE(&bar);
  } else {
    if (FIXED) MBAR_WAIT(&bar, 0);
    out[T - 32] = a[T - 32];  // @r
  }
}
// run: mbarrier_hand_over<<<1, 64>>>(u32[32]:fill:0) check=race
// finds: race/read-write: @w; @r

K bulk_store_without_fence(int *out) {
  __shared__ __align__(16) int a[32];
  a[T] = T;  // @w
  if (FIXED) PROXY_FENCE();
  __syncthreads();
  if (T == 0) {
    BULK_STORE(out, a, 128);  // @c
    BULK_COMMIT();
    BULK_WAIT();
  }
}
// run: bulk_store_without_fence<<<1, 32>>>(u32[32]:fill:0)
// finds: race/proxy: @w; @c

K remote_write(int *out) {
  __shared__ u32 a;
  u32 rank = B & 1, at;
  a = 0;
  CLUSTER_SYNC();
  MAPA(at, &a, rank ^ 1);
  ST_REMOTE(at, rank + 5);  // @w
  if (FIXED) CLUSTER_SYNC();
  out[B] = a;  // @r
  CLUSTER_SYNC();
}
// run: remote_write<<<2, 1>>>(u32[2]:fill:0) cluster=2
// finds: race/read-write: @w; @r
