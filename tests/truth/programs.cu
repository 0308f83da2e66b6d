#include "truth.h"
// Host programs: freed memory in stream order, streams that nothing orders, copies beside kernels.

K put(int *a, int v) { a[T] = v + T; }  // @put
K get(const int *a, int *out) { out[T] = a[T]; }  // @get
K add(int *a, int v) { atomicAdd(a + T, v); }  // @add

// program: freed_before_the_launch
// do: x = u32[32]:iota
// do: y = u32[32]:fill:0
// faulty: free x
// do: launch get<<<1, 32>>>(x, y)
// do: sync
// fixed: free x
// do: free y
// finds: memory/use-after-free: @get

// program: used_after_free_in_stream_order
// do: s = stream
// do: x = alloc 128 on s
// do: launch put<<<1, 32>>>(x, u32:7) on s
// faulty: free x on s
// do: launch put<<<1, 32>>>(x, u32:9) on s
// fixed: free x on s
// do: sync s
// do: close s
// finds: memory/use-after-free: @put

// program: freed_on_another_stream
// do: s = stream
// do: t = stream
// do: e = event
// do: x = alloc 128 on s
// do: launch put<<<1, 32>>>(x, u32:7) on s
// fixed: record e on s
// fixed: wait e on t
// do: free x on t
// do: sync
// do: close s
// do: close t
// do: done e
// finds: memory/use-after-free: @put

// program: writer_and_reader
// do: s = stream
// do: t = stream
// do: e = event
// do: x = u32[32]:fill:0
// do: y = u32[32]:fill:0
// do: launch put<<<1, 32>>>(x, u32:7) on s
// fixed: record e on s
// fixed: wait e on t
// do: launch get<<<1, 32>>>(x, y) on t
// do: sync
// do: free x
// do: free y
// do: close s
// do: close t
// do: done e
// finds: race/unordered-launches: @put; @get

// program: two_writers
// do: s = stream
// do: t = stream
// do: x = u32[32]:fill:0
// do: launch put<<<1, 32>>>(x, u32:1) on s
// fixed: sync s
// do: launch put<<<1, 32>>>(x, u32:2) on t
// do: sync
// do: free x
// do: close s
// do: close t
// finds: race/unordered-launches: @put

// program: atomics_meet
// do: s = stream
// do: t = stream
// do: x = u32[32]:fill:0
// do: launch add<<<1, 32>>>(x, u32:1) on s
// do: launch add<<<1, 32>>>(x, u32:2) on t
// faulty: launch put<<<1, 32>>>(x, u32:2) on t
// do: sync
// do: free x
// do: close s
// do: close t
// finds: race/unordered-launches: @add; @put

// program: neighbours_in_one_buffer
// do: s = stream
// do: t = stream
// do: x = u32[64]:fill:0
// do: launch put<<<1, 32>>>(x, u32:1) on s
// faulty: launch put<<<1, 32>>>(x+124, u32:2) on t
// fixed: launch put<<<1, 32>>>(x+128, u32:2) on t
// do: sync
// do: free x
// do: close s
// do: close t
// finds: race/unordered-launches: @put

// program: copy_beside_a_kernel
// do: s = stream
// do: t = stream
// do: x = u32[32]:fill:0
// do: launch put<<<1, 32>>>(x, u32:1) on s
// faulty: read x 128 on t
// fixed: read x 128 on s
// do: sync
// do: free x
// do: close s
// do: close t
// finds: race/unordered-launches: @put

// program: upload_too_late
// do: s = stream
// do: t = stream
// do: e = event
// do: x = u32[32]:fill:0
// do: y = u32[32]:fill:0
// do: write x u32[32]:iota on s
// fixed: record e on s
// fixed: wait e on t
// do: launch get<<<1, 32>>>(x, y) on t
// do: sync
// do: free x
// do: free y
// do: close s
// do: close t
// do: done e
// finds: race/unordered-launches: @get

// program: event_recorded_too_soon
// do: s = stream
// do: t = stream
// do: e = event
// do: x = u32[32]:fill:0
// do: y = u32[32]:fill:0
// faulty: record e on s
// do: launch put<<<1, 32>>>(x, u32:7) on s
// fixed: record e on s
// do: wait e on t
// do: launch get<<<1, 32>>>(x, y) on t
// do: sync
// do: free x
// do: free y
// do: close s
// do: close t
// do: done e
// finds: race/unordered-launches: @put; @get

// program: default_stream_does_not_wait
// do: s = stream
// do: x = u32[32]:fill:0
// do: y = u32[32]:fill:0
// do: launch put<<<1, 32>>>(x, u32:7) on s
// fixed: sync s
// do: launch get<<<1, 32>>>(x, y)
// do: sync
// do: free x
// do: free y
// do: close s
// finds: race/unordered-launches: @put; @get

// program: leaks
// do: x = u32[32]:fill:0
// do: launch put<<<1, 32>>>(x, u32:7)
// do: sync
// fixed: free x
// finds: memory/leak: 128 bytes

// program: copied_without_being_written
// do: x = alloc 128
// do: y = u32[32]:fill:0
// fixed: fill x 3 32
// do: launch get<<<1, 32>>>(x, y)
// do: sync
// do: read y 128
// do: free x
// do: free y
// finds: init/uninitialized-output: @get
