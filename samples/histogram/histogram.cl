// Byte histogram: local atomics per group, then global atomics.
__kernel void histogram(__global const uchar* data, __global uint* bins, int n)
{
    __local uint counts[256];
    for (int b = get_local_id(0); b < 256; b += get_local_size(0)) counts[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_add(&counts[data[i]], 1u);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = get_local_id(0); b < 256; b += get_local_size(0)) atomic_add(&bins[b], counts[b]);
}
