// Powers modulo a prime in 64 bits.
kernel void powers(global const uint *in, global uint *out, uint prime)
{
    int i = get_global_id(0);
    ulong base = in[i] % prime, r = 1;
    for (uint e = 65537; e; e >>= 1) {
        if (e & 1)
            r = r * base % prime;
        base = base * base % prime;
    }
    out[i] = (uint)r;
}
