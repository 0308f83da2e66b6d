// One leapfrog step of n bodies under gravity, positions passed through local memory tile by tile.
#define TILE 64

__kernel void nbody(__global const float4* pos, __global float4* vel, __global float4* out, int n, float dt)
{
    __local float4 tile[TILE];
    int i = get_global_id(0), t = get_local_id(0);
    float4 p = pos[i];
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += TILE) {
        tile[t] = pos[base + t];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; ++k) {
            float4 q = tile[k];
            float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
            float r = native_rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
            float f = q.w * r * r * r;
            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float4 v = vel[i];
    v.x += ax * dt;
    v.y += ay * dt;
    v.z += az * dt;
    vel[i] = v;
    out[i] = (float4)(p.x + v.x * dt, p.y + v.y * dt, p.z + v.z * dt, p.w);
}
