// One leapfrog step of n bodies under gravity, positions passed through shared memory tile by tile.
extern "C" __global__ void nbody(const float4* pos, float4* vel, float4* out, int n, float dt)
{
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 p = pos[i];
    float ax = 0, ay = 0, az = 0;
    for (int base = 0; base < n; base += blockDim.x) {
        tile[threadIdx.x] = pos[base + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < blockDim.x; ++k) {
            float4 q = tile[k];
            float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float f = q.w * r * r * r;
            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        __syncthreads();
    }
    float4 v = vel[i];
    v.x += ax * dt;
    v.y += ay * dt;
    v.z += az * dt;
    vel[i] = v;
    out[i] = make_float4(p.x + v.x * dt, p.y + v.y * dt, p.z + v.z * dt, p.w);
}
