// Reductions and scans of sub-groups and work-groups (6.15.18, 6.15.19 and extensions).
#define LANE __ptx_laneid()
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((a) < (b) ? (b) : (a))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
// M(type, what carries it, to that, back, lowest, highest).
#define INT_(M) M(int, uint, as_uint, as_int, INT_MIN, INT_MAX)
#define UINT_(M) M(uint, uint, , , 0u, UINT_MAX)
#define LONG_(M) M(long, ulong, as_ulong, as_long, LONG_MIN, LONG_MAX)
#define ULONG_(M) M(ulong, ulong, , , 0ul, ULONG_MAX)
#define WORDS(M) INT_(M) UINT_(M) LONG_(M) ULONG_(M)
#define NARROW(M) \
M(char, uint, (uint)(uchar), (char), CHAR_MIN, CHAR_MAX) M(uchar, uint, (uint), (uchar), 0, UCHAR_MAX) \
M(short, uint, (uint)(ushort), (short), SHRT_MIN, SHRT_MAX) M(ushort, uint, (uint), (ushort), 0, USHRT_MAX)
#define FROM_HALF(x) (uint)as_ushort(x)
#define TO_HALF(x) as_half((ushort)(x))
#if __PTX_SM__ >= 13
#define DOUBLE(M) M(double, ulong, as_ulong, as_double, -INFINITY, INFINITY)
#else
#define DOUBLE(M)
#endif
#define FLOATS(M) \
M(half, uint, FROM_HALF, TO_HALF, -INFINITY, INFINITY) M(float, uint, as_uint, as_float, -INFINITY, INFINITY) DOUBLE(M)
#define ALL(M) NARROW(M) WORDS(M) FLOATS(M)
// Joins the values of those of `wanted` among the `count` work-items from `first` on. All that are active take each
// step.
#define JOINED(T, C, TO, BACK, NAME, JOIN, IDENTITY) \
T __sub_join_##NAME(T x, uint active, uint first, uint count, uint wanted) \
{ \
    uint lane = LANE; \
    T all = (T)(IDENTITY); \
    for (uint i = 0; i < count; ++i) { \
        uint from = first + i; \
        T v = BACK(__sub_index(TO(x), active >> from & 1u ? from : lane, active)); \
        T joined = JOIN(all, v); \
        all = wanted >> from & 1u ? joined : all; \
    } \
    return all; \
}
#define NON_UNIFORM(T, OP) \
T sub_group_non_uniform_reduce_##OP(T x) { uint m = __ptx_activemask(); return __sub_join_##OP(x, m, 0, 32, m); } \
T sub_group_non_uniform_scan_inclusive_##OP(T x) { uint m = __ptx_activemask(); return __sub_join_##OP(x, m, 0, 32, m & ((2u << LANE) - 1u)); } \
T sub_group_non_uniform_scan_exclusive_##OP(T x) { uint m = __ptx_activemask(); return __sub_join_##OP(x, m, 0, 32, m & ((1u << LANE) - 1u)); } \
T sub_group_clustered_reduce_##OP(T x, uint size) \
{ \
    uint m = __ptx_activemask(), first = LANE & ~(size - 1u); \
    uint cluster = size >= 32u ? ~0u : ((1u << size) - 1u) << first; \
    return __sub_join_##OP(x, m, size >= 32u ? 0u : first, size >= 32u ? 32u : size, m & cluster); \
}

//! sub_group_reduce_add sub_group_reduce_min sub_group_reduce_max sub_group_scan_exclusive_add sub_group_scan_exclusive_min sub_group_scan_exclusive_max sub_group_scan_inclusive_add sub_group_scan_inclusive_min sub_group_scan_inclusive_max
// All work-items take part: each step doubles the number of those whose values are joined.
#define UNIFORM(T, C, TO, BACK, OP, JOIN, IDENTITY) \
T sub_group_scan_inclusive_##OP(T x) \
{ \
    uint m = __sub_members(), lane = LANE; \
    for (uint by = 1; by < 32; by *= 2) { \
        T other = BACK(__sub_up(TO(x), by, m)); \
        if (lane >= by) x = JOIN(other, x); \
    } \
    return x; \
} \
T sub_group_scan_exclusive_##OP(T x) \
{ \
    T all = sub_group_scan_inclusive_##OP(x); \
    T before = BACK(__sub_up(TO(all), 1, __sub_members())); \
    return LANE == 0 ? (T)(IDENTITY) : before; \
} \
T sub_group_reduce_##OP(T x) \
{ \
    T all = sub_group_scan_inclusive_##OP(x); \
    return BACK(__sub_index(TO(all), get_sub_group_size() - 1, __sub_members())); \
}
#define UNIFORM_ALL(T, C, TO, BACK, LOW, HIGH) \
UNIFORM(T, C, TO, BACK, add, ADD, 0) UNIFORM(T, C, TO, BACK, min, MIN, HIGH) UNIFORM(T, C, TO, BACK, max, MAX, LOW)
ALL(UNIFORM_ALL)

//! __sub_join_add __sub_join_mul __sub_join_min __sub_join_max
#define JOINED_ALL(T, C, TO, BACK, LOW, HIGH) \
JOINED(T, C, TO, BACK, add, ADD, 0) JOINED(T, C, TO, BACK, mul, MUL, 1) \
JOINED(T, C, TO, BACK, min, MIN, HIGH) JOINED(T, C, TO, BACK, max, MAX, LOW)
ALL(JOINED_ALL)

//! __sub_join_and __sub_join_or __sub_join_xor
#define JOINED_ALL(T, C, TO, BACK, LOW, HIGH) \
JOINED(T, C, TO, BACK, and, AND, ~(T)0) JOINED(T, C, TO, BACK, or, OR, 0) JOINED(T, C, TO, BACK, xor, XOR, 0)
NARROW(JOINED_ALL) WORDS(JOINED_ALL)

//! __sub_join_logical_and __sub_join_logical_or __sub_join_logical_xor
#define LOGICAL(NAME, WHICH) \
int __sub_join_##NAME(int p, uint active, uint first, uint count, uint wanted) { uint m = __ptx_ballot((uint)p, active) & wanted; return WHICH; }
LOGICAL(logical_and, m == wanted)
LOGICAL(logical_or, m != 0)
LOGICAL(logical_xor, (int)((uint)__ptx_popc(m) & 1u))

//! sub_group_non_uniform_reduce_add sub_group_non_uniform_scan_inclusive_add sub_group_non_uniform_scan_exclusive_add sub_group_clustered_reduce_add
#define EACH(T, C, TO, BACK, LOW, HIGH) NON_UNIFORM(T, add)
ALL(EACH)

//! sub_group_non_uniform_reduce_mul sub_group_non_uniform_scan_inclusive_mul sub_group_non_uniform_scan_exclusive_mul sub_group_clustered_reduce_mul
#define EACH(T, C, TO, BACK, LOW, HIGH) NON_UNIFORM(T, mul)
ALL(EACH)

//! sub_group_non_uniform_reduce_min sub_group_non_uniform_scan_inclusive_min sub_group_non_uniform_scan_exclusive_min sub_group_clustered_reduce_min
#define EACH(T, C, TO, BACK, LOW, HIGH) NON_UNIFORM(T, min)
ALL(EACH)

//! sub_group_non_uniform_reduce_max sub_group_non_uniform_scan_inclusive_max sub_group_non_uniform_scan_exclusive_max sub_group_clustered_reduce_max
#define EACH(T, C, TO, BACK, LOW, HIGH) NON_UNIFORM(T, max)
ALL(EACH)

//! sub_group_non_uniform_reduce_and sub_group_non_uniform_scan_inclusive_and sub_group_non_uniform_scan_exclusive_and sub_group_clustered_reduce_and
#define EACH(T, C, TO, BACK, LOW, HIGH) NON_UNIFORM(T, and)
NARROW(EACH) WORDS(EACH)

//! sub_group_non_uniform_reduce_or sub_group_non_uniform_scan_inclusive_or sub_group_non_uniform_scan_exclusive_or sub_group_clustered_reduce_or
#define EACH(T, C, TO, BACK, LOW, HIGH) NON_UNIFORM(T, or)
NARROW(EACH) WORDS(EACH)

//! sub_group_non_uniform_reduce_xor sub_group_non_uniform_scan_inclusive_xor sub_group_non_uniform_scan_exclusive_xor sub_group_clustered_reduce_xor
#define EACH(T, C, TO, BACK, LOW, HIGH) NON_UNIFORM(T, xor)
NARROW(EACH) WORDS(EACH)

//! sub_group_non_uniform_reduce_logical_and sub_group_non_uniform_scan_inclusive_logical_and sub_group_non_uniform_scan_exclusive_logical_and sub_group_clustered_reduce_logical_and
NON_UNIFORM(int, logical_and)

//! sub_group_non_uniform_reduce_logical_or sub_group_non_uniform_scan_inclusive_logical_or sub_group_non_uniform_scan_exclusive_logical_or sub_group_clustered_reduce_logical_or
NON_UNIFORM(int, logical_or)

//! sub_group_non_uniform_reduce_logical_xor sub_group_non_uniform_scan_inclusive_logical_xor sub_group_non_uniform_scan_exclusive_logical_xor sub_group_clustered_reduce_logical_xor
NON_UNIFORM(int, logical_xor)

//! work_group_reduce_add work_group_reduce_min work_group_reduce_max work_group_scan_exclusive_add work_group_scan_exclusive_min work_group_scan_exclusive_max work_group_scan_inclusive_add work_group_scan_inclusive_min work_group_scan_inclusive_max
// Each sub-group leaves its sum; then each work-item joins those that it needs.
#define GROUP(T, C, TO, BACK, OP, JOIN, IDENTITY) \
T __group_before_##OP(T sum, bool last, uint groups, T *all) \
{ \
    __local C sums[32]; \
    uint own = get_sub_group_id(); \
    if (last) sums[own] = TO(sum); \
    __ptx_barrier(); \
    T before = (T)(IDENTITY), total = (T)(IDENTITY); \
    for (uint i = 0; i < groups; ++i) { \
        T one = BACK(sums[i]); \
        before = i < own ? JOIN(before, one) : before; \
        total = JOIN(total, one); \
    } \
    __ptx_barrier(); \
    *all = total; \
    return before; \
} \
T work_group_reduce_##OP(T x) \
{ \
    T all; \
    __group_before_##OP(sub_group_scan_inclusive_##OP(x), LANE == get_sub_group_size() - 1, get_num_sub_groups(), &all); \
    return all; \
} \
T work_group_scan_inclusive_##OP(T x) \
{ \
    T all, own = sub_group_scan_inclusive_##OP(x); \
    T before = __group_before_##OP(own, LANE == get_sub_group_size() - 1, get_num_sub_groups(), &all); \
    return JOIN(before, own); \
} \
T work_group_scan_exclusive_##OP(T x) \
{ \
    T all, own = sub_group_scan_exclusive_##OP(x); \
    T before = __group_before_##OP(JOIN(own, x), LANE == get_sub_group_size() - 1, get_num_sub_groups(), &all); \
    return JOIN(before, own); \
}
#define GROUP_ALL(T, C, TO, BACK, LOW, HIGH) \
GROUP(T, C, TO, BACK, add, ADD, 0) GROUP(T, C, TO, BACK, min, MIN, HIGH) GROUP(T, C, TO, BACK, max, MAX, LOW)
WORDS(GROUP_ALL) FLOATS(GROUP_ALL)

//! work_group_all work_group_any
int __group_votes(int own, bool all)
{
    __local int votes[32];
    if (LANE == 0) votes[get_sub_group_id()] = own;
    __ptx_barrier();
    int result = all;
    for (uint i = 0; i < get_num_sub_groups(); ++i) {
        int one = votes[i];
        result = all ? result & one : result | one;
    }
    __ptx_barrier();
    return result;
}
int work_group_all(int p) { return __group_votes(sub_group_all(p), true); }
int work_group_any(int p) { return __group_votes(sub_group_any(p), false); }

//! work_group_broadcast
#define BROADCAST(T, C, TO, BACK, LOW, HIGH) \
T work_group_broadcast(T v, size_t x, size_t y, size_t z) \
{ \
    __local C shared; \
    if (__ptx_tid_x() == x && __ptx_tid_y() == y && __ptx_tid_z() == z) shared = TO(v); \
    __ptx_barrier(); \
    T result = BACK(shared); \
    __ptx_barrier(); \
    return result; \
} \
T work_group_broadcast(T v, size_t x, size_t y) { return work_group_broadcast(v, x, y, (size_t)0); } \
T work_group_broadcast(T v, size_t x) { return work_group_broadcast(v, x, (size_t)0, (size_t)0); }
WORDS(BROADCAST) FLOATS(BROADCAST)
