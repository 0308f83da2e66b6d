// Elements of one and two bytes, one in each word or two: the last ones end where the buffer does. What must come out
// is the same in Python.
// flags:
// flags: -cl-opt-disable
// run: k<<<1, 256>>>(u32[256], s32[256])
// check: 1 s32 @0: 2686 868769 142063 997465
// check: 1 s32 @12: 64886 194246 194107 314277
// check: 1 s32 @28: 492351 500860 630237 -92134
// check: 1 s32 @124: 437953 549475 557984 687361
// check: 1 s32 @128: -35945 819457 88924 944326
// check: 1 s32 @240: 318262 326788 451310 -271044
// check: 1 s32 @252: 379976 505001 504845 629384
kernel void k(global uint *words, global int *out)
{
    int l = get_local_id(0);
    words[l] = l * 2654435761u;
    barrier(CLK_GLOBAL_MEM_FENCE);
    global const uchar *b = (global const uchar *)words;
    uchar last = b[4 * l + 3], far = b[8 * (l & 127) + 7];
    char second = ((global const char *)b)[4 * l + 1];
    uchar2 upper = *(global const uchar2 *)(b + 4 * l + 2);
    ushort high = ((global const ushort *)b)[2 * l + 1];
    short low = ((global const short *)b)[2 * l];
    uchar4 all = *(global const uchar4 *)(b + 4 * l);
    int sum = last + 3 * second + 5 * upper.x + 7 * upper.y + 11 * high + 13 * low + 17 * far;
    out[l] = sum + 19 * all.x + 23 * all.y + 29 * all.z + 31 * all.w;
}
