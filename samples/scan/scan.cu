// Inclusive prefix sum in three launches: scan each block, scan the block sums, add them back.
extern "C" __global__ void scan_blocks(const unsigned* in, unsigned* out, unsigned* sums, int n)
{
    __shared__ unsigned warp_sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned v = i < n ? in[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        unsigned below = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += below;
    }
    if (lane == 31) warp_sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        unsigned w = lane < blockDim.x / 32 ? warp_sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            unsigned below = __shfl_up_sync(0xffffffffu, w, d);
            if (lane >= d) w += below;
        }
        warp_sums[lane] = w;
    }
    __syncthreads();
    if (warp > 0) v += warp_sums[warp - 1];
    if (i < n) out[i] = v;
    if (threadIdx.x == blockDim.x - 1 && sums) sums[blockIdx.x] = v;
}

extern "C" __global__ void add_block_sums(unsigned* out, const unsigned* sums, int n)
{
    int i = (blockIdx.x + 1) * blockDim.x + threadIdx.x;
    if (i < n) out[i] += sums[blockIdx.x];
}
