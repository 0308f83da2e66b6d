// Reads of what other SMs read, too: how L2 gives out what it has.
typedef unsigned u32;
#define K(n) extern "C" __global__ void n
// Every block reads the whole region, 16 bytes a thread and turn.
K(read_all)(const uint4* p, u32* out, u32 n) {
  u32 s = 0;
  for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
    uint4 v = p[i];
    s ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// The same, each block from a place of its own.
K(read_turned)(const uint4* p, u32* out, u32 n) {
  u32 s = 0, from = blockIdx.x * (n / gridDim.x);
  for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
    u32 at = i + from;
    uint4 v = p[at < n ? at : at - n];
    s ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// A warp a block reads lines one after the other, at random; `apart` places lie between the blocks' first ones.
K(chase)(const u32* p, u32* out, u32 lines, u32 apart, u32 turns) {
  u32 x = blockIdx.x * apart, s = 0;
  for (u32 i = 0; i < turns; i++) {
    x = (x * 1664525u + 1013904223u + s) & (lines - 1);
    s = p[x * 32 + threadIdx.x];
  }
  out[blockIdx.x * 32 + threadIdx.x] = x;
}
