// The source of tile.ptx, for the lines that its .loc directives name.
__global__ void transpose_tile(const float* in, float* out)
{
    unsigned i = blockIdx.x * 128 + threadIdx.x;
    float x = in[i];
    __shared__ float tile[128][17];
    (&tile[0][0])[threadIdx.x * 16] = x;
    __syncthreads();
    out[i] = (&tile[0][0])[threadIdx.x * 16];
}
