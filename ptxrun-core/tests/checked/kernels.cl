// With -DWRONG each kernel has a mistake; the lines that reports name end in a name.

// The last item reads behind the end of `in`, which is inside of what the driver grants without checks.
__kernel void shift(__global const float *in, __global float *out)
{
    size_t i = get_global_id(0);
#ifdef WRONG
    out[i] = in[i + 1]; // @bounds
#else
    out[i] = i + 1 < get_global_size(0) ? in[i + 1] : 0.0f;
#endif
}

// A group turns its part around; the barrier is missing.
__kernel void turn(__global const float *in, __global float *out)
{
    __local float tile[64];
    size_t i = get_local_id(0), n = get_local_size(0);
    tile[i] = in[get_global_id(0)]; // @write
#ifndef WRONG
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    out[get_global_id(0)] = tile[n - 1 - i]; // @read
}

// Half of the tile is never written, and decides what is computed.
__kernel void pick(__global const float *in, __global float *out)
{
    __local float tile[64];
    size_t i = get_local_id(0);
#ifdef WRONG
    if (i < 32)
#endif
        tile[i] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    float other = tile[i ^ 32];
    if (other > 0.0f) // @branch
        out[get_global_id(0)] = other;
    else
        out[get_global_id(0)] = 0.0f;
}

// Items beyond the first 40 do not come to the barrier.
__kernel void part(__global const float *in, __global float *out)
{
    __local float tile[64];
    size_t i = get_local_id(0);
    tile[i] = in[get_global_id(0)];
#ifdef WRONG
    if (i < 40)
#endif
        barrier(CLK_LOCAL_MEM_FENCE); // @barrier
    out[get_global_id(0)] = tile[i];
}
