//// an undeclared name
void f(void) { int x = lenght; }
//// an undeclared function, with a suggestion
void f(void) { int x = get_globl_id(0); }
//// only functions are called
void f(int a) { a(1); }
//// too few arguments
int g(int a, int b) { return a; } void f(void) { g(1); }
//// no function fits
void f(float4 v) { float x = dot(v, (float2)(1)); }
//// more than one fits
void f(int x) { float y = sin(x); }
//// a double is not computed in single precision
void f(double x) { float y = half_sin(x); }
//// a type is no value
typedef int T; void f(void) { int x = T; }
//// assignment to a value
void f(int a) { a + 1 = 2; }
//// to a const object
void f(void) { const int c = 1; c = 2; }
//// to constant memory
void f(__constant int *p) { *p = 1; }
//// to an array
void f(void) { int a[2], b[2]; a = b; }
//// to a component twice
void f(void) { int4 v; v.xx = (int2)(1); }
//// increment of a const object
void f(const int c) { c++; }
//// of a struct
struct S { int a; }; void f(void) { struct S s; s++; }
//// address of a value
void f(void) { int *p = &3; }
//// of a component
void f(void) { float4 v; float *p = &v.x; }
//// dereference of a number
void f(int a) { int x = *a; }
//// of void
void f(__global void *p) { *p; }
//// an index is an integer
void f(__global int *p) { p[1.0f] = 1; }
//// a vector has no index
void f(int4 v) { int x = v[0]; }
//// nothing to index
void f(int v) { int x = v[0]; }
//// a member that does not exist
struct S { int width; }; void f(void) { struct S s; s.widht = 1; }
//// a member of a pointer
struct S { int a; }; void f(struct S *s) { s.a = 1; }
//// a member of a number
void f(int a) { a.x = 1; }
//// an arrow on a value
struct S { int a; }; void f(void) { struct S s; s->a = 1; }
//// a component that does not exist
void f(float3 v) { float x = v.w; }
//// a component number that does not exist
void f(float4 v) { float x = v.s7; }
//// two styles in one
void f(float4 v) { float2 x = v.xs1; }
//// five components
void f(float8 v) { float x = v.s01234; }
//// operators on structs
struct S { int a; }; void f(struct S a, struct S b) { int x = a + b; }
//// vectors of different length
void f(int4 a, int3 b) { int4 x = a + b; }
//// vectors of different type
void f(int4 a, float4 b) { float4 x = a + b; }
//// a scalar that outranks the vector
void f(char4 v, int i) { char4 x = v + i; }
//// remainder of floats
void f(float a) { float x = a % 2; }
//// bits of floats
void f(float a) { float x = a & 1; }
//// a shift by a vector
void f(int a, int4 b) { int x = a << b; }
//// complement of a float
void f(float a) { float x = ~a; }
//// minus of a pointer
void f(__global int *p) { p = -p; }
//// pointers of different types subtract
void f(__global int *p, __global float *q) { long x = p - q; }
//// of different spaces compare
void f(__global int *p, __local int *q) { int x = p == q; }
//// are assigned
void f(__global int *p) { __local int *q = p; }
//// are cast
void f(__global int *p) { __local int *q = (__local int *)p; }
//// are passed
void g(__local int *q) {} void f(__global int *p) { g(p); }
//// a number is no pointer
void f(int a) { __global int *p = a; }
//// a pointer is no number
void f(__global int *p) { float x = p; }
//// vectors do not convert by themselves
void f(int4 v) { float4 x = v; }
//// nor by a cast
void f(int4 v) { float4 x = (float4)v; }
//// a cast to a struct
struct S { int a; }; void f(void) { struct S s = (struct S)1; }
//// conditions are numbers or pointers
struct S { int a; }; void f(struct S s) { if (s) ; }
//// of a vector
void f(int4 v) { if (v) ; }
//// a vector condition chooses vectors of its size
void f(char4 c, int4 a) { int4 x = c ? a : a; }
//// choices of one type
struct S { int a; }; void f(int c, struct S s) { c ? s : 1; }
//// too few components
void f(void) { float4 v = (float4)(1, 2, 3); }
//// too many components
void f(void) { float2 v = (float2)(1, 2, 3); }
//// a part of another type
void f(int2 i) { float4 v = (float4)(i, 1, 2); }
//// as_ keeps the size
void f(int a) { long x = as_long(a); }
//// convert_ keeps the number of components
void f(int2 a) { float4 x = convert_float4(a); }
//// no saturation to floats
void f(int a) { float x = convert_float_sat(a); }
//// no such conversion
void f(int a) { int x = convert_int_up(a); }
//// select by the sign of integers
void f(float4 a, char4 c) { float4 x = select(a, a, c); }
//// a shuffle mask is unsigned
void f(float4 a, int4 m) { float4 x = shuffle(a, m); }
//// any takes signed integers
void f(float4 a) { int x = any(a); }
//// vload from its element type
void f(float4 a) { float4 x = vload4(0, a); }
//// vload of the right number
void f(__global float *p) { float x = vload5(0, p); }
//// vstore does not write constants
void f(float4 v, __constant float *p) { vstore4(v, 0, p); }
//// vstore of the right vector
void f(float3 v, __global float *p) { vstore4(v, 0, p); }
//// atomics on memory of the device
void f(int *p) { atomic_add(p, 1); }
//// on integers
void f(__global float *p) { atomic_add(p, 1.0f); }
//// of the target
// options: -arch=sm_10
__kernel void k(__global int *p) { atomic_add(p, 1); }
//// copies between global and local memory
void f(__global int *a, __global int *b) { async_work_group_copy(a, b, 1, 0); }
//// sizeof an incomplete type
struct S; void f(void) { int x = sizeof(struct S); }
//// sizeof an image
void f(image2d_t i) { int x = sizeof(i); }
//// printf prints what its format says
void f(float x) { printf("%d\n", x); }
//// vectors by vector conversions
void f(float4 x) { printf("%f\n", x); }
//// of the right size
void f(float4 x) { printf("%v3hlf\n", x); }
//// has its arguments
void f(void) { printf("%d %d\n", 1); }
//// and a literal format
void f(__constant char *s) { printf(s); }
//// without stars
void f(void) { printf("%*d\n", 1, 2); }
//// strings are literals
void f(__constant char *s) { printf("%s\n", s); }
//// known conversions
void f(void) { printf("%y\n", 1); }
//// an index beyond nothing
void f(void) { int x = (1, 2; }
//// functions that need doubles, on a target without
// options: -arch=sm_12
__kernel void f(__global float *p) { p[0] = tan(p[1]) + half_tan(p[2]) + pow(p[3], p[4]) + erf(p[5]) + sin(p[6]); }
