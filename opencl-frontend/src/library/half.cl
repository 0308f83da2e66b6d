// Half precision (cl_khr_fp16): single precision and one rounding. Single has more than twice the digits, so
// sums, products, quotients and roots come out correctly rounded.

#define E __attribute__((elementwise))
#define E1 __attribute__((elementwise(1)))
#define E2 __attribute__((elementwise(2)))
#define E3 __attribute__((elementwise(3)))
#define E4 __attribute__((elementwise(4)))
#define E6 __attribute__((elementwise(6)))
#define ONE(name) E half name(half x) { return (half)name((float)x); }
#define TWO(name) half name(half x, half y) { return (half)name((float)x, (float)y); }

//! @half sin cos tan sinpi cospi tanpi
ONE(sin)
ONE(cos)
ONE(tan)
ONE(sinpi)
ONE(cospi)
ONE(tanpi)

//! @half asin acos atan asinpi acospi atanpi sinh cosh tanh asinh acosh atanh cbrt
ONE(asin)
ONE(acos)
ONE(atan)
ONE(asinpi)
ONE(acospi)
ONE(atanpi)
ONE(sinh)
ONE(cosh)
ONE(tanh)
ONE(asinh)
ONE(acosh)
ONE(atanh)
ONE(cbrt)

//! @half exp exp2 exp10 expm1
ONE(exp)
ONE(exp2)
ONE(exp10)
ONE(expm1)

//! @half log log2 log10 log1p
ONE(log)
ONE(log2)
ONE(log10)
ONE(log1p)

//! @half sqrt rsqrt floor ceil trunc rint round fabs
ONE(sqrt)
ONE(rsqrt)
ONE(floor)
ONE(ceil)
ONE(trunc)
ONE(rint)
ONE(round)
ONE(fabs)

//! @half erf erfc
ONE(erf)
ONE(erfc)

//! @half tgamma lgamma
ONE(tgamma)
ONE(lgamma)

//! @half degrees radians sign
ONE(degrees)
ONE(radians)
ONE(sign)

//! @half pow powr pown rootn
E TWO(pow)
E TWO(powr)
E half pown(half x, int n) { return (half)pown((float)x, n); }
E half rootn(half x, int n) { return (half)rootn((float)x, n); }

//! @half atan2 atan2pi hypot
E TWO(atan2)
E TWO(atan2pi)
E TWO(hypot)

//! @half fma mad copysign fdim maxmag minmag fmin fmax
#if __PTX_SM__ >= 53
E half fma(half a, half b, half c) { return __ptx_fma(a, b, c); }
#else
E half fma(half a, half b, half c) { return (half)__ptx_fma((double)a, (double)b, (double)c); }
#endif
E half mad(half a, half b, half c) { return fma(a, b, c); }
E TWO(copysign)
E TWO(fdim)
E TWO(maxmag)
E TWO(minmag)
E2 TWO(fmin)
E2 TWO(fmax)

//! @half min max clamp mix step smoothstep
E2 half min(half x, half y) { return y < x ? y : x; }
E2 half max(half x, half y) { return x < y ? y : x; }
E6 half clamp(half x, half low, half high) { return min(max(x, low), high); }
E4 half mix(half x, half y, half a) { return (half)mix((float)x, (float)y, (float)a); }
E1 half step(half edge, half x) { return x < edge ? (half)0 : (half)1; }
E3 half smoothstep(half a, half b, half x) { return (half)smoothstep((float)a, (float)b, (float)x); }

//! @half dot cross length distance normalize fast_length fast_distance fast_normalize
#define GEOMETRY(N, C) \
half dot(half##N a, half##N b) { return (half)dot(C(a), C(b)); } \
half length(half##N a) { return (half)length(C(a)); } \
half distance(half##N a, half##N b) { return (half)distance(C(a), C(b)); } \
half fast_length(half##N a) { return (half)fast_length(C(a)); } \
half fast_distance(half##N a, half##N b) { return (half)fast_distance(C(a), C(b)); } \
half##N normalize(half##N a) { return convert_half##N(normalize(C(a))); } \
half##N fast_normalize(half##N a) { return convert_half##N(fast_normalize(C(a))); }
GEOMETRY(, (float))
GEOMETRY(2, convert_float2)
GEOMETRY(3, convert_float3)
GEOMETRY(4, convert_float4)
half3 cross(half3 a, half3 b) { return convert_half3(cross(convert_float3(a), convert_float3(b))); }
half4 cross(half4 a, half4 b) { return convert_half4(cross(convert_float4(a), convert_float4(b))); }

//! @half ldexp ilogb logb frexp modf fract nan nextafter sincos lgamma_r remquo fmod remainder
E2 half ldexp(half x, int n) { return (half)ldexp((float)x, n < -60 ? -60 : n > 60 ? 60 : n); }
E int ilogb(half x) { return ilogb((float)x); }
ONE(logb)
E TWO(fmod)
E TWO(remainder)
E half nan(ushort code) { return as_half((ushort)(0x7e00 | (code & 0x1ff))); }
E half nextafter(half x, half y)
{
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == (half)0) return as_half((ushort)((as_ushort(y) & 0x8000) | 1));
    ushort bits = as_ushort(x);
    return as_half((ushort)((x < y) == (x > (half)0) ? bits + 1 : bits - 1));
}
#define POINTERS(SPACE) \
E half frexp(half x, SPACE int *e) { int n; half r = (half)frexp((float)x, &n); *e = n; return r; } \
E half lgamma_r(half x, SPACE int *e) { int n; half r = (half)lgamma_r((float)x, &n); *e = n; return r; } \
E half remquo(half x, half y, SPACE int *e) { int n; half r = (half)remquo((float)x, (float)y, &n); *e = n; return r; } \
E half modf(half x, SPACE half *w) { float t; half r = (half)modf((float)x, &t); *w = (half)t; return r; } \
E half sincos(half x, SPACE half *c) { float t; half r = (half)sincos((float)x, &t); *c = (half)t; return r; } \
E half fract(half x, SPACE half *w) \
{ \
    float t; \
    float r = fract((float)x, &t); \
    *w = (half)t; \
    return (half)(r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r); \
}
POINTERS(__private)
POINTERS(__global)
POINTERS(__local)
POINTERS(__generic)

//! @half __t_isequal __t_isnotequal __t_isgreater __t_isgreaterequal __t_isless __t_islessequal __t_islessgreater __t_isfinite __t_isinf __t_isnan __t_isnormal __t_isordered __t_isunordered __t_signbit bitselect
#define PAIR(name) E short __t_##name(half x, half y) { return __t_##name((float)x, (float)y) ? -1 : 0; }
PAIR(isequal)
PAIR(isnotequal)
PAIR(isgreater)
PAIR(isgreaterequal)
PAIR(isless)
PAIR(islessequal)
PAIR(islessgreater)
PAIR(isordered)
PAIR(isunordered)
E short __t_isfinite(half x) { return (as_ushort(x) & 0x7c00) != 0x7c00 ? -1 : 0; }
E short __t_isinf(half x) { return (as_ushort(x) & 0x7fff) == 0x7c00 ? -1 : 0; }
E short __t_isnan(half x) { return (as_ushort(x) & 0x7fff) > 0x7c00 ? -1 : 0; }
E short __t_isnormal(half x) { return (as_ushort(x) & 0x7fff) >= 0x0400 && (as_ushort(x) & 0x7fff) < 0x7c00 ? -1 : 0; }
E short __t_signbit(half x) { return as_short(x) < 0 ? -1 : 0; }
E half bitselect(half a, half b, half c) { return as_half((ushort)((as_ushort(a) & ~as_ushort(c)) | (as_ushort(b) & as_ushort(c)))); }
