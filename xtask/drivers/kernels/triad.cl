kernel void triad(global const float4 *a, global const float4 *b, global float4 *c, float s)
{
    int i = get_global_id(0);
    c[i] = mad(b[i], s, a[i]);
}
