// An image twice as wide and high, by linear filtering. An OpenCL host describes images to kernels (docs/opencl.md);
// here a kernel does, so that the program runs on anything that runs PTX.
__kernel void describe(__global ulong* from, __global ulong* to, __global float* in, __global float* out, uint width,
                       uint height)
{
    for (uint i = 0; i < 2; ++i) {
        __global ulong* image = i ? to : from;
        uint w = width << i, h = height << i;
        image[0] = (ulong)(i ? out : in);
        image[1] = w | (ulong)h << 32;
        image[2] = 1;
        image[3] = w * sizeof(float);
        image[4] = w * h * sizeof(float);
        image[5] = CLK_R | (ulong)CLK_FLOAT << 32;
        image[6] = sizeof(float);
    }
}

__kernel void scale(__read_only image2d_t from, __write_only image2d_t to)
{
    const sampler_t linear = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float2 place = (convert_float2(at) + 0.5f) / convert_float2(get_image_dim(to));
    write_imagef(to, at, read_imagef(from, linear, place));
}

// Addresses differ from run to run.
__kernel void forget(__global ulong* from, __global ulong* to)
{
    from[get_global_id(0)] = to[get_global_id(0)] = 0;
}
