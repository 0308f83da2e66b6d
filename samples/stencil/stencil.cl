// Five points of a grid: half of the centre and an eighth of each neighbour; the border is copied.
__kernel void stencil(__global const float* in, __global float* out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    int i = y * width + x;
    float result = in[i];
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
        result = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
    out[i] = result;
}
