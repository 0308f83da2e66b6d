// Generic pointers, program-scope and static variables (OpenCL C 2.0 and 3.0).
// flags: -cl-std=CL3.0 -arch=sm_90
// flags: -cl-std=CL2.0 -arch=sm_70
// flags: -cl-std=CL3.0 -arch=sm_90 -cl-opt-disable
// run: addresses<<<1, 1>>>(s32[8]:fill:0)
// check: 0 s32: 3 4 30 4 9 1 1 0
// run: k<<<1, 64>>>(s32[64]:iota, s32[16]:fill:0)
// check: 1 s32: 2016 2016 63 3 111 5 7 1 2 0 1 64 10 1 1 1
int counter;
global int table[4] = {1, 2, 3, 4};
static constant int weights[2] = {10, 100};
constant int *chosen(int i) { return &weights[i]; }
struct node { int value; struct node *next; };
int sum(const int *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; ++i) s += p[i];
    return s;
}
int *larger(int *a, int *b) { return *a > *b ? a : b; }
void bump(int *p) { *p += 2; }
int calls(void) { static int n = 0; return atomic_inc(&n); }
float part(float x, float *whole) { return fract(x, whole); }
kernel void k(global int *in, global int *out)
{
    local int l[64];
    int i = get_local_id(0);
    l[i] = in[i];
    calls();
    atomic_inc(&counter);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (i) return;
    int own[3] = {5, 1, 1};
    out[0] = sum(in, 64);
    out[1] = sum(l, 64);
    out[2] = *larger(&in[63], own);
    bump(&own[1]);
    out[3] = own[1];
    int *p = i ? in : own;
    *p = *chosen(1) + *chosen(0) + 1;
    out[4] = own[0];
    struct node second = {2, 0}, first = {3, &second};
    struct node *n = &first;
    out[5] = n->value + n->next->value;
    out[6] = sum(table, 4) - 3;
    out[7] = to_local(p) == 0 && to_global(p) == 0 && to_private(p) == own;
    int *q = out;
    out[8] = get_fence(q);
    out[9] = get_fence(p);
    q = l;
    out[10] = get_fence(q);
    out[11] = counter;
    int *a = table, *b = &table[2];
    out[12] = (int)(b - a) * 5;
    out[13] = a < b && (global int *)a == table && b != l;
    float whole;
    out[14] = part(1.25f, &whole) == 0.25f && whole == 1.0f;
    out[15] = calls() == 64;
}
// Addresses of variables in initial values.
global int *third = &table[2];
int *fourth = table + 3;
struct pair { int n; char c; int *p; } pairs[2] = {{1, 2, &counter}, {3, 4, 0}};
char *letter = &pairs[0].c;
global struct pair *second = pairs + 1;
global void *whole = &pairs;
int **chain = &fourth;
kernel void addresses(global int *out)
{
    out[0] = *third;
    out[1] = *fourth;
    *pairs[0].p += 30;
    out[2] = counter;
    counter -= 30;
    out[3] = pairs[1].c;
    *letter = 9;
    out[4] = pairs[0].c;
    pairs[0].c = 2;
    out[5] = whole == (global void *)pairs;
    out[6] = **chain == 4 && second->n == 3 && !second->p;
}
