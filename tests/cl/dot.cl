// Integer dot products, and the count of trailing zeros.
// flags: -cl-std=CL3.0
// run: k<<<1, 1>>>(s32[12]:fill:0)
// check: 0 s32: 20 -20 -20 -1275 2147483647 -1 1020 3 32 8 0 64
kernel void k(global int *out)
{
    uchar4 u = (uchar4)(1, 2, 3, 4);
    char4 s = (char4)(-4, -3, -2, -1);
    out[0] = dot(u, (uchar4)(4, 3, 2, 1));
    out[1] = dot(s, u);
    out[2] = dot(u, s);
    out[3] = dot((uchar4)(255), (char4)(-1, -1, -1, -2));
    out[4] = dot_acc_sat((char4)(127), (char4)(127), INT_MAX - 3);
    out[5] = (int)dot_acc_sat((uchar4)(255), (uchar4)(255), 0xfffffff0u);
    out[6] = dot_4x8packed_us_int(0xffffffffu, 0x01010101u);
    out[7] = ctz(8);
    out[8] = ctz(0u);
    out[9] = ctz((uchar)0);
    out[10] = ctz((short)-1);
    out[11] = (int)ctz(0l);
}
