//// break
void f(void) { break; }
//// continue
void f(void) { continue; }
//// case
void f(void) { case 1: ; }
//// default
void f(void) { default: ; }
//// the same case twice
void f(int a) { switch (a) { case 1: case 1: ; } }
//// default twice
void f(int a) { switch (a) { default: default: ; } }
//// a case is constant
void f(int a) { switch (a) { case a: ; } }
//// a switch is over integers
void f(float a) { switch (a) { case 1: ; } }
//// a label that does not exist
void f(void) { goto nowhere; }
//// a label twice
void f(void) { here: ; here: ; }
//// a value is returned
int f(void) { return; }
//// or not
void f(void) { return 1; }
//// of the type
struct S { int a; }; struct S f(void) { return 1; }
//// a semicolon
void f(void) { int a = 1 }
//// a bracket
void f(int a) { if (a { a = 1; } }
//// an expression
void f(void) { int a = ; }
//// an end
void f(void) { for (;;
//// warnings: assignment as condition, unused value, no result, unknown attribute, shift, division
// warns
int f(int a) { if (a = 1) a + 1; a = 1 << 33; a = a / 0; } __attribute__((strange)) void g(void) {}
//// warnings: constants that change, pointers that do not fit
// warns
void f(__global float *p) { char c = 300; __global int *q = p; const __global float *r = p; p = r; }
//// doubles are demoted below sm_13
// options: -arch=sm_12
// warns
__kernel void k(__global float *p) { double x = p[0]; p[0] = x * 2.0; }
