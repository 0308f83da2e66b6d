// Transpose through a padded tile in local memory; 32 x 8 work-items move a 32 x 32 tile.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel void transpose(__global double* out, __global const double* in, int width, int height)
{
    __local double tile[32][33];
    int tx = get_local_id(0), ty = get_local_id(1);
    int x = get_group_id(0) * 32 + tx, y = get_group_id(1) * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height) tile[ty + j][tx] = in[(y + j) * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * 32 + tx;
    y = get_group_id(0) * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[tx][ty + j];
}
