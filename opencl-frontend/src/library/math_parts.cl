// Functions that take numbers apart: exponents, fractions, remainders (6.12.2). All are exact.

//! ldexp ilogb logb frexp modf nan nextafter fract
#define E __attribute__((elementwise))
#define E2 __attribute__((elementwise(2)))
// Scales in steps that cannot round twice: the first leaves room for all bits of the mantissa.
#define PARTS(T, U, MANT, BIAS, LEAD, INF, QUIET, BELOW_ONE) \
E2 T ldexp(T x, int n) \
{ \
    T up = as_##T((U)(2 * BIAS) << MANT), down = as_##T((U)(MANT + 2) << MANT); \
    if (n > BIAS) { \
        x *= up; \
        n -= BIAS; \
        if (n > BIAS) { x *= up; n -= BIAS; n = n > BIAS ? BIAS : n; } \
    } else if (n < 1 - BIAS) { \
        x *= down; \
        n += BIAS - 2 - MANT; \
        if (n < 1 - BIAS) { x *= down; n += BIAS - 2 - MANT; n = n < 1 - BIAS ? 1 - BIAS : n; } \
    } \
    return x * as_##T((U)(n + BIAS) << MANT); \
} \
E int ilogb(T x) \
{ \
    U bits = as_##U(x) & ~((U)1 << (sizeof(U) * 8 - 1)); \
    if (bits == 0) return FP_ILOGB0; \
    if (bits > INF) return FP_ILOGBNAN; \
    if (bits == INF) return INT_MAX; \
    int e = (int)(bits >> MANT); \
    return e ? e - BIAS : LEAD + 1 - BIAS - (int)__ptx_clz(bits); \
} \
E T logb(T x) \
{ \
    U bits = as_##U(x) & ~((U)1 << (sizeof(U) * 8 - 1)); \
    return bits == 0 ? -(T)INFINITY : bits >= INF ? x * x : (T)ilogb(x); \
} \
E T nextafter(T x, T y) \
{ \
    if (x != x || y != y) return x + y; \
    if (x == y) return y; \
    U sign = (U)1 << (sizeof(U) * 8 - 1); \
    if (x == (T)0) return as_##T((as_##U(y) & sign) | (U)1); \
    U bits = as_##U(x); \
    return as_##T((x < y) == (x > (T)0) ? bits + 1 : bits - 1); \
} \
E T nan(U code) { return as_##T(QUIET | (code & (((U)1 << (MANT - 1)) - 1))); } \
T __fraction(T x, T whole) \
{ \
    T rest = x - whole; \
    return x != x ? x : __ptx_abs(x) == (T)INFINITY ? copysign((T)0, x) : x == (T)0 ? x : rest < BELOW_ONE ? rest : BELOW_ONE; \
} \
POINTERS(T, U, INF, __private) \
POINTERS(T, U, INF, __global) \
POINTERS(T, U, INF, __local) \
POINTERS(T, U, INF, __generic)
#define POINTERS(T, U, INF, SPACE) \
E T frexp(T x, SPACE int *e) \
{ \
    U bits = as_##U(x) & ~((U)1 << (sizeof(U) * 8 - 1)); \
    if (bits == 0 || bits >= INF) { *e = 0; return x + x; } \
    int n = ilogb(x) + 1; \
    *e = n; \
    return ldexp(x, -n); \
} \
E T modf(T x, SPACE T *whole) \
{ \
    T w = __ptx_trunc(x); \
    *whole = w; \
    return copysign(__ptx_abs(x) == (T)INFINITY ? (T)0 : x - w, x); \
} \
E T fract(T x, SPACE T *whole) { T w = __ptx_floor(x); *whole = w; return __fraction(x, w); }
PARTS(float, uint, 23, 127, 8, 0x7f800000u, 0x7fc00000u, 0x1.fffffep-1f)
#if __PTX_SM__ >= 13
PARTS(double, ulong, 52, 1023, 11, 0x7ff0000000000000ul, 0x7ff8000000000000ul, 0x1.fffffffffffffp-1)
#endif

//! fmod remainder remquo
#define E __attribute__((elementwise))
// Long division of the mantissas: the remainder's bits, the low bits of the quotient, and whether the
// quotient was rounded up.
#define DIVISIONS(T, U, MANT, LEAD, INF, QUIET) \
U __long_division(U a, U b, bool nearest, uint *quotient, bool *up) \
{ \
    U hidden = (U)1 << MANT; \
    int ea = (int)(a >> MANT), eb = (int)(b >> MANT); \
    U ma = ea ? (a & (hidden - 1)) | hidden : a, mb = eb ? (b & (hidden - 1)) | hidden : b; \
    int la = (int)__ptx_clz(ma) - LEAD, lb = (int)__ptx_clz(mb) - LEAD; \
    ea = (ea ? ea : 1) - la; \
    eb = (eb ? eb : 1) - lb; \
    ma <<= la; \
    mb <<= lb; \
    uint q = 0; \
    *quotient = 0; \
    *up = false; \
    if (a == 0 || ea < eb - 1) return a; \
    if (ea < eb) { mb <<= 1; eb = ea; } \
    _Pragma("unroll 1") \
    for (int n = ea - eb; n > 0; --n) { \
        bool take = ma >= mb; \
        ma = take ? ma - mb : ma; \
        q = q + q + (take ? 2u : 0u); \
        ma <<= 1; \
    } \
    if (ma >= mb) { ma -= mb; q += 1; } \
    if (nearest && (ma + ma > mb || (ma + ma == mb && (q & 1u)))) { ma = mb - ma; q += 1; *up = true; } \
    *quotient = q; \
    if (ma == 0) return 0; \
    int shift = (int)__ptx_clz(ma) - LEAD; \
    ma <<= shift; \
    eb -= shift; \
    return eb > 0 ? ((U)eb << MANT) | (ma & (hidden - 1)) : ma >> (1 - eb); \
} \
T __remainder(T x, T y, bool nearest, int *quotient) \
{ \
    U sign = (U)1 << (sizeof(U) * 8 - 1); \
    U a = as_##U(x) & ~sign, b = as_##U(y) & ~sign; \
    *quotient = 0; \
    if (b == 0 || a >= INF || b > INF) return as_##T(QUIET); \
    if (b == INF) return x; \
    uint q; \
    bool up; \
    U r = __long_division(a, b, nearest, &q, &up); \
    int low = (int)(q & 127u); \
    *quotient = (as_##U(x) ^ as_##U(y)) & sign ? -low : low; \
    return as_##T(r | ((as_##U(x) & sign) ^ (up ? sign : (U)0))); \
} \
E T fmod(T x, T y) { int q; return __remainder(x, y, false, &q); } \
E T remainder(T x, T y) { int q; return __remainder(x, y, true, &q); } \
E T remquo(T x, T y, __private int *q) { int low; T r = __remainder(x, y, true, &low); *q = low; return r; } \
E T remquo(T x, T y, __global int *q) { int low; T r = __remainder(x, y, true, &low); *q = low; return r; } \
E T remquo(T x, T y, __local int *q) { int low; T r = __remainder(x, y, true, &low); *q = low; return r; } \
E T remquo(T x, T y, __generic int *q) { int low; T r = __remainder(x, y, true, &low); *q = low; return r; }
DIVISIONS(float, uint, 23, 8, 0x7f800000u, 0x7fc00000u)
#if __PTX_SM__ >= 13
DIVISIONS(double, ulong, 52, 11, 0x7ff0000000000000ul, 0x7ff8000000000000ul)
#endif
