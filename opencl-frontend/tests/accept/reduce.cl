// options: -arch=sm_80 -D GROUP=64
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce(__global const float *x, __global float *o, __local float *extra, __global uint *hits)
{
    __local float scratch[GROUP];
    uint l = get_local_id(0);
    scratch[l] = x[get_global_id(0)];
    extra[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = GROUP / 2; s > 0; s >>= 1) {
        if (l < s) scratch[l] += scratch[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) { o[get_group_id(0)] = scratch[0]; atomic_inc(hits); }
}
// The programming guide's 2.2.2: one load, and two when the array is volatile.
__kernel void once(__global int *a, __global int *r) { int t = get_local_id(0); int x = a[t]; a[t + 1] = 2; int y = a[t]; r[t] = x * y; }
__kernel void twice(volatile __global int *a, __global int *r) { int t = get_local_id(0); int x = a[t]; a[t + 1] = 2; int y = a[t]; r[t] = x * y; }
