// Sub-groups of 32, 32 and 8 work-items, and functions of the work-group. Each column is a sum over all work-items of
// the value times the work-item's number.
// flags: -cl-std=CL3.0 -arch=sm_90
// flags: -cl-std=CL2.0 -arch=sm_70 -cl-opt-disable
// run: k<<<1, 72>>>(s32[20]:fill:0)
// check: 0 s32: 7097048 426276 -13140 42484 238137 253412 26160 -10210 39673 15253 14290 14687 61064 36620 52680 0 1103760 733589 44515 -2628
// run: k<<<1, 8x9>>>(s32[20]:fill:0)
// check: 0 s32: 7097048 426276 -13140 42484 238137 253412 26160 -10210 39673 15253 14290 14687 61064 36620 52680 0 1103760 733589 44515 -2628
#define COLUMN(n, v) atomic_add(&out[n], (v) * (i + 1))
kernel void k(global int *out)
{
    int i = get_local_linear_id(), x = i * 7 % 23 - 5;
    int lane = get_sub_group_local_id();
    COLUMN(0, (int)(get_sub_group_size() * 100 + get_sub_group_id()));
    COLUMN(1, sub_group_reduce_add(x));
    COLUMN(2, sub_group_reduce_min(x));
    COLUMN(3, sub_group_reduce_max(x));
    COLUMN(4, sub_group_scan_exclusive_add(x));
    COLUMN(5, sub_group_scan_inclusive_add(x));
    COLUMN(6, sub_group_broadcast(x, 3));
    COLUMN(7, sub_group_scan_inclusive_min(x));
    int before = sub_group_scan_exclusive_max(x);
    COLUMN(8, before == INT_MIN ? 0 : before);
    COLUMN(9, sub_group_shuffle_xor(x, 1));
    int up = sub_group_shuffle_up(x, 2);
    COLUMN(10, lane >= 2 ? up : 0);
    COLUMN(11, sub_group_rotate(x, 3));
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    COLUMN(12, sub_group_clustered_reduce_add(x, 4));
    COLUMN(13, sub_group_clustered_reduce_max(x, 4));
    COLUMN(14, (int)sub_group_ballot_bit_count(sub_group_ballot(x > 0)));
    COLUMN(15, sub_group_all(x > -5));
    COLUMN(16, work_group_reduce_add(x));
    COLUMN(17, work_group_scan_exclusive_add(x));
    COLUMN(18, work_group_scan_inclusive_max(x));
    COLUMN(19, work_group_broadcast(x, 40 % get_local_size(0), 40 / get_local_size(0)));
}
