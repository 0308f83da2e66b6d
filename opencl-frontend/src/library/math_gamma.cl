// Error functions and gamma functions (6.12.2): double precision; single precision rounds its result.
// The polynomials are Chebyshev interpolants computed with 60 digits.
#define AS_FLOAT(name) __attribute__((elementwise)) float name(float x) { return (float)name((double)x); }
// The next four coefficients of a polynomial.
#define HORNER(x, p, a, b, c, d) __ptx_fma(__ptx_fma(__ptx_fma(__ptx_fma(p, x, a), x, b), x, c), x, d)

//! erf erfc
#define E __attribute__((elementwise))
#if __PTX_SM__ >= 13
// erf(x) / x - 1 for |x| <= 1, in x^2.
double __erf_small(double z)
{
    double p = 0x1.05ffd737fb32ep-34;
    p = HORNER(z, p, -0x1.389d4f2641625p-30, 0x1.f7b4bf3b13964p-27, -0x1.5f1ecb6f0764cp-23, 0x1.b9df224ca4b97p-20);
    p = HORNER(z, p, -0x1.f4d1e3183f7aep-17, 0x1.f9a321d5b8e1ep-14, -0x1.c02db3dac435fp-11, 0x1.565bcd0dbaa38p-8);
    p = HORNER(z, p, -0x1.b82ce31284ep-6, 0x1.ce2f21a042b3p-4, -0x1.812746b0379e6p-2, 0x1.06eba8214db69p-3);
    return p;
}
// erfc(x) for x >= 0.9: exp(-x^2) by the scaled function (1 + 2x) erfcx(x), a polynomial in (x - 4) / (x + 4).
double __erfc_large(double x)
{
    double t = (x - 4.0) / (x + 4.0);
    double p = 0x1.24bbbed977469p-28;
    p = HORNER(t, p, -0x1.8de2422edb809p-27, -0x1.9bb6ad203f897p-26, 0x1.cf23191ed17b4p-24, 0x1.5d616a2b87b7ep-24);
    p = HORNER(t, p, -0x1.ba7f49ab6555p-21, 0x1.36d10288a2122p-22, 0x1.7f23e6049d3bbp-18, -0x1.787d202774c8ap-17);
    p = HORNER(t, p, -0x1.99591a2ed6261p-16, 0x1.3be022d1332fbp-13, -0x1.a1df2592dd7a8p-13, -0x1.8d4a98fb1c0fp-11);
    p = HORNER(t, p, 0x1.49c67285a8dcp-8, -0x1.09623885b5adp-6, 0x1.3079edf6851f8p-5, -0x1.0fb06dfe473ffp-4);
    p = HORNER(t, p, 0x1.7fee004e12422p-4, -0x1.9ddb23c3e91a5p-4, 0x1.16ecefcfa539cp-4, 0x1.f7f5df66fd7cbp-7);
    p = __ptx_fma(p, t, -0x1.1df1ad154a28ep-3);
    p = __ptx_fma(p, t, 0x1.3ba5916e9fd7fp+0);
    double square = x * x;
    double low = __ptx_fma(x, x, -square);
    double e = exp(-square);
    e = __ptx_fma(-low, e, e);
    return x > 27.3 ? 0.0 : p / __ptx_fma(2.0, x, 1.0) * e;
}
E double erf(double x)
{
    double a = __ptx_abs(x);
    if (!(a > 1.0)) return __ptx_fma(x, __erf_small(a * a), x);
    double y = a > 6.0 ? 1.0 : 1.0 - __erfc_large(a);
    return x != x ? x : __with_sign(y, x);
}
E double erfc(double x)
{
    double a = __ptx_abs(x);
    if (x != x) return x;
    if (x < 0.25 && x > -1.0) return 1.0 - __ptx_fma(x, __erf_small(a * a), x);
    // Around 1 the sum stays exact: 1/2 - (x - 1/2) - x p.
    if (a <= 1.0) return 0.5 - __ptx_fma(x, __erf_small(a * a), x - 0.5);
    double y = __erfc_large(a > 30.0 ? 30.0 : a);
    return x < 0.0 ? 2.0 - y : y;
}
AS_FLOAT(erf)
AS_FLOAT(erfc)
#endif

//! tgamma lgamma lgamma_r __lgamma_sign
#define E __attribute__((elementwise))
#if __PTX_SM__ >= 13
// 1 / gamma(1.5 + u) for |u| <= 1/2.
double __reciprocal_gamma(double u)
{
    double p = -0x1.307e8f798d979p-32;
    p = HORNER(u, p, -0x1.d1eef0f3a6aaep-31, 0x1.25e817d17b6b4p-26, -0x1.7f00baa69a4d9p-24, 0x1.f1b6ea035017dp-25);
    p = HORNER(u, p, 0x1.2166ec0f97252p-19, -0x1.d24ca69cfacc9p-17, 0x1.a963c507b404dp-16, 0x1.3f845ff32f15fp-13);
    p = HORNER(u, p, -0x1.232bd87871293p-10, 0x1.15f7f060ffe95p-9, 0x1.b16203e5e1898p-8, -0x1.5955cc39724a5p-5);
    p = HORNER(u, p, 0x1.a18540be32cbdp-5, 0x1.669be41a93895p-3, -0x1.0da5a671c048ap-1, -0x1.514d3d90584b3p-5);
    p = __ptx_fma(p, u, 0x1.20dd750429b6dp+0);
    return p;
}
// log(gamma(2 + y)) / y for |y| <= 1/2.
double __log_gamma_poly(double y)
{
    double p = 0x1.11fa5e7c86f7bp-24;
    p = HORNER(y, p, -0x1.2009c1a550d0dp-23, 0x1.b40adb09a1e12p-23, -0x1.ce17528bcf46p-22, 0x1.012012be3900ap-20);
    p = HORNER(y, p, -0x1.1276ebd557fbp-19, 0x1.258f3057730fap-18, -0x1.3cb3be36ad88bp-17, 0x1.580e0afa5585p-16);
    p = HORNER(y, p, -0x1.78de9ab752b81p-15, 0x1.a127afee53e7dp-14, -0x1.d3fd4b679c1c4p-13, 0x1.0b36af8779cap-11);
    p = HORNER(y, p, -0x1.38ac5c2d48207p-10, 0x1.7add6eadb5317p-9, -0x1.e404fc218dbaep-8, 0x1.51322ac7d848ap-6);
    p = __ptx_fma(p, y, -0x1.13e001a55760ap-4);
    p = __ptx_fma(p, y, 0x1.4a34cc4a60fa6p-2);
    p = __ptx_fma(p, y, 0x1.b0ee6072093cep-2);
    return p;
}
// The sum of Stirling's series at 1 / x, for x >= 12.
double __stirling(double x)
{
    double r = 1.0 / x;
    double z = r * r;
    double p = 43867.0 / 244188.0;
    p = HORNER(z, p, -3617.0 / 122400.0, 1.0 / 156.0, -691.0 / 360360.0, 1.0 / 1188.0);
    p = HORNER(z, p, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0);
    return p * r;
}
// gamma(x) for x > 0 as a product of two factors, so that it may exceed the range.
double __gamma_positive(double x, double *second)
{
    if (x >= 12.0) {
        double half_power = pow(x, 0.5 * x - 0.25);
        *second = half_power;
        return half_power * exp(-x) * (2.50662827463100050242 * exp(__stirling(x)));
    }
    // The product (x - 1) (x - 2) ... of factors above 1, with its rounding errors.
    double high = 1.0, low = 0.0;
    #pragma unroll 1
    while (x >= 2.0) {
        x -= 1.0;
        double next = high * x;
        low = __ptx_fma(low, x, __ptx_fma(high, x, -next));
        high = next;
    }
    *second = 1.0;
    if (x < 1.0) return 1.0 / (x * __reciprocal_gamma(x - 0.5));
    double r = 1.0 / __reciprocal_gamma(x - 1.5);
    return __ptx_fma(high, r, low * r);
}
E double tgamma(double x)
{
    double a = __ptx_abs(x);
    if (a < 0x1.0p-54) return 1.0 / x;
    if (x > 172.0) return x * (double)INFINITY;
    double second;
    if (x > 0.0) {
        double first = __gamma_positive(x, &second);
        return first * second;
    }
    if (!(a < (double)INFINITY) || __ptx_trunc(x) == x) return x == x ? as_double(0x7ff8000000000000ul) : x;
    if (a > 190.0) return __ptx_trunc(a * 0.5) * 2.0 == __ptx_trunc(a) ? -0.0 : 0.0;
    // Reflection: gamma(-a) = -pi / (a sin(pi a) gamma(a)).
    double first = __gamma_positive(a, &second);
    return -3.14159265358979323846 / (a * sinpi(a) * first) / second;
}
double __lgamma_positive(double x)
{
    if (x >= 12.0) {
        double l = log(x) - 1.0;
        // log(2 pi) / 2 - 1/2
        double rest = 0.41893853320467274178 + __stirling(x);
        return x > 0x1.0p+60 ? x * l : __ptx_fma(x - 0.5, l, rest);
    }
    if (x < 0.5) return __ptx_fma(x, __log_gamma_poly(x), -log1p(x)) - log(x);
    if (x < 1.5) { double y = x - 1.0; return __ptx_fma(y, __log_gamma_poly(y), -log1p(y)); }
    double product = 1.0;
    #pragma unroll 1
    while (x >= 2.5) { x -= 1.0; product *= x; }
    double y = x - 2.0;
    return y * __log_gamma_poly(y) + log(product);
}
int __lgamma_sign(double x)
{
    double down = __ptx_floor(x);
    return x == 0.0 ? (as_long(x) < 0 ? -1 : 1) : x > 0.0 || down == x ? 1 : __ptx_floor(down * 0.5) * 2.0 == down ? 1 : -1;
}
E double lgamma(double x)
{
    double a = __ptx_abs(x);
    if (x != x) return x;
    if (a == (double)INFINITY || (x <= 0.0 && __ptx_trunc(x) == x)) return (double)INFINITY;
    if (a < 0x1.0p-60) return -log(a);
    double y = __lgamma_positive(a);
    if (x > 0.0) return y;
    // Reflection.
    return log(3.14159265358979323846 / (a * __ptx_abs(sinpi(a)))) - y;
}
AS_FLOAT(tgamma)
AS_FLOAT(lgamma)
#define SIGNED(T, S) E T lgamma_r(T x, S int *sign) { *sign = __lgamma_sign((double)x); return lgamma(x); }
#define SIGNED_ALL(T) SIGNED(T, __private) SIGNED(T, __global) SIGNED(T, __local) SIGNED(T, __generic)
SIGNED_ALL(float)
SIGNED_ALL(double)
#endif
