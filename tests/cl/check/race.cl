// Races, each beside a twin that is right.

// flags: -g

__kernel void no_barrier(__global int *out) {
  __local int a[64];
  int i = get_local_id(0);
  a[i] = i;
  out[i] = a[63 - i];
}
// run: no_barrier<<<1, 64>>>(u32[64]:fill:0) check=race
// finds: race/read-write: write; read; barrier; race.cl:
__kernel void barrier_between(__global int *out) {
  __local int a[64];
  int i = get_local_id(0);
  a[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = a[63 - i];
}
// run: barrier_between<<<1, 64>>>(u32[64]:fill:0)
// finds: nothing

__kernel void reduction_without(__global int *data, __global int *out, int n) {
  __local int a[64];
  int i = get_local_id(0);
  a[i] = data[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = n; s > 0; s >>= 1)
    if (i < s) a[i] += a[i + s];
  if (i == 0) *out = a[0];
}
// run: reduction_without<<<1, 64>>>(u32[64]:iota, u32[1]:fill:0, u32:32) check=race
// finds: race/read-write: read; write
__kernel void reduction(__global int *data, __global int *out) {
  __local int a[64];
  int i = get_local_id(0);
  a[i] = data[i];
  for (int s = 32; s > 0; s >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < s) a[i] += a[i + s];
  }
  if (i == 0) *out = a[0];
}
// run: reduction<<<1, 64>>>(u32[64]:iota, u32[1]:fill:0)
// finds: nothing

__kernel void tile_reuse(__global int *data, __global int *out, int n) {
  __local int a[64];
  int i = get_local_id(0), sum = 0;
  for (int k = 0; k < n; k++) {
    a[i] = data[64 * k + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += a[(i + 1) % 64];
  }
  out[i] = sum;
}
// run: tile_reuse<<<1, 64>>>(u32[256]:iota, u32[64]:fill:0, u32:4)
// finds: race/read-write: write; read
__kernel void tile_reuse_right(__global int *data, __global int *out) {
  __local int a[64];
  int i = get_local_id(0), sum = 0;
  for (int k = 0; k < 4; k++) {
    a[i] = data[64 * k + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += a[(i + 1) % 64];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[i] = sum;
}
// run: tile_reuse_right<<<1, 64>>>(u32[256]:iota, u32[64]:fill:0)
// finds: nothing

__kernel void histogram(__global const uint *data, __global uint *bins) {
  bins[data[get_global_id(0)] % 8]++;
}
// run: histogram<<<2, 32>>>(u32[64]:iota, u32[8]:fill:0)
// finds: race/read-write: read; write
// finds: race/write-write: write
__kernel void histogram_atomic(__global const uint *data, __global uint *bins) {
  atomic_inc(&bins[data[get_global_id(0)] % 8]);
}
// run: histogram_atomic<<<2, 32>>>(u32[64]:iota, u32[8]:fill:0)
// finds: nothing

__kernel void in_place(__global int *a) {
  int i = get_global_id(0);
  if (i > 0) a[i] = a[i - 1] + 1;
}
// run: in_place<<<2, 32>>>(u32[64]:iota)
// finds: race/read-write: write; read
__kernel void out_of_place(__global const int *a, __global int *b) {
  int i = get_global_id(0);
  if (i > 0) b[i] = a[i - 1] + 1;
}
// run: out_of_place<<<2, 32>>>(u32[64]:iota, u32[64]:fill:0)
// finds: nothing

__kernel void all_write(__global int *out) { *out = get_global_id(0); }
// run: all_write<<<1, 2>>>(u32[1]:fill:0)
// finds: race/write-write: any of them may win
// run: all_write<<<1, 1>>>(u32[1]:fill:0)
// finds: nothing

__kernel void all_write_same(__global int *out) { *out = 7; }
// run: all_write_same<<<2, 64>>>(u32[1]:fill:0)
// finds: nothing
// run: all_write_same<<<2, 64>>>(u32[1]:fill:0) check=race+equal
// finds: race/equal-writes: same value

__kernel void bytes_apart(__global char *out) { out[get_global_id(0)] = get_global_id(0); }
// run: bytes_apart<<<2, 32>>>(u32[16]:fill:0)
// finds: nothing
__kernel void bytes_overlap(__global char *out) {
  int i = get_global_id(0);
  out[i] = i;
  if (i == 0) *(__global short *)(out + 2) = 500;
}
// run: bytes_overlap<<<1, 32>>>(u32[16]:fill:0)
// finds: race/write-write: `argument 0`

__kernel void plain_after_atomic(__global int *count, __global int *out) {
  atomic_add(count, 1);
  out[get_global_id(0)] = *count;
}
// run: plain_after_atomic<<<2, 32>>>(u32[1]:fill:0, u32[64]:fill:0)
// finds: race/read-write: atomic; only one of the accesses is atomic
__kernel void atomic_result(__global int *count, __global int *out) {
  out[get_global_id(0)] = atomic_add(count, 1);
}
// run: atomic_result<<<2, 32>>>(u32[1]:fill:0, u32[64]:fill:0)
// finds: nothing

__kernel void blocks(__global int *a, __global int *out) {
  int i = get_global_id(0), n = get_global_size(0);
  a[i] = i;
  barrier(CLK_GLOBAL_MEM_FENCE);
  out[i] = a[n - 1 - i];
}
// run: blocks<<<2, 32>>>(u32[64]:fill:0, u32[64]:fill:0)
// finds: race/read-write: nothing orders the blocks
// run: blocks<<<1, 64>>>(u32[64]:fill:0, u32[64]:fill:0)
// finds: nothing

__kernel void local_counter(__global int *out) {
  __local int count;
  if (get_local_id(0) == 0) count = 0;
  atomic_inc(&count);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) *out = count;
}
// run: local_counter<<<1, 64>>>(u32[1]:fill:0) check=race
// finds: race/write-write: atomic; count
__kernel void local_counter_right(__global int *out) {
  __local int count;
  if (get_local_id(0) == 0) count = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&count);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) *out = count;
}
// run: local_counter_right<<<1, 64>>>(u32[1]:fill:0)
// finds: nothing

__kernel void last_reads(__global int *a, __global int *out) {
  int i = get_global_id(0);
  a[i] = i;
  if (i == 63) { int s = 0; for (int k = 0; k < 64; k++) s += a[k]; *out = s; }
}
// run: last_reads<<<2, 32>>>(u32[64]:fill:0, u32[1]:fill:0)
// finds: race/read-write: read; write
