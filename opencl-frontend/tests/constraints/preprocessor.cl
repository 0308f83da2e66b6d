//// a file that does not exist
#include "missing.h"
//// a directive that does not exist
#inclde <x>
//// too few macro arguments
#define F(a, b) a b
int x = F(1);
//// too many
#define F(a) a
int x = F(1, 2);
//// no end of the arguments
#define F(a) a
int x = F(1;
//// ## at an end
#define F(a) a ##
//// # without a parameter
#define F(a) #b
int x;
//// ## that makes no token
#define F(a, b) a ## b
int x = F(+, /);
//// a parameter twice
#define F(a, a) a
//// no macro name
#define 1
//// defined is no macro
#define defined 1
//// #else without #if
#else
//// #endif without #if
#endif
//// #if without #endif
#if 1
//// #elif after #else
#if 0
#else
#elif 1
#endif
//// a condition without a value
#if
#endif
//// a division by zero in a condition
#if 1 / 0
#endif
//// a condition of no integers
#if 1.5
#endif
//// #error
#error stop here
//// #line
#line zero
//// an unterminated comment
int x; /* open
//// an unterminated string
__constant char *s = "open
//// an unterminated character
__constant int c = 'a
//// a stray character
__constant int y = 1 @ 2;
//// a malformed number
__constant int y = 08;
//// and another
__constant float y = 1.2.3f;
//// an integer that is too large
__constant int y = 99999999999999999999;
//// a hexadecimal float without an exponent
__constant float y = 0x1.8;
//// an extension pragma
#pragma OPENCL EXTENSION cl_khr_fp16 maybe
void f(void) { half h; }
//// an unknown extension
// warns
#pragma OPENCL EXTENSION cl_none : enable
//// an unknown pragma
// warns
#pragma whatever
//// a macro redefined
// warns
#define A 1
#define A 2
//// #warning
// warns
#warning careful
//// unroll without a loop
// warns
void f(void) {
int x;
#pragma unroll 4
x = 1; }
//// unroll outside of a function
// warns
#pragma unroll 4
void f(void) { }
#pragma unroll
//// unroll at the end of a block and before a declaration
// warns
void f(void) {
#pragma unroll
int x = 1;
for (;;) {
#pragma unroll 2
} }
