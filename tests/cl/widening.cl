// Scalars where vectors are wanted, as clang widens them.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: lists<<<1, 1>>>(s32[26]:fill:-286331154)
// check: 0 s32: 1 1 1 1 2 32 1 2 1 1 1 1 2 2 2 2 3 3 3 3 1 2 3 4 7 8
// run: scalars<<<1, 1>>>(s32[14]:fill:-286331154)
// check: 0 s32: 16777216 7 8 13 9 3 3 0 5 27 4 4 6 10
// run: stores<<<1, 1>>>(s32[13]:fill:-286331154)
// check: 0 s32: 5 5 5 9 9 9 3 2 1 14 15 4 1
// Clang widens a scalar wherever a vector is wanted: for each part of a list without braces of its own, and for each
// argument of a function that takes vectors.
struct pair { int4 v; int k; };
__constant float2 pairs[] = {1, 2, 3, 4};
__kernel void lists(__global int *out)
{
    struct pair s = {1, 2};
    out[0] = s.v.x; out[1] = s.v.y; out[2] = s.v.z; out[3] = s.v.w; out[4] = s.k;
    out[5] = sizeof(pairs);
    out[6] = (int)pairs[0].y; out[7] = (int)pairs[1].x;
    int4 d[3] = {1, 2, 3};
    vstore4(d[0], 2, out); vstore4(d[1], 3, out); vstore4(d[2], 4, out);
    int4 braced[1] = {{1, 2, 3, 4}};
    vstore4(braced[0], 5, out);
    float4 joined = {(float2)(7, 8), 9, 9};
    out[24] = (int)joined.x; out[25] = (int)joined.y;
}
__kernel void scalars(__global int *out)
{
    uint4 u = (uint4)(1);
    out[0] = (int)rotate(u, 24u).y;
    float8 f = (float8)(3);
    out[1] = (int)fma(f, 2.0f, 1.0f).s7;
    out[2] = (int)pow((float8)(2), 3.0f).s3;
    int4 i = (int4)(4);
    out[3] = mad24(i, 3, (int4)(1)).z;
    out[4] = (int)(native_powr((float4)(3), 2.0f).x + 0.5f);
    out[5] = (int)fmax(3.0f, (float4)(1)).w;
    out[6] = (int)fmin((float4)(7), 3.0f).w;
    out[7] = (int)fmax(-1.0f, (float4)(0)).w;
    out[8] = (int)dot((float4)(1, 2, 1, 1), 1.0f);
    out[9] = (int)pown((float4)(3), 3).y;
    out[10] = max((int4)(3), 4).x;
    out[11] = min(4, (int4)(5)).x;
    out[12] = (int)mix((float2)(4), 8.0f, 0.5f).y;
    out[13] = (int)clamp((float4)(100), 0, 10).y;
}
__kernel void stores(__global int *out)
{
    vstore3(5, 0, out);
    int3 t;
    size_t n = 9;
    t = n;
    vstore3(t, 1, out);
    int16 v = (int16)(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    out[6] = v.z; out[7] = v.y; out[8] = v.x;
    v.xw = (int2)(14, 15);
    out[9] = v.s0; out[10] = v.s3;
    int4 c = (int4)(1, 2, 3, 4);
    out[11] = c.a; out[12] = c.rgba.r;
}
