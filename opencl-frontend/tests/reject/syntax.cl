__kernel void a(__global int *p) { p[0] = 1 }
__kernel void b(__global int *p) { if (p[0] { p[0] = 2; } }
__kernel void c(__global int *p) { int x = ; }
__kernel void d(__global int *p) { p[0] = 08 + 1.2.3 + 'ab }
#if 1
