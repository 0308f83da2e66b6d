// What clang has beyond the language.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[19]:fill:-286331154)
// check: 0 s32: 7 12 30 3 5 31 32 4 67305985 8 1 2 3 8 2 3 9 1 5
// run: positions<<<1, 4>>>(s32[8]:fill:-286331154)
// check: 0 s32: 4 4 4 4 0 1 2 3
// What clang has beyond the language, and programs use.
# 100 "generated.h" 1 3
struct s { int a; short b[4]; struct { char c; int d; } in; };
#define MAX(x, y) ({ int a_ = (x), b_ = (y); a_ > b_ ? a_ : b_; })
__kernel void k(__global int *out)
{
    out[0] = MAX(3, 7);
    out[1] = ({ int sum = 0; for (int i = 0; i < 4; i++) sum += i; sum *= 2; sum; });
    ({ out[2] = 30; });
    out[3] = __builtin_expect(3, 1);
    out[4] = __builtin_popcount(0x1f);
    out[5] = __builtin_clz(1); out[6] = __builtin_ctzl(1ul << 32); out[7] = __builtin_ffs(8);
    out[8] = __builtin_bswap32(0x01020304);
    out[9] = __builtin_offsetof(struct s, b[2]);
    char4 bytes = (char4)(1, 2, 3, 4);
    int4 wide = __builtin_convertvector(bytes, int4);
    out[10] = wide.x; out[11] = wide.y; out[12] = wide.z;
    out[13] = sizeof(event_t);
    out[14] = (int)__builtin_sqrtf(4.0f); out[15] = (int)__builtin_fmaf(1.0f, 2.0f, 1.0f);
    out[16] = __builtin_astype((float)1.25f, int) == 0x3fa00000 ? 9 : 0;
    if (__builtin_constant_p(4)) out[17] = 1; else __builtin_unreachable();
    out[18] = __LINE__ > 100 ? 5 : __LINE__;
}
__kernel void positions(__global int *out)
{
    int i = get_local_id(0);
    out[i] = (int)get_enqueued_local_size(0);
    out[4 + i] = (int)(get_local_linear_id() + get_global_linear_id()) / 2;
}
