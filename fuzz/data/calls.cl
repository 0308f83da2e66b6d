__kernel void add(__global int *a, int n) { a[get_global_id(0) & 3] += n; }
__kernel void sum(__global int *a, __local int *l, __constant int *c) {
    l[get_local_id(0) & 3] = a[0] + c[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) a[0] = l[0];
}
__kernel void picture(read_only image2d_t from, write_only image2d_t to, sampler_t s) {
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, p, read_imagef(from, s, p));
}
__kernel void nothing() { }
