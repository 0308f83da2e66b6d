// Recursion of a different depth in every lane: Ackermann's function, and quicksort on a local array.
__device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ void quicksort(int* v, int lo, int hi)
{
    if (lo >= hi) return;
    int pivot = v[(lo + hi) / 2], i = lo, j = hi;
    while (i <= j) {
        while (v[i] < pivot) ++i;
        while (v[j] > pivot) --j;
        if (i <= j) {
            int t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
    }
    quicksort(v, lo, j);
    quicksort(v, i, hi);
}

extern "C" __global__ void ackermann_grid(int* out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x / 3);
}

// Each thread sorts its own 16 values.
extern "C" __global__ void sort_rows(const int* in, int* out)
{
    int v[16], base = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
    for (int k = 0; k < 16; ++k) v[k] = in[base + k];
    quicksort(v, 0, 15);
    for (int k = 0; k < 16; ++k) out[base + k] = v[k];
}
