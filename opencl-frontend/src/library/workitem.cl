// Work-item functions (6.12.1) and synchronisation (6.12.8, 6.12.9).

//! get_local_id get_local_size get_enqueued_local_size get_local_linear_id get_global_linear_id get_group_id get_num_groups get_global_size get_global_id get_global_offset get_work_dim
#if __PTX_GLOBAL_OFFSET__
#define OFFSET_X __ptx_envreg3()
#define OFFSET_Y __ptx_envreg4()
#define OFFSET_Z __ptx_envreg5()
#else
#define OFFSET_X 0u
#define OFFSET_Y 0u
#define OFFSET_Z 0u
#endif
// What a launch lacks of its whole range, where the last group of a dimension may be smaller than the others
// (`ptx_isa::special::Environment`).
#if __PTX_REST_GROUPS__
#define GROUPS_BEFORE(d) (d == 0 ? __ptx_envreg7() : d == 1 ? __ptx_envreg8() : __ptx_envreg9())
#define BEFORE(d) (d == 0 ? __ptx_envreg10() : d == 1 ? __ptx_envreg11() : __ptx_envreg12())
#define BEHIND(d) (d == 0 ? __ptx_envreg13() : d == 1 ? __ptx_envreg14() : __ptx_envreg15())
#define SMALLER(d) (d == 0 ? __ptx_envreg16() : d == 1 ? __ptx_envreg17() : __ptx_envreg18())
#else
#define GROUPS_BEFORE(d) 0u
#define BEFORE(d) 0u
#define BEHIND(d) 0u
#define SMALLER(d) 0u
#endif
size_t get_local_id(uint d) { return d == 0 ? __ptx_tid_x() : d == 1 ? __ptx_tid_y() : d == 2 ? __ptx_tid_z() : 0; }
size_t get_local_size(uint d) { return d == 0 ? __ptx_ntid_x() : d == 1 ? __ptx_ntid_y() : d == 2 ? __ptx_ntid_z() : 1; }
size_t get_enqueued_local_size(uint d)
{
    return d == 0 ? __ptx_ntid_x() + SMALLER(0)
         : d == 1 ? __ptx_ntid_y() + SMALLER(1)
         : d == 2 ? __ptx_ntid_z() + SMALLER(2) : 1;
}
size_t get_group_id(uint d)
{
    return d == 0 ? __ptx_ctaid_x() + GROUPS_BEFORE(0)
         : d == 1 ? __ptx_ctaid_y() + GROUPS_BEFORE(1)
         : d == 2 ? __ptx_ctaid_z() + GROUPS_BEFORE(2) : 0;
}
size_t get_num_groups(uint d)
{
    // Behind a launch there is one group at most.
    return d == 0 ? __ptx_nctaid_x() + GROUPS_BEFORE(0) + (BEHIND(0) != 0u)
         : d == 1 ? __ptx_nctaid_y() + GROUPS_BEFORE(1) + (BEHIND(1) != 0u)
         : d == 2 ? __ptx_nctaid_z() + GROUPS_BEFORE(2) + (BEHIND(2) != 0u) : 1;
}
// `OFFSET` is where the launch starts.
size_t get_global_offset(uint d)
{
    return d == 0 ? OFFSET_X - BEFORE(0) : d == 1 ? OFFSET_Y - BEFORE(1) : d == 2 ? OFFSET_Z - BEFORE(2) : 0;
}
size_t get_global_size(uint d)
{
    return d == 0 ? __ptx_nctaid_x() * __ptx_ntid_x() + (BEFORE(0) + BEHIND(0))
         : d == 1 ? __ptx_nctaid_y() * __ptx_ntid_y() + (BEFORE(1) + BEHIND(1))
         : d == 2 ? __ptx_nctaid_z() * __ptx_ntid_z() + (BEFORE(2) + BEHIND(2)) : 1;
}
size_t get_global_id(uint d)
{
    return d == 0 ? __ptx_ctaid_x() * __ptx_ntid_x() + __ptx_tid_x() + OFFSET_X
         : d == 1 ? __ptx_ctaid_y() * __ptx_ntid_y() + __ptx_tid_y() + OFFSET_Y
         : d == 2 ? __ptx_ctaid_z() * __ptx_ntid_z() + __ptx_tid_z() + OFFSET_Z : 0;
}
size_t get_local_linear_id(void)
{
    return __ptx_tid_x() + __ptx_ntid_x() * (__ptx_tid_y() + __ptx_ntid_y() * __ptx_tid_z());
}
size_t get_global_linear_id(void)
{
    size_t x = __ptx_ctaid_x() * __ptx_ntid_x() + __ptx_tid_x() + BEFORE(0);
    size_t y = __ptx_ctaid_y() * __ptx_ntid_y() + __ptx_tid_y() + BEFORE(1);
    size_t z = __ptx_ctaid_z() * __ptx_ntid_z() + __ptx_tid_z() + BEFORE(2);
    return x + get_global_size(0) * (y + get_global_size(1) * z);
}
uint get_work_dim(void)
{
#if __PTX_GLOBAL_OFFSET__
    // The driver knows; what runs the kernel without one leaves 0.
    if (__ptx_envreg6() != 0) return __ptx_envreg6();
#endif
    return __ptx_nctaid_z() * __ptx_ntid_z() > 1 ? 3 : __ptx_nctaid_y() * __ptx_ntid_y() > 1 ? 2 : 1;
}

//! barrier work_group_barrier mem_fence read_mem_fence write_mem_fence
// A barrier of PTX orders both memories among the threads of the block.
void barrier(uint flags) { __ptx_barrier(); }
void work_group_barrier(uint flags) { __ptx_barrier(); }
void work_group_barrier(uint flags, int scope)
{
    if (scope >= 2) __ptx_fence_device();
    __ptx_barrier();
}
void mem_fence(uint flags) { __ptx_fence_block(); }
void read_mem_fence(uint flags) { __ptx_fence_block(); }
void write_mem_fence(uint flags) { __ptx_fence_block(); }
