// options: -DA=2 -D NAME=kernel_a
#define CAT(a, b) CAT_(a, b)
#define CAT_(a, b) a##b
#define LIST(X) X(0) X(1) X(2)
#define ADD(n) sum += CAT(v, n) * A;
#define COUNT(...) COUNT_(__VA_ARGS__, 3, 2, 1, 0)
#define COUNT_(a, b, c, n, ...) n
#if defined(A) && A * 3 == 6 && !defined(B)
__kernel void NAME(__global int *o)
#else
#error wrong branch
#endif
{
    int v0 = 1, v1 = o[1], v2 = __LINE__, sum = 0;
    LIST(ADD)
    o[0] = sum + COUNT(x, y) + sizeof("abc");
}
