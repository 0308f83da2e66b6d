// Philox 4x32 with ten rounds: four random words a work-item.
kernel void philox(global uint4 *out, uint seed)
{
    size_t i = get_global_id(0);
    uint4 c = (uint4)(i, 0, 0, 0);
    uint2 key = (uint2)(seed, 0);
    for (int round = 0; round < 10; round++) {
        uint high0 = mul_hi(0xd2511f53u, c.x), high1 = mul_hi(0xcd9e8d57u, c.z);
        c = (uint4)(high1 ^ c.y ^ key.x, 0xcd9e8d57u * c.z, high0 ^ c.w ^ key.y, 0xd2511f53u * c.x);
        key += (uint2)(0x9e3779b9u, 0xbb67ae85u);
    }
    out[i] = c;
}
