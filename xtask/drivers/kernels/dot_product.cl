// Sums of products, four at a time, then a tree in local memory.
kernel void dot_product(global const float4 *a, global const float4 *b, global float *out, local float *part, int n)
{
    int l = get_local_id(0);
    float sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += dot(a[i], b[i]);
    part[l] = sum;
    for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < s) part[l] += part[l + s];
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}
