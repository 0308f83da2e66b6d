// Integer built-in functions.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[26]:fill:-286331154)
// check: 0 s32: 5 200 127 -128 0 31 3 1 -2 3 4660 -1 2147483647 100 -100 6 36 8 1 0 255 -5 7 305419896 -1 3
__kernel void k(__global int *out)
{
    out[0] = abs(-5);
    out[1] = abs_diff((char)-100, (char)100);
    out[2] = add_sat((char)100, (char)100);
    out[3] = sub_sat((char)-100, (char)100);
    out[4] = sub_sat(3u, 5u);
    out[5] = clz(1);
    out[6] = clz((uchar)16);
    out[7] = hadd(1, 2);
    out[8] = hadd(-3, 0);
    out[9] = rhadd(2, 3);
    out[10] = rotate((ushort)0x3412, (ushort)8);
    out[11] = mul_hi(-3, 0x50000000);
    out[12] = mad_sat(0x40000000, 4, 1);
    out[13] = clamp(500, 0, 100);
    out[14] = clamp(-500, -100, 100);
    out[15] = popcount(0x3f);
    out[16] = mad24(5, 6, 6);
    out[17] = max((int2)(8, 1), 3).x;
    out[18] = min(1u, 2u);
    out[19] = mul_hi((ulong)1 << 62, (ulong)2) != 0;
    out[20] = mul24((uint2)(15, 1), (uint2)(17, 1)).x;
    out[21] = mad_hi(-1, 1, -4);
    out[22] = (int)popcount((long)0x7f00000000);
    out[23] = upsample((ushort)0x1234, (ushort)0x5678);
    out[24] = upsample((short)-1, (ushort)0xffff);
    out[25] = (int)(mad_sat(LONG_MAX, 2l, 5l) == LONG_MAX) + 2;
}
