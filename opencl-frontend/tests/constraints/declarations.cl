//// a program-scope variable is __constant
float4 array[4];
//// a constant is initialised
__constant int c;
//// by a constant
int f(void); __constant int c = f();
//// a variable is not __global
void f(void) { __global int x; }
//// a __local variable belongs to a kernel
void f(void) { __local int x; }
//// at its outermost scope
__kernel void k(void) { { __local int x; } }
//// and has no initialiser
__kernel void k(void) { __local int x = 1; }
//// static needs OpenCL 1.2
// options: -cl-std=CL1.1
static int f(void) { return 1; } static __constant int x = 1;
//// a variable of a function is not static
void f(void) { static int x; }
//// extern constants
extern __constant int x;
//// extern variables
void f(void) { extern int x; }
//// no variable-length arrays
void f(int n) { int a[n]; }
//// array extents are positive
void f(void) { int a[-1]; }
//// and known
void f(void) { int a[]; }
//// no bit-fields
struct S { int a : 3; };
//// no functions with variable arguments
void f(int a, ...) {}
//// no pointers to functions
void f(void) { int (*p)(int); }
//// the name of a function is only for calls
int g(int a) { return a; } void f(void) { int x = g; }
//// no recursion
int f(int n) { return n ? f(n - 1) : 0; } __kernel void k(__global int *p) { *p = f(3); }
//// nor through others
int g(int n); int f(int n) { return g(n); } int g(int n) { return f(n); } __kernel void k(__global int *p) { *p = f(3); }
//// a called function is defined
int g(int n); __kernel void k(__global int *p) { *p = g(3); }
//// once
int f(void) { return 1; } int f(void) { return 2; }
//// with one result type
int f(void); float f(void);
//// and one list of parameters
int f(int a); int f(float a);
//// a parameter of a definition has a name
void f(int) {}
//// a parameter is not in an address space
void f(__local int x) {}
//// two names in one scope
void f(void) { int a; float a; }
//// two members of one name
struct S { int a; float a; };
//// a struct is defined once
struct S { int a; }; struct S { int b; };
//// and not within itself
struct S { struct S { int a; } b; };
//// a tag keeps its kind
struct S { int a; }; union S s(void);
//// an enum is no struct
enum E { A }; struct E x(void);
//// a type is complete
struct S; void f(void) { struct S s; }
//// a member is complete
struct S { struct S s; };
//// a member has no address space
struct S { __global int x; };
//// images are no members
struct S { image2d_t i; };
//// nor variables
void f(void) { image2d_t i; }
//// nor pointed to
void f(image2d_t *i) {}
//// nor in arrays
void f(void) { sampler_t s[2]; }
//// nor results
image2d_t f(void);
//// a read-only image is not written
void f(__read_only image2d_t i) { write_imagef(i, (int2)(0), (float4)(0)); }
//// a write-only image is not read
void f(__write_only image2d_t i) { float4 x = read_imagef(i, (int2)(0)); }
//// an access qualifier needs an image
void f(__read_only int i) {}
//// images are not read and written in one kernel
void f(__read_write image2d_t i) {}
//// a sampler is initialised
void f(void) { const sampler_t s; }
//// with a constant
void f(int x) { const sampler_t s = x; }
//// at program scope it is constant
sampler_t s = 1;
//// samplers are no operands
void f(sampler_t s) { int x = s + 1; }
//// events are no program-scope variables
event_t e;
//// half is only for storage
void f(void) { half h; }
//// a half is not read
void f(__global half *p) { float f = *p; }
//// nor written
void f(__global half *p) { *p = 1.0f; }
//// half literals need the extension
void f(void) { float x = 1.0h; }
//// long long is reserved
long long x(void);
//// specifiers that exclude each other
void f(void) { unsigned float x; }
//// twice the same
void f(void) { int float x; }
//// a declaration needs a type
void f(void) { const x = 1; }
//// variables have a type with values
void f(void) { void x; }
//// a vector size that does not exist
void f(void) { float5 x; }
//// only functions are kernels
__kernel int x;
//// typedefs have no initialiser
void f(void) { typedef int T; T T = 1; T x; }
//// a work-group size has three numbers
__kernel __attribute__((reqd_work_group_size(1, 2))) void k(void) {}
//// that are positive
__kernel __attribute__((reqd_work_group_size(0, 1, 1))) void k(void) {}
//// vec_type_hint takes a type
__kernel __attribute__((vec_type_hint(3))) void k(void) {}
//// an alignment is a power of two
struct S { int a; } __attribute__((aligned(3)));
//// an object that is too large
void f(void) { int a[1l << 40]; }
