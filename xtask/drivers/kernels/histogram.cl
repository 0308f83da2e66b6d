kernel void histogram(global const uint *in, global uint *bins, int n)
{
    local uint own[256];
    for (int b = get_local_id(0); b < 256; b += get_local_size(0)) own[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_group_id(0) * get_local_size(0) + get_local_id(0); i < n; i += get_global_size(0))
        atomic_inc(&own[in[i] & 255]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = get_local_id(0); b < 256; b += get_local_size(0)) atomic_add(&bins[b], own[b]);
}
