// Conversions between types.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[34]:fill:-286331154)
// check: 0 s32: 127 -128 255 0 3 2 3 -2 -3 0 2147483647 -2147483648 0 -1 1 -1 15360 31744 15361 15360 15360 15361 1 0
// check: 0 s32 @24: -7 200 16777216 16777218 5 -5 1 1 1 0
__kernel void k(__global int *out)
{
    out[0] = convert_char_sat(300);
    out[1] = convert_char_sat(-300.5f);
    out[2] = convert_uchar_sat(1e10f);
    out[3] = convert_uchar_sat(-5);
    out[4] = convert_int_rte(2.6f);
    out[5] = convert_int_rte(2.5f);
    out[6] = convert_int_rtp(2.1f);
    out[7] = convert_int_rtz(-2.9f);
    out[8] = convert_int_rtn(-2.1f);
    out[9] = convert_int_sat(NAN);
    out[10] = convert_int_sat(1e20f);
    out[11] = convert_int_sat(-1e20);
    out[12] = (int)convert_uint_sat(-1.0f);
    out[13] = (int)convert_uint_sat(5e9);
    out[14] = (int)(bool)0.5f;
    out[15] = (int)(char)(uchar)255;
    ushort h[1];
    vstore_half(1.0f, 0, (half *)h); out[16] = h[0];
    vstore_half(1e6f, 0, (half *)h); out[17] = h[0];
    vstore_half_rtp(1.0001f, 0, (half *)h); out[18] = h[0];
    vstore_half_rtn(1.0001f, 0, (half *)h); out[19] = h[0];
    vstore_half_rtz(1.0009f, 0, (half *)h); out[20] = h[0];
    vstore_half_rte(1.0009, 0, (half *)h); out[21] = h[0];
    h[0] = 15360; out[22] = (int)vload_half(0, (half *)h);
    h[0] = 1; out[23] = (int)vload_half(0, (half *)h);
    out[24] = (int)-7.9f;
    out[25] = (int)(uchar)200.7f;
    out[26] = (int)convert_float_rtz(16777217);
    out[27] = (int)convert_float_rtp(16777217);
    out[28] = convert_int2((float2)(5.5f, 1)).x;
    out[29] = convert_char4((int4)(-5, 0, 0, 0)).x;
    float nan = as_float(0x7fc00000 | out[30]);
    out[30] = convert_long_sat(nan) == 0;
    out[31] = convert_ulong_sat_rte(nan) == 0;
    out[32] = convert_long_sat((double)nan) == 0;
    out[33] = convert_short_sat(nan);
}
