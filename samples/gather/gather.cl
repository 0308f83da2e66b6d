// out[i] = table[index[i]], four elements per work-item.
__kernel void gather(__global const int* table, __global const int* index, __global int* out, int n)
{
    int first = get_group_id(0) * get_local_size(0) * 4 + get_local_id(0);
    for (int k = 0; k < 4; ++k) {
        int i = first + k * get_local_size(0);
        if (i < n) out[i] = table[index[i]];
    }
}
