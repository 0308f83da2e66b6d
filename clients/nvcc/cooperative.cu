// printf in a kernel, a cooperative launch with grid-wide synchronisation, occupancy, attributes.
#include <cooperative_groups.h>
#include <vector>
#include "check.h"

namespace cg = cooperative_groups;

__global__ void greet(int n) {
    if (threadIdx.x == 0) printf("block %d of %d says %s %.2f\n", blockIdx.x, n, "hello", 0.25 * blockIdx.x);
}

// Each block adds up its part; after the grid has met, everybody reads all parts.
__global__ void sums(const int *in, int *parts, int *out, int n) {
    __shared__ int local[256];
    cg::grid_group grid = cg::this_grid();
    int sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
    local[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) local[threadIdx.x] += local[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) parts[blockIdx.x] = local[0];
    grid.sync();
    if (threadIdx.x == 0) {
        int all = 0;
        for (int b = 0; b < gridDim.x; b++) all += parts[b];
        out[blockIdx.x] = all;
    }
}

extern __shared__ int dynamic[];
__global__ void reversed(int *data) {
    dynamic[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

int main() {
    greet<<<3, 32>>>(3);
    CUDA(cudaDeviceSynchronize());
    const int n = 10000, blocks = 8;
    std::vector<int> in(n), out(blocks);
    int want = 0;
    for (int i = 0; i < n; i++) want += in[i] = i % 13;
    int *din, *parts, *dout;
    CUDA(cudaMalloc(&din, n * sizeof(int)));
    CUDA(cudaMalloc(&parts, blocks * sizeof(int)));
    CUDA(cudaMalloc(&dout, blocks * sizeof(int)));
    CUDA(cudaMemcpy(din, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    int count = n;
    void *args[] = {&din, &parts, &dout, &count};
    CUDA(cudaLaunchCooperativeKernel((void *)sums, dim3(blocks), dim3(256), args, 0, 0));
    CUDA(cudaMemcpy(out.data(), dout, blocks * sizeof(int), cudaMemcpyDeviceToHost));
    for (int b = 0; b < blocks; b++) EXPECT(out[b] == want);

    int resident = 0;
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, sums, 256, 0));
    EXPECT(resident >= 1 && resident <= 8);
    cudaFuncAttributes attributes;
    CUDA(cudaFuncGetAttributes(&attributes, sums));
    EXPECT(attributes.sharedSizeBytes >= 1024 && attributes.maxThreadsPerBlock >= 256);

    const int large = 80 << 10;
    CUDA(cudaFuncSetAttribute(reversed, cudaFuncAttributeMaxDynamicSharedMemorySize, large));
    reversed<<<1, 256, large>>>(din);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(in.data(), din, 256 * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++) EXPECT(in[i] == (255 - i) % 13);

    // A block that no device takes is an error of the launch, not of the process.
    reversed<<<1, 2048, large>>>(din);
    EXPECT(cudaGetLastError() != cudaSuccess);
    EXPECT(cudaGetLastError() == cudaSuccess);
    std::printf("cooperative: ok\n");
}
