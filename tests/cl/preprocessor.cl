// The preprocessor.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[9]:fill:-286331154)
// check: 0 s32: 7 3 12 2 5 1 104 3 9
#define CAT(a, b) a##b
#define STRING(x) #x
#define SECOND(a, b, ...) b
#define COUNT(...) COUNT_(__VA_ARGS__, 4, 3, 2, 1)
#define COUNT_(a, b, c, d, n, ...) n
#define EMPTY
#define F(x) x + G
#define G(x) (x) * 2
#if defined(CAT) && (1 << 3) > 7 && 'a' == 97 && !defined(NONE) && __OPENCL_C_VERSION__ >= 120
#define YES 5
#elif 1
#error not here
#endif
#ifdef NONE
#error nor here
#endif
__kernel void k(__global int *out)
{
    int CAT(x, 1) = 7;
    out[0] = x1;
    out[1] = COUNT(a, b, c);
    out[2] = F(2)(5);
    out[3] = SECOND(1, 2, 3);
    out[4] = YES EMPTY;
    out[5] = sizeof(STRING(a  +  "b")) == 8;
    __constant char *s = STRING(h);
    out[6] = s[0];
#line 90 "other.cl"
    out[7] = __LINE__ - 87;
    out[8] = sizeof __FILE__;
}
