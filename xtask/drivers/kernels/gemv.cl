// y = A^T x: a column of the matrix a work-item.
kernel void gemv(global const float *a, global const float *x, global float *y, int rows, int columns)
{
    int i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < rows; k++) sum += a[k * columns + i] * x[k];
    y[i] = sum;
}
