// A row of a sparse matrix a work-item.
kernel void spmv(global const int *rows, global const int *columns, global const float *values, global const float *x,
                 global float *y)
{
    int row = get_global_id(0);
    float sum = 0;
    for (int i = rows[row]; i < rows[row + 1]; i++) sum += values[i] * x[columns[i]];
    y[row] = sum;
}
