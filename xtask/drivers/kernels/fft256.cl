// Transforms of 256 complex numbers in local memory, one a block of 64.
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void fft256(global const float2 *in, global float2 *out)
{
    local float2 a[256], b[256];
    int l = get_local_id(0), base = get_group_id(0) * 256;
    for (int i = l; i < 256; i += 64) a[i] = in[base + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    local float2 *from = a, *to = b;
    for (int m = 128, s = 1; m >= 1; m /= 2, s *= 2) {
        for (int i = l; i < 128; i += 64) {
            int p = i / s, q = i - p * s;
            float angle = -3.14159265f * p / m, c = cos(angle), t = sin(angle);
            float2 x = from[q + s * p], y = from[q + s * (p + m)], d = x - y;
            to[q + s * 2 * p] = x + y;
            to[q + s * (2 * p + 1)] = (float2)(d.x * c - d.y * t, d.x * t + d.y * c);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        local float2 *swap = from;
        from = to;
        to = swap;
    }
    for (int i = l; i < 256; i += 64) out[base + i] = from[i];
}
