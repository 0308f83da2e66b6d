// Functions of those work-items of a sub-group that get there, as sums over all
// work-items.
// flags: -cl-std=CL3.0 -arch=sm_90
// flags: -cl-std=CL2.0 -arch=sm_70 -cl-opt-disable
// run: k<<<1, 72>>>(s32[5]:fill:0)
// check: 0 s32: 42774 15349 7519 102 3053
#define COLUMN(n, v) atomic_add(&out[n], (v) * (i + 1))
kernel void k(global int *out)
{
    int i = get_local_linear_id(), x = i * 7 % 23 - 5;
    if (i % 3 == 1) {
        COLUMN(0, sub_group_non_uniform_reduce_add(x));
        COLUMN(1, sub_group_non_uniform_scan_exclusive_add(x));
        COLUMN(2, (int)sub_group_ballot_bit_count(sub_group_ballot(1)));
        COLUMN(3, sub_group_elect());
        COLUMN(4, sub_group_broadcast_first(x));
    }
}
