// Exponentials, logarithms and powers (6.12.2).
// The host's processor divides and takes roots faster than it follows a GPU's approximations.
#if __PTX_HOST__
#define __ptx_div_full(x, y) ((x) / (y))
#endif
// The next four coefficients of a polynomial.
#define HORNER(x, p, a, b, c, d) __ptx_fma(__ptx_fma(__ptx_fma(__ptx_fma(p, x, a), x, b), x, c), x, d)

//! exp exp2 exp10 expm1 __exp_scaled
#define E __attribute__((elementwise))
// 3 * 2^22: a number below 2^22 that is added to it is rounded to an integer, which the lower bits of the sum are.
#define TO_INTEGER 12582912.0f
// 2^k e^r for |r| <= ln(2)/2; bits: those of k + TO_INTEGER. What these have of TO_INTEGER is shifted out.
float __exp_scaled(float r, uint bits)
{
    float p = 1.0f / 5040.0f;
    p = HORNER(r, p, 1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f);
    p = __ptx_fma(p, r, 0.5f);
    p = __ptx_fma(p, r, 1.0f);
    p = __ptx_fma(p, r, 1.0f);
    // In two factors: the result may be subnormal, or overflow only in the end.
    uint half_k = bits >> 1;
    return p * as_float((half_k << 23) + 0x3f800000u) * as_float((bits - half_k << 23) + 0x3f800000u);
}
// BASE^x for x between FROM, where the result is 0, and TO, where it is infinite: REDUCED is what is left for e^r
// when n, the nearest multiple of log(2), is taken from x. What is no number stays so on its own.
#define EXPONENTIAL_FLOAT(name, FROM, TO, LOG2_BASE, REDUCED) \
E float name(float x) \
{ \
    float bounded = x < FROM ? FROM : x; \
    bounded = bounded > TO ? TO : bounded; \
    float rounded = __ptx_fma(bounded, LOG2_BASE, TO_INTEGER); \
    float n = rounded - TO_INTEGER; \
    return __exp_scaled(REDUCED, as_uint(rounded)); \
}
#define EXPONENTIAL_DOUBLE(name, FROM, TO, LOG2_BASE, REDUCED) \
E double name(double x) \
{ \
    double bounded = __ptx_min(__ptx_max(x, FROM), TO); \
    double n = __ptx_rint(bounded * LOG2_BASE); \
    double y = __exp_scaled(REDUCED, n); \
    return x != x ? x + x : y; \
}
// x minus n times a constant, and x times a constant, the constants in two parts.
#define LESS(n, HIGH, LOW) __ptx_fma(n, -LOW, __ptx_fma(n, -HIGH, bounded))
#define TIMES(T) T __times(T x, T high, T low) { return __ptx_fma(x, low, x * high); }
TIMES(float)
#ifdef __FAST_RELAXED_MATH__
E float exp(float x) { return __ptx_ex2_approx(x * 1.44269504088896340736f); }
E float exp2(float x) { return __ptx_ex2_approx(x); }
E float exp10(float x) { return __ptx_ex2_approx(x * 3.32192809488736234787f); }
#else
EXPONENTIAL_FLOAT(exp, -110.0f, 95.0f, 1.44269504088896340736f, LESS(n, 0x1.62e400p-1f, 0x1.7f7d1cp-20f))
EXPONENTIAL_FLOAT(exp2, -160.0f, 135.0f, 1.0f, (bounded - n) * 0.69314718055994530942f)
EXPONENTIAL_FLOAT(exp10, -50.0f, 40.0f, 3.32192809488736234787f,
            __times(LESS(n, 0x1.344000p-2f, 0x1.3509f8p-18f), 0x1.26bb1cp+1f, -0x1.12aabap-25f))
#endif
#if __PTX_SM__ >= 13
// (e^r - 1 - r) / r^2.
double __exp_tail(double r)
{
    double p = 1.0 / 6227020800.0;
    p = HORNER(r, p, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0);
    p = HORNER(r, p, 1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0);
    return __ptx_fma(__ptx_fma(__ptx_fma(p, r, 1.0 / 24.0), r, 1.0 / 6.0), r, 0.5);
}
double __exp_scaled(double r, double n)
{
    double p = __ptx_fma(__ptx_fma(__exp_tail(r), r, 1.0), r, 1.0);
    int k = (int)n;
    int half_k = k >> 1;
    return p * as_double((ulong)(half_k + 1023) << 52) * as_double((ulong)(k - half_k + 1023) << 52);
}
TIMES(double)
EXPONENTIAL_DOUBLE(exp, -760.0, 720.0, 1.44269504088896340736, LESS(n, 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56))
EXPONENTIAL_DOUBLE(exp2, -1100.0, 1030.0, 1.0, (bounded - n) * 0x1.62e42fefa39efp-1)
EXPONENTIAL_DOUBLE(exp10, -330.0, 312.0, 3.32192809488736234787,
            __times(LESS(n, 0x1.34413509f79fep-2, 0x1.e623e2566b02ep-55), 0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53))
E double expm1(double x)
{
    double bounded = __ptx_min(__ptx_max(x, -40.0), 720.0);
    double n = __ptx_rint(bounded * 1.44269504088896340736);
    // r + r_low = x - n log(2); the first product is exact.
    double high = __ptx_fma(n, -0x1.62e42fefa38p-1, bounded), low = n * -0x1.ef35793c7673p-45;
    double r = high + low;
    double r_low = (high - r) + low;
    // e^r - 1 = r + tail.
    double p = __exp_tail(r);
    double tail = __ptx_fma(r * r, p, __ptx_fma(r, r_low, r_low));
    int k = (int)n;
    if (x == 0.0 || x != x) return x;
    if (k == 0) return r + tail;
    if (k > 60) return exp(bounded) - 1.0;
    // 2^k (r + tail) + (2^k - 1), the sum of the large parts with its error.
    double scale = as_double((ulong)(k + 1023) << 52);
    double a = scale - 1.0, b = scale * r;
    double sum = a + b;
    double v = sum - a;
    double error = (a - (sum - v)) + (b - v);
    return sum + __ptx_fma(scale, tail, error);
}
E float expm1(float x) { return (float)expm1((double)x); }
#endif

//! log log2 log10 log1p __log_parts
#define E __attribute__((elementwise))
// __log_parts splits x > 0 into 2^*e (1 + result), with 1 + result in [sqrt(1/2), sqrt(2)).
#define LOG_COMMON(T, U, I, MANT, SMALLEST, STEPS, UP, ROOT) \
T __log_parts(T x, T *e) \
{ \
    T shift = (T)0; \
    if (x < SMALLEST) { x *= UP; shift = -(T)STEPS; } \
    U bits = as_##U(x) - ROOT; \
    *e = (T)(int)((I)bits >> MANT) + shift; \
    return as_##T((bits & (((U)1 << MANT) - 1)) + ROOT) - (T)1; \
} \
T __log_special(T x, T y) \
{ \
    return x != x || x < (T)0 ? (T)NAN : x == (T)0 ? -(T)INFINITY : x == (T)INFINITY ? x : y; \
}
LOG_COMMON(float, uint, int, 23, FLT_MIN, 25, 0x1.0p+25f, 0x3f3504f3u)
#if __PTX_SM__ >= 13
LOG_COMMON(double, ulong, long, 52, DBL_MIN, 54, 0x1.0p+54, 0x3fe6a09e667f3bcdul)
#endif
// log(1 + f) - f, by log(1 + f) = 2 atanh(f / (2 + f)).
float __log_tail(float f)
{
    float s = __ptx_div_full(f, 2.0f + f);
    float z = s * s;
    float p = 2.0f / 11.0f;
    p = HORNER(z, p, 2.0f / 9.0f, 2.0f / 7.0f, 2.0f / 5.0f, 2.0f / 3.0f);
    p = p * z;
    float h = 0.5f * f * f;
    return __ptx_fma(s, h + p, -h);
}
// The logarithm of 2 in two parts.
#define LOG(T, LOG2_HIGH, LOG2_LOW) \
E T log(T x) \
{ \
    T e; \
    T f = __log_parts(x, &e); \
    T t = __log_tail(f); \
    T y = __ptx_fma(e, LOG2_HIGH, f + __ptx_fma(e, LOG2_LOW, t)); \
    return __log_special(x, y); \
}
#ifdef __FAST_RELAXED_MATH__
E float log(float x) { return __ptx_lg2_approx(x) * 0.69314718055994530942f; }
#else
LOG(float, 0x1.62e400p-1f, 0x1.7f7d1cp-20f)
#endif
#if __PTX_SM__ >= 13
double __log_tail(double f)
{
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 2.0 / 23.0;
    p = HORNER(z, p, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0);
    p = HORNER(z, p, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0);
    p = __ptx_fma(p, z, 2.0 / 5.0);
    p = __ptx_fma(p, z, 2.0 / 3.0);
    p = p * z;
    double h = 0.5 * f * f;
    return __ptx_fma(s, h + p, -h);
}
LOG(double, 0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45)
// e HIGH + log(1 + f) C as a sum whose large parts keep their errors; C and the constant of e in two parts.
#define LOG_BASE(name, C, C_LOW, E_HIGH, E_LOW) \
E double name(double x) \
{ \
    double e; \
    double f = __log_parts(x, &e); \
    double t = __log_tail(f); \
    double l = f + t; \
    double l_low = (f - l) + t; \
    double p = l * C; \
    double p_low = __ptx_fma(l, C, -p) + __ptx_fma(l, C_LOW, l_low * C); \
    double a = e * E_HIGH; \
    double sum = a + p; \
    double v = sum - a; \
    double error = (a - (sum - v)) + (p - v); \
    return __log_special(x, sum + (error + __ptx_fma(e, E_LOW, p_low))); \
}
LOG_BASE(log2, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1.0, 0.0)
LOG_BASE(log10, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f78p-2, 0x1.fef311f12b358p-46)
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
#if __PTX_SM__ >= 13
// x^y for x > 0, finite: in double precision for both types.
float __pow_positive(float x, float y) { return (float)exp2((double)y * log2((double)x)); }
// y log2(x) as a sum of two doubles.
// The exponent in two parts.
double __pow_positive(double x, double y, double y_low)
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
    p = HORNER(z, p, 2.0 / 23.0, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0);
    p = HORNER(z, p, 2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0);
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
    double t_low = __ptx_fma(y, l, -t) + __ptx_fma(y, l_low, y_low * l);
    double bounded = __ptx_min(__ptx_max(t, -1100.0), 1030.0);
    double n = __ptx_rint(bounded);
    double r = bounded - n;
    if (bounded != t) t_low = 0.0;
    double g = r * 0x1.62e42fefa39efp-1;
    double g_low = __ptx_fma(r, 0x1.62e42fefa39efp-1, -g) + r * 0x1.abc9e3b39803fp-56 + t_low * 0x1.62e42fefa39efp-1;
    return __exp_scaled(g + g_low, n);
}
double __pow_positive(double x, double y) { return __pow_positive(x, y, 0.0); }
// a^n for a >= 0. An int has more digits than a float.
float __pow_whole(float a, int n) { return (float)exp2((double)n * log2((double)a)); }
double __pow_whole(double a, int n) { return pow(a, (double)n); }
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
E T pown(T x, int n) \
{ \
    if (n == 0) return (T)1; \
    T r = __pow_whole(fabs(x), n); \
    return (n & 1) != 0 ? copysign(r, x) : r; \
} \
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
double __root(double a, int n)
{
    double d = (double)n, r = 1.0 / d;
    return __pow_positive(a, r, __ptx_fma(-r, d, 1.0) * r);
}
POW(double, ulong, 64)
POW(float, uint, 32)
#endif

