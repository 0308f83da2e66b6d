// A turn of Conway's game on bytes, which goes on from one edge to the other.
kernel void life(global const uchar *in, global uchar *out, int n)
{
    int x = get_global_id(0), y = get_global_id(1);
    int left = (x + n - 1) % n, right = (x + 1) % n, up = (y + n - 1) % n * n, down = (y + 1) % n * n, row = y * n;
    int sum = (in[up + left] & 1) + (in[up + x] & 1) + (in[up + right] & 1) + (in[row + left] & 1)
            + (in[row + right] & 1) + (in[down + left] & 1) + (in[down + x] & 1) + (in[down + right] & 1);
    out[row + x] = sum == 3 || (sum == 2 && in[row + x] & 1);
}
