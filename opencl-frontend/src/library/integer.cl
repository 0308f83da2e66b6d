// Integer functions (6.12.3).

//! abs abs_diff add_sat sub_sat hadd rhadd clz ctz popcount rotate mul_hi mad_hi mad_sat upsample min max clamp mul24 mad24 __ctz __ffs __bswap
#define E __attribute__((elementwise))
#define E2 __attribute__((elementwise(2)))
#define E6 __attribute__((elementwise(6)))
#define ORDER(T) \
E2 T min(T x, T y) { return y < x ? y : x; } \
E2 T max(T x, T y) { return x < y ? y : x; } \
E6 T clamp(T x, T low, T high) { return min(max(x, low), high); }
#define COMMON(T, U, BITS) \
ORDER(T) \
E T rotate(T x, T n) { U c = (U)n & (BITS - 1); return (T)((U)((U)x << c) | (U)((U)x >> (U)((BITS - c) & (BITS - 1)))); }
COMMON(char, uchar, 8)
COMMON(uchar, uchar, 8)
COMMON(short, ushort, 16)
COMMON(ushort, ushort, 16)
COMMON(int, uint, 32)
COMMON(uint, uint, 32)
COMMON(long, ulong, 64)
COMMON(ulong, ulong, 64)
// Types whose sums fit into a wider one.
#define NARROW(T, U, W, LOW, HIGH, BITS) \
E U abs(T x) { return (U)(x < 0 ? -(W)x : (W)x); } \
E U abs_diff(T x, T y) { return (U)(x > y ? (W)x - (W)y : (W)y - (W)x); } \
E T add_sat(T x, T y) { W s = (W)x + (W)y; return (T)(s < LOW ? LOW : s > HIGH ? HIGH : s); } \
E T sub_sat(T x, T y) { W s = (W)x - (W)y; return (T)(s < LOW ? LOW : s > HIGH ? HIGH : s); } \
E T hadd(T x, T y) { return (T)(((W)x + (W)y) >> 1); } \
E T rhadd(T x, T y) { return (T)(((W)x + (W)y + 1) >> 1); } \
E T mul_hi(T x, T y) { return (T)(((W)x * (W)y) >> BITS); } \
E T mad_hi(T x, T y, T z) { return (T)((W)(((W)x * (W)y) >> BITS) + z); } \
E T mad_sat(T x, T y, T z) { W s = (W)x * (W)y + (W)z; return (T)(s < LOW ? LOW : s > HIGH ? HIGH : s); } \
E T popcount(T x) { return (T)__ptx_popc((uint)(U)x); } \
E T clz(T x) { return (T)(__ptx_clz((uint)(U)x) - (32 - BITS)); }
NARROW(char, uchar, int, -128, 127, 8)
NARROW(uchar, uchar, int, 0, 255, 8)
NARROW(short, ushort, int, -32768, 32767, 16)
NARROW(ushort, ushort, long, 0, 65535, 16)
#define WIDE(T, U, LOW, HIGH) \
E T hadd(T x, T y) { return (x & y) + ((x ^ y) >> 1); } \
E T rhadd(T x, T y) { return (x | y) - ((x ^ y) >> 1); } \
E T mul_hi(T x, T y) { return __ptx_mulhi(x, y); } \
E T mad_hi(T x, T y, T z) { return (T)((U)__ptx_mulhi(x, y) + (U)z); } \
E T popcount(T x) { return (T)__ptx_popc((U)x); } \
E T clz(T x) { return (T)__ptx_clz((U)x); }
WIDE(int, uint, INT_MIN, INT_MAX)
WIDE(uint, uint, 0u, UINT_MAX)
WIDE(long, ulong, LONG_MIN, LONG_MAX)
WIDE(ulong, ulong, 0ul, ULONG_MAX)
#define SIGNED_WIDE(T, U, LOW, HIGH, BITS) \
E U abs(T x) { return x < 0 ? -(U)x : (U)x; } \
E U abs_diff(T x, T y) { return x > y ? (U)x - (U)y : (U)y - (U)x; } \
E T add_sat(T x, T y) { T s = (T)((U)x + (U)y); return ((x ^ s) & (y ^ s)) < 0 ? (x < 0 ? LOW : HIGH) : s; } \
E T sub_sat(T x, T y) { T s = (T)((U)x - (U)y); return ((x ^ y) & (x ^ s)) < 0 ? (x < 0 ? LOW : HIGH) : s; } \
E T mad_sat(T x, T y, T z) \
{ \
    T high = __ptx_mulhi(x, y); \
    U low = (U)x * (U)y; \
    U sum = low + (U)z; \
    high += (T)(sum < low ? 1 : 0) + (z < 0 ? -1 : 0); \
    return high == (T)((T)sum >> (BITS - 1)) ? (T)sum : high < 0 ? LOW : HIGH; \
}
SIGNED_WIDE(int, uint, INT_MIN, INT_MAX, 32)
SIGNED_WIDE(long, ulong, LONG_MIN, LONG_MAX, 64)
#define UNSIGNED_WIDE(U, HIGH) \
E U abs(U x) { return x; } \
E U abs_diff(U x, U y) { return x > y ? x - y : y - x; } \
E U add_sat(U x, U y) { U s = x + y; return s < x ? HIGH : s; } \
E U sub_sat(U x, U y) { return x < y ? 0 : x - y; } \
E U mad_sat(U x, U y, U z) { U low = x * y, sum = low + z; return __ptx_mulhi(x, y) != 0 || sum < low ? HIGH : sum; }
UNSIGNED_WIDE(uint, UINT_MAX)
UNSIGNED_WIDE(ulong, ULONG_MAX)
#define TRAILING(T, U, W, BITS) E T ctz(T x) { return x == 0 ? (T)BITS : (T)(sizeof(W) * 8 - 1 - (uint)__ptx_clz((W)(U)x & ((W)0 - (W)(U)x))); }
TRAILING(char, uchar, uint, 8)
TRAILING(uchar, uchar, uint, 8)
TRAILING(short, ushort, uint, 16)
TRAILING(ushort, ushort, uint, 16)
TRAILING(int, uint, uint, 32)
TRAILING(uint, uint, uint, 32)
TRAILING(long, ulong, ulong, 64)
TRAILING(ulong, ulong, ulong, 64)
E int __ctz(uint x) { return x == 0 ? 32 : 31 - (int)__ptx_clz(x & (0u - x)); }
E int __ctz(ulong x) { return x == 0 ? 64 : 63 - (int)__ptx_clz(x & (0ul - x)); }
E int __ffs(uint x) { return x == 0 ? 0 : 32 - (int)__ptx_clz(x & (0u - x)); }
E ushort __bswap(ushort x) { return (ushort)(x << 8 | x >> 8); }
E uint __bswap(uint x) { return x << 24 | (x & 0xff00u) << 8 | (x >> 8 & 0xff00u) | x >> 24; }
E ulong __bswap(ulong x) { return (ulong)__bswap((uint)x) << 32 | __bswap((uint)(x >> 32)); }
E short upsample(char high, uchar low) { return (short)((ushort)(uchar)high << 8 | low); }
E ushort upsample(uchar high, uchar low) { return (ushort)((ushort)high << 8 | low); }
E int upsample(short high, ushort low) { return (int)((uint)(ushort)high << 16 | low); }
E uint upsample(ushort high, ushort low) { return (uint)high << 16 | low; }
E long upsample(int high, uint low) { return (long)((ulong)(uint)high << 32 | low); }
E ulong upsample(uint high, uint low) { return (ulong)high << 32 | low; }
E int mul24(int x, int y) { return __ptx_mul24(x, y); }
E uint mul24(uint x, uint y) { return __ptx_mul24(x, y); }
E int mad24(int x, int y, int z) { return __ptx_mad24(x, y, z); }
E uint mad24(uint x, uint y, uint z) { return __ptx_mad24(x, y, z); }
// The floating forms belong to the common functions (6.12.4).
E2 float min(float x, float y) { return y < x ? y : x; }
E2 float max(float x, float y) { return x < y ? y : x; }
E6 float clamp(float x, float low, float high) { return __ptx_min(__ptx_max(x, low), high); }
#if __PTX_SM__ >= 13
E2 double min(double x, double y) { return y < x ? y : x; }
E2 double max(double x, double y) { return x < y ? y : x; }
E6 double clamp(double x, double low, double high) { return __ptx_min(__ptx_max(x, low), high); }
#endif
