// OpenCL C: memory, races, uninitialised values, barriers.

kernel void past_the_end(global int *a, int n) {
  int i = get_global_id(0);
  if (FIXED ? i < n : i <= n) a[i] = i;  // @w
}
// run: past_the_end<<<1, 32>>>(u32[20]:fill:0, u32:20)
// finds: memory/out-of-bounds: @w

kernel void tile(global int *a, global int *out) {
  local int t[64];
  int i = get_local_id(0);
  t[i] = a[get_global_id(0)];  // @w
  if (FIXED) barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = t[(i + 7) % 64];  // @r
}
// run: tile<<<2, 64>>>(u32[128]:iota, u32[128]:fill:0) check=memory,race,sync
// finds: race/read-write: @w; @r

kernel void histogram(global const int *a, global int *bins) {
  if (FIXED) atomic_inc(bins + (a[get_global_id(0)] & 3)); else bins[a[get_global_id(0)] & 3]++;  // @rw
}
// run: histogram<<<2, 32>>>(u32[64]:iota, u32[4]:fill:0)
// finds: race/read-write: @rw
// finds: race/write-write: @rw

kernel void local_never_written(global int *out, int n) {
  local int t[32];
  int i = get_local_id(0);
  if (FIXED || i < n) t[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = t[31 - i];  // @r
}
// run: local_never_written<<<1, 32>>>(u32[32]:fill:0, u32:30)
// finds: init/uninitialized-output: @r

kernel void barrier_in_branch(global int *out, int n) {
  int i = get_local_id(0);
  if (!FIXED && i >= n) return;
  barrier(CLK_LOCAL_MEM_FENCE);  // @b
  out[i] = i;
}
// run: barrier_in_branch<<<1, 64>>>(u32[64]:fill:0, u32:33)
// finds: sync/barrier-not-reached: @b

kernel void groups_meet(global int *a, global int *out) {
  int i = get_global_id(0);
  a[i] = i;  // @w
  barrier(CLK_GLOBAL_MEM_FENCE);
  out[i] = a[FIXED ? i ^ 1 : i ^ 32];  // @r
}
// run: groups_meet<<<2, 32>>>(u32[64]:fill:0, u32[64]:fill:0)
// finds: race/read-write: @w; @r
