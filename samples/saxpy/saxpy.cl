// y = a * x + y, each work-item in steps of the whole range.
__kernel void saxpy(int n, float a, __global const float* x, __global float* y)
{
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        y[i] = a * x[i] + y[i];
}
