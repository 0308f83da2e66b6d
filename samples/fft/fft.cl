// 256-point complex FFT per group of 128 work-items: radix 2, Stockham order, in local memory.
#define SIZE 256

__kernel __attribute__((reqd_work_group_size(SIZE / 2, 1, 1)))
void fft(__global const float2* in, __global float2* out, __global const float2* roots)
{
    __local float2 data[2][SIZE];
    int t = get_local_id(0), base = get_group_id(0) * SIZE, from = 0;
    data[0][t] = in[base + t];
    data[0][t + SIZE / 2] = in[base + t + SIZE / 2];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int span = 1; span < SIZE; span *= 2) {
        int k = t & (span - 1);
        float2 w = roots[k * (SIZE / 2 / span)];
        float2 a = data[from][t], b = data[from][t + SIZE / 2];
        float2 c = (float2)(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
        int to = 2 * t - k;
        from = 1 - from;
        data[from][to] = a + c;
        data[from][to + span] = a - c;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[base + t] = data[from][t];
    out[base + t + SIZE / 2] = data[from][t + SIZE / 2];
}
