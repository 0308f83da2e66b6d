// options: -arch=sm_75
__kernel void swizzle(__global float4 *o, __global const float4 *x, __global const uchar4 *u, __global int4 *m)
{
    size_t i = get_global_id(0);
    float4 v = x[i];
    float4 w = v.wzyx;
    w.xy += v.zz;
    w.hi *= v.lo;
    o[i] = w > v ? w : -v;
    uchar4 q = u[i];
    q = q * (uchar4)3 + q.yxwz;
    m[i] = convert_int4(q) << 2;
    o[i].s3 = dot(v.xyz, w.zyx);
}
__kernel void literal(__global float8 *o, float a, __global int *p)
{
    float2 t = (float2)(a, 2.0f);
    o[0] = (float8)(t, (float4)(a), t.yx);
    p[0] = as_int(a) + any(t == t.yx) + all(isnan(t));
    vstore3(vload3(1, p), 0, p + 8);
}
