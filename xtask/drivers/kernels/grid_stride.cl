kernel void grid_stride(global const float *a, global float *b, int n)
{
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) b[i] = a[i] * a[i] + 1;
}
