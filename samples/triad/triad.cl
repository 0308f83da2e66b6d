// a = b + s * c in vectors of four.
__kernel void triad(__global float4* a, __global const float4* b, __global const float4* c, float s)
{
    int i = get_global_id(0);
    a[i] = b[i] + s * c[i];
}
