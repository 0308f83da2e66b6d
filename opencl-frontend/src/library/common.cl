// Common (6.12.4) and geometric (6.12.5) functions.
// The host's processor divides and takes roots faster than it follows a GPU's approximations.
#if __PTX_HOST__
#define __ptx_sqrt_approx(x) __ptx_sqrt_rn(x)
#define __ptx_rsqrt_approx(x) (1.0f / __ptx_sqrt_rn(x))
#endif

//! degrees radians mix step smoothstep sign
#define E __attribute__((elementwise))
#define E1 __attribute__((elementwise(1)))
#define E3 __attribute__((elementwise(3)))
#define E4 __attribute__((elementwise(4)))
#define COMMON(T) \
E T degrees(T x) { return x * (T)57.29577951308232087680; } \
E T radians(T x) { return x * (T)0.01745329251994329577; } \
E4 T mix(T x, T y, T a) { return x + (y - x) * a; } \
E1 T step(T edge, T x) { return x < edge ? (T)0 : (T)1; } \
E3 T smoothstep(T a, T b, T x) \
{ \
    T t = (x - a) / (b - a); \
    t = t < (T)0 ? (T)0 : t > (T)1 ? (T)1 : t; \
    return t * t * ((T)3 - (T)2 * t); \
} \
E T sign(T x) { return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x == (T)0 ? x : (T)0; }
COMMON(float)
#if __PTX_SM__ >= 13
COMMON(double)
#endif

//! dot dot_acc_sat cross length distance normalize fast_length fast_distance fast_normalize
#define GEOMETRY(T) \
T dot(T a, T b) { return a * b; } \
T dot(T##2 a, T##2 b) { return a.x * b.x + a.y * b.y; } \
T dot(T##3 a, T##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; } \
T dot(T##4 a, T##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; } \
T##3 cross(T##3 a, T##3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; } \
T##4 cross(T##4 a, T##4 b) { return (T##4)(a.yzx * b.zxy - a.zxy * b.yzx, (T)0); }
GEOMETRY(float)
// Squares neither overflow nor vanish after scaling by the largest component.
#define LENGTH(T, V, LARGEST, BIG, SMALL, UP, DOWN) \
T length(V v) \
{ \
    T m = LARGEST; \
    if (m == (T)INFINITY) return m; \
    T s = m > (T)BIG ? (T)DOWN : m < (T)SMALL ? (T)UP : (T)1; \
    V w = v * s; \
    return sqrt(dot(w, w)) / s; \
} \
T distance(V a, V b) { return length(a - b); } \
V normalize(V v) \
{ \
    T m = LARGEST; \
    if (m == (T)0) return v; \
    T s = m > (T)BIG ? (T)DOWN : m < (T)SMALL ? (T)UP : (T)1; \
    V w = v * s; \
    T l = sqrt(dot(w, w)); \
    /* Small components would lose bits in w, and the length of v may lie beyond the range. */ \
    if (m > (T)BIG) return v * (T)0.25 / (l * ((T)0.25 / (T)DOWN)); \
    return w / l; \
}
#define ALL_LENGTHS(T, BIG, SMALL, UP, DOWN) \
T length(T v) { return fabs(v); } \
T distance(T a, T b) { return fabs(a - b); } \
T normalize(T v) { return v > (T)0 ? (T)1 : v < (T)0 ? (T)-1 : v; } \
LENGTH(T, T##2, fmax(fabs(v.x), fabs(v.y)), BIG, SMALL, UP, DOWN) \
LENGTH(T, T##3, fmax(fabs(v.x), fmax(fabs(v.y), fabs(v.z))), BIG, SMALL, UP, DOWN) \
LENGTH(T, T##4, fmax(fmax(fabs(v.x), fabs(v.y)), fmax(fabs(v.z), fabs(v.w))), BIG, SMALL, UP, DOWN)
ALL_LENGTHS(float, 0x1.0p+62f, 0x1.0p-50f, 0x1.0p+80f, 0x1.0p-70f)
#define FAST(V) \
float fast_length(V v) { return __ptx_sqrt_approx(dot(v, v)); } \
float fast_distance(V a, V b) { V d = a - b; return __ptx_sqrt_approx(dot(d, d)); } \
V fast_normalize(V v) { float d = dot(v, v); return d == 0.0f ? v : v * __ptx_rsqrt_approx(d); }
FAST(float)
FAST(float2)
FAST(float3)
FAST(float4)
#if __PTX_SM__ >= 13
GEOMETRY(double)
ALL_LENGTHS(double, 0x1.0p+500, 0x1.0p-450, 0x1.0p+520, 0x1.0p-520)
#endif
// Integer dot products (cl_khr_integer_dot_product).
#define SUM(A, B, W) ((W)(A).x * (W)(B).x + (W)(A).y * (W)(B).y + (W)(A).z * (W)(B).z + (W)(A).w * (W)(B).w)
#define PRODUCT(A, B, R) \
R dot(A a, B b) { return SUM(a, b, R); } \
R dot_acc_sat(A a, B b, R c) { return add_sat(SUM(a, b, R), c); }
PRODUCT(uchar4, uchar4, uint)
PRODUCT(char4, char4, int)
PRODUCT(uchar4, char4, int)
PRODUCT(char4, uchar4, int)

//! dot_4x8packed_uu_uint dot_4x8packed_ss_int dot_4x8packed_us_int dot_4x8packed_su_int dot_acc_sat_4x8packed_uu_uint dot_acc_sat_4x8packed_ss_int dot_acc_sat_4x8packed_us_int dot_acc_sat_4x8packed_su_int
#define PACKED(SUFFIX, A, B, R) \
R dot_4x8packed_##SUFFIX(uint a, uint b) { return dot(as_##A(a), as_##B(b)); } \
R dot_acc_sat_4x8packed_##SUFFIX(uint a, uint b, R c) { return dot_acc_sat(as_##A(a), as_##B(b), c); }
PACKED(uu_uint, uchar4, uchar4, uint)
PACKED(ss_int, char4, char4, int)
PACKED(us_int, uchar4, char4, int)
PACKED(su_int, char4, uchar4, int)
