// C = A * B as a CUTLASS 3.x kernel for Hopper does it: a producer warp brings tiles to shared memory with tensor
// copies, a warpgroup multiplies them with wgmma, and the result goes back by a tensor copy. A is 128 x 256, row after
// row; B is 256 x 128, column after column; C is 128 x 128 numbers of 32 bits, row after row.
//
// The three tensor maps are made on the device: a template for each lies in memory, and tensormap.replace puts in the
// address, as in a grouped GEMM. So the kernel needs no host code but pointers. The templates are what
// cuTensorMapEncodeTiled gives for these tensors.
#include <stdint.h>

constexpr int K = 256, TILE_M = 64, TILE_N = 64, TILE_K = 64, STAGES = 2;
constexpr uint32_t TILE_BYTES = TILE_M * TILE_K * 2;

struct alignas(128) Map { uint32_t words[32]; };

// f16, 256 x 128, boxes of 64 x 64, swizzled over 128 bytes; f32, 128 x 128, boxes of 32 x 64.
__constant__ Map TEMPLATES[2] = {
    {{0, 0, 0x6310, 32, 0, 0, 0, 0, 255, 127, 0, 0, 0, 0x3f000000, 0x3f, 0, 8192, 0, 1024}},
    {{0, 0, 0x0390, 32, 0, 0, 0, 0, 127, 127, 0, 0, 0, 0x1f000000, 0x3f, 0, 8192, 0, 16}},
};
// Maps of every block, made when it starts.
__device__ Map maps[4][3];

__device__ uint32_t shared(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void wait(uint32_t bar, uint32_t parity)
{
    asm volatile("{ .reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra again; }" ::"r"(bar), "r"(parity) : "memory");
}

__device__ void load(uint32_t to, const Map *map, int x, int y, uint32_t bar)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(bar) : "memory");
}

// A matrix whose rows of 128 bytes follow each other, swizzled; eight rows are 1024 bytes.
__device__ uint64_t descriptor(uint32_t at)
{
    return (uint64_t)((at & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
        " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
          "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
          "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b));
}

// A block of 256 threads for each tile of C: the first warpgroup multiplies, a thread of the second one copies.
extern "C" __global__ __launch_bounds__(256) void gemm(const void *a, const void *b, void *c)
{
    __shared__ alignas(1024) uint8_t tiles[STAGES][2][TILE_BYTES];
    __shared__ alignas(128) Map map;
    __shared__ alignas(8) uint64_t full[STAGES], empty[STAGES];
    const int block = blockIdx.y * gridDim.x + blockIdx.x, row = blockIdx.y * TILE_M, column = blockIdx.x * TILE_N;

    if (threadIdx.x < 32) {
        for (int which = 0; which < 3; which++) {
            map.words[threadIdx.x] = TEMPLATES[which == 2].words[threadIdx.x];
            __syncwarp();
            if (threadIdx.x == 0) {
                const void *address = which == 0 ? a : which == 1 ? b : c;
                asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared(&map)),
                             "l"(address) : "memory");
            }
            __syncwarp();
            asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
                         "[%0], [%1], 128;" ::"l"(&maps[block][which]), "r"(shared(&map)) : "memory");
        }
    }
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(&full[s])) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" ::"r"(shared(&empty[s])) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    if (threadIdx.x >= 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 128) {
            for (int which = 0; which < 2; which++) {
                asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(&maps[block][which])
                             : "memory");
            }
            for (int k = 0; k < K / TILE_K; k++) {
                const int s = k % STAGES;
                wait(shared(&empty[s]), k / STAGES % 2 ^ 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(&full[s])),
                             "r"(2 * TILE_BYTES) : "memory");
                load(shared(tiles[s][0]), &maps[block][0], k * TILE_K, row, shared(&full[s]));
                load(shared(tiles[s][1]), &maps[block][1], k * TILE_K, column, shared(&full[s]));
            }
        }
        return;
    }

    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float d[32] = {};
    for (int k = 0; k < K / TILE_K; k++) {
        const int s = k % STAGES;
        wait(shared(&full[s]), k / STAGES % 2);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int step = 0; step < TILE_K / 16; step++) {
            multiply(d, descriptor(shared(tiles[s][0]) + 32 * step), descriptor(shared(tiles[s][1]) + 32 * step));
        }
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(&empty[s])) : "memory");
    }

    // All products are done: the tiles make room for two halves of the result.
    float(*half)[TILE_M][32] = (float(*)[TILE_M][32])tiles;
    asm volatile("bar.sync 1, 128;" ::: "memory");
    const int first = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    for (int i = 0; i < 32; i++) {
        const int n = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
        half[n / 32][first + i / 2 % 2 * 8][n % 32] = d[i];
    }
    asm volatile("fence.proxy.async.shared::cta;\nbar.sync 1, 128;" ::: "memory");
    if (threadIdx.x == 0) {
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(&maps[block][2]) : "memory");
        for (int h = 0; h < 2; h++) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
                             &maps[block][2]), "r"(column + 32 * h), "r"(row), "r"(shared(half[h])) : "memory");
        }
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
