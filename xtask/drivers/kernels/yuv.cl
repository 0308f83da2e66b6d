// Brightness and colour of pixels, in sixteenths and rounded into bytes.
kernel void yuv(global const uchar4 *in, global uchar4 *out)
{
    int i = get_global_id(0);
    int4 p = convert_int4(in[i]);
    int y = (66 * p.x + 129 * p.y + 25 * p.z + 128) >> 8;
    int u = (-38 * p.x - 74 * p.y + 112 * p.z + 128) >> 8;
    int v = (112 * p.x - 94 * p.y - 18 * p.z + 128) >> 8;
    out[i] = convert_uchar4_sat((int4)(y + 16, u + 128, v + 128, p.w));
}
