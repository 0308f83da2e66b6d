// OpenCL C: memory, races, uninitialised values, barriers.

kernel void before_the_start(global int *a, global int *out) {
  int i = get_global_id(0);
  out[i] = a[FIXED ? i : i - 1];  // @r
}
// run: before_the_start<<<1, 16>>>(u32[16]:iota, u32[16]:fill:0)
// finds: memory/out-of-bounds: @r

kernel void vector_too_far(global float *a, global float4 *out, int n) {
  out[0] = vload4(FIXED ? 0 : n, a);  // @r
}
// run: vector_too_far<<<1, 1>>>(f32[7]:fill:1, f32[4]:fill:0, u32:1)
// finds: memory/out-of-bounds: @r

kernel void local_neighbour(global int *out, int n) {
  local int a[16], b[16];
  int i = get_local_id(0);
  a[i] = i, b[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = a[FIXED ? i : i + n] + b[i];  // @r
}
// run: local_neighbour<<<1, 16>>>(u32[16]:fill:0, u32:1) check=memory,race,sync
// finds: memory/out-of-bounds: @r; `

kernel void private_array(global int *out, int n) {
  int a[4] = {1, 2, 3, 4};
  out[0] = a[FIXED ? n & 3 : n];  // @r
}
// run: private_array<<<1, 1>>>(u32[1]:fill:0, u32:4)
// finds: memory/out-of-bounds: @r

kernel void crooked(global char *a, global int *out, int n) {
  out[0] = *(global int *)(a + (FIXED ? 0 : n));  // @r
}
// run: crooked<<<1, 1>>>(u8[16]:fill:1, u32[1]:fill:0, u32:3)
// finds: memory/misaligned: @r

kernel void scan(global int *data) {
  local int a[64];
  int i = get_local_id(0);
  a[i] = data[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 64; d *= 2) {
    int v = i >= d ? a[i - d] : 0;  // @r
    if (FIXED) barrier(CLK_LOCAL_MEM_FENCE);
    a[i] += v;  // @w
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  data[i] = a[i];
}
// run: scan<<<1, 64>>>(u32[64]:fill:1)
// finds: race/read-write: @w; @r

kernel void in_step_no_more(global int *out) {
  local int a[32];
  int i = get_local_id(0);
  a[i] = i;  // @w
  if (FIXED) barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = a[31 - i];  // @r
}
// run: in_step_no_more<<<1, 32>>>(u32[32]:fill:0)
// finds: race/read-write: @w; @r

kernel void counter(global int *count, global int *out) {
  if (FIXED) out[get_global_id(0)] = atomic_inc(count);
  else out[get_global_id(0)] = (*count)++;  // @rw
}
// run: counter<<<2, 8>>>(u32[1]:fill:0, u32[16]:fill:0)
// finds: race/read-write: @rw
// finds: race/write-write: @rw

kernel void neighbours(global int *a, global int *b) {
  int i = get_global_id(0), n = get_global_size(0);
  int v = a[(i + 1) % n];  // @r
  (FIXED ? b : a)[i] = v;  // @w
}
// run: neighbours<<<2, 32>>>(u32[64]:iota, u32[64]:fill:0)
// finds: race/read-write: @r; @w

kernel void local_sum(global const int *a, global int *out) {
  local int total;
  if (get_local_id(0) == 0) total = 0;  // @w
  if (FIXED) barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&total, a[get_local_id(0)]);  // @a
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) *out = total;
}
// run: local_sum<<<1, 64>>>(u32[64]:iota, u32[1]:fill:0) check=race
// finds: race/write-write: @w; @a

kernel void wrong_fence(global int *a, global int *out) {
  int i = get_global_id(0);
  a[i] = i;  // @w
  if (FIXED) barrier(CLK_GLOBAL_MEM_FENCE); else mem_fence(CLK_GLOBAL_MEM_FENCE);
  out[i] = a[63 - i];  // @r
}
// run: wrong_fence<<<1, 64>>>(u32[64]:fill:0, u32[64]:fill:0)
// finds: race/read-write: @w; @r

kernel void async_copy(global const int *a, global int *out) {
  local int t[64];
  int i = get_local_id(0);
  event_t e = async_work_group_copy(t, a, 64, 0);
  wait_group_events(1, &e);
  int v = t[63 - i];  // @r
  if (FIXED) barrier(CLK_LOCAL_MEM_FENCE);
  t[i] = v * 2;  // @w
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = t[i];
}
// run: async_copy<<<1, 64>>>(u32[64]:iota, u32[64]:fill:0)
// finds: race/read-write: @r; @w

kernel void never_written(global int *a, global int *out) {
  if (FIXED) a[get_local_id(0)] = 1;
  out[get_local_id(0)] = a[get_local_id(0)] + 2;  // @r
}
// run: never_written<<<1, 8>>>(buf:32, u32[8]:fill:0)
// finds: init/uninitialized-output: @r

kernel void branch_on_nothing(global int *out, int n) {
  local int t[16];
  int i = get_local_id(0);
  if (FIXED || i != n) t[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t[15 - i] > 4) out[i] = 1;  // @b
}
// run: branch_on_nothing<<<1, 16>>>(u32[16]:fill:0, u32:6)
// finds: init/uninitialized-branch: @b

kernel void two_barriers(global int *out, int n) {
  int i = get_local_id(0);
  if (!FIXED && i < n) { out[i] = 1; barrier(CLK_LOCAL_MEM_FENCE); }  // @a
  else { out[i] = 2; barrier(CLK_LOCAL_MEM_FENCE); }  // @b
}
// run: two_barriers<<<1, 64>>>(u32[64]:fill:0, u32:32)
// finds: sync/different-barriers: @a; @b

kernel void loop_of_different_length(global int *out, int n) {
  int i = get_local_id(0);
  for (int k = 0; k < (FIXED ? n : n + i / 32); k++) {
    out[i] += k;
    barrier(CLK_LOCAL_MEM_FENCE);  // @b
  }
}
// run: loop_of_different_length<<<1, 64>>>(u32[64]:fill:0, u32:2)
// finds: sync/barrier-not-reached: @b
