// Each group of 128 work-items sorts 256 integers in local memory with a bitonic network.
#define SIZE 256

__kernel __attribute__((reqd_work_group_size(SIZE / 2, 1, 1)))
void bitonic(__global int* data)
{
    __local int keys[SIZE];
    int t = get_local_id(0), base = get_group_id(0) * SIZE;
    keys[t] = data[base + t];
    keys[t + SIZE / 2] = data[base + t + SIZE / 2];
    for (int size = 2; size <= SIZE; size *= 2) {
        for (int stride = size / 2; stride > 0; stride /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int i = 2 * t - (t & (stride - 1));
            int a = keys[i], b = keys[i + stride];
            bool up = (i & size) == 0;
            if (a > b == up) {
                keys[i] = b;
                keys[i + stride] = a;
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    data[base + t] = keys[t];
    data[base + t + SIZE / 2] = keys[t + SIZE / 2];
}
