// A polynomial of degree 15 in double precision, by Horner's rule.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__constant double coefficients[16] = {
    1.0, 1.0, 0.5, 0.16666666666666666, 0.041666666666666664, 0.008333333333333333, 0.001388888888888889,
    0.0001984126984126984, 2.48015873015873e-05, 2.7557319223985893e-06, 2.755731922398589e-07,
    2.505210838544172e-08, 2.08767569878681e-09, 1.6059043836821613e-10, 1.1470745597729725e-11,
    7.647163731819816e-13};

__kernel void polynomial(__global const double* x, __global double* y, int n)
{
    int i = get_global_id(0);
    if (i >= n) return;
    double v = x[i], sum = coefficients[15];
    for (int k = 14; k >= 0; --k) sum = sum * v + coefficients[k];
    y[i] = sum;
}
