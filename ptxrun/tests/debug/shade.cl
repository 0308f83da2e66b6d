// Variables of every kind, for the debugger.
typedef struct {
    float x, y;
    int tag[3];
} Point;

typedef struct {
    Point corner[2];
    uchar4 colour;
} Box;

__constant float weights[4] = {0.5f, 1.5f, 2.5f, 3.5f};

float scaled(float v, float by)
{
    float product = v * by;
    return product;
}

__kernel void shade(__global const float *in, __global float *out, int n)
{
    __local float tile[8];
    int i = get_global_id(0);
    float4 v = (float4)(i, i + 1, i + 2, i + 3);
    Point p = {2.0f, 3.0f, {4, 5, 6}};
    float sums[4];
    tile[get_local_id(0)] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 4; k++) {
        float i = in[k] * weights[k];
        sums[k] = i + v.x;
    }
    p.y = scaled(v.y, p.x) + sums[1];
    Point *to = &p;
    __local float *near = tile + 1;
    if (i < n) {
        float r = scaled(sums[2], to->y) + 1.0f;
        out[i] = r + near[0];
    }
}

__kernel void boxes(__global Box *all, __global int *count)
{
    Box own = all[get_global_id(0)];
    bool wide = own.corner[1].x - own.corner[0].x > 1.0f;
    short s = -3;
    ulong big = 1ul << 40;
    int8 many = (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    for (int c = 0; c < 2; c++) {
        int c2 = own.corner[c].tag[1];
        {
            int c = c2 * 10;
            many.s7 += c;
        }
        many.s6 = c;
    }
    if (wide)
        atomic_add(count, (int)own.colour.y + many.s7 + s);
}
