// Sub-groups (6.15.19 and the extensions cl_khr_subgroup_…): the warps of the device, which are 32 work-items in the
// order of their linear local id. The last one of a work-group may have fewer.
#define LINEAR (__ptx_tid_x() + __ptx_ntid_x() * (__ptx_tid_y() + __ptx_ntid_y() * __ptx_tid_z()))
#define COUNT (__ptx_ntid_x() * __ptx_ntid_y() * __ptx_ntid_z())
#define LANE __ptx_laneid()
#define E __attribute__((elementwise))
#define E2 __attribute__((elementwise(2)))
// M(type, what carries it, to that, back).
#define NARROW(M) \
M(char, uint, (uint)(uchar), (char)) M(uchar, uint, (uint), (uchar)) \
M(short, uint, (uint)(ushort), (short)) M(ushort, uint, (uint), (ushort))
#define WORDS(M) \
M(int, uint, as_uint, as_int) M(uint, uint, , ) M(long, ulong, as_ulong, as_long) M(ulong, ulong, , )
#if __PTX_SM__ >= 13
#define DOUBLE(M) M(double, ulong, as_ulong, as_double)
#else
#define DOUBLE(M)
#endif
#define FROM_HALF(x) (uint)as_ushort(x)
#define TO_HALF(x) as_half((ushort)(x))
#define FLOATS(M) M(half, uint, FROM_HALF, TO_HALF) M(float, uint, as_uint, as_float) DOUBLE(M)

//! get_sub_group_size get_max_sub_group_size get_num_sub_groups get_enqueued_num_sub_groups get_sub_group_id get_sub_group_local_id __sub_members
uint get_sub_group_size(void) { return __ptx_min(32u, COUNT - (LINEAR & ~31u)); }
uint get_max_sub_group_size(void) { return 32; }
uint get_num_sub_groups(void) { return (COUNT + 31) / 32; }
uint get_enqueued_num_sub_groups(void)
{
#if __PTX_REST_GROUPS__
    uint x = get_enqueued_local_size(0), y = get_enqueued_local_size(1), z = get_enqueued_local_size(2);
    return (x * y * z + 31) / 32;
#else
    return (COUNT + 31) / 32;
#endif
}
uint get_sub_group_id(void) { return LINEAR / 32; }
uint get_sub_group_local_id(void) { return LANE; }
// The mask of all of them.
uint __sub_members(void) { uint n = get_sub_group_size(); return n == 32 ? ~0u : (1u << n) - 1u; }

//! sub_group_barrier sub_group_all sub_group_any
void sub_group_barrier(uint flags) { __ptx_bar_warp(__sub_members()); }
void sub_group_barrier(uint flags, int scope)
{
    if (scope == 2 || scope == 3) __ptx_fence_device();
    else if (scope == 1) __ptx_fence_block();
    __ptx_bar_warp(__sub_members());
}
int sub_group_all(int p) { uint m = __sub_members(); return __ptx_ballot((uint)p, m) == m; }
int sub_group_any(int p) { return __ptx_ballot((uint)p, __sub_members()) != 0; }

//! __sub_index __sub_up __sub_down __sub_xor
#define MOVE(NAME, OP) \
uint NAME(uint v, uint by, uint mask) { return __ptx_##OP(v, by, mask); } \
ulong NAME(ulong v, uint by, uint mask) \
{ \
    uint low = __ptx_##OP((uint)v, by, mask); \
    return (ulong)__ptx_##OP((uint)(v >> 32), by, mask) << 32 | low; \
}
MOVE(__sub_index, shfl_idx)
MOVE(__sub_up, shfl_up)
MOVE(__sub_down, shfl_down)
MOVE(__sub_xor, shfl_xor)

//! sub_group_broadcast
#define BROADCAST(T, C, TO, BACK) E2 T sub_group_broadcast(T x, uint from) { return BACK(__sub_index(TO(x), from, __sub_members())); }
NARROW(BROADCAST) WORDS(BROADCAST) FLOATS(BROADCAST)

//! sub_group_non_uniform_broadcast sub_group_broadcast_first
#define BROADCAST(T, C, TO, BACK) \
E2 T sub_group_non_uniform_broadcast(T x, uint from) { return BACK(__sub_index(TO(x), from, __ptx_activemask())); } \
E T sub_group_broadcast_first(T x) { uint m = __ptx_activemask(); return BACK(__sub_index(TO(x), (uint)__ctz(m), m)); }
NARROW(BROADCAST) WORDS(BROADCAST) FLOATS(BROADCAST)

//! sub_group_shuffle sub_group_shuffle_xor sub_group_shuffle_up sub_group_shuffle_down
#define SHUFFLES(T, C, TO, BACK) \
E2 T sub_group_shuffle(T x, uint from) { return BACK(__sub_index(TO(x), from, __ptx_activemask())); } \
E2 T sub_group_shuffle_xor(T x, uint by) { return BACK(__sub_xor(TO(x), by, __ptx_activemask())); } \
E2 T sub_group_shuffle_up(T x, uint by) { return BACK(__sub_up(TO(x), by, __ptx_activemask())); } \
E2 T sub_group_shuffle_down(T x, uint by) { return BACK(__sub_down(TO(x), by, __ptx_activemask())); }
NARROW(SHUFFLES) WORDS(SHUFFLES) FLOATS(SHUFFLES)

//! sub_group_rotate sub_group_clustered_rotate
#define ROTATES(T, C, TO, BACK) \
E2 T sub_group_rotate(T x, int by) { return BACK(__sub_index(TO(x), (LANE + (uint)by) % get_sub_group_size(), __ptx_activemask())); } \
__attribute__((elementwise(6))) T sub_group_clustered_rotate(T x, int by, uint size) \
{ \
    uint low = size - 1u; \
    return BACK(__sub_index(TO(x), (LANE & ~low) | ((LANE + (uint)by) & low), __ptx_activemask())); \
}
NARROW(ROTATES) WORDS(ROTATES) FLOATS(ROTATES)

//! sub_group_elect sub_group_non_uniform_all sub_group_non_uniform_any
int sub_group_elect(void) { return LANE == (uint)__ctz(__ptx_activemask()); }
int sub_group_non_uniform_all(int p) { uint m = __ptx_activemask(); return __ptx_ballot((uint)p, m) == m; }
int sub_group_non_uniform_any(int p) { return __ptx_ballot((uint)p, __ptx_activemask()) != 0; }

//! sub_group_non_uniform_all_equal
#define EQUAL(T, C, TO, BACK) \
int sub_group_non_uniform_all_equal(T x) \
{ \
    uint m = __ptx_activemask(); \
    T first = BACK(__sub_index(TO(x), (uint)__ctz(m), m)); \
    return __ptx_ballot((uint)(x == first), m) == m; \
}
NARROW(EQUAL) WORDS(EQUAL) FLOATS(EQUAL)

//! sub_group_ballot sub_group_inverse_ballot sub_group_ballot_bit_extract sub_group_ballot_bit_count sub_group_ballot_inclusive_scan sub_group_ballot_exclusive_scan sub_group_ballot_find_lsb sub_group_ballot_find_msb get_sub_group_eq_mask get_sub_group_ge_mask get_sub_group_gt_mask get_sub_group_le_mask get_sub_group_lt_mask
#define HERE(m) ((m).x & __sub_members())
#define FIRST(x) (uint4)((x), 0u, 0u, 0u)
uint4 sub_group_ballot(int p) { return FIRST(__ptx_ballot((uint)p, __ptx_activemask())); }
int sub_group_inverse_ballot(uint4 m) { return (int)(m.x >> LANE & 1u); }
int sub_group_ballot_bit_extract(uint4 m, uint i) { return (int)(m.x >> i & 1u); }
uint sub_group_ballot_bit_count(uint4 m) { return (uint)__ptx_popc(HERE(m)); }
uint sub_group_ballot_inclusive_scan(uint4 m) { return (uint)__ptx_popc(HERE(m) & ((2u << LANE) - 1u)); }
uint sub_group_ballot_exclusive_scan(uint4 m) { return (uint)__ptx_popc(HERE(m) & ((1u << LANE) - 1u)); }
uint sub_group_ballot_find_lsb(uint4 m) { return (uint)__ctz(HERE(m)); }
uint sub_group_ballot_find_msb(uint4 m) { return 31u - (uint)__ptx_clz(HERE(m)); }
uint4 get_sub_group_eq_mask(void) { return FIRST(1u << LANE); }
uint4 get_sub_group_ge_mask(void) { return FIRST(~((1u << LANE) - 1u) & __sub_members()); }
uint4 get_sub_group_gt_mask(void) { return FIRST(~((2u << LANE) - 1u) & __sub_members()); }
uint4 get_sub_group_le_mask(void) { return FIRST((2u << LANE) - 1u); }
uint4 get_sub_group_lt_mask(void) { return FIRST((1u << LANE) - 1u); }
