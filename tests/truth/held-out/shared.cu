#include "../truth.h"
// Races in shared memory.

K neighbour(int *out) {
  __shared__ int a[64];
  a[T] = T * 3;  // @w
  if (FIXED) __syncthreads();
  out[T] = a[(T + 1) % 64];  // @r
}
// run: neighbour<<<1, 64>>>(u32[64]:fill:0) check=memory,race,sync
// finds: race/read-write: @w; @r

K scan(int *data) {
  __shared__ int a[64];
  a[T] = data[T];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    int v = T >= d ? a[T - d] : 0;  // @r
    if (FIXED) __syncthreads();
    a[T] += v;  // @w
    __syncthreads();
  }
  data[T] = a[T];
}
// run: scan<<<1, 64>>>(u32[64]:fill:1)
// finds: race/read-write: @w; @r

K double_buffer(int *data, int n) {
  __shared__ int a[2][64];
  int sum = 0;
  a[0][T] = data[T];
  __syncthreads();
  for (int k = 1; k < n; k++) {
    a[FIXED ? k & 1 : 0][T] = data[64 * k + T];  // @w
    sum += a[(k - 1) & (FIXED ? 1 : 0)][63 - T];  // @r
    __syncthreads();
  }
  data[T] = sum;
}
// run: double_buffer<<<1, 64>>>(u32[256]:iota, u32:4)
// finds: race/read-write: @w; @r

K warp_exchange(int *out) {
  __shared__ int a[32];
  a[T] = T;  // @w
  if (FIXED) __syncwarp();
  out[T] = a[T ^ 1];  // @r
}
// run: warp_exchange<<<1, 32>>>(u32[32]:fill:0)
// finds: race/read-write: @w; @r

K half_warp_sync(int *out) {
  __shared__ int a[32];
  a[T] = T;  // @w
  __syncwarp(FIXED ? 0xffffffffu : T < 16 ? 0xffffu : 0xffff0000u);
  out[T] = a[31 - T];  // @r
}
// run: half_warp_sync<<<1, 32>>>(u32[32]:fill:0)
// finds: race/read-write: @w; @r

K counter_not_cleared(int *out) {
  __shared__ u32 count;
  if (T == 0) count = 0;  // @w
  if (FIXED) __syncthreads();
  RED_ADD("relaxed.cta", &count, 1);  // @a
  __syncthreads();
  if (T == 0) out[0] = count;
}
// run: counter_not_cleared<<<1, 64>>>(u32[1]:fill:0) check=race
// finds: race/write-write: @w; @a

K named_barrier_of_others(int *out) {
  __shared__ int a[64];
  if (T < 64) a[T] = T;  // @w
  if (T < 64) BAR_SYNC(1, 64); else if (!FIXED) BAR_SYNC(2, 64);
  if (FIXED) BAR_SYNC(3, 128);
  if (T >= 64) out[T - 64] = a[T - 64];  // @r
}
// run: named_barrier_of_others<<<1, 128>>>(u32[64]:fill:0)
// finds: race/read-write: @w; @r

K bytes_of_one_word(unsigned char *out) {
  __shared__ unsigned char a[64];
  a[T] = T;  // @w
  if (!FIXED && T == 3) *(unsigned short *)(a + 4) = 7;  // @x
  __syncthreads();
  out[T] = a[T];
}
// run: bytes_of_one_word<<<1, 64>>>(u32[16]:fill:0)
// finds: race/write-write: @w; @x

K reduction_tail_plain(int *data) {
  __shared__ int a[64];
  a[T] = data[T];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (T < d) a[T] += a[T + d];  // @rw
    if (FIXED || d > 32) __syncthreads();
  }
  if (T == 0) data[0] = a[0];
}
// run: reduction_tail_plain<<<1, 64>>>(u32[64]:iota)
// finds: race/read-write: @rw

K vote_orders_nothing(int *out) {
  __shared__ int a[32];
  a[T] = T;  // @w
  int all = __all_sync(0xffffffffu, out[T] == 0);
  if (FIXED) __syncwarp();
  out[T] = a[31 - T] + all;  // @r
}
// run: vote_orders_nothing<<<1, 32>>>(u32[32]:fill:0)
// finds: race/read-write: @w; @r
