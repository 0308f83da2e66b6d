kernel void nbody(global const float4 *p, global float4 *force, int n)
{
    int i = get_global_id(0);
    float4 me = p[i];
    float3 f = 0;
    for (int j = 0; j < n; j++) {
        float4 q = p[j];
        float3 d = q.xyz - me.xyz;
        float r = rsqrt(dot(d, d) + 0.01f);
        f += d * (q.w * r * r * r);
    }
    force[i] = (float4)(f, 0);
}
