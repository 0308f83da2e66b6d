// Math functions (6.12.2). Single precision versions of the rarer functions round the double result once.

//! fma mad fabs fmin fmax sqrt rsqrt floor ceil trunc rint round copysign fdim maxmag minmag
#define E __attribute__((elementwise))
#define E2 __attribute__((elementwise(2)))
#define BOTH(T, I, SIGN) \
E T fma(T a, T b, T c) { return __ptx_fma(a, b, c); } \
E T mad(T a, T b, T c) { return __ptx_mad(a, b, c); } \
E T fabs(T x) { return __ptx_abs(x); } \
E2 T fmin(T x, T y) { return __ptx_min(x, y); } \
E2 T fmax(T x, T y) { return __ptx_max(x, y); } \
E T floor(T x) { return __ptx_floor(x); } \
E T ceil(T x) { return __ptx_ceil(x); } \
E T trunc(T x) { return __ptx_trunc(x); } \
E T rint(T x) { return __ptx_rint(x); } \
E T copysign(T x, T y) { return as_##T((as_##I(x) & ~SIGN) | (as_##I(y) & SIGN)); } \
E T round(T x) \
{ \
    T whole = __ptx_trunc(x); \
    T rest = __ptx_abs(x - whole); \
    T away = rest >= (T)0.5 ? whole + copysign((T)1, x) : whole; \
    return copysign(away, x); \
} \
E T fdim(T x, T y) { return x != x || y != y ? x + y : x > y ? x - y : (T)0; } \
E T maxmag(T x, T y) { T a = fabs(x), b = fabs(y); return a > b ? x : b > a ? y : __ptx_max(x, y); } \
E T minmag(T x, T y) { T a = fabs(x), b = fabs(y); return a < b ? x : b < a ? y : __ptx_min(x, y); }
BOTH(float, uint, 0x80000000u)
#if __PTX_SM__ >= 13
BOTH(double, ulong, 0x8000000000000000ul)
E double sqrt(double x) { return __ptx_sqrt_rn(x); }
E double rsqrt(double x) { return 1.0 / __ptx_sqrt_rn(x); }
#endif
#if __PTX_CORRECT_DIVIDE__
E float sqrt(float x) { return __ptx_sqrt_rn(x); }
#else
E float sqrt(float x) { return __ptx_sqrt_approx(x); }
#endif
E float rsqrt(float x) { return __ptx_rsqrt_approx(x); }

//! native_sin native_cos native_tan native_exp native_exp2 native_exp10 native_log native_log2 native_log10 native_powr native_recip native_divide native_sqrt native_rsqrt half_sin half_cos half_tan half_exp half_exp2 half_exp10 half_log half_log2 half_log10 half_powr half_recip half_divide half_sqrt half_rsqrt
#define E __attribute__((elementwise))
#define LOG2E 1.44269504088896340736f
#define FAST(name) \
E float name##_exp(float x) { return __ptx_ex2_approx(x * LOG2E); } \
E float name##_exp2(float x) { return __ptx_ex2_approx(x); } \
E float name##_exp10(float x) { return __ptx_ex2_approx(x * 3.32192809488736234787f); } \
E float name##_log(float x) { return __ptx_lg2_approx(x) * 0.69314718055994530942f; } \
E float name##_log2(float x) { return __ptx_lg2_approx(x); } \
E float name##_log10(float x) { return __ptx_lg2_approx(x) * 0.30102999566398119521f; } \
E float name##_powr(float x, float y) { return __ptx_ex2_approx(y * __ptx_lg2_approx(x)); } \
E float name##_recip(float x) { return __ptx_rcp_approx(x); } \
E float name##_divide(float x, float y) { return __ptx_div_approx(x, y); } \
E float name##_sqrt(float x) { return __ptx_sqrt_approx(x); } \
E float name##_rsqrt(float x) { return __ptx_rsqrt_approx(x); }
FAST(native)
FAST(half)
E float native_sin(float x) { return __ptx_sin_approx(x); }
E float native_cos(float x) { return __ptx_cos_approx(x); }
E float native_tan(float x) { return __ptx_div_approx(__ptx_sin_approx(x), __ptx_cos_approx(x)); }
// The half_ functions owe 8192 ulp for |x| up to 2^16, so they reduce their argument.
E float half_sin(float x) { return sin(x); }
E float half_cos(float x) { return cos(x); }
E float half_tan(float x) { return tan(x); }

//! ldexp ilogb logb frexp modf nan nextafter fract
#define E __attribute__((elementwise))
#define E2 __attribute__((elementwise(2)))
// Two steps, the second exact unless the result is subnormal, where it rounds once.
E2 float ldexp(float x, int n)
{
    n = n < -300 ? -300 : n > 300 ? 300 : n;
    int a = n / 2, b = n - a;
    if (n < -126 || n > 127) {
        int first = n > 0 ? 127 : -100;
        float y = x * as_float((first + 127) << 23);
        int rest = n - first;
        if (rest < -126) { y *= as_float((-100 + 127) << 23); rest += 100; }
        if (rest > 127) { y *= as_float((127 + 127) << 23); rest -= 127; }
        if (rest < -126) return y * 0.0f;
        if (rest > 127) rest = 127;
        return y * as_float((rest + 127) << 23);
    }
    return x * as_float((n + 127) << 23);
}
E int ilogb(float x)
{
    uint bits = as_uint(x) & 0x7fffffffu;
    if (bits == 0) return FP_ILOGB0;
    if (bits > 0x7f800000u) return FP_ILOGBNAN;
    if (bits == 0x7f800000u) return INT_MAX;
    int e = (int)(bits >> 23);
    return e ? e - 127 : -118 - (int)__ptx_clz(bits);
}
E float logb(float x)
{
    uint bits = as_uint(x) & 0x7fffffffu;
    return bits == 0 ? -INFINITY : bits >= 0x7f800000u ? x * x : (float)ilogb(x);
}
E float nextafter(float x, float y)
{
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0.0f) return as_float((as_uint(y) & 0x80000000u) | 1u);
    uint bits = as_uint(x);
    return as_float((x < y) == (x > 0.0f) ? bits + 1 : bits - 1);
}
E float nan(uint code) { return as_float(0x7fc00000u | (code & 0x3fffffu)); }
#define PARTS(T, SPACE) \
float frexp(float x, SPACE int *e) \
{ \
    uint bits = as_uint(x) & 0x7fffffffu; \
    if (bits == 0 || bits >= 0x7f800000u) { *e = 0; return x + x; } \
    int n = ilogb(x) + 1; \
    *e = n; \
    return ldexp(x, -n); \
} \
float modf(float x, SPACE float *whole) \
{ \
    float w = __ptx_trunc(x); \
    *whole = w; \
    float rest = __ptx_abs(x) == INFINITY ? 0.0f : x - w; \
    return as_float((as_uint(rest) & 0x7fffffffu) | (as_uint(x) & 0x80000000u)); \
} \
float fract(float x, SPACE float *whole) \
{ \
    float w = __ptx_floor(x); \
    *whole = w; \
    float rest = x - w; \
    return x != x ? x : __ptx_abs(x) == INFINITY ? as_float(as_uint(x) & 0x80000000u) : rest < 0x1.fffffep-1f ? rest : 0x1.fffffep-1f; \
}
PARTS(float, __private)
PARTS(float, __global)
PARTS(float, __local)
#if __PTX_SM__ >= 13
E2 double ldexp(double x, int n)
{
    n = n < -2200 ? -2200 : n > 2200 ? 2200 : n;
    while (n > 1023) { x *= as_double(0x7fe0000000000000ul); n -= 1023; }
    while (n < -1022) { int step = n < -1922 ? -900 : n + 1000 > -1022 ? -900 : -900; x *= as_double((ulong)(step + 1023) << 52); n -= step; }
    return x * as_double((ulong)(n + 1023) << 52);
}
E int ilogb(double x)
{
    ulong bits = as_ulong(x) & 0x7ffffffffffffffful;
    if (bits == 0) return FP_ILOGB0;
    if (bits > 0x7ff0000000000000ul) return FP_ILOGBNAN;
    if (bits == 0x7ff0000000000000ul) return INT_MAX;
    int e = (int)(bits >> 52);
    return e ? e - 1023 : -1011 - (int)__ptx_clz(bits);
}
E double logb(double x)
{
    ulong bits = as_ulong(x) & 0x7ffffffffffffffful;
    return bits == 0 ? -(double)INFINITY : bits >= 0x7ff0000000000000ul ? x * x : (double)ilogb(x);
}
E double nextafter(double x, double y)
{
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0.0) return as_double((as_ulong(y) & 0x8000000000000000ul) | 1ul);
    ulong bits = as_ulong(x);
    return as_double((x < y) == (x > 0.0) ? bits + 1 : bits - 1);
}
#endif

//! exp exp2 exp10 expm1 __exp_scaled
#define E __attribute__((elementwise))
// 2^n e^r for |r| <= ln(2)/2.
float __exp_scaled(float r, float n)
{
    float p = 1.0f / 5040.0f;
    p = __ptx_fma(p, r, 1.0f / 720.0f);
    p = __ptx_fma(p, r, 1.0f / 120.0f);
    p = __ptx_fma(p, r, 1.0f / 24.0f);
    p = __ptx_fma(p, r, 1.0f / 6.0f);
    p = __ptx_fma(p, r, 0.5f);
    p = __ptx_fma(p, r, 1.0f);
    p = __ptx_fma(p, r, 1.0f);
    // In two factors: the result may be subnormal, or overflow only in the end.
    int k = (int)n;
    int half_k = k >> 1;
    return p * as_float((half_k + 127) << 23) * as_float((k - half_k + 127) << 23);
}
E float exp(float x)
{
    float bounded = __ptx_min(__ptx_max(x, -110.0f), 95.0f);
    float n = __ptx_rint(bounded * 1.44269504088896340736f);
    float r = __ptx_fma(n, -0x1.62e400p-1f, bounded);
    r = __ptx_fma(n, -0x1.7f7d1cp-20f, r);
    float y = __exp_scaled(r, n);
    return x != x ? x + x : y;
}
E float exp2(float x)
{
    float bounded = __ptx_min(__ptx_max(x, -160.0f), 135.0f);
    float n = __ptx_rint(bounded);
    float f = bounded - n;
    float y = __exp_scaled(f * 0.69314718055994530942f, n);
    return x != x ? x + x : y;
}
E float exp10(float x)
{
    float bounded = __ptx_min(__ptx_max(x, -50.0f), 40.0f);
    float n = __ptx_rint(bounded * 3.32192809488736234787f);
    float f = __ptx_fma(n, -0x1.344000p-2f, bounded);
    f = __ptx_fma(n, -0x1.3509f8p-18f, f);
    float r = f * 0x1.26bb1cp+1f;
    r = __ptx_fma(f, -0x1.12aabap-25f, r);
    float y = __exp_scaled(r, n);
    return x != x ? x + x : y;
}
#if __PTX_SM__ >= 13
double __exp_scaled(double r, double n)
{
    double p = 1.0 / 6227020800.0;
    p = __ptx_fma(p, r, 1.0 / 479001600.0);
    p = __ptx_fma(p, r, 1.0 / 39916800.0);
    p = __ptx_fma(p, r, 1.0 / 3628800.0);
    p = __ptx_fma(p, r, 1.0 / 362880.0);
    p = __ptx_fma(p, r, 1.0 / 40320.0);
    p = __ptx_fma(p, r, 1.0 / 5040.0);
    p = __ptx_fma(p, r, 1.0 / 720.0);
    p = __ptx_fma(p, r, 1.0 / 120.0);
    p = __ptx_fma(p, r, 1.0 / 24.0);
    p = __ptx_fma(p, r, 1.0 / 6.0);
    p = __ptx_fma(p, r, 0.5);
    p = __ptx_fma(p, r, 1.0);
    p = __ptx_fma(p, r, 1.0);
    int k = (int)n;
    int half_k = k >> 1;
    return p * as_double((ulong)(half_k + 1023) << 52) * as_double((ulong)(k - half_k + 1023) << 52);
}
E double exp(double x)
{
    double bounded = __ptx_min(__ptx_max(x, -760.0), 720.0);
    double n = __ptx_rint(bounded * 1.44269504088896340736);
    double r = __ptx_fma(n, -0x1.62e42fefa39efp-1, bounded);
    r = __ptx_fma(n, -0x1.abc9e3b39803fp-56, r);
    double y = __exp_scaled(r, n);
    return x != x ? x + x : y;
}
E double exp2(double x)
{
    double bounded = __ptx_min(__ptx_max(x, -1100.0), 1030.0);
    double n = __ptx_rint(bounded);
    double f = bounded - n;
    double r = f * 0x1.62e42fefa39efp-1;
    double y = __exp_scaled(r, n);
    return x != x ? x + x : y;
}
E double exp10(double x)
{
    double bounded = __ptx_min(__ptx_max(x, -330.0), 312.0);
    double n = __ptx_rint(bounded * 3.32192809488736234787);
    double f = __ptx_fma(n, -0x1.34413509f79fep-2, bounded);
    f = __ptx_fma(n, -0x1.e623e2566b02ep-55, f);
    double r = f * 0x1.26bb1bbb55516p+1;
    r = __ptx_fma(f, -0x1.f48ad494ea3e9p-53, r);
    double y = __exp_scaled(r, n);
    return x != x ? x + x : y;
}
E double expm1(double x)
{
    if (__ptx_abs(x) < 0.35) {
        double p = 1.0 / 1307674368000.0;
        p = __ptx_fma(p, x, 1.0 / 87178291200.0);
        p = __ptx_fma(p, x, 1.0 / 6227020800.0);
        p = __ptx_fma(p, x, 1.0 / 479001600.0);
        p = __ptx_fma(p, x, 1.0 / 39916800.0);
        p = __ptx_fma(p, x, 1.0 / 3628800.0);
        p = __ptx_fma(p, x, 1.0 / 362880.0);
        p = __ptx_fma(p, x, 1.0 / 40320.0);
        p = __ptx_fma(p, x, 1.0 / 5040.0);
        p = __ptx_fma(p, x, 1.0 / 720.0);
        p = __ptx_fma(p, x, 1.0 / 120.0);
        p = __ptx_fma(p, x, 1.0 / 24.0);
        p = __ptx_fma(p, x, 1.0 / 6.0);
        p = __ptx_fma(p, x, 0.5);
        return __ptx_fma(x * x, p, x);
    }
    return exp(x) - 1.0;
}
E float expm1(float x) { return (float)expm1((double)x); }
#endif

//! log log2 log10 log1p __log_parts
#define E __attribute__((elementwise))
// Splits x > 0 into 2^*e (1 + result), with 1 + result in [sqrt(1/2), sqrt(2)).
float __log_parts(float x, float *e)
{
    float shift = 0.0f;
    if (x < FLT_MIN) { x *= 0x1.0p+25f; shift = -25.0f; }
    uint bits = as_uint(x) - 0x3f3504f3u;
    int n = (int)bits >> 23;
    *e = (float)n + shift;
    return as_float((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
}
// log(1 + f) - f, by log(1 + f) = 2 atanh(f / (2 + f)).
float __log_tail(float f)
{
    float s = __ptx_div_full(f, 2.0f + f);
    float z = s * s;
    float p = 2.0f / 11.0f;
    p = __ptx_fma(p, z, 2.0f / 9.0f);
    p = __ptx_fma(p, z, 2.0f / 7.0f);
    p = __ptx_fma(p, z, 2.0f / 5.0f);
    p = __ptx_fma(p, z, 2.0f / 3.0f);
    p = p * z;
    float h = 0.5f * f * f;
    return __ptx_fma(s, h + p, -h);
}
float __log_special(float x, float y)
{
    return x != x || x < 0.0f ? NAN : x == 0.0f ? -INFINITY : x == INFINITY ? x : y;
}
E float log(float x)
{
    float e;
    float f = __log_parts(x, &e);
    float t = __log_tail(f);
    float y = __ptx_fma(e, 0x1.62e400p-1f, f + __ptx_fma(e, 0x1.7f7d1cp-20f, t));
    return __log_special(x, y);
}
#if __PTX_SM__ >= 13
double __log_parts(double x, double *e)
{
    double shift = 0.0;
    if (x < DBL_MIN) { x *= 0x1.0p+54; shift = -54.0; }
    ulong bits = as_ulong(x) - 0x3fe6a09e667f3bcdul;
    int n = (int)((long)bits >> 52);
    *e = (double)n + shift;
    return as_double((bits & 0xffffffffffffful) + 0x3fe6a09e667f3bcdul) - 1.0;
}
double __log_tail(double f)
{
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 2.0 / 23.0;
    p = __ptx_fma(p, z, 2.0 / 21.0);
    p = __ptx_fma(p, z, 2.0 / 19.0);
    p = __ptx_fma(p, z, 2.0 / 17.0);
    p = __ptx_fma(p, z, 2.0 / 15.0);
    p = __ptx_fma(p, z, 2.0 / 13.0);
    p = __ptx_fma(p, z, 2.0 / 11.0);
    p = __ptx_fma(p, z, 2.0 / 9.0);
    p = __ptx_fma(p, z, 2.0 / 7.0);
    p = __ptx_fma(p, z, 2.0 / 5.0);
    p = __ptx_fma(p, z, 2.0 / 3.0);
    p = p * z;
    double h = 0.5 * f * f;
    return __ptx_fma(s, h + p, -h);
}
double __log_special(double x, double y)
{
    return x != x || x < 0.0 ? as_double(0x7ff8000000000000ul) : x == 0.0 ? -(double)INFINITY : x == (double)INFINITY ? x : y;
}
E double log(double x)
{
    double e;
    double f = __log_parts(x, &e);
    double t = __log_tail(f);
    double y = __ptx_fma(e, 0x1.62e42fefa38p-1, f + __ptx_fma(e, 0x1.ef35793c7673p-45, t));
    return __log_special(x, y);
}
E double log2(double x)
{
    double e;
    double f = __log_parts(x, &e);
    double y = e + (f + __log_tail(f)) * 1.44269504088896340736;
    return __log_special(x, y);
}
E double log10(double x)
{
    double e;
    double f = __log_parts(x, &e);
    double y = __ptx_fma(e, 0x1.34413509f78p-2, __ptx_fma(e, 0x1.fef311f12b358p-46, (f + __log_tail(f)) * 0.43429448190325182765));
    return __log_special(x, y);
}
E double log1p(double x)
{
    double u = 1.0 + x;
    double c = x - (u - 1.0);
    double y = u == (double)INFINITY || u <= 0.0 || u != u ? log(u) : log(u) + c / u;
    return x == 0.0 ? x : y;
}
E float log2(float x) { return (float)log2((double)x); }
E float log10(float x) { return (float)log10((double)x); }
E float log1p(float x) { return (float)log1p((double)x); }
#else
E float log2(float x) { float e; float f = __log_parts(x, &e); return __log_special(x, e + (f + __log_tail(f)) * 1.44269504088896340736f); }
E float log10(float x) { float e; float f = __log_parts(x, &e); return __log_special(x, e * 0.30102999566398119521f + (f + __log_tail(f)) * 0.43429448190325182765f); }
#endif

//! pow pown powr rootn
#define E __attribute__((elementwise))
// x^y for x > 0, finite: in double precision for both types.
float __pow_positive(float x, float y) { return (float)exp2((double)y * log2((double)x)); }
#if __PTX_SM__ >= 13
// y log2(x) as a sum of two doubles.
double __pow_positive(double x, double y)
{
    double e;
    double f = __log_parts(x, &e);
    // log(1 + f) = high + low, with s = f / (2 + f) to twice the precision.
    double d = 2.0 + f;
    double d_low = f - (d - 2.0);
    double s = f / d;
    double s_low = (__ptx_fma(-s, d, f) - s * d_low) / d;
    double z = s * s;
    double p = 2.0 / 25.0;
    p = __ptx_fma(p, z, 2.0 / 23.0);
    p = __ptx_fma(p, z, 2.0 / 21.0);
    p = __ptx_fma(p, z, 2.0 / 19.0);
    p = __ptx_fma(p, z, 2.0 / 17.0);
    p = __ptx_fma(p, z, 2.0 / 15.0);
    p = __ptx_fma(p, z, 2.0 / 13.0);
    p = __ptx_fma(p, z, 2.0 / 11.0);
    p = __ptx_fma(p, z, 2.0 / 9.0);
    p = __ptx_fma(p, z, 2.0 / 7.0);
    p = __ptx_fma(p, z, 2.0 / 5.0);
    // The cubic term to twice the precision too.
    double cube = s * z;
    double cube_low = __ptx_fma(s, z, -cube) + s * __ptx_fma(s, s, -z) + 3.0 * z * s_low;
    double third = cube * (2.0 / 3.0);
    double third_low = __ptx_fma(cube, 2.0 / 3.0, -third) + cube * 0x1.5555555555555p-55 + cube_low * (2.0 / 3.0);
    double high = 2.0 * s;
    double sum = high + third;
    double low = (third - (sum - high)) + third_low + 2.0 * s_low + p * z * cube;
    // To base 2, and with the exponent.
    double b = sum * 0x1.71547652b82fep+0;
    double b_low = __ptx_fma(sum, 0x1.71547652b82fep+0, -b) + sum * 0x1.777d0ffda0d24p-56 + low * 0x1.71547652b82fep+0;
    double l = e + b;
    double l_low = (b - (l - e)) + b_low;
    if (__ptx_abs(b) > __ptx_abs(e)) l_low = (e - (l - b)) + b_low;
    double t = y * l;
    double t_low = __ptx_fma(y, l, -t) + y * l_low;
    double bounded = __ptx_min(__ptx_max(t, -1100.0), 1030.0);
    double n = __ptx_rint(bounded);
    double r = bounded - n;
    if (bounded != t) t_low = 0.0;
    double g = r * 0x1.62e42fefa39efp-1;
    double g_low = __ptx_fma(r, 0x1.62e42fefa39efp-1, -g) + r * 0x1.abc9e3b39803fp-56 + t_low * 0x1.62e42fefa39efp-1;
    double y0 = __exp_scaled(g + g_low, n);
    return y0;
}
#endif
#define POW(T, I, BITS) \
E T powr(T x, T y) \
{ \
    if (x < (T)0 || x != x || y != y) return (T)NAN; \
    if (y == (T)0) return x == (T)0 || x == (T)INFINITY ? (T)NAN : (T)1; \
    if (x == (T)1) return fabs(y) == (T)INFINITY ? (T)NAN : (T)1; \
    if (x == (T)0) return y < (T)0 ? (T)INFINITY : (T)0; \
    if (x == (T)INFINITY) return y < (T)0 ? (T)0 : (T)INFINITY; \
    if (fabs(y) == (T)INFINITY) return (x < (T)1) == (y < (T)0) ? (T)INFINITY : (T)0; \
    return __pow_positive(x, y); \
} \
E T pow(T x, T y) \
{ \
    if (x == (T)1 || y == (T)0) return (T)1; \
    if (x != x || y != y) return x + y; \
    T a = fabs(x); \
    T half_y = y * (T)0.5; \
    bool whole = __ptx_trunc(y) == y; \
    bool odd = whole && __ptx_trunc(half_y) != half_y && fabs(y) != (T)INFINITY; \
    T r; \
    if (fabs(y) == (T)INFINITY) r = a == (T)1 ? (T)1 : (a < (T)1) == (y < (T)0) ? (T)INFINITY : (T)0; \
    else if (a == (T)0) r = y < (T)0 ? (T)INFINITY : (T)0; \
    else if (a == (T)INFINITY) r = y < (T)0 ? (T)0 : (T)INFINITY; \
    else r = a == (T)1 ? (T)1 : __pow_positive(a, y); \
    if (x < (T)0 && !whole && a != (T)INFINITY && a != (T)0) return (T)NAN; \
    bool negative = as_##I(x) >> (BITS - 1) != 0; \
    return negative && odd ? -r : r; \
} \
E T pown(T x, int n) { return pow(x, (T)n); } \
E T rootn(T x, int n) \
{ \
    if (n == 0) return (T)NAN; \
    T a = fabs(x); \
    bool odd = (n & 1) != 0; \
    if (x < (T)0 && !odd) return (T)NAN; \
    T r = a == (T)0 ? (n < 0 ? (T)INFINITY : (T)0) : a == (T)INFINITY ? (n < 0 ? (T)0 : (T)INFINITY) : __root(a, n); \
    return x != x ? x : odd ? copysign(r, x) : r; \
}
float __root(float a, int n) { return (float)exp2(log2((double)a) / (double)n); }
#if __PTX_SM__ >= 13
double __root(double a, int n) { return __pow_positive(a, 1.0 / (double)n); }
POW(double, ulong, 64)
#endif
POW(float, uint, 32)

//! sin cos sincos tan sinpi cospi tanpi
#define E __attribute__((elementwise))
// 2/pi behind 16 zero bits, for the reduction of large arguments (Payne and Hanek).
__constant uint __two_over_pi[8] = {0x0000a2f9u, 0x836e4e44u, 0x1529fc27u, 0x57d1f534u, 0xddc0db62u, 0x95993c43u, 0x9041fe51u, 0x63abdebbu};
// x minus the nearest multiple of pi/2; the multiple modulo 4 goes to *quadrant. Two paths, as the
// programming guide says: the slow one beyond 48039.
float __reduce(float x, int *quadrant)
{
    if (__ptx_abs(x) <= 48039.0f) {
        float n = __ptx_rint(x * 0.63661977236758134308f);
        *quadrant = (int)n;
        float r = __ptx_fma(n, -0x1.921fa0p+0f, x);
        r = __ptx_fma(n, -0x1.54442ep-20f, r);
        return __ptx_fma(n, 0x1.cf72cep-45f, r);
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
    float r = (float)(long)fraction * 0x1.921fb6p-64f;
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
    p = __ptx_fma(p, z, 1.0f / 40320.0f);
    p = __ptx_fma(p, z, -1.0f / 720.0f);
    p = __ptx_fma(p, z, 1.0f / 24.0f);
    p = __ptx_fma(p, z, -0.5f);
    return __ptx_fma(p, z, 1.0f);
}
float __quadrant_value(float r, int q)
{
    float y = q & 1 ? __cos_poly(r) : __sin_poly(r);
    return q & 2 ? -y : y;
}
E float sin(float x)
{
    if (__ptx_abs(x) == INFINITY) return NAN;
    int q;
    float r = __reduce(x, &q);
    float y = __quadrant_value(r, q);
    return x == 0.0f ? x : y;
}
E float cos(float x)
{
    if (__ptx_abs(x) == INFINITY) return NAN;
    int q;
    float r = __reduce(x, &q);
    return __quadrant_value(r, q + 1);
}
#define SINCOS(T, S) T sincos(T x, S T *c) { *c = cos(x); return sin(x); }
SINCOS(float, __private)
SINCOS(float, __global)
SINCOS(float, __local)
#if __PTX_SM__ >= 13
E float tan(float x)
{
    if (__ptx_abs(x) == INFINITY) return NAN;
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
double __sin_poly(double r)
{
    double z = r * r;
    double p = 1.0 / 355687428096000.0;
    p = __ptx_fma(p, z, -1.0 / 1307674368000.0);
    p = __ptx_fma(p, z, 1.0 / 6227020800.0);
    p = __ptx_fma(p, z, -1.0 / 39916800.0);
    p = __ptx_fma(p, z, 1.0 / 362880.0);
    p = __ptx_fma(p, z, -1.0 / 5040.0);
    p = __ptx_fma(p, z, 1.0 / 120.0);
    p = __ptx_fma(p, z, -1.0 / 6.0);
    return __ptx_fma(p * z, r, r);
}
double __cos_poly(double r)
{
    double z = r * r;
    double p = -1.0 / 6402373705728000.0;
    p = __ptx_fma(p, z, 1.0 / 20922789888000.0);
    p = __ptx_fma(p, z, -1.0 / 87178291200.0);
    p = __ptx_fma(p, z, 1.0 / 479001600.0);
    p = __ptx_fma(p, z, -1.0 / 3628800.0);
    p = __ptx_fma(p, z, 1.0 / 40320.0);
    p = __ptx_fma(p, z, -1.0 / 720.0);
    p = __ptx_fma(p, z, 1.0 / 24.0);
    p = __ptx_fma(p, z, -0.5);
    return __ptx_fma(p, z, 1.0);
}
__constant ulong __two_over_pi_wide[20] = {
    0x0000000000000000ul, 0xa2f9836e4e441529ul, 0xfc2757d1f534ddc0ul, 0xdb6295993c439041ul, 0xfe5163abdebbc561ul,
    0xb7246e3a424dd2e0ul, 0x06492eea09d1921cul, 0xfe1deb1cb129a73eul, 0xe88235f52ebb4484ul, 0xe99c7026b45f7e41ul,
    0x3991d639835339f4ul, 0x9c845f8bbdf9283bul, 0x1ff897ffde05980ful, 0xef2f118b5a0a6d1ful, 0x6d367ecf27cb09b7ul,
    0x4f463f669e5fea2dul, 0x7527bac7ebe5f17bul, 0x3d0739f78a5292eaul, 0x6bfb5fb11f8d5d08ul, 0x56033046fc7b6babul};
double __reduce(double x, int *quadrant)
{
    if (__ptx_abs(x) <= 105615.0) {
        double n = __ptx_rint(x * 0.63661977236758134308);
        *quadrant = (int)n;
        double r = __ptx_fma(n, -0x1.921fb54442d18p+0, x);
        r = __ptx_fma(n, -0x1.1a62633145c07p-54, r);
        return __ptx_fma(n, 0x1.f1976b7ed8fbcp-110, r);
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
    double f = (double)(long)high_fraction * 0x1.0p-64 + (double)low_fraction * 0x1.0p-128;
    double r = f * 1.57079632679489661923;
    bool negative = bits >> 63 != 0;
    *quadrant = negative ? -q : q;
    return negative ? -r : r;
}
E double sin(double x)
{
    if (!(__ptx_abs(x) < (double)INFINITY)) return (double)NAN;
    int q;
    double r = __reduce(x, &q);
    double y = q & 1 ? __cos_poly(r) : __sin_poly(r);
    return x == 0.0 ? x : q & 2 ? -y : y;
}
E double cos(double x)
{
    if (!(__ptx_abs(x) < (double)INFINITY)) return (double)NAN;
    int q;
    double r = __reduce(x, &q);
    double y = q & 1 ? __sin_poly(r) : __cos_poly(r);
    return (q + 1) & 2 ? -y : y;
}
E double tan(double x) { double s = sin(x), c = cos(x); return x == 0.0 ? x : s / c; }
SINCOS(double, __private)
SINCOS(double, __global)
SINCOS(double, __local)
// sin, cos and tan of pi x: the reduction is exact.
#define PI_FUNCTIONS(T, PI) \
E T sinpi(T x) \
{ \
    if (!(__ptx_abs(x) < (T)INFINITY)) return (T)NAN; \
    T n = __ptx_rint(x * (T)2); \
    T r = (x - n * (T)0.5) * (T)PI; \
    int q = (int)(n - __ptx_trunc(n * (T)0.25) * (T)4); \
    T y = q & 1 ? __cos_poly(r) : __sin_poly(r); \
    y = q & 2 ? -y : y; \
    return __ptx_trunc(x) == x ? x * (T)0 : y; \
} \
E T cospi(T x) \
{ \
    if (!(__ptx_abs(x) < (T)INFINITY)) return (T)NAN; \
    T n = __ptx_rint(x * (T)2); \
    T r = (x - n * (T)0.5) * (T)PI; \
    int q = (int)(n - __ptx_trunc(n * (T)0.25) * (T)4) + 1; \
    T y = q & 1 ? __cos_poly(r) : __sin_poly(r); \
    y = q & 2 ? -y : y; \
    return r == (T)0 && !(q & 1) ? (T)0 : y; \
} \
E T tanpi(T x) { return sinpi(x) / cospi(x); }
PI_FUNCTIONS(double, 3.14159265358979323846)
E float sinpi(float x) { return (float)sinpi((double)x); }
E float cospi(float x) { return (float)cospi((double)x); }
E float tanpi(float x) { return (float)tanpi((double)x); }
#endif

//! asin acos atan atan2 asinpi acospi atanpi atan2pi sinh cosh tanh asinh acosh atanh cbrt hypot fmod remainder
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
    p = __ptx_fma(p, z, -1.0 / 27.0);
    p = __ptx_fma(p, z, 1.0 / 25.0);
    p = __ptx_fma(p, z, -1.0 / 23.0);
    p = __ptx_fma(p, z, 1.0 / 21.0);
    p = __ptx_fma(p, z, -1.0 / 19.0);
    p = __ptx_fma(p, z, 1.0 / 17.0);
    p = __ptx_fma(p, z, -1.0 / 15.0);
    p = __ptx_fma(p, z, 1.0 / 13.0);
    p = __ptx_fma(p, z, -1.0 / 11.0);
    p = __ptx_fma(p, z, 1.0 / 9.0);
    p = __ptx_fma(p, z, -1.0 / 7.0);
    p = __ptx_fma(p, z, 1.0 / 5.0);
    p = __ptx_fma(p, z, -1.0 / 3.0);
    double y = __ptx_fma(p * z, t, t);
    y = turned ? y + 0.52359877559829887308 : y;
    return inverse ? 1.57079632679489661923 - y : y;
}
double __with_sign(double y, double x) { return as_double((as_ulong(y) & 0x7ffffffffffffffful) | (as_ulong(x) & 0x8000000000000000ul)); }
E double atan(double x) { return x != x ? x : __with_sign(__atan_positive(__ptx_abs(x)), x); }
// asin(sqrt(z)) for z <= 1/4.
double __asin_half(double z) { double s = __ptx_sqrt_rn(z); return __atan_positive(s / __ptx_sqrt_rn(1.0 - z)); }
E double asin(double x)
{
    double a = __ptx_abs(x);
    if (!(a <= 1.0)) return (double)NAN;
    double y = a <= 0.5 ? __atan_positive(a / __ptx_sqrt_rn((1.0 - a) * (1.0 + a)))
                        : 1.57079632679489661923 - 2.0 * __asin_half((1.0 - a) * 0.5);
    return __with_sign(y, x);
}
E double acos(double x)
{
    if (!(__ptx_abs(x) <= 1.0)) return (double)NAN;
    if (x > 0.5) return 2.0 * __asin_half((1.0 - x) * 0.5);
    if (x < -0.5) return 3.14159265358979323846 - 2.0 * __asin_half((1.0 + x) * 0.5);
    return 1.57079632679489661923 - (asin(x) - 6.12323399573676603587e-17);
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
E double atan2pi(double y, double x) { return atan2(y, x) * 0.31830988618379067154; }
E double sinh(double x)
{
    double a = __ptx_abs(x);
    double y;
    if (a < 0.35) { double e = expm1(a); y = 0.5 * (e + e / (e + 1.0)); }
    else if (a > 709.0) { double h = exp(0.5 * a); y = 0.5 * h * h; }
    else { double e = exp(a); y = 0.5 * (e - 1.0 / e); }
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
    double e = expm1(-2.0 * a);
    double y = a > 22.0 ? 1.0 : -e / (e + 2.0);
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
#define AS_FLOAT(name) E float name(float x) { return (float)name((double)x); }
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
// Exact remainders, by long division on the mantissas.
E float fmod(float x, float y)
{
    uint a = as_uint(x) & 0x7fffffffu, b = as_uint(y) & 0x7fffffffu;
    uint sign = as_uint(x) & 0x80000000u;
    if (b == 0 || a >= 0x7f800000u || b > 0x7f800000u) return NAN;
    if (a < b) return x;
    int ea = (int)(a >> 23), eb = (int)(b >> 23);
    uint ma = ea ? (a & 0x7fffffu) | 0x800000u : a, mb = eb ? (b & 0x7fffffu) | 0x800000u : b;
    ea = ea ? ea : 1;
    eb = eb ? eb : 1;
    #pragma unroll 1
    for (int n = ea - eb; n > 0; --n) {
        ma = ma >= mb ? ma - mb : ma;
        ma <<= 1;
    }
    ma = ma >= mb ? ma - mb : ma;
    if (ma == 0) return as_float(sign);
    int shift = (int)__ptx_clz(ma) - 8;
    shift = shift > eb - 1 ? eb - 1 : shift;
    ma <<= shift;
    eb -= shift;
    uint bits = ma & 0x800000u ? ((uint)eb << 23) | (ma & 0x7fffffu) : ma;
    return as_float(sign | bits);
}
E float remainder(float x, float y)
{
    float a = __ptx_abs(x), b = __ptx_abs(y);
    if (!(a < INFINITY) || b != b || b == 0.0f) return NAN;
    if (b == INFINITY) return x;
    float r = b < 0x1.0p+127f ? fmod(a, b + b) : a;
    if (b < 0x1.0p-125f) {
        if (r + r > b) { r -= b; if (r + r >= b) r -= b; }
    } else {
        float h = 0.5f * b;
        if (r > h) { r -= b; if (r >= h) r -= b; }
    }
    return as_float(as_uint(r) ^ (as_uint(x) & 0x80000000u));
}
