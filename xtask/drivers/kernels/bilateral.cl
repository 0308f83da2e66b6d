// Smooths a picture but for its edges: weights by distance and by brightness.
kernel void bilateral(global const float *in, global float *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    float here = in[y * width + x], sum = 0, weights = 0;
    for (int dy = -2; dy <= 2; dy++)
        for (int dx = -2; dx <= 2; dx++) {
            int u = clamp(x + dx, 0, width - 1), v = clamp(y + dy, 0, height - 1);
            float there = in[v * width + u], d = there - here;
            float weight = exp(-(float)(dx * dx + dy * dy) * 0.2f - d * d * 0.05f);
            sum += weight * there;
            weights += weight;
        }
    out[y * width + x] = sum / weights;
}
