// Each work-item makes 4x4 results from registers.
kernel void matmul_4x4(global const float *a, global const float *b, global float *c, int n)
{
    int x = get_global_id(0) * 4, y = get_global_id(1) * 4;
    float sum[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum[i][j] = 0;
    for (int k = 0; k < n; k++) {
        float ra[4], rb[4];
        for (int i = 0; i < 4; i++) ra[i] = a[(y + i) * n + k];
        for (int j = 0; j < 4; j++) rb[j] = b[k * n + x + j];
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) sum[i][j] += ra[i] * rb[j];
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(y + i) * n + x + j] = sum[i][j];
}
