// The tiled matrix multiplication of matmul.cl in CUDA C++, same entry and parameters.
#define BLOCK_SIZE 16

extern "C" __global__ void MatMulKernel(
    int Cwidth, int Cheight, int Cstride, float* C,
    int Awidth, int Aheight, int Astride, const float* A,
    int Bwidth, int Bheight, int Bstride, const float* B)
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE], Bs[BLOCK_SIZE][BLOCK_SIZE];
    int row = threadIdx.y, col = threadIdx.x;
    int globalRow = blockIdx.y * BLOCK_SIZE + row, globalCol = blockIdx.x * BLOCK_SIZE + col;
    float value = 0;
    for (int m = 0; m < Awidth / BLOCK_SIZE; ++m) {
        As[row][col] = A[globalRow * Astride + m * BLOCK_SIZE + col];
        Bs[row][col] = B[(m * BLOCK_SIZE + row) * Bstride + globalCol];
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; ++e) value += As[row][e] * Bs[e][col];
        __syncthreads();
    }
    C[globalRow * Cstride + globalCol] = value;
}
