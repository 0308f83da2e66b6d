float4 global_array[4];
__kernel int returns(__global float *x) { return 0; }
__kernel void pointers(float *p, __global int **q, bool b, __local float *ok) {}
struct bits { int a : 3; };
void variadic(int a, ...) {}
void f(void)
{
    long long x;
    __local int l;
    float3 v;
    v.w = 1;
    v.xx = (float2)(1);
    float4 w = (float4)(1, 2, 3);
    int4 i4 = w;
    __global int *g = 0;
    __local int *p = g;
    const int c = 1;
    c = 2;
    half h;
    unsigned float uf;
    int n = 4;
    int vla[n];
}
