// Stores of whole grids by where lanes and warps point: how L2 and device memory take them.
typedef unsigned u32;
typedef unsigned long long u64;
#define K(n) extern "C" __global__ void n
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
#define THREADS (gridDim.x * blockDim.x)
__device__ u32 mix(u32 h) {
  h *= 2654435761u;
  h ^= h >> 15;
  h *= 2246822519u;
  return h ^ h >> 13;
}
// Elements `stride` apart, grids of threads one after the other; `mask` keeps them in a region.
#define STRIDED(name, type, value)                                                             \
  K(name)(type* p, u32 stride, u32 mask, u32 turns) {                                          \
    for (u32 i = 0; i < turns; i++) p[((THREAD + i * THREADS) * stride) & mask] = value;       \
  }
STRIDED(strided_u8, unsigned char, (unsigned char)i)
STRIDED(strided_u16, unsigned short, (unsigned short)i)
STRIDED(strided_u32, u32, i)
STRIDED(strided_u64, u64, i)
STRIDED(strided_v4, uint4, make_uint4(i, i, i, i))
// Each lane at random.
#define RANDOM(name, type, value)                                                              \
  K(name)(type* p, u32 mask, u32 turns) {                                                      \
    for (u32 i = 0; i < turns; i++) p[mix(THREAD * turns + i) & mask] = value;                 \
  }
RANDOM(random_u32, u32, i)
RANDOM(random_u64, u64, i)
RANDOM(random_v4, uint4, make_uint4(i, i, i, i))
// Each warp a line at random.
K(line_u32)(u32* p, u32 mask, u32 turns) {
  u32 lane = threadIdx.x % 32, warp = THREAD / 32;
  for (u32 i = 0; i < turns; i++) p[(mix(warp * turns + i) & mask) * 32 + lane] = i;
}
// Records of so many words, a word an instruction.
template <int WORDS> __device__ void record(u32* p, u32 mask, u32 turns) {
  for (u32 i = 0; i < turns; i++) {
    u32* to = &p[((THREAD + i * THREADS) & mask) * WORDS];
#pragma unroll
    for (int w = 0; w < WORDS; w++) to[w] = i + w;
  }
}
K(record_2)(u32* p, u32 mask, u32 turns) { record<2>(p, mask, turns); }
K(record_3)(u32* p, u32 mask, u32 turns) { record<3>(p, mask, turns); }
K(record_5)(u32* p, u32 mask, u32 turns) { record<5>(p, mask, turns); }
K(record_8)(u32* p, u32 mask, u32 turns) { record<8>(p, mask, turns); }
// Each thread a row of its own, 16 words and 4 an instruction.
K(rows_16)(uint4* p, u32 mask, u32 turns) {
  for (u32 i = 0; i < turns; i++) {
    uint4* to = &p[((THREAD + i * THREADS) & mask) * 4];
#pragma unroll
    for (int w = 0; w < 4; w++) to[w] = make_uint4(i, w, i, w);
  }
}
// A sum of what was read beside each store.
K(copy_strided)(const u32* a, u32* p, u32 stride, u32 mask, u32 turns) {
  for (u32 i = 0; i < turns; i++) {
    u32 at = THREAD + i * THREADS;
    p[(at * stride) & mask] = a[at] + i;
  }
}
K(add_in_place)(u32* p, u32 stride, u32 mask, u32 turns) {
  for (u32 i = 0; i < turns; i++) {
    u32 at = ((THREAD + i * THREADS) * stride) & mask;
    p[at] = p[at] + i;
  }
}
// Columns of a matrix, as a transposition without a tile.
K(columns)(const u32* a, u32* p, u32 width, u32 height) {
  u32 x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  p[x * height + y] = a[y * width + x];
}
