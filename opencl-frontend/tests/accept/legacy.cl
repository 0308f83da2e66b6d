// options: -arch=sm_10 -w
__kernel void scale(__global float *x, float a, double b) { int i = get_global_id(0); x[i] = x[i] * a + (float)b; }
