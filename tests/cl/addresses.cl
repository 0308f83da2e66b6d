// Addresses of constants, of strings and of the variable itself in initial values; local memory is never at null.
// flags: -cl-std=CL3.0 -arch=sm_90
// flags: -cl-std=CL3.0 -arch=sm_90 -cl-opt-disable
// run: k<<<1, 1>>>(s32[16]:fill:0)
// check: 0 s32: 5 98 5 1 3 99 2 7 8 101 120 4 1 1 1 1
constant int table[4] = {1, 2, 3, 4};
constant int *constant first = table;
constant int *constant ends[2] = {table, table + 2};
constant char *constant words[] = {"abx", "cd"};
global int counter = 5;
global int *constant there = &counter;
struct node { int value; global struct node *next; };
global struct node ring = {1, &ring};
typedef struct { constant int *part; int n; } slice;
constant slice slices[] = {{table, 1}, {&table[1], 2}};
constant struct { char tag; constant char *name; } named[] = {{1, "abx"}, {2, "cde"}};
typedef struct link { int value; constant struct link *next; } link;
constant link last = {7, 0};
constant link chain = {8, &last};
constant int *constant *constant deep = &ends[1];
bool is_local(int *p) { return to_local(p) != 0; }
kernel void k(global int *out)
{
    local int one, many[4];
    int own;
    out[0] = first[1] + ends[1][0];
    out[1] = words[0][1];
    out[2] = *there;
    out[3] = ring.next->next->value;
    out[4] = slices[1].part[1];
    out[5] = words[1][0];
    out[6] = named[1].tag;
    out[7] = chain.next->value;
    out[8] = chain.value;
    out[9] = named[1].name[2];
    out[10] = named[0].name[2];
    out[11] = (*deep)[1];
    one = many[0] = 0;
    out[12] = &one != 0 && is_local(&one);
    out[13] = is_local(many) && !is_local(&own) && !is_local((int *)out);
    local int *p = many;
    out[14] = p ? 1 : 0;
    out[15] = !chain.next->next;
}
