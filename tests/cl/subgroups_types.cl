// Functions of sub-groups and work-groups on all types: tests that hold for each of 40 work-items.
// flags: -cl-std=CL3.0 -arch=sm_90
// flags: -cl-std=CL2.0 -arch=sm_70 -cl-opt-disable
// jit: activemask
// run: types<<<1, 40>>>(s32[12]:fill:0)
// check: 0 s32: 40 40 40 40 40 40 40 40 40 40 40 40
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// Each test holds for all 40 work-items.
kernel void types(global int *out)
{
    int i = get_local_id(0), last = i < 32 ? 31 : 7, first = i & 32;
    #define HOLDS(n, test) atomic_add(&out[n], (test) ? 1 : 0)
    HOLDS(0, sub_group_broadcast((long)i << 40, last) == (long)(first + last) << 40);
    HOLDS(1, sub_group_broadcast(i * 0.5, 2) == (first + 2) * 0.5);
    HOLDS(2, all(sub_group_broadcast((float4)(i, 1, 2, i), 1) == (float4)(first + 1, 1, 2, first + 1)));
    HOLDS(3, sub_group_shuffle((char)-i, 2) == -(first + 2));
    HOLDS(4, sub_group_reduce_max((half)i) == (half)(first + last));
    HOLDS(5, sub_group_scan_inclusive_add(1.0f) == (float)(get_sub_group_local_id() + 1));
    HOLDS(6, work_group_reduce_add((double)i) == 780.0 && work_group_reduce_min((ulong)i + 5) == 5);
    HOLDS(7, work_group_all(i < 40) && !work_group_all(i < 39) && work_group_any(i == 39) && !work_group_any(i > 39));
    HOLDS(8, sub_group_non_uniform_reduce_mul((uchar)2) == 0 && sub_group_non_uniform_reduce_xor(i) == 0);
    HOLDS(9, sub_group_non_uniform_reduce_logical_or(i == first) && !sub_group_non_uniform_reduce_logical_and(i == 0));
    HOLDS(10, sub_group_ballot_find_msb(sub_group_ballot(1)) == last && sub_group_inverse_ballot(get_sub_group_eq_mask())
              && get_max_sub_group_size() == 32 && get_num_sub_groups() == 2);
    HOLDS(11, sub_group_non_uniform_all_equal(first) && !sub_group_non_uniform_all_equal(i)
              && work_group_scan_exclusive_max((float)i) == (i ? i - 1.0f : -INFINITY));
}
