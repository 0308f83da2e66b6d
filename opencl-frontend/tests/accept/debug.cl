// options: -gline-tables-only -cl-opt-disable
#define SQUARE(x) ((x) * (x))
__kernel void lines(__global int *x)
{
    int i = get_global_id(0);
    x[i] = SQUARE(x[i]);
}
