// Math functions (6.12.2). Single precision versions of the rarer functions round the double result once.
// The host's processor divides and takes roots faster than it follows a GPU's approximations.
#if __PTX_HOST__
#define __ptx_sqrt_approx(x) __ptx_sqrt_rn(x)
#define __ptx_rsqrt_approx(x) (1.0f / __ptx_sqrt_rn(x))
#define __ptx_rcp_approx(x) (1.0f / (x))
#define __ptx_div_approx(x, y) ((x) / (y))
#endif

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
E float name##_recip(float x) { return __ptx_rcp_approx(x); } \
E float name##_sqrt(float x) { return __ptx_sqrt_approx(x); } \
E float name##_rsqrt(float x) { return __ptx_rsqrt_approx(x); }
FAST(native)
FAST(half)
E float native_sin(float x) { return __ptx_sin_approx(x); }
E float native_cos(float x) { return __ptx_cos_approx(x); }
E float native_tan(float x) { return __ptx_div_approx(__ptx_sin_approx(x), __ptx_cos_approx(x)); }
E float native_log(float x) { return __ptx_lg2_approx(x) * 0.69314718055994530942f; }
E float native_log2(float x) { return __ptx_lg2_approx(x); }
E float native_log10(float x) { return __ptx_lg2_approx(x) * 0.30102999566398119521f; }
E float native_powr(float x, float y) { return __ptx_ex2_approx(y * __ptx_lg2_approx(x)); }
E float native_divide(float x, float y) { return __ptx_div_approx(x, y); }
// The approximation loses all relative precision near 1, and the half_ functions owe 8192 ulp there too.
E float half_log(float x) { return log(x); }
E float half_log2(float x) { return log2(x); }
E float half_log10(float x) { return log10(x); }
E float half_divide(float x, float y) { return x / y; }
// The half_ functions owe 8192 ulp for |x| up to 2^16, so they reduce their argument.
E float half_sin(float x) { return sin(x); }
E float half_cos(float x) { return cos(x); }
#if __PTX_SM__ >= 13
E float half_powr(float x, float y) { return powr(x, y); }
E float half_tan(float x) { return tan(x); }
#endif

