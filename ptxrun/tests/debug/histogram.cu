// Counts values by class in local, shared and global arrays. Compiled by nvcc -G -ptx -arch=sm_80.
struct Cell {
    int counts[4];
    float most[2][3];
};

extern "C" __global__ void histogram(const int *values, int *totals, Cell *cells, int n)
{
    __shared__ int seen[8];
    int own[4];
    short grid[2][4];
    int t = threadIdx.x;
    Cell cell;
    for (int k = 0; k < 4; k++) {
        own[k] = k * 10;
        grid[k & 1][k] = k - t;
        cell.counts[k] = 100 * t + k;
    }
    cell.most[1][2] = t + 0.5f;
    seen[t] = values[t];
    __syncthreads();
    int next = (t + 1) % n;
    int class_of = seen[next] & 3;
    own[class_of] += seen[t];
    cells[t] = cell;
    totals[t] = own[class_of] + grid[1][3];
}
