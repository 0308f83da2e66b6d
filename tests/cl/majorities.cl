// Rounds of majorities, parities and choices of three words, which share terms with the round before. What must come
// out is the same in Python.
// flags:
// flags: -cl-opt-disable
// run: k<<<1, 64>>>(s32[64])
// check: 0 s32 @0: -1741811686 1610455132 1328331671 467859024
// check: 0 s32 @12: 1645125726 -164912306 -534554588 2017615664
// check: 0 s32 @28: 2093957630 -1732160948 -1715381450 805007842
// check: 0 s32 @60: 250160254 741293940 -2064292494 -252362177
kernel void k(global uint *out)
{
    uint l = get_local_id(0);
    uint a = l * 0x9e3779b9u + 1, b = l * 0x85ebca6bu + 2, c = l * 0xc2b2ae35u + 3, d = l * 0x27d4eb2fu + 4;
    for (uint r = 0; r < 24; r++) {
        uint majority = (b & c) | (b & d) | (c & d);
        a = rotate(a + majority + 0x5a827999u + r, 3 + r % 5);
        uint parity = a ^ b ^ c, choice = (a & b) | (~a & d), next = a + parity;
        a = d;
        d = c;
        c = b ^ choice;
        b = next;
    }
    out[l] = a ^ b ^ c ^ d;
}
