// Vectors and their components.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[32]:fill:-286331154)
// check: 0 s32: 4 3 2 1 9 2 8 4 -1 0 -1 0 7 2 5 4 1 0 30 31 20 21 6 5 2 4 14 15 -2 1 3 0
__kernel void k(__global int *out)
{
    int4 v = (int4)(1, 2, 3, 4);
    vstore4(v.wzyx, 0, out);
    int4 w = v;
    w.xz = (int2)(9, 8);
    vstore4(w, 1, out);
    vstore4((int4)(v < w) | (v.s3210 == (int4)(4, 0, 2, 0)) & (int4)(0, 0, -1, 0), 2, out);
    int4 c = (int4)(-1, 0, -1, 0);
    vstore4(c ? (int4)(7, 7, 5, 7) : v, 3, out);
    out[16] = any(c);
    out[17] = all(c);
    int8 e = (int8)(20, 21, 22, 23, 30, 31, 32, 33);
    out[18] = e.hi.lo.x;
    out[19] = e.odd.s2;
    out[20] = e.lo.even.x;
    out[21] = e.s1;
    uint4 mask = (uint4)(3, 2, 1, 0);
    int4 r = shuffle2(v, (int4)(5, 6, 7, 8), (uint4)(5, 4, 1, 3));
    vstore4(r, 0, out + 22);
    int3 three = (int3)(14, 15, 16);
    vstore2(three.xy, 13, out);
    int2 n = -(int2)(2, -1);
    vstore2(n, 14, out);
    int4 s = shuffle((int2)(3, 0), mask & 1u).xyzw;
    out[30] = s.y;
    out[31] = s.x;
}
