// Neighbours in a block exchange numbers, many times.
kernel void barrier_loop(global float *data, local float *a, int turns)
{
    int l = get_local_id(0), size = get_local_size(0), i = get_group_id(0) * size + l;
    float x = data[i];
    for (int t = 0; t < turns; t++) {
        a[l] = x;
        barrier(CLK_LOCAL_MEM_FENCE);
        x = 0.5f * (x + a[(l + 1) & (size - 1)]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    data[i] = x;
}
