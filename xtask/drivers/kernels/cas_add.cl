// Adds floats to 1024 sums with compare-and-swap.
kernel void cas_add(global const float *in, volatile global uint *sums)
{
    int i = get_global_id(0);
    volatile global uint *to = sums + (i * 2654435761u >> 22);
    uint seen = *to, next;
    do {
        next = seen;
        seen = atomic_cmpxchg(to, next, as_uint(as_float(next) + in[i]));
    } while (seen != next);
}
