#define DOUBLE(x) ((x) + undeclared_thing + (x))
typedef struct { int width; int height; } Size;
int twice(int a, int b) { return DOUBLE(a); }
__kernel void k(__global flaot *p) {}
__kernel void names(__global float *out, Size s)
{
    int i = get_gobal_id(0);
    out[i] = s.widht + twice(1);
    out[i] = pow(1.0f, "a");
    int i = 3;
    goto nowhere;
    break;
    continue;
    switch (i) { case 1: case 1: ; }
    out = 5;
    out[i] = 1.0f % 2;
    *i = 3;
    convert_float4(i);
    float f = out;
}
int odd(int n) { return n == 0 ? 0 : even(n - 1); }
