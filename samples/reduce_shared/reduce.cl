// Sum by a tree in local memory. Launched twice: groups to partial sums, partial sums to one.
__kernel void reduce_shared(__global const int* in, __global int* out, int n)
{
    __local int tree[256];
    int size = get_local_size(0), t = get_local_id(0), i = get_group_id(0) * size * 2 + t;
    int sum = i < n ? in[i] : 0;
    if (i + size < n) sum += in[i + size];
    tree[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = size / 2; s > 0; s /= 2) {
        if (t < s) tree[t] += tree[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) out[get_group_id(0)] = tree[0];
}
