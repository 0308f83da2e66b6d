// Sum by a tree in dynamic shared memory. Launched twice: blocks to partial sums, partial sums to one.
extern "C" __global__ void reduce_shared(const int* in, int* out, int n)
{
    extern __shared__ int tree[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    int sum = i < n ? in[i] : 0;
    if (i + (int)blockDim.x < n) sum += in[i + blockDim.x];
    tree[t] = sum;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) tree[t] += tree[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tree[0];
}
