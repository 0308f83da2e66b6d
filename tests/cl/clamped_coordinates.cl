// Coordinates that stay inside a picture, that wrap around it, and that run backwards: rows in its midst, at its edge
// not. What must come out is the same in Python.
// flags:
// flags: -cl-opt-disable
// run: k<<<3x3, 16x4>>>(s32[576]:iota, s32[576], s32:48, s32:12)
// check: 1 s32 @0: 47848 46972 46100 45230
// check: 1 s32 @14: 35660 34790 33920 33050
// check: 1 s32 @30: 21740 20870 20000 19130
// check: 1 s32 @44: 9560 8690 7810 2122
// check: 1 s32 @48: 101368 100492 99620 98750
// check: 1 s32 @240: 318328 317452 316580 315710
// check: 1 s32 @284: 280040 279170 278290 272602
// check: 1 s32 @528: 643048 642172 641300 640430
// check: 1 s32 @572: 604760 603890 603010 597322
kernel void k(global const int *in, global int *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1), sum = 0;
    for (int dy = -1; dy <= 1; dy += 2)
        for (int dx = -2; dx <= 2; dx++)
            sum += in[clamp(y + dy, 0, height - 1) * width + clamp(x + dx, 0, width - 1)] * (dx + 3);
    sum += 100 * in[y * width + (x + 1 < width ? x + 1 : 0)];
    out[y * width + x] = sum + 1000 * in[y * width + max(0, width - 1 - x)];
}
