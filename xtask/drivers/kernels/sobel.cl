// How steep brightness is at each point, by two sums of nine; the edge is 0.
kernel void sobel(global const float *in, global float *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1), i = y * width + x;
    float steep = 0;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        float a = in[i - width - 1], b = in[i - width], c = in[i - width + 1], d = in[i - 1], e = in[i + 1];
        float f = in[i + width - 1], g = in[i + width], h = in[i + width + 1];
        float across = c + 2 * e + h - a - 2 * d - f, down = f + 2 * g + h - a - 2 * b - c;
        steep = sqrt(across * across + down * down);
    }
    out[i] = steep;
}
