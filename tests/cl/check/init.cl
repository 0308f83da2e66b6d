// Values that nobody wrote, each beside a twin that is right.

// flags: -gline-tables-only

__kernel void branch(__global int *in, __global int *out) {
  if (in[get_global_id(0)] > 3) out[0] = 1;
}
// run: branch<<<1, 1>>>(buf:64, u32[4]:fill:0)
// finds: init/uninitialized-branch: argument 0
// run: branch<<<1, 1>>>(u32[16]:fill:0, u32[4]:fill:0)
// finds: nothing

__kernel void address(__global uint *in, __global int *out) { out[in[get_global_id(0)] & 3] = 1; }
// run: address<<<1, 1>>>(buf:64, u32[4]:fill:0)
// finds: init/uninitialized-address: argument 0
// run: address<<<1, 1>>>(u32[16]:fill:0, u32[4]:fill:0)
// finds: nothing

__kernel void copied(__global int *in, __global int *out) {
  out[get_global_id(0)] = in[get_global_id(0)];
}
// run: copied<<<1, 16>>>(buf:64, u32[16]:fill:0)
// finds: init/uninitialized-output: the host reads; argument 0
// run: copied<<<1, 16>>>(u32[16]:iota, buf:64)
// finds: nothing

__kernel void local_unwritten(__global int *out) {
  __local int a[64];
  int i = get_local_id(0);
  if (i < 32) a[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = a[63 - i] + 1;
}
// run: local_unwritten<<<1, 64>>>(u32[64]:fill:0)
// finds: init/uninitialized-output: shared memory
__kernel void local_written(__global int *out) {
  __local int a[64];
  int i = get_local_id(0);
  a[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = a[63 - i] + 1;
}
// run: local_written<<<1, 64>>>(u32[64]:fill:0)
// finds: nothing

__kernel void private_unwritten(__global int *out, int n) {
  int p[8];
  for (int i = 0; i < n; i++) p[i] = i;
  out[get_global_id(0)] = p[out[1] & 7] > 2 ? 5 : 6;
}
// run: private_unwritten<<<1, 1>>>(u32[8]:fill:7, u32:7)
// finds: init/uninitialized-output: local memory
// run: private_unwritten<<<1, 1>>>(u32[8]:fill:7, u32:8)
// finds: nothing

typedef struct { char tag; int value; } pair;
__kernel void padding(__global pair *in, __global pair *out) {
  pair p;
  p.tag = in[0].tag;
  p.value = in[0].value;
  if (p.value == 3) out[0].value = p.value;
}
// run: padding<<<1, 1>>>(u32[2]:fill:3, u32[2]:fill:0)
// finds: nothing

__kernel void not_used(__global int *in, __global int *out) {
  int x = in[0];
  out[0] = x * 0 == 0 ? 1 : 1;
}
// run: not_used<<<1, 1>>>(u32[4]:fill:0, u32[4]:fill:0)
// finds: nothing

__kernel void guarded_load(__global int *in, __global int *out, int n) {
  int i = get_global_id(0);
  if (i < n && in[i] > 1) out[i] = 1;
}
// run: guarded_load<<<1, 32>>>(u32[16]:fill:2, u32[32]:fill:0, u32:16)
// finds: nothing

__kernel void halves(__global ushort *data, __global uint *out) {
  int i = get_global_id(0);
  data[2 * i] = i;
  uint both = *(__global uint *)(data + 2 * i);
  out[i] = both & 0xffff;
}
// run: halves<<<1, 4>>>(buf:16, u32[4]:fill:0)
// finds: nothing
__kernel void other_half(__global ushort *data, __global uint *out) {
  int i = get_global_id(0);
  data[2 * i] = i;
  uint both = *(__global uint *)(data + 2 * i);
  out[i] = both >> 16;
}
// run: other_half<<<1, 4>>>(buf:16, u32[4]:fill:0)
// finds: init/uninitialized-output: argument 0
