constant sampler_t linear = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
kernel void image_scale(read_only image2d_t in, write_only image2d_t out, float step)
{
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, p, read_imagef(in, linear, (convert_float2(p) + 0.5f) * step));
}
