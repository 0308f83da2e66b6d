// c = a + b.
#include <vector>
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main() {
    int devices = 0;
    CUDA(cudaGetDeviceCount(&devices));
    EXPECT(devices >= 1);
    const int n = 100000;
    std::vector<float> a(n), b(n), c(n);
    for (int i = 0; i < n; i++) a[i] = i, b[i] = 0.5f * i;
    float *da, *db, *dc;
    CUDA(cudaMalloc(&da, n * sizeof(float)));
    CUDA(cudaMalloc(&db, n * sizeof(float)));
    CUDA(cudaMalloc(&dc, n * sizeof(float)));
    CUDA(cudaMemcpy(da, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(db, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(c.data(), dc, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(c[i] == a[i] + b[i]);
    CUDA(cudaFree(da));
    CUDA(cudaFree(db));
    CUDA(cudaFree(dc));
    std::printf("vector_add: ok\n");
}
