// Atomics of whole grids by where lanes and warps point, for the rates of L2's units.
typedef unsigned u32;
typedef unsigned long long u64;
#define K(n) extern "C" __global__ void n
#define WARP ((blockIdx.x * blockDim.x + threadIdx.x) / 32)
__device__ u32 mix(u32 h) {
  h *= 2654435761u;
  h ^= h >> 15;
  h *= 2246822519u;
  return h ^ h >> 13;
}
#define RED(name, type, op, letter)                                                            \
  __device__ void name(type* p, type v) { asm volatile("red.global." op " [%0], %1;" ::"l"(p), letter(v) : "memory"); }
RED(add_u32, u32, "add.u32", "r")
RED(max_u32, u32, "max.u32", "r")
RED(add_u64, u64, "add.u64", "l")
RED(add_f32, float, "add.f32", "f")
__device__ u32 atom_u32(u32* p, u32 v) {
  u32 r;
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
  return r;
}
__device__ u32 cas_u32(u32* p, u32 v) {
  u32 r;
  asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(r) : "l"(p), "r"(v), "r"(v + 1) : "memory");
  return r;
}
// All lanes of a warp in one line, at neighbouring elements; lines at random among `lines`.
#define LINE(name, type, red)                                                                  \
  K(name)(type* p, u32 lines, u32 turns) {                                                     \
    u32 lane = threadIdx.x % 32;                                                               \
    for (u32 i = 0; i < turns; i++) red(&p[mix(WARP * turns + i) % lines * 32 + lane], (type)1); \
  }
LINE(line_u32, u32, add_u32)
LINE(line_max, u32, max_u32)
LINE(line_u64, u64, add_u64)
LINE(line_f32, float, add_f32)
LINE(line_atom, u32, atom_u32)
// Each lane at random among `words`.
#define RANDOM(name, type, red)                                                                \
  K(name)(type* p, u32 words, u32 turns) {                                                     \
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;                                            \
    for (u32 i = 0; i < turns; i++) red(&p[mix(at * turns + i) % words], (type)1);             \
  }
RANDOM(random_u32, u32, add_u32)
RANDOM(random_max, u32, max_u32)
RANDOM(random_u64, u64, add_u64)
RANDOM(random_f32, float, add_f32)
RANDOM(random_atom, u32, atom_u32)
RANDOM(random_cas, u32, cas_u32)
// Lanes below `lanes` on one word; warps at random among `words`, which lie `step` words apart.
K(same_word)(u32* p, u32 words, u32 step, u32 lanes, u32 turns) {
  if (threadIdx.x % 32 >= lanes) return;
  for (u32 i = 0; i < turns; i++) add_u32(&p[mix(WARP * turns + i) % words * step], 1);
}
// Lanes `stride` words apart; warps at random among `places`, which follow one another.
K(strided)(u32* p, u32 places, u32 stride, u32 turns) {
  u32 lane = threadIdx.x % 32;
  for (u32 i = 0; i < turns; i++) add_u32(&p[(mix(WARP * turns + i) % places * 32 + lane) * stride], 1);
}
