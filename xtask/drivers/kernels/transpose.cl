#define T 16
kernel __attribute__((reqd_work_group_size(T, T, 1)))
void transpose(global const float *in, global float *out, int n)
{
    local float tile[T][T + 1];
    int bx = get_group_id(0) * T, by = get_group_id(1) * T, lx = get_local_id(0), ly = get_local_id(1);
    tile[ly][lx] = in[(by + ly) * n + bx + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(bx + ly) * n + by + lx] = tile[lx][ly];
}
