// Sums of squares of rows of singles, in double precision.
kernel void norms(global const float *in, global float *out, int n)
{
    int i = get_global_id(0);
    double sum = 0;
    for (int k = 0; k < n; k++) {
        double x = in[k * get_global_size(0) + i];
        sum += x * x;
    }
    out[i] = (float)sqrt(sum);
}
