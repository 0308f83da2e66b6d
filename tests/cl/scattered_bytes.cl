// Elements of one and two bytes at places that the data choose, read and written, with all lanes and with some. What
// must come out is the same in Python.
// flags:
// flags: -cl-opt-disable
// run: k<<<2, 128>>>(u32[256], s32[256])
// check: 1 s32 @0: 524832 26731243 8100691 29129394
// check: 1 s32 @16: 30206150 25099104 4354660 25386240
// check: 1 s32 @60: 25835536 23780054 799388 1521941
// check: 1 s32 @124: 18327317 8944526 21374537 14922042
// check: 1 s32 @128: 3754961 30890285 12052484 32856517
// check: 1 s32 @190: 23296077 9964672 22187021 21872584
// check: 1 s32 @252: 27375046 12448621 11234427 20130389
kernel void k(global uint *words, global int *out)
{
    int l = get_local_id(0), first = 128 * get_group_id(0);
    words[first + l] = (first + l) * 2654435761u + 12345u;
    barrier(CLK_GLOBAL_MEM_FENCE);
    global uchar *b = (global uchar *)(words + first);
    global ushort *h = (global ushort *)(words + first);
    uint at = (l * 37u + 11u) & 127u;
    int sum = b[4 * at + (l & 1)] + 3 * ((global char *)b)[(l * l) & 511];
    sum += 5 * h[(l * 29) & 255] + 7 * ((global short *)b)[2 * at];
    if (l % 3 == 0) sum += 11 * b[(l * 13) & 511] + 13 * ((global short *)b)[(l * 7) & 255];
    barrier(CLK_GLOBAL_MEM_FENCE);
    b[4 * at + 2] = (uchar)sum;
    if (l % 5 < 2) h[2 * at] = (ushort)(sum >> 3);
    if (l & 4) b[4 * at + 3] = (uchar)(sum >> 5);
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[first + l] = sum + (int)(words[first + l] >> 7);
}
