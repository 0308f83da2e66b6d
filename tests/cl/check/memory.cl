// Accesses outside of objects, each beside a twin that is right.

// flags: -g

__kernel void past_end(__global int *out) { out[get_global_id(0) + 1] = 1; }
// run: past_end<<<2, 32>>>(u32[64]:fill:0)
// finds: memory/out-of-bounds: write; memory.cl:; argument 0; thread (31, 0, 0)
__kernel void to_end(__global int *out) { out[get_global_id(0)] = 1; }
// run: to_end<<<2, 32>>>(u32[64]:fill:0)
// finds: nothing

__kernel void before_start(__global int *out) { out[(int)get_global_id(0) - 1] = 1; }
// run: before_start<<<1, 32>>>(u32[32]:fill:0)
// finds: memory/out-of-bounds: before the start; thread (0, 0, 0)
__kernel void from_start(__global int *out) {
  int i = get_global_id(0);
  if (i > 0) out[i - 1] = 1;
}
// run: from_start<<<1, 32>>>(u32[32]:fill:0)
// finds: nothing

__kernel void neighbour(__global int *out) {
  __local int a[32], b[32];
  int i = get_local_id(0);
  a[i] = i;
  b[i] = -i;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = a[i + 1] + b[i];
}
// run: neighbour<<<1, 32>>>(u32[32]:fill:0) check=memory
// finds: memory/out-of-bounds: behind the end
__kernel void within(__global int *out) {
  __local int a[33], b[32];
  int i = get_local_id(0);
  a[i] = i;
  b[i] = -i;
  if (i == 0) a[32] = 5;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = a[i + 1] + b[i];
}
// run: within<<<1, 32>>>(u32[32]:fill:0)
// finds: nothing

__kernel void private_array(__global int *out, int n) {
  int p[8], q[8];
  for (int i = 0; i < 8; i++) p[i] = q[i] = i;
  for (int i = 0; i <= n; i++) p[i] = out[i];
  out[0] = p[out[1] & 7] + q[out[2] & 7];
}
// run: private_array<<<1, 1>>>(u32[32]:fill:1, u32:8) check=memory
// finds: memory/out-of-bounds: local; 0 bytes behind the end
// run: private_array<<<1, 1>>>(u32[32]:fill:1, u32:7)
// finds: nothing

__kernel void misaligned(__global char *p, int at) { *(__global int *)(p + at) = 7; }
// run: misaligned<<<1, 1>>>(u32[4]:fill:0, u32:2)
// finds: memory/misaligned: multiple of 4
// run: misaligned<<<1, 1>>>(u32[4]:fill:0, u32:13)
// finds: memory/misaligned: multiple of 4
// run: misaligned<<<1, 1>>>(u32[4]:fill:0, u32:4)
// finds: nothing

__kernel void null(__global int *p, __global int *q) { (get_global_id(0) == 3 ? p : q)[3] = 1; }
// run: null<<<1, 4>>>(u64:0, u32[4]:fill:0) check=memory
// finds: memory/null-pointer: thread (3, 0, 0)
// run: null<<<1, 3>>>(u64:0, u32[4]:fill:0) check=memory
// finds: nothing

__constant int table[4] = {1, 2, 3, 4};
__kernel void constants(__global int *out) { out[get_global_id(0)] = table[get_global_id(0)]; }
// run: constants<<<1, 5>>>(u32[8]:fill:0)
// finds: memory/out-of-bounds: read
// run: constants<<<1, 4>>>(u32[8]:fill:0)
// finds: nothing

__kernel void vector_tail(__global int *out) { vstore4((int4)(1), get_global_id(0), out); }
// run: vector_tail<<<1, 4>>>(u32[15]:fill:0)
// finds: memory/out-of-bounds: write
// run: vector_tail<<<1, 4>>>(u32[16]:fill:0)
// finds: nothing
