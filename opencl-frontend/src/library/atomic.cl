// Atomic functions of OpenCL C 2.0 and 3.0 (6.15.12). Operations of the device are relaxed; fences around them give
// the order. Once calls are inlined, order and scope are constants and the address space is known.
#define A volatile __generic
#define RELEASES(order) ((order) >= ORDER_RELEASE)
#define ACQUIRES(order) ((order) == ORDER_ACQUIRE || (order) >= ORDER_BOTH)
#define ORDER_ACQUIRE 2
#define ORDER_RELEASE 3
#define ORDER_BOTH 4
#define ORDER_TOTAL 5
#define SCOPE_ITEM 0
#define SCOPE_GROUP 1
#define SCOPE_DEVICE 2
#define SCOPE_ALL 3
#define FENCE(scope) { \
    if ((scope) == SCOPE_DEVICE || (scope) == SCOPE_ALL) __ptx_fence_device(); \
    else if ((scope) != SCOPE_ITEM) __ptx_fence_block(); }
#define BEFORE if (RELEASES(order)) FENCE(scope)
#define AFTER if (ACQUIRES(order)) FENCE(scope)
// The forms without a scope, and without an order.
#define SHORTER(R, NAME, T) \
R NAME##_explicit(A atomic_##T *p, T v, int order) { return NAME##_explicit(p, v, order, SCOPE_DEVICE); } \
R NAME(A atomic_##T *p, T v) { return NAME##_explicit(p, v, ORDER_TOTAL, SCOPE_DEVICE); }
#define INTEGERS(M) M(int) M(uint) M(long) M(ulong)

//! atomic_work_item_fence
void atomic_work_item_fence(uint flags, int order, int scope) { if (order != 0) FENCE(scope) }

//! atomic_init
#define INIT(T) void atomic_init(A atomic_##T *p, T v) { *(A T *)p = v; }
INTEGERS(INIT) INIT(float)
#if __PTX_SM__ >= 13
INIT(double)
#endif

//! atomic_store atomic_store_explicit
#define STORE(T) \
void atomic_store_explicit(A atomic_##T *p, T v, int order, int scope) \
{ \
    BEFORE \
    *(A T *)p = v; \
    if (order == ORDER_TOTAL) FENCE(scope) \
} \
void atomic_store_explicit(A atomic_##T *p, T v, int order) { atomic_store_explicit(p, v, order, SCOPE_DEVICE); } \
void atomic_store(A atomic_##T *p, T v) { atomic_store_explicit(p, v, ORDER_TOTAL, SCOPE_DEVICE); }
INTEGERS(STORE) STORE(float)
#if __PTX_SM__ >= 13
STORE(double)
#endif

//! atomic_load atomic_load_explicit
#define LOAD(T) \
T atomic_load_explicit(const A atomic_##T *p, int order, int scope) \
{ \
    if (order == ORDER_TOTAL) FENCE(scope) \
    T v = *(const A T *)p; \
    AFTER \
    return v; \
} \
T atomic_load_explicit(const A atomic_##T *p, int order) { return atomic_load_explicit(p, order, SCOPE_DEVICE); } \
T atomic_load(const A atomic_##T *p) { return atomic_load_explicit(p, ORDER_TOTAL, SCOPE_DEVICE); }
INTEGERS(LOAD) LOAD(float)
#if __PTX_SM__ >= 13
LOAD(double)
#endif

//! atomic_exchange atomic_exchange_explicit
#define EXCHANGE(T, C) \
T atomic_exchange_explicit(A atomic_##T *p, T v, int order, int scope) \
{ \
    BEFORE \
    C old = atom_xchg((A C *)p, as_##C(v)); \
    AFTER \
    return as_##T(old); \
} \
SHORTER(T, atomic_exchange, T)
EXCHANGE(int, int) EXCHANGE(uint, uint) EXCHANGE(long, long) EXCHANGE(ulong, ulong) EXCHANGE(float, uint)
#if __PTX_SM__ >= 13
EXCHANGE(double, ulong)
#endif

//! atomic_compare_exchange_strong atomic_compare_exchange_strong_explicit atomic_compare_exchange_weak atomic_compare_exchange_weak_explicit
#define COMPARE(NAME, T, C) \
bool NAME##_explicit(A atomic_##T *p, __generic T *expected, T v, int order, int failure, int scope) \
{ \
    BEFORE \
    C wanted = as_##C(*expected); \
    C old = atom_cmpxchg((A C *)p, wanted, as_##C(v)); \
    AFTER \
    if (old == wanted) return true; \
    *expected = as_##T(old); \
    return false; \
} \
bool NAME##_explicit(A atomic_##T *p, __generic T *expected, T v, int order, int failure) { return NAME##_explicit(p, expected, v, order, failure, SCOPE_DEVICE); } \
bool NAME(A atomic_##T *p, __generic T *expected, T v) { return NAME##_explicit(p, expected, v, ORDER_TOTAL, ORDER_TOTAL, SCOPE_DEVICE); }
#define BOTH(T, C) COMPARE(atomic_compare_exchange_strong, T, C) COMPARE(atomic_compare_exchange_weak, T, C)
BOTH(int, int) BOTH(uint, uint) BOTH(long, long) BOTH(ulong, ulong) BOTH(float, uint)
#if __PTX_SM__ >= 13
BOTH(double, ulong)
#endif

//! atomic_fetch_add atomic_fetch_add_explicit atomic_fetch_sub atomic_fetch_sub_explicit atomic_fetch_or atomic_fetch_or_explicit atomic_fetch_xor atomic_fetch_xor_explicit atomic_fetch_and atomic_fetch_and_explicit atomic_fetch_min atomic_fetch_min_explicit atomic_fetch_max atomic_fetch_max_explicit
#define FETCH(OP, T) \
T atomic_fetch_##OP##_explicit(A atomic_##T *p, T v, int order, int scope) \
{ \
    BEFORE \
    T old = atom_##OP((A T *)p, v); \
    AFTER \
    return old; \
} \
SHORTER(T, atomic_fetch_##OP, T)
#define FETCHES(T) FETCH(add, T) FETCH(sub, T) FETCH(or, T) FETCH(xor, T) FETCH(and, T) FETCH(min, T) FETCH(max, T)
INTEGERS(FETCHES)

//! atomic_flag_test_and_set atomic_flag_test_and_set_explicit atomic_flag_clear atomic_flag_clear_explicit
bool atomic_flag_test_and_set_explicit(A atomic_flag *p, int order, int scope)
{
    BEFORE
    int old = atom_xchg((A int *)p, 1);
    AFTER
    return old != 0;
}
bool atomic_flag_test_and_set_explicit(A atomic_flag *p, int order) { return atomic_flag_test_and_set_explicit(p, order, SCOPE_DEVICE); }
bool atomic_flag_test_and_set(A atomic_flag *p) { return atomic_flag_test_and_set_explicit(p, ORDER_TOTAL, SCOPE_DEVICE); }
void atomic_flag_clear_explicit(A atomic_flag *p, int order, int scope)
{
    BEFORE
    *(A int *)p = 0;
    if (order == ORDER_TOTAL) FENCE(scope)
}
void atomic_flag_clear_explicit(A atomic_flag *p, int order) { atomic_flag_clear_explicit(p, order, SCOPE_DEVICE); }
void atomic_flag_clear(A atomic_flag *p) { atomic_flag_clear_explicit(p, ORDER_TOTAL, SCOPE_DEVICE); }
