// A program built with the headers and the library of CUDA 12, without nvcc: what changed in CUDA 13, and a kernel
// loaded from PTX.
#include "check.h"

#include <cstring>

static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry twice(.param .u64 p) {\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "ld.global.u32 %r2, [%rd3]; add.u32 %r2, %r2, %r2; st.global.u32 [%rd3], %r2; ret; }\n";

int main() {
    int version;
    CUDA(cudaRuntimeGetVersion(&version));
    EXPECT(version / 1000 == 12);
    cudaDeviceProp p;
    memset(&p, 0xff, sizeof p);
    CUDA(cudaGetDeviceProperties(&p, 0));
    EXPECT(p.major == 9 && p.multiProcessorCount == 132 && p.clockRate > 0 && p.memoryClockRate > 0);
    EXPECT(p.warpSize == 32 && p.totalConstMem == 65536 && p.maxTexture2D[0] == 131072 && p.cooperativeLaunch == 1);
    EXPECT(p.sharedMemPerBlockOptin == 232448 && p.memoryPoolsSupported == 1);
    int *data;
    CUDA(cudaMallocManaged(&data, 64 * sizeof(int)));
    CUDA(cudaMemAdvise(data, 64 * sizeof(int), cudaMemAdviseSetReadMostly, 0));
    CUDA(cudaMemPrefetchAsync(data, 64 * sizeof(int), 0));
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) data[i] = i;
    cudaLibrary_t library;
    cudaKernel_t kernel;
    CUDA(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CUDA(cudaLibraryGetKernel(&kernel, library, "twice"));
    void *args[] = {&data};
    CUDA(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(64), args, 0, 0));
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) EXPECT(data[i] == 2 * i);
    CUDA(cudaFree(data));
    puts("cuda12: ok");
}
