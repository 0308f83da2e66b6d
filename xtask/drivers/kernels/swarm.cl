// Particles that turn around one another: sines, cosines and a logarithm each.
kernel void swarm(global const float4 *in, global float4 *out)
{
    int i = get_global_id(0);
    float4 p = in[i];
    float angle = p.w * 0.01f + atan2(p.y, p.x), r = sqrt(p.x * p.x + p.y * p.y) + 1.0f;
    out[i] = (float4)(r * cos(angle), r * sin(angle), log(r) + p.z, exp(-r * 0.01f));
}
