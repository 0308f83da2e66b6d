#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void daxpy(global const double *x, global double *y, float a, int n)
{
    int i = get_global_id(0);
    if (i < n) y[i] = fma((double)a, x[i], y[i]);
}
