// Barriers that not all work-items reach, each beside a twin that is right.

// flags: -g

__kernel void early_return(__global int *out, int n) {
  int i = get_local_id(0);
  if (i >= n) return;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = i;
}
// run: early_return<<<1, 64>>>(u32[64]:fill:0, u32:40)
// finds: sync/barrier-not-reached: 24 threads
// run: early_return<<<1, 64>>>(u32[64]:fill:0, u32:64)
// finds: nothing

__kernel void two_places(__global int *out) {
  int i = get_local_id(0);
  if (i < 32) {
    out[i] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
  } else {
    out[i] = 2;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] = 3;
  }
}
// run: two_places<<<1, 64>>>(u32[64]:fill:0)
// finds: sync/different-barriers: barrier 0

__kernel void loop_trips(__global int *out) {
  int i = get_local_id(0);
  for (int k = 0; k < (i < 32 ? 2 : 3); k++) barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = i;
}
// run: loop_trips<<<1, 64>>>(u32[64]:fill:0)
// finds: sync/barrier-not-reached: 32 threads
__kernel void same_trips(__global int *out) {
  int i = get_local_id(0);
  for (int k = 0; k < 3; k++) barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = i;
}
// run: same_trips<<<1, 64>>>(u32[64]:fill:0)
// finds: nothing
