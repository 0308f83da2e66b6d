// Sparse matrix (CSR) times vector, one row per work-item; rows differ in length, so lanes diverge.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel void spmv(int rows, __global const int* start, __global const int* column, __global const double* value,
                   __global const double* x, __global double* y)
{
    int row = get_global_id(0);
    if (row >= rows) return;
    double sum = 0;
    for (int k = start[row]; k < start[row + 1]; ++k) sum += value[k] * x[column[k]];
    y[row] = sum;
}
