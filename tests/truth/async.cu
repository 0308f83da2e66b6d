#include "truth.h"
// Asynchronous copies, mbarriers, proxies, clusters.

K source_changed_too_soon(int *in, int *out) {
  __shared__ int a[32];
  CP_ASYNC(&a[T], in + T);  // @c
  CP_COMMIT();
  if (FIXED) CP_WAIT(0);
  in[T] = 0;  // @w
  CP_WAIT(0);
  out[T] = a[T];
}
// run: source_changed_too_soon<<<1, 32>>>(u32[32]:iota, u32[32]:fill:0) check=race
// finds: race/async-copy: @c; @w

K copy_over_old_data(int *in, int *out) {
  __shared__ int a[64];
  a[T] = T;
  __syncthreads();
  out[T] = a[63 - T];  // @r
  if (FIXED) __syncthreads();
  CP_ASYNC(&a[T], in + T);  // @c
  CP_COMMIT();
  CP_WAIT(0);
  __syncthreads();
  out[T] += a[T];
}
// run: copy_over_old_data<<<1, 64>>>(u32[64]:iota, u32[64]:fill:0) check=race
// finds: race/async-copy: @r; @c

K never_committed(int *in, int *out) {
  __shared__ int a[32];
  CP_ASYNC(&a[T], in + T);  // @c
  if (FIXED) CP_COMMIT();
  CP_WAIT(0);
  out[T] = a[T];  // @r
}
// run: never_committed<<<1, 32>>>(u32[32]:iota, u32[32]:fill:0) check=race
// finds: race/async-copy: @c; @r

K copies_and_an_mbarrier(int *in, int *out) {
  __shared__ u64 bar;
  __shared__ int a[32];
  if (T == 0) MBAR_INIT(&bar, 32);
  __syncthreads();
  CP_ASYNC(&a[T], in + T);  // @c
  if (FIXED) CP_ARRIVE(&bar); else MBAR_ARRIVE(&bar);
  MBAR_WAIT(&bar, 0);
  out[T] = a[31 - T];  // @r
}
// run: copies_and_an_mbarrier<<<1, 32>>>(u32[32]:iota, u32[32]:fill:0) check=race
// finds: race/async-copy: @c; @r

K arrival_before_the_write(int *out) {
  __shared__ u64 bar;
  __shared__ int a[64];
  if (T == 0) MBAR_INIT(&bar, 64);
  __syncthreads();
  if (FIXED) a[T] = T;
  MBAR_ARRIVE(&bar);
  if (!FIXED) a[T] = T;  // @w
  MBAR_WAIT(&bar, 0);
  out[T] = a[63 - T];  // @r
}
// run: arrival_before_the_write<<<1, 64>>>(u32[64]:fill:0) check=race
// finds: race/read-write: @w; @r

K second_phase_not_awaited(int *out) {
  __shared__ u64 bar;
  __shared__ int a[64];
  if (T == 0) MBAR_INIT(&bar, 64);
  __syncthreads();
  MBAR_ARRIVE(&bar);
  MBAR_WAIT(&bar, 0);
  a[T] = T;  // @w
  MBAR_ARRIVE(&bar);
  if (FIXED) MBAR_WAIT(&bar, 1);
  out[T] = a[T ^ 32];  // @r
}
// run: second_phase_not_awaited<<<1, 64>>>(u32[64]:fill:0) check=memory,race
// finds: race/read-write: @w; @r

K relaxed_arrival(int *out) {
  __shared__ u64 bar;
  __shared__ int a[64];
  if (T == 0) MBAR_INIT(&bar, 64);
  __syncthreads();
  a[T] = T;  // @w
  if (FIXED) MBAR_ARRIVE(&bar); else MBAR_RELAXED(&bar);
  MBAR_WAIT(&bar, 0);
  out[T] = a[63 - T];  // @r
}
// run: relaxed_arrival<<<1, 64>>>(u32[64]:fill:0) check=race
// finds: race/read-write: @w; @r

K mbarrier_initialised_late(int *out) {
  __shared__ u64 bar;
  if (T == 0) MBAR_INIT(&bar, 64);  // @i
  if (FIXED) __syncthreads();
  MBAR_ARRIVE(&bar);  // @a
  out[T] = T;
}
// run: mbarrier_initialised_late<<<1, 64>>>(u32[64]:fill:0) check=race
// finds: race/write-write: @i; @a

K bulk_load_without_wait(int *in, int *out) {
  __shared__ __align__(16) int a[32];
  __shared__ u64 bar;
  if (T == 0) {
    MBAR_INIT(&bar, 1);
    MBAR_EXPECT(&bar, 128);
    BULK_LOAD(a, in, 128, &bar);  // @c
  }
  __syncthreads();
  if (FIXED) MBAR_WAIT(&bar, 0);
  out[T] = a[T];  // @r
}
// run: bulk_load_without_wait<<<1, 32>>>(u32[32]:iota, u32[32]:fill:0) check=race
// finds: race/async-copy: @c; @r

K bulk_load_over_writes(int *in, int *out) {
  __shared__ __align__(16) int a[32];
  __shared__ u64 bar;
  a[T] = T;  // @w
  if (T == 0) MBAR_INIT(&bar, 1);
  if (FIXED) PROXY_FENCE();
  __syncthreads();
  if (T == 0) {
    MBAR_EXPECT(&bar, 128);
    BULK_LOAD(a, in, 128, &bar);  // @c
  }
  MBAR_WAIT(&bar, 0);
  out[T] = a[T];
}
// run: bulk_load_over_writes<<<1, 32>>>(u32[32]:iota, u32[32]:fill:0)
// finds: race/proxy: @w; @c

K store_source_reused(int *out, int *more) {
  __shared__ __align__(16) int a[32];
  a[T] = T;
  PROXY_FENCE();
  __syncthreads();
  if (T == 0) {
    BULK_STORE(out, a, 128);  // @c
    BULK_COMMIT();
    if (FIXED) BULK_WAIT_READ();
  }
  __syncthreads();
  a[T] = 7;  // @w
  if (T == 0) BULK_WAIT();
  __syncthreads();
  more[T] = a[31 - T];
}
// run: store_source_reused<<<1, 32>>>(u32[32]:fill:0, u32[32]:fill:0)
// finds: race/async-copy: @c; @w

K waited_for_reading_only(int *out, int *more) {
  __shared__ __align__(16) int a[32];
  a[T] = T;
  PROXY_FENCE();
  __syncthreads();
  if (T == 0) {
    BULK_STORE(out, a, 128);  // @c
    BULK_COMMIT();
    if (FIXED) BULK_WAIT(); else BULK_WAIT_READ();
    more[0] = out[5];  // @r
  }
}
// run: waited_for_reading_only<<<1, 32>>>(u32[32]:fill:0, u32[1]:fill:0)
// finds: race/async-copy: @c; @r

K read_of_a_neighbour(int *out) {
  __shared__ u32 a;
  u32 at, v;
  a = B + 5;  // @w
  if (FIXED) CLUSTER_SYNC();
  MAPA(at, &a, (B + 1) % 2);
  LD_REMOTE(v, at);  // @r
  CLUSTER_SYNC();
  out[B] = v;
}
// run: read_of_a_neighbour<<<2, 1>>>(u32[2]:fill:0) cluster=2 check=race
// finds: race/read-write: @w; @r

K cluster_arrive_relaxed(int *out) {
  __shared__ u32 a;
  u32 at, v;
  a = B + 5;  // @w
  if (FIXED) CLUSTER_ARRIVE(""); else CLUSTER_ARRIVE(".relaxed");
  CLUSTER_WAIT();
  MAPA(at, &a, (B + 1) % 2);
  LD_REMOTE(v, at);  // @r
  CLUSTER_SYNC();
  out[B] = v;
}
// run: cluster_arrive_relaxed<<<2, 1>>>(u32[2]:fill:0) cluster=2 check=race
// finds: race/read-write: @w; @r

K block_barrier_in_a_cluster(int *out) {
  __shared__ u32 a[32];
  u32 at;
  a[T] = 0;
  CLUSTER_SYNC();
  MAPA(at, &a[T], (B + 1) % 2);
  ST_REMOTE(at, T);  // @w
  if (FIXED) CLUSTER_SYNC(); else __syncthreads();
  out[I] = a[31 - T];  // @r
  CLUSTER_SYNC();
}
// run: block_barrier_in_a_cluster<<<2, 32>>>(u32[64]:fill:0) cluster=2
// finds: race/read-write: @w; @r

K two_blocks_one_place(int *out) {
  __shared__ u32 a;
  u32 at;
  a = 0;
  CLUSTER_SYNC();
  MAPA(at, &a, 0);
  if (FIXED ? B == 1 : 1) ST_REMOTE(at, B + 1);  // @w
  CLUSTER_SYNC();
  if (B == 0) out[0] = a;
}
// run: two_blocks_one_place<<<2, 1>>>(u32[1]:fill:0) cluster=2
// finds: race/write-write: @w
