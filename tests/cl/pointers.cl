// Null pointers, and enumerations wider than an int.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[17]:fill:-286331154)
// check: 0 s32: 1 1 1 0 3 3 1 1 8 0 4 1116352408 682827298 4 1 5 6
// Null pointers of any kind, comparisons with them, and enumerations wider than an int, as clang has them.
enum wide { WIDE = 0x428a2f98d728ae22UL, NEXT, SMALL = 5 };
enum plain { A = 3, B };
__constant int *nothing(void) { return NULL; }
__kernel void k(__global int *out)
{
    __global int *p = NULL;
    __local int *l = 0;
    __global int *q = (void *)0;
    out[0] = p == 0; out[1] = q == NULL; out[2] = nothing() == NULL;
    __global int *a = out;
    __global int *r = a ? a : NULL;
    out[3] = r == NULL;
    r = p ? NULL : a;
    *(r + 4) = 3;
    out[5] = out[4];
    out[6] = out >= 0; out[7] = 0 < out;
    out[8] = sizeof(enum wide);
    out[9] = l != 0;
    out[10] = sizeof(enum plain);
    ulong w = WIDE;
    out[11] = (int)(w >> 32) ; out[12] = 682827298;
    out[13] = B; out[14] = NEXT - WIDE; out[15] = SMALL;
    enum wide e = WIDE;
    out[16] = (int)((ulong)e >> 32) == out[11] ? 6 : 0;
}
