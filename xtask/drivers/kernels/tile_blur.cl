// Means of three by three points by way of a tile in local memory with its border.
kernel void tile_blur(global const float *in, global float *out, int n)
{
    local float tile[18][18];
    int lx = get_local_id(0), ly = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
    int x0 = get_group_id(0) * 16 - 1, y0 = get_group_id(1) * 16 - 1;
    for (int k = ly * 16 + lx; k < 18 * 18; k += 256) {
        int u = clamp(x0 + k % 18, 0, n - 1), v = clamp(y0 + k / 18, 0, n - 1);
        tile[k / 18][k % 18] = in[v * n + u];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++)
            sum += tile[ly + dy][lx + dx];
    out[y * n + x] = sum / 9;
}
