// Initialisers of arrays, structures and vectors.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[24]:fill:-286331154)
// check: 0 s32: 0 7 0 9 5 1 2 0 4 8 6 3 97 98 0 3 1 2 3 4 10 20 30 0
typedef struct { int a; struct { short x, y; } in; int list[3]; } T;
typedef union { uint bits; float f; uchar bytes[4]; } U;
__constant T table[2] = {[1] = {.in = {.y = 4}, .a = 8, .list[1] = 6}, [0].list = {1, 2}};
__constant float4 column[] = {(float4)(10, 20, 30, 0)};
enum { A = 3, B, C = A * 2 };
__kernel void k(__global int *out)
{
    int a[4] = {[3] = 9, [1] = 7};
    for (int i = 0; i < 4; i++) out[i] = a[i];
    T t = {5, {1, 2}};
    out[4] = t.a; out[5] = t.in.x; out[6] = t.in.y; out[7] = t.list[0] + t.list[2];
    out[8] = table[1].in.y; out[9] = table[1].a; out[10] = table[1].list[1];
    out[11] = table[0].list[0] + table[0].list[1] + table[0].a;
    char s[] = "ab";
    out[12] = s[0]; out[13] = s[1]; out[14] = s[2]; out[15] = sizeof(s);
    int nested[2][2] = {{1, 2}, {3, 4}};
    for (int i = 0; i < 4; i++) out[16 + i] = nested[i >> 1][i & 1];
    for (int i = 0; i < 4; i++) out[20 + i] = (int)((__constant float *)column)[i];
}
