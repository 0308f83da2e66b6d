// The OpenCL C work-item functions that the samples use, over clang's NVPTX builtins.
#pragma once
typedef unsigned int uint;

static inline int get_local_id(uint d)
{
    return d == 0 ? __nvvm_read_ptx_sreg_tid_x() : d == 1 ? __nvvm_read_ptx_sreg_tid_y() : __nvvm_read_ptx_sreg_tid_z();
}
static inline int get_local_size(uint d)
{
    return d == 0 ? __nvvm_read_ptx_sreg_ntid_x() : d == 1 ? __nvvm_read_ptx_sreg_ntid_y() : __nvvm_read_ptx_sreg_ntid_z();
}
static inline int get_group_id(uint d)
{
    return d == 0 ? __nvvm_read_ptx_sreg_ctaid_x() : d == 1 ? __nvvm_read_ptx_sreg_ctaid_y() : __nvvm_read_ptx_sreg_ctaid_z();
}
static inline int get_global_id(uint d) { return get_group_id(d) * get_local_size(d) + get_local_id(d); }
#define barrier(flags) __syncthreads()
