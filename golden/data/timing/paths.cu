// Divisions, reciprocals and roots whose operands send machine code another way: 64 in a chain. Recorded on an H200.
typedef unsigned int u32; typedef unsigned long long u64; typedef long long s64;
#define K extern "C" __global__ void
#define BEGIN __syncthreads(); u64 c0 = clock64();
#define END __syncthreads(); u64 c1 = clock64(); if (threadIdx.x == 0) out[blockIdx.x] = c1 - c0;
// p: lanes that have operand q of `buf` in place of the usual one. The operands are in the test.
#define F(name, T, pick, step) K name(const T *buf, u64 *out, T *sink, int p, int q) { T one = buf[0], a = threadIdx.x % 32 < p ? buf[q] : buf[1], b = one; pick; BEGIN \
_Pragma("unroll 1") for (int i = 0; i < 64; i++) { step; } END sink[threadIdx.x] = a; }
F(div_f32, float, , a = __fdiv_rn(a, b))
F(div_f32_b, float, b = a; a = buf[1]; , a = __fdiv_rn(a, b); b = b)
F(rcp_f32, float, , a = __frcp_rn(a))
F(sqrt_f32, float, , a = __fsqrt_rn(a))
F(add_f32, float, , a = a + b)
F(div_f64, double, , a = __ddiv_rn(a, b))
F(rcp_f64, double, , a = __drcp_rn(a))
F(sqrt_f64, double, , a = __dsqrt_rn(a))
F(rsqrt_f64, double, , a = rsqrt(a))
F(add_f64, double, , a = a + b)
// a = c, b = d
F(div_u64, u64, u64 c = a; b = buf[8], a = a / b + c)
F(div_u64_b, u64, b = a; u64 c = buf[1]; a = c, a = a / b + c)
F(div_s64, s64, s64 c = a; b = buf[8], a = a / b + c)
F(rem_u64, u64, u64 c = a; b = buf[8], a = a % b + c)
F(add_u64, u64, u64 c = a, a = a * b + c)
