// `__constant` pointers that point to buffers in some work-items and to variables of the program in others.
// flags:
// flags: -cl-opt-disable
// flags: -arch=sm_20
// run: k<<<1, 4>>>(s32[16]:fill:0, s32[4]:iota, s32[4]:0,1,1,0)
// check: 0 s32: 0 10 20 3 12 13 12 13 101 101 102 102 7 107 7 107
constant int own[4] = {0, 10, 20, 30};
constant int others[4] = {12, 13, 14, 15};
// Pointers to arrays in local memory are members like other pointers.
typedef struct { local int (*rows)[2]; local int *one; constant int *fixed; } places;
int pick(constant int *p, int i) { return p[i]; }
kernel void k(global int *out, constant int *buffer, global const int *from)
{
    int i = get_local_id(0);
    local int rows[2][2];
    rows[i & 1][i >> 1] = 100 + (i >> 1) + (i & 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = pick(from[i] ? own : buffer, i);
    constant int *all[2] = {others, others + 1};
    out[4 + i] = *all[i & 1];
    places p;
    p.rows = rows;
    p.one = &rows[1][0];
    p.fixed = from[i] ? buffer : own;
    out[8 + i] = i < 2 ? *p.one : p.rows[1][1];
    out[12 + i] = (i & 1 ? 100 : 0) + 7 + (p.fixed == buffer && !from[i]);
}
