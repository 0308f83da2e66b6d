// Sums rows of a matrix; `sum` has a barrier where it is needed, `sum_wrong` has not.
extern "C" __global__ void sum(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * 64 + t];
    for (int half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            tile[t] += tile[t + half];
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

extern "C" __global__ void sum_wrong(const float *in, float *out)
{
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * 64 + t];
    for (int half = 32; half > 0; half /= 2) {
        if (t < half)
            tile[t] += tile[t + half];
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}
