// Inclusive sums within blocks, in log2(n) steps.
kernel void scan(global const uint *in, global uint *out, local uint *a)
{
    int l = get_local_id(0), size = get_local_size(0), i = get_group_id(0) * size + l;
    a[l] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < size; d *= 2) {
        uint add = l >= d ? a[l - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        a[l] += add;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = a[l];
}
