// Functions that would make a kernel too large inline are called.
// jit: the kernel is too large
// flags: -arch=sm_90
// flags: -arch=sm_20
// flags: -arch=sm_90 -cl-opt-disable
// run: towers<<<1, 2>>>(u32[32]:fill:0, u32[2]:iota, u32[4]:iota)
// check: 0 u32: 1988176436 3340177210 8192 3340177210 4205 14 23 32 10 8402 4200 11 6 0 2 0 4110225078 2826013661 8192 2826013661 4210 14 23 32 10 8408 4201 11 6 0 2 0
typedef struct { uint a, b; uint4 v; } pair;
constant uint odd[4] = {1, 3, 5, 7};
uint step(uint x, constant uint *t, private uint *count)
{
    (*count)++;
#define R x = rotate(x, 5u) * 0x9e3779b1u + t[x & 3];
    R R R R R R R R R R R R R R R R
    return x;
}
uint one(uint x, constant uint *t, private uint *c)
{ return step(step(step(step(step(step(step(step(x, t, c), t, c), odd, c), t, c), odd, c), t, c), t, c), odd, c); }
uint two(uint x, constant uint *t, private uint *c)
{ return one(one(one(one(one(one(one(one(x, t, c), t, c), odd, c), t, c), odd, c), t, c), t, c), t, c); }
uint three(uint x, constant uint *t, private uint *c)
{ return two(two(two(two(two(two(two(two(x, t, c), t, c), t, c), t, c), t, c), t, c), t, c), t, c); }
uint four(uint x, constant uint *t, private uint *c)
{ return three(three(three(three(three(three(three(three(x, t, c), t, c), t, c), t, c), t, c), t, c), t, c), t, c); }
// Structures, vectors, truth values and results that are still in use when the function is called again.
pair mix(pair p, bool flip, float f, double d, uint3 v, local uint *l)
{
    uint c = 0;
    p.a = four(p.a, odd, &c);
    p.b += c + (flip ? (uint)f : (uint)d) + l[get_local_id(0)];
    p.v = p.v.wzyx + (uint4)(v, 9);
    barrier(CLK_LOCAL_MEM_FENCE);
    return p;
}
kernel void towers(global uint *out, global const uint *in, constant uint *t)
{
    local uint shared[2];
    uint i = get_local_id(0), count = 0;
    shared[i] = 100 + i;
    barrier(CLK_LOCAL_MEM_FENCE);
    global uint *o = out + 16 * i;
    o[0] = four(in[i], t, &count);
    o[1] = four(in[i], odd, &count);
    o[2] = count;
    pair a = {in[i], 2, (uint4)(1, 2, 3, 4)};
    pair b = mix(a, i == 0, 7.5f, 11.5, (uint3)(10, 20, 30), shared);
    pair s[2] = {mix(b, true, 1.5f, 2.5, (uint3)(1), shared), mix(a, false, 1.5f, 2.5, (uint3)(2), shared)};
    o[3] = b.a; o[4] = b.b; vstore4(b.v, 0, o + 5);
    o[9] = s[0].b; o[10] = s[1].b; o[11] = s[0].v.x; o[12] = s[1].v.x; o[13] = s[0].a == s[1].a;
    o[14] = a.b;
}
