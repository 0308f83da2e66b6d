// Negatives, magnitudes, choices and sums of products, also where they are no numbers: what is seen of these has the
// bits of the one NaN. What must come out is what the interpreter computes.
// flags:
// run: k<<<4, 64>>>(u32[256])
// check: 0 u32[256]: crc32:e8a23f12
constant uint edges[16] = {
    0x00000000u, 0x80000000u, 0x3f800000u, 0xbf800000u,
    0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u,
    0x7fffffffu, 0xffc12345u, 0x00000001u, 0x80000001u,
    0x42280000u, 0x7f7fffffu, 0x34000001u, 0xc0490fdbu,
};

kernel void k(global uint *out)
{
    uint l = get_global_id(0), sum = 0;
    float a = as_float(edges[l & 15]), b = as_float(edges[l >> 4]), c = as_float(edges[l * 7 + 3 & 15]), d = a * b;
#define ADD(x) sum = sum * 31 + as_uint(x);
    ADD(fma(-a, b, c)) ADD(fma(a, -b, c)) ADD(fma(a, b, -c)) ADD(fma(-a, b, -c)) ADD(fma(-a, -b, c))
    ADD(a * a - b * b) ADD(-d) ADD(fabs(d)) ADD(-a) ADD(fabs(b)) ADD(d < c ? d : c) ADD(a > b ? d : a + c)
    ADD(-fmin(d, c)) ADD(fmax(d, c - b)) ADD(fabs(fmin(a, b))) ADD(l & 4 ? -d : fmax(a, b)) ADD(fmax(d, 1.0f))
    float x = a, y = c;
    uint n = 0;
    while (x * x + y * y < 1000 && n < 20) {
        float t = x * x - y * y + b;
        y = -2 * x * y + c;
        x = l & 8 ? -t : t;
        n++;
    }
    ADD(x) ADD(y)
    out[l] = sum + n;
}
