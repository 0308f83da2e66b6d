//// a kernel returns nothing
__kernel int k(void) { return 1; }
//// is not called main
__kernel void main(void) {}
//// its pointers point to memory of the device
__kernel void k(int *p) {}
//// not to pointers
__kernel void k(__global int *__global *p) {}
//// bool has no size for hosts
__kernel void k(bool b) {}
//// nor half a value
__kernel void k(half h) {}
//// nor an event
__kernel void k(event_t e) {}
//// a struct with pointers
struct S { __global int *p; }; __kernel void k(struct S s) {}
