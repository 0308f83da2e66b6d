// Sizes, structures, unions, pointers.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[20]:fill:-286331154)
// check: 0 s32: 16 12 1065353216 63 128 5 8 2 16 4 1 3 9 11 -1 255 65535 1 24 7
typedef struct __attribute__((packed)) { char c; int i; } Packed;
typedef struct { char c; int i; } Plain;
typedef struct { char c; } __attribute__((aligned(8))) Wide;
typedef union { float f; uint u; uchar b[4]; } Pun;
typedef struct { int x, y; } Point;
typedef enum { ONE = 1, TWO } Count;
typedef struct { Point p[3]; } Line;
Point add(Point a, Point b) { Point r = {a.x + b.x, a.y + b.y}; return r; }
void store(Point *to, int v) { to->x = v; }
__kernel void k(__global int *out)
{
    out[0] = sizeof(float3);
    out[1] = sizeof(int[3]);
    Pun p;
    p.f = 1.0f;
    out[2] = (int)p.u;
    out[3] = p.b[3];
    out[4] = p.b[2];
    out[5] = sizeof(Packed);
    out[6] = sizeof(Plain);
    out[7] = TWO;
    out[8] = vec_step(float4) * 4;
    out[9] = sizeof(Count);
    out[10] = 1 == true;
    Point a = {1, 2}, b = {2, 7};
    Point c = add(a, b);
    out[11] = c.x;
    out[12] = c.y;
    store(&c, 11);
    out[13] = c.x;
    char m = (char)255;
    uchar n = (uchar)-1;
    ushort h = (ushort)-1;
    out[14] = m;
    out[15] = n;
    out[16] = h;
    bool t = 2;
    out[17] = t;
    Line line, copy;
    line.p[2].y = 7;
    copy = line;
    out[18] = sizeof(Line) + sizeof(Wide) - 8;
    out[19] = copy.p[2].y;
}
