// The atomic functions of OpenCL 1.0, on global and local memory, in 32 and 64 bits; a loop with a pragma.
// flags: -cl-std=CL1.1
// flags: -cl-std=CL3.0 -arch=sm_90
// run: k<<<1, 4>>>(s32[8]:fill:0, s64[2]:fill:0)
// check: 0 s32: 4 5 4 3 28 4 -6 7
// check: 1 s64: 8 3
#pragma OPENCL EXTENSION cl_khr_global_int32_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_local_int32_extended_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
kernel void k(global int *out, global long *wide)
{
    local int shared;
    int i = get_local_id(0);
    if (i == 0) shared = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atom_add(&out[0], 1);
    atom_cmpxchg(&out[1], 0, 5);
    atom_inc(&out[2]);
    atom_max(&out[3], i);
    atom_inc(&shared);
    atom_sub(&out[6], i);
    atom_or(&out[7], 1 << i % 3);
    atom_add(&wide[0], 2l);
    atom_xchg(&wide[1], 3l);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) {
        int sum = 0;
#pragma unroll
        for (int n = 0; n < 8; n++) sum += n;
        out[4] = sum;
        out[5] = shared;
    }
}
