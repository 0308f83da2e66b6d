// Where in a line of a picture eight bytes fit best: sums of absolute differences over sixteen places.
kernel void match_blocks(global const uchar *a, global const uchar *b, global int *best, int n)
{
    int i = get_global_id(0);
    uint least = 0xffffffff;
    int where = 0;
    for (int s = 0; s < 16; s++) {
        uint sum = 0;
        for (int j = 0; j < 8; j++)
            sum += abs_diff(a[i + j], b[i + s + j]);
        if (sum < least) {
            least = sum;
            where = s;
        }
    }
    best[i] = where;
}
