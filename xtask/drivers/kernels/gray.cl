// Brightness of pixels of four bytes, by weights in 1/256.
kernel void gray(global const uchar4 *in, global uchar *out)
{
    size_t i = get_global_id(0);
    uint4 p = convert_uint4(in[i]);
    out[i] = (uchar)((p.x * 77 + p.y * 150 + p.z * 29 + 128) >> 8);
}
