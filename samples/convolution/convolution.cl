// 5 x 5 convolution with zeros outside, through a tile with halo in local memory.
#define SIDE 16
#define RADIUS 2
#define TILE (SIDE + 2 * RADIUS)

__constant float weights[5][5] = {
    {1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 1}};

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void convolution(__global const float* in, __global float* out, int width, int height)
{
    __local float tile[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int left = get_group_id(0) * SIDE - RADIUS, top = get_group_id(1) * SIDE - RADIUS;
    for (int y = ty; y < TILE; y += SIDE)
        for (int x = tx; x < TILE; x += SIDE) {
            int column = left + x, row = top + y;
            bool inside = column >= 0 && column < width && row >= 0 && row < height;
            tile[y][x] = inside ? in[row * width + column] : 0.0f;
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) sum += weights[j][i] * tile[ty + j][tx + i];
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height) out[y * width + x] = sum / 256;
}
