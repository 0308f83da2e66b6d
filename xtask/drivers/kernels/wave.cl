// A step of the wave equation in double precision.
kernel void wave(global const double *now, global const double *before, global double *next, int n)
{
    int x = get_global_id(0), y = get_global_id(1), i = y * n + x;
    if (x == 0 || y == 0 || x == n - 1 || y == n - 1) {
        next[i] = 0;
        return;
    }
    double around = now[i - 1] + now[i + 1] + now[i - n] + now[i + n] - 4.0 * now[i];
    next[i] = 2.0 * now[i] - before[i] + 0.25 * around;
}
