// Sums of blocks, over several numbers a work-item and then a tree in local memory.
kernel void reduce(global const float *in, global float *out, local float *part, int n)
{
    int l = get_local_id(0), size = get_local_size(0);
    float sum = 0;
    for (int i = get_group_id(0) * size + l; i < n; i += get_num_groups(0) * size) sum += in[i];
    part[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = size / 2; s > 0; s /= 2) {
        if (l < s) part[l] += part[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}
