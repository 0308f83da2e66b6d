// c = a + b, one element per thread; the last block is ragged.
#ifdef __clang__
#include "cuda_clang.h"
#endif
extern "C" __global__ void vecadd(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
