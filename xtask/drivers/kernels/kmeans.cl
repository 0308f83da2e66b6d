// The nearest of some centres.
kernel void kmeans(global const float4 *points, constant float4 *centres, global uint *nearest, int count)
{
    size_t i = get_global_id(0);
    float4 p = points[i];
    float least = INFINITY;
    uint best = 0;
    for (int k = 0; k < count; k++) {
        float4 d = p - centres[k];
        float far = dot(d, d);
        if (far < least) {
            least = far;
            best = k;
        }
    }
    nearest[i] = best;
}
