kernel void mandelbrot(global uint *out, int width)
{
    int px = get_global_id(0), py = get_global_id(1);
    float cx = px * (3.0f / 1024) - 2.25f, cy = py * (3.0f / 1024) - 1.5f, x = 0, y = 0;
    uint n = 0;
    while (n < 256 && x * x + y * y < 4) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        n++;
    }
    out[py * width + px] = n;
}
