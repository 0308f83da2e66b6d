// Sparse matrix (CSR) times vector, one row per thread; rows differ in length, so lanes diverge.
#ifdef __clang__
#include "cuda_clang.h"
#endif
extern "C" __global__ void spmv(int rows, const int* start, const int* column, const double* value, const double* x, double* y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int k = start[row]; k < start[row + 1]; ++k) sum += value[k] * x[column[k]];
    y[row] = sum;
}
