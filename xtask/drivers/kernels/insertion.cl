// Sorts sixteen numbers for each work-item by insertion.
kernel void insertion(global const uint *in, global uint *out)
{
    int i = get_global_id(0), n = get_global_size(0);
    uint a[16];
    for (int k = 0; k < 16; k++) {
        uint x = in[k * n + i];
        int j = k;
        while (j > 0 && a[j - 1] > x) {
            a[j] = a[j - 1];
            j--;
        }
        a[j] = x;
    }
    for (int k = 0; k < 16; k++)
        out[k * n + i] = a[k];
}
