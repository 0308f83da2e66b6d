// printf with what OpenCL adds to it: vectors, and the lengths of their components.
__kernel void table(__global const float* x)
{
    int i = get_global_id(0);
    float4 v = (float4)(x[i], x[i] * 2.0f, -x[i], 0.5f);
    printf("%d: %8.3f [%v4hlg] %#x %s\n", i, x[i], v, (i + 1) * 4095, "row");
    printf("%d: %v2hhd %5ld%%\n", i, (char2)((char)i, (char)-i), 10000000000l * i);
}
