//// too many for an array
void f(void) { int a[2] = {1, 2, 3}; }
//// for a scalar
void f(void) { int a = {1, 2}; }
//// for a vector
void f(void) { int2 v = {1, 2, 3}; }
//// none for a scalar
void f(void) { int a = {}; }
//// an index outside of the array
void f(void) { int a[2] = {[2] = 1}; }
//// an index on a struct
struct S { int a; }; void f(void) { struct S s = {[0] = 1}; }
//// a member on an array
void f(void) { int a[2] = {.x = 1}; }
//// a member that does not exist
struct S { int a; }; void f(void) { struct S s = {.b = 1}; }
//// designators on a scalar
void f(void) { int a = {.b = 1}; }
//// an array from a value
void f(void) { int a[2] = 1; }
//// a struct from a number
struct S { int a; }; void f(void) { struct S s = 1; }
//// a string that is too long
void f(void) { char s[2] = "abcd"; }
//// an index that is no constant
void f(int n) { int a[2] = {[n] = 1}; }
