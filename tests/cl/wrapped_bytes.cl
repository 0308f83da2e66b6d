// Bytes and halves of words at coordinates that wrap around, by a remainder and by a mask: side by side but for the
// edge. What must come out is the same in Python.
// flags:
// flags: -cl-opt-disable
// run: k<<<1, 48x12>>>(u32[576], s32[576], s32:48, s32:12)
// check: 1 s32 @0: 454375 743635 5084 125995
// check: 1 s32 @8: -166434 627773 560344 151870
// check: 1 s32 @14: -271832 186610 458027 745754
// check: 1 s32 @30: -273168 185901 456700 746865
// check: 1 s32 @44: 150844 345619 -272076 185271
// check: 1 s32 @48: 390278 512648 -58841 -106662
// check: 1 s32 @92: 88272 570056 119038 -48348
// check: 1 s32 @240: 126207 760780 133708 145209
// check: 1 s32 @284: -177321 362508 579434 202509
// check: 1 s32 @528: -266820 546845 463494 -72841
// check: 1 s32 @572: 610822 604253 183276 -14124
kernel void k(global uint *words, global int *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1), i = y * width + x;
    words[i] = i * 2654435761u;
    barrier(CLK_GLOBAL_MEM_FENCE);
    global const uchar *b = (global const uchar *)words;
    global const ushort *h = (global const ushort *)words;
    int left = (x + width - 1) % width, right = (x + 1) % width, up = (y + height - 1) % height * width;
    int sum = b[y * width + left] + 3 * b[y * width + right] + 5 * ((global const char *)b)[up + left];
    sum += 7 * h[(x + 3 & 15) + 16 * y] + 11 * ((global const short *)h)[(x + 5 & 15) + 16 * y];
    out[i] = sum + 13 * b[y * width + clamp(x + 2, 0, width - 1)];
}
