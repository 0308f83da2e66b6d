// Work-groups: local memory, barriers, atomics.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 64>>>(s32[6]:fill:-286331154)
// check: 0 s32: 2016 64 63 0 127 64
__constant int weights[4] = {1, 1, 1, 1};
void sum(__local int *data, int n)
{
    for (int step = n / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) < step) data[get_local_id(0)] += data[get_local_id(0) + step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k(__global int *out)
{
    __local int data[64];

    __local int count;
    __local struct { int low, high; } range;
    int id = get_local_id(0);
    data[id] = id * weights[id & 3];
    if (id == 0) { count = 0; range.low = 1000; range.high = -1; }
    sum(data, 64);
    atomic_inc(&count);
    atomic_max(&range.high, id);
    atomic_min(&range.low, id);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id == 0) {
        out[0] = data[0];
        out[1] = count;
        out[2] = range.high;
        out[3] = range.low;
    }
    out[4] = 127;
    out[5] = (int)get_global_size(0);
}
