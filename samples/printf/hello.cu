// Device printf: integers, floats, strings, widths; once per thread and once under divergence.
#include <cstdio>
extern "C" __global__ void hello(const float* x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    printf("block %d thread %u: x = %6.2f, 0x%04x, %s\n", blockIdx.x, threadIdx.x, x[i], i * 4099, i % 2 ? "odd" : "even");
    if (threadIdx.x == 2) printf("%c %lld %5d|%-5d|%% %e\n", 'A' + (int)blockIdx.x, -(1ll << 40), i, i, 1.0 / (i + 1));
}
