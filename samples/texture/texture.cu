// Texture objects: a clamped bilinear fetch, a wrapped normalised point fetch and an integer fetch.
extern "C" __global__ void blur(cudaTextureObject_t image, float* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    // On the corner of four texels: their mean.
    out[y * width + x] = tex2D<float>(image, x + 1.0f, y + 1.0f);
}

extern "C" __global__ void tile(cudaTextureObject_t pattern, float4* out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    out[y * width + x] = tex2D<float4>(pattern, (x - 8.5f) / 8.0f, (y + 0.5f) / 8.0f);
}

extern "C" __global__ void gather(cudaTextureObject_t table, const int* index, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<int>(table, index[i]);
}
