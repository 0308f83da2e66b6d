// y = a * x + y with a grid-stride loop.
#ifdef __clang__
#include "cuda_clang.h"
#endif
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}
