#include "truth.h"
// Races in shared memory: within a block, within a warp.

K transpose(int *in, int *out) {
  __shared__ int a[16][17];
  int x = T % 16, y = T / 16;
  a[y][x] = in[T];  // @w
  if (FIXED) __syncthreads();
  out[T] = a[x][y];  // @r
}
// run: transpose<<<1, 256>>>(u32[256]:iota, u32[256]:fill:0) check=memory,race,sync
// finds: race/read-write: @w; @r

K matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float s[8][8], t[8][8];
  int x = T % 8, y = T / 8;
  float sum = 0;
  for (int k = 0; k < n; k += 8) {
    s[y][x] = a[y * n + k + x];  // @w
    t[y][x] = b[(k + y) * n + x];  // @v
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < 8; i++) {
      float u = s[y][i];  // @r
      float v = t[i][x];  // @q
      sum += u * v;
    }
    if (FIXED) __syncthreads();
  }
  c[y * n + x] = sum;
}
// run: matmul<<<1, 64>>>(f32[256]:fill:1, f32[256]:fill:1, f32[256]:fill:0, u32:16)
// finds: race/read-write: @w; @r
// finds: race/read-write: @v; @q

K barrier_in_one_branch_only(int *out, int n) {
  __shared__ int a[64];
  a[T] = T;  // @w
  if (FIXED || n > 100) __syncthreads();
  out[T] = a[T ^ 32];  // @r
}
// run: barrier_in_one_branch_only<<<1, 64>>>(u32[64]:fill:0, u32:5) check=memory,race,sync
// finds: race/read-write: @w; @r

K overwritten_too_soon(int *out) {
  __shared__ int a[64];
  a[T] = T;
  __syncthreads();
  int v = a[63 - T];  // @r
  if (FIXED) __syncthreads();
  a[T] = v + 1;  // @w
  __syncthreads();
  out[T] = a[T];
}
// run: overwritten_too_soon<<<1, 64>>>(u32[64]:fill:0)
// finds: race/read-write: @r; @w

K one_writer(int *out, int n) {
  __shared__ int total;
  if (FIXED ? T == 0 : T < 2) total = n + T;  // @w
  __syncthreads();
  out[T] = total;
}
// run: one_writer<<<1, 64>>>(u32[64]:fill:0, u32:9)
// finds: race/write-write: @w

K broadcast(int *out, int n) {
  __shared__ int value;
  if (T == 40) value = n;  // @w
  if (FIXED) __syncthreads();
  out[T] = value;  // @r
}
// run: broadcast<<<1, 64>>>(u32[64]:fill:0, u32:9) check=race
// finds: race/read-write: @w; @r

K broadcast_in_a_warp(int *out, int n) {
  __shared__ int value;
  if (T == 7) value = n;  // @w
  if (FIXED) __syncwarp();
  out[T] = value;  // @r
}
// run: broadcast_in_a_warp<<<1, 32>>>(u32[32]:fill:0, u32:9) check=race
// finds: race/read-write: @w; @r

K warp_sync_is_not_a_barrier(int *out) {
  __shared__ int a[64];
  a[T] = T;  // @w
  if (FIXED) __syncthreads(); else __syncwarp();
  out[T] = a[T ^ 33];  // @r
}
// run: warp_sync_is_not_a_barrier<<<1, 64>>>(u32[64]:fill:0) check=memory,race,sync
// finds: race/read-write: @w; @r

K warp_reads_back(int *out) {
  __shared__ int a[32];
  a[T] = T;
  __syncwarp();
  int v = a[(T + 1) % 32];  // @r
  if (FIXED) __syncwarp();
  a[T] = v;  // @w
  __syncwarp();
  out[T] = a[(T + 3) % 32];
}
// run: warp_reads_back<<<1, 32>>>(u32[32]:fill:0)
// finds: race/read-write: @r; @w

K shuffle_orders_nothing(int *out) {
  __shared__ int a[32];
  a[T] = T;  // @w
  int v = __shfl_xor_sync(0xffffffffu, T, 1);
  if (FIXED) __syncwarp();
  out[T] = a[v];  // @r
}
// run: shuffle_orders_nothing<<<1, 32>>>(u32[32]:fill:0)
// finds: race/read-write: @w; @r

K two_lanes_one_place(int *out) {
  __shared__ int a[32];
  a[FIXED ? T : T / 2] = T;  // @w
  __syncwarp();
  out[T] = a[T / 2];
}
// run: two_lanes_one_place<<<1, 32>>>(u32[32]:fill:0)
// finds: race/write-write: @w

K equal_values_are_meant(int *out) {
  __shared__ int any;
  if (T == 0) any = 0;
  __syncthreads();
  if (T % 3 == 0) any = 1;
  __syncthreads();
  out[T] = any;
}
// run: equal_values_are_meant<<<1, 64>>>(u32[64]:fill:0) check=memory,race,init,sync
// finds: nothing

K atomic_then_plain(u32 *out) {
  __shared__ u32 count;
  if (T == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 2u);  // @a
  if (FIXED) __syncthreads();
  out[T] = count;  // @r
}
// run: atomic_then_plain<<<1, 64>>>(u32[64]:fill:0)
// finds: race/read-write: @a; @r

K bins(const u32 *data, u32 *out) {
  __shared__ u32 bin[16];
  if (T < 16) bin[T] = 0;
  __syncthreads();
  if (FIXED) atomicAdd(&bin[data[T] & 15], 1u); else bin[data[T] & 15]++;  // @rw
  __syncthreads();
  if (T < 16) out[T] = bin[T];
}
// run: bins<<<1, 64>>>(u32[64]:iota, u32[16]:fill:0)
// finds: race/read-write: @rw
// finds: race/write-write: @rw

K producer_consumer(int *out) {
  __shared__ int a[32];
  if (T < 32) {
    a[T] = T;  // @w
    if (FIXED) BAR_ARRIVE(1, 64);
  } else {
    if (FIXED) BAR_SYNC(1, 64);
    out[T - 32] = a[T - 32];  // @r
  }
}
// run: producer_consumer<<<1, 64>>>(u32[32]:fill:0)
// finds: race/read-write: @w; @r

K only_half_waits(int *out) {
  __shared__ int a[128];
  a[T] = T;  // @w
  if (FIXED) BAR_SYNC(1, 128); else if (T < 64) BAR_SYNC(1, 64); else BAR_SYNC(2, 64);
  out[T] = a[(T + 64) % 128];  // @r
}
// run: only_half_waits<<<1, 128>>>(u32[128]:fill:0) check=memory,race,sync
// finds: race/read-write: @w; @r

K short_in_word(unsigned short *out) {
  __shared__ __align__(4) unsigned short a[66];
  a[T] = T;  // @w
  if (FIXED) __syncthreads();
  if (T < 32) out[T] = ((unsigned *)a)[T] >> 16;  // @r
}
// run: short_in_word<<<1, 64>>>(u32[16]:fill:0) check=memory,race,sync
// finds: race/read-write: @w; @r

K dynamic_shared(int *out) {
  extern __shared__ int d[];
  d[T] = T;  // @w
  if (FIXED) __syncthreads();
  out[T] = d[T ^ 63];  // @r
}
// run: dynamic_shared<<<1, 64, 256>>>(u32[64]:fill:0) check=memory,race,sync
// finds: race/read-write: @w; @r

K one_reader_of_many(int *out, int n) {
  __shared__ int a;
  if (T == 0) a = n;
  __syncthreads();
  out[T] = a;  // @r
  if (FIXED || T < 64) BAR_SYNC(1, FIXED ? 96 : 64);
  if (T == 0) a = n + 1;  // @w
}
// run: one_reader_of_many<<<1, 96>>>(u32[96]:fill:0, u32:4)
// finds: race/read-write: @r; @w

K forgotten_reader(int *out, int n) {
  __shared__ int a;
  if (T == 0) a = n;
  __syncthreads();
  // Threads 1 and 40 read; the writer waits for thread 40 alone.
  if (T == 1 || T == 40) out[T] = a;  // @r
  if (T >= 32 || (FIXED && T < 32)) __syncwarp();
  if (FIXED) __syncthreads();
  else if (T >= 32) BAR_ARRIVE(2, 64);
  else if (T == 0) BAR_SYNC(2, 64);
  if (T == 0) a = n + 1;  // @w
}
// run: forgotten_reader<<<1, 64>>>(u32[64]:fill:0, u32:4) check=race
// finds: race/read-write: @r; @w
