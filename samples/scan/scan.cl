// Inclusive prefix sum in three launches: scan each group, scan the group sums, add them back.
__kernel void scan_blocks(__global const uint* in, __global uint* out, __global uint* sums, int n)
{
    __local uint buffer[2][256];
    int t = get_local_id(0), i = get_global_id(0), from = 0;
    buffer[0][t] = i < n ? in[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < get_local_size(0); d *= 2) {
        uint v = buffer[from][t];
        if (t >= d) v += buffer[from][t - d];
        from = 1 - from;
        buffer[from][t] = v;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) out[i] = buffer[from][t];
    if (sums && t == get_local_size(0) - 1) sums[get_group_id(0)] = buffer[from][t];
}

__kernel void add_block_sums(__global uint* out, __global const uint* sums, int n)
{
    int i = get_global_id(0) + get_local_size(0);
    if (i < n) out[i] += sums[get_group_id(0)];
}
