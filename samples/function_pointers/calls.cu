// Calls through a table of device functions; the lanes of a warp go to different callees.
typedef int (*binary)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int sub(int a, int b) { return a - b; }
__device__ __noinline__ int mul(int a, int b) { return a * b; }
__device__ __noinline__ int divide(int a, int b) { return b ? a / b : -1; }
__device__ binary table[4] = {add, sub, mul, divide};

extern "C" __global__ void calls(const int* a, const int* b, const unsigned char* op, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[op[i] % 4](a[i], b[i]);
}
