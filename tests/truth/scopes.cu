#include "truth.h"
// Between blocks: scopes, fences, flags, locks, counters, atomic and plain accesses.

K message_plain(u32 *data, u32 *flag, u32 *out) {
  if (B == 0) {
    data[0] = 1;  // @w
    if (FIXED) ST("release.gpu.global", flag, 1); else ST("relaxed.gpu.global", flag, 1);
  } else {
    SPIN("acquire.gpu.global", flag, 1);
    out[0] = data[0];  // @r
  }
}
// run: message_plain<<<2, 1>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K release_of_block_scope(u32 *data, u32 *flag, u32 *out) {
  if (B == 0) {
    data[0] = 1;  // @w
    if (FIXED) ST("release.gpu.global", flag, 1); else { FENCE("acq_rel.cta"); ST("relaxed.gpu.global", flag, 1); }
  } else {
    SPIN("acquire.gpu.global", flag, 1);
    out[0] = data[0];  // @r
  }
}
// run: release_of_block_scope<<<2, 1>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K acquire_of_block_scope(u32 *data, u32 *flag, u32 *out) {
  if (B == 0) {
    data[0] = 1;  // @w
    ST("release.gpu.global", flag, 1);
  } else {
    SPIN("relaxed.gpu.global", flag, 1);
    if (FIXED) FENCE("acq_rel.gpu"); else FENCE("acq_rel.cta");
    out[0] = data[0];  // @r
  }
}
// run: acquire_of_block_scope<<<2, 1>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K flag_of_block_scope(u32 *flag) {
  if (B == 0) ST("relaxed.gpu.global", flag, 1);  // @w
  else {
    if (FIXED) SPIN("relaxed.gpu.global", flag, 1);
    else SPIN("relaxed.cta.global", flag, 1);  // @r
  }
}
// run: flag_of_block_scope<<<2, 1>>>(u32[1]:fill:0)
// finds: race/scope: @w; @r

K in_block_scope_is_enough(u32 *data, u32 *flag, u32 *out) {
  if (T == 0) {
    data[0] = 1;  // @w
    if (FIXED) ST("release.cta.global", flag, 1); else ST("relaxed.cta.global", flag, 1);
  } else if (T == 32) {
    SPIN("acquire.cta.global", flag, 1);
    out[0] = data[0];  // @r
  }
}
// run: in_block_scope_is_enough<<<1, 64>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K volatile_flag(volatile u32 *data, volatile u32 *flag, u32 *out) {
  if (B == 0) {
    *(u32 *)data = 1;  // @w
    if (FIXED) __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {}
    if (FIXED) __threadfence();
    out[0] = *(u32 *)data;  // @r
  }
}
// run: volatile_flag<<<2, 1>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K one_flag_two_writers(u32 *data, u32 *flag, u32 *out) {
  if (B < 2) {
    data[B] = B + 1;  // @w
    __threadfence();
    if (FIXED || B == 0) atomicAdd(flag, 1u);
  } else {
    while (atomicAdd(flag, 0u) < (FIXED ? 2u : 1u)) {}
    __threadfence();
    out[0] = data[0] + data[1];  // @r
  }
}
// run: one_flag_two_writers<<<3, 1>>>(u32[2]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K chain_of_three(u32 *data, u32 *flag, u32 *out) {
  if (B == 0) {
    data[0] = 1;  // @w
    ST("release.gpu.global", flag, 1);
  } else if (B == 1) {
    if (FIXED) SPIN("acquire.gpu.global", flag, 1); else SPIN("relaxed.gpu.global", flag, 1);
    ST("release.gpu.global", flag + 1, 1);
  } else {
    SPIN("acquire.gpu.global", flag + 1, 1);
    out[0] = data[0];  // @r
  }
}
// run: chain_of_three<<<3, 1>>>(u32[1]:fill:0, u32[2]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K through_an_atomic(u32 *data, u32 *flag, u32 *out) {
  u32 v;
  if (B == 0) {
    data[0] = 1;  // @w
    ST("release.gpu.global", flag, 1);
  } else if (B == 1) {
    // A plain store ends the release sequence, an atomic carries it on.
    SPIN("relaxed.gpu.global", flag, 1);
    if (FIXED) RED_ADD("relaxed.gpu.global", flag, 1); else ST("relaxed.gpu.global", flag, 2);
  } else {
    do LD("acquire.gpu.global", v, flag); while (v != 2);
    out[0] = data[0];  // @r
  }
}
// run: through_an_atomic<<<3, 1>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K lock_without_fences(u32 *lock, u32 *sum) {
  while (atomicCAS(lock, 0u, 1u) != 0) {}
  if (FIXED) __threadfence();
  *sum += B;  // @rw
  if (FIXED) __threadfence();
  atomicExch(lock, 0u);
}
// run: lock_without_fences<<<3, 1>>>(u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @rw
// finds: race/write-write: @rw

K unlocked_by_a_plain_store(u32 *lock, u32 *sum) {
  u32 old;
  do asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(lock) : "memory"); while (old != 0);  // @a
  if (FIXED) ST("release.gpu.global", lock, 0); else { __threadfence(); *(u32 *)lock = 0; }  // @w
}
// run: unlocked_by_a_plain_store<<<2, 1>>>(u32[1]:fill:0, u32[1]:fill:0)
// finds: race/write-write: @a; @w
// finds: race/write-write: @w

K lock_of_another(u32 *lock, u32 *sum) {
  u32 *mine = lock + (FIXED ? 0 : B);
  while (atomicCAS(mine, 0u, 1u) != 0) {}
  __threadfence();
  *sum += B;  // @rw
  __threadfence();
  atomicExch(mine, 0u);
}
// run: lock_of_another<<<2, 1>>>(u32[2]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @rw
// finds: race/write-write: @rw

K read_outside_of_lock(u32 *lock, u32 *sum, u32 *out) {
  while (atomicCAS(lock, 0u, 1u) != 0) {}
  __threadfence();
  *sum += B;  // @w
  if (FIXED) out[B] = *sum;
  __threadfence();
  atomicExch(lock, 0u);
  if (!FIXED) out[B] = *sum;  // @r
}
// run: read_outside_of_lock<<<2, 1>>>(u32[1]:fill:0, u32[1]:fill:0, u32[2]:fill:0)
// finds: race/read-write: @w; @r

K plain_read_of_a_counter(u32 *count, u32 *out) {
  atomicAdd(count, 1u);  // @a
  if (FIXED) out[B] = atomicAdd(count, 0u); else out[B] = *count;  // @r
}
// run: plain_read_of_a_counter<<<3, 1>>>(u32[1]:fill:0, u32[3]:fill:0)
// finds: race/read-write: @a; @r

K plain_reset(u32 *count) {
  if (B == 0) { if (FIXED) atomicExch(count, 0u); else *count = 0; }  // @w
  else atomicAdd(count, 1u);  // @a
}
// run: plain_reset<<<3, 1>>>(u32[1]:fill:0)
// finds: race/write-write: @w; @a

K mixed_sizes(u64 *a) {
  if (B == 0) atomicAdd((unsigned long long *)a, 1ull);  // @a
  else if (FIXED) atomicAdd((unsigned long long *)a, 2ull); else atomicAdd((u32 *)a, 2u);  // @b
}
// run: mixed_sizes<<<2, 1>>>(u64[1]:fill:0)
// finds: race/write-write: @a; @b

K ticket_then_plain(u32 *next, u32 *list) {
  u32 at = FIXED ? atomicAdd(next, 1u) : atomicAdd(next, 1u) / 2;
  list[at] = B + 10;  // @w
}
// run: ticket_then_plain<<<4, 1>>>(u32[1]:fill:0, u32[4]:fill:0)
// finds: race/write-write: @w

K max_by_hand(u32 *best, const u32 *data) {
  if (FIXED) atomicMax(best, data[I]);
  else if (data[I] > *best) *best = data[I];  // @rw
}
// run: max_by_hand<<<2, 4>>>(u32[1]:fill:0, u32[8]:iota) check=race
// finds: race/read-write: @rw
// finds: race/write-write: @rw

K halo(const int *in, int *mid, int *out, int n) {
  mid[I] = in[I] * 2;  // @w
  __syncthreads();
  int left = FIXED ? (T > 0 ? mid[I - 1] : in[I] * 2) : (I > 0 ? mid[I - 1] : 0);  // @r
  out[I] = left;
}
// run: halo<<<2, 32>>>(u32[64]:iota, u32[64]:fill:0, u32[64]:fill:0, u32:64)
// finds: race/read-write: @w; @r

K bytes_of_neighbours(unsigned char *a) {
  if (FIXED) a[I] = I;
  else *(unsigned short *)(a + (I & ~1)) = I + 1;  // @w
}
// run: bytes_of_neighbours<<<2, 4>>>(u8[16]:fill:0)
// finds: race/write-write: @w

K vector_store_reaches_over(int *a) {
  if (B == 0) *(int4 *)a = make_int4(1, 2, 3, 4);  // @v
  else a[FIXED ? 4 : 3] = 9;  // @w
}
// run: vector_store_reaches_over<<<2, 1>>>(u32[8]:fill:0)
// finds: race/write-write: @v; @w

K grid_sync_without_acquire(int *a, u32 *count, int *out) {
  a[I] = I;  // @w
  __syncthreads();
  if (T == 0) {
    if (FIXED) FENCE("acq_rel.gpu");
    RED_ADD("relaxed.gpu.global", count, 1);
    SPIN("relaxed.gpu.global", count, gridDim.x);
    FENCE("acq_rel.gpu");
  }
  __syncthreads();
  out[I] = a[63 - I];  // @r
}
// run: grid_sync_without_acquire<<<2, 32>>>(u32[64]:fill:0, u32[1]:fill:0, u32[64]:fill:0)
// finds: race/read-write: @w; @r

K flag_before_the_others_are_ready(int *a, u32 *flag, int *out) {
  if (B == 0) {
    a[T] = T;  // @w
    if (FIXED) __syncthreads();
    if (T == 0) ST("release.gpu.global", flag, 1);
  } else {
    if (T == 0) SPIN("acquire.gpu.global", flag, 1);
    __syncthreads();
    out[T] = a[T];  // @r
  }
}
// run: flag_before_the_others_are_ready<<<2, 64>>>(u32[64]:fill:0, u32[1]:fill:0, u32[64]:fill:0)
// finds: race/read-write: @w; @r

K others_do_not_wait(int *a, u32 *flag, int *out) {
  if (B == 0) {
    if (T == 0) a[0] = 5;  // @w
    if (T == 0) ST("release.gpu.global", flag, 1);
  } else {
    if (T == 0) SPIN("acquire.gpu.global", flag, 1);
    if (FIXED) __syncthreads();
    if (T == 40) out[0] = a[0];  // @r
  }
}
// run: others_do_not_wait<<<2, 64>>>(u32[1]:fill:0, u32[1]:fill:0, u32[1]:fill:0)
// finds: race/read-write: @w; @r

K graph_levels(const int *next, int *level) {
  int v = FIXED ? 1 : level[next[I] ^ 4];  // @r
  level[I] = v + 1;  // @w
}
// run: graph_levels<<<2, 4>>>(u32[8]:iota, u32[8]:fill:0)
// finds: race/read-write: @r; @w
