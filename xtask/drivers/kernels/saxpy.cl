// Four floats a work-item.
kernel void saxpy(global const float4 *x, global float4 *y, float a)
{
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}
