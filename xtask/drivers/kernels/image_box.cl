constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void image_box(read_only image2d_t in, write_only image2d_t out)
{
    int2 p = (int2)(get_global_id(0), get_global_id(1));
    float4 sum = 0;
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++) sum += read_imagef(in, nearest, p + (int2)(x, y));
    write_imagef(out, p, sum / 9);
}
