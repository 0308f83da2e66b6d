// Adds two vectors, and a running sum in local memory.
__kernel void add(__global const float *a, __global const float *b, __global float *c, int n)
{
    int i = get_global_id(0);
    if (i < n)
        c[i] = a[i] + b[i];
}

__kernel void prefix(__global const int *in, __global int *out)
{
    __local int line[64];
    int t = get_local_id(0);
    line[t] = in[t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < 64; d *= 2) {
        int add = t >= d ? line[t - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        line[t] += add;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[t] = line[t];
}
