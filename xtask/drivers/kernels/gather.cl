kernel void gather(global const float *in, global const uint *at, global float *out, uint mask)
{
    int i = get_global_id(0);
    out[i] = in[at[i] & mask];
}
