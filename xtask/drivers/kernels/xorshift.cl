kernel void xorshift(global uint *state)
{
    size_t i = get_global_id(0);
    uint x = state[i] | 1;
    for (int n = 0; n < 256; n++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    state[i] = x;
}
