// Exact values of functions, and small components.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[9]:fill:-286331154)
// check: 0 s32: 1071644672 0 -1075838976 1070596096 1072168960 1 1 1 1
// Values that the reference gives exactly, and small components beside large ones.
__kernel void k(__global int *out)
{
    volatile double one = 1.0, zero = -0.0, two = 2.0;
    volatile float big = 5.57751e18f, small = 1.68082e-22f, huge = 0x1.fffffep127f;
    out[0] = (int)(as_ulong(atan2pi(one, zero)) >> 32);
    out[1] = (int)as_ulong(atan2pi(one, zero));
    out[2] = (int)(as_ulong(atan2pi(-one, zero)) >> 32);
    out[3] = (int)(as_ulong(atan2pi(two, two)) >> 32);
    out[4] = (int)(as_ulong(atan2pi(two, -two)) >> 32);
    float2 n = normalize((float2)(big, small));
    out[5] = fabs(n.x - 1.0f) < 1e-6f;
    // The exact quotient is 21505.53 times the smallest number.
    out[6] = as_int(n.y) >= 21505 && as_int(n.y) <= 21506;
    float4 h = normalize((float4)(huge));
    out[7] = fabs(h.x - 0.5f) < 1e-6f && fabs(h.w - 0.5f) < 1e-6f;
    double2 d = normalize((double2)(0x1p1000, 0x1p-40));
    out[8] = d.x == 1.0 && d.y == 0x1p-1040;
}
