// Mistakes that checkers find and that do not fault.
__kernel void past(__global int *out)
{
    __local int a[4];
    __local int b[4];
    int t = get_local_id(0);
    a[t] = t + 1;
    b[t] = 10 * t;
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = 0;
    for (int k = 0; k <= 4; k++)
        sum += a[k];
    out[t] = sum + b[t];
}

__kernel void unwritten(__global int *out)
{
    __local int line[8];
    int t = get_local_id(0);
    if (t != 3)
        line[t] = t;
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = 0;
    for (int k = 0; k < 8; k++)
        if (line[k] > 2)
            sum += line[k];
    out[t] = sum;
}
