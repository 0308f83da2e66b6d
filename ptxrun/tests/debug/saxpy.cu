struct Range {
    int first;
    int last;
};

__device__ float scaled(float a, float x)
{
    float product = a * x;
    return product;
}

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    Range r;
    r.first = blockIdx.x * blockDim.x;
    r.last = r.first + blockDim.x;
    if (r.last > n)
        r.last = n;
    int i = r.first + threadIdx.x;
    if (i < r.last) {
        float s = scaled(a, x[i]);
        y[i] = s + y[i];
    }
}
