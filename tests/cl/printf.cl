// printf with all conversions.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[1]:fill:-286331154)
// check: 0 s32: 0
// prints: n=-5 u=4000000000 x=ff 100% c=A
// prints: 1.500 2.00,3.00,4.50,-1.00 [  7] hi there
// prints: 1,2 255 -1 9876543210 1f,2e,3d,4c
__kernel void k(__global int *out)
{
    int r = printf("n=%d u=%u x=%x %d%% c=%c\n", -5, 4000000000u, 255, 100, 'A');
    float4 v = (float4)(2.0f, 3.0f, 4.5f, -1.0f);
    printf("%.3f %.2v4hlf [%3d] %s\n", 1.5f, v, 7, "hi there");
    uchar4 b = (uchar4)(0x1f, 0x2e, 0x3d, 0x4c);
    printf("%v2d %hhu %hhd %ld %v4hhx\n", (int2)(1, 2), -1, 255, 9876543210l, b);
    out[0] = r;
}
