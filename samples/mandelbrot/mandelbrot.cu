// Escape times; compiled without contraction to fma, so that plain float arithmetic checks it bit for bit.
#ifdef __clang__
#include "cuda_clang.h"
#endif
extern "C" __global__ void mandelbrot(unsigned short* out, int width, int height, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float cr = x * 0.046875f - 2.25f, ci = y * 0.0625f - 1.5f, zr = 0, zi = 0;
    int n = 0;
    while (n < limit && zr * zr + zi * zi <= 4.0f) {
        float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
        ++n;
    }
    out[y * width + x] = n;
}
