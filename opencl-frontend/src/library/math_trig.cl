// Circular and hyperbolic functions, cube root and hypotenuse (6.12.2).
// In double precision, rounded once.
#define AS_FLOAT(name) __attribute__((elementwise)) float name(float x) { return (float)name((double)x); }
// The next four coefficients of a polynomial.
#define HORNER(x, p, a, b, c, d) __ptx_fma(__ptx_fma(__ptx_fma(__ptx_fma(p, x, a), x, b), x, c), x, d)

//! sin cos sincos tan sinpi cospi tanpi
#define E __attribute__((elementwise))
// 2/pi behind 16 zero bits, for the reduction of large arguments (Payne and Hanek).
__constant uint __two_over_pi[8] = {0x0000a2f9u, 0x836e4e44u, 0x1529fc27u, 0x57d1f534u, 0xddc0db62u, 0x95993c43u, 0x9041fe51u, 0x63abdebbu};
// x minus the nearest multiple of pi/2; the multiple modulo 4 goes to *quadrant. Two paths, as the
// programming guide says: the slow one beyond 48039.
float __reduce(float x, int *quadrant)
{
    if (__ptx_abs(x) <= 48039.0f) {
        // The sum with 3 * 2^22 is rounded to an integer, which its lower bits are.
        float rounded = __ptx_fma(x, 0.63661977236758134308f, 12582912.0f);
        float n = rounded - 12582912.0f;
        *quadrant = as_int(rounded);
#if __PTX_SM__ >= 20
        float r = __ptx_fma(n, -0x1.921fa0p+0f, x);
        r = __ptx_fma(n, -0x1.54442ep-20f, r);
        return __ptx_fma(n, 0x1.cf72cep-45f, r);
#else
        // The multiply-add of these targets cuts the product: parts of eight bits keep it exact.
        return (((x - n * 0x1.92p+0f) - n * 0x1.fap-12f) - n * 0x1.54p-20f) - n * 0x1.10b462p-30f;
#endif
    }
    uint bits = as_uint(x);
    uint m = (bits & 0x7fffffu) | 0x800000u;
    uint start = ((bits >> 23) & 0xffu) - 136u;
    uint i = start >> 5, k = start & 31u;
    if (i > 4u) i = 4u;
    uint t0 = __two_over_pi[i], t1 = __two_over_pi[i + 1], t2 = __two_over_pi[i + 2], t3 = __two_over_pi[i + 3];
    uint w0 = (uint)((((ulong)t0 << 32 | t1) << k) >> 32);
    uint w1 = (uint)((((ulong)t1 << 32 | t2) << k) >> 32);
    uint w2 = (uint)((((ulong)t2 << 32 | t3) << k) >> 32);
    ulong p0 = (ulong)m * w2;
    ulong p1 = (ulong)m * w1 + (p0 >> 32);
    uint top = (uint)((ulong)m * w0 + (p1 >> 32));
    ulong fraction = ((ulong)top << 34) | ((p1 & 0xfffffffful) << 2) | ((p0 & 0xfffffffful) >> 30);
    int q = (int)(top >> 30) + (int)(fraction >> 63);
    #if __PTX_SM__ >= 13
    float r = (float)((double)(long)fraction * 0x1.921fb54442d18p-64);
#else
    float r = (float)(long)fraction * 0x1.921fb6p-64f;
#endif
    bool negative = bits >> 31 != 0;
    *quadrant = negative ? -q : q;
    return negative ? -r : r;
}
float __sin_poly(float r)
{
    float z = r * r;
    float p = 1.0f / 362880.0f;
    p = __ptx_fma(p, z, -1.0f / 5040.0f);
    p = __ptx_fma(p, z, 1.0f / 120.0f);
    p = __ptx_fma(p, z, -1.0f / 6.0f);
    return __ptx_fma(p * z, r, r);
}
float __cos_poly(float r)
{
    float z = r * r;
    float p = -1.0f / 3628800.0f;
    p = HORNER(z, p, 1.0f / 40320.0f, -1.0f / 720.0f, 1.0f / 24.0f, -0.5f);
    return __ptx_fma(p, z, 1.0f);
}
// Both polynomials: a branch on the quadrant would part the lanes of a vector.
float __quadrant_value(float r, int q)
{
    float s = __sin_poly(r), c = __cos_poly(r);
    float y = q & 1 ? c : s;
    return q & 2 ? -y : y;
}
#ifdef __FAST_RELAXED_MATH__
E float sin(float x) { return __ptx_sin_approx(x); }
E float cos(float x) { return __ptx_cos_approx(x); }
#else
E float sin(float x)
{
    if (!(__ptx_abs(x) < INFINITY)) return NAN;
    int q;
    float r = __reduce(x, &q);
    float y = __quadrant_value(r, q);
    return x == 0.0f ? x : y;
}
E float cos(float x)
{
    if (!(__ptx_abs(x) < INFINITY)) return NAN;
    int q;
    float r = __reduce(x, &q);
    return __quadrant_value(r, q + 1);
}
#endif
#define SINCOS(T, S) E T sincos(T x, S T *c) { *c = cos(x); return sin(x); }
SINCOS(float, __private)
SINCOS(float, __global)
SINCOS(float, __local)
SINCOS(float, __generic)
#if __PTX_SM__ >= 13
E float tan(float x)
{
    if (!(__ptx_abs(x) < INFINITY)) return NAN;
    int q;
    float r = __reduce(x, &q);
    // The quotient in double: tan owes 4 ulp near its poles.
    double d = (double)r;
    double z = d * d;
    double s = d * (1.0 + z * (-1.0 / 6.0 + z * (1.0 / 120.0 + z * (-1.0 / 5040.0 + z * (1.0 / 362880.0)))));
    double c = 1.0 + z * (-0.5 + z * (1.0 / 24.0 + z * (-1.0 / 720.0 + z * (1.0 / 40320.0 - z * (1.0 / 3628800.0)))));
    double y = q & 1 ? -c / s : s / c;
    return x == 0.0f ? x : (float)y;
}
double __sin_poly(double r, double t)
{
    double z = r * r;
    double p = 1.0 / 355687428096000.0;
    p = HORNER(z, p, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0, 1.0 / 362880.0);
    p = __ptx_fma(p, z, -1.0 / 5040.0);
    p = __ptx_fma(p, z, 1.0 / 120.0);
    p = __ptx_fma(p, z, -1.0 / 6.0);
    return r + __ptx_fma(p * z, r, __ptx_fma(t, z * -0.5, t));
}
double __cos_poly(double r, double t)
{
    double z = r * r;
    double p = -1.0 / 6402373705728000.0;
    p = HORNER(z, p, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0);
    p = HORNER(z, p, 1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5);
    return __ptx_fma(p, z, __ptx_fma(-t, r, 1.0));
}
double __sin_poly(double r) { return __sin_poly(r, 0.0); }
double __cos_poly(double r) { return __cos_poly(r, 0.0); }
__constant ulong __two_over_pi_wide[20] = {
    0x0000000000000000ul, 0xa2f9836e4e441529ul, 0xfc2757d1f534ddc0ul, 0xdb6295993c439041ul, 0xfe5163abdebbc561ul,
    0xb7246e3a424dd2e0ul, 0x06492eea09d1921cul, 0xfe1deb1cb129a73eul, 0xe88235f52ebb4484ul, 0xe99c7026b45f7e41ul,
    0x3991d639835339f4ul, 0x9c845f8bbdf9283bul, 0x1ff897ffde05980ful, 0xef2f118b5a0a6d1ful, 0x6d367ecf27cb09b7ul,
    0x4f463f669e5fea2dul, 0x7527bac7ebe5f17bul, 0x3d0739f78a5292eaul, 0x6bfb5fb11f8d5d08ul, 0x56033046fc7b6babul};
// The result as a sum of two.
double __reduce(double x, double *tail, int *quadrant)
{
    if (__ptx_abs(x) <= 105615.0) {
        double n = __ptx_rint(x * 0.63661977236758134308);
        *quadrant = (int)n;
        // pi/2 in three parts; the first product is exact.
        double high = __ptx_fma(n, -0x1.921fb544p+0, x);
        double w = n * 0x1.0b4611a626331p-34;
        double w_low = __ptx_fma(n, 0x1.0b4611a626331p-34, -w);
        double r = high - w;
        *tail = ((high - r) - w) - __ptx_fma(n, 0x1.1701b839a252p-88, w_low);
        return r;
    }
    ulong bits = as_ulong(x);
    ulong m = (bits & 0xffffffffffffful) | 0x10000000000000ul;
    uint start = (uint)((bits >> 52) & 0x7fful) - 1013u;
    uint i = start >> 6, k = start & 63u;
    if (i > 16u) i = 16u;
    ulong t0 = __two_over_pi_wide[i], t1 = __two_over_pi_wide[i + 1], t2 = __two_over_pi_wide[i + 2], t3 = __two_over_pi_wide[i + 3];
    ulong w0 = k ? t0 << k | t1 >> (64 - k) : t0;
    ulong w1 = k ? t1 << k | t2 >> (64 - k) : t1;
    ulong w2 = k ? t2 << k | t3 >> (64 - k) : t2;
    ulong low = m * w2, carry = __ptx_mulhi(m, w2);
    ulong middle = m * w1 + carry;
    ulong top = m * w0 + __ptx_mulhi(m, w1) + (middle < carry ? 1ul : 0ul);
    ulong high_fraction = top << 2 | middle >> 62;
    ulong low_fraction = middle << 2 | low >> 62;
    int q = (int)(top >> 62) + (int)(high_fraction >> 63);
    double f = (double)(long)(high_fraction & ~0x7fful) * 0x1.0p-64;
    double f_low = __ptx_fma((double)low_fraction, 0x1.0p-128, (double)(high_fraction & 0x7fful) * 0x1.0p-64);
    double p = f * 0x1.921fb54442d18p+0;
    double p_low = __ptx_fma(f, 0x1.921fb54442d18p+0, -p) + __ptx_fma(f, 0x1.1a62633145c07p-54, f_low * 0x1.921fb54442d18p+0);
    double r = p + p_low;
    double t = (p - r) + p_low;
    bool negative = bits >> 63 != 0;
    *quadrant = negative ? -q : q;
    *tail = negative ? -t : t;
    return negative ? -r : r;
}
E double sin(double x)
{
    if (!(__ptx_abs(x) < (double)INFINITY)) return (double)NAN;
    int q;
    double t;
    double r = __reduce(x, &t, &q);
    double y = q & 1 ? __cos_poly(r, t) : __sin_poly(r, t);
    return x == 0.0 ? x : q & 2 ? -y : y;
}
E double cos(double x)
{
    if (!(__ptx_abs(x) < (double)INFINITY)) return (double)NAN;
    int q;
    double t;
    double r = __reduce(x, &t, &q);
    double y = q & 1 ? __sin_poly(r, t) : __cos_poly(r, t);
    return (q + 1) & 2 ? -y : y;
}
E double tan(double x)
{
    if (!(__ptx_abs(x) < (double)INFINITY)) return (double)NAN;
    int q;
    double t;
    double r = __reduce(x, &t, &q);
    double s = __sin_poly(r, t), c = __cos_poly(r, t);
    return x == 0.0 ? x : q & 1 ? -c / s : s / c;
}
SINCOS(double, __private)
SINCOS(double, __global)
SINCOS(double, __local)
SINCOS(double, __generic)
// sin, cos and tan of pi x: the reduction is exact. Large numbers, which are whole, become 0.
#define REDUCE_PI(x, r, q) \
    if (!(__ptx_abs(x) < (double)INFINITY)) return (double)NAN; \
    x = __ptx_abs(x) >= 0x1.0p+53 ? x * 0.0 : x; \
    double n = __ptx_rint(x * 2.0); \
    double r = (x - n * 0.5) * 3.14159265358979323846; \
    int q = (int)(n - __ptx_trunc(n * 0.25) * 4.0);
double __quadrant_value(double r, int q)
{
    double y = q & 1 ? __cos_poly(r) : __sin_poly(r);
    return q & 2 ? -y : y;
}
E double sinpi(double x)
{
    REDUCE_PI(x, r, q)
    double y = __quadrant_value(r, q);
    return __ptx_trunc(x) == x ? x * 0.0 : y;
}
E double cospi(double x)
{
    REDUCE_PI(x, r, q)
    q += 1;
    double y = __quadrant_value(r, q);
    return r == 0.0 && !(q & 1) ? 0.0 : y;
}
E double tanpi(double x) { return sinpi(x) / cospi(x); }
AS_FLOAT(sinpi)
AS_FLOAT(cospi)
AS_FLOAT(tanpi)
#endif

//! asin acos atan atan2 asinpi acospi atanpi atan2pi sinh cosh tanh asinh acosh atanh cbrt hypot __with_sign
#define E __attribute__((elementwise))
#if __PTX_SM__ >= 13
// atan for 0 <= x, in three pieces: beyond 1 by the reciprocal, beyond tan(pi/12) turned by pi/6.
double __atan_positive(double x)
{
    bool inverse = x > 1.0;
    double t = inverse ? 1.0 / x : x;
    bool turned = t > 0.26794919243112270647;
    t = turned ? (t * 1.73205080756887729353 - 1.0) / (1.73205080756887729353 + t) : t;
    double z = t * t;
    double p = 1.0 / 29.0;
    p = HORNER(z, p, -1.0 / 27.0, 1.0 / 25.0, -1.0 / 23.0, 1.0 / 21.0);
    p = HORNER(z, p, -1.0 / 19.0, 1.0 / 17.0, -1.0 / 15.0, 1.0 / 13.0);
    p = HORNER(z, p, -1.0 / 11.0, 1.0 / 9.0, -1.0 / 7.0, 1.0 / 5.0);
    p = __ptx_fma(p, z, -1.0 / 3.0);
    double y = __ptx_fma(p * z, t, t);
    y = turned ? y + 0.52359877559829887308 : y;
    return inverse ? 1.57079632679489661923 - y : y;
}
double __with_sign(double y, double x) { return as_double((as_ulong(y) & 0x7ffffffffffffffful) | (as_ulong(x) & 0x8000000000000000ul)); }
E double atan(double x) { return x != x ? x : __with_sign(__atan_positive(__ptx_abs(x)), x); }
// asin(x) / x - 1 for |x| <= 1/2, in z = x^2.
double __asin_poly(double z)
{
    double p = 0x1.d72b2bc8155f8p-6;
    p = HORNER(z, p, -0x1.e6aaa8a0a04ccp-7, 0x1.1d189408314eep-6, 0x1.65a9c4dfcf8b2p-8, 0x1.52420b04b37bep-7);
    p = HORNER(z, p, 0x1.782651caa6547p-7, 0x1.c9cf07674736ap-7, 0x1.1c4d35cf95421p-6, 0x1.6e8bb1c8209a2p-6);
    p = HORNER(z, p, 0x1.f1c71c1db0623p-6, 0x1.6db6db6e31f13p-5, 0x1.3333333332ecap-4, 0x1.5555555555556p-3);
    return p * z;
}
// What a square root lacks.
double __root_error(double root, double z) { return root > 0.0 ? __ptx_fma(-root, root, z) / (root + root) : 0.0; }
E double asin(double x)
{
    double a = __ptx_abs(x);
    if (!(a <= 1.0)) return (double)NAN;
    if (a <= 0.5) return __ptx_fma(x, __asin_poly(x * x), x);
    // pi/2 - 2 asin(sqrt((1 - a) / 2)), the root with its error.
    double z = (1.0 - a) * 0.5;
    double s = __ptx_sqrt_rn(z);
    double s_low = __root_error(s, z);
    double high = 0x1.921fb54442d18p+0 - 2.0 * s;
    double low = (0x1.921fb54442d18p+0 - high) - 2.0 * s;
    double y = high + (low + (0x1.1a62633145c07p-54 - 2.0 * __ptx_fma(s, __asin_poly(z), s_low)));
    return __with_sign(y, x);
}
E double acos(double x)
{
    double a = __ptx_abs(x);
    if (!(a <= 1.0)) return (double)NAN;
    if (a <= 0.5) return 0x1.921fb54442d18p+0 - (x - __ptx_fma(-x, __asin_poly(x * x), 0x1.1a62633145c07p-54));
    double z = (1.0 - a) * 0.5;
    double s = __ptx_sqrt_rn(z);
    double s_low = __root_error(s, z);
    double rest = __ptx_fma(s, __asin_poly(z), s_low);
    return x > 0.0 ? 2.0 * (s + rest) : 0x1.921fb54442d18p+1 - 2.0 * (s + (rest - 0x1.1a62633145c07p-54));
}
E double atan2(double y, double x)
{
    if (x != x || y != y) return x + y;
    double a = __ptx_abs(x), b = __ptx_abs(y);
    double r;
    if (b == 0.0) r = 0.0;
    else if (a == (double)INFINITY && b == (double)INFINITY) r = 0.78539816339744830962;
    else r = __atan_positive(b / a);
    bool left = as_ulong(x) >> 63 != 0;
    r = left ? 3.14159265358979323846 - (r - 1.22464679914735317636e-16) : r;
    return __with_sign(r, y);
}
E double asinpi(double x) { return asin(x) * 0.31830988618379067154; }
E double acospi(double x) { return acos(x) * 0.31830988618379067154; }
E double atanpi(double x) { return atan(x) * 0.31830988618379067154; }
E double atan2pi(double y, double x)
{
    // Exact on the axes and the diagonals, where the rounded product need not be.
    double a = __ptx_abs(x), b = __ptx_abs(y);
    if (a == 0.0 && b > 0.0) return y > 0.0 ? 0.5 : -0.5;
    if (a == b && a > 0.0) {
        double r = x > 0.0 ? 0.25 : 0.75;
        return y > 0.0 ? r : -r;
    }
    return atan2(y, x) * 0.31830988618379067154;
}
E double sinh(double x)
{
    double a = __ptx_abs(x);
    double y;
    if (a < 1.0) {
        double z = a * a;
        double p = 0x1.952654734b725p-49;
        p = HORNER(z, p, 0x1.ae7f44a89136cp-41, 0x1.61246136ddcb0p-33, 0x1.ae64567f56d72p-26, 0x1.71de3a556c724p-19);
        p = __ptx_fma(p, z, 0x1.a01a01a01a01ap-13);
        p = __ptx_fma(p, z, 0x1.1111111111111p-7);
        p = __ptx_fma(p, z, 0x1.5555555555555p-3);
        y = __ptx_fma(p * z, a, a);
    }
    else if (a < 22.0) { double e = expm1(a); y = 0.5 * (e + e / (e + 1.0)); }
    else if (a > 709.0) { double h = exp(0.5 * a); y = 0.5 * h * h; }
    else y = 0.5 * exp(a);
    return x != x ? x : __with_sign(y, x);
}
E double cosh(double x)
{
    double a = __ptx_abs(x);
    if (a > 709.0) { double h = exp(0.5 * a); return 0.5 * h * h; }
    double e = exp(a);
    return 0.5 * (e + 1.0 / e);
}
E double tanh(double x)
{
    double a = __ptx_abs(x);
    double y;
    if (a > 22.0) y = 1.0;
    else if (a > 0.55) y = 1.0 - 2.0 / (exp(2.0 * a) + 1.0);
    else {
        double z = a * a;
        double p = -0x1.546807b2df0a7p-16;
        p = HORNER(z, p, 0x1.6313f634c2327p-14, -0x1.eb7963777b35fp-13, 0x1.34b8c5cadd5bep-11, -0x1.7d967d0cab245p-10);
        p = HORNER(z, p, 0x1.d6d323bf00283p-9, -0x1.226e32869b4a2p-7, 0x1.664f4874c2a52p-6, -0x1.ba1ba1b9f8362p-5);
        p = __ptx_fma(p, z, 0x1.1111111110ff9p-3);
        p = __ptx_fma(p, z, -0x1.5555555555555p-2);
        y = __ptx_fma(p * z, a, a);
    }
    return x != x ? x : __with_sign(y, x);
}
E double asinh(double x)
{
    double a = __ptx_abs(x);
    double y = a > 0x1.0p+28 ? log(a) + 0.69314718055994530942 : log1p(a + a * a / (1.0 + __ptx_sqrt_rn(a * a + 1.0)));
    return x != x ? x : __with_sign(y, x);
}
E double acosh(double x)
{
    if (!(x >= 1.0)) return (double)NAN;
    if (x > 0x1.0p+28) return log(x) + 0.69314718055994530942;
    double t = x - 1.0;
    return log1p(t + __ptx_sqrt_rn(2.0 * t + t * t));
}
E double atanh(double x)
{
    double a = __ptx_abs(x);
    double y = 0.5 * log1p(2.0 * a / (1.0 - a));
    return !(a <= 1.0) ? (double)NAN : __with_sign(y, x);
}
E double cbrt(double x)
{
    double a = __ptx_abs(x);
    if (a == 0.0 || !(a < (double)INFINITY)) return x + x;
    double scale = 1.0;
    if (a < 0x1.0p-1000) { a *= 0x1.0p+90; scale = 0x1.0p-30; }
    if (a > 0x1.0p+1000) { a *= 0x1.0p-90; scale = 0x1.0p+30; }
    // A third of the exponent, then Newton with its last step in more than the precision.
    double y = as_double(as_ulong(a) / 3ul + 0x2a9f789300000000ul);
    y = y - (y * y * y - a) / (3.0 * y * y);
    y = y - (y * y * y - a) / (3.0 * y * y);
    y = y - (y * y * y - a) / (3.0 * y * y);
    double square = y * y;
    double cube = square * y;
    double rest = (cube - a) + __ptx_fma(square, y, -cube) + __ptx_fma(y, y, -square) * y;
    y = y - rest / (3.0 * square);
    return __with_sign(y * scale, x);
}
E double hypot(double x, double y)
{
    double a = __ptx_abs(x), b = __ptx_abs(y);
    if (a == (double)INFINITY || b == (double)INFINITY) return (double)INFINITY;
    double large = a > b ? a : b, small = a > b ? b : a;
    double scale = large > 0x1.0p+500 ? 0x1.0p-600 : large < 0x1.0p-500 ? 0x1.0p+600 : 1.0;
    large *= scale;
    small *= scale;
    return __ptx_sqrt_rn(__ptx_fma(large, large, small * small)) / scale;
}
AS_FLOAT(asin)
AS_FLOAT(acos)
AS_FLOAT(atan)
AS_FLOAT(asinpi)
AS_FLOAT(acospi)
AS_FLOAT(atanpi)
AS_FLOAT(sinh)
AS_FLOAT(cosh)
AS_FLOAT(tanh)
AS_FLOAT(asinh)
AS_FLOAT(acosh)
AS_FLOAT(atanh)
AS_FLOAT(cbrt)
E float atan2(float y, float x) { return (float)atan2((double)y, (double)x); }
E float atan2pi(float y, float x) { return (float)atan2pi((double)y, (double)x); }
E float hypot(float x, float y)
{
    if (__ptx_abs(x) == INFINITY || __ptx_abs(y) == INFINITY) return INFINITY;
    double a = (double)x, b = (double)y;
    return (float)__ptx_sqrt_rn(__ptx_fma(a, a, b * b));
}
#endif
