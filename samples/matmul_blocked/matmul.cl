// C = A * B: 32 x 32 tiles in local memory, each of 8 x 8 work-items keeps a 4 x 4 block of C in registers.
#define TILE 32
#define DEPTH 8
#define SIDE 8
#define BLOCK 4

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void matmul_blocked(__global const float* A, __global const float* B, __global float* C, int n, int k)
{
    __local float As[DEPTH][TILE];
    __local float Bs[DEPTH][TILE];
    int tx = get_local_id(0), ty = get_local_id(1), t = ty * SIDE + tx;
    int row = get_group_id(1) * TILE, column = get_group_id(0) * TILE;
    float sum[BLOCK][BLOCK] = {{0}};
    for (int base = 0; base < k; base += DEPTH) {
        for (int i = 0; i < TILE * DEPTH / (SIDE * SIDE); ++i) {
            int e = t + i * SIDE * SIDE;
            As[e % DEPTH][e / DEPTH] = A[(row + e / DEPTH) * k + base + e % DEPTH];
            Bs[e / TILE][e % TILE] = B[(base + e / TILE) * n + column + e % TILE];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int d = 0; d < DEPTH; ++d) {
            float a[BLOCK], b[BLOCK];
            for (int i = 0; i < BLOCK; ++i) {
                a[i] = As[d][ty * BLOCK + i];
                b[i] = Bs[d][tx * BLOCK + i];
            }
            for (int i = 0; i < BLOCK; ++i)
                for (int j = 0; j < BLOCK; ++j) sum[i][j] += a[i] * b[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < BLOCK; ++i)
        for (int j = 0; j < BLOCK; ++j)
            C[(row + ty * BLOCK + i) * n + column + tx * BLOCK + j] = sum[i][j];
}
