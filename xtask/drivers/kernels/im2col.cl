// The columns of a convolution: places by quotients and remainders.
kernel void im2col(global const float *in, global float *out, int width, int height, int size)
{
    int i = get_global_id(0);
    int x = i % width, y = i / width % height, k = i / (width * height);
    int u = x + k % size - size / 2, v = y + k / size - size / 2;
    out[i] = u >= 0 && v >= 0 && u < width && v < height ? in[v * width + u] : 0.0f;
}
