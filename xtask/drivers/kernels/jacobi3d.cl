// Seven points of a cube; a work-item walks along z. The edge is left out.
kernel void jacobi3d(global const float *in, global float *out, int n)
{
    int x = get_global_id(0), y = get_global_id(1), plane = n * n;
    if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1) return;
    int i = y * n + x;
    float below = in[i], here = in[i + plane];
    for (int z = 1; z < n - 1; z++) {
        i += plane;
        float above = in[i + plane];
        out[i] = (below + above + in[i - 1] + in[i + 1] + in[i - n] + in[i + n] - 6 * here) * 0.1f + here;
        below = here;
        here = above;
    }
}
