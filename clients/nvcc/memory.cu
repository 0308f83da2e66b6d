// Constant, global and managed variables, managed and pitched memory, pointer attributes.
#include <vector>
#include "check.h"

__constant__ float coefficients[4];
__device__ int counter = 5;
__managed__ int total = 1;
__managed__ float table[8];

__global__ void polynomial(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = coefficients[0] + v * (coefficients[1] + v * (coefficients[2] + v * coefficients[3]));
    atomicAdd(&counter, 1);
    atomicAdd(&total, 2);
}

__global__ void rows(char *data, size_t pitch, int width, int height) {
    int y = threadIdx.x;
    if (y < height)
        for (int x = 0; x < width; x++) data[y * pitch + x] += y;
}

int main() {
    float c[4] = {1, 2, 3, 4};
    CUDA(cudaMemcpyToSymbol(coefficients, c, sizeof c));
    total = 100;
    for (int i = 0; i < 8; i++) table[i] = i;
    const int n = 500;
    float *x, *y;
    CUDA(cudaMallocManaged(&x, n * sizeof(float)));
    CUDA(cudaMallocManaged(&y, n * sizeof(float)));
    for (int i = 0; i < n; i++) x[i] = i % 7;
    polynomial<<<2, 256>>>(x, y, n);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) {
        float v = i % 7;
        EXPECT(y[i] == 1 + v * (2 + v * (3 + v * 4)));
    }
    int count = 0;
    CUDA(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    EXPECT(count == 505);
    EXPECT(total == 1100);
    EXPECT(table[7] == 7);
    size_t size = 0;
    CUDA(cudaGetSymbolSize(&size, coefficients));
    EXPECT(size == sizeof c);
    EXPECT(cudaMemcpyToSymbol(coefficients, c, sizeof c, 4) == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaSuccess);

    char *pitched;
    size_t pitch;
    const int width = 100, height = 20;
    CUDA(cudaMallocPitch(&pitched, &pitch, width, height));
    EXPECT(pitch >= width);
    std::vector<char> in(width * height, 3), out(width * height);
    CUDA(cudaMemcpy2D(pitched, pitch, in.data(), width, width, height, cudaMemcpyHostToDevice));
    rows<<<1, 32>>>(pitched, pitch, width, height);
    CUDA(cudaMemcpy2D(out.data(), width, pitched, pitch, width, height, cudaMemcpyDeviceToHost));
    for (int i = 0; i < width * height; i++) EXPECT(out[i] == 3 + i / width);

    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, pitched));
    EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    CUDA(cudaPointerGetAttributes(&attributes, x));
    EXPECT(attributes.type == cudaMemoryTypeManaged);
    CUDA(cudaPointerGetAttributes(&attributes, &count));
    EXPECT(attributes.type == cudaMemoryTypeUnregistered);
    CUDA(cudaFree(pitched));
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
    EXPECT(cudaFree(x) != cudaSuccess);
    cudaGetLastError();
    cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, 0));
    EXPECT(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024);
    EXPECT(properties.multiProcessorCount > 0 && properties.totalGlobalMem > 0);
    int major = 0;
    CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    EXPECT(properties.major == major);
    int cooperative = 0;
    CUDA(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    EXPECT(properties.cooperativeLaunch == cooperative);
    std::printf("memory: ok\n");
}
