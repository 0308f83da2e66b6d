// Built with -rdc=true, which adds NVIDIA's device runtime: machine code for most devices. Nothing here needs it.
#include "../check.h"

extern __device__ int triple(int);
__global__ void k(int *out) { out[threadIdx.x] = triple(threadIdx.x); }

int main() {
    int *out;
    CUDA(cudaMallocManaged(&out, 32 * sizeof(int)));
    k<<<1, 32>>>(out);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) EXPECT(out[i] == 3 * i);
    CUDA(cudaFree(out));
    std::puts("relocatable: ok");
}
