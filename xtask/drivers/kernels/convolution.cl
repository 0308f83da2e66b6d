kernel void convolution(global const float *in, constant float *weights, global float *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int sx = clamp(x + dx, 0, width - 1), sy = clamp(y + dy, 0, height - 1);
            sum += weights[(dy + 1) * 3 + dx + 1] * in[sy * width + sx];
        }
    out[y * width + x] = sum;
}
