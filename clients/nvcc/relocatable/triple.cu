__device__ int triple(int x) { return x * 3; }
