// Arrays of 48 KB are possible, all together.
kernel void fits(global float *out)
{
    local float a[6144], b[6144];
    int i = get_local_id(0);
    a[i] = i; b[i] = a[i] + out[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = a[i + 1] + b[i + 1];
}

kernel void more(global float *out) // error: kernel `more` declares 49156 bytes of local memory, 49152 are possible
{
    local float a[6144], b[6145];
    int i = get_local_id(0);
    a[i] = i; b[i] = a[i] + out[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = a[i + 1] + b[i + 1];
}
