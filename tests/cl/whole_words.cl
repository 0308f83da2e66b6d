// Vectors of bytes and of halves of words that fill words: side by side and not, loaded and stored by all threads and
// by some. What must come out is the same in Python.
// flags:
// flags: -cl-opt-disable
// run: k<<<1, 256>>>(u32[512], s32[1024])
// check: 1 s32 @0: 0 -239350648 -478766576 -734893928
// check: 1 s32 @4: -957467360 -1196817496 -1436167888 -1692230216
// check: 1 s32 @31: 1170072440 913944576 691305864 452021008
// check: 1 s32 @100: -43456992 -282807384 -505380560 -744796232
// check: 1 s32 @252: -1492964384 -1732249496 -1954822416 2084017272
// check: 1 s32 @256: 0 0 239350392 239350392
// check: 1 s32 @260: 478700784 478766320 718051176 718116712
// check: 1 s32 @300: 970741328 970741328 1210091720 1210157256
// check: 1 s32 @511: -239284856 930722048 930787584 1170137976
// check: 1 s32 @640: 930787584 930787584 1170137976 1170072440
// check: 1 s32 @764: 452021264 452021264 691437192 691371656
// check: 1 s32 @768: 0 1154801 7486946 8772819
// check: 1 s32 @771: 8772819 15104964 0 0
// check: 1 s32 @900: 0 0 0 718103
// check: 1 s32 @1020: 0 0 0 0
kernel void k(global uint *words, global int *out)
{
    int l = get_local_id(0);
    words[l] = l * 2654435761u;
    words[l + 256] = (l + 256) * 2654435761u;
    barrier(CLK_GLOBAL_MEM_FENCE);
    uchar4 p = ((global const uchar4 *)words)[l];
    char4 q = ((global const char4 *)words)[l * 7 & 255];
    ushort4 r = ((global const ushort4 *)words)[l];
    short4 s = ((global const short4 *)words)[l * 5 & 127];
    uchar4 a = p + as_uchar4(q);
    ushort4 c = r - as_ushort4(s);
    ((global uchar4 *)out)[l] = a;
    ((global ushort4 *)(out + 256))[l] = c;
    if (l % 3 == 0)
        ((global ushort2 *)(out + 768))[l * 9 & 255] = (ushort2)(c.x + l, a.y);
}
