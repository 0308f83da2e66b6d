// Half-precision numbers.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// run: k<<<1, 1>>>(s32[17]:fill:-286331154)
// check: 0 s32: 15872 16896 0 1 2 4 -1 0 15360 3 48640 2 1 31743 14336 12288 1
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void k(__global int *out)
{
    half a = 1.5h, b = 2.0h;
    out[0] = as_ushort(a);
    out[1] = as_ushort(a * b);
    out[2] = a > b;
    out[3] = isless(a, b);
    half4 v = (half4)(1.0h, 2.0h, 3.0h, 4.0h);
    v = sqrt(v * v);
    out[4] = (int)v.y;
    out[5] = (int)fmax(v, (half)2.5h).w;
    short4 m = v > (half4)(2.5h);
    out[6] = m.z;
    out[7] = m.x;
    out[8] = as_ushort(native_divide(1.0f, 1.0f) == 1.0f ? (half)1 : (half)0);
    out[9] = (int)(half)3.99f;
    out[10] = as_ushort(-a);
    int e;
    half f = frexp((half)2.0h, &e);
    out[11] = e;
    out[12] = (int)dot((half2)(1.0h, 0.0h), (half2)(1.0h, 5.0h));
    out[13] = as_ushort((half)HALF_MAX);
    out[14] = as_ushort(f);
    out[15] = as_ushort(fma(a, b, (half)-2.875h));
    out[16] = convert_int(cos((half)0.0h));
}
