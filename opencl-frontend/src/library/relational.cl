// Relational functions (6.12.6): -1 for true; the compiler negates it for scalars.

//! __t_isequal __t_isnotequal __t_isgreater __t_isgreaterequal __t_isless __t_islessequal __t_islessgreater __t_isfinite __t_isinf __t_isnan __t_isnormal __t_isordered __t_isunordered __t_signbit
#define E __attribute__((elementwise))
#define TESTS(T, I, U, MIN) \
E I __t_isequal(T x, T y) { return x == y ? -1 : 0; } \
E I __t_isnotequal(T x, T y) { return x != y ? -1 : 0; } \
E I __t_isgreater(T x, T y) { return x > y ? -1 : 0; } \
E I __t_isgreaterequal(T x, T y) { return x >= y ? -1 : 0; } \
E I __t_isless(T x, T y) { return x < y ? -1 : 0; } \
E I __t_islessequal(T x, T y) { return x <= y ? -1 : 0; } \
E I __t_islessgreater(T x, T y) { return x < y || x > y ? -1 : 0; } \
E I __t_isfinite(T x) { return __ptx_abs(x) < (T)INFINITY ? -1 : 0; } \
E I __t_isinf(T x) { return __ptx_abs(x) == (T)INFINITY ? -1 : 0; } \
E I __t_isnan(T x) { return x != x ? -1 : 0; } \
E I __t_isnormal(T x) { T a = __ptx_abs(x); return a < (T)INFINITY && a >= MIN ? -1 : 0; } \
E I __t_isordered(T x, T y) { return x == x && y == y ? -1 : 0; } \
E I __t_isunordered(T x, T y) { return x != x || y != y ? -1 : 0; } \
E I __t_signbit(T x) { return as_##I(x) < 0 ? -1 : 0; }
TESTS(float, int, uint, FLT_MIN)
#if __PTX_SM__ >= 13
TESTS(double, long, ulong, DBL_MIN)
#endif

//! bitselect
#define E __attribute__((elementwise))
#define BITS(T) E T bitselect(T a, T b, T c) { return (T)((a & ~c) | (b & c)); }
BITS(char)
BITS(uchar)
BITS(short)
BITS(ushort)
BITS(int)
BITS(uint)
BITS(long)
BITS(ulong)
E float bitselect(float a, float b, float c) { return as_float((as_uint(a) & ~as_uint(c)) | (as_uint(b) & as_uint(c))); }
#if __PTX_SM__ >= 13
E double bitselect(double a, double b, double c) { return as_double((as_ulong(a) & ~as_ulong(c)) | (as_ulong(b) & as_ulong(c))); }
#endif
