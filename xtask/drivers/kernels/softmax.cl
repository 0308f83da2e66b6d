// A row of 256 numbers a block: its greatest, the sum of powers of e, and the shares.
kernel void softmax(global const float *in, global float *out, local float *part)
{
    int l = get_local_id(0), size = get_local_size(0), i = get_group_id(0) * size + l;
    float x = in[i];
    part[l] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = size / 2; s > 0; s /= 2) {
        if (l < s) part[l] = fmax(part[l], part[l + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float e = exp(x - part[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    part[l] = e;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = size / 2; s > 0; s /= 2) {
        if (l < s) part[l] += part[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = e / part[0];
}
