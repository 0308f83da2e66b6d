// Forces between particles and 24 others each, which a list names; those too far away count for nothing.
kernel void neighbours(global const float4 *at, global const uint *list, global float4 *force, int count)
{
    int i = get_global_id(0);
    float4 here = at[i], sum = 0;
    for (int n = 0; n < 24; n++) {
        float4 d = at[list[n * count + i]] - here;
        float r = d.x * d.x + d.y * d.y + d.z * d.z;
        if (r < 0.25f && r > 0) {
            float s = 0.0001f / r, t = s * s * s;
            sum += d * (s * t * (t - 0.5f));
        }
    }
    force[i] = sum;
}
