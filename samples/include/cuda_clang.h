// The few CUDA names that the samples use, for clang without a CUDA toolkit.
#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

struct ThreadIdx {
    __declspec(property(get = get_x)) unsigned x;
    __declspec(property(get = get_y)) unsigned y;
    static __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_tid_x(); }
    static __device__ unsigned get_y() { return __nvvm_read_ptx_sreg_tid_y(); }
};
struct BlockIdx {
    __declspec(property(get = get_x)) unsigned x;
    __declspec(property(get = get_y)) unsigned y;
    static __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
    static __device__ unsigned get_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
};
struct BlockDim {
    __declspec(property(get = get_x)) unsigned x;
    __declspec(property(get = get_y)) unsigned y;
    static __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
    static __device__ unsigned get_y() { return __nvvm_read_ptx_sreg_ntid_y(); }
};
struct GridDim {
    __declspec(property(get = get_x)) unsigned x;
    static __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
};
extern const __device__ __attribute__((weak)) ThreadIdx threadIdx;
extern const __device__ __attribute__((weak)) BlockIdx blockIdx;
extern const __device__ __attribute__((weak)) BlockDim blockDim;
extern const __device__ __attribute__((weak)) GridDim gridDim;
