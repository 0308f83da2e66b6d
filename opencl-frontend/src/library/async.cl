// Asynchronous copies (6.12.10): all work-items of the group copy together.

//! __async_copy
#define LINEAR (__ptx_tid_x() + __ptx_ntid_x() * (__ptx_tid_y() + __ptx_ntid_y() * __ptx_tid_z()))
#define COUNT (__ptx_ntid_x() * __ptx_ntid_y() * __ptx_ntid_z())
#define COPIES(T) \
event_t __async_copy(__local T *to, const __global T *from, size_t n, size_t stride, event_t event) \
{ \
    size_t step = COUNT; \
    for (size_t i = LINEAR; i < n; i += step) to[i] = from[i * stride]; \
    return event; \
} \
event_t __async_copy(__global T *to, const __local T *from, size_t n, size_t stride, event_t event) \
{ \
    size_t step = COUNT; \
    for (size_t i = LINEAR; i < n; i += step) to[i * stride] = from[i]; \
    return event; \
}
COPIES(uchar)
COPIES(ushort)
COPIES(uint)
COPIES(uint2)
COPIES(uint4)
COPIES(uint8)
COPIES(uint16)
COPIES(ulong16)

//! wait_group_events
void wait_group_events(int n, event_t *events) { __ptx_barrier(); }
