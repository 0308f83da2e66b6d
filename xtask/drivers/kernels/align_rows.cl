// The last row of the alignment of two short texts for each work-item.
kernel void align_rows(global const uint *a, global const uint *b, global int *out)
{
    int i = get_global_id(0), row[17];
    uint x = a[i], y = b[i];
    for (int k = 0; k <= 16; k++)
        row[k] = -k;
    for (int j = 0; j < 16; j++) {
        int corner = row[0];
        row[0] = -j - 1;
        for (int k = 1; k <= 16; k++) {
            int same = (x >> (2 * k - 2) & 3) == (y >> 2 * j & 3) ? 1 : -1;
            int best = max(corner + same, max(row[k], row[k - 1]) - 1);
            corner = row[k];
            row[k] = best;
        }
    }
    out[i] = row[16];
}
