// The OpenCL C functions that the samples and the random programs use, over clang's NVPTX builtins: clang declares
// the functions and has no library for this target. Included by `-include`.
#pragma once
#define INLINE static inline __attribute__((always_inline))

#define DIMENSION(d, NAME) ((d) == 0 ? NAME##_x() : (d) == 1 ? NAME##_y() : NAME##_z())
INLINE size_t nv_local_id(uint d) { return DIMENSION(d, __nvvm_read_ptx_sreg_tid); }
INLINE size_t nv_local_size(uint d) { return DIMENSION(d, __nvvm_read_ptx_sreg_ntid); }
INLINE size_t nv_group_id(uint d) { return DIMENSION(d, __nvvm_read_ptx_sreg_ctaid); }
INLINE size_t nv_num_groups(uint d) { return DIMENSION(d, __nvvm_read_ptx_sreg_nctaid); }
INLINE size_t nv_global_size(uint d)
{
    return (uint)DIMENSION(d, __nvvm_read_ptx_sreg_nctaid) * (uint)DIMENSION(d, __nvvm_read_ptx_sreg_ntid);
}
INLINE size_t nv_global_id(uint d)
{
    return (uint)DIMENSION(d, __nvvm_read_ptx_sreg_ctaid) * (uint)DIMENSION(d, __nvvm_read_ptx_sreg_ntid)
        + (uint)DIMENSION(d, __nvvm_read_ptx_sreg_tid);
}
#define get_local_id nv_local_id
#define get_local_size nv_local_size
#define get_group_id nv_group_id
#define get_num_groups nv_num_groups
#define get_global_size nv_global_size
#define get_global_id nv_global_id

#define barrier(flags) __syncthreads()
#define atomic_add(p, v) __sync_fetch_and_add(p, v)
#define atomic_xor(p, v) __sync_fetch_and_xor(p, v)

// Integer functions.
#define min(a, b) __builtin_elementwise_min(a, b)
#define max(a, b) __builtin_elementwise_max(a, b)
#define popcount(x) ((uint)__builtin_popcount(x))
#define rotate nv_rotate
#define mul_hi nv_mul_hi
#define add_sat(a, b) __builtin_elementwise_add_sat(a, b)
#define sub_sat(a, b) __builtin_elementwise_sub_sat(a, b)
INLINE uint nv_rotate(uint x, uint n) { return x << (n & 31) | x >> (-n & 31); }
INLINE uint nv_mul_hi(uint a, uint b) { return (ulong)a * b >> 32; }

// Single precision.
#define fabs(x) __builtin_elementwise_abs(x)
#define fma(a, b, c) __builtin_elementwise_fma(a, b, c)
#define mad(a, b, c) __builtin_elementwise_fma(a, b, c)
#define floor(x) __builtin_elementwise_floor(x)
#define sqrt(x) __nvvm_sqrt_rn_f(x)
#define native_rsqrt(x) __nvvm_rsqrt_approx_f(x)
#define native_recip(x) __nvvm_rcp_approx_ftz_f(x)
#define native_exp(x) __nvvm_ex2_approx_f((x) * 1.44269504f)
#define native_log(x) (__nvvm_lg2_approx_f(x) * 0.693147181f)
