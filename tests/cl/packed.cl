// Packed structures.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_90 -g
// flags: -arch=sm_20
// run: k<<<1, 1>>>(s32[15]:fill:-286331154)
// check: 0 s32: 305419896 -2 1065353216 -3 7 1 2 3 -9 0 99 11 12 -13 5
typedef struct __attribute__((packed)) {
    char tag;
    int word;
    short half_word;
    float number;
    long wide;
    ushort list[3];
    int4 vector;
    double unused;
} Record;
__kernel void k(__global int *out)
{
    uchar scratch[128];
    Record *r = (Record *)(scratch + 1);
    r->tag = 1;
    r->word = 0x12345678;
    r->half_word = -2;
    r->number = 1.0f;
    r->wide = -3L;
    for (int i = 0; i < 3; i++)
        r->list[i] = (ushort)(i + 1);
    r->vector = (int4)(11, 12, -13, 5);
    out[0] = r->word;
    out[1] = r->half_word;
    out[2] = as_int(r->number);
    out[3] = (int)r->wide;
    Record copy = *r;
    copy.tag = 7;
    out[4] = copy.tag;
    for (int i = 0; i < 3; i++)
        out[5 + i] = copy.list[i];
    copy.wide = -9L - ((long)1 << 40);
    out[8] = (int)(copy.wide + ((long)1 << 40));
    out[9] = copy.word - r->word;
    copy.word = 99;
    *r = copy;
    out[10] = r->word;
    out[11] = r->vector.x;
    out[12] = copy.vector.y;
    out[13] = r->vector.s2;
    out[14] = r->vector.w;
}
