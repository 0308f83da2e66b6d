// Escape times; without contraction to fma, so that plain float arithmetic checks it bit for bit.
#pragma OPENCL FP_CONTRACT OFF

__kernel void mandelbrot(__global ushort* out, int width, int height, int limit)
{
    int x = get_global_id(0), y = get_global_id(1);
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
